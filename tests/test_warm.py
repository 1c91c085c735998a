"""A warm start does what a real one does: what tests that use it show holds for what people start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.waiting import eventually
from tools import warm

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
