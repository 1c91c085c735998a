"""Hunks: the changed stretches of a file, with the lines around them that a model would quote."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

CONTEXT = 3  # lines around a change, as in unified diffs

Lines = list[str]


@dataclass(frozen=True)
class Hunk:
    """Lines with their sign (blank: kept, minus: removed, plus: added), and where they are in both files."""

    start: int
    new_start: int
    lines: tuple[tuple[str, str], ...]

    @property
    def old(self) -> Lines:
        """The lines to be found."""
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> Lines:
        """The lines to be there afterwards."""
        return [text for sign, text in self.lines if sign != "-"]

    @property
    def end(self) -> int:
        """The line after the last one that is found."""
        return self.start + len(self.old)


def split(text: str) -> Lines:
    """Return the lines of a text that ends in a line break, without their breaks."""
    return text.removesuffix("\n").split("\n")


def join(lines: Sequence[str]) -> str:
    """Return the text of these lines."""
    return "".join(line + "\n" for line in lines)


class Changes:
    """What changed between two texts."""

    def __init__(self, before: str, after: str) -> None:
        self.before, self.after = split(before), split(after)
        matcher = difflib.SequenceMatcher(None, self.before, self.after, autojunk=False)
        self.steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]

    @cached_property
    def plain_hunks(self) -> list[Hunk]:
        """Hunks with the usual context, wherever else their lines occur."""
        return self._hunks([[a - CONTEXT, b + CONTEXT] for _, a, b, _, _ in self.steps])

    @cached_property
    def unique_hunks(self) -> list[Hunk]:
        """Hunks with so much context that each is found once, in order, one after the other."""
        spans = [[a - CONTEXT, b + CONTEXT] for _, a, b, _, _ in self.steps]
        while True:
            hunks = self._hunks(spans)
            spans = [[hunk.start, hunk.end] for hunk in hunks]
            ambiguous = [
                index for index, hunk in enumerate(hunks) if not self._is_found_once(hunks, index, hunk)
            ]
            if not ambiguous:
                return hunks
            for index in ambiguous:
                spans[index][0] -= 2
                spans[index][1] += 2

    @cached_property
    def clear_hunks(self) -> list[Hunk] | None:
        """The unique hunks if they are found once however blanks and quotes are compared, or None."""
        hunks = self.unique_hunks
        states = [self.before, *(apply_hunks(self.before, hunks[:index]) for index in range(1, len(hunks)))]
        clear = all(
            count_lines(lines, hunk.old, loosely) == 1
            for hunk, state in zip(hunks, states, strict=True)
            for lines in (self.before, state)
        )
        return hunks if clear else None

    def one_hunk(self, step: int, context: int) -> Hunk:
        """Return a single change with this much context."""
        _, a, b, _, _ = self.steps[step]
        return self._hunks([[a - context, b + context]])[0]

    def _is_found_once(self, hunks: list[Hunk], index: int, hunk: Hunk) -> bool:
        text = "\n".join(hunk.old)
        done = apply_hunks(self.before, hunks[:index])
        return all(_count(text, "\n".join(lines)) == 1 for lines in (self.before, done))

    def _hunks(self, spans: list[list[int]]) -> list[Hunk]:
        merged: list[list[int]] = []
        for first, last in ([max(0, a), min(len(self.before), b)] for a, b in spans):
            if merged and first <= merged[-1][1]:
                merged[-1] = [min(first, merged[-1][0]), max(last, merged[-1][1])]
            else:
                merged.append([first, last])
        return [self._hunk(first, last) for first, last in merged]

    def _hunk(self, first: int, last: int) -> Hunk:
        lines: list[tuple[str, str]] = []
        shift = sum(
            (d - c) - (b - a) for _, a, b, c, d in self.steps if b <= first and (a, b) != (first, first)
        )
        at = first
        for _, a, b, c, d in self.steps:
            if first <= a and b <= last:
                lines += [(" ", text) for text in self.before[at:a]]
                lines += [("-", text) for text in self.before[a:b]]
                lines += [("+", text) for text in self.after[c:d]]
                at = b
        lines += [(" ", text) for text in self.before[at:last]]
        return Hunk(first, first + shift, tuple(lines))


def apply_hunks(before: Lines, hunks: Sequence[Hunk]) -> Lines:
    """Return the lines after these hunks, each at its own place."""
    result: Lines = []
    at = 0
    for hunk in hunks:
        result += before[at : hunk.start] + hunk.new
        at = hunk.end
    return result + before[at:]


def count_lines(lines: Lines, wanted: Lines, same: Callable[[str], str] = str) -> int:
    """Return how often these whole lines occur, one below the other, as seen through `same`."""
    lines, wanted = [same(line) for line in lines], [same(line) for line in wanted]
    width = len(wanted)
    return sum(lines[at : at + width] == wanted for at in range(len(lines) - width + 1))


def loosely(line: str) -> str:
    """Return a line without blanks at its ends and without the difference between quotes."""
    return line.strip().translate(_QUOTES)


_QUOTES = str.maketrans(dict.fromkeys('"\u2018\u2019\u201c\u201d', "'"))


def _count(text: str, content: str) -> int:
    """Return how often a text occurs, overlaps included."""
    count = at = 0
    while (at := content.find(text, at)) >= 0:
        count += 1
        at += 1
    return count
