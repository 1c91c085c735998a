"""Many edits of one file, end to end: with an index, each does what it does without one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import clada
from clada.text import indexed
from clada.text.indexed import IndexedText

if TYPE_CHECKING:
    from pathlib import Path

    from clada.text.match import Matches

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


@pytest.mark.parametrize("document", _documents())
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_index_changes_nothing_that_anybody_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document: str, *, dry_run: bool
) -> None:
    """The report, with lines, counts and explanations, and the file."""
    seen, used = [], []
    original = IndexedText.locate

    def locate(self: IndexedText, search: bytes, limit: int | None = None) -> Matches:
        used.append(search)
        return original(self, search, limit)

    monkeypatch.setattr(IndexedText, "locate", locate)
    for worth_it in (1 << 40, 0):
        monkeypatch.setattr(indexed, "WORTH_IT", worth_it)
        path = tmp_path / "large.txt"
        path.write_text("".join(f"line {number} of the file {number}\n" for number in range(60)))
        report = clada.execute(document, workspace=str(tmp_path), record="none", dry_run=dry_run)
        seen.append((report.text(), path.read_text(), report.changes))
        assert bool(used) == (worth_it == 0)
    assert seen[0] == seen[1]
