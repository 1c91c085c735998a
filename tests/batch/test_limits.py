"""Limits of each job hold against hostile answers: one costs itself, and the others succeed."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document
from tests.waiting import eventually, is_alive

import clada
from clada.batch import engines, limits
from clada.world.processes.children import descendants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard

PYTHON = sys.executable
BOMB = """
    import os, time
    for _ in range(64):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
    time.sleep(600)
"""
# It grows to a few thousand at most, so that the machine survives where the limit does not hold.
EXPONENTIAL = """
    import contextlib, os, time
    for _ in range(11):
        with contextlib.suppress(OSError):
            os.fork()
        time.sleep(0.02)
    time.sleep(600)
"""
MEMORY = "x = bytearray(4 << 30); x[::4096] = b'x' * len(x[::4096])"
SPREAD = """
    import os, time
    first = os.getpid()
    for _ in range(8):
        if os.fork() == 0:
            break
    data = os.urandom(1 << 20) * 120
    if os.getpid() == first:  # it ends all of them with the first child that the kernel kills
        os.wait()
        os.killpg(0, 9)
    time.sleep(600)
"""
ENDLESS = "while True: print('x' * 1000)"


def script(yard: Yard, name: str, text: str) -> str:
    """Put a program beside the workspaces; return the command that starts it."""
    (yard.top / name).write_text(textwrap.dedent(text))
    return f"{PYTHON} {yard.top}/{name}"


def command_job(id_: str, command: str, **options: Any) -> dict[str, Any]:
    return {
        "id": id_, "path": "w", "document": run_document(command),
        "options": {"approve": [command], "sandbox": "off", "timeout": 600, **options},
    }  # fmt: skip


def can_make_groups() -> bool:
    """Return whether this machine lets us make control groups that count processes and memory."""
    join = "limits._join_group('pids', {'pids.max': 99})"
    join += " and limits._join_group('memory', {'memory.max': 1 << 31, 'memory.limit_in_bytes': 1 << 31})"
    program = f"from clada.batch import limits; print({join})"
    done = subprocess.run([PYTHON, "-c", program], capture_output=True, check=True, text=True)
    limits.remove_groups()
    return done.stdout == "True\n"


LINE = "x" * 63 + "\n"  # each end of a line takes a program that writes or reads JSON longer than the line


def good(count: int) -> list[dict[str, Any]]:
    return [{"id": f"good-{number}", "path": "w", "document": edit()} for number in range(count)]


@pytest.mark.slow
def test_hostile_jobs_beside_good_ones_which_all_succeed(yard: Yard) -> None:
    yard.workspace("w")
    closed = yard.workspace("closed")
    (closed / "a.txt").chmod(0o444)
    closed.chmod(0o555)
    (yard.top / "large.md").write_bytes(b'<---WRITE file="large.txt"--->\n' + b"x" * 79 + b"\n" * (50 << 20))
    jobs = good(12)
    jobs[2:2] = [command_job("bomb", script(yard, "bomb.py", BOMB), timeout=5)]
    jobs[4:4] = [command_job("memory", script(yard, "memory.py", MEMORY))]
    jobs[6:6] = [command_job("endless", script(yard, "endless.py", ENDLESS), timeout=1)]
    jobs[8:8] = [
        {"id": "large", "path": "w", "document": '<---WRITE file="large.txt"--->\n' + LINE * (50 << 14)},
        {"id": "too-large", "path": "w", "document_file": "large.md"},
        {"id": "closed", "path": "closed", "document": edit()},
        command_job("spread", script(yard, "spread.py", SPREAD), timeout=5),
    ]
    yard.jobs(jobs)
    done = yard.batch("--workers=2", "--job-memory=500MB", "--job-processes=48", "--max-output=1MB")
    assert done.returncode == 0, done.stderr
    results, statuses = yard.results(), yard.statuses()
    assert {statuses[f"good-{number}"] for number in range(12)} == {"applied"}
    assert statuses["memory"] == "failed"
    assert "MemoryError" in " ".join(results["memory"]["report"]["blocks"][0]["tasks"][0]["output"])
    assert results["endless"]["error_type"] == "exec_timeout"
    assert len(str(results["endless"])) < 3 << 20
    assert statuses["large"] == "invalid"  # it is cut off, and larger than may be
    assert results["too-large"]["error_type"] == "input_too_large"
    assert (statuses["closed"], results["closed"]["error_type"]) == ("failed", "permission_denied")
    assert (closed / "a.txt").read_text() == "old\n"
    assert statuses["spread"] in {"failed", "crashed", "timeout"}
    assert statuses["bomb"] in {"failed", "timeout"}
    assert not [line for line in processes() if str(yard.top) in line]


def processes() -> list[str]:
    """Return the command lines of all processes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                found.append(file.read().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_the_output_of_all_tasks_of_a_job_has_one_limit_and_checks_keep_their_end(yard: Yard) -> None:
    yard.workspace("w", a_txt="".join(f"{number:08}\n" for number in range(80)))
    flood = "seq 100000 199999"
    yard.jobs([
        {"id": 1, "path": "w", "document": run_document("cat a.txt") * 3, "checks": [flood, "cat a.txt"]},
    ])  # fmt: skip
    assert yard.batch("--max-output=1500", "--approve-checks").returncode == 0
    result = yard.results()["1"]
    tasks = [task for block in result["report"]["blocks"] for task in block["tasks"]]
    kept = [(len("\n".join(task["output"])), task["truncated"]) for task in tasks]
    assert kept[0] == (719, False)
    assert [cut for _length, cut in kept] == [False, False, True]
    assert sum(length for length, _cut in kept) <= 1500
    assert [check["truncated"] for check in result["checks"]] == [True, False]
    assert result["checks"][1]["output"].endswith("00000079\n")
    yard.out.unlink()
    assert yard.batch("--approve-checks").returncode == 0
    (check, _cat) = yard.results()["1"]["checks"]
    assert (len(check["output"]), check["truncated"]) == (16_000, True)
    assert check["output"].endswith("\n199999\n")


@pytest.mark.slow
def test_a_bomb_that_grows_costs_itself_alone(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([command_job("bomb", script(yard, "bomb.py", EXPONENTIAL), timeout=5), *good(3)])
    yard.batch("--workers=1", "--job-processes=40")
    assert yard.statuses().pop("bomb") in {"failed", "crashed"}
    assert [yard.statuses()[f"good-{number}"] for number in range(3)] == ["applied"] * 3
    assert eventually(lambda: not [line for line in processes() if str(yard.top) in line])


@pytest.mark.skipif(not can_make_groups(), reason="no control groups can be made here")
def test_a_control_group_holds_processes_that_multiply_and_memory_of_all_together(yard: Yard) -> None:
    yard.workspace("w")
    count = script(yard, "count.py", """
        import os, signal, time
        made = 0
        try:
            while made < 500:
                if os.fork() == 0:
                    time.sleep(60)
                made += 1
        except OSError:
            print("made", made, flush=True)
            os.killpg(0, signal.SIGKILL)
    """)  # fmt: skip
    jobs = [command_job("bomb", count), command_job("spread", script(yard, "spread.py", SPREAD)), *good(1)]
    yard.jobs(jobs)
    command = yard.command("--job-processes=40", "--job-memory=300MB", "--workers=1", "--job-timeout=60s")
    subprocess.run(command, cwd=yard.top, env=yard.environment, check=True, capture_output=True)
    results = yard.results()
    words = results["bomb"]["report"]["blocks"][0]["tasks"][0]["output"][0].split()
    assert (words[0], 30 <= int(words[1]) <= 40 + limits.OWN_PROCESSES) == ("made", True)
    assert results["spread"]["status"] in {"failed", "crashed"}
    assert "exec_timeout" not in str(results["spread"])  # the kernel ended it before
    assert results["good-0"]["status"] == "applied"


def test_a_job_over_its_time_is_ended_in_order_and_told_of_at_once(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([
        command_job("slow", "sleep 300"),
        {**good(1)[0], "id": "check", "checks": ["sleep 300", "true"]},
        *good(2),
    ])  # fmt: skip
    yard.batch("--workers=2", "--job-timeout=1s", "--approve-checks")
    results = yard.results()
    assert (results["slow"]["status"], results["slow"]["attempts"]) == ("timeout", 1)
    assert results["slow"]["error_type"] == "exec_timeout"
    assert results["check"]["status"] == "applied"
    assert [check["exit_code"] for check in results["check"]["checks"]] == [None, None] or (
        results["check"]["checks"][0]["error"] or results["check"]["checks"][0]["exit_code"]
    )
    assert results["good-0"]["status"] == "applied"


def test_a_worker_that_hangs_costs_one_job_which_is_tried_again_once(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe where the document should be: no process ever writes to it."""
    folder = str(yard.workspace("w"))
    os.mkfifo(yard.top / "pipe")
    monkeypatch.setattr(engines, "GRACE", 0.5)
    jobs = [{**job, "path": folder} for job in good(4)]
    jobs[2:2] = [{"id": "hangs", "path": folder, "document_file": f"{yard.top}/pipe"}]
    results = {result["id"]: result for result in clada.batch.run(jobs, workers=2, timeout=5)}
    hung = results.pop("hangs")
    assert (hung["status"], hung["attempts"]) == ("timeout", 2)
    assert hung["error"] == "it took longer than 5 s, and did not end"
    assert [(result["status"], result["attempts"]) for result in results.values()] == [("applied", 1)] * 4


KILLER = """
    import os, signal, time
    above = [os.getppid()]  # the command's supervisor, which is a fork of the worker, and the worker
    while "spawn_main" in open(f"/proc/{above[-1]}/cmdline").read():
        above.append(int(open(f"/proc/{above[-1]}/stat").read().rpartition(")")[2].split()[1]))
    worker = above[-2]
    with open("log", "a") as file:
        file.write("x")
    if not os.path.exists("MARKER"):
        open("MARKER", "w").close()
        os.kill(worker, signal.SIGKILL)
        time.sleep(60)
"""


@pytest.mark.parametrize("always", [False, True])
def test_a_worker_that_is_killed_costs_its_job_a_second_attempt(yard: Yard, *, always: bool) -> None:
    yard.workspace("w")
    marker = f"{yard.top}/nowhere/x" if always else f"{yard.top}/killed"
    text = KILLER.replace('open("MARKER", "w").close()', "pass") if always else KILLER
    killer = script(yard, "killer.py", text.replace("MARKER", marker))
    job = command_job("killer", killer)
    yard.jobs([job | {"checks": ["cat log"]}, *good(2)])
    assert yard.batch("--workers=1", "--approve-checks").returncode == 0
    results = yard.results()
    status = "crashed" if always else "applied"
    assert (results["killer"]["status"], results["killer"]["attempts"]) == (status, 2)
    if always:
        assert results["killer"]["error"] == "its worker was killed, or ran out of memory"
    else:
        assert results["killer"]["checks"][0]["output"] == "x\n"  # in a new copy
    assert [results[f"good-{number}"]["status"] for number in range(2)] == ["applied", "applied"]
    assert not os.path.exists(f"{yard.out}.work")


def test_a_worker_that_is_killed_between_two_jobs_costs_nothing(yard: Yard) -> None:
    folder = str(yard.workspace("w"))
    jobs = ({**job, "path": folder} for job in good(3))
    found = []
    for result in clada.batch.run(jobs, workers=1):
        found.append(result["attempts"])
        for pid in descendants(os.getpid()):
            if "spawn_main" in command_of(pid):
                os.kill(pid, signal.SIGKILL)
    assert len(found) == 3


def command_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def test_workers_end_with_the_program_that_started_them(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import clada, os, signal
        from clada.world.processes.children import descendants
        jobs = [{{"id": n, "path": {str(tmp_path)!r}, "document": "x"}} for n in range(3)]
        for result in clada.batch.run(jobs, workers=2):
            print(*descendants(os.getpid()), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run(
        [PYTHON, "-c", program], capture_output=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == -signal.SIGKILL
    workers = [int(pid) for pid in done.stdout.split()]
    assert len(workers) >= 2
    assert eventually(lambda: not any(map(is_alive, workers)))


def test_an_iterator_that_is_closed_ends_what_runs(yard: Yard) -> None:
    folder = yard.workspace("w")
    mark = f"sleep 876.{os.getpid()}"
    short = [command_job(f"short-{number}", "sleep 0.1") for number in range(100)]
    jobs = [{**job, "path": str(folder)} for job in (command_job("slow", mark), *short)]
    with closing(clada.batch.run(jobs, workers=2)) as results:  # type: ignore[type-var]
        for (
            result
        ) in results:  # its worker may be slow to start, and gets its job only as others come to an end
            assert result["status"] == "applied"
            if any(mark in line for line in processes()):
                break
        begin = time.monotonic()
    assert result["id"] != "slow"
    assert time.monotonic() - begin < 30
    assert not any(mark in line for line in processes())


@pytest.mark.parametrize(
    "given",
    [
        {"timeout": 0},
        {"memory": -1},
        {"processes": 0},
        {"timeout": float("nan")},
        {"keep": "some"},
        {"engine": "x"},
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(clada.UsageError):
        clada.batch.run([], **given)
