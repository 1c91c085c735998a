"""Tell a part of a file from the whole file, by the old version of the file or by its end.

`missing_lines` compares lines without the blanks around them; blank lines do not count. A text is a part if

1. it is a piece of the file, nothing in it was changed, and two or more lines around it are missing;
2. two or more lines at the top or the bottom of the file are missing, and nothing stands in their place; or
   something does, but less than half as much, and 5 % of the file are missing. In a text that is no shorter
   than the file, 10 % of the file must be missing;
3. 30 % of the file are missing in one place, even if what stands there instead is subtracted;
4. it has no line of the file, and is shorter.

docs/contributing/decisions.md has the figures behind these numbers.

`ends_inside` tells whether a content ends in the middle of a string, a comment or a here-document. A line of
backticks in one of these looks like the end of the fence that the file is written in. The extension of the
path chooses the table; a language that is in none is not judged.
"""

from __future__ import annotations

import re

from clada.text.diff import line_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.text.diff import LineChange

AT_AN_EDGE = 2  # lines
SHARE_REPLACED = 5  # percent of the file missing at an edge where something else stands
SHARE_GROWN = 10  # percent of the file missing at an edge of a text that is no shorter
SHARE_IN_ONE_PLACE = 30  # percent of the file missing anywhere

_HASH = frozenset("py pyi pyx toml jl ex exs graphql gql coffee".split())  # that begins a comment
_SLASHES = frozenset("kt kts swift scala sc java groovy gradle fs dart cs".split())  # so do //
_BLOCK_COMMENTS = frozenset(
    """
    c cc cpp cxx h hh hpp hxx m mm cs java js jsx mjs cjs ts tsx mts cts go rs swift kt kts scala groovy
    gradle dart php css scss less sql proto
    """.split()
)
_HTML = frozenset("html htm xhtml xml svg vue svelte astro".split())
_SHELLS = frozenset("sh bash zsh ksh dockerfile".split())
_TEXTS = (
    r'"""(?:\\.|[^\\])*?(?:"""|(?P<open>\Z))' r"|'''(?:\\.|[^\\])*?(?:'''|(?P<open2>\Z))"
    r'|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'"
)  # fmt: skip
_WITH_HASH = rf"(?s){_TEXTS}|#[^\n]*"
_WITH_SLASHES = rf"(?s){_TEXTS}|//[^\n]*"
_COMMENT = r"(?sm)^[ \t]*/\*.*?(?:\*/|(?P<open>\Z))"
_HTML_COMMENT = r"(?s)<!--.*?(?:-->|(?P<open>\Z))"
_HEREDOC = (
    r"""(?sm)(?<!<)<<(?!<)-?[ \t]*(?![^\n]{0,200}\)\))(['"]?)(?P<word>[A-Za-z_]\w*)\1[^\n]*\n"""
    r"(?:.*?^[ \t]*(?P=word)[ \t]*$|.*(?P<open>\Z))"
)
_PATTERNS = (
    (_HASH, _WITH_HASH),
    (_SLASHES, _WITH_SLASHES),
    (_BLOCK_COMMENTS, _COMMENT),
    (_HTML, _HTML_COMMENT),
    (_SHELLS, _HEREDOC),
)


def missing_lines(old: str, new: str) -> tuple[int, int] | None:
    """Return the first and last line of the file that a text lacks, if the text is only a part of the file.

    Lines are counted from 1. Return None for a new version of the whole file.
    """
    numbered = [(number, bare) for number, line in enumerate(old.split("\n"), 1) if (bare := line.strip())]
    numbers, file = [number for number, _ in numbered], [line for _, line in numbered]
    text = [bare for line in new.split("\n") if (bare := line.strip())]
    if file == text or not file:
        return None
    gap = _missing_around(file, text, _extent(old) - _extent(new)) or _missing_in_changes(file, text)
    return (numbers[gap[0]], numbers[gap[1] - 1]) if gap else None


def _extent(text: str) -> int:
    """Return the number of lines between the first and the last that are not blank, with these."""
    return text.strip().count("\n") + 1 if text.strip() else 0


def _missing_around(file: Sequence[str], text: Sequence[str], fewer: int) -> tuple[int, int] | None:
    """Return the longer one of the parts missing above and below a piece of the file."""
    if fewer < AT_AN_EDGE or not 0 < len(text) < len(file):
        return None
    whole, piece = ("\n".join(("", *lines, "")) for lines in (file, text))
    at = whole.find(piece)
    if at < 0:
        return None
    start = whole.count("\n", 0, at)
    end = start + len(text)
    return (0, start) if start > len(file) - end else (end, len(file))


def _missing_in_changes(file: Sequence[str], text: Sequence[str]) -> tuple[int, int] | None:
    """Return the lines that are missing in one place, if they are too many for a change."""
    size, changes = len(file), list(line_changes(file, text))
    if sum(change.end - change.start for change in changes) == size:
        return (0, size) if len(text) < size else None
    grown = len(text) >= size
    missing = (change for change in changes if _is_missing(change, size, grown=grown))
    return next(((change.start, change.end) for change in missing), None)


def _is_missing(change: LineChange, size: int, *, grown: bool) -> bool:
    """Whether a change takes away so much of a file that it was probably not meant."""
    removed, added = change.end - change.start, change.new_end - change.new_start
    share = 100 * (removed - added) / size
    if share >= SHARE_IN_ONE_PLACE:
        return True
    at_an_edge = change.start == 0 or change.end == size
    least = SHARE_GROWN if grown else SHARE_REPLACED if added else 0
    return at_an_edge and removed - added >= AT_AN_EDGE and 2 * added <= removed and share >= least


def ends_inside(content: str, path: str) -> bool:
    """Whether the content of a file with this path ends inside of something that goes over several lines."""
    extension = path.replace("\\", "/").rpartition("/")[2].lower().rpartition(".")[2]
    for extensions, pattern in _PATTERNS:
        found = (
            [match.groupdict() for match in re.finditer(pattern, content)] if extension in extensions else []
        )
        if found and any(value is not None for name, value in found[-1].items() if name != "word"):
            return True  # the last thing that it finds has no end
    return False
