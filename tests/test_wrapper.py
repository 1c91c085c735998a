"""The wrapper in Node of examples/: it follows a run by its events."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.programs import needs

WRAPPER = Path(__file__).parents[1] / "examples" / "wrapper.mjs"
ANSWER = """\
<---WRITE file="a.txt"--->
hello
<---END--->
<---RUN--->
cat a.txt
cat missing.txt
<---END--->
"""


@needs("node")
def test_a_wrapper_in_node_follows_a_run(tmp_path: Path) -> None:
    """It prints what happens, and knows how the run ended."""
    clada = tmp_path / "clada"
    clada.write_text(f'#!/bin/sh\nexec {sys.executable} -m clada --no-git "$@"\n')
    clada.chmod(0o755)
    workspace = tmp_path / "work"
    workspace.mkdir()
    done = subprocess.run(
        ["node", str(WRAPPER), str(workspace)],
        input=ANSWER,
        env={**os.environ, "CLADA": str(clada)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "exit code 1" in done.stderr  # which is clada's own
    lines = done.stdout.splitlines()
    assert lines[:2] == ["> write a.txt", "success a.txt"]
    assert "  hello" in lines
    assert "error cat a.txt" in lines
    assert (workspace / "a.txt").read_text() == "hello\n"
