"""Speed and memory of reading documents, as ratios to the plainest way of reading the same text."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib

from tools.benchmarks.measuring import PROCESSOR, Row, least, ratio

import clada

LINE = b"    some_function_call(argument_%d)\n"
BODY = b"".join(LINE % number for number in range(32))[:1100]


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    count, size, rounds = (200, 1_000_000, 1) if quick else (20_000, 52_000_000, 9)
    csl = b"".join(
        b'Prose.\n<---WRITE file="src/file%d.py"--->\n%s\n<---END--->\n' % (number, BODY)
        for number in range(count)
    )
    cml = b"".join(
        b'Prose.\n<write path="src/file%d.py"><![CDATA[%s]]></write>\n' % (number, BODY)
        for number in range(count)
    )
    text = csl.decode()
    large = _large_document("x", size)
    floor, read_csl, read_cml = least(
        rounds, lambda: _floor(text), lambda: _read(csl, count), lambda: _read(cml, count), clock=PROCESSOR
    )
    as_json, as_toml = _json_document(count // 8), _toml_document(count)
    read_json = ratio(rounds, lambda: _read(as_json, count // 8), lambda: json.loads(as_json), PROCESSOR)
    in_toml = as_toml.decode()
    read_toml = ratio(
        rounds // 2 + 1, lambda: _read(as_toml, count), lambda: tomllib.loads(in_toml), PROCESSOR
    )
    read_large = ratio(rounds, lambda: clada.parse(large), large.decode, PROCESSOR)
    return [
        Row("23 MB of CSL in 20,000 operations / a loop of str.find", read_csl / floor, 4.0),
        Row("23 MB of CML in 20,000 operations / the same loop", read_cml / floor, 12.0),
        Row("25 MB of JSON in 2,500 operations / json.loads", read_json, 2.5),
        Row("24 MB of TOML in 20,000 operations / tomllib.loads", read_toml, 1.6),
        Row("one operation of 50 MB / decoding it", read_large, 3.0),
        Row("peak memory, 50 MB document / its size", _peak("x", size), 4.0),
        Row("peak memory, 50 MB with emoji / its size", _peak("😀", size), 6.0),
    ]


def _json_document(count: int) -> bytes:
    """Return a document of files of 10 KB."""
    content = BODY.decode() * 9
    tasks = [{"action": "write", "path": f"src/{number}.py", "content": content} for number in range(count)]
    return json.dumps({"tasks": tasks}).encode()


def _toml_document(count: int) -> bytes:
    """Return a document of files of 1 KB."""
    task = b"""[[task]]\naction = "write"\npath = "src/%d.py"\ncontent = '''\n%s'''\n\n"""
    return b"".join(task % (number, BODY) for number in range(count))


def _large_document(filler: str, size: int) -> bytes:
    """Return a document of one operation."""
    line = f"    some_function_call(argument, '{filler}')\n".encode()
    return b'<---WRITE file="x"--->\n' + line * (size // len(line)) + b"<---END--->\n"


def _floor(text: str) -> list[tuple[str, str]]:
    """Find the same operations with str.find, knowing all about how they are written."""
    found, at = [], 0
    while (start := text.find("\n<---WRITE", at)) >= 0:
        opened = text.find("--->\n", start)
        at = text.find("\n<---END--->", opened)
        found.append((text[start + 16 : opened], text[opened + 5 : at]))
    return found


def _read(document: bytes, operations: int) -> None:
    plan = clada.parse(document)
    if sum(len(block.operations) for block in plan.blocks) != operations or plan.fatal:
        raise AssertionError(plan.fatal)


PEAK = """
import os, sys, clada
if len(sys.argv) > 1:
    plan = clada.parse(os.read(os.open(sys.argv[1], os.O_RDONLY), 1 << 26))
    assert plan.ok and plan.blocks
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def _peak(filler: str, size: int) -> float:
    """Compare the most memory that parsing takes, the document itself included, with the document."""
    document = _large_document(filler, size)
    with tempfile.NamedTemporaryFile() as file:
        file.write(document)
        file.flush()
        command = [sys.executable, "-c", PEAK]
        used = subprocess.run([*command, file.name], capture_output=True, check=True)
        bare = subprocess.run(command, capture_output=True, check=True)
    return (int(used.stdout) - int(bare.stdout)) * 1024 / len(document)
