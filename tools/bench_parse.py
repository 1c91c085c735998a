"""Speed and memory of reading documents, as ratios to the plainest loop over the same text."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

import clada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7
OPERATIONS = 20_000
LINE = b"    some_function_call(argument_%d)\n"
BODY = b"".join(LINE % number for number in range(32))[:1100]


def rows() -> list[tuple[str, float, float]]:
    """Return what was measured: its name, the ratio, and the most it may be."""
    csl = b"".join(
        b'Prose.\n<---WRITE file="src/file%d.py"--->\n%s\n<---END--->\n' % (number, BODY)
        for number in range(OPERATIONS)
    )
    cml = b"".join(
        b'Prose.\n<write path="src/file%d.py"><![CDATA[%s]]></write>\n' % (number, BODY)
        for number in range(OPERATIONS)
    )
    text = csl.decode()
    large = large_document("x")
    floor, read_csl, read_cml = _best(lambda: _floor(text), lambda: _read(csl), lambda: _read(cml))
    decoding, read_large = _best(large.decode, lambda: clada.parse(large))
    return [
        ("23 MB of CSL in 20,000 operations / a loop of str.find", read_csl / floor, 5.0),
        ("23 MB of CML in 20,000 operations / the same loop", read_cml / floor, 12.0),
        ("one operation of 50 MB / decoding it", read_large / decoding, 3.0),
        ("peak memory, 50 MB document / its size", _peak("x"), 4.0),
        ("peak memory, 50 MB with emoji / its size", _peak("😀"), 6.0),
    ]


def large_document(filler: str) -> bytes:
    """Return a document of one operation that is as large as may be."""
    line = f"    some_function_call(argument, '{filler}')\n".encode()
    return b'<---WRITE file="x"--->\n' + line * (52_000_000 // len(line)) + b"<---END--->\n"


def _floor(text: str) -> list[tuple[str, str]]:
    """Find the same operations with str.find, knowing all about how they are written."""
    found, at = [], 0
    while (start := text.find("\n<---WRITE", at)) >= 0:
        opened = text.find("--->\n", start)
        at = text.find("\n<---END--->", opened)
        found.append((text[start + 16 : opened], text[opened + 5 : at]))
    return found


def _read(document: bytes) -> None:
    plan = clada.parse(document)
    if len(plan.blocks) != OPERATIONS or plan.fatal:
        raise AssertionError(plan.fatal)


def _best(*actions: Callable[[], object]) -> list[float]:
    """Return the shortest processor time of each action, taken in turn so that noise hits all of them."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(ROUNDS):
        for action, taken in zip(actions, times, strict=True):
            start = time.process_time()
            action()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


PEAK = """
import os, sys, clada
if len(sys.argv) > 1:
    plan = clada.parse(os.read(os.open(sys.argv[1], os.O_RDONLY), 1 << 26))
    assert plan.ok and plan.blocks
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def _peak(filler: str) -> float:
    """Compare the most memory that parsing takes, the document itself included, with the document."""
    document = large_document(filler)
    with tempfile.NamedTemporaryFile() as file:
        file.write(document)
        file.flush()
        command = [sys.executable, "-c", PEAK]
        used = subprocess.run([*command, file.name], capture_output=True, check=True)
        bare = subprocess.run(command, capture_output=True, check=True)
    return (int(used.stdout) - int(bare.stdout)) * 1024 / len(document)
