"""Many edits of one file, end to end: with an index, each does what it does without one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import clada
from clada.text import finder, indexed

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("ahocorasick_rs", reason="there is no index without ahocorasick-rs")


def _documents() -> list[str]:
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
        made.append("".join(tasks))
    return made


def _blocks() -> list[str]:
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
        made.append("".join(blocks))
    return made


@pytest.mark.parametrize("document", [*_documents(), *_blocks()])
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_index_changes_nothing_that_anybody_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str, *, dry_run: bool
) -> None:
    """The report, with lines, counts and explanations, and the file."""
    seen, used = [], []
    original = finder.Finder.find_all

    def find_all(self: finder.Finder, data: bytes) -> dict[bytes, list[int] | None]:
        used.append(data)
        return original(self, data)

    monkeypatch.setattr(finder.Finder, "find_all", find_all)
    for worth_it in (1 << 40, 0):
        monkeypatch.setattr(indexed, "WORTH_IT", worth_it)
        path = tmp_path / "large.txt"
        path.write_text("".join(f"line {number} of the file {number}\n" for number in range(60)))
        report = clada.execute(document, workspace=str(tmp_path), record="none", dry_run=dry_run)
        seen.append((report.text(), path.read_text(), report.changes))
        assert bool(used) == (worth_it == 0)
    assert seen[0] == seen[1]
