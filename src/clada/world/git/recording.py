"""Records a run: a commit of what was there before it, and one of what it changed."""

from __future__ import annotations

import os

from clada.errors import Error, Trouble
from clada.text.escape import escape_controls
from clada.world.git import commits, history
from clada.world.git.calls import hardened_git
from clada.world.git.repository import as_trouble, check, os_errors_as_trouble, suggest_no_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from clada.world.git.calls import Git
    from clada.world.git.repository import Repository
    from clada.world.locks import RepositoryLock

NOT_COMMITTED = "the changes are in the tree, not committed: repair this, then git add and git commit them"
LARGE = 10 * 1024 * 1024  # bytes
MAX_NAMED = 10  # files that a note names

SECRET_NAMES = frozenset(
    """
    .env .envrc .netrc _netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials .dockercfg .my.cnf
    credentials credentials.json credentials.yml credentials.yaml secrets.json secrets.yml secrets.yaml
    secrets.toml id_rsa id_dsa id_ecdsa id_ed25519 master.key service-account.json kubeconfig
    """.split()
)
SECRET_ENDINGS = tuple(".pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .tfvars".split())
SECRET_STARTS = (".env.",)
HARMLESS_ENDINGS = tuple(".example .sample .template .dist .pub".split())


class Recording:
    """A context manager around a run. The engine sets what the run did, and reads what was recorded.

    touched: paths below the workspace, files or whole directories; None if that is not known.
    commands: whether a command ran, which may have changed anything.
    what: what the run was to do, in words; at its end, what it did.
    ended: how the run ended: ok, failed or interrupted. After an exception, that is decided here.
    lock_file: the --lock-file of the run, if any; it is not committed.
    """

    def __init__(
        self,
        repository: Repository,
        author: str,
        describe: str,
        lock: RepositoryLock,
    ) -> None:
        self.touched: Iterable[str | bytes] | None = None
        self.commands = False
        self.what, self.ended = describe, "ok"
        self.lock_file: str | None = None
        self.commits: tuple[str | None, str | None] = (None, None)
        self.error: Error | None = None
        self.notes: tuple[str, ...] = ()
        self._repository = repository
        self._author = commits.read_author(author)
        self._lock = lock
        self._run = history.RecordedRun(0, "", describe, repository.prefix, "")

    @property
    def number(self) -> int:
        """The number of the run in the history."""
        return self._run.number

    def __enter__(self) -> Self:
        with suggest_no_git():
            self._lock.__enter__()
        try:
            with suggest_no_git(), os_errors_as_trouble():
                check(self._repository)
                self._before()
        except BaseException:
            self._lock.__exit__()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        if kind is not None:
            self.ended = "failed" if issubclass(kind, Exception) else "interrupted"
        try:
            self._after()
        except KeyboardInterrupt:
            if self.ended != "interrupted":  # the first one: what the run changed is recorded before it ends
                self.ended = "interrupted"
                self._after()
            raise
        finally:
            self._lock.__exit__()

    def _before(self) -> None:
        """Commit what is there, so that the run cannot lose it; record that the run starts."""
        git = hardened_git(self._repository)
        found = self._status(git)
        before, pre = found.head, ""
        if not found.clean:
            self._note(_notes_on(self._repository.workspace, self._below(found.untracked)))
            if found.partly_staged:
                commits.keep_staged(git, self._author)
                self._note([f"what was staged and then changed again is kept at {commits.KEPT_STAGED}"])
            before, pre = self._commit(git, (*found.changed, *found.untracked), "pre")
        self._note_nested(found)
        self.commits = (pre or None, None)
        begun = self._run.replace(when=commits.timestamp(), before=before, pre=pre)
        self._run = history.start(self._repository, begun)

    def _after(self) -> None:
        """Commit what the run changed, and record its end; a failure is kept in `error`, not raised."""
        run = self._run.replace(ended=self.ended, commands=self.commands or self.touched is None)
        try:
            run = self._commit_changes(run)
        except (Trouble, OSError) as error:
            self._fail(error)
            run = run.replace(ended="failed")
        try:
            history.end(self._repository, run, self.what)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: Trouble | OSError) -> None:
        trouble = as_trouble(error) if isinstance(error, OSError) else error
        self.error = self.error or Error("git_operation_failed", trouble.error.message, NOT_COMMITTED)

    def _commit_changes(self, run: history.RecordedRun) -> history.RecordedRun:
        """Make the commit after the run, and return the run as it goes into the history."""
        touched = None if self.touched is None else [os.fsdecode(name) for name in self.touched]
        outside = tuple(name for name in touched or () if name.startswith("/"))  # by --allow-escape
        names = [self._repository.prefix + name for name in touched or () if not name.startswith("/")]
        if not names and not run.commands:
            return run.replace(after=run.before, unrecorded=outside)
        check(self._repository)
        git = hardened_git(self._repository)
        files = commits.touched(git, names) if names else None
        unrecorded = files.ignored if files else ()
        if files is None or files.nested or run.commands:
            (after, post), nested = self._commit_all(git, names)
            unrecorded = (*unrecorded, *nested)
        else:
            after, post = self._commit(git, files.paths, "post") if files.paths else (run.before, "")
        self.commits = (self.commits[0], post or None)
        return run.replace(after=after, post=post, unrecorded=(*unrecorded, *outside))

    def _commit_all(self, git: Git, names: list[str]) -> tuple[tuple[str, str], tuple[str, ...]]:
        """Commit all that `git status` finds; return also what was touched in nested repositories."""
        found = self._status(git)
        self._note_nested(found)
        nested = tuple(name for name in names if name.startswith(found.nested))
        if found.clean:
            return (found.head, ""), nested
        return self._commit(git, (*found.changed, *found.untracked), "post"), nested

    def _status(self, git: Git) -> commits.WorkTreeStatus:
        """Return what there is to commit."""
        found = commits.status(git, self._repository.prefix)
        commits.refuse_unmerged(git, found, self._repository.prefix)
        if self.lock_file is None:
            return found
        directory, name = os.path.split(self.lock_file)
        path = os.path.relpath(os.path.join(os.path.realpath(directory), name), self._repository.root)
        return found.replace(untracked=tuple(other for other in found.untracked if other != path))

    def _commit(self, git: Git, paths: Sequence[str], kind: str) -> tuple[str, str]:
        """Stage and commit these files; return HEAD, and the new commit if there is one."""
        commits.stage(git, paths)
        subject = f"[clada:{kind}] {commits.timestamp()}"
        return commits.commit_index(git, self._repository.prefix, subject, self._author)

    def _note(self, notes: list[str]) -> None:
        self.notes = (*self.notes, *(note for note in notes if note not in self.notes))

    def _note_nested(self, found: commits.WorkTreeStatus) -> None:
        nested = self._below(found.nested)
        self._note([f"{escape_controls(path)} is a repository of its own: not recorded" for path in nested])

    def _below(self, paths: Iterable[str]) -> list[str]:
        """Return the paths relative to the workspace."""
        return [path.removeprefix(self._repository.prefix) for path in paths]


# Notes on the untracked files that the commit before a run takes in.


def _notes_on(workspace: str, untracked: Sequence[str]) -> list[str]:
    """Return a note on the files that look like secrets, and one on those that are large."""
    large = [path for path in untracked if _size(os.path.join(workspace, path)) > LARGE]
    return [
        *_note_on("look like secrets", [path for path in untracked if looks_secret(path)]),
        *_note_on("are over 10 MB", large),
    ]


def looks_secret(path: str) -> bool:
    """Return whether a file of this name usually holds a secret."""
    name = path.rpartition("/")[2].lower()
    if name.endswith(HARMLESS_ENDINGS):
        return False
    return name in SECRET_NAMES or name.endswith(SECRET_ENDINGS) or name.startswith(SECRET_STARTS)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0  # it is gone since git listed it, so the commit will not take it in


def _note_on(what: str, paths: list[str]) -> list[str]:
    if not paths:
        return []
    names = ", ".join(escape_controls(path) for path in paths[:MAX_NAMED])
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return [f"the commit before the run takes in untracked files that {what}: {names}{more}"]
