"""What file access refuses, in which words; on disk and in the overlay alike."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError, Error
from clada.world.files.overlay import Overlay
from clada.world.files.paths import locate
from clada.world.files.tree import move, remove, walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.conftest import Place

    from clada.world.files.tree import Files

    Act = Callable[[Files], object]

LINK = ("symlink_not_allowed", "is a symbolic link")
MISSING = ("file_not_found", "no such file or directory")
DIRECTORY = ("permission_denied", "is a directory")
NOT_EMPTY = ("permission_denied", "directory not empty")
IRREGULAR = ("permission_denied", "not a regular file")
NO_DIRECTORY = ("permission_denied", "not a directory")
LINK_ON_THE_WAY = ("symlink_not_allowed", "link is a symbolic link")

REFUSED: dict[str, tuple[Act, tuple[str, str]]] = {
    "names of nothing": (lambda files: files.names(("none",)), MISSING),
    "load nothing": (lambda files: files.load(("none",)), MISSING),
    "load below nothing": (lambda files: files.load(("none", "x")), MISSING),
    "load a directory": (lambda files: files.load(("folder",)), DIRECTORY),
    "load a FIFO": (lambda files: files.load(("fifo",)), IRREGULAR),
    "load a link": (lambda files: files.load(("link",)), LINK),
    "load through a link": (lambda files: files.load(("link", "x")), LINK_ON_THE_WAY),
    "look through a link": (lambda files: files.entry(("link", "x")), LINK_ON_THE_WAY),
    "store over a directory": (lambda files: files.store(("folder",), b""), DIRECTORY),
    "store over a link": (lambda files: files.store(("link",), b""), LINK),
    "store over a FIFO": (lambda files: files.store(("fifo",), b""), IRREGULAR),
    "store through a link": (lambda files: files.store(("link", "x"), b""), LINK_ON_THE_WAY),
    "store below a file": (
        lambda files: files.store(("file", "x"), b""),
        ("permission_denied", "file is not a directory"),
    ),
    "make what is there": (lambda files: files.make(("folder",)), ("permission_denied", "file exists")),
    "make below nothing": (lambda files: files.make(("none", "x")), MISSING),
    "unlink nothing": (lambda files: files.unlink(("none",)), MISSING),
    "unlink a directory": (lambda files: files.unlink(("folder",)), DIRECTORY),
    "remove a directory with something in it": (
        lambda files: files.remove_directory(("folder",)),
        NOT_EMPTY,
    ),
    "rename nothing": (lambda files: files.rename(("none",), ("new",)), MISSING),
    "rename onto a directory with something in it": (
        lambda files: files.rename(("empty",), ("folder",)),
        NOT_EMPTY,
    ),
    "set the mode of a link": (lambda files: files.set_mode(("link",), 0o600), LINK),
    "set the times of a link": (lambda files: files.set_times(("link",), 1, 2), LINK),
    "set the mode of nothing": (lambda files: files.set_mode(("none",), 0o600), MISSING),
    "remove nothing": (lambda files: remove(files, ("none",)), MISSING),
    "remove the workspace": (
        lambda files: remove(files, ()),
        ("permission_denied", "is the workspace itself"),
    ),
    "move the workspace": (
        lambda files: move(files, (), ("x",), into=False),
        ("permission_denied", "is the workspace itself"),
    ),
    "move onto itself": (
        lambda files: move(files, ("file",), ("file",), into=False),
        ("permission_denied", "cannot be moved onto or into itself"),
    ),
    "move into itself": (
        lambda files: move(files, ("folder",), ("folder", "below"), into=False),
        ("permission_denied", "cannot be moved onto or into itself"),
    ),
    "move onto a link": (
        lambda files: move(files, ("file",), ("link",), into=False),
        ("symlink_not_allowed", "the target is a symbolic link"),
    ),
    "move onto a FIFO": (
        lambda files: move(files, ("file",), ("fifo",), into=False),
        ("permission_denied", "the target is not a regular file"),
    ),
    "move a directory onto a file": (
        lambda files: move(files, ("folder",), ("file",), into=False),
        ("permission_denied", "there is a file in the way"),
    ),
    "move a file into where a directory of its name is": (
        lambda files: move(files, ("file",), ("holder",), into=False),
        ("permission_denied", "there is a directory in the way"),
    ),
    "move a directory with a repository in it": (
        lambda files: move(files, ("cloned",), ("new",), into=False),
        ("permission_denied", "contains sub/.git, which is protected"),
    ),
    "remove a directory with a repository in it": (
        lambda files: remove(files, ("cloned",)),
        ("permission_denied", "contains sub/.git, which is protected"),
    ),
}


@pytest.fixture(autouse=True)
def _tree(place: Place) -> None:
    place.write("file")
    place.write("folder/inner")
    place.write("holder/file/inner")
    place.write("cloned/sub/.git/config")
    (place.inside / "empty").mkdir()
    (place.inside / "link").symlink_to("folder")
    os.mkfifo(place.inside / "fifo")


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_has_its_type_and_words_and_changes_nothing(place: Place, files: Files, what: str) -> None:
    """Whether anything is carried out or only looked at first."""
    before = place.picture()
    act, told = REFUSED[what]
    with pytest.raises(CladaError) as caught:
        act(files)
    assert (caught.value.error.type, caught.value.error.message) == told
    assert place.picture() == before
    assert not files.changes()


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("/etc/x", "absolute paths are not allowed", "use a path in the workspace, or --allow-escape"),
        ("\\etc\\x", "absolute paths are not allowed", "use a path in the workspace, or --allow-escape"),
        ("C:\\x", "drive letters are not allowed", "use a path in the workspace"),
        ("../x", "the path leads out of the workspace", "--allow-escape would allow it"),
        ("a/../../x", "the path leads out of the workspace", "--allow-escape would allow it"),
        ("a\0b", "a path cannot contain a NUL character", None),
    ],
)
def test_a_path_that_leads_out_is_refused_with_what_to_do(path: str, message: str, hint: str | None) -> None:
    """By its text alone."""
    with pytest.raises(CladaError) as caught:
        locate(path, "/work")
    assert caught.value.error == Error("path_escape", message, hint)


def test_a_directory_to_run_in_may_be_absolute_inside_the_workspace(files: Files) -> None:
    """Outside it may not; and a relative one starts from where the command is."""
    assert files.locate_directory(f"{files.root}/folder/../empty") == ("empty",)
    assert files.locate_directory(files.root) == ()
    assert files.locate_directory("inner", ("folder",)) == ("folder", "inner")
    for path in ("/etc", f"{files.root}-sibling", f"{files.root}/../x"):
        with pytest.raises(CladaError) as caught:
            files.locate_directory(path)
        assert caught.value.error.type == "path_escape"
    with pytest.raises(CladaError) as caught:
        files.locate_directory(f"{files.root}/.git")
    assert caught.value.error.type == "permission_denied"


def test_mode_and_times_are_set(files: Files) -> None:
    """And the file counts as touched."""
    files.set_mode(("file",), 0o640)
    files.set_times(("file",), 10**18, 2 * 10**18)
    entry = files.entry(("file",))
    assert entry is not None
    assert (entry.mode, entry.modified) == (0o640, 2 * 10**18)
    assert files.touched == {("file",)}
    assert files.load(("file",)) == b"old\n"


def test_all_that_is_below_a_directory_is_walked_each_directory_last(files: Files) -> None:
    """So that it can be removed in this order."""
    assert [parts for parts, _entry in walk(files, ("holder",))] == [
        ("holder", "file", "inner"),
        ("holder", "file"),
    ]


def test_the_changes_of_an_overlay_are_those_of_content(files: Files) -> None:
    """With all files below what was removed or moved; on disk there is nothing that differs from it."""
    files.store(("new", "x"), b"x\n")
    files.store(("file",), b"new\n")
    files.set_mode(("folder", "inner"), 0o755)
    remove(files, ("holder",))
    move(files, ("folder",), ("moved",), into=False)
    expected = [
        ("file", b"old\n", b"new\n"),
        ("folder/inner", b"old\n", None),
        ("holder/file/inner", b"old\n", None),
        ("moved/inner", None, b"old\n"),
        ("new/x", None, b"x\n"),
    ]
    assert files.changes() == (expected if isinstance(files, Overlay) else [])


def test_the_modes_of_an_overlay_are_those_that_differ_in_the_form_of_git(place: Place, files: Files) -> None:
    """Kind and permissions."""
    (place.inside / "file").chmod(0o644)
    files.set_mode(("file",), 0o755)
    files.make(("made",))
    files.unlink(("link",))
    expected = [("file", "100644", "100755"), ("link", "120000", None), ("made", None, "040755")]
    assert files.modes() == (expected if isinstance(files, Overlay) else [])


def test_a_new_file_has_the_mode_that_it_is_given_or_that_of_the_umask(files: Files) -> None:
    """And one that is overwritten keeps its own; the time is now."""
    umask = os.umask(0o022)
    try:
        files.store(("given",), b"x", 0o600)
        files.store(("new",), b"xy")
        files.set_mode(("file",), 0o755)
        files.store(("file",), b"xyz")
    finally:
        os.umask(umask)
    for name, mode, size in (("given", 0o600, 1), ("new", 0o644, 2), ("file", 0o755, 3)):
        entry = files.entry((name,))
        assert entry is not None
        assert (entry.kind, entry.mode, entry.size) == ("file", mode, size)
        assert abs(entry.modified - time.time_ns()) < 3600 * 10**9


def test_a_link_that_was_moved_is_not_followed_either(files: Files) -> None:
    """Wherever it stands now."""
    move(files, ("link",), ("elsewhere",), into=False)
    for act in (lambda: files.store(("elsewhere", "x"), b""), lambda: files.load(("elsewhere", "inner"))):
        with pytest.raises(CladaError) as caught:
            act()
        assert caught.value.error == Error("symlink_not_allowed", "elsewhere is a symbolic link")


def test_what_is_made_deep_down_is_known_in_each_directory(files: Files) -> None:
    """So that a walk from anywhere comes to it."""
    files.store(("a", "b", "c", "d"), b"x")
    assert files.names(("a",)) == ["b"]
    assert files.names(("a", "b")) == ["c"]
    assert files.names(("a", "b", "c")) == ["d"]
    assert "a" in files.names(())
    assert next(walk(files, ("a",)))[0] == ("a", "b", "c", "d")


def test_nothing_is_left_below_a_directory_that_is_gone(files: Files) -> None:
    """Removed or moved; nor does it come back with a new one of its name."""
    remove(files, ("holder",))
    move(files, ("folder",), ("moved",), into=False)
    files.make(("folder",))
    for parts in (("holder", "file", "inner"), ("holder", "file"), ("holder",), ("folder", "inner")):
        assert files.entry(parts) is None
        with pytest.raises(CladaError) as caught:
            files.load(parts)
        assert caught.value.error.type == "file_not_found"
    assert files.names(("folder",)) == []
    assert files.load(("moved", "inner")) == b"old\n"


def test_an_error_on_the_way_names_the_directory(
    place: Place, files: Files, ordinary_user: Callable[[], AbstractContextManager[None]]
) -> None:
    """Where a directory cannot be made, or what is in the way."""
    for path in (place.top, place.inside):
        path.chmod(0o777)
    (place.inside / "closed").mkdir(mode=0o555)
    if not isinstance(files, Overlay):
        with ordinary_user(), pytest.raises(CladaError) as caught:
            files.store(("closed", "new", "x"), b"")
        assert caught.value.error == Error("permission_denied", "closed/new: permission denied")
    with pytest.raises(CladaError) as caught:
        files.store(("folder", "inner", "x", "y"), b"")
    assert caught.value.error == Error("permission_denied", "folder/inner is not a directory")
