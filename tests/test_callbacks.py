"""What the caller's own functions raise ends the run in order, and reaches the caller as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.programs import needs

import clada
from clada.model import Event, Output, TaskEnded, TaskStarted

if TYPE_CHECKING:
    from pathlib import Path

# Writes, edits (which wait to be written), prints, and would write more.
DOCUMENT = """
<---WRITE file="first"--->
one
<---END--->
<---SEARCH file="first"--->
one
<---REPLACE--->
two
<---END--->
<---RUN--->
echo something
<---END--->
<---WRITE file="last"--->
x
<---END--->
"""


class Mine(Exception):  # noqa: N818 (it is the caller's, and no error)
    """What a caller's function raises."""


def raising(kind: type[Event], error: Exception) -> Any:
    """Return a function that raises this error at the first event of a kind."""

    def on_event(event: Event) -> None:
        if isinstance(event, kind):
            raise error

    return on_event


def git(workspace: Path, *arguments: str) -> str:
    """Run git in a workspace, and return what it prints."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=workspace, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize(
    "error", [Mine("x"), OSError(5, "x"), TypeError("x"), KeyError("x"), StopIteration()]
)
@pytest.mark.parametrize("kind", [TaskStarted, Output, TaskEnded])
def test_exceptions_of_on_event_reach_the_caller(kind: type[Event], error: Exception, tmp_path: Path) -> None:
    """Whatever it is, and at whichever event; nothing more is executed."""
    cause = ValueError("what it came of")
    error.__cause__ = cause
    with pytest.raises(type(error)) as raised:
        clada.execute(clada.parse(DOCUMENT), workspace=tmp_path, git=False, on_event=raising(kind, error))
    assert raised.value is error
    assert error.__cause__ is cause
    assert not (tmp_path / "last").exists()


def test_an_exception_leaves_a_recorded_run_behind(tmp_path: Path) -> None:
    """What was done by then is on disk and committed, edits that waited too; the next run need not wait."""
    git(tmp_path, "init", "-q")
    plan = clada.parse(DOCUMENT)
    with pytest.raises(Mine):
        clada.execute(plan, workspace=tmp_path, on_event=raising(Output, Mine()))
    assert (tmp_path / "first").read_text() == "two\n"
    assert git(tmp_path, "status", "--porcelain") == ""
    assert git(tmp_path, "show", "HEAD:first") == "two\n"
    assert "[clada:post]" in git(tmp_path, "log", "-1", "--format=%s")
    done = subprocess.run(
        [sys.executable, "-m", "clada", "history"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "interrupted" in done.stdout
    again = clada.execute(clada.parse('<write path="more">x</write>'), workspace=tmp_path, lock_timeout=0)
    assert again.ok


def test_a_lock_is_given_back(tmp_path: Path) -> None:
    """Another run can have it at once."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    options: dict[str, Any] = {
        "workspace": workspace, "git": False, "lock_file": tmp_path / "lock", "lock_timeout": 0,
    }  # fmt: skip
    plan = clada.parse(DOCUMENT)
    with pytest.raises(Mine):
        clada.execute(plan, on_event=raising(TaskStarted, Mine()), **options)
    assert clada.execute(plan, **options).ok


@needs("ps")
@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_a_command_is_ended_before_its_listeners_exception_goes_on(sandbox: str, tmp_path: Path) -> None:
    """With everything that it started."""
    seconds = f"987{os.getpid()}"  # which nobody else sleeps
    command = f"python3 -c 'import sys, time; print(1, flush=True); time.sleep(int(sys.argv[1]))' {seconds}"
    plan = clada.parse(f"<---RUN--->\n{command}\n<---END--->\n")
    options: Any = {"workspace": tmp_path, "git": False, "approve_all": True, "sandbox": sandbox}
    with pytest.raises(Mine):
        clada.execute(plan, on_event=raising(Output, Mine()), **options)
    found = subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True).stdout
    assert seconds not in found


ASKING = "<---RUN--->\npython3 -V\n<---END--->\n<---WRITE file='last'--->\nx\n<---END--->\n"


@pytest.mark.parametrize(
    ("answer", "exception"),
    [(True, TypeError), (1, TypeError), ([], TypeError), ("yes", ValueError), ("", ValueError)],
)
def test_an_answer_that_cannot_be_is_a_mistake_of_the_caller(
    answer: Any, exception: type[Exception], tmp_path: Path
) -> None:
    """It is told what the answers are, and nothing runs on a guess."""
    plan = clada.parse(ASKING)
    with pytest.raises(exception, match="ask must return one of once, always, no, never, once"):
        clada.execute(plan, workspace=tmp_path, git=False, ask=lambda *_, **__: answer)
    assert os.listdir(tmp_path) == []


def test_exceptions_of_ask_reach_the_caller(tmp_path: Path) -> None:
    """It is no error of the task."""
    error = Mine()

    def ask(*_: object, **__: object) -> None:
        raise error

    with pytest.raises(Mine) as raised:
        clada.execute(clada.parse(ASKING), workspace=tmp_path, git=False, ask=ask)
    assert raised.value is error
    assert os.listdir(tmp_path) == []
