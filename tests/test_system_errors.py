"""What the system refuses is said in its own words: it is no bug, and no traceback is shown for it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest

import clada
from clada.errors import system_words

if TYPE_CHECKING:
    from pathlib import Path

REFUSED = OSError(errno.EIO, os.strerror(errno.EIO), "/some/where")


def test_the_words_name_the_place_where_there_is_one() -> None:
    """A file name that is not known is not made up."""
    assert system_words(REFUSED) == "Input/output error: /some/where"
    assert system_words(OSError(errno.EIO, os.strerror(errno.EIO))) == "Input/output error"
    assert system_words(OSError("no number")) == "no number"
    assert system_words(MemoryError()) == "out of memory"


@pytest.mark.parametrize(("refusal", "words"), [(REFUSED, "/some/where"), (MemoryError(), "out of memory")])
def test_an_operation_that_the_system_refuses_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Exception, words: str
) -> None:
    """The error is an io_error with the system's words, and the rest of the report is there."""

    def refuse(*_: object) -> NoReturn:
        raise refusal

    monkeypatch.setattr(clada.Remove, "apply", refuse)
    plan = clada.parse('{"tasks": [{"action": "remove", "path": "x"}]}')
    (task,) = clada.execute(plan, workspace=str(tmp_path), git=False).tasks
    assert task.error is not None
    assert task.error.type == "io_error"
    assert words in task.error.message
    assert "bug" not in f"{task.error.message}{task.error.hint}"


def test_an_interrupt_is_no_traceback_however_early_it_comes(tmp_path: Path) -> None:
    """Also while the command line is still being loaded."""
    early = (
        "import sys, builtins, os, signal\n"
        "real = builtins.__import__\n"
        "def load(name, *rest, **named):\n"
        "    if name.startswith('clada.cli.flags'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest, **named)\n"
        "from clada.cli import main\n"
        "builtins.__import__ = load\n"
        "sys.exit(main(['--help']))\n"
    )
    done = subprocess.run([sys.executable, "-c", early], capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == b""


def test_a_thread_that_the_system_refuses_is_its_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python calls it a runtime error; it is a lack of room."""
    import _thread

    from clada.world.processes.spawn import in_thread

    def refuse(*_: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(OSError, match="can't start new thread"):
        in_thread(lambda: 0)


def test_a_thread_that_ends_before_it_has_begun_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no memory even for its first call; a run would wait for ever."""
    import _thread

    from clada.world.processes.spawn import in_thread

    monkeypatch.setattr(_thread, "start_new_thread", lambda _work, _arguments: 0)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        in_thread(lambda: 0)
