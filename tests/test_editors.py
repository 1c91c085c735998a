"""Clada in editors: the plugin for Neovim, and the problem matcher for VS Code that the documentation has."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import command_line
from tests.programs import needs

PLUGIN = Path(__file__).parents[1] / "editors" / "clada.lua"
ANSWER = """Sure:

<---WRITE file="a.txt"--->
new
<---END--->
<---SEARCH file="b.txt"--->
x
<---REPLACE--->
y
<---END--->
"""
SHOW = "lua io.stdout:write(vim.json.encode(vim.fn.getqflist()))"

NEEDED = needs("nvim")
PAGE = PLUGIN.parents[1] / "docs" / "workflows" / "editor.md"


def test_the_problem_matcher_finds_failures(tmp_path: Path) -> None:
    """In what clada prints."""
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (task,) = json.loads(text)["tasks"]
    pattern = task["problemMatcher"]["pattern"]
    done = command_line.run("--no-git", document=ANSWER.encode(), directory=tmp_path)
    lines = done.stdout.decode().splitlines()
    (found,) = filter(None, (re.search(pattern["regexp"], line) for line in lines))
    assert found[pattern["file"]] == "b.txt"
    assert found[pattern["message"]].startswith("file_not_found: ")


def neovim(tmp_path: Path, *commands: str) -> list[dict[str, Any]]:
    """Run commands of Neovim on an answer; return the quickfix list."""
    script = tmp_path / "bin" / "clada"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m clada "$@"\n')
    script.chmod(0o755)
    (tmp_path / "answer.md").write_text(ANSWER)
    words = [word for each in (f"luafile {PLUGIN}", *commands, SHOW, "qa!") for word in ("-c", each)]
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "answer.md", *words],
        cwd=tmp_path,
        env={
            **os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    _, start, rest = done.stdout.partition("[{")
    found: list[dict[str, Any]] = json.loads(start + rest or "[]")
    return found


@NEEDED
def test_the_buffer_is_applied_and_failures_are_listed(tmp_path: Path) -> None:
    (failure,) = neovim(tmp_path, "Clada")
    assert failure["lnum"] == 6
    assert failure["text"].startswith("b.txt: file_not_found: ")
    assert (tmp_path / "a.txt").read_text() == "new\n"


@NEEDED
def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    (failure,) = neovim(tmp_path, "Clada plan")
    assert failure["lnum"] == 6
    assert not (tmp_path / "a.txt").exists()


@NEEDED
def test_a_range_is_applied_alone_and_undone(tmp_path: Path) -> None:
    assert neovim(tmp_path, "3,5Clada") == []
    assert (tmp_path / "a.txt").read_text() == "new\n"
    neovim(tmp_path, "Clada undo")
    assert not (tmp_path / "a.txt").exists()


@NEEDED
def test_lines_count_from_the_start_of_the_buffer(tmp_path: Path) -> None:
    assert [each["lnum"] for each in neovim(tmp_path, "6,10Clada")] == [6]
