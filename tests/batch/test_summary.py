"""`clada batch summary`: a table, JSON and a chart of what came of a batch."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.batch.conftest import Yard

ROOT = Path(__file__).parent.parent.parent


def result(number: int, status: str, **fields: Any) -> dict[str, Any]:
    """Return a result with what summaries look at."""
    return {
        "id": f"job-{number}", "status": status, "notation": "csl", "dialect": "csl", "error_type": None,
        "error": None, "seconds": 0.5, "cpu_seconds": 0.25, **fields,
    }  # fmt: skip


def mismatch(path: str, line: int) -> dict[str, str]:
    return {"error_type": "match_count_mismatch", "error": f"found 0 matches in {path}, line {line}"}


@pytest.fixture
def summed(yard: Yard) -> Yard:
    results = [
        result(1, "applied", model="a"),
        result(2, "applied", model="a"),
        result(3, "failed", model="a", **mismatch("src/app.py", 4)),
        result(4, "failed", model="b", dialect="sr", **mismatch("lib/x.py", 19)),
        result(5, "timeout", model="b", error_type="io_error", error="it took longer than 300 s"),
        result(6, "invalid", notation=None, dialect=None, error_type="invalid_operation", error="<>\x1b[2J"),
    ]  # fmt: skip
    yard.out.write_text("".join(f"{json.dumps(each)}\n" for each in results))
    return yard


TABLE = """\
status   jobs  share
applied     2  33.3%
failed      2  33.3%
invalid     1  16.7%
timeout     1  16.7%

model   jobs  applied  failed  invalid  timeout
a          3    66.7%       1        0        0
b          2     0.0%       1        0        1
(none)     1     0.0%       0        1        0

notation  jobs  applied  failed  invalid  timeout
csl          5    40.0%       2        0        1
(none)       1     0.0%       0        1        0

dialect  jobs  applied  failed  invalid  timeout
csl         4    50.0%       1        0        1
(none)      1     0.0%       0        1        0
sr          1     0.0%       1        0        0

error                 jobs  share
match_count_mismatch     2  33.3%
invalid_operation        1  16.7%
io_error                 1  16.7%

commonest failures, with an example each
     2  match_count_mismatch: found 0 matches in src/app.py, line 4 (job job-3)
     1  invalid_operation: <>\\x1b[2J (job job-6)
     1  io_error: it took longer than 300 s (job job-5)

3.0 s of work, 1.5 s of processor time
"""


def test_a_table(summed: Yard) -> None:
    done = summed.clada("batch", "summary", "results.jsonl", "--by=model")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TABLE


def test_json(summed: Yard) -> None:
    found = json.loads(summed.clada("batch", "summary", "results.jsonl", "--as=json", "--by", "model").stdout)
    assert found["jobs"] == 6
    assert found["by_status"] == {
        "applied": 2,
        "failed": 2,
        "invalid": 1,
        "timeout": 1,
        "crashed": 0,
        "planned": 0,
    }
    assert found["by_model"]["a"] == {
        "jobs": 3, "applied_share": 0.666667, "applied": 2, "failed": 1, "invalid": 0, "timeout": 0,
        "crashed": 0, "planned": 0,
    }  # fmt: skip
    assert found["failures"][0]["count"] == 2
    assert found["by_error_type"]["io_error"] == 1


def test_a_chart(summed: Yard) -> None:
    text = summed.clada("batch", "summary", "results.jsonl", "--as=svg", "--by=model").stdout
    drawn = ET.fromstring(text)
    bars = [each for each in drawn.iter("{http://www.w3.org/2000/svg}rect") if each.get("height") == "18"]
    assert len(bars) == 4 + 2 + 2 + 1  # parts of all, and of three models
    assert sum(float(bar.get("width", "")) for bar in bars[:4]) == pytest.approx(560, abs=1)


def test_the_chart_on_the_page_is_that_of_its_jobs(yard: Yard) -> None:
    page = (ROOT / "docs" / "batch.md").read_text(encoding="utf-8")
    yard.jobs_file.write_text(page.split('title="jobs.jsonl"\n')[1].split("```")[0], encoding="utf-8")
    yard.workspace("shop", shop_py="def total(prices):\n    return sum(prices)\n")
    assert yard.batch("--workers=1").returncode == 0
    drawn = yard.clada("batch", "summary", "results.jsonl", "--as=svg", "--by=model").stdout
    assert drawn == (ROOT / "docs" / "pictures" / "batch.svg").read_text(encoding="utf-8")


def test_a_summary_of_nothing(yard: Yard) -> None:
    yard.out.write_text("")
    for form in ("table", "json", "svg"):
        assert yard.clada("batch", "summary", "results.jsonl", f"--as={form}", "--by=x").returncode == 0


def test_parquet_has_a_column_for_each_field(yard: Yard) -> None:
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    yard.workspace("w")
    yard.jobs([
        {"id": 1, "path": "w", "document": "x", "model": "a", "temperature": 1},
        {"id": 2, "path": "w", "document": "x", "temperature": 0.5, "note": None},
    ])  # fmt: skip
    assert yard.batch("--parquet=results.parquet").returncode == 0
    table = pyarrow_parquet.read_table(yard.top / "results.parquet")
    rows = sorted(table.to_pylist(), key=lambda row: row["id"])
    assert [row["temperature"] for row in rows] == [1.0, 0.5]
    assert [row["model"] for row in rows] == ["a", None]
    assert json.loads(rows[0]["report"])["schema"] == "clada.report/1"


def test_parquet_without_pyarrow_says_what_to_install(yard: Yard) -> None:
    yard.jobs([])
    program = (
        "import sys; sys.modules['pyarrow'] = None; from clada.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", program, "batch", "jobs.jsonl", "--out=results.jsonl", "--parquet=x"],
        cwd=yard.top, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2,
        "clada: --parquet needs pyarrow\n  pip install 'clada[parquet]'\n",
    )
    assert not yard.out.exists()
