"""Tiers: which lines are equal at each, and how a replacement is shifted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada.text.tiers import NO_SHIFT, T0, T1, T2, T4, TIERS, Shift, even_shift, plain, without_edges

lines = st.lists(st.text(st.sampled_from(" \tab"), max_size=5).map(str.encode), max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "equal_at"),
    [
        (b"a", b"a", [T0, T1, T2, T4]),
        (b"a ", b"a", [T1, T2, T4]),
        (b"a", b"a\t ", [T1, T2, T4]),
        (b"  a", b"a", [T2, T4]),
        ("“a” \u2013 b".encode(), b'"a" - b', [T4]),
        ("a\u00a0b\u2019".encode(), b"a b'", [T4]),
        (b"a", b"A", []),
        (b"a b", b"ab", []),
        (b"a b", b"a  b", []),
    ],
)
def test_lines_are_equal_at_a_tier_by_their_form(one: bytes, other: bytes, equal_at: list[object]) -> None:
    """Each tier forgives what the one before it does; none forgives blanks inside a line, or letters."""
    assert [tier for tier in (T0, T1, T2, T4) if tier.form(one) == tier.form(other)] == equal_at


def test_signs_that_look_alike_are_those_of_the_specification() -> None:
    """Dashes, both kinds of quotes, and spaces."""
    dashes = "".join(map(chr, (*range(0x2010, 0x2016), 0x2212)))
    assert plain(f"a{dashes}b".encode()) == b"a" + b"-" * len(dashes) + b"b"
    assert plain("a\u2018\u2019\u201a\u201bb".encode()) == b"a''''b"
    assert plain("a“”„‟b".encode()) == b'a""""b'
    spaces = "".join(map(chr, (0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000)))
    assert plain(f"a{spaces}b".encode()) == b"a" + b" " * len(spaces) + b"b"


@pytest.mark.parametrize(
    ("wanted", "found", "shift"),
    [
        ([b"a", b"  b"], [b"  a", b"    b"], Shift(added=b"  ")),
        ([b"  a", b"    b"], [b"a", b"  b"], Shift(removed=b"  ")),
        ([b"\ta"], [b"\t\ta"], Shift(added=b"\t")),
        ([b"a", b"", b"b"], [b" a", b"   ", b" b"], Shift(added=b" ")),
        ([b"a"], [b"a"], NO_SHIFT),
        ([b"a", b"b"], [b" a", b"  b"], None),
        ([b"a", b"b"], [b" a", b"b"], None),
        ([b"    a"], [b"\ta"], None),
    ],
)
def test_indentation_differs_evenly_or_not(
    wanted: list[bytes], found: list[bytes], shift: Shift | None
) -> None:
    """By the same blanks for every line that is not blank; tabs are not spaces."""
    assert even_shift(wanted, found) == shift


def test_a_replacement_is_shifted_like_the_lines() -> None:
    """A blank line needs no blanks; any other must have those that are to be removed."""
    assert Shift(added=b"  ").of(b" a") == b"   a"
    assert Shift(removed=b"  ").of(b"   a") == b" a"
    assert Shift(removed=b"  ").of(b" a") is None
    assert Shift(removed=b"  ").of(b"") == b""
    assert Shift(added=b"  ").of(b"") == b""


@given(lines, st.sampled_from([b" ", b"\t", b"    "]))
def test_what_was_shifted_is_found_to_be_so(wanted: list[bytes], blanks: bytes) -> None:
    """And shifting the lines themselves gives those of the file, blank ones aside."""
    found = [blanks + line if line.strip() else line for line in wanted]
    shift = even_shift(wanted, found)
    assert shift is not None
    assert [shift.of(line) for line in wanted] == found
    back = even_shift(found, wanted)
    assert back is not None
    assert [back.of(line) for line in found if line.strip()] == [line for line in wanted if line.strip()]


def test_blank_lines_around_a_search_text_are_dropped_from_both() -> None:
    """As many from the replacement, if it has them."""
    assert without_edges([b"", b" ", b"a", b""], [b"", b"b", b"", b""]) == ([b"a"], [b"b", b""])
    assert without_edges([b"a"], [b"", b"b"]) is None
    assert without_edges([b"", b""], [b"b"]) is None
    assert without_edges([b"", b"a"], []) == ([b"a"], [])


def test_each_way_begins_exactly_and_allows_more() -> None:
    """In the order in which they are tried."""
    assert [tier.forgives for tier in TIERS["exact"]] == [""]
    assert [tier.forgives for tier in TIERS["blanks"]] == ["", "trailing blanks", "indentation"] * 2
    assert TIERS["typographic"][:6] == TIERS["blanks"]
    assert {tier.form for tier in TIERS["typographic"][6:]} == {plain}
