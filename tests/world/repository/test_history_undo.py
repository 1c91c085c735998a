"""Runs are recorded in the git directory, and each can be undone in a new commit, without losing anything."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.errors import Error, Trouble
from clada.world.git import history
from clada.world.git import undo as undo_module
from clada.world.git.undo import Undone, past_runs, undo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.world.repository.conftest import Repo


def run(repo: Repo, change: Callable[[], object], *touched: str, what: str = "") -> None:
    """Make a recorded run of this change."""
    with repo.found().recorded(describe=what) as record:
        change()
        record.touched = set(touched) or None
    assert record.error is None


def undone(repo: Repo, number: int | None = None) -> Undone:
    """Undo a run of the workspace."""
    return undo(str(repo.workspace), number)


def refused(repo: Repo, number: int | None = None) -> Error:
    """Return the error with which an undo is refused; nothing has changed then."""
    before = (repo.head(), repo.status(), repo.git("ls-files", "-s"))
    with pytest.raises(Trouble) as caught:
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
    run(repo, lambda: repo.write("a"), "a", what="1 write")
    with pytest.raises(KeyboardInterrupt), repo.found().recorded(describe="2 edits"):
        raise KeyboardInterrupt
    with repo.found().recorded(describe="1 run") as record:
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
    run(repo, lambda: repo.write("a"), "a")
    assert repo.files() == ["a"]
    assert set(os.listdir(repo.root)) == {".git", "a"}


def test_each_workspace_and_work_tree_has_its_own_history(inner: Repo, tmp_path: Path) -> None:
    """And numbers are unique in a work tree."""
    linked = type(inner)(tmp_path / "linked")
    inner.git("worktree", "add", "-q", str(linked.root))
    run(inner, lambda: inner.write("work/space/a"), "a", what="inner")
    outer = type(inner)(inner.root)
    run(outer, lambda: outer.write("b"), "b", what="outer")
    run(linked, lambda: linked.write("c"), "c", what="linked")
    assert [(each.number, each.what) for each in past_runs(str(inner.workspace))] == [(1, "inner")]
    assert [(each.number, each.what) for each in past_runs(str(outer.workspace))] == [(2, "outer")]
    assert [(each.number, each.what) for each in past_runs(str(linked.workspace))] == [(1, "linked")]


def test_history_survives_a_torn_line_and_foreign_text(repo: Repo) -> None:
    """A crash in the middle of a line costs that line only."""
    run(repo, lambda: repo.write("a"), "a")
    file = repo.root / ".git/clada/history"
    file.write_bytes(file.read_bytes() + b"nonsense\n\xff\tx\nend\tx\tok\nstart\t7")
    run(repo, lambda: repo.write("b"), "b")
    assert [(each.number, each.ended) for each in past_runs(str(repo.root))] == [(8, "ok"), (1, "ok")]


@pytest.mark.parametrize(
    "number", ["9" * 5000, "9" * 19, "9" * 18, "1000000000", "٣", "²", "-1", "+1", " 1", "1_0", ""]
)
def test_history_leaves_out_what_is_no_number_of_a_run(repo: Repo, number: str) -> None:
    """A planted line keeps nothing from being listed, recorded or undone."""
    repo.commit(a="1")
    file = repo.write(
        ".git/clada/history", f"start\t{number}\tnow\tplanted\t\t\t\nend\t{number}\tok\t\t\tfiles\n"
    )
    assert past_runs(str(repo.root)) == []
    run(repo, lambda: repo.write("a", "2"), "a", what="real")
    assert [(each.number, each.what) for each in past_runs(str(repo.root))] == [(1, "real")]
    assert undone(repo).number == 2
    assert file.read_text().startswith(f"start\t{number}\t")


def test_history_goes_on_after_the_last_number_of_all(repo: Repo) -> None:
    """Whoever planted it: later runs get numbers of their own, and are newer."""
    repo.commit(a="1")
    repo.write(".git/clada/history", "start\t999999999\tnow\tplanted\t\t\t\nstart\t1\tnow\tplanted\t\t\t\n")
    for number in (2, 3):
        run(repo, lambda number=number: repo.write("a", f"of {number}"), "a", what="real")  # type: ignore[misc]
    known = [(each.number, each.what) for each in past_runs(str(repo.root))]
    assert known == [(3, "real"), (2, "real"), (1, "planted"), (999999999, "planted")]
    assert undone(repo).run.number == 3
    assert (repo.root / "a").read_text() == "of 2"


def test_history_takes_any_text(repo: Repo) -> None:
    """Tabs, line breaks, backslashes and bytes that are no text."""
    odd = "\\t\t\n\\n\\\\\udcff end"
    repo.write(".gitignore", "*.log")
    names = ["x\ty\\.log", "new\nline.log", os.fsdecode(b"\xff.log")]
    run(repo, lambda: [repo.write(name) for name in names], *names, what=odd)
    (only,) = past_runs(str(repo.root))
    assert only.what == odd
    assert sorted(only.unrecorded) == sorted(names)


def test_history_is_read_in_bounded_memory(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a very long one, the end."""
    for number in range(4):
        run(repo, lambda number=number: repo.write("a", str(number)), "a")  # type: ignore[misc]
    monkeypatch.setattr(history, "MAX_READ", 500)
    numbers = [each.number for each in past_runs(str(repo.root))]
    assert numbers[0] == 4
    assert len(numbers) < 4


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
    assert set(done.removed) == {"created/deep/er", "folder", "file/now/a/folder", "moved/x/y"}
    assert {"changed", "removed", "script", "folder/a/b", "file", "link", "old/x/y"} == set(done.restored)
    assert not (repo.root / "created").exists()
    undone(repo)
    assert tree(repo.root) == after
    assert repo.status() == []
    assert [each.what for each in past_runs(str(repo.root))][:2] == ["undo of run 2", "undo of run 1"]
    assert repo.fsck() == ""


def test_undo_of_the_first_run_of_all(repo: Repo) -> None:
    """There was no commit before it: the files go."""
    run(repo, lambda: repo.write("a"), "a")
    undone(repo)
    assert (repo.files(), tree(repo.root)) == ([], {})


def test_undo_keeps_what_was_there_uncommitted_before_the_run(repo: Repo) -> None:
    """The pre-commit has it."""
    repo.commit(a="committed")
    repo.write("a", "my unsaved work")
    run(repo, lambda: repo.write("a", "by clada"), "a")
    undone(repo)
    assert (repo.root / "a").read_text() == "my unsaved work"


def test_undo_keeps_modes_that_git_does_not_know(repo: Repo) -> None:
    """A private file does not become readable by others."""
    repo.write("private", "1").chmod(0o600)
    repo.commit()
    run(repo, lambda: repo.write("private", "2"), "private")
    undone(repo)
    assert (repo.root / "private").stat().st_mode & 0o777 == 0o600
    assert (repo.root / "private").read_text() == "1"


def test_undo_gives_nobody_the_rights_of_another(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose owner cannot be kept comes back without setuid and setgid; else they stay."""
    repo.commit(a="1")
    file = repo.root / "a"
    file.chmod(0o6755)
    run(repo, lambda: file.write_text("2"), "a")
    file.chmod(0o6755)
    undone(repo)
    assert file.stat().st_mode & 0o7777 == 0o6755
    run(repo, lambda: file.write_text("3"), "a")
    file.chmod(0o6755)

    def not_given_away(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", not_given_away)
    undone(repo)
    assert file.stat().st_mode & 0o7777 == 0o755


def test_undo_leaves_other_work_as_it_is(repo: Repo) -> None:
    """Staged, changed, untracked: all stays, and nothing of it is committed."""
    repo.commit(a="1", b="1", c="1")
    run(repo, lambda: repo.write("a", "2"), "a")
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

    run(inner, change)
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
    run(inner, lambda: inner.write("work/space/only"), "only")
    undone(inner)
    assert list(inner.workspace.iterdir()) == []


def test_undo_of_an_earlier_run_whose_files_are_unchanged(repo: Repo) -> None:
    """By its number."""
    run(repo, lambda: repo.write("a"), "a")
    run(repo, lambda: repo.write("b"), "b")
    undone(repo, 1)
    assert repo.files() == ["b"]


def test_undo_is_refused_where_a_later_run_changed_the_file(repo: Repo) -> None:
    """It names the file and the run."""
    run(repo, lambda: repo.write("a", "1"), "a")
    run(repo, lambda: repo.write("a", "2"), "a")
    error = refused(repo, 1)
    assert error.message == "changed since run 1: a"
    undone(repo, 2)
    assert refused(repo, 2).message == "changed since run 2: a"
    undone(repo, 1)
    assert repo.files() == []


@pytest.mark.parametrize("staged", [True, False])
def test_undo_is_refused_where_the_file_was_changed_by_hand(repo: Repo, staged: bool) -> None:
    """Uncommitted work is never lost."""
    run(repo, lambda: [repo.write("a"), repo.write("b")], "a", "b")
    repo.write("a", "by hand")
    if staged:
        repo.git("add", "a")
    assert refused(repo).message == "changed since run 1: a"
    assert (repo.root / "a").read_text() == "by hand"


@pytest.mark.parametrize("ignored", [True, False])
def test_undo_is_refused_where_a_new_file_stands_in_the_place(repo: Repo, ignored: bool) -> None:
    """Even one that git ignores."""
    repo.commit(a="1")
    run(repo, (repo.root / "a").unlink, "a")
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

    run(repo, change, "a")
    repo.write(".git/info/exclude", "precious\n" if ignored else "")
    repo.write("a/precious", "mine")
    assert refused(repo).message == "changed since run 1: a/precious"
    assert (repo.root / "a/precious").read_text() == "mine"


def test_undo_leaves_a_folder_that_still_holds_something(repo: Repo) -> None:
    """Only what the run made is removed."""
    run(repo, lambda: repo.write("folder/made"), "folder")
    repo.write("folder/mine")
    undone(repo)
    assert tree(repo.root).keys() == {"folder/mine"}


@pytest.mark.parametrize("ignored", [True, False])
def test_undo_follows_no_link_on_the_way(repo: Repo, tmp_path: Path, ignored: bool) -> None:
    """A folder that became a link, since, leads it nowhere."""
    repo.write("folder/file", "old")
    repo.commit()
    run(repo, lambda: repo.write("folder/file", "new"), "folder/file")
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
    run(repo, lambda: subprocess.run(["rm", "-r", "folder"], cwd=repo.root, check=True), "folder")
    (tmp_path / "outside").mkdir()
    (repo.root / "folder").symlink_to(tmp_path / "outside")
    repo.write(".git/info/exclude", "folder\n")
    assert refused(repo).message == "changed since run 1: folder"
    assert list((tmp_path / "outside").iterdir()) == []


def test_undo_names_what_it_cannot_restore(repo: Repo) -> None:
    """Ignored files, approvals, and what commands did elsewhere."""
    repo.write(".gitignore", "*.log\n")
    repo.write(".clada/allowed-commands.json", "{}")
    repo.commit()

    def change() -> None:
        repo.write("a")
        repo.write("x.log")
        repo.write(".clada/allowed-commands.json", "{ }")

    run(repo, change, "a", "x.log", ".clada")
    done = undone(repo)
    assert done.notes == (
        "not restored, because git does not record them: x.log",
        "not restored, because undo leaves approvals and submodules alone: .clada/allowed-commands.json",
    )
    assert (repo.root / ".clada/allowed-commands.json").read_text() == "{ }"
    run(repo, lambda: repo.write("b"))
    assert undone(repo).notes == (
        "not undone: what the run's commands did to ignored files and outside the workspace",
    )


def test_undo_where_nothing_can_be_undone(repo: Repo) -> None:
    """No run, a run that changed nothing, one that does not exist, one that was cut off."""
    repo.commit(a="1")
    assert refused(repo).message == "no run is recorded for this workspace"
    run(repo, lambda: None)
    assert refused(repo).message == "run 1 changed nothing"
    assert refused(repo, 7).message == "there is no run 7 for this workspace"
    run(repo, lambda: repo.write(".clada/allowed-commands.json"), ".clada/allowed-commands.json")
    assert refused(repo).message == "run 2 changed nothing that could be undone"
    history.start(repo.found(), history.RecordedRun(0, "now", "killed", "", repo.head()))
    error = refused(repo)
    assert error.message == "run 3 ended before its changes were committed"
    assert "git restore --source=" in str(error.hint)


def test_undo_after_runs_that_changed_nothing_names_the_one_that_did(repo: Repo) -> None:
    """It does not jump to it: which run is undone is for the person to say."""
    run(repo, lambda: repo.write("a"), "a")
    run(repo, lambda: repo.write("b"), "b")
    run(repo, lambda: None)
    run(repo, lambda: None)
    error = refused(repo)
    assert error.message == "run 4 changed nothing"
    assert error.hint == "the last one that did is undone by: clada undo 2"
    assert undone(repo, 2).removed == ("b",)


def test_undo_during_a_merge_is_refused(repo: Repo) -> None:
    """Like a run."""
    run(repo, lambda: repo.write("a"), "a")
    repo.write(".git/MERGE_HEAD", repo.head())
    assert refused(repo).message == "a merge is in progress"


def test_undo_whose_content_is_gone_touches_nothing(repo: Repo) -> None:
    """It is noticed before the first file is put back."""
    repo.commit(a="1", b="1")
    blob = repo.git("rev-parse", "HEAD:a")
    run(repo, lambda: [repo.write("a", "2"), repo.write("c")], "a", "c")
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert refused(repo).message == "the repository does not have the content of a"
    assert (repo.root / "c").exists()


def test_undo_works_in_a_linked_work_tree_with_odd_names(repo: Repo, tmp_path: Path) -> None:
    """Its git directory may be on another file system; names are bytes."""
    repo.commit(a="1")
    linked = type(repo)(tmp_path / "linked")
    repo.git("worktree", "add", "-q", str(linked.root))
    names = ["new\nline", ":(top)x", 'q"uote', os.fsdecode(b"\xff"), "-dash", " "]
    run(linked, lambda: [linked.write(name, "1") for name in names], *names)
    run(linked, lambda: [linked.write(name, "2") for name in names], *names)
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
    try:
        run(repo, lambda: subprocess.run(["rm", "a", "script", "link"], cwd=repo.root, check=True))
        undone(repo)
        assert repo.status() == []
        assert os.readlink(repo.root / "link") == "a"
        assert os.access(repo.root / "script", os.X_OK)
    finally:
        subprocess.run(["rm", "-rf", away], check=True)


def test_undo_respects_line_endings_and_filters_of_the_user(repo: Repo, home: Path) -> None:
    """A file comes back as a checkout would write it."""
    with (home / ".gitconfig").open("a") as file:
        file.write('[filter "up"]\nclean = tr a-z A-Z\nsmudge = tr A-Z a-z\n')
    repo.write(".gitattributes", "*.up filter=up\n*.bat text eol=crlf\n")
    repo.write("x.up", "text\n")
    repo.write("x.bat", "one\r\ntwo\r\n")
    repo.commit()
    run(repo, lambda: [repo.write("x.up", "new\n"), repo.write("x.bat", "new\r\n")], "x.up", "x.bat")
    assert repo.git("show", "HEAD:x.up") == "NEW"
    undone(repo)
    assert (repo.root / "x.up").read_bytes() == b"text\n"
    assert (repo.root / "x.bat").read_bytes() == b"one\r\ntwo\r\n"
    assert repo.status() == []


def test_undo_waits_for_a_run(repo: Repo) -> None:
    """They share the repository's lock."""
    run(repo, lambda: repo.write("a"), "a")
    with repo.found().recorded(), pytest.raises(Trouble) as caught:
        undo(str(repo.root), lock_timeout=0.1)
    assert caught.value.error.type == "lock_timeout"


def test_numbers_go_on_after_a_run_that_left_many_files_unrecorded(repo: Repo) -> None:
    """However many names there are, the end of the file shows the last number."""
    repo.write(".gitignore", "*.log\n")
    names = [f"{'long' * 50}{number}.log" for number in range(2000)]
    run(repo, lambda: [repo.write(name) for name in names], *names)
    run(repo, lambda: repo.write("a"), "a")
    second, first = past_runs(str(repo.root))
    assert (first.number, second.number) == (1, 2)
    assert first.unrecorded[-1].endswith(" more")
    assert (repo.root / ".git/clada/history").stat().st_size < history.MAX_TAIL


def test_undo_that_fails_half_way_says_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error like any other, not a crash, and the next undo is possible."""
    repo.commit(a="1")
    run(repo, lambda: repo.write("a", "2"), "a")

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device", "a")

    with monkeypatch.context() as patch:
        patch.setattr(undo_module, "restore_file", full)
        with pytest.raises(Trouble, match="half way: No space left on device: a") as caught:
            undone(repo)
    assert caught.value.error.type == "io_error"
    assert not list((repo.root / ".git/clada").glob("undo.*"))
    undone(repo, 1)
    assert (repo.root / "a").read_text() == "1"


def _run_document(folder: Path, document: str, **options: Any) -> clada.Report:
    return clada.execute(clada.parse(document), workspace=str(folder), **options)


IGNORED = '<---WRITE file="a.ign"--->\nx\n<---END--->\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository that ignores *.ign."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    _run_document(tmp_path, '<---WRITE file=".gitignore"--->\n*.ign\n<---END--->\n')
    return tmp_path


def test_undo_of_a_run_that_only_wrote_ignored_files_names_them(project: Path) -> None:
    """It does not claim that nothing was changed."""
    assert _run_document(project, IGNORED).ok
    with pytest.raises(Trouble, match=r"changed nothing that git records; not restored: a\.ign"):
        undo(str(project))


REMOVALS = {
    "remove": '<tasks>\n<remove path="g"/>\n</tasks>\n',
    "rm -r": "<---RUN--->\nrm -r g\n<---END--->\n",
    "and a file in its place": '<---RUN--->\nrm -r g\n<---END--->\n<---WRITE file="g"--->\nx\n<---END--->\n',
}


@pytest.mark.parametrize("way", REMOVALS)
def test_undo_names_ignored_files_that_went_with_their_directory(project: Path, way: str) -> None:
    """They are lost: no commit has them."""
    (project / "g/deep").mkdir(parents=True)
    (project / "g/deep/a.ign").write_text("secret")
    (project / "g/kept").write_text("kept")
    assert _run_document(project, REMOVALS[way]).ok
    done = undo(str(project))
    assert "g/kept" in done.restored
    assert done.notes == ("not restored, because git does not record them: g/deep/a.ign",)


def test_undo_of_a_run_that_only_removed_ignored_files_names_them(project: Path) -> None:
    """It does not claim that nothing was changed, whether the run is named or the last one."""
    (project / "g").mkdir()
    (project / "g/a.ign").write_text("secret")
    assert _run_document(project, REMOVALS["remove"]).ok
    for number in (None, 2):
        with pytest.raises(Trouble, match=r"changed nothing that git records; not restored: g/a\.ign$"):
            undo(str(project), number)


def test_undo_names_ignored_files_whose_rules_went_with_them(project: Path) -> None:
    """Caches ignore themselves: git can no longer tell."""
    (project / "g").mkdir()
    (project / "g/.gitignore").write_text("*\n")
    (project / "g/data").write_text("data")
    assert _run_document(project, REMOVALS["rm -r"]).ok
    with pytest.raises(Trouble, match=r"not restored: g/\.gitignore, g/data$"):
        undo(str(project))


def test_what_came_and_went_during_a_run_is_not_called_lost(project: Path) -> None:
    """There is nothing to restore."""
    document = "<---RUN--->\nmkdir g\ntouch g/scratch\nrm -r g\ntouch new\n<---END--->\n"
    assert _run_document(project, document).ok
    assert undo(str(project)).notes == ()


def test_undo_names_files_as_the_workspace_knows_them(inner: Repo) -> None:
    """Whether it cannot restore them or they stand in its way; what is outside has its whole path."""
    inner.commit(**{".gitignore": "*.log\n"})

    def change() -> None:
        inner.write("work/space/build/x.log")
        inner.write("work/space/new")

    run(inner, change, "build/x.log", "new", "/elsewhere")
    inner.write("work/space/new", "since")
    assert refused(inner).message == "changed since run 1: new"
    inner.write("work/space/new")
    assert undone(inner).notes == ("not restored, because git does not record them: build/x.log, /elsewhere",)


def test_undo_names_ignored_files_that_were_written_beside_a_command(project: Path) -> None:
    """Which files the operations wrote is known, although the command may have changed any."""
    document = IGNORED + '<---WRITE file="b"--->\ny\n<---END--->\n<---RUN--->\npython3 -c pass\n<---END--->\n'
    assert _run_document(project, document, approve=["python3 -c pass"]).ok
    assert any("a.ign" in note for note in undo(str(project)).notes)


def test_a_run_whose_commit_failed_has_failed(project: Path) -> None:
    """The history says so, as the report does."""
    script = "open('.git/index.lock', 'w')"
    document = f'<---WRITE file="b"--->\ny\n<---END--->\n<---RUN--->\npython3 -c "{script}"\n<---END--->\n'
    report = _run_document(project, document, approve=[f'python3 -c "{script}"'], sandbox="off")
    (project / ".git/index.lock").unlink()
    assert report.error is not None
    assert past_runs(str(project))[0].ended == "failed"
