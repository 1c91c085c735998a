"""The workspace: contained and atomic file access, by directory handles.

Files are created, replaced, renamed and removed relative to the handle of their directory (directories.py).

New content is written to a file without a name (or, where the file system has none, with one of our own) and
put in place by a link or a rename: a reader sees the old or the new content. A kill between these steps
leaves nothing in the workspace, or a file that the next run removes (scratch.py).
"""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from functools import partial

from clada.errors import CladaError, from_os_error
from clada.text.match import Text
from clada.world.files.atomic import Target
from clada.world.files.content import (
    Addition,
    ConcurrentChangeError,
    Version,
    change_error,
    check_utf8,
    extend,
)
from clada.world.files.directories import HANDLES, Limits
from clada.world.files.exchange import Move, Name, remove, replace
from clada.world.files.paths import OUTSIDE, Parts, display_path, early_imports, refuse_early_import
from clada.world.files.reader import ROOTS, WorkspaceReader, is_root_error
from clada.world.files.scratch import Scratch
from clada.world.files.stat import Stamp, entry_of, errno_error, identity_of, os_errors, refuse_shared
from clada.world.files.tree import walk
from clada.world.handles import NO_FOLLOW, OWNER_ALL, READ, sync_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Self

    from clada.world.autorun import AutorunGuard
    from clada.world.files.atomic import Ownership
    from clada.world.record.snapshot import Snapshot
    from clada.world.record.states import State

PIN = getattr(os, "O_PATH", 0) | NO_FOLLOW
LARGE = 1 << 17  # bytes of a file of which only the end is read to add to it
ITSELF = (".",)  # the workspace, as the record names it
TRIES = 5  # to save files that another program keeps changing, before they are moved


class Workspace(WorkspaceReader):
    """File access inside one directory, for one run. Every error is a CladaError."""

    def __init__(
        self, directory: str = ".", *, allow_escape: bool = False, limits: Limits | None = None
    ) -> None:
        super().__init__(directory, allow_escape=allow_escape, limits=limits)
        self._scratch, self._has_cleared = Scratch(), False
        self._held: tuple[Parts, Text, Version | None] | None = None  # new content of a file
        self._addition: Addition | None = None  # text to append; not both are set
        self._snapshot: Snapshot | None = None  # saves each file before it is changed
        self.guard: AutorunGuard | None = None  # while an operation is carried out
        # The versions that paths must have right before they are changed; other paths may have any.
        self.expected: dict[Parts, Version | None] = {}

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot in which files are saved before they are changed, if the run is recorded."""
        return self._snapshot

    def stop_recording(self) -> Snapshot | None:
        """Stop saving files before they are changed; return the snapshot."""
        snapshot, self._snapshot, self._directories.snapshot = self._snapshot, None, None
        return snapshot

    def record_in(self, snapshot: Snapshot, planned: Iterable[str] = ()) -> None:
        """Save files before they are changed from now on; those that are planned to change, at once."""
        self._snapshot = self._directories.snapshot = snapshot
        self._scratch.close()
        self._scratch = Scratch(snapshot.scratch)
        for path in planned:
            try:
                parts = self.locate(path)
                if parts not in ROOTS:
                    snapshot.prepare(parts, self._directories.handle(parts[:-1]))
            except (CladaError, OSError):
                continue  # the operation that names it will report the error

    def __enter__(self) -> Self:
        return self

    def close(self, error: type[BaseException] | None = None, *_: object) -> None:
        """Write changes that are held in memory, and close all handles; a second call does nothing.

        Raise CladaError if the workspace itself was moved or removed, unless there is another error.
        """
        if self._root < 0:
            return
        try:
            self.flush()
            try:
                is_there = identity_of(os.lstat(self.root)) == self.identity
            except OSError:
                is_there = False
            if error is None and not is_there:
                message = f"the workspace {self.root} was moved, replaced or removed meanwhile"
                raise CladaError(
                    "io_error", message, "find where it is now: the changes of this run are there"
                )
        finally:
            self._directories.forget_all()
            self._scratch.close()
            root, self._root = self._root, -1
            os.close(root)

    __exit__ = close

    def text(self, parts: Parts) -> Text:
        """Return the content of a file that must be UTF-8; content that is held is not read again."""
        if self._held and self._held[0] == parts:
            return self._held[1]
        data = self.load(parts, to_edit=True)
        return Text(check_utf8(data))

    def changes(self) -> list[tuple[str, bytes | None, bytes | None]]:
        """Return the files that differ from the disk, as the overlay does: none."""
        return []

    def modes(self) -> list[tuple[str, str | None, str | None]]:
        """Return the modes that differ from the disk: none."""
        return []

    # Changing.

    def hold(self, parts: Parts, text: Text) -> None:
        """Hold the new content of a file in memory; it is written before anything else can read it."""
        if self.guard:
            self.guard.check(parts, lambda: text.data)
        if self._held and self._held[0] == parts:
            self._held = (parts, text, self._held[2])
        else:
            self.flush()
            self._held = (parts, text, self._take_version(parts))

    def append(self, parts: Parts, data: bytes) -> bool:
        """Append this to a file, on a line of its own; return False if there is no file.

        It is held in memory, too: several additions in a row are written once.
        """
        if not self._addition or self._addition.parts != parts:
            entry = self.entry(parts)
            if not entry:
                return False
            if self.guard:
                self.guard.check(parts, lambda: self.load(parts) + data)
            if entry.kind == "file" and entry.size > LARGE:
                self._addition = Addition(parts, *self._load_tail(parts))
            else:
                self._addition = Addition(parts, self.load(parts), self._take_version(parts))
        self._addition.add(data)
        return True

    def flush(self) -> None:
        """Write changes that are held in memory."""
        if self._held:
            (parts, text, read), self._held = self._held, None
            self._store(parts, text.data, None, read)
        if self._addition:
            addition, self._addition = self._addition, None
            self._extend(addition)

    def _extend(self, addition: Addition) -> None:
        """Append to a file in place, or replace it if that is not possible."""
        parts, above = addition.parts, addition.parts[:-1]
        if early_imports:
            refuse_early_import(parts, self.root)
        self.limits.add(0, len(addition.data))
        with os_errors():
            parent = self._directories.make(above, check=False)
            if self._snapshot:
                self._snapshot.extend(parts, parent, addition)

            def confirm() -> None:
                self._directories.confirm(above)
                if self._snapshot and not self._snapshot.is_as_saved(parent):
                    self._snapshot.extend(parts, parent, addition)

            done = extend(parent, parts[-1], addition, confirm)
        if not done:
            content = self.load(parts)
            whole = content + addition.lead(content) + addition.data
            self._store(parts, whole, None, self._take_version(parts))
            return
        self._directories.confirm(above)
        self._note_change(parts, parent)

    def _note_change(self, parts: Parts, parent: int | None, stamp: Stamp | None = None) -> None:
        """Note that a file was changed, or removed if `parent` is None: what is there by now is not ours.

        `stamp` is that of our new file, where it is known: at its path may be a later save by now.
        """
        self.touched.add(parts)
        if parts in self.expected:
            self.expected[parts] = None if parent is None else Version.at(parent, parts[-1])
        if self._snapshot:
            self._snapshot.done(parts, parent, stamp)

    def _check_expected(self, parts: Parts, parent: int) -> None:
        """Raise ConcurrentChangeError if another version of a path is there than the expected one."""
        if parts not in self.expected:
            return
        expected = self.expected[parts]
        if Version.at(parent, parts[-1]) if expected is None else not expected.is_at(parent, parts[-1]):
            raise ConcurrentChangeError("io_error", "changed while it was being put back")

    def store(
        self, parts: Parts, data: bytes, mode: int | None = None, given: Ownership | None = None
    ) -> None:
        """Write a file, and create its parents; it keeps its mode, or gets that of the umask.

        If it was the last file that was read, it must not have changed since.
        """
        if self.guard:
            self.guard.check(parts, lambda: data)
        self.flush()
        self._store(parts, data, mode, self._take_version(parts), given)

    def _take_version(self, parts: Parts) -> Version | None:
        """Return the version of a file that was read, if nothing else was read since."""
        read, self._read = self._read, None
        return read[1] if read and read[0] == parts else None

    def _store(
        self,
        parts: Parts,
        data: bytes,
        mode: int | None,
        read: Version | None,
        given: Ownership | None = None,
    ) -> None:
        if parts in ROOTS:
            raise is_root_error(parts)
        if early_imports:
            refuse_early_import(parts, self.root)
        above = parts[:-1]
        if not self._has_cleared:  # files of an earlier run that was killed
            self._has_cleared = True
            self._scratch.clear()
        try:
            parent = self._directories.make(above, check=False)
            target = Target.find(parent, parts[-1], read)
            self.limits.add(0 if target.old else 1, len(data))
            self._check_expected(parts, parent)
            if self._snapshot:
                self._snapshot.write(parts, parent, data, mode, given)
            durable = self._snapshot is not None and self._snapshot.durable
            target = target.replace(
                scratch=self._scratch, folder=os.path.dirname(self._path(parts)), durable=durable, given=given
            )
            confirm = partial(self._directories.confirm, above)
            stamp = target.fill(data, mode, lambda: self._expect(parts, parent, read), confirm)
        except (OSError, CladaError) as error:
            raise self._undo_step(error) from None
        self._directories.confirm(above)
        self._note_change(parts, parent, stamp)

    def _path(self, parts: Parts) -> str:
        return display_path(parts) if parts[:1] == (OUTSIDE,) else os.path.join(self.root, *parts)

    def _expect(self, parts: Parts, parent: int, read: Version | None = None) -> Version | None:
        """Return the version of a path that may be replaced or removed now; raise if it has changed."""
        self._check_expected(parts, parent)
        if parts in self.expected:
            return self.expected[parts]
        if read:
            read.confirm(parent, parts[-1])
            return read
        if self._snapshot and parts[:1] != (OUTSIDE,):
            return self._snapshot.confirm(parent)
        return Version.at(parent, parts[-1])

    def make(self, parts: Parts, mode: int = 0o777) -> None:
        """Make a directory in an existing one."""
        self.limits.add(1, 0)
        self._change(os.mkdir, parts, mode)

    def make_all(self, parts: Parts) -> list[Parts]:
        """Make a directory and its parents; return those that were missing, the topmost first."""
        self.flush()
        try:
            self._directories.make(parts)
        except (OSError, CladaError) as error:
            raise self._undo_step(error) from None
        return list(self._directories.made)

    def rename(self, source: Parts, target: Parts) -> None:
        """Rename an entry, also over a file or an empty directory; create the parents of the target."""
        self.flush()
        for parts in (source, target):
            if parts in ROOTS:
                raise is_root_error(parts)
        handles = [self.handle(source[:-1])]
        try:
            handles.append(os.dup(self._directories.make(target[:-1])))
            old, new = handles
            self._move((source, old), (target, new))
            if self._snapshot:
                self._snapshot.moved_all()
                self._snapshot.done(target, new)  # the rename has changed its times
        except (OSError, CladaError) as error:
            raise self._undo_step(error) from None
        else:
            self._directories.confirm(target[:-1], new)
        finally:
            for handle in handles:
                os.close(handle)
        self.forget()
        self.touched.update((source, target))

    def _move(self, old: tuple[Parts, int], new: tuple[Parts, int]) -> None:
        """Record a move, and make it; once more if another program saves a file of it meanwhile."""

        def confirm() -> None:
            for parts, parent in (old, new):
                self._directories.confirm(parts[:-1], parent)

        try:
            for _ in range(TRIES):
                below = self._save_moved(old, new)
                moved, replaced = self._moved_version(*old), self._moved_version(*new)
                if moved is None:
                    raise errno_error(errno.ENOENT)  # it was removed meanwhile
                move = Move(
                    Name(old[1], old[0][-1]),
                    Name(new[1], new[0][-1]),
                    moved,
                    replaced,
                    self._path(old[0]),
                    confirm,
                    partial(self._is_complete, new[0], old[0], below),
                )
                if self._is_complete(old[0], old[0], below) and move.make(self._scratch):
                    return
                if self._snapshot:
                    self._snapshot.retract_move()
        except (OSError, CladaError):
            if self._snapshot:
                self._snapshot.retract_move()
            raise
        raise change_error("while it was being moved")

    def _moved_version(self, parts: Parts, parent: int) -> Version | None:
        """Return the version of a path of a move: as it was saved, or else as it is."""
        if self._snapshot and self._snapshot.is_moving(parts):
            return self._snapshot.moved_version(parts)
        return Version.at(parent, parts[-1])

    def _is_complete(self, top: Parts, source: Parts, below: list[Parts]) -> bool:
        """Whether a directory that is moved has, at this path, all that was saved of it and nothing else."""
        if not below or self._snapshot is None:
            return True
        there = {parts[len(top) :] for parts, _ in walk(self, top)}
        return there == {parts[len(source) :] for parts in below} and all(
            (version := self._snapshot.moved_version(parts)) is not None
            and version.is_at(self._directories.handle((*top, *parts[len(source) : -1])), parts[-1])
            for parts in below
        )

    def _save_moved(self, old: tuple[Parts, int], new: tuple[Parts, int]) -> list[Parts]:
        """Save an entry that is moved, the one it replaces, and all entries below it; return the last."""
        snapshot = self._snapshot
        if snapshot is None:
            return []
        (source, parent), (target, new_parent) = old, new
        entry = self.entry(source)
        below = [parts for parts, _ in walk(self, source)] if entry and entry.kind == "directory" else []
        for parts in below:
            there = target + parts[len(source) :]
            snapshot.move(parts, there, self._directories.handle(parts[:-1]), None)
        snapshot.move(source, target, parent, new_parent)
        if snapshot.moved[-1:] != [(source, target)]:
            snapshot.moved.append((source, target))
        return below

    def adopt(self, parts: Parts, folder: int, state: State, started: int) -> None:
        """Move a file here from a directory outside the workspace, on the same file system.

        Its state goes into the record. A file of the same name must not have changed since `started`.
        """
        above, name = parts[:-1], parts[-1]
        with os_errors():
            parent = self._directories.handle(above)
            if self._snapshot:
                self._snapshot.put(parts, parent, state)
            if self._snapshot and self._snapshot.durable and state.kind == "file":
                sync_file(name, folder)
            expected = self._expect(parts, parent)
            if expected and expected.stamp.changed > started and parts not in self.touched:
                raise change_error("while the command ran")
            new = Name(folder, name)
            if not replace(new, Name(parent, name), expected, partial(self._directories.confirm, above)):
                raise change_error("while the command ran")
            new.unlink()  # this was the name of the old file
        self._note_change(parts, parent)

    def make_link(self, parts: Parts, target: bytes) -> None:
        """Make a symbolic link in an existing directory, for undo."""
        with os_errors():
            parent = self._directories.handle(parts[:-1])
            self._check_expected(parts, parent)
            if self._snapshot:
                self._snapshot.link(parts, parent, target)
            os.symlink(target, os.fsencode(parts[-1]), dir_fd=parent)
        self._note_change(parts, parent)

    def unlink(self, parts: Parts) -> None:
        """Remove a file or a link."""

        def remove_file(name: str, *, dir_fd: int) -> None:
            for _ in range(TRIES):
                expected = self._expect(parts, dir_fd)
                if expected is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
                if expected.is_directory:
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
                confirm = partial(self._directories.confirm, parts[:-1], dir_fd)
                if remove(Name(dir_fd, name), expected, self._scratch, self._path(parts), confirm):
                    return
            raise change_error("while it was being removed")

        self._change(remove_file, parts)

    def remove_directory(self, parts: Parts) -> None:
        """Remove an empty directory."""
        self._change(os.rmdir, parts)
        self._directories.forget(parts)

    def set_mode(self, parts: Parts, mode: int) -> None:
        """Set the permission bits of a file or directory, or of the workspace itself."""
        if parts in ROOTS and mode & OWNER_ALL != OWNER_ALL:
            message = "the workspace would be closed to its owner, and to clada"
            raise CladaError("permission_denied", message, "leave the owner's rights: u+rwx")
        if parts in self.expected:
            self._check_expected(parts, self._directories.handle(parts[:-1]))
        if self._snapshot:
            self.flush()
            self._snapshot.set_mode(parts or ITSELF, self._directories.handle(parts[:-1]), mode)
        self._act_on_pinned(parts, lambda path: os.chmod(path, mode))

    def set_times(self, parts: Parts, accessed: int, modified: int) -> None:
        """Set the times of a file or directory, in nanoseconds."""
        self._act_on_pinned(parts, lambda path: os.utime(path, ns=(accessed, modified)))

    def _change(self, action: Callable[..., None], parts: Parts, *rest: int) -> None:
        self.flush()
        if parts in ROOTS:
            raise is_root_error(parts)
        with os_errors():
            parent = self._directories.handle(parts[:-1])
            self._check_expected(parts, parent)
            if self._snapshot:
                (self._snapshot.make if action is os.mkdir else self._snapshot.remove)(parts, parent)
            action(parts[-1], *rest, dir_fd=parent)
        self._note_change(parts, parent if action is os.mkdir else None)

    def _undo_step(self, error: OSError | CladaError) -> CladaError:
        """Remove the directories that a failed step has created; return its error."""
        self._directories.remove_made()
        if os.fstat(self._root).st_nlink == 0:  # this is why nothing can be written
            return CladaError("file_not_found", f"the workspace {self.root} has been removed")
        return from_os_error(error) if isinstance(error, OSError) else error

    def _act_on_pinned(self, parts: Parts, action: Callable[[Any], None]) -> None:
        """Act on exactly this entry, which must not be a link: chmod and utime would follow it."""
        self.flush()
        by_path = _can_use_proc()
        opened = self._open_entry(parts, PIN if by_path else READ) if parts else nullcontext(self._root)
        with os_errors(), opened as fd:
            refuse_shared(entry_of(os.fstat(fd)))
            action(f"{HANDLES}/{fd}" if by_path else fd)
        if parts:  # the workspace itself is in no commit
            self._note_change(parts, self._directories.handle(parts[:-1]))
        elif self._snapshot:
            self._snapshot.done(ITSELF, self._root)


def _can_use_proc() -> bool:
    """Whether /proc gives paths of open files: a process that has changed users may not read its own."""
    return os.path.exists(HANDLES) and os.access(HANDLES, os.X_OK, effective_ids=True)
