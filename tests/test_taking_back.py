"""What is all or nothing is taken back whatever ends it: every kind of change, every kind of failure."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import resource
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.test_atomic import CHANGES, FAILURES, RECORDS, after, run, tree
from tests.test_atomic import project as project  # noqa: PLC0414 (a fixture)

import clada

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MB = 1 << 20
COPY = "<---RUN--->\ncp big copy{}\n<---END--->"
KILLED = "<---RUN--->\nsh killed.sh\n<---END--->"  # by a signal
APPROVED = ["sh change.sh", "sh killed.sh", "sleep 60"]


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """Let no process of ours write a larger file, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refused(project: Path, change: str, record: str) -> clada.Report:
    return run(project, after(change, FAILURES["refused command"][0]), record, approve=APPROVED)


def timed_out(project: Path, change: str, record: str) -> clada.Report:
    document, options = FAILURES["timeout"]
    return run(project, after(change, document), record, **{**options, "timeout": 0.2}, approve=APPROVED)


def killed_by_a_signal(project: Path, change: str, record: str) -> clada.Report:
    return run(project, after(change, KILLED), record, approve=APPROVED)


def interrupted(project: Path, change: str, record: str) -> clada.Report:
    with clada.Stop() as stop:

        def halt(event: object) -> None:
            if isinstance(event, clada.TaskStarted) and event.target == "sleep 60":
                stop.set()

        document = after(change, "<---RUN--->\nsleep 60\n<---END--->")
        return run(project, document, record, stop=stop, on_event=halt, approve=APPROVED)


def without_room(project: Path, change: str, record: str) -> clada.Report:
    with no_file_over(MB // 2):
        return run(project, after(change, COPY.format(1)), record, approve=APPROVED)


ENDS: tuple[Callable[[Path, str, str], clada.Report], ...] = (
    refused,
    timed_out,
    killed_by_a_signal,
    interrupted,
    without_room,
)


@pytest.mark.sample(12)
@RECORDS
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_taken_back_whatever_ends_the_run(project: Path, change: str, record: str) -> None:
    (project / "killed.sh").write_text("kill -9 $$\n")
    (project / "big").write_text(MB * "x")
    before = tree(project)
    for end in ENDS:
        report = end(project, CHANGES[change], record)
        assert tree(project) == before, end
        statuses = [task.status for task in report.tasks]
        assert statuses.count("error") == 1, end
        assert set(statuses) <= {"rolled_back", "error", "skipped"}, end
        assert report.error is None, end


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here: that takes root")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("record", ["commits", "snapshots", "none"])
@pytest.mark.parametrize("state_on_it", [False, True])
def test_a_full_disk_takes_everything_back(
    project: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, record: str, *, state_on_it: bool
) -> None:
    """Whether or not the journal is on the same disk."""
    place = small_disk / "project"
    shutil.copytree(project, place, symlinks=True)
    (place / "big").write_text(MB * "x")
    if state_on_it:
        monkeypatch.setenv("XDG_STATE_HOME", str(small_disk / "state"))
    before = tree(place)
    changes = "\n".join(CHANGES[name] for name in ("write", "ignored", "edit", "move a directory", "touch"))
    filling = "\n".join(map(COPY.format, range(5)))
    report = run(place, f"{changes}\n{filling}", record, approve=[])
    assert tree(place) == before
    assert report.error is None
    assert "success" not in {task.status for task in report.tasks}
    failed = next(task for task in report.tasks if task.status == "error")
    assert failed.error is not None
    assert "No space left" in f"{failed.error.message} {failed.error.details}"
    assert run(place, CHANGES["touch"], record, approve=[]).ok  # there is room again


def test_a_command_that_fills_the_disk_is_taken_back(project: Path, small_disk: Path) -> None:
    place = small_disk / "project"
    shutil.copytree(project, place, symlinks=True)
    (place / "fill.sh").write_text("cat /dev/zero > full; exit 1\n")
    before = tree(place)
    document = f"{CHANGES['edit']}\n<---RUN--->\nsh fill.sh\n<---END--->"
    report = run(place, document, "none", approve=["sh fill.sh"])
    assert tree(place) == before
    assert report.error is None
