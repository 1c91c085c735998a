"""A warm start does what a real one does: what tests that use it show holds for what people start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from tests.programs import needs
from tests.waiting import eventually
from tools import standby, warm

if TYPE_CHECKING:
    from pathlib import Path
    from typing import NoReturn

SEEN = "import os, sys; print(os.getcwd(), dict(os.environ), sys.stdin.read())"
WRITE = '<---WRITE file="é.txt"--->\n{}\n<---END--->\n'
CASES: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", []),
    "a version": ("", ["--version"]),
    "help": ("", ["--help"]),
    "a wrong flag": ("", ["--wrong"]),
    "a write": (WRITE.format("x"), []),
    "a large write": (WRITE.format("x" * 3_000_000), []),
    "a document that is not read": ("x" * 3_000_000, ["--version"]),
    "a fatal error": ("<---WRITE--->\n", []),
    "a summary": (WRITE.format("x"), ["--summary=xml", "--dry-run"]),
    "a command": (f"<---RUN--->\n{sys.executable} -c {SEEN!r}\n<---END--->\n", ["--approve-all"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_and_done_is_the_same(case: str, tmp_path: Path) -> None:
    """Outputs, exit code, files."""
    document, arguments = CASES[case]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "CLADA_TEST": "é"}
    folder = tmp_path / "workspace"
    folder.mkdir()
    done = warm.clada(
        "--no-git", *arguments, document=document.encode(), directory=folder, environment=environment
    )
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    real = subprocess.run(
        [sys.executable, "-P", "-m", "clada", "--no-git", *arguments], input=document.encode(), cwd=folder,
        env=environment, capture_output=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (real.returncode, real.stdout, real.stderr)
    assert files == {path.name: path.read_bytes() for path in folder.iterdir()}


@needs("pgrep")
def test_what_takes_too_long_for_a_test_is_ended_with_it(tmp_path: Path) -> None:
    """Nothing of it is left, and the next start is none the worse."""

    def give_up(*_: object) -> NoReturn:
        raise TimeoutError

    mark = f"9{os.getpid()}"
    document = f"<---RUN--->\nsleep {mark}\n<---END--->\n".encode()
    arguments = ("--no-git", "--approve-all", "--sandbox=off")
    with_us = signal.signal(signal.SIGUSR1, give_up)
    watching = subprocess.Popen(
        ["sh", "-c", f"until pgrep -f 'sleep {mark}$'; do sleep 0.05; done; kill -USR1 {os.getpid()}"],
        stdout=subprocess.DEVNULL,
    )
    try:
        with pytest.raises(TimeoutError):
            warm.clada(*arguments, document=document, directory=tmp_path)
    finally:
        watching.wait()
        signal.signal(signal.SIGUSR1, with_us)
    looking = ["pgrep", "-f", f"sleep {mark}$"]
    assert eventually(lambda: subprocess.run(looking, capture_output=True, check=False).returncode)
    assert warm.clada("--version", directory=tmp_path).returncode == 0


HELLO = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
SERVERS = {
    "real": lambda: [sys.executable, "-m", "clada", "mcp"],
    "standing by": lambda: standby.command("mcp"),
}


def _serving(how: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a server; return when it has answered."""
    server = subprocess.Popen(SERVERS[how](), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
    assert server.stdin
    assert server.stdout
    server.stdin.write(HELLO)
    server.stdin.flush()
    assert b'"id":1' in server.stdout.readline()
    return server


@pytest.mark.skipif(find_spec("mcp") is None, reason="the SDK of MCP is not installed")
def test_a_server_that_stood_by_ends_as_a_real_one_does(tmp_path: Path) -> None:
    """By the end of its input, and by signals; tests/mcp/test_runs.py has more of how a real one ends."""
    ends = {0: 0, signal.SIGTERM: 128 + signal.SIGTERM, signal.SIGINT: 128 + signal.SIGINT}
    for how, number in (*(("standing by", number) for number in ends), ("real", signal.SIGINT)):
        server = _serving(how, tmp_path)
        if number:
            server.send_signal(number)
            server.wait()
        assert server.communicate()[0] == b""
        assert server.returncode == ends[number], (how, number)


@pytest.mark.skipif(find_spec("mcp") is None, reason="the SDK of MCP is not installed")
def test_a_server_that_stood_by_is_killed_with_what_was_started(tmp_path: Path) -> None:
    """Nothing of it is left: it is the one that has the other end of the pipe."""
    server = _serving("standing by", tmp_path)
    server.kill()
    assert server.communicate()[0] == b""
    assert server.returncode == -signal.SIGKILL
