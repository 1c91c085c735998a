"""Which words differ between the removed and the added lines of a diff, so that they can be marked."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Line = tuple[str, str]  # its kind, and its text
    Spans = list[tuple[int, int]]  # of characters in a text

WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
MAX_LENGTH = 1000  # characters of a line in which words are compared
MAX_PAIRS = 2000  # pairs of lines that are compared, in all
ALIKE = 0.5  # the share of equal words from which on two lines are versions of one


def changed_words(lines: Sequence[Line]) -> dict[int, Spans]:
    """Return the differing spans of each line that was changed, not removed or added as a whole."""
    found: dict[int, Spans] = {}
    compared = 0
    for removed, added in _runs(lines):
        if len(removed) != len(added):
            continue  # it is unknown which line became which
        for old, new in zip(removed, added, strict=True):
            compared += 1
            if compared > MAX_PAIRS:
                return found
            spans = _differences(lines[old][1], lines[new][1])
            if spans:
                found[old], found[new] = spans
    return found


def _runs(lines: Sequence[Line]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the removed lines, and the added lines that follow them at once, by their numbers."""
    removed: list[int] = []
    added: list[int] = []
    for number, (kind, text) in enumerate([*lines, ("same", "")]):
        if kind == "removed" and not added:
            removed.append(number)
        elif kind == "added" and removed:
            added.append(number)
        elif not text.startswith("\\"):  # which tells that the line before has no line break
            if removed and added:
                yield removed, added
            removed, added = ([number] if kind == "removed" else []), []


def _differences(old: str, new: str) -> tuple[Spans, Spans] | None:
    if max(len(old), len(new)) > MAX_LENGTH:
        return None
    old_words, new_words = WORDS.findall(old[1:]), WORDS.findall(new[1:])  # the sign is no part of the line
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    if matcher.ratio() < ALIKE:
        return None
    sides: tuple[Spans, Spans] = ([], [])
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        for spans, words, start, end in (
            (sides[0], old_words, old_start, old_end),
            (sides[1], new_words, new_start, new_end),
        ):
            if start < end:
                first = 1 + sum(map(len, words[:start]))
                spans.append((first, first + sum(map(len, words[start:end]))))
    return sides
