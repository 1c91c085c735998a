"""Git as clada calls it: nothing in the repository or the tree can run code through it."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clada.world.git.repository import Repository

REFUSING = "/bin/false"

# Each of these, left to the repository's own configuration, was seen to run foreign code, to start something
# in the background, to reach outside the work tree or to keep a commit from being made.
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
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    # a format of the repository's own (format.pretty = %G?) would start these
    ("gpg.program", REFUSING),
    ("gpg.openpgp.program", REFUSING),
    ("gpg.x509.program", REFUSING),
    ("gpg.ssh.program", REFUSING),
    ("gpg.ssh.defaultKeyCommand", REFUSING),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("apply.whitespace", "nowarn"),
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

# What the user's own environment says of who they are and where their configuration is: trusted, and kept.
KEPT = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
)

# Clada reads what git says, and its commits must hold what the objects really are.
OWN_VARIABLES = {"LC_ALL": "C", "LANGUAGE": "C", "GIT_NO_REPLACE_OBJECTS": "1"}

# How a driver of the repository's own configuration is put out of action. An empty merge driver would count
# as a merge that succeeded, so that one becomes git's own text merge; and `git status -v` converts with a
# textconv whatever its options, so that one becomes a plain copy.
BLANK = {
    "clean": "",
    "smudge": "",
    "process": "",
    "required": "false",
    "driver": "git merge-file --marker-size=%L %A %O %B",
    "textconv": "cat",
}

# The words without which a configuration can hold no driver, include no other file and claim no bare
# repository: most hold none, and need no process to be understood.
TELLING = (b"[filter", b"[merge", b"[diff", b"[include", b"worktreeconfig", b"bare")

# What an allowed command is given besides, after its name.
GUARDS = {
    "status": ("--ignore-submodules=all",),
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "log": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "show": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "stash list": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    "stash show": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
}

# Where the host ignores SIGCHLD, or waits for all children, nobody can tell whether a call succeeded.
LOST = "git's exit code is lost: the host process takes it itself"
KEEP = "let the host keep SIGCHLD"

PAUSE = 0.05  # seconds
PATIENCE = 3000  # milliseconds after which a git call counts as long
SIGPIPE, SIGTERM, SIGXFSZ = 13, 15, 25  # importing signal costs more than a git call


class Answer(Value):
    """What a git process said."""

    code: int
    output: bytes
    errors: bytes

    @property
    def complaint(self) -> str:
        """The first thing that it complained of, on one line."""
        lines = self.errors.decode("utf-8", "surrogateescape").splitlines()
        telling = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
        return escape_controls(telling[0]) if telling else f"exit {self.code}"


class Git(Value):
    """Hardened git in one repository, for as long as nothing else writes to its configuration."""

    root: str
    start: tuple[str, ...]
    variables: Mapping[str, str]

    def call(self, *arguments: str, given: bytes = b"", **variables: str) -> Answer:
        """Run git in the root of the work tree and return what it said."""
        argv = (*self.start, "-C", self.root, *arguments)
        return run(argv, {**self.variables, **OWN_VARIABLES, **variables}, given, self._stuck)

    def _stuck(self) -> None:
        from clada.world.git.stuck import refuse_pipes

        refuse_pipes(self.root, self.variables["GIT_DIR"])

    def ask(self, *arguments: str, given: bytes = b"", **variables: str) -> bytes:
        """Run git, which must succeed, and return its output."""
        answer = self.call(*arguments, given=given, **variables)
        if answer.code != 0:
            raise failed(arguments[0], answer)
        return answer.output

    def word(self, *arguments: str, given: bytes = b"", **variables: str) -> str:
        """Run git, which must succeed, and return the one word that it printed."""
        return self.ask(*arguments, given=given, **variables).decode().strip()


def failed(subcommand: str, answer: Answer) -> Trouble:
    """Return the trouble that a git call ended in."""
    return Trouble(
        "git_operation_failed",
        f"git {subcommand} failed: {answer.complaint}",
        "repair this in the repository",
    )


def hardened_git(repository: Repository) -> Git:
    """Return git, hardened against what the repository's configuration says now."""
    return _git(repository, (*SETTINGS, *_blanked(configuration(repository))))


def hardened(arguments: Sequence[str], repository: Repository) -> tuple[list[str], dict[str, str]]:
    """Return the argv and the environment of an allowed git command, given what follows the word `git`."""
    git = hardened_git(repository)
    words = [word for word in arguments if word != "--no-pager"]
    if words[0] == "stash" and words[1:2] in ([], ["push"]):
        return _stash_push(git, words[2:])
    name = " ".join(words[:2]) if words[0] == "stash" else words[0]
    if name in {"stash pop", "stash apply"}:
        _refuse_approvals(git, words[2:])
    taken = len(name.split())
    variables = {**git.variables, "GIT_OPTIONAL_LOCKS": "0"}
    return [*git.start, *words[:taken], *GUARDS.get(name, ()), *words[taken:]], variables


def _stash_push(git: Git, words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    from clada.world.git import stash

    variables = {key: value for key, value in git.variables.items() if key != "GIT_LITERAL_PATHSPECS"}
    return [*git.start, "stash", "push", *words, *stash.limits(git)], variables


def _refuse_approvals(git: Git, words: Sequence[str]) -> None:
    from clada.world.git import stash

    stash.refuse_approvals(git, words)


def environment(base: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Return an environment without what git would act on; its PATH leads to nothing in the workspace."""
    kept = {name: value for name, value in base.items() if not name.startswith("GIT_") or name in KEPT}
    path = os.pathsep.join(directories(base, workspace))
    return {**kept, "PATH": path, **VARIABLES}


def directories(base: Mapping[str, str], workspace: str) -> list[str]:
    """Return the directories of PATH in which a program may be looked for."""
    listed = base.get("PATH", os.defpath).split(os.pathsep)
    return [
        directory for directory in listed if os.path.isabs(directory) and not inside(directory, workspace)
    ]


def inside(path: str, directory: str) -> bool:
    """Tell whether a path leads to this directory or below it."""
    return (os.path.realpath(path) + "/").startswith(directory.rstrip("/") + "/")


def configuration(repository: Repository) -> list[tuple[str, str, str]]:
    """Return (scope, key, value) of the configuration in force; nothing where it can hold no driver."""
    if not _telling(os.path.join(repository.common_dir, "config")):
        return []
    listed = _git(repository, SETTINGS).ask("config", "--list", "-z", "--show-scope")
    parts = os.fsdecode(listed).split("\0")
    entries = [entry.partition("\n") for entry in parts[1::2]]
    return [
        (scope, key, value if given else "true")
        for scope, (key, given, value) in zip(parts[0::2], entries, strict=False)
    ]


def run(
    argv: Sequence[str],
    variables: Mapping[str, str],
    given: bytes = b"",
    stuck: Callable[[], None] | None = None,
) -> Answer:
    """Run a program to its end, with files as its input and outputs: no channel can block.

    Where it takes long, `stuck` is called once, and may raise to end it.
    """
    channels: list[int] = []
    try:
        channels += [_scratch(given), _scratch(), _scratch()]
        code = _wait(_start(argv, variables, channels), stuck)
        return Answer(code, _content(channels[1]), _content(channels[2]))
    finally:
        for channel in channels:
            os.close(channel)


def opener(path: str, flags: int) -> int:
    """Open a file in the git directory for `open`: through no link, and not waiting where it is a pipe."""
    return _without_waiting(path, flags | os.O_NOFOLLOW)


def pause() -> None:
    """Give another git process a moment to let go of the index."""
    import time

    time.sleep(PAUSE)


def _git(repository: Repository, settings: Sequence[tuple[str, str]]) -> Git:
    start = [repository.program, "--no-pager"]
    variables = environment(os.environ, repository.workspace)
    for number, (key, value) in enumerate(settings):
        if "=" in key:  # -c would split it at the wrong place
            variables[f"CLADA_SETTING_{number}"] = value
            start.append(f"--config-env={key}=CLADA_SETTING_{number}")
        else:
            start += ["-c", f"{key}={value}"]
    variables["GIT_DIR"] = repository.git_dir
    variables["GIT_WORK_TREE"] = repository.root
    variables["GIT_CEILING_DIRECTORIES"] = os.path.dirname(repository.root)
    return Git(repository.root, tuple(start), variables)


def _telling(path: str) -> bool:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            text = file.read().lower().replace(b"bare = false", b"")
    except FileNotFoundError:
        return False
    return any(word in text for word in TELLING)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _blanked(entries: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return the settings that undo what the repository's own configuration says of drivers."""
    trusted: dict[str, str] = {}
    foreign: dict[str, str] = {}
    for scope, key, value in entries:
        name = key.rpartition(".")[2]
        if key.startswith(("filter.", "merge.", "diff.")) and name in BLANK and key.count(".") > 1:
            side = trusted if scope in {"system", "global"} else foreign
            side[key] = value if side is trusted else BLANK[name]
    return [(key, trusted.get(key, blank)) for key, blank in foreign.items()]


def _scratch(content: bytes = b"") -> int:
    """Return a handle on a file without a name that holds the content."""
    handle = os.memfd_create("clada") if hasattr(os, "memfd_create") else _temporary()
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _temporary() -> int:
    import tempfile

    handle, path = tempfile.mkstemp()
    os.unlink(path)
    return handle


def _content(handle: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def _start(argv: Sequence[str], variables: Mapping[str, str], channels: Sequence[int]) -> int:
    """Start the program in a process group of its own, so that Ctrl-C does not cut it short."""
    return os.posix_spawn(
        argv[0],
        tuple(argv),
        variables,
        file_actions=[(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate(channels)],
        setpgroup=0,
        setsigmask=(),
        setsigdef=(SIGPIPE, SIGXFSZ),
    )


def _wait(pid: int, stuck: Callable[[], None] | None) -> int:
    """Wait for the process; on an interrupt end it first: git then takes its lock files away."""
    try:
        if stuck is not None and not _ends_soon(pid):
            stuck()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        raise Trouble("git_operation_failed", LOST, KEEP) from None
    except BaseException:
        _end(pid)
        raise


def _end(pid: int) -> None:
    try:
        os.kill(pid, SIGTERM)
        os.waitpid(pid, 0)
    except (ChildProcessError, ProcessLookupError):
        return  # the host was faster


def _ends_soon(pid: int) -> bool:
    """Wait a little; true also where the system has no way to wait for a process with a limit."""
    if not hasattr(os, "pidfd_open"):
        return True
    import select

    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return True  # it has ended, or the system does not let us: then waitpid tells, or waits
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(PATIENCE))
    finally:
        os.close(handle)
