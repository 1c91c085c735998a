"""edit: a text in a file is replaced, if it is there exactly as often as expected."""

from __future__ import annotations

from clada.errors import Error, Trouble
from clada.model import Change, Done
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clada.operations import World
    from clada.text.match import Found, Text

MOST_LINES = 1000  # line numbers that a report names, of however many matches


def apply(world: World, fields: Mapping[str, Any]) -> Done:
    """Replace all matches, or none where their number is not the expected one."""
    path, replacement = fields["path"], fields["replace"].encode()
    parts = world.files.locate(path)
    text = world.files.text(parts)
    found = _find(text, fields)
    if not _as_expected(found.count, fields["count"]):
        raise Trouble.of(_mismatch(text, found, fields))
    lines = _lines(text, found)  # before splicing, for what it learns about the text is handed on
    edited = text.spliced(found, replacement)
    if edited.data == text.data:
        changes: tuple[Change, ...] = ()
    else:
        world.files.hold(parts, edited)
        changes = (Change(display_path(parts), "edited"),)
    return Done("edited", path, count=found.count, lines=lines, changes=changes)


def _find(text: Text, fields: Mapping[str, Any]) -> Found:
    count = fields["count"]
    limit = None if count == "all" else max(count, MOST_LINES)  # past it, matches are only counted
    if "search" in fields:
        return text.locate(fields["search"].encode(), limit)
    return text.locate_range(fields["search_start"].encode(), fields["search_end"].encode(), limit)


def _as_expected(found: int, count: int | str) -> bool:
    return found > 0 if count == "all" else found == count


def _lines(text: Text, found: Found) -> tuple[int, ...]:
    return tuple(text.lines(found.starts[:MOST_LINES]))


def _mismatch(text: Text, found: Found, fields: Mapping[str, Any]) -> Error:
    """Return the error, explained: somebody will try again by what it says."""
    count = fields["count"]
    matches = "1 match" if found.count == 1 else f"{found.count} matches"
    expected = "at least 1" if count == "all" else count
    error = Error(
        "match_count_mismatch",
        f"found {matches}, expected {expected}",
        found=found.count,
        expected=count,
        lines=_lines(text, found),
    )
    return _explained(error, text, found, fields)


def _explained(error: Error, text: Text, found: Found, fields: Mapping[str, Any]) -> Error:
    from clada.text.near_miss import explain, explain_range

    replacement = fields["replace"].encode()
    if found.count and found.unfinished is None:
        return error
    if "search" in fields:
        why = explain(text, fields["search"].encode(), replacement)
    else:
        start, end = fields["search_start"].encode(), fields["search_end"].encode()
        why = explain_range(text, start, end, replacement, found)
    return error.replace(hint=why.clause or None, details=why.whole or None, nearest=why.nearest)
