"""What a batch of small edits costs: against a plain loop, by two workers and one, and on Ray."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import ROOT, Row, least, search, start
from tools.ray_cluster import ENVIRONMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

# What one would write without `clada batch`: no limits, no retries, no diff, no resuming.
PLAIN = """
import json, shutil, sys
from concurrent.futures import ProcessPoolExecutor
import clada

def work(line):
    job = json.loads(line)
    copy = shutil.copytree(job["path"], f"copy-{job['id']}")
    report = clada.execute(job["document"], workspace=copy, record="none")
    shutil.rmtree(copy)
    return json.dumps({"id": job["id"], "report": report.to_dict()})

if __name__ == "__main__":
    with open(sys.argv[1]) as jobs, open(sys.argv[2], "w") as out, ProcessPoolExecutor(2) as pool:
        for line in pool.map(work, jobs):
            out.write(f"{line}\\n")
"""


def rows(jobs: int = 4_000, rounds: int = 3) -> Iterator[Row]:
    """Yield what was measured, with the start of the workers."""
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "w").mkdir()
        Path(folder, "w", "a.txt").write_text("old\n")
        Path(folder, "plain.py").write_text(PLAIN)
        for count in (jobs, jobs // 4):
            lines = [
                json.dumps({"id": str(each), "path": "w", "document": search("a.txt", "old", "new")})
                for each in range(count)
            ]
            Path(folder, f"{count}.jsonl").write_text("".join(f"{line}\n" for line in lines))

        def batch(jobs: int, *flags: str) -> None:
            out = f"--out={next(numbers)}.out"
            start([sys.executable, "-m", "clada", "batch", f"{jobs}.jsonl", out, *flags], folder)

        two, one, quarter, plain = least(
            rounds,
            lambda: batch(jobs, "--workers=2"),
            lambda: batch(jobs, "--workers=1"),
            lambda: batch(jobs // 4, "--workers=2"),
            lambda: start([sys.executable, "plain.py", f"{jobs}.jsonl", "plain.out"], folder),
            clock=time.perf_counter,
        )
        name = f"batch of {jobs:,} small edits"
        yield Row(f"{name}: two workers / a ProcessPoolExecutor with two", two / plain, 1.67)
        yield Row(f"{name}: two workers / one", two / one, 0.59)
        yield Row(f"{name} / a quarter of them", two / quarter, 4.8)
        if not find_spec("ray"):
            raise FileNotFoundError("ray")
        with _cluster() as address:
            ray, two = least(
                rounds,
                lambda: batch(jobs, "--engine=ray", f"--address={address}"),
                lambda: batch(jobs, "--workers=2"),
                clock=time.perf_counter,
            )
        yield Row(f"{name}: Ray with two nodes / two workers", ray / two, 1.25)


@contextmanager
def _cluster() -> Iterator[str]:
    """Run a cluster of two nodes; return its address."""
    os.environ |= ENVIRONMENT  # of what is started, too
    with subprocess.Popen(
        [sys.executable, "-m", "tools.ray_cluster", "1"], cwd=ROOT, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as cluster:  # fmt: skip
        lines = iter(cluster.stdout or ())
        yield json.loads(next(line for line in lines if line.startswith("{")))["address"]
        cluster.communicate()
