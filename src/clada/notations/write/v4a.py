"""Writes patches of the kind `*** Begin Patch`; they cannot express commands."""

from __future__ import annotations

from clada.notations.write import CannotSayError, FileChange, lines_of, replacements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def document(changes: Sequence[FileChange], commands: Sequence[str]) -> str:
    """Return a document of these changes."""
    if commands:
        raise CannotSayError
    sections = "".join(line for change in changes for line in _section(change))
    return f"*** Begin Patch\n{sections}*** End Patch\n"


def _section(change: FileChange) -> Iterator[str]:
    if change.new is None:
        yield f"*** Delete File: {change.path}\n"
        return
    if change.old is None:
        yield f"*** Add File: {change.path}\n"
        yield from _signed("+", change.new)
        return
    # One section for each place, because each is searched for in the result of the section before.
    for old, new in replacements(change.old, change.new, least=3, whole_lines=True):
        yield f"*** Update File: {change.path}\n@@\n"
        yield from _hunk(lines_of(old), lines_of(new))


def _hunk(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines of a hunk: those that are equal at both ends are context."""
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    rest = least - start
    end = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    yield from _signed(" ", "".join(old[:start]))
    yield from _signed("-", "".join(old[start : len(old) - end]))
    yield from _signed("+", "".join(new[start : len(new) - end]))
    yield from _signed(" ", "".join(old[len(old) - end :]))


def _signed(sign: str, text: str) -> Iterator[str]:
    for line in lines_of(text):
        yield sign + (line if line.endswith("\n") else f"{line}\n")
