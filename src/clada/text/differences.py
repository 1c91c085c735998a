"""How two lines differ: the ways that matter little to a reader and everything to an exact search."""

from __future__ import annotations

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Form = Callable[[str], str]
    Fit = Callable[[str, str], bool]

TEXT = "text"  # the difference of lines that say different things
MOST = 20_000  # characters of a line that are looked at closely
WIDTH = 100  # characters of a line that are shown on its own
BRIEF = 60  # and in a sentence

_ENTITIES = (
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", '"'),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&nbsp;", " "),
    ("&amp;", "&"),
)
# By code points, since they look alike.
_SINGLE = (*range(0x2018, 0x201C), 0x2032)
_DOUBLE = (*range(0x201C, 0x2020), 0x2033)
_OTHER_QUOTES = (0x27, 0x60, 0xAB, 0xB4, 0xBB, 0x2039, 0x203A)  # ' and ` among them
_DASHES = (*range(0x2010, 0x2016), 0x2212)
_UNSEEN = (0xAD, *range(0x200B, 0x200E), 0x2060, 0xFEFF)
_QUOTES = dict.fromkeys((*_SINGLE, *_DOUBLE, *_OTHER_QUOTES), '"')
_CURLY = dict.fromkeys(_SINGLE, "'") | dict.fromkeys(_DOUBLE, '"')
_ALIKE: dict[int, str | None] = {**dict.fromkeys(_DASHES, "-"), **dict.fromkeys(_UNSEEN)}
LEGEND = "· is a space, → a tab"
_VISIBLE = {" ": "·", "\t": "→", "\r": "␍", "\n": "␊", "\u00a0": "⍽", "\u3000": "□"}


def unescaped(text: str) -> str:
    """Return the text with the common entities as the characters they stand for."""
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return text


def straight(text: str) -> str:
    """Return the text with straight quotes in place of curly ones."""
    return text if text.isascii() else text.translate(_CURLY)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


def _without_quotes(text: str) -> str:
    return text.translate(_QUOTES)


def _plain(text: str) -> str:
    """Return the text without characters that only look like others, or like nothing."""
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFKC", text.translate(_ALIKE))


def _without_backslashes(text: str) -> str:
    return text.replace("\\", "")


def folded(line: str) -> str:
    """Return what is left of a line when all of the ways below make no difference."""
    line = _without_quotes(_plain(unescaped(line)))
    return _without_blanks(_without_backslashes(line)).casefold()


# A difference has the name of the first form in which the lines agree.
_FORMS: tuple[tuple[str, Form], ...] = (
    ("trailing blanks", str.rstrip),
    ("indentation", str.lstrip),
    ("indentation and trailing blanks", str.strip),
    ("blanks", _without_blanks),
    ("letter case", str.casefold),
    ("quotes", _without_quotes),
    ("escaped entities", unescaped),
    ("look-alike characters", _plain),
    ("backslashes", _without_backslashes),
    ("several small ways (blanks, quotes, letter case, escapes)", folded),
)


def difference(wanted: str, found: str, fit: Fit) -> str | None:
    """Name the way in which a found line does not fit the wanted one; None where it does."""
    if fit(wanted, found):
        return None
    return next((name for name, form in _FORMS if fit(form(wanted), form(found))), TEXT)


def whole(wanted: str, found: str) -> bool:
    """Tell whether a line inside a search text fits: it must be all of the line."""
    return wanted == found


def at_end(wanted: str, found: str) -> bool:
    """Tell whether a search text's first line fits: it may start late in the line."""
    return found.endswith(wanted)


def at_start(wanted: str, found: str) -> bool:
    """Tell whether a search text's last line fits: it may end early in the line."""
    return found.startswith(wanted)


def within(wanted: str, found: str) -> bool:
    """Tell whether a search text's only line fits: it may be any part of the line."""
    return wanted in found


def similarity(wanted: str, found: str, *, partly: bool) -> float:
    """Return from 0 to 1 how much of two different lines is the same: at the ends, or in between."""
    wanted, found = " ".join(wanted[:MOST].split()), " ".join(found[:MOST].split())
    longer = max(len(wanted), len(found), 1)
    runs, others = _runs(wanted), _runs(found)
    most = max(len(runs) if partly else max(len(runs), len(others)), 1)
    return max(sum(_common_ends(wanted, found)) / longer, len(runs & others) / most)


def _runs(text: str) -> set[str]:
    """Return all runs of three characters."""
    return set(map("".join, zip(text, text[1:], text[2:], strict=False)))


def _common_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many characters the two share at the start, and how many more at the end."""
    start = _common_start(one, other)
    return start, _common_start(one[start:][::-1], other[start:][::-1])


def _common_start(one: str, other: str) -> int:
    """Return how many characters the two share at the start: by halves, since lines can be very long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def lined_up(wanted: str, found: str) -> str:
    """Return a long line from where the wanted text most likely starts in it."""
    half = (len(wanted) + 1) // 2
    for part, offset in ((wanted[:half], 0), (wanted[half:], half), (wanted[: half // 2], 0)):
        there = found.find(part)
        if part and there >= 0:
            return found[max(there - offset, 0) :]
    return found


def visible(line: str, other: str) -> str:
    """Return a line as it is shown beside another: blanks are marked around it and where the two differ."""
    start, end = _common_ends(line, other)
    body = range(len(line) - len(line.lstrip()), len(line.rstrip()))
    differing = range(start, len(line) - end)
    begin = max(0, start - WIDTH // 3) if len(line) > WIDTH else 0
    part = "".join(
        _VISIBLE.get(character, character) if index not in body or index in differing else character
        for index, character in enumerate(line[begin : begin + WIDTH], begin)
    )
    return _cut(part, begin, len(line)) or "(a blank line)"


def brief(line: str, other: str = "") -> str:
    """Return a line for quoting in a sentence, cut around where it differs from another."""
    line, other = line.strip(), other.strip()
    begin = max(0, min(_common_start(line, other) - BRIEF // 2, len(line) - BRIEF))
    return _cut(line[begin : begin + BRIEF], begin, len(line))


def _cut(part: str, begin: int, length: int) -> str:
    """Return a part of a line, safe to show, with dots for the rest."""
    return ("…" if begin else "") + escape_controls(part) + ("…" if begin + len(part) < length else "")


def listed(line: str) -> str:
    """Return a line for a listing, as it is."""
    return _cut(line[: 2 * WIDTH], 0, len(line))
