"""Configuration files: the user's own, and the workspace's, in which only harmless keys count, if trusted."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.messages import headline

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
HARMLESS = {
    "format": '"csl"', "git_author": '"Someone <s@example.org>"', "final_newline": "true",
    "color": '"never"', "sandbox": '"require"', "timeout": '"1m"', "total_timeout": '"1h"',
    "max_output": '"1MB"', "output_mode": '"silent"', "error_detail": '"full"', "summary": '"json"',
    "start_delimiter": '"<---"', "end_delimiter": '"--->"',
}  # fmt: skip
HARMFUL = {
    "no_git": "true", "allow_escape": "true", "approve": '["rm -rf /"]', "approve_all": "true",
    "shell": '"approved"', "sandbox": '"off"', "workspace": '"/"', "lock_file": '"x"', "lock_timeout": '"1s"',
    "dry_run": "true", "confirm": "true", "sandbox_write": '["/"]', "sandbox_read": '["/"]',
    "sandbox_env_hide": "[]", "sandbox_env_keep": "[]", "max_files": "1", "max_bytes": '"1MB"',
    "reveal": "[]", "match": '"blanks"', "root": '"/"', "run_fences": "true",
}  # fmt: skip


def test_defaults_come_from_the_users_file(shell: Shell) -> None:
    shell.configure('no_git = true\nsummary = "xml"\nfinal_newline = false\n')
    done = shell(document=WRITE)
    assert (done.returncode, done.stderr) == (0, "")
    assert '<result blocks="1"' in done.stdout
    assert (shell.workspace / "a.txt").read_text() == "hi"


def test_the_users_file_is_found_by_xdg_config_home(shell: Shell) -> None:
    shell.write("elsewhere/clada/config.toml", "no_git = true\n")
    done = shell(document=WRITE, XDG_CONFIG_HOME=str(shell.workspace / "elsewhere"))
    assert done.returncode == 0


def test_a_relative_xdg_config_home_is_ignored(shell: Shell) -> None:
    """It would be another one in each directory, the repository's own too."""
    shell.write("elsewhere/clada/config.toml", 'summary = "xml"\n')
    done = shell("--no-git", document=WRITE, XDG_CONFIG_HOME="elsewhere")
    assert done.returncode == 0
    assert "<result" not in done.stdout


def test_flags_win_over_the_workspace_and_the_workspace_over_the_user(shell: Shell) -> None:
    shell.configure("no_git = true\nfinal_newline = false\n")
    shell(document=WRITE)
    assert (shell.workspace / "a.txt").read_text() == "hi"
    shell.write(".clada/config.toml", "final_newline = true\n")
    shell(document=WRITE)
    assert (shell.workspace / "a.txt").read_text() == "hi\n"
    shell("--final-newline=false", document=WRITE)
    assert (shell.workspace / "a.txt").read_text() == "hi"


def test_the_users_file_can_name_the_workspace(shell: Shell) -> None:
    shell.write("project/.clada/config.toml", "final_newline = false\n")
    shell.configure('no_git = true\nworkspace = "project"\n')
    assert shell(document=WRITE).returncode == 0
    assert (shell.workspace / "project" / "a.txt").read_text() == "hi"


@pytest.mark.parametrize("key", HARMLESS)
def test_a_harmless_key_counts_in_the_workspace(shell: Shell, key: str) -> None:
    shell.write(".clada/config.toml", f"{key} = {HARMLESS[key]}\n")
    done = shell("--no-git", document=WRITE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("key", HARMFUL)
def test_any_other_key_in_the_workspace_is_an_error_that_says_where_it_belongs(
    shell: Shell, key: str
) -> None:
    shell.write(".clada/config.toml", f"{key} = {HARMFUL[key]}\n")
    done = shell("--no-git", document=WRITE)
    place = shell.home / ".config" / "clada" / "config.toml"
    assert (done.returncode, done.stdout) == (2, "")
    assert headline(done.stderr) == (
        f"clada: ./.clada/config.toml: {key} cannot be set here: "
        f"it belongs in {place} or on the command line\n"
    )
    assert not (shell.workspace / "a.txt").exists()


WRONG = {
    "timeuot = 1": "unknown key timeuot; did you mean timeout?",
    'output-mode = "silent"': "unknown key output-mode; did you mean output_mode?",
    "timeout = true": "timeout must be a duration such as 5m, or seconds",
    'timeout = "soon"': "timeout must be a duration such as 500ms, 30s, 5m or 1h, not 'soon'",
    'max_output = "x"': "max_output must be a size such as 512B, 64KB, 10MB or 1GB, not 'x'",
    'git_author = "Ada <ada"': "git_author must be Name or Name <mail>, not 'Ada <ada'",
    "no_git = 1": "no_git must be true or false",
    'approve = "x"': "approve must be a list of texts",
    "sandbox_write = [1]": "sandbox_write must be a list of texts",
    "timeout": "Expected '=' after a key in a key/value pair (at end of document)",
    '"\\u001b[2J\\n[task-1]" = 1': "unknown key \\x1b[2J\\n[task-1]",
}


@pytest.mark.parametrize("content", WRONG)
def test_a_mistake_in_a_file_is_one_line_that_names_the_file(shell: Shell, content: str) -> None:
    path = shell.configure(content)
    done = shell(document=WRITE)
    assert (done.returncode, done.stdout, headline(done.stderr)) == (
        2,
        "",
        f"clada: {path}: {WRONG[content]}\n",
    )


MANY = 1 << 19
GROWING = {
    "a dotted key": (".".join("a" * MANY), "line 1: a key with more than 4 dots in it"),
    "a header": (f"[{'.'.join('a' * (MANY - 1))}]", "line 1: a key with more than 4 dots in it"),
    "quoted parts": ("\n" + ".".join(["'a'"] * (MANY // 2)), "line 2: a key with more than 4 dots in it"),
    "an inline table": (
        'approve = ["""a"""", {' + ".".join("a" * (MANY - 20)) + "= 1}]",
        "line 1: a key with more than 4 dots in it",
    ),
    "brackets": (f"timeout = {'[' * MANY}", "its values are nested too deeply"),
    "braces": (f"timeout = {'{a=' * (MANY // 2)}", "its values are nested too deeply"),
}


@pytest.mark.parametrize("kind", GROWING)
def test_a_file_that_would_take_very_long_to_read_is_refused_at_once(shell: Shell, kind: str) -> None:
    """Up to 1 MB, of which the parser would take hours."""
    content, message = GROWING[kind]
    path = shell.write(".clada/config.toml", content)
    before = os.times()
    done = shell("--no-git", document=WRITE)
    after = os.times()
    assert (done.returncode, done.stdout) == (2, "")
    assert headline(done.stderr) == f"clada: ./{path.relative_to(shell.workspace)}: {message}\n"
    assert after.children_user - before.children_user < 3


def test_dots_in_texts_and_comments_are_just_dots(shell: Shell) -> None:
    shell.configure(
        'approve = ["a.b.c.d.e.f", \'a.b.c.d.e.f\', """\n......\\"""......""""", \'\'\'\n......\'\'\']'
        "  # ......\n"
        "lock_timeout = 1.5\n"
    )
    assert shell("--no-git", document=WRITE).returncode == 0


def test_a_number_is_seconds_or_bytes(shell: Shell) -> None:
    shell.configure("timeout = 5\nmax_output = 100\nno_git = true\n")
    assert shell(document=WRITE).returncode == 0


def test_the_workspace_cannot_lead_to_another_file(shell: Shell) -> None:
    shell.write("other.toml", 'summary = "json"\n')
    (shell.workspace / ".clada").mkdir()
    os.symlink("../other.toml", shell.workspace / ".clada" / "config.toml")
    done = shell("--no-git", document=WRITE)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("kind", ["link", "file"])
def test_what_stands_in_place_of_the_folder_is_told(shell: Shell, kind: str) -> None:
    """What is set there, a sandbox that must not be missing, say, would else be lost without a word."""
    place = shell.workspace / ".clada"
    if kind == "link":
        place.symlink_to(".")
    else:
        place.write_text("")
    done = shell("--no-git", document=WRITE)
    words = {"link": "is a symbolic link", "file": "cannot be read: not a directory"}[kind]
    assert (done.returncode, done.stdout) == (2, "")
    assert f".clada: {words}\n" in headline(done.stderr)


@pytest.mark.parametrize("data", [b"\xff", b"#" * ((1 << 20) + 1)], ids=["not UTF-8", "too large"])
def test_a_file_that_cannot_be_read_is_an_error(shell: Shell, data: bytes) -> None:
    shell.configure("").write_bytes(data)
    done = shell(document=WRITE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "config.toml: cannot be read: " in done.stderr


def test_a_folder_in_place_of_the_file_is_told_in_the_systems_words(shell: Shell) -> None:
    path = shell.configure("")
    path.unlink()
    path.mkdir()
    done = shell(document=WRITE)
    assert (done.returncode, done.stdout) == (2, "")
    assert headline(done.stderr) == f"clada: {path}: cannot be read: is a directory\n"
