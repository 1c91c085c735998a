"""What is shown cannot forge a line or steer a terminal, and plain text is shown as it is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada.text.escape import escape_controls

PLAIN = (
    "",
    "plain words",
    "a\ttab",
    "back\\slash",
    "naïve café",
    "e\u0301 combining",
    "日本語\u3000全角",
    "no\u00a0break",
    "🎉 👍🏽 ❤\ufe0f",
    "العربية",
    "\ue0b0 private use",
)

ESCAPED = (
    ("\x1b[2J", r"\x1b[2J"),
    ("\x1b]8;;http://x\x07link", r"\x1b]8;;http://x\x07link"),
    ("\x1b]52;c;aGk=\x1b\\", r"\x1b]52;c;aGk=\x1b" + "\\"),
    ("done\r[task-1] SUCCESS", r"done\r[task-1] SUCCESS"),
    ("a\nb", r"a\nb"),
    ("a\vb\fc", r"a\x0bb\x0cc"),
    ("nul\0", r"nul\x00"),
    ("del\x7f", r"del\x7f"),
    ("next\x85line", r"next\x85line"),
    ("csi\x9b2J", r"csi\x9b2J"),
    ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
    ("\u202etxt.exe", r"\u202etxt.exe"),
    ("\u2066iso\u2069", r"\u2066iso\u2069"),
    ("\u200e\u200f\u061c", r"\u200e\u200f\u061c"),
    ("z\u200bw\u200cj\u200d", r"z\u200bw\u200cj\u200d"),
    ("\ufeffbom", r"\ufeffbom"),
    ("word\u2060joiner", r"word\u2060joiner"),
    ("soft\xadhyphen", r"soft\xadhyphen"),
    ("tag\U000e0041", r"tag\U000e0041"),
    ("lone\ud800", r"lone\ud800"),
    ("byte\udcff", r"byte\udcff"),
    ("日本\x1b\udc80", r"日本\x1b\udc80"),
)


@pytest.mark.parametrize("text", PLAIN)
def test_plain(text: str) -> None:
    """Printable text, tabs included, is shown as it is."""
    assert escape_controls(text) == text


@pytest.mark.parametrize(("text", "expected"), ESCAPED)
def test_escaped(text: str, expected: str) -> None:
    """A character that could disturb a line is shown by its escape."""
    assert escape_controls(text) == expected


def test_categories() -> None:
    """Every control character, surrogate and line separator of Unicode is escaped."""
    characters = [(char, unicodedata.category(char)) for char in map(chr, range(0x110000))]
    found = {char: category for char, category in characters if category in ("Cc", "Cs", "Zl", "Zp")}
    assert len(set(found.values())) == 4
    assert [char for char in found if escape_controls(char) == char] == ["\t"]


def test_direction() -> None:
    """Every character that turns the reading direction is escaped."""
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    codes = [code for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in turning]
    assert len(codes) == 9
    assert [code for code in codes if escape_controls(chr(code)) == chr(code)] == []


@given(st.text(st.characters(codec=None)))
def test_any_text(text: str) -> None:
    """Any text becomes one line of valid UTF-8, and stays itself when it is shown again."""
    once = escape_controls(text)
    assert len(once.splitlines()) <= 1
    assert once.encode("utf-8").decode("utf-8") == once
    assert escape_controls(once) == once
