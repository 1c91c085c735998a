"""What holds for every text and every plan, in all notations."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cutting import STEP, cuts
from tests.notations import render

import clada
from clada.notations.registry import NOTATIONS

CORPUS = Path(__file__).parent.parent / "corpus"
CSL_DOCUMENTS = sorted((CORPUS / "csl").glob("*.in"))
TURNS = 10  # tests that share the documents

# Pieces that notations are made of, so that random texts come close to being documents.
PIECES = st.sampled_from(
    """
    <---WRITE file="a"---> <---END---> <---TASKS---> <---SEARCH file='b' count="2"---> <---TO--->
    <---REPLACE---> <---RUN---> <--- ---> \\ " ' = <tasks> </tasks> <write path="x"> </write> <![CDATA[ ]]>
    ]]&gt; <!-- --> <edit <search> </search> <replace/> </edit> & &amp; &lt; <?x ?> <!DOCTYPE version="1.0"
    {"tasks":[ {"action":"write", ]} ```json ``` [[task]] [[tasks]] action="run" \"\"\" ''' # \ufeff \0
    \ud800 \U0001f600 \x85 \u2028
    """.split()
)
NOISE = st.lists(
    st.one_of(PIECES, st.text(max_size=3), st.sampled_from(["\n", "\r\n", "\r", " "])), max_size=40
)


@given(pieces=NOISE, notation=st.sampled_from(["auto", *NOTATIONS]))
@settings(max_examples=100, deadline=None)
def test_parsing_never_raises_for_any_text(pieces: list[str], notation: clada.Format) -> None:
    """Whatever the text, there is a plan, which can be printed."""
    clada.parse("".join(pieces), notation).to_dict()


@given(data=st.binary(max_size=200), notation=st.sampled_from(["auto", *NOTATIONS]))
@settings(max_examples=50, deadline=None)
def test_parsing_never_raises_for_any_bytes(data: bytes, notation: clada.Format) -> None:
    """Bytes that are no UTF-8 are a fatal error, not an exception."""
    plan = clada.parse(data, notation)
    bad = _first_bad_byte(data)
    if bad is not None:
        assert plan.fatal is not None
        assert plan.fatal.type == "invalid_utf8"
        assert str(bad) in plan.fatal.message


def _first_bad_byte(data: bytes) -> int | None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


@pytest.mark.parametrize("number", range(TURNS))
def test_csl_in_two_pieces_is_the_same_at_every_cut(number: int, *, is_whole: bool) -> None:
    """The streaming reader gives the plan of the whole, however the text is cut."""
    for path in CSL_DOCUMENTS[number::TURNS]:
        text, options = _text(path), _options(path)
        expected = clada.parse(text, "csl", **options)
        for cut in cuts(text, first=len(path.stem), step=1 if is_whole else 3 * STEP):
            reader = clada.Reader(**options)
            reader.feed(text[:cut])
            reader.feed(text[cut:])
            assert reader.close() == expected, (path, cut)


def test_csl_one_character_at_a_time_yields_each_operation_when_it_is_closed() -> None:
    """What `feed` returns is what the plan has, in order; only the very last line may wait for the end."""
    for path in CSL_DOCUMENTS:
        text, options = _text(path), _options(path)
        reader = clada.Reader(**options)
        fed = [operation for character in text for operation in reader.feed(character)]
        plan = reader.close()
        operations = [operation for block in plan.blocks for operation in block.operations]
        assert fed == operations[: len(fed)], path
        assert len(fed) >= len(operations) - 1, path


def test_an_operation_is_yielded_as_soon_as_its_end_marker_is_complete() -> None:
    """The line break after END is the moment."""
    reader = clada.Reader()
    assert reader.feed('<---WRITE file="a"--->\nx\n<---EN') == []
    assert reader.feed("D--->") == []
    (operation,) = reader.feed("\n")
    assert operation.values() == {"path": "a", "content": "x", "append": False}


def test_cml_is_the_same_whether_or_not_expat_reads_what_is_in_cdata() -> None:
    """A control character, here in the prose before, makes all of the text pass through it."""
    documents = sorted((CORPUS / "cml").glob("*.in"))
    assert len(documents) > 100
    for path in documents:
        _assert_same_with_and_without_expat(_text(path))


@given(pieces=st.lists(st.one_of(PIECES, st.sampled_from(["\n", "<run>", "</run>", "x"])), max_size=30))
@settings(max_examples=50, deadline=None)
def test_noise_in_cml_is_the_same_whether_or_not_expat_reads_what_is_in_cdata(pieces: list[str]) -> None:
    """And however little the text is a document."""
    _assert_same_with_and_without_expat("<write path='a'><![CDATA[" + "".join(pieces))


def _assert_same_with_and_without_expat(text: str) -> None:
    taken, passed = (clada.parse(first + text, "cml").to_dict() for first in ("x\n", "\x01\n"))
    assert taken == passed, text


def _text(path: Path) -> str:
    return path.read_bytes().decode()


def _options(path: Path) -> dict[str, Any]:
    file = path.with_suffix(".args")
    words = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    pairs = zip(words[::2], words[1::2], strict=True)
    return {name[2:].replace("-", "_"): value for name, value in pairs if name.endswith("delimiter")}


@pytest.mark.parametrize("notation", ["csl", "cml", "json", "toml"])
def test_a_document_that_is_cut_off_never_asks_for_more_than_the_whole(notation: clada.Format) -> None:
    """Every operation of a beginning is one of the whole, unless the beginning is refused."""
    document = {
        "csl": render.csl(SAMPLE[:1]),
        "cml": render.cml(SAMPLE),
        "json": render.json_blocks(SAMPLE),
        "toml": render.toml(SAMPLE),
    }[notation]
    whole = _shape(clada.parse(document))
    assert whole
    for cut in range(len(document)):
        plan = clada.parse(document[:cut], notation)
        if (
            plan.fatal is None and plan.ok and notation != "toml"
        ):  # TOML has no end: every prefix may be whole
            assert all(operations in whole for operations in _shape(plan)), cut


SAMPLE: list[render.Block] = [
    (False, [
        {"action": "write", "path": "a", "content": "one\ntwo", "append": False},
        {"action": "edit", "path": "a", "count": 1, "search": "one", "replace": "1"},
        {"action": "run", "command": "true"},
    ]),
    (False, [{"action": "move", "from": "a", "to": "b"}, {"action": "remove", "path": "b"}]),
]  # fmt: skip


# Characters that every notation can hold: XML has no control characters, and CR is a line ending.
CHARACTERS = st.characters(
    exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff\ufeff"
) | st.sampled_from("\n\t")
TEXTS = st.text(CHARACTERS, max_size=30) | st.sampled_from(
    [
        "]]>",
        "]]&gt;",
        "a]]>b]]&gt;c",
        "<---WRITE--->\nx",
        "```\n[[task]]",
        '"',
        "\\",
        "'''",
        '"""',
        "&amp;",
        "</write>",
    ]
)
CONTENTS = TEXTS.filter(lambda text: not any(line.startswith("<---END") for line in text.split("\n")))
PATTERNS = CONTENTS.filter(
    lambda text: text and not any(line.startswith(("<---TO", "<---REPLACE")) for line in text.split("\n"))
)
COMMANDS = CONTENTS.map(lambda text: text.strip(" \t\r\n")).filter(bool)
PATHS = st.text(CHARACTERS, min_size=1, max_size=12).filter(lambda text: "\n" not in text)
COUNTS = st.integers(1, 10**6) | st.just("all")

WRITES = st.fixed_dictionaries(
    {"action": st.just("write"), "path": PATHS, "content": CONTENTS, "append": st.booleans()}
)
EDITS = st.fixed_dictionaries(
    {
        "action": st.just("edit"),
        "path": PATHS,
        "count": COUNTS,
        "search": PATTERNS,
        "replace": CONTENTS.filter(bool),
    }
)
RANGES = st.fixed_dictionaries(
    {
        "action": st.just("edit"), "path": PATHS, "count": COUNTS,
        "search_start": PATTERNS, "search_end": PATTERNS, "replace": CONTENTS.filter(bool),
    }
)  # fmt: skip
RUNS = st.fixed_dictionaries({"action": st.just("run"), "command": COMMANDS}, optional={"dir": PATHS})
MOVES = st.fixed_dictionaries({"action": st.just("move"), "from": PATHS, "to": PATHS})
REMOVES = st.fixed_dictionaries({"action": st.just("remove"), "path": PATHS})
IN_CSL = st.one_of(WRITES, EDITS, RANGES, RUNS)
IN_ALL = st.one_of(WRITES, EDITS, RANGES, RUNS, MOVES, REMOVES)
STANDALONE = st.tuples(st.just(True), st.lists(IN_CSL, min_size=1, max_size=1))


def _blocks(operations: Any) -> Any:
    return st.lists(
        st.tuples(st.just(False), st.lists(operations, min_size=1, max_size=4)), min_size=1, max_size=3
    )


@given(
    blocks=st.lists(
        st.one_of(STANDALONE, _blocks(IN_CSL).map(lambda blocks: blocks[0])), min_size=1, max_size=4
    )
)
@settings(max_examples=37, deadline=None)
def test_plans_written_as_csl_are_read_back_unchanged(blocks: list[render.Block]) -> None:
    """Rendering and reading is the identity."""
    _check(render.csl(blocks), blocks)


@given(blocks=_blocks(IN_ALL))
@settings(max_examples=37, deadline=None)
def test_plans_written_as_cml_are_read_back_unchanged(blocks: list[render.Block]) -> None:
    """Rendering and reading is the identity, `]]>` and `]]&gt;` in content included."""
    _check(render.cml(blocks), blocks)


@given(blocks=_blocks(IN_ALL))
@settings(max_examples=37, deadline=None)
def test_plans_written_as_json_are_read_back_unchanged(blocks: list[render.Block]) -> None:
    """Rendering and reading is the identity."""
    _check(render.json_blocks(blocks), blocks)


@given(blocks=_blocks(IN_ALL))
@settings(max_examples=25, deadline=None)
def test_plans_written_as_toml_are_read_back_unchanged(blocks: list[render.Block]) -> None:
    """Rendering and reading is the identity."""
    _check(render.toml(blocks), blocks)


def _check(document: str, blocks: list[render.Block]) -> None:
    plan = clada.parse(document)
    assert plan.ok, (plan.fatal, plan.problems)
    assert _shape(plan) == [operations for _, operations in blocks]
    assert [block.implicit for block in plan.blocks] == [implicit for implicit, _ in blocks]


def _shape(plan: clada.Plan) -> list[list[dict[str, Any]]]:
    return [
        [{"action": operation.name, **operation.values()} for operation in block.operations]
        for block in plan.blocks
    ]


# What strings are made of, right or wrong, so that escapes, quotes and line ends meet in every order.
PLAIN = st.text(max_size=5) | st.sampled_from(["é", "😀", " ", "\t", "a", "u0041", "'", "''", '"', '""'])
ESCAPES = st.sampled_from(
    [
        r"\n",
        r"\t",
        r"\b",
        r"\f",
        r"\r",
        r"\"",
        r"\\\\",
        r"\u0041",
        r"\u00e9",
        r"\ud83d",
        r"\ude00",
        r"\/",
        r"\x",
        "\\",
    ]
)
LONG_ESCAPES = st.sampled_from([r"\U0001F600", r"\U0000d800", r"\U00110000"])
LINE_ENDS = st.sampled_from(["\n", "\\\n", "\\\n\t", "\\  \n\n  ", "\\\n\\t", "\\n\\\n", "\\\n\\\n", "\n  "])
QUOTES = st.sampled_from(['"', "'", '"""', "'''"])


@given(quotes=QUOTES, inside=st.lists(PLAIN | ESCAPES | LONG_ESCAPES | LINE_ENDS, max_size=10).map("".join))
@example(quotes='"""', inside="\\\nall:\\n\\\n\\tgcc main.c\\n\\\n")
@settings(max_examples=125, deadline=None)
def test_a_string_in_toml_is_what_tomllib_reads(quotes: str, inside: str) -> None:
    """Whichever its quotes, escapes and continued lines are; what tomllib refuses is refused."""
    inside = inside.encode(errors="replace").decode().replace("\r", "")
    text = f'[[task]]\naction = "write"\npath = "a"\ncontent = {quotes}{inside}{quotes}\nappend = true\n'
    try:
        (expected,) = tomllib.loads(text)["task"]
    except tomllib.TOMLDecodeError:
        assert clada.parse(f"```toml\n{text}```\n", "toml").fatal  # in a fence, where nothing is prose
        return
    (block,) = clada.parse(f"```toml\n{text}```\n", "toml").blocks
    (operation,) = block.operations
    read = {**operation.values(), **operation.attributes}
    assert read["content"] == expected["content"]


@given(inside=st.lists(PLAIN | ESCAPES | LINE_ENDS, max_size=10).map("".join))
@settings(max_examples=125, deadline=None)
def test_a_string_in_json_is_what_json_reads(inside: str) -> None:
    """Whatever its escapes; what json refuses is refused, and what is no text once it is read."""
    inside = inside.encode(errors="replace").decode()
    text = f'{{"tasks": [{{"action": "write", "path": "a", "content": "{inside}"}}]}}'
    plan = clada.parse(text, "json")
    try:
        expected = json.loads(text)["tasks"][0]["content"]
        expected.encode()
    except ValueError:
        assert plan.fatal
        return
    assert plan.blocks[0].operations[0].values()["content"] == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(
    tasks=st.lists(
        st.dictionaries(st.sampled_from(["content", "replace", "x", "é", "\n"]), VALUES), max_size=4
    ),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 2]),
)
@settings(max_examples=50, deadline=None)
def test_values_in_json_are_what_json_reads(
    tasks: list[dict[str, Any]], ascii_only: bool, indent: int | None
) -> None:
    """Texts are kept under their names, whatever stands beside them, and of all else nothing is left."""
    text = json.dumps(
        {"tasks": [{**task, "action": "?"} for task in tasks]}, ensure_ascii=ascii_only, indent=indent
    )
    (block,) = clada.parse(text, "json").blocks
    for task, operation in zip(tasks, block.operations, strict=True):
        read = {**operation.values(), **operation.attributes}
        assert read == {name: value for name, value in task.items() if isinstance(value, str)}


# Each of these is linear: seconds even where a careless reader would take hours, or end in a recursion error.
# Each is made when its turn comes: all at once they take half a gigabyte.
LONG = 8_000_000  # bytes: whoever goes back takes hours
HUGE = {
    "markers": lambda: b'<---WRITE file="a"--->\nx\n<---END--->\n' * 50_000,
    "markers in content": lambda: b'<---WRITE file="a"--->\n' + b"<---TO--->\n" * 100_000 + b"<---END--->\n",
    "<": lambda: b'<write path="a">' + b"<" * 1_666_666,
    "< in prose": lambda: b"<" * 1_666_666 + b'\n<write path="a"/>\n',
    "comment openings": lambda: b"<!--\n" * 100_000 + b'<write path="a"/>\n',
    "one long line": lambda: b"x" * LONG,
    "one long line in an operation": lambda: b'<---WRITE file="a"--->\n' + b"x" * LONG + b"\n<---END--->\n",
    "backslashes": lambda: b'<---WRITE file="' + b"\\" * 666_666 + b'"--->\nx\n<---END--->\n',
    "quotes": lambda: b"<---WRITE file=" + b"'\\\"" * 333_333 + b"--->\nx\n<---END--->\n",
    "deep XML": lambda: b"<tasks>" + b"<a>" * 33_333,
    "deep JSON": lambda: b'{"tasks":' + b"[" * 33_333,
    "unclosed CDATA sections": lambda: b'<write path="a">' + b"<![CDATA[" * 100_000,
    "self-closing elements": lambda: b'<remove path="a"/>\n' * 33_333,
    "operations in one line": lambda: (
        b'{"tasks": [' + b",".join([b'{"action": "remove", "path": "%s"}' % (b"a" * 1000)] * 20_000) + b"]}"
    ),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", HUGE)
def test_huge_and_hostile_documents_are_read(name: str) -> None:
    """None raises, and none keeps the suite waiting: a reader that goes back would take hours."""
    clada.parse(HUGE[name]()).to_dict()


def test_csl_in_tiny_pieces_is_linear() -> None:
    """A long marker line that arrives bit by bit is not looked at again for every bit."""
    reader = clada.Reader()
    reader.feed('<---WRITE file="a" note="')
    for _ in range(100_000):
        reader.feed("\\\\")
    reader.feed('"--->\nx\n<---END--->\n')
    plan = reader.close()
    assert plan.ok
    assert len(plan.blocks[0].operations[0].attributes["note"]) == 100_000


@pytest.mark.slow
def test_more_than_50_mb_is_refused() -> None:
    """One byte too many is too many."""
    plan = clada.parse(b" " * (52_428_800 + 1))
    assert plan.fatal is not None
    assert plan.fatal.type == "input_too_large"
    assert clada.parse(b" " * 52_428_800).fatal is None
