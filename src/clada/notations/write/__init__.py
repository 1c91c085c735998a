"""Writers: plans and changes of a tree, as documents in a notation. The reverse of reading; pure.

A writer is named in the row of its notation. Writers of native notations have two methods: `operation` writes
one operation, `document` puts blocks of written operations together. Writers of dialects have one,
`document`, which writes changes of files, and commands if it `takes_commands`. They raise CannotSayError for
anything that they cannot express. The caller parses the written document and compares (see `convert`).
"""

from __future__ import annotations

from shlex import quote

from clada.text.diff import line_changes, split_lines
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class CannotSayError(Exception):
    """A notation cannot express something."""


class WrittenBlock(Value):
    """A block of operations that are written already."""

    implicit: bool
    version: str | None
    operations: tuple[str, ...]
    atomic: bool = False


class FileChange(Value):
    """A change of a file: its old text and its new one; None if there is no file."""

    path: str
    old: str | None
    new: str | None
    executable: bool = False  # it is a new file that can be executed


def quote_word(text: str) -> str:
    """Return a path as a word of a command; one with a dash in front must not look like an option."""
    return quote(f"./{text}" if text.startswith("-") else text)


def replacements(
    old: str, new: str, *, least: int = 0, whole_lines: bool = False
) -> Sequence[tuple[str, str]]:
    """Return texts of whole lines, and what each becomes, by which the old text becomes the new one.

    They are replaced one after the other, and each is there once when its turn comes. `least` is how many
    lines around a change are taken in any case; neither text is empty, as long as the old one is not.
    """
    before, after = split_lines(old), split_lines(new)
    found = []
    for change in line_changes(before, after):
        now = after[: change.new_start] + before[change.start :]  # the text when its turn comes
        start, end = change.new_start, change.new_start + change.end - change.start
        above = below = least
        while True:
            first, last = max(0, start - above), min(len(now), end + below)
            search, middle = now[first:last], after[change.new_start : change.new_end]
            replace = now[first:start] + middle + now[end:last]
            enough = search and replace and _is_there_once(now, search, whole_lines=whole_lines)
            if enough or (first == 0 and last == len(now)):
                break
            above, below = above + 1, below + 1
        found.append(("".join(search), "".join(replace)))
    return found


def _is_there_once(lines: list[str], search: list[str], *, whole_lines: bool) -> bool:
    if whole_lines:
        size, trimmed = len(search), [line.strip() for line in lines]
        wanted = [line.strip() for line in search]
        return sum(trimmed[at : at + size] == wanted for at in range(len(lines) - size + 1)) == 1
    text, part = "".join(lines), "".join(search)
    at = text.find(part)
    return at >= 0 and text.find(part, at + 1) < 0
