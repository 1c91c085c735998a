"""A newcomer's walk: an empty directory and a wheel, and then the first answer is applied, and taken back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools import release

MOST_SECONDS = 120  # of processor time, which other load does not stretch
WALK = r"""
set -eu
python3 -m venv venv
venv/bin/python -m pip install -q --no-deps "$WHEEL"   # it works without Pygments and markdown-it-py
PATH="$PWD/venv/bin:$PATH"
clada --version
mkdir project && cd project
printf 'def area(width, height):\n    return width * height\n' > shapes.py
clada prompt | head -n 1
cat > answer.md <<'ANSWER'
Sure! I add a check:

<---SEARCH file="shapes.py"--->
def area(width,height):
<---REPLACE--->
def area(width, height):
    assert width >= 0
<---END--->
ANSWER
clada answer.md || echo "exit code $?"
clada report | grep 'def area(width, height):'
sed -i.bak 's/width,height/width, height/' answer.md
clada plan answer.md | grep '^+'
clada answer.md
grep -c assert shapes.py
clada undo
grep -c assert shapes.py || true
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_an_empty_directory_to_a_first_applied_answer(tmp_path: Path) -> None:
    """As a script that a newcomer could have typed."""
    release.build(tmp_path / "release")
    (wheel,) = (tmp_path / "release").glob("*.whl")
    empty = tmp_path / "empty"
    empty.mkdir()
    before = os.times()
    done = subprocess.run(
        ["sh", "-c", WALK], cwd=empty, capture_output=True, text=True, check=False,
        env={"WHEEL": str(wheel), "HOME": str(empty), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
    )  # fmt: skip
    after = os.times()
    assert done.returncode == 0, done.stderr
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < MOST_SECONDS
    lines = done.stdout.splitlines()
    assert lines[0].startswith("clada ")
    assert lines[1].startswith("# How to change files")
    assert "found 0 matches, expected 1" in lines[2]
    assert "exit code 1" in lines
    assert "+    assert width >= 0" in lines
    assert "[task-1] SUCCESS: SEARCH - shapes.py (1 replacement at line 1)" in lines
    assert lines[-1] == "0"
