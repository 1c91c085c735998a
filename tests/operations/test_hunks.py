"""edit with hunks: what becomes of a file, what is said of it, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clada
from clada.errors import CladaError
from clada.model import Change, Done, Failed
from clada.operations.edit import Edit, Hunk
from clada.operations.hunks import replace_hunks
from clada.settings import Settings
from clada.text.match import Text
from clada.world.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Attempt, Place

    from clada.errors import Error
    from clada.world.files.tree import Files

CODE = "def f():\n    one\n    two\n\ndef g():\n    one\n    two\n"


class Editing:
    """Edits a file in a workspace, as documents that are read from dialects do."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def __call__(self, content: str | bytes, *hunks: Hunk, **fields: Any) -> clada.Report:
        """Execute an edit of the file with this content."""
        self.file = self.place.write("a.py", content)
        options = fields.pop("options", {})
        how = {"match": "blanks", "whole_lines": True, **fields}
        plan = clada.Plan("json", (clada.Block(1, None, True, (Edit(1, (0, 0), {}, "a.py", hunks, **how),)),))
        return clada.execute(plan, workspace=self.place.inside, git=False, **options)

    def content(self, content: str | bytes, *hunks: Hunk, **fields: Any) -> bytes:
        """Return the content of the file after an edit that must succeed."""
        report = self(content, *hunks, **fields)
        assert report.ok, report.text()
        return self.file.read_bytes()

    def line(self, content: str | bytes, *hunks: Hunk, **fields: Any) -> str:
        """Return the status line, without what comes before the details."""
        report = self(content, *hunks, **fields)
        return report.text().partition(" - ")[2].rstrip("\n")

    def error(self, content: str | bytes, *hunks: Hunk, **fields: Any) -> Error:
        """Return the error of an edit that must fail, and leave the file as it was."""
        report = self(content, *hunks, **fields)
        error = report.tasks[0].error
        assert error
        assert self.file.read_bytes() == (content.encode() if isinstance(content, str) else content)
        return error


@pytest.fixture
def editing(place: Place) -> Editing:
    """Return what edits a file."""
    return Editing(place)


# What is said.


def test_a_tier_above_exact_is_said(editing: Editing) -> None:
    """In the status line, and in the JSON summary."""
    shifted = Hunk("one\ntwo\n", "one\n2\n")
    text = "if x:\n    one\n    two\n"
    assert editing.line(text, shifted) == "a.py (1 replacement at line 2, matched but for indentation)"
    task = editing(text, shifted).to_dict()["blocks"][0]["tasks"][0]
    assert task["remarks"] == ["matched but for indentation"]
    exact = editing(text, Hunk("    one\n", "    1\n")).to_dict()["blocks"][0]["tasks"][0]
    assert exact["remarks"] == []


def test_what_is_forgiven_in_several_hunks_is_said_once(editing: Editing) -> None:
    """And so is that they are out of order."""
    hunks = Hunk("c\n", "C\n"), Hunk("  b\n", "  B\n"), Hunk("d\n", "D\n")
    assert editing.line("a\nb\nc \n  d\n", *hunks) == (
        "a.py (3 replacements at lines 2, 3, 4, "
        "matched but for trailing blanks and indentation, out of order)"
    )


def test_sentences_say_it_too(editing: Editing) -> None:
    """CML's way of reporting."""
    report = editing("  a\n", Hunk("a\n", "b\n")).replace(notation="cml")
    assert report.text() == "[task-1] Success: edited a.py (1 replacement, matched but for indentation)\n"


def test_a_replacement_that_is_the_search_text_leaves_the_file(editing: Editing) -> None:
    """That is a success, and said; but the text must be there."""
    assert editing.line("a\nb\n", Hunk("b\n", "b\n")) == "a.py (unchanged)"
    assert editing("a\nb\n", Hunk("b\n", "b\n")).tasks[0].outcome.changes == ()  # type: ignore[union-attr]
    assert editing.error("a\nb\n", Hunk("c\n", "c\n")).found == 0


def test_the_dialect_of_an_operation_is_in_plan_and_summary(editing: Editing) -> None:
    """That of a notation of our own is not there."""
    edit = Edit(1, (0, 0), {}, "a.py", (Hunk("a", "b"),), dialect="sr")
    plan = clada.Plan("json", (clada.Block(1, None, True, (edit,)),))
    assert plan.to_dict()["blocks"][0]["operations"][0]["dialect"] == "sr"
    assert (
        "dialect"
        not in clada.Plan("json", (clada.Block(1, None, True, (edit.replace(dialect=""),)),)).to_dict()[
            "blocks"
        ][0]["operations"][0]
    )
    report = editing("a\n", Hunk("a", "b"), dialect="udiff").to_dict()
    assert report["blocks"][0]["tasks"][0]["dialect"] == "udiff"
    assert editing("a\n", Hunk("a", "b")).to_dict()["blocks"][0]["tasks"][0]["dialect"] is None


# Failures.


def test_a_failed_hunk_is_named_by_its_place(editing: Editing) -> None:
    """Its number, and the line of the document, where that is known."""
    error = editing.error(CODE, Hunk("def f():", "def e():"), Hunk("    tow", "    2", line=17))
    assert error.message == "hunk 2 of 2 (line 17): found 0 matches, expected 1"
    assert (error.type, error.found, error.expected) == ("match_count_mismatch", 0, 1)


def test_the_nearest_place_is_that_of_the_hunk(editing: Editing) -> None:
    """As for any search text."""
    error = editing.error(CODE, Hunk("def f():", "def e():"), Hunk("def g():\n    one\n    three\n", "x"))
    assert error.nearest
    assert (error.nearest.first_line, error.nearest.wanted) == (5, "    three")
    assert error.hint == "closest is lines 5-6: `three` is not there, before line 7"


def test_the_first_line_of_a_file_is_a_place_like_any_other(editing: Editing) -> None:
    """Though no line break is before it."""
    copied = Hunk("def f():\\n    one\n", "x\n")
    error = editing.error(CODE, copied)
    assert error.hint == "it would match at lines 1-2 with line breaks in place of \\n"
    assert error.nearest
    assert (error.nearest.first_line, error.nearest.last_line) == (1, 2)


def test_lines_that_are_not_at_the_end_are_told_by_their_place(editing: Editing) -> None:
    """They are there, but not where they should be."""
    error = editing.error(CODE, Hunk("def f():\n", "x\n", at_end=True))
    assert error.hint == "it is at line 1, and not at the end of the file"


def test_all_failed_hunks_are_named(editing: Editing) -> None:
    """Whoever corrects one can correct all."""
    error = editing.error(CODE, Hunk("x y z", ""), Hunk("def f():", "def e():"), Hunk("q r s", "", line=9))
    assert error.message == "hunk 1 of 3: found 0 matches, expected 1"
    assert error.hint == "nothing like it is in the file; so with hunk 3"
    assert error.details
    assert "hunk 3 of 3 (line 9): found 0 matches, expected 1" in error.details


def test_several_places_are_told(editing: Editing) -> None:
    """With their lines, and with what they have in common if it is not everything."""
    error = editing.error(CODE, Hunk("    one", "    1"))
    assert (error.message, error.lines) == ("found 2 matches, expected 1", (2, 6))
    error = editing.error(CODE, Hunk("one", "1"))
    assert (error.found, error.lines, error.hint) == (2, (2, 6), "they match but for indentation")


def test_a_hunk_that_is_already_applied_is_told(editing: Editing) -> None:
    """The file may be as wanted."""
    error = editing.error(
        "def f():\n    return 2\n", Hunk("def f():\n    return 1\n", "def f():\n    return 2\n")
    )
    assert error.hint
    assert "the replacement is already there at line 1" in error.hint


def test_an_anchor_that_is_not_there_is_told(editing: Editing) -> None:
    """By its text."""
    error = editing.error(CODE, Hunk("    one", "    1", anchors=("class A:",)))
    assert error.hint == "its anchor `class A:` is not there"


def test_an_insertion_without_a_place_is_an_invalid_operation(editing: Editing) -> None:
    """It says what would help."""
    error = editing.error("a\nb\n", Hunk("", "c\n"))
    assert (error.type, error.message) == (
        "invalid_operation",
        "an insertion needs a line of the file before or after it",
    )
    error = editing.error("a\nb\n", Hunk("a", "A"), Hunk("", "c\n", after_line=7))
    assert error.message == "hunk 2 of 2: there is no line 7: the last one is 2"


def test_hunks_that_change_the_same_lines_are_refused(editing: Editing) -> None:
    """Together they would mean nothing."""
    error = editing.error("a\nb\nc\n", Hunk("a\nb", "x"), Hunk("b\nc", "y"))
    assert (error.type, error.message) == ("invalid_operation", "hunks 1 and 2 change the same lines")


def test_a_range_stands_alone(editing: Editing) -> None:
    """It is not a thing of lines."""
    error = editing.error("a\nb\nc\n", Hunk("a", "x", search_end="b"), Hunk("c", "y"))
    assert error.message == "a range, with a start and an end text, stands alone"


def test_one_hunk_that_fails_leaves_the_file(editing: Editing) -> None:
    """All or none."""
    editing.error("a\nb\nc\n", Hunk("a", "A"), Hunk("x", "X"), Hunk("c", "C"))


def test_an_example_path_is_no_file(place: Place) -> None:
    """Unless there is such a file."""
    edit = Edit(1, (0, 0), {}, "path/to/file.py", (Hunk("a", "b"),), placeholder=True)
    plan = clada.Plan("json", (clada.Block(1, None, True, (edit,)),))
    error = clada.execute(plan, workspace=place.inside, git=False).tasks[0].error
    assert error
    assert (error.type, error.message) == ("invalid_operation", "path/to/file.py is an example, not a file")
    place.write("path/to/file.py", "a")
    assert clada.execute(plan, workspace=place.inside, git=False).ok


# Line endings, and the end of the file.


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_line_endings_of_the_file_are_kept(editing: Editing, ending: str) -> None:
    """In what is inserted, too."""
    text = "a\nb  \nc\n".replace("\n", ending)
    new = editing.content(text, Hunk("b\n", "B\nBB\n"), Hunk("", "d\n", at_end=True))
    assert new == b"a\nB\nBB\nc\nd\n".replace(b"\n", ending.encode())


def test_mixed_line_endings_stay_mixed(editing: Editing) -> None:
    """Lines that are not changed keep theirs; new ones get that in use there."""
    text = b"a\r\nb\nc\r\nd\ne\r\n"
    hunk = Hunk("a\nb\nc\nd\ne\n", "a\nB\nc\nD\nDD\ne\n")
    assert editing.content(text, hunk) == b"a\r\nB\nc\r\nD\nDD\ne\r\n"


def test_a_file_that_does_not_end_in_a_line_break_still_does_not(editing: Editing) -> None:
    """However its last line was changed."""
    assert editing.content("a\nb", Hunk("b\n", "c\n")) == b"a\nc"
    assert editing.content("a\nb", Hunk("b\n", "")) == b"a"
    assert editing.content("a\nb", Hunk("a\n", "x\n")) == b"x\nb"
    assert editing.content("a\r\nb", Hunk("", "c\n", at_end=True)) == b"a\r\nb\r\nc"
    assert editing.content("b", Hunk("b", "c")) == b"c"


def test_the_line_break_at_the_end_can_be_asked_for(editing: Editing) -> None:
    """Or be taken away."""
    assert editing.content("a\nb", Hunk("a", "x"), final_newline=True) == b"x\nb\n"
    assert editing.content("a\r\nb", Hunk("b", "c"), final_newline=True) == b"a\r\nc\r\n"
    assert editing.content("a\r\nb\r\n", Hunk("b", "c"), final_newline=False) == b"a\r\nc"
    assert editing.content("a\n", Hunk("a", ""), final_newline=True) == b""


def test_a_bom_is_no_part_of_the_edit(editing: Editing) -> None:
    """It stays where it is."""
    assert editing.content(b"\xef\xbb\xbfa\nb\n", Hunk("b", "c")) == b"\xef\xbb\xbfa\nc\n"


# Ways of matching.


def test_the_setting_decides_over_the_document(editing: Editing) -> None:
    """Either way."""
    text = "if x:\n    one\n    two\n"
    within = Hunk("one\ntwo", "one\n2")
    assert editing.error(text, within, match="exact", whole_lines=False).found == 0
    blanks = {"match": "blanks"}
    assert editing.content(text, within, match="exact", whole_lines=False, options=blanks) == (
        b"if x:\n    one\n    2\n"
    )
    assert editing.error(text, within, options={"match": "exact"}).found == 0


def test_native_notations_are_exact_unless_they_say_otherwise(place: Place) -> None:
    """On the command line, too."""
    place.write("a.py", "if x:\n    one\n    two\n")
    csl = '<---SEARCH file="a.py"{}--->\none\ntwo\n<---REPLACE--->\none\n2\n<---END--->\n'
    assert place.clada(csl.format("")).returncode == 1
    assert place.clada(csl.format(' match="blanks"'), "--match=exact").returncode == 1
    assert place.clada(csl.format(""), "--match=fuzzy").returncode == 2
    done = place.clada(csl.format(""), "--match=blanks")
    assert done.stdout == (
        b"[task-1] SUCCESS: SEARCH - a.py (1 replacement at line 2, matched but for indentation)\n"
    )


def test_a_text_within_a_line_has_no_further_tier(editing: Editing) -> None:
    """Only where it has a line break is it more than a part of a line."""
    assert editing.error("a  b\n", Hunk("a b", "x"), whole_lines=False).found == 0
    assert editing.error("  a b\n", Hunk(" a  b", "x"), whole_lines=False).found == 0


def test_a_text_of_several_lines_is_found_as_such(editing: Editing) -> None:
    """It keeps its line break, or the lack of one."""
    text = "x\n  a\n  b\ny\n"
    assert editing.content(text, Hunk("a\nb\n", "a\nc\n"), whole_lines=False) == b"x\n  a\n  c\ny\n"
    assert editing.content(text, Hunk("a\nb", "a\nc"), whole_lines=False) == b"x\n  a\n  c\ny\n"
    assert editing.content(text, Hunk("a\nb\n", ""), whole_lines=False) == b"x\ny\n"
    assert editing.error(text, Hunk("a\nb\n", "c"), whole_lines=False).found == 0  # it would join two lines


def test_several_texts_within_lines_are_replaced_together(editing: Editing) -> None:
    """Located in order in the same text, so that none sees what another made."""
    hunks = Hunk("a", "b"), Hunk("b", "c")
    assert editing.content("a = b\n", *hunks, whole_lines=False, match="exact") == b"b = c\n"


def test_near_chooses_a_text_within_lines_too(editing: Editing) -> None:
    """If one match, and only one, is there."""
    text = "x = 1\ny = 1\nz = 1 + 1\n"
    assert editing.content(text, Hunk("1", "2", near=2), whole_lines=False, match="exact") == (
        b"x = 1\ny = 2\nz = 1 + 1\n"
    )
    assert editing.error(text, Hunk("1", "2", near=3), whole_lines=False, match="exact").found == 4
    assert editing.error(text, Hunk("1", "2", near=9), whole_lines=False, match="exact").found == 4


@pytest.mark.parametrize(("count", "content"), [(2, b"x\nb\nx\n"), ("all", b"x\nb\nx\n")])
def test_whole_lines_can_be_counted(editing: Editing, count: int | str, content: bytes) -> None:
    """As texts can."""
    assert editing.content("a\nb\na\n", Hunk("a", "x"), count=count) == content
    assert editing.error("a\nb\nab\n", Hunk("b", "x"), count=3).message == "found 1 match, expected 3"
    assert (
        editing.error("ab\n", Hunk("b", "x"), count="all").message == "found 0 matches, expected at least 1"
    )


# Dry runs, edits in a row.


def test_both_kinds_of_files_are_edited_alike(files: Files, place: Place, attempt: Attempt) -> None:
    """And what was changed is told."""
    place.write("a.py", CODE)
    hunks = [{"search": "def g():", "replace": "def h():"}, {"search": "    one", "replace": "    1"}]
    outcome = attempt(files, "edit", path="a.py", hunks=hunks, whole_lines=True)
    assert isinstance(outcome, Done)
    assert (outcome.count, outcome.lines, outcome.changes) == (2, (5, 6), (Change("a.py", "edited"),))
    assert files.load(("a.py",)) == CODE[:26].encode() + b"def h():\n    1\n    two\n"


def test_edits_in_a_row_see_each_other(files: Files, place: Place) -> None:
    """Though the file is written once."""
    place.write("a.py", "a\nb\n")
    world = World(files, Settings(), lambda _event: None)
    for old, new in (("a", "b\nc"), ("c", "d"), ("d\nb", "e")):
        Edit(1, (0, 0), {}, "a.py", (Hunk(old, new),), match="blanks", whole_lines=True).apply(world)
    files.flush()
    assert files.load(("a.py",)) == b"b\ne\n"


# Plans.

PLANNED = [
    {"action": "edit", "path": "a", "search": "x", "replace": "y", "count": 1, "near": 3},
    {"action": "edit", "path": "a", "search": "x", "replace": "y", "count": 1, "match": "blanks"},
    {"action": "edit", "path": "a", "search": "x", "replace": "y", "count": 1, "whole_lines": True},
    {"action": "edit", "path": "a", "insert_line": 0, "content": "x\n"},
    {"action": "edit", "path": "a", "hunks": [{"search": "x", "replace": "y", "line": 1}]},
    {"action": "edit", "path": "a", "insert_line": 3, "content": "x\n", "final_newline": True},
    {
        "action": "edit",
        "path": "a",
        "hunks": [
            {"search": "x", "replace": "", "anchors": ["a", "b"], "near": 7, "at_end": True, "line": 1},
            {"replace": "z", "insert_line": 4, "line": 1},
            {"replace": "z", "at_end": True, "line": 1},
        ],
        "match": "typographic",
    },
    {"action": "write", "path": "a", "content": "", "append": False, "if_exists": "guard"},
]  # fmt: skip


@pytest.mark.parametrize("task", PLANNED)
def test_a_plan_shows_what_a_document_says(task: dict[str, Any]) -> None:
    """By the same names; so what a plan shows can be read again."""
    plan = clada.parse(json.dumps({"tasks": [task]}))
    assert plan.ok, plan.problems
    shown = plan.to_dict()["blocks"][0]["operations"][0]
    assert {**shown, "action": shown["operation"]} == {**task, "operation": task["action"], "line": 1}


def test_a_plan_without_any_of_it_is_what_it_was() -> None:
    """Nothing is shown that was not said."""
    task = {"action": "edit", "path": "a", "search": "x", "replace": "y"}
    shown = clada.parse(json.dumps({"tasks": [task]})).to_dict()["blocks"][0]["operations"][0]
    assert list(shown) == ["operation", "line", "path", "count", "search", "replace"]


# What always holds.

texts = st.lists(st.sampled_from("ab\n"), max_size=12).map("".join)


@given(texts, st.lists(st.sampled_from("ab\n"), min_size=1, max_size=3).map("".join), texts)
def test_exact_is_what_str_replace_does(text: str, search: str, new: str) -> None:
    """Of a text that is there once; of any other, nothing is replaced."""
    edit = Edit(1, (0, 0), {}, "f", (Hunk(search, new),))
    try:
        edited, *_ = replace_hunks(edit, Text(text.encode()), "exact")
    except CladaError:
        assert text.count(search) != 1
    else:
        assert text.count(search) == 1
        assert edited.data.decode() == text.replace(search, new)


@given(
    st.lists(st.sampled_from(["a", "b", " a", "", "a ", "1: a", "..."])).map("\n".join),
    st.lists(
        st.builds(
            Hunk,
            st.sampled_from(["", "a", "a\nb\n", " a\n\n", "1: a\n2: b", "a\n...\nb", "```\na\n```"]),
            st.sampled_from(["", "x\n", "a\nx", "\n", "x\n...\ny"]),
            anchors=st.sampled_from([(), ("a",), ("a", "b")]),
            near=st.sampled_from([None, 1, 2]),
            at_end=st.booleans(),
            after_line=st.sampled_from([None, 0, 3]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["exact", "blanks", "typographic"]),
    st.booleans(),
)
def test_nothing_is_too_strange(text: str, hunks: list[Hunk], way: str, whole_lines: bool) -> None:
    """It is edited, or refused."""
    edit = Edit(1, (0, 0), {}, "f", tuple(hunks), whole_lines=whole_lines)
    for ending in ("\n", "\r\n", "\r"):
        data = text.replace("\n", ending).encode()
        with suppress(CladaError):
            edited, count, *_ = replace_hunks(edit, Text(data), way)
            assert count == len(hunks)
            edited.data.decode()


def test_a_document_with_hunks_end_to_end(tmp_path: Path) -> None:
    """In JSON and in TOML."""
    (tmp_path / "a.py").write_text(CODE)
    hunks = [
        {"search": "    one", "replace": "    1", "anchors": ["def g():"]},
        {"replace": "# end", "at_end": True},
        {"replace": "# start", "insert_line": 0},
    ]
    task = {"action": "edit", "path": "a.py", "whole_lines": True, "hunks": hunks}
    report = clada.execute(json.dumps({"tasks": [task]}), workspace=tmp_path, git=False)
    assert report.text() == "[task-1.1] SUCCESS: EDIT - a.py (3 replacements at lines 1, 6, 8)\n"
    after = "# start\ndef f():\n    one\n    two\n\ndef g():\n    1\n    two\n# end\n"
    assert (tmp_path / "a.py").read_text() == after
    hunk = '[[task.hunks]]\nsearch = "# start\\n"\nreplace = ""\n'
    toml = f'[[task]]\naction = "edit"\npath = "a.py"\n{hunk}# end\n'
    assert clada.execute(toml, workspace=tmp_path, git=False).ok
    assert (tmp_path / "a.py").read_text() == after.removeprefix("# start\n")


def test_failed_is_a_value(attempt: Attempt, files: Files, place: Place) -> None:
    """A missing file is missing, hunks or not."""
    place.write("b", "")
    outcome = attempt(files, "edit", path="a", hunks=[{"search": "x", "replace": "y"}])
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "file_not_found"
