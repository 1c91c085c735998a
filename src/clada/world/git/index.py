"""Git's index: a copy of the user's in which a commit is built, and the lock under which one is replaced.

The user's own index is never staged into. The files of a commit are staged in a copy, which keeps what git
knows of the files (and so costs no more than staging in place); then the user's is replaced in one rename,
while `index.lock` keeps other git processes from it. If clada is killed in between, the lock says that it is
clada's, and which copy was to become the index: the next command finishes that.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from stat import S_ISREG

from clada.errors import CladaError
from clada.grammar import read_number
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.stat import Stamp
from clada.world.git.git import hardened_git, pause, safe_opener
from clada.world.git.repository import (
    check_identity,
    find,
    git_error,
    locked_refs,
    os_errors_as_git_errors,
)
from clada.world.handles import is_process_gone, make_shared_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.world.git.git import Git
    from clada.world.git.repository import Repository

PREFIX = "index-"  # of the names of copies
MARK = "clada"  # the first word of a lock that is clada's
TRIES = 40  # while another git process holds the index, with a pause after each
REF_TRIES = 10  # pauses in which a lock of a ref must not change, before it counts as left
WAIT_TRIES = 10  # while another git process holds a lock, with a pause after each
MAX_LOCK = 4096  # bytes of a lock that is clada's, at most
# An index has the mode of a submodule in four bytes; or else it is split, and the rest is in another file.
SIGNS_OF_SUBMODULES = (b"\0\0\xe0\0", b"link")
HEX = frozenset("0123456789abcdef")


# Operations in progress, by their file in the git directory, and the command that ends each.
IN_PROGRESS = (
    ("rebase-merge", "a rebase", "git rebase --continue or --abort"),
    ("rebase-apply", "a rebase or git am", "git rebase --continue or --abort (git am --abort)"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue or --abort"),
    ("REVERT_HEAD", "a revert", "git revert --continue or --abort"),
    ("sequencer", "a cherry-pick or revert", "git cherry-pick --continue or --abort"),
    ("MERGE_HEAD", "a merge", "git merge --continue or --abort"),
    ("BISECT_LOG", "a bisect", "git bisect reset"),
)


def own_directory(repository: Repository) -> str:
    """Return clada's directory in the git directory, which is made if it is missing, for the same users."""
    path = os.path.join(repository.git_dir, "clada")
    make_shared_directory(path)
    return path


def remove_stale_copies(repository: Repository) -> None:
    """Remove the copies of runs that were killed. The repository's lock must be held."""
    directory = own_directory(repository)
    for name in os.listdir(directory):
        if name.startswith(PREFIX):
            _unlink(os.path.join(directory, name))


class IndexCopy(Value):
    """A copy of the user's index, and a git that uses it in its place."""

    git: Git
    seen: Stamp | None  # of the user's index when it was copied; None if there was none
    users_path: str
    path: str
    has_submodules: bool  # or may have some

    @property
    def is_current(self) -> bool:
        """Whether the user's index is still the one that was copied."""
        return Stamp.at(self.users_path) == self.seen

    def replace_users(self) -> Stamp | None:
        """Make this the user's index, whose lock must be held; return its stamp."""
        os.rename(self.path, self.users_path)
        return Stamp.at(self.users_path)


@contextmanager
def index_copy(repository: Repository, git: Git) -> Iterator[IndexCopy]:
    """Provide a copy of the user's index, which is removed in the end unless it has become the user's."""
    users_path = _users_index(repository)
    path = _new_path(repository)
    own = git.replace(variables={**git.variables, "GIT_INDEX_FILE": path})
    try:
        seen, content = _copy(users_path, path)
        has_submodules = any(sign in content for sign in SIGNS_OF_SUBMODULES)
        yield IndexCopy(own, seen, users_path, path, has_submodules)
    finally:
        _unlink(path)
        _unlink(f"{path}.lock")  # git's own, if it was ended half way


def _new_path(repository: Repository) -> str:
    return os.path.join(own_directory(repository), f"{PREFIX}{os.urandom(16).hex()}")


def _users_index(repository: Repository) -> str:
    return os.path.join(repository.git_dir, "index")


def _copy(source: str, target: str) -> tuple[Stamp | None, bytes]:
    """Copy an index; return the stamp and the content of the original; None and nothing if there is none.

    The copy keeps the time: by it git knows which files may have changed after it had looked at them.
    """
    try:
        handle = safe_opener(source, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, b""
    with open(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not S_ISREG(status.st_mode):
            message = f"{escape_controls(source)} is not a file"
            raise CladaError("git_operation_failed", message, "remove it")
        content = file.read()
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as copy:
        copy.write(content)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    return Stamp.of(status), content


# The lock.


class IndexLock(Value):
    """The lock of the index, while it is held."""

    handle: int

    def record_pending(self, new: IndexCopy, commit: str) -> None:
        """Record that this copy becomes the index as soon as HEAD is this commit."""
        os.write(self.handle, f" {commit} {os.path.basename(new.path)}\n".encode())


@contextmanager
def locked_index(repository: Repository) -> Iterator[IndexLock]:
    """Keep other git processes from writing the index.

    The lock is a link to a file that already says that it is clada's: so a kill leaves no other one.
    """
    path, made = _lock_path(repository), _new_path(repository)
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            os.write(handle, f"{MARK} {os.getpid()} {_start_time(os.getpid())}".encode())
            _link_when_free(repository, made, path)
        finally:
            _unlink(made)
        try:
            yield IndexLock(handle)
        finally:
            _unlink(path)
    finally:
        os.close(handle)


def _link_when_free(repository: Repository, made: str, path: str) -> None:
    for _ in range(TRIES):
        try:
            os.link(made, path)
        except FileExistsError:
            if not clear_stale_lock(repository):
                pause()
        else:
            return
    raise _held_error(path)


def clear_stale_lock_of(workspace: str) -> None:
    """Clear the lock that a killed clada has left in the repository of a workspace, unless one is at work."""
    try:
        repository = find(workspace)
        if os.path.lexists(_lock_path(repository)) and read_stale_lock(repository) is not None:
            with repository.lock(0):
                clear_stale_lock(repository)
                remove_stale_copies(repository)
    except (CladaError, OSError):
        return  # it is not the repository of a run, or a run holds it; if it matters, that run says why


def clear_stale_lock(repository: Repository) -> bool:
    """Remove the lock of a killed clada, and finish its commit; return whether no lock is left."""
    match read_stale_lock(repository):
        case None:
            return False
        case [commit, name] if name.endswith("\n") and _is_pending(commit, name.rstrip("\n")):
            clear_stale_ref_locks(repository, commit)
            _finish_commit(repository, commit, os.path.join(repository.git_dir, "clada", name.rstrip("\n")))
        case _:
            pass  # it was killed before it had prepared an index
    _unlink(_lock_path(repository))
    return True


def clear_stale_ref_locks(repository: Repository, commit: str) -> None:
    """Remove the locks that git has left if it was killed while it set HEAD to this commit.

    The lock of the index must be held, or left by a killed clada. A lock of HEAD or of its branch is our
    git's if it is younger than that, holds nothing but this commit, and stays as it is for half a second.
    """
    since = os.lstat(_lock_path(repository)).st_mtime_ns
    paths = [f"{path}.lock" for path in locked_refs(repository)]
    seen = {path: found for path in paths if (found := Stamp.at(path)) and found.modified >= since}
    for _ in range(REF_TRIES if seen else 0):
        pause()
        seen = {path: found for path, found in seen.items() if Stamp.at(path) == found}
    for path in seen:
        if _reads_as(path, commit):
            _unlink(path)


def _reads_as(path: str, commit: str) -> bool:
    """Return whether a lock of a ref holds nothing, or this commit."""
    try:
        with open(path, "rb", opener=safe_opener) as file:
            return file.read(MAX_LOCK).strip() in (b"", commit.encode())
    except OSError:
        return False


def read_stale_lock(repository: Repository) -> list[str] | None:
    """Return the content of the lock of a killed clada; nothing without a lock, None if it is in use."""
    try:
        with open(_lock_path(repository), "rb", opener=safe_opener) as file:
            words = file.read(MAX_LOCK).decode("ascii", "replace").split(" ")
    except FileNotFoundError:
        return []
    except OSError:
        return None
    pid = read_number(words[1]) if words[0] == MARK and len(words) > 2 else None  # noqa: PLR2004
    if not pid or _start_time(pid) == words[2]:
        return None  # it is another program's, or its holder lives
    return words[3:]


def _is_pending(commit: str, name: str) -> bool:
    return name.startswith(PREFIX) and HEX.issuperset(commit) and HEX.issuperset(name.removeprefix(PREFIX))


def _finish_commit(repository: Repository, commit: str, prepared: str) -> None:
    """Make the prepared index the user's, if HEAD has become the commit that it was prepared for."""
    head = hardened_git(repository).call("rev-parse", "-q", "--verify", "HEAD")
    if head.output.decode().strip() == commit and os.path.isfile(prepared):
        os.rename(prepared, _users_index(repository))


def _lock_path(repository: Repository) -> str:
    return f"{_users_index(repository)}.lock"


def _start_time(pid: int) -> str:
    """Return when a process started, in the system's own count; nothing if it is gone; `?` if unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "" if is_process_gone(pid) else "?"


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


# Whether a commit can be made.


def check(repository: Repository, *, dry: bool = False) -> None:
    """Raise CladaError if a commit cannot be made now, or would interfere with a merge, rebase and the like.

    dry: change nothing, and leave the lock of a killed clada.
    """
    with os_errors_as_git_errors():
        check_identity(repository)
        for name, what, remedy in IN_PROGRESS:
            if os.path.lexists(os.path.join(repository.git_dir, name)):
                raise git_error(f"{what} is in progress", f"end it first ({remedy})")
        for path in _locked_by_commits(repository, dry=dry):
            _wait_for_git_lock(f"{path}.lock")
        objects = os.path.join(repository.common_dir, "objects")
        for place in (repository.git_dir, repository.common_dir, objects):
            if not os.access(place, os.W_OK | os.X_OK):
                message = f"no permission to write in {escape_controls(place)}"
                raise git_error(message, "give yourself that permission")


def _locked_by_commits(repository: Repository, *, dry: bool) -> list[str]:
    """Return the files that others may have locked: the index, HEAD and the branch that it names.

    The index is free where a killed clada left its lock, which is removed, unless dry.
    """
    files = locked_refs(repository)
    index = os.path.join(repository.git_dir, "index")
    if not os.path.lexists(f"{index}.lock"):
        return files
    is_free = read_stale_lock(repository) is not None if dry else clear_stale_lock(repository)
    return files if is_free else [index, *files]


def _wait_for_git_lock(path: str) -> None:
    """Wait a little while another git process, such as an editor's, holds this lock; then raise."""
    for _ in range(WAIT_TRIES):
        if not os.path.lexists(path):
            return
        pause()
    raise _held_error(path)


def _held_error(path: str) -> CladaError:
    return git_error(
        f"another git process holds {escape_controls(path)}",
        "wait for it (where none is running any more, remove that file)",
    )
