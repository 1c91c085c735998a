"""Runs the conformance corpus against any implementation: `python tools/conformance CORPUS -- COMMAND…`.

COMMAND gets a document on standard input, after it the case's own arguments, and prints the plan as JSON.
tests/corpus/README.md describes the files and what an expected plan may leave open.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

USAGE = "usage: python tools/conformance CORPUS -- COMMAND…   (for example: … -- clada parse)"
USAGE_ERROR = 2
TIMEOUT = 20  # seconds for one document: far more than any needs
LONGEST = 400  # characters of a value in a failure
ABSENT = object()


class Case(NamedTuple):
    """One document, the arguments to read it with, and the plan that it must give."""

    name: str
    document: bytes
    arguments: list[str]
    expected: Any


class Equal(NamedTuple):
    """One intent, written in several notations: each must give this plan, places aside."""

    name: str
    documents: dict[str, bytes]
    expected: Any


def cases(corpus: Path) -> list[Case]:
    """Return every case of the corpus, in the order of their names."""
    return [_case(corpus, path) for path in sorted(corpus.glob("*/*.in"))]


def _case(corpus: Path, path: Path) -> Case:
    name = path.relative_to(corpus).with_suffix("").as_posix()
    arguments = path.with_suffix(".args")
    return Case(
        name,
        path.read_bytes(),
        arguments.read_bytes().decode().split("\n")[:-1] if arguments.exists() else [],
        json.loads(path.with_suffix(".plan.json").read_bytes()),
    )


def equals(corpus: Path) -> list[Equal]:
    """Return every folder of `equal/`, in the order of their names."""
    return [
        Equal(
            f"equal/{folder.name}",
            {path.suffix[1:]: path.read_bytes() for path in sorted(folder.glob("a.*"))},
            json.loads((folder / "plan.json").read_bytes()),
        )
        for folder in sorted((corpus / "equal").iterdir())
    ]


def differences(expected: Any, actual: Any, place: str = "plan") -> list[str]:
    """Return where the actual value is not the expected one; `"*"` and `{"*": text}` leave things open."""
    if expected == "*":
        return [] if actual is not ABSENT else [f"{place}: missing"]
    if isinstance(expected, dict) and set(expected) == {"*"}:
        return _containing(expected["*"], actual, place)
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = [*expected, *(name for name in actual if name not in expected)]
        pairs = [(expected.get(name, ABSENT), actual.get(name, ABSENT), f"{place}.{name}") for name in names]
        return [line for pair in pairs for line in differences(*pair)]
    if isinstance(expected, list) and isinstance(actual, list):
        rows = enumerate(zip_longest(expected, actual, fillvalue=ABSENT))
        return [line for at, pair in rows for line in differences(*pair, f"{place}[{at}]")]
    if type(expected) is type(actual) and expected == actual:
        return []
    return [f"{place}: expected {_shown(expected)}, got {_shown(actual)}"]


def _containing(text: str, actual: Any, place: str) -> list[str]:
    if isinstance(actual, str) and text in actual:
        return []
    return [f"{place}: expected a text with {_shown(text)} in it, got {_shown(actual)}"]


def _shown(value: Any) -> str:
    text = "nothing" if value is ABSENT else json.dumps(value, ensure_ascii=False)
    text = text.encode(errors="backslashreplace").decode()  # a lone surrogate cannot be printed
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def without_places(value: Any) -> Any:
    """Return a plan's blocks without their lines, in which notations differ by nature."""
    if isinstance(value, dict):
        return {name: without_places(inner) for name, inner in value.items() if name != "line"}
    return [without_places(inner) for inner in value] if isinstance(value, list) else value


def shared_part(plan: Any) -> dict[str, Any]:
    """Return the part of a plan that all notations of one intent share."""
    return {
        "fatal": plan.get("fatal"),
        "problems": [problem.get("operation") for problem in plan.get("problems", ())],
        "blocks": without_places(plan.get("blocks")),
    }


def _check_case(command: list[str], case: Case) -> list[str]:
    plan = _plan([*command, *case.arguments], case.document)
    return [plan] if isinstance(plan, str) else differences(case.expected, plan)


def _check_equal(command: list[str], equal: Equal) -> list[str]:
    failures: list[str] = []
    for notation, document in equal.documents.items():
        plan = _plan(command, document)
        found = [plan] if isinstance(plan, str) else differences(equal.expected, shared_part(plan))
        failures += [f"a.{notation}: {line}" for line in found]
    return failures


def _plan(command: list[str], document: bytes) -> Any:
    """Return the plan that the command prints for the document, or as a text what went wrong."""
    try:
        done = subprocess.run(command, input=document, capture_output=True, check=False, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"no answer within {TIMEOUT} s"
    try:
        plan = json.loads(done.stdout)
    except (ValueError, RecursionError) as error:
        return f"exit {done.returncode}, and no JSON on standard output: {error}; {_tail(done.stderr)}"
    return plan if isinstance(plan, dict) else "the plan is not a JSON object"


def _tail(text: bytes) -> str:
    return text.decode(errors="replace").strip()[-LONGEST:]


def main(arguments: list[str]) -> int:
    """Check every case, print the failures and one line at the end."""
    if arguments[1:2] != ["--"] or not arguments[2:]:
        print(USAGE, file=sys.stderr)
        return USAGE_ERROR
    corpus, command = Path(arguments[0]), arguments[2:]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        plain = [(case.name, pool.submit(_check_case, command, case)) for case in cases(corpus)]
        equal = [(each.name, pool.submit(_check_equal, command, each)) for each in equals(corpus)]
    failed = sum(_told(name, check.result()) for name, check in [*plain, *equal])
    print(f"{len(plain) + len(equal) - failed} passed, {failed} failed")
    return 1 if failed or not plain else 0


def _told(name: str, failures: list[str]) -> bool:
    if failures:
        print(f"FAILED {name}", *failures, sep="\n    ")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
