"""Lines of a jobs file: what was checked once is known again, and what has changed since is not run."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import resource
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batch.conftest import edit

import clada
from clada.batch import DEFAULTS, Batch
from clada.batch.jobs import Job, Line, known_job, read_job
from clada.batch.local import Finished
from clada.batch.results import ResultsFile
from clada.errors import CladaError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard

CHANGED = "it was changed after it was checked: start the batch again with --resume"
names = st.text(min_size=1, max_size=9).filter(lambda name: "\0" not in name)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names
jobs = st.builds(
    lambda *parts: {name: value for part in parts for name, value in part.items()},
    st.dictionaries(names.map("field {}".format), scalars, max_size=3),
    st.fixed_dictionaries({"id": names | st.integers()}),
    st.one_of(
        st.fixed_dictionaries({"path": names}, optional={"in_place": st.booleans()}),
        st.fixed_dictionaries(
            {"repo": names, "commit": names},
            optional={"in_place": st.just(False)},
        ),
    ),
    st.fixed_dictionaries({"document": st.text(max_size=9)})
    | st.fixed_dictionaries({"document_file": names}),
    st.fixed_dictionaries(
        {},
        optional={
            "options": st.fixed_dictionaries({}, optional={"atomic": st.booleans()}),
            "checks": st.lists(st.sampled_from(["ls", "make test"]), max_size=2),
        },
    ),
)


@settings(max_examples=100, deadline=None)
@given(jobs, st.booleans())
def test_a_line_that_was_checked_says_the_same_when_it_is_read_again(
    job: dict[str, Any], plain: bool
) -> None:
    text = json.dumps(job, ensure_ascii=plain).encode()
    assert known_job(text) == read_job(text)


def checked(yard: Yard) -> tuple[Batch, list[str]]:
    """Return a batch of three jobs that were checked, and not begun; and their lines."""
    yard.workspace("w")
    lines = [json.dumps({"id": number, "path": "w", "document": edit()}) for number in range(3)]
    yard.jobs_file.write_text("\n".join(lines))  # the last has no break
    return Batch(yard.jobs_file, DEFAULTS, out=yard.out, workers=1), lines


@pytest.mark.parametrize("now", ['{"id": 3, "path": "w", "document": ""}\n', ""])
def test_a_line_that_was_changed_or_removed_after_it_was_checked_is_named(yard: Yard, now: str) -> None:
    batch, lines = checked(yard)
    yard.jobs_file.write_text(f"{lines[0]}\n\n{lines[1]}\n{now}")
    with pytest.raises(clada.UsageError) as raised:
        list(batch.finished())
    assert str(raised.value) == f"{yard.jobs_file}, line 4: {CHANGED}"
    assert yard.batch("--resume").returncode == 0
    assert set(yard.statuses()) == ({"0", "1", "3"} if now else {"0", "1"})


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_were_added_after_the_check_are_for_the_next_batch(yard: Yard, end: str) -> None:
    batch, lines = checked(yard)
    yard.jobs_file.write_bytes(end.join([*lines, lines[0].replace("0", "3"), ""]).encode())
    assert [finished.line.job.id for finished in batch.finished()] == ["0", "1", "2"]
    done = yard.batch("--resume")
    assert (done.returncode, set(yard.statuses())) == (0, {"0", "1", "2", "3"})


def test_of_results_that_come_together_a_full_disk_takes_those_that_fit(tmp_path: Path) -> None:
    """The limit of a file's size stands in for it. What has no result is not called done: it is put back."""
    lines = [Line(n, b"", Job(str(n))) for n in range(5)]
    came = [Finished(line, "applied", b'{"id":"%d","status":"applied"}\n' % line.number) for line in lines]
    path = tmp_path / "results.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ResultsFile(str(path), resume=False) as results:
        assert results.add(came[:2]) == came[:2]
        assert results.add(came[1:3]) == came[2:3]  # each id once
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + len(came[3].result) + 5, hard))
        try:
            with pytest.raises(CladaError, match="cannot be written: file too large"):
                results.add(came[3:])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [line.number for line in lines if line.job.id in results.done] == [0, 1, 2, 3]
    assert path.read_bytes() == b"".join(each.result for each in came[:4])
