"""tools/without-optional-programs hides the optional programs from a command, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = str(ROOT / "tools" / "without-optional-programs")
ROWS = (ROOT / "requirements" / "programs.txt").read_text().splitlines()
OPTIONAL = [row.split()[0] for row in ROWS if not row.startswith("#")]
CANNOT = 125
# Prints which of the programs named after it are found: by Python, by sh, and by clada.
FIND = """
import json, shutil, subprocess, sys
from clada.errors import CladaError
from clada.world.processes.run import find_program

def found_by_clada(name):
    try:
        return bool(find_program(name))
    except CladaError as trouble:
        assert "is not installed" in str(trouble), trouble
        return False

def found_by_sh(name):
    return subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True).returncode == 0

ways = (shutil.which, found_by_sh, found_by_clada)
print(json.dumps([[name for name in sys.argv[1:] if way(name)] for way in ways]))
"""


def run(*command: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command by the tool, with a directory before those of PATH; skip where that is not possible."""
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}
    done = subprocess.run([TOOL, *command], env=environment, capture_output=True, text=True, check=False)
    if "no mount namespace can be made here" in done.stderr:
        pytest.skip("no mount namespace can be made here")
    return done


def test_optional_programs_are_not_found_and_others_are() -> None:
    """Neither by Python nor by the shell nor by clada, wherever they are installed."""
    ordinary = ["cat", "git", "ls", "sh"]
    done = run(sys.executable, "-c", FIND, *OPTIONAL, *ordinary)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [ordinary] * 3


def test_a_program_in_any_directory_of_the_path_is_hidden(tmp_path: Path) -> None:
    """Also behind a link, and with a blank in the path; outside of the command, it is there as before."""
    folder = tmp_path / "with blank"
    folder.mkdir()
    (folder / "real").write_text("#!/bin/sh\necho started\n")
    (folder / "real").chmod(0o755)
    (folder / "tree").symlink_to("real")
    assert run("sh", "-c", "command -v tree", path=str(folder)).stdout == ""
    started = run("sh", "-c", "tree", path=str(folder))
    assert (started.stdout, started.returncode in (126, 127)) == ("", True)  # shells differ
    assert subprocess.run([str(folder / "tree")], capture_output=True, check=True).stdout == b"started\n"


def test_a_command_has_its_arguments_its_user_and_its_exit_code() -> None:
    """As if it were started by itself."""
    done = run("sh", "-c", 'printf %s "$1 $(id -u)"; exit 3', "sh", "a  b")
    assert (done.stdout, done.returncode) == (f"a  b {os.getuid()}", 3)


def test_nothing_is_run_where_programs_cannot_be_hidden(tmp_path: Path) -> None:
    """A check that sometimes checks nothing would go unnoticed."""
    (tmp_path / "unshare").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([TOOL, "echo", "run"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (CANNOT, "")
    assert "no mount namespace can be made here" in done.stderr
