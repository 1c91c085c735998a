"""The shape of the code, by the figures that docs/contributing/architecture.md gives."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/clada").rglob("*.py"))}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
LONG = 500  # lines of a file


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(text) for path, text in SOURCE.items()}


def test_a_write_visits_at_most_100_functions_in_18_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.trace"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    functions, modules = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert functions <= 100
    assert modules <= 18


def test_one_class_name_is_one_thing() -> None:
    names = Counter(
        node.name for tree in _trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    del names["Blocks"]  # what each dialect calls its reader: dialects.py asks for it by this name
    assert [name for name, count in names.items() if count > 1] == []


def test_at_most_two_files_are_long() -> None:
    assert SOURCE
    assert sum(text.count("\n") > LONG for text in SOURCE.values()) <= 2


def test_at_most_three_in_ten_functions_are_helpers_of_one_place() -> None:
    functions = once = 0
    for path, tree in _trees().items():
        used = Counter(re.findall(r"\w+", SOURCE[path]))
        for node in ast.walk(tree):
            if isinstance(node, FUNCTION):
                functions += 1
                private = node.name.startswith("_") and not node.name.startswith("__")
                once += private and used[node.name] == 2  # where it is defined, and where it is called
    assert once / functions <= 0.3
