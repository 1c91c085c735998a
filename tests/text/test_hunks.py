"""Hunks: where each is located in a text, in order, and what is spliced for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada.text.hunks import NOWHERE, Found, Locator, Missing, Subject, Wanted, matched_but_for
from clada.text.tiers import TIERS, Lines, equal

if TYPE_CHECKING:
    from collections.abc import Sequence


def lines_of(text: str) -> list[bytes]:
    """Return the lines of a text."""
    return text.removesuffix("\n").encode().split(b"\n") if text else []


def hunk(old: str, new: str = "NEW", **helps: Any) -> Wanted:
    """Return a hunk of whole lines."""
    helps["anchors"] = [anchor.encode() for anchor in helps.get("anchors", ())]
    return Wanted(lines_of(old), lines_of(new), **helps)


def located(text: str, *wanted: Wanted, way: str = "blanks", path: str = "f.py") -> list[Found | Missing]:
    """Locate hunks one after the other."""
    data = text.encode()
    locator = Locator(Subject(data, len(data), path.encode()), wanted, way)
    return [locator.locate(one) for one in wanted]


def applied(text: str, places: Sequence[Found | Missing]) -> str:
    """Return the text with what was found spliced into it."""
    data = text.encode()
    splices = [splice for place in places if isinstance(place, Found) for splice in place.splices]
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end), reverse=True):
        data = data[: splice.start] + splice.new + data[splice.end :]
    return data.decode()


def forgiven(text: str, wanted: Wanted, way: str = "blanks") -> tuple[str, tuple[str, ...]]:
    """Return the edited text and what was forgiven to find the only place."""
    (place,) = located(text, wanted, way=way)
    assert isinstance(place, Found), place
    return applied(text, [place]), place.forgiven


def starts(place: Found | Missing) -> list[int]:
    """Return where the several places are in which a hunk was found."""
    assert isinstance(place, Missing)
    return list(place.starts)


CODE = "def f():\n    one\n    two\n\ndef g():\n    one\n    two\n"


# One hunk.


def test_whole_lines_are_found_and_not_parts_of_lines() -> None:
    """At the start and the end of the text, too."""
    for line in ("a", "b", "c"):
        assert applied("a\nb\nc\n", located("a\nb\nc\n", hunk(line))) == "a\nb\nc\n".replace(line, "NEW")
    assert located("ab\nba\n", hunk("a"), hunk("b")) == [Missing(), Missing()]


def test_several_places_are_none() -> None:
    """Overlapping ones are several, too."""
    assert starts(located(CODE, hunk("    one\n    two"))[0]) == [9, 35]
    assert len(starts(located("a\na\na\n", hunk("a\na"))[0])) == 2


def test_near_decides_between_exact_places() -> None:
    """If one of them is at that line; at no other tier."""
    assert applied(CODE, located(CODE, hunk("    one", near=6))) == CODE[:35] + "NEW\n" + CODE[43:]
    assert len(starts(located(CODE, hunk("    one", near=5))[0])) == 2
    assert len(starts(located(CODE, hunk("one", near=6))[0])) == 2


def test_blanks_at_the_ends_of_lines_are_forgiven() -> None:
    """What the search text and its replacement share stays as it was."""
    assert forgiven("a  \nb\nc\t\n", hunk("a\nb  \nc", "a\nB\nc")) == ("a  \nB\nc\t\n", ("trailing blanks",))


def test_an_indentation_that_differs_evenly_is_forgiven() -> None:
    """The replacement is shifted alike."""
    assert forgiven("  a\n    b\n", hunk("a\n  b", "a\n  c\n\n  d")) == (
        "  a\n    c\n\n    d\n",
        ("indentation",),
    )
    assert forgiven("a\n  b\n", hunk("    a\n      b", "    a\n      c")) == ("a\n  c\n", ("indentation",))


def test_an_uneven_indentation_is_not_forgiven() -> None:
    """Nor tabs for spaces, nor blanks inside a line."""
    assert located("  a\nb\n", hunk("a\n  b")) == [Missing()]
    assert located("\ta\n", hunk("    a")) == [Missing()]
    assert located("a  b\n", hunk("a b")) == [Missing()]


def test_a_replacement_that_cannot_be_shifted_is_refused() -> None:
    """It says which line lacks the blanks."""
    (place,) = located("a\n  b\n", hunk("    a\n      b", "    a\n  c"))
    assert isinstance(place, Missing)
    assert place.hint == (
        "line 1 matches but for indentation, but `c` of the replacement "
        "is not indented enough to be moved like it"
    )


def test_blank_lines_around_a_search_text_are_forgiven() -> None:
    """And dropped from the replacement."""
    assert forgiven("x\na\ny\n", hunk("\na\n\n", "\nb\n\n")) == ("x\nb\ny\n", ("blank lines around it",))
    assert forgiven("x\n  a\ny\n", hunk("\na\n", "\nb\n")) == (
        "x\n  b\ny\n",
        ("blank lines around it", "indentation"),
    )


def test_signs_that_look_alike_are_forgiven_where_that_is_the_way() -> None:
    """What is shared keeps them."""
    text = "say(“a”)\nx = 1 \u2013 2\n"
    wanted = hunk('say("a")\nx = 1 - 2', 'say("a")\nx = 3')
    assert forgiven(text, wanted, "typographic") == ("say(“a”)\nx = 3\n", ("typographic signs",))
    assert located(text, wanted, way="blanks") == [Missing()]


def test_exact_is_exact() -> None:
    """Nothing is forgiven, and nothing of what copying puts in is dropped."""
    for old in ("a ", " a", "\na", "```\na\n```", "f.py\na", "1: a\n2: b", "a\n...\nb"):
        assert located("a\nb\n", hunk(old, "x\n...\ny"), way="exact") == [Missing()]


def test_several_places_at_a_tier_end_the_search() -> None:
    """A later tier could only be a guess; and it says what they have in common."""
    (place,) = located("a \nb\na\t\n", hunk("a"))
    assert isinstance(place, Missing)
    assert (list(place.starts), place.hint) == ([0, 5], "they match but for trailing blanks")
    assert applied("a \nb\na\n", located("a \nb\na\n", hunk("a"))) == "a \nb\nNEW\n"


def test_an_empty_replacement_deletes_lines_with_their_breaks() -> None:
    """A replacement that is one blank line leaves that."""
    assert applied("a\nb\nc\n", located("a\nb\nc\n", hunk("b", ""))) == "a\nc\n"
    assert applied("a\nb\nc\n", located("a\nb\nc\n", hunk("b", "\n"))) == "a\n\nc\n"


def test_at_the_end_means_at_the_end() -> None:
    """But for one blank line."""
    assert applied("a\nb\na\n", located("a\nb\na\n", hunk("a", at_end=True))) == "a\nb\nNEW\n"
    assert applied("a\nb\na\n\n", located("a\nb\na\n\n", hunk("a", at_end=True))) == "a\nb\nNEW\n\n"
    assert located("a\nb\n", hunk("a", at_end=True)) == [Missing()]
    assert located("a\n\n\n", hunk("a", at_end=True)) == [Missing()]


def test_lines_between_changes_stay_as_they_were() -> None:
    """As the context of a diff."""
    wanted = hunk("a\nsame\nb\n\nc", "A\nsame\nB\n\nC")
    assert forgiven("a\nsame  \nb\n \nc\n", wanted)[0] == "A\nsame  \nB\n \nC\n"


# What copying puts into a search text.


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("```python\na\nb\n```", "```python\nc\nb\n```", "a code fence"),
        ("```\na\nb\n```", "c\nb", "a code fence"),
        ("src/f.py\na\nb", "src/f.py\nc\nb", "the path above it"),
        ("# src/f.py\na\nb", "c\nb", "the path above it"),
        ("7: a\n8: b", "7: c\n8: b", "line numbers"),
        ("  9 | a\n 10 | b", "c\nb", "line numbers"),
        ("99→a\n100→b", "99→c\n100→b", "line numbers"),
        ("1\ta\n2\tb", "c\nb", "line numbers"),
    ],
)
def test_what_copying_adds_is_dropped_where_nothing_is_found(old: str, new: str, what: str) -> None:
    """From the replacement too, if it has the same."""
    data = "x\na\nb\ny\n"
    (place,) = located(data, hunk(old, new), path="src/f.py")
    assert isinstance(place, Found)
    assert (applied(data, [place]), place.forgiven) == ("x\nc\nb\ny\n", (what,))


@pytest.mark.parametrize("number", ["{}→", "     {}→", "{}\t", "{}:", "{} |", "{}: ", "{} | ", "{}│ "])
def test_numbers_are_dropped_from_lines_that_are_all_indented(number: str) -> None:
    """A blank behind the sign may be the line's own: that is tried first."""
    data = "def f():\n    x = 1\n    y = 2\n"
    old, new = (
        "\n".join(number.format(at) + line for at, line in enumerate(lines, 2))
        for lines in (("    x = 1", "    y = 2"), ("    x = 1", "    y = 3"))
    )
    for replacement in (new, "    x = 1\n    y = 3"):
        assert forgiven(data, hunk(old, replacement)) == (data.replace("2", "3"), ("line numbers",))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("7: a\n9: b", "c"),  # they do not rise by one
        ("7→ a\n8→ b", "c"),  # a blank behind an arrow is the line's
        ("7: a\nb", "c"),  # not every line has one
        ("7: a\n8: b", "7: c\nd"),  # in the replacement, only some have
        ("7: a", "7: c"),  # one line: that may be what the file says
        ("```\na", "```\nc"),  # not closed
    ],
)
def test_what_only_looks_so_is_left(old: str, new: str) -> None:
    """Any doubt is a refusal."""
    assert located("x\na\nb\ny\n", hunk(old, new)) == [Missing()]


def test_what_is_in_the_file_is_not_dropped() -> None:
    """A fence, the path and numbers may be its content."""
    text = "f.py\n```\n1: a\n2: b\n```\n"
    assert forgiven(text, hunk("f.py\n```", "g.py\n```")) == (text.replace("f.py", "g.py"), ())
    assert forgiven(text, hunk("1: a\n2: b", "1: c\n2: b")) == (text.replace("a", "c"), ())


# Dots.


@pytest.mark.parametrize("dots", ["...", "    # ...", "// ..."])
def test_pieces_around_dots_are_each_replaced(dots: str) -> None:
    """Where both texts have the same lines of dots."""
    wanted = hunk(f"def f():\n{dots}\n    two\n\ndef g():", f"def F():\n{dots}\n    2\n\ndef g():")
    text, what = forgiven(CODE, wanted)
    assert text == "def F():\n    one\n    2\n\ndef g():\n    one\n    two\n"
    assert what == ("the lines that its dots stand for",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def f():\n...\n    two", "def f():\n    2"),  # the replacement has no dots
        ("def f():\n...\ndef g():", "def f():\n# ...\ndef g():"),  # other ones
        ("...\ndef g():", "def e():\n...\ndef g():"),  # where would the first piece go?
        ("def f():\n...\n    two", "def F():\n...\n    2"),  # `two` is there twice
        ("def f():\n...\n    three", "def F():\n...\n    3"),  # and `three` not at all
    ],
)
def test_dots_that_leave_a_doubt_are_refused(old: str, new: str) -> None:
    """Nothing is replaced by guess."""
    assert located(CODE, hunk(old, new)) == [Missing()]


# Several hunks.


def test_hunks_are_located_in_order() -> None:
    """Each from the end of the one before it: so what is there twice may be clear."""
    places = located(CODE, hunk("def g():", "def h():"), hunk("    one", "    1"))
    assert applied(CODE, places) == "def f():\n    one\n    two\n\ndef h():\n    1\n    two\n"
    assert [place.out_of_order for place in places if isinstance(place, Found)] == [False, False]


def test_a_hunk_that_is_only_before_the_last_is_out_of_order() -> None:
    """If it is there once."""
    first, second = located(CODE, hunk("def g():", "def h():"), hunk("def f():", "def e():"))
    assert isinstance(second, Found)
    assert second.out_of_order
    assert applied(CODE, [first, second]) == CODE.replace("f()", "e()").replace("g()", "h()")
    text = "a\na\nb\n"
    assert starts(located(text, hunk("b"), hunk("a"))[1]) == [0, 2]


def test_hunks_may_share_context() -> None:
    """The lines that the one ends with and the next begins with are changed by neither."""
    text = "a\nb\nc\n"
    places = located(text, hunk("a\nb", "A\nb"), hunk("b\nc", "b\nC"))
    assert applied(text, places) == "A\nb\nC\n"
    assert not any(place.out_of_order for place in places if isinstance(place, Found))


def test_a_hunk_that_is_missing_does_not_move_the_next() -> None:
    """All that are missing are told."""
    missing, found = located("a\nb\n", hunk("x"), hunk("a"))
    assert missing == Missing()
    assert isinstance(found, Found)


# Anchors.


def test_the_first_place_behind_an_anchor_counts() -> None:
    """However many follow it."""
    text = CODE + CODE.replace("f", "h").replace("g", "i")
    (place,) = located(text, hunk("    one", "    1", anchors=["def g():"]))
    assert applied(text, [place]) == CODE[:35] + "    1\n" + CODE[43:] + text[len(CODE) :]


def test_anchors_follow_each_other() -> None:
    """As scopes do."""
    text = "class A:\n    def f():\n        x\nclass B:\n    def f():\n        x\n"
    (place,) = located(text, hunk("        x", "        y", anchors=["class B:", "    def f():"]))
    assert applied(text, [place]) == text[:-2] + "y\n"


def test_an_anchor_that_stands_again_before_another_such_place_is_refused() -> None:
    """Nobody can tell which is meant; it is no doubt where the lines are below one of them only."""
    text = "class A:\n    def f():\n        x\nclass B:\n    def f():\n        x\n        z\n"
    assert starts(located(text, hunk("        x", anchors=["    def f():"]))[0]) == [22, 54]
    for old, anchors in (("        z", ["    def f():"]), ("        x", ["class A:", "    def f():"])):
        (place,) = located(text, hunk(old, anchors=anchors))
        assert isinstance(place, Found)
    both = [hunk("        x", anchors=["class A:"]), hunk("        x", anchors=["    def f():"])]
    assert all(isinstance(place, Found) for place in located(text, *both))  # behind the first hunk, it is one


def test_an_anchor_is_found_at_any_tier() -> None:
    """It is one line."""
    assert (
        applied(CODE, located(CODE, hunk("    one", "    1", anchors=["   def g(): "])))[35:]
        == "    1\n    two\n"
    )


def test_a_search_text_may_begin_with_its_anchor() -> None:
    """Models repeat it."""
    (place,) = located(CODE, hunk("def g():\n    one", "def g():\n    1", anchors=["def g():"]))
    assert applied(CODE, [place])[26:] == "def g():\n    1\n    two\n"


def test_without_its_anchor_nothing_is_found() -> None:
    """And that it is the anchor can be told."""
    wanted = hunk("def f():", anchors=["class A:"])
    data = CODE.encode()
    locator = Locator(Subject(data, len(data)), [wanted], "blanks")
    assert locator.locate(wanted) == Missing()
    assert locator.missing_anchor(wanted) == b"class A:"


# Insertions.


@pytest.mark.parametrize(
    ("helps", "expected"),
    [
        ({"after_line": 0}, "NEW\na\nb\n"),
        ({"after_line": 1}, "a\nNEW\nb\n"),
        ({"after_line": 2}, "a\nb\nNEW\n"),
        ({"at_end": True}, "a\nb\nNEW\n"),
        ({"anchors": ["a"]}, "a\nNEW\nb\n"),
        ({"anchors": ["  a"]}, "a\nNEW\nb\n"),
        ({"near": 2}, "a\nb\nNEW\n"),
        ({"near": 9}, "a\nb\nNEW\n"),
    ],
)
def test_an_insertion_goes_where_it_says(helps: dict[str, Any], expected: str) -> None:
    """After a line, at the end, right after an anchor; or at the end, if that is where it seems to be."""
    assert applied("a\nb\n", located("a\nb\n", hunk("", **helps))) == expected


def test_an_insertion_that_does_not_say_where_is_refused() -> None:
    """Unless there is only one place to go."""
    assert located("a\nb\n", hunk("")) == [Missing(reason=NOWHERE)]
    assert located("a\nb\n", hunk("", near=1)) == [Missing(reason=NOWHERE)]
    assert applied("", located("", hunk(""))) == "NEW\n"


def test_an_insertion_after_a_line_that_is_not_there_is_refused() -> None:
    """It says how many there are."""
    assert located("a\nb\n", hunk("", after_line=3)) == [
        Missing(reason="there is no line 3: the last one is 2")
    ]


def test_an_insertion_after_an_anchor_that_is_there_twice_is_refused() -> None:
    """Unless another anchor stands before it."""
    assert starts(located("a\nb\na\n", hunk("", anchors=["a"]))[0]) == [0, 4]
    text = "a\nb\na\nc\na\n"
    assert applied(text, located(text, hunk("", anchors=["b", "a"]))) == "a\nb\na\nNEW\nc\na\n"


# Texts within lines.


def test_a_text_within_lines_is_found_exactly() -> None:
    """Each from the end of the one before it."""
    places = located("a b a c\n", Wanted((), (), b"b", b"B"), Wanted((), (), b"a", b"A"), way="exact")
    assert applied("a b a c\n", places) == "a B A c\n"


# What always holds.

small = st.lists(st.sampled_from(["a", "b", " a", "  a", "a ", "", " ", "c"]), max_size=8)
blocks = st.lists(st.sampled_from(["a", "b", " a", "a ", "", "c"]), min_size=1, max_size=3)


@given(small, blocks, st.sampled_from(list(TIERS)))
def test_what_is_found_is_one_place_at_the_first_tier_that_has_any(
    text: list[str], block: list[str], way: str
) -> None:
    """By comparing each place with each tier's form, one after the other."""
    data = "".join(f"{line}\n" for line in text)
    (place,) = located(data, Wanted([line.encode() for line in block], [b"NEW"]), way=way)
    for tier in TIERS[way]:
        if tier.without_edges:
            break
        lines, old = [line.encode() for line in text], [line.encode() for line in block]
        there = [
            start
            for start in range(len(lines) - len(old) + 1)
            if [tier.form(line) for line in lines[start : start + len(old)]]
            == [tier.form(line) for line in old]
            and (not tier.shift or tier.shift(old, lines[start : start + len(old)]) is not None)
        ]
        offsets = [sum(len(line) + 1 for line in lines[:start]) for start in there]
        if len(there) == 1 and not (isinstance(place, Missing) and place.hint):
            assert isinstance(place, Found)
            assert place.start == offsets[0]
        if len(there) > 1:
            assert isinstance(place, Missing)
            assert len(place.starts) > 1
        if there:
            return


@given(small, st.lists(blocks, min_size=1, max_size=3), st.sampled_from(list(TIERS)))
def test_no_hunk_is_applied_in_two_places_and_nothing_raises(
    text: list[str], wanted: list[list[str]], way: str
) -> None:
    """What is found is in the text, and outside of the splices the text stays."""
    data = "".join(f"{line}\n" for line in text)
    places = located(
        data, *(Wanted([line.encode() for line in block], [b"NEW"]) for block in wanted), way=way
    )
    for place in places:
        if isinstance(place, Found):
            assert 0 <= place.start <= place.end <= len(data)
            assert all(place.start <= s.start <= s.end <= place.end for s in place.splices)
            assert applied(data, [place]).count("NEW") == 1


PERTURBED = {
    "exact": [lambda line: line],
    "blanks": [lambda line: line, lambda line: line + b" ", lambda line: b"\t" + line],
}


@given(st.data(), st.sampled_from(list(PERTURBED)))
def test_what_is_cut_out_of_a_text_is_found_where_it_was(data: st.DataObject, way: str) -> None:
    """However many pieces, in whatever allowed form; together as one by one, from last to first."""
    lines = [b"  line %d" % number for number in range(data.draw(st.integers(1, 30)))]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(lines)), min_size=2, max_size=8)))
    pieces = [slice(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=False)]
    news = [[b"    new %d" % number] * data.draw(st.integers(0, 2)) for number in range(len(pieces))]
    forms = [data.draw(st.sampled_from(PERTURBED[way])) for _ in pieces]
    wanted = [
        Wanted([*map(form, lines[piece])], [*map(form, new)])
        for piece, new, form in zip(pieces, news, forms, strict=True)
    ]
    text = b"".join(line + b"\n" for line in lines).decode()
    places = located(text, *wanted, way=way)
    one_by_one = list(lines)
    for piece, new in reversed(list(zip(pieces, news, strict=True))):
        one_by_one[piece] = new
    expected = [line.rstrip() for line in one_by_one]
    assert [line.rstrip() for line in applied(text, places).encode().split(b"\n")[:-1]] == expected


@given(small, blocks, st.integers(0, 8))
def test_an_index_finds_every_place_of_a_block(text: list[str], block: list[str], since: int) -> None:
    """Whether its lines were expected or not, and where places overlap, too."""
    data = "".join(f"{line}\n" for line in text).encode()
    old, since = [line.encode() for line in block], min(since, len(text))
    places = [at for at in range(since, len(text)) if text[at : at + len(block)] == block]
    for expected in (set[bytes](), set(old)):
        lines = Lines(data, expected)
        found = lines.places(equal, old, lines.starts[since], 99)
        assert found == [(lines.starts[at], lines.starts[at + len(block)]) for at in places]


def test_a_search_that_is_given_up_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the first place would be the only one, nobody knows."""
    monkeypatch.setattr("clada.text.tiers.MOST_COMPARED", 2)
    data = b"a\nb\na\nb\na\nc\n"
    assert Lines(data, set()).places(equal, [b"a", b"b"], 0, 9) == []
    assert Lines(data, set()).places(equal, [b"c"], 0, 9) == [(10, 12)]


def test_what_was_forgiven_is_told_in_a_clause() -> None:
    """Each thing once."""
    assert matched_but_for(["indentation"]) == "matched but for indentation"
    assert matched_but_for(["a", "b", "a", "c"]) == "matched but for a, b and c"
