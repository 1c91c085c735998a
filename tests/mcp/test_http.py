"""`clada mcp --http`: the SDK's client over streamable HTTP, and requests that must be refused."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.cli.conftest import LONG
from tests.mcp.agents import ERAS, Place, run, text, write
from tests.mcp.test_runs import APPROVED, SLOW, last_run
from tests.messages import headline
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from anyio.from_thread import BlockingPortal

TOKEN = "a token of a test, long enough"


class Served:
    """A server on loopback."""

    def __init__(self, place: Place, *flags: str, token: str | None = TOKEN) -> None:
        environment = {**place.environment, **({"CLADA_MCP_TOKEN": token} if token else {})}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clada", "mcp", "--http", "0", *flags],
            cwd=place.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr
        self.said = self.process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)/mcp", self.said)
        assert found, self.said
        self.port = int(found[1])

    @contextlib.asynccontextmanager
    async def transport(self, token: str = TOKEN) -> AsyncIterator[Any]:
        """Connect a client."""
        url, headers = f"http://127.0.0.1:{self.port}/mcp", {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as client,
            streamable_http_client(url, http_client=client) as streams,
        ):
            yield streams

    def request(self, headers: list[tuple[str, str]], method: str = "POST", path: str = "/mcp") -> int:
        """Send a call of `apply`, or whatever it is, and return the status of the answer."""
        call = {"name": "apply", "arguments": {"document": write("forced.txt")}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=any(name == "Host" for name, _ in headers))
            for name, value in (
                *headers,
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
                ("Content-Length", str(len(body))),
            ):
                connection.putheader(name, value)
            connection.endheaders(body.encode())
            return connection.getresponse().status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=LONG)


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal
) -> Iterator[tuple[Place, Served]]:
    with contextlib.ExitStack() as stack:
        place = Place(tmp_path_factory.mktemp("http"), stack, portal)
        yield place, place.entered(Served(place))


@pytest.mark.parametrize("era", ERAS)
def test_a_client_with_the_token_is_served(served: tuple[Place, Served], era: str) -> None:
    place, server = served
    agent = place.connected(server.transport(), era, answer="once")
    result = agent.call("apply", document=write(f"{era}.txt") + run("ls") + run("python3 --version"))
    assert text(result).startswith("All 3 operations were carried out.\n")
    assert "[task-3] SUCCESS" in text(result)
    assert len(agent.asked) == 1
    assert [each[0] for each in agent.progress][:2] == [1, 2]
    assert (place.workspace / f"{era}.txt").exists()


def test_the_token_is_told_where_it_was_made_here(place: Place) -> None:
    server = place.entered(Served(place, token=None))
    found = re.search(r"the token (\S{43}) ", server.said)
    assert found
    agent = place.connected(server.transport(found[1]))
    assert not agent.call("apply", document=write("a.txt")).is_error


def test_a_token_that_was_given_is_not_shown_and_not_passed_on(served: tuple[Place, Served]) -> None:
    place, server = served
    assert TOKEN not in server.said
    agent = place.connected(server.transport(), answer="once")
    result = agent.call("apply", document=run("python3 -c 'import os; print(sorted(os.environ))'"))
    assert "'PATH'" in text(result)
    assert "CLADA_MCP_TOKEN" not in text(result)


RIGHT = ("Authorization", f"Bearer {TOKEN}")
REFUSED = {
    "no token": ([], 401),
    "an empty one": ([("Authorization", "Bearer ")], 401),
    "a wrong one": ([("Authorization", "Bearer wrong, but long enough")], 401),
    "the beginning of it": ([("Authorization", f"Bearer {TOKEN[:-1]}")], 401),
    "more than it": ([("Authorization", f"Bearer {TOKEN}x")], 401),
    "another scheme": ([("Authorization", f"Basic {TOKEN}")], 401),
    "the token twice": ([RIGHT, RIGHT], 401),
    "a wrong one and the right one": ([("Authorization", "Bearer x"), RIGHT], 401),
    "the token as a cookie": ([("Cookie", f"token={TOKEN}")], 401),
    "another host": ([RIGHT, ("Host", "evil.example")], 421),
    "another host with our port": ([RIGHT, ("Host", "evil.example:{port}")], 421),
    "our host with another port": ([RIGHT, ("Host", "127.0.0.1:1")], 421),
    "a host that starts like ours": ([RIGHT, ("Host", "localhost:{port}.evil.example")], 421),
    "another origin": ([RIGHT, ("Origin", "http://evil.example")], 403),
    "no origin in particular": ([RIGHT, ("Origin", "null")], 403),
    "an origin that starts like ours": ([RIGHT, ("Origin", "http://127.0.0.1:{port}@evil.example")], 403),
    "another port as origin": ([RIGHT, ("Origin", "http://localhost:1")], 403),
    "another scheme as origin": ([RIGHT, ("Origin", "https://localhost:{port}")], 403),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_a_client_of_ours_is_refused(served: tuple[Place, Served], case: str) -> None:
    place, server = served
    headers, status = REFUSED[case]
    filled = [(name, value.format(port=server.port)) for name, value in headers]
    assert server.request(filled) == status
    modern = [("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "apply")]
    assert server.request([*filled, *modern]) == status
    assert not (place.workspace / "forced.txt").exists()


def test_nothing_is_answered_without_the_token(served: tuple[Place, Served]) -> None:
    token = TOKEN.replace(" ", "%20")
    for path in ("/mcp", "/", f"/mcp?token={token}", "/.well-known/oauth-protected-resource", "/docs"):
        for method in ("GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD"):
            assert served[1].request([], method, path) == 401


def test_it_listens_on_loopback_alone(served: tuple[Place, Served]) -> None:
    port, listening = f"{served[1].port:04X}", " 0A "
    tables = [Path(f"/proc/net/{name}").read_text(encoding="ascii") for name in ("tcp", "tcp6")]
    lines = [
        line for table in tables for line in table.splitlines() if f":{port} " in line and listening in line
    ]
    assert [line.split()[1] for line in lines] == [f"0100007F:{port}"]


@pytest.mark.parametrize(
    ("flags", "environment", "said"),
    [
        (("--http", "99999"), {}, "--http: port 99999 cannot be used: bind(): port must be 0-65535."),
        (("--http", "x"), {}, "--http must be a number, not 'x'"),
        (("--http", "0"), {"CLADA_MCP_TOKEN": "short"}, "CLADA_MCP_TOKEN must have 16 characters or more"),
        (("--http", "0"), {"CLADA_MCP_TOKEN": ""}, "CLADA_MCP_TOKEN must have 16 characters or more"),
    ],
)
def test_what_cannot_be_served_is_a_usage_error(
    place: Place, flags: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    done = place("mcp", *flags, **environment)
    assert (done.returncode, done.stdout, headline(done.stderr)) == (2, "", f"clada: {said}\n")


@pytest.mark.slow
def test_a_signal_ends_the_run_in_order(place: Place) -> None:
    with Served(place, *APPROVED) as server:
        agent = place.connected(server.transport())
        agent.portal.start_task_soon(agent.calling, "apply", {"document": SLOW})
        assert eventually((place.workspace / "begun.txt").exists)
    assert "interrupted" in last_run(place)
    assert "removed begun.txt" in place("undo").stdout
