"""Recognises clada's own reports and prompts, which must not be applied."""

from __future__ import annotations

from clada.prompts import is_prompt
from clada.report.llm import is_report


def own_text(text: bytes) -> str | None:
    """Return what a text of clada is; None if it may be an answer."""
    words = text.decode(errors="replace")
    if is_report(words):
        return "a report of clada, not an answer"
    return "a prompt of clada, not an answer" if is_prompt(words) else None
