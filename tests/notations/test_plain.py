"""A write as most are written is read by a shorter way in TOML: to the same plan, in any document."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada import parse
from clada.notations import csl, toml
from clada.notations.toml_scan import Scan

if TYPE_CHECKING:
    from clada import Plan

CORPUS = sorted((Path(__file__).parents[1] / "corpus").rglob("*.in"))
# What documents are made of here: plain writes, and what makes one a little less plain.
QUOTES = "'" * 3
HEAD = f'[[task]]\naction = "write"\npath = "a"\ncontent = {QUOTES}'
TOML = [
    *(HEAD, *[f"{HEAD}\ntext{QUOTES}\n"] * 3, f"\n{HEAD}{QUOTES}\n", f"{HEAD}x{QUOTES} # why\n"),
    *(f"{HEAD}x{QUOTES}'\n", HEAD.replace("path", "action"), HEAD.replace("write", ""), "```toml", "```"),
    *('[[task]]\naction = "run"', f"command = {QUOTES}", "x = 1", "content = 2", "[[tasks]]"),
    *("[[tasks.task]]", QUOTES, f"{QUOTES}\n", "text", "", "é", "\x01", "# why", "\n\nProse.", "[task.x]"),
]


def with_and_without(document: str | bytes) -> tuple[Plan, Plan]:
    """Return the plan of a document, read with the shorter way and without it."""
    short = parse(document)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(toml, "Scan", lambda *given, **_named: Scan(*given, careful=True))
        return short, parse(document)


def test_a_case_of_the_corpus_has_one_plan() -> None:
    for path in CORPUS:
        short, long = with_and_without(path.read_bytes())
        assert short == long, path


@given(data=st.data())
def test_a_document_of_plain_and_less_plain_writes_has_one_plan(
    data: st.DataObject,
) -> None:
    ends = st.sampled_from(["\n", "\n", "\n", "", " "])
    document = data.draw(st.lists(st.tuples(st.sampled_from(TOML), ends).map("".join), max_size=12))
    short, long = with_and_without("".join(document))
    assert short == long


class Watched(bytes):
    """A document that knows how many of its bytes were searched."""

    searched = 0

    def find(self, sought: Any, start: Any = 0, end: Any = None, /) -> int:
        """Find as others do."""
        found = super().find(sought, start, end)
        self.searched += (len(self) if found < 0 else found) - start if end is None else 0
        return found


@pytest.mark.parametrize(("start", "end"), [("<---", "--->"), ("[[", "]]"), ("«", "»")])
@pytest.mark.parametrize("content", ["x", "[<«x"])
@pytest.mark.parametrize("operation", ["WRITE", "SEARCH"])
def test_csl_is_read_by_looking_at_each_byte_a_few_times(
    start: str, end: str, content: str, operation: str
) -> None:
    """Not at all the rest for each operation, where none of it has a byte that is looked for."""
    body = content if operation == "WRITE" else f"{content}\n{start}REPLACE{end}\ny"
    document = f'{start}{operation} file="a"{end}\n{body}\n{start}END{end}\nText.\n' * 500
    data = Watched(document.encode())
    assert len(csl.Parser(data, (start, end)).plan().blocks) == 500
    assert data.searched < 10 * len(data)


def test_plain_tasks_of_toml_go_the_shorter_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first task is read as any; of the others, nothing is left for the longer way."""
    ends, real = [], Scan._plain_tasks

    def note(scan: Scan) -> None:
        real(scan)
        ends.append(scan.at)

    monkeypatch.setattr(Scan, "_plain_tasks", note)
    document = f"{HEAD}\ntext{QUOTES}\n\n" * 3
    assert len(parse(document).blocks) == 3
    assert ends == [len(document) - 2]


def test_what_tomllib_refuses_too_is_told_as_helpfully_as_ever() -> None:
    good = f"{HEAD}\ntext{QUOTES}\n"
    plan = parse(f"{good}{good}{HEAD}\ntext\x01{QUOTES}\n{good}")
    assert plan.fatal is not None
    assert r"write \u0001 in double quotes" in plan.fatal.message
    assert (plan.fatal.line, len(plan.blocks)) == (15, 2)
