"""Finds renamed files among changes, as git does: a file is gone, and a new one has similar content."""

from __future__ import annotations

from collections import Counter

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FILE = "10"  # the first digits of a file's mode; links and directories have others
MIN_SIMILARITY = 50  # percent, as in git
MAX_COMPARED = 1_000_000  # bytes of a file that is compared line by line with others
MAX_PAIRS = 2_500  # of files that are compared with each other


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
    others = {path for path, *both in modes for mode in both if mode and not mode.startswith(FILE)}
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
    for pairs in (_same_names, _same_contents, _similar):
        for rename in pairs(gone, new):
            if rename.old_path in gone and rename.new_path in new:
                found.append(rename)
                del gone[rename.old_path], new[rename.new_path]
    return found


def _same_names(gone: dict[str, bytes], new: dict[str, bytes]) -> Iterator[Rename]:
    yield from _equal(gone, new, lambda path, content: (_name(path), content))


def _same_contents(gone: dict[str, bytes], new: dict[str, bytes]) -> Iterator[Rename]:
    yield from _equal(gone, new, lambda _path, content: content)


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
    texts = (path for path, data in files.items() if len(data) <= MAX_COMPARED and b"\0" not in data)
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
