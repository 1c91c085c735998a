"""The loop: blocks by themselves, nothing after a failure in one, no bug that loses the rest, few writes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests.handles import open_handles

import clada
from clada.engine import Engine
from clada.model import BlockReport, TaskEnded, TaskStarted
from clada.operations.move import Move
from clada.settings import Settings
from clada.world.files.workspace import Workspace
from clada.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.conftest import Place

    from clada.model import Event
    from clada.report import Report

    OrdinaryUser = Callable[[], AbstractContextManager[None]]


def write(path: str, content: str = "new") -> str:
    """Return a WRITE."""
    return f'<---WRITE file="{path}"--->\n{content}\n<---END--->\n'


def append(path: str, content: str) -> str:
    """Return a WRITE that appends."""
    return f'<---WRITE file="{path}" append="true"--->\n{content}\n<---END--->\n'


def edit(path: str, old: str, new: str) -> str:
    """Return a SEARCH."""
    return f'<---SEARCH file="{path}"--->\n{old}\n<---REPLACE--->\n{new}\n<---END--->\n'


def block(*parts: str) -> str:
    """Return a TASKS block."""
    return f"<---TASKS--->\n{''.join(parts)}<---END--->\n"


def execute(place: Place, document: str, **options: Any) -> Report:
    """Execute a document as a library call, without git."""
    return clada.execute(clada.parse(document), workspace=str(place.inside), git=False, **options)


def ends(blocks: Report | tuple[BlockReport, ...]) -> list[str]:
    """Return how each task ended: success, the type of its error, or why it was skipped."""
    reports = blocks if isinstance(blocks, tuple) else blocks.blocks
    tasks = [task for report in reports for task in report.tasks]
    return [task.error.type if task.error else getattr(task.outcome, "reason", task.status) for task in tasks]


# Blocks.


def test_a_failure_skips_the_rest_of_its_block_and_nothing_else(place: Place) -> None:
    """Blocks, and standalone operations, are independent of each other."""
    document = block(write("a"), edit("a", "x", "y"), write("b")) + write("c") + block(write("d"))
    report = execute(place, document)
    skipped = "earlier task failed"
    assert ends(report) == ["success", "match_count_mismatch", skipped, "success", "success"]
    assert sorted(path.name for path in place.inside.iterdir()) == ["a", "c", "d"]
    assert not report.ok


def test_an_invalid_operation_keeps_its_block_from_being_executed(place: Place) -> None:
    """It counts as failed, its siblings as skipped; the other blocks run."""
    invalid = "<---WRITE--->\n<---END--->\n"
    report = execute(place, block(write("a"), invalid) + invalid + write("b"))
    assert ends(report) == [
        "block has validation errors",
        "invalid_operation",
        "invalid_operation",
        "success",
    ]
    assert [path.name for path in place.inside.iterdir()] == ["b"]
    assert [task.index for task in report.tasks] == [0, 1, 2, 3]


def test_the_blocks_of_a_report_have_their_own_tasks(place: Place) -> None:
    """Also where edits waited over the end of a block."""
    place.write("a", "1")
    steps = [edit("a", str(number), str(number + 1)) for number in range(1, 7)]
    report = execute(place, steps[0] + block(steps[1], steps[2]) + steps[3] + block(*steps[4:]))
    labels = [[task.label for task in part.tasks] for part in report.blocks]
    assert labels == [["1"], ["2.1", "2.2"], ["3"], ["4.1", "4.2"]]
    assert ends(report) == ["success"] * 6
    assert (place.inside / "a").read_text() == "7"


# Bugs.


def test_a_bug_in_one_operation_loses_nothing_else(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It becomes that operation's error; what came before is kept, what comes after is done."""

    def buggy(_move: Move, _world: World) -> NoReturn:
        raise ZeroDivisionError("oh dear")

    monkeypatch.setattr(Move, "apply", buggy)
    place.write("a", "1")
    document = (
        '[[task]]\naction = "edit"\npath = "a"\nsearch = "1"\nreplace = "2"\n'
        '[[task]]\naction = "move"\nfrom = "a"\nto = "b"\n'
        '[[task]]\naction = "write"\npath = "c"\ncontent = "3"\n'
    )
    report = execute(place, document)
    assert ends(report) == ["success", "io_error", "success"]
    error = report.tasks[1].error
    assert error is not None
    assert error.message == "internal error: ZeroDivisionError: oh dear"
    assert "test_engine.py" in (error.traceback or "")
    assert {path.name: path.read_text() for path in place.inside.iterdir()} == {"a": "2", "c": "3"}


# Edits in a row.

COUNTING = """
import os, sys
import clada
from clada.world import libc
from clada.world.files import content

# Within a tick, a file may be saved twice and have the same times; then it is compared before it is replaced.
content.TICK = content.COARSE_TICK = int(sys.argv[1])

calls = {"open": 0, "rename": 0}
renameat2 = libc.renameat2

def count(event, arguments):
    if event == "open" and str(arguments[0]).endswith("file") and not arguments[2] & os.O_PATH:
        calls["open"] += 1

def count_rename(*arguments):
    calls["rename"] += 1
    renameat2(*arguments)

libc.renameat2 = count_rename

plan = clada.parse(sys.stdin.read())
sys.addaudithook(count)
report = clada.execute(plan, git=False)
assert report.ok, report
print(calls["open"], calls["rename"])
"""


FOREVER = 1 << 62  # nanoseconds


def counted(place: Place, document: str, tick: int) -> list[int]:
    """Execute a document elsewhere; return how often the file was opened, and any file renamed."""
    run = subprocess.run(
        [sys.executable, "-c", COUNTING, str(tick)],
        input=document,
        cwd=place.inside,
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(number) for number in run.stdout.split()]


EDITS = [edit("file", f"<{number}>", f"<{number + 1}>") for number in range(50)]


@pytest.mark.parametrize(
    ("document", "times"),
    [
        ("".join(EDITS), 1),
        (block(*EDITS), 1),
        (block(*EDITS[:20]) + block(*EDITS[20:40]) + "".join(EDITS[40:]), 1),
        ("".join(EDITS[:25]) + write("other") + "".join(EDITS[25:]), 2),
        ("".join(EDITS[:25]) + edit("third", "a", "b") + "".join(EDITS[25:]), 2),
    ],
)
@pytest.mark.parametrize(("tick", "looks"), [(0, 1), (FOREVER, 2)], ids=["read", "read-and-compared"])
def test_edits_in_a_row_read_and_write_the_file_once(
    place: Place, document: str, times: int, tick: int, looks: int
) -> None:
    """Counted by the calls that are made: what is between them decides how often.

    What was just written is compared before it is replaced, for its times do not tell whether it is the same.
    """
    place.write("file", "<0>\n" + "more\n" * 100)
    place.write("third", "a")
    opened, renamed = counted(place, document, tick)
    assert opened == looks * times
    assert renamed == times + document.count("third")
    assert (place.inside / "file").read_text().startswith("<50>\n")


def test_additions_in_a_row_are_written_once(place: Place) -> None:
    """As edits are; what looks at the file between them sees all that came before."""
    document = "".join(append("file", str(number)) for number in range(1, 4))
    document += edit("file", "3", "three") + append("file", "4") + write("other") + append("file", "5")
    # Three additions at once, an edit, two more additions: read and added to, or read, compared and replaced.
    for tick, opened in ((0, 7), (FOREVER, 8)):
        place.write("file", "0")
        assert counted(place, document, tick) == [opened, 1]
    assert (place.inside / "file").read_text() == "0\n1\n2\nthree\n4\n5\n"


def test_additions_that_cannot_be_written_have_failed(place: Place, ordinary_user: OrdinaryUser) -> None:
    """All that were waiting."""
    document = append("closed/a", "2") + append("closed/a", "3") + append("open/a", "2")
    assert run_as_ordinary_user(place, document, ordinary_user) == ["permission_denied"] * 2 + ["success"]
    assert (place.inside / "closed/a").read_text() == "1"
    assert (place.inside / "open/a").read_text() == "1\n2\n"


def test_additions_need_text_as_edits_do(place: Place) -> None:
    """Each is refused for itself."""
    place.write("file", b"\xff")
    report = execute(place, append("file", "a") + append("file", "b") + edit("file", "a", "b"))
    assert ends(report) == ["invalid_utf8"] * 3


def test_an_edit_is_reported_when_it_is_on_disk(place: Place) -> None:
    """And before the next operation begins that could see it."""
    place.write("a", "1")
    place.write("b", "1")
    seen = []

    def watch(event: Event) -> None:
        if isinstance(event, TaskStarted | TaskEnded):
            label = event.label if isinstance(event, TaskStarted) else event.task.label
            disk = [(place.inside / name).read_text() for name in "ab"]
            seen.append((type(event).__name__, label, "".join(disk)))

    execute(
        place, edit("a", "1", "2") + edit("a", "2", "3") + edit("b", "1", "2") + write("c"), on_event=watch
    )
    assert [(kind, label, disk) for kind, label, disk in seen if kind == "TaskEnded"] == [
        ("TaskEnded", "1", "31"),
        ("TaskEnded", "2", "31"),
        ("TaskEnded", "3", "32"),
        ("TaskEnded", "4", "32"),
    ]
    assert seen.index(("TaskEnded", "2", "31")) < seen.index(("TaskStarted", "3", "31"))
    assert seen.index(("TaskEnded", "3", "32")) < seen.index(("TaskStarted", "4", "32"))


@pytest.mark.parametrize("path", ["./a", "sub/../a", "a"])
def test_edits_of_one_file_by_different_paths_see_each_other(place: Place, path: str) -> None:
    """What is held is found by where it is, not by how it is written."""
    place.write("a", "1")
    assert execute(place, edit("a", "1", "2") + edit(path, "2", "3") + edit("a", "3", "4")).ok
    assert (place.inside / "a").read_text() == "4"


def test_a_failed_edit_between_others_changes_nothing_of_them(place: Place) -> None:
    """Those before it are written, those after it go on from there."""
    place.write("a", "1")
    report = execute(place, edit("a", "1", "2") + edit("a", "1", "x") + edit("a", "2", "3"))
    assert ends(report) == ["success", "match_count_mismatch", "success"]
    assert (place.inside / "a").read_text() == "3"


# Edits that cannot be written.


def run_as_ordinary_user(place: Place, document: str, ordinary_user: OrdinaryUser) -> list[str]:
    """Execute a document in a workspace where only the directory `open` can be written to."""
    for path in ("closed/a", "closed/b", "open/a"):
        place.write(path, "1")
    (place.inside / "open").chmod(0o777)
    (place.inside / "closed").chmod(0o555)
    with Workspace(str(place.inside)) as files:
        world = World(files, Settings(), lambda _event: None)
        with ordinary_user():
            return ends(Engine(clada.parse(document), world).run())


def test_edits_that_cannot_be_written_have_failed(place: Place, ordinary_user: OrdinaryUser) -> None:
    """All that were waiting; and what comes after is not their affair."""
    document = edit("closed/a", "1", "2") + edit("closed/a", "2", "3") + write("open/new")
    assert run_as_ordinary_user(place, document, ordinary_user) == ["permission_denied"] * 2 + ["success"]
    assert (place.inside / "closed/a").read_text() == "1"


def test_the_failure_to_write_is_not_the_next_edits_failure(
    place: Place, ordinary_user: OrdinaryUser
) -> None:
    """The next edit is of another file, and makes the first one be written."""
    document = edit("closed/a", "1", "2") + edit("open/a", "1", "2")
    assert run_as_ordinary_user(place, document, ordinary_user) == ["permission_denied", "success"]
    assert (place.inside / "open/a").read_text() == "2"


def test_nothing_in_a_block_follows_an_edit_that_could_not_be_written(
    place: Place, ordinary_user: OrdinaryUser
) -> None:
    """Though it is known only when the next operation is due."""
    skipped = "earlier task failed"
    document = block(edit("closed/a", "1", "2"), write("open/new"), write("open/more"))
    assert run_as_ordinary_user(place, document, ordinary_user) == ["permission_denied", skipped, skipped]
    assert not (place.inside / "open/new").exists()
    document = block(edit("closed/a", "1", "2"), edit("open/a", "1", "2"))
    assert run_as_ordinary_user(place, document, ordinary_user) == ["permission_denied", skipped]
    assert (place.inside / "open/a").read_text() == "1"


# Ending early.


def test_an_interrupt_skips_the_rest_and_keeps_what_is_done(place: Place) -> None:
    """Edits that wait are written."""
    place.write("a", "1")
    document = edit("a", "1", "2") + edit("a", "2", "3") + edit("a", "3", "4") + write("b")
    with clada.Stop() as stop:

        def interrupt(event: Event) -> None:
            if isinstance(event, TaskStarted) and event.label == "2":
                stop.set()

        report = execute(place, document, stop=stop, on_event=interrupt)
    assert ends(report) == ["success", "success", "interrupted", "interrupted"]
    assert (place.inside / "a").read_text() == "3"
    assert not (place.inside / "b").exists()
    assert not report.ok


def test_the_total_time_skips_the_rest(place: Place) -> None:
    """Nothing begins after it."""
    assert ends(execute(place, write("a") + write("b"), total_timeout=0)) == ["total timeout reached"] * 2


# As a library.


def test_a_workspace_that_is_not_there_is_a_fatal_error_and_no_exception(place: Place) -> None:
    """Of a type that tells what it is."""
    for path, type_ in (("nowhere", "file_not_found"), ("file", "permission_denied")):
        place.write("file")
        report = clada.execute(clada.parse(write("a")), workspace=os.path.join(place.inside, path), git=False)
        assert report.fatal is not None
        assert report.fatal.type == type_


def test_nothing_of_the_host_changes(place: Place) -> None:
    """Not the working directory, not the umask, not the open files."""
    before = (os.getcwd(), open_handles())
    execute(place, "".join(write(f"{number}/a") + edit(f"{number}/a", "new", "x") for number in range(50)))
    assert (os.getcwd(), open_handles()) == before
