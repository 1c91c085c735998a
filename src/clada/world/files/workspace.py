"""The workspace: contained and atomic file access, by directory handles.

Every path is walked from the workspace's own handle, component by component, without following links; files
are created, replaced, renamed and removed relative to their directory's handle. So what another process does
to the tree meanwhile cannot lead an operation out of it: there is no moment between a check and its use.

New content is written to a file without a name (or, where the file system has none, with one of our own) and
put in place by a link or a rename: a reader sees the old or the new content. What a kill between these steps
leaves behind, the next run that writes into the same directory removes.
"""

from __future__ import annotations

import os

from clada.problems import Trouble
from clada.text.match import Text
from clada.world.files.atomic import clear, put
from clada.world.files.entries import Entry, checked_utf8, entry_of, not_a_directory, read_all, trouble
from clada.world.files.paths import OUTSIDE, Parts, locate, locate_inside, protect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW
PIN = getattr(os, "O_PATH", 0) | NO_FOLLOW
HANDLES = "/proc/self/fd"
LARGE = 1 << 17  # bytes
MAX_HANDLES = 32  # directories kept open, for the next operation is often a neighbour


class Workspace:
    """File access inside one directory, for one run. Whatever goes wrong is a Trouble."""

    def __init__(self, directory: str = ".", *, allow_escape: bool = False) -> None:
        self.allow_escape = allow_escape
        self.touched: set[Parts] = set()  # what was changed, for the commit
        try:
            self._root = os.open(directory, DIRECTORY)
        except OSError as error:
            raise trouble(error, "the workspace") from None
        self.root = _path_of(self._root, directory)
        self._handles: dict[Parts, int] = {}
        self._cleared: set[Parts] = set()  # directories in which nothing is left of earlier runs
        self._made: list[Parts] = []  # directories that the present step has made
        self._held: tuple[Parts, Text] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is held, and close all handles."""
        try:
            self.flush()
        finally:
            self.forget()
            os.close(self._root)

    def locate(self, path: str, base: Parts = ()) -> Parts:
        """Return the parts of a path as a document writes it."""
        return locate(path, self.root, base, allow_escape=self.allow_escape)

    def locate_directory(self, path: str, base: Parts = ()) -> Parts:
        """Return the parts of a directory to run in: here an absolute path inside the workspace is fine."""
        inside = locate_inside(path, self.root)
        return self.locate(path, base) if inside is None else self.locate("/".join(inside))

    # Looking. A link is never followed, and none is allowed on the way.

    def entry(self, parts: Parts) -> Entry | None:
        """Return what stands at this place, or None."""
        self.flush()
        if not parts:
            return entry_of(os.fstat(self._root))
        try:
            return entry_of(os.stat(parts[-1], dir_fd=self._directory(parts[:-1]), follow_symlinks=False))
        except OSError as error:
            missing = trouble(error)
        except Trouble as raised:
            missing = raised
        if missing.error.type == "file_not_found":
            return None
        raise missing

    def names(self, parts: Parts) -> list[str]:
        """Return the names in a directory, sorted."""
        self.flush()
        with_handle = self._directory(parts)
        try:
            return sorted(os.listdir(with_handle))
        except OSError as error:
            raise trouble(error) from None

    def load(self, parts: Parts) -> bytes:
        """Return the content of a regular file."""
        self.flush()
        fd = self._open(parts, READ)
        try:
            return read_all(fd)
        except OSError as error:
            raise trouble(error) from None
        finally:
            os.close(fd)

    def text(self, parts: Parts) -> Text:
        """Return the content of a file that must be UTF-8; what is held of it, without reading it again."""
        if self._held and self._held[0] == parts:
            return self._held[1]
        data = self.load(parts)
        if len(data) > LARGE:
            _make_room(len(data))
        return Text(checked_utf8(data))

    def handle(self, parts: Parts) -> int:
        """Return a new handle of a directory, for a process to run in; the caller closes it."""
        self.flush()
        try:
            return os.dup(self._directory(parts))
        except OSError as error:
            raise trouble(error) from None

    def changes(self) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return what differs from the disk, as the overlay does: here nothing."""
        return []

    # Changing.

    def hold(self, parts: Parts, text: Text) -> None:
        """Take the new content of a file; it is written before anything else could look at it."""
        if self._held and self._held[0] != parts:
            self.flush()
        self._held = (parts, text)

    def flush(self) -> None:
        """Write what is held."""
        if self._held:
            (parts, text), self._held = self._held, None
            self.store(parts, text.data)

    def store(self, parts: Parts, data: bytes, mode: int | None = None) -> None:
        """Put this content at a place, making parents; the mode is kept, or the umask's for a new file."""
        self.flush()
        self._refuse_root(parts)
        self._act_in(parts[:-1], lambda parent: put(parent, parts[-1], data, mode))
        self.touched.add(parts)
        if parts[:-1] not in self._cleared:
            self._clear(parts[:-1])

    def make(self, parts: Parts, mode: int = 0o777) -> None:
        """Make a directory; its parent exists."""
        self._change(os.mkdir, parts, mode)

    def make_parents(self, parts: Parts) -> None:
        """Make the directories that a file at this place needs."""
        self.flush()
        self._act_in(parts[:-1], lambda _parent: None)

    def rename(self, source: Parts, target: Parts) -> None:
        """Move what is at one place to another, making parents; over a file, or an empty directory."""
        self.flush()
        self._refuse_root(source)
        self._refuse_root(target)
        old = self.handle(source[:-1])
        try:
            self._act_in(
                target[:-1],
                lambda new: os.rename(source[-1], target[-1], src_dir_fd=old, dst_dir_fd=new),
            )
        finally:
            os.close(old)
        self.forget()
        self.touched.update((source, target))

    def unlink(self, parts: Parts) -> None:
        """Remove a file or a link."""
        self._change(os.unlink, parts)

    def remove_directory(self, parts: Parts) -> None:
        """Remove an empty directory."""
        self._change(os.rmdir, parts)
        self._forget_one(parts)

    def set_mode(self, parts: Parts, mode: int) -> None:
        """Set the permission bits of a file or directory."""
        self._pinned(parts, lambda path: os.chmod(path, mode))

    def set_times(self, parts: Parts, accessed: int, modified: int) -> None:
        """Set the times of a file or directory, in nanoseconds."""
        self._pinned(parts, lambda path: os.utime(path, ns=(accessed, modified)))

    def _change(self, action: Callable[..., None], parts: Parts, *rest: int) -> None:
        self.flush()
        self._refuse_root(parts)
        try:
            action(parts[-1], *rest, dir_fd=self._directory(parts[:-1]))
        except OSError as error:
            raise trouble(error) from None
        self.touched.add(parts)

    def _act_in(self, parts: Parts, action: Callable[[int], None]) -> None:
        """Act in a directory, which is made if need be; where it fails, nothing that was made stays."""
        self._made.clear()
        try:
            action(self._directory(parts, create=True))
        except OSError as error:
            self._unmake()
            raise trouble(error) from None
        except Trouble:
            self._unmake()
            raise

    def _unmake(self) -> None:
        while self._made:
            parts = self._made.pop()
            self._forget_one(parts)
            try:
                os.rmdir(parts[-1], dir_fd=self._directory(parts[:-1]))
            except (OSError, Trouble):
                return  # somebody else has put something there
            self.touched.discard(parts)

    def _clear(self, parts: Parts) -> None:
        self._cleared.add(parts)
        try:
            clear(self._directory(parts))
        except OSError:
            return  # what was asked is done

    def _pinned(self, parts: Parts, action: Callable[[Any], None]) -> None:
        """Act on exactly what stands at this place, which is no link: chmod and utime would follow one."""
        self.flush()
        by_path = _reaches_handles()
        fd = self._open(parts, PIN if by_path else READ) if parts else os.dup(self._root)
        try:
            if entry_of(os.fstat(fd)).kind == "link":
                raise Trouble("symlink_not_allowed", "is a symbolic link")
            action(f"{HANDLES}/{fd}" if by_path else fd)
        except OSError as error:
            raise trouble(error) from None
        finally:
            os.close(fd)
        if parts:  # the workspace itself is in no commit
            self.touched.add(parts)

    def _open(self, parts: Parts, flags: int) -> int:
        self._refuse_root(parts)
        parent = self._directory(parts[:-1])
        try:
            return os.open(parts[-1], flags, dir_fd=parent)
        except OSError as error:
            raise trouble(error) from None

    @staticmethod
    def _refuse_root(parts: Parts) -> None:
        if parts in ((), (OUTSIDE,)):
            raise Trouble("permission_denied", "is the workspace itself")

    # Handles.

    def forget(self) -> None:
        """Close the directory handles that are kept: where directories move, and before a command."""
        handles, self._handles = self._handles, {}
        for handle in handles.values():
            os.close(handle)

    def _forget_one(self, parts: Parts) -> None:
        handle = self._handles.pop(parts, None)
        if handle is not None:
            os.close(handle)

    def _directory(self, parts: Parts, *, create: bool = False) -> int:
        """Return the handle of a directory; it is ours to close."""
        if not parts:
            return self._root
        known = self._handles.get(parts)
        if known is not None:
            return known
        walk = self._walk_outside if parts[0] == OUTSIDE else self._walk
        try:
            handle = walk(parts, create=create)
        except OSError as error:
            raise trouble(error) from None  # too many open files
        if len(self._handles) >= MAX_HANDLES:
            self.forget()
        self._handles[parts] = handle
        return handle

    def _walk(self, parts: Parts, *, create: bool) -> int:
        known = parts[:-1] if parts[:-1] in self._handles else ()
        handle = os.dup(self._handles[known] if known else self._root)
        for at in range(len(known), len(parts)):
            parent, name = handle, parts[at]
            try:
                handle = os.open(name, DIRECTORY | NO_FOLLOW, dir_fd=parent)
            except FileNotFoundError as error:
                if not create:
                    raise trouble(error) from None
                handle = self._make_on_the_way(parent, parts[: at + 1])
            except OSError as error:
                raise _in_the_way(error, parent, name, "/".join(parts[: at + 1]), create=create) from None
            finally:
                os.close(parent)
        return handle

    def _make_on_the_way(self, parent: int, parts: Parts) -> int:
        try:
            os.mkdir(parts[-1], dir_fd=parent)
            self.touched.add(parts)
            self._made.append(parts)
        except FileExistsError:
            pass  # somebody made it meanwhile: open it, if it is a directory
        except OSError as error:
            raise trouble(error, "/".join(parts)) from None
        try:
            return os.open(parts[-1], DIRECTORY | NO_FOLLOW, dir_fd=parent)
        except OSError as error:
            raise _in_the_way(error, parent, parts[-1], "/".join(parts), create=True) from None

    def _walk_outside(self, parts: Parts, *, create: bool) -> int:
        """Open a directory outside of the workspace, where links on the way are followed."""
        path = "/" + "/".join(parts[1:])
        protect(tuple(os.path.realpath(path).split("/")))
        try:
            if create:
                self._make_outside(parts)
            return os.open(path, DIRECTORY)
        except OSError as error:
            raise trouble(error, path) from None

    def _make_outside(self, parts: Parts) -> None:
        for size in range(2, len(parts) + 1):
            path = "/" + "/".join(parts[1:size])
            if not os.path.isdir(path):
                os.mkdir(path)
                self._made.append(parts[:size])


def _path_of(handle: int, directory: str) -> str:
    """Return the path of an open directory, without links: as the system knows it, or by following them."""
    try:
        path = os.readlink(f"{HANDLES}/{handle}")
    except OSError:
        path = ""
    return path if path.startswith("/") and os.path.exists(path) else os.path.realpath(directory)


def _reaches_handles() -> bool:
    """Whether open files have paths: a process that has changed users may not look into its own /proc."""
    return os.path.exists(HANDLES) and os.access(HANDLES, os.X_OK, effective_ids=True)


def _make_room(size: int) -> None:
    """Let the allocator know that blocks of this size, and more, will come and go.

    It hands back to the system what is larger than the largest block that was freed so far, and a text that
    grows by each edit always is: to be given fresh pages each time takes longer than to copy the text.
    """
    bytes(2 * size)  # made and freed, and never touched


def _in_the_way(error: OSError, parent: int, name: str, path: str, *, create: bool) -> Trouble:
    """Return why a directory on the way could not be opened: a link, a file, or no permission."""
    try:
        kind = entry_of(os.stat(name, dir_fd=parent, follow_symlinks=False)).kind
    except OSError:
        return trouble(error, path)
    if kind == "link":
        return Trouble("symlink_not_allowed", f"{path} is a symbolic link")
    if kind == "directory":
        return trouble(error, path)
    if create:
        return not_a_directory(path)
    message = f"no such file: {path} is not a directory"
    return Trouble("file_not_found", message, system=not_a_directory(path).system)
