"""Runs git so that nothing in the repository or the work tree can execute code through it."""

from __future__ import annotations

import os
from stat import S_ISFIFO

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.git.confinement import git_confinement
from clada.world.handles import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clada.world.git.confinement import GitConfinement
    from clada.world.git.repository import Repository
    from clada.world.sandbox.landlock import KeptRules

REFUSING = "/bin/false"

# With each of these in the repository's own configuration, git was seen to execute code, to start something
# in the background, to reach outside the work tree, or to fail to make a commit.
SETTINGS = (
    ("safe.bareRepository", "explicit"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", REFUSING),
    ("core.sshCommand", REFUSING),
    ("core.ignoreStat", "false"),
    ("core.safecrlf", "false"),
    ("core.commentChar", "#"),
    ("user.useConfigOnly", "true"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("diff.submodule", "short"),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("stash.showIncludeUntracked", "false"),  # of these, nobody knows which look like secrets
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    # started by a format of the repository's configuration, such as format.pretty = %G?
    ("gpg.program", REFUSING),
    ("gpg.openpgp.program", REFUSING),
    ("gpg.x509.program", REFUSING),
    ("gpg.ssh.program", REFUSING),
    ("gpg.ssh.defaultKeyCommand", REFUSING),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("apply.whitespace", "nowarn"),
    # A stash that is applied changes the files that it names, and not those that they were renamed to. Some
    # versions of git do not heed this when they apply one: allowed.py looks at the names, too.
    ("merge.renames", "false"),
    ("merge.directoryRenames", "false"),
)

VARIABLES = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": REFUSING,
    "GIT_LITERAL_PATHSPECS": "1",
}

# Variables that say who the user is and where their configuration is: trusted, and passed on.
KEPT = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
)

# For clada's own calls: it parses what git prints, and must see the objects as they really are.
OWN_VARIABLES = {"LC_ALL": "C", "LANGUAGE": "C", "GIT_NO_REPLACE_OBJECTS": "1"}

# What replaces a driver of the repository's own configuration. An empty merge driver would count as a merge
# that succeeded, so it becomes git's own text merge; `git status -v` uses a textconv whatever its options, so
# it becomes a plain copy.
DISABLED = {
    "clean": "",
    "smudge": "",
    "process": "",
    "required": "false",
    "driver": "git merge-file --marker-size=%L %A %O %B",
    "textconv": "cat",
}

# A configuration without these words has no drivers, includes no other file and names no bare repository.
# Most have none of them, which saves asking git.
RELEVANT = (b"[filter", b"[merge", b"[diff", b"[include", b"worktreeconfig", b"bare")

READ_BY_GIT = frozenset((".gitignore", ".gitattributes", ".gitmodules", ".mailmap"))

PAUSE = 0.05  # seconds
SLOW_MS = 3000  # milliseconds after which a git call counts as slow
MOMENT_MS = 200  # that a git call has to end by itself when the run must end
SIGPIPE, SIGTERM, SIGXFSZ = 13, 15, 25  # importing signal costs more than a git call


class GitOutput(Value):
    """What a git process printed, and its exit code."""

    code: int
    output: bytes
    errors: bytes

    @property
    def complaint(self) -> str:
        """Its first error message, on one line."""
        lines = self.errors.decode("utf-8", "surrogateescape").splitlines()
        errors = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
        return escape_controls(errors[0]) if errors else f"exit {self.code}"


class Git(Value):
    """Hardened git in one repository; valid as long as nobody changes the repository's configuration."""

    root: str
    command: tuple[str, ...]  # git with the options that come before a subcommand
    variables: Mapping[str, str]
    confinement: GitConfinement | None = None
    stop: int | None = None  # a handle that becomes readable when the caller must end

    def call(self, *arguments: str, stdin: bytes = b"", directory: str = "", **variables: str) -> GitOutput:
        """Run git in the root of the work tree, or another directory of it, whatever its exit code."""
        argv = (*self.command, "-C", directory or self.root, *arguments)
        given = {**self.variables, **OWN_VARIABLES, **variables}
        rules = self.confinement.of_own_call(arguments[0]) if self.confinement else None
        return run(argv, given, stdin, self._refuse_pipes, rules, self.stop)

    def check_output(self, *arguments: str, stdin: bytes = b"", **variables: str) -> bytes:
        """Run git and return what it printed; raise CladaError if it fails."""
        result = self.call(*arguments, stdin=stdin, **variables)
        if result.code != 0:
            raise git_failed(arguments[0], result)
        return result.output

    def check_word(self, *arguments: str, stdin: bytes = b"", **variables: str) -> str:
        """Run git and return the one word that it printed; raise CladaError if it fails, or prints none."""
        word = self.check_output(*arguments, stdin=stdin, **variables).decode().strip()
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
    waiting = [top]
    while waiting:  # os.walk would call itself, and a tree can be deeper than Python allows
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting += [] if entry.name in {".git", "objects"} else [entry.path]
            elif (names is None or entry.name in names) and _is_pipe(entry.path):
                yield entry.path


def _is_pipe(path: str) -> bool:
    try:
        return S_ISFIFO(os.lstat(path).st_mode)
    except OSError:
        return False  # it is gone, so git does not wait for it


def git_failed(subcommand: str, result: GitOutput) -> CladaError:
    """Return the error for a git call that failed."""
    return CladaError(
        "git_operation_failed",
        f"git {subcommand} failed: {result.complaint}",
        "repair this in the repository",
    )


def hardened_git(repository: Repository) -> Git:
    """Return git, hardened against the repository's configuration as it is now."""
    return _git(repository, (*SETTINGS, *_disabled_drivers(configuration(repository))))


def environment(base: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Return an environment without GIT_ variables that do harm, whose PATH has nothing in the workspace."""
    kept = {name: value for name, value in base.items() if not name.startswith("GIT_") or name in KEPT}
    path = os.pathsep.join(path_directories(base, workspace))
    return {**kept, "PATH": path, **VARIABLES}


def path_directories(base: Mapping[str, str], workspace: str) -> list[str]:
    """Return the directories of PATH that are absolute and outside the workspace."""
    listed = base.get("PATH", os.defpath).split(os.pathsep)
    return [
        directory for directory in listed if os.path.isabs(directory) and not is_inside(directory, workspace)
    ]


def is_inside(path: str, directory: str) -> bool:
    """Return whether a path, with links resolved, is this directory or below it."""
    return (os.path.realpath(path) + "/").startswith(directory.rstrip("/") + "/")


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
) -> GitOutput:
    """Run a program to its end. Its input and output are files, so that it never waits for us.

    If it takes long, `when_slow` is called once, and may raise to end it; `stop` ends it when it is readable.
    `rules` confine it.
    """
    files: list[int] = []
    try:
        files += [_unnamed_file(stdin), _unnamed_file(), _unnamed_file()]
        code = _wait(_start(argv, variables, files, rules), when_slow, stop)
        return GitOutput(code, _content(files[1]), _content(files[2]))
    finally:
        for handle in files:
            os.close(handle)


def _start(
    argv: Sequence[str], variables: Mapping[str, str], files: list[int], rules: KeptRules | None
) -> int:
    """Start a program with these files as its input, output and errors; return its process id."""

    def start() -> int:
        if rules:
            rules.apply()
        return os.posix_spawn(
            argv[0],
            tuple(argv),
            variables,
            file_actions=[(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate(files)],
            setpgroup=0,  # a process group of its own, so that Ctrl-C does not interrupt it half way
            setsigmask=(),
            setsigdef=(SIGPIPE, SIGXFSZ),
        )

    if rules is None:
        return start()
    from clada.world.processes.spawn import in_thread

    return in_thread(start, _terminate)


def safe_opener(path: str, flags: int) -> int:
    """Open a file of the git directory, for `open`: never through a link, and without waiting for a pipe."""
    return _nonblocking_opener(path, flags | os.O_NOFOLLOW)


def pause() -> None:
    """Wait a moment for another git process to release a lock."""
    import time

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


def _unnamed_file(content: bytes = b"") -> int:
    """Return a handle of a new file without a name that has this content."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("clada")
    else:
        import tempfile

        handle, path = tempfile.mkstemp()
        os.unlink(path)
    write(handle, content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _content(handle: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def _wait(pid: int, when_slow: Callable[[], None] | None, stop: int | None = None) -> int:
    """Wait for the process and return its exit code. If we are interrupted, it is ended first."""
    try:
        if when_slow is not None and not _ends(pid, SLOW_MS, stop):
            when_slow()
            _ends(pid, None, stop)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:  # the host ignores SIGCHLD, or waits for all children
        message = "git's exit code is lost: the host process takes it itself"
        raise CladaError("git_operation_failed", message, "let the host keep SIGCHLD") from None
    except BaseException:
        _terminate(pid)
        raise


def _terminate(pid: int) -> None:
    """End the process by SIGTERM: git then removes its lock files, but for one that it is just making.

    What is done in a moment comes to its end by itself before.
    """
    try:
        _ends(pid, MOMENT_MS, None)
        os.kill(pid, SIGTERM)
        os.waitpid(pid, 0)
    except (ChildProcessError, ProcessLookupError):
        return  # the host has waited for it already


def _ends(pid: int, milliseconds: int | None, stop: int | None) -> bool:
    """Wait so long; return True if it ended, or if the system cannot wait for a process that way.

    If it must stop before, that is raised.
    """
    if not hasattr(os, "pidfd_open"):
        return True
    import select

    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return True  # it has ended, or the system does not let us
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if stop is not None:
            poll.register(stop, select.POLLIN)
        ready = [each for each, _ in poll.poll(milliseconds)]
    finally:
        os.close(handle)
    if ready == [stop]:
        raise CladaError("git_operation_failed", "interrupted while git was at work")
    return bool(ready)
