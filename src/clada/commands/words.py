r"""Splits the body of a run into commands and words as a POSIX shell would; refuses all else a shell does.

    body      = [list] {line-break [list]}
    list      = pipeline {"&&" {line-break} pipeline}
    pipeline  = command {"|" {line-break} command}
    command   = word {blank word} [blank "2>&1"]    the first word no assignment, reserved word or "!"
    word      = {plain | '...' | "..." | \x} not starting with "~", without a brace list
    comment   = "#" at the start of a word, to the end of the line
    \ + line break is nothing, everywhere but in '...'

Tests compare the words with those that bash reads from the same text.
Not checked here: whether the program exists, is allowed, or gets sensible arguments.
"""

from __future__ import annotations

import re

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# The hint for a refused construct that bash could run.
SHELL_HINT = "with --shell=approved bash may run it, once its exact text is approved"


class SimpleCommand(Value):
    """One command of a body: its words, and its exact text from its first word to its last.

    Approvals are matched with the text; comments and separators are never part of it.
    """

    words: tuple[str, ...]
    text: str


class Pipeline(Value):
    """Commands that each read the output of the one before, in most cases only one; and their text."""

    commands: tuple[SimpleCommand, ...]
    text: str


class Refusal(Value):
    """A shell construct that is not available, and what to use instead; `shell` if bash could run it."""

    construct: str
    message: str
    shell: bool = True


class _Word(Value):
    """A word as it is passed on, and its bare form, in which one character stands for each quoted part."""

    value: str
    bare: str
    start: int
    end: int


_BLANKS = " \t"
# What stands for a quoted part, without or with a comma, in a bare form: no readable body has either.
_QUOTED = "\0"
_QUOTED_COMMA = "\ud800"
_PARTS = "run the parts one by one"
_QUOTES = "put it in single quotes if it is meant literally"
_NO_GROUPS = f"there are no groups or subshells: write the commands in order, or {_QUOTES}"
_NO_PATTERNS = f"patterns are not expanded: name the files, or {_QUOTES}"
_NO_VALUES = f"nothing is substituted: write the value itself, or {_QUOTES}"
_NO_OUTPUT_FILES = "output is not sent to files: write the file with a write operation"
_LEAVE_OUT = "leave it out: what a command prints, on both streams, is shown"
_NO_INPUT_FILES = "standard input is empty: name the file as an argument"

# Longer constructs come before those that they start with, so that the message names what was written.
_REFUSED = {
    "<<<": _NO_INPUT_FILES,
    "<<": "write the text to a file with a write operation instead of a here-document",
    "<(": f"{_PARTS}, and name a file as an argument",
    ">(": f"{_PARTS}, and name a file as an argument",
    ">>": "output is not sent to files: append with a write operation",
    ">/dev/null": _LEAVE_OUT,
    "> /dev/null": _LEAVE_OUT,
    ">&": _LEAVE_OUT,
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
_NOT_PLAIN = frozenset([construct[0] for construct in _REFUSED]) | _BLANKS_AND_BREAKS | frozenset("'\"\\\r")
_PLAIN = re.compile(f"[^{re.escape(''.join(_NOT_PLAIN))}]*")
# Without a possessive group, which Python 3.11.2 matches wrongly; it cannot fail, so it is linear without.
_IN_DOUBLE_QUOTES = re.compile(r'([^"\\$`]*+(?:\\.[^"\\$`]*+)*)(.?)', re.DOTALL)
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r'\\(?:(["\\$`])|\n)')
_RESERVED = frozenset(
    """
    ! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while
    """.split()
)
# Commands of the shell itself, for which there is no program.
_SHELL_BUILTINS = frozenset(
    """
    . alias bg bind builtin caller command compgen complete compopt declare dirs disown enable eval exec exit
    export fc fg getopts hash jobs let local logout mapfile popd pushd read readarray readonly return set
    shift shopt source suspend times trap type typeset ulimit umask unalias unset wait
    """.split()
)
_SEQUENCE_PARTS = (2, 3)  # from, to and perhaps the step of `{1..9..2}`
_END = ""  # the last token
_JOINING = ("&&", "|")
_JOINING_SIGN = re.compile(r"&&|\|(?![|&])")  # `||` and `|&` are something else
_COMMAND_END = re.compile(rf"[ \t]*+(?:\Z|\n|{_JOINING_SIGN.pattern})|[ \t]++#")  # a comment may follow
_BOTH_STREAMS = "2>&1"  # without effect at the end of a command: both streams are shown

_NOTHING_ESCAPED = Refusal(
    "\\", "`\\` at the end of the command has nothing to escape: leave it out", shell=False
)
_UNREADABLE = Refusal(
    "NUL", "a NUL or half a surrogate pair cannot be passed to a program: leave it out", shell=False
)
_CARRIAGE_RETURN = Refusal(
    "carriage return", "a carriage return outside quotes is not available: end lines with a line feed only"
)


def read(body: str) -> tuple[SimpleCommand, ...] | Refusal:
    """Return the commands of a body in order, none if it is blank; or the first construct that is refused.

    Pipelines are refused, too: `read_pipelines` is for who can do something about them.
    """
    pipelines = read_pipelines(body)
    if isinstance(pipelines, Refusal):
        return pipelines
    if any(len(pipeline.commands) > 1 for pipeline in pipelines):
        return pipe_refusal()
    return tuple([pipeline.commands[0] for pipeline in pipelines])


def read_pipelines(body: str) -> tuple[Pipeline, ...] | Refusal:
    """Return the pipelines of a body, most of them of one command; or the first construct that is refused."""
    pipelines: list[Pipeline] = []
    commands: list[SimpleCommand] = []  # of the pipeline that is being read
    words: list[_Word] = []
    start = 0  # of the pipeline
    waiting = ""  # an && or | whose second command has not come yet
    for part in _tokens(body):
        if isinstance(part, Refusal):
            return part
        if isinstance(part, _Word):
            refusal = _refuse_word(part, first=not words)
            if refusal:
                return refusal
            start = part.start if not words and not commands else start
            words.append(part)
        elif words:
            text = body[words[0].start : words[-1].end]
            commands.append(SimpleCommand(tuple([word.value for word in words]), text))
            if part != "|":
                pipelines.append(Pipeline(tuple(commands), body[start : words[-1].end]))
                commands = []
            words, waiting = [], part if part in _JOINING else ""
        elif part in _JOINING or (waiting and part == _END):
            joining = part if part in _JOINING else waiting
            message = f"`{joining}` must stand between two commands: leave it out, or add the other one"
            return Refusal(joining, message, shell=False)
    return tuple(pipelines)


def pipe_refusal(where: str = "", instead: str = _REFUSED["|"]) -> Refusal:
    """Return the refusal of a pipeline that only a shell could run."""
    return _refusal("|", instead, where)


def _tokens(body: str) -> Iterator[_Word | Refusal | str]:
    """Yield words, `&&`, `|`, line breaks and the end; after a refusal nothing follows."""
    if not _can_be_passed(body):
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
            end = body.find("\n", at)
            at = len(body) if end < 0 else end
        elif char == "\n" or _JOINING_SIGN.match(body, at):
            yield "&&" if char == "&" else char
            at += 2 if char == "&" else 1
        elif char == "2" and body.startswith(_BOTH_STREAMS, at) and _COMMAND_END.match(body, at + 4):
            at += 4
        else:
            word = _word(body, at)
            yield word
            if isinstance(word, Refusal):
                return
            at = word.end
    yield _END


def _can_be_passed(body: str) -> bool:
    """Whether a program can get this text as arguments: it has no NUL, and nothing that UTF-8 cannot hold."""
    if "\0" in body:
        return False
    try:
        body.encode()
    except UnicodeEncodeError:
        return False
    return True


def _word(body: str, start: int) -> _Word | Refusal:
    """Read one word: parts that are plain, quoted or escaped, up to a blank, a line break, `&&` or `|`."""
    values: list[str] = []
    bare: list[str] = []
    at = start
    while at < len(body) and body[at] not in _BLANKS_AND_BREAKS and not _JOINING_SIGN.match(body, at):
        part = _part(body, at)
        if isinstance(part, Refusal):
            return part
        value, outside, at = part
        values.append(value)
        bare.append(outside)
    return _Word("".join(values), "".join(bare), start, at)


def _part(body: str, at: int) -> tuple[str, str, int] | Refusal:
    """Read one part of a word: return its value, its bare form, and where it ends."""
    char = body[at]
    if char == "'":
        end = body.find("'", at + 1)
        return _unclosed_refusal("'") if end < 0 else _quoted_part(body[at + 1 : end], end + 1)
    if char == '"':
        quoted = _IN_DOUBLE_QUOTES.match(body, at + 1)
        inside, closing = quoted.groups() if quoted else ("", "")
        if closing and closing in "$`":
            return _refusal(closing, _NO_VALUES, " inside double quotes")
        if closing != char:
            return _unclosed_refusal(char)
        return _quoted_part(_ESCAPED_IN_DOUBLE_QUOTES.sub(r"\1", inside), at + len(inside) + 2)
    if char == "\\":
        following = body[at + 1 : at + 2]
        if not following:
            return _NOTHING_ESCAPED
        return (following, _QUOTED, at + 2) if following != "\n" else ("", "", at + 2)
    if char == "\r":
        return _CARRIAGE_RETURN
    if char in _NOT_PLAIN:
        construct = next(name for name in _REFUSED if body.startswith(name, at))
        return _refusal(construct, _REFUSED[construct])
    match = _PLAIN.match(body, at)
    plain = match[0] if match else ""
    return plain, plain, at + len(plain)


def _quoted_part(value: str, end: int) -> tuple[str, str, int]:
    return value, _QUOTED_COMMA if "," in value else _QUOTED, end


def _refuse_word(word: _Word, *, first: bool) -> Refusal | None:
    """Return a refusal if a shell would not pass this word on as it is; `first` if it starts a command."""
    bare = word.bare
    if first and (bare in _RESERVED or bare in _SHELL_BUILTINS):
        return _refusal(bare, "it is a word of the shell's own: write plain commands, one after the other")
    if first and _assigned_name(bare):
        return _refusal(f"{_assigned_name(bare)}=", "no variable can be set: start with the command itself")
    # In arguments too, bash fills in a home directory after `name=` or after a colon that follows.
    assigned_tilde = "~" in bare and (bare.partition("=")[2].startswith("~") or ":~" in bare)
    if bare.startswith("~") or (assigned_tilde and _assigned_name(bare)):
        return _refusal("~", f"home directories are not filled in: write the path, or {_QUOTES}")
    if "{" in bare and _has_brace_list(bare):
        return _refusal("{…}", f"brace lists are not expanded: write the words out, or {_QUOTES}")
    return None


def _assigned_name(bare: str) -> str:
    """Return the variable that a shell would set by this word in front of a command; empty if none."""
    name = bare.partition("=")[0] if "=" in bare else ""
    name = name.removesuffix("+")
    return name if name.isascii() and name.isidentifier() else ""


def _has_brace_list(bare: str) -> bool:
    """Whether bash would expand `{a,b}` or `{1..3}` in this word.

    As in bash, a `}` before any comma is passed over: `{a},b}` is a list, `{},{}` is not. Each level is a
    pair: was a brace opened on it, and did a comma follow. In a word with `..`, a quoted comma counts, too.
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
    """Whether this is a sequence between braces: two numbers or two letters, and perhaps a step."""
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


def _unclosed_refusal(quote: str) -> Refusal:
    return Refusal(
        quote, f"`{quote}` opens a quotation that is never closed: close it, or escape it", shell=False
    )


# Commands as models write them for a person to read: behind a prompt, in backquotes or in a fence. The marks
# are no part of a command that could run here, so nothing is run that was not written.

_SHELLS = ("", "sh", "bash", "shell", "console", "zsh", "text")  # tags of a fence
_PROMPT = "$ "
_FENCE = "```"
BLANKS_AROUND = " \t\r\n"  # around a command, and no others: a no-break space is part of it


def plain(body: str) -> str:
    """Return the body of a run without surrounding blanks, prompts and fences."""
    text = body.strip(BLANKS_AROUND)
    if text.startswith("`"):
        text = _strip_marks(text)
    return _strip_prompts(text) if text.startswith(_PROMPT) else text


def _strip_marks(text: str) -> str:
    """Return a text that is one backquoted command, or a fence, without its marks; any other as it is."""
    tag, _break, rest = text.removeprefix(_FENCE).partition("\n")
    if (
        text.startswith(_FENCE)
        and text.endswith(f"\n{_FENCE}")
        and tag.strip(BLANKS_AROUND).lower() in _SHELLS
    ):
        inner = rest.removesuffix(_FENCE)
    else:
        inner = text[1:-1] if text.endswith("`") else ""
    return inner.strip(BLANKS_AROUND) if inner.strip(BLANKS_AROUND) and "`" not in inner else text


def _strip_prompts(text: str) -> str:
    """Return a text without the prompts before its lines; in quotes that go over lines, there are none."""
    first, *others = text.removeprefix(_PROMPT).lstrip(BLANKS_AROUND).split("\n")
    if not any(mark in text for mark in "'\"\\"):
        others = [line.removeprefix(_PROMPT) for line in others]
    return "\n".join([first, *others])
