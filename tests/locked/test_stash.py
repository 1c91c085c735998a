"""A stash changes what it names, in this repository alone, and never what was approved."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.locked.conftest import Place

APPROVED = '{"commands": ["touch approved"]}'
STASHING = ("git stash", "git stash push -u", "git stash -k -m x", "git stash pop", "git stash apply")


def _submodule(place: Place) -> str:
    """Give the workspace a submodule whose own filter leaves a marker, and return the marker."""
    marker = str(place.top / "marker")
    other = place.top / "other"
    subprocess.run(["cp", "-a", str(place.inside), str(other)], check=True)
    place.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "module")
    place.git("config", "-f", ".gitmodules", "submodule.module.ignore", "none")
    place.git("config", "submodule.module.ignore", "none")
    place.commit()
    place.git("-C", "module", "config", "filter.x.clean", f"touch {marker}; cat")
    place.git("-C", "module", "config", "core.fsmonitor", f"touch {marker}; false")
    place.write("module/.gitattributes", "* filter=x\n")
    place.write("module/file", "changed in the submodule\n")
    return marker


@pytest.mark.sample(3)
@pytest.mark.parametrize("command", STASHING)
def test_it_is_refused_where_there_are_submodules(place: Place, command: str) -> None:
    """Git goes into them, and does what their configuration says."""
    marker = _submodule(place)
    place.write("file", "changed\n")
    done = place.clada(command, "git status", "git diff", "git stash list")
    assert done.errors == ["command_not_allowed", None, None, None], done.text
    assert "would go into module, a repository of its own" in done.text
    assert not (place.top / "marker").exists()
    assert (place.inside / "file").read_text() == "changed\n"
    place.git("status")
    assert (place.top / "marker").exists(), f"the control: plain git makes {marker}"


@pytest.mark.sample(3)
@pytest.mark.parametrize("command", STASHING)
def test_it_is_refused_where_there_are_nested_repositories(place: Place, command: str) -> None:
    place.write("nested/file")
    place.give()
    place.git("-C", "nested", "init", "-q")
    done = place.clada(command)
    assert done.errors == ["command_not_allowed"], done.text
    assert "would go into nested/" in done.text


@pytest.mark.sample(2)
@pytest.mark.parametrize("back", ["git stash pop", "git stash apply"])
def test_no_rename_carries_a_stashed_change_into_the_approvals(place: Place, back: str) -> None:
    """The document stashes a change of a file that the user then moves to where approvals are."""
    place.write("x/allowed-commands.json", '{"commands": []}')
    place.write("x/more", "more\n" * 20)
    place.commit()
    place.write("x/allowed-commands.json", APPROVED)
    assert place.clada("git stash").errors == [None]
    place.git("mv", "x", ".clada")
    place.git("commit", "-q", "-m", "moved")
    done = place.clada(back)
    assert done.errors == ["permission_denied"], done.text
    assert (place.inside / ".clada/allowed-commands.json").read_text() == '{"commands": []}'
    assert place.clada("touch approved && touch other", "python3 -V").errors[1] == "command_not_allowed"


@pytest.mark.parametrize("back", ["git stash pop", "git stash apply"])
def test_a_directory_rename_carries_nothing_there_either(place: Place, back: str) -> None:
    place.write("x/more", "more\n" * 20)
    place.write("x/config", "other\n" * 20)
    place.commit()
    place.write("x/allowed-commands.json", APPROVED)
    place.give()
    place.git("add", "-A")
    assert place.clada("git stash").errors == [None]
    place.git("mv", "x", ".clada")
    place.git("commit", "-q", "-m", "moved")
    place.clada(back)
    assert not (place.inside / ".clada/allowed-commands.json").exists()


def test_an_ordinary_stash_works_confined(place: Place) -> None:
    place.write("file", "one\nchanged\n")
    place.write("new/untracked")
    done = place.clada("git stash push -u -m mine", "git stash list", "git stash show -p")
    assert done.errors == [None] * 3, done.text
    assert (place.inside / "file").read_text() == "one\ntwo\n"
    assert not (place.inside / "new").exists()
    assert "mine" in done.output(done.tasks[1])
    assert place.clada("git stash pop").errors == [None]
    assert (place.inside / "file").read_text() == "one\nchanged\n"
    assert (place.inside / "new/untracked").exists()
