"""Start-up is a feature: what is not needed is not loaded."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

# Modules that take more than 3 ms to load, and that a plain edit does not need. Cheaper ones may be loaded.
HEAVY = set(
    """
    argparse ast asyncio csv dataclasses difflib html http inspect json logging mcp multiprocessing pathlib
    pickle pyarrow ray rich shutil socket sqlite3 subprocess tempfile tomllib typing urllib uuid xml
    """.split()
)
NEEDED_TO_RECORD = {"json", "sqlite3"}
PROGRAM = """
import os, sys
before = set(sys.modules)
from clada.cli import main
code = main(sys.argv[1:])
os.write(2, "\\n".join(set(sys.modules) - before).encode())
sys.exit(code)
"""
WRITE = b'Sure:\n<---WRITE file="notes/today.txt"--->\nhello\n<---END--->\n'


def loaded(shell: Shell, *arguments: str) -> set[str]:
    """Return the modules that a run loads beyond those of a bare start."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], input=WRITE, capture_output=True, check=True,
        cwd=shell.workspace, env=shell.environment,
    )  # fmt: skip
    return set(done.stderr.decode().split("\n"))


def test_the_version_loads_next_to_nothing(shell: Shell) -> None:
    ours = {name for name in loaded(shell, "--version") if name.startswith("clada")}
    assert ours == {"clada", "clada.cli", "clada.exit_codes", "clada.version"}


@pytest.mark.parametrize("arguments", [("--no-git",), ("--no-git", "--output-mode=buffer"), ("--help",)])
def test_a_plain_run_loads_nothing_heavy(shell: Shell, arguments: tuple[str, ...]) -> None:
    found = loaded(shell, *arguments)
    assert not {name.partition(".")[0] for name in found} & HEAVY


def test_a_recorded_run_loads_nothing_heavy(shell: Shell) -> None:
    subprocess.run(["git", "init", "-q"], cwd=shell.workspace, check=True)
    found = loaded(shell)
    assert "clada.world.record.recorder" in found
    assert {name.partition(".")[0] for name in found} & HEAVY <= NEEDED_TO_RECORD


def test_a_plain_write_loads_no_front_end_git_or_sandbox(shell: Shell) -> None:
    parts = ("clada.batch", "clada.mcp", "clada.review", "clada.world.git", "clada.world.sandbox")
    assert [name for name in loaded(shell, "--no-git") if name.startswith(parts)] == []


def test_colour_loads_nothing_heavy_either(shell: Shell) -> None:
    found = loaded(shell, "--no-git", "--color=always")
    assert "clada.cli.terminal" in found
    assert not {name.partition(".")[0] for name in found} & HEAVY


def test_names_are_utf_8_in_every_locale(shell: Shell) -> None:
    """File names and arguments are; and what commands see of the environment stays."""
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    document = (
        '<---WRITE file="é.txt"--->\nx\n<---END--->\n<---RUN--->\nsh -c \'echo "$PYTHONUTF8"\'\n<---END--->\n'
    )
    done = shell("--no-git", "--approve-all", "--sandbox=off", document=document, **locale)
    assert done.stdout.splitlines()[:2] == [
        "[task-1] SUCCESS: WRITE - é.txt (created, 2 bytes)",
        "[task-2:exec] 0",
    ]
    assert os.listdir(os.fsencode(shell.workspace)) == ["é.txt".encode()]
    assert shell("approvals", "add", "echo é", **locale).stdout == "approved: echo é\n"
    assert "allowed  echo é\n" in shell("approvals", "list", **locale).stdout


def test_importing_the_library_loads_next_to_nothing() -> None:
    program = "import sys; before = set(sys.modules); import clada; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout.replace("'", '"')) == ["clada", "clada.version"]


@pytest.mark.parametrize("waiting", ["pass", "atexit.register(print, 'end')", "import threading"])
def test_the_end_loses_nothing(waiting: str) -> None:
    """What was printed before is written, what is registered for the end is called, the exit code stays."""
    program = f"""if True:
        import atexit, sys
        print("begin")  # into a buffer, because it goes to a pipe
        {waiting}
        sys.argv[1:] = ["--no-such-flag"]
        from clada.cli import start
        start()"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert done.stdout.split() == (["begin", "end"] if "end" in waiting else ["begin"])
    assert done.stderr.startswith("clada: ")
