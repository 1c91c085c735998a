"""The command line as a table: its commands and flags, and how a line of arguments is read by it.

Help, completion, the manual page and the configuration files are made from the same table.
"""

from __future__ import annotations

from clada.settings import AUTHOR, CHOICES, FOREVER, Settings, read_author
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


def _setting(  # noqa: PLR0913 (they are the columns of a row)
    name: str, kind: str, meaning: str, group: str, value: str = "", *, shared: bool = False
) -> Flag:
    """Return the flag of a setting, with the default and the choices that this has."""
    key = name.replace("-", "_")
    words = " ".join(CHOICES.get(key, (kind,)))
    return Flag(name, words, getattr(Settings(), key), meaning, group, value, shared)


READING, RUNNING, SAFETY, GIT, OUTPUT = "Reading", "Running", "Safety", "Git and locks", "Output"

FLAGS = (
    _setting("workspace", "text", "the directory that operations are contained in", READING, "DIR"),
    Flag("format", "auto csl cml json toml", "auto", "the notation of the document", READING, shared=True),
    Flag("start-delimiter", "text", "<---", "how CSL markers start", READING, "TEXT", shared=True),
    Flag("end-delimiter", "text", "--->", "how CSL markers end", READING, "TEXT", shared=True),
    _setting("dry-run", "switch", "show what would happen, with a diff; touch nothing", RUNNING),
    Flag("confirm", "switch", False, "show the plan and its diff, and ask before executing it", RUNNING),
    _setting("timeout", "duration", "time limit of each approved command", RUNNING, "TIME", shared=True),
    _setting("total-timeout", "duration", "time limit of the whole batch", RUNNING, "TIME", shared=True),
    _setting("max-output", "size", "output kept of each task", RUNNING, "SIZE", shared=True),
    _setting("final-newline", "switch", "written files end in a line break", RUNNING, shared=True),
    _setting("approve", "list", "approve this exact command for this run (repeatable)", SAFETY, "CMD"),
    _setting("approve-all", "switch", "run any command without asking, network included", SAFETY),
    _setting("allow-escape", "switch", "allow absolute paths and paths outside the workspace", SAFETY),
    _setting("shell", "choice", "let bash run approved commands that need a shell", SAFETY),
    _setting("sandbox", "choice", "confinement of commands", SAFETY),
    Flag("no-git", "switch", not Settings().git, "make no commits", GIT),
    _setting("git-author", "text", "author of commits: Name, or Name <mail>", GIT, "NAME", shared=True),
    _setting("lock-file", "text", "hold this file's lock while executing", GIT, "FILE"),
    _setting("lock-timeout", "duration", "how long to wait for a lock", GIT, "TIME"),
    Flag(
        "output-mode", "stream buffer silent", "stream", "print as it happens, at the end, or only a summary",
        OUTPUT, shared=True,
    ),
    Flag(
        "error-detail", "minimal full debug", "minimal",
        "one line; or the task's source, the near miss and the output too; or all that is known",
        OUTPUT, shared=True,
    ),
    Flag("summary", "auto xml json none", "auto", "what follows the status lines", OUTPUT, shared=True),
    Flag("color", "auto always never", "auto", "colour; NO_COLOR is honoured", OUTPUT, shared=True),
)  # fmt: skip

NETWORK = Flag("network", "switch", False, "let the command use the network too", SAFETY)

BY_NAME = {flag.name: flag for flag in (*FLAGS, NETWORK)}
SHORT_FORMS = {("error-detail", "min"): "minimal"}
# Settings that have no flag: only the user's own configuration file has them.
USER_LISTS = ("sandbox_write", "sandbox_read", "sandbox_env_hide")
DEFAULTS = {**{flag.key: flag.default for flag in FLAGS}, **dict.fromkeys(USER_LISTS, ())}  # by key


class Command(Value):
    """A command: what may follow it, what it does, the flags that it takes, and where it is."""

    arguments: str
    meaning: str
    flags: tuple[str, ...]
    words: tuple[str, ...] = ()  # that its first argument may be
    needed: bool = False  # whether it has to have one
    examples: tuple[tuple[str, str], ...] = ()
    configured: bool = True  # whether configuration files are read for it
    inside: bool = True  # whether it works in the workspace, which must be one then

    @property
    def takes_file(self) -> bool:
        """Return whether its argument is a document."""
        return self.arguments == "[FILE]"

    @property
    def takes_command(self) -> bool:
        """Return whether its last argument is a command, which people forget to quote."""
        return self.arguments.endswith("[CMD]")


_ALL = tuple(flag.name for flag in FLAGS)
MAIN = Command("[FILE]", "carry out what a document asks for", _ALL)
COMMANDS: dict[str, Command] = {
    "plan": Command(
        "[FILE]",
        "show what would happen, with a diff; the same as --dry-run",
        tuple(name for name in _ALL if name != "confirm"),
        examples=(
            ("clada plan answer.md", "look at what an answer would change"),
            ("pbpaste | clada plan", "the same, from the clipboard"),
        ),
    ),
    "parse": Command(
        "[FILE]",
        "print the plan as JSON, and execute nothing",
        ("workspace", "format", "start-delimiter", "end-delimiter"),
        examples=(("clada parse answer.md | jq .problems", "what is wrong with the answer"),),
        inside=False,
    ),
    "approvals": Command(
        "list|add|remove|block [CMD]",
        "manage the approved commands (add --network CMD)",
        ("workspace", "network"),
        words=("list", "add", "remove", "block"),
        examples=(
            ('clada approvals add "npm test"', "let this exact command run"),
            ('clada approvals add --network "npm install"', "the same, with the network"),
            ('clada approvals block "npm publish"', "never run this one"),
            ('clada approvals remove "npm test"', "forget it: ask again"),
        ),
    ),
    "history": Command("", "list the recorded runs, newest first", ("workspace",)),
    "undo": Command(
        "[RUN]",
        "restore what the last run changed, or that one, as a new commit",
        ("workspace", "git-author", "lock-timeout"),
        examples=(
            ("clada undo", "take back the last run"),
            ("clada undo 12", "take back run 12 of clada history"),
        ),
    ),
    "prompt": Command(
        "[csl|cml|json|toml]",
        "print instructions for an LLM to write that notation",
        ("workspace", "start-delimiter", "end-delimiter"),
        words=("csl", "cml", "json", "toml"),
        examples=(("clada prompt csl >> system-prompt.txt", "tell an LLM how to answer"),),
        inside=False,
    ),
    "doctor": Command(
        "", "show what this machine and workspace offer", ("workspace",), configured=False, inside=False
    ),
    "completion": Command(
        "bash|zsh|fish",
        "print a shell's completion script",
        (),
        words=("bash", "zsh", "fish"),
        needed=True,
        examples=(
            ('eval "$(clada completion bash)"', "in ~/.bashrc"),
            ('eval "$(clada completion zsh)"', "in ~/.zshrc, after compinit"),
            ("clada completion fish | source", "in ~/.config/fish/config.fish"),
        ),
        configured=False,
        inside=False,
    ),
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
            _read_flag(word, waiting, given)
        else:
            words.append(word)
    command = words.pop(0) if words and words[0] in COMMANDS else None
    if not given.get("help"):
        _check_flags(command, given)
        if not given.get("version"):
            _check_arguments(command, words)
    return Invocation(command, tuple(words), given)


def described(command: str | None) -> Command:
    """Return the row of a command; of the main job where there is none."""
    return MAIN if command is None else COMMANDS[command]


def _check_flags(command: str | None, given: Mapping[str, Any]) -> None:
    """Refuse a flag that the command would ignore."""
    taken = described(command).flags
    for key in given:
        name = key.replace("_", "-")
        if name != "version" and name not in taken:
            whose = _called(command)
            raise UsageError(f"--{name} is not a flag of `{whose}`; see {whose} --help")


def _check_arguments(command: str | None, words: Sequence[str]) -> None:
    """Refuse arguments that the command's row does not have."""
    row, whose = described(command), _called(command)
    if words and not row.arguments:
        raise UsageError(f"{whose} takes no argument, and got {words[0]!r}")
    if not words and row.needed:
        raise UsageError(f"{whose} takes one of {', '.join(row.words)}")
    if words and row.words and words[0] not in row.words:
        raise UsageError(f"{whose} takes one of {', '.join(row.words)}, not {words[0]!r}")
    if len(words) > 1 and not row.takes_command:
        raise UsageError(f"{whose} takes one argument: {words[1]!r} is too many; see {whose} --help")


def _called(command: str | None) -> str:
    return f"clada {command}" if command else "clada"


PLAIN = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}


def _read_flag(word: str, waiting: list[str], given: dict[str, Any]) -> None:
    if word in PLAIN:
        given[PLAIN[word]] = True
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
            raise UsageError(f"--{name} needs a value; see clada --help")
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
        return None if flag.default is None and value == "none" else read_duration(value, f"--{flag.name}")
    if flag.kind == "size":
        return read_size(value, f"--{flag.name}")
    if not value:
        raise UsageError(f"--{flag.name} must not be empty")
    if flag.name.endswith("delimiter") and not value.isprintable():
        raise UsageError(f"--{flag.name} must not contain a line break or anything else unprintable")
    if flag.name == "git-author" and read_author(value) is None:
        raise UsageError(f"--{flag.name} must be {AUTHOR}, not {value!r}")
    return value


DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}
MOST_DIGITS = 12


def read_duration(text: str, name: str) -> float:
    """Return the seconds of a duration such as 500ms, 30s, 5m or 1h; a bare number is seconds."""
    number = _number(text, DURATIONS)
    if number is None or number >= FOREVER:
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
    return meant(name.lstrip("-"), [*BY_NAME, "help", "version"], "--{}") or "; see clada --help"


def meant(word: str, known: Sequence[str], form: str = "{}") -> str:
    """Return a hint at what was probably meant, in this form, if anything is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    return f"; did you mean {form.format(close[0])}?" if close else ""
