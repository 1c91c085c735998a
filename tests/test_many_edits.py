"""Many edits of one file in a row: each does what it does in a run of its own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import clada

if TYPE_CHECKING:
    from pathlib import Path


def _documents() -> list[list[str]]:
    """Return documents of many edits, some of which fail: what they say of that has to be the same, too."""
    chance = random.Random(7)
    made = []
    for _ in range(6):
        tasks = []
        for number in range(30):
            line = chance.randrange(60)
            search = chance.choice(
                [f"line {line} of", f"of the file {line}", "line 7", f"line {line} of\nnothing"]
            )
            to = f"<---TO--->\nfile {line}\n" if chance.random() < 0.2 and "nothing" not in search else ""
            count = chance.choice(["", "", ' count="all"'])
            new = chance.choice([f"row {number}", "line 7", f"line {chance.randrange(60)} of\nthe file"])
            tasks.append(
                f'<---SEARCH file="large.txt"{count}--->\n{search}\n{to}<---REPLACE--->\n{new}\n<---END--->\n'
            )
        made.append(tasks)
    return made


def _blocks() -> list[list[str]]:
    """Return the same as search/replace blocks, of whole lines: once, twice, nowhere, indented otherwise."""
    chance = random.Random(11)
    made = []
    for _ in range(6):
        blocks = []
        for number in range(30):
            line = chance.randrange(60)
            whole = f"line {line} of the file {line}"
            search = chance.choice(
                [whole, whole, f"{whole}\n{whole}", f"  {whole}", f"line {line} of", "row"]
            )
            new = chance.choice([f"row {number}", "row", whole, f"{whole}\n{whole}", ""])
            blocks.append(
                f"large.txt\n<<<<<<< SEARCH\n{search}\n=======\n{new}\n>>>>>>> REPLACE\n\n".replace(
                    "\n\n>>", "\n>>"
                )
            )
        made.append(blocks)
    return made


@pytest.mark.parametrize("edits", [*_documents(), *_blocks()])
def test_many_edits_in_a_row_are_as_each_by_itself(tmp_path: Path, edits: list[str]) -> None:
    """The outcome of each, with lines, counts and explanations, and the file."""
    results = []
    for documents in (["".join(edits)], edits):
        path = tmp_path / "large.txt"
        path.write_text("".join(f"line {number} of the file {number}\n" for number in range(60)))
        reports = [clada.execute(each, workspace=str(tmp_path), record="none") for each in documents]
        outcomes = [task.outcome for report in reports for task in report.tasks]
        results.append((outcomes, path.read_text()))
    assert results[0] == results[1]
