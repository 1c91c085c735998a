"""What a job is about to change in place, kept in one file until its result is written.

    [[path, mode or null, size, made], …]
    the contents, one after the other

That is for documents that only write and edit files: they name them all. `made` is the highest directory
above a file that was not there. What is shorter than it says was torn by a kill: nothing was changed by then.
"""

from __future__ import annotations

import json
import os
import stat

from clada.model import Operation
from clada.values import Value
from clada.world import handles
from clada.world.files.paths import is_protected
from clada.world.handles import READ, open_descendant, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clada.model import Plan

    Contents = list[tuple[str, bytes | None, bytes | None]]
    Modes = list[tuple[str, str | None, str | None]]

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
REPLACE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
FILE, PROGRAM = "100644", "100755"  # as git writes modes


class NotOrdinary(Exception):  # noqa: N818 (it is no error of the program)
    """A document, or a workspace, for which more has to be kept than the files that are named."""


class KeptFile(Value):
    """A file as it was; without content, there was none."""

    path: str
    mode: int | None
    content: bytes | None
    made: str = ""

    @property
    def git_mode(self) -> str | None:
        """Its mode, as git writes it."""
        if self.mode is None:
            return None
        return PROGRAM if self.mode & stat.S_IXUSR else FILE


def named_files(plan: Plan) -> list[str]:
    """Return the files that a plan changes; NotOrdinary where that is not all that it may change."""
    found: dict[str, None] = {}
    for block in plan.blocks:
        for item in block.operations:
            if isinstance(item, Operation):
                if not item.only_its_paths:
                    raise NotOrdinary
                for path in item.paths:
                    found[_ordinary(path)] = None
    return list(found)


def _ordinary(path: str) -> str:
    """Return a path below the workspace in its shortest form; NotOrdinary where it may lead elsewhere."""
    short = os.path.normpath(path)
    if "\\" in path or "\0" in path or short.startswith(("/", "..")) or short == ".":
        raise NotOrdinary
    if "." in short and any(map(is_protected, short.split("/"))):
        raise NotOrdinary
    return short


def look(workspace: str, paths: Iterable[str]) -> list[KeptFile]:
    """Return these files as they are now; NotOrdinary where one of them is something else, or unreadable."""
    return [_look(workspace, path) for path in paths]


def _look(workspace: str, path: str) -> KeptFile:
    try:
        handle = os.open(f"{workspace}/{path}", READ)
    except FileNotFoundError:
        return KeptFile(path, None, None, _first_missing(workspace, path))
    except OSError:
        raise NotOrdinary from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotOrdinary
        return KeptFile(path, stat.S_IMODE(status.st_mode), read(handle, status.st_size))
    finally:
        os.close(handle)


def _first_missing(workspace: str, path: str) -> str:
    """Return the highest directory above a file that is not there; nothing if all are."""
    missing, above = "", os.path.dirname(path)
    while above and not os.path.lexists(f"{workspace}/{above}"):
        missing, above = above, os.path.dirname(above)
    return missing


def packed(files: Sequence[KeptFile]) -> bytes:
    """Return files as they are kept."""
    rows = [(file.path, file.mode, len(file.content or b""), file.made) for file in files]
    return b"".join([json.dumps(rows).encode(), b"\n", *[file.content or b"" for file in files]])


def write(target: str, data: bytes, flags: int = NEW) -> None:
    """Keep packed files in one file, which is new unless the flags say otherwise."""
    handle = os.open(target, flags, 0o600)
    try:
        handles.write(handle, data)
    finally:
        os.close(handle)


def load(source: str) -> list[KeptFile]:
    """Return the files that were kept; none where that was cut short, before anything was changed."""
    with open(source, "rb") as file:
        head = file.readline()
        if not head.endswith(b"\n"):
            return []
        rows = json.loads(head)
        contents = [file.read(size) for _path, _mode, size, _made in rows]
    if sum(map(len, contents)) != sum(size for _path, _mode, size, _made in rows):
        return []
    return [
        KeptFile(_ordinary(path), mode, None if mode is None else content, made)
        for (path, mode, _size, made), content in zip(rows, contents, strict=True)
    ]


def put_back(source: str, workspace: str) -> None:
    """Make the files of a workspace again what they were; to do it again changes nothing."""
    for file in reversed(load(source)):
        try:
            now = _look(workspace, file.path)
        except NotOrdinary:
            continue  # no operation has touched it
        if (now.mode, now.content) == (file.mode, file.content):
            continue
        name = os.path.basename(file.path)
        parent = open_descendant(workspace, os.path.dirname(file.path), make=file.content is not None)
        try:
            if file.content is None:
                os.unlink(name, dir_fd=parent)
            else:
                _replace(name, parent, file)
        finally:
            os.close(parent)
        if file.made:
            _remove_made(workspace, os.path.dirname(file.path), file.made)


def _replace(name: str, parent: int, file: KeptFile) -> None:
    """Put the content into the file that is there, which has kept its owner and its attributes."""
    handle = os.open(name, REPLACE, 0o600, dir_fd=parent)
    try:
        os.fchmod(handle, file.mode or 0o600)
        handles.write(handle, file.content or b"")
    finally:
        os.close(handle)


def _remove_made(workspace: str, folder: str, top: str) -> None:
    """Remove directories that were not there, as far as they are empty."""
    while folder:
        try:
            os.rmdir(f"{workspace}/{folder}")
        except OSError:
            return
        if folder == top:
            return
        folder = os.path.dirname(folder)


def differences(before: Sequence[KeptFile], after: Sequence[KeptFile]) -> tuple[Contents, Modes]:
    """Return contents and modes that differ, before and after, by path."""
    contents: Contents = []
    modes: Modes = []
    for old, new in zip(before, after, strict=True):
        if old.content != new.content:
            contents.append((old.path, old.content, new.content))
        if old.mode != new.mode and old.git_mode != new.git_mode:
            modes.append((old.path, old.git_mode, new.git_mode))
    return contents, modes
