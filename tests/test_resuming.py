"""Going on after a failure: resume does the rest and no more, and a report tells a model what it needs."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_atomic import start, tree, wait_until

import clada
from clada.resuming import resume

# Each would do harm if it was done twice.
STEPS = (
    '<---WRITE file="log" append="true"--->\none\n<---END--->\n',
    '<---SEARCH file="log"--->\none\n<---REPLACE--->\none one\n<---END--->\n',
    "<---RUN--->\nmv log moved\n<---END--->\n",
    '<---WRITE file="moved" append="true"--->\ntwo\n<---END--->\n',
    "<---RUN--->\nmkdir new\n<---END--->\n",
    '<---SEARCH file="moved" count="2"--->\none\n<---REPLACE--->\none one\n<---END--->\n',
)
SR = "/w/x/app.py\n```python\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n"
GATE = "<---RUN--->\nsh -c true\n<---END--->\n"  # needs approval


@pytest.fixture(autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


def execute(workspace: Path, document: str, **options: object) -> clada.Report:
    return clada.execute(document, workspace=workspace, record="snapshots", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("block", [False, True], ids=["standalone", "block"])
@pytest.mark.parametrize("at", range(len(STEPS) + 1))
def test_a_run_that_is_resumed_gives_the_tree_of_a_whole_one(tmp_path: Path, at: int, block: bool) -> None:
    document = "".join((*STEPS[:at], GATE, *STEPS[at:]))
    if block:
        document = f"<---TASKS--->\n{document}<---END--->\n"
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    whole.mkdir()
    resumed.mkdir()
    assert execute(whole, document, approve=["sh -c true"]).ok
    first = execute(resumed, document)
    assert not first.ok
    again = resume(resumed, record="snapshots", approve=["sh -c true"])
    assert again.ok
    assert tree(resumed) == tree(whole)


def test_a_run_can_be_resumed_more_than_once(tmp_path: Path) -> None:
    other = GATE.replace("true", "'exit 0'")
    execute(tmp_path, f"<---TASKS--->\n{STEPS[0]}{GATE}{other}{STEPS[1]}<---END--->\n")
    assert not resume(tmp_path, record="snapshots", approve=["sh -c true"]).ok
    last = resume(tmp_path, record="snapshots", approve=["sh -c 'exit 0'"])
    assert last.ok
    assert (tmp_path / "log").read_text() == "one one\n"
    assert [task.status for task in last.tasks] == ["skipped", "skipped", "success", "success"]


def refused(workspace: Path, document: str) -> str | None:
    fatal = execute(workspace, document).fatal
    return fatal.sentence if fatal else None


REFUSED = "already applied in part (run 1: 1 of 2 done). Continue: clada resume. Start over: --again"


def test_the_same_document_again_is_refused_where_parts_of_it_were_done(tmp_path: Path) -> None:
    document = STEPS[0] + GATE
    execute(tmp_path, document)
    assert refused(tmp_path, document) == REFUSED
    assert (tmp_path / "log").read_text() == "one\n"
    assert not execute(tmp_path, document, again=True).ok
    assert (tmp_path / "log").read_text() == "one\none\n"


def test_it_is_refused_after_a_resume_that_did_nothing_more(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE)
    assert not resume(tmp_path).ok
    assert refused(tmp_path, STEPS[0] + GATE) == REFUSED


def test_it_is_refused_where_the_journal_of_its_first_run_is_gone(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE)
    assert not resume(tmp_path).ok
    [journal] = Path(os.environ["XDG_STATE_HOME"]).glob("clada/*/runs/1")
    journal.unlink()
    assert refused(tmp_path, STEPS[0] + GATE) == REFUSED


def test_it_is_refused_after_other_documents_and_the_run_is_named(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE)
    execute(tmp_path, STEPS[4])
    assert refused(tmp_path, STEPS[0] + GATE) == REFUSED.replace("resume", "resume 1")
    assert refused(tmp_path, STEPS[4]) is None  # of which everything was done, or nothing


def test_it_is_refused_where_the_parts_are_commands_that_changed_no_file(tmp_path: Path) -> None:
    document = GATE + GATE.replace("true", "'exit 0'")
    execute(tmp_path, document, approve=["sh -c true"])
    assert refused(tmp_path, document) == REFUSED


def test_it_is_refused_after_a_kill_until_that_is_undone(tmp_path: Path) -> None:
    document = STEPS[0] + GATE.replace("true", "'sleep 60'")
    process = start(tmp_path, document, "--record=snapshots", "--atomic=false")
    wait_until((tmp_path / "log").exists)
    process.kill()
    process.wait()
    for _ in range(2):
        told = "run 1 of this answer was killed. Revert it: clada undo 1. Start over: --again"
        assert refused(tmp_path, document) == told
        execute(tmp_path, STEPS[4])
    clada.undo(tmp_path, 1)
    assert refused(tmp_path, document) is None
    assert (tmp_path / "log").read_text() == "one\n"


def test_an_undone_document_may_be_run_again_unless_it_was_redone(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE)
    clada.undo(tmp_path)
    clada.undo(tmp_path)
    assert refused(tmp_path, STEPS[0] + GATE) == REFUSED
    clada.undo(tmp_path)
    assert refused(tmp_path, STEPS[0] + GATE) is None


@pytest.mark.parametrize("anew", [False, True], ids=["put back by hand", "in a new directory"])
def test_a_document_may_come_again_where_nothing_of_it_is_left(tmp_path: Path, anew: bool) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "log").write_text("zero\n")
    execute(workspace, STEPS[0] + GATE)
    if anew:
        shutil.rmtree(workspace)
        workspace.mkdir()
    (workspace / "log").write_text("zero\n")
    assert refused(workspace, STEPS[0] + GATE) is None
    assert (workspace / "log").read_text() == "zero\none\n"


def test_a_completely_resumed_document_may_be_run_again_unless_a_part_was_undone(tmp_path: Path) -> None:
    document = STEPS[0] + STEPS[4] + GATE
    execute(tmp_path, document)
    resume(tmp_path, approve=["sh -c true"])
    execute(tmp_path, '<---WRITE file="other"--->\n<---END--->')
    clada.undo(tmp_path, 1)
    told = refused(tmp_path, document)
    assert told
    assert told.startswith("already applied in part (run 2: ")
    assert "Continue: clada resume 2. " in told


def test_a_look_at_a_long_history_opens_hardly_any_journal(tmp_path: Path) -> None:
    """Of runs that went well, none; of the others, no more than a line is read."""
    for number in range(12):
        execute(tmp_path, f'<---WRITE file="{number}"--->\n<---END--->')
    execute(tmp_path, STEPS[0] + GATE)
    opened: list[str] = []
    watching = True
    sys.addaudithook(
        lambda event, given: opened.append(str(given[0])) if watching and event == "open" else None
    )
    assert execute(tmp_path, STEPS[4]).ok
    watching = False
    journals = [name for name in opened if "/runs/" in name and not name.endswith("/14")]
    assert len(journals) <= 2


def test_a_document_of_which_nothing_or_everything_was_done_may_come_again(tmp_path: Path) -> None:
    for document in (GATE, STEPS[0], STEPS[0], GATE):
        assert execute(tmp_path, document).fatal is None


def statuses(report: clada.Report) -> list[str]:
    return [task.status for task in report.tasks]


def test_a_run_that_was_resumed_goes_on_from_where_that_came_to(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE + GATE.replace("true", "'exit 0'"))
    resume(tmp_path, approve=["sh -c true"])
    last = resume(tmp_path, 1, approve=["sh -c 'exit 0'", "sh -c true"])
    assert [str(task.outcome.reason) for task in last.tasks if isinstance(task.outcome, clada.Skipped)] == [
        "done in run 1",
        "done in run 2",
    ]
    with pytest.raises(clada.CladaError, match="run 3 did everything"):
        resume(tmp_path, 1)


def test_undone_operations_do_not_count_as_done(tmp_path: Path) -> None:
    document = STEPS[0] + GATE + STEPS[4]
    execute(tmp_path, document)
    clada.undo(tmp_path)
    assert statuses(resume(tmp_path)) == ["success", "error", "success"]
    resume(tmp_path, approve=["sh -c true"])
    assert (tmp_path / "log").read_text() == "one\n"


def test_after_the_undo_of_a_resume_the_run_before_it_counts(tmp_path: Path) -> None:
    execute(tmp_path, f"<---TASKS--->\n{STEPS[0]}{GATE}{STEPS[4]}<---END--->\n")
    resume(tmp_path, approve=["sh -c true"])
    clada.undo(tmp_path)
    assert statuses(resume(tmp_path, approve=["sh -c true"])) == ["skipped", "success", "success"]


# What decides the outcome is as it was.


def test_a_resumed_atomic_run_is_still_all_or_nothing(tmp_path: Path) -> None:
    assert statuses(execute(tmp_path, STEPS[0] + GATE, atomic=True)) == ["rolled_back", "error"]
    assert statuses(resume(tmp_path)) == ["rolled_back", "error"]
    assert not (tmp_path / "log").exists()
    assert statuses(resume(tmp_path, atomic=False)) == ["success", "error"]


def test_a_document_is_carried_out_as_it_was_at_first(tmp_path: Path) -> None:
    edit = '<---SEARCH file="file"--->\none\ntwo\n<---REPLACE--->\nthree\n<---END--->\n'
    document = f"<---TASKS--->\n{GATE}{STEPS[0]}{edit}<---END--->\n"
    (tmp_path / "file").write_text("  one\n  two\n")
    execute(tmp_path, document, match="blanks", final_newline=True)
    assert resume(tmp_path, approve=["sh -c true"]).ok
    assert (tmp_path / "log").read_text() == "one\n"
    assert (tmp_path / "file").read_text() == "  three\n"


def test_the_command_line_keeps_them_too_and_its_flags_win(tmp_path: Path) -> None:
    def run(*arguments: str, given: str = "") -> list[str]:
        command = [sys.executable, "-m", "clada", *arguments]
        done = subprocess.run(command, cwd=tmp_path, input=given, capture_output=True, text=True, check=False)
        return re.findall(r"^\[task-\S+ ([A-Z ]+):", done.stdout, re.MULTILINE)

    assert run("--record=snapshots", "--atomic", given=STEPS[0] + GATE) == ["ROLLED BACK", "ERROR"]
    assert run("resume") == ["ROLLED BACK", "ERROR"]
    assert run("resume", "--atomic=false") == ["SUCCESS", "ERROR"]
    assert clada.history(tmp_path)[0].record == "snapshots"


def test_a_document_that_is_read_as_other_operations_is_not_resumed(tmp_path: Path) -> None:
    document = f"```sh\nmkdir one\n```\n{SR}```sh\nsh -c true\n```\n"
    (tmp_path / "app.py").write_text("one\n")
    execute(tmp_path, document, run_fences=True)
    with pytest.raises(clada.CladaError, match="had 3 operations, and is read as 1 now"):
        resume(tmp_path, run_fences=False)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "no run is recorded for this workspace"),
        ([STEPS[0]], "run 1 did everything: there is nothing to resume"),
    ],
)
def test_resume_says_that_there_is_nothing_to_resume(
    tmp_path: Path, documents: list[str], message: str
) -> None:
    for document in documents:
        execute(tmp_path, document)
    with pytest.raises(clada.CladaError, match=message):
        resume(tmp_path)


def test_paths_changed_since_the_run_are_named_first(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE)
    (tmp_path / "log").write_text("mine")
    seen: list[object] = []
    resume(tmp_path, record="snapshots", approve=["sh -c true"], on_event=seen.append)
    assert seen[0] == clada.Note("changed since run 1: log")


def test_a_refused_command_names_resume(tmp_path: Path) -> None:
    (task,) = execute(tmp_path, GATE).tasks
    assert task.error is not None
    assert task.error.remedy == ("clada approvals add 'sh -c true'", "clada resume")


# The report for a model.


def test_a_report_is_short_where_all_went_well(tmp_path: Path) -> None:
    assert execute(tmp_path, STEPS[0]).text(for_llm=True) == "The operation was carried out.\n"
    many = '<---WRITE file="a"--->\n<---END--->\n' * 3
    assert execute(tmp_path, many).text(for_llm=True) == "All 3 operations were carried out.\n"


def test_a_report_has_every_failure_in_full_and_what_commands_printed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("def one():\n    return 1\n")
    search = '<---SEARCH file="file"--->\ndef one():\n    return 2\n<---REPLACE--->\nx\n<---END--->\n'
    text = execute(tmp_path, f"<---RUN--->\ncat file\n<---END--->\n{search}{GATE}").text(for_llm=True)
    assert text.startswith(
        "Of 3 operations: 1 done, 2 failed.\n\n[task-1] SUCCESS: RUN - cat file (exit 0)\n"
    )
    assert "  output:\n    def one():\n        return 1\n" in text
    assert "[task-2] ERROR: SEARCH - file: match_count_mismatch: found 0 matches, expected 1" in text
    assert "what the file has:" in text
    last = text.splitlines()[-1]
    assert last == "Next: successful operations are kept; send only the failed operations, corrected."


def test_a_report_after_a_resume_does_not_ask_for_what_was_done_before(tmp_path: Path) -> None:
    other = GATE.replace("true", "'exit 0'")
    execute(tmp_path, f"<---TASKS--->\n{STEPS[0]}{GATE}{other}{STEPS[4]}<---END--->\n")
    overview, failure, step = resume(tmp_path, approve=["sh -c true"]).text(for_llm=True).split("\n\n", 2)
    assert overview == "Of 4 operations: 1 done, 1 done before, 1 failed, 1 skipped."
    assert failure.startswith("[task-1.3] ERROR: RUN - sh -c 'exit 0': command_not_allowed")
    assert step == (
        "[task-1.4] SKIP: RUN - earlier task failed\n\n"
        "Next: successful operations are kept; "
        "send only the failed operations, corrected, and the skipped ones.\n"
    )
    last = resume(tmp_path, approve=["sh -c 'exit 0'"])
    assert last.text(for_llm=True) == "Of 4 operations: 2 done, 2 done before.\n"


def test_a_report_of_much_output_has_its_beginning_and_its_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("".join(f"line {number}\n" for number in range(1000)))
    text = execute(tmp_path, "<---RUN--->\ncat file\n<---END--->\n").text(for_llm=True)
    assert "    line 0\n" in text
    assert "… 800 lines left out …" in text
    assert "    line 999\n" in text
    assert len(text.splitlines()) < 210


def test_the_json_summary_holds_the_output_of_commands(tmp_path: Path) -> None:
    report = execute(tmp_path, "<---RUN--->\necho one\necho two\n<---END--->\n").to_dict()
    assert report["blocks"][0]["tasks"][0]["output"] == ["one", "two"]


def test_a_document_is_read_as_it_was_read_first(tmp_path: Path) -> None:
    """With the same prefix of its paths, and with the same commands in fences."""
    document = f"```sh\nmkdir first\n```\n{SR}```sh\nsh -c true\n```\n```sh\nmkdir last\n```\n"
    (tmp_path / "app.py").write_text("one\n")
    first = execute(tmp_path, document, root="/w/x", run_fences=True)
    assert [task.status for task in first.tasks] == ["success", "success", "error", "success"]
    again = resume(tmp_path, record="snapshots", approve=["sh -c true"])
    assert [task.status for task in again.tasks] == ["skipped", "skipped", "success", "skipped"]
    assert again.ok
