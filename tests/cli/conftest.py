"""The real command line, in a workspace and an environment of its own; plainly, or on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Protocol

import pytest
from tests import command_line
from tests.programs import skip_without
from tools.plain_git import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

CLADA = (sys.executable, "-m", "clada")
LONG = 90.0  # seconds after which a test gives up, on a machine with other work too


class Shell:
    """Runs clada in a workspace, with a home of its own, so that no configuration gets in."""

    def __init__(self, top: Path) -> None:
        self.workspace, self.home = top / "workspace", top / "home"
        self.workspace.mkdir()
        self.home.mkdir()
        hidden = (
            "GIT_",
            "NO_COLOR",
            "COLUMNS",
            "LINES",
            "XDG_",
            "FORCE_COLOR",
            "CLICOLOR",
            "DISPLAY",
            "WAYLAND_",
        )
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.environment = {**kept, "HOME": str(self.home), "TERM": "xterm-256color"}

    def __call__(
        self, *arguments: str, document: str | bytes = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run clada on a document, without a terminal."""
        done = command_line.run(
            *arguments,
            document=document.encode() if isinstance(document, str) else document,
            directory=self.workspace,
            environment={**self.environment, **environment},
        )
        return command_line.decoded(done)

    def git(self, *words: str) -> str:
        """Run git in the workspace, and return what it prints."""
        done = subprocess.run(
            ["git", *IDENTITY, *words],
            cwd=self.workspace,
            env=self.environment,
            capture_output=True,
            check=True,
            text=True,
        )
        return done.stdout

    def write(self, path: str, content: str) -> Path:
        """Put a file into the workspace."""
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return file

    def configure(self, content: str) -> Path:
        """Write the user's own configuration."""
        file = self.home / ".config" / "clada" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return file


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return clada in a new, empty workspace without a repository."""
    return Shell(tmp_path)


@pytest.fixture
def repository(shell: Shell) -> Shell:
    """Return clada in a new repository without commits."""
    shell.git("init", "-q")
    return shell


class Place(Protocol):
    """Where a program runs."""

    workspace: Path
    environment: dict[str, str]


class Screen:
    """A terminal with a program on it: what it prints, and a keyboard."""

    def __init__(self, argv: Sequence[str], shell: Place, stdin: int | None = None, **extra: str) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            argv,
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            cwd=shell.workspace,
            env={**shell.environment, **extra},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (no threads here)
        )
        self.device = os.ttyname(slave)
        os.close(slave)
        self.seen = b""

    def until(self, text: str) -> str:
        """Read until a text has been printed, and return everything printed so far."""
        end = time.monotonic() + LONG
        while text.encode() not in self.seen:
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{text!r} was not printed: {self.seen!r}")
        return self.seen.decode(errors="replace")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    def type_until_read(self, line: str) -> None:
        """Type a line, and wait until the program has read it."""
        self.type(f"{line}\n")
        self.until(f"{line}\r\n")  # the echo: it has arrived
        device = os.open(self.device, os.O_RDWR | os.O_NOCTTY)
        try:
            end = time.monotonic() + LONG
            while fcntl.ioctl(device, termios.FIONREAD, bytes(4)) != bytes(4):
                assert time.monotonic() < end, "the program does not read its input"
                time.sleep(0.01)
        finally:
            os.close(device)

    def end(self) -> tuple[int, str]:
        """Wait for the program to end; return its exit code and everything that was printed."""
        end = time.monotonic() + LONG
        while self._read(end - time.monotonic()):
            pass
        return self.process.wait(LONG), self.seen.decode(errors="replace")

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.master)[3] & termios.ECHO)

    def hang_up(self) -> None:
        """Close the terminal, even while the program runs."""
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        """End the program, if it has not ended."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.master >= 0:
            self.hang_up()

    def _read(self, seconds: float) -> bytes:
        if seconds <= 0 or not select.select([self.master], [], [], seconds)[0]:
            return b""
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # the program has ended
            piece = b""
        self.seen += piece
        return piece


class Terminals:
    """Opens terminals with clada on them."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.opened = shell, list[Screen]()

    def __call__(self, *arguments: str, document: str | None = None, **environment: str) -> Screen:
        """Run clada on a terminal; standard input is the terminal too, unless there is a document."""
        stdin = None
        if document is not None:
            stdin, sink = os.pipe()
            os.write(sink, document.encode())
            os.close(sink)
        screen = Screen([*CLADA, *arguments], self.shell, stdin, **environment)
        if stdin is not None:
            os.close(stdin)
        self.opened.append(screen)
        return screen


@pytest.fixture
def terminal(shell: Shell) -> Iterator[Terminals]:
    """Return what opens terminals, and closes them at the end."""
    terminals = Terminals(shell)
    yield terminals
    for screen in terminals.opened:
        screen.close()


class Tmux:
    """A terminal that remembers what is on it."""

    def __init__(self, folder: Path, shell: Shell) -> None:
        self._socket, self._shell = str(folder / "tmux"), shell

    def __call__(self, *words: str) -> str:
        """Call tmux."""
        argv = ["tmux", "-S", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(
            argv, capture_output=True, text=True, check=True, env=self._shell.environment
        ).stdout

    def start(self, line: str, columns: int = 80, rows: int = 24, **environment: str) -> None:
        """Open the terminal, and run a line of shell in it."""
        extra = " ".join(f"{name}='{value}'" for name, value in {"PS1": "$ ", **environment}.items())
        size = ("-x", str(columns), "-y", str(rows))
        self("new-session", "-d", *size, "-c", str(self._shell.workspace), f"env {extra} sh")
        self.type(line)

    def type(self, line: str) -> None:
        """Type a line."""
        self("send-keys", "-l", line)
        self("send-keys", "Enter")

    def press(self, key: str) -> None:
        """Press a key."""
        self("send-keys", key)

    def clear(self) -> None:
        """Forget what is on the screen."""
        self("send-keys", "-R")
        self("clear-history")

    def until(self, seen: Callable[[str], bool]) -> str:
        """Return what is on the screen as soon as it is what is waited for."""
        end = time.monotonic() + 90
        while not seen(screen := self("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.05)
        return screen


@pytest.fixture
def tmux(tmp_path: Path, shell: Shell) -> Iterator[Tmux]:
    """Return a terminal in the workspace."""
    skip_without("tmux")
    (tmp_path / "bin").mkdir()
    launcher = tmp_path / "bin" / "clada"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m clada "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    shell.environment["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    session = Tmux(tmp_path, shell)
    yield session
    session("kill-server")
