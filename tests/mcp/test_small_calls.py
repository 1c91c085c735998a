"""Small calls are answered where their line is read; the client cannot tell that from the way of the SDK."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import asyncio
import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.mcp.agents import run, write
from tests.mcp.test_runs import Raw, until

import clada
from clada.mcp.plain import SmallCalls
from clada.mcp.run import SharedWorkspace
from clada.mcp.stdio import _Messages
from clada.mcp.tools import MOST_QUICK

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.agents import Place

NUMBER = 7
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
EDIT = '<---SEARCH file="there.txt"--->\n{}\n<---REPLACE--->\ntwo\n<---END--->\n'
NOTED = '<tasks version="1.1">\n<shout/>\n<write path="a.txt">x</write>\n</tasks>\n'  # <shout> is skipped


def request(params: object, **other: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": NUMBER, "method": "tools/call", "params": params, **other}


def applying(document: str, meta: object = None, tool: str = "apply", **given: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": {"document": document, **given}}
    return params if meta is None else {**params, "_meta": meta}


PLAIN = {
    "a write": request(applying(write("a.txt"))),
    "two writes": request(applying(write("a.txt") + write("b.txt", "ü"))),
    "an edit": request(applying(EDIT.format("one"))),
    "an edit that fails": request(applying(EDIT.format("nowhere"))),
    "a path outside": request(applying(write("../a.txt"))),
    "what is invalid": request(applying('<---WRITE file=""--->\n<---END--->\n')),
    "prose": request(applying("nothing to do")),
    "a note": request(applying(NOTED)),
    "a dry run": request(applying(write("a.txt"), dry_run=True)),
    "a plan": request(applying(write("a.txt"), tool="plan")),
    "progress": request(applying(NOTED, {"progressToken": 5})),
    "progress by a text": request(applying(write("a.txt"), {"progressToken": "five", "other": [1]})),
    "no progress": request(applying(write("a.txt"), {"other": None})),
    "a number that is a text": request(applying(write("a.txt")), id="seven"),
    "a large number": request(applying(write("a.txt")), id=1 << 70),
}
OTHERS = {
    "a tool that is not there": request({"name": "aply", "arguments": {"document": write("a.txt")}}),
    "no tool": request({"arguments": {"document": write("a.txt")}}),
    "a tool that is no text": request({"name": ["apply"], "arguments": {"document": write("a.txt")}}),
    "no arguments": request({"name": "apply"}),
    "arguments that are none": request({"name": "apply", "arguments": None}),
    "arguments that are no object": request({"name": "apply", "arguments": [write("a.txt")]}),
    "no document": request({"name": "apply", "arguments": {}}),
    "a document that is no text": request({"name": "apply", "arguments": {"document": 7}}),
    "an argument too many": request(applying(write("a.txt"), force=True)),
    "a flag that is none": request(applying(write("a.txt"), atomic="yes")),
    "a part too many": request({**applying(write("a.txt")), "task": {"ttl": 1}}),
    "no parts": request(None),
    "parts that are no object": request([]),
    "metadata that is none": request(applying(write("a.txt"), 7)),
    "progress that is none": request(applying(write("a.txt"), {"progressToken": True})),
    "progress by null": request(applying(write("a.txt"), {"progressToken": None})),
    "another era": request(
        applying(write("a.txt"), {"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    ),
    "a number that is none": request(applying(write("a.txt")), id=True),
    "a number that is a fraction": request(applying(write("a.txt")), id=1.5),
    "another version": request(applying(write("a.txt")), jsonrpc="1.0"),
    "more than a request": request(applying(write("a.txt")), extra=1),
    "another method": request(applying(write("a.txt")), method="tools/cal"),
    "another tool": request({"name": "history", "arguments": {}}),
    "all or nothing": request(applying(write("a.txt"), atomic=True)),
    "a command": request(applying(write("a.txt") + run("ls"))),
    "many operations": request(applying("".join(write(f"{number}.txt") for number in range(9)))),
    "a large document": request(applying(write("a.txt", "x" * MOST_QUICK))),
    "an edit of nothing": request(applying(EDIT.format("one").replace("there", "nowhere"))),
    "no object": ["tools/call"],
}


NO_MESSAGES = [
    b'{"tools/call"',
    *(
        json.dumps(request(applying(write("a.txt", "HERE")))).encode().replace(b"HERE", part)
        for part in (b"\xff", b"\\ud800")
    ),
]


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Small:
    """Small calls in a workspace, of a client that has shaken hands."""

    def __init__(self, top: Path, **settings: Any) -> None:
        (top / "there.txt").write_text("one\n", encoding="utf-8")
        self.workspace = SharedWorkspace(
            clada.Settings(**{"workspace": str(top), "record": "none", **settings})
        )
        self.client: Any = SimpleNamespace(client_params=object(), protocol_version="2025-06-18")
        self._calls = SmallCalls(self.workspace, self.client)

    def answers(self, data: bytes) -> list[Any]:
        """Return what is sent for a line: nothing, if that is for the SDK."""
        return [json.loads(answer) for answer in (self._calls.answer(data) or b"").splitlines()]


@pytest.mark.parametrize("case", PLAIN)
def test_a_small_call_is_answered_at_once(tmp_path: Path, case: str) -> None:
    *told, answer = Small(tmp_path).answers(line(PLAIN[case]))
    assert answer["id"] == PLAIN[case]["id"]
    assert "result" in answer
    assert all("id" not in message for message in told)


@pytest.mark.parametrize("case", OTHERS)
def test_every_other_is_left_to_the_sdk_and_nothing_is_done(tmp_path: Path, case: str) -> None:
    assert Small(tmp_path).answers(line(OTHERS[case])) == []
    assert [path.name for path in tmp_path.iterdir()] == ["there.txt"]


def test_so_is_every_call_where_it_would_not_be_in_order(tmp_path: Path) -> None:
    call = line(PLAIN["a write"])
    for settings in ({"record": "snapshots"}, {"lock_file": str(tmp_path / "lock")}):
        assert Small(tmp_path, **settings).answers(call) == []
    small = Small(tmp_path)
    assert [small.answers(data) for data in NO_MESSAGES] == [[]] * len(NO_MESSAGES)
    small.client.client_params = None  # there was no handshake yet
    assert small.answers(call) == []
    small = Small(tmp_path)
    small.client.protocol_version = "2025-03-26"  # which has no structured content
    assert small.answers(call) == []

    async def during_a_run() -> list[Any]:
        small = Small(tmp_path)
        async with small.workspace.turn:
            return small.answers(call)

    assert asyncio.run(during_a_run()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["there.txt"]


def test_what_the_client_does_not_want_to_hear_is_not_told(tmp_path: Path) -> None:
    small = Small(tmp_path)
    (note, _answer) = small.answers(line(PLAIN["a note"]))
    assert note["method"] == "notifications/message"
    small.workspace.level = "warning"
    (answer,) = small.answers(line(PLAIN["a note"]))
    assert answer["result"]["structuredContent"]["notes"] == [note["params"]["data"]]


def test_a_bug_in_reading_is_left_to_the_sdk_and_one_in_running_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("of ours")

    small = Small(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(clada, "plan_for", fail)
        assert small.answers(line(PLAIN["a write"])) == []
    monkeypatch.setattr(clada, "execute", fail)
    (answer,) = small.answers(line(PLAIN["a write"]))
    assert answer["result"]["isError"]
    assert answer["result"]["content"][0]["text"] == "clada has a bug: RuntimeError: of ours"


def test_a_report_that_is_no_text_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clada.Report, "text", lambda _report: "\udcff")
    (answer,) = Small(tmp_path).answers(line(PLAIN["a write"]))
    assert answer["error"]["code"] == 0


# Through a server.


def without_times(message: Any) -> Any:
    """Return a message without how long each task took."""
    for block in message.get("result", {}).get("structuredContent", {}).get("blocks", ()):
        for task in block["tasks"]:
            del task["duration"]
    return message


def told(raw: Raw, number: object) -> list[Any]:
    """Return all messages until the answer to this."""
    messages = [raw.receive()]
    while messages[-1].get("id") != number:
        messages.append(raw.receive())
    return [without_times(message) for message in messages]


def test_a_call_is_answered_as_the_sdk_does(place: Place) -> None:
    """That has to do it where the call comes in one piece with another request."""
    raw = Raw(place, "--record=none")
    for case, call in PLAIN.items():
        answers = []
        for before in (b"", line(PING)):
            for path in place.workspace.glob("*.txt"):
                path.unlink()
            place.write("there.txt", "one\n")
            raw.write((before + line(call)).removesuffix(b"\n"))
            answers.append([message for message in told(raw, call["id"]) if message.get("id") != "ping"])
        assert answers[0] == answers[1], case
    assert raw.end() == (0, b"")


def test_calls_that_nobody_waits_for_are_answered_in_order(place: Place) -> None:
    raw = Raw(place, "--record=none")
    for number in range(0, 200, 2):
        raw.call(write("a.txt", str(number)), number + 1)
        raw.write(json.dumps({**PING, "id": number + 2}).encode())
    assert [raw.receive()["id"] for _ in range(200)] == list(range(1, 201))
    assert (place.workspace / "a.txt").read_text() == "198"
    assert raw.end() == (0, b"")


def test_a_small_call_waits_for_the_run_before_it(place: Place) -> None:
    raw = Raw(place, "--record=none", "--approve", "sleep 0.5")
    raw.call(write("a.txt", "first") + run("sleep 0.5"), 2)
    until((place.workspace / "a.txt").exists)
    raw.call(write("a.txt", "second"), 3)
    answers = [message for message in told(raw, 3) if "id" in message]
    assert [answer["id"] for answer in answers] == [2, 3]
    assert (place.workspace / "a.txt").read_text() == "second"
    assert raw.end() == (0, b"")


def test_a_call_that_is_cancelled_in_the_same_breath_is_not_answered(place: Place) -> None:
    raw = Raw(place, "--record=none")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": NUMBER}}
    raw.write(line(PLAIN["a write"]) + json.dumps(cancel).encode())
    raw.write(json.dumps(PING).encode())
    assert told(raw, "ping") == [{"jsonrpc": "2.0", "id": "ping", "result": {}}]
    assert raw.end() == (0, b"")


def test_a_call_in_pieces_is_answered_as_one(place: Place) -> None:
    raw = Raw(place, "--record=none")
    whole = line(PLAIN["a write"])
    assert raw.process.stdin
    for number in range(0, len(whole), 40):
        raw.process.stdin.write(whole[number : number + 40])
        raw.process.stdin.flush()
    assert told(raw, NUMBER)[-1]["result"]["isError"] is False
    assert raw.end() == (0, b"")


def test_no_line_overtakes_one_that_nobody_has_begun_with() -> None:
    """It is read at the moment at which the other is passed on."""
    events: list[str] = []

    async def read_two() -> None:
        out, into = os.pipe()
        messages = _Messages(out)

        def answer(data: bytes) -> bool:
            events.append(f"read {data.decode().strip()}")
            os.write(into, b"2\n")
            return False

        async def begin(name: str) -> None:
            events.append(f"begun {name}")

        messages.answer = answer
        os.write(into, b"1\n")
        async with asyncio.TaskGroup() as tasks:
            for name in ("1", "2"):
                await anext(messages)
                tasks.create_task(begin(name))
        os.close(out)
        os.close(into)

    asyncio.run(read_two())
    assert events == ["read 1", "begun 1", "begun 2"]
