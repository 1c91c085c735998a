"""What a run did to the tree, by its journal: of each place, what was there and what the run left."""

from __future__ import annotations

from clada.grammar import read_number
from clada.text.escape import first_few
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.record.journal import JournalReader, Record, read_journal
from clada.world.record.states import ABSENT, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from clada.world.files.paths import Parts

    Kept = tuple[JournalReader, Record]
    Contents = list[tuple[str, bytes | None, bytes | None]]
    Modes = list[tuple[str, str | None, str | None]]


WORKSPACE = "."  # the path of the workspace itself, whose mode may change


class ChangedPlace(Value):
    """A place that a run changed. Contents are read when they are asked for."""

    path: str
    kept: Kept
    told: tuple[Kept, ...]  # what the run left, each time; the last one holds unless it was killed

    @property
    def parts(self) -> Parts:
        """The parts of the path."""
        return tuple(self.path.split("/"))

    @property
    def before(self) -> State:
        """What was there before the run."""
        return _state(self.kept)

    @property
    def after(self) -> State:
        """What the run left."""
        return _state(self.told[-1])

    def left(self) -> Iterator[State]:
        """Yield what the run left there, the last first. A file that was written again kept its mode."""
        kinds, modes = list[str](), list[int | None]()
        for journal, record in self.told:
            state = journal.state(record, content=False) or ABSENT
            kept = modes[-1] if state.mode is None and kinds[-1:] == [state.kind] else state.mode
            kinds.append(state.kind)
            modes.append(kept)
        pairs = zip(reversed(self.told), reversed(modes), strict=True)
        return (_state(each).replace(mode=mode) for each, mode in pairs)

    def is_made_anew(self) -> bool:
        """Whether something else was there in between: what the run left has no mode of what was before."""
        states = (journal.state(record, content=False) or ABSENT for journal, record in self.told)
        return any(state.kind != self.before.kind for state in states)

    def changes_anything(self) -> bool:
        """Whether the run left something else than was there."""
        before, after = self.before, next(self.left())
        return not (before.is_like(after) and before.is_same_beside(after))


def _state(kept: Kept) -> State:
    journal, record = kept
    return journal.state(record) or ABSENT


class Changes:
    """What one run did, or several in a row of which each brings the one before it to its end."""

    def __init__(self, paths: Sequence[str], since: int = 0) -> None:
        """Read the journals of these runs; of the last, only what came `since` a mark, if one is given."""
        self._journals = [read_journal(path) for path in paths]
        self._since = since
        self._kept: dict[str, Kept] = {}
        self._told: dict[str, list[Kept]] = {}
        self._was: dict[str, Kept] = {}
        self.found: dict[
            str, None
        ] = {}  # differences seen after a command: another program may have made them
        self.skipped: dict[str, None] = {}  # what git had as not checked out
        self.ignored: dict[str, None] = {}  # what git ignored, among what commands changed
        self.suspects: dict[str, None] = {}  # differences seen after a kill, while a command was running
        plain: set[str] = set()
        for journal in self._journals:
            for record in journal.records():
                kind, path = record.fields[0], record.fields[1] if len(record.fields) > 1 else ""
                if kind == "mark" and path == str(since):
                    self._begin_anew()
                elif _is_plain(path, plain):
                    self._add(kind, path, (journal, record))
        kept, told = self._kept, self._told
        self.untold = [path for path in kept if not told[path]]  # after a power cut, it may be changed
        self.places = [ChangedPlace(path, kept[path], tuple(told[path])) for path in kept if told[path]]

    def _begin_anew(self) -> None:
        """Take what the run has left so far for what was there before."""
        self._kept = {path: (self._told[path] or [kept])[-1] for path, kept in self._kept.items()}
        self._told = {path: [] for path in self._kept}
        self.found = {}

    def _add(self, kind: str, path: str, record: Kept) -> None:
        names = {"skipped": self.skipped, "ignored": self.ignored, "suspect": self.suspects}
        if kind in names:
            names[kind][path] = None
        elif kind == "failed" and self._told.get(path):
            del self._told[path][-(read_number(record[1].fields[2]) or 1) :]
        state = record[0].state(record[1], content=False)
        if state is None or (path == WORKSPACE and state.kind != "directory"):
            return
        if kind == "before" and not _is_our_own(record, path, self._kept, self._told):
            self._kept[path], self._told[path] = record, []
        elif kind in {"after", "found"} and path in self._kept:
            self._told[path].append(record)
            self.found |= {path: None} if kind == "found" else {}
        elif kind == "replaced" and not self._since:
            # A rollback took back more than can be attributed to the run: undo brings that back.
            self._kept[path], self._told[path] = record, []
            self.found.pop(path, None)
        elif kind == "was":
            self._was[path] = record

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for journal in self._journals:
            journal.__exit__()

    def kept(self, path: str) -> State:
        """Return what was at a place before the run."""
        return _state(self._kept[path])

    def before_command(self, path: str) -> State | None:
        """Return what was at a suspect path before the command that was killed; None if it was not kept."""
        return _state(self._was[path]) if path in self._was else None

    def text(self, kind: str) -> bytes:
        """Return the document, or the report, of the last of the runs."""
        journal = self._journals[-1]
        found = [record for record in journal.records() if record.fields[:1] == (kind,)]
        return journal.content(found[-1]) if found else b""


def _is_our_own(found: Kept, path: str, kept: dict[str, Kept], told: dict[str, list[Kept]]) -> bool:
    """Whether what was found at a place is what the run had left there, or there from the start."""
    if path not in kept:
        return False
    state = _state(found)
    return any(state.is_like(_state(each)) for each in (kept[path], *told[path]))


def _is_plain(path: str, known: set[str]) -> bool:
    """Whether this is the path of something that may be touched: somebody may have planted the journal.

    `known` are names that were looked at before: most are those of directories of other paths.
    """
    if path == WORKSPACE:
        return True
    names = set(path.split("/"))
    known.update(
        name
        for name in names - known
        if name not in {"", ".", ".."} and "\0" not in name and not is_protected(name)
    )
    return names <= known


def diff_of(pairs: Iterable[tuple[str, State, State]]) -> tuple[Contents, Modes]:
    """Return what a unified diff is made of: contents and modes, before and after, by path."""
    contents: Contents = []
    modes: Modes = []
    for path, old, new in pairs:
        was, is_now = (state.content if state.kind == "file" else None for state in (old, new))
        if was != is_now:
            contents.append((path, was, is_now))
        old_mode, new_mode = _git_mode(old), _git_mode(new)
        if old_mode != new_mode:
            modes.append((path, old_mode, new_mode))
    return contents, modes


def _git_mode(state: State) -> str | None:
    """Return a mode as git writes it; None for what is not there."""
    match state.kind:
        case "file":
            return "100755" if (state.mode or 0) & 0o100 else "100644"
        case "link":
            return "120000"
        case "directory":
            return "040000"
        case _:
            return None


def named(paths: Sequence[str], most: int = 20) -> str:
    """Return these paths as a message names them."""
    return first_few(paths, most)
