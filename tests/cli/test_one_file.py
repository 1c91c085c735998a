"""clada.pyz, the one-file build: by a bare Python, with an empty home, without any other package."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Screen
from tools.build_pyz import build

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

BARE = (sys.executable, "-S", "-I")
ANSWER = (
    'Sure:\n<---WRITE file="a.txt"--->\nold\n<---END--->\n'
    '<---SEARCH file="a.txt"--->\nold\n<---REPLACE--->\nnew\n<---END--->\n'
    "<---RUN--->\nsh -c 'cat a.txt'\n<---END--->\n"
)


@pytest.fixture(scope="module", params=["compiled", "not compiled for this Python"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pyz") / "clada.pyz"
    build(target, {sys.version_info[:2]: sys.executable} if request.param == "compiled" else {})
    return target


@pytest.fixture
def pyz(built: Path, shell: Shell) -> Path:
    """Return the file, which lies in the workspace, as one that was just downloaded."""
    target = shell.workspace / "clada.pyz"
    shutil.copy2(built, target)
    return target


def run(shell: Shell, *words: str, document: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BARE, "clada.pyz", *words],
        cwd=shell.workspace,
        env={"HOME": str(shell.home), "PATH": os.environ["PATH"]},
        input=document,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_answer_is_applied_recorded_and_undone(shell: Shell, pyz: Path) -> None:
    shell.write("answer.md", ANSWER)
    done = run(shell, "answer.md", "--approve=sh -c 'cat a.txt'")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:4] == [
        "[task-1] SUCCESS: WRITE - a.txt (created, 4 bytes)",
        "[task-2] SUCCESS: SEARCH - a.txt (1 replacement at line 1)",
        "[task-3:exec] new",
        "[task-3] SUCCESS: RUN - sh -c 'cat a.txt' (exit 0)",
    ]
    assert run(shell, "undo").returncode == 0
    assert sorted(os.listdir(shell.workspace)) == ["answer.md", pyz.name]


def test_prompts_schemas_and_colour_work(shell: Shell, pyz: Path) -> None:
    assert pyz.exists()
    assert run(shell, "prompt", "csl").stdout.startswith("# How to change files")
    assert run(shell, "prompt", "json").stdout.count("{") > 5
    assert json.loads(run(shell, "plan", "--json", document=ANSWER).stdout)["schema"] == "clada.report/1"
    assert run(shell, "plan", "--html=plan.html", document=ANSWER).returncode == 0
    assert "a.txt" in (shell.workspace / "plan.html").read_text(encoding="utf-8")
    done = run(shell, "--no-git", "--color=always", document=ANSWER)
    assert "\x1b[1;32mSUCCESS:\x1b[0m WRITE" in done.stdout


def test_a_batch_runs(shell: Shell, pyz: Path) -> None:
    (shell.workspace / "w").mkdir()
    job = {"id": 1, "path": "w", "document": ANSWER.partition("<---RUN")[0]}
    shell.write("jobs.jsonl", json.dumps(job))
    done = run(shell, "batch", "jobs.jsonl", "--out=results.jsonl")
    assert done.returncode == 0, done.stderr
    (result,) = map(json.loads, (shell.workspace / "results.jsonl").read_text().splitlines())
    assert result["status"] == "applied"
    assert pyz.exists()


def test_what_needs_a_package_says_which(shell: Shell, pyz: Path) -> None:
    assert pyz.exists()
    done = run(shell, "mcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'clada[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_document_replaces_the_file_that_runs(shell: Shell, pyz: Path) -> None:
    """Its modules are loaded one after the other: another file there would be executed."""
    before = pyz.read_bytes()
    done = run(shell, "--no-git", document='<---WRITE file="clada.pyz"--->\nx\n<---END--->\n')
    assert done.returncode == 1
    assert "permission_denied" in done.stdout
    assert pyz.read_bytes() == before


def test_questions_are_asked_in_colour_on_a_terminal(shell: Shell, pyz: Path) -> None:
    assert pyz.exists()
    shell.write("answer.md", '<---WRITE file="日本.txt"--->\nold\n<---END--->\n')
    screen = Screen([*BARE, "clada.pyz", "--confirm", "--no-git", "answer.md"], shell)
    try:
        screen.until("Execute this?")
        screen.type("y")
        code, seen = screen.end()
    finally:
        screen.close()
    assert code == 0, seen
    assert "\x1b[1;32mSUCCESS:\x1b[0m WRITE - 日本.txt (created, 4 bytes)\r\n" in seen


def test_an_old_python_is_told_which_one_is_needed(built: Path) -> None:
    """The first lines are for all Pythons, and say it to those that cannot read the others."""
    main = zipfile.ZipFile(built).read("__main__.py").decode()
    old = main.replace("sys.version_info < (3, 11)", "sys.version_info < (99, 0)")
    done = subprocess.run([*BARE, "-c", old], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("clada needs Python 3.11 or newer; this is Python 3.")
