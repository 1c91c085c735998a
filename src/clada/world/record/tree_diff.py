"""What changed between two moments: in a run, by its journals; or between any two states of paths."""

from __future__ import annotations

import os

from clada.grammar import read_number
from clada.text.escape import first_few
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.record.journal import JournalReader, Record, read_journal
from clada.world.record.states import ABSENT, State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Self

    from clada.world.files.paths import Parts

    Entry = tuple[JournalReader, Record]  # a record of a state, and the journal that it is in
    Contents = list[tuple[str, bytes | None, bytes | None]]
    Modes = list[tuple[str, str | None, str | None]]


WORKSPACE = "."  # the path of the workspace itself, whose mode may change
CACHE_NAMES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
CACHE_SUFFIX = ".pyc"
CACHE_TAG = "CACHEDIR.TAG"  # a file by which a directory says that it is a cache
FILE_TYPES = {"link": "120000", "directory": "040000"}  # as git writes them


class TreeDiff(Value):
    """The states of paths at two moments: reports, patches and commits are made from this."""

    paths: tuple[tuple[str, State, State], ...]  # path, before, after

    @property
    def contents(self) -> Contents:
        """The files whose content differs, with both contents; None where there is no file."""
        both = ((path, _content(before), _content(after)) for path, before, after in self.paths)
        return [(path, before, after) for path, before, after in both if before != after]

    @property
    def modes(self) -> Modes:
        """The paths whose kind or mode differs, with both as git writes them; None where nothing is."""
        both = ((path, _git_mode(before), _git_mode(after)) for path, before, after in self.paths)
        return [(path, before, after) for path, before, after in both if before != after]


def _content(state: State) -> bytes | None:
    return state.content if state.kind == "file" else None


def _git_mode(state: State) -> str | None:
    if state.kind == "file":
        return "100755" if (state.mode or 0) & 0o100 else "100644"
    return FILE_TYPES.get(state.kind)


class ChangedPath(Value):
    """A path that a run changed. Contents are read from the journal when they are needed."""

    path: str
    saved: Entry  # the state before the run
    after_states: tuple[
        Entry, ...
    ]  # each state that the run gave it; the last one holds unless it was killed

    @property
    def parts(self) -> Parts:
        """The parts of the path."""
        return tuple(self.path.split("/"))

    @property
    def before(self) -> State:
        """The state before the run."""
        return _state(self.saved)

    @property
    def after(self) -> State:
        """The state after the run."""
        return _state(self.after_states[-1])

    def possible_states(self) -> Iterator[State]:
        """Yield the states that the run gave the path, the last first. A rewritten file keeps its mode."""
        kinds, modes = list[str](), list[int | None]()
        for journal, record in self.after_states:
            state = journal.state(record, content=False) or ABSENT
            mode = modes[-1] if state.mode is None and kinds[-1:] == [state.kind] else state.mode
            kinds.append(state.kind)
            modes.append(mode)
        pairs = zip(reversed(self.after_states), reversed(modes), strict=True)
        return (_state(entry).replace(mode=mode) for entry, mode in pairs)

    def was_replaced(self) -> bool:
        """Whether something of another kind was there in between, so that the mode before was lost."""
        states = (journal.state(record, content=False) or ABSENT for journal, record in self.after_states)
        return any(state.kind != self.before.kind for state in states)

    def differs(self) -> bool:
        """Whether the state after the run is another than before."""
        before, after = self.before, next(self.possible_states())
        return not (before.is_like(after) and before.same_xattrs(after))


def _state(entry: Entry) -> State:
    journal, record = entry
    return journal.state(record) or ABSENT


class RunChanges:
    """What one run did, or several of which each completes the one before it, by their journals."""

    def __init__(self, journals: Sequence[str], since: int = 0) -> None:
        """Read these journals; of the last, only the records after a mark, if one is given."""
        self._journals = [read_journal(path) for path in journals]
        self._since = since
        self._saved: dict[str, Entry] = {}
        self._after: dict[str, list[Entry]] = {}
        self._before_command: dict[str, Entry] = {}
        # Paths found different after a command: another program may have changed them.
        self.found: dict[str, None] = {}
        self.skipped: dict[str, None] = {}  # paths that git had as not checked out
        self.ignored: dict[str, None] = {}  # paths that git ignored, among those that commands changed
        self.suspects: dict[str, None] = {}  # paths found different after a kill, while a command was running
        known_names: set[str] = set()
        for journal in self._journals:
            for record in journal.records():
                kind, path = record.fields[0], record.fields[1] if len(record.fields) > 1 else ""
                if kind == "mark" and path == str(since):
                    self._start_again()
                elif _is_allowed(path, known_names):
                    self._add(kind, path, (journal, record))
        saved, after = self._saved, self._after
        self.unfinished = [path for path in saved if not after[path]]  # a power cut may have changed them
        self.paths = [ChangedPath(path, saved[path], tuple(after[path])) for path in saved if after[path]]

    def _start_again(self) -> None:
        """Take the states so far for those before the run."""
        self._saved = {path: (self._after[path] or [saved])[-1] for path, saved in self._saved.items()}
        self._after = {path: [] for path in self._saved}
        self.found = {}

    def _add(self, kind: str, path: str, entry: Entry) -> None:
        names = {"skipped": self.skipped, "ignored": self.ignored, "suspect": self.suspects}
        if kind in names:
            names[kind][path] = None
        elif kind == "failed" and self._after.get(path):
            del self._after[path][-(read_number(entry[1].fields[2]) or 1) :]
        state = entry[0].state(entry[1], content=False)
        if state is None or (path == WORKSPACE and state.kind != "directory"):
            return
        if kind == "before" and not self._is_known(path, entry):
            self._saved[path], self._after[path] = entry, []
        elif kind in {"after", "found"} and path in self._saved:
            self._after[path].append(entry)
            self.found |= {path: None} if kind == "found" else {}
        elif kind == "replaced" and not self._since:
            # A rollback replaced a change that may be another program's: undo brings that back.
            self._saved[path], self._after[path] = entry, []
            self.found.pop(path, None)
        elif kind == "was":
            self._before_command[path] = entry

    def _is_known(self, path: str, entry: Entry) -> bool:
        """Whether the state in a record is one that the run gave the path, or that was there at first."""
        if path not in self._saved:
            return False
        state = _state(entry)
        return any(state.is_like(_state(each)) for each in (self._saved[path], *self._after[path]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for journal in self._journals:
            journal.__exit__()

    @property
    def diff(self) -> TreeDiff:
        """The states of all changed paths before and after."""
        return TreeDiff(tuple((each.path, each.before, each.after) for each in self.paths))

    def saved(self, path: str) -> State:
        """Return the state of a path before the run."""
        return _state(self._saved[path])

    def before_command(self, path: str) -> State | None:
        """Return the state of a suspect path before the killed command; None if it was not saved."""
        return _state(self._before_command[path]) if path in self._before_command else None

    def text(self, kind: str) -> bytes:
        """Return the document, or the report, of the last run."""
        journal = self._journals[-1]
        found = [record for record in journal.records() if record.fields[:1] == (kind,)]
        return journal.content(found[-1]) if found else b""


def _is_allowed(path: str, known: set[str]) -> bool:
    """Whether a path from a journal may be touched; a repository may have brought the journal along.

    `known` has the names that were checked before, because most paths share their directories.
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


def format_paths(paths: Sequence[str], most: int | None = 20) -> str:
    """Return these paths for a message; at most so many, unless `most` is None."""
    return first_few(paths, len(paths) if most is None else most)


def is_cache(workspace: str, path: str, but: Collection[str] = ()) -> bool:
    """Return whether a path is a cache, or in one: programs write caches again once they are gone.

    Tag files among `but` do not count.
    """
    parts = path.rstrip("/").split("/")
    if parts[-1].endswith(CACHE_SUFFIX) or not CACHE_NAMES.isdisjoint(parts):
        return True
    tags = ("/".join((*parts[:count], CACHE_TAG)) for count in range(1, len(parts) + 1))
    return any(tag not in but and os.path.lexists(os.path.join(workspace, tag)) for tag in tags)


def changes_files(workspace: str, journals: Sequence[str]) -> bool:
    """Whether the runs of these journals left any file, except caches, in another state than before."""
    with RunChanges(journals) as changes:
        changed = [each.path for each in changes.paths if each.differs()]
        return not all(is_cache(workspace, path, but=changed) for path in changed)
