"""What the operations of one run act on: files, settings, who is told and asked, and the run's clock."""

from __future__ import annotations

import os
import time
from itertools import accumulate

from clada.world.clock import seconds_waited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol, Self, TypeVar

    from clada.model import Event
    from clada.settings import Settings
    from clada.world.autorun import AutorunGuard
    from clada.world.files.tree import Files
    from clada.world.record.recording import Recording
    from clada.world.sandbox.tree import Tree
    from clada.world.secrets.mask import WorkspaceSecrets

    Result = TypeVar("Result")

    class Ask(Protocol):
        """Puts a command to a person."""

        def __call__(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
            """Return once, always, no or never, with `+network` behind it; None where nobody can be asked."""


SIGINT = 2


class Stop:
    """Ends a run early, in order: another thread, or a signal handler, calls `set`.

    `handle` becomes readable then, so that whoever waits for something else can wait for it, too. `on_set`
    is called right after, whatever is under way: it may have to make an end of that.
    """

    def __init__(self, on_set: Callable[[], None] = lambda: None) -> None:
        self._on_set = on_set
        self.signal: int | None = None  # set, once the run is to end
        self._pipes: list[tuple[int, int]] = []  # the first counts: of two threads, both may make one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            os.close(pipe[0])
            os.close(pipe[1])

    @property
    def handle(self) -> int:
        """What to wait for; made when first asked for, as most runs wait for nothing."""
        if not self._pipes:
            self._pipes.append(os.pipe())
            if self.signal is not None:  # there was no pipe when it was set
                os.write(self._pipes[0][1], b"!")
        return self._pipes[0][0]

    @property
    def writer(self) -> int:
        """The other end of that pipe: a byte written to it makes `handle` readable."""
        return self._pipes[0][1] if self.handle else -1

    def set(self, signal: int = SIGINT) -> None:
        """End the run as this signal would."""
        self.signal = signal  # first: whoever makes the pipe from here on sees it
        if self._pipes:
            os.write(self._pipes[0][1], b"!")
        self._on_set()


class World:
    """What the operations of one run act on, and what they leave word of."""

    def __init__(
        self,
        files: Files,
        settings: Settings,
        emit: Callable[[Event], None],
        ask: Ask | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.files, self.settings, self.emit, self.ask, self.stop = files, settings, emit, ask, stop
        self.consent: Callable[[str], bool] | None = None  # puts a yes/no question to a person
        self.deadline: float | None = None
        if settings.total_timeout is not None:
            self.deadline = time.monotonic() + settings.total_timeout
            self.emit = lambda event: self.untimed(emit, event)
        self.autorun: AutorunGuard | None = None  # decides on files that run by themselves
        self.noted: set[str] = set()  # what the person was told, once
        self.recording: Recording | None = None  # of this run, if it is recorded
        # What takes back what was to be all or nothing, if a part of it fails: the overlay of a dry run, or
        # the recording of this one.
        self.takes_back: Any = files if settings.dry_run else None
        # What was last seen of the workspace, and after which operation; None: clada has changed it since.
        self.tree: Tree | None = None
        self.tree_after: int | None = None
        self.repository: tuple[str, ...] | None = None  # what commands read of the repository, if looked for
        self._secrets: WorkspaceSecrets | None = None
        self.position = 0  # index of the operation that is carried out
        self._room = settings.max_output  # bytes of output that the report may still keep
        self.begin("")

    def begin(self, label: str) -> None:
        """Start a task."""
        self.label = label
        self.confinement: str | None = None
        self.output: list[str | None] = []  # lines; None where output was cut off
        self.truncated = False

    @property
    def secrets(self) -> WorkspaceSecrets:
        """What is known of the secrets in the workspace; made when a command first needs it."""
        if self._secrets is None:
            from clada.world.secrets.mask import WorkspaceSecrets  # loads json and re: 5 ms

            self._secrets = WorkspaceSecrets(self.files.root, self.settings.reveal)
        return self._secrets

    def files_changed(self) -> None:
        """Note that files may have changed, so that secret files are looked for again."""
        if self._secrets:
            self._secrets.is_stale = True

    def keep(self, lines: Sequence[str], *, cut: bool = False) -> None:
        """Keep lines of output for the report, as far as there is room, and that there were more, if so."""
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
        """Call what waits for somebody else, a person or a reader: the run's clock stands still meanwhile."""
        result, waited = seconds_waited(call, *arguments, **named)
        if self.deadline is not None:
            self.deadline += waited
        return result

    def asked(self, question: str) -> bool:
        """Put a question to a person that yes or no answers; no where there is nobody."""
        return self.consent is not None and self.untimed(self.consent, question)

    def remaining(self) -> float | None:
        """Return how many seconds the whole run has left; None where it has no limit."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def halted(self) -> str | None:
        """Return why nothing more is to be done, if that is so."""
        if self.stop and self.stop.signal:
            return "interrupted"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "total timeout reached"
        return None
