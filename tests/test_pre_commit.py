"""The hook of .pre-commit-hooks.yaml refuses stray answers, reports and markers, and nothing else."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import clada
from clada.pre_commit import find_leftover

ROOT = Path(__file__).parents[1]
EDIT = '<---SEARCH file="a.py"--->\nold\n<---REPLACE--->\nnew\n<---END--->\n'
REPORT = clada.execute(EDIT, workspace=str(ROOT / "docs"), dry_run=True, git=False).text(for_llm=True)
REFUSED = {
    "answer.md": f"Sure!\n\n{EDIT}",
    "a.py": "x = 1\n<---END--->\n",
    "windows.py": "x = 1\r\n>>>>>>> REPLACE\r\n",
    "sr.txt": "a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n",
    "patch.txt": "*** Begin Patch\n*** End Patch\n",
    "after.md": f"```text\nx\n```\n{EDIT}",
    "answer.report.md": REPORT,
    "prompt.md": clada.instructions("csl"),
}
FINE = {
    "page.md": f"An example:\n\n```csl\n{EDIT}```\n\n~~~\n*** Begin Patch\n~~~\n",
    "nested.md": f"````md\n```csl\n{EDIT}```\n{EDIT}````\n",
    "test.py": f"TEXT = '''\\\n  {EDIT.splitlines()[0]}\n'''\n",
    "conflict.txt": "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> branch\n",
    "empty": "",
    "binary": "\0\1\2",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_with_leftovers_is_refused(name: str) -> None:
    found = find_leftover(name, REFUSED[name].encode())
    assert found
    assert found.startswith(name)


@pytest.mark.parametrize("name", FINE)
def test_a_file_without_leftovers_is_accepted(name: str) -> None:
    assert find_leftover(name, FINE[name].encode()) is None


def test_the_line_of_a_marker_is_named() -> None:
    assert find_leftover("a.md", REFUSED["after.md"].encode()) == (
        'a.md:4: marker of an answer: <---SEARCH file="a.py"--->'
    )


def test_the_hook_runs_as_the_file_says(tmp_path: Path) -> None:
    (line,) = re.findall(r"entry: python (.+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    for name, content in {**REFUSED, **FINE}.items():
        (tmp_path / name).write_text(content)
    command = [sys.executable, *line.split()]
    done = subprocess.run(
        [*command, *REFUSED, *FINE, "gone"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [*REFUSED, "gone"]
    assert subprocess.run([*command, *FINE], cwd=tmp_path, check=False).returncode == 0
