"""Words that differ between two versions of a line are found; lines that share little are left alone."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from clada.text.changed_words import MAX_PAIRS, changed_words


def marked(*texts: str) -> list[str]:
    """Return the lines of a diff with what differs in brackets."""
    kinds = {"-": "removed", "+": "added"}
    lines = [(kinds.get(text[0], "same"), text) for text in texts]
    spans = changed_words(lines)
    shown = []
    for number, text in enumerate(texts):
        pieces, at = [], 0
        for start, end in spans.get(number, []):
            pieces += [text[at:start], "[", text[start:end], "]"]
            at = end
        shown.append("".join([*pieces, text[at:]]))
    return shown


def test_words_that_differ_are_found() -> None:
    assert marked(" x", "-a = total(x, y)", "+a = sum(x, y, z)", " y") == [
        " x", "-a = [total](x, y)", "+a = [sum](x, y[, z])", " y",
    ]  # fmt: skip


def test_lines_are_compared_in_their_order() -> None:
    assert marked("-first one here", "-second one here", "+first two here", "+second two here") == [
        "-first [one] here", "-second [one] here", "+first [two] here", "+second [two] here",
    ]  # fmt: skip


def test_a_line_without_a_break_at_its_end_is_compared_too() -> None:
    assert marked("-the end", "\\ No newline at end of file", "+the END")[0] == "-the [end]"


def test_what_is_new_or_gone_or_quite_different_is_left_alone() -> None:
    for lines in (
        ["-only gone"],
        ["+only new"],
        ["-one line", "+one line", "+and another"],
        ["-alpha beta", "+x = y(z)"],
        ["-same start, removed", " context", "+same start, added"],
    ):
        assert marked(*lines) == lines


def test_of_long_lines_and_long_diffs_only_so_much_is_compared() -> None:
    long = [("removed", "-" + "a b " * 1000), ("added", "+" + "a c " * 1000)]
    assert changed_words(long) == {}
    many = [("removed", "-a b c"), ("added", "+a b d"), ("same", " ")] * 2 * MAX_PAIRS
    assert len(changed_words(many)) == 2 * MAX_PAIRS
