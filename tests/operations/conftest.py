"""What the tests of run stand on: runs in this process, on the command line, and on a terminal."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests import command_line
from tests.waiting import PATIENCE, read_until

import clada
from clada.model import Event, Note, Output, OutputTruncated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from clada.errors import Error
    from clada.model import Task
    from clada.report import Report

CUT = "[output truncated]"
APPROVALS = ".clada/allowed-commands.json"
FLAGS = ("--no-git", "--summary=none")
_numbers = itertools.count(1)

# A new session whose terminal is the given one, and in it the command line.
ON_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(int(sys.argv[1]), termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "clada", *sys.argv[2:]])
"""


def document(*bodies: str, **fields: str) -> str:
    """Return a document of standalone runs, in a notation that can carry any text."""
    blocks = [{"tasks": [{"action": "run", "command": body, **fields}]} for body in bodies]
    return json.dumps(blocks)


class Run:
    """One run of a document in this process, and what came of it."""

    def __init__(self, report: Report, events: list[Event]) -> None:
        self.report, self.events = report, events

    @property
    def task(self) -> Task:
        """The first task."""
        return self.report.tasks[0]

    @property
    def error(self) -> Error:
        """Why the first task failed."""
        assert self.task.error is not None, self.task
        return self.task.error

    @property
    def said(self) -> str:
        """The whole text of the error: message and hint."""
        return f"{self.error.message}; {self.error.hint}"

    @property
    def output(self) -> list[str]:
        """What the commands printed."""
        shown = [event for event in self.events if isinstance(event, Output | OutputTruncated)]
        return [line for event in shown for line in (event.lines if isinstance(event, Output) else [CUT])]

    @property
    def notes(self) -> list[str]:
        """What the person was told beside it."""
        return [event.text for event in self.events if isinstance(event, Note)]


class Runner:
    """Runs commands in a workspace, in this process."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def __call__(self, *bodies: str, where: str | None = None, **options: Any) -> Run:
        """Run these bodies, each standalone, in a directory."""
        fields = {} if where is None else {"dir": where}
        events: list[Event] = []
        plan = clada.parse(document(*bodies, **fields))
        settings: dict[str, Any] = {"workspace": str(self.workspace), "git": False, **options}
        return Run(clada.execute(plan, on_event=events.append, **settings), events)

    def approve(self, *commands: str, **others: Any) -> None:
        """Store approvals, as a person would have."""
        (self.workspace / ".clada").mkdir(exist_ok=True)
        (self.workspace / APPROVALS).write_text(json.dumps({"commands": commands, **others}))

    def stored(self) -> Any:
        """Return the stored approvals."""
        return json.loads((self.workspace / APPROVALS).read_text())


@pytest.fixture
def runs(tmp_path: Path) -> Runner:
    """Return what runs commands in a new workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Runner(workspace)


class Shell:
    """The real command line in the same workspace: without a terminal, or on one."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.person, self._device = os.openpty()
        self.process: subprocess.Popen[str] | None = None

    def run(
        self, *bodies: str, arguments: tuple[str, ...] = (), env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run bodies to their end where nobody can be asked."""
        done = command_line.run(
            *FLAGS,
            *arguments,
            document=document(*bodies).encode(),
            directory=self.workspace,
            environment=self._environment(env),
        )
        return command_line.decoded(done)

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        return {**os.environ, "XDG_CONFIG_HOME": str(self.workspace.parent), **(more or {})}

    def start(
        self,
        *bodies: str,
        arguments: tuple[str, ...] = (),
        terminal: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start the command line on these bodies, in a session of its own."""
        own = [sys.executable, "-c", ON_A_TERMINAL, str(self._device)]
        argv = [*(own if terminal else [sys.executable, "-m", "clada"]), *FLAGS, *arguments]
        self.process = subprocess.Popen(
            argv,
            cwd=self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[self._device] if terminal else [],
            start_new_session=not terminal,
            env=self._environment(env),
        )
        assert self.process.stdin
        self.process.stdin.write(document(*bodies))
        self.process.stdin.close()
        self.process.stdin = None
        return self.process

    def end(self, process: subprocess.Popen[str] | None = None) -> subprocess.CompletedProcess[str]:
        """Wait for the command line, and return what it said."""
        process = process or self.process
        assert process
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def read_until(self, text: str) -> str:
        """Return what is on the terminal's screen, once this text is."""
        return read_until(self.person, text)

    def type(self, text: str) -> None:
        """Type on the terminal's keyboard."""
        os.write(self.person, text.encode())

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        os.close(self.person)
        os.close(self._device)


@pytest.fixture
def shell(runs: Runner) -> Iterator[Shell]:
    """Return the real command line, in the workspace of `runs`."""
    shell = Shell(runs.workspace)
    yield shell
    shell.close()


class Marker:
    """A word that only the processes of one test have in their arguments."""

    def __init__(self) -> None:
        self.word = f"987{os.getpid()}{next(_numbers)}"  # also a number of seconds to sleep

    def alive(self) -> list[int]:
        """Return the processes that have it, clada's own and this one excepted."""
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and self._marks(name)]

    def _marks(self, pid: str) -> bool:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return self.word.encode() in file.read().split(b"\0")
        except OSError:
            return False


@pytest.fixture
def mark() -> Iterator[Marker]:
    """Return a marker, and see to it that none of the processes with it is left when the test ends."""
    marker = Marker()
    yield marker
    assert marker.alive() == []
