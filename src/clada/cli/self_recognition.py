"""Texts of clada's own that come back to it, and are no answers: its reports, and its prompts."""

from __future__ import annotations

from clada.prompts import is_prompt
from clada.report.llm import is_report


def own_text(text: bytes) -> str | None:
    """Return what a text of clada's own is, in words; None where it may be an answer."""
    words = text.decode(errors="replace")
    if is_report(words):
        return "a report of clada's, and no answer"
    return "a prompt of clada's, and no answer" if is_prompt(words) else None
