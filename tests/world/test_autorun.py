"""Files that run by themselves later: which they are, who is asked, and that they do run."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from typing import TYPE_CHECKING, Any

import pytest
from tests.programs import needs

import clada
from clada.world.autorun import ASK, ASKED, MARK, MARKED, autorun_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Place

REFUSED = "permission_denied: a person must allow"

ASK_PATHS = """
.envrc sub/.envrc .ENVRC .envrc. .env\u200crc .vscode/tasks.json sub/.vscode/tasks.json .VSCode/Tasks.json
.idea/workspace.xml .idea/runConfigurations/x.xml .claude/settings.json .claude/hooks/x.sh .mcp.json
.cursor/mcp.json .codex/config.toml .husky/pre-commit .husky/_/husky.sh .hg/hgrc .jj/repo/config.toml
sitecustomize.py lib/usercustomize.py evil.pth .githooks/pre-commit .devcontainer/devcontainer.json .gdbinit
.exrc .nvimrc .nvim.lua .dir-locals.el .lldbinit .pdbrc .bashrc .cargo/config.toml .venv/bin/activate
node_modules/.bin/eslint mise.toml .config/mise/config.toml .Rprofile .gitpod.yml
""".split()
MARK_PATHS = """
.github/workflows/ci.yml conftest.py tests/conftest.py setup.py Makefile GNUmakefile .gitattributes
.gitmodules .pre-commit-config.yaml .gitlab-ci.yml eslint.config.js .npmrc build.rs CLAUDE.md AGENTS.md
.vscode/launch.json
""".split()
PLAIN_PATHS = """
envrc .envrc.md a.envrc src/tasks.json vscode/tasks.json .github/CODEOWNERS test_conftest.py husky/x setup.cfg
.editorconfig .vscode/extensions.json cursor/x.py README.md pth claude.py .gitignore
""".split()


def csl(path: str, content: str = "x") -> str:
    return f'<---WRITE file="{path}"--->\n{content}\n<---END--->\n'


def run(command: str) -> str:
    return f"<---RUN--->\n{command}\n<---END--->\n"


def level(path: str) -> str | None:
    found = autorun_of(tuple(path.split("/")))
    return found.level if found else None


def test_the_table_knows_these_paths() -> None:
    assert {path: level(path) for path in ASK_PATHS} == dict.fromkeys(ASK_PATHS, ASK)
    assert {path: level(path) for path in MARK_PATHS} == dict.fromkeys(MARK_PATHS, MARK)
    assert {path: level(path) for path in PLAIN_PATHS} == dict.fromkeys(PLAIN_PATHS)


def test_each_name_in_the_table_is_written_as_it_is_looked_up_and_stands_there_once() -> None:
    names = [name for table in (ASKED, MARKED) for row in table.values() for name in row.split()]
    assert names == [name.casefold() for name in names]
    assert len(names) == len(set(names))


def test_without_a_person_nothing_is_written_that_runs_by_itself(place: Place) -> None:
    for path in (".envrc", "sub/.vscode/tasks.json", "evil.pth"):
        done = place.clada(csl(path))
        assert done.returncode == 1
        assert f"{path}: {REFUSED} {path}: " in done.stdout.decode()
        assert b"; --allow-autorun writes it without asking" in done.stdout
    assert set(place.picture()) == {"workspace", "outside"}


def test_allow_autorun_writes_it_and_the_report_marks_it(place: Place) -> None:
    done = place.clada(csl(".envrc"), "--allow-autorun", "--summary=json")
    assert done.returncode == 0
    line, _, summary = done.stdout.decode().partition("\n")
    mark = "runs by itself: direnv runs it when a shell enters the folder"
    assert line == f"[task-1] SUCCESS: WRITE - .envrc (created, 2 bytes, {mark})"
    assert json.loads(summary)["blocks"][0]["tasks"][0]["remarks"] == [mark]


def test_the_setting_counts_in_the_configuration_of_the_user_only(place: Place, tmp_path: Path) -> None:
    config = tmp_path / "config" / "clada" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("allow_autorun = true\n")
    home = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert place.clada(csl(".envrc"), env=home).returncode == 0
    config.unlink()
    place.write(".clada/config.toml", "allow_autorun = true\n")
    done = place.clada(csl(".mcp.json"), env=home)
    assert done.returncode == 2
    assert b"allow_autorun cannot be set here" in done.stderr


OTHER_NOTATIONS = [
    '<tasks>\n<write path=".envrc">x</write>\n</tasks>\n',
    '```json\n{"tasks": [{"action": "write", "path": ".envrc", "content": "x"}]}\n```\n',
    "*** Begin Patch\n*** Add File: .envrc\n+x\n*** End Patch\n",
    "```diff\n--- /dev/null\n+++ b/.envrc\n@@ -0,0 +1 @@\n+x\n```\n",
    ".envrc\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n",
    "```bash\ncat > .envrc <<'E'\nx\nE\n```\n",
]
OTHER_OPERATIONS = [
    csl("plain") + '<---MOVE from="plain" to=".envrc"--->\n',
    csl("plain") + run("mv plain .envrc"),
    csl("plain") + run("cp plain .envrc"),
    run("touch .envrc"),
    csl("dir/tasks.json") + run("mv dir .vscode"),
    csl("dir/tasks.json") + run("cp -r dir .vscode"),
    csl("dir/tasks.json") + run("mkdir .vscode && mv dir/tasks.json .vscode"),
    csl("dir/.envrc/../../.envrc"),
]


@pytest.mark.parametrize("document", OTHER_NOTATIONS + OTHER_OPERATIONS)
def test_every_notation_and_operation_is_held_to_it(place: Place, document: str) -> None:
    done = place.clada(document)
    assert done.returncode == 1, done.stdout
    found = [*place.inside.rglob(".envrc"), *place.inside.glob(".vscode/*")]
    assert found == [], done.stdout
    plain = place.clada(document.replace(".envrc", "envrc").replace(".vscode", "vscode"), "--atomic")
    assert b"permission_denied" not in plain.stdout


def test_an_edit_and_an_addition_are_held_to_it(place: Place) -> None:
    place.write(".envrc", "old\n")
    edit = '<---SEARCH file=".envrc"--->\nold\n<---REPLACE--->\nnew\n<---END--->\n'
    add = '<---WRITE file=".envrc" append="true"--->\nnew\n<---END--->\n'
    for document in (edit, add):
        assert REFUSED.encode() in place.clada(document).stdout
        assert (place.inside / ".envrc").read_text() == "old\n"
        assert place.clada(document, "--allow-autorun").returncode == 0
        place.write(".envrc", "old\n")


def test_what_is_removed_moved_away_or_unchanged_is_not_asked_about(place: Place) -> None:
    place.write(".envrc", "x\n")
    place.write(".mcp.json")
    place.write(".exrc")
    document = csl(".envrc") + run("rm .mcp.json && mv .exrc exrc")
    assert place.clada(document).returncode == 0


def asked(answer: bool, place: Place, document: str, **options: Any) -> tuple[list[str], clada.Report]:
    questions: list[str] = []

    def consent(question: str) -> bool:
        questions.append(question)
        return answer

    report = clada.execute(document, consent=consent, workspace=place.inside, git=False, **options)
    return questions, report


def test_a_person_is_asked_once_for_each_file(place: Place) -> None:
    document = csl(".envrc") + csl(".envrc", "y") + csl("conftest.py")
    questions, report = asked(True, place, document)
    question = ".envrc runs by itself: direnv runs it when a shell enters the folder. Write it?"
    assert questions == [question]
    assert report.ok
    (place.inside / ".envrc").unlink()
    questions, report = asked(False, place, document)
    assert questions == [question]
    assert [task.status for task in report.tasks] == ["error", "error", "success"]
    assert not (place.inside / ".envrc").exists()


def test_a_plan_asks_nothing_and_says_what_the_run_would_do(place: Place) -> None:
    questions, report = asked(True, place, csl(".envrc"), dry_run=True)
    assert (questions, report.tasks[0].status) == ([], "planned")
    assert "would create, 2 bytes, runs by itself: direnv" in report.text()
    alone = clada.execute(csl(".envrc"), workspace=place.inside, git=False, dry_run=True)
    assert alone.tasks[0].status == "error"


def test_what_an_atomic_run_puts_back_is_not_asked_about(place: Place) -> None:
    place.write(".envrc", "old\n")
    document = csl(".envrc", "new") + '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n'
    done = place.clada(document, "--allow-autorun", "--atomic")
    assert b"ROLLED BACK: WRITE - .envrc" in done.stdout
    undone, _report = asked(True, place, document, atomic=True)
    assert len(undone) == 1
    assert (place.inside / ".envrc").read_text() == "old\n"


SETTINGS = ".vscode/settings.json"


@pytest.mark.parametrize(
    ("old", "new", "is_asked"),
    [
        ("", '{"editor.fontSize": 12, // large\n}', False),
        ("", '{"git.path": "./evil"}', True),
        ("", '{"GIT.P\\u0061th": "./evil"}', True),
        ("", '{"a": {"python.defaultInterpreterPath": "./evil"}}', True),
        ("", '{"git.path": "x", "git.path": 1}', True),
        ("", '{/* "git.path": 1 */ "x": "//"}', False),
        ("", '{"git.path"', True),
        ('{"git.path": "x"}', '{"git.path": "x", "editor.fontSize": 3}', False),
        ('{"git.path": "x"}', '{"git.path": "y"}', True),
        ('{"git.path": "x"}', "{}", False),
    ],
)
def test_settings_are_asked_about_if_they_name_other_programs(
    place: Place, old: str, new: str, is_asked: bool
) -> None:
    if old:
        place.write(SETTINGS, old)
    for path in (SETTINGS, "x.code-workspace"):
        if old:
            place.write(path, old)
        questions, report = asked(True, place, csl(path, new))
        assert (bool(questions), report.ok) == (is_asked, True)


def test_the_scripts_of_a_package_are_marked_if_they_change(place: Place) -> None:
    mark = b"runs later: npm runs its scripts"
    assert mark not in place.clada(csl("package.json", '{"name": "x"}')).stdout
    assert mark in place.clada(csl("package.json", '{"scripts": {"test": "x"}}')).stdout
    edit = '<---SEARCH file="package.json"--->\n"{}"\n<---REPLACE--->\n"y"\n<---END--->\n'
    assert mark in place.clada(edit.format("x")).stdout
    assert mark not in place.clada(csl("package.json", '{"version": "2", "scripts": {"test": "y"}}')).stdout


def test_hooks_of_the_repository_are_asked_about_wherever_they_are(place: Place) -> None:
    assert place.clada(csl("ci/hooks/pre-commit")).returncode == 0
    subprocess.run(["git", "init", "-q"], cwd=place.inside, check=True)
    subprocess.run(["git", "config", "core.hooksPath", "ci/hooks"], cwd=place.inside, check=True)
    done = place.clada(csl("ci/hooks/pre-commit", "y"))
    assert b"a person must allow ci/hooks/pre-commit: git runs it as a hook" in done.stdout


def test_what_an_approved_command_makes_is_named(place: Place) -> None:
    command = "sh -c 'echo x >.envrc; mkdir -p .venv; echo y >.venv/x; echo z >conftest.py'"
    done = place.clada(run(command), "--approve-all", "--sandbox=off")
    assert b"the command made files that run by themselves: .envrc\n" in done.stderr


# They do run: the file is written with the mark ignored, and the real program is started.


def _python(place: Place, *arguments: str, **environment: str) -> None:
    _start(place, sys.executable, *arguments, **environment)


def _start(place: Place, *argv: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, cwd=place.inside, env={**os.environ, **environment}, check=False, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=60,
    )  # fmt: skip


def _git(place: Place, *arguments: str) -> None:
    _start(place, "git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments)


def _commit(place: Place, hooks: str) -> None:
    _start(place, "chmod", "-R", "+x", hooks)
    _git(place, "init", "-q")
    _git(place, "config", "core.hooksPath", hooks)
    _git(place, "commit", "-q", "--allow-empty", "-m", "x")


def _checkout_with_filter(place: Place) -> None:
    _git(place, "init", "-q")
    _git(place, "config", "filter.evil.clean", "touch fired; cat")
    _git(place, "add", ".")


def _venv_with_pth(place: Place) -> None:
    environment = place.top / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (place.inside / "evil.pth").rename(packages / "evil.pth")
    _start(place, str(environment / "bin/python"), "-c", "pass")


def _entered(place: Place) -> None:
    _start(place, "sh", "-c", ". ./.envrc")  # which is what direnv does with it


PYTHON = "open('fired', 'w')"
SHELL = "#!/bin/sh\ntouch fired"
# By path: its content, and what a person does then.
PAYLOADS: list[Any] = [
    ("sitecustomize.py", PYTHON, lambda place: _python(place, "-c", "pass", PYTHONPATH=".")),
    ("evil.pth", f"import os; {PYTHON}", _venv_with_pth),
    ("conftest.py", PYTHON, lambda place: _python(place, "-m", "pytest", "-q", "-p", "no:cacheprovider")),
    ("setup.py", PYTHON, lambda place: _python(place, "setup.py", "--version")),
    (".pdbrc", f"!{PYTHON}\nq", lambda place: _python(place, "-m", "pdb", "x.py")),
    (".husky/pre-commit", SHELL, lambda place: _commit(place, ".husky")),
    (".githooks/pre-commit", SHELL, lambda place: _commit(place, ".githooks")),
    (".gitattributes", "* filter=evil", _checkout_with_filter),
    ("Makefile", "all:\n\ttouch fired", lambda place: _start(place, "make")),
    ("GNUmakefile", "all:\n\ttouch fired", lambda place: _start(place, "make")),
    (".envrc", "touch fired", _entered),
    (".profile", "touch fired", lambda place: _start(place, "sh", "-l", "-c", ":", HOME=str(place.inside))),
    pytest.param(
        ".bashrc", "touch fired",
        lambda place: _start(place, "bash", "-i", "-c", ":", HOME=str(place.inside)), marks=needs("bash"),
    ),
    pytest.param(
        ".zshenv", "touch fired", lambda place: _start(place, "zsh", "-c", ":", HOME=str(place.inside)),
        marks=needs("zsh"),
    ),
    pytest.param(
        "package.json", '{"name":"x","version":"1.0.0","scripts":{"preinstall":"touch fired"}}',
        lambda place: _start(place, "npm", "install", "--offline", "--no-audit"), marks=needs("npm"),
    ),
    pytest.param(
        ".npmrc", "node-options=--require=./evil.cjs",
        lambda place: (
            place.write("evil.cjs", "require('fs').writeFileSync('fired', '')"),
            place.write("package.json", '{"scripts":{"x":"node -e 1"}}'),
            _start(place, "npm", "run", "x"),
        ),
        marks=needs("npm", "node"),
    ),
    pytest.param(
        ".gdbinit", "shell touch fired",
        lambda place: _start(place, "gdb", "-batch", "-iex", "set auto-load safe-path /"), marks=needs("gdb"),
    ),
    pytest.param(
        ".exrc", "silent !touch fired",
        lambda place: _start(place, "vim", "-T", "dumb", "--not-a-term", "--cmd", "set exrc", "-c", "qa!"),
        marks=needs("vim"),
    ),
    pytest.param(
        ".dir-locals.el", '((nil . ((eval . (write-region "" nil "fired")))))',
        lambda place: (
            place.write("x.txt"),
            _start(place, "emacs", "-Q", "--batch", "--eval", "(setq enable-local-eval t"
                   " enable-local-variables :all)", "--visit", "x.txt", "-f", "hack-local-variables"),
        ),
        marks=needs("emacs"),
    ),
]  # fmt: skip


@pytest.mark.sample(8)
@pytest.mark.parametrize(("path", "content", "fire"), PAYLOADS)
def test_it_runs_if_the_mark_is_ignored(
    place: Place, path: str, content: str, fire: Callable[[Place], None]
) -> None:
    place.write("x.py", "x = 1\n")
    done = place.clada(csl(path, content), "--allow-autorun")
    assert done.returncode == 0
    assert b"runs by itself: " in done.stdout or b"runs later: " in done.stdout
    assert not (place.inside / "fired").exists()
    fire(place)
    assert (place.inside / "fired").exists()
