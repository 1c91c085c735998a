"""Real clients of `clada mcp`: the SDK's own, in a workspace and an environment of its own."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import StdioServerParameters, types
from mcp.client import Client
from mcp.client.stdio import stdio_client
from tests.cli.conftest import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from anyio.from_thread import BlockingPortal

Entered = TypeVar("Entered")
ERAS = (
    "legacy",
    "auto",
)  # of the protocol: with a handshake; and with an envelope for each request, as agreed on


class Agent:
    """A client that talks to a server of its own, from a test that waits for each answer."""

    def __init__(self, portal: BlockingPortal, server: Any, era: str, answer: str | None = None) -> None:
        self.asked: list[str] = []
        self.told: list[Any] = []
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.answer, self.portal = answer, portal
        self.client = Client(
            server,
            mode=era,
            logging_callback=self._log,
            log_level="info",
            elicitation_callback=self._elicit if answer else None,
            read_timeout_seconds=60,
        )

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.told.append(params.data)

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        del context
        self.asked.append(params.message)
        if self.answer == "decline":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"answer": self.answer})

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))

    def call(self, name: str, **arguments: Any) -> types.CallToolResult:
        """Call a tool, and return its result."""
        result: types.CallToolResult = self.portal.call(self.calling, name, arguments)
        return result

    async def calling(self, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """Call a tool, and keep what is told meanwhile."""
        return await self.client.call_tool(name, arguments, progress_callback=self._progress)

    def do(self, method: str, *arguments: Any) -> Any:
        """Call a method of the client."""
        return self.portal.call(getattr(self.client, method), *arguments)


def text(result: types.CallToolResult) -> str:
    """Return the text of a result."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def write(path: str, content: str = "hi") -> str:
    """Return a document that writes a file."""
    return f'<---WRITE file="{path}"--->\n{content}\n<---END--->\n'


def run(*commands: str) -> str:
    """Return a document that runs commands, each for itself."""
    return "".join(f"<---RUN--->\n{command}\n<---END--->\n" for command in commands)


class Place(Shell):
    """A repository, and the agents that work in it."""

    def __init__(self, top: Path, stack: contextlib.ExitStack, portal: BlockingPortal) -> None:
        super().__init__(top)
        self._stack, self._portal = stack, portal
        self.git("init", "-q")

    def entered(self, manager: AbstractContextManager[Entered]) -> Entered:
        """Enter this, until the test is over."""
        return self._stack.enter_context(manager)

    def agent(self, *flags: str, era: str = "legacy", answer: str | None = None) -> Agent:
        """Start a server in the workspace, with a client."""
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "clada", "mcp", *flags],
            env=self.environment,
            cwd=self.workspace,
        )
        # By itself, it writes to what was the standard error when the SDK was loaded: that may be closed.
        return self.connected(stdio_client(server, errlog=sys.stderr), era, answer)

    def connected(self, server: Any, era: str = "legacy", answer: str | None = None) -> Agent:
        """Return a client of this server."""
        agent = Agent(self._portal, server, era, answer)
        self.entered(self._portal.wrap_async_context_manager(agent.client))
        return agent


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """Return where the clients live."""
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal) -> Iterator[Place]:
    """Return a new repository."""
    with contextlib.ExitStack() as stack:
        yield Place(tmp_path, stack, portal)


@pytest.fixture(scope="module", params=ERAS)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal
) -> Iterator[tuple[Place, Agent]]:
    """Return a place with an agent that the tests of a module share: to start a server takes a second."""
    with contextlib.ExitStack() as stack:
        place = Place(tmp_path_factory.mktemp("shared"), stack, portal)
        yield place, place.agent(era=request.param)
