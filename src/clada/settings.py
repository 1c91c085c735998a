"""The settings: declared and checked once, for flags, configuration files and calls of the library."""

from __future__ import annotations

from clada.grammar import AUTHOR, END_DELIMITER, START_DELIMITER, read_author
from clada.notations.registry import NOTATIONS
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any, Self, TypedDict, Unpack

    class Options(TypedDict, total=False):
        """The settings of a run, as keyword arguments."""

        workspace: str | PathLike[str]
        format: str
        start_delimiter: str
        end_delimiter: str
        root: str | None
        run_fences: bool
        strip_fences: bool | None
        match: str
        git: bool
        record: str
        git_author: str
        message: str | None
        commit_all: bool
        repository: str | PathLike[str] | None
        uncommitted: Sequence[str]
        durable: bool
        snapshot_limit: int
        history_size: int
        history_age: float
        allow_escape: bool
        allow_autorun: bool
        timeout: float
        total_timeout: float | None
        max_output: int
        max_files: int
        max_bytes: int
        lock_file: str | PathLike[str] | None
        lock_timeout: float
        dry_run: bool
        atomic: bool
        again: bool
        final_newline: bool | None
        approve: Sequence[str]
        approve_all: bool
        shell: str
        sandbox: str
        sandbox_write: Sequence[str]
        sandbox_read: Sequence[str]
        sandbox_env_hide: Sequence[str]
        sandbox_env_keep: Sequence[str]
        reveal: Sequence[str]


FOREVER = 1e10  # seconds


class Settings(Value):
    """How a document is to be read and executed."""

    workspace: str = "."
    format: str = "auto"
    start_delimiter: str = START_DELIMITER
    end_delimiter: str = END_DELIMITER
    root: str | None = None
    run_fences: bool = False
    strip_fences: bool | None = None  # None: of files that are not Markdown; True: of all
    match: str = "auto"  # how edits find their texts; auto: as they say themselves
    record: str = "auto"  # commits in a repository, else snapshots; or one of commits, snapshots, none
    git_author: str = "clada"
    message: str | None = None  # the subject of the commit after the run
    commit_all: bool = False  # untracked files too that look like secrets, are large, or are many
    repository: str | None = None  # that may be used although it does not know the workspace
    uncommitted: Sequence[str] = ()  # files that are not committed unless git tracks them: answers, reports
    durable: bool = False
    snapshot_limit: int = 100 << 20  # bytes of a file that is kept without asking
    history_size: int = 1 << 30  # bytes that the kept runs may take
    history_age: float = 90 * 24 * 3600.0  # seconds that a run is kept
    allow_escape: bool = False
    allow_autorun: bool = False  # files that editors, shells and agents run by themselves
    timeout: float = 30.0  # seconds
    total_timeout: float | None = None
    max_output: int = 10 << 20  # bytes
    max_files: int = 200_000  # and directories that one document may create
    max_bytes: int = 10 << 30  # that it may write
    lock_file: str | None = None
    lock_timeout: float = 10.0
    dry_run: bool = False
    atomic: bool = False  # the whole document, or nothing of it
    again: bool = False  # also if parts of it were done in the last run
    final_newline: bool | None = None  # None: in CSL; True: in every notation
    approve: Sequence[str] = ()
    approve_all: bool = False
    shell: str = "never"
    sandbox: str = "auto"
    sandbox_write: Sequence[str] = ()
    sandbox_read: Sequence[str] = ()
    sandbox_env_hide: Sequence[str] = ()
    sandbox_env_keep: Sequence[str] = ()
    reveal: Sequence[str] = ()  # files that commands may show although they look like secrets

    @classmethod
    def from_options(cls, **options: Unpack[Options]) -> Self:
        """Return the settings with these options; TypeError or ValueError names one that is wrong."""
        given: Any = dict(options)
        if "git" in given:
            _check("git", given["git"])
            given = with_record(no_git=not given.pop("git"), **given)
        for name, value in given.items():
            if hasattr(value, "__fspath__") and BY_NAME[name].value in PATHS:
                given[name] = value.__fspath__()
            _check(name, given[name])
        return cls(**given)


class Setting(Value):
    """One setting: its name, the kind of its value, its default, and what it means."""

    name: str  # in configuration files and in the library; as a flag, with dashes
    kind: str  # a key of KINDS
    default: Any
    meaning: str = ""
    group: str = ""  # under which help lists it; those without one have no flag
    value: str = ""  # how help calls its value
    choices: tuple[str, ...] = ()
    shared: bool = False  # may stand in the workspace's configuration, once that is trusted

    @property
    def dashed(self) -> str:
        """Its name as a flag, without the two dashes in front."""
        return self.name.replace("_", "-")


READING, RUNNING, SAFETY, GIT, OUTPUT = "Reading", "Running", "Safety", "Git and locks", "Output"
PATHS = ("DIR", "FILE")


def _run_setting(name: str, *columns: Any, **named: Any) -> Setting:
    """Return the row of a setting that runs have, with the default that it has there."""
    kind, *rest = columns
    return Setting(name, kind, getattr(_DEFAULT, name), *rest, **named)


_DEFAULT = Settings()
SETTINGS = (
    _run_setting("workspace", "text", "the directory that operations are contained in", READING, "DIR"),
    _run_setting(
        "format", "choice", "the notation of the document", READING, choices=("auto", *NOTATIONS), shared=True
    ),
    _run_setting("start_delimiter", "delimiter", "how CSL markers start", READING, "TEXT", shared=True),
    _run_setting("end_delimiter", "delimiter", "how CSL markers end", READING, "TEXT", shared=True),
    _run_setting("root", "text", "paths below it are the workspace's, in dialects", READING, "PREFIX"),
    _run_setting("run_fences", "switch", "make a run of each fence that is tagged as a shell's", READING),
    _run_setting("strip_fences", "switch", "remove a fence around all of a write: always, or never", READING),
    _run_setting(
        "match", "choice", "how edits find their text; auto: as the document says", READING,
        choices=("auto", "exact", "blanks"),
    ),
    _run_setting("dry_run", "switch", "show what would happen, with a diff; touch nothing", RUNNING),
    _run_setting(
        "atomic", "switch", "all of it or nothing: a failure takes back all the rest", RUNNING, shared=True
    ),
    _run_setting("again", "switch", "run a document again of which parts were done", RUNNING),
    Setting("confirm", "switch", False, "show the plan and its diff, and ask what of it to execute", RUNNING),
    _run_setting("timeout", "duration", "time limit of each approved command", RUNNING, "TIME", shared=True),
    _run_setting("total_timeout", "duration", "time limit of the whole batch", RUNNING, "TIME", shared=True),
    _run_setting("max_output", "size", "output kept of each task", RUNNING, "SIZE", shared=True),
    _run_setting("max_files", "number", "files and directories that it may create", RUNNING, "NUMBER"),
    _run_setting("max_bytes", "size", "bytes that it may write", RUNNING, "SIZE"),
    _run_setting(
        "final_newline", "switch", "add a missing last line break: always, or never", RUNNING, shared=True
    ),
    _run_setting("approve", "list", "approve this exact command for this run (repeatable)", SAFETY, "CMD"),
    _run_setting("approve_all", "switch", "run any command without asking, network included", SAFETY),
    _run_setting("allow_escape", "switch", "allow absolute paths and paths outside the workspace", SAFETY),
    _run_setting(
        "allow_autorun", "switch", "write files that editors, shells and agents run, without asking", SAFETY
    ),
    _run_setting(
        "shell", "choice", "let bash run approved commands that need a shell", SAFETY,
        choices=("never", "approved"),
    ),
    _run_setting("sandbox", "choice", "confinement of commands", SAFETY, choices=("auto", "off", "require")),
    _run_setting(
        "record", "choice", "how runs are recorded; auto: commits in a repository, else snapshots", GIT,
        choices=("auto", "commits", "snapshots", "none"), shared=True,
    ),
    Setting("no_git", "switch", False, "the same as --record=none", GIT),
    _run_setting(
        "git_author", "author", "author of commits: Name, Name <mail>, or me", GIT, "NAME", shared=True
    ),
    _run_setting("message", "text", "the subject of the commit after the run", GIT, "TEXT"),
    _run_setting("commit_all", "switch", "commit untracked secrets, large and many files too", GIT),
    _run_setting(
        "repository", "text", "use this repository, though it knows no file of the workspace", GIT, "DIR"
    ),
    _run_setting("snapshot_limit", "size", "files over this are not replaced without asking", GIT, "SIZE"),
    _run_setting("lock_file", "text", "hold this file's lock while executing", GIT, "FILE"),
    _run_setting("lock_timeout", "duration", "how long to wait for a lock", GIT, "TIME"),
    Setting(
        "output_mode", "choice", "stream", "print as it happens, at the end, or only a summary", OUTPUT,
        choices=("stream", "buffer", "silent"), shared=True,
    ),
    Setting(
        "error_detail", "choice", "minimal",
        "one line; or the task's source, the near miss and the output too; or all that is known",
        OUTPUT, choices=("minimal", "full", "debug"), shared=True,
    ),
    Setting(
        "summary", "choice", "auto", "what follows the status lines", OUTPUT,
        choices=("auto", "xml", "json", "llm", "none"), shared=True,
    ),
    Setting("copy", "switch", False, "put it on the clipboard, of a run its report for an LLM", OUTPUT),
    Setting("events", "text", None, "every event as a line of JSON: jsonl[:FD|:FILE]", OUTPUT, "HOW"),
    Setting(
        "color", "choice", "auto", "colour; NO_COLOR is honoured", OUTPUT,
        choices=("auto", "always", "never"), shared=True,
    ),
    _run_setting("uncommitted", "list"),
    _run_setting("durable", "switch"),
    _run_setting("history_size", "size"),
    _run_setting("history_age", "duration"),
    _run_setting("sandbox_write", "list"),
    _run_setting("sandbox_read", "list"),
    _run_setting("sandbox_env_hide", "list"),
    _run_setting("sandbox_env_keep", "list"),
    _run_setting("reveal", "list"),
)  # fmt: skip
# What decides what comes of a document: kept with its run, for `clada resume`. What guards is not: a run that
# goes on is held to what whoever starts it allows.
KEPT = "format start_delimiter end_delimiter root run_fences strip_fences match final_newline atomic".split()
BY_NAME = {setting.name: setting for setting in SETTINGS}
DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


def restored(kept: Sequence[str]) -> dict[str, Any]:
    """Return the settings that were kept with a run, as `name=value`; None has no value."""
    pairs = (field.partition("=") for field in kept)
    given = {name: value for name, _, value in pairs if name in KEPT}
    switches = {"True": True, "False": False}
    return {
        name: switches.get(value, DEFAULTS[name])
        if BY_NAME[name].kind == "switch"
        else value or DEFAULTS[name]
        for name, value in given.items()
    }


# Values, as the library gets them.


class _ValueKind(Value):
    """A kind of values: what a message calls it, its types, and which values of them it has."""

    name: str
    types: tuple[type, ...]
    fits: Callable[[Any], bool] = lambda _value: True


_TEXT = _ValueKind("a text that is not empty", (str,), lambda text: bool(text) and "\0" not in text)
KINDS = {
    "text": _TEXT,
    "choice": _TEXT,
    "delimiter": _TEXT,
    "author": _TEXT,
    "switch": _ValueKind("True or False", (bool,)),
    "size": _ValueKind("a number of bytes, 0 or more", (int,), lambda number: number >= 0),
    "number": _ValueKind("a number, 0 or more", (int,), lambda number: number >= 0),
    "duration": _ValueKind(
        "a number of seconds, 0 or more", (int, float), lambda number: 0 <= number < FOREVER
    ),
    "list": _ValueKind("a list of texts", (list, tuple, set, frozenset)),
}


def _check(name: str, value: Any) -> None:
    """Raise where an option of the library is unknown, or its value is wrong."""
    setting = BY_NAME.get(name) if name != "git" else BY_NAME["no_git"]
    if setting is None or (name not in Settings.__match_args__ and name != "git"):
        raise TypeError(f"execute() has no option {name!r}")
    if value is None and setting.default is None:
        return
    kind = KINDS[setting.kind]
    is_of_type = isinstance(value, kind.types) and (not isinstance(value, bool) or bool in kind.types)
    if not is_of_type or (setting.kind == "list" and not all(isinstance(item, str) for item in value)):
        raise TypeError(f"{name} must be {kind.name}, not {value!r}")
    if not kind.fits(value):
        raise ValueError(f"{name} must be {kind.name}, not {value!r}")
    if setting.choices and value not in setting.choices:
        raise ValueError(f"{name} must be one of {', '.join(setting.choices)}, not {value!r}")
    if setting.kind == "author" and read_author(value) is None:
        raise ValueError(f"{name} must be {AUTHOR}, not {value!r}")


def with_record(*, no_git: bool | None = None, **given: Any) -> dict[str, Any]:
    """Return what was set in one place, with --no-git as the record that it stands for."""
    if no_git is None:
        return given
    return {"record": "none" if no_git else _DEFAULT.record, **given}
