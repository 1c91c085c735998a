"""Saves the state of each path in the journal before a run changes it, and the state that it will have after.

The workspace announces each change right before it is made. A path that the run has changed before is not
saved again, unless another program has saved it meanwhile: then undo goes back to that.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.content import Version
from clada.world.files.paths import OUTSIDE, display_path
from clada.world.files.stat import Stamp, is_same_save
from clada.world.record.states import ABSENT, State, size_at, stamp_at, state_and_version, state_at
from clada.world.record.store import SCRATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clada.world.files.atomic import Ownership
    from clada.world.files.content import Addition
    from clada.world.files.paths import Parts
    from clada.world.record.journal import Journal

MB = 1 << 20
TRIES = 5  # to save a file that another program keeps writing to
GITIGNORE = ".gitignore"
CHANGING = Stamp(0, 0)  # the stamp of a path while it is being changed


class Mark(Value):
    """A moment in a run: its number in the journal, and what was changed by then."""

    number: int
    changed: tuple[Parts, ...]
    moved: int


class Snapshot:
    """The paths that one run changes."""

    def __init__(
        self,
        journal: Journal,
        limit: int,
        *,
        durable: bool = False,
        consent: Callable[[str], bool] | None = None,
    ) -> None:
        self.journal, self.limit, self.durable = journal, limit, durable
        self.changed: dict[Parts, None] = {}  # in the order of the first change
        self.moved: list[tuple[Parts, Parts]] = []
        self.outside: dict[Parts, None] = {}  # changed by --allow-escape; not saved
        self.before_ignoring: Callable[[], None] = lambda: None  # called before an ignore file changes
        self.before_first_change: Callable[[], None] | None = None
        self.all_or_nothing = False  # whether all changes are rolled back if something fails
        self._consent = consent
        self._stamps: dict[Parts, Stamp | None] = {}  # of paths as the run left them
        self._announced: dict[Parts, int] = {}  # announced changes of a path that are not done yet
        self._moving: dict[Parts, Stamp | None] = {}  # the stamps that paths will have after a move
        # The versions, when they were saved, of paths that are moved, or replaced by a move.
        self._involved: dict[Parts, Version | None] = {}
        self._next: tuple[Parts, Version | None, State] | None = None  # a change, and the version before it
        self._unsynced = False
        self._marks = 0

    @property
    def scratch(self) -> str:
        """The directory for files that are about to replace others."""
        return os.path.join(os.path.dirname(os.path.dirname(self.journal.path)), SCRATCH)

    def prepare(self, parts: Parts, parent: int) -> None:
        """Save a path that will probably be changed, together with others, before any of them is."""
        if parts not in self._stamps and parts[0] != OUTSIDE:
            self._save(parts, parent)

    def mark(self) -> Mark:
        """Begin an atomic part; return where it began."""
        self._marks += 1
        self.journal.add("mark", str(self._marks))
        if self.durable:
            self.journal.sync()
        return Mark(self._marks, tuple(self.changed), len(self.moved))

    def forget_since(self, mark: Mark, remaining: Iterable[str] = ()) -> None:
        """Forget what was changed since a mark, because it was rolled back, except these paths."""
        self.changed = dict.fromkeys(mark.changed) | {tuple(path.split("/")): None for path in remaining}
        del self.moved[mark.moved :]

    def begin_changes(self) -> None:
        """Do what must be done before anything in the workspace changes; raise if that fails."""
        if self.before_first_change:
            self.before_first_change()
            self.before_first_change = None

    # Changes that the workspace announces.

    def write(
        self, parts: Parts, parent: int, data: bytes, mode: int | None, given: Ownership | None = None
    ) -> None:
        """Announce that a file gets this content, and this mode and ownership if they are given."""
        after = State("file", mode, content=data)
        if given:
            after = after.replace(owner=given.owner, attributes=given.xattrs)
        self._change(parts, parent, after)

    def extend(self, parts: Parts, parent: int, addition: Addition) -> None:
        """Announce that something is appended to a file."""
        if parts[0] == OUTSIDE:
            self._change(parts, parent, ABSENT)
            return
        self._check_size(parts, size_at(parent, parts[-1]))
        for _ in range(TRIES):
            stamp = stamp_at(parent, parts[-1])
            content = state_at(parent, parts[-1]).content
            added = addition.lead(content) + addition.data
            self._change(parts, parent, State("file", content=content + added))
            if self._next and _stamp_of(self._next[1]) == stamp:
                return  # else another program saved it at this moment, and the addition comes after that

    def make(self, parts: Parts, parent: int) -> None:
        """Announce a new directory."""
        self._change(parts, parent, State("directory"))

    def link(self, parts: Parts, parent: int, target: bytes) -> None:
        """Announce a new symbolic link."""
        self._change(parts, parent, State("link", content=target))

    def put(self, parts: Parts, parent: int, after: State) -> None:
        """Announce that a path is replaced by something from outside the workspace."""
        self._change(parts, parent, after)

    def remove(self, parts: Parts, parent: int) -> None:
        """Announce that a path is removed."""
        self._change(parts, parent, ABSENT)

    def set_mode(self, parts: Parts, parent: int, mode: int) -> None:
        """Announce that a path gets another mode."""
        if parts[:1] == (OUTSIDE,):
            self._pass(parts)
            return
        state, _version = self._save(parts, parent)
        self._change(parts, parent, state.replace(mode=mode))

    def move(self, source: Parts, target: Parts, parent: int, new_parent: int | None) -> None:
        """Announce a move; `new_parent` if something may be at the target already."""
        if OUTSIDE in {source[0], target[0]}:
            self._pass(source, target)
            return
        state, version = self._save(source, parent)
        self.begin_changes()
        self._moving |= {source: None, target: self._stamps[source]}
        self._involved[source] = version
        if new_parent is not None:
            replaced = Version.at(new_parent, target[-1])
            if not self._is_ours(target, replaced):
                _state, replaced = self._save(target, new_parent)
            self._involved[target] = replaced
        elif target not in self._stamps:
            self.journal.add_state("before", display_path(target), ABSENT)
        self._announce(target, state)
        self._announce(source, ABSENT)
        self._sync()

    def is_moving(self, parts: Parts) -> bool:
        """Whether a path was saved because it is about to be moved, or replaced by a move."""
        return parts in self._involved

    def moved_version(self, parts: Parts) -> Version | None:
        """Return the version of a path, as it was saved before it is moved or replaced by a move."""
        return self._involved.get(parts)

    def retract_move(self) -> None:
        """Record that an announced move did not happen, because another program has saved there meanwhile."""
        for parts in self._moving:
            if count := self._announced.pop(parts, 0):
                self.journal.add("failed", display_path(parts), str(count))
        self._moving.clear()
        self._involved.clear()

    def moved_all(self) -> None:
        """Record that the announced moves were made."""
        self._stamps |= self._moving
        self._announced |= dict.fromkeys(self._moving, 0)
        self._moving.clear()
        self._involved.clear()

    def done(self, parts: Parts, parent: int | None, stamp: Stamp | None = None) -> None:
        """Remember the stamp after a change, to notice changes by other programs before the next one.

        `parent` is None after a removal: then there is none, even if another program has made a file there.
        `stamp` is that of our file before it got its name, if it is known: another one by now is not ours.
        """
        self._announced[parts] = 0
        if parts in self._stamps:
            now = None if parent is None else stamp_at(parent, parts[-1])
            self._stamps[parts] = now if stamp is None or is_same_save(now, stamp) else stamp

    def is_as_left(self, path: str, stamp: Stamp | None) -> bool:
        """Whether the run has changed a path, which has this stamp now, and no other program has since."""
        parts = tuple(path.split("/"))
        return parts in self.changed and is_same_save(self._stamps.get(parts, stamp), stamp)

    @property
    def is_settled(self) -> bool:
        """Whether all announced changes were made."""
        return CHANGING not in self._stamps.values()

    def settle(self, states_of: Callable[[Iterable[str]], Iterable[tuple[str, State]]]) -> None:
        """Record which announced changes have failed, at the end of the run."""
        failed = {display_path(parts): parts for parts, stamp in self._stamps.items() if stamp == CHANGING}
        for path, state in states_of(failed):
            parts = failed[path]
            if self._next and self._next[0] == parts and state.is_like(self._next[2]):
                del self._stamps[parts]  # it was done when an interrupt came
            elif self._announced.get(parts):
                self.journal.add("failed", path, str(self._announced[parts]))

    def _change(self, parts: Parts, parent: int, after: State) -> None:
        """Save a path, unless it is as the run left it; announce the state that it will have."""
        self._next = None
        if parts[:1] == (OUTSIDE,):
            self._pass(parts)
            return
        for _ in range(TRIES):
            version = Version.at(parent, parts[-1])
            if not self._is_ours(parts, version):
                _state, version = self._save(parts, parent)
            if self.before_first_change and not state_at(parent, parts[-1]).is_like(after):
                self.begin_changes()
            self._next = (parts, version, after)
            self._announce(parts, after)
            self._sync()
            if self.is_as_saved(parent):
                return  # else another program has saved it at this moment

    def _is_ours(self, parts: Parts, version: Version | None) -> bool:
        """Whether a path that has this version now is as the run left it."""
        return parts in self._stamps and self._stamps[parts] == _stamp_of(version)

    def _pass(self, *places: Parts) -> None:
        """Let paths outside the workspace change without saving them; refuse that in an atomic part."""
        if self.all_or_nothing:
            path = next(display_path(parts) for parts in places if parts[0] == OUTSIDE)
            message = f"{path} is outside the workspace, and could not be put back"
            raise CladaError("path_escape", message, "do without --atomic")
        self.outside.update(dict.fromkeys(places))

    def is_as_saved(self, parent: int) -> bool:
        """Whether the path that is about to be changed still is as it was saved."""
        if self._next is None:
            return True
        parts, version, _after = self._next
        return stamp_at(parent, parts[-1]) == _stamp_of(version)

    def confirm(self, parent: int) -> Version | None:
        """Return the version that is about to be changed; save it first if others have saved it since."""
        assert self._next  # noqa: S101 (for type checkers)
        if not self.is_as_saved(parent):
            parts, _version, after = self._next
            self._change(parts, parent, after)
        return self._next[1]

    def _announce(self, parts: Parts, after: State, kind: str = "after") -> None:
        self.journal.add_state(
            kind, display_path(parts), after
        )  # first: only announcements in the journal count
        self.changed[parts] = None
        self._stamps[parts] = CHANGING
        self._announced[parts] = self._announced.get(parts, 0) + 1

    def _sync(self) -> None:
        """Wait for the disk, if something was saved since the last time."""
        if self.durable and self._unsynced:
            self.journal.sync()
            self._unsynced = False

    def found(self, parts: Parts, before: State, after: State, stamp: Stamp | None) -> None:
        """Record a difference seen after a command, which the command or another program has made."""
        self.journal.add_state("before", display_path(parts), before)
        self._announce(parts, after, "found")
        self._stamps[parts] = stamp
        self._announced[parts] = 0

    def _save(self, parts: Parts, parent: int) -> tuple[State, Version | None]:
        """Save a path; return its state, and its version, from which a save at this moment differs."""
        self._check_size(parts, size_at(parent, parts[-1]))
        if parts[-1] == GITIGNORE:
            self.before_ignoring()
        state, version = state_and_version(parent, parts[-1])
        self._stamps[parts] = _stamp_of(version)
        self.journal.add_state("before", display_path(parts), state)
        self._unsynced = True
        return state, version

    def _check_size(self, parts: Parts, size: int) -> None:
        """Raise if a file is too large to be saved, unless the user consents."""
        if size <= self.limit:
            return
        path, has = display_path(parts), -(-size // MB)
        if self._consent and self._consent(f"{path} has {has:,} MB, which undo needs a copy of. Keep one?"):
            self.limit = size
            return
        message = f"{path} has {has:,} MB, and undo keeps files of at most {self.limit // MB:,} MB"
        hint = f"--snapshot-limit={has}MB keeps it, --record=none does without undo"
        raise CladaError("permission_denied", message, hint)


def _stamp_of(version: Version | None) -> Stamp | None:
    return version.stamp if version else None
