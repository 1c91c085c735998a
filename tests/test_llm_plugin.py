"""The plugin of llm, through the real `llm` command, with a model that answers from a file."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llm") is None, reason="llm is not installed (requirements/hosts.txt)"),
]
# A plugin that registers a model: it gives the answers of a file, one after the other, and notes each prompt.
MODEL = """\
import json, os, llm

class Scripted(llm.Model):
    model_id = "scripted"

    def execute(self, prompt, stream, response, conversation):
        with open(os.environ["SCRIPT"]) as file:
            script = json.load(file)
        with open(os.environ["PROMPTS"], "a") as file:
            file.write(json.dumps([prompt.system, prompt.prompt]) + "\\n")
        count = len(conversation.responses) if conversation else 0
        yield script[count]

@llm.hookimpl
def register_models(register):
    register(Scripted())
"""
WRONG = '<---SEARCH file="a.py"--->\nx = 2\n<---REPLACE--->\nx = 3\n<---END--->\n'
RIGHT = '<---SEARCH file="a.py"--->\nx = 1\n<---REPLACE--->\nx = 3\n<---END--->\n'


class Llm:
    """The program llm with the model, in a workspace."""

    def __init__(self, top: Path) -> None:
        self.top, self.workspace = top, top / "work"
        self.workspace.mkdir()
        (top / "plugins").mkdir()
        (top / "plugins" / "scripted.py").write_text(MODEL)
        metadata = top / "plugins" / "scripted-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text("[llm]\nscripted = scripted\n")
        (self.workspace / "a.py").write_text("x = 1\n")
        subprocess.run(["git", "init", "-q"], cwd=self.workspace, check=True)

    def __call__(self, *words: str, answers: list[str]) -> subprocess.CompletedProcess[str]:
        """Run llm with a model that gives these answers."""
        (self.top / "script").write_text(json.dumps(answers))
        environment = {
            **os.environ,
            "HOME": str(self.top),
            "LLM_USER_PATH": str(self.top / "llm"),
            "PYTHONPATH": str(self.top / "plugins"),
            "SCRIPT": str(self.top / "script"),
            "PROMPTS": str(self.top / "prompts"),
            "XDG_STATE_HOME": str(self.top / "state"),
        }
        return subprocess.run(
            [sys.executable, "-m", "llm", *words],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def prompts(self) -> list[list[str]]:
        """What the model was asked, as system and prompt."""
        return [json.loads(line) for line in (self.top / "prompts").read_text().splitlines()]


@pytest.fixture
def program(tmp_path: Path) -> Llm:
    return Llm(tmp_path)


def test_a_failure_goes_back_to_the_model_until_it_is_done(program: Llm) -> None:
    done = program("clada", "set x to 3", "-m", "scripted", "-f", "a.py", answers=[WRONG, RIGHT])
    assert (done.returncode, done.stderr) == (0, "")
    assert (program.workspace / "a.py").read_text() == "x = 3\n"
    first, second = (prompt for _system, prompt in program.prompts)
    assert "## a.py\n\n```\nx = 1\n```\n" in first
    assert "set x to 3" in first
    assert "found 0 matches, expected 1" in second
    undone = subprocess.run(
        [sys.executable, "-m", "clada", "undo"],
        cwd=program.workspace,
        env={**os.environ, "XDG_STATE_HOME": str(program.top / "state")},
        check=False,
        capture_output=True,
    )
    assert undone.returncode == 0
    assert (program.workspace / "a.py").read_text() == "x = 1\n"


def test_the_command_that_must_pass_decides(program: Llm) -> None:
    answers = [RIGHT.replace("x = 3", "x = 4"), RIGHT.replace("x = 1", "x = 4"), "Done."]
    done = program(
        "clada", "set x to 3", "-m", "scripted", "--verify", "grep 3 a.py", "--rounds", "3", answers=answers
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (program.workspace / "a.py").read_text() == "x = 3\n"
    assert "[task-1] ERROR: RUN - grep 3 a.py" in program.prompts[1][1]


def test_a_round_that_makes_the_command_fail_is_rolled_back(program: Llm) -> None:
    answers = [RIGHT.replace("x = 3", "x = broken"), RIGHT]
    verify = ("--verify", "grep -E 'x = [0-9]' a.py", "--rounds")
    done = program("clada", "set x to 3", "-m", "scripted", *verify, "1", answers=answers)
    assert (done.returncode, (program.workspace / "a.py").read_text()) == (1, "x = 1\n")
    done = program("clada", "set x to 3", "-m", "scripted", *verify, "2", answers=answers)
    assert (done.returncode, done.stderr) == (0, "")
    assert "verify failed, everything was rolled back" in program.prompts[-1][1]
    assert (program.workspace / "a.py").read_text() == "x = 3\n"


def test_rounds_are_limited(program: Llm) -> None:
    done = program("clada", "x", "-m", "scripted", "--rounds", "2", answers=[WRONG] * 3)
    assert (done.returncode, len(program.prompts)) == (1, 2)
    assert "not done after 2 rounds" in done.stderr
    assert program("clada", "x", "-m", "nothing", answers=[]).stderr == "Error: Unknown model: nothing\n"


def test_the_template_tells_how_to_answer(program: Llm) -> None:
    assert program("clada", "--save-template", answers=[]).returncode == 0
    for name in ("clada", "clada:csl"):
        done = program("-t", name, "-m", "scripted", "--no-stream", "hello", answers=[RIGHT])
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == RIGHT + "\n"
    for system, prompt in program.prompts:
        assert system.startswith("# How to change files and run commands: CSL")
        assert prompt == "hello"
