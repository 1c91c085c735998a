"""Forms of text: look-alike characters, artifacts of copying, and hidden characters.

1. Tables of characters that look like plain ones: quotes, dashes, blanks.
2. `without_copied` removes what copying puts into a search text: a code fence, the path, line numbers.
3. `ARTIFACTS` are used only to explain why a search text was not found: with one removed, it would match.
4. `visible` shows a text in which nothing is hidden, to a person who decides about it.
"""

from __future__ import annotations

import re
import unicodedata

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    Line = TypeVar("Line", bytes, str)
    Block = Sequence[bytes]  # lines, without their breaks

# By code point, since in an editor they look alike.
DASHES = (*range(0x2010, 0x2016), 0x2212)
SINGLE_QUOTES, DOUBLE_QUOTES = tuple(range(0x2018, 0x201C)), tuple(range(0x201C, 0x2020))
PRIMES = {0x2032: "'", 0x2033: '"'}
OTHER_QUOTES = (0x27, 0x60, 0xAB, 0xB4, 0xBB, 0x2039, 0x203A)  # ' and ` among them
WIDE_BLANKS = (0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000)
INVISIBLE = (0xAD, *range(0x200B, 0x200E), 0x2060, 0xFEFF)
ODD_BLANKS = "".join(map(chr, (0x1680, *range(0x2000, 0x200C), *WIDE_BLANKS, 0xFEFF)))
CURLY_QUOTES = {**dict.fromkeys(SINGLE_QUOTES, "'"), **dict.fromkeys(DOUBLE_QUOTES, '"')}
# The plain character for each look-alike, where typographic signs are forgiven.
TYPOGRAPHIC = {**dict.fromkeys(DASHES, "-"), **CURLY_QUOTES, **dict.fromkeys(WIDE_BLANKS, " ")}
_ALL_QUOTES = dict.fromkeys((*CURLY_QUOTES, *PRIMES, *OTHER_QUOTES), '"')
_LOOK_ALIKES: dict[int, str | None] = {**dict.fromkeys(DASHES, "-"), **dict.fromkeys(INVISIBLE)}
_ENTITIES = (
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
)

# Artifacts of copying.
FENCE, PATH, NUMBERS = "a code fence", "the path above it", "line numbers"
FENCE_MARKS = ("```", "~~~")
SEPARATORS = ("|", ":", "→", "│", "\t")  # between a line number and its line
SPACED = ("|", ":", "│")  # separators that a blank may follow which is not the line's
MOST_DIGITS = 9  # of a line number
DIFF_MARKS = ("+", "-", " ")
DOTS = ("...", "# ...", "// ...", "…")  # lines that stand for others in both texts of an edit
COMMENT_SIGNS = "#/*-<!>{};% "  # that may be around an ellipsis in a comment
ELLIPSES = ("...", "…")

_MANY_BLANKS = " {4,}"  # in a row, which are counted
BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols that look like blanks


def odd_blank(text: str) -> str | None:
    """Return a hint at a blank in a text that is not the plain one, if there is any."""
    found = next((char for char in text if char in ODD_BLANKS), None) if not text.isascii() else None
    if found is None:
        return None
    what = "a no-break space" if found == "\u00a0" else "an unusual blank"
    return f"there is {what} in it (U+{ord(found):04X}): write a plain one"


def without_entities(text: str) -> str:
    """Return the text with the characters that common HTML entities stand for."""
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return text


def without_blanks(text: str) -> str:
    """Return the text without any blank."""
    return "".join(text.split())


def with_equal_quotes(text: str) -> str:
    """Return the text with one sign for all quotes."""
    return text.translate(_ALL_QUOTES)


def without_look_alikes(text: str) -> str:
    """Return the text without invisible characters, and with plain ones for those that look like them."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_LOOK_ALIKES))


def without_backslashes(text: str) -> str:
    """Return the text without any backslash."""
    return text.replace("\\", "")


def fold_form(line: str) -> str:
    """Return the line with all these forms applied: lines that differ in form only become equal."""
    line = with_equal_quotes(without_look_alikes(without_entities(line)))
    return without_blanks(without_backslashes(line)).casefold()


def without_fence(content: str) -> str | None:
    """Return a content without the fence around all of it; None if there is none."""
    if not content.startswith(FENCE_MARKS):
        return None
    lines = content.split("\n")
    mark = lines[0][0]
    fence = mark * (len(lines[0]) - len(lines[0].lstrip(mark)))
    closing = next((at for at, line in enumerate(lines[1:], 1) if _closes(line, fence)), 0)
    if not closing or mark in lines[0][len(fence) :] or any(line.strip() for line in lines[closing + 1 :]):
        return None
    return "\n".join([*lines[1:closing], *lines[closing + 1 :]])


def _closes(line: str, fence: str) -> bool:
    bare = line.rstrip(" \t")
    return bare.startswith(fence) and not bare.strip(fence[0])


def without_copied(old: Block, new: Block, path: bytes) -> Iterator[tuple[Block, Block, str]]:
    """Yield a search text and its replacement without each artifact of copying, and its name."""
    if not old:
        return
    unfenced = _inside_fence(old)
    if unfenced is not None:
        old, new = unfenced, _inside_fence(new) or new
        yield old, new, FENCE
    if len(old) > 1 and _is_path(old[0], path):
        yield old[1:], new[1:] if new and _is_path(new[0], path) else new, PATH
    numbered = _without_numbers(old, rising=True)
    unnumbered = _without_numbers(new, rising=False) if numbered else None
    if numbered and unnumbered:
        yield numbered[0], unnumbered[0], NUMBERS
        if numbered[1] is not None:  # a blank after each sign may be of the copy, or of the lines
            yield numbered[1], unnumbered[1] or unnumbered[0], NUMBERS


def _inside_fence(lines: Sequence[Line]) -> Sequence[Line] | None:
    """Return the lines between a first and a last line that are a code fence."""
    if len(lines) < 3:  # noqa: PLR2004 (two fence lines, and one between them)
        return None
    first, last = (_text(line).strip() for line in (lines[0], lines[-1]))
    return lines[1:-1] if first.startswith(FENCE_MARKS) and last in FENCE_MARKS else None


def _text(line: bytes | str) -> str:
    return line.decode(errors="replace") if isinstance(line, bytes) else line


def _is_path(line: bytes, path: bytes) -> bool:
    return line.strip(b" \t`*#:") == path


def _without_numbers(lines: Block, *, rising: bool) -> tuple[Block, Block | None] | None:
    """Return the lines without the numbers in front of all of them; as they are, if none has any.

    And the same without one blank more, if all have one behind a sign that is written with blanks. None if
    only some lines have a number; with `rising`, if none has, or they do not rise by one.
    """
    split = [_number_and_rest(line.decode(errors="surrogateescape")) for line in lines]
    numbers = [number for number, _, _ in split if number is not None]
    if not numbers and not rising:
        return lines, None
    is_rising = len(numbers) > 1 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    if len(numbers) < len(lines) or (rising and not is_rising):
        return None
    rest = [line.encode(errors="surrogateescape") for _, line, _ in split]
    spaced = all(sign in SPACED and line.startswith(" ") for _, line, sign in split if line.strip())
    return rest, [line[1:] for line in rest] if spaced else None


def _number_and_rest(line: str) -> tuple[int | None, str, str]:
    """Return the number of a line, the text behind it and the sign between them; None if it has no number."""
    bare = line.lstrip(" ")
    rest = bare.lstrip("0123456789")
    digits = bare[: len(bare) - len(rest)]
    separated = rest.lstrip(" ")
    sign = next((sign for sign in SEPARATORS if separated.startswith(sign)), "")
    if not digits or not sign or len(digits) > MOST_DIGITS:
        return None, line, ""
    return int(digits), separated.removeprefix(sign), sign


def around_dots(old: Block, new: Block) -> list[tuple[Block, Block]] | None:
    """Return the pieces between lines of dots, if both texts have the same ones; else None.

    None, too, if a piece is empty in the search text only: nothing tells where the other goes.
    """
    wanted, dots = _pieces(old)
    pieces, same = _pieces(new)
    if not dots or dots != same:
        return None
    both = [(piece, other) for piece, other in zip(wanted, pieces, strict=True) if piece or other]
    return both if all(piece for piece, _ in both) else None


def _pieces(lines: Block) -> tuple[list[Block], list[str]]:
    pieces: list[list[bytes]] = [[]]
    dots = []
    for line in lines:
        bare = line.strip().decode(errors="replace")
        if bare in DOTS:
            dots.append(bare)
            pieces.append([])
        else:
            pieces[-1].append(line)
    return list(pieces), dots


class Artifact(Value):
    """Something that copying a text adds to it; `remove` returns a text that has none as it is."""

    name: str
    remedy: str  # ends the sentence "it would match …"
    remove: Callable[[str], str]


def _without_listing(text: str) -> str:
    """Remove the number, separator and blank that listings put in front of each line."""
    split = [_number_and_rest(line) for line in text.split("\n")]
    if not all(number is not None or not line.strip() for number, line, _ in split):
        return text
    spaced = all(line.startswith(" ") for _, line, _ in split if line.strip())
    return "\n".join(line[spaced:] for _, line, _ in split)


def _without_code_fence(text: str) -> str:
    inside = _inside_fence(text.strip("\n").split("\n"))
    return text if inside is None else "\n".join(inside)


def _without_marks(text: str) -> str:
    """Return the old side of a diff."""
    if text[:1] not in DIFF_MARKS:
        return text
    lines = [line for line in text.split("\n") if line]
    marked = all(line[0] in DIFF_MARKS for line in lines) and any(line[0] in "+-" for line in lines)
    return "\n".join(line[1:] for line in lines if line[0] != "+") if marked else text


def _without_ellipsis(text: str) -> str:
    """Remove a first and a last line that stand for lines left out."""
    lines = text.strip("\n").split("\n")
    first = 1 if _is_ellipsis(lines[0]) else 0
    last = len(lines) - (1 if _is_ellipsis(lines[-1]) else 0)
    return "\n".join(lines[first:last]) if last - first < len(lines) else text


def _is_ellipsis(line: str) -> bool:
    bare = line.strip(COMMENT_SIGNS)
    return bare.startswith(ELLIPSES) or bare.endswith(ELLIPSES)


ARTIFACTS = (
    Artifact("line numbers", "without the line numbers in front of its lines", _without_listing),
    Artifact("diff marks", "without the + and - in front of its lines", _without_marks),
    Artifact("code fence", "without the code fence around it", _without_code_fence),
    Artifact("escaped entities", "with < > & in place of &lt; &gt; &amp;", without_entities),
    Artifact(
        "quotes",
        "with straight quotes in place of curly ones",
        lambda text: text if text.isascii() else text.translate(CURLY_QUOTES | PRIMES),
    ),
    Artifact(
        "backslashes",
        "without the backslashes in front of its quotes",
        lambda text: text.replace('\\"', '"').replace("\\'", "'"),
    ),
    Artifact(
        "escaped line breaks",
        "with line breaks in place of \\n",
        lambda text: text.replace("\\n", "\n").replace("\\t", "\t"),
    ),
    Artifact("ellipsis", "without the line that stands for others", _without_ellipsis),
)


def around_ellipsis(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the text before each line that stands for lines left out, that line, and the text after it."""
    lines = text.strip("\n").split("\n") if any(dots in text for dots in ELLIPSES) else []
    for number, line in enumerate(lines[1:-1], 1):
        if _is_ellipsis(line):
            yield "\n".join(lines[:number]), line, "\n".join(lines[number + 1 :])


def visible(text: str) -> str:
    """Return a text as one line, with invisible characters escaped and long runs of blanks as a count.

    An escaped character is in ⟨⟩, so that a line break is not taken for a backslash and an `n`.
    """

    def escape(char: str) -> str:
        plain = char == " " or (char.isascii() and char.isprintable())
        is_seen = unicodedata.category(char)[0] in "LNPS" and char not in BLANK_LETTERS and char != "\u27e8"
        return char if plain or is_seen else f"\u27e8{char.encode('unicode_escape').decode()}\u27e9"

    escaped = "".join(map(escape, text))
    return re.sub(_MANY_BLANKS, lambda run: f"\u27e8{len(run[0])} blanks\u27e9", escaped)
