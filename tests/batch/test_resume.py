"""A batch that was stopped, or killed at any moment, goes on where it was, and ends as one that was not."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import copy
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document
from tests.messages import headline
from tests.waiting import eventually, is_alive

import clada
from clada.world.processes.children import descendants

if TYPE_CHECKING:
    from tests.batch.conftest import Yard

KILLS = 20
SAME = ("id", "status", "error", "diff", "notation", "model")


def written(path: Path) -> int:
    """Return how many results there are."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def fill(yard: Yard, count: int) -> None:
    """Make a workspace, and jobs of all kinds for it."""
    yard.workspace("w", a_txt="old\n", b_txt="".join(f"line {line}\n" for line in range(50)))
    counter = "sh -c 'echo again >> log; sleep 0.02'"
    kinds: list[dict[str, Any]] = [
        {"document": edit() + edit("line 7\n", "seven\n", "b.txt")},
        {"document": edit() + '<---WRITE file="c.txt" append="true"--->\nmore\n<---END--->\n'},
        {"document": edit() + run_document(counter), "options": {"approve": [counter]}},
        {"document": edit() + edit("nothing"), "checks": ["sh -c 'echo checked >> log; cat log'"]},
    ]
    yard.jobs([
        {"id": number, "path": "w", "model": f"m{number % 3}", **kinds[number % len(kinds)]}
        for number in range(count)
    ])  # fmt: skip


@pytest.mark.slow
def test_a_batch_that_is_killed_at_any_moment_and_resumed_ends_as_one_that_is_not(yard: Yard) -> None:
    fill(yard, 30)
    unbroken = copy.copy(yard)
    unbroken.out = yard.top / "unbroken.jsonl"
    assert unbroken.batch("--approve-checks", "--workers=2").returncode == 0
    chance = random.Random(21)
    kills = 0
    for number in range(KILLS):
        flags = ("--resume",) if number else ()
        process = subprocess.Popen(
            yard.command("--approve-checks", "--workers=2", *flags), cwd=yard.top, env=yard.environment,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        enough = written(yard.out) + chance.randrange(4)  # by the clock, a quick batch might be done
        assert eventually(lambda: written(yard.out) >= enough or process.poll() is not None)  # noqa: B023
        time.sleep(chance.uniform(0, 0.1) if enough else chance.uniform(0.1, 0.4))
        kills += process.poll() is None
        process.kill()
        process.wait()
    with yard.out.open("ab") as file:
        file.write(b'{"id": "torn')
    done = yard.batch("--approve-checks", "--workers=2", "--resume")
    assert (done.returncode, kills >= 2) == (0, True), done.stderr
    ours, theirs = yard.results(), unbroken.results()
    assert sorted(ours) == sorted(theirs)
    for id_, result in theirs.items():
        assert {name: ours[id_].get(name) for name in SAME} == {name: result.get(name) for name in SAME}, id_
        for check in ours[id_]["checks"]:
            assert check["output"] == "checked\n"  # in a fresh copy each time
    assert eventually(lambda: not os.path.exists(f"{yard.out}.work"))


def test_ctrl_c_ends_in_order_and_resume_does_the_rest(yard: Yard) -> None:
    yard.workspace("w")
    slow = "sleep 0.4"
    yard.jobs([
        {"id": number, "path": "w", "document": run_document(slow), "options": {"approve": [slow]}}
        for number in range(20)
    ])  # fmt: skip
    process = subprocess.Popen(
        yard.command("--workers=2"), cwd=yard.top, env=yard.environment, stderr=subprocess.PIPE, text=True
    )
    assert eventually(lambda: yard.out.exists() and yard.out.stat().st_size)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    first = yard.results()
    assert 0 < len(first) < 20
    assert set(yard.statuses().values()) == {"applied"}  # those that ran came to their end
    assert "; press Ctrl-C again to end at once\n" in errors
    assert f"clada: stopped; {20 - len(first)} of 20 jobs left\n  clada batch " in errors
    done = yard.batch("--resume")
    assert done.returncode == 0
    assert len(yard.results()) == 20
    assert f"; {len(first)} already had results\n" in done.stderr


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM, signal.SIGINT], [signal.SIGKILL]]
)
def test_a_second_signal_ends_at_once_and_nothing_is_left_running(yard: Yard, signals: list[int]) -> None:
    yard.workspace("w")
    mark = f"sleep 987.{os.getpid()}"
    yard.jobs([{"id": "a", "path": "w", "document": edit() + run_document(mark),
                "options": {"approve": [mark], "timeout": 1000}}])  # fmt: skip
    process = subprocess.Popen(yard.command(), cwd=yard.top, env=yard.environment, stderr=subprocess.DEVNULL)
    # Not before: bwrap 0.8 leaves a process behind if it is killed while it starts.
    assert eventually(lambda: any(not line.startswith("/usr/bin/bwrap") for line in alive(mark)))
    started = descendants(process.pid)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    assert process.wait(60) == -signals[-1]
    assert eventually(lambda: not alive(mark) and not any(map(is_alive, started))), alive("")
    assert yard.results() == {}
    yard.jobs([{"id": "a", "path": "w", "document": edit()}])
    assert yard.batch("--resume").returncode == 0
    assert yard.statuses() == {"a": "applied"}
    assert not os.path.exists(f"{yard.out}.work")  # what the killed batch left is gone, too


def alive(text: str) -> list[str]:
    """Return the command lines of processes that have this text in theirs."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and pid != os.getpid() and is_alive(pid):
            found.append(line)
    return found


def test_a_torn_last_line_is_cut_off_and_its_job_runs_again(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": name, "path": "w", "document": edit()} for name in "abc"])
    assert yard.batch("--workers=1").returncode == 0
    whole = yard.out.read_bytes()
    for cut in (1, 2, 100, len(whole.splitlines(keepends=True)[-1]) - 1):
        yard.out.write_bytes(whole[:-cut])
        assert yard.batch("--resume").returncode == 0
        assert yard.statuses() == {"a": "applied", "b": "applied", "c": "applied"}


def test_a_resumed_batch_that_was_done_does_nothing(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": "a", "path": "w", "document": edit()}])
    yard.batch()
    before = yard.out.read_bytes()
    done = yard.batch("--resume")
    assert (done.returncode, yard.out.read_bytes()) == (0, before)
    assert done.stderr.endswith(": nothing to do; 1 already had results\n")


def test_two_batches_do_not_write_the_same_results(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = yard.workspace("w")
    monkeypatch.setattr("clada.batch.results.LOCK_WAIT", 0.2)
    jobs = [{"id": name, "path": str(folder), "document": edit()} for name in "ab"]
    first = clada.batch.run(jobs, out=yard.out)
    next(first)
    with pytest.raises(clada.CladaError, match="another batch is writing"):
        next(clada.batch.run(jobs, out=yard.out, resume=True))
    assert len(list(first)) == 1


def with_a_full_disk(yard: Yard) -> subprocess.CompletedProcess[str]:
    """Run a batch that cannot write all its results: the limit of a file's size stands in for a full disk."""
    limited = ["sh", "-c", 'ulimit -f 16; exec "$0" "$@"', *yard.command("--workers=1")]
    return subprocess.run(
        limited, cwd=yard.top, env=yard.environment, capture_output=True, text=True, check=False
    )


def test_results_that_cannot_be_written_stop_the_batch_and_are_not_torn(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": number, "path": "w", "document": edit()} for number in range(12)])
    done = with_a_full_disk(yard)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"clada: {yard.out} cannot be written: file too large\n  make room, and continue"
    )
    assert 0 < len(yard.results()) < 12  # all of them whole
    assert yard.batch("--resume").returncode == 0
    assert len(yard.results()) == 12


def test_a_line_that_is_no_result_is_named(yard: Yard) -> None:
    yard.jobs([])
    yard.out.write_text(json.dumps({"id": "a", "status": "applied"}) + "\n[]\n")
    done = yard.batch("--resume")
    assert (done.returncode, headline(done.stderr)) == (
        2,
        f"clada: {yard.out}, line 2: not a result of a batch: id or status is missing\n",
    )


def test_kept_workspaces_stay_and_those_of_a_killed_batch_go(yard: Yard) -> None:
    yard.workspace("w")
    slow = "sleep 0.3"
    jobs: list[dict[str, Any]] = [{"id": "first", "path": "w", "document": edit()}]
    jobs += [
        {"id": number, "path": "w", "document": run_document(slow), "options": {"approve": [slow]}}
        for number in range(4)
    ]
    yard.jobs(jobs)
    process = subprocess.Popen(yard.command("--keep=all", "--workers=2"), cwd=yard.top, env=yard.environment)
    assert eventually(lambda: written(yard.out) >= 2)
    process.kill()
    process.wait()
    kept = {result["workspace"] for result in yard.results().values()}
    assert yard.batch("--keep=none", "--resume").returncode == 0
    found = {
        path for run in os.scandir(f"{yard.out}.work") for path in map(os.path.abspath, Path(run).iterdir())
    }
    assert found == kept


def test_results_may_be_a_directory_of_shards(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(yard.workspace("w"))
    monkeypatch.setattr("clada.batch.results.SHARD_BYTES", 3000)
    jobs = [{"id": number, "path": folder, "document": edit()} for number in range(8)]
    out = f"{yard.top}/results/"
    for _count, _result in zip(range(4), clada.batch.run(jobs, out=out, workers=1), strict=False):
        pass
    shards = sorted(os.listdir(out))
    assert len(shards) > 1
    with open(f"{out}{shards[-1]}", "ab") as file:
        file.write(b'{"torn')
    assert len(list(clada.batch.run(jobs, out=out, resume=True))) >= 4
    lines = [json.loads(line) for file in Path(out).iterdir() for line in file.read_bytes().splitlines()]
    assert sorted(line["id"] for line in lines) == list("01234567")
    with pytest.raises(clada.UsageError, match="exists: continue it with --resume"):
        next(clada.batch.run(jobs, out=out))
