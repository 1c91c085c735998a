"""A batch streams: the memory of the driver and of a worker does not grow with the number of jobs."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.batch.conftest import edit

if TYPE_CHECKING:
    from tests.batch.conftest import Yard

COUNT = int(os.environ.get("CLADA_TEST_JOBS", "20000"))  # CLADA_TEST_JOBS=200000 takes minutes
# Runs the jobs, and prints the megabytes of this process and of its worker, each quarter of the way.
DRIVER = """
import json, os, sys
import clada.batch
count = int(sys.argv[1])

def megabytes(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("RssAnon:"))

def worker():
    children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    return next(pid for pid in children if b"spawn_main" in open(f"/proc/{pid}/cmdline", "rb").read())

found = []
results = clada.batch.run("jobs.jsonl", out="results.jsonl", workers=1)
for number, result in enumerate(results, 1):
    assert result["status"] == "planned", result
    if number % (count // 4) == 0 and number < count:
        found.append([megabytes("self"), megabytes(worker())])
found.append([megabytes("self"), found[-1][1]])
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_is_flat(yard: Yard) -> None:
    yard.workspace("w")
    with yard.jobs_file.open("w") as file:
        for number in range(COUNT):
            job = {"id": number, "path": "w", "document": edit(new=str(number)), "options": {"dry_run": True}}
            file.write(f"{json.dumps(job)}\n")
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(COUNT)], cwd=yard.top, env=yard.environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, *_, last = json.loads(done.stdout)
    written = yard.out.stat().st_size
    assert yard.out.read_bytes().count(b"\n") == COUNT
    for before, after in zip(first, last, strict=True):
        # A tenth of the results that came meanwhile would be far more than an allocator needs.
        assert after - before < 4 + written / 10 / (1 << 20), (first, last)
