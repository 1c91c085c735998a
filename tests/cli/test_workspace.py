"""A directory that can be no workspace is a mistake in the call: told before anything is read or tried."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.messages import headline
from tests.programs import skip_without

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="hooks/pre-commit"--->\nhi\n<---END--->\n'
INSIDE = [(), ("--no-git",), ("--dry-run",), ("plan",), ("undo",), ("history",), ("approvals", "add", "x")]


def run_script(shell: Shell, script: str, *, plain: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a script in the workspace, in which $CLADA is clada; as a user without special rights, if so."""
    argv = ["sh", "-c", script]
    if plain and os.geteuid() == 0:
        skip_without("setpriv")
        argv = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *argv]
    environment = {**shell.environment, "CLADA": f"{sys.executable} -m clada"}
    return subprocess.run(
        argv, cwd=shell.workspace, env=environment, input=WRITE, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("arguments", INSIDE, ids=" ".join)
@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_what_is_no_directory(shell: Shell, arguments: tuple[str, ...], name: str) -> None:
    shell.write("file", "")
    done = shell(*arguments, f"--workspace={name}", document=WRITE)
    assert (done.returncode, done.stdout) == (2, "")
    assert headline(done.stderr) == f"clada: --workspace: {name} is not a directory\n"


@pytest.mark.parametrize("arguments", INSIDE, ids=" ".join)
@pytest.mark.parametrize("name", [".git", ".git/info", "sub/.GIT", ".clada/x", "link"])
def test_a_directory_of_git_or_of_clada_itself(
    repository: Shell, arguments: tuple[str, ...], name: str
) -> None:
    place = repository.workspace / name
    if name == "link":
        place.symlink_to(".git/info")
    place.mkdir(parents=True, exist_ok=True)
    before = sorted(repository.workspace.rglob("*"))
    done = repository(*arguments, f"--workspace={name}", document=WRITE)
    assert (done.returncode, done.stdout) == (2, "")
    assert headline(done.stderr).startswith(
        f"clada: --workspace: {place.resolve()} is in a directory that is protected"
    )
    assert sorted(repository.workspace.rglob("*")) == before


def test_a_current_directory_that_was_removed_is_named(shell: Shell) -> None:
    gone = shell.workspace / "gone"
    for command in ("", "--no-git", "undo", "history", "approvals"):
        done = run_script(shell, f"mkdir gone; cd gone; rmdir ../gone; exec $CLADA {command}")
        assert (done.returncode, done.stdout) == (2, "")
        assert headline(done.stderr) == f"clada: --workspace: {gone} has been removed\n"


def test_doctor_finds_that_the_current_directory_was_removed(shell: Shell) -> None:
    done = run_script(shell, "mkdir gone; cd gone; rmdir ../gone; exec $CLADA doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"broken  workspace      {shell.workspace / 'gone'} has been removed" in done.stdout


@pytest.mark.parametrize("mode", ["000", "100"])
def test_a_directory_without_permission_is_named_with_the_cause(shell: Shell, mode: str) -> None:
    closed = shell.workspace / "closed"
    for command in ("", "--no-git", "history"):
        done = run_script(
            shell, f"mkdir -p closed; cd closed; chmod {mode} .; exec $CLADA {command}", plain=True
        )
        closed.chmod(0o755)
        assert (done.returncode, done.stdout) == (2, "")
        assert headline(done.stderr) == f"clada: --workspace: {closed} cannot be opened: permission denied\n"
