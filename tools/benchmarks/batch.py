"""What a batch costs: against the same calls in a row, with two workers, over many jobs, and on Ray.

Time counts from the first result on: workers start once for a batch, in a tenth of a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.benchmarks.editing import search
from tools.benchmarks.files import BOTH_WAYS, LINES, MEMORY
from tools.benchmarks.measuring import Row

import clada
from clada.batch import DEFAULTS, Batch
from clada.world.processes.children import descendants

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = 200  # in a workspace that is copied
SLEEP = "sleep 0.05"
ROUNDS = 9  # of small edits: of few, other work on the machine is enough to mislead
# A head without processors, and two nodes with one each; it ends with its standard input.
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
for _ in range(2):
    cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured; Ray only where it is installed, and not in a quick look: it starts slowly."""
    part = 100 if quick else 1
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        yard = _Yard(folder)
        found = [
            Row("2,000 small edits in place: a batch of one worker / library calls", _calls(yard, part), 1.5),
            Row("4,000 small edits in place: two workers / one", _small_edits(yard, part), 0.588),
            Row("300 copies of 200 files: two workers / one", _workers(yard, part), 0.588),
            Row("memory after 20,000 jobs / after 2,000", _memory(yard, part), 1.1),
        ]
        if find_spec("ray") and not quick:
            found.append(Row("jobs of 50 ms: Ray with two nodes / two local workers", _on_ray(yard), 2.0))
    return found


class _Yard:
    """A folder with workspaces, in which batches are run."""

    def __init__(self, top: str) -> None:
        self.top = Path(top)
        self._batches = 0

    def workspaces(self, count: int) -> list[str]:
        """Make workspaces of one file; return their names."""
        names = [f"w{number}" for number in range(count)]
        for name in names:
            (self.top / name).mkdir(exist_ok=True)
            (self.top / name / "file.py").write_text(LINES)
        return names

    def jobs(self, jobs: list[dict[str, Any]]) -> str:
        """Write a jobs file."""
        path = self.top / f"jobs-{len(os.listdir(self.top))}.jsonl"
        path.write_text("".join(f"{json.dumps(job)}\n" for job in jobs))
        return str(path)

    def run(self, jobs: str, watch: Callable[[int], object] = lambda _done: None, **given: Any) -> float:
        """Carry out a batch, of which all must succeed; return the seconds since the workers were there."""
        self._batches += 1
        begin = 0.0
        batch = Batch(jobs, DEFAULTS, out=self.top / f"results-{self._batches}.jsonl", **given)
        for done, finished in enumerate(batch.finished()):
            begin = begin or time.perf_counter()
            if finished.status != "applied":
                raise SystemExit(f"a job of the benchmark is {finished.status}: {finished.result!r}")
            watch(done)
        return time.perf_counter() - begin


DOCUMENTS = [search("file.py", old, new) for old, new in BOTH_WAYS]


def _edits(yard: _Yard, names: list[str]) -> list[str]:
    """Return jobs files that edit a file in each of many workspaces, there and back again."""
    return [
        yard.jobs([{"id": name, "path": name, "in_place": True, "document": document} for name in names])
        for document in DOCUMENTS
    ]


def _calls(yard: _Yard, part: int) -> float:
    names = yard.workspaces(2_000 // part)
    files = _edits(yard, names)

    def calls() -> float:
        begin = time.perf_counter()
        for document in DOCUMENTS:
            for name in names:
                clada.execute(document, workspace=yard.top / name, git=False)
        return time.perf_counter() - begin

    rounds = ROUNDS if part == 1 else 1
    taken = [(sum(yard.run(file, workers=1) for file in files), calls()) for _ in range(rounds)]
    return min(ours for ours, _ in taken) / min(theirs for _, theirs in taken)


def _small_edits(yard: _Yard, part: int) -> float:
    """Compare two workers with one; the engine takes its share of two processors in both cases.

    All edits are in one batch: the second worker comes up to 36 ms after the first, from which time counts.
    """
    names = yard.workspaces(2_000 // part)
    file = yard.jobs([
        {"id": f"{name} {number}", "path": name, "in_place": True, "document": document}
        for number, document in enumerate(DOCUMENTS)
        for name in names
    ])  # fmt: skip
    rounds = ROUNDS if part == 1 else 1
    taken = [[yard.run(file, workers=count) for count in (2, 1)] for _ in range(rounds)]
    return min(two for two, _ in taken) / min(one for _, one in taken)


def _workers(yard: _Yard, part: int) -> float:
    folder = yard.top / "copied"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"file{number}.py").write_text(LINES)
    document = search("file7.py", *BOTH_WAYS[0])
    file = yard.jobs(
        [{"id": number, "path": "copied", "document": document} for number in range(300 // part)]
    )
    rounds = 3 if part == 1 else 1
    taken = [(yard.run(file, workers=2), yard.run(file, workers=1)) for _ in range(rounds)]
    return min(two for two, _ in taken) / min(one for _, one in taken)


def _memory(yard: _Yard, part: int) -> float:
    """Compare what all processes of a batch have at its end with what they had after a tenth of it."""
    names = yard.workspaces(100 // part)
    count = 20_000 // part
    found = {}

    def watch(done: int) -> None:
        if done in (count // 10, count - 1):
            found[done] = sum(map(_resident, [os.getpid(), *descendants(os.getpid())]))

    jobs = [
        {
            "id": number,
            "path": names[number % len(names)],
            "in_place": True,
            "document": search("file.py", *BOTH_WAYS[number // len(names) % 2]),
        }
        for number in range(count)
    ]
    yard.run(yard.jobs(jobs), watch, workers=2)
    return found[count - 1] / found[count // 10]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0


def _on_ray(yard: _Yard) -> float:
    yard.workspaces(1)
    document = json.dumps({"tasks": [{"action": "run", "command": SLEEP}]})
    options = {"approve": [SLEEP], "sandbox": "off"}
    jobs = yard.jobs([
        {"id": number, "path": "w0", "document": document, "options": options} for number in range(200)
    ])  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    ) as cluster:  # fmt: skip
        if cluster.stdin is None or cluster.stdout is None:
            raise SystemExit("the cluster has no streams")
        address = next(line.strip() for line in cluster.stdout if ":" in line)
        given: dict[str, Any] = {"engine": "ray", "address": address}
        ray: Any = import_module("ray")
        ray.init(address=address, log_to_driver=False, logging_level="error")
        try:
            yard.run(jobs, **given)  # once, so that what runs on the nodes is warm, as with local workers
            ours = min(yard.run(jobs, **given) for _ in range(2))
            local = min(yard.run(jobs, workers=2) for _ in range(2))
        finally:
            ray.shutdown()
            cluster.stdin.close()
            cluster.wait()
        return ours / local


if __name__ == "__main__":
    begin = time.monotonic()
    for row in rows(quick="--quick" in sys.argv):
        print(f"{row.measured:.3f} (at most {row.goal}) {row.name}")
    print(f"{time.monotonic() - begin:.0f} s")
