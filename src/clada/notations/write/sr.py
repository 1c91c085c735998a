"""Writes search/replace blocks; files are removed, and commands run, in a shell's fence at the end."""

from __future__ import annotations

import re

from clada.notations.write import CannotSayError, FileChange, lines_of, quote_word, replacements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKERS = re.compile(r"(?:<{5,9}|>{5,9}|={5,9})(?:[ \t]+[A-Z]+>?)?")
_TICKS = re.compile(r"(?m)^[ \t]*(`{3,})")


def document(changes: Sequence[FileChange], commands: Sequence[str]) -> str:
    """Return a document of these changes and commands."""
    parts = [block for change in changes if change.new is not None for block in _blocks(change)]
    removed = [f"rm -- {quote_word(change.path)}" for change in changes if change.new is None]
    parts += [_fenced("bash", f"{text}\n") for text in ("\n".join(removed), *commands) if text]
    return "\n".join(parts)


def _blocks(change: FileChange) -> list[str]:
    new = change.new or ""
    if not change.old:
        return [_block(change.path, "", new)]
    if not new:
        return [_block(change.path, change.old, "")]
    pairs = replacements(change.old, new, least=1, whole_lines=True)
    return [_block(change.path, *pair) for pair in pairs]


def _block(path: str, old: str, new: str) -> str:
    texts = [text if not text or text.endswith("\n") else f"{text}\n" for text in (old, new)]
    inside = "".join(texts)
    taken = {len(line.split()[0]) for line in map(str.strip, lines_of(inside)) if _MARKERS.fullmatch(line)}
    size = next((size for size in (7, 9, 8, 6, 5) if size not in taken), None)
    if size is None:
        raise CannotSayError
    block = f"{'<' * size} SEARCH\n{texts[0]}{'=' * size}\n{texts[1]}{'>' * size} REPLACE\n"
    return f"{path if path.isascii() and ' ' not in path else f'`{path}`'}\n{_fenced('', block)}"


def _fenced(info: str, text: str) -> str:
    """Return a text in a fence that is longer than any in it."""
    ticks = "`" * max([3, *(len(found) + 1 for found in _TICKS.findall(text))])
    return f"{ticks}{info}\n{text}{ticks}\n"
