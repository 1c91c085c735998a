"""A program of PATH can be run in the sandbox, also where it stands in the temporary directory."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import pytest

import clada
from clada.world.sandbox.layers import has_bubblewrap

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(not has_bubblewrap(), reason="bubblewrap is not installed, or does not work here")
def test_an_environment_in_the_temporary_folder_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What /tmp holds is hidden, but not the programs that PATH names there, with their library."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.makedirs(f"{folder}/venv/bin")
        with open(f"{folder}/venv/library", "w", encoding="utf-8") as file:
            file.write("found")
        program = f"{folder}/venv/bin/tool-of-mine"
        with open(program, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\ncat "$(dirname "$0")/../library"\n')
        os.chmod(program, 0o755)
        os.chmod(folder, 0o755)
        monkeypatch.setenv("PATH", f"{folder}/venv/bin:{os.environ['PATH']}")
        lines: list[str] = []
        report = clada.execute(
            clada.parse("<---RUN--->\ntool-of-mine\n<---END--->\n"),
            workspace=str(tmp_path),
            git=False,
            approve=["tool-of-mine"],
            on_event=lambda event: lines.extend(getattr(event, "lines", ())),
        )
    assert report.ok, report.tasks
    assert report.tasks[0].confinement == "bubblewrap"
    assert "found" in lines
