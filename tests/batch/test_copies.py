"""Copies: they are exact, belong to the caller alone, and each job has its own."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.batch.conftest import edit

from clada.batch.jobs import Job, directory_name
from clada.batch.workspaces import copy_tree, make_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard


def fill(folder: Path) -> None:
    (folder / "sub" / "closed").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "run.sh").write_bytes(b"\x00\xff" * 5000)
    (folder / "run.sh").chmod(0o755)
    (folder / "sub" / "closed" / "f").write_text("x")
    os.utime(folder / "a.txt", ns=(10**18, 10**18 + 7))
    (folder / "sub" / "closed").chmod(0o555)


def picture(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, time and content of everything below a directory."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = b"" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def test_a_copy_is_what_it_is_a_copy_of(tmp_path: Path) -> None:
    folder, copy = tmp_path / "w", tmp_path / "copy"
    fill(folder)
    os.link(folder / "a.txt", folder / "hard")
    (folder / "link").symlink_to("/nowhere")
    os.mkfifo(folder / "pipe")
    copy_tree(str(folder), str(copy))
    assert os.readlink(copy / "link") == "/nowhere"
    assert not (copy / "pipe").exists()
    assert (copy / "a.txt").stat().st_nlink == (copy / "hard").stat().st_nlink == 1
    for path in (folder / "pipe", folder / "link", copy / "link"):
        path.unlink()
    os.utime(copy, ns=(0, folder.stat().st_mtime_ns))
    assert picture(folder) == picture(copy)


def test_a_tree_deeper_than_the_stack_is_copied(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("w", dir_fd=here)
    try:
        top = deepest = os.open("w", os.O_RDONLY, dir_fd=here)
        for _ in range(1500):
            os.mkdir("d", dir_fd=deepest)
            inner = os.open("d", os.O_RDONLY, dir_fd=deepest)
            if deepest != top:
                os.close(deepest)
            deepest = inner
        os.close(deepest)
        copy_tree(str(tmp_path / "w"), str(tmp_path / "copy"))
        assert (tmp_path / "copy").joinpath(*["d"] * 1500).is_dir()
    finally:
        os.close(here)


def test_a_copy_has_no_setuid_or_setgid_bits(tmp_path: Path) -> None:
    """Otherwise root's copy of another user's file would give everyone root's rights."""
    folder = tmp_path / "w"
    fill(folder)
    (folder / "run.sh").chmod(0o6755)
    (folder / "sub").chmod(0o2755)
    copy_tree(str(folder), str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "copy" / "sub").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "copy" / "run.sh").stat().st_uid == os.getuid()


def test_no_other_user_can_enter_the_workspaces_of_a_batch(yard: Yard) -> None:
    for folder in (yard.workspace("w"), yard.repository()):
        folder.chmod(0o755)
    work = yard.top / "results.work"
    work.mkdir(mode=0o755)
    target = work / "run" / "copy"
    make_workspace(Job("a", path="w", document=edit()), str(target), str(yard.top))
    tree = work / "run" / "tree"
    make_workspace(Job("b", repo="repo", commit="HEAD", document=edit()), str(tree), str(yard.top))
    made = [work, work / "run", target, tree]
    assert [path.stat().st_mode & 0o7777 for path in made] == [0o700] * 4


def test_the_names_of_workspaces_have_the_whole_hash() -> None:
    """Ids that differ in what names leave out, and attempts of one job, have workspaces of their own."""
    name = directory_name("a/b", 1)
    assert name.startswith("a-b-")
    assert len(name.removeprefix("a-b-").removesuffix("-1")) == 32
    assert len({name, directory_name("a:b", 1), directory_name("a/b", 2)}) == 3
