"""Ordinary work goes on inside: small real projects are built and tested in each layer, without network."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.programs import needs
from tests.world.test_sandbox import EVERY, PREFIXES, Place, layer_mark, place
from tests.world.test_sandbox_nested import git

import clada

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["place"]

C = {
    "Makefile": (
        "CFLAGS = -O1 -Wall\n"
        "app: main.o sum.o\n\t$(CC) -o $@ $^\n"
        "%.o: %.c sum.h\n\t$(CC) $(CFLAGS) -c -o $@ $<\n"
        '.PHONY: test\ntest: app\n\ttest "$$(./app 40 2)" = 42 && echo all is well\n'
    ),
    "sum.h": "int sum(int, int);\n",
    "sum.c": '#include "sum.h"\nint sum(int a, int b) { return a + b; }\n',
    "main.c": (
        '#include <stdio.h>\n#include <stdlib.h>\n#include "sum.h"\n'
        'int main(int n, char **v) { printf("%d\\n", sum(atoi(v[1]), atoi(v[2]))); return n != 3; }\n'
    ),
}  # fmt: skip
NODE = {
    "package.json": '{"name": "small", "version": "1.0.0", "scripts": {"pretest": "node check.js", '
    '"test": "node test.js"}}',
    "check.js": "require('fs').accessSync('lib/sum.js'); console.log('checked')\n",
    "lib/sum.js": "module.exports = (a, b) => a + b\n",
    "test.js": (
        "const assert = require('assert'), {execFileSync} = require('child_process')\n"
        "const fs = require('fs'), os = require('os'), path = require('path')\n"
        "assert.strictEqual(require('./lib/sum')(40, 2), 42)\n"
        "const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'x-'))\n"
        "fs.writeFileSync(path.join(folder, 'y'), 'z')\n"
        "assert.strictEqual(execFileSync(process.execPath, ['-p', '6 * 7']).toString().trim(), '42')\n"
        "console.log('all is well')\n"
    ),
}
PYTHON = {
    "pyproject.toml": '[project]\nname = "small"\n[tool.pytest.ini_options]\npythonpath = "src"\n',
    "src/small/__init__.py": "def total(numbers):\n    return sum(numbers)\n",
    "src/small/__main__.py": "import sys\nfrom small import total\nprint(total(map(int, sys.argv[1:])))\n",
    "tests/conftest.py": (
        "import pytest\n@pytest.fixture\ndef notes(tmp_path):\n    file = tmp_path / 'notes'\n"
        "    file.write_text('40 2')\n    return file\n"
    ),
    "tests/test_small.py": (
        "import os, pathlib, sqlite3, subprocess, sys\nfrom small import total\n"
        "def test_total(notes):\n    assert total(map(int, notes.read_text().split())) == 42\n"
        "def test_program():\n    done = subprocess.run([sys.executable, '-m', 'small', '40', '2'],\n"
        "        env={**os.environ, 'PYTHONPATH': 'src'}, capture_output=True, text=True)\n"
        "    assert done.stdout == '42\\n'\n"
        "def test_database(tmp_path):\n    with sqlite3.connect(tmp_path / 'x.db') as base:\n"
        "        base.execute('create table t (a)')\n"
        "def test_home():\n    (pathlib.Path.home() / '.cache').mkdir(exist_ok=True)\n"
    ),
}
RUST = {
    "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": (
        "pub fn total(numbers: &[i32]) -> i32 { numbers.iter().sum() }\n"
        "#[cfg(test)]\nmod tests {\n    #[test]\n"
        "    fn adds() { assert_eq!(super::total(&[40, 2]), 42); }\n}\n"
    ),
    "src/main.rs": 'fn main() { println!("{}", small::total(&[40, 2])); }\n',
}


@pytest.fixture(params=[pytest.param(name, marks=layer_mark(name)) for name in EVERY])
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force each layer that works here, by the variable for that."""
    monkeypatch.setenv("CLADA_SANDBOX_LAYER", request.param)
    return str(request.param)


def project(place: Place, files: Mapping[str, str]) -> str:
    """Make the workspace a repository with these files, and return it."""
    shutil.rmtree(place.workspace)
    for name, text in files.items():
        path = Path(place.workspace, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(place.workspace, "init", "-q")
    git(place.workspace, "add", "-A")
    git(place.workspace, "commit", "-q", "-m", "first")
    return place.workspace


def succeeds(layer: str, workspace: str, command: str, *shown: str, **options: Any) -> list[str]:
    """Assert that a command that a document runs succeeds in the layer, and prints this."""
    lines: list[str] = []
    report = clada.execute(
        clada.parse(f"<---RUN--->\n{command}\n<---END--->\n"),
        workspace=workspace,
        git=False,
        approve=[command],
        on_event=lambda event: lines.extend(getattr(event, "lines", ())),
        **options,
    )
    assert report.ok, (report.tasks, lines)
    assert report.tasks[0].confinement == layer
    for text in shown:
        assert any(text in line for line in lines), (text, lines)
    return lines


@needs("make", "cc")
def test_make(layer: str, place: Place) -> None:
    """`make` compiles two files and links them, `make test` runs the program, and again does nothing anew."""
    workspace = project(place, C)
    succeeds(layer, workspace, "make", "-c -o sum.o sum.c")
    succeeds(layer, workspace, "make test", "all is well")
    succeeds(layer, workspace, "make app", "up to date")


@pytest.mark.sample(1)
@needs("node", "npm")
def test_npm(layer: str, place: Place) -> None:
    """`npm test` runs scripts that start programs, and use temporary files."""
    succeeds(layer, project(place, NODE), "npm test", "checked", "all is well")


def test_pytest(layer: str, place: Place) -> None:
    """`pytest` with a package, fixtures, a database, programs and a home."""
    command = f"{sys.executable} -m pytest -q -p no:xdist -p no:cov"
    succeeds(layer, project(place, PYTHON), command, "4 passed", sandbox_read=list(PREFIXES))


@pytest.mark.sample(1)
@needs("cargo")
def test_cargo(layer: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cargo` builds, tests and runs a crate with the toolchain in the home, which it cannot write."""
    monkeypatch.setenv("HOME", pwd.getpwuid(os.geteuid()).pw_dir)
    workspace = project(place, RUST)
    succeeds(layer, workspace, "cargo test --offline", "1 passed")
    succeeds(layer, workspace, "cargo run --offline -q", "42")


def test_git_looks_at_everything(layer: str, place: Place) -> None:
    """`git status` in a project, in its submodule and in a linked work tree tells what it does outside."""
    origin = place.path("outside/origin")
    os.makedirs(origin)
    git(origin, "init", "-q")
    Path(origin, "inner").write_text("x\n")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "inner")
    workspace = project(place, C)
    git(workspace, "submodule", "--quiet", "add", origin, "lib/inner")
    git(workspace, "commit", "-q", "-m", "second")
    linked = place.path("linked")
    git(workspace, "worktree", "add", "-q", linked)
    Path(workspace, "lib/inner/inner").write_text("changed\n")
    for folder, shown in ((workspace, " m lib/inner"), (linked, " M sum.h")):
        Path(folder, "sum.h").write_text("changed\n")
        Path(folder, "look.sh").write_text("git status --short && git log --oneline && git diff --stat\n")
        expected = git(folder, "status", "--short").splitlines()
        assert succeeds(layer, folder, "sh look.sh")[: len(expected)] == expected
        assert shown in expected
    Path(workspace, "inside.sh").write_text("cd lib/inner && git status --short\n")
    succeeds(layer, workspace, "sh inside.sh", " M inner")
