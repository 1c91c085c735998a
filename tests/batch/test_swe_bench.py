"""A predictions file shaped like that of SWE-bench, over small local repositories, from end to end."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.batch.conftest import Yard

PATCH = """diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-old
+{}
"""


def predictions(yard: Yard) -> list[dict[str, Any]]:
    """Make two repositories with two commits, and a dataset; return predictions for them."""
    tasks, found = [], []
    (yard.top / "mirrors" / "org").mkdir(parents=True)
    for name in ("one", "two"):
        folder = yard.repository(name)
        commit = yard.git(folder, "rev-parse", "HEAD")
        (folder / "a.txt").write_text("later\n")
        yard.git(folder, "commit", "-qam", "later")
        yard.git(yard.top, "clone", "-q", "--bare", str(folder), f"mirrors/org/{name}.git")
        id_ = f"org__{name}-1"
        tasks.append({
            "instance_id": id_, "repo": f"org/{name}", "base_commit": commit, "problem_statement": "mend it",
            "FAIL_TO_PASS": ["test_a"], "version": "1.0",
        })  # fmt: skip
        found.append({"instance_id": id_, "model_name_or_path": "m", "model_patch": PATCH.format(name)})
    found.append({**found[0], "instance_id": "org__one-2", "model_patch": ""})
    tasks.append({**tasks[0], "instance_id": "org__one-2"})
    found.append({**found[0], "instance_id": "org__one-3", "model_patch": PATCH.replace("old", "other")})
    tasks.append({**tasks[0], "instance_id": "org__one-3"})
    (yard.top / "tasks").mkdir()
    (yard.top / "tasks" / "test-00000-of-00001.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    return found


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_predictions_run_unchanged(yard: Yard, form: str) -> None:
    rows = predictions(yard)
    yard.jobs_file = yard.top / f"predictions.{form}"
    if form == "parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), yard.jobs_file)
    else:
        yard.jobs_file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = yard.batch("--dataset=tasks", "--map=repo=mirrors/{repo}.git")
    assert done.returncode == 0, done.stderr
    results = yard.results()
    assert yard.statuses() == {
        "org__one-1": "applied", "org__two-1": "applied", "org__one-2": "invalid", "org__one-3": "failed",
    }  # fmt: skip
    assert results["org__two-1"]["diff"] == PATCH.format("two")
    assert (results["org__two-1"]["model"], results["org__two-1"]["dialect"]) == ("m", "udiff")
    summary = json.loads(yard.clada("batch", "summary", str(yard.out), "--by=model", "--as=json").stdout)
    assert summary["by_model"]["m"]["applied"] == 2
