"""A git directory in which links lead out is not worked in: git would follow them."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.locked.conftest import Place

FILES = [
    *("HEAD", "index", "config", "logs/HEAD", "logs/refs/stash", "logs/refs/heads/main", "refs/heads/main"),
    *("refs/stash", "packed-refs", "info/exclude", "info/attributes", "objects/info/alternates", "ORIG_HEAD"),
]
FOLDERS = (
    "refs",
    "refs/heads",
    "logs",
    "logs/refs",
    "logs/refs/heads",
    "objects",
    "objects/00",
    "info",
    "clada",
)
WAYS = ("git stash push -m x", "git status", "git log", "git diff HEAD", "git branch", "git ls-files")


def _lead_out(place: Place, name: str, *, dangling: bool = False) -> None:
    """Put a link to something outside in place of a part of the git directory."""
    target = place.outside / "target"
    part = place.inside / ".git" / name
    part.parent.mkdir(parents=True, exist_ok=True)
    if part.is_dir():
        shutil.copytree(part, target)
        shutil.rmtree(part)
    elif name in FOLDERS:
        target.mkdir()
    elif part.exists():
        target.write_bytes(part.read_bytes())
        part.unlink()
    elif not dangling:
        target.write_text("")
    part.symlink_to(target)


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
def test_nothing_is_executed(place: Place, name: str) -> None:
    _lead_out(place, name)
    before = _picture(place)
    place.write("file", "changed\n")
    recorded = place.clada("touch made", arguments=())
    assert recorded.code != 0
    assert "link" in recorded.text
    assert not (place.inside / "made").exists()
    done = place.clada(*WAYS)
    assert done.errors == ["git_operation_failed"] * len(WAYS), done.text
    assert (place.inside / "file").read_text() == "changed\n"
    assert _picture(place) == before


def test_a_link_to_nothing_outside_is_refused_too(place: Place) -> None:
    _lead_out(place, "logs/refs/stash", dangling=True)
    assert place.clada(*WAYS).errors == ["git_operation_failed"] * len(WAYS)
    assert not (place.outside / "target").exists()


def test_links_that_stay_inside_are_fine(place: Place) -> None:
    """As very old versions of git made one of HEAD; and folders of hooks are often links."""
    git = place.inside / ".git"
    (git / "HEAD").unlink()
    (git / "HEAD").symlink_to("refs/heads/main")
    shutil.rmtree(git / "hooks")
    (git / "hooks").symlink_to(place.outside)
    done = place.clada("git status", "git log")
    assert done.errors == [None, None], done.text
    assert place.clada("touch made", arguments=()).code == 0


def _picture(place: Place) -> dict[str, bytes]:
    files = [path for path in place.outside.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files}
