"""The rows of diffs, with syntax colours by Pygments and changed words marked."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from clada.review.markup import MINUS, Markup, el, join, text

try:
    from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]
    from pygments.token import Token  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]
except ImportError:  # as in the one-file build: code is shown without colours
    Token = None

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Line = tuple[str, str]  # kind and text of a line of a diff
    Mask = Callable[[str], str]
    Piece = tuple[str, str]  # class of a colour and a text

ROWS = 200  # of one table: the browser renders tables only when they come near
LONGEST = 2000  # characters of a line that is coloured
MAX_COLOURED = 200_000  # characters of a hunk that is coloured
# The class of each colour, by the kind of token; the first row that fits counts.
COLOURS = (
    ()
    if Token is None
    else (
        (Token.Comment, "c"),
        (Token.Keyword, "k"),
        (Token.Operator.Word, "k"),
        (Token.Name.Tag, "k"),
        (Token.Generic, "k"),
        (Token.Literal.String, "s"),
        (Token.Literal.Number, "m"),
        (Token.Name.Function, "f"),
        (Token.Name.Attribute, "f"),
        (Token.Name.Class, "t"),
        (Token.Name.Builtin, "t"),
        (Token.Name.Exception, "t"),
        (Token.Name.Decorator, "t"),
    )
)
NO_WORDS: Mapping[int, Sequence[tuple[int, int]]] = {}
NO_BREAK = Markup('<span class="c">  no line break at the end</span>')


class Row:
    """One line of a diff: its kind, its numbers on both sides, and its text as markup."""

    def __init__(self, kind: str, old: int | None, new: int | None, code: str) -> None:
        self.kind, self.old, self.new, self.code = kind, old, new, code
        self.ends_without_break = False
        self.is_blank_change = False  # it differs from its counterpart in white space alone

    @property
    def html(self) -> str:
        """The row of the table."""
        kinds = " ".join(filter(None, [self.kind, "ws" if self.is_blank_change else ""]))
        sign = {"added": "+", "removed": MINUS}.get(self.kind, "")
        end = NO_BREAK if self.ends_without_break else ""
        numbers = "".join(f'<td class="no" data-n="{number or ""}"></td>' for number in (self.old, self.new))
        row = f'<tr class="{kinds}">' if kinds else "<tr>"
        return f'{row}{numbers}<td class="code" data-sign="{sign}">{self.code}{end}</td></tr>'


def tables(rows: Sequence[Row], label: str) -> Markup:
    """Return rows as tables of a few hundred each."""
    parts = [rows[at : at + ROWS] for at in range(0, len(rows), ROWS)]
    return join(*(_table(part, label, is_part=len(parts) > 1) for part in parts))


def _table(rows: Sequence[Row], label: str, *, is_part: bool) -> Markup:
    body = Markup("".join(row.html for row in rows))
    table = el("table", el("tbody", body), class_="diff", aria_label=label)
    return el("div", table, class_="rows", data_rows=len(rows) if is_part else None)


def hunk_rows(hunk: Any, path: str | None, mask: Mask) -> list[Row]:
    """Return the rows of a hunk."""
    found = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", hunk.lines[0][1])
    old, new = (int(found[1]), int(found[2])) if found else (1, 1)
    words = {number - 1: spans for number, spans in hunk.changed_words.items()}
    return diff_rows(hunk.lines[1:], path, mask, (old, new), words)


def context_rows(lines: Sequence[str], first: int, shift: int, path: str | None, mask: Mask) -> list[Row]:
    """Return lines that do not change, from a line on; `shift` is how much later they are afterwards."""
    return diff_rows([("same", f" {line}") for line in lines], path, mask, (first, first + shift))


def diff_rows(
    lines: Sequence[Line],
    path: str | None,
    mask: Mask,
    start: tuple[int, int] = (1, 1),
    words: Mapping[int, Sequence[tuple[int, int]]] = NO_WORDS,
) -> list[Row]:
    """Return the rows of the lines of a diff, whose sides start at these numbers; `words` have changed."""
    old, new = start
    masked = [mask(line) for _kind, line in lines]
    coloured = _colour_lines(lines, masked, path)
    rows: list[Row] = []
    for number, (kind, line) in enumerate(lines):
        if line.startswith("\\"):
            if rows:
                rows[-1].ends_without_break = True
            continue
        # The spans count the sign; a line with a value that is not shown has other lengths.
        spans = (
            [(start - 1, end - 1) for start, end in words.get(number, ())] if masked[number] == line else []
        )
        code = _mark_words(coloured[number], spans)
        is_old, is_new = kind != "added", kind != "removed"
        rows.append(
            Row("" if kind == "same" else kind, old if is_old else None, new if is_new else None, code)
        )
        old, new = old + is_old, new + is_new
    _find_blank_changes(rows, [line for line in masked if not line.startswith("\\")])
    return rows


def _find_blank_changes(rows: Sequence[Row], texts: Sequence[str]) -> None:
    """Mark rows that differ from their counterpart in white space alone."""
    runs: tuple[list[int], list[int]] = [], []
    for number, kind in enumerate([*(row.kind for row in rows), ""]):
        if kind:
            runs[kind == "added"].append(number)
            continue
        removed, added = runs
        if len(removed) == len(added):
            for one, other in zip(removed, added, strict=True):
                if texts[one][1:].split() == texts[other][1:].split():
                    rows[one].is_blank_change = rows[other].is_blank_change = True
        runs = [], []


# Colours.


def _colour_lines(lines: Sequence[Line], masked: Sequence[str], path: str | None) -> list[list[Piece]]:
    """Return the pieces of each line. Both sides are read by themselves, so that each is whole."""
    pieces: list[list[Piece]] = [[("", line[1:])] for line in masked]
    lexer = _lexer(_ending(path)) if path else None
    if lexer is None or sum(map(len, masked)) > MAX_COLOURED:
        return pieces
    for unwanted in ("removed", "added"):
        side = [
            number
            for number, (kind, line) in enumerate(lines)
            if kind != unwanted and not line.startswith("\\") and len(line) <= LONGEST
        ]
        read = list(_split_tokens(lexer.get_tokens("\n".join(masked[number][1:] for number in side))))
        if [("".join(piece for _kind, piece in line)) for line in read] == [masked[at][1:] for at in side]:
            for number, line in zip(side, read, strict=True):
                pieces[number] = line
    return pieces


def _split_tokens(tokens: Iterator[tuple[Any, str]]) -> Iterator[list[Piece]]:
    """Yield the tokens of each line; neighbours of one colour are one piece."""
    line: list[Piece] = []
    for token, value in tokens:
        colour = _colour(token)
        for number, part in enumerate(value.split("\n")):
            if number:
                yield line
                line = []
            if part and line and line[-1][0] == colour:
                line[-1] = (colour, line[-1][1] + part)
            elif part:
                line.append((colour, part))
    yield line


@cache
def _colour(token: Any) -> str:
    return next((colour for kind, colour in COLOURS if token in kind), "")


def _ending(path: str) -> str:
    """Return what tells the language: the name without the part that differs from file to file."""
    name = path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    return f"x{name[dot:]}" if dot > 0 else name


@cache
def _lexer(name: str) -> Any:
    if Token is None:
        return None
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _mark_words(pieces: Sequence[Piece], spans: Sequence[tuple[int, int]]) -> str:
    """Return a line as markup: its colours, and marks around what has changed."""
    if not spans:
        return "".join(_piece(*piece) for piece in pieces)
    cuts = sorted({edge for span in spans for edge in span})
    shown, at = [], 0
    for colour, value in pieces:
        edges = [at, *(cut for cut in cuts if at < cut < at + len(value)), at + len(value)]
        for start, end in pairwise(edges):
            part = _piece(colour, value[start - at : end - at])
            is_changed = any(first <= start < last for first, last in spans)
            shown.append(f"<mark>{part}</mark>" if is_changed else part)
        at += len(value)
    return "".join(shown)


def _piece(colour: str, value: str) -> str:
    shown = escape(value, quote=False) if value.isascii() and value.isprintable() else text(value)
    return f'<span class="{colour}">{shown}</span>' if colour else shown
