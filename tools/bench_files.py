"""What editing files costs, through the library and without git, against doing the same by hand.

Both are done in turn, in the usual temporary folder, and the fastest round of each counts: on a disk, what it
does by itself is far more than either, and comes and goes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import clada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY = "/dev/shm"  # noqa: S108 (a folder of our own is made in it)
FILES, FOLDERS, EDITS, CALLS, ROUNDS = 3_000, 30, 400, 10_000, 20
LINES = "".join(f"def function_{number}(one, two):\n    return one + two\n\n" for number in range(40))
OLD, NEW = "def function_20(one, two):", "def function_20(one, two, three=None):"
BOTH_WAYS = ((OLD, NEW), (NEW, OLD))


def rows() -> list[tuple[str, float, float]]:
    """Return what was measured: its name, the ratio, and the most it may be."""
    return [
        (
            f"{FILES:,} files edited once / a straight loop of read, count, replace, write, rename",
            _files(),
            1.4,
        ),
        (f"{EDITS} edits of one 7 MB file / the counting alone", _one_file(), 2.0),
        (f"library call, one small edit, {CALLS:,} in a row / the straight loop", _calls(), 3.0),
        ("100,000-operation document, end to end / a 10,000-operation one", _growth(), 11.0),
    ]


def search(path: str, old: str, new: str) -> str:
    """Return a SEARCH operation."""
    return f'<---SEARCH file="{path}"--->\n{old}\n<---REPLACE--->\n{new}\n<---END--->\n'


def execute(document: str, folder: str) -> None:
    """Parse and execute a document, all of which must succeed."""
    report = clada.execute(clada.parse(document), workspace=folder, git=False)
    if not report.ok:
        raise SystemExit(f"the benchmark's document failed: {next(t for t in report.tasks if t.error)}")


def straight(path: str, old: bytes, new: bytes) -> None:
    """Edit a file as a plain script would: nothing is checked but the number of matches."""
    with open(path, "rb") as file:
        data = file.read()
    if data.count(old) != 1:
        raise SystemExit(f"{path} has not one match")
    with open(f"{path}.tmp", "wb") as file:
        file.write(data.replace(old, new))
    os.rename(f"{path}.tmp", path)


def _files() -> float:
    """Edit each of many files, in folders of a hundred, there and back again."""
    paths = [f"folder{number % FOLDERS}/file{number}.py" for number in range(FILES)]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            Path(folder, path).write_text(LINES)

        def edit() -> None:
            for old, new in BOTH_WAYS:
                execute("".join(search(path, old, new) for path in paths), folder)

        def loop() -> None:
            for old, new in BOTH_WAYS:
                for path in paths:
                    straight(f"{folder}/{path}", old.encode(), new.encode())

        return _ratio(edit, loop, 6)


def _one_file() -> float:
    """Edit one large file many times, and count the same texts in it as often."""
    chance = random.Random(4)  # noqa: S311 (the same file each time)
    lines = [f"    call_{chance.randrange(10**9)}(value, {number})" for number in range(190_000)]
    data = "\n".join(lines)
    chosen = chance.sample(range(len(lines)), EDITS)
    document = "".join(search("large.py", lines[at], f"{lines[at]}  # {at}") for at in chosen)
    texts = [lines[at].encode() for at in chosen]
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, "large.py")

        def edit() -> float:
            large.write_text(data)
            return _seconds(lambda: execute(document, folder))

        def count() -> float:
            content = data.encode()
            return _seconds(lambda: [content.count(text) for text in texts])

        times = [(edit(), count()) for _ in range(3)]
    return min(first for first, _ in times) / min(second for _, second in times)


def _calls() -> float:
    """Parse and execute a document of one small edit, again and again."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/file.py"
        Path(path).write_text(LINES)

        def call() -> None:
            for _ in range(CALLS // ROUNDS // 2):
                for old, new in BOTH_WAYS:
                    execute(search("file.py", old, new), folder)

        def loop() -> None:
            for _ in range(CALLS // ROUNDS // 2):
                for old, new in BOTH_WAYS:
                    straight(path, old.encode(), new.encode())

        return _ratio(call, loop, ROUNDS)


def _growth() -> float:
    """Write and edit fifty files in many operations, through the command line: ten times as many of them.

    The files are in memory where there is such a place: the disk's own ups and downs are larger than ours.
    """

    def document(operations: int) -> bytes:
        pairs = (
            f'<---WRITE file="file{number % 50}.txt"--->\nfirst {number}\n<---END--->\n'
            + search(f"file{number % 50}.txt", f"first {number}", f"second {number}")
            for number in range(operations // 2)
        )
        return "".join(pairs).encode()

    command = [sys.executable, "-m", "clada", "--no-git"]
    environment = {**os.environ, "PYTHONPATH": str(Path(clada.__file__).parent.parent)}

    def run(given: bytes) -> None:
        subprocess.run(
            command, cwd=folder, env=environment, input=given, stdout=subprocess.DEVNULL, check=True
        )

    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        small, large = document(10_000), document(100_000)
        return _ratio(lambda: run(large), lambda: run(small), 2)


def _ratio(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """Return the ratio of the fastest rounds, which are interleaved so that noise meets both."""
    times = [(_seconds(one), _seconds(other)) for _ in range(rounds)]
    return min(first for first, _ in times) / min(second for _, second in times)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    for name, ratio, goal in rows():
        print(f"{name:90} {ratio:6.2f}  (at most {goal})")
