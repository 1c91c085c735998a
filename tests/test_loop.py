"""The whole loop with a scripted model: it reads, misquotes, repairs, breaks a test, and passes it."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests import command_line
from tests.world.repository.states import git

import clada

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    Send = Callable[[str], str]  # an answer of the model; returns the report for it

CODE = "def total(prices, tax):\n    result = sum(prices)\n    return result\n"
CHECK = "from shop import total\nassert total([1, 2], 1) == 6, 'the tax is missing'\nprint('passed')\n"
VERIFY = "python3 check.py"


def script(report: str) -> str | None:
    """Return the next answer of the model, by the report on the last one; None once all is well."""
    if not report:
        return '<---READ file="shop.py"--->\n'
    if "verified: " in report:
        return None
    if "the tax is missing" in report:  # what a rolled back run printed
        return (
            '<---SEARCH file="shop.py"--->\n    return result\n'
            "<---REPLACE--->\n    return result * (1 + tax)\n<---END--->\n"
        )
    block = re.search(r"send this block again, from the start of a line:\n((?:    .*\n|\n)+)", report)
    if block:
        return re.sub(r"(?m)^    ", "", block[1])
    return (
        '<---SEARCH file="shop.py"--->\ndef total(prices,tax):\n    result = sum(prices)\n'
        "<---REPLACE--->\ndef total(prices,tax):\n    result = sum(prices) + 0\n<---END--->\n"
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a repository with a function, and a check that fails in another way."""
    git(tmp_path, "init", "-q")
    (tmp_path / "shop.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "check.py").write_text(CHECK, encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "start")
    return tmp_path


@contextmanager
def by_library(workspace: Path) -> Iterator[Send]:
    def send(answer: str) -> str:
        report = clada.execute(answer, workspace=workspace, verify=[VERIFY], verify_strict=True)
        return report.text(for_llm=True)

    yield send


@contextmanager
def by_command_line(workspace: Path) -> Iterator[Send]:
    def send(answer: str) -> str:
        flags = ("--verify", VERIFY, "--verify-strict")
        command_line.run(*flags, document=answer.encode(), directory=workspace)
        return command_line.run("report", directory=workspace).stdout.decode()

    yield send


@contextmanager
def by_mcp(workspace: Path) -> Iterator[Send]:
    pytest.importorskip("mcp")
    from anyio.from_thread import start_blocking_portal
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client
    from tests.mcp.agents import Agent, text

    flags = ["--verify-strict", "--approve", VERIFY]
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "clada", "mcp", *flags], env=dict(os.environ), cwd=workspace
    )
    with start_blocking_portal() as portal:
        agent = Agent(portal, stdio_client(server, errlog=sys.stderr), "auto")
        with portal.wrap_async_context_manager(agent.client):
            yield lambda answer: text(agent.call("apply", document=answer, verify=[VERIFY]))


@pytest.mark.parametrize("way", [by_library, by_command_line, by_mcp])
def test_a_model_that_reads_its_reports_gets_there(
    way: Callable[[Path], AbstractContextManager[Send]], workspace: Path
) -> None:
    report, reports = "", list[str]()
    with way(workspace) as send:
        while (answer := script(report)) is not None:
            report = send(answer)
            reports.append(report)
            assert len(reports) <= 4, "\n\n".join(reports)
    read, misquoted, rolled_back, verified = reports
    assert "result = sum(prices)" in read
    assert "found 0 matches, expected 1" in misquoted
    assert "1 rolled back" in rolled_back
    assert "[verify] AssertionError: the tax is missing" in rolled_back
    assert f"verified: {VERIFY} (before: exit 1, after: exit 0)" in verified
    assert (workspace / "shop.py").read_text(encoding="utf-8") == CODE.replace(
        "n result\n", "n result * (1 + tax)\n"
    )
    assert git(workspace, "status", "--short") == ""
