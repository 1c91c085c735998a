"""What runs in the process of a test says and does the same as what is started, and leaves no trace there."""

from __future__ import annotations

import os
import signal
import sys
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from tests import command_line

from clada import cli

if TYPE_CHECKING:
    from pathlib import Path
    from typing import NoReturn

# What a command sees, without the name that each command gets, by which its processes are found.
SEEN = (
    'import os, sys; os.environ.pop("CLADA_COMMAND", 0); '
    "print(os.getcwd(), dict(os.environ), sys.stdin.read())"
)
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


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", CASES)
def test_a_run_in_the_process_prints_and_does_the_same_as_a_started_one(case: str, tmp_path: Path) -> None:
    """Outputs, exit code, files."""
    document, arguments = CASES[case]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "CLADA_TEST": "é"}
    seen = []
    for way in (command_line.run, command_line.start):
        folder = tmp_path / "workspace"
        folder.mkdir()
        done = way(
            "--no-git", *arguments, document=document.encode(), directory=folder, environment=environment
        )
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        folder.rename(tmp_path / way.__name__)
        seen.append((done.returncode, done.stdout, done.stderr, files))
    assert seen[0] == seen[1]


def test_a_run_restores_the_state_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is interrupted, as by the time limit of a test."""

    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(number) for number in command_line.SIGNALS]
        streams = [os.fstat(handle)[:3] for handle in (0, 1, 2)]
        os.umask(umask := os.umask(0))
        return os.getcwd(), dict(os.environ), sys.argv, [*sys.path], sys.stdout, handlers, streams, umask

    def interrupted() -> NoReturn:
        os.umask(0o777)
        os.environ["CLADA_TEST"] = "x"
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.path.clear()
        raise KeyboardInterrupt

    before = state()
    assert command_line.run("--no-git", document=WRITE.encode(), directory=tmp_path).returncode == 0
    assert state() == before
    monkeypatch.setattr(cli, "main", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command_line.run(directory=tmp_path)
    assert state() == before


def test_runs_that_need_their_own_process_are_started(tmp_path: Path) -> None:
    """Other variables that Python reads, or another thread: what runs is then no part of this process."""
    done = command_line.run("--version", directory=tmp_path, environment={**os.environ, "LC_ALL": "C"})
    assert done.args[0] == sys.executable
    found: list[str] = []
    thread = Thread(target=lambda: found.append(command_line.run("--version", directory=tmp_path).args[0]))
    thread.start()
    thread.join()
    assert found == [sys.executable]
