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
from clada.cli.review import open_browser
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


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Carry out a file of jobs; or sum up results, or show them."""
    given = set(options.pop("given"))
    options = {**{flag.name: flag.default for flag in BATCH_FLAGS}, **options}
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
    progress = _progress(batch, console)

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
    with stop_on_signals(lambda: None) as stop, make_server(view) as server:
        console.write(f"{server.address}\n")
        if not options["no_open"] and not open_browser(server.address_to_open):
            console.note("no browser was found: open the address in one")
        console.note("Ctrl-C ends the page")
        select([stop.handle], [], [])
    return SIGNALLED + stop.signal if stop.signal and stop.signal != SIGINT else 0


def _progress(batch: Batch, console: Console) -> _Progress:
    if os.isatty(STDERR) and os.environ.get("TERM") != "dumb":
        return _Bar(batch, console)
    return _Progress(batch, console)


class _Progress:
    """How far a batch is: a line on standard error every ten seconds, and one at the end."""

    def __init__(self, batch: Batch, console: Console) -> None:
        self.batch, self.console = batch, console
        self.counts = dict.fromkeys(STATUSES, 0)
        self.every = EVERY
        self._began = time.monotonic()
        self._told = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            told = [f"{count:,} {status}" for status, count in self.counts.items() if count]
            before = f"; {self.batch.skipped:,} already had results" if self.batch.skipped else ""
            done = sum(self.counts.values())
            seconds = _duration(time.monotonic() - self._began)
            self.say(f"{_jobs(done)} in {seconds}: {', '.join(told) or 'nothing to do'}{before}")

    def tick(self) -> None:
        """Tell how far it is, if it is time to."""
        now = time.monotonic()
        if not self._told:
            self._began = self._told = now
        if now - self._told >= self.every:
            self._told = now
            self.show()

    def show(self) -> None:
        """Tell how far it is."""
        self.say(self.line())

    def line(self) -> str:
        """Return how far it is, in words."""
        done = sum(self.counts.values())
        rate = done / max(time.monotonic() - self._began, 1e-3)
        total = self.batch.total or 0
        left = _duration(self.left() / rate) if rate else "?"
        failed = done - sum(self.counts[status] for status in WENT_WELL)
        return (
            f"{done + self.batch.skipped:,} of {total:,} jobs, {rate:,.1f}/s, "
            f"{failed:,} not applied, {left} left"
        )

    def left(self) -> int:
        """Return how many jobs have no result."""
        return max(0, (self.batch.total or 0) - self.batch.skipped - sum(self.counts.values()))

    def say(self, text: str) -> None:
        """Write a line."""
        self.console.note(text)

    def close(self) -> None:
        """Remove what is shown for a while."""


class _Bar(_Progress):
    """The same on a terminal: a bar that moves, on a line that is removed before another is written."""

    def __init__(self, batch: Batch, console: Console) -> None:
        super().__init__(batch, console)
        self.every = OFTEN
        self._draw("starting")

    def show(self) -> None:
        self._draw(self.line())

    def say(self, text: str) -> None:
        self.close()
        super().say(text)

    def close(self) -> None:
        _write(CLEAR)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        super().__exit__(kind, *_)

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
