"""Walk a tree of directories by handles: no symbolic link is followed, and no depth is too deep.

Each directory is opened below the handle of the one that it is in, so another process that swaps a directory
for a link cannot lead the walk elsewhere.
"""

from __future__ import annotations

import errno
import os
from collections import deque

from clada.errors import CladaError
from clada.world.files.directories import Directories
from clada.world.handles import open_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VANISHED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # removed since it was listed, or replaced


class Directory:
    """A directory of a walk. The handle, and `stat` of the entries, work until the next step."""

    __slots__ = ("enter", "entries", "handle", "path")

    def __init__(self, path: str, handle: int) -> None:
        self.path = path  # below the top, which is ""
        self.handle = handle
        with os.scandir(handle) as entries:
            self.entries = list(entries)  # in no order
        # The names of the directories to walk into, in order. A caller may change the list.
        self.enter = sorted(entry.name for entry in self.entries if entry.is_dir(follow_symlinks=False))

    def join(self, name: str) -> str:
        """Return the path, below the top, of the entry of this name."""
        return f"{self.path}/{name}" if self.path else name


def raise_error(_path: str, error: OSError) -> None:
    """Raise the error: the default of a walk."""
    raise error


def skip_error(_path: str, _error: OSError) -> None:
    """Skip a directory that cannot be read, as a program of this user has to."""


def walk(
    top: str,
    on_error: Callable[[str, OSError], None] = raise_error,
    *,
    start: Iterable[str] = ("",),
    breadth_first: bool = False,
) -> Iterator[Directory]:
    """Yield the directories at and below `top`, each before those that are in it.

    A caller decides where the walk goes next by changing `Directory.enter`. A directory that cannot be read
    is passed to `on_error`, by its path below the top, and left out; one that was removed or replaced since
    it was listed is left out without that. `start` are the paths below the top to begin with.
    `breadth_first` yields directories near the top first.
    """
    try:
        root = open_directory(top)
    except OSError as error:
        on_error("", error)
        return
    directories = Directories(root)
    waiting = deque(start)
    try:
        while waiting:
            path = waiting.popleft()
            handle = -1
            try:
                handle = _open(directories, path)
                directory = Directory(path, handle)
            except OSError as error:
                if error.errno not in VANISHED:
                    on_error(path, error)
            else:
                yield directory
                below = map(directory.join, directory.enter)
                if breadth_first:
                    waiting.extend(below)
                else:
                    waiting.extendleft(reversed(list(below)))
            finally:
                if handle >= 0:
                    os.close(handle)
    finally:
        directories.forget_all()
        os.close(root)


def _open(directories: Directories, path: str) -> int:
    above, _, name = path.rpartition("/")
    try:
        parent = directories.handle(tuple(above.split("/")) if above else ())
    except CladaError as error:
        missing = error.error.type in {"file_not_found", "symlink_not_allowed"}
        raise OSError(errno.ENOENT if missing else errno.EACCES, error.error.message) from None
    return open_directory(name or ".", parent)
