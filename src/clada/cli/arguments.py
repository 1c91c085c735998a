"""Reads a line of arguments by the tables of commands and flags; suggests what was probably meant."""

from __future__ import annotations

import os

from clada.cli.flags import BY_FLAG, BY_LETTER, COMMANDS, KNOWN, MAIN
from clada.errors import UsageError
from clada.setting_values import close_to, read_text
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clada.cli.flags import Command
    from clada.settings import Setting

SWITCH_WORDS = {"true": True, "false": False, "always": True, "never": False}
EXAMPLES = {"duration": "30s", "size": "10MB", "number": "100"}  # values, by kind
# Flags of other programs: what they are called here, and what to write.
FLAGS_BY_MEANING = {
    word: (called, written)
    for words, called, written in (
        ("quiet silent", "--output-mode=silent (-q)", "-q"),
        ("verbose", "--error-detail=full (-v)", "-v"),
        ("debug", "--error-detail=debug", "--error-detail=debug"),
        ("force no-confirm non-interactive", "--yes (-y)", "-y"),
        ("interactive", "--confirm", "--confirm"),
        ("check diff preview simulate", "--dry-run (-n)", "-n"),
        ("directory cwd dir chdir", "--workspace (-C)", "--workspace"),
        ("output", "--json (-o json)", "-o"),
        ("author", "--git-author", "--git-author"),
        ("no-color", "--color=never", "--color=never"),
        ("no-commit", "--record=snapshots", "--record=snapshots"),
        ("no-sandbox", "--sandbox=off", "--sandbox=off"),
        ("no-shell", "--shell=never", "--shell=never"),
        ("allow-all", "--approve-all", "--approve-all"),
        ("transaction", "--atomic", "--atomic"),
        ("clipboard", "--copy", "--copy"),
    )
    for word in words.split()
}
# Commands of other programs, and what to write for them; {} is the first argument.
COMMANDS_BY_MEANING = {
    word: (purpose, written)
    for words, purpose, written in (
        ("apply run exec execute patch edit", "to apply a file", "{}"),
        ("diff check preview dry-run", "to see what would change", "plan {}"),
        ("show", "to see a run", "history show {}"),
        ("log status", "to list the runs", "history"),
        ("revert rollback reset", "to revert a run", "undo {}"),
        ("redo", "to revert the undo", "undo {}"),
        ("continue", "to continue a run", "resume {}"),
        ("squash", "to combine the commits of a run", "commit {}"),
        ("approve allow", "to approve a command", "approvals add {}"),
        ("block", "to block a command", "approvals block {}"),
        ("settings", "to list the settings", "config"),
        ("set", "to change a setting", "config set {}"),
        ("version", "to see the version", "--version"),
        ("clipboard", "to apply the answer on the clipboard", "paste"),
        ("serve server", "to serve agents", "mcp"),
        ("instructions", "to print instructions for the LLM", "prompt"),
        ("web ui", "to choose in the browser", "review {}"),
    )
    for word in words.split()
}


class Invocation(Value):
    """A command line as it was read: the command, its arguments, and the flags that were given."""

    command: str | None
    row: Command
    arguments: tuple[str, ...]
    given: Mapping[str, Any]  # by the names of settings

    @property
    def name(self) -> str:
        """The command as it is typed."""
        return f"clada {self.command}" if self.command else "clada"


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
            row = COMMANDS.get(words[0], MAIN) if words else MAIN
            _read_flag(_Flag(arguments, word, row), waiting, given)
        else:
            words.append(word)
    command = words.pop(0) if words and words[0] in COMMANDS else None
    row = COMMANDS[command] if command else MAIN
    _replace_aliases(given, row)
    found = Invocation(command, row, tuple(words), given)
    if not given.get("help"):
        if command is None and words:
            _refuse_unknown_command(words)
        _check(found)
    return found


class _Flag(Value):
    """A flag as it was typed, and where."""

    line: Sequence[str]
    word: str
    row: Command

    def corrected(self, word: str) -> str:
        """Return the command line with another word in place of this one."""
        return as_typed([word if each == self.word else each for each in self.line])


def as_typed(words: Sequence[str]) -> str:
    """Return a command line as one types it; flags need no quotes."""
    from shlex import quote  # late: only mistakes need it

    quoted = (word if word.startswith("-") and " " not in word else quote(word) for word in words)
    return " ".join(["clada", *quoted])


def _read_flag(flag: _Flag, waiting: list[str], given: dict[str, Any]) -> None:
    if not flag.word.startswith("--"):
        _read_letters(flag, waiting, given)
        return
    name, equals, value = flag.word.partition("=")
    own = {f"--{each.dashed}": each for each in flag.row.own}
    setting = own.get(name) or BY_FLAG.get(name)
    if setting is None:
        raise _unknown_flag(flag, name)
    if setting.kind == "switch":
        if equals and value not in SWITCH_WORDS:
            message = f"{name} takes no value (or {', '.join(SWITCH_WORDS)}), not {value!r}"
            raise UsageError(message, flag.corrected(name))
        given[setting.name] = SWITCH_WORDS[value] if equals else True
        return
    _read_value(flag, setting, value if equals else None, waiting, given)


def _read_letters(flag: _Flag, waiting: list[str], given: dict[str, Any]) -> None:
    """Read -n, -nv, -C DIR or -CDIR."""
    letters = flag.word[1:]
    while letters:
        name, letters = f"-{letters[0]}", letters[1:]
        setting = BY_LETTER.get(name)
        if setting is None:
            if len(flag.word) > 2 and f"-{flag.word}" in BY_FLAG:  # noqa: PLR2004 (-timeout for --timeout)
                raise UsageError(
                    f"unknown flag {flag.word}; did you mean -{flag.word}?", flag.corrected(f"-{flag.word}")
                )
            raise _unknown_flag(flag, name)
        if setting.kind == "switch":
            given[setting.name] = True
        else:
            _read_value(flag, setting, letters.removeprefix("=") or None, waiting, given)
            return


def _read_value(
    flag: _Flag, setting: Setting, value: str | None, waiting: list[str], given: dict[str, Any]
) -> None:
    name = flag.word.partition("=")[0] if flag.word.startswith("--") else f"-{setting.short}"
    is_apart = value is None
    if value is None:
        if not waiting:
            example = setting.choices[0] if setting.choices else EXAMPLES.get(setting.kind, setting.value)
            raise UsageError(f"{name} needs a value", f"{as_typed(flag.line)} {example}")
        value = waiting.pop()
    try:
        read_value = read_text(setting, value)
    except UsageError as error:
        is_value = is_apart and not os.path.lexists(value)  # a file is the document: the value was left out
        wrong, right = (value, error.remedy) if is_value else (flag.word, f"{name}={error.remedy}")
        fixed = as_typed([right if each == wrong else each for each in flag.line]) if error.remedy else ""
        raise UsageError(f"{name} {error}", fixed) from None
    values = (*given.get(setting.name, ()), read_value) if setting.kind == "list" else read_value
    given[setting.name] = values


def _replace_aliases(given: dict[str, Any], row: Command) -> None:
    """Replace -q, -v, -o and --no-git by the settings that they stand for."""
    if given.pop("quiet", False):
        given.setdefault("output_mode", "silent")
        given.setdefault("summary", "none")
    if given.pop("verbose", False):
        if "long" in row.flags:
            given["long"] = True
        else:
            given.setdefault("error_detail", "full")
    if output := given.pop("output", None):
        given["json"] = output == "json"
    no_git = given.pop("no_git", None)
    if no_git is not None:
        given.setdefault("record", "none" if no_git else "auto")


def _unknown_flag(flag: _Flag, name: str) -> UsageError:
    bare = name.lstrip("-")
    known = [each[2:] for each in BY_FLAG]
    near = close_to(bare, [*known, *FLAGS_BY_MEANING]) if name.startswith("--") else None
    if near is None:
        return UsageError(f"unknown flag {name}", "clada --help")
    called, written = FLAGS_BY_MEANING.get(near, (f"--{near}", f"--{near}"))
    setting = BY_FLAG.get(written) or BY_LETTER.get(written)
    takes_value = near in known or (setting is not None and setting.kind != "switch")
    value = flag.word.removeprefix(name) if takes_value else ""
    return UsageError(f"unknown flag {name}; did you mean {called}?", flag.corrected(written + value))


def _refuse_unknown_command(words: Sequence[str]) -> None:
    """Refuse a first word that is neither a command nor a file."""
    from shlex import join, quote

    first, *rest = words
    if os.path.lexists(first):
        return
    what = f"unknown command {first!r}"
    if first in COMMANDS_BY_MEANING:
        purpose, written = COMMANDS_BY_MEANING[first]
        argument = join(rest) or ("FILE" if written in ("{}", "plan {}") else "")
        raise UsageError(f"{what}; {purpose}:", f"clada {written.format(argument)}".rstrip())
    near = close_to(first, list(COMMANDS))
    if near:
        raise UsageError(f"{what}; did you mean {near}?", as_typed([near, *rest]))
    if rest:
        raise UsageError(f"{what}; to apply a file, name it alone:", f"clada {quote(words[-1])}")


def _check(found: Invocation) -> None:
    """Refuse flags and arguments that the command does not have."""
    row, words, help_line = found.row, found.arguments, f"{found.name} --help"
    for name in found.given:
        if name != "version" and name not in row.flags:
            others = [each for each, other in COMMANDS.items() if name in other.flags]
            but = f", but of clada {others[0]}" if others and name not in MAIN.flags else ""
            raise UsageError(
                f"--{KNOWN[name].dashed} is not a flag of {found.name}{but}",
                f"clada {others[0]} --help" if but else help_line,
            )
    if found.given.get("version"):
        return
    if words and not row.arguments:
        raise UsageError(f"{found.name} takes no argument, and got {words[0]!r}", found.name)
    one_of = f"{found.name} takes one of {', '.join(row.words)}"
    if not words and row.needed:
        raise UsageError(one_of, f"{found.name} {row.words[0]}")
    if words and row.words and words[0] not in row.words:
        near = close_to(words[0], row.words)
        told = f"{one_of}, not {words[0]!r}"
        if near:
            raise UsageError(
                f"{told}; did you mean {near}?", as_typed([*found.name.split()[1:], near, *words[1:]])
            )
        raise UsageError(told, help_line)
    if len(words) > row.most_words and not row.takes_command:
        most = words[row.most_words]
        raise UsageError(f"{found.name} takes one argument: {most!r} is too many", help_line)
