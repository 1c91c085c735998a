"""The world of one run: its files, settings, callbacks, output and clock, which operations act on."""

from __future__ import annotations

import os
import time
from itertools import accumulate

from clada.world.clock import seconds_waited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol, Self, TypeVar

    from clada.errors import Error
    from clada.model import Done, Event, Operation
    from clada.operations.edit import Edit, EditedFile
    from clada.operations.merge import MergedWrite
    from clada.operations.write import Write
    from clada.public_types import Ask
    from clada.settings import Settings
    from clada.syntax import SyntaxLook
    from clada.world.autorun import AutorunGuard
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files
    from clada.world.record.recorder import Recorder
    from clada.world.record.store import Store
    from clada.world.sandbox.tree import Tree
    from clada.world.secrets.mask import WorkspaceSecrets

    Result = TypeVar("Result")

    class Merging(Protocol):
        """Merges edits and whole files that were written for an earlier version: operations/merge.py."""

        def merge_edit(
            self, edit: Edit, world: World, parts: Parts, file: EditedFile, failure: Error
        ) -> Done:
            """Merge an edit that does not fit."""

        def find_insertion(self, edit: Edit, world: World, parts: Parts, file: EditedFile) -> Done | None:
            """Merge an edit that fits, if it inserts what was inserted since the model saw the file."""

        def merge_again(self, edit: Edit, world: World, parts: Parts, file: EditedFile) -> Done:
            """Merge a further edit of the same file."""

        def merge_write(
            self, write: Write, world: World, path: str, now: bytes, new: bytes
        ) -> MergedWrite | None:
            """Merge a whole file, if that is wanted."""


SIGINT = 2


class Stop:
    """Ends a run early and in order: another thread, or a signal handler, calls `set`.

    `handle` becomes readable then, so that a thread that waits for something else can wait for it, too.
    `on_set` is called right after; it may end work in progress.
    """

    def __init__(self, on_set: Callable[[], None] = lambda: None) -> None:
        self._on_set = on_set
        self.signal: int | None = None  # set once the run is to end
        self._pipes: list[tuple[int, int]] = []  # the first one is used: two threads may each make one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            os.close(pipe[0])
            os.close(pipe[1])

    @property
    def handle(self) -> int:
        """The readable end of a pipe, which is made when it is first needed."""
        if not self._pipes:
            self._pipes.append(os.pipe())
            if self.signal is not None:  # there was no pipe when it was set
                os.write(self._pipes[0][1], b"!")
        return self._pipes[0][0]

    @property
    def writer(self) -> int:
        """The other end of the pipe: a byte written to it makes `handle` readable."""
        return self._pipes[0][1] if self.handle else -1

    def set(self, signal: int = SIGINT) -> None:
        """End the run as this signal would."""
        self.signal = signal  # first, so that a thread that makes the pipe from now on sees it
        if self._pipes:
            os.write(self._pipes[0][1], b"!")
        self._on_set()


class World:
    """The files, settings and callbacks of one run, which its operations use, and their output."""

    def __init__(
        self,
        files: Files,
        settings: Settings,
        emit: Callable[[Event], None],
        ask: Ask | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.files, self.settings, self.emit, self.ask, self.stop = files, settings, emit, ask, stop
        self.consent: Callable[[str], bool] | None = None  # asks a person a yes/no question
        self.deadline: float | None = None
        if settings.total_timeout is not None:
            self.deadline = time.monotonic() + settings.total_timeout
            self.emit = lambda event: self.untimed(emit, event)
        self.autorun: AutorunGuard | None = None  # decides on files that run by themselves
        self.syntax: SyntaxLook | None = None  # compares how changed files parse, before and after
        self.drops_writes = False  # commands only verify: what they write is not kept
        self.dropped: list[str] = []  # paths that they wrote
        self.noted: set[str] = set()  # notes that were emitted, because each is emitted once
        self.recording: Recorder | None = None  # of this run, if it is recorded
        # Rolls back an atomic block if a part of it fails: the overlay of a dry run, or the recording.
        self.takes_back: Any = files if settings.dry_run else None
        self.tree: Tree | None = None  # the last scan of the workspace
        self.is_tree_stale = True  # whether files may have changed since
        self.repository: tuple[str, ...] | None = None  # paths of the repository that commands may read
        self._secrets: WorkspaceSecrets | None = None
        self._store: Store | None = None
        self.edited_files: dict[Parts, EditedFile] = {}  # what edits of this document have done so far
        self.merging: Callable[[], Merging] | None = None  # loads what merges edits, if something may
        self.unknown_edits = 0  # that fit neither their file nor a known version of it
        self.done_before: dict[str, list[Operation]] = {}  # by the run that this one resumes, by path
        self.position = 0  # index of the current operation
        self._room = settings.max_output  # bytes of output that the report may still keep
        self.begin("")

    def begin(self, label: str) -> None:
        """Start a task."""
        self.label = label
        self.confinement: str | None = None
        self.output: list[str | None] = []  # lines; None if output was cut off
        self.truncated = False

    @property
    def secrets(self) -> WorkspaceSecrets:
        """The secrets in the workspace; searched for when a command first needs them."""
        if self._secrets is None:
            from clada.world.secrets.mask import WorkspaceSecrets  # loads json and re: 5 ms

            self._secrets = WorkspaceSecrets(self.files.root, self.settings.reveal)
        return self._secrets

    @property
    def store(self) -> Store:
        """Where runs of this workspace are recorded, and what a model was shown."""
        if self._store is None:
            from clada.world.record.store import find_store  # late: it runs git

            self._store = find_store(self.files.root)
        return self._store

    def note_file_changes(self) -> None:
        """Note that files may have changed, so that they are scanned and searched for secrets again."""
        self.is_tree_stale = True
        if self._secrets:
            self._secrets.is_stale = True

    def keep(self, lines: Sequence[str], *, cut: bool = False) -> None:
        """Keep lines of output for the report, up to the limit, and note if some were cut off."""
        size = len("".join(lines)) + len(lines)
        if size > self._room:
            ends = accumulate(len(line) + 1 for line in lines)
            lines, cut = [line for line, end in zip(lines, ends, strict=True) if end <= self._room], True
            size = self._room
        self._room -= size
        self.output.extend(lines)
        self.truncated = self.truncated or cut
        if cut and self.output[-1:] != [None]:
            self.output.append(None)

    def untimed(self, call: Callable[..., Result], *arguments: object, **named: object) -> Result:
        """Call a function that waits for a person or a reader; that time does not count."""
        result, waited = seconds_waited(call, *arguments, **named)
        if self.deadline is not None:
            self.deadline += waited
        return result

    def ask_user(self, question: str) -> bool:
        """Ask a person a yes/no question; without a person, the answer is no."""
        return self.consent is not None and self.untimed(self.consent, question)

    def remaining(self) -> float | None:
        """Return the seconds that are left of the whole run; None without a limit."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def stop_reason(self) -> str | None:
        """Return why the run must stop now: interrupted, or out of time; None if it goes on."""
        if self.stop and self.stop.signal:
            return "interrupted"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "total timeout reached"
        return None
