"""What small jobs change is kept in the journal of their worker, and can be put back from there."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.batch.conftest import edit

import clada
from clada.batch import journal, kept, workspaces
from clada.batch.jobs import Job
from clada.batch.journal import KeptJournal
from clada.batch.worker import MOST_AHEAD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard


@pytest.fixture
def work(tmp_path: Path) -> str:
    path = str(tmp_path / "work")
    workspaces.make_directories(path)
    return path


def kept_of(work: str) -> dict[int, bytes]:
    """Return what is kept of each job in a file of its own."""
    found = {}
    for number, _key, path in workspaces.begun_jobs(work):
        with open(path + workspaces.FILES, "rb") as file:
            found[number] = file.read()
    return found


def test_the_last_jobs_are_found_however_many_there_were(work: str) -> None:
    most = MOST_AHEAD + 1
    for count in (1, most, most + 1, 2 * most, 2 * most + 1, 5 * most):
        own = KeptJournal(journal.path_of(0, work), most)
        for number in range(count):
            own.add(number, f"job\n{number}", b"%d\n" % number)
        assert len(workspaces.begun_names(work)) <= 2
        journal.unpack(work, lambda number, _id, count=count: number >= count - most)  # type: ignore[misc]
        found = kept_of(work)
        assert found == {number: b"%d\n" % number for number in range(max(0, count - most), count)}
        for number in found:
            os.unlink(workspaces.begun_of(number, f"job\n{number}", work) + workspaces.FILES)
        assert workspaces.begun_names(work) == []


def test_what_a_kill_tore_is_left_out_and_to_unpack_again_leads_to_the_same(work: str) -> None:
    own = KeptJournal(journal.path_of(0, work), 9)
    own.add(0, "a", b"first")
    first = os.path.getsize(f"{journal.path_of(0, work)}.0")
    own.add(1, "b", b"second\n")
    with open(f"{journal.path_of(0, work)}.0", "rb") as file:
        whole = file.read()
    for size in range(len(whole) + 1):
        for _ in range(2):
            with open(f"{journal.path_of(0, work)}.0", "wb") as file:
                file.write(whole[:size])
            journal.unpack(work, lambda _number, _id: True)
        found = kept_of(work)
        assert found.get(0) == (b"first" if size >= first else None)
        assert found.get(1) == (b"second\n" if size == len(whole) else None)
    assert {
        os.stat(path + workspaces.FILES).st_mode & 0o777 for _n, _k, path in workspaces.begun_jobs(work)
    } == {0o600}


def test_what_cannot_be_written_hides_nothing_that_follows(
    work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = KeptJournal(journal.path_of(0, work), 9)
    own.add(0, "a", b"first")
    write = os.write

    def full(handle: int, data: bytes) -> int:
        write(handle, data[:-2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with pytest.raises(OSError, match="No space"):
            own.add(1, "b", b"second")
    own.add(2, "c", b"third")
    journal.unpack(work, lambda _number, _id: True)
    assert kept_of(work) == {0: b"first", 2: b"third"}


def test_a_resumed_batch_puts_back_what_a_journal_has_of_jobs_without_a_result(yard: Yard) -> None:
    """Two jobs changed one file; a third has its result, and is not in the jobs file any more."""
    folder, jobs = yard.counting_jobs()
    work = f"{yard.out}.work"
    workspaces.make_directories(work)
    own = KeptJournal(journal.path_of(3, work), 17)
    own.add(7, "done", kept.packed(kept.look(str(folder), ["a.txt"])))
    for number, job in enumerate(jobs):
        own.add(number, job["id"], kept.packed(kept.look(str(folder), ["a.txt"])))
        assert clada.execute(job["document"], workspace=folder, git=False).ok
    yard.out.write_text('{"id": "done", "status": "applied"}\n')
    assert (folder / "a.txt").read_text() == "2\n"
    done = yard.batch("--resume")
    assert (done.returncode, yard.statuses()) == (0, {"0": "applied", "1": "applied", "done": "applied"})
    assert (folder / "a.txt").read_text() == "2\n"
    assert not os.path.exists(work)


def test_a_batch_that_is_closed_early_keeps_what_has_no_result(yard: Yard) -> None:
    names = [f"w{number}" for number in range(40)]
    for name in names:
        yard.workspace(name)
    jobs = [
        {"id": name, "path": str(yard.top / name), "in_place": True, "document": edit()} for name in names
    ]
    running = clada.batch.run(jobs, out=yard.out, workers=1)
    next(running)
    running.close()  # type: ignore[attr-defined]
    for name, job in zip(names, jobs, strict=True):
        place = workspaces.place_of(
            names.index(name), Job(name, path=str(job["path"]), in_place=True), f"{yard.out}.work", ""
        )
        changed = (yard.top / name / "a.txt").read_text() == "new\n"
        assert not changed or name in yard.results() or os.path.exists(place.files), name
    assert {result["status"] for result in clada.batch.run(jobs, out=yard.out, resume=True)} == {"applied"}
    assert len(yard.results()) == len(names)
    assert not os.path.exists(f"{yard.out}.work")


def test_jobs_of_a_generator_run_also_where_something_is_put_back_first(yard: Yard) -> None:
    folder, jobs = yard.counting_jobs()
    work = f"{yard.out}.work"
    workspaces.make_directories(work)
    before = kept.packed(kept.look(str(folder), ["a.txt"]))
    KeptJournal(journal.path_of(0, work), MOST_AHEAD + 1).add(0, "0", before)
    (folder / "a.txt").write_text("1\n")  # begun, and without a result
    given = ({**job, "path": str(folder)} for job in jobs)
    results = clada.batch.run(given, out=yard.out, resume=True, workers=1)
    assert [result["status"] for result in results] == ["applied", "applied"]
    assert (folder / "a.txt").read_text() == "2\n"


def test_what_a_full_disk_has_no_room_for_stays_in_the_journal(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hides nothing that is wrong beside, and a batch that cannot go on says why."""
    jobs = [
        {"id": str(n), "path": str(yard.workspace(f"w{n}")), "in_place": True, "document": edit()}
        for n in range(40)
    ]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    work = f"{yard.out}.work"
    with monkeypatch.context() as patch:
        patch.setattr("clada.batch.kept.write", full)
        running = clada.batch.run(jobs, out=yard.out, workers=1)
        next(running)
        KeptJournal(journal.path_of(9, work), 9).add(39, "39", b"[]\n")
        running.close()  # type: ignore[attr-defined]
        assert "worker-9.0" in workspaces.begun_names(work)
        with pytest.raises(clada.CladaError, match="no space left on device"):
            list(clada.batch.run(jobs, out=yard.out, resume=True))
    assert {result["status"] for result in clada.batch.run(jobs, out=yard.out, resume=True)} == {"applied"}
    assert len(yard.results()) == len(jobs)
    assert not os.path.exists(work)
