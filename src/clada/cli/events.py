"""`--events=jsonl`: write each event of a run as a line of JSON, for programs that start clada."""

from __future__ import annotations

import fcntl
import os

from clada.cli.console import STDERR, STDOUT, Console
from clada.cli.presenter import Presenter
from clada.errors import UsageError, reason
from clada.model import Note
from clada.report.json import event_to_dict, run_ended, run_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clada.model import Event, Plan
    from clada.report import Report
    from clada.world.world import Stop

APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY
NEW_FILE = 0o666  # less the umask
USAGE = "clada --events=jsonl:events.jsonl FILE"


class EventLines(Console):
    """Writes events to the file or handle that --events names. A closed pipe does not stop the run."""

    def __init__(self, flag: str) -> None:
        form, _colon, place = flag.partition(":")
        if form != "jsonl" or flag == "jsonl:":
            raise UsageError(f"--events must be jsonl, jsonl:FD or jsonl:FILE, not {flag!r}", USAGE)
        super().__init__(_open_target(place), "the file of events")

    def presenter(self, *shown: Any) -> EventPresenter:
        """Return a presenter that shows a run and writes its events."""
        return EventPresenter(self, *shown)

    @property
    def on_stderr(self) -> bool:
        """Whether events go to standard error, where other lines go too."""
        return self._out == STDERR


class EventPresenter(Presenter):
    """Shows a run and writes its events. If both go to standard error, notes are written only once."""

    def __init__(
        self, lines: EventLines, plan: Plan, options: dict[str, Any], console: Console, stop: Stop
    ) -> None:
        super().__init__(plan, options, console, stop)
        self._lines = lines
        self._tell(lambda: run_started(plan, dry_run=options["dry_run"]))

    def handle(self, event: Event) -> None:
        """Write an event, and show it."""
        self._tell(lambda: event_to_dict(event))
        if not (isinstance(event, Note) and self._lines.on_stderr):
            super().handle(event)

    def _note_commits(self, line: str) -> None:
        if not self._lines.on_stderr:  # the last event has them
            super()._note_commits(line)

    def finish(self, report: Report) -> None:
        """Show the end of the run, and write it as the last event."""
        super().finish(report)
        self._tell(lambda: run_ended(report))
        self.console.lost = self.console.lost or self._lines.lost

    def _tell(self, event: Callable[[], dict[str, Any]]) -> None:
        try:
            self._lines.write_json(event(), None)
        except Exception as bug:  # noqa: BLE001 (the run goes on)
            self._report_lost("an event", bug)


def _open_target(place: str) -> int:
    """Open the file to write to; a number is an open handle that clada inherited."""
    if not place:
        return STDERR
    if not (place.isascii() and place.isdecimal()):
        try:
            return os.open(place, APPEND, NEW_FILE)
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else error
            raise UsageError(f"--events: {place}: {why}", USAGE) from None
    try:
        handle = int(place)
        mode = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE
    except (OSError, OverflowError, ValueError):
        raise UsageError(f"--events: handle {place} is not open", USAGE) from None
    if mode == os.O_RDONLY:
        raise UsageError(f"--events: handle {place} is not open for writing", USAGE)
    if handle not in (STDOUT, STDERR):
        os.set_inheritable(handle, False)  # commands must not write events
    return handle
