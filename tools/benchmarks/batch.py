"""What a batch costs: against a plain pool of processes on the same copies, with two workers, and on Ray.

Time counts from the first results on: workers start once for a batch.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
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

FILES = 10  # in a workspace that is copied
SLEEP = "sleep 0.05"
ROUNDS = 3
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
    part = 20 if quick else 1
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        yard = _Yard(folder)
        pool, workers = _small_edits(yard, 400 // part, 1 if quick else ROUNDS)
        found = [
            Row("400 small edits: a batch / a plain ProcessPoolExecutor", pool, 1.667),
            Row("400 small edits: two workers / one", workers, 0.588),
            Row("memory after 2,000 dry runs / after 200", _memory(yard, part), 1.1),
        ]
        if find_spec("ray") and not quick:
            found.append(Row("jobs of 50 ms: Ray with two nodes / two local workers", _on_ray(yard), 1.25))
    return found


class _Yard:
    """A folder with workspaces, in which batches are run."""

    def __init__(self, top: str) -> None:
        self.top = Path(top)
        self._batches = 0

    def workspace(self) -> str:
        """Make a workspace of a few files; return its path."""
        folder = self.top / "w"
        folder.mkdir(exist_ok=True)
        for number in range(FILES):
            (folder / f"file{number}.py").write_text(LINES)
        return str(folder)

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
            if finished.status not in {"applied", "planned"}:
                raise SystemExit(f"a job of the benchmark is {finished.status}: {finished.line!r}")
            watch(done)
        return time.perf_counter() - begin


DOCUMENT = search("file7.py", *BOTH_WAYS[0])


def _plain_job(source: str, target: str) -> str:
    """Do what a small job does, without a batch."""
    shutil.copytree(source, target, symlinks=True)
    report = clada.execute(DOCUMENT, workspace=target, git=False)
    shutil.rmtree(target)
    return json.dumps(report.to_dict())


def _plain_pool(yard: _Yard, source: str, count: int) -> float:
    """Return the seconds that a plain pool of two processes takes since the first results."""
    with ProcessPoolExecutor(2) as pool, open(yard.top / "plain.jsonl", "w", encoding="utf-8") as file:
        targets = [f"{yard.top}/copy-{number}" for number in range(count)]
        begin = 0.0
        for line in pool.map(_plain_job, [source] * count, targets):
            begin = begin or time.perf_counter()
            file.write(line)
        return time.perf_counter() - begin


def _small_edits(yard: _Yard, count: int, rounds: int) -> tuple[float, float]:
    """Compare two workers with a plain pool, and with one worker, on the same copies."""
    source = yard.workspace()
    file = yard.jobs([{"id": number, "path": source, "document": DOCUMENT} for number in range(count)])
    taken = [
        (yard.run(file, workers=2), _plain_pool(yard, source, count), yard.run(file, workers=1))
        for _ in range(rounds)
    ]
    two, pool, one = (min(column) for column in zip(*taken, strict=True))
    return two / pool, two / one


def _memory(yard: _Yard, part: int) -> float:
    """Compare what all processes of a batch have at its end with what they had after a tenth of it."""
    source, count = yard.workspace(), 2_000 // part
    found = {}

    def watch(done: int) -> None:
        if done in (count // 10, count - 1):
            found[done] = sum(map(_resident, [os.getpid(), *descendants(os.getpid())]))

    job = {"path": source, "document": DOCUMENT, "options": {"dry_run": True}}
    yard.run(yard.jobs([{**job, "id": number} for number in range(count)]), watch, workers=2)
    return found[count - 1] / found[count // 10]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0


def _on_ray(yard: _Yard) -> float:
    yard.workspace()
    document = json.dumps({"tasks": [{"action": "run", "command": SLEEP}]})
    options = {"approve": [SLEEP], "sandbox": "off"}
    jobs = yard.jobs([
        {"id": number, "path": "w", "document": document, "options": options} for number in range(200)
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
