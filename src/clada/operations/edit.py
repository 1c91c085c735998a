"""edit: a text in a file is replaced, if it is there exactly as often as expected."""

from __future__ import annotations

from clada.errors import Error, Trouble
from clada.grammar import Field
from clada.model import Change, Done, Operation
from clada.values import Value
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self

    from clada.text.match import Matches, Text
    from clada.world.world import World

MOST_LINES = 1000  # line numbers that a report names, of however many matches


class Hunk(Value):
    """One replacement: of a text, or of all from a text to the nearest `search_end` after it."""

    search: str
    replacement: str
    search_end: str | None = None


class Edit(Operation):
    """Replace a text in a file. `count` says how often it must be found: a number, or all."""

    path: str
    hunks: tuple[Hunk, ...]
    count: int | str = 1
    match: str = "exact"  # how search texts are compared with the file's

    name: ClassVar = "edit"
    fields: ClassVar = (
        Field("path", "path"),
        Field("count", "count", required=False, default=1),
        Field("search", "text"),  # or search_start and search_end
        Field("search_start", "text", required=False),
        Field("search_end", "text", required=False),
        Field("replace", "text"),
    )
    phrases: ClassVar = {
        "edited": ("{target} ({replacements} at {lines})", "edited {target} ({replacements})"),
    }

    @classmethod
    def from_fields(
        cls, line: int, span: tuple[int, int], attributes: Mapping[str, str], values: Mapping[str, Any]
    ) -> Self:
        """Make it from its fields: a search text, or both ends of a range, are one hunk."""
        search = values["search"] if "search" in values else values["search_start"]
        hunk = Hunk(search, values["replace"], values.get("search_end"))
        return cls(line, span, attributes, values["path"], (hunk,), values["count"])

    @property
    def target(self) -> str:
        """The path."""
        return self.path

    @property
    def holds(self) -> str | None:
        """The path: edits of one file in a row are written once."""
        return self.path

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        (hunk,) = self.hunks
        if hunk.search_end is None:
            texts = {"search": hunk.search}
        else:
            texts = {"search_start": hunk.search, "search_end": hunk.search_end}
        return {"path": self.path, "count": self.count, **texts, "replace": hunk.replacement}

    def apply(self, world: World) -> Done:
        """Replace all matches, or none where their number is not the expected one."""
        parts = world.files.locate(self.path)
        text = world.files.text(parts)
        (hunk,) = self.hunks
        found = self._find(text, hunk)
        if not found.count if self.count == "all" else found.count != self.count:
            raise Trouble.of(self._mismatch(text, hunk, found))
        lines = _lines(text, found)  # before splicing, for what it learns about the text is handed on
        edited = text.replaced(found, hunk.replacement.encode())
        changes: tuple[Change, ...] = ()
        if edited.data != text.data:
            world.files.hold(parts, edited)
            changes = (Change(display_path(parts), "edited"),)
        return Done("edited", self.path, count=found.count, lines=lines, changes=changes, held=True)

    def _find(self, text: Text, hunk: Hunk) -> Matches:
        # Past the limit, matches are only counted.
        limit = max(self.count, MOST_LINES) if isinstance(self.count, int) else None
        if hunk.search_end is None:
            return text.locate(hunk.search.encode(), limit)
        return text.locate_range(hunk.search.encode(), hunk.search_end.encode(), limit)

    def _mismatch(self, text: Text, hunk: Hunk, found: Matches) -> Error:
        """Return the error, explained: somebody will try again by what it says."""
        matches = "1 match" if found.count == 1 else f"{found.count} matches"
        expected = "at least 1" if self.count == "all" else self.count
        error = Error(
            "match_count_mismatch",
            f"found {matches}, expected {expected}",
            found=found.count,
            expected=self.count,
            lines=_lines(text, found),
            searched=hunk.search,
        )
        if found.count and found.unfinished is None:
            return error
        from clada.text.near_miss import explain, explain_range

        search, replacement = hunk.search.encode(), hunk.replacement.encode()
        if hunk.search_end is None:
            why = explain(text, search, replacement)
        else:
            why = explain_range(text, search, hunk.search_end.encode(), replacement, found)
        return error.replace(hint=why.hint or None, details=why.details or None, nearest=why.nearest)


def _lines(text: Text, found: Matches) -> tuple[int, ...]:
    return tuple(text.lines(found.starts[:MOST_LINES]))
