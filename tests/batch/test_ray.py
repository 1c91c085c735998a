"""The same jobs on a real Ray cluster of several nodes on this machine, one of which is killed meanwhile."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document
from tests.waiting import eventually
from tools.ray_cluster import ENVIRONMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.batch.conftest import Yard

pytestmark = [
    pytest.mark.slow,
    # Ray is not imported for that: it would take half a second of each process that collects tests.
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (requirements/ray.txt)"),
]

ROOT = Path(__file__).parents[2]
SAME = ("id", "status", "error", "diff", "model")
OTHERS = 2  # nodes beside the head
LISTENING = "0A"  # the state in /proc/net/tcp
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


class Nodes:
    """A cluster of a head, which works too, and other nodes."""

    def __init__(self) -> None:
        environment = {
            **os.environ, **ENVIRONMENT, "RAY_health_check_period_ms": "500",
            "RAY_health_check_failure_threshold": "3",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.ray_cluster", str(OTHERS)], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout
        found = json.loads(next(line for line in self.process.stdout if line.startswith("{")))
        self.address: str = found["address"]
        self.raylets: list[int] = found["raylets"]

    def kill(self, number: int) -> None:
        """Kill a node: it is gone from one moment to the next, with its workers."""
        raylet = self.raylets[number]
        children = below(raylet)
        os.kill(raylet, signal.SIGKILL)
        for pid in children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def close(self) -> None:
        """End it."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def below(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found.append(int(name))
    return found


def listening(pid: int) -> set[str]:
    """Return the addresses at which a process and those below it listen, as the kernel writes them."""
    sockets, found = {}, set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING:
                    sockets[f"socket:[{fields[9]}]"] = fields[1].partition(":")[0]
    for each in (pid, *descendants(pid)):
        try:
            names = os.listdir(f"/proc/{each}/fd")
            links = {os.readlink(f"/proc/{each}/fd/{name}") for name in names}
        except OSError:
            continue
        found |= {sockets[link] for link in links & set(sockets)}
    return found


def descendants(pid: int) -> list[int]:
    """Return the processes below a process."""
    found = below(pid)
    for each in found:  # which grows meanwhile
        found += below(each)
    return found


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    cluster = Nodes()
    yield cluster
    cluster.close()


@pytest.fixture(autouse=True)
def environment(yard: Yard) -> None:
    yard.environment |= ENVIRONMENT


def test_ray_listens_on_the_loopback_address_alone(yard: Yard, nodes: Nodes) -> None:
    """The cluster of these tests; and the one that a batch without an address starts by itself."""
    assert listening(nodes.process.pid)
    assert listening(nodes.process.pid) <= LOOPBACK
    yard.workspace("w")
    slow = "sleep 3"
    yard.jobs([{"id": 1, "path": "w", "document": run_document(slow), "options": {"approve": [slow]}}])
    environment = {name: value for name, value in yard.environment.items() if name not in ENVIRONMENT}
    command = yard.command("--engine=ray", "--workers=1")
    with subprocess.Popen(
        command, cwd=yard.top, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        seen: set[str] = set()
        while process.poll() is None:
            seen |= listening(process.pid)
            time.sleep(0.2)
        assert process.stderr
        assert process.returncode == 0, process.stderr.read()
    assert seen
    assert seen <= LOOPBACK
    assert set(yard.statuses().values()) == {"applied"}


def test_each_job_has_a_work_tree_of_its_own_on_the_node_that_runs_it(yard: Yard, nodes: Nodes) -> None:
    folder = yard.repository()
    first = yard.git(folder, "rev-parse", "HEAD")
    (folder / "a.txt").write_text("second\n")
    yard.git(folder, "commit", "-qam", "second")
    before = yard.git(folder, "for-each-ref"), sorted(os.listdir(folder / ".git"))
    commits = {"old": first, "second": "HEAD"}
    yard.jobs([
        {"id": f"{text}-{number}", "repo": "repo", "commit": commit, "document": edit(text, f"{number}"),
         "checks": ["cat a.txt"]}
        for text, commit in commits.items() for number in range(6)
    ])  # fmt: skip
    done = yard.batch("--engine=ray", f"--address={nodes.address}", "--approve-checks", "--keep=failed")
    assert done.returncode == 0, done.stderr
    for id_, result in yard.results().items():
        text, number = id_.split("-")
        assert result["status"] == "applied"
        assert result["diff"].endswith(f"-{text}\n+{number}\n")
        assert result["checks"][0]["output"] == f"{number}\n"
    assert len(yard.results()) == 12
    assert (yard.git(folder, "for-each-ref"), sorted(os.listdir(folder / ".git"))) == before
    assert not os.path.exists(f"{yard.out}.work")


# Draws jobs with documents of 1 MB as the engine asks for them; tells how far it was ahead of the results,
# how many tasks there were at once, and how much more memory it had at its end than after a quarter.
DRIVER = """
import json, sys
from clada.batch import Config
from clada.batch.engines import RayEngine
from clada.batch.jobs import Job
address, top, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
drawn = finished = ahead = tasks = 0
memory = {}

def jobs():
    global drawn
    for number in range(count):
        drawn += 1
        content = f"{number}\\n" + "x" * (1 << 20)
        document = f'<---WRITE file="a.txt"--->\\n{content}\\n<---END--->\\n'
        yield Job(str(number), path="w", document=document)

def anonymous():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("RssAnon:"))

with RayEngine(Config(f"{top}/work", top), address, 1) as engine:
    for result in engine.run(jobs()):
        finished += result is not None
        ahead, tasks = max(ahead, drawn - finished), max(tasks, engine.running)
        memory.setdefault(finished * 4 // count, anonymous())
print(json.dumps({"finished": finished, "ahead": ahead, "tasks": tasks, "more": anonymous() - memory[1]}))
"""


@pytest.mark.timeout(300)
def test_neither_jobs_nor_results_pile_up(yard: Yard, nodes: Nodes) -> None:
    """Jobs are read as there is room for them: two chunks for each processor, of 8 MB at most."""
    yard.workspace("w")
    count = 96
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, nodes.address, str(yard.top), str(count)],
        env=yard.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["finished"] == count
    chunks = 2 * (1 + OTHERS)
    assert 1 < found["tasks"] <= chunks
    assert found["ahead"] <= 8 * (chunks + 1)  # and those whose results are being taken
    assert found["more"] < count / 2  # megabytes, of the 72 that came after the first quarter


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_batch_on_a_cluster_is_resumed_on_this_machine(
    yard: Yard, nodes: Nodes, number: signal.Signals
) -> None:
    yard.workspace("w")
    slow = "sleep 0.5"
    yard.jobs([
        {"id": number, "path": "w", "document": run_document(slow), "options": {"approve": [slow]}}
        for number in range(16)
    ])  # fmt: skip
    command = yard.command("--engine=ray", f"--address={nodes.address}")
    with subprocess.Popen(
        command, cwd=yard.top, env=yard.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert eventually(lambda: yard.out.exists() and yard.out.stat().st_size)
        process.send_signal(number)
        assert process.stderr
        errors = process.stderr.read()
        assert process.wait(120) == 128 + number, errors
    assert 0 < len(yard.results()) < 16
    assert yard.batch("--resume").returncode == 0
    assert set(yard.statuses().values()) == {"applied"}
    assert len(yard.results()) == 16


def test_a_cluster_that_is_not_there_is_one_line(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": 1, "path": "w", "document": edit()}])
    begin = time.monotonic()
    done = yard.batch("--engine=ray", "--address=127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("clada: no Ray cluster at 127.0.0.1:1")
    assert time.monotonic() - begin < 90


def fill(yard: Yard, count: int) -> None:
    slow = "sh -c 'echo again >> log; sleep 0.3'"
    yard.workspace("w")
    kinds: list[dict[str, Any]] = [
        {"document": edit()},
        {"document": edit("other")},
        {"document": edit() + run_document(slow), "options": {"approve": [slow]}, "checks": ["cat log"]},
    ]
    yard.jobs([
        {"id": number, "path": "w", "model": f"m{number % 2}", **kinds[number % 3]} for number in range(count)
    ])  # fmt: skip


@pytest.mark.timeout(400)
def test_a_node_that_is_lost_costs_nothing_but_time(yard: Yard, nodes: Nodes) -> None:
    """Every id is once in the results, and all of them are those of the local engine."""
    count = 48
    fill(yard, count)
    command = yard.command("--engine=ray", f"--address={nodes.address}", "--approve-checks")
    with subprocess.Popen(
        command, cwd=yard.top, env=yard.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert eventually(lambda: yard.out.exists() and yard.out.read_bytes().count(b"\n") >= 4)
        nodes.kill(0)
        assert process.stderr
        errors = process.stderr.read()
        assert process.wait(300) == 0, errors
    results = yard.results()
    assert sorted(results, key=int) == [str(number) for number in range(count)]
    for number in range(2, count, 3):  # in a fresh copy, although some ran twice
        assert results[str(number)]["checks"][0]["output"] == "again\n"
    local = copy.copy(yard)
    local.out = yard.top / "local.jsonl"
    assert local.batch("--approve-checks").returncode == 0
    for id_, result in local.results().items():
        assert {name: result[name] for name in SAME} == {name: results[id_][name] for name in SAME}


def test_a_driver_that_is_killed_is_resumed_from_the_results_alone(yard: Yard, nodes: Nodes) -> None:
    count = 30
    fill(yard, count)
    command = yard.command("--engine=ray", f"--address={nodes.address}", "--approve-checks")
    process = subprocess.Popen(command, cwd=yard.top, env=yard.environment, stderr=subprocess.DEVNULL)
    assert eventually(lambda: yard.out.exists() and yard.out.read_bytes().count(b"\n") >= 3)
    process.kill()
    process.wait()
    subprocess.run([*command, "--resume"], cwd=yard.top, env=yard.environment, check=True)
    assert sorted(yard.results(), key=int) == [str(number) for number in range(count)]


def test_a_job_that_hangs_or_crashes_on_a_node_costs_itself_alone(yard: Yard, nodes: Nodes) -> None:
    yard.workspace("w")
    os.mkfifo(yard.top / "pipe")
    jobs: list[dict[str, Any]] = [{"id": n, "path": "w", "document": edit()} for n in range(6)]
    jobs[3:3] = [{"id": "hangs", "path": "w", "document_file": "pipe"}]
    yard.jobs(jobs)
    done = yard.batch("--engine=ray", f"--address={nodes.address}", "--job-timeout=2s")
    assert done.returncode == 0, done.stderr
    statuses = yard.statuses()
    assert (statuses.pop("hangs"), set(statuses.values())) == ("timeout", {"applied"})
