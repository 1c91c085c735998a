"""Strings of JSON and TOML: escapes are undone alike in small slices and, piece by piece, in large ones."""

from __future__ import annotations

import json

import pytest

from clada.notations import strings
from clada.notations.strings import CONTINUED, LONG, PAIR, SHORT, decoded, pieces, unescaped

PIECE = pieces(rb'[^"\\]', rb'\\["\\/bfnrt]', SHORT, PAIR, LONG, CONTINUED)
TEXTS = (
    "",
    "plain",
    "ümläut €uro 🎉",
    'a "quoted" \\ back\\\\slash / and \\n that is none',
    "tab\tbreak\nreturn\rbell\bfeed\f",
    "\\u0041 stays",
    "\u00e9\u20ac\U0001f389 mixed \\\\u0041",
)


@pytest.fixture(params=[strings.LARGE, 1], ids=["at once", "in pieces"])
def _size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "LARGE", request.param)


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_a_string_is_what_the_standard_library_makes_of_it(text: str, ascii_only: bool) -> None:
    """Wherever it stands, and whatever stands around it."""
    inside = json.dumps(text, ensure_ascii=ascii_only)[1:-1].encode()
    for before, after in ((b"", b""), (b"\\", b"\\"), (b"\\n", b"x")):
        start = len(before)
        assert unescaped(before + inside + after, start, start + len(inside), PIECE) == text


@pytest.mark.usefixtures("_size")
def test_the_escapes_of_toml_are_undone_too() -> None:
    """Long numbers, and lines that go on."""
    inside = rb"a\U0001F389b\u00e9" + b"\\  \n\n   c \\\nd"
    assert unescaped(inside, 0, len(inside), PIECE) == "a🎉béc d"


def test_a_large_string_is_undone_piece_by_piece() -> None:
    """No piece ends inside a character or an escape, and none is lost."""
    text = 'äöü\\\n"€' * 30_000
    inside = json.dumps(text, ensure_ascii=False)[1:-1].encode()
    assert len(inside) > 4 * strings.LARGE
    found = list(PIECE.finditer(inside))
    assert b"".join(match.group() for match in found) == inside
    assert len(found) > 1
    assert unescaped(inside, 0, len(inside), PIECE) == text
    assert decoded(b"x" + inside + b"x", 1, 1 + len(inside)) == inside.decode()


@pytest.mark.parametrize("plain", [b"x" * 1_024_001, "ü".encode() * 600_000, b"\\n" * 1_001])
def test_a_piece_is_small(plain: bytes) -> None:
    """At most a thousand runs of a thousand bytes, or a thousand escapes; at character ends."""
    match = PIECE.match(plain)
    assert match is not None
    assert 0 < match.end() < len(plain)
    match.group().decode()
