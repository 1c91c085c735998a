"""Going on after a failure: resume does the rest and no more, and a report tells a model what it needs."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.test_atomic import tree

import clada
from clada.resuming import resume

if TYPE_CHECKING:
    from pathlib import Path

# Each would do harm if it was done twice.
STEPS = (
    '<---WRITE file="log" append="true"--->\none\n<---END--->\n',
    '<---SEARCH file="log"--->\none\n<---REPLACE--->\none one\n<---END--->\n',
    "<---RUN--->\nmv log moved\n<---END--->\n",
    '<---WRITE file="moved" append="true"--->\ntwo\n<---END--->\n',
    "<---RUN--->\nmkdir new\n<---END--->\n",
    '<---SEARCH file="moved" count="2"--->\none\n<---REPLACE--->\none one\n<---END--->\n',
)
GATE = "<---RUN--->\nsh -c true\n<---END--->\n"  # needs approval


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


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
    assert (tmp_path / "log").read_text() == "one one"
    assert [task.status for task in last.tasks] == ["skipped", "skipped", "success", "success"]


def test_the_same_document_again_is_refused_where_parts_of_it_were_done(tmp_path: Path) -> None:
    document = STEPS[0] + GATE
    execute(tmp_path, document)
    report = execute(tmp_path, document)
    assert report.fatal is not None
    assert (
        report.fatal.sentence
        == "parts of this were done in run 1; clada resume does the rest, --again runs all of it"
    )
    assert (tmp_path / "log").read_text() == "one"
    assert not execute(tmp_path, document, again=True).ok
    assert (tmp_path / "log").read_text() == "one\none"


def test_a_document_of_which_nothing_or_everything_was_done_may_come_again(tmp_path: Path) -> None:
    for document in (GATE, STEPS[0], STEPS[0], GATE):
        assert execute(tmp_path, document).fatal is None


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "no run is recorded for this workspace"),
        ([STEPS[0]], "run 1 did everything: there is nothing to resume"),
    ],
)
def test_where_there_is_nothing_to_resume_that_is_said(
    tmp_path: Path, documents: list[str], message: str
) -> None:
    for document in documents:
        execute(tmp_path, document)
    with pytest.raises(clada.Trouble, match=message):
        resume(tmp_path)


def test_what_was_changed_since_is_said_first(tmp_path: Path) -> None:
    execute(tmp_path, STEPS[0] + GATE)
    (tmp_path / "log").write_text("mine")
    seen: list[object] = []
    resume(tmp_path, record="snapshots", approve=["sh -c true"], on_event=seen.append)
    assert seen[0] == clada.Note("changed since run 1: log")


def test_a_refused_command_names_resume(tmp_path: Path) -> None:
    (task,) = execute(tmp_path, GATE).tasks
    assert task.error is not None
    assert task.error.hint == "then clada resume goes on from here"


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
    assert last.startswith(
        "Next: what was done stays done; send what failed, corrected, and what was skipped"
    )


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
    document = (
        "```sh\nmkdir first\n```\n"
        "/w/x/app.py\n```python\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n"
        "```sh\nsh -c true\n```\n```sh\nmkdir last\n```\n"
    )
    (tmp_path / "app.py").write_text("one\n")
    first = execute(tmp_path, document, root="/w/x", run_fences=True)
    assert [task.status for task in first.tasks] == ["success", "success", "error", "success"]
    again = resume(tmp_path, record="snapshots", approve=["sh -c true"])
    assert [task.status for task in again.tasks] == ["skipped", "skipped", "success", "skipped"]
    assert again.ok
