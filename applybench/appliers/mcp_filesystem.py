"""The reference file system server of the Model Context Protocol."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from applybench.appliers.base import Applier
from applybench.cases import Case
from applybench.score import Outcome


class McpFilesystem(Applier):
    """One server for all cases. A call that is cut off never reaches a server."""

    name = "MCP filesystem"
    formats = frozenset({"MCP edit_file"})
    npm = "@modelcontextprotocol/server-filesystem@2026.8.31"
    leaves_out = frozenset({"cut off"})
    _process: subprocess.Popen[str] | None = None
    _number = 0

    def version(self) -> str:
        """Return the version of the package."""
        package = self.folder / "node_modules/@modelcontextprotocol/server-filesystem/package.json"
        return str(json.loads(package.read_text())["version"])

    def apply(self, root: Path, case: Case) -> Outcome:
        """Call edit_file with the absolute path."""
        if self._process is None:
            self._start(root.parent)
        call = json.loads(case.answer)
        call["arguments"]["path"] = str(root / call["arguments"]["path"])
        reply = self._request("tools/call", call)
        result = reply.get("result", {})
        return Outcome("result" in reply and not result.get("isError", False), json.dumps(reply)[:500])

    def close(self) -> None:
        """End the server."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self, allowed: Path) -> None:
        script = self.folder / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
        self._process = subprocess.Popen(
            ["node", script, allowed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        client = {"name": "applybench", "version": "1"}
        self._request(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        )
        self._send({"method": "notifications/initialized"})

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        process = self._process
        assert process  # noqa: S101 (it was started with pipes)
        assert process.stdout  # noqa: S101
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number and "method" not in message:
                return message
        return {}

    def _send(self, message: dict[str, Any]) -> None:
        process = self._process
        assert process  # noqa: S101 (it was started with pipes)
        assert process.stdin  # noqa: S101
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()


APPLIERS = [McpFilesystem]
