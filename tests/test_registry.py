"""A notation, and an operation, is one file and one row: both can be added from outside."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
PROMPT = "Shout it out: SHOUT WRITE path: content\n"
# Each script registers its row before anything else is loaded, and is the command line then.
NOTATION = """\
import os, sys
from clada.notations.registry import NOTATIONS, Notation

NOTATIONS["shout"] = Notation(
    "shout", "SHOUT", "shout", "tests.stubs.shout", b"SHOUT", "invalid_operation", os.environ["SHOUT_PROMPT"],
    words={"write": "SHOUTED"}, summary="json", numbers_through=True,
)
from clada.cli import main

sys.exit(main())
"""
OPERATION = """\
import sys
from clada.operations import OPERATIONS

OPERATIONS["double"] = "tests.stubs.double.Double"
from clada.cli import main

sys.exit(main())
"""
SCHEMAS = "import clada, json; print(json.dumps([clada.schema('plan'), clada.schema('report')]))"


class Extended:
    """Clada with something that it does not have, in a workspace."""

    def __init__(self, script: str, workspace: Path) -> None:
        self.script, self.workspace = script, workspace
        (workspace.parent / "shout.md").write_text(PROMPT, encoding="utf-8")

    def __call__(self, *arguments: str, document: str = "", code: int = 0) -> str:
        """Run the command line; return what it prints."""
        done = self.start(self.script, *arguments, document=document)
        assert (done.returncode, done.stderr) == (code, "")
        return done.stdout

    def start(self, script: str, *arguments: str, document: str) -> subprocess.CompletedProcess[str]:
        """Run a script in the workspace."""
        prompt = str(self.workspace.parent / "shout.md")
        return subprocess.run(
            [sys.executable, "-c", script, *arguments],
            input=document, capture_output=True, check=False, text=True, cwd=self.workspace,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SHOUT_PROMPT": prompt},
        )  # fmt: skip

    def conforms(self, kind: int, text: str) -> None:
        """See to it that what was printed is as the schema of plans (0) or reports (1) has it."""
        script = self.script.partition("from clada.cli")[0] + SCHEMAS
        schemas = json.loads(self.start(script, document="").stdout)
        Draft202012Validator(schemas[kind]).validate(json.loads(text))


@pytest.fixture
def shout(tmp_path: Path) -> Extended:
    """Return clada with the notation, in a new workspace."""
    (tmp_path / "work").mkdir()
    return Extended(NOTATION, tmp_path / "work")


@pytest.fixture
def double(tmp_path: Path) -> Extended:
    """Return clada with the operation, in a workspace with one file."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("ab", encoding="utf-8")
    return Extended(OPERATION, tmp_path / "work")


ANSWER = "Sure!\n\nSHOUT WRITE a.txt: hello\nSHOUT nothing\n"
LINES = (
    "[task-1] SUCCESS: SHOUTED - a.txt (created, 5 bytes)\n"
    "[task-2] SKIP: SHOUTED - Shout a path and a content\n"
)


def test_a_notation_is_detected_parsed_and_described_by_the_schema(shout: Extended) -> None:
    text = shout("parse", document=ANSWER, code=1)
    plan = json.loads(text)
    assert (plan["notation"], [block["line"] for block in plan["blocks"]]) == ("shout", [3, 4])
    assert plan["problems"][0]["message"] == "Shout a path and a content"
    shout.conforms(0, text)


def test_a_notation_can_be_asked_for(shout: Extended) -> None:
    assert shout("--no-git", "--format=shout", "--summary=none", document=ANSWER, code=1) == LINES
    fatal = shout("--no-git", "--format=csl", document=ANSWER, code=1)
    assert fatal == "[task-1] FATAL: PARSE - This looks like SHOUT, but it was to be read as CSL\n"


def test_a_notation_is_planned(shout: Extended) -> None:
    shown = shout("plan", "--no-git", "--summary=none", document=ANSWER, code=1)
    assert shown.startswith(LINES.replace("SUCCESS: ", "PLAN: ").replace("created", "would create"))
    assert "+hello\n" in shown
    assert os.listdir(shout.workspace) == []


def test_a_notation_is_run_with_every_summary(shout: Extended) -> None:
    text = shout("--no-git", "--output-mode=silent", document=ANSWER, code=1)  # its own default is JSON
    report = json.loads(text)
    assert (report["notation"], report["succeeded"], report["failed"]) == ("shout", 1, 1)
    shout.conforms(1, text)
    assert (shout.workspace / "a.txt").read_text(encoding="utf-8") == "hello"
    xml = shout("--no-git", "--summary=xml", "--output-mode=silent", document=ANSWER, code=1)
    assert ET.fromstring(xml).get("tasks") == "2"
    told = shout("--no-git", "--summary=llm", "--output-mode=silent", document=ANSWER, code=1)
    assert told.startswith("Of 2 operations: ")


def test_a_notation_has_its_prompt_and_is_completed(shout: Extended) -> None:
    assert shout("prompt", "shout") == PROMPT
    every = "auto csl cml json toml sr v4a udiff calls tags artifact nesl whole heredoc shout"
    assert every in shout("completion", "bash")
    assert "[csl|cml|json|toml|sr|v4a|whole|shout]" in shout("--help")


TASKS = '{"tasks": [{"action": "double", "path": "a"}, {"action": "double", "path": "gone"}]}'
TOML = '[[task]]\naction = "double"\ntimes = 3\npath = "a"\n'


def test_an_operation_is_parsed_and_described_by_the_schema(double: Extended) -> None:
    text = double("parse", document=TASKS)
    operations = json.loads(text)["blocks"][0]["operations"]
    assert operations[0] == {"operation": "double", "line": 1, "path": "a", "times": 2}
    double.conforms(0, text)
    missing = json.loads(double("parse", document='{"tasks": [{"action": "double"}]}', code=1))
    assert missing["problems"][0]["message"] == "Missing required field 'path'"


def test_an_operation_is_planned(double: Extended) -> None:
    shown = double("plan", "--no-git", "--summary=none", document=TOML).splitlines()
    assert shown[0] == "[task-1] PLAN: DOUBLE - a (would double, 6 bytes)"
    assert "+ababab" in shown
    assert (double.workspace / "a").read_text(encoding="utf-8") == "ab"


def test_an_operation_is_run_with_every_summary(double: Extended) -> None:
    lines = double("--no-git", "--summary=none", document=TASKS, code=1).splitlines()
    assert lines == [
        "[task-1.1] SUCCESS: DOUBLE - a (doubled, 4 bytes)",
        "[task-1.2] ERROR: DOUBLE - gone: file_not_found: no such file or directory",
    ]
    assert (double.workspace / "a").read_text(encoding="utf-8") == "abab"
    text = double("--no-git", "--output-mode=silent", document=TASKS, code=1)
    task = json.loads(text)["blocks"][0]["tasks"][0]
    assert (task["operation"], task["result"], task["path"]) == ("double", "doubled", "a")
    double.conforms(1, text)
    xml = double("--no-git", "--summary=xml", "--output-mode=silent", document=TASKS, code=1)
    assert ET.fromstring(xml).get("failed") == "1"
    told = double("--no-git", "--summary=llm", "--output-mode=silent", document=TASKS, code=1)
    assert "[task-1.2] ERROR: DOUBLE - gone: file_not_found" in told


def test_an_operation_is_in_the_prompts(double: Extended) -> None:
    assert "- `double`: path; optional times" in double("prompt", "json")


@pytest.mark.parametrize("name", "csl cml json toml sr v4a udiff calls tags artifact nesl heredoc".split())
def test_no_module_names_a_notation_but_the_registry_and_its_own(name: str) -> None:
    source = ROOT / "src" / "clada"
    naming = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if f'"{name}"' in path.read_text(encoding="utf-8") or f"'{name}'" in path.read_text(encoding="utf-8")
    }
    packages = ("notations", "notations/dialects", "notations/toolcalls")
    # The literal type for users; tests/test_types.py compares it with the registry.
    named = {"notations/registry.py", "public_types.py", *(f"{package}/{name}.py" for package in packages)}
    # JSON is also a form of output: of summaries, and of what commands print with --json.
    output = {"settings.py", "batch/summary.py", "mcp/handlers.py"} if name == "json" else set()
    # Files in JSON and TOML are parsed, too.
    output |= {"syntax.py"} if name in ("json", "toml") else set()
    naming = {path for path in naming if name != "json" or not path.startswith("cli/")}
    assert naming <= named | output
