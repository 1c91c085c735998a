"""What a page shows of a plan."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.operations import OPERATIONS, find
from clada.review.page import Shown
from clada.selection import preview

if TYPE_CHECKING:
    from pathlib import Path

CSL = '<---WRITE file="a.py"--->\nx\n<---END--->'
SR = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
LS = '{"action":"run","command":"ls"}'
PROSE = {
    f"One.\n\n{CSL}\ntwo\n{CSL}\nthree\n": ["One.", "two", "three"],
    f"One.\n<---TASKS--->\n{CSL}\n{CSL}\n<---END--->\n": ["One.", "", ""],
    f"One:\n```sh\nnpm start\n```\nSo.\n```\n{CSL}\n```\nend": ["One:\n    npm start\nSo.", "end"],
    f'One\n```json\n{{"tasks":[\n{LS},\n{LS}]}}\n```\nend': ["One", "", "end"],
    '[[task]]\naction="run"\ncommand="ls"\n\n[[task]]\naction="run"\ncommand="ls"\n': ["", "", ""],
    'One\n<tasks>\n<write path="a">x</write>\n</tasks>\nend': ["One", "end"],
    f"One\n\na.py\n```python\n{SR}\n```\nand\n\na.py\n```python\n{SR}\n```\nend": ["One", "and", "end"],
    "One\n\n**a.py**\n```python\nx\n```\nand\n\n`b.py`:\n```python\nx\n```\nend": ["One", "and", "end"],
    "One\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n```\nend": ["One", "end"],
}  # fmt: skip


def overview(text: str, workspace: Path, **settings: Any) -> dict[str, Any]:
    """Return what the page of a text has."""
    plan = clada.parse(text)
    options = clada.Settings(workspace=str(workspace), record="none", **settings)
    return Shown(plan, *preview(plan, options)).overview("<---")


@pytest.mark.parametrize("text", PROSE)
def test_prose_stands_beside_its_operation(text: str, tmp_path: Path) -> None:
    shown = overview(text, tmp_path)
    assert [each["prose"] for each in shown["operations"]] + [shown["closing"]] == PROSE[text]


def test_a_command_says_why_it_needs_approval(tmp_path: Path) -> None:
    run = "<---RUN--->\n{}\n<---END--->\n"
    shown = overview(run.format("make") + run.format("ls") + run.format("echo x"), tmp_path)["operations"]
    assert [bool(each["lacking"]) for each in shown] == [True, False, False]
    assert [each["command"] for each in shown] == ["make", "ls", "echo x"]
    given = overview(run.format("make"), tmp_path, approve=("make",))["operations"]
    assert given[0]["lacking"] is None


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    shown = overview(f"{CSL}\n<---WRITE--->\nx\n<---END--->\n", tmp_path)
    assert [each["invalid"] for each in shown["operations"]] == [False, True]
    broken = overview(f"{CSL}\n<---WRIT--->\n", tmp_path)
    assert broken["fatal"].startswith("Line 4: Unknown operation: WRIT")
    assert broken["operations"] == []


def test_a_binary_file_has_no_diff(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\0")
    (shown,) = overview(CSL, tmp_path)["operations"]
    assert (shown["hunks"], shown["rows"], shown["result"]) == (0, 0, "overwritten")


def test_the_words_of_the_page_are_those_of_a_plan() -> None:
    script = (files("clada.review") / "static" / "review.js").read_text(encoding="utf-8")
    words = dict(re.findall(r"(\w+): '([^']+)'", script.partition("const WOULD = {")[2].partition("}")[0]))
    results = {
        result: phrases.planned[0]
        for operation in map(find, OPERATIONS)
        if operation
        for result, phrases in operation.phrases.items()
    }
    assert words.keys() == results.keys()
    for result, phrase in results.items():
        assert f"({words[result]}" in phrase


def test_the_diff_of_a_secret_file_shows_no_value_that_it_held(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODE=one\nAPI_KEY=sk-abcdefgh\n")
    edit = '<---SEARCH file=".env"--->\nMODE=one\n<---REPLACE--->\nMODE=two\n<---END--->\n'
    diffs = str(overview(edit, tmp_path)["diffs"])
    assert "+MODE=two" in diffs
    assert "API_KEY=•••(.env:API_KEY)" in diffs
    assert "sk-abcdefgh" not in diffs
    assert "sk-abcdefgh" in str(overview(edit, tmp_path, reveal=(".env",))["diffs"])
