"""Split a command's words into options and operands, as its program reads them."""

from __future__ import annotations

from clada.commands.judgements import NeedsApproval, Refused, unknown
from clada.commands.kinds import is_digits, is_mode
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from clada.commands.programs import ProgramRule

    Part: TypeAlias = "Argument | NeedsApproval | Refused"


class Option(Value):
    """An option of the table, with all its names."""

    names: tuple[str, ...]
    form: str  # how it takes a value: flag (not at all), value, attached, optional, next
    kind: str  # of its value: see kinds.py

    @property
    def key(self) -> str:
        """Its name in built-in commands."""
        return self.names[0].lstrip("-")


class Argument(Value):
    """An option with its value, or an operand; and the words to pass on."""

    option: Option | None
    value: str | None
    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The argument in a message."""
        return " ".join(self.words) or self.value or ""


DASHES = Argument(None, None, ("--",))
_FLAG = Option((), "flag", "")


def arguments(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Yield the options and operands of a command in order, up to the first that is not in its row."""
    return _SYNTAX[row.syntax](name, row, words)


def _table(row: ProgramRule) -> dict[str, Option]:
    """Return the options of a row by each of their names."""
    table = {}
    for entry in row.options.replace("\n", ";").split(";"):
        names = entry.split()
        value = names.pop() if len(names) > 1 and not names[-1].startswith("-") else ""
        form = {"": "flag", "=": "attached", "[": "optional", "(": "next"}.get(value[:1], "value")
        option = Option(tuple(names), form, value.strip("=[]()"))
        table.update(dict.fromkeys(names, option))
    return table


def _getopt(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as getopt_long does: bundles, options anywhere before `--`, then operands."""
    table = _table(row)
    rest = iter(words)
    for at, word in enumerate(rest):
        if word == "--":
            yield DASHES
            yield from _all_operands(rest)
        elif word[:1] + "NUM" in table and is_digits(word[1:]) and (word[0] == "-" or at == 0):
            yield Argument(table[word[0] + "NUM"], None, ("-n", word.removeprefix("-")))
        elif word.startswith("--"):
            yield _long(name, table, word, rest)
        elif word.startswith("-") and word != "-":
            yield from _bundle(name, table, word, rest)
        else:
            yield Argument(None, word, (word,))


def _all_operands(words: Iterator[str]) -> Iterator[Argument]:
    """Treat all remaining words as operands."""
    return (Argument(None, word, (word,)) for word in words)


def _long(name: str, table: Mapping[str, Option], word: str, rest: Iterator[str]) -> Part:
    """Read `--name`, `--name=value` or `--name value`; the next word is taken from `rest`."""
    long, equals, value = word.partition("=")
    option = table.get(long)
    if option is None or (equals and option.form == "flag") or (not equals and option.form == "attached"):
        return unknown(name, word)
    if equals:
        return Argument(option, value, (word,))
    return _with_next(name, option, word, rest)


def _with_next(name: str, option: Option, word: str, rest: Iterator[str]) -> Argument | Refused:
    """Return an option with the next word as its value, if it takes one."""
    following = next(rest, None) if option.form in ("value", "next") else None
    if following is not None:
        return Argument(option, following, (word, following))
    if option.form == "value":
        return Refused("command_not_allowed", f"{name}: `{word}` needs a value after it")
    return Argument(option, None, (word,))


def _bundle(name: str, table: Mapping[str, Option], word: str, rest: Iterator[str]) -> Iterator[Part]:
    """Read `-abc` letter by letter; a letter that takes a value takes the rest of the word."""
    for at in range(1, len(word)):
        option = table.get("-" + word[at])
        if option is None:
            yield unknown(name, word if at == 1 else f"-{word[at]}` in `{word}")
            return
        left = word[at + 1 :]
        passed = (word,) if at == 1 else ()  # the bundle is passed on once, with its first letter
        if left and option.form != "flag":
            yield Argument(option, left, passed)
            return
        if left:
            yield Argument(option, None, passed)
            continue
        last = _with_next(name, option, word, rest)
        yield last if isinstance(last, Refused) else last.replace(words=passed + last.words[1:])


def _git(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as git does.

    Its versions differ in which values may stand apart, so none that does may look like an option.
    """
    for part in _getopt(name, row, words):
        if (
            isinstance(part, Argument)
            and part.option
            and part.value in part.words
            and part.value.startswith("-")
        ):
            yield unknown(name, part.shown)
        else:
            yield part


def _find(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as find does: paths, then an expression of whole words."""
    table = _table(row)
    leading = 0
    while words[leading : leading + 1] == ["-P"]:
        yield Argument(table["-P"], None, ("-P",))
        leading += 1
    rest = iter(words[leading:])
    expression = False
    for word in rest:
        expression = expression or (word.startswith("-") and word != "-") or word in ("(", "!")
        if not expression:
            yield Argument(None, word, (word,))
        elif word in table and word != "-P":
            yield _with_next(name, table[word], word, rest)
        else:
            yield unknown(name, word)


def _tree(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as tree does: a letter's value is the next word; only newer versions know `-L2`."""
    table = _table(row)
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield DASHES
            yield from _all_operands(rest)
        elif word.startswith("--"):
            yield _long(name, table, word, rest)
        elif word.startswith("-L") and is_digits(word[2:]):
            yield Argument(table["-L"], word[2:], ("-L", word[2:]))
        elif word.startswith("-") and word != "-":
            if any(table.get(f"-{letter}", _FLAG).form != "flag" for letter in word[1:-1]):
                yield unknown(name, word)
            yield from _bundle(name, table, word, rest)
        else:
            yield Argument(None, word, (word,))


def _xxd(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as xxd does, but without abbreviations: options, then operands, even with a dash."""
    table = _table(row)
    rest = iter(words)
    for word in rest:
        if word == "--":
            yield DASHES
        elif word in table:
            yield _with_next(name, table[word], word, rest)
            continue
        elif table.get(word[:2], _FLAG).form == "value" and word[2:3].isdigit():
            yield Argument(table[word[:2]], word[2:], (word,))
            continue
        elif word.startswith("-"):
            yield unknown(name, word)
        else:
            yield Argument(None, word, (word,))
        yield from _all_operands(rest)


def _echo(name: str, row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as bash's echo does: options only in front; anything else is text."""
    table = _table(row)
    rest = iter(words)
    for word in rest:
        if len(word) > 1 and word[0] == "-" and set(word[1:]) <= set("neE"):
            yield from _bundle(name, table, word, rest)
        else:
            yield Argument(None, word, (word,))
            yield from _all_operands(rest)


def _chmod(name: str, _row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read arguments as chmod does; `-x` is a mode if it comes first, or after `--`."""
    rest = iter(words)
    for at, word in enumerate(rest):
        if word == "--":
            yield from _all_operands(rest)
        elif word.startswith("-") and word != "-" and (at > 0 or not is_mode(word)):
            yield unknown(name, word)
        else:
            yield Argument(None, word, (word,))


def _cd(_name: str, _row: ProgramRule, words: list[str]) -> Iterator[Part]:
    """Read the one directory that cd takes. No program can do its work, so anything else is refused."""
    directories = words[1:] if words[:1] == ["--"] else words
    if len(directories) != 1 or directories[0] in ("", "-") or (words is directories and words[0][0] == "-"):
        yield Refused("command_not_allowed", "cd takes one directory, and no options")
    else:
        yield Argument(None, directories[0], tuple(directories))


_SYNTAX: dict[str, Callable[[str, ProgramRule, list[str]], Iterator[Part]]] = {
    "getopt": _getopt,
    "git": _git,
    "find": _find,
    "tree": _tree,
    "xxd": _xxd,
    "echo": _echo,
    "chmod": _chmod,
    "cd": _cd,
    "any": lambda _name, _row, words: _all_operands(iter(words)),
}
