"""Answers in several formats: the plan, its blocks and lines, and what is made of it later."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import clada
from clada.convert import convert

if TYPE_CHECKING:
    from pathlib import Path

EDIT = "a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n"
CSL = '<---WRITE file="b.txt"--->\nhi\n<---END--->\n'
TASKS = f'<---TASKS atomic="true"--->\n{CSL}{CSL.replace("b.txt", "c.txt")}<---END--->\n'
PATCH = "*** Begin Patch\n*** Add File: d.txt\n+new\n*** End Patch\n"
FILE = "**e.py**\n```python\ny = 1\n```\n"


def _dialects(plan: clada.Plan) -> list[str]:
    return [getattr(item, "dialect", "") for block in plan.blocks for item in block.operations]


def test_the_first_operation_decides_the_notation() -> None:
    """Each operation keeps its own dialect, and its line in the document."""
    plan = clada.parse(f"{EDIT}\n{CSL}\n{PATCH}\n{FILE}")
    assert (plan.notation, _dialects(plan)) == ("sr", ["sr", "", "v4a", "whole"])
    assert [block.line for block in plan.blocks] == [3, 10, 14, 20]
    assert clada.parse(f"{CSL}\n{EDIT}").notation == "csl"


def test_a_block_of_csl_stays_one_beside_others() -> None:
    """Its attributes count, too."""
    plan = clada.parse(f"{EDIT}\n{TASKS}\n{PATCH}")
    assert [(block.implicit, block.atomic, len(block.operations)) for block in plan.blocks] == [
        (True, False, 1),
        (False, True, 2),
        (False, False, 1),
    ]


def test_an_empty_block_of_csl_beside_others_is_read() -> None:
    """It has no operation that could be about the file that others write and edit."""
    plan = clada.parse(f"<---TASKS--->\n<---END--->\n{FILE}\n{EDIT}")
    assert (plan.fatal, _dialects(plan)) == (None, ["whole", "sr"])


def test_delimiters_of_ones_own_are_known_beside_others() -> None:
    """And the usual ones are prose then."""
    own = CSL.replace("<---", "[[[").replace("--->", "]]]")
    plan = clada.parse(f"{EDIT}\n{own}", start_delimiter="[[[", end_delimiter="]]]")
    assert (plan.ok, _dialects(plan)) == (True, ["sr", ""])


def test_csl_among_fences_gives_the_plan_that_it_gives_alone() -> None:
    """The two ways in which CSL is read say the same, for good documents and bad ones."""
    fence = "```python\nprint()\n```\n"
    for text in (CSL, TASKS, CSL + TASKS, CSL[:-5], TASKS[:-14], f"<---END--->\n{CSL}", f"{CSL}<---X--->\n"):
        alone, among = clada.parse(f"\n\n\n{text}", "csl"), clada.parse(f"{fence}{text}")
        assert among.fatal == alone.fatal, text
        blocks = [block.to_dict() for block in among.blocks]
        assert blocks == [block.to_dict() for block in alone.blocks], text


@pytest.mark.parametrize("cut", range(1, len(EDIT + CSL + PATCH) + 1, 3))
def test_a_document_cut_off_anywhere_is_never_half_carried_out(cut: int, tmp_path: Path) -> None:
    """Files are as they were, or as the whole operations before the cut make them."""
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    clada.execute((EDIT + CSL + PATCH)[:cut], workspace=tmp_path, git=False)
    found = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    whole = {"a.py": ("x = 1\n", "x = 2\n"), "b.txt": ("hi\n",), "d.txt": ("new\n",)}
    assert all(found[name] in whole[name] for name in found), found


def test_a_mixed_answer_is_converted_as_a_whole(tmp_path: Path) -> None:
    """What is printed gives the same tree."""
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    settings = clada.Settings(str(tmp_path), record="none")
    converted = convert(clada.parse(f"{EDIT}\n{CSL}\n{PATCH}"), "json", settings)
    assert not converted.notes
    assert clada.execute(converted.text, settings=settings).ok
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "x = 2\n"
    assert (tmp_path / "d.txt").exists()


def test_a_mixed_answer_is_resumed(tmp_path: Path) -> None:
    """What was done is not done again."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    document = f"{CSL}\n{EDIT}\n{PATCH}"
    first = clada.execute(document, workspace=tmp_path, record="snapshots")
    assert [task.status for task in first.tasks] == ["success", "error", "success"]
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    again = clada.resume(tmp_path)
    assert [task.status for task in again.tasks] == ["skipped", "success", "skipped"]
    assert again.ok
