"""The conversation on standard input and output: order, pieces, cancelling, lines that are not messages."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp.types import INVALID_PARAMS, PARSE_ERROR
from tests.cli.conftest import LONG
from tests.mcp.agents import run, write
from tests.mcp.test_runs import Raw
from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.mcp.agents import Place

NUMBER = 7
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


def calling(document: str, number: object = NUMBER, **params: object) -> dict[str, Any]:
    arguments = {"name": "apply", "arguments": {"document": document}, **params}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": arguments}


def line(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def told(raw: Raw, number: object) -> list[Any]:
    """Return all messages up to the answer to this request."""
    messages = [raw.receive()]
    while messages[-1].get("id") != number:
        messages.append(raw.receive())
    return messages


NOT_MESSAGES = {
    "text": b"no message",
    "half of one": line(calling(write("bad.txt")))[:-20],
    "another value": b'["tools/call"]',
    "not UTF-8": line(calling(write("bad.txt", "HERE"))).replace(b"HERE", b"\xff").strip(),
    "another version": line({**calling(write("bad.txt")), "jsonrpc": "1.0"}).strip(),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", NOT_MESSAGES)
def test_a_line_that_is_not_a_message_is_answered_and_the_next_is_carried_out(
    place: Place, case: str
) -> None:
    raw = Raw(place)
    raw.write(NOT_MESSAGES[case])
    error = raw.receive()
    assert (error["id"], error["error"]["code"]) == (None, PARSE_ERROR)
    raw.call(write("good.txt"), 8)
    assert told(raw, 8)[-1]["result"]["isError"] is False
    assert [path.name for path in place.workspace.glob("*.txt")] == ["good.txt"]
    assert raw.end() == (0, b"")


def test_arguments_that_are_wrong_are_refused_and_nothing_is_done(place: Place) -> None:
    raw = Raw(place)
    wrong: list[dict[str, Any]] = [{"name": 7}, {"arguments": []}, {"_meta": 7}]
    for params in wrong:
        raw.write(line(calling(write("bad.txt"), **params)).strip())
        assert told(raw, NUMBER)[-1]["error"]["code"] == INVALID_PARAMS, params
    assert not (place.workspace / "bad.txt").exists()
    assert raw.end() == (0, b"")


def test_calls_are_carried_out_one_after_the_other(place: Place) -> None:
    raw = Raw(place, "--record=none", "--approve", "sleep 0.5")
    raw.call(write("a.txt", "first") + run("sleep 0.5"), 2)
    assert eventually((place.workspace / "a.txt").exists)
    raw.call(write("a.txt", "second"), 3)
    answers = [message["id"] for message in told(raw, 3) if "id" in message]
    assert answers == [2, 3]
    assert (place.workspace / "a.txt").read_text().startswith("second")
    assert raw.end() == (0, b"")


def test_a_call_that_is_cancelled_in_the_same_breath_leaves_the_connection_in_order(place: Place) -> None:
    raw = Raw(place, "--record=none")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": NUMBER}}
    raw.write(line(calling(write("a.txt"))) + line(cancel).strip())
    raw.write(line(PING).strip())
    assert told(raw, "ping")[-1] == {"jsonrpc": "2.0", "id": "ping", "result": {}}
    assert raw.end() == (0, b"")


def test_a_call_in_pieces_is_answered_as_one(place: Place) -> None:
    raw = Raw(place, "--record=none")
    whole = line(calling(write("a.txt")))
    assert raw.process.stdin
    for start in range(0, len(whole), 40):
        raw.process.stdin.write(whole[start : start + 40])
        raw.process.stdin.flush()
    assert told(raw, NUMBER)[-1]["result"]["isError"] is False
    assert raw.end() == (0, b"")


def test_the_conversation_may_come_from_a_file_and_go_to_one(place: Place) -> None:
    client = {"name": "file", "version": "0"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    asked, answered = place.home / "asked", place.home / "answered"
    asked.write_bytes(line(first))
    with asked.open("rb") as source, answered.open("wb") as target:
        done = subprocess.run(
            [sys.executable, "-m", "clada", "mcp"], cwd=place.workspace, env=place.environment,
            stdin=source, stdout=target, check=True, timeout=LONG,
        )  # fmt: skip
    assert done.returncode == 0
    ids = [json.loads(each).get("id") for each in answered.read_bytes().splitlines()]
    assert ids == [1]
