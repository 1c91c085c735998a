"""Differences between a wanted line and a found one.

1. `difference` names how one line differs from another in form: blanks, quotes, letter case and so on.
2. `line_similarity` tells how similar two lines with different texts are.
3. `show_blanks`, `shorten_line` and `line_for_listing` show a line, so that its difference can be seen.
"""

from __future__ import annotations

from operator import eq

from clada.text.diff import common_ends, common_start
from clada.text.escape import escape_controls
from clada.text.forms import (
    fold_form,
    with_equal_quotes,
    without_backslashes,
    without_blanks,
    without_entities,
    without_look_alikes,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Form = Callable[[str], str]
    Fit = Callable[[str, str], bool]  # of a wanted and a found line

TEXT = "text"  # the name of the difference between lines that say different things
MAX_COMPARED = 20_000  # characters of a line
WORD, LONGEST_WORD = 12, 40  # weight of a different word, in characters, and its greatest length
WIDTH = 100  # characters of a line that is shown on its own
BRIEF_WIDTH = 60  # characters of a line that is quoted in a sentence

LEGEND = "· is a space, → a tab"
_BLANK_SIGNS = {" ": "·", "\t": "→", "\r": "␍", "\n": "␊", "\u00a0": "⍽", "\u3000": "□"}

# A difference is named after the first form in which both lines are equal.
_FORMS: tuple[tuple[str, Form], ...] = (
    ("trailing blanks", str.rstrip),
    ("indentation", str.lstrip),
    ("indentation and trailing blanks", str.strip),
    ("blanks", without_blanks),
    ("letter case", str.casefold),
    ("quotes", with_equal_quotes),
    ("escaped entities", without_entities),
    ("look-alike characters", without_look_alikes),
    ("backslashes", without_backslashes),
    ("several small ways (blanks, quotes, letter case, escapes)", fold_form),
)


def difference(wanted: str, found: str, fit: Fit) -> str | None:
    """Return the name of the difference between a found and a wanted line; None if the line fits."""
    if fit(wanted, found):
        return None
    return next((name for name, form in _FORMS if fit(form(wanted), form(found))), TEXT)


# How a found line must fit a wanted one, by whether the wanted line is whole at its start and at its end: the
# first line of a search text may start in the middle of a found line, and the last may end there.
FITS: dict[tuple[bool, bool], Fit] = {
    (True, True): eq,
    (True, False): lambda wanted, found: found.startswith(wanted),
    (False, True): lambda wanted, found: found.endswith(wanted),
    (False, False): lambda wanted, found: wanted in found,
}


def line_similarity(wanted: str, found: str, *, partly: bool) -> float:
    """Return from 0 to 1 how similar two different lines are: by their common ends, or by common trigrams.

    Where they differ in one word, it hardly matters how long that is. With `partly`, what the found line has
    more does not count.
    """
    wanted, found = " ".join(wanted[:MAX_COMPARED].split()), " ".join(found[:MAX_COMPARED].split())
    start, end = common_ends(wanted, found)
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


def from_match(wanted: str, found: str) -> str:
    """Return a long found line from where the wanted text most likely starts in it."""
    half = (len(wanted) + 1) // 2
    for part, offset in ((wanted[:half], 0), (wanted[half:], half), (wanted[: half // 2], 0)):
        there = found.find(part)
        if part and there >= 0:
            return found[max(there - offset, 0) :]
    return found


def show_blanks(line: str, other: str) -> str:
    """Return a line with its blanks made visible: those around it, and where it differs from the other."""
    start, end = common_ends(line, other)
    body = range(len(line) - len(line.lstrip()), len(line.rstrip()))
    differing = range(start, len(line) - end)
    begin = max(0, start - WIDTH // 3) if len(line) > WIDTH else 0
    part = "".join(
        _BLANK_SIGNS.get(character, character) if index not in body or index in differing else character
        for index, character in enumerate(line[begin : begin + WIDTH], begin)
    )
    return _cut_line(part, begin, len(line)) or "(a blank line)"


def shorten_line(line: str, other: str = "") -> str:
    """Return a line to be quoted in a sentence, cut around where it differs from the other."""
    line, other = line.strip(), other.strip()
    begin = max(0, min(common_start(line, other) - BRIEF_WIDTH // 2, len(line) - BRIEF_WIDTH))
    return _cut_line(line[begin : begin + BRIEF_WIDTH], begin, len(line))


def _cut_line(part: str, begin: int, length: int) -> str:
    """Return a part of a line of this length, escaped, with dots for the rest."""
    return ("…" if begin else "") + escape_controls(part) + ("…" if begin + len(part) < length else "")


def line_for_listing(line: str) -> str:
    """Return a line for a numbered listing."""
    return _cut_line(line[: 2 * WIDTH], 0, len(line))
