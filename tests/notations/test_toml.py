"""TOML: what is read from `[[task]]` and `[[tasks]]`, what is refused, and that no text is too much."""

from __future__ import annotations

import datetime as dt
import json as standard
import math
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clada.notations import json, parse, toml
from clada.notations.markdown import Fence
from clada.notations.structured import MAX_DEPTH, MalformedError
from clada.notations.toml_scan import Scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notations.conftest import Steps

    from clada.model import Invalid, Operation, Plan

MB = 1 << 20


def operations(plan: Plan) -> list[Operation | Invalid]:
    """Return all operations of a plan."""
    return [operation for block in plan.blocks for operation in block.operations]


def fatal(text: bytes) -> str:
    """Return why a text cannot be read."""
    plan = toml.read(text)
    assert plan.fatal, "expected a fatal problem"
    assert plan.fatal.type == "malformed_toml" or "version" in plan.fatal.message
    return plan.fatal.message


# What is read


def test_the_specifications_example_is_a_standalone_operation() -> None:
    """The specifications example is a standalone operation."""
    plan = parse('[[task]]\naction = "edit"\npath = "app.js"\nsearch = "old"\nreplace = "new"\n')
    (block,) = plan.blocks
    assert plan.ok
    assert plan.notation == "toml"
    assert block.implicit
    assert block.operations[0].values() == {"path": "app.js", "search": "old", "replace": "new", "count": 1}


BLOCKS = {
    "headers": """
[[tasks]]
version = "1.0"
[[tasks.task]]
action = "remove"
path = "a"
[[tasks.task]]
action = "run"
cmd = "make"
[[tasks]]
[[tasks.task]]
action = "remove"
path = "b"
""",
    "inline tasks": """
[[tasks]]
version = "1.0"
task = [
  {action = "remove", path = "a"}, # the first
  {action = "run", cmd = "make"},
]
[[tasks]]
task = [{action = "remove", path = "b"}]
""",
    "inline blocks, for which a fence needs a sign": """
```toml
tasks = [
  {version = "1.0", task = [{action = "remove", path = "a"}, {action = "run", cmd = "make"}]},
  {task = [{action = "remove", path = "b"}]},
]
note = '''
[[tasks]]
'''
```
""",
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_written_with_headers_or_inline(name: str) -> None:
    """Blocks are written with headers or inline."""
    plan = parse(BLOCKS[name])
    assert plan.ok
    assert [
        (block.version, block.implicit, [operation.values() for operation in block.operations])
        for block in plan.blocks
    ] == [
        ("1.0", False, [{"path": "a"}, {"command": "make"}]),
        (None, False, [{"path": "b"}]),
    ]


def test_the_version_of_a_whole_text_is_that_of_its_blocks() -> None:
    """The version of a whole text is that of its blocks."""
    plan = parse('```toml\nversion = "1.0"\n[[tasks]]\n[[tasks]]\nversion = "1.1"\n```')
    assert [block.version for block in plan.blocks] == ["1.0", "1.1"]


def test_operations_know_their_line_and_their_source() -> None:
    """Operations know their line and their source."""
    text = (
        b'Hi\n[[task]]\naction = "remove"\npath = "a" # a\n\n[task.more]\nx = 1\n\n[[task]] # b\naction = "x"'
    )
    plan = toml.read(text)
    assert [operation.line for operation in operations(plan)] == [2, 9]
    assert [text[slice(*operation.span)] for operation in operations(plan)] == [
        b'[[task]]\naction = "remove"\npath = "a" # a\n\n[task.more]\nx = 1',
        b'[[task]] # b\naction = "x"',
    ]


def test_inline_operations_know_their_line_and_their_source() -> None:
    """Inline operations know their line and their source."""
    text = b'[[tasks]]\ntask = [ {action = "remove", path = "a"},\n {action="x"} ]'
    plan = toml.read(text)
    assert [operation.line for operation in operations(plan)] == [2, 3]
    assert [text[slice(*operation.span)] for operation in operations(plan)] == [
        b'{action = "remove", path = "a"}',
        b'{action="x"}',
    ]


STRINGS = {
    '"a"': "a",
    '""': "",
    "''": "",
    '"""a"""': "a",
    '"""\na\n"""': "a\n",
    '"""\n\na"""': "\na",
    "'''\n\n'''": "\n",
    r'"\b\t\n\f\r\"\\\u00e9\U0001F600"': '\b\t\n\f\r"\\é😀',
    r'"\\u0041\\\u0041"': r"\u0041\A",
    r"'\u0041\'": "\\u0041\\",
    '"""a\\\n  \n  b"""': "ab",
    '"""a\\   \n  b\\\n"""': "ab",
    '"""\\\nall:\\n\\\n\\tgcc main.c\\n\\\n"""': "all:\n\tgcc main.c\n",
    '"""a""b"c"""""': 'a""b"c""',
    '"""\\""""': '"',
    "'''a''b'''''": "a''b''",
    "'''a\tb'''": "a\tb",
    '"é😀"': "é😀",
    "'''[[task]]\n# no comment\n```\n'''": "[[task]]\n# no comment\n```\n",
}


@pytest.mark.parametrize("quoted", STRINGS)
def test_strings_of_all_kinds_are_read_as_tomllib_reads_them(quoted: str) -> None:
    """Strings of all kinds are read as tomllib reads them."""
    text = f'[[task]]\naction = "write"\npath = "a"\nappend = true\ncontent = {quoted} # a comment\n'
    plan = parse(text)
    assert plan.ok
    assert operations(plan)[0].values()["content"] == STRINGS[quoted]
    assert tomllib.loads(text)["task"][0]["content"] == STRINGS[quoted]


def test_a_crlf_text_gives_the_content_of_an_lf_text() -> None:
    """A crlf text gives the content of an lf text."""
    text = "[[task]]\naction = 'write'\npath = 'a'\ncontent = '''\na\nb\n'''\n"
    assert operations(parse(text.replace("\n", "\r\n"))) == operations(parse(text))
    assert operations(parse(text.replace("\n", "\r"))) == operations(parse(text))


# Where it is found

TASK = '[[task]]\naction = "remove"\npath = "a"\n'
PLACES = {
    "bare": (TASK, 1),
    "prose before": (f"Hello it's me = you\n{TASK}", 1),
    "prose after a blank line": (f"{TASK}\nThat's all.\n", 1),
    "prose with brackets": (f"{TASK}\n[see](x) that\n\n{TASK}\n- [ ] done = yes\n", 2),
    "indented": ("  [[task]]  # a\n  action = 'remove'\n  path = 'a'\n", 1),
    "fence": (f"Hello\n```toml\n{TASK}```\nbye", 1),
    "fence, upper case": (f"~~~~TOML\n{TASK}~~~~", 1),
    "fence with more tables": (f"```toml\ntitle = 'x'\n[more]\na = 1\n{TASK}```", 1),
    "fence without a tag": (f"```\n{TASK}```\nThat = it", 1),
    "fences": (f"```toml\n{TASK}```\n```toml\nx = 1\n```\n~~~toml\n{TASK}{TASK}~~~\n", 3),
    "bare and fence": (f"{TASK}\nand\n```toml\n{TASK}```\n", 2),
    "bare, directly before a fence": (f"{TASK}```toml\n{TASK}```\n", 2),
}


@pytest.mark.parametrize("name", PLACES)
def test_operations_are_found_in_the_text_or_in_fences(name: str) -> None:
    """Operations are found in the text or in fences."""
    text, expected = PLACES[name]
    plan = parse(text)
    assert plan.notation == "toml"
    assert plan.fatal is None
    assert [operation.values() for operation in operations(plan)] == [{"path": "a"}] * expected


@pytest.mark.parametrize(
    "text", ["[task]\n", "[[taskx]]\n", "see [[task]]\n", "[[task]] x\n", "[[tasks.x]]\n"]
)
def test_other_texts_show_no_sign(text: str) -> None:
    """Other texts show no sign."""
    assert toml.sign(text.encode()) is None


def test_a_fence_ends_outside_of_strings() -> None:
    """A fence ends outside of strings."""
    text = "```toml\n[[task]]\naction='write'\npath='a'\ncontent='''\n```toml\n[[task]]\n```\n'''\n```\n[[x\n"
    plan = parse(text)
    assert plan.ok
    assert operations(plan)[0].values()["content"] == "```toml\n[[task]]\n```\n"


def test_the_indentation_of_a_fence_is_not_content() -> None:
    """The indentation of a fence is not content."""
    head = "1. ```toml\n   [[task]]\n   action='write'\n   path='a'\n"
    text = head + "   content='''\n   a\n     b\n\n   '''\n   ```\n"
    assert operations(parse(text))[0].values()["content"] == "a\n  b\n\n"
    text = '\t~~~toml\n\t[[task]]\n\taction=\'write\'\n\tpath=\'a\'\n\tcontent="""\\\n\ta\n\tb\\t"""\n\t~~~\n'
    assert operations(parse(text))[0].values()["content"] == "a\nb\t"


# What is wrong with one operation


def test_problems_of_operations_are_reported_with_their_line() -> None:
    """What is wrong with an operation is said with its line."""
    text = '[[task]]\n\nreplace = 1\n"count" = 0\naction = "edit"\n[[task]]\npath = 1979-05-27 07:32:00\n'
    plan = toml.read(text.encode())
    assert plan.fatal is None
    assert [(problem.line, problem.field, problem.message) for problem in plan.problems] == [
        (1, "path", "Missing required field 'path'"),
        (4, "count", "Invalid value for 'count': must be positive integer or 'all'"),
        (1, "search", "Missing required field 'search'"),
        (3, "replace", "Invalid value for 'replace': must be a string"),
        (6, "action", "Missing required field 'action'"),
    ]
    assert {problem.block_line for problem in plan.problems} == {None}


def test_a_problem_in_a_block_names_the_line_of_the_block_too() -> None:
    """A problem in a block names the line of the block too."""
    plan = toml.read(
        b"[[tasks]]\n[[tasks.task]]\naction = 'remove'\npath = ''\n[[tasks]]\ntask = [3,\n{action='x'}]"
    )
    assert [(problem.block_line, problem.line, problem.message) for problem in plan.problems] == [
        (1, 4, "Missing required field 'path'"),
        (5, 6, "Invalid task: must be an object with an 'action'"),
        (5, 6, "Unknown action: x"),
    ]


# What stops the reading

FATAL = {
    "[[task]]\na = 1\na = 2": "Line 3, column 1: Duplicate key 'a'",
    '[[task]]\na = 1\n"\\u0061" = 2': "Line 3, column 1: Duplicate key 'a'",
    "[[tasks]]\ntask = [{a = 1,\na = 2}]": "Line 3, column 1: Duplicate key 'a'",
    "[[task]]\na = 1 2": "Line 2, column 7: Expected a line break",
    "[[task]]\na = 1 = 2": "Line 2, column 7: Expected a line break",
    "[[task]]\na =\nb = 1": "Line 2, column 4: Invalid value",
    "[[task]]\na = [1\nb = 2]": "Line 3, column 1: Expected ',' or ']'",
    "[[task]]\na = {b = 1 c = 2}": "Line 2, column 12: Expected ',' or '}'",
    "[[task]]\na = {b = 1, c}": "Line 2, column 13: Expected ',' or '}'",
    "[[task]]\na = [=]": "Line 2, column 6: Expected a value",
    "[[task]]\npath: 'a'": "Line 2, column 1: Expected 'key = value' or a [table]",
    "[[task]]\na = 1\nThat is all.": "Line 3, column 1: Expected 'key = value' or a [table]",
    "```toml\n[[task]]\n\nThat is all.\n```": "Line 4, column 1: Expected 'key = value' or a [table]",
    "[[task]]\n[a]]": "Line 2, column 1: Expected 'key = value' or a [table]",
    '[[task]]\na = "x\nb = 1': "Line 2, column 5: Unterminated string",
    "[[task]]\na = 'x\nb = 1": "Line 2, column 5: Unterminated string",
    '[[task]]\na = """\nb\\d"""': (
        r"Line 3, column 2: Invalid escape in a string: write \\ for a backslash, or use single quotes"
    ),
    '[[task]]\na = "\x01"': (
        r"Line 2, column 6: Control character in a string: write \u0001 in double quotes"
    ),
    "[[task]]\na = '''x\n\x7f'''": (
        r"Line 3, column 1: Control character in a string: write \u007f in double quotes"
    ),
    '[[task]]\na = "é\\ud800"': r"Line 2, column 7: Lone surrogate \ud800 in a string",
    '[[task]]\na = "\\U0000DFFF"': r"Line 2, column 6: Lone surrogate \U0000DFFF in a string",
    "[[task]]\n[[tasks]]": "Line 2, column 1: A document has either [[task]] or [[tasks]], not both",
    "[[tasks]]\n\nand\n\n[[task]]": "Line 5, column 1: A document has either [[task]] or [[tasks]], not both",
    "[[tasks.task]]": "Line 1, column 1: [[tasks.task]] needs a [[tasks]] before it",
    "[[tasks]]\naction = 'run'": "Line 1, column 1: A [[tasks]] block has its tasks in [[tasks.task]] tables",
    "[[tasks]]\ntask = 1": (
        "Line 2, column 1: Expected a list of tables: a header of 'task' has two brackets"
    ),
    "```toml\n[task]\na='''\n[[task]]\n'''\n```": (
        "Line 2, column 1: Expected a list of tables: a header of 'task' has two brackets"
    ),
    "[[tasks]]\nversion = '3.0'": "Line 2: Unsupported version: 3.0",
    "[[tasks]]\nversion = 1.0": "Line 2: Unsupported version: 1.0 (must be a string)",
    # what tomllib finds
    "[[task]]\na = '''x\ny''' # é\nb = 01": (
        "Line 4, column 6: Expected newline or end of document after a statement"
    ),
    "[[task]]\na.b = 'é'\n[task.a]\n": "Line 3, column 8: Cannot declare ('task', 'a') twice",
    "# " + "é" * 50 + "\n[[task]]\na = 'é'\nb = ['é', 'é', x]": "Line 4, column 16: Invalid value",
    # and in a fence that is indented
    "- ```toml\n  [[task]]\n  a = '''\n  x'''\n  b = ['é', x]\n  ```": "Line 5, column 13: Invalid value",
    "- ```toml\n\n[[task]]\nb = ['é', x]\n  ```": "Line 4, column 11: Invalid value",
}


@pytest.mark.parametrize("text", FATAL)
def test_a_text_that_cannot_be_read_is_refused_with_its_place(text: str) -> None:
    """A text that cannot be read is refused with its place."""
    plan = toml.read(text.encode())
    assert plan.fatal
    assert plan.fatal.message == FATAL[text]
    version = "Unsupported version" in plan.fatal.message
    assert plan.fatal.type == ("unsupported_version" if version else "malformed_toml")
    assert f"Line {plan.fatal.line}" in plan.fatal.message
    assert version or f"column {plan.fatal.column}:" in plan.fatal.message


CUT_OFF = {
    f"{TASK}[[ta": "Line 4, column 1: Expected 'key = value' or a [table]; 1",
    f"{TASK}\n[[ta": "Line 5, column 1: Expected 'key = value' or a [table]; 1",
    f"{TASK}[[task]]\nact": "Line 5, column 1: Expected 'key = value' or a [table]; 1",
    f"{TASK}[[task]]\naction =": "Line 5, column 9: Unexpected end of text, expected a value; 1",
    f'{TASK}[[task]]\naction = "wri': "Line 5, column 10: Unterminated string; 1",
    f"{TASK}{TASK}[[task]]\ncontent = '''\nx": "Line 8, column 11: Unterminated string; 2",
    f"{TASK}[[task]]\na = [1,": "Line 5, column 8: Unexpected end of text, expected a value; 1",
    f"{TASK}[[task]]\na = {{b = 1": (
        "Line 5, column 11: Unexpected end of text, expected the end of the value; 1"
    ),
    f"```toml\n{TASK}[[task]]\na = [1,\n```\n": (
        "Line 7, column 1: Unexpected end of text, expected a value; 1"
    ),
    f"```toml\n{TASK}```\n```toml\n[[task]]\na = '''": "Line 8, column 5: Unterminated string; 1",
    # the last one may lack something
    f"```toml\n{TASK}{TASK}": "Line 8, column 1: Unexpected end of text, expected the end of the fence; 1",
    "[[task]]\naction = 'run": "Line 2, column 10: Unterminated string; 0",
}


@pytest.mark.parametrize("text", CUT_OFF)
def test_of_an_answer_that_was_cut_off_the_complete_operations_are_counted_and_kept(text: str) -> None:
    """Of an answer that was cut off the complete operations are counted and kept."""
    plan = toml.read(text.encode())
    assert plan.fatal
    complete = len(operations(plan))
    noun = "operation" if complete == 1 else "operations"
    assert plan.fatal.message == f"{CUT_OFF[text]} complete {noun} came before it"
    assert CUT_OFF[text].endswith(f"; {complete}")


def test_of_a_block_that_was_cut_off_the_complete_operations_are_kept() -> None:
    """Of a block that was cut off the complete operations are kept."""
    text = "[[tasks]]\nversion='1.0'\n[[tasks.task]]\naction='remove'\npath='a'\n[[tasks.task]]\naction='"
    plan = toml.read(text.encode())
    (block,) = plan.blocks
    assert (block.version, len(block.operations)) == ("1.0", 1)


# Hostile and huge texts

CONTENT = b"[[task]]\naction = 'write'\npath = 'a'\ncontent = "
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "20,000-part key": (lambda: b"[[task]]\n" + b"a." * 20_000 + b"a = 1", "Nested more than 32 deep"),
    "20,000-part header": (lambda: b"[[task]]\n[" + b"a." * 20_000 + b"a]", "Nested more than 32 deep"),
    "20,000-part inline key": (
        lambda: b"[[task]]\nb={" + b"a." * 20_000 + b"a=1}",
        "Nested more than 32 deep",
    ),
    "100,000 deep lists": (lambda: b"[[task]]\na = " + b"[" * 100_000, "Nested more than 32 deep"),
    "100,000 deep tables": (lambda: b"[[task]]\na = " + b"{a=" * 100_000, "Nested more than 32 deep"),
    "a number of 1 MB": (lambda: b"[[task]]\na = " + b"9" * MB, "Expected a value"),
    "a cut string of 8 MB": (lambda: CONTENT + b'"""' + b"x" * (8 * MB), "Unterminated string"),
    "a control character after 8 MB": (
        lambda: CONTENT + b"'''" + b"x" * (8 * MB) + b"\0'''",
        "Control character",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused(name: str) -> None:
    """A hostile text is refused."""
    make, expected = HOSTILE[name]
    text = make()
    assert toml.sign(text) is not None
    assert expected in fatal(text)


TOO_MANY: dict[str, tuple[Callable[[], bytes], str]] = {
    "48 MB of lists": (lambda: b"[[task]]\na = [" + b"[]," * (16 * MB) + b"]", "More than 10,000 values"),
    "tasks": (lambda: b"[[task]]\n" * 1_001, "More than 1,000 tasks"),
    "inline tasks": (lambda: b"[[tasks]]\ntask=[" + b"{}," * 1_001 + b"]", "More than 1,000 tasks"),
    "tasks in many fences": (
        lambda: (b"```toml\n" + b"[[task]]\n" * 101 + b"```\n") * 10,
        "More than 1,000 tasks",
    ),
    "tables": (lambda: b"[[task]]\n" + b"[a]\n" * 3_000, "More than 2,000 tables"),
}


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("name", TOO_MANY)
def test_more_than_the_limits_allow_is_refused(name: str) -> None:
    """More than the limits allow is refused, whatever it is; here they are a hundredth of the real ones."""
    make, expected = TOO_MANY[name]
    text = make()
    assert toml.sign(text) is not None
    assert expected in fatal(text)


HUGE: dict[str, tuple[Callable[[], bytes], Callable[[], str]]] = {
    "one line of 8 MB": (lambda: b'"' + b"x" * (8 * MB) + b'"', lambda: "x" * (8 * MB)),
    "lines": (lambda: b"'''\n" + b"line\n" * (2 * MB) + b"'''", lambda: "line\n" * (2 * MB)),
    "backslashes": (lambda: b'"' + rb"\\" * 666_666 + b'"', lambda: "\\" * 666_666),
    "quotes": (lambda: b'"""' + b'""a' * (MB // 3) + b'"""', lambda: '""a' * (MB // 3)),
    "emoji": (lambda: b'"' + rb"\U0001F600" * 66_666 + b'"', lambda: "😀" * 66_666),
    "continued lines": (lambda: b'"""' + b"a\\\n  " * 133_333 + b'"""', lambda: "a" * 133_333),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_is_read_exactly(name: str) -> None:
    """A huge text is read exactly."""
    make, expected = HUGE[name]
    (operation,) = operations(toml.read(CONTENT + make() + b"\n"))
    assert operation.values()["content"] == expected()


@pytest.mark.parametrize("filler", [b"\n", b" ", b"#\n", b"# x", b"\t\n"])
def test_however_many_blanks_and_comments_there_are_places_stay_right(filler: bytes) -> None:
    """However many blanks and comments there are, places stay right."""
    text = b"[[task]]\n" + filler * 100_000 + b"\npath = 3\naction = 'remove'"
    (problem,) = toml.read(text).problems
    assert problem.line == 1 + text.count(b"\n", 0, text.index(b"path"))


GROWING: dict[str, Callable[[int], bytes]] = {
    "tasks": lambda n: TASK.encode() * n,
    "invalid tasks": lambda n: b"[[task]]\naction = 'edit'\ncount = 0\npath = 1\n" * n,
    "keys": lambda n: b"[[task]]\n" + b"".join(b"k%d = 1\n" % i for i in range(n)),
    "fences": lambda n: b"```toml\n[[task]]\n```\n" * n,
    "open fences": lambda n: b"```toml\n" * n + b"[[task]]",
    "bare between prose": lambda n: b"[[task]]\n\nprose\n" * n,
    "lists": lambda n: b"[[task]]\na = [" + b"[], " * n + b"]",
    "tables": lambda n: b"[[task]]\n" + b"".join(b"[t%d]\n" % i for i in range(n)),
    "escapes": lambda n: CONTENT + b'"' + rb"\n\u0041\\" * (20 * n) + b'"',
}


@pytest.mark.parametrize("name", GROWING)
def test_the_cost_grows_with_the_size_and_not_faster(name: str, steps: Steps) -> None:
    """The cost grows with the size and not faster."""
    small, large = steps(toml, GROWING[name](200)), steps(toml, GROWING[name](400))
    assert large < 2.2 * small + 100


# Properties: tomllib is the judge


def ours(text: str) -> Any:
    """Read a whole text by the scan and what tomllib makes of it then; None if it is refused."""
    mark = b"`" * 100
    scan = Scan(
        text.encode() + b"\n" + mark, 0, Fence(0, 0, len(text), len(text), "", "toml", 0, False, mark)
    )
    if scan.run():
        return None
    try:
        return scan.parse_until(scan.sound)
    except MalformedError:
        return None


def theirs(text: str) -> Any:
    """Read a whole text by tomllib alone; None if it is refused."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def depth(value: Any) -> int:
    """Return how deep a value is nested."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inner), default=0)


FRAGMENTS = [
    *(
        "[[task]]\n",
        "[[tasks]]\n",
        "[[tasks.task]]\n",
        "[task.a]\n",
        "[a]\n",
        "[a.'b']",
        "]]",
        "[[",
        "[",
        "]",
        "{",
        "}",
    ),
    *(
        "a",
        "b = ",
        "'a' = ",
        '"b" = ',
        "a.b = ",
        "action = ",
        "path=",
        "=",
        ",",
        ".",
        "#",
        "# c\n",
        "\n",
        "\n",
        " ",
        "\t",
    ),
    *(
        '"',
        "'",
        '"""',
        "'''",
        '"x"',
        "'y'",
        "'''z\n'''",
        '"\\n"',
        '"""\\\n  q"""',
        "\\",
        "\\u0041",
        "\\ud800",
        "é",
        "😀",
    ),
    *(
        "1",
        "-2.5e3",
        "0x1F",
        "true",
        "inf",
        "1979-05-27T07:32:00Z",
        "1979-05-27 07:32:00",
        "07:32:00",
        "1_000",
        "\0",
    ),
]
mixtures = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
lines = st.tuples(
    st.sampled_from(["a", "b", "c.d", "'e'", '"f"']),
    st.sampled_from([part for part in FRAGMENTS if part.strip()]) | mixtures,
).map(lambda pair: f"{pair[0]} = {pair[1]}\n")
documents = st.lists(
    lines | st.sampled_from(["[[task]]\n", "[[tasks]]\n", "[x]\n", "# y\n", "\n", "[[tasks.task]]\n"]),
    max_size=6,
).map("".join)


@given(mixtures | documents)
def test_a_text_is_read_or_refused_as_by_tomllib(text: str) -> None:
    """A text is read or refused as by tomllib."""
    if text.lstrip(" \t\n").startswith("[[tasks.task]]"):
        assume(False)  # refused on purpose
    by_tomllib, by_us = theirs(text), ours(text)
    if by_tomllib is not None and by_us is None:  # only what we refuse
        assert "[[tasks.task]]" in text or depth(by_tomllib) > MAX_DEPTH
        return
    assert repr(by_us) == repr(by_tomllib)  # by repr, for nan


@given(mixtures | documents | st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    """No text makes it raise."""
    data = text.encode(errors="replace")
    toml.sign(data)
    toml.read(data).to_dict()
    plan = toml.read(b"[[task]]\n" + data)
    assert plan.fatal is None or plan.fatal.line


def rendered(value: Any) -> str:
    """Return a scalar as TOML."""
    if not isinstance(value, str):
        return standard.dumps(value)
    return standard.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def literally(value: Any) -> str:
    """Return a scalar as TOML, a text in single quotes where they can hold it."""
    if not isinstance(value, str) or "'" in value or any(ord(c) < 32 and c not in "\n\t" for c in value):
        return rendered(value)
    return rendered(value) if "\x7f" in value else f"'''\n{value}'''"


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
tasks = st.dictionaries(
    st.sampled_from(
        ["action", "path", "content", "append", "search", "replace", "count", "cmd", "dir", "other"]
    ),
    texts
    | st.booleans()
    | st.integers(-5, 10**17)
    | st.sampled_from(["write", "edit", "run", "remove", "all"]),
)


@given(st.lists(tasks, min_size=1, max_size=4), st.sampled_from([rendered, literally]), st.booleans())
def test_the_same_tasks_in_toml_and_json_are_the_same_operations(
    written: list[dict[str, Any]], render: Callable[[Any], str], fenced: bool
) -> None:
    """The same tasks in toml and json are the same operations."""
    text = "[[tasks]]\n" + "\n".join(
        "[[tasks.task]]\n" + "".join(f"{name} = {render(value)}\n" for name, value in task.items())
        for task in written
    )
    from_toml = toml.read((f"Hi\n```toml\n{text}```\nbye" if fenced else text).encode())
    from_json = json.read(standard.dumps({"tasks": written}).encode())
    assert from_toml.fatal is from_json.fatal is None
    assert [without_places(operation) for operation in operations(from_toml)] == [
        without_places(operation) for operation in operations(from_json)
    ]


def without_places(operation: Operation | Invalid) -> tuple[object, ...]:
    """Return what an operation asks for and what is wrong with it, wherever it stands."""
    problems = [(problem.message, problem.field, problem.operation) for problem in operation.problems]
    return operation.name, operation.values(), operation.attributes, problems


@given(st.lists(tasks, min_size=1, max_size=3), st.data())
def test_no_change_to_a_valid_text_makes_it_raise(written: list[dict[str, Any]], data: st.DataObject) -> None:
    """No change to a valid text makes it raise."""
    text = "".join(
        "[[task]]\n" + "".join(f"{name} = {rendered(value)}\n" for name, value in task.items())
        for task in written
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 5)))
    changed = text[:start] + data.draw(st.sampled_from(["", *FRAGMENTS])) + text[end:]
    plan = toml.read(changed.encode())
    assert plan.fatal is None or plan.fatal.line


def test_dates_and_special_numbers_are_values_that_no_field_takes() -> None:
    """Dates and special numbers are values that no field takes."""
    text = "[[task]]\na = 1979-05-27\nb = 07:32:00\nc = nan\nd = inf\naction = 'remove'\npath = 'x'\n"
    (operation,) = operations(toml.read(text.encode()))
    assert operation.problems == ()
    read = ours(text)["task"][0]
    assert read["a"] == dt.date(1979, 5, 27)
    assert math.isnan(read["c"])


def test_a_control_character_in_a_literal_string_is_told_with_its_remedy() -> None:
    """The message of tomllib does not say what to write instead."""
    good = "[[task]]\naction = \"write\"\npath = \"a\"\ncontent = '''\ntext'''\n"
    plan = parse(f"{good}{good}{good.replace('text', 'text' + chr(1))}{good}".encode())
    assert plan.fatal is not None
    assert r"write \u0001 in double quotes" in plan.fatal.message
    assert (plan.fatal.line, len(plan.blocks)) == (15, 2)
