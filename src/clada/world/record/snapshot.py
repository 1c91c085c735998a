"""What a run is about to change, put into its journal before it does so, and what it will have left.

The workspace tells of each change right before it is made. Of a place that the run has changed before, only
what comes next is written, unless somebody else has saved there meanwhile: then undo goes back to that.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.paths import OUTSIDE, display_path
from clada.world.record.states import ABSENT, State, is_same_save, size_at, stamp_at, state_at
from clada.world.record.store import SCRATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clada.world.files.atomic import Ownership
    from clada.world.files.content import Addition
    from clada.world.files.paths import Parts
    from clada.world.record.journal import Journal
    from clada.world.record.states import Stamp

MB = 1 << 20
TRIES = 5  # to keep a file that somebody else keeps writing to
GITIGNORE = ".gitignore"
IN_BETWEEN = (0,)  # the stamp of a place while it is being changed


class ConcurrentChangeError(CladaError):
    """Another program has changed a path that was to be put back."""


class Mark(Value):
    """A moment in a run: its number in the journal, and what was changed by then."""

    number: int
    changed: tuple[Parts, ...]
    moved: int


class Snapshot:
    """The places that one run changes."""

    def __init__(
        self,
        journal: Journal,
        limit: int,
        *,
        durable: bool = False,
        consent: Callable[[str], bool] | None = None,
    ) -> None:
        self.journal, self.limit, self.durable = journal, limit, durable
        self.changed: dict[Parts, None] = {}  # in the order in which that began
        self.moved: list[tuple[Parts, Parts]] = []
        self.outside: dict[Parts, None] = {}  # by --allow-escape; not kept
        self.before_ignoring: Callable[[], None] = lambda: None  # called before an ignore file changes
        self.before_first_change: Callable[[], None] | None = None
        self.all_or_nothing = False  # whether all that changes is put back if something fails
        # What must still be at a path when it is changed, by its stamp; of others, whatever is there is kept.
        self.expected: dict[Parts, Stamp | None] = {}
        self._consent = consent
        self._stamps: dict[Parts, Stamp | None] = {}  # of what we left there
        self._told: dict[Parts, int] = {}  # how often a change was told of that is not done yet
        self._moving: dict[Parts, Stamp | None] = {}
        # What is being moved, and what makes room for it, by their stamps when they were kept.
        self._involved: dict[Parts, Stamp | None] = {}
        self._next: tuple[Parts, Stamp | None, State] | None = None  # a change, and the stamp of what goes
        self._unsynced = False
        self._marks = 0

    @property
    def scratch(self) -> str:
        """The directory for files that are about to take the place of others."""
        return os.path.join(os.path.dirname(os.path.dirname(self.journal.path)), SCRATCH)

    def prepare(self, parts: Parts, parent: int) -> None:
        """Keep what stands at a place that will probably be changed: before anything is, in one go."""
        if parts not in self._stamps and parts[0] != OUTSIDE:
            self._keep(parts, parent)

    def mark(self) -> Mark:
        """Begin something that may be taken back as a whole; return where it began."""
        self._marks += 1
        self.journal.add("mark", str(self._marks))
        if self.durable:
            self.journal.sync()
        return Mark(self._marks, tuple(self.changed), len(self.moved))

    def forget_since(self, mark: Mark, remaining: Iterable[str] = ()) -> None:
        """Forget what was changed since a mark, because it was taken back, but for these paths."""
        self.changed = dict.fromkeys(mark.changed) | {tuple(path.split("/")): None for path in remaining}
        del self.moved[mark.moved :]

    def begin_changes(self) -> None:
        """Do what must be done before anything in the workspace changes; raise if that fails."""
        if self.before_first_change:
            self.before_first_change()
            self.before_first_change = None

    # What the workspace is about to do.

    def write(
        self, parts: Parts, parent: int, data: bytes, mode: int | None, given: Ownership | None = None
    ) -> None:
        """Keep a file that gets this content, and the mode and the rest if they are given."""
        after = State("file", mode, content=data)
        if given:
            after = after.replace(owner=given.owner, attributes=given.xattrs)
        self._change(parts, parent, after)

    def extend(self, parts: Parts, parent: int, addition: Addition) -> None:
        """Keep a file that something is added to."""
        if parts[0] == OUTSIDE:
            self._change(parts, parent, ABSENT)
            return
        self._check_size(parts, size_at(parent, parts[-1]))
        for _ in range(TRIES):
            stamp = stamp_at(parent, parts[-1])
            content = state_at(parent, parts[-1]).content
            added = addition.lead(content) + addition.data
            self._change(parts, parent, State("file", content=content + added))
            if self._next and self._next[1] == stamp:
                return  # else it was saved at this moment, and the addition comes after that

    def make(self, parts: Parts, parent: int) -> None:
        """Tell of a directory that is made."""
        self._change(parts, parent, State("directory"))

    def link(self, parts: Parts, parent: int, target: bytes) -> None:
        """Tell of a link that is made."""
        self._change(parts, parent, State("link", content=target))

    def put(self, parts: Parts, parent: int, after: State) -> None:
        """Keep what makes room for something that is moved here from outside of the workspace."""
        self._change(parts, parent, after)

    def remove(self, parts: Parts, parent: int) -> None:
        """Keep what is removed."""
        self._change(parts, parent, ABSENT)

    def set_mode(self, parts: Parts, parent: int, mode: int) -> None:
        """Keep what gets another mode."""
        if parts[:1] == (OUTSIDE,):
            self._pass(parts)
            return
        state = self._keep(parts, parent)
        self._change(parts, parent, state.replace(mode=mode))

    def move(self, source: Parts, target: Parts, parent: int, new_parent: int | None) -> None:
        """Keep what is moved, and tell where it goes; `new_parent` if something may stand there already."""
        if OUTSIDE in {source[0], target[0]}:
            self._pass(source, target)
            return
        state = self._keep(source, parent)
        self.begin_changes()
        self._moving |= {source: None, target: self._stamps[source]}
        self._involved[source] = self._stamps[source]
        if new_parent is not None:
            if target not in self._stamps or self._stamps[target] != stamp_at(new_parent, target[-1]):
                self._keep(target, new_parent)
            self._involved[target] = self._stamps[target]
        elif target not in self._stamps:
            self.journal.add_state("before", display_path(target), ABSENT)
        self._tell(target, state)
        self._tell(source, ABSENT)
        self._sync()

    def is_as_kept(self, parts: Parts, parent: int) -> bool:
        """Whether what is about to be moved, or added to, still is what was kept or left there."""
        changing = {self._next[0]: self._next[1]} if self._next else {}
        known = {**changing, **self._involved}
        return parts not in known or stamp_at(parent, parts[-1]) == known[parts]

    def retract_move(self) -> None:
        """Record that an announced move did not happen, because another program has saved there meanwhile."""
        for parts in self._moving:
            self.journal.add("failed", display_path(parts), "1")
            self._told[parts] -= 1
        self._moving.clear()
        self._involved.clear()

    def moved_all(self) -> None:
        """Take note that all that was to be moved has been, as it was."""
        self._stamps |= self._moving
        self._told |= dict.fromkeys(self._moving, 0)
        self._moving.clear()
        self._involved.clear()

    def done(self, parts: Parts, parent: int) -> None:
        """Remember what the change has left, to see whether somebody else comes there before the next."""
        self.expected.pop(parts, None)
        self._told[parts] = 0
        if parts in self._stamps:
            self._stamps[parts] = stamp_at(parent, parts[-1])

    def is_as_left(self, path: str, stamp: Stamp | None) -> bool:
        """Whether the run has changed a place, which has this stamp now, and nobody else has since."""
        parts = tuple(path.split("/"))
        return parts in self.changed and is_same_save(self._stamps.get(parts, stamp), stamp)

    @property
    def is_settled(self) -> bool:
        """Whether all that was begun has been done."""
        return IN_BETWEEN not in self._stamps.values()

    def settle(self, states_of: Callable[[Iterable[str]], Iterable[tuple[str, State]]]) -> None:
        """Tell which changes have failed, at the end of the run: what is there may be another program's."""
        failed = {display_path(parts): parts for parts, stamp in self._stamps.items() if stamp == IN_BETWEEN}
        for path, state in states_of(failed):
            parts = failed[path]
            if self._next and self._next[0] == parts and state.is_like(self._next[2]):
                del self._stamps[parts]  # it was done when an interrupt came
            elif self._told[parts]:
                self.journal.add("failed", path, str(self._told[parts]))

    def _change(self, parts: Parts, parent: int, after: State) -> None:
        """Keep what stands at a place, unless that is what we left there; tell what will."""
        self._next = None
        if parts[:1] == (OUTSIDE,):
            self._pass(parts)
            return
        stamp = stamp_at(parent, parts[-1])
        for _ in range(TRIES):
            if parts not in self._stamps or self._stamps[parts] != stamp:
                self._keep(parts, parent)
            if parts in self.expected and not is_same_save(self.expected[parts], self._stamps[parts]):
                raise ConcurrentChangeError("io_error", "changed while it was being put back")
            if self.before_first_change and not state_at(parent, parts[-1]).is_like(after):
                self.begin_changes()
            self._next = (parts, self._stamps[parts], after)
            self._tell(parts, after)
            self._sync()
            stamp = stamp_at(parent, parts[-1])
            if stamp == self._next[1]:
                return  # else somebody has saved there at this moment

    def _pass(self, *places: Parts) -> None:
        """Let places outside of the workspace change, which are not kept; not if that must be put back."""
        if self.all_or_nothing:
            path = next(display_path(parts) for parts in places if parts[0] == OUTSIDE)
            message = f"{path} is outside of the workspace, and could not be put back"
            raise CladaError("path_escape", message, "do without --atomic")
        self.outside.update(dict.fromkeys(places))

    def confirm(self, parent: int) -> None:
        """Look once more, right before the change: what somebody has saved since is kept, too."""
        if self._next and stamp_at(parent, self._next[0][-1]) != self._next[1]:
            self._change(self._next[0], parent, self._next[2])

    def _tell(self, parts: Parts, after: State, kind: str = "after") -> None:
        self.changed[parts] = None
        self._stamps[parts] = IN_BETWEEN
        self._told[parts] = self._told.get(parts, 0) + 1
        self.journal.add_state(kind, display_path(parts), after)

    def _sync(self) -> None:
        """Wait for the disk, if what was kept since the last time has to be there first."""
        if self.durable and self._unsynced:
            self.journal.sync()
            self._unsynced = False

    def found(self, parts: Parts, before: State, after: State, stamp: Stamp | None) -> None:
        """Record a difference seen after a command, which the command or another program has made."""
        self.journal.add_state("before", display_path(parts), before)
        self._tell(parts, after, "found")
        self._stamps[parts] = stamp
        self._told[parts] = 0

    def _keep(self, parts: Parts, parent: int) -> State:
        self._check_size(parts, size_at(parent, parts[-1]))
        if parts[-1] == GITIGNORE:
            self.before_ignoring()
        self._stamps[parts] = stamp_at(parent, parts[-1])  # first: what is saved meanwhile is seen by it
        state = state_at(parent, parts[-1])
        self.journal.add_state("before", display_path(parts), state)
        self._unsynced = True
        return state

    def _check_size(self, parts: Parts, size: int) -> None:
        """Raise where a file is too large to be kept, and nobody agrees to keep it all the same."""
        if size <= self.limit:
            return
        path, has = display_path(parts), -(-size // MB)
        if self._consent and self._consent(f"{path} has {has:,} MB, which undo needs a copy of. Keep one?"):
            self.limit = size
            return
        message = f"{path} has {has:,} MB, and undo keeps files of at most {self.limit // MB:,} MB"
        hint = f"--snapshot-limit={has}MB keeps it, --record=none does without undo"
        raise CladaError("permission_denied", message, hint)
