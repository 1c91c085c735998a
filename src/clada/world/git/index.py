"""Git's index: a copy of the user's in which a commit is built, and the lock under which one is replaced.

The user's own index is never staged into. What a commit is made of is staged in a copy, which keeps what git
knows of the files (and so costs no more than staging in place); then the user's is replaced in one rename,
while `index.lock` keeps other git processes from it. If clada is killed in between, the lock says that it is
clada's, and what was to take the place of the index: whoever comes next finishes it.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from clada.errors import CladaError
from clada.grammar import read_number
from clada.text.escape import escape_controls
from clada.world.git.git import hardened_git, pause, safe_opener
from clada.world.handles import make_shared_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from clada.world.git.git import Git
    from clada.world.git.repository import Repository

LEFT = "index-"  # how the names of copies start
MARK = "clada"  # the first word of a lock that is clada's
TRIES = 40  # while another git process holds the index, with a pause after each
REF_TRIES = 10  # pauses in which a lock of a ref must not change, before it counts as left
MAX_LOCK = 4096  # bytes of a lock that is clada's, at most
# An index has the mode of a submodule in four bytes; or else it is split, and the rest is in another file.
SIGNS_OF_SUBMODULES = (b"\0\0\xe0\0", b"link")
HEX = frozenset("0123456789abcdef")


def own_directory(repository: Repository) -> str:
    """Return clada's directory in the git directory, which is made if it is missing, for the same users."""
    path = os.path.join(repository.git_dir, "clada")
    make_shared_directory(path)
    return path


def remove_left(repository: Repository) -> None:
    """Remove what killed runs left of their copies. The repository's lock must be held."""
    directory = own_directory(repository)
    for name in os.listdir(directory):
        if name.startswith(LEFT):
            _unlink(os.path.join(directory, name))


class OwnIndex:
    """A context in which there is a copy of the user's index, and a git that uses it in its place."""

    def __init__(self, repository: Repository, git: Git) -> None:
        self._users = _users_index(repository)
        self.name = f"{LEFT}{os.urandom(16).hex()}"
        self._path = os.path.join(own_directory(repository), self.name)
        self.git = git.replace(variables={**git.variables, "GIT_INDEX_FILE": self._path})
        self.seen: tuple[int, ...] = ()
        self.has_submodules = True  # as far as we know

    def __enter__(self) -> Self:
        self.seen, content = _copy(self._users, self._path)
        self.has_submodules = any(sign in content for sign in SIGNS_OF_SUBMODULES)
        return self

    def __exit__(self, *_exception: object) -> None:
        _unlink(self._path)
        _unlink(f"{self._path}.lock")  # git's own, if it was ended half way

    @property
    def is_current(self) -> bool:
        """Whether the user's index is still the one that was copied."""
        return identity(self._users) == self.seen

    def take_place(self) -> tuple[int, ...]:
        """Make this the user's index, whose lock must be held; return its identity."""
        os.rename(self._path, self._users)
        return identity(self._users)


def _users_index(repository: Repository) -> str:
    return os.path.join(repository.git_dir, "index")


def identity(path: str) -> tuple[int, ...]:
    """Return what tells a file from any other that has its name later; nothing if there is none."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _copy(source: str, target: str) -> tuple[tuple[int, ...], bytes]:
    """Copy an index, and return the identity of the original and what is in it; nothing where there is none.

    The copy keeps the time: by it git knows which files may have changed after it had looked at them.
    """
    try:
        handle = safe_opener(source, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return (), b""
    with open(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not S_ISREG(status.st_mode):
            message = f"{escape_controls(source)} is no file"
            raise CladaError("git_operation_failed", message, "remove it")
        content = file.read()
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as copy:
        copy.write(content)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    return (status.st_ino, status.st_size, status.st_mtime_ns), content


# The lock.


class IndexLock:
    """A context in which no other git process writes the index.

    The lock is there at once with the words that say whose it is, by a link: so a kill leaves no other one.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._path = _lock_path(repository)
        self._handle = -1

    def __enter__(self) -> Self:
        made = os.path.join(own_directory(self._repository), f"{LEFT}{os.urandom(16).hex()}")
        self._handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            os.write(self._handle, f"{MARK} {os.getpid()} {_started(os.getpid())}".encode())
            for _ in range(TRIES):
                try:
                    os.link(made, self._path)
                except FileExistsError:
                    if not clear_left_lock(self._repository):
                        pause()
                else:
                    return self
        except BaseException:
            os.close(self._handle)
            raise
        finally:
            _unlink(made)
        os.close(self._handle)
        message = f"another git process holds {escape_controls(self._path)}"
        remedy = "wait for it (where none is running any more, remove that file)"
        raise CladaError("git_operation_failed", message, remedy)

    def __exit__(self, *_exception: object) -> None:
        _unlink(self._path)
        os.close(self._handle)

    def promise(self, new: OwnIndex, commit: str) -> None:
        """Leave word that this becomes the index as soon as HEAD is this commit."""
        os.write(self._handle, f" {commit} {new.name}\n".encode())


def clear_left_lock_of(workspace: str) -> None:
    """Clear the lock that a killed clada has left in the repository of a workspace, unless one is at work."""
    from clada.world.git.repository import find

    try:
        repository = find(workspace)
        if os.path.lexists(_lock_path(repository)) and left_lock(repository) is not None:
            with repository.lock(0):
                clear_left_lock(repository)
                remove_left(repository)
    except (CladaError, OSError):
        return  # it is not the repository of a run, or a run holds it; if it matters, that run says why


def clear_left_lock(repository: Repository) -> bool:
    """Remove the lock of a clada that was killed, and finish what it was at; return whether none is left."""
    match left_lock(repository):
        case None:
            return False
        case [commit, name] if name.endswith("\n") and _is_ours(commit, name.rstrip("\n")):
            clear_left_ref_locks(repository, commit)
            _finish(repository, commit, os.path.join(repository.git_dir, "clada", name.rstrip("\n")))
        case _:
            pass  # it was killed before it had anything to put in place
    _unlink(_lock_path(repository))
    return True


def clear_left_ref_locks(repository: Repository, commit: str) -> None:
    """Remove the locks that git has left if it was killed while it set HEAD to this commit.

    The lock of the index must be held, or left by a killed clada. A lock of HEAD or of its branch is our
    git's if it is younger than that, holds nothing but this commit, and stays as it is for half a second.
    """
    from clada.world.git.repository import locked_refs

    since = os.lstat(_lock_path(repository)).st_mtime_ns
    paths = [f"{path}.lock" for path in locked_refs(repository)]
    seen = {path: found for path in paths if (found := identity(path)) and found[-1] >= since}
    for _ in range(REF_TRIES if seen else 0):
        pause()
        seen = {path: found for path, found in seen.items() if identity(path) == found}
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


def left_lock(repository: Repository) -> list[str] | None:
    """Return what the lock of a clada that was killed says; nothing without a lock, None if it is in use."""
    try:
        with open(_lock_path(repository), "rb", opener=safe_opener) as file:
            words = file.read(MAX_LOCK).decode("ascii", "replace").split(" ")
    except FileNotFoundError:
        return []
    except OSError:
        return None
    pid = read_number(words[1]) if words[0] == MARK and len(words) > 2 else None  # noqa: PLR2004
    if not pid or _started(pid) == words[2]:
        return None  # it is another program's, or its holder lives
    return words[3:]


def _is_ours(commit: str, name: str) -> bool:
    return name.startswith(LEFT) and HEX.issuperset(commit) and HEX.issuperset(name.removeprefix(LEFT))


def _finish(repository: Repository, commit: str, prepared: str) -> None:
    """Put the prepared index in its place, if HEAD has become the commit that it was prepared for."""
    head = hardened_git(repository).call("rev-parse", "-q", "--verify", "HEAD")
    if head.output.decode().strip() == commit and os.path.isfile(prepared):
        os.rename(prepared, _users_index(repository))


def _lock_path(repository: Repository) -> str:
    return f"{_users_index(repository)}.lock"


def _started(pid: int) -> str:
    """Return when a process started, in the system's own count; nothing if it is gone or nobody can tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "" if _is_gone(pid) else "?"


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
