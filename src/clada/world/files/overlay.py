"""The overlay: the same file access as the workspace, with all changes held in memory, for dry runs."""

from __future__ import annotations

import errno
import time

from clada.errors import Trouble
from clada.text.lines import between
from clada.text.match import Text
from clada.values import Value
from clada.world.files.entries import Entry, checked_utf8, errno_trouble, not_a_directory
from clada.world.files.paths import display_path
from clada.world.files.tree import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from clada.world.files.paths import Parts
    from clada.world.files.workspace import Workspace

NEW_FILE, NEW_DIRECTORY = 0o644, 0o755
KINDS = {"file": "10", "directory": "04", "link": "12", "other": "00"}  # the first digits of git's modes


class _Node(Value):
    """Something that the overlay put at a place: new content, or what stands elsewhere on disk."""

    entry: Entry
    data: bytes | None = None
    origin: Parts | None = None


class Overlay:
    """A view of a workspace in which changes seem made."""

    def __init__(self, under: Workspace) -> None:
        self.under = under
        self.root = under.root
        self.locate = under.locate
        self.locate_directory = under.locate_directory
        self.touched: set[Parts] = set()
        self._nodes: dict[Parts, _Node | None] = {}  # None: removed, with all below it
        self._below: dict[Parts, set[str]] = {}  # the names that the overlay knows in each directory
        self._text = Text(b"")  # the last one: edits in a row build on what it has learnt

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.under.close()

    # Looking.

    def entry(self, parts: Parts) -> Entry | None:
        """Return what seems to stand at this place, or None."""
        if parts in self._nodes:
            node = self._nodes[parts]
            return node.entry if node else None
        return None if self._hidden(parts) else self.under.entry(parts)

    def names(self, parts: Parts) -> list[str]:
        """Return the names in a directory, sorted."""
        entry = self.entry(parts)
        if entry is None or entry.kind != "directory":
            raise errno_trouble(errno.ENOENT if entry is None else errno.ENOTDIR)
        on_disk = set() if parts in self._nodes or self._hidden(parts) else set(self.under.names(parts))
        names = on_disk | self._below.get(parts, set())
        return sorted(name for name in names if self._nodes.get((*parts, name), True))

    def load(self, parts: Parts) -> bytes:
        """Return the content of a regular file."""
        node = self._nodes.get(parts)
        if node is None:
            if parts in self._nodes or self._hidden(parts):
                raise errno_trouble(errno.ENOENT)
            return self.under.load(parts)
        if node.entry.kind != "file":
            raise _not_a_file(node.entry)
        if node.data is not None:
            return node.data
        return self.under.load(node.origin or parts)

    def text(self, parts: Parts) -> Text:
        """Return the content of a file that must be UTF-8."""
        data = self.load(parts)
        return self._text if self._text.data is data else Text(checked_utf8(data))

    def handle(self, parts: Parts) -> int:
        """Return a new handle of a directory on disk; the caller closes it."""
        return self.under.handle(parts)

    # Changing.

    def hold(self, parts: Parts, text: Text) -> None:
        """Take the new content of a file."""
        self.store(parts, text.data)
        self._text = text

    def append(self, parts: Parts, data: bytes) -> bool:
        """Add this to the end of a file, on a line of its own; return False where there is no file."""
        if not self.entry(parts):
            return False
        old = self.load(parts)
        self.store(parts, old + between(old) + data)
        return True

    def flush(self) -> None:
        """Do nothing: whoever looks sees the overlay."""

    def forget(self) -> None:
        """Do nothing: there are no handles of its own."""

    def store(self, parts: Parts, data: bytes, mode: int | None = None) -> None:
        """Put this content at a place, making parents."""
        old = self._replaceable(parts)
        self._make_parents(parts)
        if mode is None:
            mode = old.mode if old else NEW_FILE
        self._set(parts, _Node(Entry("file", mode, len(data), time.time_ns()), data))

    def make(self, parts: Parts, mode: int = NEW_DIRECTORY) -> None:
        """Make a directory; its parent exists."""
        if self.entry(parts):
            raise errno_trouble(errno.EEXIST)
        above = self.entry(parts[:-1])
        if not above:
            raise errno_trouble(errno.ENOENT)
        if above.kind != "directory":
            raise errno_trouble(errno.ENOTDIR)
        self._set(parts, _Node(Entry("directory", mode & NEW_DIRECTORY)))

    def _make_parents(self, parts: Parts) -> None:
        """Make the directories that a file at this place needs."""
        for size in range(1, len(parts)):
            there = self.entry(parts[:size])
            if there is None:
                self._set(parts[:size], _Node(Entry("directory", NEW_DIRECTORY)))
            elif there.kind == "link":
                raise _link_on_the_way(parts[:size])
            elif there.kind != "directory":
                raise not_a_directory(display_path(parts[:size]))

    def rename(self, source: Parts, target: Parts) -> None:
        """Move what is at one place to another, making parents; over a file, or an empty directory."""
        there = self.entry(target)
        if there and there.kind == "directory" and self.names(target):
            raise errno_trouble(errno.ENOTEMPTY)
        self._make_parents(target)
        moved = [((), self._node(source)), *self._nodes_below(source)]
        self._remove(source)
        self._remove(target)
        for rest, node in moved:
            self._set((*target, *rest), node)

    def unlink(self, parts: Parts) -> None:
        """Remove a file or a link."""
        entry = self.entry(parts)
        if entry is None:
            raise errno_trouble(errno.ENOENT)
        if entry.kind == "directory":
            raise errno_trouble(errno.EISDIR)
        self._remove(parts)

    def remove_directory(self, parts: Parts) -> None:
        """Remove an empty directory."""
        if self.names(parts):
            raise errno_trouble(errno.ENOTEMPTY)
        self._remove(parts)

    def set_mode(self, parts: Parts, mode: int) -> None:
        """Set the permission bits of a file or directory."""
        self._change_entry(parts, mode=mode)

    def set_times(self, parts: Parts, accessed: int, modified: int) -> None:  # noqa: ARG002 (not kept here)
        """Set the times of a file or directory, in nanoseconds."""
        self._change_entry(parts, modified=modified)

    def changes(self) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return each file that differs from the disk: its path, the old content and the new one."""
        places = set(self._nodes)
        for parts in self._nodes:
            places.update(_files_below(self.under, parts))  # a directory may be gone with all that was in it
        contents = ((parts, _content(self.under, parts), _content(self, parts)) for parts in sorted(places))
        return [(display_path(parts), old, new) for parts, old, new in contents if old != new]

    def modes(self) -> list[tuple[str, str | None, str | None]]:
        """Return each place whose kind or mode differs from the disk: its path, and both in git's form."""
        both = ((parts, _mode(self.under, parts), _mode(self, parts)) for parts in sorted(self._nodes))
        return [(display_path(parts), old, new) for parts, old, new in both if old != new]

    def _hidden(self, parts: Parts) -> bool:
        """Whether the disk does not count here, for something above was made or removed by the overlay."""
        for size in range(len(parts) - 1, -1, -1):
            if parts[:size] in self._nodes:
                node = self._nodes[parts[:size]]
                if node and node.entry.kind == "link":
                    raise _link_on_the_way(parts[:size])
                return True
        return False

    def _replaceable(self, parts: Parts) -> Entry | None:
        old = self.entry(parts)
        if old and old.kind != "file":
            raise _not_a_file(old)
        return old

    def _node(self, parts: Parts) -> _Node:
        node = self._nodes.get(parts)
        if node:
            return node
        entry = self.entry(parts)
        if entry is None:
            raise errno_trouble(errno.ENOENT)
        return _Node(entry, origin=parts)

    def _nodes_below(self, top: Parts) -> list[tuple[Parts, _Node]]:
        entry = self.entry(top)
        if not entry or entry.kind != "directory":
            return []
        return [(parts[len(top) :], self._node(parts)) for parts, _ in walk(self, top)]

    def _change_entry(self, parts: Parts, **fields: int) -> None:
        node = self._node(parts)
        if node.entry.kind == "link":
            raise Trouble("symlink_not_allowed", "is a symbolic link")
        if node.entry.kind == "file":
            self._set(parts, node.replace(entry=node.entry.replace(**fields)))

    def _set(self, parts: Parts, node: _Node | None) -> None:
        self._nodes[parts] = node
        for size in range(len(parts), 0, -1):
            names = self._below.setdefault(parts[: size - 1], set())
            if parts[size - 1] in names:
                break  # then those above are known as well
            names.add(parts[size - 1])
        self.touched.add(parts)

    def _remove(self, parts: Parts) -> None:
        doomed = [parts]
        while doomed:
            top = doomed.pop()
            doomed.extend((*top, name) for name in self._below.pop(top, ()))
            self._nodes.pop(top, None)
        self._set(parts, None)


def _files_below(files: Workspace | Overlay, parts: Parts) -> list[Parts]:
    try:
        entry = files.entry(parts)
        is_directory = entry is not None and entry.kind == "directory"
        return [below for below, kind in walk(files, parts) if kind.kind == "file"] if is_directory else []
    except Trouble:
        return []


def _content(files: Workspace | Overlay, parts: Parts) -> bytes | None:
    try:
        entry = files.entry(parts)
        return files.load(parts) if entry and entry.kind == "file" else None
    except Trouble:
        return None


def _mode(files: Workspace | Overlay, parts: Parts) -> str | None:
    """Return what stands at a place as git writes it: its kind, and its permissions in octal digits."""
    try:
        entry = files.entry(parts)
    except Trouble:
        return None
    return f"{KINDS[entry.kind]}{entry.mode if entry.kind != 'link' else 0:04o}" if entry else None


def _link_on_the_way(parts: Parts) -> Trouble:
    return Trouble("symlink_not_allowed", f"{display_path(parts)} is a symbolic link")


def _not_a_file(entry: Entry) -> Trouble:
    if entry.kind == "link":
        return Trouble("symlink_not_allowed", "is a symbolic link")
    if entry.kind == "directory":
        return errno_trouble(errno.EISDIR)
    return Trouble("permission_denied", "not a regular file")
