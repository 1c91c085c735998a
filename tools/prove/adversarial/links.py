"""Symbolic links: every kind of them, every way to get at a file, and a parent that is swapped."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING

from tools.prove.adversarial.batch import QUIET, Case, edit, move, refused, remove, run, worked, write
from tools.prove.place import Place, document
from tools.prove.rows import Row, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.prove.place import User

LINK = ("symlink_not_allowed",)
# `mkdir` of what exists is refused for that reason too.
LINK_OR_THERE = ("symlink_not_allowed", "exec_failed")
LEAVES = {
    "a link to a file inside": "leaf-inside",
    "a link to a file outside": "leaf-outside",
    "a dangling link": "leaf-dangling",
    "a link to a directory inside": "folder-inside",
    "a link to a directory outside": "folder-outside",
}
ANCESTORS = {
    "a file behind a link that stays inside": "folder-inside/file",
    "a file behind a link that leads outside": "folder-outside/private",
    "a new file behind a link that leads outside": "folder-outside/new",
    "a file behind a dangling link": "leaf-dangling/file",
    "a file behind two links": "folder-inside/again/file",
}
TRIES, QUICK_TRIES = 40_000, 4_000
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def rows(user: User, quick: bool) -> Iterator[Row]:
    """Yield the rows about links."""
    yield from refused(user, _tree, [*_at_leaf(), *_behind()])
    yield from worked(user, _tree, list(_link_itself()))
    yield from _not_followed(user)
    yield _race(user, QUICK_TRIES if quick else TRIES)


def _tree(place: Place) -> None:
    place.put("file")
    place.put("folder/file")
    place.put("../outside/private", "private\n")
    links = {
        "leaf-inside": "file",
        "leaf-outside": "../outside/private",
        "leaf-dangling": "../outside/missing",
        "folder-inside": "folder",
        "folder-outside": "../outside",
        "folder/again": "../folder",
    }
    for name, target in links.items():
        (place.inside / name).symlink_to(target)


def _at_leaf() -> Iterator[Case]:
    for what, path in LEAVES.items():
        yield Case(f"write to {what}", write(path), LINK)
        yield Case(f"append to {what}", write(path, append=True), LINK)
        yield Case(f"edit of {what}", edit(path), LINK)
        for command in ("cp {0} new", "cp -r {0} new", "cp file {0}", "touch {0}", "chmod +x {0}"):
            yield Case(f"`{command.format('LINK')}`, {what}", run(command.format(path)), LINK_OR_THERE)
        yield Case(f"`mkdir LINK`, {what}", run(f"mkdir {path}"), LINK_OR_THERE)
        for command in (
            "cat {0}",
            "ls {0}",
            "ls {0}/",
            "grep -r private {0}",
            "find {0}",
            "wc {0}",
            "stat {0}",
        ):
            yield Case(f"`{command.format('LINK')}`, {what}", run(command.format(path)), LINK)
        yield Case(f"`dir=` {what}", run("pwd", dir=path), LINK)
        yield Case(f"`cd` to {what}", run(f"cd {path} && touch new"), LINK_OR_THERE)


def _behind() -> Iterator[Case]:
    for what, path in ANCESTORS.items():
        yield Case(f"write to {what}", write(path), LINK)
        yield Case(f"append to {what}", write(path, append=True), LINK)
        yield Case(f"edit of {what}", edit(path), LINK)
        yield Case(f"move of {what}", move(path, "new"), LINK)
        yield Case(f"move to {what}", move("file", path), LINK)
        yield Case(f"removal of {what}", remove(path), LINK)
        for command in "mv {0} new|mv file {0}|cp {0} new|cp file {0}|rm {0}|rm -rf {0}|touch {0}".split("|"):
            yield Case(f"`{command.format('PATH')}`, {what}", run(command.format(path)), LINK)
        for command in "mkdir {0}/x|mkdir -p {0}/x|cat {0}|ls {0}|grep -r private {0}|find {0}".split("|"):
            yield Case(f"`{command.format('PATH')}`, {what}", run(command.format(path)), LINK)
        yield Case(f"`dir=` {what}", run("pwd", dir=path), LINK)


def _link_itself() -> Iterator[Case]:
    """Yield what is allowed: moving and removing the link, never what it leads to."""
    yield Case("move of a link to outside", move("leaf-outside", "moved"))
    yield Case("removal of a moved link", remove("moved"))
    yield Case("`mv` of a dangling link", run("mv leaf-dangling moved"))
    yield Case("`rm` of a dangling link", run("rm moved"))
    yield Case("`rm -r` of a link to a directory outside", run("rm -r folder-outside"))
    yield Case("removal of a directory with a link in it", remove("folder"))


def _not_followed(user: User) -> Iterator[Row]:
    """Yield rows about what lists a tree: no file behind a link is read."""
    for command in ("grep -r private .", "find . -name private", "ls -R", "tree", "git ls-files"):
        if observed := missing(command):
            yield Row(f"`{command}` in a tree with links", "nothing from outside", observed, None)
            continue
        with Place(user) as place:
            _tree(place)
            place.repository()
            result = place.clada(document(run(command)), "--summary=none")
        leaks = [
            line
            for line in result.out.splitlines()
            if line.startswith("[task-1.1:exec]") and "private" in line
        ]
        shown = [line for line in leaks if "->" not in line]  # a link's own target may be shown
        observed = shown[0] if shown else "nothing from outside"
        yield Row(f"`{command}` in a tree with links", "nothing from outside", observed, not shown)


def _race(user: User, tries: int) -> Row:
    """Return what comes of writing below a directory that is swapped for a link all the time."""
    with Place(user) as place:
        place.put("swapped/file")
        (place.inside / "link").symlink_to("../outside")
        place.give()
        stop = threading.Event()
        swapper = threading.Thread(target=_swap, args=(str(place.inside), stop))
        swapper.start()
        try:
            operations = [write(f"swapped/{number}", "x") for number in range(tries)]
            result = place.clada(document(*operations), *QUIET)
        finally:
            stop.set()
            swapper.join()
        escaped = sorted(set(os.listdir(place.outside)) - {"private", "secret"})
    done = sum(task["status"] == "success" for task in result.tasks)
    observed = f"{len(escaped)} escaped; {done} written, {len(result.tasks) - done} refused"
    case = f"a parent swapped for a link between check and use, {tries:,} tries"
    return Row(case, "no escape", observed, not escaped and len(result.tasks) == tries)


def _swap(folder: str, stop: threading.Event) -> None:
    """Exchange the directory and the link, each time in one step, until told to stop."""
    libc = ctypes.CDLL(None, use_errno=True)
    real, link = (os.fsencode(os.path.join(folder, name)) for name in ("swapped", "link"))
    while not stop.is_set():
        if libc.renameat2(AT_FDCWD, real, AT_FDCWD, link, RENAME_EXCHANGE):
            raise OSError(ctypes.get_errno(), "renameat2")
