"""Writes unified diffs as git does; they have no words for commands."""

from __future__ import annotations

from clada.notations.write import CannotSay, FileChange, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NO_BREAK = "\\ No newline at end of file\n"
EMPTY, NONE = "e69de29", "0000000"  # what git calls the content of an empty file, and of no file
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t"}


def document(changes: Sequence[FileChange], commands: Sequence[str]) -> str:
    """Return a document of these changes."""
    if commands:
        raise CannotSay
    return "".join(line for change in changes for line in _file(change))


def _file(change: FileChange) -> Iterator[str]:
    from difflib import unified_diff

    old, new = git_name("a", change.path), git_name("b", change.path)
    yield f"diff --git {old} {new}\n"
    mode = "100755" if change.executable else "100644"
    if change.old is None:
        yield f"new file mode {mode}\n"
    elif change.new is None:
        yield f"deleted file mode {mode}\n"
    if not (change.old or change.new):  # no hunk shows where its part ends
        yield f"index {NONE}..{EMPTY}\n" if change.old is None else f"index {EMPTY}..{NONE}\n"
    sides = ("/dev/null" if change.old is None else old, "/dev/null" if change.new is None else new)
    for line in unified_diff(lines_of(change.old or ""), lines_of(change.new or ""), *sides):
        yield line if line.endswith("\n") else f"{line}\n{NO_BREAK}"


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
