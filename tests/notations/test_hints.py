"""Hints follow the exact texts of the specification, and name what was probably meant."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import clada
from clada.text.forms import without_fence

if TYPE_CHECKING:
    from pathlib import Path

# A document of one bad marker, the exact text, and the hint behind it.
UNREADABLE = [
    ('<---EDIT file="a"--->', "Line 1: Unknown operation: EDIT", "did you mean SEARCH?"),
    ('<---write file="a"--->', "Line 1: Unknown operation: write", "did you mean WRITE?"),
    ('<---WRTE file="a"--->', "Line 1: Unknown operation: WRTE", "did you mean WRITE?"),
    ('<---CREATE file="a"--->', "Line 1: Unknown operation: CREATE", "did you mean WRITE?"),
    ("<---EXEC--->", "Line 1: Unknown operation: EXEC", "did you mean RUN?"),
    ("<---BASH--->", "Line 1: Unknown operation: BASH", "did you mean RUN?"),
    ("<---TASK--->", "Line 1: Unknown operation: TASK", "did you mean TASKS?"),
    ("<---MOVE--->", "Line 1: Unknown operation: MOVE", "did you mean RUN with the command mv?"),
    ("<---DELETE--->", "Line 1: Unknown operation: DELETE", "did you mean RUN with the command rm?"),
    ("<---Xyzzy--->", "Line 1: Unknown operation: Xyzzy", None),
    (
        '<---WRITE\u00a0file="a"--->',
        'Line 1: Unknown operation: WRITE\u00a0file="a"',
        "there is a no-break space in it (U+00A0): write a plain one",
    ),
    (
        '<---WRITE file="a"\u2003append="true"--->',
        "Line 1: Invalid attribute syntax",
        "there is an unusual blank in it (U+2003): write a plain one",
    ),
    ("prose\n<---END--\n<---RUN--->", "Line 2: Malformed marker", "write <---END--->"),
    ("<---WRITE--->x", "Line 1: Content not allowed on marker line", None),
]
NEAR_ENDS = [
    "<---END---->", "  <---END--->", "\t<---END--->", "<--END-->", "<----END--->", "<---End--->",
    "<---end--->", "<--- END --->", "<---/WRITE--->", "<---/END--->", "&lt;---END---&gt;",
    "<\u2014END\u2014>", "\u00a0<---END--->", "<---END---", "<---END--", "<---EOF--->", "<---DONE--->",
]  # fmt: skip
NO_ENDS = [
    "END",
    "the END.",
    "end",
    "  end",
    "<b>the end</b>",
    "x <---END--->",
    "<---ENDING--->",
    "<---BEGIN--->",
]


def sentence(document: str, **options: object) -> tuple[str, str | None]:
    """Carry out a document that cannot be read, and return the message and its hint."""
    report = clada.execute(document, git=False, **options)  # type: ignore[arg-type]
    assert report.fatal
    return report.fatal.message, report.fatal.hint


@pytest.mark.parametrize(("document", "message", "hint"), UNREADABLE)
def test_a_hint_stands_behind_the_exact_text(document: str, message: str, hint: str | None) -> None:
    """Never instead: a plan has the exact text alone."""
    assert sentence(f"{document}\nx\n<---END--->\n") == (message, hint)
    fatal = clada.parse(f"{document}\nx\n<---END--->\n").fatal
    assert fatal
    assert fatal.message == message


@pytest.mark.parametrize("line", NEAR_ENDS)
def test_a_line_that_is_nearly_an_end_marker_is_named(line: str) -> None:
    """It is content, as the specification says, and the operation has no end."""
    message, hint = sentence(f'prose\n<---WRITE file="a"--->\nx\n{line}\nmore\n')
    assert message == "Line 2: Unterminated WRITE operation; 0 complete operations came before it"
    assert hint == "line 4 is nearly an END: write <---END---> alone, at the start of the line"


@pytest.mark.parametrize("line", NO_ENDS)
def test_a_line_unlike_an_end_marker_is_not_named(line: str) -> None:
    """A wrong pointer is worse than none."""
    assert sentence(f'<---WRITE file="a"--->\nx\n{line}\nmore\n')[1] is None


def test_an_end_that_closed_something_else_is_not_pointed_at() -> None:
    """It is the block that has none."""
    message, hint = sentence('<---TASKS--->\n<---WRITE file="a"--->\nx\n<---END--->\nmore\n')
    assert (message.partition(";")[0], hint) == ("Line 1: Unterminated TASKS operation", None)


@pytest.mark.parametrize("line", ["<---REPLACE---->", "  <---REPLACE--->", "<---WITH--->", "<---replace--->"])
def test_a_line_that_is_nearly_a_replace_marker_is_named(line: str) -> None:
    """It would have been the pattern."""
    message, hint = sentence(f'<---SEARCH file="a"--->\nx\n{line}\ny\n<---END--->\n')
    assert message == "Line 5: SEARCH requires a REPLACE marker before END"
    assert hint == "line 3 is nearly a REPLACE: write <---REPLACE---> alone, at the start of the line"


def test_hints_know_other_delimiters() -> None:
    """And name them."""
    how = {"start_delimiter": "[[", "end_delimiter": "]]", "format": "csl"}
    assert sentence('[[WRITE file="a"]]\nx\n [[END]]\n', **how)[1] == (
        "line 3 is nearly an END: write [[END]] alone, at the start of the line"
    )


@pytest.mark.slow
def test_a_hint_costs_no_more_than_reading() -> None:
    """However many words look like an END, and however long the lines are."""
    for text in ("END " * 400_000, "END\n" * 400_000, "<END\n" * 1 + "x</END" * 300_000):
        before = time.perf_counter()
        clada.execute(f'<---WRITE file="a"--->\n{text}', git=False)
        assert time.perf_counter() - before < 20


INCOMPLETE = [
    ('<---WRITE path="a"--->\nx\n<---END--->', "Missing required attribute 'file'",
     "write file= instead of path="),
    ('<---WRITE filename="a"--->\nx\n<---END--->', "Missing required attribute 'file'",
     "write file= instead of filename="),
    ("<---WRITE--->\nx\n<---END--->", "Missing required attribute 'file'", None),
    ('<---WRITE file=""--->\nx\n<---END--->', "Missing required attribute 'file'", None),
    ('<write file="a">x</write>', "Missing required attribute 'path'", "write path= instead of file="),
    ('{"tasks": [{"action": "write", "file": "a", "content": "x"}]}', "Line 1: Missing required field 'path'",
     "write path instead of file"),
    ('{"tasks": [{"action": "create", "path": "a"}]}', "Line 1: Unknown action: create",
     "did you mean write?"),
    ('{"tasks": [{"action": "delete", "path": "a"}]}', "Line 1: Unknown action: delete",
     "did you mean remove?"),
    ('{"tasks": [{"action": "str_replace", "path": "a"}]}', "Line 1: Unknown action: str_replace",
     "did you mean edit?"),
    ('{"tasks": [{"action": "frobnicate", "path": "a"}]}', "Line 1: Unknown action: frobnicate", None),
    ('{"tasks": [{"action": "edit", "path": "a", "old_string": "x", "replace": "y"}]}',
     "Line 1: Missing required field 'search'", "write search instead of old_string"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "message", "hint"), INCOMPLETE)
def test_an_attribute_by_another_name_is_pointed_at(
    document: str, message: str, hint: str | None, tmp_path: Path
) -> None:
    """Behind the exact text, in the status line too."""
    report = clada.execute(document, git=False, workspace=tmp_path)
    error = report.tasks[0].error
    assert error
    assert (error.message.partition("; ")[0], error.hint) == (message, hint)
    if hint:
        assert f"{message}" in report.text()
        assert hint in report.text()


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("encodin.py", "did you mean encoding.py?"),
        ("Encoding.py", "did you mean encoding.py?"),
        ("scr/app.py", "did you mean src/app.py?"),
        ("src/ap.py", "did you mean src/app.py?"),
        ("src/zzz.txt", None),
        ("deep/er/app.py", "did you mean src/app.py?"),
        ("two.py", None),
        ("clad/config.toml", None),
        ("gi/config", None),
        ("../encodin.py", None),
    ],
)
def test_a_file_that_is_there_is_pointed_at(path: str, hint: str | None, tmp_path: Path) -> None:
    """And nothing outside, or in protected folders."""
    workspace = tmp_path / "workspace"
    for name in ("encoding.py", "src/app.py", ".clada/config.toml", ".git/config", "../encoding.py"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("x")
    document = f'<edit path="{path}"><search>a</search><replace>b</replace></edit><remove path="{path}"/>'
    for line in document.replace("><remove", ">\n<remove").split("\n"):
        report = clada.execute(line, git=False, workspace=workspace)
        error = report.tasks[0].error
        assert error
        if error.type == "file_not_found":
            assert error.hint == hint
        else:
            assert (error.type, hint) == ("path_escape", None)


WRAPPED = [
    ("```\nx\n```", "x"),
    ("```python\nx = 1\n```", "x = 1"),
    ("```python\nx = 1\n```\n", "x = 1\n"),
    ("~~~\nx\n~~~", "x"),
    ("````md\nSee:\n```\nx\n```\n````", "See:\n```\nx\n```"),
    ("```\n```", ""),
    ("```js title=x\na\n\nb\n```  \n\n", "a\n\nb\n\n"),
    ("x\n```\ny\n```", None),
    ("```\nx\n```\ny", None),
    ("```\nx\n```\n```\ny\n```", None),
    ("```\nx", None),
    ("```x```", None),
    ("``\nx\n``", None),
    ("", None),
    (" ```\nx\n```", None),
]


@pytest.mark.parametrize(("content", "inner"), WRAPPED)
@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("a.py", None),
        ("a.md", None),
        ("docs/A.RST", None),
        ("a.py", True),
        ("a.md", True),
        ("a.py", False),
        ("a.md", False),
    ],
)
def test_a_fence_around_the_whole_content_is_removed_unless_it_is_markup(
    content: str, inner: str | None, name: str, setting: bool | None, tmp_path: Path
) -> None:
    """A note says so, unless the setting was given."""
    removed = name == "a.py" if setting is None else setting
    assert without_fence(content) == inner
    document = f'<write path="{name}"><![CDATA[{content}]]></write>\n'
    report = clada.execute(document, git=False, workspace=tmp_path, strip_fences=setting, syntax="off")
    assert (tmp_path / name).read_text() == (content if inner is None or not removed else inner)
    word = "removed" if removed else "kept"
    noted = setting is None and inner is not None
    assert [note.partition(" ")[0] for note in report.notes] == ([word] if noted else [])


def test_a_note_on_fences_is_one_for_all(tmp_path: Path) -> None:
    """With the first one named."""
    write = '<write path="{}.py"><![CDATA[```\nx\n```]]></write>\n'
    report = clada.execute("".join(map(write.format, "abc")), git=False, workspace=tmp_path)
    (note,) = report.notes
    assert note == (
        "removed the fence around the whole content of a.py (line 1) and 2 more; "
        "--strip-fences=never keeps it"
    )


THINKING = ["think", "thinking", "reasoning", "antThinking"]
OPERATIONS = {
    "csl": '<---WRITE file="evil"--->\nx\n<---END--->',
    "run": "<---RUN--->\ntouch evil\n<---END--->",
    "cml": '<write path="evil">x</write>',
    "json": '```json\n{"tasks": [{"action": "write", "path": "evil", "content": "x"}]}\n```',
    "toml": '```toml\n[[task]]\naction = "write"\npath = "evil"\ncontent = "x"\n```',
    "sr": "evil\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE",
    "v4a": "*** Begin Patch\n*** Add File: evil\n+x\n*** End Patch",
    "udiff": "--- /dev/null\n+++ b/evil\n@@ -0,0 +1 @@\n+x",
}


@pytest.mark.parametrize("tag", THINKING)
@pytest.mark.parametrize("kind", OPERATIONS)
def test_operations_in_reasoning_are_not_executed(tag: str, kind: str, tmp_path: Path) -> None:
    """In no notation; what stands behind it is."""
    thought = f"<{tag}>\nI could:\n{OPERATIONS[kind]}\n</{tag}>\n"
    clada.execute(thought, git=False, workspace=tmp_path)
    assert not (tmp_path / "evil").exists()
    clada.execute(f'{thought}\n<---WRITE file="good"--->\nx\n<---END--->\n', git=False, workspace=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good"]
