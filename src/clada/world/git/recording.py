"""A run, recorded: a commit of what was there before it, and one of what it changed."""

from __future__ import annotations

import os

from clada.errors import Error, Trouble
from clada.text.escape import escape_controls
from clada.world.git import commits, history, staging
from clada.world.git.calls import hardened_git
from clada.world.git.notes import noted
from clada.world.git.repository import Avoidable, Reaching, check, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from clada.world.git.calls import Git
    from clada.world.git.repository import Repository
    from clada.world.locks import RepositoryLock

NOT_COMMITTED = "the changes are in the tree, not committed: repair this, then git add and git commit them"


class Recording:
    """The context of a run. The engine tells it what was touched, and reads from it what was recorded.

    touched: paths below the workspace, files or whole directories; None: not known, look at the whole tree.
    commands: whether a command ran, which may have changed anything: look at the whole tree then, too.
    ended: how the run ended: ok, failed or interrupted. An exception that passes through decides for itself.
    lock_file: the one that the run holds, if any: not a file of the work, so that it is not taken in.
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
        self.ended = "ok"
        self.lock_file: str | None = None
        self.commits: tuple[str | None, str | None] = (None, None)
        self.error: Error | None = None
        self.notes: tuple[str, ...] = ()
        self._repository = repository
        self._author = commits.read_author(author)
        self._lock = lock
        self._run = history.Run(0, "", describe, repository.prefix, "")

    @property
    def number(self) -> int:
        """The number of the run in the history."""
        return self._run.number

    def __enter__(self) -> Self:
        with Avoidable():
            self._lock.__enter__()
        try:
            with Avoidable(), Reaching():
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
        """Commit what is there, so that no run can lose it."""
        git = hardened_git(self._repository)
        found = self._scan(git)
        before, pre = found.head, ""
        if not found.clean:
            self._note(noted(self._repository.workspace, self._below(found.untracked)))
            if found.overlaid:
                commits.keep_staged(git, self._author)
                self._note([f"what was staged and then changed again is kept at {commits.KEPT_STAGED}"])
            before, pre = self._commit(git, (*found.changed, *found.untracked), "pre")
        self._note_nested(found)
        self.commits = (pre or None, None)
        begun = self._run.replace(when=commits.timestamp(), before=before, pre=pre)
        self._run = history.start(self._repository, begun)

    def _after(self) -> None:
        """Commit what the run changed; what goes wrong now is told, and takes nothing back."""
        run = self._run.replace(ended=self.ended, commands=self.commands or self.touched is None)
        try:
            run = self._recorded(run)
        except (Trouble, OSError) as error:
            self._fail(error)
            run = run.replace(ended="failed")
        try:
            history.end(self._repository, run)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: Trouble | OSError) -> None:
        trouble = refused(error) if isinstance(error, OSError) else error
        self.error = self.error or Error("git_operation_failed", trouble.error.message, NOT_COMMITTED)

    def _recorded(self, run: history.Run) -> history.Run:
        """Make the commit after the run, and return the run as it goes into the history."""
        names, outside = self._names()
        if names == [] and not run.commands:
            return run.replace(after=run.before, unrecorded=outside)
        check(self._repository)
        git = hardened_git(self._repository)
        known = staging.touched(git, names) if names else None
        unrecorded = known.ignored if known else ()
        if known is None or known.nested or run.commands:
            (after, post), nested = self._scanned(git, names or [])
            unrecorded = (*unrecorded, *nested)
        else:
            after, post = self._commit(git, known.paths, "post") if known.paths else (run.before, "")
        self.commits = (self.commits[0], post or None)
        return run.replace(after=after, post=post, unrecorded=(*unrecorded, *outside))

    def _names(self) -> tuple[list[str] | None, tuple[str, ...]]:
        """Return what was touched, below the repository's root; and what is elsewhere, by --allow-escape."""
        if self.touched is None:
            return None, ()
        names = [os.fsdecode(name) for name in self.touched]
        inside = [self._repository.prefix + name for name in names if not name.startswith("/")]
        return inside, tuple(name for name in names if name.startswith("/"))

    def _scanned(self, git: Git, names: list[str]) -> tuple[tuple[str, str], tuple[str, ...]]:
        """Commit what a look at the whole tree finds; return also what was touched in other repositories."""
        found = self._scan(git)
        self._note_nested(found)
        nested = tuple(name for name in names if name.startswith(found.nested))
        if found.clean:
            return (found.head, ""), nested
        return self._commit(git, (*found.changed, *found.untracked), "post"), nested

    def _scan(self, git: Git) -> staging.Scan:
        """Look for what there is to commit."""
        found = staging.scan(git, self._repository.prefix)
        staging.refuse_unmerged(git, found, self._repository.prefix)
        if self.lock_file is None:
            return found
        directory, name = os.path.split(self.lock_file)
        path = os.path.relpath(os.path.join(os.path.realpath(directory), name), self._repository.root)
        return found.replace(untracked=tuple(other for other in found.untracked if other != path))

    def _commit(self, git: Git, paths: Sequence[str], kind: str) -> tuple[str, str]:
        staging.stage(git, paths)
        subject = f"[clada:{kind}] {commits.timestamp()}"
        return commits.commit_index(git, self._repository.prefix, subject, self._author)

    def _note(self, notes: list[str]) -> None:
        self.notes = (*self.notes, *(note for note in notes if note not in self.notes))

    def _note_nested(self, found: staging.Scan) -> None:
        nested = self._below(found.nested)
        self._note([f"{escape_controls(path)} is a repository of its own: not recorded" for path in nested])

    def _below(self, paths: Iterable[str]) -> list[str]:
        """Return the paths as the workspace knows them."""
        return [path.removeprefix(self._repository.prefix) for path in paths]
