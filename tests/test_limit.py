"""A test that hangs fails, by the limit that pyproject.toml sets, and the tests after it still run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SETTINGS = Path(__file__).parents[1] / "pyproject.toml"
HANGING = """
import subprocess, time
def test_that_sleeps():
    time.sleep(3600)
def test_that_waits_for_a_process():
    subprocess.run(["sleep", "3600"])
def test_that_is_quick():
    pass
"""


def test_every_test_has_a_limit(pytestconfig: pytest.Config) -> None:
    """Of a few minutes at most."""
    assert 0 < float(pytestconfig.getini("timeout")) <= 180


def test_a_test_that_hangs_fails(tmp_path: Path) -> None:
    """By the same settings, but for a limit that is smaller for the sake of time."""
    (tmp_path / "test_hanging.py").write_text(HANGING)
    done = subprocess.run(
        [sys.executable, *"-m pytest -q -o timeout=1 -c".split(), SETTINGS, "test_hanging.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("FF."), done.stdout + done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("E  ")]  # and not the summary
    assert sum("Failed: Timeout (>1.0s) from pytest-timeout." in line for line in shown) == 2, done.stdout
    assert done.returncode == 1
