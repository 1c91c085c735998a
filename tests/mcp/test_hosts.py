"""`clada mcp` through the libraries of hosts, with models that answer from a script."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mcp.agents import write

if TYPE_CHECKING:
    from tests.mcp.agents import Place

pytestmark = pytest.mark.slow
NAMES = "apply plan read search undo resume history".split()
ARGUMENTS = ["-m", "clada", "mcp"]
DOCUMENT = write("hosted.txt")


def needs(module: str) -> Any:
    """Skip without a library, and with one that is made for version 1 of the SDK."""
    reason = f"{module} is not installed for this version of mcp (requirements/hosts.txt)"
    return pytest.importorskip(module, reason=reason, exc_type=ImportError)


def written(place: Place) -> bool:
    return (place.workspace / "hosted.txt").read_text() == "hi\n"


def test_fastmcp(place: Place) -> None:
    needs("fastmcp")
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async def work() -> None:
        transport = StdioTransport(sys.executable, ARGUMENTS, place.environment, str(place.workspace))
        async with Client(transport) as client:
            assert [tool.name for tool in await client.list_tools()] == NAMES
            result = await client.call_tool("apply", {"document": DOCUMENT})
            assert result.structured_content["done"] == 1

    asyncio.run(work())
    assert written(place)


def test_pydantic_ai(place: Place) -> None:
    needs("pydantic_ai")
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: list[Any], info: Any) -> ModelResponse:
        if len(messages) == 1:
            assert "apply" in [tool.name for tool in info.function_tools]
            return ModelResponse([ToolCallPart("apply", {"document": DOCUMENT})])
        return ModelResponse([TextPart(str(messages[-1].parts[0].content))])

    async def work() -> str:
        transport = StdioTransport(sys.executable, ARGUMENTS, place.environment, str(place.workspace))
        agent = Agent(FunctionModel(answer), toolsets=[MCPToolset(transport)])
        async with agent:
            return str((await agent.run("Write it.")).output)

    assert "'done': 1" in asyncio.run(work())
    assert written(place)


def test_openai_agents(place: Place) -> None:
    needs("agents")
    from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
    from agents.mcp import MCPServerStdio
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):  # type: ignore[misc,unused-ignore]
        """Calls apply once, and says what came of it."""

        async def get_response(self, *given: Any, **named: Any) -> Any:
            messages = named.get("input", given[1] if len(given) > 1 else [])
            results = [
                item
                for item in messages
                if isinstance(item, dict) and item.get("type") == "function_call_output"
            ]
            if not results:
                import json

                call = ResponseFunctionToolCall(
                    type="function_call",
                    name="apply",
                    call_id="1",
                    arguments=json.dumps({"document": DOCUMENT}),
                )
                return ModelResponse([call], Usage(), None)
            said = ResponseOutputText(type="output_text", text=str(results[0]["output"]), annotations=[])
            message = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[said]
            )
            return ModelResponse([message], Usage(), None)

        def stream_response(self, *_given: Any, **_named: Any) -> Any:
            raise NotImplementedError

    async def work() -> str:
        params: Any = {
            "command": sys.executable,
            "args": ARGUMENTS,
            "env": place.environment,
            "cwd": str(place.workspace),
        }
        async with MCPServerStdio(params, client_session_timeout_seconds=60) as server:
            agent = Agent("tester", model=Scripted(), mcp_servers=[server])
            return str((await Runner.run(agent, "Write it.")).final_output)

    set_tracing_disabled(True)
    assert "The operation was carried out." in asyncio.run(work())
    assert written(place)


def test_langchain(place: Place) -> None:
    """It wants version 1 of the SDK, so it has an environment of its own, as hosts do."""
    host = Path(__file__).parents[2] / "build" / "langchain" / "bin" / "python"
    if not host.exists():
        pytest.skip("langchain-mcp-adapters is not installed: make build/langchain/.langchain")
    script = Path(__file__).with_name("langchain_host.py")
    done = subprocess.run(
        [host, script, sys.executable, DOCUMENT],
        cwd=place.workspace,
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names, said = done.stdout.split("\n", 1)
    assert names.split() == NAMES
    assert said.startswith("The operation was carried out.")
    assert written(place)
