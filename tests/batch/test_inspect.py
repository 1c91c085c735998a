"""examples/inspect_edits.py under inspect_ai, with its mock model: a wrong edit is explained, then mended."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests import command_line

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("inspect_ai") is None, reason="inspect_ai is not installed (requirements/inspect.txt)"
    ),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
EDIT = '<---SEARCH file="shop.py"--->\n{}\n<---REPLACE--->\nround(sum(prices), 2)\n<---END--->\n'
WRONG, RIGHT = EDIT.format("sum(all_prices)"), EDIT.format("sum(prices)")
# Runs a task with the outputs of the model; the usage is given because its counter wants a download.
PROGRAM = """
import json, sys
import inspect_edits
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def output(given):
    if isinstance(given, str):
        found = ModelOutput.from_content("mockllm/model", given)
    else:
        found = ModelOutput.for_tool_call("mockllm/model", "apply_edits", given)
    found.usage = ModelUsage()
    return found

task, outputs = sys.argv[1], json.loads(sys.argv[2])
model = get_model("mockllm/model", custom_outputs=[output(each) for each in outputs])
(log,) = eval(getattr(inspect_edits, task)(), model=model, log_dir="logs", display="none")
assert log.status == "success", log.error.message
(sample,) = log.samples
print(json.dumps({
    "score": log.results.scores[0].metrics["accuracy"].value,
    "messages": [[message.role, message.text] for message in sample.messages],
}))
"""


def evaluate(tmp_path: Path, task: str, *outputs: str | dict[str, str]) -> dict[str, Any]:
    """Run a task, in which the model says these things; return the score and the messages."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    script = bin_ / "clada"
    script.write_text(f'#!/bin/sh\nexec {" ".join(command_line.CLADA)} "$@"\n')
    script.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, task, json.dumps(outputs)],
        cwd=tmp_path,
        env={
            **os.environ, "PYTHONPATH": str(EXAMPLES), "HOME": str(tmp_path),
            "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_answers_are_applied_until_all_went_well(tmp_path: Path) -> None:
    found = evaluate(tmp_path, "answers", WRONG, RIGHT, "not asked for")
    assert found["score"] == 1
    assert [role for role, _ in found["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert found["messages"][0][1].startswith("# How to change files")
    assert "    return sum(prices)" in found["messages"][3][1]  # the line that the file has


def test_a_model_may_call_clada_as_a_tool(tmp_path: Path) -> None:
    found = evaluate(tmp_path, "tool_calls", {"answer": WRONG}, {"answer": RIGHT}, "Done.")
    assert found["score"] == 1
    results = [text for role, text in found["messages"] if role == "tool"]
    assert "    return sum(prices)" in results[0]
    assert results[1].startswith("The operation was carried out.")


def test_an_answer_that_is_wrong_three_times_is_not_correct(tmp_path: Path) -> None:
    assert evaluate(tmp_path, "answers", WRONG, WRONG, WRONG, RIGHT)["score"] == 0
