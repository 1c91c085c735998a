"""Parsers: documents that are made to cost time or memory, or to smuggle something in."""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from tests.attacks.place import LONG, Place, Result, changed, command
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.place import User

MB = 1 << 20
LIMIT = 50 * MB
# Starts a program within limits (8 GB of memory, so many seconds) and says what it took. It is small itself:
# a process counts the memory of the one that it was forked from as its own.
MEASURING = """
import json, os, resource, sys
report, seconds, *argv = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
_, status, usage = os.wait4(os.posix_spawn(argv[0], argv, os.environ), 0)
figures = [os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
os.write(int(report), json.dumps(figures).encode())
"""
SLOWEST = 60.0  # seconds of a processor, on any machine; they take a few at most
START = 100.0  # MB of memory that a run may take whatever its input


class Shape(NamedTuple):
    """A document, the exit code that is required, and the memory that it may take for each MB."""

    make: Callable[[int], bytes]
    code: int
    memory: float = 12.0


def _entities(_scale: int) -> bytes:
    names = [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)]
    return f'<!DOCTYPE x [<!ENTITY e0 "ha">{"".join(names)}]>\n<write path="x">&e11;</write>\n'.encode()


def _own_entities(_scale: int) -> bytes:
    return b'<write path="x"><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>&e;</write>\n'


def _external(_scale: int) -> bytes:
    return b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n<write path="x">&e;</write>\n'


def _duplicate(_scale: int) -> bytes:
    return b'{"tasks": [{"action": "write", "path": "x", "path": "y", "content": ""}]}'


def _surrogate(_scale: int) -> bytes:
    return b'{"tasks": [{"action": "write", "path": "x", "content": "\\ud800"}]}'


def _toml_keys(scale: int) -> bytes:
    return b'[[task]]\naction = "write"\n' + b".".join([b"a"] * (20_000 // scale + 100)) + b" = 1\n"


def _many_toml_tables(scale: int) -> bytes:
    lines = b"".join(b"[a.b%d]\nx = 1\n" % number for number in range(200_000 // scale))
    return b'[[task]]\naction = "remove"\npath = "x"\n' + lines


def _markers(scale: int) -> bytes:
    return b'<---WRITE file="x"--->\n<---END--->\n' * (500_000 // scale)


def _open_markers(scale: int) -> bytes:
    return b'<---WRITE file="x"--->\n' * (1_000_000 // scale)


def _many_tasks(_scale: int) -> bytes:
    task = json.dumps({"action": "remove", "path": "x"})
    return ('{"tasks": [' + ",".join([task] * 100_001) + "]}").encode()


# 50 MB is the limit of a document; shapes that take seconds for each MB are smaller, because time is linear.
# The limits of a document do not shrink with the scale; tests/notations shows, too, that more is refused.
SHAPES: dict[str, Shape] = {
    "billion laughs": Shape(_entities, 1),
    "an external entity": Shape(_external, 1),
    "an external entity inside an element": Shape(_own_entities, 1),
    "XML 100,000 deep": Shape(lambda s: b'<write path="x">' + b"<a>" * (100_000 // s), 1),
    "a million attributes in XML": Shape(
        lambda s: b"<write " + b" ".join(b'a%d="1"' % n for n in range(1_000_000 // s)) + b">", 1, 60
    ),
    "JSON 100,000 deep": Shape(lambda s: b'{"tasks": ' + b"[" * (100_000 // s + 100), 1),
    "9 MB of [[],[]…": Shape(lambda s: b'{"tasks": [' + b"[]," * (3 * MB // s) + b"[]]}", 1),
    "10 MB of { in JSON": Shape(lambda s: b'{"tasks": [' + b'{"a":' * (2 * MB // s), 1),
    "20,000 parts of a TOML key": Shape(_toml_keys, 1),
    "200,000 tables in TOML": Shape(_many_toml_tables, 1, 60),
    "duplicate JSON keys": Shape(_duplicate, 1),
    "a lone surrogate": Shape(_surrogate, 1),
    "100,001 tasks": Shape(_many_tasks, 1),
    "50 MB and one byte": Shape(lambda _s: b"x" * (LIMIT + 1), 1),
    "50 MB in one line": Shape(lambda _s: b"x" * LIMIT, 3),
    "10 MB of < in one line": Shape(lambda s: b"<" * (10 * MB // s), 3),
    "10 MB of lines that nearly are markers": Shape(lambda s: b"<---\n" * (2 * MB // s), 3),
    "10 MB of backticks": Shape(lambda s: b"`" * (10 * MB // s), 3),
    "10 MB of opening fences": Shape(lambda s: b"```json\n" * (10 * MB // 8 // s), 3),
    "10 MB of opening fences with a sign": Shape(
        lambda s: b'```json\n{"tasks"\n' * (10 * MB // 17 // s), 3, 40
    ),
    "1,000,000 markers": Shape(_markers, 0, 120),
    "1,000,000 markers, none closed": Shape(_open_markers, 1),
    "one write of 50 MB": Shape(
        lambda s: b'<---WRITE file="x"--->\n' + b"x" * (LIMIT // s - 60) + b"\n<---END--->\n", 0
    ),
    "invalid UTF-8 at the end of 50 MB": Shape(lambda s: b"x" * (LIMIT // s - 1) + b"\xff", 1),
    "one attribute of 50 MB": Shape(lambda s: b'<---WRITE file="' + b"x" * (LIMIT // s - 30) + b'"--->', 1),
    "50 MB of quotes in an attribute": Shape(
        lambda s: b"<---WRITE file=" + b'\\"' * (LIMIT // 2 // s - 30) + b"--->", 1
    ),
}


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about parsers; with smaller documents for the second user, who has the same parsers."""
    for name, shape in SHAPES.items():
        yield _row(user, name, shape, scale=20 if user.uid else 1)


def _row(user: User, name: str, shape: Shape, scale: int) -> Row:
    data = shape.make(scale)
    arguments = () if name.startswith("one write") else ("--dry-run",)
    with Place(user) as place:
        place.give()
        before = place.picture()
        run = measured(place, data, "--no-git", "--summary=none", *arguments)
        difference = changed(before, place.picture(), "outside")
    size, said, code = len(data) / MB, run.result.out[:70], run.result.code
    clean = not any(word in run.result.out for word in ("Traceback", "internal error", "root:"))
    fits = run.cpu < SLOWEST and run.memory < START + shape.memory * size
    ok = code == shape.code and clean and fits and not difference
    required = f"exit {shape.code}, at most {START:.0f} MB and {shape.memory:g} for each MB"
    return Row(
        name,
        required,
        f"exit {code}, {run.memory:.0f} MB for {size:.1f} MB in {run.cpu:.1f} s; {said}",
        ok,
    )


class Measured(NamedTuple):
    """What a run took: seconds of a processor, MB of memory at most; and what it said."""

    result: Result
    cpu: float
    memory: float


def measured(place: Place, data: bytes, *arguments: str) -> Measured:
    """Run clada, and measure it; both outputs count as one."""
    with (
        tempfile.TemporaryFile() as source,
        tempfile.TemporaryFile() as sink,
        tempfile.TemporaryFile() as report,
    ):
        source.write(data)
        source.seek(0)
        python, *rest = command(place.user)
        subprocess.run(
            [python, "-IS", "-c", MEASURING, str(report.fileno()), f"{LONG:.0f}", python, *rest, *arguments],
            stdin=source,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=place.inside,
            env=place.environment(),
            start_new_session=True,
            pass_fds=[report.fileno()],
            check=True,
            **place.identity(),
        )
        sink.seek(0)
        report.seek(0)
        code, cpu, memory = json.loads(report.read())
        return Measured(Result(code, sink.read().decode(errors="replace"), ""), cpu, memory)
