"""`clada trust`, and the question about a new `.clada`: shown whole, harmless to look at, asked once."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.messages import joined

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell, Terminals

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
RUN = "<---RUN--->\npython3 -c 'print(6 * 7)'\n<---END--->\n"
COMMAND = "python3 -c 'print(6 * 7)'"
NOTE = (
    "clada: ignored, because not trusted on this machine: "
    ".clada/config.toml and .clada/allowed-commands.json\n  clada trust\n"
)
EVIL = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b\u202e\u200b\u2028\r[task-1] SUCCESS: all is well"


@pytest.fixture
def clone(shell: Shell) -> Shell:
    """Return clada in a workspace whose .clada is not trusted."""
    del shell.environment["CLADA_TRUST_WORKSPACE"]
    shell.write(".clada/config.toml", "final_newline = false\n")
    shell.write(".clada/allowed-commands.json", json.dumps({"commands": [COMMAND]}))
    return shell


def text_of(shell: Shell) -> str:
    return (shell.workspace / "a.txt").read_text()


def test_without_a_terminal_nothing_counts_and_it_is_told_how_it_would(clone: Shell) -> None:
    done = clone("--no-git", document=WRITE)
    assert (done.returncode, done.stderr) == (0, NOTE)
    assert text_of(clone) == "hi\n"
    done = clone("--no-git", document=RUN)
    assert done.returncode == 1
    assert ".clada/allowed-commands.json approves it, but you have not trusted that file" in done.stdout
    assert done.stdout.endswith("\n  clada trust\n")
    assert "42" not in done.stdout.replace(COMMAND, "")


def test_an_indentation_is_shown_as_it_is_unless_it_would_hide_something(clone: Shell) -> None:
    clone("approvals", "add", "make deploy")
    (clone.workspace / ".clada/config.toml").write_text(f"final_newline = false{'':60}\n{'':60}# far away\n")
    shown = clone("trust", "--yes").stdout
    assert '\n  |     "make deploy"' in shown
    assert "\n  | final_newline = false\u27e860 blanks\u27e9\n  | \u27e860 blanks\u27e9# far away\n" in shown


def test_trust_with_yes_shows_everything_and_makes_it_count(clone: Shell) -> None:
    done = clone("trust", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  | final_newline = false" in done.stdout
    assert f"  allowed  {COMMAND}" in done.stdout
    assert done.stdout.endswith("trusted: .clada/config.toml and .clada/allowed-commands.json\n")
    done = clone("--no-git", document=WRITE + RUN)
    assert (done.returncode, done.stderr) == (0, "")
    assert text_of(clone) == "hi"
    assert clone("trust").stdout.startswith("trusted already: ")


def test_trust_without_a_terminal_says_how(clone: Shell) -> None:
    done = clone("trust")
    assert (done.returncode, done.stdout) == (1, "")
    assert joined(done.stderr) == "clada: there is no terminal to ask on; clada trust --yes\n"


def test_trust_where_there_is_nothing(shell: Shell) -> None:
    del shell.environment["CLADA_TRUST_WORKSPACE"]
    done = shell("trust")
    assert (done.returncode, done.stderr) == (0, "clada: this workspace has no .clada directory to trust\n")


def test_ci_trusts_by_a_variable(clone: Shell) -> None:
    done = clone("--no-git", document=WRITE + RUN, CLADA_TRUST_WORKSPACE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert text_of(clone) == "hi"
    assert clone("--no-git", document=WRITE).stderr == NOTE


def test_a_change_is_shown_again(clone: Shell) -> None:
    clone("trust", "--yes")
    clone.write(".clada/config.toml", 'final_newline = false\noutput_mode = "silent"\n')
    done = clone("--no-git", document=WRITE)
    assert done.stderr == NOTE.replace(" and .clada/allowed-commands.json", "")
    assert done.stdout != ""


def test_on_a_terminal_the_person_is_asked_once(clone: Shell, terminal: Terminals) -> None:
    screen = terminal("--no-git", document=WRITE + RUN)
    seen = screen.until("do not ask until it changes: ")
    assert "  | final_newline = false" in seen
    assert f"  allowed  {COMMAND}" in seen
    screen.type("y\n")
    code, _seen = screen.end()
    assert code == 0
    assert text_of(clone) == "hi"
    code, seen = terminal("--no-git", document=WRITE + RUN).end()
    assert (code, "trust" in seen) == (0, False)


def test_a_no_holds_until_the_files_change(clone: Shell, terminal: Terminals) -> None:
    screen = terminal("--no-git", document=WRITE)
    screen.until("until it changes: ")
    screen.type("n\n")
    assert screen.end()[0] == 0
    assert text_of(clone) == "hi\n"
    code, seen = terminal("--no-git", document=WRITE).end()
    assert (code, "until it changes" in seen, "not trusted on this machine" in seen) == (0, False, True)
    clone.write(".clada/config.toml", "final_newline = true\n")
    terminal("--no-git", document=WRITE).until("until it changes: ")


@pytest.mark.parametrize(
    "arguments",
    [("plan", "--no-git"), ("--no-git", "--dry-run"), ("parse",), ("prompt",), ("approvals", "list")],
)
def test_what_executes_nothing_asks_nothing(
    clone: Shell, terminal: Terminals, arguments: tuple[str, ...]
) -> None:
    del clone
    code, seen = terminal(*arguments, document=WRITE).end()
    assert (code, "until it changes" in seen) == (0, False)


def test_a_document_without_commands_is_not_asked_about_approvals(clone: Shell, terminal: Terminals) -> None:
    (clone.workspace / ".clada" / "config.toml").unlink()
    code, seen = terminal("--no-git", document=WRITE).end()
    assert (code, "count" in seen) == (0, False)


HOSTILE: dict[str, tuple[str, str | bytes]] = {
    "escapes in the configuration": ("config.toml", f'git_author = "{EVIL}"\n'),
    "escapes in a comment": ("config.toml", f"# {EVIL}\n"),
    "escapes in a command": ("allowed-commands.json", json.dumps({"commands": [f"make {EVIL}"]})),
    "raw escapes in a command": ("allowed-commands.json", f'{{"commands": ["make {EVIL}"]}}'),
    "a key with escapes": ("allowed-commands.json", json.dumps({"commands": [], EVIL: EVIL})),
    "a damaged file with escapes": ("allowed-commands.json", f'{{"commands": "{EVIL}'),
    "no text at all": ("config.toml", b"\xff\xfe\x00\x1b[2J" * 20),
    "a question of its own": (
        "config.toml",
        "# x\nDoes it count?\n[y] yes: y\ntrusted: .clada/config.toml\n",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_content_is_harmless_to_look_at(clone: Shell, terminal: Terminals, kind: str) -> None:
    """Each line of it stands behind a bar, with every unusual character made visible."""
    name, content = HOSTILE[kind]
    file: Path = clone.workspace / ".clada" / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    printed = [clone("--no-git", document=WRITE), clone("trust", "--yes")]
    (clone.home / ".local").rename(clone.home / "forgotten")
    screen = terminal("trust")
    asked = screen.until("until it changes: ").replace("\r\n", "\n")
    screen.type("n\n")
    for text in (*(done.stdout + done.stderr for done in printed), asked):
        assert all(char == "\n" or char.isprintable() for char in text), repr(text)
        assert not any(line.startswith(("[task-1] SUCCESS: all", "[y] yes: y")) for line in text.split("\n"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("output_mode", '"silent"'), ("start_delimiter", '"<<"'), ("format", '"cml"'), ("record", '"none"')],
)
def test_an_untrusted_setting_silences_and_chooses_nothing(clone: Shell, key: str, value: str) -> None:
    clone.write(".clada/config.toml", f"{key} = {value}\n")
    done = clone("--record=snapshots", document=WRITE) if key != "record" else clone(document=WRITE)
    if key == "record":
        assert len(clone("history").stdout.splitlines()) == 2  # the header, and the run
    else:
        assert done.stdout == "[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)\n"


def test_the_prompt_for_models_lists_only_what_counts(clone: Shell) -> None:
    assert COMMAND not in clone("prompt").stdout
    clone("trust", "--yes")
    assert COMMAND in clone("prompt").stdout


def test_doctor_says_what_does_not_count(clone: Shell) -> None:
    clone.git("init", "-q")
    assert (
        "not trusted, so ignored: .clada/config.toml and .clada/allowed-commands.json"
        in clone("doctor").stdout
    )
    clone("trust", "--yes")
    assert "ok      trust          .clada is trusted" in clone("doctor").stdout


def test_an_approval_given_here_counts_and_no_other(clone: Shell) -> None:
    clone("approvals", "add", "make test")
    listed = clone("approvals", "list").stdout
    assert listed == f"allowed  make test\nuntrusted  {COMMAND}\n"
