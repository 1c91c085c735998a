"""A batch that was stopped, or killed at any moment, goes on where it was, and ends as one that was not."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document
from tests.waiting import eventually, is_alive

import clada
from clada.batch import kept, workspaces
from clada.batch.jobs import Job, key_of
from clada.world.handles import remove_tree
from clada.world.processes.children import descendants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard

KILLS = 20
SAME = ("id", "status", "error", "diff", "notation", "model")


def picture(top: Path, names: list[str]) -> dict[str, str]:
    """Return what is in all files of these workspaces."""
    return {
        f"{name}/{file}": (top / name / file).read_text()
        for name in names
        for file in sorted(os.listdir(top / name))
    }


def written(path: Path) -> int:
    """Return how many results there are."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def fill(yard: Yard, count: int) -> list[str]:
    """Make workspaces, and jobs of all kinds for them; return the workspaces' names."""
    jobs: list[dict[str, Any]] = []
    names = []
    counter = "sh -c 'echo again >> log; sleep 0.02'"
    for number in range(count):
        name = f"w{number}"
        names.append(name)
        yard.workspace(name, a_txt="old\n", b_txt="".join(f"line {line}\n" for line in range(50)))
        job: dict[str, Any] = {"id": name, "path": name, "in_place": True, "model": f"m{number % 3}"}
        kinds: list[dict[str, Any]] = [
            {"document": edit() + edit("line 7\n", "seven\n", "b.txt")},
            {"document": edit() + '<---WRITE file="c.txt" append="true"--->\nmore\n<---END--->\n'},
            {"document": edit() + run_document(counter), "options": {"approve": [counter]}},
            {"document": edit() + edit("nothing"), "checks": ["sh -c 'echo checked >> log'"]},
            {"document": edit(), "in_place": False},
            # the same directory as the job before last
            {
                "document": '<---WRITE file="n.txt" append="true"--->\nx\n<---END--->\n',
                "path": f"w{number - 2}",
            },
        ]
        jobs.append({**job, **kinds[number % len(kinds)]})
    yard.jobs(jobs)
    return names


@pytest.mark.slow
def test_a_batch_that_is_killed_at_any_moment_and_resumed_ends_as_one_that_is_not(
    yard: Yard, tmp_path: Path
) -> None:
    names = fill(yard, 30)
    subprocess.run(["cp", "-r", str(tmp_path), f"{tmp_path}-unbroken"], check=True)
    unbroken = type(yard).__new__(type(yard))
    unbroken.__dict__.update(yard.__dict__)
    unbroken.top = tmp_path.with_name(f"{tmp_path.name}-unbroken")
    unbroken.jobs_file, unbroken.out = unbroken.top / "jobs.jsonl", unbroken.top / "results.jsonl"
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
    assert picture(yard.top, names) == picture(unbroken.top, names)
    assert not os.path.exists(f"{yard.out}.work")


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
    assert "; once more ends at once\n" in errors
    assert f"clada: stopped; {20 - len(first)} of 20 jobs are left: --resume goes on\n" in errors
    done = yard.batch("--resume")
    assert done.returncode == 0
    assert len(yard.results()) == 20
    assert f"; {len(first)} had results before\n" in done.stderr


@pytest.mark.parametrize(
    "signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM, signal.SIGINT], [signal.SIGKILL]]
)
def test_a_second_signal_ends_at_once_and_nothing_is_left_running(yard: Yard, signals: list[int]) -> None:
    folder = yard.workspace("w")
    mark = f"sleep 987.{os.getpid()}"
    yard.jobs([{"id": "a", "path": "w", "in_place": True, "document": edit() + run_document(mark),
                "options": {"approve": [mark], "timeout": 1000}}])  # fmt: skip
    process = subprocess.Popen(yard.command(), cwd=yard.top, env=yard.environment, stderr=subprocess.DEVNULL)
    assert eventually(lambda: alive(mark))
    started = descendants(process.pid)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    assert process.wait(60) == -signals[-1]
    assert eventually(
        lambda: not alive(mark) and not alive(str(yard.out)) and not any(map(is_alive, started))
    )
    assert yard.results() == {}
    assert (folder / "a.txt").read_text() == "new\n"
    yard.jobs([{"id": "a", "path": "w", "in_place": True, "document": edit("old", "newest")}])
    assert yard.batch("--resume").returncode == 0
    assert (folder / "a.txt").read_text() == "newest\n"  # it was put back first


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
    yard.jobs([{"id": "a", "path": "w", "in_place": True, "document": edit()}])
    yard.batch()
    before = yard.out.read_bytes()
    done = yard.batch("--resume")
    assert (done.returncode, yard.out.read_bytes()) == (0, before)
    assert done.stderr.endswith(": nothing to do; 1 had results before\n")


def test_two_batches_do_not_write_the_same_results(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = yard.workspace("w")
    monkeypatch.setattr("clada.batch.results.WAIT", 0.2)
    jobs = [{"id": name, "path": str(folder), "document": edit()} for name in "ab"]
    first = clada.batch.run(jobs, out=yard.out)
    next(first)
    with pytest.raises(clada.CladaError, match="another batch is at work"):
        next(clada.batch.run(jobs, out=yard.out, resume=True))
    assert len(list(first)) == 1


def test_what_was_begun_in_one_directory_is_put_back_the_last_first(yard: Yard) -> None:
    """Two jobs changed one file, and neither got its result."""
    folder, jobs = yard.counting_jobs()
    work = f"{yard.out}.work"
    workspaces.make_directories(work)
    for number, job in enumerate(jobs):
        place = workspaces.place_of(number, Job(job["id"], path="w", in_place=True), work, str(yard.top))
        kept.write(place.files, kept.packed(kept.look(str(folder), ["a.txt"])))
        assert clada.execute(job["document"], workspace=folder, git=False).ok
        assert key_of(job["id"]) in place.files
    assert (folder / "a.txt").read_text() == "2\n"
    done = yard.batch("--resume")
    assert (done.returncode, yard.statuses()) == (0, {"0": "applied", "1": "applied"})
    assert (folder / "a.txt").read_text() == "2\n"


def with_a_full_disk(yard: Yard) -> subprocess.CompletedProcess[str]:
    """Run a batch that cannot write all its results: the limit of a file's size stands in for a full disk."""
    limited = ["sh", "-c", 'ulimit -f 16; exec "$0" "$@"', *yard.command("--workers=1")]
    return subprocess.run(
        limited, cwd=yard.top, env=yard.environment, capture_output=True, text=True, check=False
    )


def test_a_copy_that_a_kill_left_half_removed_is_not_put_back(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = yard.workspace("w", a_txt="old\n", b_txt="old\n")
    place = workspaces.place_of(0, Job("0", path="w", in_place=True), str(yard.top / "work"), str(yard.top))
    workspaces.make_directories(place.work)
    workspaces.keep_copy(place)
    (folder / "a.txt").write_text("new\n")

    def killed(path: str) -> None:
        if not os.path.exists(f"{path}/a.txt"):
            return remove_tree(path)
        os.unlink(f"{path}/a.txt")
        raise KeyboardInterrupt

    monkeypatch.setattr(workspaces, "remove_tree", killed)
    with pytest.raises(KeyboardInterrupt):
        workspaces.restore(place)
    monkeypatch.undo()
    workspaces.restore(place)
    assert picture(yard.top, ["w"]) == {"w/a.txt": "old\n", "w/b.txt": "old\n"}
    assert not os.listdir(f"{place.work}/{workspaces.BEGUN}")


def test_results_that_cannot_be_written_stop_the_batch_and_are_not_torn(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": number, "path": "w", "document": edit()} for number in range(12)])
    done = with_a_full_disk(yard)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"clada: {yard.out} cannot be written: file too large; make room, and go on"
    )
    assert 0 < len(yard.results()) < 12  # all of them whole
    assert yard.batch("--resume").returncode == 0
    assert len(yard.results()) == 12


def test_a_job_whose_result_cannot_be_written_is_put_back(yard: Yard) -> None:
    for number in range(12):
        yard.workspace(f"w{number}")
    yard.jobs([
        {"id": number, "path": f"w{number}", "in_place": True, "document": edit()} for number in range(12)
    ])  # fmt: skip
    assert with_a_full_disk(yard).returncode == 1
    assert 0 < len(yard.results()) < 12
    assert yard.batch("--resume").returncode == 0
    assert set(yard.statuses().values()) == {"applied"}


def test_a_line_that_is_no_result_is_named(yard: Yard) -> None:
    yard.jobs([])
    yard.out.write_text(json.dumps({"id": "a", "status": "applied"}) + "\n[]\n")
    done = yard.batch("--resume")
    assert (done.returncode, done.stderr) == (2, f"clada: {yard.out}, line 2: this is no result of a batch\n")
