"""Shell completion, tried in the shells themselves; and the manual page."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.programs import skip_without
from tools.manual import COMMAND_LINE, CONFIGURATION, PAGE, command_line, configuration, page

from clada.cli.commands.completion import SCRIPTS

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

LONG = 90.0  # seconds; zsh loads a lot before its first completion
PROMPT = "ready>"

# What is typed, and words that must be offered, with some that must not.
CASES = {
    "hi": ({"history"}, {"plan"}),
    "--out": ({"--output-mode"}, {"--color"}),
    "approvals ": ({"list", "add", "remove", "block"}, {"csl"}),
    "prompt ": ({"csl", "cml", "json", "toml"}, {"list"}),
    "completion z": ({"zsh"}, {"bash"}),
    "history ": ({"show", "prune"}, {"plan"}),
    "history show ": (set(), {"show", "prune"}),
    "history --limit=3 show ": (set(), {"show", "prune"}),
    "approvals add ": (set(), {"list", "add"}),
    "config set fin": ({"final_newline"}, {"get", "set"}),
    "undo --": ({"--git-author", "--workspace"}, {"--timeout"}),
    "plan REA": ({"README.md"}, {"plan"}),
    "--color ": ({"auto", "always", "never"}, {"list"}),
}


def script(shell: Shell, name: str) -> Path:
    """Return a file with the script of a shell."""
    skip_without(name)
    done = shell("completion", name)
    assert (done.returncode, done.stderr) == (0, "")
    return shell.write(f".completion.{name}", done.stdout)


def ask(shell: Shell, *argv: str) -> str:
    """Run a shell in a workspace with a few files, and return what it prints."""
    shell.write("README.md", "")
    done = subprocess.run(
        argv, cwd=shell.workspace, env=shell.environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def check(typed: str, offered: set[str]) -> None:
    """Compare what is offered with what should be."""
    wanted, unwanted = CASES[typed]
    assert wanted <= offered
    assert not unwanted & offered


@pytest.mark.parametrize("typed", CASES)
def test_bash(shell: Shell, typed: str) -> None:
    path = script(shell, "bash")
    words = f"clada {typed}".split(" ")
    program = (
        f'source {path}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() {{ :; }}; _clada; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    offered = ask(shell, "bash", "-c", program, "bash", *words).split()
    check(typed, {word.rstrip("=") for word in offered})


def test_bash_completes_the_value_behind_an_equals_sign(shell: Shell) -> None:
    path = script(shell, "bash")
    program = (
        f'source {path}; COMP_WORDS=(clada --output-mode = s); COMP_CWORD=3; _clada; echo "${{COMPREPLY[@]}}"'
    )
    assert ask(shell, "bash", "-c", program).split() == ["stream", "silent"]


@pytest.mark.parametrize("typed", CASES)
def test_fish(shell: Shell, typed: str) -> None:
    path = script(shell, "fish")
    offered = ask(shell, "fish", "--no-config", "-c", f"source {path}; complete -C 'clada {typed}'")
    check(typed, {line.split("\t")[0] for line in offered.splitlines()})


def test_zsh(shell: Shell, tmp_path: Path) -> None:
    """In zsh completion works only at its line editor: it is asked there, by pressing tab."""
    skip_without("zsh", "tmux")
    path = script(shell, "zsh")
    shell.write("README.md", "")
    shell("--record=snapshots", document='<---WRITE file="a"--->\n<---END--->')
    shell.environment["PATH"] = f"{Path(sys.executable).parent}:{shell.environment['PATH']}"
    shell.write(
        ".zshrc",
        f"autoload -Uz compinit; compinit -u -D; source {path}; PS1='{PROMPT} '; LISTMAX=999; clear\n",
    )
    shell.environment["ZDOTDIR"] = str(shell.workspace)
    start = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]

    def tmux(*words: str) -> str:
        return subprocess.run(
            [*start, *words], env=shell.environment, capture_output=True, text=True, check=True
        ).stdout

    def escape_controls(text: str) -> str:
        end = time.monotonic() + LONG
        while text not in (screen := tmux("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.05)
        return screen

    def complete(typed: str, completed: str) -> str:
        """Type at an empty prompt, press tab when it is there, and return the screen with what came of it."""
        end = time.monotonic() + LONG
        while not (screen := tmux("capture-pane", "-p").rstrip("\n")).endswith(PROMPT):
            assert time.monotonic() < end, screen
            tmux("send-keys", "C-c")
            time.sleep(0.2)
        tmux("send-keys", "-l", typed)
        escape_controls(f"{PROMPT} {typed}".rstrip())
        tmux("send-keys", "Tab")
        return escape_controls(completed)

    tmux("new-session", "-d", "-x", "100", "-y", "50", "-c", str(shell.workspace), "zsh")
    try:
        escape_controls(PROMPT)
        for typed, completed in {
            "clada hi": "clada history",
            "clada approvals rem": "clada approvals remove",
            "clada --outp": "clada --output-mode=",
            "clada --color=al": "clada --color=always",
            "clada plan REA": "clada plan README.md",
            "clada undo ": "clada undo 1",
            "clada report ": "clada report 1",
            "clada history show ": "clada history show 1",
            "clada config get fin": "clada config get final_newline",
        }.items():
            complete(typed, completed)
        assert "check what this machine and workspace offer" in complete("clada ", "doctor ")
    finally:
        tmux("kill-server")


@pytest.mark.parametrize("typed", ["undo ", "history show "])
def test_the_numbers_of_runs_are_completed(shell: Shell, typed: str) -> None:
    shell("--record=snapshots", document='<---WRITE file="a"--->\n<---END--->')
    shell.environment["PATH"] = f"{Path(sys.executable).parent}:{shell.environment['PATH']}"
    path = script(shell, "bash")
    program = f'source {path}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clada; echo "${{COMPREPLY[@]}}"'
    assert "1" in ask(shell, "bash", "-c", program, "bash", *f"clada {typed}".split(" ")).split()
    path = script(shell, "fish")
    offered = ask(shell, "fish", "--no-config", "-c", f"source {path}; complete -C 'clada {typed}'")
    assert "1" in [line.split("\t")[0] for line in offered.splitlines()]


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_is_one_that_the_shell_can_read(shell: Shell, name: str) -> None:
    path = script(shell, name)
    subprocess.run([name, "-n", str(path)], check=True, capture_output=True)


def test_the_table_of_settings_is_up_to_date() -> None:
    """If this fails: python -m tools.manual."""
    assert CONFIGURATION.read_text(encoding="utf-8") == configuration()


def test_the_page_of_the_command_line_is_up_to_date() -> None:
    """If this fails: python -m tools.manual."""
    assert COMMAND_LINE.read_text(encoding="utf-8") == command_line()


def test_the_manual_page_is_up_to_date() -> None:
    """If this fails: python -m tools.manual."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_man_accepts_the_page(shell: Shell) -> None:
    if shutil.which("mandoc"):
        argv = ["mandoc", "-T", "lint", "-W", "error", str(PAGE)]
    elif shutil.which("man") and sys.platform == "linux":
        argv = ["man", "--warnings", "-E", "UTF-8", "-l", str(PAGE)]
    else:
        pytest.skip("not installed: man, mandoc")
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, env={**shell.environment, "MANWIDTH": "80"}
    )
    assert done.stderr == ""
