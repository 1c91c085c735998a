"""What is kept of runs, and for how long; and runs in trees that are deep, moved or gone meanwhile."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.counting import calls
from tests.waiting import eventually
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import clean, files, git

import clada
from clada.errors import CladaError
from clada.world.record import history
from clada.world.record.journal import Journal
from clada.world.record.store import find_store

if TYPE_CHECKING:
    from pathlib import Path


DEEP = 490  # components


def size_of(place: Recorded) -> int:
    """Return what the record takes."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(place.store) for name in names]
    return sum(os.lstat(path).st_blocks * 512 for path in found)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("many", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_many_runs_leave_no_more_than_the_limit(plain: Recorded, many: int) -> None:
    """The newest are kept, can be undone, and go on from their number; the history is no longer than that."""
    limit = 1 << 18  # a few dozen runs
    for number in range(many):
        plain.run(write("a.txt", f"{number}\n" * 500), history_size=limit)
        assert number % 32 or size_of(plain) < 2 * limit
    assert size_of(plain) < 2 * limit  # old runs are deleted at every 32nd
    runs = clada.history(str(plain.workspace))
    assert [run.number for run in runs] == list(range(many, many - len(runs), -1))
    assert 10 < len(runs) < 200
    plain.undo()
    assert (plain.workspace / "a.txt").read_text() == f"{many - 2}\n" * 500
    assert plain.undo(many + 1).number == many + 2


def test_prune_forgets_by_size_and_by_age_and_keeps_the_last(plain: Recorded) -> None:
    """What a killed run had beside its journal goes with it."""
    for number in range(5):
        plain.run(write("a.txt", f"{number}\n"))
    runs = plain.store / "runs"
    (runs / "2.look").write_bytes(b"")
    (runs / "2.index").write_bytes(b"")
    for number in (1, 2):
        os.utime(runs / str(number), (1, 1))
    assert "2 runs deleted" in plain.call("history", "prune").stdout
    assert sorted(os.listdir(runs)) == ["3", "4", "5"]
    assert [run.number for run in clada.history(str(plain.workspace))] == [5, 4, 3]
    store = find_store(str(plain.workspace))
    assert history.prune(store, 0, 1e9) == 2
    assert os.listdir(runs) == ["5"]
    plain.undo()
    with pytest.raises(CladaError, match="there is no run 3"):
        plain.undo(3)


def test_a_journal_that_is_gone_is_said(plain: Recorded) -> None:
    """The history may be older."""
    plain.run(write("a.txt", "new\n"))
    (plain.store / "runs/1").unlink()
    with pytest.raises(CladaError, match="the journal of run 1 is gone"):
        plain.undo()


def test_a_number_that_a_killed_run_took_is_not_used_again(plain: Recorded) -> None:
    """It had begun its journal, and was not in the history yet."""
    plain.run(write("a.txt", "new\n"))
    Journal(str(plain.store / "runs/2")).close()
    plain.run(write("a.txt", "newer\n"))
    assert [run.number for run in clada.history(str(plain.workspace))] == [3, 1]


@pytest.mark.slow
def test_a_deep_tree_is_recorded_and_undone(plain: Recorded) -> None:
    """Written, moved and removed, by operations and by commands; later runs are none the worse for it."""
    deep = "/".join(["d"] * DEEP)
    before = plain.tree()
    plain.run(write(f"{deep}/file", "deep\n"))
    made = plain.tree()
    plain.run({"action": "move", "from": "d", "to": "m"}, command(f"echo 1 >> m{deep[1:]}/file; rm -r dir"))
    plain.undo()
    assert plain.tree() == made
    plain.run(command("rm -r d"))
    plain.undo()
    assert plain.tree() == made
    plain.undo(1)
    assert plain.tree() == before


@pytest.mark.slow
def test_to_record_and_undo_twice_the_depth_takes_twice_the_work(plain: Recorded) -> None:
    """And a little more, for the ways down that are walked again; the square would be four times."""

    def work(depth: int) -> None:
        deep = "/".join(["d"] * depth)
        plain.run(write(f"{deep}/file", "deep\n"))
        plain.run({"action": "move", "from": "d", "to": "dir/m"}, command(f"echo 1 >> dir/m{deep[1:]}/file"))
        plain.undo()
        plain.run(command("rm -r d"))
        plain.undo()
        plain.run(command("mv d other && echo file > d"))
        plain.undo()
        plain.run({"action": "remove", "path": "d"})

    work(2)  # what is loaded by the first run does not count
    single = calls(lambda: work(100))
    assert calls(lambda: work(200)) < 2.5 * single


@pytest.mark.parametrize("what", ["moved", "replaced by a link", "removed", "replaced"])
def test_a_run_whose_workspace_goes_meanwhile_fails_and_says_so(
    plain: Recorded, tmp_path: Path, what: str
) -> None:
    """Nothing is written elsewhere; what was done is where the directory is now."""
    script = {
        "moved": f"mv {plain.workspace} {tmp_path}/away; true",
        "replaced by a link": f"mv {plain.workspace} {tmp_path}/away; ln -s away {plain.workspace}",
        "removed": f"rm -r {plain.workspace}; true",
        "replaced": f"mv {plain.workspace} {tmp_path}/away; mkdir {plain.workspace}",
    }[what]
    report = plain.attempt(write("a.txt", "new\n"), command(script), write("b.txt", "new\n"))
    said = str(report.error) + "".join(str(task.error) for task in report.tasks)
    assert not report.ok
    assert "moved, replaced or removed" in said or "has been removed" in said, said
    if what == "replaced":
        assert os.listdir(plain.workspace) == []


def test_a_command_that_breaks_the_repository_is_recorded_all_the_same(repo: Recorded) -> None:
    """Git cannot be asked any more what the command changed: undo leaves that, and says so."""
    before = repo.tree()
    repo.attempt(write("b.txt", "new\n"), command("echo new > a.txt; echo '[' >> .git/config; true"))
    config = repo.workspace / ".git/config"
    config.write_text(config.read_text().removesuffix("[\n"))
    undone = repo.undo(1)
    assert undone.restored == ("b.txt",)
    assert any("a.txt" in note for note in undone.notes)
    repo.write("a.txt", "a\n")
    assert repo.tree() == before


@pytest.mark.parametrize("above", [False, True], ids=["here", "above"])
def test_runs_from_before_git_init_are_undone_and_gone_on_from(plain: Recorded, above: bool) -> None:
    """Where a workspace becomes a repository, or a part of one, its record stays where it is."""
    before = plain.tree()
    plain.run(write("a.txt", "one\n"), command("echo one > made"))
    root = plain.workspace.parent if above else plain.workspace
    git(root, "init", "-q")
    assert [run.number for run in clada.history(str(plain.workspace))] == [1]
    git(root, "add", "--", str(plain.workspace))
    plain.run(write("b.txt", "two\n"), record="commits")
    plain.run(command("echo three > made"))
    assert [run.number for run in clada.history(str(plain.workspace))] == [3, 2, 1]
    assert [plain.undo(number).commit is not None for number in (3, 2, 1)] == [False, True, False]
    assert plain.tree() == before
    assert not (root / f".git/clada/{os.geteuid()}").exists()


def test_a_run_that_was_killed_before_git_init_is_undone(plain: Recorded) -> None:
    """What its command may have changed is looked for where it was, and named."""
    before = plain.tree()
    process = plain.start(write("a.txt", "ours\n"), command("echo half > b.txt; touch here; sleep 60"))
    assert eventually((plain.workspace / "here").exists)
    assert plain.kill(process)
    git(plain.workspace.parent, "init", "-q")
    undone = plain.undo()
    assert undone.restored == ("a.txt",)
    assert any("b.txt, here" in note for note in undone.notes)
    plain.write("b.txt", "b\n")
    (plain.workspace / "here").unlink()
    assert plain.tree() == before


def test_history_shows_a_run_while_it_is_going(place: Recorded) -> None:
    """And that of a repository that somebody removes goes with it."""
    process = place.start(command("touch here; sleep 60"))
    assert eventually((place.workspace / "here").exists)
    assert " running " in place.call("history").stdout
    place.kill(process)
    assert " killed " in place.call("history").stdout
    shutil.rmtree(place.workspace / ".git", ignore_errors=True)
    assert place.call("history").returncode == 0


def test_a_repository_that_does_not_know_the_workspace_is_not_written_to(tmp_path: Path) -> None:
    """Dotfiles that ignore all else: what a command changes can be undone, and their git is left alone."""
    above = Recorded(clean(tmp_path / "home"))
    above.write(".gitignore", "*\n")
    place = Recorded(files(tmp_path / "home/projects/new"))
    before = place.tree()
    place.run(command("echo new > a.txt; rm -r dir; true"))
    place.undo()
    assert place.tree() == before
    assert not (above.workspace / ".git/clada").exists()
    git(above.workspace, "add", "-f", "projects/new/a.txt")
    place.undo()  # what was recorded is found all the same, once it is known
    assert not (place.workspace / "dir").exists()


def test_it_is_used_where_the_user_names_it(tmp_path: Path) -> None:
    """And from then on, whether or not it is named again."""
    above = Recorded(clean(tmp_path / "home"))
    place = Recorded(files(tmp_path / "home/projects/new"))
    place.run(write("a.txt", "new\n"), repository=str(above.workspace))
    assert place.store == above.store
    place.undo()
    assert (place.workspace / "a.txt").read_text() == "a\n"
    refused = place.attempt(write("a.txt", "new\n"), repository="/elsewhere").fatal
    assert refused
    assert refused.message.endswith("not /elsewhere")
