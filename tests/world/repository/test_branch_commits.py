"""The commits of a run on the branch: what they say, whose they are, what they take in and leave."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.world.repository.conftest import Repo
from tests.world.repository.states import STATES

from clada.errors import CladaError
from clada.world.git import select
from clada.world.git.branch import BranchCommits
from clada.world.git.repository import find
from clada.world.git.select import PlannedRun
from clada.world.secrets.names import looks_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clada.errors import Error


def commits(repo: Repo, author: str = "clada", **options: object) -> BranchCommits:
    """Return the commits of a run in the repository."""
    return BranchCommits(repo.found(), author, **options)  # type: ignore[arg-type]


def begun(repo: Repo, *planned: str, wide: bool = False, **options: object) -> BranchCommits:
    """Return them when the run has begun."""
    record = commits(repo, **options)  # type: ignore[arg-type]
    record.before(PlannedRun(planned, wide=wide, consent=None))
    return record


def refused(record: BranchCommits, planned: Sequence[str] = (), *, wide: bool = False) -> Error:
    """Return the error with which the run is refused."""
    with pytest.raises(CladaError) as caught:
        record.before(PlannedRun(planned, wide=wide, consent=None))
    return caught.value.error


def built(tmp_path: Path, name: str) -> Repo:
    """Return a repository in one of the states."""
    workspace = STATES[name](tmp_path / "repo")
    root = Path(find(str(workspace)).root)
    return Repo(root, str(workspace.relative_to(root)))


# What they say, and whose they are.


def test_the_message_is_a_subject_operations_and_trailers(repo: Repo) -> None:
    """Git itself reads the number of the run."""
    record = begun(repo, "new")
    repo.write("new")
    record.after(["new"], run=12, body=["write new", "run make\nall"])
    subject, _, rest = repo.git("log", "-1", "--format=%B").partition("\n")
    assert subject.startswith("[clada:post] 20")
    assert rest == "\n- write new\n- run make\\nall\n\nClada-Run: 12"
    message = repo.git("log", "-1", "--format=%B")
    read = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=message, capture_output=True, text=True, check=True
    )
    assert read.stdout == "Clada-Run: 12\n"


def test_a_message_of_the_users_is_the_subject(repo: Repo) -> None:
    """With the run and the time put in; the commit before the run keeps its own."""
    repo.write("mine")
    record = begun(repo, "new", message="Do {run} things\n\nand say why")
    repo.write("new")
    record.after(["new"], run=3, body=["write new"])
    assert repo.git("log", "-1", "--format=%s") == "Do 3 things"
    assert repo.git("log", "-1", "--format=%b") == "and say why\n\n- write new\n\nClada-Run: 3"
    assert repo.git("log", "-1", "--skip=1", "--format=%s").startswith("[clada:pre] ")


def test_a_long_list_of_operations_is_cut(repo: Repo) -> None:
    """A commit is no log file; what is left out is counted."""
    record = begun(repo, "new")
    repo.write("new")
    record.after(["new"], run=1, body=["x" * 1000] * 150)
    lines = repo.git("log", "-1", "--format=%b").splitlines()
    assert max(map(len, lines)) < 210
    assert lines[-3:] == ["and 50 more", "", "Clada-Run: 1"]


def test_me_is_the_users_own_identity(repo: Repo) -> None:
    """So that git blame names them."""
    record = begun(repo, "new", author="me")
    repo.write("new")
    record.after(["new"], run=1)
    who = "User <user@example.org>"
    assert repo.git("log", "-1", "--format=%an <%ae>|%cn <%ce>") == f"{who}|{who}"


def test_me_without_an_identity_is_refused_before_anything(repo: Repo, home: Path) -> None:
    """Nothing is guessed, and the remedy is git's own."""
    (home / ".gitconfig").unlink()
    repo.write("mine")
    error = refused(commits(repo, "me"))
    assert error.message == "git does not know who you are"
    assert "git config --global user.name" in str(error.hint)
    assert repo.head() == ""


# What stays out.

SECRETS = """
    .env .env.local .env.production prod.env server.pem tls.key id_rsa id_ed25519 .npmrc .pypirc .netrc
    .aws/credentials .docker/config.json .kube/config terraform.tfstate terraform.tfstate.backup prod.tfvars
    release.keystore debug.jks cert.p12 cert.pfx passwords.kdbx service-account.json service-account-prod.json
    my-credentials.json client_secret_1.json .htpasswd .pgpass .vault-token .git-credentials wp-config.php
    secrets.yml config/secrets.yaml home.ovpn .s3cfg .boto .terraformrc .ssh/config .ssh/known_hosts
    kubeconfig app-firebase-adminsdk-x.json .gnupg/pubring.kbx putty.ppk krb5.keytab credentials
    .ENV Server.PEM credentials.txt secret.txt secrets.txt token.txt apikey.txt passwords.csv rclone.conf
    my-secrets.yaml .flaskenv db_password.txt prod.credentials.json
""".split()
HARMLESS = """
    .env.example .env.sample .env.template .env.dist id_rsa.pub secrets.py secrets.md environment.yml keys.py
    config.json package.json monkey.txt credentials.py secrets.example.yml README.md tokenizer.json .envoy
    design-tokens.json nosecrets.txt
    key.txt docker/config.json hosts.yml settings.xml id_card.txt gradle.properties
""".split()


@pytest.mark.parametrize("path", SECRETS)
def test_names_of_secrets(path: str) -> None:
    """The usual ones, in any case and in any directory."""
    assert looks_secret(path)
    assert looks_secret(f"some/where/{path}")


@pytest.mark.parametrize("path", HARMLESS)
def test_names_that_only_look_like_them(path: str) -> None:
    """Examples, public keys, code and words that contain others."""
    assert not looks_secret(path)


def test_secrets_and_large_files_stay_off_the_branch(tmp_path: Path) -> None:
    """Those that were there and those that the run makes, in one note each; a tracked one is committed."""
    repo = built(tmp_path, "secrets")
    record = begun(repo, "new.pem")
    assert repo.names() == [".env.example", ".env.local"]
    repo.write("new.pem")
    assert record.after(["new.pem"], run=1) is None
    assert repo.git("ls-files", "new.pem") == ""
    why = "left untracked, as they look like secrets or are over 10 MB (--commit-all takes them in)"
    there = ".aws/credentials, .env, keys/id_ed25519, large.bin, prod.tfvars"
    assert record.notes == (f"{why}: {there}", f"{why}: new.pem")


def test_commit_all_takes_them_in(tmp_path: Path) -> None:
    """The person says so."""
    repo = built(tmp_path, "secrets")
    record = begun(repo, "new.pem", commit_all=True)
    repo.write("new.pem")
    record.after(["new.pem"], run=1)
    assert {".env", "large.bin", "keys/id_ed25519", "new.pem"} <= set(repo.files())
    assert (repo.status(), record.notes) == ([], ())


@pytest.mark.parametrize("commit_all", [False, True])
def test_what_was_ignored_before_the_run_is_not_taken_in_after_it(repo: Repo, commit_all: bool) -> None:
    """Though the answer changed .gitignore, or moved a directory away from its rule."""
    repo.write(".gitignore", "build/\n/private\n*.tmp\n")
    repo.commit()
    for path in ("build/out.o", "private/diary.txt", "x.tmp"):
        repo.write(path)
    record = begun(repo, ".gitignore", wide=True, commit_all=commit_all)
    repo.write(".gitignore", "/private\n")
    (repo.root / "private").rename(repo.root / "public")
    repo.write("build/new.o")
    repo.write("fresh.txt")
    touched = [".gitignore", "private", "public", "build", "x.tmp", "fresh.txt"]
    record.after(touched, [("private", "public")], run=1)
    assert repo.files() == [".gitignore", "fresh.txt"]
    names = "build/new.o, build/out.o, public/diary.txt, x.tmp"
    assert record.notes == (f"left untracked, as git ignored them before the run: {names}",)


def test_many_untracked_files_are_asked_about(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal; elsewhere they are refused with the remedies. One can say so beforehand."""
    monkeypatch.setattr(select, "MANY", 3)
    for number in range(4):
        repo.write(f"{number}.txt")
    error = refused(commits(repo))
    assert error.message.startswith("there are 4 untracked files")
    assert all(word in str(error.hint) for word in (".gitignore", "--record=snapshots", "--commit-all"))
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        return len(asked) > 1

    with pytest.raises(CladaError):
        commits(repo).before(PlannedRun([], wide=False, consent=answer))
    assert repo.head() == ""
    assert commits(repo).before(PlannedRun([], wide=False, consent=answer)) == repo.head() != ""
    assert asked[0] == "Commit 4 untracked files that are here before the run?"
    for number in range(4):
        repo.write(f"more-{number}.txt")
    assert commits(repo, commit_all=True).before(PlannedRun([], wide=False, consent=None)) == repo.head()


def test_500_are_not_many() -> None:
    """The number of the specification."""
    assert select.MANY == 500


def test_a_lock_file_of_the_users_stays_out(repo: Repo) -> None:
    """In both commits."""
    repo.write("run.lock", "")
    record = begun(repo, "new", uncommitted=frozenset(["run.lock"]))
    repo.write("new")
    record.after(["new", "run.lock"], run=1)
    assert repo.files() == ["new"]


def test_what_was_taken_out_of_the_index_stays_out(tmp_path: Path) -> None:
    """The run changes it, and the last commit keeps what it has."""
    repo = built(tmp_path, "rm-cached")
    record = begun(repo, "untrack.txt")
    repo.write("untrack.txt", "by the run\n")
    assert record.after(["untrack.txt"], run=1) is None
    assert repo.git("show", "HEAD:untrack.txt") == "no longer"
    assert repo.git("ls-files", "untrack.txt") == ""
    assert record.notes == ("not committed, as you have taken them out of the index: untrack.txt",)


# Filters and encodings.


def test_a_file_with_a_filter_of_the_repositorys_is_named(tmp_path: Path) -> None:
    """With the filter, and what works."""
    error = refused(commits(built(tmp_path, "local-filter")))
    assert (
        error.message
        == "known.hidden cannot be committed: clada does not apply the repository's own filter rot"
    )
    assert error.hint == "use --record=snapshots"


def _put_back(repo: Repo, path: str) -> None:
    """Check a file out, and let git see that it is unchanged by its time alone."""
    repo.git("checkout", path)
    os.utime(repo.root / path, (1, 1))
    repo.git("update-index", "--refresh")


def test_a_planned_file_counts_too(tmp_path: Path) -> None:
    """Before it is there."""
    repo = built(tmp_path, "local-filter")
    _put_back(repo, "known.hidden")
    assert refused(commits(repo), ["other.hidden"]).message.startswith("other.hidden cannot be committed")
    wide = built(tmp_path / "wide", "encodings")
    assert refused(commits(wide), ["other.utf16"]).message == (
        "other.utf16 cannot be committed: clada does not apply the encoding UTF-16"
    )


def test_a_file_that_turns_up_afterwards_is_left_out(tmp_path: Path) -> None:
    """By a command, which could not be foreseen; the rest is committed."""
    repo = built(tmp_path, "local-filter")
    _put_back(repo, "known.hidden")
    repo.write(".gitattributes", "*.hidden filter=rot\n*.utf16 working-tree-encoding=UTF-16\n")
    record = begun(repo, wide=True)
    for path in ("known.hidden", "new.hidden", "narrow.utf16", "plain.txt"):
        repo.write(path, "by a command\n")
    repo.write("wide.utf16", "wide".encode("utf-16"))
    record.after(["known.hidden", "new.hidden", "narrow.utf16", "wide.utf16", "plain.txt"], run=1)
    assert repo.names() == ["plain.txt", "wide.utf16"]
    assert repo.git("show", "HEAD:wide.utf16") == "wide"
    assert len(record.notes) == 3
    assert (
        record.notes[0]
        == "known.hidden is not committed: clada does not apply the repository's own filter rot"
    )


def test_a_local_filter_that_is_the_users_own_too_is_applied(tmp_path: Path) -> None:
    """As `git lfs install --local` repeats what is in the user's configuration."""
    repo = built(tmp_path, "local-filter")
    for key in ("clean", "smudge"):
        repo.git("config", "--global", f"filter.rot.{key}", repo.git("config", f"filter.rot.{key}"))
    begun(repo)
    assert repo.git("show", "HEAD:known.hidden") == "cynva grkg, punatrq"


@pytest.mark.parametrize("key", ["clean", "process"])
def test_a_filter_of_the_users_that_cannot_be_applied_is_named(tmp_path: Path, key: str) -> None:
    """Where git insists on it, as LFS does; and only for files that it is for."""
    repo = built(tmp_path, "global-filter")
    record = begun(repo, "other.hidden")  # it works
    repo.git("config", "--global", "filter.rot.required", "true")
    repo.write("other.hidden", "plain\n")
    assert record.after(["other.hidden"], run=1)
    for path in ("known.hidden", "other.hidden"):
        _put_back(repo, path)
    repo.git("config", "--global", f"filter.rot.{key}", "no-such-program --at=all")
    error = refused(commits(repo), ["new.hidden"])
    assert error.message == (
        "new.hidden cannot be committed: clada does not apply "
        "the filter rot of your configuration, which fails (no-such-program --at=all)"
    )
    assert error.hint == "use --record=snapshots"
    begun(repo, "plain.txt")
    repo.write("known.hidden", "PLAIN text, changed\n")  # as large as before: git status starts the filter
    assert refused(commits(repo)).message.startswith("known.hidden (and 1 more) cannot be committed: ")


# What is not checked out, or not a plain file.


def test_a_write_outside_the_cone_deletes_nothing(tmp_path: Path) -> None:
    """A new file there is committed, and what is not checked out stays in the commit."""
    repo = built(tmp_path, "sparse-index")
    record = begun(repo, "away/new.txt")
    repo.write("away/new.txt")
    record.after(["away"], run=1)
    assert repo.names() == ["away/new.txt"]
    assert {"away/far.txt", "away/deep/er.txt"} <= set(repo.files())


@pytest.mark.parametrize("name", ["skip-worktree", "assume-unchanged"])
def test_marked_files_are_left_alone_by_name_too(tmp_path: Path, name: str) -> None:
    """The run wrote one and removed another."""
    repo = built(tmp_path, name)
    record = begun(repo, "local.cfg")
    before = repo.git("ls-files", "-v", "-s")
    repo.write("local.cfg", "by the run\n")
    assert record.after(["local.cfg", "absent.cfg"], run=1) is None
    assert repo.git("ls-files", "-v", "-s") == before


def test_a_submodule_is_not_replaced_by_files_in_its_directory(tmp_path: Path) -> None:
    """Where it is not checked out, nor where its directory is removed."""
    repo = built(tmp_path, "uninitialised-submodule")
    record = begun(repo, "lib/new.txt")
    repo.write("lib/new.txt")
    repo.write("beside.txt")
    record.after(["lib/new.txt", "beside.txt"], run=1)
    assert repo.names() == ["beside.txt"]
    subprocess.run(["rm", "-r", repo.root / "lib"], check=True)
    assert commits(repo).after(["lib"], run=2) is None
    assert repo.git("ls-tree", "HEAD", "lib").startswith("160000")


def test_files_become_directories_and_the_other_way_round(repo: Repo) -> None:
    """Also links, modes and removed directories, with something staged or not."""
    repo.write("was-file")
    repo.write("was-folder/a/b")
    repo.write("gone/x/y")
    repo.write("script").chmod(0o644)
    repo.commit()
    repo.write("staged.txt")
    repo.git("add", "staged.txt")
    record = begun(repo, wide=True)
    subprocess.run(["rm", "-r", "was-file", "was-folder", "gone"], cwd=repo.root, check=True)
    repo.write("was-file/inside")
    (repo.root / "was-folder").symlink_to("script")
    (repo.root / "script").chmod(0o755)
    record.after(["was-file", "was-folder", "was-folder/a/b", "gone", "script"], run=1)
    assert repo.files() == ["script", "staged.txt", "was-file/inside", "was-folder"]
    assert repo.status() == []


def test_a_nested_repository_is_left_alone(repo: Repo) -> None:
    """And named."""
    repo.commit(a="1")
    subprocess.run(["git", "init", "-q", repo.root / "nested"], check=True)
    repo.write("nested/file")
    record = begun(repo, "new")
    repo.write("new")
    record.after(["new", "nested/file", "nested"], run=1)
    assert repo.names() == ["new"]
    assert record.notes == ("nested/ is a repository of its own: not recorded",)


@pytest.fixture
def emptied(repo: Repo) -> Iterator[Repo]:
    """Give a repository of which nothing is left: pytest cannot remove a tree of any depth."""
    yield repo
    subprocess.run(["rm", "-r", repo.root], check=True)


@pytest.mark.slow
def test_a_workspace_and_files_of_great_depth(emptied: Repo) -> None:
    """As deep as a path can be: 490 directories, and as many again below the workspace."""
    repo = emptied
    deep = "/".join("d" * 490)
    repo.write(f"{deep}/mine.txt")
    repo.commit()
    repo.workspace = repo.root / deep
    repo.write(f"{deep}/mine.txt", "changed")
    record = begun(repo, "new")
    below = "/".join("e" * 490)
    repo.write(f"{deep}/{below}/new.txt")
    record.after([below], run=1)
    assert repo.names("HEAD~1") == [f"{deep}/mine.txt"]
    assert repo.names("HEAD") == [f"{deep}/{below}/new.txt"]
    assert repo.status() == []


# The repository.


def test_a_repository_above_that_does_not_know_the_workspace(tmp_path: Path) -> None:
    """It is named, with what can be done; naming it, or adding a file, is enough."""
    repo = built(tmp_path, "repository-above")
    error = refused(commits(repo))
    assert error.message == f"the repository is {repo.root}, and it has no file of this workspace"
    own = f"--repository={repo.root} or git add a file here"
    assert error.hint == f"git init here, use --record=snapshots; or, if that is the one, {own}"
    named = find(str(repo.workspace), named=str(repo.root))
    BranchCommits(named, "clada").before(PlannedRun([], wide=False, consent=None))
    assert repo.names() == [f"projects/new/{path}" for path in ("a.txt", "b.txt", "dir/c.txt", "dir/d.txt")]
    begun(repo)


def test_a_file_that_is_added_makes_the_workspace_known(tmp_path: Path) -> None:
    """It need not be committed yet."""
    repo = built(tmp_path, "repository-above")
    repo.git("add", "projects/new/a.txt")
    begun(repo)
    assert repo.subjects() == ["clada:pre", "by hand"]


def test_a_repository_with_longer_names_of_objects(tmp_path: Path) -> None:
    """SHA-256, with something staged, announced and removed."""
    subprocess.run(["git", "init", "-q", "--object-format=sha256", tmp_path / "repo"], check=True)
    repo = Repo(tmp_path / "repo")
    repo.commit(a="1", b="1", c="1")
    repo.write("b", "2")
    repo.git("add", "b")
    repo.write("b", "3")
    repo.write("announced")
    repo.git("add", "-N", "announced")
    record = begun(repo, "a")
    (repo.root / "c").unlink()
    repo.write("a", "2")
    record.after(["a", "c"], run=1)
    assert repo.names() == ["a", "c"]
    assert repo.status() == [" A announced"]
    assert repo.git("show", ":b") == "3"


def test_another_repository_than_the_named_one_is_refused(repo: Repo, tmp_path: Path) -> None:
    """It is never meant."""
    with pytest.raises(
        CladaError, match=f"the repository around the workspace is {repo.root}, not {tmp_path}"
    ):
        find(str(repo.root), named=str(tmp_path))


def test_an_undo_is_a_commit_of_its_kind_without_one_before(repo: Repo) -> None:
    """Of these paths only: what else is staged or changed stays so."""
    repo.commit(a="1", b="1", c="1")
    repo.write("a", "2")
    repo.write("b", "2")
    repo.write("c", "2")
    repo.git("add", "b")
    made = commits(repo).after(["a"], kind="undo", run=2, body=["undo of run 1"])
    assert made == repo.head()
    assert repo.subjects()[0] == "clada:undo"
    assert repo.names() == ["a"]
    assert repo.status() == ["M  b", " M c"]


# What the user does meanwhile.


def _commits_meanwhile(repo: Repo) -> None:
    repo.write("theirs", "2")
    repo.git("add", "theirs")
    repo.git("commit", "-q", "-m", "meanwhile", "--", "theirs")


def _amends_meanwhile(repo: Repo) -> None:
    repo.git("commit", "-q", "--amend", "-m", "amended")


def _stages_meanwhile(repo: Repo) -> None:
    repo.write("theirs", "2")
    repo.git("add", "theirs")


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("act", [_commits_meanwhile, _amends_meanwhile, _stages_meanwhile])
def test_on_the_same_branch_the_commit_goes_on_top(
    repo: Repo, act: Callable[[Repo], None], detached: bool
) -> None:
    """What the user did there during the run is kept, staged or committed."""
    repo.commit(a="1", theirs="1", mine="1")
    repo.write("mine", "staged")
    repo.git("add", "mine")
    repo.write("mine", "1")
    if detached:
        repo.git("checkout", "-q", "--detach")
    record = begun(repo, "a")
    act(repo)
    head, staged = repo.head(), repo.git("diff", "--cached", "--name-only").splitlines()
    repo.write("a", "2")
    if detached and act is _amends_meanwhile:
        with pytest.raises(CladaError, match="no commit was made"):
            record.after(["a"], run=1)
        return
    assert record.after(["a"], run=1) == repo.head()
    assert repo.names() == ["a"]
    assert repo.git("rev-parse", "HEAD~1") == head
    assert repo.git("diff", "--cached", "--name-only").splitlines() == staged
    assert repo.git("show", ":mine") == "staged"


def test_on_another_branch_no_commit_is_made(repo: Repo) -> None:
    """The error says which was left for which."""
    repo.commit(a="1")
    record = begun(repo, "a")
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a", "2")
    before = repo.head(), repo.git("ls-files", "-s")
    with pytest.raises(CladaError, match="main was left for other during the run, so no commit was made"):
        record.after(["a"], run=1)
    assert (repo.head(), repo.git("ls-files", "-s")) == before
