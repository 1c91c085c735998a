"""The command line as a table: its commands and flags, and how a line of arguments is read by it.

Help, completion, the manual page and the configuration files are made from the same table.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class Flag(Value):
    """A flag: its name without dashes, the kind of its value, its default, and what it means."""

    name: str
    kind: str  # switch, duration, size, text, list, or the choices with blanks between them
    default: Any
    meaning: str
    group: str
    value: str = ""  # how help calls its value
    shared: bool = False  # may stand in the workspace's configuration, which travels with a repository

    @property
    def key(self) -> str:
        """Return its name in configuration files."""
        return self.name.replace("-", "_")

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the values that it may have, if it is a choice."""
        return tuple(self.kind.split()) if " " in self.kind else ()


READING, RUNNING, SAFETY, GIT, OUTPUT = "Reading", "Running", "Safety", "Git and locks", "Output"

FLAGS = (
    Flag("workspace", "text", ".", "the directory that operations are contained in", READING, "DIR"),
    Flag("format", "auto csl cml json toml", "auto", "the notation of the document", READING, shared=True),
    Flag("start-delimiter", "text", "<---", "how CSL markers start", READING, "TEXT", shared=True),
    Flag("end-delimiter", "text", "--->", "how CSL markers end", READING, "TEXT", shared=True),
    Flag("dry-run", "switch", False, "show what would happen, with a diff; touch nothing", RUNNING),
    Flag("confirm", "switch", False, "show the plan and its diff, and ask before executing it", RUNNING),
    Flag("timeout", "duration", 30.0, "for each approved command", RUNNING, "TIME", shared=True),
    Flag("total-timeout", "duration", None, "for the whole batch", RUNNING, "TIME", shared=True),
    Flag("max-output", "size", 10 << 20, "output kept of each task", RUNNING, "SIZE", shared=True),
    Flag("final-newline", "switch", False, "written files end in a line break", RUNNING, shared=True),
    Flag("approve", "list", (), "approve this exact command for this run (repeatable)", SAFETY, "CMD"),
    Flag("approve-all", "switch", False, "run any command without asking, network included", SAFETY),
    Flag("allow-escape", "switch", False, "allow absolute paths and paths outside the workspace", SAFETY),
    Flag("shell", "never approved", "never", "let bash run approved commands that need a shell", SAFETY),
    Flag("sandbox", "auto off require", "auto", "confinement of approved commands", SAFETY),
    Flag("no-git", "switch", False, "make no commits", GIT),
    Flag("git-author", "text", "clada", "author of commits: Name, or Name <mail>", GIT, "NAME", shared=True),
    Flag("lock-file", "text", None, "hold this file's lock while executing", GIT, "FILE"),
    Flag("lock-timeout", "duration", 10.0, "how long to wait for a lock", GIT, "TIME"),
    Flag(
        "output-mode", "stream buffer silent", "stream", "print as it happens, at the end, or only a summary",
        OUTPUT, shared=True,
    ),
    Flag(
        "error-detail", "minimal full debug", "minimal", "one line; or the source and the near miss; or all",
        OUTPUT, shared=True,
    ),
    Flag("summary", "auto xml json none", "auto", "what follows the status lines", OUTPUT, shared=True),
    Flag("color", "auto always never", "auto", "colour; NO_COLOR is honoured", OUTPUT, shared=True),
)  # fmt: skip

BY_NAME = {flag.name: flag for flag in FLAGS}
SHORT_FORMS = {("error-detail", "min"): "minimal"}
# Settings that have no flag: only the user's own configuration file has them.
USER_LISTS = ("sandbox_write", "sandbox_read", "sandbox_env_hide")

# The commands, with what may follow them.
COMMANDS: dict[str, tuple[str, str]] = {
    "plan": ("[FILE]", "show what would happen, with a diff; the same as --dry-run"),
    "parse": ("[FILE]", "print the plan as JSON, and execute nothing"),
    "approvals": ("list|add|remove|block [CMD]", "manage the approved commands (add --network CMD)"),
    "history": ("", "list the recorded runs, newest first"),
    "undo": ("[RUN]", "restore what the last run changed, or that one, as a new commit"),
    "prompt": ("[csl|cml|json|toml]", "print instructions for an LLM to write that notation"),
    "doctor": ("", "show what this machine and workspace offer"),
    "completion": ("bash|zsh|fish", "print a shell's completion script"),
}


class UsageError(Exception):
    """The command line, or a configuration file, cannot be understood."""


class Invocation(Value):
    """What the command line asks for: a command, its arguments, and the flags that were given."""

    command: str | None
    arguments: tuple[str, ...]
    given: Mapping[str, Any]  # by key


def read(arguments: Sequence[str]) -> Invocation:
    """Read a command line."""
    given: dict[str, Any] = {}
    words: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            words.extend(reversed(waiting))
            break
        if word.startswith("-") and word != "-":
            _read_flag(word, waiting, given, is_command_ahead=bool(words) and words[0] == "approvals")
        else:
            words.append(word)
    command = words.pop(0) if words and words[0] in COMMANDS else None
    return Invocation(command, tuple(words), given)


def _read_flag(word: str, waiting: list[str], given: dict[str, Any], *, is_command_ahead: bool) -> None:
    if word in ("-h", "--help", "-V", "--version") or (word == "--network" and is_command_ahead):
        given[{"-h": "help", "-V": "version"}.get(word, word[2:])] = True
        return
    name, equals, value = word.removeprefix("--").partition("=")
    flag = BY_NAME.get(name) if word.startswith("--") else None
    if flag is None:
        raise UsageError(f"unknown flag {word.partition('=')[0]}{_nearest(name)}")
    if flag.kind == "switch":
        given[flag.key] = _switch(flag, value) if equals else True
        return
    if not equals:
        if not waiting:
            raise UsageError(f"--{name} needs a value")
        value = waiting.pop()
    read_value = convert(flag, value)
    given[flag.key] = (*given.get(flag.key, ()), read_value) if flag.kind == "list" else read_value


def _switch(flag: Flag, value: str) -> bool:
    if value not in ("true", "false"):
        raise UsageError(f"--{flag.name} takes no value (or true or false), not {value!r}")
    return value == "true"


def convert(flag: Flag, value: str) -> Any:
    """Return what a flag's value stands for."""
    if flag.choices:
        value = SHORT_FORMS.get((flag.name, value), value)
        if value not in flag.choices:
            raise UsageError(f"--{flag.name} must be one of {', '.join(flag.choices)}, not {value!r}")
        return value
    if flag.kind == "duration":
        return read_duration(value, f"--{flag.name}")
    if flag.kind == "size":
        return read_size(value, f"--{flag.name}")
    if flag.name.endswith("delimiter") and (not value or "\n" in value or "\r" in value):
        raise UsageError(f"--{flag.name} must not be empty or contain a line break")
    return value


DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}
MOST_DIGITS = 12


def read_duration(text: str, name: str) -> float:
    """Return the seconds of a duration such as 500ms, 30s, 5m or 1h; a bare number is seconds."""
    number = _number(text, DURATIONS)
    if number is None:
        raise UsageError(f"{name} must be a duration such as 500ms, 30s, 5m or 1h, not {text!r}")
    return number


def read_size(text: str, name: str) -> int:
    """Return the bytes that a size such as 10MB stands for; a bare number is bytes."""
    number = _number(text, SIZES)
    if number is None:
        raise UsageError(f"{name} must be a size such as 512B, 64KB, 10MB or 1GB, not {text!r}")
    return int(number)


def _number(text: str, units: Mapping[str, float]) -> float | None:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    whole, _, fraction = digits.partition(".")
    unit = units.get(text[len(digits) :]) if len(digits) < len(text) else 1
    plain = (whole + fraction).isdecimal() and digits.isascii() and not digits.endswith(".")
    if unit is None or not whole or not plain or len(digits) > MOST_DIGITS:
        return None
    return float(digits) * unit


def _nearest(name: str) -> str:
    """Return a hint at the flag that was probably meant."""
    from difflib import get_close_matches

    close = get_close_matches(name.lstrip("-"), [*BY_NAME, "help", "version"], n=1)
    return f": did you mean --{close[0]}?" if close else "; see clada --help"
