"""What a dry run would change, as a unified diff."""

from __future__ import annotations

from clada.text.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Change = tuple[str, bytes | None, bytes | None]
    Line = tuple[str, str]  # its kind, and its text

LARGE = 2_000_000  # bytes past which comparing line by line takes too long
MISSING = "/dev/null"
HEADER = 2  # lines that difflib starts with, and we write ourselves
KINDS = {"+": "added", "-": "removed", "@": "hunk"}


def unified(changes: Sequence[Change]) -> Iterator[Line]:
    """Yield the lines of a diff of all files that change, each with its kind."""
    for path, old, new in changes:
        yield from _file(shown(path), old, new)


def _file(path: str, old: bytes | None, new: bytes | None) -> Iterator[Line]:
    before, after = _header("a", path, old), _header("b", path, new)
    if len(old or b"") + len(new or b"") > LARGE or b"\0" in (old or b"") + (new or b""):
        yield "file", f"Files {before} and {after} differ ({len(old or b'')} and {len(new or b'')} bytes)"
        return
    yield "file", f"--- {before}"
    yield "file", f"+++ {after}"
    yield from _hunks(_lines(old), _lines(new))


def _header(side: str, path: str, data: bytes | None) -> str:
    """Return how a side is called; what lies outside of the workspace by its whole path."""
    if data is None:
        return MISSING
    return path if path.startswith("/") else f"{side}/{path}"


def _hunks(old: list[str], new: list[str]) -> Iterator[Line]:
    from difflib import unified_diff

    for number, line in enumerate(unified_diff(old, new, n=3, lineterm="")):
        if number >= HEADER:
            text, newline, _ = line.partition("\n")
            yield KINDS.get(line[0], "same"), shown(text)
            if not newline and not line.startswith("@@"):
                yield "same", "\\ No newline at end of file"


def _lines(data: bytes | None) -> list[str]:
    lines = (data or b"").decode(errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
