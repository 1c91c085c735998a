"""Load: large documents, many runs, many at once, large repositories, and a long life as a library."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.attacks.parsers import measured
from tests.attacks.place import Place, interpreter, ordinary
from tests.attacks.rows import Row
from tools.plain_git import FSCK

if TYPE_CHECKING:
    from collections.abc import Callable

MB = 1 << 20
AT_ONCE = 8
QUIET = ("--summary=none", "--output-mode=silent")
GROWTH = 2.0  # MB that a long life may cost: the allocator's own


def rows() -> list[Row]:
    """Return what load showed."""
    return [
        _many_operations(100_000),
        _many_edits_of_one_file(10_000),
        _large_document(50),
        _in_a_row(100),
        _at_once_in_one_workspace(20),
        _at_once_in_different_workspaces(20),
        _large_repository(20_000),
        _long_life(5_000),
    ]


def _many_operations(count: int) -> Row:
    operation = '<---WRITE file="d{0}/f{1}"--->\n{1}\n<---END--->\n'
    text = "".join(operation.format(number % 100, number) for number in range(count))
    with Place(ordinary()) as place:
        place.give()
        run = measured(place, text.encode(), "--no-git", *QUIET)
        made = sum(1 for path in place.inside.rglob("f*"))
    observed = f"{made:,} made in {run.cpu:.1f} s of a processor, {run.memory:.0f} MB"
    return Row(
        f"{count:,} operations in one document",
        f"{count:,} files made, exit 0",
        observed,
        made == count and not run.result.code,
    )


def _many_edits_of_one_file(count: int) -> Row:
    operation = '<---SEARCH file="f"--->\nline {0} old\n<---REPLACE--->\nline {0} new\n<---END--->\n'
    text = "".join(operation.format(number) for number in range(count))
    with Place(ordinary()) as place:
        file = place.put("f", "".join(f"line {number} old\n" for number in range(count)))
        place.give()
        run = measured(place, text.encode(), "--no-git", *QUIET)
        done = file.read_text().count("new")
    observed = f"{done:,} made in {run.cpu:.1f} s of a processor, {run.memory:.0f} MB"
    return Row(
        f"{count:,} edits of one file",
        f"{count:,} edits made, exit 0",
        observed,
        done == count and not run.result.code,
    )


def _large_document(size: int) -> Row:
    each = "x" * 99_900 + "\n"
    count = size * MB // 100_000
    text = "".join(f'<---WRITE file="f{number}"--->\n{each}<---END--->\n' for number in range(count))
    with Place(ordinary()) as place:
        place.give()
        run = measured(place, text.encode(), "--no-git", *QUIET)
        made = sum(path.stat().st_size for path in place.inside.iterdir())
    observed = f"{made / MB:.1f} MB written in {run.cpu:.1f} s of a processor, {run.memory:.0f} MB of memory"
    ok = made == count * 99_901 and not run.result.code and run.memory < 100 + 8 * size
    return Row(f"a document of {size} MB", "all written, memory in proportion", observed, ok)


def _in_a_row(count: int) -> Row:
    with Place(ordinary()) as place:
        place.repository()
        start = time.perf_counter()
        codes = [place.clada(_append("log", n), "--lock-file=../lock", *QUIET).code for n in range(count)]
        seconds = time.perf_counter() - start
        problem = _complete(place, ["log"], count) or (f"exit {max(codes)}" if any(codes) else "")
    observed = problem or f"all there, git sound; {1000 * seconds / count:.0f} ms a run"
    return Row(
        f"{count:,} runs in a row on one workspace with --lock-file",
        "all there, git sound",
        observed,
        not problem,
    )


def _append(name: str, number: int) -> str:
    return f'<---WRITE file="{name}" append="true"--->\nline {number}\n<---END--->\n'


def _complete(place: Place, names: list[str], count: int) -> str:
    """Return what is missing after so many runs; nothing, if all is well."""
    for name in names:
        file = place.inside / name
        lines = file.read_text().splitlines() if file.exists() else []
        if sorted(lines) != sorted(f"line {number}" for number in range(count)):
            return f"{name} has {len(lines)} lines, {len(set(lines))} different"
    checked = place.run(["git", *FSCK])
    if checked.code or checked.err:
        return f"git fsck: {checked.err}"
    left = place.git("status", "--porcelain")
    return f"not committed: {left}" if left else ""


def _at_once_in_one_workspace(each: int) -> Row:
    """Return what comes of several at once that all change the same file: none may lose another's line."""
    count = AT_ONCE * each
    with Place(ordinary()) as place:
        place.repository()
        flags = ("--lock-file=../lock", "--lock-timeout=100s", *QUIET)
        codes = _pooled(lambda number: place.clada(_append("log", number), *flags).code, count)
        problem = _complete(place, ["log"], count)
        history = len(place.clada("", "history").out.splitlines())
    observed = problem or f"all {count} lines there, git sound, {history} lines of history"
    case = f"{AT_ONCE} at once on one workspace with --lock-file, {count} runs"
    return Row(case, "no line lost, git sound", observed, not problem and not any(codes))


def _at_once_in_different_workspaces(each: int) -> Row:
    count = AT_ONCE * each
    with ExitStack() as stack:
        places = [stack.enter_context(Place(ordinary())) for _ in range(AT_ONCE)]
        for place in places:
            place.repository()
        codes = _pooled(
            lambda number: places[number % AT_ONCE].clada(_append("log", number // AT_ONCE), *QUIET).code,
            count,
        )
        problems = [found for place in places if (found := _complete(place, ["log"], each))]
    observed = problems[0] if problems else f"all {count} lines there, git sound"
    case = f"{AT_ONCE} at once on different workspaces, {count} runs"
    return Row(case, "no line lost, git sound", observed, not problems and not any(codes))


def _pooled(work: Callable[[int], int], count: int) -> list[int]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, range(count)))


def _large_repository(count: int) -> Row:
    """Return what a run costs in a large repository, beside what git itself needs to look at it."""
    with Place(ordinary()) as place:
        for number in range(count):
            place.put(f"d{number % 250}/f{number}", f"{number}\n")
        place.repository()
        place.git("status")
        start = time.perf_counter()
        place.git("status", "--porcelain")
        looked = time.perf_counter() - start
        start = time.perf_counter()
        result = place.clada(_append("d1/f1", 1), *QUIET)
        seconds = time.perf_counter() - start
        subject = place.git("log", "-1", "--format=%s")
    ok = result.code == 0 and subject.startswith("[clada:post]")
    observed = f"exit {result.code}, {seconds / looked:.1f} times as long as one git status"
    return Row(f"a repository of {count:,} files", "committed", observed, ok)


LIFE = """
import gc, json, os, sys, tempfile
import clada

def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)

def descriptors():
    return len(os.listdir("/proc/self/fd"))

def call(number, workspace):
    blocks = [{"tasks": [
        {"action": "write", "path": f"f{number % 50}", "content": f"{number}\\n" * 50},
        {"action": "edit", "path": f"f{number % 50}", "search": f"{number}\\n" * 50, "replace": "x"},
        {"action": "edit", "path": f"f{number % 50}", "search": "not there", "replace": "y"},
    ]}, {"tasks": [{"action": "run", "command": "mkdir -p d && touch d/x && rm -r d"}]}]
    plan = clada.parse(json.dumps(blocks))
    clada.parse("<---WRITE file=")
    clada.parse('<tasks><write path="x">y</write></tasks>')
    report = clada.execute(plan, workspace=workspace, git=False)
    assert [task.status for task in report.tasks] == ["success", "success", "error", "success"], report
    if number % 20 == 0:
        listed = clada.parse('{"tasks": [{"action": "run", "command": "ls"}]}')
        assert clada.execute(listed, workspace=workspace, git=False).ok

count = int(sys.argv[1])
with tempfile.TemporaryDirectory() as workspace:
    for number in range(count // 10):
        call(number, workspace)
    gc.collect()
    before = memory(), descriptors()
    for number in range(count):
        call(number, workspace)
    gc.collect()
    print(json.dumps([before, (memory(), descriptors())]))
"""


def _long_life(count: int) -> Row:
    """Return what a process has grown by, after so many calls of the library."""
    with Place(ordinary()) as place:
        place.give()
        done = place.run(
            [interpreter(place.user), "-c", LIFE, str(count)], environment={"TMPDIR": str(place.home)}
        )
    case, required = (
        f"{count:,} library calls in one process",
        f"growth below {GROWTH:g} MB, no descriptor leaked",
    )
    if done.code:
        return Row(case, required, done.err[-300:], False)
    (memory, handles), (later, handles_later) = json.loads(done.out)
    observed = f"{later - memory:+.1f} MB, {handles_later - handles:+d} descriptors"
    return Row(case, required, observed, later - memory < GROWTH and handles == handles_later)
