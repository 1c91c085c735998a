"""Writes unified diffs as git does; they cannot express commands."""

from __future__ import annotations

from clada.notations.write import CannotSayError, FileChange
from clada.text.diff import NO_BREAK, diff_hunks, line_changes, split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.text.diff import DiffHunk

EMPTY, NONE = "e69de29", "0000000"  # what git calls the content of an empty file, and of no file
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t"}


def document(changes: Sequence[FileChange], commands: Sequence[str]) -> str:
    """Return a document of these changes."""
    if commands:
        raise CannotSayError
    return "".join(line for change in changes for line in _file(change))


def _file(change: FileChange) -> Iterator[str]:
    old, new = git_name("a", change.path), git_name("b", change.path)
    yield f"diff --git {old} {new}\n"
    mode = "100755" if change.executable else "100644"
    if change.old is None:
        yield f"new file mode {mode}\n"
    elif change.new is None:
        yield f"deleted file mode {mode}\n"
    if not (change.old or change.new):  # no hunk shows where its part ends
        yield f"index {NONE}..{EMPTY}\n" if change.old is None else f"index {EMPTY}..{NONE}\n"
    lines, new_lines = split_lines((change.old or "").encode()), split_lines((change.new or "").encode())
    changes = list(line_changes(lines, new_lines))
    if changes:
        yield f"--- {'/dev/null' if change.old is None else old}\n"
        yield f"+++ {'/dev/null' if change.new is None else new}\n"
    for hunk in diff_hunks(lines, new_lines, changes):
        yield from hunk_text(hunk)


def hunk_text(hunk: DiffHunk) -> Iterator[str]:
    """Yield the lines of a hunk as git writes them. Raises ValueError if they are not UTF-8."""
    yield f"{hunk.header}\n"
    for sign, line in hunk.lines:
        text = sign + line.decode()
        yield text if text.endswith("\n") else f"{text}\n{NO_BREAK}\n"


def git_name(side: str, path: str) -> str:
    """Return a path as git writes it: quoted, where it has to be."""
    plain = path.isascii() and path.isprintable() and not set(path) & set('\\" ')
    if plain:
        return f"{side}/{path}"
    quoted = "".join(
        _ESCAPES.get(char)
        or (
            char
            if " " <= char < "\x7f"
            else "".join(f"\\{byte:03o}" for byte in char.encode(errors="surrogateescape"))
        )
        for char in path
    )
    return f'"{side}/{quoted}"'
