"""The words of the specification, letter by letter: status lines and summaries of both families."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from clada.errors import Error
from clada.model import BlockReport, Done, Failed, Outcome, RolledBack, Skipped, Task
from clada.notations.registry import NOTATIONS, UNKNOWN
from clada.report import Report, failure_lines, skipped_block_lines, status_line, xml
from clada.report.diff import diff_lines

if TYPE_CHECKING:
    from clada import ErrorType, NotationName


def task(operation: str, outcome: Outcome, target: str = "app.js", label: str = "1", index: int = 0) -> Task:
    """Return a task with this outcome."""
    return Task(label, index, operation, 1, target, None, outcome)


def fatal_line(error: Error, notation: NotationName | None) -> str:
    """Return the line of a run that could not begin."""
    ((_kind, line),) = failure_lines(Report(notation, fatal=error), NOTATIONS.get(notation or "", UNKNOWN))
    return line


TWO = Error("match_count_mismatch", "found 2 matches, expected 1", found=2, expected=1, lines=(4, 9))
LINES = tuple(range(1, 12))
# operation, outcome, target; what follows `[task-1] ` in CSL, and in CML
TEXTS: list[tuple[str, Outcome, str, str, str]] = [
    ("write", Done("created", "src/app.js", 24), "src/app.js",
     "SUCCESS: WRITE - src/app.js (created, 24 bytes)", "Success: created src/app.js"),
    ("write", Done("created", "e", 0), "e", "SUCCESS: WRITE - e (created, 0 bytes)", "Success: created e"),
    ("write", Done("overwritten", "a", 1), "a",
     "SUCCESS: WRITE - a (overwritten, 1 byte)", "Success: overwrote a"),
    ("write", Done("appended", "a", 2), "a",
     "SUCCESS: WRITE - a (appended, 2 bytes)", "Success: appended to a"),
    ("write", Done("unchanged", "a", 2), "a", "SUCCESS: WRITE - a (unchanged)", "Success: a unchanged"),
    ("edit", Done("edited", "app.js", count=3, lines=(4, 9, 31)), "app.js",
     "SUCCESS: SEARCH - app.js (3 replacements at lines 4, 9, 31)",
     "Success: edited app.js (3 replacements)"),
    ("edit", Done("edited", "app.js", count=1, lines=(4,)), "app.js",
     "SUCCESS: SEARCH - app.js (1 replacement at line 4)", "Success: edited app.js (1 replacement)"),
    ("edit", Done("edited", "a", count=11, lines=LINES), "a",
     "SUCCESS: SEARCH - a (11 replacements at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)",
     "Success: edited a (11 replacements)"),
    ("edit", Done("edited", "a", count=3, lines=(2, 2, 2)), "a",
     "SUCCESS: SEARCH - a (3 replacements at line 2)", "Success: edited a (3 replacements)"),
    ("edit", Done("edited", "a", count=22, lines=tuple(sorted(LINES * 2))), "a",
     "SUCCESS: SEARCH - a (22 replacements at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)",
     "Success: edited a (22 replacements)"),
    ("edit", Failed(TWO.replace(lines=(4, 4))), "app.js",
     "ERROR: SEARCH - app.js: match_count_mismatch: found 2 matches, expected 1 (line 4)",
     "Error: match_count_mismatch in app.js (found 2 matches, expected 1)"),
    ("move", Done("moved", "a -> b"), "a -> b", "SUCCESS: MOVE - a -> b", "Success: moved a -> b"),
    ("remove", Done("removed", "a"), "a", "SUCCESS: REMOVE - a", "Success: removed a"),
    ("run", Done("ran", "npm test", exit_code=0), "npm test",
     "SUCCESS: RUN - npm test (exit 0)", "Success: ran npm test (exit 0)"),
    ("run", Done("ran", "cd a\nls\n", exit_code=0), "cd a\nls\n",
     "SUCCESS: RUN - cd a … (exit 0)", "Success: ran cd a … (exit 0)"),
    ("run", Done("ran", "\n \n  ls -la\n\n", exit_code=0), "ls", "SUCCESS: RUN - ls -la (exit 0)",
     "Success: ran ls -la (exit 0)"),
    ("edit", Failed(TWO), "app.js",
     "ERROR: SEARCH - app.js: match_count_mismatch: found 2 matches, expected 1 (lines 4, 9)",
     "Error: match_count_mismatch in app.js (found 2 matches, expected 1)"),
    ("edit", Failed(TWO.replace(lines=(), hint="see line 3")), "app.js",
     "ERROR: SEARCH - app.js: match_count_mismatch: found 2 matches, expected 1; see line 3",
     "Error: match_count_mismatch in app.js (found 2 matches, expected 1); see line 3"),
    ("run", Failed(Error("exec_failed", "exit code 2")), "a\nb",
     "ERROR: RUN - a …: exec_failed: exit code 2", "Error: exec_failed in a … (exit code 2)"),
    ("run", Skipped("earlier task failed"), "ls",
     "SKIP: RUN - earlier task failed", "Skipped: earlier task failed"),
    ("write", Skipped("earlier task failed"), "src/b.py",
     "SKIP: WRITE - earlier task failed (src/b.py)", "Skipped: earlier task failed (src/b.py)"),
    ("move", Skipped("not chosen"), "a -> b",
     "SKIP: MOVE - not chosen (a -> b)", "Skipped: not chosen (a -> b)"),
    ("write", Done("created", "a", 15, planned=True), "a",
     "PLAN: WRITE - a (would create, 15 bytes)", "Planned: would create a"),
    ("write", Done("overwritten", "a", 15, planned=True), "a",
     "PLAN: WRITE - a (would overwrite, 15 bytes)", "Planned: would overwrite a"),
    ("write", Done("appended", "a", 1, planned=True), "a",
     "PLAN: WRITE - a (would append, 1 byte)", "Planned: would append to a"),
    ("write", Done("unchanged", "a", 1, planned=True), "a",
     "PLAN: WRITE - a (unchanged)", "Planned: a unchanged"),
    ("edit", Done("edited", "a", count=1, lines=(4,), planned=True), "a",
     "PLAN: SEARCH - a (would edit, 1 replacement at line 4)", "Planned: would edit a (1 replacement)"),
    ("move", Done("moved", "a -> b", planned=True), "a -> b",
     "PLAN: MOVE - a -> b (would move)", "Planned: would move a -> b"),
    ("remove", Done("removed", "a", planned=True), "a",
     "PLAN: REMOVE - a (would remove)", "Planned: would remove a"),
    ("run", Done("ran", "mkdir a", planned=True), "mkdir a",
     "PLAN: RUN - mkdir a (would run)", "Planned: would run mkdir a"),
    ("remove", RolledBack(Done("removed", "a", planned=True)), "a",
     "PLAN: REMOVE - a (would remove); would be rolled back",
     "Planned: would remove a; would be rolled back"),
    ("write", Done("created", "a\x1b[2J\u202eb", 1), "x",
     "SUCCESS: WRITE - a\\x1b[2J\\u202eb (created, 1 byte)", "Success: created a\\x1b[2J\\u202eb"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "outcome", "target", "csl", "cml"), TEXTS)
def test_the_line_of_a_task(operation: str, outcome: Outcome, target: str, csl: str, cml: str) -> None:
    assert status_line(task(operation, outcome, target), NOTATIONS["csl"])[1] == f"[task-1] {csl}"
    assert status_line(task(operation, outcome, target), NOTATIONS["cml"])[1] == f"[task-1] {cml}"
    edit = csl.replace("SEARCH", "EDIT")
    assert status_line(task(operation, outcome, target), NOTATIONS["json"])[1] == f"[task-1] {edit}"


def test_a_command_of_any_length_has_a_line_that_can_be_read() -> None:
    """Its end is left out, with all that follows; a path, which has a limit of its own, never."""
    command = "echo " + "x" * 200_000
    for outcome in (Done("ran", command, exit_code=0), Failed(Error("exec_failed", "exit code 2"))):
        for notation in NOTATIONS.values():
            _kind, text = status_line(task("run", outcome, command), notation)
            assert "xxx …" in text
            assert len(text) < 1100
    path = "x/" * 2000
    assert path in status_line(task("write", Done("created", path, bytes=1), path), NOTATIONS["csl"])[1]


def test_an_invalid_task_is_skipped_with_its_message() -> None:
    invalid = Failed(Error("invalid_operation", "Missing required attribute 'file'"))
    _kind, line = status_line(task("write", invalid, "", "5.1").replace(invalid=True), NOTATIONS["csl"])
    assert line == "[task-5.1] SKIP: WRITE - Missing required attribute 'file'"
    (block,) = skipped_block_lines("5", NOTATIONS["csl"])
    assert block[1] == "[task-5] SKIP: TASKS - validation errors within block"
    assert not list(skipped_block_lines("5", NOTATIONS["cml"]))


def test_an_invalid_task_names_its_path_or_its_command_if_it_has_one() -> None:
    invalid = Failed(Error("invalid_operation", "Invalid value for 'count': …"))
    for operation, target, line in (
        ("edit", "app.js", "SKIP: SEARCH - app.js: Invalid value for 'count': …"),
        ("run", "ls\nls", "SKIP: RUN - ls …: Invalid value for 'count': …"),
        ("move", "a\x1b -> b", "SKIP: MOVE - a\\x1b -> b: Invalid value for 'count': …"),
    ):
        assert status_line(task(operation, invalid, target).replace(invalid=True), NOTATIONS["csl"])[1] == (
            f"[task-1] {line}"
        )


FATAL = {
    "malformed_csl": "PARSE", "malformed_json": "PARSE", "unsupported_version": "PARSE",
    "input_too_large": "INPUT", "invalid_utf8": "INPUT", "git_operation_failed": "GIT",
    "lock_timeout": "LOCK",
}  # fmt: skip


def test_a_stage_that_the_type_does_not_tell_is_named() -> None:
    error = Error("io_error", "Cannot lock x", stage="LOCK")
    assert fatal_line(error, "csl") == "[task-1] FATAL: LOCK - Cannot lock x"


def test_a_file_outside_has_its_whole_path_in_a_diff() -> None:
    lines = [text for _kind, text in diff_lines([("/tmp/x", b"a\n", b"b\n")])]
    assert lines[:2] == ["--- /tmp/x", "+++ /tmp/x"]


@pytest.mark.parametrize("type_", FATAL)
def test_trouble_before_any_task(type_: ErrorType) -> None:
    error = Error(type_, "Line 3: Malformed marker")
    for notation in ("csl", "json", "toml", None):
        assert fatal_line(error, notation) == f"[task-1] FATAL: {FATAL[type_]} - Line 3: Malformed marker"
    said = f"[task-1] Error: {type_}: Line 3: Malformed marker; nothing was executed"
    assert fatal_line(error, "cml") == said


def test_the_xml_summary_is_that_of_the_specification() -> None:
    done = Done("created", "a", 1)
    blocks = (
        BlockReport(0, "1", False, True, tuple(task("write", done, index=n) for n in range(3))),
        BlockReport(
            1, "2", False, True,
            (task("edit", Failed(TWO.replace(lines=())), index=3), task("run", Skipped("x"), index=4)),
        ),
    )  # fmt: skip
    assert (
        xml.summary(Report("cml", blocks))
        == """\
<result blocks="2" tasks="5" succeeded="3" failed="1" skipped="1">
  <block index="0" status="success" tasks="3"/>
  <block index="1" status="failed" tasks="2">
    <task index="3" status="error">
      <error type="match_count_mismatch">Found 2 matches, expected 1</error>
    </task>
  </block>
</result>
"""
    )


def test_the_xml_summary_of_a_fatal_error() -> None:
    fatal = Error("malformed_xml", "Line 1, column 2: <&>\x1b[2J\n</result>")
    assert xml.summary(Report("cml", fatal=fatal)) == (
        '<result blocks="0" tasks="0" succeeded="0" failed="1">\n'
        '  <error type="malformed_xml">'
        "Line 1, column 2: &lt;&amp;&gt;\\x1b[2J\\n&lt;/result&gt;</error>\n"
        "</result>\n"
    )


def test_hints_have_an_element_of_their_own() -> None:
    failed = task("edit", Failed(TWO.replace(hint="look at line 3")))
    summary = xml.summary(Report("cml", (BlockReport(0, "1", True, True, (failed,)),)))
    assert "      <hint>look at line 3</hint>\n" in summary


def test_the_xml_summary_is_well_formed_with_any_characters() -> None:
    every = "".join(map(chr, (*range(0x300), *range(0xD7F0, 0xE000), *range(0xFD00, 0x10000), 0x1FFFE)))
    failed = task("edit", Failed(Error("io_error", every, every)))
    result = ET.fromstring(xml.summary(Report("cml", (BlockReport(0, "1", True, True, (failed,)),))))
    hint = result.findtext(".//hint")
    assert hint
    assert "\\ufffe\\uffff" in hint


def test_where_the_matches_are_is_a_hint() -> None:
    summary = xml.summary(Report("cml", (BlockReport(0, "1", True, True, (task("edit", Failed(TWO)),)),)))
    assert "<hint>at lines 4, 9</hint>" in summary


def test_a_diff_is_one_that_patch_understands() -> None:
    changes = [
        ("binary", b"\0", b"\0\0"),
        ("gone.txt", b"a", None),
        ("new.txt", None, b"a\n"),
        ("old.txt", b"a\nb\n", b"a\nB"),
    ]
    assert [text for _, text in diff_lines(changes)] == [
        "Files a/binary and b/binary differ (1 and 2 bytes)",
        "--- a/gone.txt", "+++ /dev/null", "@@ -1 +0,0 @@", "-a", "\\ No newline at end of file",
        "--- /dev/null", "+++ b/new.txt", "@@ -0,0 +1 @@", "+a",
        "--- a/old.txt", "+++ b/old.txt", "@@ -1,2 +1,2 @@", " a", "-b", "+B",
        "\\ No newline at end of file",
    ]  # fmt: skip


def test_a_diff_cannot_forge_a_line_or_steer_a_terminal() -> None:
    changes = [("a\n[task-1] SUCCESS", b"x", b"\x1b]0;title\x07\r[task-1]\n")]
    lines = [text for _, text in diff_lines(changes)]
    assert not any(line.startswith("[task") for line in lines)
    assert not any("\x1b" in line or "\r" in line for line in lines)


@pytest.mark.parametrize(
    ("target", "message", "shown"),
    [
        ("app.js", "found 2 matches, expected 1", "Found 2 matches, expected 1"),
        ("notes.txt", "no such file or directory", "No such file or directory"),
        ("npm test", "npm is not installed", "npm is not installed"),
        ("sub/link/x", "link is a symbolic link", "link is a symbolic link"),
        (
            "cat readme",
            "readme: the path leads out of the workspace",
            "readme: the path leads out of the workspace",
        ),
        ("ls", "dir=nope: no such directory", "dir=nope: no such directory"),
    ],
)
def test_a_name_at_the_start_of_an_error_keeps_its_letters(target: str, message: str, shown: str) -> None:
    failed = task("run", Failed(Error("exec_failed", message)), target)
    text = xml.summary(Report("cml", (BlockReport(0, "1", True, True, (failed,)),)))
    assert f'<error type="exec_failed">{shown}</error>' in text
