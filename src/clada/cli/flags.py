"""The command line as a table: its commands and flags, and how a line of arguments is read by it.

Help, completion and the manual page are made from the same table.
"""

from __future__ import annotations

from clada.errors import UsageError
from clada.notations.registry import NOTATIONS
from clada.settings import SAFETY, SETTINGS, Setting, meant, read_text
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# The settings that have a flag, by their names; flags are written with dashes.
FLAGS = {setting.name: setting for setting in SETTINGS if setting.group}
NETWORK = Setting("network", "switch", False, "let the command use the network too", SAFETY)
KNOWN = {**FLAGS, NETWORK.name: NETWORK}
BY_FLAG = {f"--{setting.dashed}": setting for setting in KNOWN.values()}
PLAIN = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}


class Command(Value):
    """A command: what may follow it, what it does, the flags that it takes, and where it is."""

    arguments: str
    meaning: str
    flags: tuple[str, ...]
    words: tuple[str, ...] = ()  # that its first argument may be
    needed: bool = False  # whether it has to have one
    examples: tuple[tuple[str, str], ...] = ()
    configured: bool = True  # whether configuration files are read for it
    inside: bool = True  # whether the workspace is checked first; a run checks it where it opens it

    @property
    def takes_file(self) -> bool:
        """Return whether its argument is a document."""
        return self.arguments == "[FILE]"

    @property
    def takes_command(self) -> bool:
        """Return whether its last argument is a command, which people forget to quote."""
        return self.arguments.endswith("[CMD]")


_ALL = tuple(FLAGS)
MAIN = Command("[FILE]", "carry out what a document asks for", _ALL, inside=False)
COMMANDS: dict[str, Command] = {
    "plan": Command(
        "[FILE]",
        "show what would happen, with a diff; the same as --dry-run",
        tuple(name for name in _ALL if name != "confirm"),
        examples=(
            ("clada plan answer.md", "look at what an answer would change"),
            ("pbpaste | clada plan", "the same, from the clipboard"),
        ),
        inside=False,
    ),
    "parse": Command(
        "[FILE]",
        "print the plan as JSON, and execute nothing",
        ("workspace", "format", "start_delimiter", "end_delimiter"),
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
        ("workspace", "git_author", "lock_timeout"),
        examples=(
            ("clada undo", "take back the last run"),
            ("clada undo 12", "take back run 12 of clada history"),
        ),
    ),
    "prompt": Command(
        f"[{'|'.join(NOTATIONS)}]",
        "print instructions for an LLM to write that notation",
        ("workspace", "start_delimiter", "end_delimiter"),
        words=tuple(NOTATIONS),
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


class Invocation(Value):
    """What the command line asks for: a command, its arguments, and the flags that were given."""

    command: str | None
    row: Command
    arguments: tuple[str, ...]
    given: Mapping[str, Any]  # by the names of settings


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
        if word in PLAIN:
            given[PLAIN[word]] = True
        elif word.startswith("-") and word != "-":
            _read_flag(word, waiting, given)
        else:
            words.append(word)
    command = words.pop(0) if words and words[0] in COMMANDS else None
    row = COMMANDS[command] if command else MAIN
    if not given.get("help"):
        _check(row, f"clada {command}" if command else "clada", given, words)
    return Invocation(command, row, tuple(words), given)


def _read_flag(word: str, waiting: list[str], given: dict[str, Any]) -> None:
    flag, equals, value = word.partition("=")
    setting = BY_FLAG.get(flag)
    if setting is None:
        known = [*(each.dashed for each in KNOWN.values()), "help", "version"]
        near = meant(flag.lstrip("-"), known, "--{}") or "; see clada --help"
        raise UsageError(f"unknown flag {flag}{near}")
    if setting.kind == "switch":
        if equals and value not in ("true", "false"):
            raise UsageError(f"{flag} takes no value (or true or false), not {value!r}")
        given[setting.name] = value != "false"
        return
    if not equals:
        if not waiting:
            raise UsageError(f"{flag} needs a value; see clada --help")
        value = waiting.pop()
    try:
        read_value = read_text(setting, value)
    except UsageError as error:
        raise UsageError(f"{flag} {error}") from None
    values = (*given.get(setting.name, ()), read_value) if setting.kind == "list" else read_value
    given[setting.name] = values


def _check(row: Command, whose: str, given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Refuse flags and arguments that the command's row does not have."""
    for name in given:
        if name != "version" and name not in row.flags:
            raise UsageError(f"--{KNOWN[name].dashed} is not a flag of `{whose}`; see {whose} --help")
    if given.get("version"):
        return
    if words and not row.arguments:
        raise UsageError(f"{whose} takes no argument, and got {words[0]!r}")
    if not words and row.needed:
        raise UsageError(f"{whose} takes one of {', '.join(row.words)}")
    if words and row.words and words[0] not in row.words:
        raise UsageError(f"{whose} takes one of {', '.join(row.words)}, not {words[0]!r}")
    if len(words) > 1 and not row.takes_command:
        raise UsageError(f"{whose} takes one argument: {words[1]!r} is too many; see {whose} --help")
