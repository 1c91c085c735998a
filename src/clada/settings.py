"""The settings: declared and checked once, for flags, configuration files and calls of the library."""

from __future__ import annotations

from clada.errors import UsageError
from clada.grammar import AUTHOR, END_DELIMITER, START_DELIMITER, read_author, read_number
from clada.notations.registry import NOTATIONS
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any, Self, TypedDict, Unpack

    class Options(TypedDict, total=False):
        """The settings of a run, as keyword arguments."""

        workspace: str | PathLike[str]
        format: str
        start_delimiter: str
        end_delimiter: str
        git: bool
        git_author: str
        allow_escape: bool
        timeout: float
        total_timeout: float | None
        max_output: int
        max_files: int
        max_bytes: int
        lock_file: str | PathLike[str] | None
        lock_timeout: float
        dry_run: bool
        final_newline: bool
        approve: Sequence[str]
        approve_all: bool
        shell: str
        sandbox: str
        sandbox_write: Sequence[str]
        sandbox_read: Sequence[str]
        sandbox_env_hide: Sequence[str]
        sandbox_env_keep: Sequence[str]


FOREVER = 1e10  # seconds


class Settings(Value):
    """How a document is to be read and executed."""

    workspace: str = "."
    format: str = "auto"
    start_delimiter: str = START_DELIMITER
    end_delimiter: str = END_DELIMITER
    git: bool = True
    git_author: str = "clada"
    allow_escape: bool = False
    timeout: float = 30.0  # seconds
    total_timeout: float | None = None
    max_output: int = 10 << 20  # bytes
    max_files: int = 200_000  # and directories that one document may create
    max_bytes: int = 10 << 30  # that it may write
    lock_file: str | None = None
    lock_timeout: float = 10.0
    dry_run: bool = False
    final_newline: bool = False
    approve: Sequence[str] = ()
    approve_all: bool = False
    shell: str = "never"
    sandbox: str = "auto"
    sandbox_write: Sequence[str] = ()
    sandbox_read: Sequence[str] = ()
    sandbox_env_hide: Sequence[str] = ()
    sandbox_env_keep: Sequence[str] = ()

    @classmethod
    def from_options(cls, **options: Unpack[Options]) -> Self:
        """Return the settings with these options; TypeError or ValueError names one that is wrong."""
        given: Any = dict(options)
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
    shared: bool = False  # may stand in the workspace's configuration, which travels with a repository

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
    _run_setting("start_delimiter", "delimiter", "how CSL markers start", READING, "TEXT"),
    _run_setting("end_delimiter", "delimiter", "how CSL markers end", READING, "TEXT"),
    _run_setting("dry_run", "switch", "show what would happen, with a diff; touch nothing", RUNNING),
    Setting("confirm", "switch", False, "show the plan and its diff, and ask before executing it", RUNNING),
    _run_setting("timeout", "duration", "time limit of each approved command", RUNNING, "TIME"),
    _run_setting("total_timeout", "duration", "time limit of the whole batch", RUNNING, "TIME"),
    _run_setting("max_output", "size", "output kept of each task", RUNNING, "SIZE"),
    _run_setting("max_files", "number", "files and directories that it may create", RUNNING, "NUMBER"),
    _run_setting("max_bytes", "size", "bytes that it may write", RUNNING, "SIZE"),
    _run_setting("final_newline", "switch", "written files end in a line break", RUNNING, shared=True),
    _run_setting("approve", "list", "approve this exact command for this run (repeatable)", SAFETY, "CMD"),
    _run_setting("approve_all", "switch", "run any command without asking, network included", SAFETY),
    _run_setting("allow_escape", "switch", "allow absolute paths and paths outside the workspace", SAFETY),
    _run_setting(
        "shell", "choice", "let bash run approved commands that need a shell", SAFETY,
        choices=("never", "approved"),
    ),
    _run_setting("sandbox", "choice", "confinement of commands", SAFETY, choices=("auto", "off", "require")),
    Setting("no_git", "switch", not _DEFAULT.git, "make no commits", GIT),
    _run_setting("git_author", "author", "author of commits: Name, or Name <mail>", GIT, "NAME", shared=True),
    _run_setting("lock_file", "text", "hold this file's lock while executing", GIT, "FILE"),
    _run_setting("lock_timeout", "duration", "how long to wait for a lock", GIT, "TIME"),
    Setting(
        "output_mode", "choice", "stream", "print as it happens, at the end, or only a summary", OUTPUT,
        choices=("stream", "buffer", "silent"),
    ),
    Setting(
        "error_detail", "choice", "minimal",
        "one line; or the task's source, the near miss and the output too; or all that is known",
        OUTPUT, choices=("minimal", "full", "debug"),
    ),
    Setting(
        "summary", "choice", "auto", "what follows the status lines", OUTPUT,
        choices=("auto", "xml", "json", "none"),
    ),
    Setting(
        "color", "choice", "auto", "colour; NO_COLOR is honoured", OUTPUT,
        choices=("auto", "always", "never"), shared=True,
    ),
    _run_setting("sandbox_write", "list"),
    _run_setting("sandbox_read", "list"),
    _run_setting("sandbox_env_hide", "list"),
    _run_setting("sandbox_env_keep", "list"),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}
DEFAULTS = {setting.name: setting.default for setting in SETTINGS}
SHORT_FORMS = {("error_detail", "min"): "minimal"}


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
    if setting is None or name not in Settings.__match_args__:
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


# Texts, as flags and configuration files have them.


def read_text(setting: Setting, text: str) -> Any:
    """Return what a text stands for as the value of a setting; the error starts with `must`."""
    if setting.kind == "choice":
        text = SHORT_FORMS.get((setting.name, text), text)
        if text not in setting.choices:
            raise UsageError(f"must be one of {', '.join(setting.choices)}, not {text!r}")
    elif setting.kind == "duration":
        return None if setting.default is None and text == "none" else read_duration(text)
    elif setting.kind == "size":
        return read_size(text)
    elif setting.kind == "number":
        number = read_number(text)
        if number is None:
            raise UsageError(f"must be a number, not {text!r}")
        return number
    elif not text:
        raise UsageError("must not be empty")
    elif setting.kind == "delimiter" and not text.isprintable():
        raise UsageError("must not contain a line break or anything else unprintable")
    elif setting.kind == "author" and read_author(text) is None:
        raise UsageError(f"must be {AUTHOR}, not {text!r}")
    return text


DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}
MOST_DIGITS = 12


def read_duration(text: str) -> float:
    """Return the seconds of a duration such as 500ms, 30s, 5m or 1h; a bare number is seconds."""
    number = _number(text, DURATIONS)
    if number is None or number >= FOREVER:
        raise UsageError(f"must be a duration such as 500ms, 30s, 5m or 1h, not {text!r}")
    return number


def read_size(text: str) -> int:
    """Return the bytes that a size such as 10MB stands for; a bare number is bytes."""
    number = _number(text, SIZES)
    if number is None:
        raise UsageError(f"must be a size such as 512B, 64KB, 10MB or 1GB, not {text!r}")
    return int(number)


def _number(text: str, units: Mapping[str, float]) -> float | None:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    whole, _, fraction = digits.partition(".")
    unit = units.get(text[len(digits) :]) if len(digits) < len(text) else 1
    plain = (whole + fraction).isdecimal() and digits.isascii() and not digits.endswith(".")
    if unit is None or not whole or not plain or len(digits) > MOST_DIGITS:
        return None
    return float(digits) * unit


def meant(word: str, known: Sequence[str], form: str = "{}") -> str:
    """Return a hint at what was probably meant, in this form, if anything is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    return f"; did you mean {form.format(close[0])}?" if close else ""
