"""Error messages of the command line: a line, and below it, indented, what to do."""

from __future__ import annotations


def headline(text: str) -> str:
    """Return messages without the remedies below them."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("  "))


def joined(text: str) -> str:
    """Return each message with its remedy behind it, in one line."""
    return text.replace("\n  ", "; ")
