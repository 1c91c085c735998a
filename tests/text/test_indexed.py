"""Many edits of one text: what an index gives is what the plain way gives, one edit after the other."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.full import examples

from clada.text import finder, indexed
from clada.text.indexed import IndexedText
from clada.text.match import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.text.match import Matches

pytest.importorskip("ahocorasick_rs", reason="there is no index without ahocorasick-rs")

# Few different characters, so that matches overlap, and replacements make and destroy other matches.
letters = st.sampled_from([b"a", b"b", b"ab", b"aab", b"\n", "ü".encode()])
texts = st.lists(letters, max_size=60).map(b"".join)
searches = st.lists(letters, min_size=1, max_size=5).map(b"".join)
edits = st.lists(
    st.tuples(searches, st.none() | searches, st.lists(letters, max_size=5).map(b"".join)),
    min_size=1,
    max_size=12,
)


@pytest.fixture(autouse=True, params=[(1000, 1000), (6, 8)], ids=["patches", "new bases"])
def _small_texts_too(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all were large: pieces, pages and chunks that a short text has several of."""
    frequent, chunk = request.param
    of_index = {"WORTH_IT": 0, "CHUNK": chunk, "PAGE": 4}
    of_finder = {
        "PIECE": 3,
        "LEAD": 1,
        "REST": 1,
        "SHORT": 2,
        "FREQUENT": frequent,
        "CHUNK": chunk,
        "LONG": 10,
    }
    for module, small in ((indexed, of_index), (finder, of_finder)):
        for name, value in small.items():
            monkeypatch.setattr(module, name, value)


def _found(text: Text | IndexedText, first: bytes, last: bytes | None) -> Matches:
    return text.locate(first) if last is None else text.locate_range(first, last)


def _compare(data: bytes, wanted: Sequence[tuple[bytes, bytes | None, bytes]]) -> bool:
    """Hold each edit of an indexed text against the plain way; return whether there was an index."""
    plain = Text(data)
    all_texts = [text.decode() for first, last, _ in wanted for text in (first, last) if text]
    quick = indexed.indexed(Text(data), all_texts)
    was_indexed = isinstance(quick, IndexedText)
    for first, last, new in wanted:
        expected, found = _found(plain, first, last), _found(quick, first, last)
        assert (found.count, found.unfinished) == (expected.count, expected.unfinished)
        assert quick.lines(found.starts) == plain.lines(expected.starts)
        edited, after = plain.replaced(expected, new), quick.replaced(found, new)
        assert (after is quick) == (edited is plain)
        plain, quick = edited, after
        assert quick.data == plain.data
        assert quick.ending == plain.ending
    return was_indexed


@given(data=texts, wanted=edits, ending=st.sampled_from([b"\n", b"\r\n", b"\r"]))
@settings(
    max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_edits_in_a_row_give_what_the_plain_way_gives(
    data: bytes, wanted: list[tuple[bytes, bytes | None, bytes]], ending: bytes
) -> None:
    """Whatever overlaps, is nested, comes to be, or is no more; counts, lines and texts are the same."""
    _compare(data.replace(b"\n", ending), wanted)


@given(data=texts, wanted=edits, ending=st.sampled_from([b"\n", b"\r\n", b"\r"]))
@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whole_lines_are_found_where_they_are_once(
    data: bytes, wanted: list[tuple[bytes, bytes | None, bytes]], ending: bytes
) -> None:
    """Or nothing is said of them."""
    data = data.replace(b"\n", ending)
    searches = [(first if first.endswith(b"\n") else first + b"\n", new) for first, _, new in wanted]
    quick = indexed.indexed(Text(data), [search.decode() for search, _ in searches])
    for search, new in searches:
        found = quick.locate_lines(search)
        lines = quick.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if found:
            starts = [at for at in range(len(lines)) if (b"\n" + lines).startswith(b"\n" + search, at)]
            assert len(starts) == 1
            assert lines.endswith(b"\n")
            assert quick.lines(found.starts) == [lines.count(b"\n", 0, starts[0]) + 1]
            expected = lines[: starts[0]] + new + lines[starts[0] + len(search) :]
            quick = quick.replaced(found, new)
            assert quick.data == expected.replace(b"\n", ending)


@pytest.mark.parametrize("seed", range(20))
def test_many_edits_of_a_longer_text(seed: int) -> None:
    """So that patches join, and the base is made anew."""
    chance = random.Random(seed)
    words = ["one", "two", "three", "four", "return", "    ", *map(str, range(20))]
    lines = [" ".join(chance.choices(words, k=4)) for _ in range(100)]
    wanted = [
        (
            chance.choice(lines).encode()[: chance.randrange(3, 30)],
            None,
            chance.choice(lines).encode() + b"\n",
        )
        for _ in range(60)
    ]
    assert _compare("\n".join(lines).encode(), wanted)


def test_an_index_is_only_made_where_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a few edits of a small file, it would take longer."""
    monkeypatch.setattr(indexed, "WORTH_IT", 1000)
    few, many = ["some text"] * 9, ["some text"] * 10
    assert isinstance(indexed.indexed(Text(b"x" * 100), few), Text)
    assert isinstance(indexed.indexed(Text(b"x" * 100), many), IndexedText)
    assert isinstance(indexed.indexed(Text(b"\r\n" * 50 + b"\n"), many), Text)
