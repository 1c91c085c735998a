"""Where no commit can be made, nothing is executed, and the error says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.handles import open_handles

from clada.errors import CladaError, Error
from clada.settings import Settings
from clada.world.git import git
from clada.world.git.repository import find
from clada.world.record.recorder import RunToRecord, make_recorder
from clada.world.record.store import in_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.world.repository.conftest import Repo

NOBODY = 65534


def start(workspace: Path) -> None:
    """Start a run, as a document does."""
    settings = Settings(str(workspace), record="commits")
    with make_recorder(RunToRecord("", planned=(), wide=True), settings, None, None):
        pytest.fail("the run was started")


def refused(workspace: Path, type_: str = "git_operation_failed") -> Error:
    """Return the error with which a run in this workspace is refused."""
    with pytest.raises(CladaError) as caught:
        start(workspace)
    assert caught.value.error.type == type_
    assert ("--no-git" if type_ == "git_operation_failed" else "remove it") in str(caught.value.error.hint)
    return caught.value.error


def test_a_folder_outside_any_repository(tmp_path: Path) -> None:
    """The remedy is git init."""
    error = refused(tmp_path)
    assert error.message == f"not a git repository: {tmp_path}"
    without = "--record=snapshots makes none and can undo all the same"
    assert error.hint == f"git init, or use --no-git to work without commits; {without}"


def test_a_workspace_that_does_not_exist(tmp_path: Path) -> None:
    """It is said plainly."""
    with pytest.raises(CladaError, match="there is no directory") as caught:
        find(str(tmp_path / "missing"))
    assert caught.value.error.type == "file_not_found"


def test_a_bare_repository(tmp_path: Path) -> None:
    """It has no files to work on."""
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True)
    assert "bare repository" in refused(tmp_path / "bare").message


@pytest.mark.parametrize("value", ["true", "yes", "1", "TRUE"])
def test_a_repository_configured_as_bare(repo: Repo, value: str) -> None:
    """The configuration says so, in any of git's ways."""
    repo.commit(a="1")
    text = (repo.root / ".git/config").read_text().replace("bare = false", f"bare = {value}")
    (repo.root / ".git/config").write_text(text)
    assert "bare repository" in refused(repo.root).message


def _conflict(repo: Repo) -> None:
    repo.commit(a="base")
    repo.git("checkout", "-q", "-b", "side")
    repo.commit(a="side")
    repo.git("checkout", "-q", "main")
    repo.commit(a="main")


def _bisect(repo: Repo) -> None:
    _conflict(repo)
    repo.git("bisect", "start")


def _started(*command: str) -> Callable[[Repo], None]:
    def start(repo: Repo) -> None:
        _conflict(repo)
        repo.git(*command, check=False)

    return start


def _stash_conflict(repo: Repo) -> None:
    repo.commit(a="base")
    repo.write("a", "stashed")
    repo.git("stash", "-q")
    repo.commit(a="main")
    repo.git("stash", "pop", "-q", check=False)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (_started("merge", "side"), "a merge is in progress"),
        (_started("rebase", "side"), "a rebase is in progress"),
        (_started("rebase", "--apply", "side"), "a rebase or git am is in progress"),
        (_started("cherry-pick", "side"), "a cherry-pick is in progress"),
        (_started("revert", "main~1"), "a revert is in progress"),
        (_bisect, "a bisect is in progress"),
        (_stash_conflict, "there are unmerged files: a"),
    ],
    ids=["merge", "rebase", "rebase-apply", "cherry-pick", "revert", "bisect", "stash"],
)
def test_something_under_way(repo: Repo, start: Callable[[Repo], None], message: str) -> None:
    """A commit would get into its way; nothing is touched."""
    start(repo)
    before = (repo.head(), repo.status(), repo.git("ls-files", "-s"))
    assert refused(repo.root).message == message
    assert (repo.head(), repo.status(), repo.git("ls-files", "-s")) == before


def test_unmerged_files_outside_the_workspace(inner: Repo) -> None:
    """No commit can be made of an index that holds them."""
    inner.write("outside.txt", "stashed")
    inner.git("stash", "-q")
    inner.write("outside.txt", "main")
    inner.commit()
    inner.git("stash", "pop", "-q", check=False)
    assert refused(inner.workspace).message == "there are unmerged files: outside.txt"


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/some/branch.lock"])
def test_what_a_commit_changes_is_locked(repo: Repo, name: str) -> None:
    """The remedy tells of a lock that was left behind."""
    repo.commit(a="1")
    repo.git("checkout", "-q", "-b", "some/branch")
    lock = repo.write(f".git/{name}", "")
    error = refused(repo.root)
    assert error.message == f"another git process holds {lock}"
    assert "remove that file" in str(error.hint)


@pytest.mark.parametrize("name", ["worktrees/linked/HEAD.lock", "refs/heads/linked.lock"])
def test_the_branch_of_a_linked_work_tree_is_locked(repo: Repo, tmp_path: Path, name: str) -> None:
    """The branch is locked in the repository that all of its work trees share."""
    repo.commit(a="1")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    lock = repo.write(f".git/{name}", "")
    assert refused(tmp_path / "linked").message == f"another git process holds {lock}"


def test_locks_of_other_branches_and_a_head_that_names_none_are_no_hindrance(repo: Repo) -> None:
    """Nothing waits that need not."""
    repo.commit(a="1")
    repo.git("checkout", "-q", "--detach")
    repo.write(".git/refs/heads/main.lock", "")
    with repo.recorded() as record:
        repo.write("a", "2")
    assert record.error is None


def test_a_head_that_is_a_link_names_its_branch_too(repo: Repo) -> None:
    """As git made them long ago, and still reads them."""
    repo.commit(a="1")
    head = repo.root / ".git/HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    with repo.recorded() as record:
        repo.write("a", "2")
    assert record.error is None
    lock = repo.write(".git/refs/heads/main.lock", "")
    assert refused(repo.root).message == f"another git process holds {lock}"


def test_git_is_not_installed(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing called git is on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(repo.root).message == "git is not installed, or not on the PATH"


@pytest.mark.parametrize("entry", ["", ".", "bin", "{root}/bin", "{root}/link"])
def test_a_git_planted_in_the_work_tree_is_never_used(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """For every kind of PATH: relative, inside the work tree, or led there by a link."""
    for name in ("git", "bin/git"):
        repo.write(name, "#!/bin/sh\ntouch planted-git-ran\n").chmod(0o755)
    (repo.root / "link").symlink_to("bin")
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("PATH", entry.format(root=repo.root) + os.pathsep + os.environ["PATH"])
    assert not find(".").program.startswith((str(repo.root), "bin", "."))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_a_repository_of_another_user(repo: Repo) -> None:
    """The remedy is git's own: safe.directory, which then counts."""
    repo.commit(a="1")
    os.chown(repo.root / ".git", NOBODY, NOBODY)
    error = refused(repo.root)
    assert error.message.startswith("the repository belongs to another user")
    assert f"safe.directory {repo.root}" in str(error.hint)
    os.chown(repo.root, NOBODY, NOBODY)
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", repo.root], check=True)
    assert find(str(repo.root)).root == str(repo.root)


AS_NOBODY = """
import os, sys
import fcntl, hashlib, sqlite3
from clada.errors import CladaError
from clada.settings import Settings
from clada.world.git import branch
from clada.world.record import journal
from clada.world.record.recorder import RunToRecord, make_recorder
if os.geteuid() == 0:
    os.chown(sys.argv[1], 65534, 65534)
    for folder, folders, files in os.walk(sys.argv[1]):
        for name in folders + files:
            os.lchown(os.path.join(folder, name), 65534, 65534)
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.chmod(os.path.join(sys.argv[1], ".git", sys.argv[2]), int(sys.argv[3], 8))
os.environ["HOME"] = "/"
os.environ["XDG_STATE_HOME"] = os.path.join(sys.argv[1], "state")
try:
    with make_recorder(RunToRecord("", planned=()), Settings(sys.argv[1]), None, None):
        print("started")
except CladaError as trouble:
    print(trouble.error.type, trouble.error.message)
finally:
    os.chmod(os.path.join(sys.argv[1], ".git", sys.argv[2]), 0o755)
"""


@pytest.fixture
def open_repo(repo: Repo) -> Iterator[Repo]:
    """Make a repository that other users can reach, which those below pytest's own folders cannot."""
    folder = Path(tempfile.mkdtemp(prefix="clada-test-"))
    folder.chmod(0o755)
    try:
        repo.root.rename(folder / "repo")
        yield type(repo)(folder / "repo")
    finally:
        (folder / "repo/.git").chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("folder", [".", "objects"])
def test_no_permission_to_write(open_repo: Repo, folder: str) -> None:
    """Noticed before anything runs, even where there is nothing to commit yet."""
    subprocess.run(["git", "-C", open_repo.root, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, open_repo.root, folder, "555"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("git_operation_failed "), done.stderr
    assert "git directory" in done.stdout or "no permission" in done.stdout


@pytest.mark.parametrize("place", ["config", "."])
def test_no_permission_to_read(open_repo: Repo, place: str) -> None:
    """It is said what the system refused, and where."""
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, open_repo.root, place, "0"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("git_operation_failed "), done.stderr


@pytest.mark.parametrize(
    "place", ["config", "HEAD", f"clada/{os.geteuid()}/record.db", "clada/lock", "commondir"]
)
def test_a_folder_where_a_file_of_git_has_to_be(repo: Repo, place: str) -> None:
    """An error with a remedy, for a run and for the doctor: no internal error."""
    (repo.root / ".git" / place).unlink(missing_ok=True)
    (repo.root / ".git" / place).mkdir(parents=True)
    refused(repo.root, "io_error" if place.endswith("record.db") else "git_operation_failed")
    done = subprocess.run(
        [sys.executable, "-m", "clada", "doctor"], cwd=repo.root, capture_output=True, text=True, check=False
    )
    assert "\nok      sandbox" in done.stdout or "\nnote    sandbox" in done.stdout
    assert done.stderr == ""


def test_handles_are_closed_where_a_folder_is_no_file(repo: Repo) -> None:
    """A host that goes on after the error does not run out of them."""
    (repo.root / ".git/config").unlink()
    (repo.root / ".git/config").mkdir()
    before = open_handles()
    refused(repo.root)
    assert open_handles() == before


def test_a_common_directory_that_no_path_can_name(repo: Repo) -> None:
    """A NUL in it is trouble like any other."""
    repo.write(".git/commondir", "a\0b")
    refused(repo.root)


def test_a_damaged_index(repo: Repo) -> None:
    """What git says is passed on."""
    repo.commit(a="1")
    repo.write(".git/index", "garbage garbage garbage")
    assert "git status failed" in refused(repo.root).message


def test_an_unreadable_configuration(repo: Repo) -> None:
    """One that git cannot parse, either."""
    repo.write(".git/config", "[core\nbare")
    assert "failed" in refused(repo.root).message


@pytest.mark.parametrize(
    "pointer",
    ["gitdir: evil\n", "gitdir: {root}/evil\n", "gitdir: ./sub/../evil\n", "gitdir: link\n", "gitdir: .\n"],
)
def test_a_planted_git_file_that_leads_into_the_work_tree(repo: Repo, pointer: str) -> None:
    """It would be a repository that someone wrote into the tree."""
    repo.commit(a="1")
    (repo.root / ".git").rename(repo.root / "evil")
    (repo.root / "link").symlink_to("evil")
    (repo.root / "sub").mkdir()
    repo.write(".git", pointer.format(root=repo.root))
    assert "inside the work tree" in refused(repo.root).message
    assert "inside the work tree" in refused(repo.root / "sub").message


def test_a_planted_git_file_that_leads_to_another_repository(repo: Repo, tmp_path: Path) -> None:
    """The workspace's files would be committed there."""
    repo.commit(a="1")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/.git").write_text(f"gitdir: {repo.root}/.git\n")
    assert "belongs to" in refused(tmp_path / "other").message


def test_a_planted_git_file_that_leads_to_another_work_tree(repo: Repo, tmp_path: Path) -> None:
    """A linked work tree's git directory knows whose it is."""
    repo.commit(a="1")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other/.git").write_text((tmp_path / "linked/.git").read_text())
    assert "belongs to" in refused(tmp_path / "other").message


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir: \0", "gitdir: /nowhere/at/all"])
def test_a_git_file_that_leads_nowhere(repo: Repo, content: str) -> None:
    """It is an error, as it is for git: never the repository further up."""
    repo.write("sub/.git", content)
    refused(repo.root / "sub")


def test_a_git_that_is_a_link(repo: Repo) -> None:
    """Links are followed nowhere."""
    (repo.root / ".git").rename(repo.root / "elsewhere")
    (repo.root / ".git").symlink_to("elsewhere")
    assert "symbolic link" in refused(repo.root).message


def test_a_record_that_is_a_link(repo: Repo, tmp_path: Path) -> None:
    """Nothing is written where someone else would have it."""
    (repo.root / ".git/clada").symlink_to(tmp_path)
    assert "symbolic link" in refused(repo.root).message


def test_a_git_that_is_a_fifo_does_not_block(repo: Repo) -> None:
    """Neither as .git, nor further in."""
    (repo.root / "sub").mkdir()
    os.mkfifo(repo.root / "sub/.git")
    assert find(str(repo.root / "sub")).root == str(repo.root)


def test_an_empty_git_folder_does_not_count(repo: Repo) -> None:
    """As for git, the repository further up does."""
    (repo.root / "sub/.git").mkdir(parents=True)
    found = find(str(repo.root / "sub"))
    assert (found.root, found.prefix) == (str(repo.root), "sub/")


def test_a_plain_folder_that_looks_like_a_bare_repository_is_a_folder(repo: Repo) -> None:
    """The repository around it counts, not the content of the folder."""
    repo.write("fake/known.txt")
    repo.commit()
    subprocess.run(["git", "init", "-q", "--bare", repo.root / "fake"], check=True)
    repo.write("fake/new.txt")
    repo.workspace = repo.root / "fake"
    with repo.recorded(repository=str(repo.root)) as record:
        pass
    assert record.error is None
    assert "fake/HEAD" in repo.files()
    assert "fake/new.txt" in repo.files()


def test_core_worktree_does_not_lead_outside(repo: Repo, tmp_path: Path) -> None:
    """Files of another folder are not taken in."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/private.txt").write_text("private")
    repo.git("config", "core.worktree", str(tmp_path / "outside"))
    repo.write("own.txt")
    with repo.recorded():
        pass
    listed = subprocess.run(
        ["git", "--git-dir", repo.root / ".git", "ls-tree", "-r", "--name-only", "HEAD"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert listed.stdout == "own.txt\n"


@pytest.mark.parametrize(
    "path", [".gitignore", "deep/er/.gitignore", ".gitattributes", ".git/config", ".git/index", ".git/HEAD"]
)
def test_a_pipe_where_git_expects_a_file(repo: Repo, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Git would wait for it without end."""
    repo.commit(a="1")
    repo.write("a", "2")
    (repo.root / path).unlink(missing_ok=True)
    (repo.root / path).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(repo.root / path)
    monkeypatch.setattr(git, "SLOW", 0.1)
    assert "pipe" in refused(repo.root).message


def test_a_call_that_only_takes_long_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked into once, and then it has all the time that it needs."""
    looked: list[int] = []
    monkeypatch.setattr(git, "SLOW", 0.05)
    answer = git.run(["/bin/sleep", "0.2"], {}, when_slow=lambda: looked.append(1))
    assert (answer.code, looked) == (0, [1])


@pytest.mark.parametrize(
    "text",
    [
        "[include]\npath = {pipe}\n",
        "[core]\nexcludesFile = {pipe}\n",
        '[core]\nattributesFile = "{pipe}"\n',
        '[includeIf "gitdir:/"]\npath = ../pipe\n',
        "[include]\npath = other\n",
        "[core]\nattributesFile = /dev/zero\n",
        "[mailmap]\nfile = /dev/tty\n",
    ],
)
def test_a_pipe_or_device_that_the_configuration_names(repo: Repo, text: str) -> None:
    """It is refused at once, without waiting for git; also by way of another file."""
    os.mkfifo(repo.root / "pipe")
    repo.write(".git/other", f"[core]\nexcludesFile = {repo.root}/pipe\n")
    with open(repo.root / ".git/config", "a") as config:
        config.write(text.format(pipe=repo.root / "pipe"))
    assert "is a pipe or a device, and the repository's configuration names it" in refused(repo.root).message


def test_a_configuration_may_name_dev_null_and_files(repo: Repo) -> None:
    """As people do to turn something off."""
    repo.git("config", "core.excludesFile", os.devnull)
    repo.git("config", "core.attributesFile", str(repo.write("own.attributes", "")))
    assert find(str(repo.root)).root == str(repo.root)


def test_a_git_directory_that_is_gone_meanwhile_is_no_place_for_a_record(repo: Repo) -> None:
    """Another place is looked for, and no error of ours is raised."""
    found = repo.found()
    shutil.rmtree(found.git_dir)
    assert in_repository(found).outside


def test_a_git_that_is_done_in_a_moment_is_not_ended_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the run must end: what it is about to do is done."""
    monkeypatch.setattr(git, "MOMENT", 30)
    reading, writing = os.pipe()
    command = f"sleep 0.05; echo done > {tmp_path}/done"
    try:
        os.write(writing, b"!")
        with pytest.raises(CladaError, match="interrupted while git was at work"):
            git.run(["/bin/sh", "-c", command], {}, when_slow=lambda: None, stop=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert (tmp_path / "done").read_text() == "done\n"


def test_a_git_that_waits_is_ended_when_the_run_must_end(repo: Repo) -> None:
    """Ctrl-C is heard while git is at work."""
    reading, writing = os.pipe()
    try:
        os.write(writing, b"!")
        with pytest.raises(CladaError, match="interrupted while git was at work"):
            git.run(["/bin/sleep", "60"], {}, when_slow=lambda: None, stop=reading)
        waiting = git.hardened_git(repo.found()).replace(stop=reading)
        os.read(reading, 1)
        assert waiting.call("rev-parse", "--git-dir").code == 0
    finally:
        os.close(reading)
        os.close(writing)


def test_a_planted_git_file_that_leads_to_a_git_directory_of_any_name(repo: Repo, tmp_path: Path) -> None:
    """One that says nothing of its work tree may be anybody's; its owner can make it say so, or name it."""
    repo.commit(a="1")
    (repo.root / ".git").rename(tmp_path / "store")
    (tmp_path / "planted").mkdir()
    for place in (repo.root, tmp_path / "planted"):
        (place / ".git").write_text(f"gitdir: {tmp_path}/store\n")
        assert (
            refused(place).message == f"the git directory {tmp_path}/store does not say that it belongs here"
        )
    assert find(str(repo.root), named=str(repo.root)).root == str(repo.root)
    repo.git("config", "core.worktree", str(repo.root))
    assert find(str(repo.root)).root == str(repo.root)
    assert "belongs to" in refused(tmp_path / "planted").message
