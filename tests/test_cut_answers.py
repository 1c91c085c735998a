"""An answer that is cut anywhere leaves each file as it was, or as the whole answer leaves it: no half files.

These are the answers of tests/answers in a dialect with one operation, which succeeds: each is cut, and what
is left is carried out on the tree that it is for.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cutting import cuts
from tests.test_atomic import tree

import clada
from clada.notations.registry import NOTATIONS

ANSWERS = Path(__file__).parent / "answers"
STEP = 17  # bytes between two cuts, besides those at the ends of lines
# Only the end of these shows that a line of the content looks like the end.
LATE = {"v4a-end-as-context", "whole-fence-left-over"}
IN_A_TEXT = {
    "a docstring": 'gen.py\n```python\n"""Generate.\n\n```\ngen a b\n```\n"""\nx = 1\n```\n',
    "a comment": "a.js\n```js\n/*\nUsage:\n```\nnode a.js\n```\n*/\nrun()\n```\n",
    "a block scalar": "form.yml\n```yaml\nbody:\n- value: |\n  ```\n  trace\n  ```\n- type: input\n```\n",
}


def _with_one_operation() -> list[str]:
    """Return the answers that ask for one thing in a dialect."""
    found = []
    for folder in sorted(ANSWERS.iterdir()):
        if folder.name in LATE or "\n$ " in (folder / "expected").read_text(encoding="utf-8"):
            continue
        plan = clada.parse((folder / "answer.md").read_bytes())
        if any(note.endswith("left out") for note in plan.notes):
            continue  # a log that ends before the result of a call does not know that it failed
        dialect = plan.notation and NOTATIONS[plan.notation].rank
        if dialect and plan.ok and sum(len(block.operations) for block in plan.blocks) == 1:
            found.append(folder.name)
    return found


NAMES = _with_one_operation()


def test_there_are_answers_to_cut() -> None:
    """Nothing is proved by a folder that is empty or was moved."""
    assert len(NAMES) >= 120


@pytest.mark.parametrize("name", NAMES)
def test_no_half_of_a_file_is_written(name: str, tmp_path: Path, *, is_whole: bool) -> None:
    """Wherever the answer is cut; a sample is cut at the ends of lines, and between."""
    answer = (ANSWERS / name / "answer.md").read_bytes()
    before = ANSWERS / name / "before"
    left = _left(answer, before, tmp_path / "whole")
    unchanged = _left(b"", before, tmp_path / "none")
    for cut in cuts(answer, len(name), 1 if is_whole else STEP):
        part = answer[:cut].decode(errors="ignore").encode()
        assert _left(part, before, tmp_path / str(cut)) in (unchanged, left), cut


def _left(document: bytes, before: Path, workspace: Path) -> object:
    """Return the tree after a document was carried out."""
    if before.exists():
        shutil.copytree(before, workspace)
    else:
        workspace.mkdir()
    clada.execute(document, workspace=workspace, record="none")
    return tree(workspace)


@pytest.mark.parametrize("what", IN_A_TEXT)
def test_a_file_that_a_fence_in_it_would_end_is_not_written_by_halves(what: str) -> None:
    """Not even where the answer is cut right behind that fence."""
    text = IN_A_TEXT[what]
    plans = [clada.parse(text[:cut]) for cut in range(len(text) + 1)]
    assert not any(block.valid and block.operations for plan in plans for block in plan.blocks)
