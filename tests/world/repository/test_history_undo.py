"""Runs are recorded in the git directory, and each can be undone in a new commit, without losing anything."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.errors import CladaError, Error
from clada.past import history as past_runs
from clada.past import undo
from clada.world.files.workspace import Workspace
from clada.world.record import history
from clada.world.record.store import find_store
from clada.world.record.undo import Undone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.world.repository.conftest import Repo


NOBODY = 65534


def run(repo: Repo, change: Callable[[], object], what: str = "", **options: Any) -> None:
    """Make a recorded run of this change, as a command does it."""
    with repo.recorded(what, **options) as record:
        change()
    assert record.error is None


def history_file(repo: Repo) -> Path:
    """Return the file in which earlier versions had the history of a repository."""
    return repo.root / f".git/clada/{os.geteuid()}/history"


def planted(number: str) -> str:
    """Return the lines of a run as earlier versions wrote them."""
    return f"start\t{number}\tnow\tplanted\t\tcommits\t0\t0\t\nend\t{number}\tok\t1\t\tfiles\n"


def undone(repo: Repo, number: int | None = None) -> Undone:
    """Undo a run of the workspace."""
    return undo(str(repo.workspace), number)


def refused(repo: Repo, number: int | None = None) -> Error:
    """Return the error with which an undo is refused; nothing has changed then."""
    before = (repo.head(), repo.status(), repo.git("ls-files", "-s"))
    with pytest.raises(CladaError) as caught:
        undone(repo, number)
    assert (repo.head(), repo.status(), repo.git("ls-files", "-s")) == before
    assert caught.value.error.type == "git_operation_failed"
    return caught.value.error


def tree(root: Path) -> dict[str, object]:
    """Return everything that is in the tree: contents, modes, links."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = path.readlink()
        elif path.is_file() and not name.startswith(".git/"):
            found[name] = (path.stat().st_mode, path.read_bytes())
    return found


def test_history_lists_the_runs_newest_first(repo: Repo) -> None:
    """Number, when, what, commits, how it ended."""
    repo.write("mine")
    run(repo, lambda: repo.write("a"), what="1 write")
    with pytest.raises(KeyboardInterrupt), repo.recorded("2 edits"):
        raise KeyboardInterrupt
    with repo.recorded("1 run") as record:
        record.ended = "failed"
    third, second, first = past_runs(str(repo.root))
    assert [each.number for each in (first, second, third)] == [1, 2, 3]
    assert [each.ended for each in (first, second, third)] == ["ok", "interrupted", "failed"]
    assert [each.what for each in (first, second, third)] == ["1 write", "2 edits", "1 run"]
    assert first.commits == (repo.git("rev-parse", "HEAD~1"), repo.head())
    assert third.commits == (None, None)
    assert first.when[:10] == repo.git("log", "-1", "--date=format:%Y-%m-%d", "--format=%ad")


def test_history_is_never_in_the_tree(repo: Repo) -> None:
    """It is in the git directory."""
    run(repo, lambda: repo.write("a"))
    assert repo.files() == ["a"]
    assert set(os.listdir(repo.root)) == {".git", "a"}


def test_each_workspace_and_work_tree_has_its_own_history(inner: Repo, tmp_path: Path) -> None:
    """And numbers are unique in a work tree."""
    linked = type(inner)(tmp_path / "linked")
    inner.git("worktree", "add", "-q", str(linked.root))
    run(inner, lambda: inner.write("work/space/a"), what="inner")
    outer = type(inner)(inner.root)
    run(outer, lambda: outer.write("b"), what="outer")
    run(linked, lambda: linked.write("c"), what="linked")
    assert [(each.number, each.what) for each in past_runs(str(inner.workspace))] == [(1, "inner")]
    assert [(each.number, each.what) for each in past_runs(str(outer.workspace))] == [(2, "outer")]
    assert [(each.number, each.what) for each in past_runs(str(linked.workspace))] == [(1, "linked")]


def test_history_survives_a_torn_line_and_foreign_text(repo: Repo) -> None:
    """A crash in the middle of a line costs that line only."""
    file = str(history_file(repo).relative_to(repo.root))
    repo.write(file, planted("1")).write_bytes(
        planted("1").encode() + b"nonsense\n\xff\tx\nend\tx\tok\nstart\t7"
    )
    run(repo, lambda: repo.write("b"))
    assert [(each.number, each.ended) for each in past_runs(str(repo.root))] == [(2, "ok"), (1, "ok")]


@pytest.mark.parametrize(
    "number", ["9" * 5000, "9" * 19, "9" * 18, "1000000000", "٣", "²", "-1", "+1", " 1", "1_0", ""]
)
def test_history_leaves_out_what_is_no_number_of_a_run(repo: Repo, number: str) -> None:
    """A planted line keeps nothing from being listed, recorded or undone."""
    repo.commit(a="1")
    file = history_file(repo)
    repo.write(str(file.relative_to(repo.root)), planted(number))
    assert past_runs(str(repo.root)) == []
    run(repo, lambda: repo.write("a", "2"), what="real")
    assert [(each.number, each.what) for each in past_runs(str(repo.root))] == [(1, "real")]
    assert undone(repo).number == 2


def test_history_goes_on_after_the_last_number_of_all(repo: Repo) -> None:
    """Even if it was planted: later runs get numbers of their own, and are newer."""
    repo.commit(a="1")
    file = str(history_file(repo).relative_to(repo.root))
    repo.write(file, planted("999999999") + planted("1"))
    for number in (2, 3):
        run(repo, lambda number=number: repo.write("a", f"of {number}"), what="real")  # type: ignore[misc]
    known = [(each.number, each.what) for each in past_runs(str(repo.root))]
    assert known == [(3, "real"), (2, "real"), (1, "planted"), (999999999, "planted")]
    assert undone(repo).run.number == 3
    assert (repo.root / "a").read_text() == "of 2"
    assert refused(repo, 1).message == "the journal of run 1 is gone"


def test_what_is_planted_in_the_history_never_reaches_git(repo: Repo, tmp_path: Path) -> None:
    """What is to be a commit is one, or nothing; an unknown end is a failure."""
    target = tmp_path / "overwritten"
    repo.commit(a="1")
    run(repo, lambda: repo.write("a", "2"))
    with closing(sqlite3.connect(history_file(repo).with_name("record.db"))) as database, database:
        for column in ("record", "undoes", "continues", "pre", "ended", "changed", "post", "commands"):
            database.execute(f"UPDATE runs SET {column} = ?", (f"--output={target}",))
    (only,) = past_runs(str(repo.root))
    assert (only.commits, only.record, only.undoes, only.ended) == ((None, None), "snapshots", 0, "failed")
    undone(repo, 1)
    assert (repo.root / "a").read_text() == "1"
    assert not target.exists()


def test_history_takes_any_text(repo: Repo) -> None:
    """Tabs, line breaks, backslashes and bytes that are no text."""
    odd = "\\t\t\n\\n\\\\\udcff end"
    names = ["x\ty\\.log", "new\nline.log", os.fsdecode(b"\xff.log")]
    with repo.recorded(odd) as record:
        record.scan.lost += names
    (only,) = past_runs(str(repo.root))
    assert only.what == odd
    assert list(only.unrecorded) == names


def test_history_is_read_in_bounded_memory(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a very long one, the last runs."""
    for number in range(4):
        run(repo, lambda number=number: repo.write("a", str(number)))  # type: ignore[misc]
    monkeypatch.setattr(history, "MAX_RUNS", 2)
    assert [each.number for each in past_runs(str(repo.root))] == [4, 3]


def test_undo_puts_everything_back_in_a_new_commit(repo: Repo) -> None:
    """Changed, new and removed files; modes; links; a folder for a file and a file for a folder."""
    for path in ("changed", "removed", "script", "folder/a/b", "file", "kept", "old/x/y"):
        repo.write(path, f"old {path}\n")
    (repo.root / "link").symlink_to("kept")
    repo.commit()
    before, head = tree(repo.root), repo.head()

    def change() -> None:
        repo.write("changed", "new")
        repo.write("created/deep/er")
        (repo.root / "script").chmod(0o755)
        subprocess.run(["rm", "-r", "removed", "folder", "file", "link"], cwd=repo.root, check=True)
        repo.write("folder", "now a file")
        repo.write("file/now/a/folder")
        (repo.root / "link").symlink_to("changed")
        (repo.root / "old").rename(repo.root / "moved")

    run(repo, change)
    after, made = tree(repo.root), repo.head()
    done = undone(repo)
    assert tree(repo.root) == before
    assert repo.status() == []
    assert repo.subjects()[0] == "clada:undo"
    assert repo.git("rev-parse", "HEAD^") == made
    assert repo.git("diff", "--name-only", head, "HEAD") == ""
    assert done.commit == repo.head()
    made_ones = {"created/deep/er", "file/now/a/folder", "moved/x/y"}
    assert {name for name in done.removed if not name.endswith("/")} == made_ones
    back = {"changed", "removed", "script", "folder/a/b", "file", "link", "old/x/y"}
    assert {name for name in done.restored if not name.endswith("/")} == back
    assert {"created/", "created/deep/"} <= set(done.removed)
    assert {"folder/", "folder/a/"} <= set(done.restored)
    assert not (repo.root / "created").exists()
    undone(repo)
    assert tree(repo.root) == after
    assert repo.status() == []
    assert [each.what for each in past_runs(str(repo.root))][:2] == ["undo of run 2", "undo of run 1"]
    assert repo.fsck() == ""


def test_undo_of_the_first_run_of_all(repo: Repo) -> None:
    """There was no commit before it: the files go."""
    run(repo, lambda: repo.write("a"))
    undone(repo)
    assert (repo.files(), tree(repo.root)) == ([], {})


def test_undo_keeps_what_was_there_uncommitted_before_the_run(repo: Repo) -> None:
    """It is uncommitted no longer, for the commit before the run has it."""
    repo.commit(a="committed")
    repo.write("a", "my unsaved work")
    run(repo, lambda: repo.write("a", "by clada"))
    undone(repo)
    assert (repo.root / "a").read_text() == "my unsaved work"


def test_undo_keeps_modes_that_git_does_not_know(repo: Repo) -> None:
    """A private file does not become readable by others."""
    repo.write("private", "1").chmod(0o600)
    repo.commit()
    run(repo, lambda: repo.write("private", "2"))
    undone(repo)
    assert (repo.root / "private").stat().st_mode & 0o777 == 0o600
    assert (repo.root / "private").read_text() == "1"


def _write_as_owner(file: Path, text: str) -> None:
    """Write a file that stays setuid and setgid, which the system takes from it."""
    file.write_text(text)
    file.chmod(0o6755)


def test_undo_keeps_the_mode_of_a_file_that_is_still_there(repo: Repo) -> None:
    """Also setuid and setgid, which are its owner's still."""
    repo.commit(a="1")
    file = repo.root / "a"
    file.chmod(0o6755)
    run(repo, lambda: _write_as_owner(file, "2"))
    undone(repo)
    assert (file.read_text(), file.stat().st_mode & 0o7777) == ("1", 0o6755)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_undo_gives_nobody_the_rights_of_another(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose owner cannot be kept comes back without setuid and setgid."""
    repo.commit(a="1")
    file = repo.root / "a"
    os.chown(file, NOBODY, NOBODY)
    file.chmod(0o6755)
    run(repo, lambda: _write_as_owner(file, "2"))

    def not_given_away(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", not_given_away)
    undone(repo)
    assert (file.read_text(), file.stat().st_mode & 0o7777) == ("1", 0o755)


def test_undo_leaves_other_work_as_it_is(repo: Repo) -> None:
    """Staged, changed, untracked: all stays, and nothing of it is committed."""
    repo.commit(a="1", b="1", c="1")
    run(repo, lambda: repo.write("a", "2"))
    repo.write("b", "staged")
    repo.git("add", "b")
    repo.write("b", "staged and changed")
    repo.write("c", "changed")
    repo.write("new", "untracked")
    undone(repo)
    assert repo.status() == ["MM b", " M c", "?? new"]
    assert repo.git("show", ":b") == "staged"
    assert repo.names() == ["a"]


def test_undo_touches_only_the_workspace(inner: Repo) -> None:
    """What a command changed outside it stays; what is staged there stays staged."""

    def change() -> None:
        inner.write("work/space/inside.txt", "changed")
        inner.write("outside.txt", "changed")
        inner.git("commit", "-q", "-a", "-m", "by a command")

    run(inner, change, own_git=True)
    inner.write("outside.txt", "staged")
    inner.git("add", "outside.txt")
    done = undone(inner)
    assert done.restored == ("inside.txt",)
    assert (inner.workspace / "inside.txt").read_text() == "inside\n"
    assert inner.status() == ["M  outside.txt"]
    assert inner.names() == ["work/space/inside.txt"]


def test_undo_keeps_an_emptied_workspace(inner: Repo) -> None:
    """The folder that clada works in is not removed with its last file."""
    (inner.workspace / "inside.txt").unlink()
    inner.commit()
    inner.workspace.mkdir(parents=True, exist_ok=True)
    run(inner, lambda: inner.write("work/space/only"), repository=str(inner.root))
    undone(inner)
    assert list(inner.workspace.iterdir()) == []


def test_undo_of_an_earlier_run_whose_files_are_unchanged(repo: Repo) -> None:
    """By its number."""
    run(repo, lambda: repo.write("a"))
    run(repo, lambda: repo.write("b"))
    undone(repo, 1)
    assert repo.files() == ["b"]


def test_undo_is_refused_where_a_later_run_changed_the_file(repo: Repo) -> None:
    """It names the file and the run."""
    run(repo, lambda: repo.write("a", "1"))
    run(repo, lambda: repo.write("a", "2"))
    error = refused(repo, 1)
    assert error.message == "changed since run 1: a"
    undone(repo, 2)
    assert refused(repo, 2).message == "run 2 is undone already"
    undone(repo, 1)
    assert repo.files() == []


@pytest.mark.parametrize("staged", [True, False])
def test_undo_is_refused_where_the_file_was_changed_by_hand(repo: Repo, staged: bool) -> None:
    """Uncommitted work is never lost."""
    run(repo, lambda: [repo.write("a"), repo.write("b")])
    repo.write("a", "by hand")
    if staged:
        repo.git("add", "a")
    assert refused(repo).message == "changed since run 1: a"
    assert (repo.root / "a").read_text() == "by hand"


@pytest.mark.parametrize("ignored", [True, False])
def test_undo_is_refused_where_a_new_file_stands_in_the_place(repo: Repo, ignored: bool) -> None:
    """Even one that git ignores."""
    repo.commit(a="1")
    run(repo, (repo.root / "a").unlink)
    repo.write(".git/info/exclude", "a\n" if ignored else "")
    repo.write("a", "new")
    assert refused(repo).message == "changed since run 1: a"
    assert (repo.root / "a").read_text() == "new"


@pytest.mark.parametrize("ignored", [True, False])
def test_undo_is_refused_where_a_folder_has_other_files_now(repo: Repo, ignored: bool) -> None:
    """A file cannot come back over a folder that holds someone's work."""
    repo.commit(a="1")

    def change() -> None:
        (repo.root / "a").unlink()
        repo.write("a/b")

    run(repo, change)
    repo.write(".git/info/exclude", "precious\n" if ignored else "")
    repo.write("a/precious", "mine")
    assert refused(repo).message == "changed since run 1: a/precious"
    assert (repo.root / "a/precious").read_text() == "mine"


def test_undo_leaves_a_folder_that_still_holds_something(repo: Repo) -> None:
    """Only what the run made is removed."""
    run(repo, lambda: repo.write("folder/made"))
    repo.write("folder/mine")
    undone(repo)
    assert tree(repo.root).keys() == {"folder/mine"}


@pytest.mark.parametrize("ignored", [True, False])
def test_undo_follows_no_link_on_the_way(repo: Repo, tmp_path: Path, ignored: bool) -> None:
    """A folder that became a link, since, leads it nowhere."""
    repo.write("folder/file", "old")
    repo.commit()
    run(repo, lambda: repo.write("folder/file", "new"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("new")
    subprocess.run(["rm", "-r", "folder"], cwd=repo.root, check=True)
    (repo.root / "folder").symlink_to(tmp_path / "outside")
    repo.write(".git/info/exclude", "folder\n" if ignored else "")
    assert "folder/file" in refused(repo).message
    assert (tmp_path / "outside/file").read_text() == "new"


def test_undo_of_a_removal_follows_no_link_on_the_way(repo: Repo, tmp_path: Path) -> None:
    """A file does not come back outside the tree."""
    repo.write("folder/file", "old")
    repo.commit()
    run(repo, lambda: subprocess.run(["rm", "-r", "folder"], cwd=repo.root, check=True))
    (tmp_path / "outside").mkdir()
    (repo.root / "folder").symlink_to(tmp_path / "outside")
    repo.write(".git/info/exclude", "folder\n")
    assert refused(repo).message == "changed since run 1: folder, folder/file"
    assert list((tmp_path / "outside").iterdir()) == []


def test_undo_brings_ignored_files_back_and_leaves_approvals_alone(repo: Repo) -> None:
    """Operations kept them; what a command did to ignored files is not known, and said."""
    repo.write(".gitignore", "*.log\n")
    repo.write(".clada/allowed-commands.json", "{}")
    repo.write("x.log", "old")
    repo.commit()
    document = '<---WRITE file="x.log"--->\nnew\n<---END--->\n<---WRITE file="y.log"--->\n<---END--->\n'
    assert repo.execute(document).ok
    done = undone(repo)
    assert (done.restored, done.removed, done.notes, done.commit) == (("x.log",), ("y.log",), (), None)
    assert (repo.root / "x.log").read_text() == "old"

    def change() -> None:
        repo.write("a")
        repo.write(".clada/allowed-commands.json", "{ }")

    run(repo, change)
    done = undone(repo)
    assert (done.restored, done.removed) == ((), ("a",))
    assert (repo.root / ".clada/allowed-commands.json").read_text() == "{ }"
    assert done.notes == (
        "not undone: what the run's commands did in ignored directories and outside the workspace",
    )


def test_undo_where_nothing_can_be_undone(repo: Repo) -> None:
    """No run, a run that changed nothing, one that does not exist, one of which nothing is kept."""
    repo.commit(a="1")
    assert refused(repo).message == "no run is recorded for this workspace"
    run(repo, lambda: None)
    assert refused(repo).message == "no run changed anything"
    assert refused(repo, 1).message == "run 1 changed nothing that could be undone"
    assert refused(repo, 7).message == "there is no run 7 for this workspace"
    run(repo, lambda: repo.write(".clada/allowed-commands.json"))
    assert refused(repo, 2).message == "run 2 changed nothing that could be undone"
    history.start(find_store(str(repo.root)), history.RecordedRun(3, "now", "killed", ""))
    assert refused(repo).message == "the journal of run 3 is gone"


def test_undo_takes_back_the_last_run_that_changed_something(repo: Repo) -> None:
    """And the next one that undo: redo."""
    run(repo, lambda: repo.write("a"))
    run(repo, lambda: repo.write("b"))
    run(repo, lambda: None)
    run(repo, lambda: None)
    first = undone(repo)
    assert (first.run.number, first.number, first.removed) == (2, 5, ("b",))
    second = undone(repo)
    assert (second.run.number, second.restored) == (5, ("b",))


def test_undo_during_a_merge_is_refused(repo: Repo) -> None:
    """Like a run."""
    run(repo, lambda: repo.write("a"))
    repo.write(".git/MERGE_HEAD", repo.head())
    assert refused(repo).message == "a merge is in progress"


def test_undo_needs_no_object_of_the_repository(repo: Repo) -> None:
    """It works from the journal alone: even if objects are gone or damaged, and without a commit."""
    repo.commit(a="1", b="1")
    blob = repo.git("rev-parse", "HEAD:a")
    run(repo, lambda: [repo.write("a", "2"), repo.write("c")])
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    done = undo(str(repo.root), record="snapshots")
    assert (done.restored, done.removed, done.commit) == (("a",), ("c",), None)
    assert (repo.root / "a").read_text() == "1"


def test_undo_whose_journal_is_gone_touches_nothing(repo: Repo) -> None:
    """It is said before the first file is put back."""
    repo.commit(a="1")
    run(repo, lambda: [repo.write("a", "2"), repo.write("c")])
    (history_file(repo).parent / "runs/1").unlink()
    assert refused(repo).message == "the journal of run 1 is gone"
    assert (repo.root / "c").exists()


def test_undo_works_in_a_linked_work_tree_with_odd_names(repo: Repo, tmp_path: Path) -> None:
    """Its git directory may be on another file system; names are bytes."""
    repo.commit(a="1")
    linked = type(repo)(tmp_path / "linked")
    repo.git("worktree", "add", "-q", str(linked.root))
    names = ["new\nline", ":(top)x", 'q"uote', os.fsdecode(b"\xff"), "-dash", " "]
    run(linked, lambda: [linked.write(name, "1") for name in names])
    run(linked, lambda: [linked.write(name, "2") for name in names])
    undone(linked)
    assert {(linked.root / name).read_text() for name in names} == {"1"}
    assert linked.status() == []


def test_undo_across_file_systems(repo: Repo) -> None:
    """Where a file cannot be renamed into its place, a copy is."""
    other = "/dev/shm"
    if not os.access(other, os.W_OK) or os.stat(other).st_dev == os.stat(repo.root).st_dev:
        pytest.skip("there is no second file system to write on")
    away = os.path.join(other, f"clada-test-{os.getpid()}")
    repo.commit(a="1")
    repo.write("script", "old").chmod(0o755)
    (repo.root / "link").symlink_to("a")
    repo.commit()
    subprocess.run(["mv", ".git", away], cwd=repo.root, check=True)
    repo.write(".git", f"gitdir: {away}\n")
    repo.git("config", "core.worktree", str(repo.root))
    try:
        run(repo, lambda: subprocess.run(["rm", "a", "script", "link"], cwd=repo.root, check=True))
        undone(repo)
        assert repo.status() == []
        assert os.readlink(repo.root / "link") == "a"
        assert os.access(repo.root / "script", os.X_OK)
    finally:
        subprocess.run(["rm", "-rf", away], check=True)


def test_undo_respects_line_endings_and_filters_of_the_user(repo: Repo, home: Path) -> None:
    """A file comes back to the byte; the commit has what git makes of it."""
    with (home / ".gitconfig").open("a") as file:
        file.write('[filter "up"]\nclean = tr a-z A-Z\nsmudge = tr A-Z a-z\n')
    repo.write(".gitattributes", "*.up filter=up\n*.bat text eol=crlf\n")
    repo.write("x.up", "text\n")
    repo.write("x.bat", "one\r\ntwo\r\n")
    repo.commit()
    run(repo, lambda: [repo.write("x.up", "new\n"), repo.write("x.bat", "new\r\n")])
    assert repo.git("show", "HEAD:x.up") == "NEW"
    undone(repo)
    assert (repo.root / "x.up").read_bytes() == b"text\n"
    assert (repo.root / "x.bat").read_bytes() == b"one\r\ntwo\r\n"
    assert repo.status() == []


def test_undo_waits_for_a_run(repo: Repo) -> None:
    """They share the repository's lock."""
    run(repo, lambda: repo.write("a"))
    with repo.recorded(), pytest.raises(CladaError) as caught:
        undo(str(repo.root), lock_timeout=0.1)
    assert caught.value.error.type == "lock_timeout"


def test_numbers_go_on_after_a_run_that_left_many_files_unrecorded(repo: Repo) -> None:
    """However many paths there are, the row of the run has a limited number of them."""
    names = [f"{'long' * 50}{number}.log" for number in range(2000)]
    with repo.recorded() as record:
        record.scan.lost += names
    run(repo, lambda: repo.write("a"))
    second, first = past_runs(str(repo.root))
    assert (first.number, second.number) == (1, 2)
    assert first.unrecorded[-1].endswith(" more")
    assert sum(map(len, first.unrecorded)) < 2 * history.MAX_NAMES


def test_undo_that_fails_half_way_says_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error like any other, not a crash, and the next undo brings it to its end."""
    repo.commit(a="1", b="1")
    run(repo, lambda: [repo.write("a", "2"), repo.write("b", "2")])
    whole = Workspace.store

    def full(workspace: Workspace, parts: tuple[str, ...], *rest: Any) -> None:
        if parts == ("b",):
            raise OSError(28, "No space left on device", "b")
        whole(workspace, parts, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "store", full)
        with pytest.raises(CladaError, match="b: no space left on device"):
            undone(repo)
    assert [each.ended for each in past_runs(str(repo.root))] == ["failed", "ok"]
    assert undone(repo).run.number == 1
    assert [(repo.root / name).read_text() for name in ("a", "b")] == ["1", "1"]
    assert repo.status() == []


def _run_document(folder: Path, document: str, **options: Any) -> clada.Report:
    return clada.execute(document, workspace=str(folder), **options)


IGNORED = '<---WRITE file="a.ign"--->\nx\n<---END--->\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository that ignores *.ign."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    _run_document(tmp_path, '<---WRITE file=".gitignore"--->\n*.ign\n<---END--->\n')
    return tmp_path


def test_undo_of_a_run_that_only_wrote_ignored_files(project: Path) -> None:
    """They go, and no commit is made."""
    assert _run_document(project, IGNORED).ok
    done = undo(str(project))
    assert (done.removed, done.commit, done.notes) == (("a.ign",), None, ())
    assert not (project / "a.ign").exists()


REMOVALS = {
    "remove": '<tasks>\n<remove path="g"/>\n</tasks>\n',
    "rm -r": "<---RUN--->\nrm -r g\n<---END--->\n",
    "and a file in its place": '<---RUN--->\nrm -r g\n<---END--->\n<---WRITE file="g"--->\nx\n<---END--->\n',
}


@pytest.mark.parametrize("way", REMOVALS)
def test_undo_brings_back_ignored_files_that_went_with_their_directory(project: Path, way: str) -> None:
    """No commit has them, but the journal has."""
    (project / "g/deep").mkdir(parents=True)
    (project / "g/deep/a.ign").write_text("secret")
    (project / "g/deep/a.ign").chmod(0o600)
    (project / "g/kept").write_text("kept")
    before = tree(project)
    assert _run_document(project, REMOVALS[way]).ok
    done = undo(str(project))
    assert {"g/kept", "g/deep/a.ign"} <= set(done.restored)
    assert done.notes == ()
    assert tree(project) == before


@pytest.mark.parametrize("number", [None, 2])
def test_undo_of_a_run_that_only_removed_ignored_files(project: Path, number: int | None) -> None:
    """They are back, whether the run is named or the last one."""
    (project / "g").mkdir()
    (project / "g/a.ign").write_text("secret")
    assert _run_document(project, REMOVALS["remove"]).ok
    assert undo(str(project), number).restored == ("g/", "g/a.ign")
    assert (project / "g/a.ign").read_text() == "secret"


def test_undo_brings_back_ignored_files_whose_rules_went_with_them(project: Path) -> None:
    """Caches ignore themselves: git can no longer tell, and need not."""
    (project / "g").mkdir()
    (project / "g/.gitignore").write_text("*\n")
    (project / "g/data").write_text("data")
    assert _run_document(project, REMOVALS["rm -r"]).ok
    assert undo(str(project)).restored == ("g/", "g/.gitignore", "g/data")


def test_what_came_and_went_during_a_run_is_not_called_lost(project: Path) -> None:
    """There is nothing to restore."""
    document = "<---RUN--->\nmkdir g\ntouch g/scratch\nrm -r g\ntouch new\n<---END--->\n"
    assert _run_document(project, document).ok
    assert undo(str(project)).notes == ()


def test_undo_names_files_as_the_workspace_knows_them(inner: Repo) -> None:
    """Whether it cannot restore them or they stand in its way; what is outside has its whole path."""
    outside = inner.root.parent / "elsewhere"
    names = ("build/x", "new", str(outside))
    document = "".join(f'<---WRITE file="{name}"--->\n<---END--->\n' for name in names)
    assert inner.execute(document, allow_escape=True).ok
    inner.write("work/space/new", "since")
    assert refused(inner).message == "changed since run 1: new"
    inner.write("work/space/new", "")
    done = undone(inner)
    assert done.removed == ("build/", "build/x", "new")
    assert done.notes == (f"not restored, because no record of them was kept: {outside}",)


def test_undo_takes_back_ignored_files_that_were_written_beside_a_command(project: Path) -> None:
    """Which files the operations wrote is known, although the command may have changed any."""
    document = IGNORED + '<---WRITE file="b"--->\ny\n<---END--->\n<---RUN--->\npython3 -c pass\n<---END--->\n'
    assert _run_document(project, document, approve=["python3 -c pass"]).ok
    assert undo(str(project)).removed == ("a.ign", "b")


def test_a_run_whose_commit_failed_has_failed(project: Path) -> None:
    """The history says so, as the report does."""
    script = "open('.git/index.lock', 'w')"
    document = f'<---WRITE file="b"--->\ny\n<---END--->\n<---RUN--->\npython3 -c "{script}"\n<---END--->\n'
    report = _run_document(project, document, approve=[f'python3 -c "{script}"'], sandbox="off")
    (project / ".git/index.lock").unlink()
    assert report.error is not None
    assert past_runs(str(project))[0].ended == "failed"
