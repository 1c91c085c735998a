"""Run git so that nothing in the repository or the work tree can execute code through it."""

from __future__ import annotations

import os
import time
from stat import S_ISFIFO

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.walk import skip_error, walk
from clada.world.git.harden import DISABLED, OWN_VARIABLES, SETTINGS, environment, git_confinement
from clada.world.processes.children import LostExitCodeError
from clada.world.processes.run import StoppedError, capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clada.world.git.harden import GitConfinement
    from clada.world.git.repository import Repository
    from clada.world.processes.run import Captured
    from clada.world.sandbox.landlock import KeptRules


# A configuration without these words has no drivers, includes no other file and names no bare repository.
# Most have none of them, which saves asking git.
RELEVANT = (b"[filter", b"[merge", b"[diff", b"[include", b"worktreeconfig", b"bare")

READ_BY_GIT = frozenset((".gitignore", ".gitattributes", ".gitmodules", ".mailmap"))

PAUSE = 0.05  # seconds
FATAL = 128  # git's exit code where the call itself is wrong; above it, a signal killed git
SLOW = 3.0  # seconds after which a git call counts as slow
MOMENT = 0.2  # seconds that a git call has to end by itself when the run must end


class Git(Value):
    """Hardened git in one repository; valid until the repository's configuration changes."""

    root: str
    command: tuple[str, ...]  # git with the options that come before a subcommand
    variables: Mapping[str, str]
    confinement: GitConfinement | None = None
    stop: int | None = None  # a handle that becomes readable when the caller must end

    def call(self, *arguments: str, stdin: bytes = b"", directory: str = "", **variables: str) -> Captured:
        """Run git in the root of the work tree, or in another directory of it."""
        argv = (*self.command, "-C", directory or self.root, *arguments)
        given = {**self.variables, **OWN_VARIABLES, **variables}
        rules = self.confinement.of_own_call(arguments[0]) if self.confinement else None
        return run(argv, given, stdin, self._refuse_pipes, rules, self.stop)

    def check_output(self, *arguments: str, stdin: bytes = b"", **variables: str) -> bytes:
        """Run git and return its output; raise CladaError if it fails."""
        result = self.call(*arguments, stdin=stdin, **variables)
        if result.code != 0:
            raise git_call_error(arguments[0], result)
        return result.output

    def check_word(self, *arguments: str) -> str:
        """Run git and return the one word that it printed; raise CladaError if it fails, or prints none."""
        word = self.check_output(*arguments).decode().strip()
        if not word:
            raise CladaError("git_operation_failed", f"git {arguments[0]} does not answer", "try again")
        return word

    def _refuse_pipes(self) -> None:
        """Raise, naming it, if there is a pipe where git expects a file: git would wait for it for ever."""
        for path in (*_pipes(self.root, READ_BY_GIT), *_pipes(self.variables["GIT_DIR"], None)):
            raise CladaError(
                "git_operation_failed",
                f"{escape_controls(path)} is a pipe, and git waits for it without end",
                "remove it",
            )


def _pipes(top: str, names: frozenset[str] | None) -> Iterator[str]:
    """Return the pipes below a directory that have one of these names; any name if None."""
    for directory in walk(os.path.realpath(top), skip_error):
        directory.enter = [name for name in directory.enter if name not in {".git", "objects"}]
        for entry in directory.entries:
            if (names is None or entry.name in names) and _is_pipe(entry):
                yield f"{top}/{directory.join(entry.name)}"


def _is_pipe(entry: os.DirEntry[str]) -> bool:
    try:
        return S_ISFIFO(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False  # it is gone, so git does not wait for it


def git_call_error(subcommand: str, result: Captured) -> CladaError:
    """Return the error for a git call that failed."""
    return CladaError(
        "git_operation_failed",
        f"git {subcommand} failed: {result.complaint}",
        "repair this in the repository",
    )


def hardened_git(repository: Repository, *, refresh: bool = True) -> Git:
    """Return git, hardened against the repository's configuration as it is now.

    Without `refresh`, `git status` leaves the index, which is the user's, as it is.
    """
    git = _git(repository, (*SETTINGS, *_disabled_drivers(configuration(repository))))
    return git if refresh else git.replace(variables={**git.variables, "GIT_OPTIONAL_LOCKS": "0"})


def configuration(repository: Repository) -> list[tuple[str, str, str]]:
    """Return (scope, key, value) of the configuration in force; nothing if there cannot be a driver in it."""
    if not _is_relevant(os.path.join(repository.common_dir, "config")):
        return []
    listed = _git(repository, SETTINGS).check_output("config", "--list", "-z", "--show-scope")
    parts = os.fsdecode(listed).split("\0")
    entries = [entry.partition("\n") for entry in parts[1::2]]
    return [
        (scope, key, value if given else "true")
        for scope, (key, given, value) in zip(parts[0::2], entries, strict=False)
    ]


def run(  # noqa: PLR0913, PLR0917 (all but the first two are rarely given)
    argv: Sequence[str],
    variables: Mapping[str, str],
    stdin: bytes = b"",
    when_slow: Callable[[], None] | None = None,
    rules: KeptRules | None = None,
    stop: int | None = None,
) -> Captured:
    """Run git to its end, under these rules.

    If it takes long, `when_slow` is called once, and may raise to end it; `stop` ends it when it is readable.
    It ends by SIGTERM then, so that it removes its lock files; but for one that it is just making, and so it
    gets a moment to end by itself first.
    """
    slow = (SLOW, when_slow) if when_slow else None
    try:
        return capture(argv, variables, stdin=stdin, rules=rules, stop=stop, slow=slow, grace=MOMENT)
    except StoppedError:
        raise CladaError("git_operation_failed", "interrupted while git was at work") from None
    except LostExitCodeError:
        message = "git's exit code is lost: the host process takes it itself"
        raise CladaError("git_operation_failed", message, "let the host keep SIGCHLD") from None


def safe_opener(path: str, flags: int) -> int:
    """Open a file of the git directory, for `open`: never through a link, and without waiting for a pipe."""
    return _nonblocking_opener(path, flags | os.O_NOFOLLOW)


def pause() -> None:
    """Wait a moment for another git process to release a lock."""
    time.sleep(PAUSE)


def _git(repository: Repository, settings: Sequence[tuple[str, str]]) -> Git:
    command = [repository.program, "--no-pager"]
    variables = environment(os.environ, repository.workspace)
    for number, (key, value) in enumerate(settings):
        if "=" in key:  # -c would split it at the wrong place
            variables[f"CLADA_SETTING_{number}"] = value
            command.append(f"--config-env={key}=CLADA_SETTING_{number}")
        else:
            command += ["-c", f"{key}={value}"]
    variables["GIT_DIR"] = repository.git_dir
    variables["GIT_WORK_TREE"] = repository.root
    variables["GIT_CEILING_DIRECTORIES"] = os.path.dirname(repository.root)
    confinement = git_confinement(repository, drivers=len(settings) > len(SETTINGS))
    return Git(repository.root, tuple(command), variables, confinement)


def _is_relevant(path: str) -> bool:
    try:
        with open(path, "rb", opener=_nonblocking_opener) as file:
            text = file.read().lower().replace(b"bare = false", b"")
    except FileNotFoundError:
        return False
    return any(word in text for word in RELEVANT)


def _nonblocking_opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _disabled_drivers(entries: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return the settings that put the user's drivers, or none, in place of the repository's own."""
    users: dict[str, str] = {}
    disabled: dict[str, str] = {}
    for scope, key, value in entries:
        name = key.rpartition(".")[2]
        if key.startswith(("filter.", "merge.", "diff.")) and name in DISABLED and key.count(".") > 1:
            if scope in {"system", "global"}:
                users[key] = value
            else:
                disabled[key] = DISABLED[name]
    return [(key, users.get(key, replacement)) for key, replacement in disabled.items()]
