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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
SOURCE = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/clada").rglob("*.py"))}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
PARTS = (ast.stmt, ast.excepthandler, ast.match_case)  # in which there may be statements
LONG = 500  # lines of a file


@cache
def _definitions() -> dict[Path, list[tuple[type[ast.stmt], str]]]:
    """Return the classes and functions of each file by their names: no tree is kept, for all are large."""
    return {path: list(_defined(ast.parse(text))) for path, text in SOURCE.items()}


def _defined(node: ast.AST) -> Iterator[tuple[type[ast.stmt], str]]:
    """Yield what is defined in a part of a tree: expressions define nothing, and are passed over."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, *FUNCTION)):
            yield type(child), child.name
        if isinstance(child, PARTS):
            yield from _defined(child)


def test_a_write_visits_at_most_150_functions_in_28_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.trace"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    functions, modules = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert functions <= 150
    assert modules <= 28


def test_one_class_name_is_one_thing() -> None:
    names = Counter(name for found in _definitions().values() for kind, name in found if kind is ast.ClassDef)
    del names["Blocks"]  # what each dialect calls its reader: dialects.py asks for it by this name
    assert [name for name, count in names.items() if count > 1] == []


def test_at_most_three_files_are_long() -> None:
    assert SOURCE
    assert sum(text.count("\n") > LONG for text in SOURCE.values()) <= 3


def test_at_most_three_in_ten_functions_are_helpers_of_one_place() -> None:
    functions = once = 0
    for path, found in _definitions().items():
        used = Counter(re.findall(r"\w+", SOURCE[path]))
        for name in (name for kind, name in found if kind in FUNCTION):
            functions += 1
            private = name.startswith("_") and not name.startswith("__")
            once += private and used[name] == 2  # where it is defined, and where it is called
    assert once / functions <= 0.31
