"""`clada batch`: carries out jobs with a progress display, sums up results, and shows them in the browser."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from select import select
from shlex import quote
from signal import SIGINT

from clada.batch import DEFAULTS, STATUSES, WENT_WELL, Batch, parse_mapping
from clada.batch.results import check_pyarrow, write_parquet
from clada.batch.summary import FORMS, summarise
from clada.batch.view import ResultsView, make_server
from clada.cli.console import STDERR
from clada.cli.flags import BATCH_FLAGS
from clada.cli.signals import stop_on_signals
from clada.errors import UsageError
from clada.exit_codes import FAILED, SIGNALLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from clada.cli.console import Console

EVERY = 10.0  # seconds between two lines where there is no terminal
OFTEN = 0.1  # seconds between two looks of the bar
# The commands on results, and the flags that go with each.
COMMANDS = {"summary": ("by", "as"), "view": ("no_open",)}
NEEDED = "clada batch needs one file of jobs, or summary or view and a file of results"
USAGE = "\n".join(
    f"clada batch {words}"
    for words in ("jobs.jsonl --out=results.jsonl", "summary results.jsonl", "view results.jsonl")
)
PLURAL = 120  # seconds from which on minutes are told
BAR = 20  # columns of the bar
ECHO = 4  # columns that are left for what the terminal shows of a key
CLEAR = "\r\x1b[K"  # removes the line that the cursor is on


def batch(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Carry out a file of jobs; or sum up results, or show them."""
    given = set(options.pop("given"))
    options = {**{flag.name: flag.default for flag in BATCH_FLAGS}, "no_open": False, **options}
    command = arguments[0] if arguments and arguments[0] in COMMANDS else None
    for name in given:
        owners = [owner for owner, flags in COMMANDS.items() if name in flags]
        if owners != ([command] if command else []):
            owner = f"clada batch {owners[0]}" if owners else "a file of jobs"
            raise UsageError(f"--{name.replace('_', '-')} goes with {owner}")
    if command == "summary" and len(arguments) == 2:  # noqa: PLR2004 (the command, and a file)
        console.write(FORMS[options["as"]](summarise(arguments[1], options["by"])))
        return 0
    if command == "view" and len(arguments) in (2, 3):
        return _view(ResultsView(*arguments[1:]), options, console)
    if command or len(arguments) != 1:
        raise UsageError(NEEDED, USAGE)
    if options["out"] is None:
        raise UsageError("clada batch needs --out", f"clada batch {arguments[0]} --out=results.jsonl")
    if options["parquet"]:
        check_pyarrow()
    return _carry_out(options, arguments[0], console)


def _carry_out(options: dict[str, Any], jobs: str, console: Console) -> int:
    config = DEFAULTS.replace(
        timeout=options["job_timeout"],
        memory=options["job_memory"],
        processes=options["job_processes"],
        max_output=options["max_output"],
        keep=options["keep"],
        approve_checks=options["approve_checks"],
        container=options["container"],
    )
    batch = Batch(
        jobs, config, out=options["out"], resume=options["resume"], engine=options["engine"],
        address=options["address"], workers=options["workers"], dataset=options["dataset"],
        mapping=parse_mapping(options["map"]) if options["map"] else None,
    )  # fmt: skip
    progress = _Progress(batch, console)

    def end() -> None:  # in order; a second signal kills this process, and its workers end with it
        batch.stop()
        running = batch.engine.running if batch.engine else 0
        progress.say(f"stopping; {_jobs(running)} still running; press Ctrl-C again to end at once")

    with progress, stop_on_signals(end) as stop:
        for finished in batch.finished(progress.tick):
            progress.counts[finished.status] += 1
    if options["parquet"]:
        write_parquet(options["out"], options["parquet"])
    left = progress.left()
    if stop.signal and left:
        console.note(
            f"stopped; {left:,} of {batch.total:,} jobs left",
            f"clada batch {quote(jobs)} --out={quote(options['out'])} --resume",
        )
        return SIGNALLED + stop.signal
    return FAILED if left else 0


def _view(view: ResultsView, options: dict[str, Any], console: Console) -> int:
    """Serve the page until a signal ends it."""
    from clada.cli.commands.review import open_browser

    with stop_on_signals(lambda: None) as stop, make_server(view) as server:
        console.write(f"{server.address}\n")
        if not options["no_open"] and not open_browser(server.address_to_open):
            console.note("no browser was found: open the address in one")
        console.note("Ctrl-C ends the page")
        select([stop.handle], [], [])
    return SIGNALLED + stop.signal if stop.signal and stop.signal != SIGINT else 0


class _Progress:
    """How far a batch is: a bar on a terminal, else a line every ten seconds; and a line at the end."""

    def __init__(self, batch: Batch, console: Console) -> None:
        self.batch, self.console = batch, console
        self.counts = dict.fromkeys(STATUSES, 0)
        self._has_bar = os.isatty(STDERR) and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()
        self._shown = 0.0
        if self._has_bar:
            self._draw("starting")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._clear()
        if kind is None:
            found = [f"{count:,} {status}" for status, count in self.counts.items() if count]
            before = f"; {self.batch.skipped:,} already had results" if self.batch.skipped else ""
            seconds = _duration(time.monotonic() - self._began)
            words = ", ".join(found) or "nothing to do"
            self.say(f"{_jobs(sum(self.counts.values()))} in {seconds}: {words}{before}")

    def tick(self) -> None:
        """Show how far it is, if it is time to."""
        now = time.monotonic()
        if not self._shown:
            self._began = self._shown = now
        if now - self._shown >= (OFTEN if self._has_bar else EVERY):
            self._shown = now
            (self._draw if self._has_bar else self.say)(self._line())

    def say(self, text: str) -> None:
        """Write a line."""
        self._clear()
        self.console.note(text)

    def left(self) -> int:
        """Return how many jobs have no result."""
        return max(0, (self.batch.total or 0) - self.batch.skipped - sum(self.counts.values()))

    def _line(self) -> str:
        done = sum(self.counts.values())
        rate = done / max(time.monotonic() - self._began, 1e-3)
        left = _duration(self.left() / rate) if rate else "?"
        failed = done - sum(self.counts[status] for status in WENT_WELL)
        return (
            f"{done + self.batch.skipped:,} of {self.batch.total or 0:,} jobs, {rate:,.1f}/s, "
            f"{failed:,} not applied, {left} left"
        )

    def _clear(self) -> None:
        if self._has_bar:
            _write(CLEAR)

    def _draw(self, text: str) -> None:
        done = BAR * (sum(self.counts.values()) + self.batch.skipped) // max(1, self.batch.total or 0)
        # A terminal shows ^C behind it: that must not reach the next line, which would stay.
        room = shutil.get_terminal_size().columns - ECHO
        _write(CLEAR + f"{'━' * done}{'─' * (BAR - done)} {text}"[:room])


def _write(text: str) -> None:
    with suppress(OSError):  # the terminal is gone: the batch goes on
        os.write(STDERR, text.encode())


def _jobs(number: int) -> str:
    return f"{number:,} job{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    """Return a duration as people say it."""
    if seconds < PLURAL:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 (as people say it)
    minutes = int(seconds // 60)
    return (
        f"{minutes} min {int(seconds % 60)} s"
        if minutes < PLURAL
        else f"{minutes // 60} h {minutes % 60} min"
    )
