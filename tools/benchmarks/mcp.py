"""What a small call of `clada mcp` costs, against `write_file` of the reference filesystem server."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from typing import Any, Self

from tools.benchmarks.measuring import PACKAGES, Row, least

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}
CONTENT = 'console.log("hello");\n' * 10


def rows(rounds: int = 400) -> list[Row]:
    """Return what was measured."""
    node, reference = PACKAGES / ".bin" / "node", PACKAGES / ".bin" / "mcp-server-filesystem"
    if not node.exists() or not reference.exists():
        raise FileNotFoundError("the packages of requirements/npm.txt")
    numbers = itertools.count()  # so that no content is there already
    with (
        tempfile.TemporaryDirectory() as folder,
        Server([str(node), str(reference), folder], folder) as other,
        Server([sys.executable, "-m", "clada", "mcp", "--record=none"], folder) as ours,
    ):

        def apply() -> None:
            document = f'<---WRITE file="app.js"--->\n{CONTENT}// {next(numbers)}\n<---END--->\n'
            ours.call("apply", document=document)

        def write_file() -> None:
            other.call("write_file", path=f"{folder}/other.js", content=f"{CONTENT}// {next(numbers)}")

        apply_time, write_time = least(rounds, apply, write_file, clock=time.perf_counter)
    what = "`apply` of one small write by MCP / `write_file` of the reference server"
    return [Row(what, apply_time / write_time, 2.5)]


class Server:
    """A server on standard input and output."""

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
