"""Exit codes: 0 everything was carried out, 1 something was not, 2 usage, 3 nothing found; summaries."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

import clada

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
PART = f'{WRITE}\n<remove path="b.txt"/>\n'
NOT_APPLIED = "not applied: CML operation at line 5 (the answer is in CSL)"
CODES = {
    "done": (WRITE, 0),
    "failed": (f'{WRITE}<---SEARCH file="no"--->\na\n<---REPLACE--->\nb\n<---END--->\n', 1),
    "invalid": (f"{WRITE}<---WRITE--->\nx\n<---END--->\n", 1),
    "refused": ("<---RUN--->\nsh -c true\n<---END--->\n", 1),
    "cut off": ('<---WRITE file="a.txt"--->\nhi\n', 1),
    "not applied": (PART, 1),
    "a likely operation": (f"{WRITE}  <---RUN--->\nls\n", 1),
    "nothing": ("Just prose.\n", 3),
    "empty": ("", 3),
    "an empty block": ("<---TASKS--->\n<---END--->\n", 3),
    "only calls that search": ('{"type": "tool_use", "name": "Grep", "input": {"pattern": "a"}}', 3),
}


@pytest.mark.parametrize("case", CODES)
def test_each_code(shell: Shell, case: str) -> None:
    document, code = CODES[case]
    assert shell("--no-git", document=document).returncode == code


@pytest.mark.parametrize("case", CODES)
def test_a_plan_has_the_code_of_the_run(shell: Shell, case: str) -> None:
    document, code = CODES[case]
    code = 0 if case == "refused" else code  # programs are not tried
    assert shell("plan", "--no-git", document=document).returncode == code
    assert shell("plan", "--no-git", "--html=p.html", document=document).returncode == code


@pytest.mark.parametrize("case", CODES)
def test_json_events_and_the_library_agree(shell: Shell, case: str) -> None:
    document, code = CODES[case]
    done = shell("--no-git", "--summary=json", "--output-mode=silent", "--events=jsonl", document=document)
    assert json.loads(done.stdout)["ok"] is (code == 0)
    last = json.loads([line for line in done.stderr.splitlines() if line.startswith("{")][-1])
    assert last["ok"] is (code == 0)
    report = clada.execute(document, workspace=shell.workspace, git=False)
    assert (report.exit_code, report.ok) == (code, code == 0)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("done", 0),
        ("failed", 0),
        ("invalid", 1),
        ("cut off", 1),
        ("not applied", 1),
        ("nothing", 3),
        ("empty", 3),
    ],
)
def test_parse_says_what_could_be_carried_out(shell: Shell, case: str, code: int) -> None:
    done = shell("parse", document=CODES[case][0])
    assert done.returncode == code
    assert ("not_applied" in json.loads(done.stdout)) == (case == "not applied")


@pytest.mark.parametrize(("case", "code"), [("done", 0), ("not applied", 1), ("nothing", 3)])
def test_convert_says_whether_all_of_it_is_there(shell: Shell, case: str, code: int) -> None:
    done = shell("convert", "--to=json", document=CODES[case][0])
    assert done.returncode == code
    assert (NOT_APPLIED in done.stderr) == (case == "not applied")


def test_usage_is_two(shell: Shell) -> None:
    assert shell("--no-such-flag").returncode == 2


def test_what_was_not_applied_is_printed_last_in_every_mode(shell: Shell) -> None:
    for mode in ("stream", "buffer"):
        done = shell("--no-git", f"--output-mode={mode}", document=PART)
        assert done.stdout.splitlines()[-1] == NOT_APPLIED
    done = shell("--no-git", "--output-mode=silent", document=PART)
    assert (done.stdout, done.stderr) == ("", f"{NOT_APPLIED}\n")


def test_what_was_not_applied_is_in_every_summary(shell: Shell) -> None:
    def summary(kind: str) -> str:
        return shell("--no-git", "--output-mode=silent", f"--summary={kind}", document=PART).stdout

    told = {"line": 5, "what": "CML operation", "why": "the answer is in CSL"}
    assert json.loads(summary("json"))["not_applied"] == [told]
    (element,) = ET.fromstring(summary("xml")).findall("not_applied")
    assert (element.attrib, element.text) == ({"line": "5", "reason": told["why"]}, told["what"])
    assert summary("llm") == (
        f"Of 2 operations: 1 done, 1 not applied.\n\n{NOT_APPLIED}\n\n"
        "Next: successful operations are kept; send only the parts that were not applied, as CSL.\n"
    )


def test_all_or_nothing_is_nothing_where_something_is_not_applied(shell: Shell) -> None:
    done = shell("--no-git", "--atomic", document=PART)
    assert done.returncode == 1
    assert not (shell.workspace / "a.txt").exists()
    assert NOT_APPLIED in done.stdout


def test_a_recorded_run_that_left_something_out_is_no_success_in_the_history(shell: Shell) -> None:
    subprocess.run(["git", "init", "-q"], cwd=shell.workspace, check=True)
    assert shell(document=PART).returncode == 1
    assert NOT_APPLIED in shell("report").stdout
    assert "failed" in shell("history").stdout
    resumed = shell("resume")
    assert (resumed.returncode, "nothing to resume" in resumed.stderr) == (1, True)


def test_a_job_of_a_batch_that_left_something_out_is_no_success(shell: Shell) -> None:
    shell.write("jobs.jsonl", json.dumps({"id": "1", "document": PART, "path": "tree"}) + "\n")
    (shell.workspace / "tree").mkdir()
    done = shell("batch", "jobs.jsonl", "--out=results.jsonl")
    assert done.returncode == 0, done.stderr
    (line,) = (shell.workspace / "results.jsonl").read_text().splitlines()
    result = json.loads(line)
    assert (result["status"], result["error"]) == ("failed", NOT_APPLIED)
    assert result["report"]["ok"] is False


REFUSED = {
    "cut off": ('<---WRITE file="b.txt"--->\nhi\n', "FATAL: PARSE - Line 1: Unterminated WRITE operation"),
    "invalid": ("<---WRITE--->\nhi\n<---END--->\n", "Missing required attribute 'file'"),
    "prose": ("Just prose.\n", "No operations were found."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_the_report_is_on_the_last_answer_also_where_nothing_of_it_was_carried_out(
    repository: Shell, kind: str
) -> None:
    """It is not that of the run before, which may say that all was carried out."""
    document, says = REFUSED[kind]
    assert repository(document=document).returncode != 0
    assert says in repository("report").stdout
    repository(document=WRITE)
    assert repository("report").stdout == "The operation was carried out.\n"
    assert repository("plan", document=document).returncode != 0
    assert repository("report").stdout == "The operation was carried out.\n"
    assert repository(document=document).returncode != 0
    assert says in repository("report").stdout
    assert repository("report", "1").stdout == "The operation was carried out.\n"
    repository(document=WRITE.replace("a.txt", "c.txt"))
    assert repository("report").stdout == "The operation was carried out.\n"


def test_the_report_is_that_of_this_workspace(repository: Shell) -> None:
    """Workspaces in one repository share a record, but not the report on a refused answer."""
    (repository.workspace / "sub").mkdir()
    repository(document=WRITE)
    repository("--workspace=sub", document=WRITE)
    repository("--workspace=sub", document="Just prose.\n")
    assert repository("report").stdout == "The operation was carried out.\n"
    assert repository("report", "--workspace=sub").stdout.startswith("No operations were found.\n")
