"""The directory of a workspace, for the library too: what can be none is refused before anything happens."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.model import TaskEnded, TaskStarted
from clada.world.files.directories import open_workspace

if TYPE_CHECKING:
    from pathlib import Path

WRITE = clada.parse('<---WRITE file="config"--->\nx\n<---END--->\n')


@pytest.mark.parametrize("name", [".git", "a/.GIT/hooks", ".clada"])
@pytest.mark.parametrize("options", [{"git": False}, {"git": True}, {"git": False, "allow_escape": True}])
def test_a_workspace_in_a_protected_directory_is_refused(
    tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    """It is an outcome, of the type that such a path has from above."""
    place = tmp_path / name
    place.mkdir(parents=True)
    report = clada.execute(WRITE, workspace=place, lock_file=tmp_path / "lock", **options)
    assert report.fatal is not None
    assert report.fatal.type == "permission_denied"
    assert report.fatal.message.startswith(f"{place} is in a directory that is protected")
    assert (list(place.iterdir()), (tmp_path / "lock").exists()) == ([], False)


def test_names_that_only_look_protected_are_fine(tmp_path: Path) -> None:
    """Such as those of bare repositories and of git's own files."""
    for name in (".github", "project.git", ".gitlab", "git"):
        (tmp_path / name).mkdir()
        assert clada.execute(WRITE, workspace=tmp_path / name, git=False).ok


def test_the_path_is_that_of_the_handle_whatever_links_lead_there(tmp_path: Path) -> None:
    """Containment is judged by it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    handle, path = open_workspace(str(tmp_path / "link"))
    os.close(handle)
    assert path == str(tmp_path / "real")


def test_a_directory_named_like_one_that_is_gone_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system shows what is gone as `NAME (deleted)`. Elsewhere, an atomic run is pending."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state/clada/pending").mkdir(parents=True, mode=0o700)
    gone = tmp_path / "gone"
    gone.mkdir()
    (tmp_path / "gone (deleted)").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    report = clada.execute(WRITE, workspace=".", git=False)
    assert report.fatal is not None
    assert (report.fatal.type, report.fatal.message) == ("file_not_found", f"{gone} has been removed")


@pytest.mark.parametrize("git", [False, True])
@pytest.mark.parametrize("moment", [TaskStarted, TaskEnded])
def test_a_workspace_that_is_deleted_meanwhile_is_not_made_anew(
    tmp_path: Path, git: bool, moment: type
) -> None:
    """Neither by what is written, nor by what is recorded of it; and that is said."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)

    def delete(event: object) -> None:
        if isinstance(event, moment):
            shutil.rmtree(workspace, ignore_errors=True)

    plan = clada.parse('<---WRITE file="new/file"--->\nx\n<---END--->\n' * 2)
    report = clada.execute(plan, workspace=workspace, git=git, on_event=delete)
    assert list(tmp_path.iterdir()) == []
    assert not report.ok
    error = report.tasks[1].error
    assert error is not None
    assert (error.type, error.message) == ("file_not_found", f"the workspace {workspace} has been removed")
    assert report.error is not None
