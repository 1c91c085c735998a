"""Jobs files: what changes in one after it was checked; files of other forms, and their columns."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit

import clada
from clada.batch import DEFAULTS, Batch
from clada.batch.jobs import JobSource, parse_mapping

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard


def checked(yard: Yard) -> tuple[Batch, list[str]]:
    """Return a batch of three jobs that were checked, and not begun; and their lines."""
    yard.workspace("w")
    lines = [json.dumps({"id": number, "path": "w", "document": edit()}) for number in range(3)]
    yard.jobs_file.write_text("\n".join(lines))  # the last has no break
    return Batch(yard.jobs_file, DEFAULTS, out=yard.out, workers=1), lines


def test_a_line_that_became_bad_after_it_was_checked_is_named(yard: Yard) -> None:
    batch, lines = checked(yard)
    yard.jobs_file.write_text(f"{lines[0]}\n\n{lines[1]}\n[]\n")
    with pytest.raises(clada.UsageError, match="line 4: a job is an object"):
        list(batch.finished())


def test_ids_that_were_not_checked_are_left_for_the_next_batch(yard: Yard) -> None:
    """A line that was added, or is there twice by now, does not run; one that is gone has no result."""
    batch, lines = checked(yard)
    yard.jobs_file.write_text("\n".join([lines[0], lines[0], lines[1], lines[1].replace("1", "3", 1)]))
    assert [finished.id for finished in batch.finished()] == ["0", "1"]
    yard.jobs_file.write_text("\n".join([*lines, lines[1].replace("1", "3", 1)]))
    assert yard.batch("--resume").returncode == 0
    assert set(yard.statuses()) == {"0", "1", "2", "3"}


ROWS: list[dict[str, Any]] = [
    {"id": "a", "path": "w", "document": edit(), "model": "m", "options": {"atomic": True}, "checks": ["ls"]},
    {"id": "b", "path": "w", "document": "x", "model": None, "options": None, "checks": None},
]


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path.parent.mkdir(parents=True, exist_ok=True)
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)


def test_parquet_has_the_same_jobs_as_json_lines(tmp_path: Path) -> None:
    write_parquet(tmp_path / "jobs.parquet", ROWS)
    (tmp_path / "jobs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    found = [
        [job for _where, job in JobSource(str(tmp_path / name)).jobs()]
        for name in ("jobs.parquet", "jobs.jsonl")
    ]
    assert found[0] == found[1]
    assert found[0][0].options == {"atomic": True}
    write_parquet(tmp_path / "bad.parquet", [ROWS[0], {**ROWS[1], "id": None}])
    with pytest.raises(clada.UsageError, match="row 2: id must be"):
        list(JobSource(str(tmp_path / "bad.parquet")).jobs())


def test_a_dataset_directory_is_read_in_order(tmp_path: Path) -> None:
    """As they are stored for the Hugging Face hub, or by its library."""
    data = tmp_path / "data"
    write_parquet(data / "train-00001-of-00002.parquet", [{**ROWS[1], "id": "second"}])
    write_parquet(data / "train-00000-of-00002.parquet", [{**ROWS[0], "id": "first"}])
    pyarrow: Any = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pylist([{**ROWS[0], "id": "third"}])
    path = str(data / "x-00000.arrow")
    with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)
    (tmp_path / "README.md").write_text("# A dataset\n")
    (tmp_path / "dataset_info.json").write_text("{}")
    source = JobSource(str(tmp_path))
    assert [job.id for _where, job in source.jobs()] == ["first", "second", "third"]
    assert source.base == str(tmp_path)


def jobs_of(tmp_path: Path, rows: list[dict[str, Any]], mapping: str | None = None, **given: Any) -> Any:
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    mapped = parse_mapping(mapping) if mapping else None
    return [job for _where, job in JobSource(str(tmp_path / "rows.jsonl"), mapped, **given).jobs()]


def test_columns_are_mapped(tmp_path: Path) -> None:
    row = {"key": 7, "answer": "x", "project": "shop", "tests": ["a", "b"], "path": "w", "llm": "m"}
    (job,) = jobs_of(tmp_path, [row], "id=key,document=answer,path=trees/{project}-{key},model=llm")
    assert (job.id, job.path, job.document, job.fields) == ("7", "trees/shop-7", "x", {"model": "m"})
    with pytest.raises(clada.UsageError, match="line 1: there is no column reply"):
        jobs_of(tmp_path, [row], "document=reply")


def test_swe_bench_predictions_need_no_map(tmp_path: Path) -> None:
    """Their columns are known; those of the dataset are joined by the id."""
    prediction = {"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "diff"}
    task = {"instance_id": "a__b-1", "repo": "a/b", "base_commit": "abc", "patch": "gold", "hints": ["x"]}
    (whole,) = jobs_of(tmp_path, [{**task, **prediction}])
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task))
    joined, empty = jobs_of(
        tmp_path,
        [prediction, {**prediction, "model_patch": None}],
        "repo=mirrors/{repo}",
        dataset=str(tmp_path / "tasks.jsonl"),
    )
    assert whole.replace(repo="mirrors/a/b") == joined
    assert (joined.id, joined.commit, joined.document) == ("a__b-1", "abc", "diff")
    assert joined.fields == {"model": "m"}
    assert empty.document == ""
