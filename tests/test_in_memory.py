"""What tools/in-memory runs is run as it would be without, wherever it lies."""

from __future__ import annotations

import subprocess
from pathlib import Path

IN_MEMORY = str(Path(__file__).parents[1] / "tools" / "in-memory")


def test_a_command_has_its_arguments_and_its_exit_code() -> None:
    """As if it were started by itself."""
    argv = [str(IN_MEMORY), "/bin/sh", "-c", 'printf %s "$1"; exit 3', "sh", "a  b"]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert (done.stdout, done.returncode) == (b"a  b", 3)


def test_a_command_in_a_temporary_folder_is_found(tmp_path: Path) -> None:
    """That folder is left where it is, then."""
    (tmp_path / "tool").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "tool").chmod(0o755)
    done = subprocess.run([IN_MEMORY, "./tool"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"{tmp_path}\n", done.stderr
