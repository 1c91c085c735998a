"""Writers of search/replace blocks, of apply_patch patches and of unified diffs, which have no commands."""

from __future__ import annotations

import re

from clada.notations.write import CannotSayError, FileChange, quote_word, replacements
from clada.text.diff import NO_BREAK, common_ends, diff_hunks, line_changes, split_lines
from clada.text.escape import fence_for
from clada.text.line_endings import end_with_line_break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.text.diff import DiffHunk

EMPTY, NONE = "e69de29", "0000000"  # git's short hashes of an empty file, and of no file
_GIT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\t": "\\t"}
_MARKERS = re.compile(r"(?:<{5,9}|>{5,9}|={5,9})(?:[ \t]+[A-Z]+>?)?")


class Sr:
    """Files are removed, and commands run, in a fence of a shell at the end."""

    takes_commands = True

    def document(self, changes: Sequence[FileChange], commands: Sequence[str]) -> str:
        """Return a document of these changes and commands."""
        parts = [block for change in changes if change.new is not None for block in _sr_blocks(change)]
        removed = [f"rm -- {quote_word(change.path)}" for change in changes if change.new is None]
        parts += [_fence("bash", f"{text}\n") for text in ("\n".join(removed), *commands) if text]
        return "\n".join(parts)


def _sr_blocks(change: FileChange) -> list[str]:
    new = change.new or ""
    if not change.old:
        return [_sr_block(change.path, "", new)]
    if not new:
        return [_sr_block(change.path, change.old, "")]
    pairs = replacements(change.old, new, least=1, whole_lines=True)
    return [_sr_block(change.path, *pair) for pair in pairs]


def _sr_block(path: str, old: str, new: str) -> str:
    texts = [end_with_line_break(text) for text in (old, new)]
    inside = "".join(texts)
    taken = {len(line.split()[0]) for line in map(str.strip, split_lines(inside)) if _MARKERS.fullmatch(line)}
    size = next((size for size in (7, 9, 8, 6, 5) if size not in taken), None)
    if size is None:
        raise CannotSayError
    block = f"{'<' * size} SEARCH\n{texts[0]}{'=' * size}\n{texts[1]}{'>' * size} REPLACE\n"
    return f"{path if path.isascii() and ' ' not in path else f'`{path}`'}\n{_fence('', block)}"


def _fence(info: str, text: str) -> str:
    return f"{fence_for(text)}{info}\n{text}{fence_for(text)}\n"


class V4a:
    """Patches of the kind `*** Begin Patch`."""

    takes_commands = False

    def document(self, changes: Sequence[FileChange], _commands: Sequence[str]) -> str:
        """Return a document of these changes."""
        sections = "".join(line for change in changes for line in _v4a_section(change))
        return f"*** Begin Patch\n{sections}*** End Patch\n"


def _v4a_section(change: FileChange) -> Iterator[str]:
    if change.new is None:
        yield f"*** Delete File: {change.path}\n"
        return
    if change.old is None:
        yield f"*** Add File: {change.path}\n"
        yield from _with_sign("+", change.new)
        return
    # One section for each place, because each is searched for in the result of the section before.
    for old, new in replacements(change.old, change.new, least=3, whole_lines=True):
        yield f"*** Update File: {change.path}\n@@\n"
        yield from _v4a_hunk(split_lines(old), split_lines(new))


def _v4a_hunk(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines of a hunk: those that are equal at both ends are context."""
    start, end = common_ends(old, new)
    yield from _with_sign(" ", "".join(old[:start]))
    yield from _with_sign("-", "".join(old[start : len(old) - end]))
    yield from _with_sign("+", "".join(new[start : len(new) - end]))
    yield from _with_sign(" ", "".join(old[len(old) - end :]))


def _with_sign(sign: str, text: str) -> Iterator[str]:
    for line in split_lines(text):
        yield sign + (line if line.endswith("\n") else f"{line}\n")


class Udiff:
    """Unified diffs as git writes them."""

    takes_commands = False

    def document(self, changes: Sequence[FileChange], _commands: Sequence[str]) -> str:
        """Return a document of these changes."""
        return "".join(line for change in changes for line in _git_file(change))


def _git_file(change: FileChange) -> Iterator[str]:
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
    """Return a path as git writes it: quoted if necessary."""
    plain = path.isascii() and path.isprintable() and not set(path) & set('\\" ')
    if plain:
        return f"{side}/{path}"
    quoted = "".join(
        _GIT_ESCAPES.get(char)
        or (
            char
            if " " <= char < "\x7f"
            else "".join(f"\\{byte:03o}" for byte in char.encode(errors="surrogateescape"))
        )
        for char in path
    )
    return f'"{side}/{quoted}"'
