"""Clada as a library: it prints nothing, changes nothing of its host, and works in several threads."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.model import BlockSkipped, Ended, Event, Note, Output, Started

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = """\
<---WRITE file="a.txt"--->
one
<---END--->
<---SEARCH file="a.txt"--->
one
<---REPLACE--->
two
<---END--->
<---RUN--->
cat a.txt
sh -c 'echo approved; umask 077; cd /'
<---END--->
<---SEARCH file="a.txt"--->
missing
<---REPLACE--->
<---END--->
<---TASKS--->
<---WRITE--->
<---END--->
<---END--->
"""
APPROVED = ["sh -c 'echo approved; umask 077; cd /'"]


def host() -> dict[str, Any]:
    """Return what a library must leave alone."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "directory": os.getcwd(),
        "umask": umask,
        "signals": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "environment": dict(os.environ),
        "threads": threading.active_count(),
        "handles": sorted(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None,
        "stdout": sys.stdout,
        "wakeup": signal.set_wakeup_fd(-1),
    }


@pytest.mark.parametrize("git", [False, True])
def test_nothing_of_the_host_changes_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *, git: bool
) -> None:
    if git:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    clada.execute(clada.parse(EVERYTHING), workspace=str(tmp_path), git=git, approve=APPROVED)  # loads all
    before = host()
    report = clada.execute(clada.parse(EVERYTHING), workspace=str(tmp_path), git=git, approve=APPROVED)
    assert host() == before
    assert capfd.readouterr() == ("", "")
    assert [task.status for task in report.tasks] == ["success", "success", "success", "error", "error"]


def test_other_children_of_the_host_are_not_touched(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "30"]) as mine:
        ended = subprocess.Popen(["true"])
        document = "<---RUN--->\nsh -c 'sleep 0.2; (sleep 60 &)'\n<---END--->\n"
        report = clada.execute(clada.parse(document), workspace=str(tmp_path), git=False, approve_all=True)
        assert report.ok
        assert mine.poll() is None
        assert ended.wait() == 0  # its exit code was left for us
        mine.kill()


def test_events_tell_everything_in_order(tmp_path: Path) -> None:
    events: list[Event] = []
    plan = clada.parse(EVERYTHING)
    clada.execute(plan, workspace=str(tmp_path), git=False, approve=APPROVED, on_event=events.append)
    told = [event for event in events if not isinstance(event, Note)]
    kinds = [type(event) for event in told]
    assert kinds.count(Started) == 4
    assert kinds.count(Ended) == 5
    assert kinds.index(BlockSkipped) < kinds.index(Ended, kinds.index(BlockSkipped))
    assert [event.line for event in told if isinstance(event, Output)] == ["two", "approved"]
    assert [event.task.label for event in told if isinstance(event, Ended)] == ["1", "2", "3", "4", "5.1"]


def test_threads_on_different_workspaces_do_not_disturb_each_other(tmp_path: Path) -> None:
    def work(number: int) -> tuple[bool, str, list[str]]:
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run(["git", "init", "-q", folder], check=True)
        lines: list[str] = []
        document = (
            f'<---WRITE file="a.txt"--->\n{number}\n<---END--->\n'
            f"<---RUN--->\ncat a.txt\nsh -c 'sleep 0.1; echo {number} > b.txt; cat b.txt'\n<---END--->\n"
        )
        report = clada.execute(
            clada.parse(document),
            workspace=str(folder),
            approve_all=True,
            on_event=lambda event: lines.append(event.line) if isinstance(event, Output) else None,
        )
        return report.ok, (folder / "b.txt").read_text(encoding="utf-8"), lines

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert results == [(True, f"{number}\n", [str(number)] * 2) for number in range(8)]


def test_a_wrong_option_is_a_mistake_of_the_caller() -> None:
    options: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        clada.execute(clada.parse(""), **options)
    with pytest.raises(ValueError, match="unknown notation 'yaml'"):
        clada.parse("", "yaml")


def test_the_package_is_typed() -> None:
    assert os.path.exists(os.path.join(os.path.dirname(clada.__file__), "py.typed"))


def test_every_public_name_is_there_and_documented() -> None:
    for name in clada.__all__:
        value = getattr(clada, name)
        assert isinstance(value, str) or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = clada.nothing
