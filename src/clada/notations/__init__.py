"""Notations: from the text of an answer to a plan, and back. No input or output."""

from clada.notations.detect import parse

__all__ = ["parse"]
