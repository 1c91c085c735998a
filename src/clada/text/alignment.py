"""Pairs the lines of a search text with lines of a file, from a pair that is known upwards and downwards.

1. Lines that say something, and the same but for their form, are paired by a diff.
2. Between those, the pairs are chosen that are worth the most together, brackets and blank lines among them.
3. The place ends where going on would pass more lines of the file than the pairs behind them are worth.

Here `w` is the index of a wanted line (of the search text), `f` that of a found line (of the file).
"""

from __future__ import annotations

from itertools import accumulate

from clada.text import differences
from clada.text.diff import line_changes
from clada.text.forms import fold_form
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Pair = tuple[int | None, int | None]  # w and f; None if the line is missing on that side

# Similarities are from 0 to 1.
FORM_SIMILARITY = 0.95  # of two lines that differ in form only
TEXT_SIMILARITY = 0.7  # at most, of two lines with different texts
MIN_PAIR_SIMILARITY = 0.3  # below this, lines at the edge of a place are not a pair
MOST_WEIGHT = 30  # of a line, by its length: a long one says hardly more than that
PASSED_LINE = 2  # the weight that pairs must bring for each line of the file that is passed to reach them
PASSED_BLANK = 0.5  # and for a blank one
MOST_PASSED = 10  # lines in a row that cost weight; more of them do not matter
END = "\n"  # like no line: the part of the file that is examined ends anywhere, the search text does not
MOST_COMPARED = 100  # wanted lines times found lines, each of which is compared with each

# What makes a place worth pointing at, even if much of the search text is not there.
MIN_RUN = 2  # lines in a row that are as wanted
MIN_RUN_WORDS = 20  # letters and digits in them
MIN_LINE_WORDS = 4  # of a line that counts: a bracket says nothing


class WantedLines(Value):
    """The lines of a search text. The first and last may be parts of lines, unless a line break is there."""

    lines: Sequence[str]
    starts_line: bool
    ends_line: bool

    def fit(self, w: int) -> differences.Fit:
        """Return the test that a line of the file must pass to match this one."""
        from_start = w > 0 or self.starts_line
        to_end = w < len(self.lines) - 1 or self.ends_line
        return differences.FITS[from_start, to_end]


class Alignment:
    """The lines of a search text and those of a part of a file, in pairs."""

    def __init__(
        self, wanted: WantedLines, found: Sequence[str], lines: range, known: tuple[int, int]
    ) -> None:
        """Pair these wanted lines with found ones, from the known pair on."""
        self._wanted, self._found = wanted, found
        self._similarities: dict[Pair, float] = {}
        w, f = known
        below = self._pair_outwards(range(w + 1, lines.stop), range(f + 1, len(found)))
        above = self._pair_outwards(range(w - 1, lines.start - 1, -1), range(f - 1, -1, -1))
        self.pairs: Sequence[Pair] = [*reversed(above), (w, f), *below]

    @property
    def similarity(self) -> float:
        """The similarity of all pairs, from 0 to 1, weighted by the length of their lines."""
        wanted = self._wanted.lines
        got = sum(_weight(wanted[w]) * self._similar(w, f) for w, f in self.pairs if w is not None)
        total = sum(_weight(wanted[w]) for w, _ in self.pairs if w is not None)
        return got / (total - sum(gain for gain in self._gains(self.pairs) if gain < 0))

    @property
    def has_matching_run(self) -> bool:
        """Whether some lines of the file follow each other as wanted, which by chance they would not."""
        lines = words = 0
        for w, f in self.pairs:
            if f is None or not self._found[f].strip():
                continue  # lines that the file lacks, and blank ones, do not end a run
            said = _letter_count(self._found[f])
            if self._similar(w, f) < FORM_SIMILARITY:
                lines = words = 0
            elif said >= MIN_LINE_WORDS:
                lines, words = lines + 1, words + said
            if lines >= MIN_RUN and words >= MIN_RUN_WORDS:
                return True
        return False

    def _pair_outwards(self, ws: range, fs: range) -> list[Pair]:
        """Pair two runs of lines that lead away from the known pair."""
        if not ws:  # as for a search text of one line: nothing would be worth what is passed
            return []
        pairs: list[Pair] = []
        w = f = 0
        wanted = [_form(self._wanted.lines[w], f"wanted {w}\n") for w in ws]
        found = [*(_form(self._found[f], f"found {f}\n") for f in fs), END]
        for change in line_changes(wanted, found):
            pairs += zip(ws[w : change.start], fs[f : change.new_start], strict=True)
            w, f = change.end, change.new_end
            pairs += self._pair_changed(ws[change.start : w], fs[change.new_start : f], inside=w < len(ws))
        return self._trim_far_end(pairs)

    def _pair_changed(self, ws: range, fs: range, *, inside: bool) -> Iterator[Pair]:
        """Yield pairs of lines, in order, that are worth the most together; those that are left, after them.

        Inside, between lines that are the same, nothing is passed in vain.
        """
        near = fs[: min(MOST_COMPARED // max(len(ws), 1), len(ws) + MOST_PASSED)]
        # The weight of the lines from there on.
        worth = [[0.0] * (len(near) + 1) for _ in range(len(ws) + 1 if near else 1)]
        for i in reversed(range(len(worth) - 1)):
            for j in reversed(range(len(near))):
                cost = 0.0 if inside else -self._gain(None, near[j])
                passing = max(worth[i][j + 1] - cost, 0.0)
                worth[i][j] = max(self._gain(ws[i], near[j]) + worth[i + 1][j + 1], worth[i + 1][j], passing)
        i = j = w = f = 0
        while worth[i][j]:
            if worth[i][j] == self._gain(ws[i], near[j]) + worth[i + 1][j + 1]:
                yield from _in_order(ws[w:i], fs[f:j])
                yield ws[i], fs[j]
                i, j = i + 1, j + 1
                w, f = i, j
            elif worth[i][j] == worth[i + 1][j + 1]:
                i, j = i + 1, j + 1
            elif worth[i][j] == worth[i + 1][j]:
                i += 1
            else:
                j += 1
        yield from _in_order(ws[w:], fs[f:])

    def _trim_far_end(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Leave out found lines at the far end that cost more to reach than they are worth."""
        worth = [0.0, *accumulate(self._gains(pairs))]
        end = worth.index(max(worth))
        return [*pairs[:end], *((w, None) for w, _ in pairs[end:] if w is not None)]

    def _gains(self, pairs: Sequence[Pair]) -> Iterator[float]:
        """Yield the weight of each pair; of many lines that are passed in a row, only the first few cost."""
        passed = 0
        for w, f in pairs:
            passed = passed + 1 if w is None else 0
            yield self._gain(w, f) if passed <= MOST_PASSED else 0.0

    def _gain(self, w: int | None, f: int | None) -> float:
        """Return the weight that a pair adds to a place."""
        if f is None:
            return 0.0
        similar = self._similar(w, f)
        if w is None or similar < MIN_PAIR_SIMILARITY:
            return -PASSED_LINE if self._found[f].strip() else -PASSED_BLANK
        return similar * _weight(self._wanted.lines[w])

    def _similar(self, w: int | None, f: int | None) -> float:
        """Return from 0 to 1 how similar the two lines of a pair are."""
        if w is None or f is None:
            return 0.0
        if (w, f) not in self._similarities:
            self._similarities[w, f] = _line_similarity(
                self._wanted.lines[w], self._found[f], self._wanted.fit(w)
            )
        return self._similarities[w, f]


def _line_similarity(wanted: str, found: str, fit: differences.Fit) -> float:
    if fit(wanted, found):
        return 1.0
    if wanted.strip() == found.strip():
        return FORM_SIMILARITY
    if wanted.strip() and fit(fold_form(wanted), fold_form(found)):
        return FORM_SIMILARITY
    partly = fit is not differences.FITS[True, True]
    shorter, longer = sorted((len(wanted.strip()), len(found.strip())))
    if shorter < MIN_PAIR_SIMILARITY * longer and not partly:
        return 0.0  # it need not be examined
    return TEXT_SIMILARITY * differences.line_similarity(wanted, found, partly=partly)


def _form(line: str, unlike: str) -> str:
    """Return a key that is equal for lines that differ in form only; a line without words is unlike any."""
    return fold_form(line) if _letter_count(line) >= MIN_LINE_WORDS else unlike


def _letter_count(line: str) -> int:
    return sum(map(str.isalnum, line))


def _weight(line: str) -> int:
    return min(len(line.strip()), MOST_WEIGHT) + 1


def _in_order(ws: Sequence[int], fs: Sequence[int]) -> Iterator[Pair]:
    """Yield lines as pairs as long as both sides have some, then alone."""
    both = min(len(ws), len(fs))
    yield from zip(ws[:both], fs[:both], strict=True)
    yield from ((w, None) for w in ws[both:])
    yield from ((None, f) for f in fs[both:])
