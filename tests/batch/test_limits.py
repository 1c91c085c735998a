"""Limits of each job hold against hostile answers: one costs itself, and the others succeed."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import mmap
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document
from tests.waiting import eventually, is_alive

import clada
from clada.batch import workspaces
from clada.batch.limits import excess
from clada.batch.worker import BOARD, JOB, NOW, RESULT

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
    for _ in range(8):
        if os.fork() == 0:
            break
    data = os.urandom(1 << 20) * 120
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


LINE = "x" * 63 + "\n"  # each end of a line takes a program that writes or reads JSON longer than the line


def good(count: int) -> list[dict[str, Any]]:
    return [{"id": f"good-{number}", "path": "w", "document": edit()} for number in range(count)]


def test_hostile_jobs_beside_good_ones_which_all_succeed(yard: Yard) -> None:
    yard.workspace("w")
    closed = yard.workspace("closed")
    (closed / "a.txt").chmod(0o444)
    closed.chmod(0o555)
    (yard.top / "large.md").write_bytes(b'<---WRITE file="large.txt"--->\n' + b"x" * 79 + b"\n" * (50 << 20))
    jobs = good(12)
    jobs[2:2] = [command_job("bomb", script(yard, "bomb.py", BOMB))]
    jobs[4:4] = [command_job("memory", script(yard, "memory.py", MEMORY))]
    jobs[6:6] = [command_job("endless", script(yard, "endless.py", ENDLESS), timeout=1)]
    jobs[8:8] = [
        {"id": "large", "path": "w", "document": '<---WRITE file="large.txt"--->\n' + LINE * (50 << 14)},
        {"id": "too-large", "path": "w", "document_file": "large.md"},
        {"id": "closed", "path": "closed", "document": edit()},
        {"id": "closed-in-place", "path": "closed", "document": edit(), "in_place": True},
        command_job("spread", script(yard, "spread.py", SPREAD)),
    ]
    yard.jobs(jobs)
    done = yard.batch("--workers=2", "--job-memory=600MB", "--job-processes=48", "--max-output=1MB")
    assert done.returncode == 0, done.stderr
    results, statuses = yard.results(), yard.statuses()
    assert {statuses[f"good-{number}"] for number in range(12)} == {"applied"}
    assert (statuses["bomb"], results["bomb"]["attempts"]) == ("crashed", 2)
    assert "processes, and 48 are allowed" in results["bomb"]["error"]
    assert statuses["memory"] == "failed"
    assert "MemoryError" in " ".join(results["memory"]["report"]["blocks"][0]["tasks"][0]["output"])
    assert results["endless"]["error_type"] == "exec_timeout"
    assert len(str(results["endless"])) < 3 << 20
    assert statuses["large"] == "invalid"  # it is cut off, and larger than may be
    assert results["too-large"]["error_type"] == "input_too_large"
    for id_ in ("closed", "closed-in-place"):
        assert (statuses[id_], results[id_]["error_type"]) == ("failed", "permission_denied")
    assert (closed / "a.txt").read_text() == "old\n"
    assert statuses["spread"] == "crashed"
    assert "of memory, and 600 MB are allowed" in results["spread"]["error"]
    assert not [line for line in processes() if str(yard.top) in line]


def test_the_board_names_a_job_that_begins_when_the_results_of_short_ones_are_sent(yard: Yard) -> None:
    """By that its limits hold. Both jobs are there before the worker is, so the first one's result waits."""
    yard.workspace("w")
    work = str(yard.top / "work")
    workspaces.make_directories(work)
    ours, theirs = socket.socketpair()
    for number, job in enumerate([*good(1), command_job("slow", "sleep 1")]):
        text = json.dumps(job).encode()
        ours.sendall(JOB.pack(number, 1, len(text)) + text)
    with ours, theirs, tempfile.TemporaryFile() as file:
        file.truncate(BOARD)
        board = mmap.mmap(file.fileno(), BOARD)
        program = f"""
            import mmap, socket
            from clada.batch.worker import BOARD, Worker
            from clada.batch.perform import Config
            board = mmap.mmap({file.fileno()}, BOARD)
            Worker(socket.socket(fileno={theirs.fileno()}), board, Config({work!r}, {str(yard.top)!r})).run()
        """
        handles = (file.fileno(), theirs.fileno())
        with subprocess.Popen([PYTHON, "-c", textwrap.dedent(program)], pass_fds=handles) as worker:
            assert RESULT.unpack_from(ours.recv(1 << 16))[0] == 0
            seen = set()
            while not select.select([ours], [], [], 0.01)[0]:  # the second result
                seen.add(NOW.unpack_from(board)[0])
            ours.shutdown(socket.SHUT_WR)
            assert worker.wait() == 0
        assert 2 in seen


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


def test_the_output_of_all_tasks_of_a_job_and_of_all_its_checks_has_one_limit(yard: Yard) -> None:
    yard.workspace("w", a_txt="12345678\n" * 80)
    yard.jobs([
        {"id": 1, "path": "w", "document": run_document("cat a.txt") * 3, "checks": ["cat a.txt"] * 3},
    ])  # fmt: skip
    assert yard.batch("--max-output=1500", "--approve-checks").returncode == 0
    result = yard.results()["1"]
    tasks = [task for block in result["report"]["blocks"] for task in block["tasks"]]
    kept = [(len("\n".join(task["output"])), task["truncated"]) for task in tasks]
    assert kept[0] == (719, False)
    assert [cut for _length, cut in kept] == [False, False, True]
    assert sum(length for length, _cut in kept) <= 1500
    assert result["checks"][0]["truncated"] is False
    assert result["checks"][2]["truncated"] is True
    assert sum(len(check["output"]) for check in result["checks"]) <= 1500
    shown = yard.clada("batch", "--help").stdout
    assert "output kept of the tasks of a job, and of its checks" in shown


def test_a_bomb_that_grows_is_ended(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([command_job("bomb", script(yard, "bomb.py", EXPONENTIAL)), *good(3)])
    yard.batch("--workers=1", "--job-processes=40")
    assert yard.statuses() == {"bomb": "crashed", **{f"good-{number}": "applied" for number in range(3)}}
    assert not [line for line in processes() if str(yard.top) in line]


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


def test_a_worker_that_hangs_costs_one_job_which_is_tried_again_once(yard: Yard) -> None:
    """A pipe where the document should be: nobody ever writes to it."""
    folder = yard.workspace("w")
    os.mkfifo(yard.top / "pipe")
    yard.jobs([
        *good(2),
        {"id": "hangs", "path": "w", "in_place": True, "document_file": "pipe"},
        {"id": "after", "path": "w", "in_place": True, "document": edit()},
    ])  # fmt: skip
    yard.batch("--workers=1", "--job-timeout=500ms")
    results = yard.results()
    assert (results["hangs"]["status"], results["hangs"]["attempts"]) == ("timeout", 2)
    assert results["hangs"]["error"] == "it took longer than 0.5 s"
    assert results["after"]["status"] == "applied"
    assert (folder / "a.txt").read_text() == "new\n"


def test_a_worker_that_is_killed_costs_nothing_but_time(yard: Yard) -> None:
    """Its job is put back, and tried again."""
    yard.workspace("w")
    folder = yard.workspace("in_place", a_txt="old\n", log="")
    once = script(yard, "once.py", f"""
        import os, signal, time
        with open("log", "a") as file:
            file.write("x")
        if not os.path.exists("{yard.top}/killed"):
            open("{yard.top}/killed", "w").close()
            above = [os.getppid()]  # the command's supervisor, the job's process, the worker, its keeper
            while "clada.batch.keeper" in open(f"/proc/{{above[-1]}}/cmdline").read():
                line = open(f"/proc/{{above[-1]}}/stat").read().rpartition(")")[2].split()
                above.append(int(line[1]))
            os.kill(above[-3], signal.SIGKILL)
            time.sleep(60)
    """)  # fmt: skip
    job = command_job("killer", once)
    job |= {"path": "in_place", "in_place": True, "document": edit() + run_document(once)}
    yard.jobs([job, *good(2)])
    assert yard.batch("--workers=1").returncode == 0
    results = yard.results()
    assert (results["killer"]["status"], results["killer"]["attempts"]) == ("applied", 2)
    assert (folder / "log").read_text() == "x"  # once: the first attempt was put back
    assert [results[f"good-{number}"]["status"] for number in range(2)] == ["applied", "applied"]


def test_a_job_that_crashes_each_time_leaves_its_workspace_as_it_was(yard: Yard) -> None:
    folder = yard.workspace("w")
    bomb = script(yard, "bomb.py", BOMB)
    job = command_job("bomb", bomb)
    yard.jobs([{**job, "in_place": True, "document": edit() + run_document(bomb)}])
    yard.batch("--workers=1", "--job-processes=20")
    assert yard.results()["bomb"]["status"] == "crashed"
    assert (folder / "a.txt").read_text() == "old\n"
    assert not os.path.exists(f"{yard.out}.work")


def test_the_limit_of_memory_counts_what_all_processes_have_together() -> None:
    program = "import time; data = b'x' * (60 << 20); print(flush=True); time.sleep(60)"
    with subprocess.Popen([PYTHON, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert excess(process.pid, 30 << 20, 5) is not None
        assert excess(process.pid, 300 << 20, 5) is None
        process.kill()


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
    "given", [{"timeout": 0}, {"memory": -1}, {"processes": 0}, {"keep": "some"}, {"engine": "x"}]
)
def test_wrong_arguments_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(clada.UsageError):
        clada.batch.run([], **given)
