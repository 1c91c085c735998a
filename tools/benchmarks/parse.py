"""Reading CSL, against the original csl-parser on the same text, and against a tenth of it.

CSL_PARSER names the file parser.ts or parser.js of csl-parser, which is not part of this repository.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import PACKAGES, Row, least

import clada

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = "".join(f"    some_function_call(argument_{number})\n" for number in range(30))
NODE = """
import { readFileSync } from "node:fs";
console.log = () => {};
const { parse } = await import(process.argv[2]);
const text = readFileSync(process.argv[1], "utf-8");
let least = Infinity;
for (let round = 0; round < Number(process.argv[3]); round++) {
  const start = performance.now();
  parse(text);
  least = Math.min(least, performance.now() - start);
}
process.stdout.write(String(least / 1000));
"""


def rows(operations: int = 20_000, rounds: int = 9) -> Iterator[Row]:
    """Yield what was measured."""
    large, small = _document(operations), _document(operations // 10)
    whole, tenth = least(rounds, lambda: _read(large, operations), lambda: _read(small, operations // 10))
    size = f"{len(large) / 1e6:.0f} MB of CSL"
    yield Row(f"{size} / a tenth of it", whole / tenth, 12.0)
    yield Row(f"{size} / the original csl-parser", whole / _by_csl_parser(large, rounds), 1.0)


def _document(operations: int) -> bytes:
    blocks = (
        f'Prose.\n<---WRITE file="src/file{number}.py"--->\n{BODY}<---END--->\n'
        for number in range(operations)
    )
    return "".join(blocks).encode()


def _read(document: bytes, operations: int) -> None:
    plan = clada.parse(document)
    if sum(len(block.operations) for block in plan.blocks) != operations or plan.fatal:
        raise AssertionError(plan.fatal)


def _by_csl_parser(document: bytes, rounds: int) -> float:
    """Return the least seconds that csl-parser takes."""
    module = os.environ.get("CSL_PARSER")
    if not module:
        raise FileNotFoundError("csl-parser (named by CSL_PARSER)")
    own = PACKAGES / ".bin" / "node"
    node = str(own) if own.exists() else "node"
    with tempfile.NamedTemporaryFile() as file:
        file.write(document)
        file.flush()
        command = [node, "--input-type=module", "-e", NODE, file.name, os.path.abspath(module), str(rounds)]
        return float(subprocess.run(command, capture_output=True, check=True).stdout)
