"""What is no answer is not taken for one: our own pages, and the manuals of what is installed here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import clada
from clada.notations.registry import NOTATIONS

ROOT = Path(__file__).parents[2]
JUDGED = Path(__file__).with_name("manuals.txt")
OURS = ROOT / ".venv"
PLACES = (OURS, Path("/usr/share"), Path("/usr/lib"), Path("/usr/local/lib"))
LEAST = 300
MOST_IN_A_HUNDRED = 1


def _pages() -> list[Path]:
    """Return the pages that are installed."""
    pages = (
        Path(folder, name)
        for top in PLACES
        for folder, _folders, names in os.walk(top)
        for name in names
        if name.lower().endswith((".md", ".markdown", ".mdx"))
    )
    return list(pages)


def _dialect(plan: clada.Plan) -> str | None:
    """Return the dialect in which operations are found in a page, other than those that are asked about."""
    rank = NOTATIONS[plan.notation].rank if plan.notation else 0
    items = [item for block in plan.blocks for item in block.operations]
    found = any(getattr(item, "named_in", "") != "sentence" for item in items)
    return plan.notation if rank and found and not plan.fatal else None


def _judged() -> list[list[str]]:
    """Return the pages that were looked at: the end of a path, the dialect, and what is in it."""
    return [line.split(" | ") for line in JUDGED.read_text(encoding="utf-8").splitlines() if line[0] != "#"]


def _new(found: dict[str, str]) -> dict[str, str]:
    """Return the pages that nobody has looked at, and those in a dialect of rank 1."""
    judged = {(end, dialect) for end, dialect, _what in _judged() if NOTATIONS[dialect].rank > 1}
    return {
        path: dialect
        for path, dialect in found.items()
        if not any(path.endswith(end) and dialect == known for end, known in judged)
    }


def test_our_own_pages_ask_for_nothing_but_files_that_they_name() -> None:
    """Though they show all formats."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 10
    assert (
        _new({str(path): dialect for path in pages if (dialect := _dialect(clada.parse(path.read_bytes())))})
        == {}
    )


def test_operations_in_the_content_of_a_written_file_are_not_carried_out() -> None:
    """What stands outside of the file is."""
    call = "<execute_command>\n<command>{}</command>\n</execute_command>\n"
    file = f"docs/x.md\n````md\nSee:\n{call.format('ls')}````\n"
    both = f"{file}\n{call.format('pwd')}"
    for text, asked in ((file, ["docs/x.md"]), (both, ["docs/x.md", "pwd"])):
        plan = clada.parse(text)
        assert [item.target for block in plan.blocks for item in block.operations] == asked
        assert plan.source == text.encode()
    assert clada.parse(file[:-5]).fatal  # the file is not closed


@pytest.mark.slow
def test_manuals_are_rarely_taken_for_answers() -> None:
    """Nothing is in a dialect of rank 1; one page in a hundred is in one of rank 2, and one cannot be read.

    What is installed differs: a page that manuals.txt does not have counts like all others. Those of the
    packages that we install ourselves are known.
    """
    pages = {path.parts[-3:]: path for path in _pages()}.values()  # of several versions, one
    if len(pages) < LEAST:
        pytest.skip(f"{len(pages)} pages are installed here, and {LEAST} are needed")
    plans = {str(path): clada.parse(path.read_bytes()) for path in pages}
    found = {path: dialect for path, plan in plans.items() if (dialect := _dialect(plan))}
    fatal = [path for path, plan in plans.items() if plan.fatal]
    assert [path for path, dialect in found.items() if NOTATIONS[dialect].rank == 1] == []
    assert len(found) * 100 <= len(pages) * MOST_IN_A_HUNDRED, _new(found)
    assert len(fatal) * 100 <= len(pages) * MOST_IN_A_HUNDRED, fatal
    assert [path for path in _new(found) if path.startswith(str(OURS))] == []
