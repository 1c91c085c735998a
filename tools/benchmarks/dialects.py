"""What the dialects of other tools cost: to read, as ratios to a loop of str.find, and to carry out."""

from __future__ import annotations

import gc
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks.editing import execute, search
from tools.benchmarks.files import BOTH_WAYS, LINES
from tools.benchmarks.measuring import PROCESSOR, Row, ratio
from tools.benchmarks.parse import BODY

import clada

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HALF = BODY[:550]
# Shapes that a reader which goes back would take hours for: one of them, of a size.
SHAPES: dict[str, Callable[[int], bytes]] = {
    "heads": lambda size: b"<<<<<<< SEARCH\n" * size,
    "one line": lambda size: b"SEARCH *** Begin Patch +++ " * (size * 5),
    "dividers without end": lambda size: b"a.py\n<<<<<<< SEARCH\n" + b"=======\n" * size,
    "sections of a patch": lambda size: (
        b"*** Begin Patch\n" + b"*** Add File: a\n+x\n" * size + b"*** End Patch\n"
    ),
    "beginnings of patches": lambda size: b"*** Begin Patch\n" * size,
    "tools in tags without end": lambda size: b"<write_to_file>\n<path>a</path>\n" * size,
    "elements": lambda size: b'<dyad-delete path="a"></dyad-delete>\n' * size,
    "blocks of NESL": lambda size: b'#!nesl [@x: abc]\naction = "delete_file"\n#!end_abc\n' * size,
    "brackets of JSON": lambda size: b'{"name": "Write", "input": ' + b"[" * size,
    "calls": lambda size: b'{"name": "Bash", "input": {"command": "ls"}}\n' * size,
    "named files": lambda size: b"a.py\n```\nx\n```\n" * size,
    "fences that are not closed": lambda size: b"```py\n" * size,
    "Markdown files": lambda size: b"a.md\n```md\nx\n```\n" * (size // 3),
    "tagged files": lambda size: b'<file path="a">\nx</file>\n' * (size // 3),
    "here-documents": lambda size: b"```sh\n" + b"cat > a <<'E'\nx\nE\n" * (size // 3) + b"```\n",
    "files of a diff": lambda size: b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" * size,
}  # fmt: skip


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    count, rounds, part = (200, 1, 100) if quick else (20_000, 9, 1)
    blocks = b"".join(
        b"Prose.\n\nsrc/file%d.py\n```python\n<<<<<<< SEARCH\n%b\n=======\n%b\n>>>>>>> REPLACE\n```\n"
        % (number, HALF, HALF)
        for number in range(count)
    )
    files = b"".join(
        b"Prose.\n\nsrc/file%d.py\n```python\n%b\n```\n" % (number, BODY) for number in range(count)
    )
    text, text_of_files = blocks.decode(), files.decode()
    read = ratio(rounds, lambda: _read(blocks, count), lambda: _floor(text), PROCESSOR)
    whole = ratio(rounds, lambda: _read(files, count), lambda: _floor_of_files(text_of_files), PROCESSOR)
    return [
        Row("23 MB of search/replace in 20,000 blocks / a loop of str.find", read, 8.0),
        Row("23 MB of whole files in 20,000 fences / a loop of str.find", whole, 8.0),
        Row("a patch of 5,000 files, end to end / the same in CSL", _files(min(rounds, 4), part), 1.3),
        Row("a log of 50 MB, JSON a line / json.loads line by line", _log(rounds, part), 3.0),
        *(
            Row(f"300,000 {name} / 30,000", _growth(min(rounds, 3), make, 30_000 // part), 11.0)
            for name, make in SHAPES.items()
        ),
    ]


def _read(document: bytes, operations: int) -> None:
    plan = clada.parse(document)
    if len(plan.blocks) != operations or plan.fatal:
        raise AssertionError(plan.fatal)


def _floor(text: str) -> list[tuple[str, str, str]]:
    """Find the same blocks with str.find, knowing all about how they are written."""
    found, at = [], 0
    while (head := text.find("\n<<<<<<< SEARCH\n", at)) >= 0:
        fence = text.rfind("\n```", at, head)
        path = text[text.rfind("\n", at, fence) + 1 : fence]
        divider = text.find("\n=======\n", head)
        at = text.find("\n>>>>>>> REPLACE", divider)
        found.append((path, text[head + 16 : divider], text[divider + 9 : at]))
    return found


def _log(rounds: int, part: int) -> float:
    """Read a log as Claude Code writes them: calls with files, and results of twice their size."""
    size, calls = 0, list[bytes]()
    while size < 52_000_000 // part:
        number = len(calls)
        values = {"file_path": f"/home/me/src/file{number}.py", "content": BODY.decode()}
        use = {"type": "tool_use", "id": f"t{number}", "name": "Write", "input": values}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": BODY.decode() * 2}
        pair = (_record("assistant", number, use), _record("user", number, result))
        calls.append(b"\n".join(pair))
        size += len(calls[-1]) + 1
    log = b"\n".join(calls)
    with _without_collection():
        return ratio(rounds, lambda: _read(log, len(calls)), lambda: _loads(log), PROCESSOR)


def _record(role: str, number: int, content: Mapping[str, object]) -> bytes:
    message = {"id": f"m{number}", "role": role, "content": [content]}
    return json.dumps({"type": role, "cwd": "/home/me", "uuid": "0" * 36, "message": message}).encode()


def _loads(log: bytes) -> None:
    for line in log.split(b"\n"):
        json.loads(line)


def _floor_of_files(text: str) -> list[tuple[str, str]]:
    """Find the same files with str.find."""
    found, at = [], 0
    while (fence := text.find("\n```python\n", at)) >= 0:
        path = text[text.rfind("\n", at, fence) + 1 : fence]
        at = text.find("\n```\n", fence + 11)
        found.append((path, text[fence + 11 : at + 1]))
    return found


def _files(rounds: int, part: int) -> float:
    """Edit each of many files, in folders of a hundred, there and back again."""
    paths = [f"folder{number // 100}/file{number}.py" for number in range(5_000 // part)]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            Path(folder, path).write_text(LINES)
        patches = [_patch(paths, old, new) for old, new in BOTH_WAYS]
        documents = ["".join(search(path, old, new) for path in paths) for old, new in BOTH_WAYS]
        return ratio(
            rounds,
            lambda: _execute_all(patches, folder),
            lambda: _execute_all(documents, folder),
        )


def _execute_all(documents: list[str], folder: str) -> None:
    for document in documents:
        execute(document, folder)


def _patch(paths: list[str], old: str, new: str) -> str:
    sections = (f"*** Update File: {path}\n@@\n-{old}\n+{new}\n" for path in paths)
    return f"*** Begin Patch\n{''.join(sections)}*** End Patch\n"


def _growth(rounds: int, make: Callable[[int], bytes], size: int) -> float:
    """Compare the reading of a shape with that of a tenth of it."""
    large, small = (make(count) for count in (10 * size, size))
    with _without_collection():
        return ratio(rounds, lambda: clada.parse(large), lambda: clada.parse(small), PROCESSOR)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no cycles meanwhile, as the command line does not."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
