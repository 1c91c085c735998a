"""`clada mcp` as the protocol's own inspector sees it, in its command-line mode."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import LONG
from tests.mcp.agents import write

if TYPE_CHECKING:
    from tests.mcp.agents import Place

PROGRAMS = Path(__file__).parents[2] / "build" / "npm" / "node_modules" / ".bin"
INSPECTOR = PROGRAMS / "mcp-inspector"
PATIENTLY = ("--connect-timeout", str(int(LONG * 1000)))  # the machine may have other work

pytestmark = pytest.mark.skipif(
    not INSPECTOR.exists(),
    reason="the inspector is not in build/npm: .ci/run installs requirements/npm.txt there",
)


def inspect(place: Place, method: str, *words: str) -> Any:
    """Start a server by the inspector, ask it one thing, and return the answer."""
    server = [sys.executable, "-m", "clada", "mcp"]
    done = subprocess.run(
        [str(PROGRAMS / "node"), str(INSPECTOR), "--cli", *PATIENTLY, *server, "--method", method, *words],
        cwd=place.workspace,
        env={**place.environment, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_tools_are_listed(place: Place) -> None:
    listed = inspect(place, "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == "apply plan read search undo resume history".split()
    assert listed[1]["annotations"]["readOnlyHint"] is True


def test_a_document_is_applied(place: Place) -> None:
    argument = f"document={write('inspected.txt')}"
    answer = inspect(place, "tools/call", "--tool-name", "apply", "--tool-arg", argument)
    assert answer["structuredContent"]["ok"] is True
    assert answer["content"][0]["text"].startswith("The operation was carried out.")
    assert (place.workspace / "inspected.txt").read_text() == "hi\n"


def test_resources_and_prompts_are_listed(place: Place) -> None:
    listed = inspect(place, "resources/list")["resources"]
    assert "clada://docs/mcp" in [resource["uri"] for resource in listed]
    assert inspect(place, "prompts/list")["prompts"][0]["name"] == "csl"
