"""Files of every kind: what is not a plain file is refused, and of plain ones every byte counts."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tools.prove.adversarial.batch import QUIET, Case, edit, move, refused, remove, run, seen, write
from tools.prove.place import Place, document
from tools.prove.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from tools.prove.place import User

DENIED = ("permission_denied",)
BOM = b"\xef\xbb\xbf"
# Content before, an edit, content after.
EDITED: dict[str, tuple[bytes, dict[str, Any], bytes]] = {
    "BOM": (BOM + b"old\n", edit("f"), BOM + b"new\n"),
    "CRLF": (b"a\r\nold\r\nz\r\n", edit("f", "a\nold", "a\nnew\nmore"), b"a\r\nnew\r\nmore\r\nz\r\n"),
    "CR": (b"a\rold\rz\r", edit("f", "a\nold", "a\nnew"), b"a\rnew\rz\r"),
    "mixed line endings": (b"a\r\nb\nold\rz", edit("f"), b"a\r\nb\nnew\rz"),
    "no final newline": (b"old", edit("f"), b"new"),
    "overlapping matches": (b"aaaa", edit("f", "aa", "b", count=2), b"bb"),
    "NUL bytes": (b"\0old\0", edit("f"), b"\0new\0"),
    "0 bytes, appended to": (b"", write("f", "x", append=True), b"x"),
    "appended to without final newline": (b"x", write("f", "y", append=True), b"x\ny"),
}
BIG = 200 << 20


def rows(user: User, quick: bool) -> Iterator[Row]:
    """Yield the rows about files."""
    yield from refused(user, _strange, list(_at_strange_files()))
    for name, (before, operation, after) in EDITED.items():
        yield _edited(user, f"edit of a file with {name}", before, operation, after)
    yield from _kept(user)
    if user.uid is not None or os.geteuid() != 0:
        yield from refused(user, _read_only, list(_at_read_only()))
    if not quick:
        yield _big(user)


def _strange(place: Place) -> None:
    os.mkfifo(place.inside / "fifo", 0o666)
    place.put("directory/file")
    place.put("latin", b"caf\xe9 old\n")
    place.put("file")
    place.put("empty", b"")
    if os.geteuid() == 0:
        os.mknod(place.inside / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))


def _at_strange_files() -> Iterator[Case]:
    strange = ["fifo", *(["device"] if os.geteuid() == 0 else [])]
    for name in strange:
        yield Case(f"write to a {name}", write(name), DENIED)
        yield Case(f"append to a {name}", write(name, append=True), DENIED)
        yield Case(f"edit of a {name}", edit(name), DENIED)
        for command in ("cat {0}", "grep -r old {0}", "head {0}", "wc {0}", "cp {0} new", "diff {0} file"):
            yield Case(f"`{command.format(name)}`", run(command.format(name)), (*DENIED, "exec_failed"))
    yield Case("write over a directory", write("directory"), DENIED)
    yield Case("edit of a directory", edit("directory"), (*DENIED, "file_not_found"))
    yield Case("write below a file", write("file/x"), DENIED)
    yield Case("edit of a file that is not UTF-8", edit("latin"), ("invalid_utf8",))
    yield Case("edit of an empty file", edit("empty"), ("match_count_mismatch",))
    yield Case("edit of a missing file", edit("missing"), ("file_not_found",))
    yield Case("move of a missing file", move("missing", "x"), ("file_not_found",))
    yield Case(
        "move of a directory into itself", move("directory", "directory/x"), (*DENIED, "invalid_operation")
    )
    yield Case("removal of a missing file", remove("missing"), ("file_not_found",))


def _edited(user: User, case: str, before: bytes, operation: dict[str, Any], after: bytes) -> Row:
    with Place(user) as place:
        file = place.put("f", before)
        place.give()
        result = place.clada(document(operation), *QUIET)
        found = file.read_bytes()
    ok = found == after and result.code == 0
    return Row(case, f"{after!r}", f"{found!r}" if ok else f"{found!r}, {result.out}{result.err}", ok)


def _kept(user: User) -> Iterator[Row]:
    """Yield rows about what a change leaves as it was."""
    for name, operation in {
        "write": write("f"),
        "edit": edit("f"),
        "append": write("f", append=True),
    }.items():
        with Place(user) as place:
            file = place.put("f", "old\n", 0o755)
            os.link(file, place.inside / "other")
            place.give()
            result = place.clada(document(operation), *QUIET)
            other = (place.inside / "other").read_bytes()
            mode = stat.S_IMODE(file.stat().st_mode)
            litter = sorted(set(os.listdir(place.inside)) - {"f", "other"})
        observed = f"{mode:o}, other link {other!r}, {len(litter)} stray files, exit {result.code}"
        ok = mode == 0o755 and other == b"old\n" and not litter and not result.code  # noqa: PLR2004 (the mode above)
        yield Row(
            f"{name} of a file with mode 755 and a hard link", "mode kept, other link untouched", observed, ok
        )


def _read_only(place: Place) -> None:
    place.put("folder/file", mode=0o644)
    place.put("unreadable", mode=0o000)
    (place.inside / "folder").chmod(0o555)


def _at_read_only() -> Iterator[Case]:
    cases: dict[str, Callable[[str], dict[str, Any]]] = {
        "write": write,
        "edit": edit,
        "removal": remove,
        "move": lambda path: move(path, "new"),
        "`rm`": lambda path: run(f"rm {path}"),
        "`touch` of a new file": lambda path: run(f"touch {path}-new"),
    }
    for name, make in cases.items():
        yield Case(f"{name} in a read-only directory", make("folder/file"), (*DENIED, "exec_failed"))
    yield Case("edit of an unreadable file", edit("unreadable"), DENIED)


def _big(user: User) -> Row:
    """Return what comes of an edit in the middle of 200 MB."""
    with Place(user) as place:
        half = b"x" * 99 + b"\n"
        file = place.put("big", half * (BIG // 200) + b"old\n" + half * (BIG // 200))
        place.give()
        result = place.clada(document(edit("big")), *QUIET)
        data = file.read_bytes()
    ok = result.code == 0 and data == half * (BIG // 200) + b"new\n" + half * (BIG // 200)
    observed = seen(result.tasks[0]) if result.tasks else f"exit {result.code}: {result.err}"
    return Row("edit of a file of 200 MB", "only the match has changed", observed, ok)
