"""`--json`: standard output has only JSON, also after errors."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.programs import needs

if TYPE_CHECKING:
    from tests.cli.conftest import Shell, Terminals

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
FAILING = '<---SEARCH file="no"--->\nx\n<---REPLACE--->\ny\n<---END--->\n'


def told(shell: Shell, *arguments: str, document: str = "", code: int = 0) -> Any:
    done = shell(*arguments, document=document)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("flag", [["--json"], ["-o", "json"], ["-ojson"]])
def test_a_run_prints_its_report(shell: Shell, flag: list[str]) -> None:
    report = told(shell, "--no-git", *flag, document=WRITE + FAILING, code=1)
    assert (report["succeeded"], report["failed"]) == (1, 1)


def test_a_plan(shell: Shell) -> None:
    assert told(shell, "plan", "--json", document=WRITE)["planned"] == 1
    assert (
        told(shell, "plan", "--json", document="<---WRITE--->\n", code=1)["fatal"]["type"] == "malformed_csl"
    )
    assert told(shell, "plan", "--json", document="nothing", code=3)["tasks"] == 0


def test_history_undo_and_report(shell: Shell) -> None:
    assert told(shell, "history", "--json") == []
    shell("--record=snapshots", document=WRITE)
    (run,) = told(shell, "history", "--json")
    assert (run["run"], run["ended"], run["what"]) == (1, "ok", "1 write: a.txt")
    assert told(shell, "history", "show", "1", "--json")["diff"][-1] == "+hi"
    assert "carried out" in told(shell, "report", "--json")["report"]
    assert told(shell, "undo", "--dry-run", "--json")["removed"] == ["a.txt"]
    assert told(shell, "undo", "--json")["run"] == 2
    assert told(shell, "history", "prune", "--json") == {"deleted": 0}
    assert [each["run"] for each in told(shell, "history", "--json", "--limit=1")] == [2]


def test_approvals_doctor_and_config(shell: Shell) -> None:
    assert told(shell, "approvals", "list", "--json") == []
    assert told(shell, "approvals", "add", "npm test", "--json") == {
        "command": "npm test",
        "done": "approved",
    }
    assert told(shell, "approvals", "--json") == [{"state": "allowed", "command": "npm test"}]
    assert told(shell, "doctor", "--json")["workspace"]["state"] == "ok"
    assert told(shell, "config", "--json")["record"] == {"value": "auto", "source": "default"}


def test_an_error_is_json_too(shell: Shell) -> None:
    error = told(shell, "undo", "--json", code=1)["error"]
    assert error["message"] == "no run is recorded for this workspace"


def test_on_a_terminal_too(terminal: Terminals) -> None:
    _, seen = terminal("--no-git", "--json", document=WRITE).end()
    assert json.loads(seen)["succeeded"] == 1


@needs("jq")
def test_it_pipes_into_jq(shell: Shell) -> None:
    printed = shell("--no-git", "--json", document=WRITE).stdout
    done = subprocess.run(["jq", "-r", ".ok"], input=printed, capture_output=True, text=True, check=True)
    assert done.stdout == "true\n"
