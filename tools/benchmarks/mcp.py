"""What `clada mcp` costs: its start against an empty server, and a small call against the reference server's.

Skipped with a word where the extra clada[mcp], or the packages of requirements/npm.txt, are not installed.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tools.benchmarks.measuring import Row, least

if TYPE_CHECKING:
    pass

PACKAGES = Path(__file__).parents[2] / "build" / "npm" / "node_modules"
EMPTY = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def main():
    server = Server("empty")
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}
CONTENT = 'console.log("hello");\n' * 10


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    if find_spec("mcp") is None:
        print("mcp: left out, for the extra clada[mcp] is not installed", file=sys.stderr)
        return []
    return [*_starts(1 if quick else 15, _command("mcp")), *_calls(5 if quick else 400)]


class Server:
    """A server on standard input and output, and what is said to it."""

    def __init__(self, command: list[str], folder: str) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._numbers = itertools.count(1)
        self.ask("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=60)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request, and return the result."""
        number = next(self._numbers)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())  # type: ignore[union-attr]
            if message.get("id") == number:
                return message["result"]

    def call(self, name: str, **arguments: Any) -> None:
        """Call a tool that has to succeed."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise AssertionError(result)

    def _send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
        self.process.stdin.flush()  # type: ignore[union-attr]


def _starts(rounds: int, command: list[str]) -> list[Row]:
    """Measure until the first answer; to end a server takes no part in it."""
    commands = {"clada": command, "empty": [sys.executable, "-c", EMPTY]}
    taken = dict.fromkeys(commands, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, words in commands.items():
                begun = time.perf_counter()
                with Server(words, folder):
                    taken[name] = min(taken[name], time.perf_counter() - begun)
    return [
        Row(
            "clada mcp until its first answer / an empty server on the same SDK",
            taken["clada"] / taken["empty"],
            1.3,
        )
    ]


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "clada", *arguments]


def _calls(rounds: int) -> list[Row]:
    node, reference = PACKAGES / ".bin" / "node", PACKAGES / ".bin" / "mcp-server-filesystem"
    if not node.exists() or not reference.exists():
        print(
            "mcp: calls are left out, for the packages of requirements/npm.txt are not in build/npm",
            file=sys.stderr,
        )
        return []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        with (
            Server([str(node), str(reference), folder], folder) as other,
            Server(_command("mcp", "--record=none"), folder) as plain,
            Server(_command("mcp", "--record=snapshots"), folder) as recorded,
        ):
            numbers = itertools.count()  # so that no content is there already

            def apply(server: Server) -> None:
                content = f"{CONTENT}// {next(numbers)}"
                server.call("apply", document=f'<---WRITE file="app.js"--->\n{content}\n<---END--->\n')

            def write_file() -> None:
                content = f"{CONTENT}// {next(numbers)}"
                other.call("write_file", path=f"{folder}/other.js", content=content)

            reference_time, plain_time, recorded_time = least(
                rounds, write_file, lambda: apply(plain), lambda: apply(recorded)
            )
    what = "apply of one small write, {} / write_file of the reference filesystem server"
    return [
        Row(what.format("recording nothing, as that does"), plain_time / reference_time, 1.0),
        Row(what.format("with a snapshot for undo"), recorded_time / reference_time),
    ]
