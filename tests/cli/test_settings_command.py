"""`clada config`, CLADA_<SETTING> in the environment, and a workspace that is found upwards."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from tests.messages import headline, joined

from clada.settings import SETTINGS

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'


def rows(shell: Shell, **environment: str) -> dict[str, tuple[str, str]]:
    """Return the value and the source of each setting, as the table shows them."""
    done = shell("config", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines = done.stdout.splitlines()
    ends = header.index("VALUE"), header.index("SOURCE")
    return {line[: ends[0]].strip(): (line[ends[0] : ends[1]].strip(), line[ends[1] :]) for line in lines}


def test_every_setting_is_listed_with_its_value_and_its_source(shell: Shell) -> None:
    shell.configure('timeout = "5m"\ncolor = "never"\n')
    shell.write(".clada/config.toml", 'color = "always"\n')
    found = rows(shell, CLADA_MAX_OUTPUT="1MB")
    assert {setting.name for setting in SETTINGS} - {"no_git"} == set(found)
    assert found["timeout"] == ("300s", "~/.config/clada/config.toml")
    assert found["color"] == ("always", ".clada/config.toml")
    assert found["max_output"] == ("1MB", "CLADA_MAX_OUTPUT")
    assert found["record"] == ("auto", "default")
    told = json.loads(shell("config", "--json").stdout)
    assert told["timeout"] == {"value": 300.0, "source": "~/.config/clada/config.toml"}
    assert shell("config", "get", "timeout").stdout == "300s\n"


SET = [
    ("record snapshots", {"record": "snapshots"}),
    ("dry-run true", {"dry_run": True}),
    ("timeout 5m", {"timeout": "5m"}),
    ("approve a b", {"approve": ["a", "b"]}),
    ('message Say\\"so"', {"message": 'Say\\"so"'}),
]


@pytest.mark.parametrize(("words", "content"), SET)
def test_a_setting_is_set_in_the_users_file(shell: Shell, words: str, content: dict[str, object]) -> None:
    done = shell("config", "set", *words.split(" "))
    assert (done.returncode, done.stderr) == (0, "")
    assert tomllib.loads((shell.home / ".config/clada/config.toml").read_text()) == content


def test_the_rest_of_the_file_stays(shell: Shell) -> None:
    file = shell.configure('# mine\nrecord = "none"  # why\napprove = [\n  "a",\n]\ncolor = "never"')
    shell("config", "set", "approve", "b")
    shell("config", "set", "record", "auto")
    shell("config", "set", "timeout", "1s")
    assert file.read_text() == ('# mine\nrecord = "auto"\napprove = ["b"]\ncolor = "never"\ntimeout = "1s"\n')


def test_a_value_that_cannot_be_read_changes_nothing(shell: Shell) -> None:
    file = shell.configure('record = "none"\n')
    assert shell("config", "set", "timeout", "soon").returncode == 2
    assert file.read_text() == 'record = "none"\n'
    file.write_text("record = none\n")
    done = shell("config", "set", "timeout", "1s")
    assert joined(done.stderr) == f'clada: {file} line 1: quote the value:; record = "none"\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("record = snapshots\n", 'line 1: quote the value:; record = "snapshots"'),
        ("\ntimeout = 5m # long\n", 'line 2: quote the value:; timeout = "5m"'),
        ("confirm = True\n", "line 1: write it in small letters:; confirm = true"),
        ('recrod = "none"\n', "unknown key recrod; did you mean record?; clada config get record"),
        ('record = "snapshot"\n', "not 'snapshot'; did you mean snapshots?; record = \"snapshots\""),
        ('timeout = "soon"\n', "not 'soon'; timeout = \"30s\""),
    ],
)
def test_a_mistake_in_the_file_is_told_with_the_line_to_write(
    shell: Shell, content: str, message: str
) -> None:
    file = shell.configure(content)
    done = shell(document=WRITE)
    assert (done.returncode, done.stdout) == (2, "")
    assert joined(done.stderr).startswith(f"clada: {file}")
    assert joined(done.stderr).endswith(f"{message}\n")


# The environment.


def test_a_variable_wins_over_the_files_and_a_flag_over_the_variable(shell: Shell) -> None:
    shell.configure('output_mode = "stream"\n')
    shell.write(".clada/config.toml", 'output_mode = "stream"\n')
    assert shell("--no-git", document=WRITE, CLADA_OUTPUT_MODE="silent").stdout == ""
    assert shell("--no-git", "--output-mode=stream", document=WRITE, CLADA_OUTPUT_MODE="silent").stdout != ""


@pytest.mark.parametrize(("text", "is_dry"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_a_switch_in_the_environment(shell: Shell, text: str, *, is_dry: bool) -> None:
    shell("--no-git", document=WRITE, CLADA_DRY_RUN=text)
    assert (shell.workspace / "a.txt").exists() is not is_dry


def test_a_list_in_the_environment_has_an_item_a_line(shell: Shell) -> None:
    document = "<---RUN--->\nsh -c true\n<---END--->\n<---RUN--->\nsh -c :\n<---END--->\n"
    assert shell("--no-git", document=document).returncode == 1
    assert shell("--no-git", document=document, CLADA_APPROVE="sh -c true\nsh -c :").returncode == 0


# The workspace.


@pytest.mark.parametrize("way", ["flag", "letter", "variable", "file"])
def test_the_top_of_the_repository_is_the_workspace_if_that_is_asked_for(repository: Shell, way: str) -> None:
    top = repository.workspace
    (top / "sub/deep").mkdir(parents=True)
    repository.workspace = top / "sub/deep"
    flags = {"flag": ["--workspace=repository"], "letter": ["-C", "repository"]}.get(way, [])
    variables = {"CLADA_WORKSPACE": "repository"} if way == "variable" else {}
    if way == "file":
        repository.configure('workspace = "repository"\n')
    repository.write("answer.md", WRITE)
    assert repository(*flags, "--no-git", "answer.md", **variables).returncode == 0
    assert (top / "a.txt").exists()


def test_without_asking_it_is_the_current_directory(repository: Shell) -> None:
    (repository.workspace / "sub").mkdir()
    repository.workspace /= "sub"
    repository("--no-git", document=WRITE)
    assert (repository.workspace / "a.txt").exists()


def test_outside_of_a_repository_that_is_refused(shell: Shell) -> None:
    done = shell("-C", "repository", document=WRITE)
    assert done.returncode == 2
    assert "not in a git repository" in headline(done.stderr)
