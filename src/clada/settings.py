"""The settings: declared and checked once, for flags, configuration files and the library."""

from __future__ import annotations

from clada.grammar import AUTHOR, END_DELIMITER, START_DELIMITER, read_author
from clada.notations.registry import NOTATIONS
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self, Unpack

    from clada.public_types import (
        Format,
        MatchMode,
        MergeMode,
        Options,
        RecordMode,
        SandboxMode,
        ShellMode,
        SyntaxMode,
    )

FOREVER = 1e10  # seconds


class Settings(Value):
    """How a document is read and executed."""

    workspace: str = "."
    format: Format = "auto"
    start_delimiter: str = START_DELIMITER
    end_delimiter: str = END_DELIMITER
    root: str | None = None
    run_fences: bool = False
    strip_fences: bool | None = None  # None: of files that are not Markdown; True: of all
    match: MatchMode = "auto"  # how edits find their text; auto: as the document says
    merge: MergeMode = "auto"  # edits that do not fit: off, seen, history; auto: seen for dialects, else off
    record: RecordMode = "auto"  # commits in a repository, else snapshots; or one of commits, snapshots, none
    git_author: str = "clada"
    message: str | None = None  # subject of the commit after the run
    commit_all: bool = False  # also untracked files that look like secrets, are large, or are many
    repository: str | None = None  # to be used although it has no file of the workspace
    uncommitted: Sequence[str] = ()  # files that are not committed unless git tracks them: answers, reports
    durable: bool = False
    snapshot_limit: int = 100 << 20  # bytes; a larger file is not replaced without asking
    history_size: int = 1 << 30  # bytes of all saved runs together
    history_age: float = 90 * 24 * 3600.0  # seconds after which a run is deleted from the history
    allow_escape: bool = False
    allow_autorun: bool = False  # write files that editors, shells and agents run by themselves
    timeout: float = 30.0  # seconds
    total_timeout: float | None = None
    max_output: int = 10 << 20  # bytes
    max_files: int = 200_000  # upper limit of files and directories created by one document
    max_bytes: int = 10 << 30  # upper limit of bytes written by one document
    lock_file: str | None = None
    lock_timeout: float = 10.0
    dry_run: bool = False
    syntax: SyntaxMode = "note"  # what follows if a changed file does not parse any more
    atomic: bool = False  # apply the whole document or nothing
    verify: Sequence[str] = ()  # commands that must not end worse after the run than before it
    verify_strict: bool = False  # they must succeed
    after_edit: Mapping[str, str] = {}  # commands that format changed files, by pattern
    again: bool = False  # even if the document was applied in part before
    final_newline: bool | None = None  # None: in CSL; True: in every notation
    approve: Sequence[str] = ()
    approve_all: bool = False
    shell: ShellMode = "never"
    sandbox: SandboxMode = "auto"
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
    """One setting: its name, the kind of its value, its default, and its help text."""

    name: str  # in configuration files and in the library; as a flag, with dashes
    kind: str  # a key of KINDS
    default: Any
    meaning: str = ""  # one phrase, without the default
    group: str = ""  # heading in the help; settings without one have no flag
    value: str = ""  # placeholder for its value in the help
    choices: tuple[str, ...] = ()
    shared: bool = False  # allowed in the workspace's configuration file, once that is trusted
    short: str = ""  # its one-letter flag
    advanced: bool = False  # listed last in the help
    otherwise: str = ""  # the default in words, where the value alone does not say it

    @property
    def dashed(self) -> str:
        """Its name as a flag, without the two dashes in front."""
        return self.name.replace("_", "-")


READING, RUNNING, SAFETY, RECORDING, OUTPUT = "Reading", "Running", "Safety", "Recording", "Output"
PATHS = ("DIR", "FILE")
REPOSITORY = "repository"  # as the workspace: the top of the repository around the current directory


def _run_setting(name: str, *columns: Any, **named: Any) -> Setting:
    """Return the row of a setting that the library has too, with its default there."""
    kind, *rest = columns
    return Setting(name, kind, getattr(_DEFAULT, name), *rest, **named)


_DEFAULT = Settings()
SETTINGS = (
    _run_setting(
        "workspace", "text", "directory to work in; repository: the top of this git repository", READING,
        "DIR", short="C",
    ),
    _run_setting(
        "format", "choice", "format of the answer", READING, choices=("auto", *NOTATIONS), shared=True
    ),
    _run_setting("root", "text", "strip this prefix from absolute paths in the answer", READING, "PREFIX"),
    _run_setting("run_fences", "switch", "run the shell code blocks of the answer", READING),
    _run_setting(
        "strip_fences", "switch", "remove a code fence around the content of a file", READING,
        otherwise="unless the file is Markdown",
    ),
    _run_setting(
        "match", "choice", "how edits find their text", READING, choices=("auto", "exact", "blanks"),
        otherwise="as the format says",
    ),
    _run_setting(
        "merge", "choice", "merge edits that fit an earlier version: off, seen by the model, history",
        READING, choices=("auto", "off", "seen", "history"), otherwise="seen for dialects, else off",
    ),
    _run_setting(
        "start_delimiter", "delimiter", "start of a CSL marker", READING, "TEXT", shared=True, advanced=True
    ),
    _run_setting(
        "end_delimiter", "delimiter", "end of a CSL marker", READING, "TEXT", shared=True, advanced=True
    ),
    _run_setting(
        "dry_run", "switch", "show what would change, with a diff; change nothing", RUNNING, short="n"
    ),
    Setting("confirm", "switch", False, "show the plan and its diff, then choose what to apply", RUNNING),
    _run_setting("atomic", "switch", "apply everything or nothing", RUNNING, shared=True),
    _run_setting(
        "syntax", "choice", "what to do if a changed file does not parse", RUNNING,
        choices=("note", "refuse", "off"), shared=True,
    ),
    _run_setting(
        "verify", "list", "roll back if this command is worse after the run (repeatable)", RUNNING,
        "CMD", shared=True,
    ),
    _run_setting("verify_strict", "switch", "roll back unless --verify succeeds", RUNNING, shared=True),
    _run_setting("again", "switch", "apply an answer again that was applied in part", RUNNING),
    _run_setting("timeout", "duration", "time limit of each approved command", RUNNING, "TIME", shared=True),
    _run_setting(
        "total_timeout", "duration", "time limit of the whole run", RUNNING, "TIME", shared=True,
        otherwise="none",
    ),
    _run_setting("max_output", "size", "output kept per task", RUNNING, "SIZE", shared=True),
    _run_setting(
        "final_newline", "switch", "end written files in a line break", RUNNING, shared=True,
        otherwise="in CSL only",
    ),
    _run_setting(
        "max_files", "number", "upper limit of files and directories created", RUNNING, "NUMBER",
        advanced=True,
    ),
    _run_setting("max_bytes", "size", "upper limit of bytes written", RUNNING, "SIZE", advanced=True),
    _run_setting("approve", "list", "approve this exact command for this run (repeatable)", SAFETY, "CMD"),
    _run_setting("approve_all", "switch", "run every command without asking, with network access", SAFETY),
    _run_setting("allow_escape", "switch", "allow absolute paths and paths outside the workspace", SAFETY),
    _run_setting(
        "allow_autorun", "switch", "write files that editors, shells and agents run by themselves", SAFETY
    ),
    _run_setting(
        "shell", "choice", "let bash run approved commands that need a shell", SAFETY,
        choices=("never", "approved"),
    ),
    _run_setting(
        "sandbox", "choice", "confine approved commands", SAFETY, choices=("auto", "off", "require")
    ),
    _run_setting(
        "record", "choice", "how runs are recorded: commits, snapshots (undo only), none", RECORDING,
        choices=("auto", "commits", "snapshots", "none"), shared=True,
        otherwise="auto: commits in a repository, else snapshots",
    ),
    Setting("no_git", "switch", False, "same as --record=none", RECORDING),
    _run_setting(
        "git_author", "author", "author of commits: Name, Name <mail>, or me", RECORDING, "NAME", shared=True
    ),
    _run_setting(
        "message", "text", "subject of the commit after the run", RECORDING, "TEXT", short="m",
        otherwise="[clada:post] and the time",
    ),
    _run_setting(
        "commit_all", "switch", "commit untracked secrets, large files and many files too", RECORDING,
        advanced=True,
    ),
    _run_setting(
        "repository", "text", "use this repository although it has no file of the workspace", RECORDING,
        "DIR", advanced=True,
    ),
    _run_setting(
        "snapshot_limit", "size", "largest file that is replaced without asking", RECORDING, "SIZE",
        advanced=True,
    ),
    _run_setting(
        "lock_file", "text", "hold a lock on this file during the run", RECORDING, "FILE", advanced=True
    ),
    _run_setting("lock_timeout", "duration", "how long to wait for a lock", RECORDING, "TIME", advanced=True),
    Setting(
        "output_mode", "choice", "stream", "print as it happens, at the end, or failures only", OUTPUT,
        choices=("stream", "buffer", "silent"), shared=True,
    ),
    Setting(
        "error_detail", "choice", "minimal", "how much to print about each failure", OUTPUT,
        choices=("minimal", "full", "debug"), shared=True,
    ),
    Setting(
        "summary", "choice", "auto", "summary after the status lines", OUTPUT,
        choices=("auto", "xml", "json", "llm", "none"), shared=True,
        otherwise="auto: none on a terminal, else by format",
    ),
    Setting("copy", "switch", False, "copy the report for the LLM to the clipboard", OUTPUT),
    Setting("events", "text", None, "write each event as a line of JSON: jsonl[:FD|:FILE]", OUTPUT, "HOW"),
    Setting(
        "color", "choice", "auto", "colour; NO_COLOR and FORCE_COLOR are honoured", OUTPUT,
        choices=("auto", "always", "never"), shared=True,
    ),
    Setting("settle", "duration", 2.0, "how long an answer must be unchanged before clada watch applies it"),
    _run_setting("after_edit", "table", "commands that format changed files, by pattern"),
    _run_setting("uncommitted", "list", "files that stay out of commits unless git tracks them"),
    _run_setting("durable", "switch", "flush every record to the disk before going on"),
    _run_setting("history_size", "size", "disk space that recorded runs may take"),
    _run_setting("history_age", "duration", "how long runs stay recorded"),
    _run_setting("sandbox_write", "list", "paths outside the workspace that commands may write"),
    _run_setting("sandbox_read", "list", "paths that commands may read although they are hidden"),
    _run_setting("sandbox_env_hide", "list", "environment variables to hide from commands"),
    _run_setting("sandbox_env_keep", "list", "environment variables to pass although they look secret"),
    _run_setting("reveal", "list", "files that commands may show although they look like secrets"),
)  # fmt: skip
# Settings that decide how a document is read: saved with its run for `clada resume`. Settings that guard are
# not saved: those of the command that resumes are used.
KEPT = "format start_delimiter end_delimiter root run_fences strip_fences match final_newline atomic".split()
BY_NAME = {setting.name: setting for setting in SETTINGS}
DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


def restored(saved: Sequence[str]) -> dict[str, Any]:
    """Return the settings that were saved with a run as `name=value`; None has no value."""
    pairs = (field.partition("=") for field in saved)
    given = {name: value for name, _, value in pairs if name in KEPT}
    switches = {"True": True, "False": False}
    return {
        name: switches.get(value, DEFAULTS[name])
        if BY_NAME[name].kind == "switch"
        else value or DEFAULTS[name]
        for name, value in given.items()
    }


# Values as the library gets them.


class _ValueKind(Value):
    """A kind of values: its name in messages, its Python types, and a check of the value."""

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
    "table": _ValueKind(
        "a table of texts",
        (dict,),
        lambda table: all(isinstance(text, str) for pair in table.items() for text in pair),
    ),
}


def _check(name: str, value: Any) -> None:
    """Raise if an option of the library is unknown or its value is wrong."""
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
    """Return the settings with `no_git` replaced by the `record` that it stands for."""
    if no_git is None:
        return given
    return {"record": "none" if no_git else _DEFAULT.record, **given}
