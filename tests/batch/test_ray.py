"""The same jobs on a real Ray cluster of several nodes on this machine, one of which is killed meanwhile."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.batch.conftest import Yard

pytest.importorskip("ray", reason="Ray is not installed (requirements/ray.txt)")

SAME = ("id", "status", "error", "diff", "model")
HEAD = """
import json, os, sys, time
import ray
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1) for _ in range(3)]
cluster.wait_for_nodes()
pids = [[each.process.pid for each in node.all_processes.get("raylet", [])] for node in nodes]
print(json.dumps({"address": cluster.address, "raylets": pids}), flush=True)
sys.stdin.read()
cluster.shutdown()
"""


class Nodes:
    """A cluster of a head and three nodes."""

    def __init__(self) -> None:
        import json

        environment = {
            **os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_health_check_period_ms": "500",
            "RAY_health_check_failure_threshold": "3", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout
        found = json.loads(next(line for line in self.process.stdout if line.startswith("{")))
        self.address: str = found["address"]
        self.raylets: list[int] = [pids[0] for pids in found["raylets"]]

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


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    cluster = Nodes()
    yield cluster
    cluster.close()


def fill(yard: Yard, count: int) -> None:
    slow = "sh -c 'echo again >> log; sleep 0.3'"
    jobs: list[dict[str, Any]] = []
    for number in range(count):
        yard.workspace(f"w{number}")
        job: dict[str, Any] = {"id": str(number), "path": f"w{number}", "model": f"m{number % 2}"}
        kinds: list[dict[str, Any]] = [
            {"document": edit()},
            {"document": edit(), "in_place": True},
            {"document": edit("other")},
            {"document": edit() + run_document(slow), "in_place": True, "options": {"approve": [slow]}},
        ]
        jobs.append({**job, **kinds[number % len(kinds)]})
    yard.jobs(jobs)


@pytest.mark.timeout(400)
def test_a_node_that_is_lost_costs_nothing_but_time(yard: Yard, nodes: Nodes) -> None:
    """Every id is once in the results, and all of them are those of the local engine."""
    count = 48
    fill(yard, count)
    with subprocess.Popen(
        yard.command("--engine=ray", f"--address={nodes.address}"), cwd=yard.top, env=yard.environment,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert eventually(lambda: yard.out.exists() and yard.out.read_bytes().count(b"\n") >= 4)
        nodes.kill(0)
        assert process.stderr
        errors = process.stderr.read()
        assert process.wait(300) == 0, errors
    results = yard.results()
    assert sorted(results, key=int) == [str(number) for number in range(count)]
    for number in range(count):
        expected = "failed" if number % 4 == 2 else "applied"
        assert results[str(number)]["status"] == expected
        if number % 4 == 3:  # once, although some ran twice: what a lost attempt did was put back
            assert (yard.top / f"w{number}" / "log").read_text() == "again\n"
    assert not os.path.exists(f"{yard.out}.work/begun")
    local = type(yard).__new__(type(yard))
    local.__dict__.update(yard.__dict__)
    local.out = yard.top / "local.jsonl"
    jobs = [line for number, line in enumerate(yard.jobs_file.read_text().splitlines()) if number % 2 == 0]
    local.jobs_file = yard.top / "copied.jsonl"
    local.jobs_file.write_text("\n".join(jobs))
    assert local.batch().returncode == 0
    for id_, result in local.results().items():
        assert {name: result[name] for name in SAME} == {name: results[id_][name] for name in SAME}


@pytest.mark.timeout(300)
def test_an_interrupted_batch_on_a_cluster_is_resumed_on_this_machine(yard: Yard, nodes: Nodes) -> None:
    yard.workspace("w")
    slow = "sleep 0.5"
    yard.jobs([
        {"id": number, "path": "w", "document": run_document(slow), "options": {"approve": [slow]}}
        for number in range(24)
    ])  # fmt: skip
    command = yard.command("--engine=ray", f"--address={nodes.address}")
    with subprocess.Popen(
        command, cwd=yard.top, env=yard.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert eventually(lambda: yard.out.exists() and yard.out.stat().st_size)
        process.send_signal(signal.SIGTERM)
        assert process.stderr
        errors = process.stderr.read()
        assert process.wait(120) == 143, errors
    assert 0 < len(yard.results()) < 24
    assert yard.batch("--resume").returncode == 0
    assert set(yard.statuses().values()) == {"applied"}
    assert len(yard.results()) == 24


def test_a_cluster_that_is_not_there_is_one_line(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": 1, "path": "w", "document": edit()}])
    begin = time.monotonic()
    done = yard.batch("--engine=ray", "--address=127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("clada: no Ray cluster at 127.0.0.1:1")
    assert time.monotonic() - begin < 90
