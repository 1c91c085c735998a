"""A run is recorded in two commits: of what was there before it, and of what it changed."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError
from clada.past import history
from clada.world.git.branch import BranchCommits

if TYPE_CHECKING:
    from pathlib import Path

    from tests.world.repository.conftest import Repo


def test_two_commits_of_what_was_there_and_of_what_changed(repo: Repo) -> None:
    """Before: everything that was changed or new. After: what the run did."""
    repo.write("mine.txt")
    with repo.recorded() as record:
        repo.write("clada.txt")
    assert repo.subjects() == ["clada:post", "clada:pre"]
    assert repo.names("HEAD~1") == ["mine.txt"]
    assert repo.names("HEAD") == ["clada.txt"]
    assert record.commits == (repo.git("rev-parse", "HEAD~1"), repo.head())
    assert record.error is None
    assert repo.status() == []


def test_the_subject_carries_the_time_as_date_prints_it(repo: Repo) -> None:
    """[clada:pre] and date -Iseconds."""
    repo.write("a")
    with repo.recorded():
        pass
    kind, stamp = repo.git("log", "-1", "--format=%s").split(" ")
    assert kind == "[clada:pre]"
    parsed = subprocess.run(["date", "-Iseconds", "-d", stamp], capture_output=True, text=True, check=True)
    assert parsed.stdout.strip() == stamp


def test_the_time_zone_is_the_users(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-hour zone west of Greenwich keeps its sign and its minutes."""
    monkeypatch.setenv("TZ", "XXX+03:30")
    time.tzset()
    try:
        repo.write("a")
        with repo.recorded():
            pass
        assert repo.git("log", "-1", "--format=%s").endswith("-03:30")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_nothing_is_committed_where_nothing_changed(repo: Repo) -> None:
    """No empty commits."""
    before = repo.commit(a="1")
    with repo.recorded() as record:
        pass
    assert repo.head() == before
    assert record.commits == (None, None)


def test_a_file_written_as_it_was_makes_no_commit(repo: Repo) -> None:
    """Touched is not changed."""
    before = repo.commit(a="1")
    with repo.recorded() as record:
        repo.write("a", "1")
    assert (repo.head(), record.commits, record.error) == (before, (None, None), None)


def test_nothing_changed_before_the_first_commit(repo: Repo) -> None:
    """An empty repository stays without commits."""
    with repo.recorded() as record:
        pass
    assert repo.head() == ""
    assert record.error is None


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ("clada", "clada <clada@localhost>"),
        ("Ada Lovelace", "Ada Lovelace <clada@localhost>"),
        ("Ada <ada@example.org>", "Ada <ada@example.org>"),
        ("Äda É <ä@example.org>", "Äda É <ä@example.org>"),
    ],
)
def test_the_author_is_the_one_given_and_the_committer_the_user(
    repo: Repo, author: str, expected: str
) -> None:
    """A bare name gets a mail address."""
    repo.write("a")
    with repo.recorded(git_author=author):
        pass
    assert repo.git("log", "-1", "--format=%an <%ae>|%cn <%ce>") == f"{expected}|User <user@example.org>"


def test_without_an_identity_the_author_is_the_committer(repo: Repo, home: Path) -> None:
    """Nothing is guessed from the machine's name."""
    (home / ".gitconfig").unlink()
    repo.write("a")
    with repo.recorded(git_author="Ada <ada@example.org>"):
        pass
    assert repo.git("log", "-1", "--format=%cn <%ce>") == "Ada <ada@example.org>"


def test_the_committer_of_the_environment_counts(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who the user says they are in GIT_COMMITTER_*."""
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Env")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "env@example.org")
    repo.write("a")
    with repo.recorded():
        pass
    assert repo.git("log", "-1", "--format=%cn <%ce>") == "Env <env@example.org>"


@pytest.mark.parametrize("author", ["", " ", "<a@b>", "Ada <ada", "A\nB", "Ada <a> <b>"])
def test_what_is_no_author_is_refused_before_anything(repo: Repo, author: str) -> None:
    """With a message that says how to write one."""
    with pytest.raises(ValueError, match="git_author"), repo.recorded(git_author=author):
        pytest.fail("it was started")
    with pytest.raises(CladaError, match="not an author"):
        BranchCommits(repo.found(), author)


def test_the_after_commit_is_made_when_an_operation_raises(repo: Repo) -> None:
    """There is no rollback: what changed is recorded."""

    def fail() -> None:
        with repo.recorded():
            repo.write("half.txt")
            raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        fail()
    assert repo.names() == ["half.txt"]


def test_the_after_commit_is_made_when_the_run_is_interrupted(repo: Repo) -> None:
    """What the command had done until then is recorded."""

    def interrupted() -> None:
        with repo.recorded():
            repo.write("half.txt")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert repo.names() == ["half.txt"]


def test_every_kind_of_change_is_recorded(repo: Repo) -> None:
    """Removed, renamed, executable, links, file for folder and folder for file, odd names, empty folders."""
    repo.write("gone.txt")
    repo.write("old-name.txt", "renamed\n" * 9)
    repo.write("script.sh").chmod(0o644)
    repo.write("file-to-folder")
    repo.write("folder-to-file/a/b")
    repo.write("file-to-link")
    repo.write("folder-to-link/inside")
    repo.write("old-folder/x/y")
    (repo.root / "link").symlink_to("gone.txt")
    repo.commit()
    with repo.recorded() as record:
        (repo.root / "gone.txt").unlink()
        (repo.root / "old-name.txt").rename(repo.root / "new-name.txt")
        (repo.root / "script.sh").chmod(0o755)
        (repo.root / "file-to-folder").unlink()
        repo.write("file-to-folder/new")
        subprocess.run(
            ["rm", "-r", "folder-to-file", "folder-to-link", "file-to-link"], cwd=repo.root, check=True
        )
        repo.write("folder-to-file")
        (repo.root / "file-to-link").symlink_to("script.sh")
        (repo.root / "folder-to-link").symlink_to("old-folder")
        (repo.root / "old-folder").rename(repo.root / "new-folder")
        (repo.root / "link").unlink()
        (repo.root / "link").symlink_to("elsewhere")
        (repo.root / "empty").mkdir()
    assert record.error is None
    assert repo.status() == []
    assert repo.files() == sorted(
        """
        new-name.txt script.sh file-to-folder/new folder-to-file file-to-link folder-to-link link
        new-folder/x/y
        """.split()
    )
    assert repo.git("ls-tree", "HEAD", "script.sh").startswith("100755")
    assert repo.git("show", "HEAD:link") == "elsewhere"


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "name",
    [b"new\nline", b'quo"te', b"back\\slash", b"\xff\xfe", b"-option", b":(top)magic", b":colon", b"gl*b?[x]",
     b" ", b"tab\t", b"\xe2\x80\xae", b"!bang", b"#hash"],
)  # fmt: skip
def test_odd_names_are_recorded_and_removed(repo: Repo, name: bytes) -> None:
    """A name is bytes: nothing in it is read as a pattern, an option or a line's end."""
    path = os.path.join(os.fsencode(repo.root), name)
    with repo.recorded() as record, open(path, "w") as file:
        file.write("odd")
    assert record.error is None
    assert repo.files() == [os.fsdecode(name)]
    with repo.recorded() as record:
        os.unlink(path)
    assert (record.error, repo.files()) == (None, [])


def test_ignored_files_stay_ignored_and_tracked_ones_count(repo: Repo) -> None:
    """What is tracked all the same is recorded."""
    repo.write("tracked.log", "1")
    repo.commit()
    repo.write(".gitignore", "*.log\nbuild/\n")
    with repo.recorded() as record:
        repo.write("tracked.log", "2")
        repo.write("new.log")
        repo.write("build/out.o")
        repo.write("build/deep/er.o")
    assert record.error is None
    assert repo.names() == ["tracked.log"]
    assert repo.files() == [".gitignore", "tracked.log"]


def test_the_approvals_are_recorded_like_any_file(repo: Repo) -> None:
    """They are meant to be version-controlled."""
    repo.write(".clada/allowed-commands.json", "{}")
    with repo.recorded():
        pass
    assert repo.files() == [".clada/allowed-commands.json"]


def test_only_the_workspace_is_committed(inner: Repo) -> None:
    """Of a larger repository nothing else is taken in: changed, new or removed."""
    inner.write("outside.txt", "changed")
    inner.write("new-outside.txt")
    inner.write("work/beside.txt")
    inner.write("work/space/mine.txt")
    with inner.recorded() as record:
        inner.write("work/space/new/clada.txt")
    assert record.error is None
    assert inner.names("HEAD~1") == ["work/space/mine.txt"]
    assert inner.names("HEAD") == ["work/space/new/clada.txt"]
    assert inner.git("show", "HEAD:outside.txt") == "outside"
    assert inner.status() == [" M outside.txt", "?? new-outside.txt", "?? work/beside.txt"]
    assert inner.fsck() == ""


def test_what_is_staged_elsewhere_stays_staged(inner: Repo) -> None:
    """Also what is staged and then changed again."""
    inner.write("outside.txt", "staged")
    inner.write("new-outside.txt", "staged")
    inner.git("add", "outside.txt", "new-outside.txt")
    inner.write("outside.txt", "and changed")
    inner.write("work/space/mine.txt")
    with inner.recorded() as record:
        inner.write("work/space/clada.txt")
    assert inner.status() == ["A  new-outside.txt", "MM outside.txt"]
    assert inner.git("show", ":outside.txt") == "staged"
    assert inner.names("HEAD") == ["work/space/clada.txt"]
    assert record.notes == ()


def test_the_last_file_of_a_workspace_can_go(inner: Repo) -> None:
    """The folders around it go with it, in the commit."""
    with inner.recorded() as record:
        (inner.workspace / "inside.txt").unlink()
    assert record.error is None
    assert inner.files() == ["outside.txt"]


def test_the_first_commit_from_a_workspace_below_the_root(repo: Repo) -> None:
    """An unborn branch, and a repository that is larger than the workspace."""
    repo.write("outside.txt")
    repo.write("deep/er/inside.txt")
    repo.workspace = repo.root / "deep/er"
    with repo.recorded(repository=str(repo.root)):
        pass
    assert repo.files() == ["deep/er/inside.txt"]
    assert repo.status() == ["?? outside.txt"]


def test_what_is_staged_in_part_is_committed_as_the_tree_has_it(repo: Repo) -> None:
    """Nothing stays staged that would undo the commit; what no commit has stays staged."""
    repo.commit(a="1", same="1")
    repo.write("a", "staged only")
    repo.write("b", "staged, then removed")
    repo.write("same", "staged, then put back")
    repo.git("add", "a", "b", "same")
    repo.write("a", "in the tree")
    repo.write("same", "1")
    (repo.root / "b").unlink()
    with repo.recorded() as record:
        repo.write("c")
    assert (record.error, record.notes) == (None, ("staged in part, and committed as a whole: a",))
    assert repo.git("show", "HEAD:a") == repo.git("show", ":a") == "in the tree"
    assert repo.files() == ["a", "c", "same"]
    assert repo.git("show", ":b") == "staged, then removed"
    assert repo.git("show", ":same") == "staged, then put back"
    assert repo.status() == ["AD b", "MM same"]
    assert repo.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_what_the_run_changes_is_not_staged_in_another_version(repo: Repo) -> None:
    """A file that is staged before each of two runs, which change it."""
    repo.commit(a="1")
    for text in ("first", "second"):
        repo.write("a", f"staged before the {text}")
        repo.git("add", "a")
        with repo.recorded() as record:
            repo.write("a", text)
        assert (record.error, repo.git("show", "HEAD:a"), repo.status()) == (None, text, [])


def test_a_file_removed_from_the_index_only_stays_so(repo: Repo) -> None:
    """The user has taken it out: no commit has it changed or removed, and a note says so."""
    repo.commit(a="1")
    repo.git("rm", "-q", "--cached", "a")
    with repo.recorded() as record:
        repo.write("a", "2")
        repo.write("b")
    assert (repo.names(), repo.status()) == (["b"], ["D  a", "?? a"])
    assert repo.git("show", "HEAD:a") == "1"
    assert record.notes == ("not committed, as you have taken them out of the index: a",)


def test_untracked_secrets_and_large_files_stay_off_the_branch(repo: Repo) -> None:
    """Those that were there and those that the run makes; tracked ones are files like others."""
    repo.commit(**{".npmrc": "tracked"})
    repo.write(".npmrc", "changed")
    for name in (".env", "conf/.env.local", "key.PEM", ".env.example", "fine.txt"):
        repo.write(name)
    repo.write("big.bin", b"\0" * (10 * 1024 * 1024 + 1))
    repo.write("nearly.bin", b"\0" * (10 * 1024 * 1024))
    with repo.recorded() as record:
        repo.write("id_ed25519")
        repo.write("new.txt")
    why = "left untracked, as they look like secrets or are over 10 MB (--commit-all takes them in)"
    assert record.notes == (f"{why}: .env, big.bin, conf/.env.local, key.PEM", f"{why}: id_ed25519")
    assert repo.names("HEAD~1") == [".env.example", ".npmrc", "fine.txt", "nearly.bin"]
    assert repo.names() == ["new.txt"]
    with repo.recorded(commit_all=True) as record:
        repo.write(".pgpass")
    assert record.notes == ()
    assert repo.names("HEAD~1") == [".env", "big.bin", "conf/.env.local", "id_ed25519", "key.PEM"]
    assert repo.names() == [".pgpass"]


def test_names_in_notes_cannot_act_on_a_terminal(repo: Repo) -> None:
    """Control characters are escaped."""
    repo.write("\x1b[2J\n[task-1] SUCCESS.pem")
    with repo.recorded() as record:
        pass
    assert record.notes[0].endswith(r"\x1b[2J\n[task-1] SUCCESS.pem")


def test_a_nested_repository_is_left_alone_and_named(repo: Repo) -> None:
    """It is not made into a broken submodule."""
    repo.write("nested/file.txt")
    subprocess.run(["git", "init", "-q", str(repo.root / "nested")], check=True)
    with repo.recorded() as record:
        repo.write("nested/more.txt")
        repo.write("own.txt")
    assert record.error is None
    assert repo.files() == ["own.txt"]
    assert "nested/ is a repository of its own: not recorded" in record.notes


def test_tracked_files_are_recorded_even_where_someone_planted_a_repository(repo: Repo) -> None:
    """A .git that appears beside tracked files does not hide them."""
    repo.write("lib/a.txt", "1")
    repo.commit()
    with repo.recorded() as record:
        subprocess.run(["git", "init", "-q", str(repo.root / "lib")], check=True)
        repo.write("lib/a.txt", "2")
    assert record.error is None
    assert repo.names() == ["lib/a.txt"]


def test_a_submodule_is_left_alone(repo: Repo, tmp_path: Path) -> None:
    """What changes in it is its own affair; the rest is recorded."""
    _add_submodule(repo, tmp_path)
    with repo.recorded() as record:
        repo.write("sub/new.txt")
        repo.write("own.txt")
    assert record.error is None
    assert repo.names() == ["own.txt"]


def _add_submodule(repo: Repo, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    subprocess.run(["git", "-C", str(other), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    repo.commit()


def test_a_submodule_can_be_the_workspace(repo: Repo, tmp_path: Path) -> None:
    """Its .git file leads to the repository around it, on purpose."""
    _add_submodule(repo, tmp_path)
    repo.workspace = repo.root / "sub"
    with repo.recorded() as record:
        repo.write("sub/new.txt")
    assert record.error is None
    assert repo.git("-C", "sub", "ls-tree", "--name-only", "HEAD") == "new.txt"


def test_a_linked_work_tree_works(repo: Repo, tmp_path: Path) -> None:
    """It records on its own branch, in its own index."""
    repo.commit(a="1")
    linked = type(repo)(tmp_path / "linked")
    repo.git("worktree", "add", "-q", "-b", "side", str(linked.root))
    with linked.recorded() as record:
        linked.write("b")
    assert record.error is None
    assert linked.files() == ["a", "b"]
    assert repo.files() == ["a"]
    assert linked.git("log", "-1", "--format=%D") == "HEAD -> side"


def test_a_linked_work_tree_of_a_bare_repository_works(repo: Repo, tmp_path: Path) -> None:
    """The main repository is bare; its work trees are not."""
    repo.commit(a="1")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    linked = type(repo)(tmp_path / "linked")
    subprocess.run(["git", "-C", tmp_path / "bare.git", "worktree", "add", "-q", linked.root], check=True)
    with linked.recorded():
        linked.write("b")
    assert linked.files() == ["a", "b"]


def test_a_detached_head_moves_on(repo: Repo) -> None:
    """And no branch does."""
    first = repo.commit(a="1")
    repo.git("checkout", "-q", "--detach")
    with repo.recorded():
        repo.write("b")
    assert repo.git("rev-parse", "main") == first
    assert repo.git("rev-parse", "HEAD~1") == first


def test_a_shallow_clone_works(repo: Repo, tmp_path: Path) -> None:
    """Nothing needs the history."""
    repo.commit(a="1")
    repo.commit(a="2")
    clone = type(repo)(tmp_path / "clone")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.root}", str(clone.root))
    with clone.recorded() as record:
        clone.write("b")
    assert (record.error, clone.files()) == (None, ["a", "b"])


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_works_and_fetches_nothing(repo: Repo, tmp_path: Path, kind: str) -> None:
    """Even when the place that it came from is gone."""
    repo.write("deep/er/a", "1")
    repo.commit()
    repo.write("deep/er/a", "2")
    repo.commit()
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = type(repo)(tmp_path / "clone", "deep")
    repo.git("clone", "-q", f"--filter={kind}", f"file://{repo.root}", str(clone.root))
    repo.root.rename(tmp_path / "away")
    with clone.recorded() as record:
        clone.write("deep/b")
    assert (record.error, clone.names()) == (None, ["deep/b"])


def test_a_sha256_repository_works(tmp_path: Path, inner: Repo) -> None:
    """Names of objects are longer, and that is all."""
    repo = type(inner)(tmp_path / "sha256", "folder")
    repo.root.mkdir()
    repo.git("init", "-q", "--object-format=sha256")
    repo.write("folder/a")
    with repo.recorded(repository=str(repo.root)) as record:
        repo.write("folder/b")
    assert record.error is None
    assert len(repo.head()) == 64
    assert repo.names() == ["folder/b"]


def test_a_sparse_checkout_keeps_what_is_not_there(repo: Repo) -> None:
    """Files left out on purpose are not recorded as removed."""
    repo.write("in/a")
    repo.write("out/b")
    repo.commit()
    repo.git("sparse-checkout", "set", "in")
    with repo.recorded() as record:
        repo.write("in/c")
    assert record.error is None
    assert repo.files() == ["in/a", "in/c", "out/b"]


def test_line_endings_are_recorded_as_the_user_has_it(repo: Repo) -> None:
    """core.autocrlf counts, and a file with mixed endings does not stop the commit."""
    repo.git("config", "core.autocrlf", "input")
    repo.git("config", "core.safecrlf", "true")
    with repo.recorded() as record:
        repo.write("a", "one\r\ntwo\n")
    assert record.error is None
    assert repo.git("cat-file", "-p", "HEAD:a") == "one\ntwo"


def test_special_files_do_not_stop_a_run(repo: Repo) -> None:
    """A FIFO where a file was counts as its removal; git cannot record one."""
    repo.commit(a="1", b="1")
    with repo.recorded() as record:
        (repo.root / "a").unlink()
        os.mkfifo(repo.root / "a")
        os.mkfifo(repo.root / "new")
        repo.write("b", "2")
    assert record.error is None
    assert repo.files() == ["b"]


def test_the_reflog_says_what_happened(repo: Repo) -> None:
    """So that a lost branch can be found."""
    repo.write("a")
    with repo.recorded():
        pass
    assert "clada: [clada:pre]" in repo.git("reflog", "-1")


def test_commits_made_by_the_runs_own_commands_stay(repo: Repo) -> None:
    """The commit after the run goes on top of them."""
    repo.commit(a="1")
    with repo.recorded() as record:
        repo.commit(b="by a command")
        repo.write("c")
    assert repo.subjects() == ["clada:post", "by hand", "by hand"]
    assert record.commits == (None, repo.head())


def test_many_removed_files_are_found_without_matching_each_against_all(repo: Repo) -> None:
    """More paths than git should match one by one, folders among them."""
    for number in range(200):
        repo.write(f"d{number % 20}/f{number}")
    repo.commit()
    with repo.recorded() as record:
        for number in range(120):
            (repo.root / f"d{number % 20}/f{number}").unlink()
        subprocess.run(["rm", "-r", "d0"], cwd=repo.root, check=True)
    assert record.error is None
    assert repo.status() == []
    assert len(repo.files()) == 200 - 120 - 4


def test_a_failed_after_commit_keeps_the_changes_and_says_what_to_do(repo: Repo) -> None:
    """The changes stay, and the error names the remedy."""
    repo.commit(a="1")
    with repo.recorded() as record:
        repo.write("a", "2")
        repo.write(".git/MERGE_HEAD", repo.head() + "\n")
    assert record.error is not None
    assert record.error.type == "git_operation_failed"
    assert record.error.message == "a merge is in progress"
    assert "git commit" in str(record.error.hint)
    assert (repo.root / "a").read_text() == "2"


def test_a_git_directory_that_was_replaced_during_the_run_is_not_used(repo: Repo) -> None:
    """A command cannot put another repository in its place: it fails, and nothing is written there."""
    repo.commit(a="1")
    records = []

    def replaced() -> None:
        with repo.recorded() as record:
            records.append(record)
            (repo.root / ".git").rename(repo.root / "moved")
            subprocess.run(["git", "init", "-q", str(repo.root)], check=True)
            repo.write("a", "2")

    with pytest.raises(CladaError, match="replaced"):
        replaced()
    (record,) = records
    assert record.error is not None
    assert "replaced" in record.error.message
    assert repo.head() == ""
    assert not (repo.root / ".git/clada").exists()


def test_an_index_lock_that_goes_away_is_waited_for(repo: Repo) -> None:
    """An editor that looks at the repository now and then does not fail a run."""
    repo.write("a")
    lock = repo.write(".git/index.lock", "")
    with subprocess.Popen(["sh", "-c", f"sleep 0.2; rm '{lock}'"]), repo.recorded():
        pass
    assert repo.files() == ["a"]


def test_notes_name_files_as_the_workspace_knows_them(inner: Repo) -> None:
    """Secrets and nested repositories alike."""
    inner.write("work/space/.env")
    subprocess.run(["git", "init", "-q", str(inner.workspace / "nested")], check=True)
    inner.write("work/space/nested/a")
    with inner.recorded() as record:
        pass
    nested, secret = record.notes
    assert secret.endswith("(--commit-all takes them in): .env")
    assert nested == "nested/ is a repository of its own: not recorded"


def test_what_was_touched_outside_the_workspace_is_not_committed(inner: Repo) -> None:
    """By --allow-escape; the history names it, because no undo restores it."""
    document = (
        '<---WRITE file="../../outside.txt"--->\n<---END--->\n<---WRITE file="new.txt"--->\n<---END--->\n'
    )
    assert inner.execute(document, allow_escape=True).ok
    assert inner.names() == ["work/space/new.txt"]
    assert inner.status() == [" M outside.txt"]
    assert history(inner.workspace)[0].unrecorded == (str(inner.root / "outside.txt"),)


def test_a_run_that_touched_ignored_files_only_makes_no_commit(repo: Repo) -> None:
    """And is in the history all the same, to be undone."""
    before = repo.commit(**{".gitignore": "*.log\n"})
    report = repo.execute('<---WRITE file="x.log"--->\n<---END--->\n')
    assert (report.ok, report.commits, repo.head()) == (True, {}, before)
    assert (history(repo.root)[0].changed, history(repo.root)[0].unrecorded) == (1, ())
