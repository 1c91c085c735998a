"""Ways in which a search text differs from a file in form only, which an exact search does not forgive.

1. `difference` names how one line differs from another: blanks, quotes, letter case and so on.
2. `ARTIFACTS` are what a whole search text brings along when it was copied: line numbers, a code fence.
3. `visible`, `brief` and `listed` show a line, so that its difference can be seen.
"""

from __future__ import annotations

from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Form = Callable[[str], str]
    Fit = Callable[[str, str], bool]  # of a wanted and a found line

TEXT = "text"  # the name of the difference between lines that say different things
MAX_COMPARED = 20_000  # characters of a line
WORD, LONGEST_WORD = 12, 40  # characters that another word counts, however long it is; and how long it may be
WIDTH = 100  # characters of a line that is shown on its own
BRIEF_WIDTH = 60  # characters of a line that is quoted in a sentence

_ENTITIES = (
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
)
# By code point, since in an editor they look alike.
_SINGLE_QUOTES = (*range(0x2018, 0x201C), 0x2032)
_DOUBLE_QUOTES = (*range(0x201C, 0x2020), 0x2033)
_OTHER_QUOTES = (0x27, 0x60, 0xAB, 0xB4, 0xBB, 0x2039, 0x203A)  # ' and ` among them
_DASHES = (*range(0x2010, 0x2016), 0x2212)
_INVISIBLE = (0xAD, *range(0x200B, 0x200E), 0x2060, 0xFEFF)
_ALL_QUOTES = dict.fromkeys((*_SINGLE_QUOTES, *_DOUBLE_QUOTES, *_OTHER_QUOTES), '"')
_CURLY_QUOTES = dict.fromkeys(_SINGLE_QUOTES, "'") | dict.fromkeys(_DOUBLE_QUOTES, '"')
_LOOK_ALIKES: dict[int, str | None] = {**dict.fromkeys(_DASHES, "-"), **dict.fromkeys(_INVISIBLE)}
LEGEND = "· is a space, → a tab"
_BLANK_SIGNS = {" ": "·", "\t": "→", "\r": "␍", "\n": "␊", "\u00a0": "⍽", "\u3000": "□"}

# What artifacts of copying look like.
FENCE = "```"
SEPARATORS = (":", "|", "│", "→", "\t")  # between a line number and its line
DIFF_MARKS = ("+", "-", " ")
COMMENT_SIGNS = "#/*-<!>{};% "  # that may be around an ellipsis in a comment
ELLIPSES = ("...", "…")


def _without_entities(text: str) -> str:
    """Return the text with the characters that common HTML entities stand for."""
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return text


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _with_equal_quotes(text: str) -> str:
    return text.translate(_ALL_QUOTES)


def _without_look_alikes(text: str) -> str:
    """Return the text without invisible characters, and with plain ones for those that look like them."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFKC", text.translate(_LOOK_ALIKES))


def _without_backslashes(text: str) -> str:
    return text.replace("\\", "")


def folded(line: str) -> str:
    """Return the line with all forms below applied: lines that differ in form only become equal."""
    line = _with_equal_quotes(_without_look_alikes(_without_entities(line)))
    return _without_blanks(_without_backslashes(line)).casefold()


# A difference is named after the first form in which both lines are equal.
_FORMS: tuple[tuple[str, Form], ...] = (
    ("trailing blanks", str.rstrip),
    ("indentation", str.lstrip),
    ("indentation and trailing blanks", str.strip),
    ("blanks", _without_blanks),
    ("letter case", str.casefold),
    ("quotes", _with_equal_quotes),
    ("escaped entities", _without_entities),
    ("look-alike characters", _without_look_alikes),
    ("backslashes", _without_backslashes),
    ("several small ways (blanks, quotes, letter case, escapes)", folded),
)


def difference(wanted: str, found: str, fit: Fit) -> str | None:
    """Return the name of the difference between a found and a wanted line; None where the line fits."""
    if fit(wanted, found):
        return None
    return next((name for name, form in _FORMS if fit(form(wanted), form(found))), TEXT)


def whole(wanted: str, found: str) -> bool:
    """Fit a line inside a search text: the found line must equal it."""
    return wanted == found


def at_end(wanted: str, found: str) -> bool:
    """Fit the first line of a search text: it may start in the middle of the found line."""
    return found.endswith(wanted)


def at_start(wanted: str, found: str) -> bool:
    """Fit the last line of a search text: it may end in the middle of the found line."""
    return found.startswith(wanted)


def within(wanted: str, found: str) -> bool:
    """Fit the only line of a search text: it may be any part of the found line."""
    return wanted in found


def line_similarity(wanted: str, found: str, *, partly: bool) -> float:
    """Return from 0 to 1 how similar two different lines are: by their common ends, or by common trigrams.

    Where they differ in one word, it hardly matters how long that is. With `partly`, what the found line has
    more does not count.
    """
    wanted, found = " ".join(wanted[:MAX_COMPARED].split()), " ".join(found[:MAX_COMPARED].split())
    start, end = _common_ends(wanted, found)
    differing = max(len(wanted), len(found)) - start - end
    if differing <= LONGEST_WORD and not any(
        " " in line[start : len(line) - end] for line in (wanted, found)
    ):
        differing = min(differing, WORD)
    ours, theirs = _trigrams(wanted), _trigrams(found)
    most = max(len(ours) if partly else max(len(ours), len(theirs)), 1)
    return max((start + end) / max(start + end + differing, 1), len(ours & theirs) / most)


def _trigrams(text: str) -> set[str]:
    return set(map("".join, zip(text, text[1:], text[2:], strict=False)))


def _common_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many characters the two share at the start, and how many more at the end."""
    start = common_start(one, other)
    return start, common_start(one[start:][::-1], other[start:][::-1])


def common_start(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many characters, or items, the two share at the start, by bisection: there can be many."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def from_match(wanted: str, found: str) -> str:
    """Return a long found line from where the wanted text most likely starts in it."""
    half = (len(wanted) + 1) // 2
    for part, offset in ((wanted[:half], 0), (wanted[half:], half), (wanted[: half // 2], 0)):
        there = found.find(part)
        if part and there >= 0:
            return found[max(there - offset, 0) :]
    return found


def visible(line: str, other: str) -> str:
    """Return a line with its blanks made visible: those around it, and where it differs from the other."""
    start, end = _common_ends(line, other)
    body = range(len(line) - len(line.lstrip()), len(line.rstrip()))
    differing = range(start, len(line) - end)
    begin = max(0, start - WIDTH // 3) if len(line) > WIDTH else 0
    part = "".join(
        _BLANK_SIGNS.get(character, character) if index not in body or index in differing else character
        for index, character in enumerate(line[begin : begin + WIDTH], begin)
    )
    return _cut(part, begin, len(line)) or "(a blank line)"


def brief(line: str, other: str = "") -> str:
    """Return a line to be quoted in a sentence, cut around where it differs from the other."""
    line, other = line.strip(), other.strip()
    begin = max(0, min(common_start(line, other) - BRIEF_WIDTH // 2, len(line) - BRIEF_WIDTH))
    return _cut(line[begin : begin + BRIEF_WIDTH], begin, len(line))


def _cut(part: str, begin: int, length: int) -> str:
    """Return a part of a line of this length, escaped, with dots for what is cut off."""
    return ("…" if begin else "") + escape_controls(part) + ("…" if begin + len(part) < length else "")


def listed(line: str) -> str:
    """Return a line for a numbered listing."""
    return _cut(line[: 2 * WIDTH], 0, len(line))


class Artifact(Value):
    """Something that copying a text adds to it; `remove` returns a text that has none as it is."""

    name: str
    remedy: str  # ends the sentence "it would match …"
    remove: Callable[[str], str]


def _without_fence(text: str) -> str:
    if FENCE not in text:
        return text
    lines = text.strip("\n").split("\n")
    fenced = len(lines) > 2 and lines[0].startswith(FENCE) and lines[-1].strip() == FENCE  # noqa: PLR2004 (fences)
    return "\n".join(lines[1:-1]) if fenced else text


def _without_numbers(text: str) -> str:
    """Remove the number, separator and blank that listings put in front of each line."""
    lines = []
    for line in text.split("\n"):
        numbered = line.lstrip()
        rest = numbered.lstrip("0123456789")
        separated = rest.lstrip(" ")
        if not numbered:
            lines.append(line)
        elif rest != numbered and separated.startswith(SEPARATORS):
            lines.append(separated[1:])
        else:
            return text
    spaced = all(line.startswith(" ") for line in lines if line.strip())
    return "\n".join(line[spaced:] for line in lines)


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
    Artifact("line numbers", "without the line numbers in front of its lines", _without_numbers),
    Artifact("diff marks", "without the + and - in front of its lines", _without_marks),
    Artifact("code fence", "without the code fence around it", _without_fence),
    Artifact("escaped entities", "with < > & in place of &lt; &gt; &amp;", _without_entities),
    Artifact(
        "quotes",
        "with straight quotes in place of curly ones",
        lambda text: text if text.isascii() else text.translate(_CURLY_QUOTES),
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
