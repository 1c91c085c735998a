"""The changes of a dry run as a unified diff; renamed files are found as git finds them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from clada.text.diff import NO_BREAK, diff_hunks, differing_part, hunk_header, line_changes, split_lines
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clada.report import Report
    from clada.text.diff import DiffHunk
    from clada.world.secrets.mask import Mask

    Line = tuple[str, str]  # its kind, and its text

MAX_COMPARED = 20_000_000  # bytes that are compared line by line
MAX_SHOWN = 2_000_000  # bytes of changed lines that are shown
MISSING = "/dev/null"
PLAIN_FILE = "100644"
TYPE_NAMES = {"04": "directory", "12": "link"}  # by the first digits of a mode
REGULAR = "10"  # the first digits of a file's mode; links and directories have others
MIN_SIMILARITY = 50  # percent of a renamed file, as in git
MAX_RENAME_COMPARED = 1_000_000  # bytes of a file that is compared line by line with others
MAX_PAIRS = 2_500  # of files that are compared with each other
LINE_KINDS = {" ": "same", "+": "added", "-": "removed"}


class FileHunk(Value):
    """One hunk of a file's diff: its lines before and after, with the lines around them."""

    number: int  # from 1
    of: int  # hunks of this file
    start: int  # lines before it in the old version
    new_start: int  # lines before it in the new version
    old: bytes
    new: bytes
    lines: tuple[Line, ...]  # as a diff shows it, its header first
    edited: bool = False  # by the user

    @property
    def changed_words(self) -> dict[int, list[tuple[int, int]]]:
        """What differs within each line that was changed, by the line's number in `lines`."""
        from clada.text.changed_words import changed_words  # late: it loads difflib

        return changed_words(self.lines)

    def with_text(self, text: bytes) -> FileHunk:
        """Return the hunk with another new text, which the user wrote."""
        sizes = len(split_lines(self.old)), len(split_lines(text))
        header = hunk_header((self.start, self.new_start), sizes)
        return self.replace(new=text, lines=(("hunk", header), *compared_lines(self.old, text)), edited=True)


def report_diff(report: Report) -> Iterator[Line]:
    """Yield the lines of the diff of a dry run."""
    yield from diff_lines(report.changes, report.modes, mask_of_changes(report.changes, report.reveal))


def diff_lines(
    changed: Sequence[tuple[str, bytes | None, bytes | None]],
    modes: Sequence[tuple[str, str | None, str | None]] = (),
    mask: Mask | None = None,
) -> Iterator[Line]:
    """Yield the lines of a unified diff, each with its kind, without what secret files held before.

    `changed` has the path, old and new content of each file; `modes` the same for modes as git writes them.
    `mask` has other values that are not to be shown.
    """
    hide = mask or mask_of_changes(changed)
    for kind, text in _diff_lines(changed, modes):
        yield kind, hide(text)


def _diff_lines(
    changed: Sequence[tuple[str, bytes | None, bytes | None]],
    modes: Sequence[tuple[str, str | None, str | None]],
) -> Iterator[Line]:
    contents = {path: (old, new) for path, old, new in changed}
    by_path = {path: (old, new) for path, old, new in modes}
    paths = {**contents, **by_path}.keys()
    # A directory in which something changes is not shown by itself.
    parents = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"} | {""}
    renames = {rename.new_path: rename for rename in find_renames(changed, modes)}
    for path, rename in renames.items():
        contents[path] = contents.pop(rename.old_path)[0], contents[path][1]
        old_mode, _ = by_path.pop(rename.old_path, (PLAIN_FILE, None))
        by_path[path] = old_mode, by_path.get(path, (None, PLAIN_FILE))[1]

    def place(path: str) -> tuple[bool, list[str]]:
        # `git apply` takes the file after a header without hunks for a part of it: such headers come last.
        old, new = contents.get(path, (None, None))
        return (old or b"") == (new or b""), path.split("/")

    for path in sorted({**contents, **by_path}, key=place):
        name = escape_controls(path)
        if path in renames:
            yield from _rename_lines(renames[path], by_path[path], contents[path])
            continue
        if path in by_path and path not in parents:
            yield from _mode_lines(name, *by_path[path])
        if path in contents:
            yield from _content_lines(name, name, *contents[path])


def _rename_lines(
    rename: Rename, modes: tuple[str | None, str | None], content: tuple[bytes | None, bytes | None]
) -> Iterator[Line]:
    """Yield a rename as git writes it, with the hunks of other changes in the file."""
    old_name, new_name = escape_controls(rename.old_path), escape_controls(rename.new_path)
    old_mode, new_mode = modes
    yield "file", f"diff --git {_side_name('a', old_name, b'')} {_side_name('b', new_name, b'')}"
    if old_mode != new_mode:
        yield from (("file", line) for line in (f"old mode {old_mode}", f"new mode {new_mode}"))
    yield from (("file", line) for line in rename.header(old_name, new_name))
    if content[0] != content[1]:
        yield from _content_lines(old_name, new_name, *content)


def _mode_lines(path: str, old: str | None, new: str | None) -> Iterator[Line]:
    """Yield the change of a mode as git writes it; git has no words for empty directories and links."""
    if PLAIN_FILE in (old, new) and None in (old, new):
        return  # a plain file is created or removed: its content shows that
    git_header = f"diff --git {_side_name('a', path, b'')} {_side_name('b', path, b'')}"
    if old and new and old[:2] == new[:2]:
        yield from (("file", line) for line in (git_header, f"old mode {old}", f"new mode {new}"))
        return
    if old and old[:2] in TYPE_NAMES:
        yield "file", f"removed {TYPE_NAMES[old[:2]]} {path}"
    if new and new[:2] in TYPE_NAMES:
        yield "file", f"new {TYPE_NAMES[new[:2]]} {path}"
    elif new:
        yield from (("file", line) for line in (git_header, f"new file mode {new}"))


def _content_lines(old_path: str, path: str, old: bytes | None, new: bytes | None) -> Iterator[Line]:
    before, after = _side_name("a", old_path, old), _side_name("b", path, new)
    old, new = old or b"", new or b""
    binary = b"\0" in old or b"\0" in new
    hunks = None if binary else file_hunks(old, new)
    if hunks is None:
        why = "" if binary else ": too much has changed to show it"
        yield "file", f"Files {before} and {after} differ ({len(old)} and {len(new)} bytes{why})"
        return
    yield "file", f"--- {before}"
    yield "file", f"+++ {after}"
    for hunk in hunks:
        yield from hunk.lines


def _side_name(side: str, path: str, data: bytes | None) -> str:
    """Return the name of a file's old (a) or new (b) version: outside of the workspace, its whole path."""
    if data is None:
        return MISSING
    return path if path.startswith("/") else f"{side}/{path}"


def file_hunks(old: bytes, new: bytes) -> list[FileHunk] | None:
    """Return the hunks of a file's diff; None if too much would have to be compared or shown."""
    part = differing_part(old, new)
    if len(part.old) + len(part.new) > MAX_COMPARED:
        return None
    before, after = split_lines(part.old), split_lines(part.new)
    changes = list(line_changes(before, after))
    shown = 0
    for change in changes:
        shown += sum(map(len, before[change.start : change.end]))
        shown += sum(map(len, after[change.new_start : change.new_end]))
    if shown > MAX_SHOWN:
        return None
    return numbered(_file_hunks(diff_hunks(before, after, changes, (part.skipped, part.skipped))))


def split_hunk(hunk: FileHunk) -> list[FileHunk]:
    """Return a hunk for each change in this one; the equal lines between two changes are divided."""
    old, new = split_lines(hunk.old), split_lines(hunk.new)
    changes = list(line_changes(old, new))
    cuts = [(0, 0)]
    for change, following in pairwise(changes):
        cut = (change.end + following.start + 1) // 2
        cuts.append((cut, cut - change.end + change.new_end))
    found: list[FileHunk] = []
    for (start, new_start), (end, new_end) in pairwise([*cuts, (len(old), len(new))]):
        part, new_part = old[start:end], new[new_start:new_end]
        before = hunk.start + start, hunk.new_start + new_start
        found += _file_hunks(diff_hunks(part, new_part, line_changes(part, new_part), before))
    return [each.replace(edited=hunk.edited) for each in found]


def numbered(hunks: Sequence[FileHunk]) -> list[FileHunk]:
    """Return the hunks of a file, counted from 1."""
    return [hunk.replace(number=number, of=len(hunks)) for number, hunk in enumerate(hunks, 1)]


def _file_hunks(hunks: Iterable[DiffHunk]) -> list[FileHunk]:
    return [
        FileHunk(0, 0, hunk.start, hunk.new_start, hunk.old, hunk.new, tuple(_shown_lines(hunk)))
        for hunk in hunks
    ]


def compared_lines(old: bytes, new: bytes) -> Iterator[Line]:
    """Yield all lines of two short texts as one hunk shows them, without its header."""
    before, after = split_lines(old), split_lines(new)
    at = 0
    for change in line_changes(before, after):
        yield from _signed_lines(" ", before[at : change.start])
        yield from _signed_lines("-", before[change.start : change.end])
        yield from _signed_lines("+", after[change.new_start : change.new_end])
        at = change.end
    yield from _signed_lines(" ", before[at:])


def _shown_lines(hunk: DiffHunk) -> Iterator[Line]:
    """Yield the lines of a hunk, its header first, with control characters escaped."""
    yield "hunk", hunk.header
    for sign, text in hunk.lines:
        yield from _signed_lines(sign, [text])


def _signed_lines(sign: str, texts: Sequence[bytes]) -> Iterator[Line]:
    for text in texts:
        line = text.removesuffix(b"\n").decode(errors="replace")
        yield LINE_KINDS[sign], f"{sign}{escape_controls(line)}"
        if not text.endswith(b"\n"):
            yield "same", NO_BREAK


# Renames: a file is gone, and a new one has similar content.


class Rename(Value):
    """A file that has another path now."""

    old_path: str
    new_path: str
    similarity: int  # percent

    def header(self, old_name: str, new_name: str) -> list[str]:
        """Return the lines with which git says so, with the names as they are to be shown."""
        return [
            f"similarity index {self.similarity}%",
            f"rename from {old_name}",
            f"rename to {new_name}",
        ]


def find_renames(
    changes: Iterable[tuple[str, bytes | None, bytes | None]],
    modes: Iterable[tuple[str, str | None, str | None]] = (),
) -> list[Rename]:
    """Return the renames among changes: path, content before and after; the same of modes, as git has them.

    Equal contents come first, and among them equal names; then the most similar.
    """
    others = {path for path, *both in modes for mode in both if mode and not mode.startswith(REGULAR)}
    gone: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    for path, before, after in changes:
        if path in others or (before is None) == (after is None):
            continue
        if after is None:
            gone[path] = before or b""
        else:
            new[path] = after
    found: list[Rename] = []
    same_names = _equal(gone, new, lambda path, content: (_name(path), content))
    same_contents = _equal(gone, new, lambda _path, content: content)
    for pairs in (same_names, same_contents, _similar(gone, new)):
        for rename in list(pairs):
            if rename.old_path in gone and rename.new_path in new:
                found.append(rename)
                del gone[rename.old_path], new[rename.new_path]
    return found


def _equal(
    gone: dict[str, bytes], new: dict[str, bytes], key: Callable[[str, bytes], object]
) -> Iterator[Rename]:
    """Yield pairs of which the key is the same, each file once."""
    by_key: dict[object, list[str]] = {}
    for path, content in sorted(gone.items(), reverse=True):
        by_key.setdefault(key(path, content), []).append(path)
    for path, content in sorted(new.items()):
        candidates = by_key.get(key(path, content))
        if candidates:
            yield Rename(candidates.pop(), path, 100)


def _similar(gone: dict[str, bytes], new: dict[str, bytes]) -> Iterator[Rename]:
    """Yield pairs that share at least half of their lines, the most similar first."""
    if len(gone) * len(new) > MAX_PAIRS:
        return
    old_lines, new_lines = _lines(gone), _lines(new)
    pairs = [
        Rename(old, path, similarity)
        for old in old_lines
        for path in new_lines
        if (similarity := _similarity(old_lines[old], new_lines[path], len(gone[old]), len(new[path])))
        >= MIN_SIMILARITY
    ]
    yield from sorted(
        pairs, key=lambda pair: (-pair.similarity, _name(pair.old_path) != _name(pair.new_path))
    )


def _lines(files: dict[str, bytes]) -> dict[str, Counter[bytes]]:
    """Return the lines of each text; binary and large ones are not compared."""
    texts = (path for path, data in files.items() if len(data) <= MAX_RENAME_COMPARED and b"\0" not in data)
    return {path: Counter(files[path].splitlines(keepends=True)) for path in texts}


def _similarity(old: Counter[bytes], new: Counter[bytes], old_size: int, new_size: int) -> int:
    """Return the share of the larger file in lines that both have, in percent; 99 at most, as they differ."""
    smaller, larger = sorted((old_size, new_size))
    if 100 * smaller < MIN_SIMILARITY * larger or not smaller:
        return 0
    common = sum(len(line) * count for line, count in (old & new).items())
    return min(99, 100 * common // larger)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
