"""`clada pack`: its flags, what it says, and what it remembers."""

# ruff: noqa: D103 (the name of a test says what holds)

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests import command_line

from clada.world.record.seen import HISTORY_AGE, prune, remember, versions
from clada.world.record.store import find_store

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def clada(workspace: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run clada in a workspace, with a home of its own."""
    home = {"HOME": str(workspace.parent), "XDG_STATE_HOME": str(workspace.parent / "state")}
    return command_line.run(
        *arguments, directory=workspace, environment={**os.environ, **home, **environment}
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a directory with a file, a secret and a binary."""
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / "app.py").write_text("key = 'k3y5ecretvalue99'\n")
    (inside / ".env").write_text("API_KEY=k3y5ecretvalue99\n")
    (inside / "data").write_bytes(b"\0")
    return inside


def test_files_and_question_are_printed_and_the_rest_is_named(workspace: Path) -> None:
    done = clada(workspace, "pack", "--ask", "Why?")
    assert done.returncode == 0
    assert b"\n## app.py\n\n```\nkey = " in done.stdout
    assert done.stdout.endswith(b"\n# Task\n\nWhy?\n")
    assert b"k3y5" not in done.stdout
    assert b"clada: left out .env: looks like a secret\n" in done.stderr
    assert b"clada: left out data: binary\n" in done.stderr
    assert b"clada: 1 file, " in done.stderr


def test_the_format_is_that_of_the_instructions(workspace: Path) -> None:
    assert b"<<<<<<< SEARCH" in clada(workspace, "pack", "--format=sr").stdout
    assert clada(workspace, "pack", "--format=nesl").returncode == 2


def test_numbers_and_limits(workspace: Path) -> None:
    assert b"\n1 | key = " in clada(workspace, "pack", "--numbers", "app.py").stdout
    done = clada(workspace, "pack", "--max-tokens=1", "app.py")
    assert b"left out app.py: over the limit of 1 tokens" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nothing.py"], b"nothing.py is not a file"),
        (["--changed"], b"not a git repository"),
        (["--edit"], b"--edit needs a terminal"),
        (["--edit", "--ask=x"], b"--ask and --edit exclude each other"),
    ],
)
def test_mistakes_are_named_in_a_line(workspace: Path, arguments: list[str], complaint: bytes) -> None:
    done = clada(workspace, "pack", *arguments)
    assert done.returncode in (1, 2)
    assert complaint in done.stderr
    assert b"Traceback" not in done.stderr
    assert not done.stdout


def test_a_pack_is_not_applied_as_an_answer(workspace: Path) -> None:
    (workspace / "packed.md").write_bytes(clada(workspace, "pack", "app.py").stdout)
    done = clada(workspace, "--no-git", "packed.md")
    assert done.returncode != 0
    assert b"a prompt of clada, not an answer" in done.stderr


def test_versions_are_remembered_newest_first(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace.parent / "state"))
    first = (workspace / "app.py").read_bytes()
    clada(workspace, "pack", "app.py")
    (workspace / "app.py").write_text("second\n")
    (workspace / "read.csl").write_text('<---READ file="app.py"--->\n')
    assert clada(workspace, "read.csl").returncode == 0
    store = find_store(str(workspace))
    assert [version.content for version in versions(store, "app.py")[0]] == [b"second\n", first]
    clada(workspace, "pack", "app.py")  # which is there already
    assert len(os.listdir(os.path.join(store.path, "seen"))) == 2


def test_old_versions_are_pruned_and_missing_ones_are_left_out(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace.parent / "state"))
    for content in (b"one\n" * 5000, b"two\n"):
        assert remember(str(workspace), [("app.py", content)]) is None
    store = find_store(str(workspace))
    prune(store, 100, HISTORY_AGE)
    assert [version.content for version in versions(store, "app.py")[0]] == [b"two\n"]
    folder = os.path.join(store.path, "seen")
    for name in os.listdir(folder):
        os.truncate(os.path.join(folder, name), 2)
    assert versions(store, "app.py") == ([], True)


def test_a_store_that_cannot_be_written_is_a_note(workspace: Path) -> None:
    (workspace.parent / "state").write_text("a file")
    done = clada(workspace, "pack", "app.py")
    assert done.returncode == 0
    assert b"clada: not remembered for merging: " in done.stderr
    assert b"## app.py" in done.stdout
