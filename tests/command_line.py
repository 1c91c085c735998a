"""Runs the command line for a test: in this process where that shows the same, else by a real start.

    done = command_line.run("--no-git", document=b"...", directory=tmp_path)

`run` calls `clada.cli.main()` and gives it standard streams, a directory and an environment of its own, which
saves the start of Python. `start` starts `python -m clada`: for tests of what is loaded, signals, limits,
other users, and front ends that go on running.
"""

from __future__ import annotations

import contextlib
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
from functools import cache
from typing import IO, TYPE_CHECKING, Any

import clada
from clada import cli

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

CLADA = (sys.executable, "-P", "-m", "clada")  # -P: as the installed script, without the present directory
# Variables that Python reads when it starts, and PATH: clada looks once in a process for a sandbox.
READ_ONCE = ("PYTHON", "LANG", "LC_", "PATH")
FRONT_ENDS = (
    "clada.mcp",
    "clada.llm_plugin",
    "clada.batch",
    "clada.review",
    "clada.cli.choose",
    "clada.cli.commands.watch",
    "clada.__main__",
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)

_user = os.geteuid()


def run(
    *arguments: str,
    document: bytes = b"",
    directory: str | Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line to its end without a terminal, in this process if possible."""
    variables = dict(os.environ if environment is None else environment)
    if not _can_run_here(variables):
        return start(*arguments, document=document, directory=directory, environment=variables)
    _load_all()
    with _readable(document) as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _process_state(), _streams(stdin.fileno(), out.fileno(), err.fileno()):
            os.chdir(directory)
            os.environ.clear()
            os.environ.update(variables)
            sys.argv = ["clada", *arguments]
            code = cli.main()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(["clada", *arguments], code, out.read(), err.read())


def start(
    *arguments: str,
    document: bytes = b"",
    directory: str | Path,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    **options: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Start the command line as a process of its own, by a program `before` it if there is one."""
    return subprocess.run(
        [*before, *CLADA, *arguments], input=document, cwd=directory, env=environment, capture_output=True,
        check=False, start_new_session=True, **options,
    )  # fmt: skip


def decoded(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    """Return what a process printed as text."""
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _can_run_here(environment: Mapping[str, str]) -> bool:
    """Return whether this process is as one that is started with these variables would be."""
    if threading.current_thread() is not threading.main_thread() or os.geteuid() != _user:
        return False
    here, there = (
        {name: value for name, value in variables.items() if name.startswith(READ_ONCE)}
        for variables in (os.environ, environment)
    )
    return here == there


def _readable(data: bytes) -> IO[bytes]:
    """Return a file with this content, open for reading only."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return open(file.name, "rb")


@cache
def _load_all() -> None:
    """Load clada, so that no directory of a test is searched for its modules."""
    for module in pkgutil.walk_packages(clada.__path__, "clada."):
        if not module.name.startswith(FRONT_ENDS):
            __import__(module.name)


@contextlib.contextmanager
def _process_state() -> Iterator[None]:
    """Restore what a run may change of this process."""
    directory, environment, arguments, path = os.getcwd(), dict(os.environ), sys.argv, sys.path.copy()
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    os.umask(umask := os.umask(0))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.umask(umask)
        sys.argv, sys.path[:] = arguments, path
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(directory)


@contextlib.contextmanager
def _streams(*handles: int) -> Iterator[None]:
    """Have these files as standard input, output and error, also for the processes that are started."""
    objects = sys.stdin, sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        for number, handle in enumerate(handles):
            before = os.dup(number)
            stack.callback(os.close, before)
            stack.callback(os.dup2, before, number)
            os.dup2(handle, number)
        sys.stdin = stack.enter_context(open(0, closefd=False))
        sys.stdout = stack.enter_context(open(1, "w", closefd=False))
        sys.stderr = stack.enter_context(open(2, "w", closefd=False))
        try:
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = objects
