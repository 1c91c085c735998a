"""The overlay for dry runs: the same file access as the workspace, with all changes held in memory."""

from __future__ import annotations

import errno
import time

from clada.errors import CladaError
from clada.text.match import Text
from clada.values import Value
from clada.world.files.content import Addition, check_utf8
from clada.world.files.paths import display_path, early_imports, refuse_early_import
from clada.world.files.stat import Entry, errno_error, not_a_directory, refuse_shared
from clada.world.files.tree import content_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.autorun import AutorunGuard
    from clada.world.files.paths import Parts
    from clada.world.files.workspace import Workspace

NEW_FILE, NEW_DIRECTORY = 0o644, 0o755
KINDS = {"file": "10", "directory": "04", "link": "12", "other": "00"}  # the first digits of git's modes


class _NewEntry(Value):
    """An entry that the overlay has put at a path: new content, or that of another path on disk."""

    entry: Entry
    data: bytes | None = None
    origin: Parts | None = None


class _Node:
    """The changes of the overlay at one path and below it."""

    __slots__ = ("below", "is_changed", "made")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.is_changed = False  # by the overlay: then the disk does not count here and below
        self.made: _NewEntry | None = None  # None if it is changed: it was removed, with all below it

    def copy(self) -> _Node:
        """Return a deep copy."""
        copy = _Node()
        waiting = [(self, copy)]
        while waiting:
            old, new = waiting.pop()
            new.is_changed, new.made = old.is_changed, old.made
            new.below = {name: _Node() for name in old.below}
            waiting += [(old.below[name], branch) for name, branch in new.below.items()]
        return copy


class Overlay:
    """A view of a workspace in which changes appear to be made."""

    def __init__(self, under: Workspace) -> None:
        self.under = under
        self.root = under.root
        self.locate = under.locate
        self.locate_directory = under.locate_directory
        self.limits = under.limits  # a dry run counts only here
        self.identity = under.identity
        self.lineage = under.lineage
        self.touched: set[Parts] = set()
        self.guard: AutorunGuard | None = None  # while an operation is carried out
        self._tree = _Node()
        # The node that was found last, and whether the disk counts there: the next one is often nearby.
        self._near: tuple[Parts, _Node, bool] = ((), self._tree, True)
        self._held: tuple[Parts, Text] | None = None  # new content, as the workspace holds it
        self._loaded: tuple[Parts, bytes] = ((), b"")  # last content from disk: a copy refers to it

    # Reading.

    def entry(self, parts: Parts) -> Entry | None:
        """Return the entry at a path, or None."""
        branch, on_disk = self._find_node(parts)
        if branch and branch.is_changed:
            return branch.made.entry if branch.made else None
        return self.under.entry(parts) if on_disk else None

    def names(self, parts: Parts) -> list[str]:
        """Return the names in a directory, sorted."""
        entry = self.entry(parts)
        if entry is None or entry.kind != "directory":
            raise errno_error(errno.ENOENT if entry is None else errno.ENOTDIR)
        branch, on_disk = self._find_node(parts)
        if branch and branch.is_changed:
            on_disk = False
        below = branch.below if branch else {}
        names = {name for name, each in below.items() if each.made or not each.is_changed}
        if on_disk:
            names.update(name for name in self.under.names(parts) if name not in below)
        return sorted(names)

    def load(self, parts: Parts) -> bytes:
        """Return the content of a regular file."""
        branch, on_disk = self._find_node(parts)
        made = branch.made if branch else None
        if made is None:
            if not on_disk or (branch and branch.is_changed):
                raise errno_error(errno.ENOENT)
            return self._load_from_disk(parts)
        if made.entry.kind != "file":
            raise _not_a_file_error(made.entry)
        if made.data is not None:
            return made.data
        return self._load_from_disk(made.origin or parts)

    def _load_from_disk(self, parts: Parts) -> bytes:
        data = self.under.load(parts)
        self._loaded = (parts, data)
        return data

    def text(self, parts: Parts) -> Text:
        """Return the content of a file that must be UTF-8; content that is held is not read again."""
        if self._held and self._held[0] == parts:
            return self._held[1]
        return Text(check_utf8(self.load(parts)))

    def handle(self, parts: Parts) -> int:
        """Return a new handle of a directory on disk; the caller closes it."""
        return self.under.handle(parts)

    # Changing.

    def hold(self, parts: Parts, text: Text) -> None:
        """Hold the new content of a file."""
        if self.guard:
            self.guard.check(parts, lambda: text.data)
        if self._held and self._held[0] != parts:
            self.flush()
        self._held = (parts, text)

    def append(self, parts: Parts, data: bytes) -> bool:
        """Append this to a file, on a line of its own; return False if there is no file."""
        if not self.entry(parts):
            return False
        old = self.load(parts)
        if self.guard:
            self.guard.check(parts, lambda: old + data)
        addition = Addition(parts, old)
        addition.add(data)
        self._store(parts, old + addition.lead(old) + addition.data, None, len(addition.data))
        return True

    def mark(self) -> _Node:
        """Return the changes so far, for `end_mark`."""
        self.flush()
        return self._tree.copy()

    def end_mark(self, mark: _Node, *, keep: bool) -> tuple[None, frozenset[str]]:
        """Go back to the changes of a mark, unless later ones are kept; it cannot fail."""
        self.flush()
        if not keep:
            self._tree = mark
            self._near = ((), mark, True)
        return None, frozenset()

    def flush(self) -> None:
        """Store the held changes."""
        held, self._held = self._held, None
        if held:
            self._store(held[0], held[1].data, None, len(held[1].data))

    def forget(self) -> None:
        """Do nothing: an overlay has no handles."""

    def store(self, parts: Parts, data: bytes, mode: int | None = None) -> None:
        """Write a file, and create its parents."""
        if self.guard:
            self.guard.check(parts, lambda: data)
        self._store(parts, data, mode, len(data))

    def _store(self, parts: Parts, data: bytes, mode: int | None, written: int) -> None:
        old = self._check_replaceable(parts)
        if early_imports:
            refuse_early_import(parts, self.root)
        self.limits.add(0 if old else 1, written)
        self.make_all(parts[:-1])
        if mode is None:
            mode = old.mode if old else NEW_FILE
        entry = Entry("file", mode, len(data), time.time_ns())
        origin, loaded = self._loaded
        self._set(
            parts, _NewEntry(entry, origin=origin) if data is loaded and data else _NewEntry(entry, data)
        )

    def make(self, parts: Parts, mode: int = NEW_DIRECTORY) -> None:
        """Make a directory in an existing one."""
        if self.entry(parts):
            raise errno_error(errno.EEXIST)
        above = self.entry(parts[:-1])
        if not above:
            raise errno_error(errno.ENOENT)
        if above.kind != "directory":
            raise errno_error(errno.ENOTDIR)
        self.limits.add(1, 0)
        self._set(parts, _NewEntry(Entry("directory", mode & NEW_DIRECTORY)))

    def make_all(self, parts: Parts) -> list[Parts]:
        """Make a directory and its parents; return those that were missing, the topmost first."""
        missing: list[Parts] = []
        # If the directory above exists, all above it do: to check each would cost as much as it is deep.
        above = self.entry(parts[:-1]) if len(parts) > 1 else None
        first = len(parts) if above and above.kind == "directory" else 1
        for size in range(first, len(parts) + 1):
            there = None if missing else self.entry(parts[:size])
            if there is None:
                missing.append(parts[:size])
            elif there.kind == "link":
                raise _link_error(parts[:size])
            elif there.kind != "directory":
                raise not_a_directory(display_path(parts[:size]))
        self.limits.add(len(missing), 0)
        for each in missing:
            self._set(each, _NewEntry(Entry("directory", NEW_DIRECTORY)))
        return missing

    def rename(self, source: Parts, target: Parts) -> None:
        """Rename an entry, also over a file or an empty directory; create the parents of the target."""
        there, moved = self.entry(target), [((), self._new_entry(source)), *self._new_entries_below(source)]
        itself = there and there.identity and there.identity == moved[0][1].entry.identity  # respelled
        if there and not itself and there.kind == "directory" and self.names(target):
            raise errno_error(errno.ENOTEMPTY)
        self.make_all(target[:-1])
        self._set(source, None)
        self._set(target, None)
        for rest, made in moved:
            self._set((*target, *rest), made)

    def unlink(self, parts: Parts) -> None:
        """Remove a file or a link."""
        entry = self.entry(parts)
        if entry is None:
            raise errno_error(errno.ENOENT)
        if entry.kind == "directory":
            raise errno_error(errno.EISDIR)
        self._set(parts, None)

    def remove_directory(self, parts: Parts) -> None:
        """Remove an empty directory."""
        if self.names(parts):
            raise errno_error(errno.ENOTEMPTY)
        self._set(parts, None)

    def is_read_only(self, parts: Parts) -> bool:
        """Whether the mode of a file lets no user write it."""
        entry = self.entry(parts)
        return entry is not None and entry.kind == "file" and not entry.mode & 0o222

    def set_mode(self, parts: Parts, mode: int) -> None:
        """Set the permission bits of a file or directory."""
        self._change_entry(parts, mode=mode)

    def set_times(self, parts: Parts, accessed: int, modified: int) -> None:  # noqa: ARG002 (not kept here)
        """Set the times of a file or directory, in nanoseconds."""
        self._change_entry(parts, modified=modified)

    def changes(self) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return each file that differs from the disk: its path, the old content and the new one."""
        self.flush()
        changed = self._changed_paths()
        places = set(changed)
        for parts in changed:
            # A directory may have been removed with all that was in it.
            places.update(_files_below(self.under, parts))
        known: dict[Parts, bytes | None] = {}
        contents = (
            (parts, content_of(self.under, parts), self._content(parts, known)) for parts in sorted(places)
        )
        return [(display_path(parts), old, new) for parts, old, new in contents if old != new]

    def modes(self) -> list[tuple[str, str | None, str | None]]:
        """Return each path whose mode differs from the disk, with the old and the new mode in git's form."""
        self.flush()
        both = ((parts, _mode(self.under, parts), _mode(self, parts)) for parts in self._changed_paths())
        return [(display_path(parts), old, new) for parts, old, new in both if old != new]

    def _find_node(self, parts: Parts) -> tuple[_Node | None, bool]:
        """Return the node of a path, if there is one, and whether the disk counts for everything else.

        It does not if the overlay has made or removed something above the path.
        """
        if self._held:
            self.flush()
        start, branch, on_disk = self._near
        if parts[: len(start)] != start:
            start, branch, on_disk = (), self._tree, True
        for size in range(len(start), len(parts)):
            if size == len(parts) - 1:
                self._near = (parts[:size], branch, on_disk)
            if branch.is_changed:
                on_disk = False
                if branch.made and branch.made.entry.kind == "link":
                    raise _link_error(parts[:size])
            below = branch.below.get(parts[size])
            if below is None:
                return None, on_disk
            branch = below
        return branch, on_disk

    def _content(self, parts: Parts, known: dict[Parts, bytes | None]) -> bytes | None:
        """Return the content of a file; copies of one file on disk share one text in memory."""
        branch, _on_disk = self._find_node(parts)
        origin = branch.made.origin if branch and branch.made else None
        if origin is None:
            return content_of(self, parts)
        if origin not in known:
            known[origin] = content_of(self, parts)
        return known[origin]

    def _changed_paths(self) -> list[Parts]:
        """Return each path that the overlay has changed, in order."""
        found: list[Parts] = []
        waiting: list[tuple[Parts, _Node]] = [((), self._tree)]
        while waiting:
            parts, branch = waiting.pop()
            if branch.is_changed:
                found.append(parts)
            names = sorted(branch.below, reverse=True)
            waiting.extend(((*parts, name), branch.below[name]) for name in names)
        return found

    def _check_replaceable(self, parts: Parts) -> Entry | None:
        old = self.entry(parts)
        if old and old.kind != "file":
            raise _not_a_file_error(old)
        return old

    def _new_entry(self, parts: Parts) -> _NewEntry:
        """Return the entry at a path, to be put at another."""
        branch, _on_disk = self._find_node(parts)
        if branch and branch.made:
            return branch.made
        entry = self.entry(parts)
        if entry is None:
            raise errno_error(errno.ENOENT)
        return _NewEntry(entry, origin=parts)

    def _new_entries_below(self, top: Parts) -> list[tuple[Parts, _NewEntry]]:
        entry = self.entry(top)
        if not entry or entry.kind != "directory":
            return []
        return [(parts[len(top) :], self._new_entry(parts)) for parts, _ in walk(self, top)]

    def _change_entry(self, parts: Parts, **fields: int) -> None:
        made = self._new_entry(parts)
        refuse_shared(made.entry)
        if made.entry.kind == "file":
            self._set(parts, made.replace(entry=made.entry.replace(**fields)))

    def _set(self, parts: Parts, made: _NewEntry | None) -> None:
        start, branch, on_disk = self._near
        if len(parts) <= len(start) or parts[: len(start)] != start:
            start, branch, on_disk = self._near = ((), self._tree, True)  # the last node may be gone
        for size in range(len(start), len(parts)):
            if size == len(parts) - 1:  # the next path is often below or beside it
                self._near = (parts[:size], branch, on_disk)
            on_disk = on_disk and not branch.is_changed
            branch = branch.below.get(parts[size]) or branch.below.setdefault(parts[size], _Node())
        branch.made, branch.is_changed = made, True
        if made is None:
            branch.below = {}
        self.touched.add(parts)


def _files_below(files: Workspace | Overlay, parts: Parts) -> list[Parts]:
    try:
        entry = files.entry(parts)
        is_directory = entry is not None and entry.kind == "directory"
        return [below for below, kind in walk(files, parts) if kind.kind == "file"] if is_directory else []
    except CladaError:
        return []


def _mode(files: Workspace | Overlay, parts: Parts) -> str | None:
    """Return the mode of an entry as git writes it: its kind, and its permissions in octal digits."""
    try:
        entry = files.entry(parts)
    except CladaError:
        return None
    return f"{KINDS[entry.kind]}{entry.mode if entry.kind != 'link' else 0:04o}" if entry else None


def _link_error(parts: Parts) -> CladaError:
    return CladaError("symlink_not_allowed", f"{display_path(parts)} is a symbolic link")


def _not_a_file_error(entry: Entry) -> CladaError:
    if entry.kind == "link":
        return CladaError("symlink_not_allowed", "is a symbolic link")
    if entry.kind == "directory":
        return errno_error(errno.EISDIR)
    return CladaError("permission_denied", "not a regular file")
