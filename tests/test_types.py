"""What type checkers see of the library: they accept good programs, and refuse mistakes."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import clada
from clada.callbacks import ANSWERS
from clada.errors import ERROR_TYPES
from clada.notations.registry import NOTATIONS
from clada.settings import BY_NAME

ROOT = Path(__file__).parents[1]
USES = ROOT / "tests" / "typed" / "uses.py"
PROGRAMS = ROOT / "build" / "npm" / "node_modules" / ".bin"
# What programs may get wrong; each line must be an error by itself.
MISTAKES = """\
from clada import Nonsense
clada.nonsense
clada.execute("x", colour="red")
clada.execute("x", format="yaml")
clada.undo(".", sandbox="off")
clada.undo(".", record="none")
clada.resume(".", colour="red")
clada.Report("csl").by_name()
clada.Report("yaml")
report.tasks[0].status == "done"
clada.Error("no_such_type", "message")
clada.execute("x", ask=lambda command: "yes")
clada.aio.execute("x", colour="red")
""".splitlines()


def program(line: str) -> str:
    return f"import clada\nreport = clada.execute('x')\n{line}\n"


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    for number, line in enumerate(MISTAKES):
        (folder / f"mistake_{number}.py").write_text(program(line))
    return folder


def wrong(found: set[str]) -> list[str]:
    """Return the lines in whose file no error was found."""
    return [line for number, line in enumerate(MISTAKES) if f"mistake_{number}.py" not in found]


def mypy(*paths: Path) -> str:
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--strict", "--strict-equality", "--follow-imports=silent"]
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'types'}"
    done = subprocess.run(
        [*command, cache, *map(str, paths)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.slow
def test_mypy_refuses_each_mistake(mistakes: Path) -> None:
    """That it accepts tests/typed/uses.py is part of `make check`."""
    found = set(re.findall(r"mistake_\d+\.py(?=:3: error)", mypy(*sorted(mistakes.glob("*.py")))))
    assert wrong(found) == []


def pyright(folder: Path) -> dict[str, list[str]]:
    """Return the messages of errors by the files in a folder."""
    if not (PROGRAMS / "pyright").exists():
        pytest.skip("pyright is not in build/npm: .ci/run installs requirements/npm.txt there")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [str(PROGRAMS / "pyright"), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] == len(list(folder.glob("*.py")))
    found: dict[str, list[str]] = {}
    for each in told["generalDiagnostics"]:
        if each["severity"] == "error":
            found.setdefault(Path(each["file"]).name, []).append(each["message"])
    return found


@pytest.mark.slow
def test_pyright_accepts_programs(tmp_path: Path) -> None:
    shutil.copy(USES, tmp_path)
    assert pyright(tmp_path) == {}


@pytest.mark.slow
def test_pyright_refuses_each_mistake(mistakes: Path) -> None:
    assert wrong(set(pyright(mistakes))) == []


def test_the_literal_types_are_the_tables() -> None:
    assert get_args(clada.ErrorType) == ERROR_TYPES
    assert get_args(clada.NotationName) == tuple(NOTATIONS)
    assert get_args(clada.Answer) == ANSWERS
    named = {
        "format": clada.Format,
        "match": clada.MatchMode,
        "merge": clada.MergeMode,
        "record": clada.RecordMode,
        "shell": clada.ShellMode,
        "sandbox": clada.SandboxMode,
        "syntax": clada.SyntaxMode,
    }
    for name, kind in named.items():
        assert set(BY_NAME[name].choices) == {
            text for part in get_args(kind) for text in get_args(part) or [part]
        }


def annotated(value: Any) -> list[str]:
    """Return the annotations of a function, or of the fields, properties and methods of a class."""
    if inspect.isfunction(value):
        return [text for text in value.__annotations__.values() if isinstance(text, str)]
    if not inspect.isclass(value):
        return []
    public = [member for name, member in vars(value).items() if not name.startswith("_")]
    functions = [member.fget if isinstance(member, property) else member for member in public]
    own = [text for text in vars(value).get("__annotations__", {}).values() if isinstance(text, str)]
    return [*own, *(text for each in functions if inspect.isfunction(each) for text in annotated(each))]


def test_all_that_a_signature_mentions_is_exported() -> None:
    """Names of clada's own, in annotations of all that is public."""
    own = {
        node.name
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    internal = {"Field", "World", "Phrases", "Text"}  # for those who write operations
    mentioned = {
        name
        for public in clada.__all__
        for text in annotated(getattr(clada, public))
        for name in re.findall(r"\b[A-Z]\w+", text)
    }
    assert {"RecordedRun", "Undone", "Ask", "Plan"} <= mentioned
    assert mentioned & own - internal <= set(clada.__all__)
    assert {"Options", "Changes", "Modes", "Status"} <= set(clada.__all__)


def test_a_report_shows_no_internal_helpers() -> None:
    shown = {name for name in dir(clada.Report) if not name.startswith("_")}
    assert shown - set(clada.Report.__match_args__) == {
        "count", "exit_code", "ok", "raise_for_status", "replace", "tasks", "text", "to_dict",
    }  # fmt: skip
