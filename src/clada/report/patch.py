"""Writes the changes of a run as a patch for `git apply`: texts by lines, other files as binary patches."""

from __future__ import annotations

from base64 import b85encode
from hashlib import sha1
from zlib import compress

from clada.notations.write.dialects import git_name, hunk_text
from clada.report.diff import MAX_COMPARED, find_renames
from clada.text.diff import diff_hunks, differing_part, line_changes, split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.report.diff import Rename

FILE, DIRECTORY = "100644", "04"
NO_HASH = "0" * 40  # git's hash of a missing file
BINARY_LINE = 52  # bytes in a line of a binary patch


def patch(
    changes: Iterable[tuple[str, bytes | None, bytes | None]],
    modes: Iterable[tuple[str, str | None, str | None]] = (),
) -> str:
    """Return the patch of these changes: path, old and new content; path, old and new mode as git writes it.

    The content of a link is its target. Directories are left out, as in git. A moved file is a rename.
    """
    changes, modes = list(changes), list(modes)
    contents = {path: (old, new) for path, old, new in changes}
    kinds = {path: (old, new) for path, old, new in modes}
    renames = find_renames(changes, modes)
    pieces = [piece for rename in renames for piece in _rename(rename, contents, kinds)]
    paths = contents if not kinds else sorted({**contents, **kinds})
    for path in paths:
        pieces += _entry(path, contents.get(path, (None, None)), kinds.get(path), path in contents)
    return "".join(pieces)


def _rename(
    rename: Rename,
    contents: dict[str, tuple[bytes | None, bytes | None]],
    kinds: dict[str, tuple[str | None, str | None]],
) -> Iterator[str]:
    """Yield the patch of a rename, and take both of its paths out of the changes."""
    old, new = contents.pop(rename.old_path)[0], contents.pop(rename.new_path)[1]
    old_mode = kinds.pop(rename.old_path, (FILE, None))[0]
    new_mode = kinds.pop(rename.new_path, (None, FILE))[1]
    yield from _file(rename.new_path, (old, new), (old_mode, new_mode), rename)


def _entry(
    path: str,
    content: tuple[bytes | None, bytes | None],
    modes: tuple[str | None, str | None] | None,
    has_content: bool,
) -> Iterator[str]:
    old_mode, new_mode = modes or (FILE, FILE)
    old_mode = None if old_mode and old_mode.startswith(DIRECTORY) else old_mode
    new_mode = None if new_mode and new_mode.startswith(DIRECTORY) else new_mode
    if old_mode == new_mode is None:
        return
    old, new = content
    if old_mode and new_mode and old_mode[:3] != new_mode[:3]:  # a file for a link: git has two patches then
        yield from _file(path, (old or b"", None), (old_mode, None))
        yield from _file(path, (None, new or b""), (None, new_mode))
        return
    if not has_content:
        old, new = (b"" if old_mode else None), (b"" if new_mode else None)
    yield from _file(path, (old, new), (old_mode, new_mode))


def _file(
    path: str,
    content: tuple[bytes | None, bytes | None],
    modes: tuple[str | None, str | None],
    rename: Rename | None = None,
) -> Iterator[str]:
    (old, new), (old_mode, new_mode) = content, modes
    before, after = git_name("a", rename.old_path if rename else path), git_name("b", path)
    yield f"diff --git {before} {after}\n"
    if old is None:
        yield f"new file mode {new_mode or FILE}\n"
    elif new is None:
        yield f"deleted file mode {old_mode or FILE}\n"
    elif old_mode != new_mode:
        yield f"old mode {old_mode}\nnew mode {new_mode}\n"
    if rename:
        names = (before.replace("a/", "", 1), after.replace("b/", "", 1))
        yield "".join(f"{line}\n" for line in rename.header(*names))
    was, now = old or b"", new or b""
    if was == now and (old is None) == (new is None):
        return
    try:
        pieces = _text(was, now)
    except ValueError:  # not UTF-8, or too much to compare
        yield from _binary(old, new)
        return
    if pieces:
        yield f"--- {'/dev/null' if old is None else before}\n+++ {'/dev/null' if new is None else after}\n"
        yield from pieces


def _text(old: bytes, new: bytes) -> list[str]:
    """Return the hunks; raise ValueError if the files are binary or too large."""
    if b"\0" in old or b"\0" in new:
        raise ValueError
    part = differing_part(old, new)
    if len(part.old) + len(part.new) > MAX_COMPARED:
        raise ValueError
    old_lines, new_lines = split_lines(part.old), split_lines(part.new)
    hunks = diff_hunks(old_lines, new_lines, line_changes(old_lines, new_lines), (part.skipped, part.skipped))
    return [text for hunk in hunks for text in hunk_text(hunk)]


def _binary(old: bytes | None, new: bytes | None) -> Iterator[str]:
    """Yield a binary patch with both contents, so that it can be reversed."""
    yield f"index {_hash(old)}..{_hash(new)}\nGIT binary patch\n"
    for content in (new or b"", old or b""):
        yield from _literal(content)


def _hash(content: bytes | None) -> str:
    if content is None:
        return NO_HASH
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _literal(content: bytes) -> Iterator[str]:
    yield f"literal {len(content)}\n"
    packed = compress(content)
    for start in range(0, len(packed), BINARY_LINE):
        piece = packed[start : start + BINARY_LINE]
        letter = chr(ord("A") + len(piece) - 1) if len(piece) <= 26 else chr(ord("a") + len(piece) - 27)  # noqa: PLR2004 (as git counts)
        yield f"{letter}{b85encode(piece, pad=True).decode()}\n"
    yield "\n"
