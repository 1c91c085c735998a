"""Mutation testing: small changes to the code, one at a time; tests that notice none of them prove little.

    python -m tools.prove.mutants PART [COUNT [SEED]]

A mutant is killed when a test fails or hangs. The sample is random but repeatable; all mutants of a part
would take days. The changes are of the kinds that mutmut makes, made to the syntax tree.
"""

from __future__ import annotations

import ast
import atexit
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.prove.place import ROOT
from tools.prove.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

GOAL = 0.85
COUNT = 40  # mutants of each part
PATIENCE = 900.0  # seconds for one stage of tests: past it, a mutant hangs
FOLDERS = ("src", "tests", "tools")


class Stage(NamedTuple):
    """Tests, and the modules that they are about; without any, all of the part."""

    tests: tuple[str, ...]
    only: tuple[str, ...] = ()


class Part(NamedTuple):
    """Modules, and the tests that are to notice changes to them: stage by stage, the quickest first."""

    modules: tuple[str, ...]
    stages: tuple[Stage, ...]


def _world(names: str) -> tuple[str, ...]:
    return tuple(f"tests/world/test_{name}.py" for name in names.split())


PARTS = {
    "notations": Part(
        ("notations/*.py",),
        (
            Stage(("tests/notations/test_corpus.py", "tests/notations/test_messages.py")),
            Stage(
                ("tests/test_answers.py", "-k", "looks or indented or list or entities"),
                ("lookalikes", "fences"),
            ),
            Stage(("tests/notations/test_json.py",), ("json", "structured", "strings", "places", "fences")),
            Stage(("tests/notations/test_toml.py",), ("toml", "toml_scan", "structured", "fences")),
            Stage(("tests/notations/test_properties.py",), ("__init__", "csl", "cml", "structured")),
        ),
    ),
    "text": Part(
        ("text/*.py",),
        (
            Stage(("tests/text",)),
            Stage(("tests/test_answers.py", "-k", "test_answer and search")),
        ),
    ),
    "commands": Part(
        ("commands/*.py",),
        (
            Stage(("tests/commands/test_policy.py", "tests/commands/test_modes.py")),
            Stage(("tests/commands/test_words.py",), ("words",)),
            Stage(("tests/operations/test_run_refusals.py", "tests/operations/test_permission.py")),
        ),
    ),
    "workspace": Part(
        ("world/files/*.py",),
        (
            Stage(_world("paths atomic entries overlay_links workspace_links")),
            Stage(("tests/world/test_workspace_files.py", "tests/world/test_overlay_stateful.py")),
            Stage(tuple(f"tests/operations/test_{name}.py" for name in "write edit move remove".split())),
            Stage(("tests/operations/test_builtins.py", "tests/test_cases.py")),
        ),
    ),
}

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


class Mutant(NamedTuple):
    """A change: where, what, and the module with it."""

    module: str
    line: int
    change: str
    source: str


class Verdict(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    killed: bool


def rows(*, quick: bool) -> list[Row]:
    """Return the score of each part; a quick look does without."""
    if quick:
        return [Row("mutation testing", f"at least {GOAL:.0%} killed", "only in the long run", None)]
    return [row(name, list(judged(name, COUNT, 8))) for name in PARTS]


def row(name: str, verdicts: Sequence[Verdict]) -> Row:
    """Return the score of a part."""
    killed = sum(verdict.killed for verdict in verdicts)
    score = killed / len(verdicts)
    alive = [f"{v.mutant.module}:{v.mutant.line} {v.mutant.change}" for v in verdicts if not v.killed]
    observed = f"{score:.0%}: {killed} of {len(verdicts)} killed" + (
        f"; alive: {'; '.join(alive)}" if alive else ""
    )
    return Row(f"mutants of {name}, a random sample", f"at least {GOAL:.0%} killed", observed, score >= GOAL)


def judged(name: str, count: int, seed: int) -> Iterator[Verdict]:
    """Yield what became of so many mutants of a part."""
    part, tree = PARTS[name], _tree()
    if not all(_passes(tree, stage.tests) for stage in part.stages):
        raise RuntimeError(f"the tests of {name} fail without any change")
    for mutant in _sample(part, tree, count, seed):
        path = tree / mutant.module
        original = path.read_text()
        path.write_text(mutant.source)
        try:
            stages = [stage.tests for stage in part.stages if not stage.only or path.stem in stage.only]
            yield Verdict(mutant, not all(_passes(tree, tests) for tests in stages))
        finally:
            path.write_text(original)


@cache
def _tree() -> Path:
    """Return a copy of the project to change."""
    folder = Path(tempfile.mkdtemp(prefix="clada-prove-mutants-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _passes(tree: Path, tests: Sequence[str]) -> bool:
    """Whether the tests notice nothing."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            argv, cwd=tree, env=environment, check=False, capture_output=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _sample(part: Part, tree: Path, count: int, seed: int) -> list[Mutant]:
    package = tree / "src" / "clada"
    paths = sorted(path for pattern in part.modules for path in package.glob(pattern))
    everything = [
        (path, number) for path in paths for number in range(len(_changes(ast.parse(path.read_text()))))
    ]
    chosen = random.Random(seed).sample(everything, min(count, len(everything)))  # noqa: S311 (repeatable)
    return [_mutant(tree, path, number) for path, number in sorted(chosen)]


def _mutant(tree: Path, path: Path, number: int) -> Mutant:
    module = ast.parse(path.read_text())
    node, change, apply = _changes(module)[number]
    apply()
    source = ast.unparse(ast.fix_missing_locations(module))
    return Mutant(str(path.relative_to(tree)), getattr(node, "lineno", 0), change, source)


Change = tuple[ast.AST, str, "Callable[[], object]"]


def _changes(module: ast.Module) -> list[Change]:
    """Return all changes to a module: the node, in words, and what makes the change."""
    found: list[Change] = []
    for node in _code(module):
        before = ast.unparse(node)[:60] if not isinstance(node, ast.stmt) else type(node).__name__
        for what, apply in _changes_of(node):
            found.append((node, f"`{before}` → {what}", apply))
    return found


def _code(module: ast.Module) -> Iterator[ast.AST]:
    """Yield what is executed and not a matter of types or documentation."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            children = value if isinstance(value, list) else [value]
            waiting.extend(child for child in children if isinstance(child, ast.AST) and not _silent(child))


def _silent(node: ast.AST) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    switch = isinstance(node, ast.Assign) and ast.unparse(node) == "TYPE_CHECKING = False"
    return docstring or typing or switch or isinstance(node, ast.Import | ast.ImportFrom)


def _changes_of(node: ast.AST) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the changes to one node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        new = COMPARED[type(node.ops[0])]
        yield new.__name__, lambda: node.ops.__setitem__(0, new())
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield other.__name__, lambda: setattr(node, "op", other())
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        operator = CALCULATED[type(node.op)]
        yield operator.__name__, lambda: setattr(node, "op", operator())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield (
            "without not",
            lambda: setattr(node, "operand", ast.UnaryOp(ast.Not(), copy.deepcopy(node.operand))),
        )
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition negated", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Constant):
        yield from _changed_constant(node)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield "return None", lambda: setattr(node, "value", ast.Constant(None))
    yield from _changed_statements(node)


def _changed_constant(node: ast.Constant) -> Iterator[tuple[str, Callable[[], object]]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{not value}", lambda: setattr(node, "value", not value)
    elif isinstance(value, int):
        yield f"{value + 1}", lambda: setattr(node, "value", value + 1)
    elif isinstance(value, str) and value:
        yield "another text", lambda: setattr(node, "value", f"XX{value}")
    elif isinstance(value, bytes) and value:
        yield "other bytes", lambda: setattr(node, "value", b"XX" + value)


def _changed_statements(node: ast.AST) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the changes that leave a statement out, or take another way out of a loop."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if not isinstance(block, list) or isinstance(node, ast.Module | ast.ClassDef):
            continue
        for number, statement in enumerate(block):
            if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign) and not _silent(statement):
                left = ast.unparse(statement)[:50]
                yield f"without `{left}`", lambda b=block, n=number: b.__setitem__(n, ast.Pass())  # type: ignore[misc]
            elif isinstance(statement, ast.Continue):
                yield "break", lambda b=block, n=number: b.__setitem__(n, ast.Break())  # type: ignore[misc]
            elif isinstance(statement, ast.Break):
                yield "continue", lambda b=block, n=number: b.__setitem__(n, ast.Continue())  # type: ignore[misc]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def main() -> None:
    """Judge mutants of one part, and print those that live."""
    name, count, seed = [*sys.argv[1:], "60", "8"][:3] if len(sys.argv) < 4 else sys.argv[1:4]  # noqa: PLR2004
    verdicts = []
    for verdict in judged(name, int(count), int(seed)):
        verdicts.append(verdict)
        mutant = verdict.mutant
        print(
            "killed" if verdict.killed else "ALIVE ",
            f"{mutant.module}:{mutant.line}",
            mutant.change,
            flush=True,
        )
    print(row(name, verdicts))


if __name__ == "__main__":
    main()
