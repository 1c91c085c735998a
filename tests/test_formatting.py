"""after_edit: the user's formatters run on changed files, as a part of the run."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests import command_line
from tests.world.repository.states import git

import clada

if TYPE_CHECKING:
    from pathlib import Path

UPPER = 'sh -c \'for f in "$@"; do tr a-z A-Z < "$f" > /tmp/x && cat /tmp/x > "$f"; done\' upper'
ANSWER = "".join(
    f'<---WRITE file="{name}"--->\n{name}\n<---END--->\n' for name in ("a.up", "sub/b c.up", "-d.up", "e.txt")
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a repository with one file."""
    git(tmp_path, "init", "-q")
    (tmp_path / "a.up").write_text("old\n", encoding="utf-8")
    (tmp_path / "other.up").write_text("untouched\n", encoding="utf-8")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "start")
    return tmp_path


@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("record", ["commits", "snapshots", "none"])
def test_changed_files_are_formatted_and_undo_takes_it_back(
    record: Any, sandbox: Any, workspace: Path
) -> None:
    options: Any = {
        "workspace": workspace,
        "record": record,
        "sandbox": sandbox,
        "after_edit": {"*.up": UPPER},
    }
    report = clada.execute(ANSWER, **options)
    assert report.ok, report.text()
    assert f"formatted by `{UPPER}`: a.up, sub/b c.up, -d.up" in report.notes
    assert (workspace / "a.up").read_text(encoding="utf-8") == "A.UP\n"
    assert (workspace / "sub" / "b c.up").read_text(encoding="utf-8") == "SUB/B C.UP\n"
    assert (workspace / "e.txt").read_text(encoding="utf-8") == "e.txt\n"
    assert (workspace / "other.up").read_text(encoding="utf-8") == "untouched\n"
    if record == "commits":
        assert git(workspace, "status", "--short") == ""
    if record != "none":
        clada.undo(workspace=workspace)
        assert (workspace / "a.up").read_text(encoding="utf-8") == "old\n"
        assert not (workspace / "e.txt").exists()


@pytest.mark.parametrize(
    "command", ["sh -c 'echo it broke; exit 3'", "no-such-program-at-all", "sleep 60", "'"]
)
def test_a_formatter_that_fails_is_a_note(command: str, workspace: Path) -> None:
    report = clada.execute(ANSWER, workspace=workspace, after_edit={"*.up": command}, timeout=5)
    assert report.ok, report.text()
    (note,) = [note for note in report.notes if note.startswith(f"`{command}` failed: ")]
    assert ("it broke" in note) == ("broke" in command)
    assert (workspace / "a.up").read_text(encoding="utf-8") == "a.up\n"


def test_it_runs_before_the_verification_and_is_rolled_back_with_it(workspace: Path) -> None:
    options: Any = {"workspace": workspace, "git": False, "after_edit": {"*.up": UPPER}}
    assert clada.execute(ANSWER, verify=["grep -qi . a.up"], **options).ok
    report = clada.execute(ANSWER.replace("\na.up", "\nnew"), verify=["grep -q A.UP a.up"], **options)
    assert [task.status for task in report.tasks] == ["rolled_back"] * 4
    assert (workspace / "a.up").read_text(encoding="utf-8") == "A.UP\n"


def test_a_dry_run_formats_nothing(workspace: Path) -> None:
    report = clada.execute(ANSWER, workspace=workspace, after_edit={"*.up": UPPER}, dry_run=True)
    assert [note for note in report.notes if "format" in note] == []


def test_the_configuration_of_the_user_names_formatters(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = workspace.parent / f"{workspace.name}-config"
    (home / "clada").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    own = home / "clada" / "config.toml"
    own.write_text("after_edit = { '*.up' = 'touch -d 2001-01-01' }\n", encoding="utf-8")
    done = command_line.run("config", "get", "after_edit", directory=workspace)
    assert done.stdout == b"*.up: touch -d 2001-01-01\n"
    done = command_line.run("--no-git", document=ANSWER.encode(), directory=workspace)
    assert done.returncode == 0, done.stderr
    own.write_text("after_edit = { '*.up' = 1 }\n", encoding="utf-8")
    done = command_line.run("--no-git", document=ANSWER.encode(), directory=workspace)
    assert done.returncode == 2
    assert b"after_edit must be a table of texts" in done.stderr
    own.unlink()
    (workspace / ".clada").mkdir()
    (workspace / ".clada" / "config.toml").write_text("after_edit = { '*.up' = 'true' }\n", encoding="utf-8")
    done = command_line.run("--no-git", document=ANSWER.encode(), directory=workspace)
    assert b"after_edit cannot be set here" in done.stderr
    done = command_line.run("config", "set", "after_edit", "x", directory=workspace)
    assert b"after_edit is a table" in done.stderr
