"""The workspace of a job: a copy, a work tree of a commit, or a directory that is changed where it is.

What is changed in place can be put back until the job has its result: the files that a document names, or
a copy of all where it may change anything. Both stand in the batch's own directory, by the job's number; what
small jobs change is in the journals of their workers first (see journal.py).
"""

from __future__ import annotations

import os
import stat

from clada.batch.jobs import key_of, name_of, resolved
from clada.batch.kept import put_back
from clada.errors import CladaError
from clada.values import Value
from clada.world.handles import OWNER_ALL, make_directory, open_file, remove_tree
from clada.world.xdg import cache_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.batch.jobs import Job

    Contents = list[tuple[str, bytes | None, bytes | None]]
    Modes = list[tuple[str, str | None, str | None]]

BEGUN, TREES = "begun", "trees"
FILES, COPY, UNFINISHED = ".files", ".copy", ".new"
OWN = (".git", ".clada")  # which a patch does not show
DIGITS = 9
PIECE = 1 << 23


class JobPlace(Value):
    """Where one job is at work, and where the batch keeps what it needs to put back."""

    workspace: str
    work: str  # the batch's own directory
    number: int  # of the job
    id: str

    @property
    def begun(self) -> str:
        """The path, without its ending, of what is kept."""
        return begun_of(self.number, self.id, self.work)

    @property
    def files(self) -> str:
        """The files that the document names, as they were."""
        return self.begun + FILES

    @property
    def copy(self) -> str:
        """A copy of the workspace as it was."""
        return self.begun + COPY


def make_directories(work: str) -> None:
    """Make the batch's own directory, which other users cannot look into: copies keep the modes of files."""
    for path in (work, f"{work}/{BEGUN}", f"{work}/{TREES}"):
        make_directory(path)
        os.chmod(path, OWNER_ALL)


def remove_directories(work: str) -> None:
    """Remove what is empty of it: a workspace that was kept, and what has to be put back, stay."""
    for path in (f"{work}/{BEGUN}", f"{work}/{TREES}", f"{work}/lock", work):
        try:
            (os.unlink if path.endswith("/lock") else os.rmdir)(path)
        except OSError:
            if path.endswith(BEGUN):
                return  # a batch that was stopped goes on by it


def begun_of(number: int, id_: str, work: str) -> str:
    """Return the path, without its ending, of what is kept of a job."""
    return f"{work}/{BEGUN}/{number:0{DIGITS}}-{key_of(id_)}"


def place_of(number: int, job: Job, work: str, base: str) -> JobPlace:
    """Return where a job is at work."""
    workspace = resolved(base, job.path or "") if job.in_place else f"{work}/{TREES}/{name_of(job.id)}"
    return JobPlace(workspace, work, number, job.id)


def make(job: Job, place: JobPlace, base: str) -> None:
    """Make the workspace of a job; one that is changed in place has to be there, which is seen later."""
    source = place.workspace if job.in_place else resolved(base, job.path or "")
    if job.path and f"{place.work}/{BEGUN}/".startswith(f"{source}/"):
        message = f"the results of the batch are inside of {job.path}"
        raise CladaError("path_escape", message, "let --out name a file elsewhere")
    if job.in_place:
        return
    remove_tree(place.workspace)  # of an attempt that was cut short
    if job.repo is None:
        copy_tree(source, place.workspace)
        # A copy of another user's files is for the caller alone.
        os.chmod(place.workspace, os.stat(place.workspace).st_mode & OWNER_ALL)
        return
    from clada.world.git.work_tree import is_url, make_work_tree, mirror

    commit = job.commit or ""
    repo = mirror(job.repo, commit, _mirrors()) if is_url(job.repo) else resolved(base, job.repo)
    make_work_tree(repo, commit, place.workspace)


def check_directory(path: str) -> None:
    """Raise where there is no such directory."""
    if not os.path.isdir(path):
        raise CladaError("file_not_found", f"there is no directory {path}", "mend the job's path")


def _mirrors() -> str:
    return os.path.join(cache_home(), "clada", "mirrors")


# Putting back.


def keep_copy(place: JobPlace) -> None:
    """Keep a copy of a workspace that is about to be changed in place by anything."""
    unfinished = place.begun + UNFINISHED
    remove_tree(unfinished)
    copy_tree(place.workspace, unfinished)
    os.rename(unfinished, place.copy)  # from now on it is whole


def restore(place: JobPlace) -> None:
    """Put a workspace back as it was before the job began, if it did; to do it again changes nothing."""
    unfinished = place.begun + UNFINISHED
    remove_tree(unfinished)
    if os.path.isdir(place.copy):
        copy_over(place.copy, place.workspace)
        os.rename(place.copy, unfinished)  # one that a kill leaves half removed must not be put back
        remove_tree(unfinished)
    if os.path.exists(place.files):
        put_back(place.files, place.workspace)
        os.unlink(place.files)


def forget(place: JobPlace) -> None:
    """Drop what was kept to put a workspace back: the job has its result."""
    try:
        os.unlink(place.files)
    except FileNotFoundError:
        remove_all([place.copy, place.begun + UNFINISHED])


def begun_names(work: str) -> list[str]:
    """Return the names of all that is kept."""
    try:
        return os.listdir(f"{work}/{BEGUN}")
    except FileNotFoundError:
        return []


def begun_jobs(work: str) -> list[tuple[int, str, str]]:
    """Return what was kept of jobs that were begun, the last first: number and key of each, and the path."""
    stems = sorted({name.partition(".")[0] for name in begun_names(work)}, reverse=True)
    parts = [(stem[:DIGITS], stem[DIGITS + 1 :], f"{work}/{BEGUN}/{stem}") for stem in stems]
    return [(int(number) if number.isdecimal() else 0, key, path) for number, key, path in parts]


# Trees.


def copy_tree(source: str, target: str) -> None:
    """Copy a directory to where nothing is: links as links, modes and times too; no pipes and devices.

    The copy belongs to the caller. It has no setuid or setgid bits, because they would hand the caller's
    rights to whoever runs the file.
    """
    check_directory(source)
    os.mkdir(target, OWNER_ALL)
    own = os.stat(target)
    folders = [(source, target)]
    for here, there in folders:  # it grows; a tree can be deeper than Python can call itself
        with os.scandir(here) as entries:
            for entry in entries:
                path = f"{there}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.inode() == own.st_ino and os.path.samestat(os.stat(entry.path), own):
                        continue  # the copy itself, reached by another name
                    os.mkdir(path, OWNER_ALL)
                    folders.append((entry.path, path))
                else:
                    _copy_entry(entry.path, path, entry.stat(follow_symlinks=False))
    for here, there in reversed(folders):  # last, for a directory may be read-only, and its time is the last
        _copy_times(os.stat(here), there)


def _copy_entry(source: str, target: str, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(status.st_mode):
        _copy_file(source, target, status.st_size)
        _copy_times(status, target)


def _copy_times(status: os.stat_result, target: str) -> None:
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.chmod(target, stat.S_IMODE(status.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _copy_file(source: str, target: str, size: int) -> None:
    reader = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        writer = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if size <= PIECE:
                _write(writer, os.read(reader, size))
                return
            while _copy_piece(reader, writer):
                pass
        finally:
            os.close(writer)
    finally:
        os.close(reader)


def _copy_piece(reader: int, writer: int) -> int:
    """Copy a piece; where the file system can, it is shared instead."""
    try:
        return os.copy_file_range(reader, writer, 1 << 30)
    except (AttributeError, OSError):
        data = os.read(reader, PIECE)
        _write(writer, data)
        return len(data)


def _write(writer: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(writer, rest) :]


def copy_over(source: str, target: str) -> None:
    """Make a directory what another one is; the directory itself stays, for it may be open elsewhere."""
    status = os.stat(source)
    os.makedirs(target, exist_ok=True)
    os.chmod(target, OWNER_ALL)
    for name in os.listdir(target):
        remove_tree(f"{target}/{name}")
    with os.scandir(source) as entries:
        for entry in entries:
            path = f"{target}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                copy_tree(entry.path, path)
            else:
                _copy_entry(entry.path, path, entry.stat(follow_symlinks=False))
    _copy_times(status, target)


def differences(before: str, after: str, since: int) -> tuple[Contents, Modes]:
    """Return how a tree differs from a copy of it: contents and modes before and after, by path.

    What was not changed `since` a moment, in nanoseconds of the file system's clock, is not looked into.
    """
    old, new = dict(_entries(before)), dict(_entries(after))
    contents: Contents = []
    modes: Modes = []
    for path in sorted({*old, *new}):
        was, now = old.get(path), new.get(path)
        if was and now and now.st_ctime_ns < since:
            continue
        old_mode, new_mode = _git_mode(was), _git_mode(now)
        if old_mode != new_mode:
            modes.append((path, old_mode, new_mode))
        was_content = _content(f"{before}/{path}", was)
        content = _content(f"{after}/{path}", now)
        if was_content != content:
            contents.append((path, was_content, content))
    return contents, modes


def _entries(top: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield files and links below a directory, each with its status."""
    folders = [""]
    for folder in folders:
        try:
            entries = list(os.scandir(f"{top}/{folder}"))
        except OSError:
            continue  # a command has closed it
        for entry in entries:
            path = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                folders += [] if entry.name in OWN else [f"{path}/"]
            elif entry.name not in OWN:
                yield path, entry.stat(follow_symlinks=False)


def _git_mode(status: os.stat_result | None) -> str | None:
    if status is None:
        return None
    if stat.S_ISLNK(status.st_mode):
        return "120000"
    if not stat.S_ISREG(status.st_mode):
        return None
    return "100755" if status.st_mode & stat.S_IXUSR else "100644"


def _content(path: str, status: os.stat_result | None) -> bytes | None:
    if _git_mode(status) is None:
        return None
    try:
        if status and stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))
        with open(open_file(path), "rb") as file:
            return file.read()
    except OSError:
        return None


def clock_of(folder: str) -> int:
    """Return the time of a file system, as it stamps what changes from now on."""
    path = f"{folder}/.clock-{os.getpid()}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    try:
        return os.stat(path).st_ctime_ns
    finally:
        os.unlink(path)


def remove_all(paths: Iterable[str]) -> None:
    """Remove these trees, as far as that can be done."""
    for path in paths:
        try:
            remove_tree(path)
        except OSError:
            continue
