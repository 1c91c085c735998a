"""The ways in which programs read their arguments: words in, options and operands out, or why not."""

from __future__ import annotations

from clada.commands.judgements import NeedsApproval, Refused, unknown
from clada.commands.kinds import is_digits
from clada.commands.modes import read_mode
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from clada.commands.programs import Program

    Part: TypeAlias = "Given | NeedsApproval | Refused"


class Option(Value):
    """An option of the table, under all its names."""

    names: tuple[str, ...]
    form: str  # flag, value, attached, optional, next
    kind: str

    @property
    def key(self) -> str:
        """What the option is known by afterwards."""
        return self.names[0].lstrip("-")


class Given(Value):
    """An option (with its value) or an operand of a command, and the words that it is passed on as."""

    option: Option | None
    value: str | None
    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        """What a message calls it."""
        return " ".join(self.words) or self.value or ""


DASHES = Given(None, None, ("--",))
_FLAG = Option((), "flag", "")


def arguments(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Yield the options and operands of a command in order; a judgement in their place ends them."""
    return _SYNTAX[row.syntax](name, row, words)


def _table(row: Program) -> dict[str, Option]:
    """Return the options of a row by each of their names."""
    entries = [_option(entry) for entry in row.options.replace("\n", ";").split(";") if entry.strip()]
    return {name: option for option in entries for name in option.names}


def _option(entry: str) -> Option:
    names = entry.split()
    spec = names.pop() if len(names) > 1 and not names[-1].startswith("-") else ""
    form = {"": "flag", "=": "attached", "[": "optional", "(": "next"}.get(spec[:1], "value")
    return Option(tuple(names), form, spec.strip("=[]()"))


def _getopt(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as getopt_long does: bundles, options anywhere before `--`, then operands."""
    table = _table(row)
    rest = iter(words)
    for at, word in enumerate(rest):
        if word == "--":
            yield DASHES
            yield from _all_operands(rest)
        elif _is_number_for(table, word, first=at == 0):
            yield Given(table[word[0] + "NUM"], None, ("-n", word.removeprefix("-")))
        elif word.startswith("--"):
            yield _long(name, table, word, rest)
        elif word.startswith("-") and word != "-":
            yield from _bundle(name, table, word, rest)
        else:
            yield Given(None, word, (word,))


def _all_operands(words: Iterator[str]) -> Iterator[Given]:
    return (Given(None, word, (word,)) for word in words)


def _incomplete(name: str, word: str) -> Refused:
    return Refused("command_not_allowed", f"{name}: `{word}` needs a value after it")


def _is_number_for(table: Mapping[str, Option], word: str, *, first: bool) -> bool:
    """Whether this is `-NUM`, or `+NUM` in front, where the table has it."""
    return word[:1] + "NUM" in table and is_digits(word[1:]) and (first or word[0] == "-")


def _long(name: str, table: Mapping[str, Option], word: str, rest: Iterator[str]) -> Part:
    long, equals, value = word.partition("=")
    option = table.get(long)
    if option is None or (equals and option.form == "flag") or (not equals and option.form == "attached"):
        return unknown(name, word)
    if equals:
        return Given(option, value, (word,))
    return _with_next(name, option, word, rest)


def _with_next(name: str, option: Option, word: str, rest: Iterator[str]) -> Given | Refused:
    """Return an option with the next word as its value, if it takes one."""
    following = next(rest, None) if option.form in ("value", "next") else None
    if following is not None:
        return Given(option, following, (word, following))
    if option.form == "value":
        return _incomplete(name, word)
    return Given(option, None, (word,))


def _bundle(name: str, table: Mapping[str, Option], word: str, rest: Iterator[str]) -> Iterator[Part]:
    """Read `-abc` letter by letter; a letter that takes a value takes what is left of the word."""
    for at in range(1, len(word)):
        option = table.get("-" + word[at])
        if option is None:
            yield unknown(name, word if at == 1 else f"-{word[at]}` in `{word}")
            return
        left = word[at + 1 :]
        passed = (word,) if at == 1 else ()
        if left and option.form != "flag":
            yield Given(option, left, passed)
            return
        if left:
            yield Given(option, None, passed)
        else:
            yield _last_of_bundle(_with_next(name, option, word, rest), passed)


def _last_of_bundle(part: Given | Refused, passed: tuple[str, ...]) -> Given | Refused:
    """Return the last letter of a bundle without the bundle's own word where an earlier letter carries it."""
    return part if isinstance(part, Refused) else part.replace(words=passed + part.words[1:])


def _git(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as git does.

    Its versions differ in which values may stand apart, so none that does may look like an option.
    """
    for part in _getopt(name, row, words):
        if (
            isinstance(part, Given)
            and part.option
            and part.value in part.words
            and part.value.startswith("-")
        ):
            yield unknown(name, part.shown)
        else:
            yield part


def _find(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as find does: paths, then an expression of whole words."""
    table = _table(row)
    leading = 0
    while words[leading : leading + 1] == ["-P"]:
        yield Given(table["-P"], None, ("-P",))
        leading += 1
    rest = iter(words[leading:])
    expression = False
    for word in rest:
        expression = expression or (word.startswith("-") and word != "-") or word in ("(", "!")
        if not expression:
            yield Given(None, word, (word,))
        elif word in table and word != "-P":
            yield _with_next(name, table[word], word, rest)
        else:
            yield unknown(name, word)


def _tree(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as tree does: a letter's value is always the next word; `-L2` is for newer ones only."""
    table = _table(row)
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield DASHES
            yield from _all_operands(rest)
        elif word.startswith("--"):
            yield _long(name, table, word, rest)
        elif word.startswith("-L") and is_digits(word[2:]):
            yield Given(table["-L"], word[2:], ("-L", word[2:]))
        elif word.startswith("-") and word != "-":
            if any(table.get(f"-{letter}", _FLAG).form != "flag" for letter in word[1:-1]):
                yield unknown(name, word)
            yield from _bundle(name, table, word, rest)
        else:
            yield Given(None, word, (word,))


def _xxd(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as xxd does, but by whole names: options, then operands, whatever they look like."""
    table = _table(row)
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield DASHES
        elif word in table:
            yield _with_next(name, table[word], word, rest)
            continue
        elif table.get(word[:2], _FLAG).form == "value" and word[2:3].isdigit():
            yield Given(table[word[:2]], word[2:], (word,))
            continue
        elif word.startswith("-"):
            yield unknown(name, word)
        else:
            yield Given(None, word, (word,))
        yield from _all_operands(rest)


def _echo(name: str, row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as bash's echo does: options only in front, anything else is text."""
    table = _table(row)
    rest = iter(words)
    for word in rest:
        if len(word) > 1 and word[0] == "-" and set(word[1:]) <= set("neE"):
            yield from _bundle(name, table, word, rest)
        else:
            yield Given(None, word, (word,))
            yield from _all_operands(rest)


def _chmod(name: str, _row: Program, words: list[str]) -> Iterator[Part]:
    """Read arguments as chmod does, where `-x` is a mode: once, in front, or after `--`."""
    rest = iter(words)
    for at, word in enumerate(rest):
        if word == "--":
            yield from _all_operands(rest)
        elif word.startswith("-") and word != "-" and (at > 0 or read_mode(word) is None):
            yield unknown(name, word)
        else:
            yield Given(None, word, (word,))


def _cd(_name: str, _row: Program, words: list[str]) -> Iterator[Part]:
    """Read the one directory that cd takes. No program could do its work, so there is nothing to approve."""
    directories = words[1:] if words[:1] == ["--"] else words
    if len(directories) != 1 or directories[0] in ("", "-") or (words is directories and words[0][0] == "-"):
        yield Refused("command_not_allowed", "cd takes one directory, and no options")
    else:
        yield Given(None, directories[0], tuple(directories))


def _any(_name: str, _row: Program, words: list[str]) -> Iterator[Part]:
    """Take whatever is there."""
    return _all_operands(iter(words))


_SYNTAX: dict[str, Callable[[str, Program, list[str]], Iterator[Part]]] = {
    "getopt": _getopt,
    "git": _git,
    "find": _find,
    "tree": _tree,
    "xxd": _xxd,
    "echo": _echo,
    "chmod": _chmod,
    "cd": _cd,
    "any": _any,
}
