"""`make demo` and the picture: they run, show what they should, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(path: Path, *words: str) -> str:
    """Run a tool with nothing of ours in its environment, and return what it prints."""
    environment = {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
        "TMPDIR": str(path),
        "GIT_DIR": str(path / "trap"),  # what a hook or an alias would pass on
    }
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    return done.stdout


def test_the_demo_shows_the_main_job(tmp_path: Path) -> None:
    """The reader sees the answer, the lines, the explained failure, the diff, the commits, and undo."""
    shown = run(tmp_path, "bash", str(ROOT / "tools" / "demo"))
    for text in (
        "Good idea! I add a `perimeter` function",
        "[task-1.1] SUCCESS: SEARCH - shapes.py (1 replacement at line 6)",
        "[task-1.3] SUCCESS: RUN - python3 -B -m unittest (exit 0)",
        "[task-2] ERROR: SEARCH - shapes.py: match_count_mismatch: found 0 matches, expected 1; ",
        "  |   <---SEARCH",
        '+    """Return the perimeter of a rectangle."""',
        "[clada:post] ",
        "[clada:pre] ",
        "undone: run 1 (1 of 2 edits, 1 write, 1 run: shapes.py, ",
    ):
        assert text in shown
    assert "\x1b" not in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("run", "match_count_mismatch"),
        ("tutorial", "python3&#160;test_shapes.py"),
        ("mcp", "May&#160;this&#160;command&#160;run?"),
    ],
)
def test_the_pictures_show_runs(name: str, shown: str) -> None:
    """Each is an SVG that loads nothing from elsewhere."""
    drawn = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg ")
    assert shown in drawn
    assert "url(http" not in drawn.replace('"', "").replace("'", "")
