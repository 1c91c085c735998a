"""Tests side by side, in forks of a pytest that has found them all: `-p tools.forks --forks=4`.

Each worker of pytest-xdist looks for all tests itself, which takes four seconds of a processor, and what it
and the one who leads them say to each other takes twenty. Here tests are found once, and Python looks for
cycles in none of what was found.

A fork takes a few tests of a module at a time; all of it, where they share a fixture; and those of one that
is marked `long` one by one, before all others. If it dies, the test that it ran has failed, and others run
what it had still to run.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import struct
import sys
import tempfile
import time
import traceback
from itertools import groupby
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast

import pytest
from _pytest.config import create_terminal_writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.connection import Connection
    from typing import NoReturn

    Unit = list[int]  # tests that are run by one fork, one after the other

FEW = 8
PATIENCE = 10  # seconds in which a fork that is interrupted can end what its tests have started
NUMBER = struct.Struct("i")
SHARED = ("class", "module", "package")  # scopes of fixtures that other modules do not have


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say that there is an option."""
    parser.addoption("--forks", type=int, default=0, help="run tests side by side, in so many forks")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in forks, again and again until none is left that died with its fork."""
    config = session.config
    if not config.option.forks or config.option.collectonly or session.testsfailed:
        return None
    left = set(range(len(session.items)))
    while left:
        units = [kept for unit in _units(session.items) if (kept := [each for each in unit if each in left])]
        left -= Forks(session, units).run()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    return True


def _units(items: Sequence[pytest.Item]) -> list[Unit]:
    """Return which tests go together; first comes what takes longest."""
    first: list[Unit] = []
    units: list[Unit] = []
    for _, group in groupby(range(len(items)), key=lambda number: items[number].path):
        numbers = list(group)
        if items[numbers[0]].get_closest_marker("long"):
            first += [[number] for number in numbers]
        else:
            size = len(numbers) if any(_shares(items[number]) for number in numbers) else FEW
            units += [numbers[at : at + size] for at in range(0, len(numbers), size)]
    return first + sorted(units, key=len, reverse=True)


def _shares(item: pytest.Item) -> bool:
    fixtures = cast("Any", item)._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 (pytest tells nowhere else)
    return any(fixture.scope in SHARED for definitions in fixtures for fixture in definitions)


class Forks:
    """Forks that run some tests between them."""

    def __init__(self, session: pytest.Session, units: list[Unit]) -> None:
        self.session, self.units = session, units
        self.done: set[int] = set()
        self.waiting = 0  # a file of the units that none has begun: forks share how far it is read
        self.folders = cast("Any", session.config)._tmp_path_factory  # noqa: SLF001 (pytest tells nowhere else)
        self.folders.getbasetemp()  # so that all have one: who makes it removes what was there
        self.at_work = mmap(-1, NUMBER.size * session.config.option.forks)  # which test each of them runs

    def run(self) -> set[int]:
        """Run the tests; return those that have been reported."""
        gc.collect()
        gc.freeze()  # what was found stays: none of the forks is to look through it, and so to copy it
        gc.set_threshold(20_000, 50, 100)  # tests make few cycles
        started: dict[Connection[Any, Any], tuple[int, int]] = {}
        with tempfile.TemporaryFile(buffering=0) as waiting:  # a pipe takes 16,384 numbers at most
            waiting.write(b"".join(map(NUMBER.pack, range(len(self.units)))))
            waiting.seek(0)
            self.waiting = waiting.fileno()
            try:
                for place in range(self.session.config.option.forks):
                    reader, pid = self._start(place)
                    started[reader] = (place, pid)
                while started:
                    for ready in wait(list(started)):
                        reader = cast("Connection[Any, Any]", ready)
                        if not self._listen(reader):
                            self._end(*started.pop(reader))
            finally:
                _interrupt({pid for _, pid in started.values()})
        return self.done

    def _start(self, place: int) -> tuple[Connection[Any, Any], int]:
        reader, writer = Pipe(duplex=False)
        NUMBER.pack_into(self.at_work, place * NUMBER.size, -1)
        sys.stdout.flush()
        sys.stderr.flush()
        if not (pid := os.fork()):
            reader.close()
            self._be_one(place, writer)
        writer.close()
        return reader, pid

    def _be_one(self, place: int, writer: Connection[Any, Any]) -> NoReturn:
        """Be a fork: run tests until there are none, and end as Python does."""
        code = 1
        try:
            try:
                self._run_all(place, writer)
            finally:
                self._tidy_up()
            code = 0
        except KeyboardInterrupt:
            pass
        except BaseException:  # noqa: BLE001 (it is told, and the tests that are left are for others)
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)

    def _tidy_up(self) -> None:
        """End what tests have made and started, also where they were interrupted: once is enough."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            cast("Any", self.session)._setupstate.teardown_exact(None)  # noqa: SLF001 (pytest has no other way)
        finally:
            atexit._run_exitfuncs()  # noqa: SLF001 (servers that tests have started end by it)

    def _run_all(self, place: int, writer: Connection[Any, Any]) -> None:
        plugins = self.session.config.pluginmanager
        plugins.unregister(name="terminalreporter")
        capture: Any = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # into a file that all would share
        capture.start_global_capturing()
        self.folders._basetemp = self.folders.mktemp("fork")  # noqa: SLF001 (pytest has no other way)
        reports = Reports(self.session.config, writer)
        plugins.register(reports, "terminalreporter")
        items = self.session.items
        numbers = self._numbers()
        number = next(numbers, None)
        while number is not None:
            following = next(numbers, None)
            NUMBER.pack_into(self.at_work, place * NUMBER.size, number)
            nextitem = None if following is None else items[following]
            items[number].config.hook.pytest_runtest_protocol(item=items[number], nextitem=nextitem)
            reports.send(number)
            number = None if self.session.shouldfail or self.session.shouldstop else following

    def _numbers(self) -> Iterator[int]:
        """Yield the next test that none has begun."""
        while found := os.read(self.waiting, NUMBER.size):
            yield from self.units[NUMBER.unpack(found)[0]]

    def _listen(self, reader: Connection[Any, Any]) -> bool:
        """Pass on what a fork reports of a test; return whether it is still there."""
        try:
            number, reports = reader.recv()
        except (EOFError, OSError):
            reader.close()
            return False
        hook, config = self.session.config.hook, self.session.config
        self.done.add(number)
        for data in reports:
            report = hook.pytest_report_from_serializable(config=config, data=data)
            hook.pytest_runtest_logreport(report=report)
        if self.session.shouldfail or self.session.shouldstop:
            os.lseek(self.waiting, 0, os.SEEK_END)  # nothing is begun any more
        return True

    def _end(self, place: int, pid: int) -> None:
        """Report the test that a fork has died of."""
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        (number,) = NUMBER.unpack_from(self.at_work, place * NUMBER.size)
        if number in self.done or (number < 0 and code == 0):
            return
        if number < 0:
            raise RuntimeError(f"a fork ended with exit code {code} before its first test")
        self.done.add(number)
        item = self.session.items[number]
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", f"who ran it ended with exit code {code}", "call"
        )
        self.session.config.hook.pytest_runtest_logreport(report=report)


def _interrupt(forks: set[int]) -> None:
    """End forks as Ctrl-C does; after a while, those that are still there by force."""
    for pid in forks:
        os.kill(pid, signal.SIGINT)
    late = time.monotonic() + PATIENCE
    try:
        while forks and time.monotonic() < late:
            forks -= {pid for pid in forks if os.waitpid(pid, os.WNOHANG)[0]}
            time.sleep(0.01)
    finally:  # also where somebody presses it again
        for pid in forks:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class Reports:
    """What a fork has in place of a terminal: it sends all reports of a test at once."""

    def __init__(self, config: pytest.Config, writer: Connection[Any, Any]) -> None:
        self.config, self.writer = config, writer
        self.kept: list[Any] = []
        self._tw = create_terminal_writer(config, sys.stderr)  # to which pytest-timeout tells

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report until the test has ended."""
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.kept.append(data)

    def send(self, number: int) -> None:
        """Send the reports of a test."""
        self.writer.send((number, self.kept))
        self.kept = []
