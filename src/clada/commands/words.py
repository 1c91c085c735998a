r"""Reads the body of a run as a POSIX shell would split it into words, and refuses all else a shell would do.

    body      = [list] {line-break [list]}
    list      = command {"&&" {line-break} command}
    command   = word {blank word}            the first word no assignment, reserved word or "!"
    word      = {plain | '...' | "..." | \x} not starting with "~", without a brace list
    comment   = "#" at the start of a word, to the end of the line
    \ + line break is nothing, everywhere but in '...'

What is plain, and what the words are, is what bash makes of the same text: tests compare the two.
Not checked here: whether the program exists, is allowed, or is given sensible arguments.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# What a person can do about a refused construct that bash could run.
SHELL_HINT = "with --shell=approved bash may run it, once its exact text is approved"


class Command(Value):
    """One command of a body: its words, and its exact source from its first word to its last.

    The source is what approvals are matched on; comments and separators are never part of it.
    """

    words: tuple[str, ...]
    text: str


class Refusal(Value):
    """A construct that is not available, and what to use instead; `shell` says whether bash could run it."""

    construct: str
    message: str
    shell: bool = True


class _Word(Value):
    """A word as it will be passed on, and its bare form: each quoted part in it is one character."""

    value: str
    bare: str
    start: int
    end: int


_BLANKS = " \t"
_QUOTED = "\0"  # what stands for a quoted part in a bare form: no readable body holds either
_QUOTED_COMMA = "\ud800"
_PARTS = "run the parts one by one"
_QUOTES = "put it in single quotes if it is meant literally"
_NO_GROUPS = f"there are no groups or subshells: write the commands in order, or {_QUOTES}"
_NO_PATTERNS = f"patterns are not expanded: name the files, or {_QUOTES}"
_NO_VALUES = f"nothing is substituted: write the value itself, or {_QUOTES}"
_NO_OUTPUT_FILES = "output is not sent to files: write the file with a write operation"
_NO_INPUT_FILES = "standard input is empty: name the file as an argument"

# Longest first, so that the message names what was written.
_REFUSED = {
    "<<<": _NO_INPUT_FILES,
    "<<": "write the text to a file with a write operation instead of a here-document",
    "<(": f"{_PARTS}, and name a file as an argument",
    ">(": f"{_PARTS}, and name a file as an argument",
    ">>": "output is not sent to files: append with a write operation",
    "&>": _NO_OUTPUT_FILES,
    "|&": f"{_PARTS}, or write the output with a write operation",
    "||": f"{_PARTS}; `&&` and line breaks join commands",
    "$(": f"{_PARTS}, and write the value itself",
    ";": "join commands with `&&` or a line break",
    "|": f"{_PARTS}, or write the output with a write operation",
    "&": "nothing runs in the background: join commands with `&&` or a line break",
    ">": _NO_OUTPUT_FILES,
    "<": _NO_INPUT_FILES,
    "$": _NO_VALUES,
    "`": f"{_PARTS}, and write the value itself",
    "(": _NO_GROUPS,
    ")": _NO_GROUPS,
    "*": _NO_PATTERNS,
    "?": _NO_PATTERNS,
    "[": _NO_PATTERNS,
}
_BLANKS_AND_BREAKS = frozenset(" \t\n")
_NOT_PLAIN = frozenset("".join(_REFUSED)) | _BLANKS_AND_BREAKS | frozenset("'\"\\\r")
_NOT_PLAIN_IN_DOUBLE_QUOTES = frozenset('"\\$`')
_ESCAPED_IN_DOUBLE_QUOTES = {'\\"': '"', "\\\\": "\\", "\\$": "$", "\\`": "`", "\\\n": ""}
_RESERVED = frozenset(
    """
    ! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while
    """.split()
)
# Commands of the shell itself, which no program answers to.
_OF_THE_SHELL = frozenset(
    """
    . alias bg bind builtin caller command compgen complete compopt declare dirs disown enable eval exec exit
    export fc fg getopts hash jobs let local logout mapfile popd pushd read readarray readonly return set
    shift shopt source suspend times trap type typeset ulimit umask unalias unset wait
    """.split()
)
_SEQUENCE_PARTS = (2, 3)
_END = ""

_LONELY = Refusal(
    "&&", "`&&` must stand between two commands: leave it out, or add the other one", shell=False
)
_UNREADABLE = Refusal(
    "NUL", "a NUL or half a surrogate pair cannot be passed to a program: leave it out", shell=False
)
_CARRIAGE_RETURN = Refusal(
    "carriage return", "a carriage return outside quotes is not available: end lines with a line feed only"
)


def read(body: str) -> tuple[Command, ...] | Refusal:
    """Return the commands of a body in order, none where it is blank, or the first thing that is refused."""
    commands: list[Command] = []
    words: list[_Word] = []
    waiting = False  # for the command after an &&
    for part in _tokens(body):
        if isinstance(part, Refusal):
            return part
        if isinstance(part, _Word):
            objection = _objection(part, first=not words)
            if objection:
                return objection
            words.append(part)
        elif not words and (part == "&&" or (waiting and part == _END)):
            return _LONELY
        else:
            waiting = part == "&&" or (waiting and not words)
            if words:
                commands.append(_command(body, words))
                words = []
    return tuple(commands)


def _tokens(body: str) -> Iterator[_Word | Refusal | str]:
    """Yield words, `&&`, line breaks and the end; a refusal ends them."""
    if not _readable(body):
        yield _UNREADABLE
        return
    at = 0
    while at < len(body):
        char = body[at]
        if char in _BLANKS:
            at += 1
        elif body.startswith("\\\n", at):
            at += 2
        elif char == "#":
            at = _line_end(body, at)
        elif char == "\n" or body.startswith("&&", at):
            yield "\n" if char == "\n" else "&&"
            at += 1 if char == "\n" else 2
        else:
            word = _word(body, at)
            yield word
            if isinstance(word, Refusal):
                return
            at = word.end
    yield _END


def _command(body: str, words: list[_Word]) -> Command:
    return Command(tuple([word.value for word in words]), body[words[0].start : words[-1].end])


def _readable(body: str) -> bool:
    """Whether a program can be given this text at all: no NUL, and nothing that UTF-8 cannot hold."""
    if "\0" in body:
        return False
    try:
        body.encode()
    except UnicodeEncodeError:
        return False
    return True


def _line_end(body: str, at: int) -> int:
    end = body.find("\n", at)
    return len(body) if end < 0 else end


def _word(body: str, start: int) -> _Word | Refusal:
    """Read one word: parts that are plain, quoted or escaped, up to a blank, a line break or `&&`."""
    values: list[str] = []
    bare: list[str] = []
    at = start
    while at < len(body) and body[at] not in _BLANKS_AND_BREAKS and not body.startswith("&&", at):
        part = _part(body, at)
        if isinstance(part, Refusal):
            return part
        value, outside, at = part
        values.append(value)
        bare.append(outside)
    return _Word("".join(values), "".join(bare), start, at)


def _part(body: str, at: int) -> tuple[str, str, int] | Refusal:
    """Read one part of a word: its value, its bare form, and where it ends."""
    char = body[at]
    if char == "'":
        return _single_quoted(body, at)
    if char == '"':
        return _double_quoted(body, at)
    if char == "\\":
        return _escaped(body, at)
    if char in _NOT_PLAIN:
        return _refused_at(body, at)
    end = _run_end(body, at, _NOT_PLAIN)
    return body[at:end], body[at:end], end


def _run_end(body: str, at: int, stops: frozenset[str]) -> int:
    """Return where the run of characters that starts here meets one of the stops, or the end."""
    end, length = at, len(body)
    while end < length and body[end] not in stops:
        end += 1
    return end


def _single_quoted(body: str, at: int) -> tuple[str, str, int] | Refusal:
    end = body.find("'", at + 1)
    if end < 0:
        return _unended("'")
    return _quoted(body[at + 1 : end], end + 1)


def _quoted(value: str, end: int) -> tuple[str, str, int]:
    return value, _QUOTED_COMMA if "," in value else _QUOTED, end


def _double_quoted(body: str, at: int) -> tuple[str, str, int] | Refusal:
    pieces: list[str] = []
    at += 1
    while at < len(body):
        char = body[at]
        if char == '"':
            return _quoted("".join(pieces), at + 1)
        if char in "$`":
            return _refusal(char, _NO_VALUES, " inside double quotes")
        if char == "\\":
            pieces.append(_ESCAPED_IN_DOUBLE_QUOTES.get(body[at : at + 2], body[at : at + 2]))
            at += 2
        else:
            end = _run_end(body, at, _NOT_PLAIN_IN_DOUBLE_QUOTES)
            pieces.append(body[at:end])
            at = end
    return _unended('"')


def _escaped(body: str, at: int) -> tuple[str, str, int] | Refusal:
    following = body[at + 1 : at + 2]
    if following == "\n":
        return "", "", at + 2
    if not following:
        return Refusal(
            "\\", "`\\` at the end of the command has nothing to escape: leave it out", shell=False
        )
    return following, _QUOTED, at + 2


def _refused_at(body: str, at: int) -> Refusal:
    if body[at] == "\r":
        return _CARRIAGE_RETURN
    construct = next(name for name in _REFUSED if body.startswith(name, at))
    return _refusal(construct, _REFUSED[construct])


def _objection(word: _Word, *, first: bool) -> Refusal | None:
    """Return why a shell would not pass this word on as it is, or None."""
    bare = word.bare
    if first and (bare in _RESERVED or bare in _OF_THE_SHELL):
        return _refusal(bare, "it is a word of the shell's own: write plain commands, one after the other")
    if first and _assigned_name(bare):
        return _refusal(f"{_assigned_name(bare)}=", "no variable can be set: start with the command itself")
    if bare.startswith("~") or _has_assigned_tilde(bare):
        return _refusal("~", f"home directories are not filled in: write the path, or {_QUOTES}")
    if "{" in bare and _has_brace_list(bare):
        return _refusal("{…}", f"brace lists are not expanded: write the words out, or {_QUOTES}")
    return None


def _assigned_name(bare: str) -> str:
    """Return the variable that a shell would set if this were a command's first word; empty if none."""
    name = bare.partition("=")[0] if "=" in bare else ""
    name = name.removesuffix("+")
    return name if name.isascii() and name.isidentifier() else ""


def _has_assigned_tilde(bare: str) -> bool:
    """Whether bash would fill in a home directory after `name=` or a colon: it does, in arguments too."""
    return (
        "~" in bare
        and bool(_assigned_name(bare))
        and (bare.partition("=")[2].startswith("~") or ":~" in bare)
    )


def _has_brace_list(bare: str) -> bool:
    """Whether bash would make several words of `{a,b}` or `{1..3}` in this one.

    As in bash, a `}` before any comma is passed over: `{a},b}` is a list, `{},{}` is not. Each level knows
    whether a brace was opened on it, and whether a comma followed. In a word with `..`, bash takes even a
    quoted comma for one.
    """
    commas = ("," + _QUOTED_COMMA) if ".." in bare else ","
    levels = [(False, False)]
    opened_at = -1
    for at, char in enumerate(bare):
        opened, comma = levels[-1]
        if char == "{":
            levels.append((True, False))
            opened_at = at
        elif char in commas:
            levels[-1] = (opened, opened)
        elif char == "}":
            if comma or (opened_at >= 0 and _is_sequence(bare[opened_at + 1 : at])):
                return True
            opened_at = -1
            if len(levels) > 1:
                levels.pop()
                levels[-1] = (True, levels[-1][1])
    return False


def _is_sequence(inner: str) -> bool:
    """Whether this between braces counts up or down: two numbers or two letters, and perhaps a step."""
    parts = inner.split("..")
    if len(parts) not in _SEQUENCE_PARTS or not all(map(_is_integer, parts[2:])):
        return False
    ends = parts[:2]
    return all(map(_is_integer, ends)) or all(
        len(end) == 1 and end.isascii() and end.isalpha() for end in ends
    )


def _is_integer(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit()


def _refusal(construct: str, instead: str, where: str = "") -> Refusal:
    return Refusal(construct, f"`{construct}`{where} is not available: {instead}")


def _unended(quote: str) -> Refusal:
    return Refusal(
        quote, f"`{quote}` opens a quotation that is never closed: close it, or escape it", shell=False
    )
