"""Walking a tree by handles: every directory once, no link followed, few handles at any depth."""

# ruff: noqa: D103 (the name of a test says what holds)

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.counting import calls
from tests.handles import few_handles, open_handles

from clada.world.files.stat import Stamp, is_same_save
from clada.world.files.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.conftest import Place


def _paths(top: Path, *, breadth_first: bool = False) -> list[str]:
    return [directory.path for directory in walk(str(top), breadth_first=breadth_first)]


def _make_deep(top: Path, depth: int) -> None:
    """Make a chain of directories, longer than a path can be, each with two beside it and a file in it."""
    handle = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        for name in ("a", "deep" * 10, "z"):
            os.mkdir(name, dir_fd=handle)
        below = os.open("deep" * 10, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


def test_parents_first_in_order_of_names(tmp_path: Path) -> None:
    for path in ("b/y", "b/x/1", "a", "c"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "b" / "file").touch()
    assert _paths(tmp_path) == ["", "a", "b", "b/x", "b/x/1", "b/y", "c"]
    assert _paths(tmp_path, breadth_first=True) == ["", "a", "b", "c", "b/x", "b/y", "b/x/1"]
    entries = {directory.join(entry.name) for directory in walk(str(tmp_path)) for entry in directory.entries}
    assert entries == {"a", "b", "c", "b/x", "b/y", "b/file", "b/x/1"}


def test_a_caller_chooses_where_to_go(tmp_path: Path) -> None:
    for path in ("a/x", "b/x", "c"):
        (tmp_path / path).mkdir(parents=True)
    seen = []
    for directory in walk(str(tmp_path)):
        seen.append(directory.path)
        directory.enter = [name for name in directory.enter if name != "a"]
    assert seen == ["", "b", "b/x", "c"]
    started = walk(str(tmp_path), start=("b", "c", "missing"))
    assert [directory.path for directory in started] == ["b", "b/x", "c"]


def test_links_are_entries_and_are_not_followed(place: Place) -> None:
    place.write("d/file")
    os.symlink(place.outside, place.inside / "d" / "link")
    os.symlink("d", place.inside / "to-d")
    assert _paths(place.inside) == ["", "d"]
    assert [directory.path for directory in walk(str(place.inside), start=("to-d", "d/link"))] == []


def test_a_directory_that_is_swapped_for_a_link_is_left_out(place: Place) -> None:
    """After it was listed; the walk does not leave the tree."""
    for path in ("a/below", "b/below"):
        (place.inside / path).mkdir(parents=True)
    (place.outside / "below" / "secret").mkdir(parents=True)
    seen = []
    for directory in walk(str(place.inside)):
        seen.append(directory.path)
        if directory.path == "":
            (place.inside / "a").rename(place.inside / "moved")
            os.symlink(place.outside, place.inside / "a")
        if directory.path == "b":
            (place.inside / "b").rename(place.inside / "moved-too")
            os.symlink(place.outside, place.inside / "b")
    assert seen == ["", "b"]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _paths(tmp_path / "missing")
    (tmp_path / "file").touch()
    errors: list[str] = []
    assert list(walk(str(tmp_path / "file"), lambda path, _error: errors.append(path))) == []
    assert errors == [""]


def test_a_closed_directory_is_passed_to_the_caller(
    place: Place,
    ordinary_user: Callable[[], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is walked from the current directory, because those above may be closed to an ordinary user."""
    monkeypatch.chdir(place.inside)
    place.inside.chmod(0o755)
    for name in ("a", "b"):
        (place.inside / name).mkdir()
    (place.inside / "a").chmod(0)
    errors: list[str] = []
    with ordinary_user():
        found = walk(".", lambda path, _error: errors.append(path))
        assert [directory.path for directory in found] == ["", "b"]
        assert errors == ["a"]
        with pytest.raises(PermissionError):
            list(walk("."))


def test_where_few_files_can_be_open_the_error_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with few_handles(2), pytest.raises(OSError, match="Too many open files"):
        _paths(tmp_path)


def test_a_deep_tree_takes_few_handles_and_all_are_closed(tmp_path: Path) -> None:
    _make_deep(tmp_path, 300)
    before = open_handles()
    with few_handles(50):
        assert len(_paths(tmp_path)) == len(_paths(tmp_path, breadth_first=True)) == 901
    for directory in walk(str(tmp_path)):
        if directory.path.count("/") == 100:
            break
    del directory
    assert open_handles() == before


def test_twice_the_depth_costs_twice_the_work(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    _make_deep(tmp_path / "one", 150)
    _make_deep(tmp_path / "two", 300)
    single = calls(lambda: _paths(tmp_path / "one"))
    assert calls(lambda: _paths(tmp_path / "two")) < 2.5 * single


def test_a_stamp_tells_saves_from_other_changes(tmp_path: Path) -> None:
    file, handle = tmp_path / "file", os.open(tmp_path, os.O_RDONLY)
    assert Stamp.at("file", handle) is None
    file.write_text("x")
    first = Stamp.at("file", handle)
    assert first
    assert first == Stamp.of(file.stat())
    os.link(file, tmp_path / "link")
    os.utime(file, ns=(1, first.modified))
    linked = Stamp.at("file", handle)
    assert linked
    assert is_same_save(first, linked)
    file.chmod(0o600)
    moded = Stamp.at("file", handle)
    assert moded
    assert not is_same_save(first, moded)
    assert moded.content == first.content
    file.write_text("xy")
    assert Stamp.of(file.stat()).content != first.content
    os.close(handle)


def test_a_stamp_of_a_directory_counts_what_is_in_it_only_on_request(tmp_path: Path) -> None:
    os.utime(tmp_path, ns=(1, 1))
    before = tmp_path.stat()
    (tmp_path / "file").touch()
    assert Stamp.of(before) == Stamp.of(tmp_path.stat())
    assert Stamp.of(before, listing=True) != Stamp.of(tmp_path.stat(), listing=True)
