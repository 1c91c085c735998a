"""The workspace of a job, a copy of a directory or a work tree of a commit; and the changes in it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from clada.batch.jobs import resolve
from clada.errors import CladaError
from clada.model import Operation
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.files.walk import skip_error, walk
from clada.world.git import repository
from clada.world.git.git import hardened_git
from clada.world.git.work_tree import is_url, make_work_tree, mirror
from clada.world.handles import OWNER_ALL, READ, make_directory, read, remove_tree, write
from clada.world.record.store import outside_store
from clada.world.xdg import cache_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.batch.jobs import Job
    from clada.model import Plan

    Contents = list[tuple[str, bytes | None, bytes | None]]
    Modes = list[tuple[str, str | None, str | None]]

CLADA_AND_GIT = (".git", ".clada")  # not part of a patch
PIECE = 1 << 23
NO_DIRECTORY = "there is no directory {}"


def make_workspace(job: Job, target: str, base: str) -> None:
    """Make the workspace of a job where nothing is; CladaError where that is not possible."""
    for folder in (os.path.dirname(os.path.dirname(target)), os.path.dirname(target)):
        make_private_directory(folder)
    if job.repo is None:
        source = resolve(base, job.path or "")
        if f"{os.path.dirname(target)}/".startswith(f"{source}/"):
            message = f"the results of the batch are inside of {job.path}"
            raise CladaError("path_escape", message, "let --out name a file elsewhere")
        copy_tree(source, target)
    else:
        make_work_tree(repository_of(job, base), job.commit or "", target)
    # The copy of a directory that others may enter is for the caller alone.
    os.chmod(target, os.stat(target).st_mode & OWNER_ALL)


def make_private_directory(path: str) -> None:
    """Make a directory that only the caller can enter, with those above it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    make_directory(path)
    os.chmod(path, OWNER_ALL)


def repository_of(job: Job, base: str) -> str:
    """Return the directory of a job's repository; a URL is mirrored first."""
    repo = job.repo or ""
    if is_url(repo):
        return mirror(repo, job.commit or "", os.path.join(cache_home(), "clada", "mirrors"))
    return resolve(base, repo)


def remove_workspace(path: str) -> None:
    """Remove the workspace of a job, and the record of its runs where that is in the state directory."""
    remove_if_possible(path)
    remove_if_possible(outside_store(path).path)


def remove_if_possible(path: str) -> None:
    """Remove a tree, as far as that can be done: processes that are being killed may still write there."""
    with suppress(OSError):
        remove_tree(path)


# Copies.


def copy_tree(source: str, target: str) -> None:
    """Copy a directory to where nothing is: links as links, modes and times too; no pipes and devices.

    The copy belongs to the caller. It has no setuid or setgid bits, which would pass on the caller's rights.
    """
    if not os.path.isdir(source):
        raise CladaError("file_not_found", NO_DIRECTORY.format(source), "mend the job's path")
    os.mkdir(target, OWNER_ALL)
    own = os.stat(target)
    folders = [(source, target)]
    for here, there in folders:  # a queue, because a tree can be deeper than Python's stack
        with os.scandir(here) as entries:
            for entry in entries:
                path = f"{there}/{entry.name}"
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    os.symlink(os.readlink(entry.path), path)
                elif stat.S_ISREG(status.st_mode):
                    _copy_file(entry.path, path, status)
                elif stat.S_ISDIR(status.st_mode) and not os.path.samestat(
                    status, own
                ):  # not the copy itself
                    os.mkdir(path, OWNER_ALL)
                    folders.append((entry.path, path))
    for here, there in reversed(folders):  # last, because a directory may be read-only
        _copy_times_and_mode(os.stat(here), there)


def _copy_file(source: str, target: str, status: os.stat_result) -> None:
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while _copy_piece(reader, writer):
                pass
        finally:
            os.close(writer)
    finally:
        os.close(reader)
    _copy_times_and_mode(status, target)


def _copy_piece(reader: int, writer: int) -> int:
    """Copy a piece; the kernel shares it (reflink) where the file system can."""
    try:
        return os.copy_file_range(reader, writer, 1 << 30)
    except (AttributeError, OSError):
        data = os.read(reader, PIECE)
        write(writer, data)
        return len(data)


def _copy_times_and_mode(status: os.stat_result, target: str) -> None:
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.chmod(target, stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


# Changes.


class Snapshot(Value):
    """The files of a workspace before a document is carried out.

    Of a document that only writes and edits, the files that it names, with their contents. Of any other, the
    status of all files; the content of a changed one is read from the original when it is needed.
    """

    workspace: str
    job: Job
    base: str
    statuses: dict[str, os.stat_result]
    contents: dict[str, bytes | None] | None = None
    since: int = 0  # the file system's clock after the workspace was made
    commit: str = ""  # hash of the commit that a work tree was made of

    def changes(self) -> tuple[Contents, Modes] | None:
        """Return the contents and modes that differ, before and after; None where the original is gone."""
        now = dict(
            _entries(self.workspace) if self.contents is None else _statuses(self.workspace, self.contents)
        )
        contents: Contents = []
        modes: Modes = []
        for path in sorted({*self.statuses, *now, *(self.contents or ())}):
            old, new = self.statuses.get(path), now.get(path)
            if self.contents is None and old and new and new.st_ctime_ns < self.since:
                continue
            was = self.contents[path] if self.contents is not None else self._original(path, old)
            if was is None and _git_mode(old):
                return None
            content = _content(f"{self.workspace}/{path}", new)
            if was != content:
                contents.append((path, was, content))
            if _git_mode(old) != _git_mode(new):
                modes.append((path, _git_mode(old), _git_mode(new)))
        return contents, modes

    def _original(self, path: str, status: os.stat_result | None) -> bytes | None:
        """Return the content that a file had; None where there was none, or it has changed since."""
        if status is None:
            return None
        if self.job.repo is not None:
            git = hardened_git(repository.find(self.workspace))
            found = git.call("cat-file", "blob", f"{self.commit}:{path}")
            return found.output if not found.code else None
        original = f"{resolve(self.base, self.job.path or '')}/{path}"
        try:
            now = os.lstat(original)
        except OSError:
            return None
        same = (now.st_size, now.st_mtime_ns) == (status.st_size, status.st_mtime_ns)
        return _content(original, now) if same or stat.S_ISLNK(status.st_mode) else None


def take_snapshot(workspace: str, job: Job, base: str, plan: Plan) -> Snapshot:
    """Return the state before a plan is carried out, from which its changes are found later."""
    names = _named_files(plan) if not job.options.get("atomic") and not plan.atomic else None
    if names is None or any(os.path.islink(f"{workspace}/{name}") for name in names):
        commit = ""
        if job.repo is not None:
            with open(f"{workspace}/.git/HEAD", encoding="ascii") as file:
                commit = file.read().strip()
        return Snapshot(workspace, job, base, dict(_entries(workspace)), None, _clock(workspace), commit)
    statuses = dict(_statuses(workspace, names))
    contents = {name: _content(f"{workspace}/{name}", statuses.get(name)) for name in names}
    return Snapshot(workspace, job, base, statuses, contents)


def _named_files(plan: Plan) -> list[str] | None:
    """Return the files that a plan changes; None where it may change others, too."""
    found: dict[str, None] = {}
    for block in plan.blocks:
        for item in block.operations:
            if isinstance(item, Operation):
                paths = [os.path.normpath(path) for path in item.paths]
                if not item.only_its_paths or not all(map(_is_plain, paths)):
                    return None
                found.update(dict.fromkeys(paths))
    return list(found)


def _is_plain(path: str) -> bool:
    odd = path.startswith(("/", "..")) or path == "." or "\\" in path or "\0" in path
    return not odd and not any(map(is_protected, path.split("/")))


def _statuses(top: str, names: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    for name in names:
        with suppress(OSError):
            yield name, os.lstat(f"{top}/{name}")


def _entries(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files and links below a directory, each with its status, as far as it can be read."""
    for directory in walk(top, skip_error):
        directory.enter = [name for name in directory.enter if name not in CLADA_AND_GIT]
        for entry in directory.entries:
            if entry.name not in CLADA_AND_GIT and not entry.is_dir(follow_symlinks=False):
                with suppress(OSError):  # a process removes it just now
                    yield directory.join(entry.name), entry.stat(follow_symlinks=False)


def _git_mode(status: os.stat_result | None) -> str | None:
    if status is None or not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return None
    if stat.S_ISLNK(status.st_mode):
        return "120000"
    return "100755" if status.st_mode & stat.S_IXUSR else "100644"


def _content(path: str, status: os.stat_result | None) -> bytes | None:
    if status is None or _git_mode(status) is None:
        return None
    try:
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))
        handle = os.open(path, READ)
    except OSError:
        return None
    try:
        return read(handle, status.st_size)
    finally:
        os.close(handle)


def _clock(workspace: str) -> int:
    """Return the time of a file system, as it stamps what changes from now on."""
    path = f"{os.path.dirname(workspace)}/.clock-{os.getpid()}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        return os.stat(path).st_ctime_ns
    finally:
        os.unlink(path)
