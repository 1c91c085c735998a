"""The parts of an explanation: how lines differ, what is shown of them, and what copying adds to a text."""

from __future__ import annotations

import pytest

from clada.text import differences, similarity
from clada.text.differences import (
    FITS,
    difference,
    from_match,
    line_for_listing,
    line_similarity,
    shorten_line,
    show_blanks,
)
from clada.text.explain import explain
from clada.text.forms import ARTIFACTS, around_ellipsis
from clada.text.match import Text
from clada.text.similarity import most_similar, wanted_lines

whole, within = FITS[True, True], FITS[False, False]


@pytest.mark.parametrize(
    ("wanted", "found", "name"),
    [
        ("x = 1", "x = 1  ", "trailing blanks"),
        ("  x = 1", "x = 1", "indentation"),
        ("  x = 1", "x = 1 ", "indentation and trailing blanks"),
        ("x=1", "x = 1", "blanks"),
        ("X = One", "x = one", "letter case"),
        ("say('x')", 'say("x")', "quotes"),
        ("a &lt; b &amp;&amp; c", "a < b && c", "escaped entities"),
        ("&quot;&apos;&#39;&nbsp;&gt;", "\"'' >", "escaped entities"),
        ("a - b", "a \u2212 b", "look-alike characters"),
        ("ab", "a\u200bb", "look-alike characters"),
        ('say(\\"x\\")', 'say("x")', "backslashes"),
        ("X=\u20181\u2019", 'x = "1"', "several small ways (blanks, quotes, letter case, escapes)"),
        ("x = 1", "y = 2", "text"),
    ],
)
def test_a_difference_has_the_name_of_the_first_form_in_which_lines_agree(
    wanted: str, found: str, name: str
) -> None:
    """Forms are tried from the plainest on; what agrees in none differs in its text."""
    assert difference(wanted, found, whole) == name


@pytest.mark.parametrize(
    "code", [0x27, 0x60, 0xAB, 0xB4, 0xBB, 0x2018, 0x201B, 0x2032, 0x201C, 0x201F, 0x2033]
)
def test_every_kind_of_quote_counts_as_one(code: int) -> None:
    """Straight, curly, angle quotes, accents and primes."""
    assert difference(f"say {chr(code)}x", 'say "x', whole) == "quotes"


@pytest.mark.parametrize("code", [0x2010, 0x2015, 0x2212])
def test_every_kind_of_dash_looks_like_a_hyphen(code: int) -> None:
    """From the hyphen of its own to the minus sign."""
    assert difference(f"a{chr(code)}b", "a-b", whole) == "look-alike characters"


def test_what_fits_does_not_differ() -> None:
    """A part of a line fits, where a part was wanted."""
    assert difference("= 1", "x = 1", within) is None
    assert difference("= 1", "x = 1", whole) is not None


@pytest.mark.parametrize(
    ("wanted", "found", "shown"),
    [
        ("needle in it", "hay hay needle in it hay", "needle in it hay"),  # all of it
        ("needle xx", "hay needle yy", "needle yy"),  # its first half
        (
            "xxxxxx in it",
            "hay needle in it",
            "needle in it",
        ),  # its second half, from where the first would be
        ("needXXXXXXXX", "hay needle", "needle"),  # its first quarter
        ("needle", "nothing", "nothing"),
        ("needle", "needle at the start", "needle at the start"),
        ("xxxx in it", " in it", " in it"),  # no further back than the start
    ],
)
def test_a_long_line_is_shown_from_where_the_wanted_text_starts_in_it(
    wanted: str, found: str, shown: str
) -> None:
    """By its first half, else its second, else its first quarter."""
    assert from_match(wanted, found) == shown


def test_blanks_are_marked_around_a_line_and_where_it_differs() -> None:
    """Each kind of blank has its own mark; blanks inside what both share stay as they are."""
    assert show_blanks("  a b\t", "  a b") == "··a b→"
    assert show_blanks("a\r", "a") == "a␍"
    assert show_blanks("a\u00a0b", "a b") == "a⍽b"
    assert show_blanks("a\u3000b", "a b") == "a□b"
    assert show_blanks("a  b", "a b") in ("a ·b", "a· b")
    assert show_blanks("", "x") == "(a blank line)"


def test_a_long_line_is_cut_around_the_difference() -> None:
    """Dots stand for what is left out, on either side."""
    width, few = differences.WIDTH, differences.BRIEF_WIDTH
    assert show_blanks("x" * width, "") == "x" * width
    assert show_blanks("x" * (width + 1), "") == "x" * width + "…"
    assert shorten_line("x" * few) == "x" * few
    assert shorten_line("x" * (few + 1)) == "x" * few + "…"
    assert (few, width) == (60, 100)
    late = "a" * 200 + "b"
    assert shorten_line(late, "a" * 200 + "c") == "…" + late[-few:]
    assert show_blanks(late, "a" * 200 + "c").startswith("…")
    assert line_for_listing("x" * (2 * width)) == "x" * (2 * width)
    assert line_for_listing("x" * (2 * width + 1)) == "x" * (2 * width) + "…"


def test_likeness_counts_shared_ends_and_shared_runs() -> None:
    """Whichever is more; lines that share nothing are not alike."""
    assert line_similarity("abcd", "abcd", partly=False) == 1
    assert line_similarity("abxx", "abyy", partly=False) == 0.5
    assert line_similarity("xxcd", "yycd", partly=False) == 0.5
    assert line_similarity("abc", "xyz", partly=False) == 0
    assert line_similarity("abcd", "zzabcdzz", partly=True) == 1
    assert line_similarity("abcd", "zzabcdzz", partly=False) == pytest.approx(2 / 6)
    assert differences._trigrams("abcd") == {"abc", "bcd"}


FILE = "start of it\n    print(\"one line\")\n    return value\nend of it\nsay('two words')\n"


@pytest.mark.parametrize(
    ("search", "name", "remedy"),
    [
        ('2:     print("one line")\n3:     return value', "line numbers", "without the line numbers"),
        ('  2 |     print("one line")\n  3 |     return value', "line numbers", "without the line numbers"),
        ('-    print("one line")\n+    print("two lines")', "diff marks", "without the + and -"),
        ('```python\n    print("one line")\n    return value\n```', "code fence", "without the code fence"),
        ("print(&quot;one line&quot;)", "escaped entities", "with < > & in place of"),
        ("print(“one line”)", "quotes", "with straight quotes"),
        ('print(\\"one line\\")', "backslashes", "without the backslashes"),
        ("say(\\'two words\\')", "backslashes", "without the backslashes"),
        ('print("one line")\\n    return value', "escaped line breaks", "with line breaks in place of"),
    ],
)
def test_an_artifact_of_copying_is_named_with_its_remedy(search: str, name: str, remedy: str) -> None:
    """In the value and in the clause; what is then found is the place."""
    told = explain(Text(FILE.encode()), search.encode(), b"")
    assert told.nearest is not None
    assert told.nearest.difference == name
    assert remedy in told.hint


@pytest.mark.parametrize(
    "text",
    [
        "no number\n2: with one",
        "2 no separator",
        "12",
        "",
        "+only added",
        "a\n-b",
        "```\n```",
        "```\na\n",
        "plain",
    ],
)
def test_what_is_no_artifact_is_left_alone(text: str) -> None:
    """Half a listing, a fence that does not close, a text that only starts like a diff."""
    left = [each.remove(text) for each in ARTIFACTS if each.name in ("line numbers", "code fence")]
    assert left == [text, text]


def test_lines_left_out_are_between_others() -> None:
    """An ellipsis counts on a line of its own, in a comment or not, and not at the ends."""
    assert list(around_ellipsis("a\n# ...\nb")) == [("a", "# ...", "b")]
    assert list(around_ellipsis("a\n  // … rest …\nb\nc")) == [("a", "  // … rest …", "b\nc")]
    assert list(around_ellipsis("a\n/* existing code... */\nb")) == [("a", "/* existing code... */", "b")]
    assert list(around_ellipsis("...\na\nb")) == []
    assert list(around_ellipsis("a\nf(...)\nb")) == []
    assert list(around_ellipsis("a\nplain\nb")) == []


def test_a_difference_in_form_comes_before_a_replacement_that_is_elsewhere() -> None:
    """The whole explanation has both, each on its own line."""
    file = b"def one():\n    return first\n\ndef two():\n    return second\n"
    told = explain(Text(file), b"def one():\n  return first", b"return second")
    assert told.hint.endswith("indentation")
    assert told.details.splitlines()[-1] == "the replacement is in the file too, elsewhere: at line 5"


def test_a_piece_must_be_long_enough_to_mean_something() -> None:
    """As long as the least that is asked for; of one line less is enough, and of short lines the longest."""
    least, of_line = similarity.MIN_PIECE, similarity.MIN_PIECE_OF_LINE
    assert similarity._longest([(0, b"abcd"), (1, b"abc")], 5, 4) == [(0, b"abcd")]
    assert (0, b"x" * of_line) in list(similarity._pieces(wanted_lines(b"x" * of_line)))
    assert list(similarity._pieces(wanted_lines(b"x" * (of_line - 1)))) == []
    assert (0, b"x" * least) in list(similarity._pieces(wanted_lines(b"x" * least + b"\ny")))
    short = wanted_lines(b"x" * (least - 1) + b"\ny")
    assert {piece for _, piece in similarity._pieces(short)} == {b"x" * (least - 1)}


def test_a_line_that_is_long_enough_is_looked_for_by_halves() -> None:
    """Each half must mean something by itself."""
    pieces = [piece for _line, piece in similarity._pieces(wanted_lines(b"abc-de\n"))]
    assert (b"abc" in pieces, b"-de" in pieces) == (True, True)
    assert b"ab" not in [piece for _line, piece in similarity._pieces(wanted_lines(b"ab-de\n"))]


def test_line_breaks_around_a_search_text_belong_to_its_lines() -> None:
    """A text without any is a part of a line at both ends."""
    shapes = [
        (wanted.lines, wanted.starts_line, wanted.ends_line)
        for wanted in map(wanted_lines, (b"a", b"\na", b"a\n", b"\na\n", b"a\nb", b"\n"))
    ]
    assert shapes == [
        (["a"], False, False),
        (["a"], True, False),
        (["a"], False, True),
        (["a"], True, True),
        (["a", "b"], False, False),
        ([""], True, False),
    ]


def test_rare_pieces_come_before_common_ones() -> None:
    """Eight hits are few; nine are many, and wait."""
    few, many = b"rare " * similarity.MAX_RARE_HITS, b"often " * (similarity.MAX_RARE_HITS + 1)
    groups = similarity._hits(few + many, [(1, b"often"), (2, b"rare")], 5)
    assert [hits[0][0] for hits in groups] == [2, 1]
    groups = similarity._hits(few * 2, [(1, b"rare"), (2, b"are r")], 5)
    assert [hits[0][0] for hits in groups] == [1, 2]
    assert [hits[0][0] for hits in similarity._hits(few, [(1, b"rare")], 5)] == [1]


@pytest.mark.parametrize(("line", "pair"), [(b"}", (4, None)), (b"end of all", (4, 8)), (b"end", (4, None))])
def test_a_bracket_from_afar_brings_nothing_back_into_step(line: bytes, pair: tuple[int, int | None]) -> None:
    """What is passed on the way must be worth it."""
    head = b"alpha = first(1)\nbeta = second(2)\ngamma = third(3)\ndelta = fourth(4)\n"
    added = b"added one\nadded two\nadded three\nadded four\n"
    wanted = wanted_lines(head + line + b"\nquite another end\n")
    place, *_ = most_similar(head + added + line + b"\nlast line\n", wanted)
    assert pair in place.pairs


def test_an_edit_does_not_forget_the_line_ending_in_use() -> None:
    """A replacement takes it on, also after the last line break was replaced."""
    text = Text(b"a\r\nb\r\n")
    once = text.replaced(text.locate(b"b\n"), b"c")
    assert once.data == b"a\r\nc"
    twice = once.replaced(once.locate(b"c"), b"d\ne")
    assert twice.data == b"a\r\nd\r\ne"
