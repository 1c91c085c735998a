"""What a batch of small edits costs: two workers against one, and four times as many jobs."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from pathlib import Path

from tools.benchmarks.measuring import Row, installed, least, search, start


def rows(jobs: int = 1_000, rounds: int = 3) -> list[Row]:
    """Return what was measured, with the start of the workers."""
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "w").mkdir()
        Path(folder, "w", "a.txt").write_text("old\n")

        def batch(jobs: int, workers: int) -> None:
            number = next(numbers)
            lines = [
                json.dumps({"id": str(each), "path": "w", "document": search("a.txt", "old", "new")})
                for each in range(jobs)
            ]
            Path(folder, f"{number}.jsonl").write_text("\n".join(lines))
            start(
                [installed()[1], "batch", f"{number}.jsonl", f"--out={number}.out", f"--workers={workers}"],
                folder,
            )

        two, one, quarter = least(
            rounds,
            lambda: batch(jobs, 2),
            lambda: batch(jobs, 1),
            lambda: batch(jobs // 4, 2),
            clock=time.perf_counter,
        )
    return [
        Row(f"batch of {jobs:,} small edits: two workers / one", two / one),
        Row(f"batch of {jobs:,} small edits / a quarter of them", two / quarter, 4.8),
    ]
