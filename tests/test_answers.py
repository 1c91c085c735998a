"""Answers as real chats produce them, each with what should happen, through the real command line.

tests/answers/<what>/ holds
  answer.md   the answer
  before/     the workspace before (may be missing: it is empty then)
  expected    a comment that says what the answer shows, `exit N`, and the lines of standard output;
              `$` before a further argument, `!` before a line of standard error; `*` stands for any text
  after/      the files of the workspace after (may be missing: nothing has changed then)

What is expected was written down before it was run: by the specification, not by the program.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import command_line

if TYPE_CHECKING:
    import subprocess

ANSWERS = Path(__file__).parent / "answers"
NAMES = sorted(folder.name for folder in ANSWERS.iterdir() if folder.is_dir())
FLAGS = ("--no-git", "--summary=none")


def test_there_are_answers() -> None:
    """A runner that finds nothing would be content with anything."""
    assert len(NAMES) >= 60


@pytest.mark.parametrize("name", NAMES)
def test_answer(name: str, tmp_path: Path) -> None:
    """The answer is carried out, or refused, as it should be."""
    case, workspace = ANSWERS / name, _workspace(name, tmp_path)
    arguments, code, said, noted = _expected(case)
    done = _clada(case, workspace, *arguments)
    shown = f"{done.stdout.decode()}{done.stderr.decode()}"
    assert _agree(said, done.stdout.decode().splitlines()), shown
    assert _agree(noted, done.stderr.decode().splitlines()), shown
    assert done.returncode == code, shown
    after = case / "after" if (case / "after").exists() else case / "before"
    assert _tree(workspace) == _tree(after)


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_changes_nothing_and_predicts_success_and_failure(name: str, tmp_path: Path) -> None:
    """Looking first changes nothing, and foretells success and failure."""
    case, workspace = ANSWERS / name, _workspace(name, tmp_path)
    arguments, code, _said, _noted = _expected(case)
    done = _clada(case, workspace, "--dry-run", *arguments)
    assert _tree(workspace) == _tree(case / "before")
    if b"not run in a dry run" not in done.stdout:  # else only the run itself can tell
        assert done.returncode == code, done.stdout.decode()
    elif code == 0:
        assert done.returncode == 0, done.stdout.decode()


def _workspace(name: str, top: Path) -> Path:
    workspace = top / "workspace"
    if (ANSWERS / name / "before").exists():
        shutil.copytree(ANSWERS / name / "before", workspace)
    else:
        workspace.mkdir()
    return workspace


def _clada(case: Path, workspace: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    home = str(workspace.parent)
    return command_line.run(
        *FLAGS,
        *arguments,
        document=(case / "answer.md").read_bytes(),
        directory=workspace,
        environment={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home},
    )


def _expected(case: Path) -> tuple[list[str], int, list[str], list[str]]:
    """Return arguments, exit code, and the lines of both outputs."""
    lines = (case / "expected").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    arguments = [line[2:] for line in lines if line.startswith("$ ")]
    rest = [line for line in lines[1:] if not line.startswith("$ ")]
    assert rest[0].startswith("exit ")
    noted = [line[2:] for line in rest[1:] if line.startswith("! ")]
    said = [line for line in rest[1:] if not line.startswith("! ")]
    return arguments, int(rest[0][5:]), said, noted


def _agree(patterns: list[str], lines: list[str]) -> bool:
    return len(patterns) == len(lines) and all(map(_matches, patterns, lines))


def _matches(pattern: str, line: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), line) is not None


def _tree(top: Path) -> dict[str, bytes]:
    """Return the files below a directory; one that only keeps an empty directory does not count."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in top.rglob("*")
        if path.is_file() and path.name != ".gitkeep"
    }
