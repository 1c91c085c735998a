"""A git directory in which links lead out, or that says it is part of another one, is not worked in."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.locked.conftest import SECRET

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


@pytest.mark.sample(10)
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


# Where a git directory is that a repository brings along, and what its commondir names.
BROUGHT = {
    "a folder of keys": ("inside/.git", "{home}/.ssh"),
    "another repository": ("inside/.git", "{home}/private/.git"),
    "a folder of keys, from beside": ("evil", "{home}/.ssh"),
    "another repository, from beside": ("evil", "{home}/private/.git"),
    "another repository, from what looks like a work tree's": ("evil/worktrees/x", "{home}/private/.git"),
    "a folder that is no repository": ("outside/worktrees/x", "{outside}"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("what", BROUGHT)
def test_a_repository_cannot_say_that_it_is_part_of_another(place: Place, what: str) -> None:
    """Commands may read the git directory that work trees share, and clada writes it."""
    where, common = BROUGHT[what]
    _make_private(place)
    folder, pointer = place.top / where, place.inside / ".git"
    if folder != pointer:
        shutil.copytree(pointer, folder)
        shutil.rmtree(pointer)
        pointer.write_text(f"gitdir: ../{where}\n")
        (folder / "gitdir").write_text(f"{pointer}\n")
    (folder / "commondir").write_text(common.format(home=place.home, outside=place.outside))
    before = _picture(place)
    recorded = place.clada("touch made", arguments=())
    assert recorded.code != 0, recorded.text
    looked = place.clada("git show HEAD:s", "git status")
    assert looked.errors == ["git_operation_failed"] * 2, looked.text
    commands = [f"sh -c 'cat {path}'" for path in (place.home / ".ssh/id_rsa", place.outside / "secret")]
    approved = place.clada(*commands, arguments=("--no-git", "--approve-all"))
    assert approved.errors == ["exec_failed"] * 2, approved.text
    assert SECRET not in recorded.text + looked.text + approved.text
    assert _picture(place) == before


# What a repository may bring along as the place of more objects; {} is a private repository's.
ALTERNATES = {
    "by its path": {"objects": "{}"},
    "by a relative path": {"objects": "../../../home/private/.git/objects"},
    "behind a comment": {"objects": "# none\n{}"},
    "in quotes": {"objects": '"{}"'},
    "by way of its own": {"objects": "../more\n", "more": "{}"},
    "by way of its own twice": {"objects": "../more\n", "more": "../again", "again": "../more\n{}"},
    "behind much": {"objects": "#" * 70_000 + "\n{}"},
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("how", ALTERNATES)
def test_a_repository_has_no_objects_of_another(place: Place, how: str) -> None:
    """Else `git show` would print its files, by the first letters of their names."""
    _make_private(place)
    private = place.home / "private/.git/objects"
    blob = place.git("-C", str(place.home / "private"), "rev-parse", "HEAD:s").strip()
    for name, text in ALTERNATES[how].items():
        folder = place.inside / ".git" / name / "info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "pack").mkdir(exist_ok=True)
        (folder / "alternates").write_text(text.format(private))
    looked = place.clada(f"git show {blob[:6]}", "git status")
    assert looked.errors == ["git_operation_failed"] * 2, looked.text
    assert SECRET not in looked.text
    assert place.clada("touch made", arguments=()).code != 0


def test_objects_of_another_repository_can_be_allowed(place: Place) -> None:
    """The message says how; the words of the repository's own configuration do not count."""
    _make_private(place)
    info = place.inside / ".git/objects/info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text(f"{place.home}/private/.git/objects\n")
    place.git("config", "clada.alternates", str(place.home))
    refused = place.clada("git status")
    call = f"git config --global --add clada.alternates {place.home}/private/.git/objects"
    assert call in refused.text
    place.start(call.split())
    done = place.clada(
        "git status",
        "sh -c 'git cat-file --batch-all-objects --batch-check'",
        arguments=("--no-git", "--approve-all"),
    )
    assert done.errors == [None, None], done.text
    assert place.clada("touch made", arguments=()).code == 0


def _make_private(place: Place) -> None:
    """Give the home a key, and a repository that has a secret in its last commit."""
    private, keys = place.home / "private", place.home / ".ssh"
    for folder in (private, keys):
        folder.mkdir()
    for file in (private / "s", keys / "id_rsa"):
        file.write_text(f"{SECRET}\n")
    place.give()
    for call in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        place.git("-C", str(private), *call)


def _picture(place: Place) -> dict[str, bytes]:
    """Return all files outside, except the report on the refusal, which clada keeps."""
    files = [
        path
        for top in (place.outside, place.home)
        for path in top.rglob("*")
        if path.is_file() and path.name != "refused"
    ]
    return {str(path): path.read_bytes() for path in files}
