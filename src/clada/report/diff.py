"""What a dry run would change, as a unified diff."""

from __future__ import annotations

from clada.text.diff import CONTEXT, Change, changes, lines, middle
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Line = tuple[str, str]  # its kind, and its text

COMPARED = 20_000_000  # bytes that are compared line by line
SHOWN = 2_000_000  # bytes of changed lines that anybody would look at
MISSING = "/dev/null"
PLAIN = "100644"
NAMES = {"04": "directory", "12": "link"}  # by the first digits of a mode
KINDS = {" ": "same", "+": "added", "-": "removed"}


def unified(
    changed: Sequence[tuple[str, bytes | None, bytes | None]],
    modes: Sequence[tuple[str, str | None, str | None]] = (),
) -> Iterator[Line]:
    """Yield the lines of a diff of all that changes, each with its kind."""
    contents = {path: (old, new) for path, old, new in changed}
    kinds = {path: (old, new) for path, old, new in modes}
    paths = sorted({**contents, **kinds}, key=lambda path: path.split("/"))
    full = {above for path in paths for above in _above(path)}
    for path in paths:
        if path in kinds and path not in full:
            yield from _kind(escape_controls(path), *kinds[path])
        if path in contents:
            yield from _file(escape_controls(path), *contents[path])


def _above(path: str) -> Iterator[str]:
    """Yield the directories that a path leads through."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _kind(path: str, old: str | None, new: str | None) -> Iterator[Line]:
    """Yield what changes besides the content, as git writes it; directories, empty ones, in our own words."""
    if PLAIN in (old, new) and None in (old, new):
        return  # a file is made or removed: that shows
    if old and new and old[:2] == new[:2]:
        yield from (("file", line) for line in (_names(path), f"old mode {old}", f"new mode {new}"))
        return
    if old and old[:2] in NAMES:
        yield "file", f"removed {NAMES[old[:2]]} {path}"
    if new and new[:2] in NAMES:
        yield "file", f"new {NAMES[new[:2]]} {path}"
    elif new:
        yield from (("file", line) for line in (_names(path), f"new file mode {new}"))


def _names(path: str) -> str:
    return f"diff --git {_header('a', path, b'')} {_header('b', path, b'')}"


def _file(path: str, old: bytes | None, new: bytes | None) -> Iterator[Line]:
    before, after = _header("a", path, old), _header("b", path, new)
    old, new = old or b"", new or b""
    binary = b"\0" in old or b"\0" in new
    hunks = None if binary else _hunks(old, new)
    if hunks is None:
        why = "" if binary else ": too much has changed to show it"
        yield "file", f"Files {before} and {after} differ ({len(old)} and {len(new)} bytes{why})"
        return
    yield "file", f"--- {before}"
    yield "file", f"+++ {after}"
    yield from hunks


def _header(side: str, path: str, data: bytes | None) -> str:
    """Return how a side is called; what lies outside of the workspace by its whole path."""
    if data is None:
        return MISSING
    return path if path.startswith("/") else f"{side}/{path}"


def _hunks(old: bytes, new: bytes) -> Iterator[Line] | None:
    """Return the hunks of a text; None where they are too much to find, or to show."""
    part = middle(old, new)
    if len(part.old) + len(part.new) > COMPARED:
        return None
    before, after = lines(part.old), lines(part.new)
    found = list(changes(before, after))
    if sum(_size(change, before, after) for change in found) > SHOWN:
        return None
    return (line for group in _groups(found) for line in _hunk(group, before, after, part.skipped))


def _size(change: Change, old: Sequence[bytes], new: Sequence[bytes]) -> int:
    changed = (*old[change.start : change.end], *new[change.new_start : change.new_end])
    return sum(map(len, changed))


def _groups(found: Iterable[Change]) -> Iterator[list[Change]]:
    """Yield the changes that share a hunk, for their contexts touch."""
    group: list[Change] = []
    for change in found:
        if group and change.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: list[Change], old: list[bytes], new: list[bytes], skipped: int) -> Iterator[Line]:
    start, end = max(0, group[0].start - CONTEXT), min(len(old), group[-1].end + CONTEXT)
    new_start = group[0].new_start - (group[0].start - start)
    new_end = group[-1].new_end + (end - group[-1].end)
    yield "hunk", f"@@ -{_range(start, end, skipped)} +{_range(new_start, new_end, skipped)} @@"
    for change in group:
        yield from _signed(" ", old[start : change.start])
        yield from _signed("-", old[change.start : change.end])
        yield from _signed("+", new[change.new_start : change.new_end])
        start = change.end
    yield from _signed(" ", old[start:end])


def _range(start: int, end: int, skipped: int) -> str:
    """Return the lines from 1 of a hunk's side; an empty one is named by the line before it."""
    size = end - start
    first = start + skipped + (1 if size else 0)
    return f"{first}" if size == 1 else f"{first},{size}"


def _signed(sign: str, texts: Iterable[bytes]) -> Iterator[Line]:
    for text in texts:
        line = text.removesuffix(b"\n").decode(errors="replace")
        yield KINDS[sign], f"{sign}{escape_controls(line)}"
        if not text.endswith(b"\n"):
            yield "same", "\\ No newline at end of file"
