"""Choosing parts of a plan: what is left out stays as it was, is reported, and what depends on it is told."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clada
from clada.report.diff import file_hunks, numbered, split_hunk
from clada.resuming import resume
from clada.selection import _apply_hunks, preview, select, warnings
from clada.settings import Settings
from clada.text.diff import split_lines

if TYPE_CHECKING:
    from pathlib import Path

    from clada.selection import Preview

LINES = [f"line {number}\n" for number in range(1, 41)]
OLD = "".join(LINES)
NEW = OLD.replace("line 3\n", "three\n").replace("line 20\n", "twenty\n").replace("line 38\n", "")


def write(path: str, content: str) -> str:
    return f'<---WRITE file="{path}"--->\n{content}\n<---END--->\n'


def search(path: str, old: str, new: str, count: str = "1") -> str:
    return f'<---SEARCH file="{path}" count="{count}"--->\n{old}\n<---REPLACE--->\n{new}\n<---END--->\n'


def previewed(workspace: Path, document: str) -> tuple[clada.Plan, tuple[Preview, ...]]:
    plan = clada.parse(document)
    _report, previews = preview(plan, Settings.from_options(workspace=workspace))
    return plan, previews


def execute(plan: clada.Plan, workspace: Path) -> clada.Report:
    return clada.execute(plan, workspace=workspace, git=False)


def test_a_preview_touches_nothing_and_has_the_hunks_of_each_operation(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(OLD)
    document = write("a", NEW) + write("new", "text") + "<---RUN--->\nmake\n<---END--->\n"
    _plan, previews = previewed(tmp_path, document)
    assert [len(each.hunks) for each in previews] == [3, 1, 0]
    assert previews[0].hunks[0].lines[:2] == (("hunk", "@@ -1,6 +1,6 @@"), ("same", " line 1"))
    assert (tmp_path / "a").read_text() == OLD
    assert not (tmp_path / "new").exists()


def test_a_preview_sees_what_the_operations_before_it_do(tmp_path: Path) -> None:
    document = write("a", "one\ntwo\n") + search("a", "two", "three") + search("a", "three", "four")
    _plan, previews = previewed(tmp_path, document)
    assert ("removed", "-three") in previews[2].hunks[0].lines


def test_operations_left_out_are_not_done_and_reported_as_such(tmp_path: Path) -> None:
    plan = clada.parse(write("a", "one") + write("b", "two"))
    report = execute(select(plan, {1: None}), tmp_path)
    assert report.ok
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    assert report.text() == (
        "[task-1] SKIP: WRITE - not chosen (a)\n[task-2] SUCCESS: WRITE - b (created, 4 bytes)\n"
    )
    assert report.text(for_llm=True) == (
        "Of 2 operations: 1 done, 1 skipped.\n\n[task-1] SKIP: WRITE - not chosen (a)\n\n"
        "What was not chosen is not wanted: do not send it again.\n"
    )


@pytest.mark.parametrize("numbers", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_of_a_written_file_only_the_chosen_hunks_are_made(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    (tmp_path / "a").write_text(OLD)
    plan, previews = previewed(tmp_path, write("a", NEW))
    chosen = tuple(previews[0].hunks[number] for number in numbers)
    report = execute(select(plan, {0: chosen}), tmp_path)
    expected = OLD
    for number, (old, new) in enumerate(
        [("line 3\n", "three\n"), ("line 20\n", "twenty\n"), ("line 38\n", "")]
    ):
        if number in numbers:
            expected = expected.replace(old, new)
    assert report.ok
    assert (tmp_path / "a").read_text() == expected
    named = ", ".join(str(number + 1) for number in numbers)
    hunks = f"hunk{'' if len(numbers) == 1 else 's'} {named} of 3"
    size = len(expected)
    assert report.text() == f"[task-1] SUCCESS: WRITE - a (overwritten, {size} bytes, {hunks})\n"
    assert hunks in report.text(for_llm=True)  # or the model would take all of it for done


def test_all_hunks_are_the_operation_itself_and_none_leave_it_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(OLD)
    plan, previews = previewed(tmp_path, write("a", NEW))
    assert select(plan, {0: previews[0].hunks}) == plan
    assert select(plan, {0: ()}) == select(plan, {}) == plan.replace(left_out={0: "not chosen"})


def test_an_edit_of_many_places_is_made_at_some_of_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(OLD)
    plan, previews = previewed(tmp_path, search("a", "0", "zero", "all"))
    assert len(previews[0].hunks) == 4
    report = execute(select(plan, {0: previews[0].hunks[1:3]}), tmp_path)
    assert (tmp_path / "a").read_text() == OLD.replace("20", "2zero").replace("30", "3zero")
    assert report.text() == "[task-1] SUCCESS: SEARCH - a (2 replacements at lines 20, 30, hunks 2, 3 of 4)\n"


def test_a_hunk_is_made_where_its_lines_went_and_refused_where_they_changed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(OLD)
    plan, previews = previewed(tmp_path, write("a", NEW))
    chosen = select(plan, {0: previews[0].hunks[1:2]})
    (tmp_path / "a").write_text("first\n" + OLD)
    assert execute(chosen, tmp_path).ok
    assert (tmp_path / "a").read_text() == "first\n" + OLD.replace("line 20\n", "twenty\n")
    changed = OLD.replace("line 21\n", "another\n")
    (tmp_path / "a").write_text(changed)
    assert execute(chosen, tmp_path).text() == (
        "[task-1] ERROR: WRITE - a: match_count_mismatch: hunk 2 of 3 does not apply: its lines "
        "have changed since they were shown; reload, and choose again\n"
    )
    (tmp_path / "a").write_text(changed + OLD + OLD)  # twice is once too often
    assert not execute(chosen, tmp_path).ok
    assert (tmp_path / "a").read_text() == changed + OLD + OLD


def test_a_file_that_is_gone_since_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(OLD)
    plan, previews = previewed(tmp_path, write("a", NEW))
    (tmp_path / "a").unlink()
    report = execute(select(plan, {0: previews[0].hunks[:1]}), tmp_path)
    assert report.tasks[0].error
    assert report.tasks[0].error.type == "file_not_found"


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"\xff\n"]), max_size=40),
    st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"x\n"]), max_size=40),
    st.booleans(),
    st.sets(st.integers(0, 5)),
)
def test_hunks_one_after_the_other_give_what_all_give(
    before: list[bytes], after: list[bytes], cut: bool, numbers: set[int]
) -> None:
    old, new = b"".join(before), b"".join(after)
    if cut:
        new = new.removesuffix(b"\n")
    hunks = tuple(file_hunks(old, new) or ())
    assert _apply_hunks(old, hunks)[0] == new
    first = tuple(hunk for hunk in hunks if hunk.number - 1 in numbers)
    half = _apply_hunks(old, first)[0]
    if hunks:
        assert (half == old) == (not first)
        assert (half == new) == (len(first) == len(hunks))


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n"]), max_size=40),
    st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"x\n"]), max_size=40),
    st.booleans(),
    st.sets(st.integers(0, 9)),
)
def test_the_parts_of_split_hunks_give_what_the_hunks_give(
    before: list[bytes], after: list[bytes], cut: bool, numbers: set[int]
) -> None:
    old, new = b"".join(before), b"".join(after)
    if cut:
        new = new.removesuffix(b"\n")
    whole = file_hunks(old, new) or []
    parts = numbered([part for hunk in whole for part in split_hunk(hunk)])
    assert _apply_hunks(old, tuple(parts))[0] == new
    assert b"".join(part.old for part in parts) == b"".join(hunk.old for hunk in whole)
    some = tuple(part for part in parts if part.number - 1 in numbers)
    if parts:
        assert (_apply_hunks(old, some)[0] == old) == (not some)
    for part in parts:
        header = part.lines[0][1]
        sizes = [int(each.partition(",")[2] or 1) for each in header.strip("@ ").split(" ")]
        assert sizes == [len(split_lines(part.old)), len(split_lines(part.new))]


def test_a_split_hunk_has_the_line_numbers_of_both_versions() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 31))
    new = old.replace("line 1\n", "line 1\nadded\n").replace("line 20\n", "20\n").replace("line 23\n", "23\n")
    hunks = file_hunks(old.encode(), new.encode()) or []
    assert [part.lines[0][1] for part in split_hunk(hunks[1])] == ["@@ -17,5 +18,5 @@", "@@ -22,5 +23,5 @@"]


def test_edited_hunks_are_made_and_reported_as_edited(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(OLD)
    plan, previews = previewed(tmp_path, write("a", NEW))
    first, second, third = previews[0].hunks
    edited = first.with_text(first.new.replace(b"three\n", b"3\nand more\n"))
    assert edited.lines[0][1] == first.lines[0][1].replace(",6 @@", ",7 @@")
    report = execute(select(plan, {0: (edited, second, third)}), tmp_path)
    assert (tmp_path / "a").read_text() == NEW.replace("three\n", "3\nand more\n")
    assert report.text().endswith(" bytes, edited by the user)\n")
    assert report.text(for_llm=True).endswith("read the files before you change them again.\n")


def test_operations_that_depend_on_others_left_out_are_warned_about(tmp_path: Path) -> None:
    document = (
        "<---TASKS--->\n"
        + write("src/a", "one")
        + search("./src\\a", "one", "two")
        + "<---RUN--->\nmake\n<---END--->\n<---END--->\n"
        + write("src/a", "x")
        + write("src/b", "x")
    )
    plan, previews = previewed(tmp_path, document)
    labels = [each.task.label for each in previews]
    assert warnings(plan, labels) == []
    assert warnings(select(plan, {1: None, 2: None, 3: None, 4: None}), labels) == [
        "src/a: tasks 1.2, 2 without task 1.1",
        "task 1.3 is a command that runs without task 1.1 of its block",
    ]
    atomic = plan.replace(blocks=(plan.blocks[0].replace(atomic=True), *plan.blocks[1:]))
    assert warnings(select(atomic, {0: None}), labels) == ["an atomic block runs without tasks 1.2, 1.3"]


def test_a_directory_that_is_not_moved_is_told_and_other_edits_of_a_file_are_not() -> None:
    tasks = [
        {"action": "move", "from": "old", "to": "new"},
        *({"action": "edit", "path": "new/a", "search": str(number), "replace": ""} for number in range(9)),
    ]
    plan = clada.parse(json.dumps({"tasks": tasks}))
    labels = [f"1.{number}" for number in range(1, 11)]
    assert warnings(select(plan, dict.fromkeys(range(1, 10))), labels) == [
        "new: tasks 1.2, 1.3, 1.4, 1.5, 1.6, … without task 1.1"
    ]
    assert warnings(select(plan, dict.fromkeys((0, 1, 3))), labels) == []


def test_invalid_operations_are_neither_chosen_nor_left_out(tmp_path: Path) -> None:
    plan = clada.parse("<---WRITE--->\nx\n<---END--->\n" + write("a", "x"))
    report = execute(select(plan, {}), tmp_path)
    assert not report.ok
    assert "Missing required attribute 'file'" in report.text()
    assert "[task-2] SKIP: WRITE - not chosen" in report.text()


def test_resume_carries_out_nothing_that_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text(OLD)
    document = (
        "<---TASKS--->\n"
        + search("missing", "x", "y")
        + write("a", NEW)
        + write("b", "x")
        + write("c", "x")
        + "<---END--->\n"
    )
    _plan, previews = previewed(root, document.replace(search("missing", "x", "y"), write("missing", "y")))
    hunks = previews[1].hunks[:1]
    report = clada.execute(
        select(clada.parse(document), {0: None, 1: hunks, 3: None}), workspace=root, record="snapshots"
    )
    assert not report.ok
    (root / "missing").write_text("x")
    assert resume(root, record="snapshots").text() == (
        "[task-1.1] SUCCESS: SEARCH - missing (1 replacement at line 1)\n"
        "[task-1.2] SKIP: WRITE - not all of it was chosen in run 1 (a)\n"
        "[task-1.3] SKIP: WRITE - not all of it was chosen in run 1 (b)\n"
        "[task-1.4] SUCCESS: WRITE - c (created, 2 bytes)\n"
    )
