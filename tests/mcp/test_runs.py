"""Runs of `clada mcp`: questions, cancellation, turns, and clients and servers that die in the middle."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types
from tests.cli.conftest import LONG
from tests.mcp.agents import ERAS, run, text, write
from tests.waiting import eventually

import clada
import clada.mcp.call
from clada.mcp.tools import call_tool

if TYPE_CHECKING:
    from tests.mcp.agents import Place

COMMAND = "python3 --version"
SLOW = write("begun.txt") + run("sleep 60")
APPROVED = ("--approve", "sleep 60")
CLIENT = """
import sys, anyio
from mcp import StdioServerParameters
from mcp.client import Client

async def main():
    era, document, command, *args = sys.argv[1:]
    async with Client(StdioServerParameters(command=command, args=args), mode=era) as client:
        await client.call_tool("apply", {"document": document})

anyio.run(main)
"""


def last_run(place: Place) -> str:
    """Return the line of the last run."""
    return place("history").stdout.splitlines()[1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("era", ERAS)
def test_a_person_who_says_once_lets_a_command_run(place: Place, era: str) -> None:
    agent = place.agent(era=era, answer="once")
    result = agent.call("apply", document=run(COMMAND) + run("echo 'no need to ask'"))
    assert not result.is_error
    (message,) = agent.asked
    assert f"command: {COMMAND}\n" in message
    assert not (place.workspace / ".clada").exists()  # it counts once
    agent.call("apply", document=run(f"{COMMAND} "))
    assert len(agent.asked) == 2
    assert "not run in a dry run" in text(agent.call("plan", document=run(COMMAND)))
    assert len(agent.asked) == 2


@pytest.mark.sample(1)
@pytest.mark.parametrize("era", ERAS)
def test_any_other_answer_is_a_no(place: Place, era: str) -> None:
    agent = place.agent(era=era, answer="no")
    for number, agent.answer in enumerate(("no", "decline", "always", "never", "yes", ""), 1):
        result = agent.call("apply", document=run(COMMAND))
        assert result.is_error
        assert "command_not_allowed: the user said no" in text(result)
        assert len(agent.asked) == number
    assert not (place.workspace / ".clada").exists()


def test_files_that_run_by_themselves_are_asked_about(place: Place) -> None:
    """A client that can be asked while the run waits decides; any other answer than yes is a no."""
    agent = place.agent(era="legacy", answer="no")
    for agent.answer, is_written in (("no", False), ("decline", False), ("yes", True)):
        result = agent.call("apply", document=write(".envrc", "export A=1"))
        assert result.is_error is not is_written
        assert (place.workspace / ".envrc").exists() is is_written
    assert len(agent.asked) == 3
    assert all(message.startswith(".envrc runs by itself: ") for message in agent.asked)


@pytest.mark.sample(1)
@pytest.mark.parametrize("era", ERAS)
def test_where_nobody_can_be_asked_the_remedy_is_told(place: Place, era: str) -> None:
    result = place.agent(era=era).call("apply", document=run(COMMAND))
    assert result.is_error
    assert f"clada approvals add '{COMMAND}', then resume\n" in text(result)


@pytest.mark.sample(1)
@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_ends_the_run_in_order(place: Place, era: str) -> None:
    agent = place.agent(*APPROVED, era=era)
    begun = place.workspace / "begun.txt"
    calling = agent.portal.start_task_soon(agent.calling, "apply", {"document": SLOW})
    assert eventually(begun.exists)
    calling.cancel()
    assert agent.call("undo").structured_content["removed"] == ["begun.txt"]  # which waits for its turn
    _undo, run = agent.call("history").structured_content["runs"]
    assert run["what"].startswith("1 write, 0 of 1 run: begun.txt, ")
    assert run["ended"] == "interrupted"


def test_one_run_at_a_time_and_others_say_that_they_wait(place: Place) -> None:
    agent = place.agent("--approve", "sleep 1")
    slow = {"document": write("first.txt") + run("sleep 1")}
    first = agent.portal.start_task_soon(agent.calling, "apply", slow)
    assert eventually((place.workspace / "first.txt").exists)
    (running,) = agent.call("history").structured_content["runs"]  # which waits for nobody
    assert running["ended"] == "running"
    agent.progress.clear()
    second = agent.call("apply", document=write("second.txt"))
    assert not second.is_error
    assert first.done()
    assert agent.told == ["waiting for another run in this workspace"]
    assert (0, None, "waiting for another run in this workspace") in agent.progress


def test_a_call_that_is_not_recorded_is_told_in_order(place: Place) -> None:
    agent = place.agent("--record=none", "--approve", "sleep 0.1")
    large = "x" * (1 << 15)
    for document in (write("a.txt", "one"), write("b.txt", large), write("c.txt") + run("sleep 0.1")):
        agent.progress.clear()
        result = agent.call("apply", document=document)
        assert not result.is_error
        assert "[task-1] write " in str(agent.progress[0])
    edit = '<---SEARCH file="{}"--->\none\n<---REPLACE--->\ntwo\n<---END--->\n'
    assert not agent.call("apply", document=edit.format("a.txt")).is_error
    assert (place.workspace / "a.txt").read_text() == "two\n"
    for name, why in (
        ("b.txt", "match_count_mismatch"), ("nowhere.txt", "file_not_found"), ("../a.txt", "path_escape"),
    ):  # fmt: skip
        failed = agent.call("apply", document=edit.format(name))
        assert failed.is_error
        assert why in text(failed)
    assert agent.call("apply", document=edit.format("a\0b")).is_error
    assert (place.workspace / "b.txt").read_text() == f"{large}\n"


def test_a_run_of_the_command_line_is_waited_for(place: Place) -> None:
    agent = place.agent()
    running = subprocess.Popen(
        [sys.executable, "-m", "clada", "--approve", "sleep 1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=place.workspace,
        env=place.environment,
    )
    assert running.stdin
    running.stdin.write((write("first.txt") + run("sleep 1")).encode())
    running.stdin.close()
    assert eventually((place.workspace / "first.txt").exists)
    assert "Note: waiting for another run in this repository" in text(
        agent.call("apply", document=write("b"))
    )
    assert running.wait(LONG) == 0
    assert agent.told == ["waiting for another run in this repository"]


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_is_killed_leaves_a_recorded_run(place: Place, era: str) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, era, SLOW, sys.executable, "-m", "clada", "mcp", *APPROVED],
        cwd=place.workspace,
        env=place.environment,
        stderr=subprocess.DEVNULL,
    )
    assert eventually((place.workspace / "begun.txt").exists)
    client.send_signal(signal.SIGKILL)
    client.wait(LONG)
    assert eventually(lambda: "interrupted" in last_run(place))
    assert "removed begun.txt" in place("undo").stdout


class Raw:
    """A server that is spoken to in plain JSON."""

    def __init__(self, place: Place, *flags: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clada", "mcp", *flags],
            cwd=place.workspace,
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        client = {"name": "raw", "version": "0"}
        self.send(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client},
            number=1,
        )
        assert self.receive()["result"]["protocolVersion"] == "2025-06-18"
        self.send("notifications/initialized")

    def send(self, method: str, params: Any = None, number: int | None = None) -> None:
        """Send a request, or without a number a notification."""
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        self.write(json.dumps({**message, **({"id": number} if number else {})}).encode())

    def write(self, line: bytes) -> None:
        """Send a line."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> Any:
        """Return the next message."""
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def call(self, document: str, number: int = 2) -> None:
        """Ask for a document to be applied."""
        self.send("tools/call", {"name": "apply", "arguments": {"document": document}}, number)

    def end(self) -> tuple[int, bytes]:
        """Close its input; return its exit code, and what it says on standard error."""
        _out, err = self.process.communicate(timeout=LONG)
        return self.process.returncode, err


@pytest.mark.sample(1)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_run_in_order(place: Place, number: int, code: int) -> None:
    raw = Raw(place, *APPROVED)
    raw.call(SLOW)
    assert eventually((place.workspace / "begun.txt").exists)
    raw.process.send_signal(number)
    assert raw.process.wait(LONG) == code
    assert "interrupted" in last_run(place)
    assert "removed begun.txt" in place("undo").stdout
    raw.end()


def test_a_server_that_is_killed_leaves_a_run_that_can_be_undone(place: Place) -> None:
    raw = Raw(place, *APPROVED)
    raw.call(SLOW)
    assert eventually((place.workspace / "begun.txt").exists)
    raw.process.kill()
    raw.end()
    assert eventually(lambda: "killed" in last_run(place))
    assert "removed begun.txt" in place("undo").stdout


def test_the_end_of_input_ends_the_server_without_a_word(place: Place) -> None:
    raw = Raw(place)
    assert raw.end() == (0, b"")
    raw = Raw(place)
    assert raw.process.stdin
    raw.process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')  # without a line break
    assert raw.end() == (0, b"")


def test_a_request_of_the_other_era_is_refused(place: Place) -> None:
    raw = Raw(place)
    envelope = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    arguments = {"document": write("bad.txt")}
    raw.send("tools/call", {"name": "apply", "arguments": arguments, "_meta": envelope}, 7)
    assert raw.receive()["error"]["code"] == types.INVALID_REQUEST
    assert not (place.workspace / "bad.txt").exists()
    assert raw.end()[0] == 0


def test_output_that_nobody_reads_does_not_stop_the_run(place: Place) -> None:
    place.write("long.txt", "a line of text\n" * 60_000)
    raw = Raw(place)
    raw.call(run("cat long.txt") + write("after.txt"))
    assert eventually((place.workspace / "after.txt").exists)  # though nothing is read of what it says
    raw.process.send_signal(signal.SIGTERM)
    raw.end()
    assert "  ok  " in last_run(place)


@pytest.mark.parametrize(
    ("module", "found"),
    [
        ("raise ModuleNotFoundError(\"No module named 'mcp'\")", "No module named 'mcp'"),
        ("class types: pass", "No module named 'mcp.server'; 'mcp' is not a package"),
    ],
)
def test_without_the_extra_it_says_what_to_install(place: Place, module: str, found: str) -> None:
    (place.home / "mcp.py").write_text(module, encoding="utf-8")
    done = place("mcp", PYTHONPATH=os.fspath(place.home))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"clada: clada mcp needs version 2 of the Model Context Protocol's SDK ({found})\n"
        "  pip install 'clada[mcp]'\n"
    )


@pytest.mark.slow
def test_a_very_long_report_is_cut_for_the_model(place: Place) -> None:
    place.write("long.txt", "a line of text\n" * 30_000)
    agent = place.agent()
    ran = agent.call("apply", document=run("cat long.txt", "cat nowhere"))
    assert len(text(ran)) < 10_000
    assert "29800 lines left out" in text(ran)
    assert "[task-2] ERROR: RUN - cat nowhere" in text(ran)
    assert len(json.dumps(ran.structured_content)) < 10_000
    planned = agent.call("plan", document=write("long.txt", "x\n" * 60_000))
    assert len(text(planned)) < 101_000
    assert "more characters are left out]" in text(planned)


def test_a_bug_in_reading_a_document_is_told_as_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("of a reader")

    monkeypatch.setattr(clada, "plan_for", fail)

    async def call_apply() -> Any:
        session = SimpleNamespace(client_capabilities=None, can_send_request=False)
        context: Any = SimpleNamespace(meta=None, session=session, request_id=1)
        workspace = clada.mcp.call.SharedWorkspace(clada.Settings(record="none"))
        call = clada.mcp.call.ToolCall(workspace, context)
        result = await call_tool(call, "apply", {"document": write("a")})
        workspace.threads.shutdown()
        return result

    result = asyncio.run(call_apply())
    assert result["isError"]
    assert result["content"][0]["text"] == "clada has a bug: RuntimeError: of a reader"
