"""Replaces secret values in text by a mark that says where they come from: `•••(.env:API_KEY)`."""

from __future__ import annotations

from clada.text.escape import escape_controls
from clada.world.secrets.names import is_revealed, looks_secret
from clada.world.secrets.values import secret_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clada.errors import Error

MOST_VALUES = 1000  # each is searched for in all output
LONGEST_KEY = 60  # characters of a key that a mark names


class Mask:
    """The secret values that are known, each with its mark."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._sorted: list[tuple[str, str]] = []

    @property
    def longest(self) -> int:
        """How many bytes the longest value can have."""
        return max((len(value.encode()) for value, _mark in self._sorted[:1]), default=0)

    def add(self, path: str, content: bytes) -> None:
        """Learn the values in a file, as far as there is room for more."""
        if b"\0" in content:
            return  # a binary file, of which nothing is printed as text
        for value, key in secret_values(content.decode("utf-8", "replace")).items():
            if len(self._marks) >= MOST_VALUES:
                break
            where = f"{path}:{key[-LONGEST_KEY:]}" if key else path
            for form in (value, escape_controls(value)):
                self._marks.setdefault(form, f"•••({escape_controls(where)})")
        # A value can be a part of another one: the longer one is replaced first.
        self._sorted = sorted(self._marks.items(), key=lambda item: -len(item[0]))

    def __call__(self, text: str) -> str:
        """Return a text with a mark in place of each value."""
        for value, mark in self._sorted:
            if value in text:
                text = text.replace(value, mark)
        return text

    def error(self, error: Error) -> Error:
        """Return an error without secret values, wherever it quotes a file."""
        nearest = error.nearest and error.nearest.replace(
            **{
                name: self._optional(getattr(error.nearest, name))
                for name in ("wanted", "found", "difference")
            }
        )
        texts = ("message", "hint", "searched", "details", "traceback")
        return error.replace(
            nearest=nearest, **{name: self._optional(getattr(error, name)) for name in texts}
        )

    def _optional(self, text: str | None) -> str | None:
        return text and self(text)


def mask_of_changes(
    changes: Iterable[tuple[str, bytes | None, bytes | None]], reveal: Sequence[str] = ()
) -> Mask:
    """Return a mask of what secret files held before they were changed; what is new comes from the answer."""
    mask = Mask()
    for path, old, _new in changes:
        if old and looks_secret(path) and not is_revealed(path, reveal):
            mask.add(path, old)
    return mask
