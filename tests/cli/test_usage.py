"""How the command line is read: help, version, wrong flags and values, and where documents come from."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.programs import skip_without

from clada.cli.arguments import read
from clada.cli.flags import COMMANDS, FLAGS
from clada.cli.help import command_help
from clada.errors import UsageError
from clada.setting_values import read_duration, read_size
from clada.version import VERSION

if TYPE_CHECKING:
    from tests.cli.conftest import Shell, Terminals

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
NOTHING = "clada: no operations found\n"


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_fits_into_80_columns(command: str | None) -> None:
    lines = command_help(command).splitlines()
    assert lines[0].startswith("usage: clada")
    assert [line for line in lines if len(line) > 80] == []


def test_help_names_every_flag_and_every_command() -> None:
    text = command_help(None)
    assert [flag.name for flag in FLAGS.values() if f"--{flag.dashed}" not in text] == []
    assert [name for name in COMMANDS if f"\n  {name}" not in text] == []


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("plan", "--help"), ("--help", "undo")])
def test_help_is_printed_to_standard_output(shell: Shell, arguments: tuple[str, ...]) -> None:
    done = shell(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: clada")


@pytest.mark.parametrize("arguments", [("--version",), ("-V",), ("plan", "--version")])
def test_version(shell: Shell, arguments: tuple[str, ...]) -> None:
    done = shell(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"clada {VERSION}\n", "")


def wrong_invocations() -> dict[str, str]:
    """Return command lines, and what each prints: a message, and what to write instead on its own line."""
    text = Path(__file__).with_name("wrong_invocations.txt").read_text(encoding="utf-8")
    blocks = (block.partition("\n") for block in text.removeprefix("$ ").strip().split("\n\n$ "))
    return {line: f"{printed}\n" for line, _, printed in blocks}


WRONG = wrong_invocations()


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_invocation_says_what_is_wrong_and_what_to_write_instead(shell: Shell, line: str) -> None:
    words = shlex.split(line)
    at = words.index("clada")
    variables = dict(word.split("=", 1) for word in words[:at])
    done = shell(*words[at + 1 :], document=WRITE, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", WRONG[line])
    assert list(shell.workspace.iterdir()) == []


def test_a_flag_without_its_value_does_not_take_the_file(shell: Shell) -> None:
    shell.write("answer.md", WRITE)
    done = shell("--timeout", "answer.md")
    assert done.returncode == 2
    assert done.stderr.endswith("not 'answer.md'\n  clada --timeout=30s answer.md\n")


def test_every_wrong_invocation_ends_in_a_remedy() -> None:
    assert len(WRONG) >= 60
    assert [line for line, printed in WRONG.items() if not printed.splitlines()[-1].startswith("  ")] == []


def test_an_unreadable_file_is_one_line(shell: Shell) -> None:
    shell.write("secret.md", WRITE).chmod(0)
    argv = [sys.executable, "-m", "clada", "secret.md"]
    if os.geteuid() == 0:  # root reads every file unless it gives up its capabilities
        skip_without("setpriv")
        argv = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *argv]
    done = subprocess.run(argv, cwd=shell.workspace, env=shell.environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"clada: secret.md: permission denied\n  clada --help\n"


DURATIONS = {"500ms": 0.5, "30s": 30.0, "5m": 300.0, "1h": 3600.0, "7": 7.0, "1.5s": 1.5, "0": 0.0}
SIZES = {"7": 7, "512B": 512, "64KB": 65536, "10MB": 10485760, "1GB": 1073741824, "1.5KB": 1536}


@pytest.mark.parametrize("text", DURATIONS)
def test_durations(text: str) -> None:
    assert read_duration(text) == DURATIONS[text]


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    assert read_size(text) == SIZES[text]


@pytest.mark.parametrize(
    "text", ["", "s", "1d", "1S", "ms", "1 s", "-1", "1e3", "٣s", ".5s", "1.", "nan", "9" * 13]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError):
        read_duration(text)


@pytest.mark.parametrize("text", ["", "KB", "1kb", "1K", "1TB", "-1B", "1,000", "1 MB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError):
        read_size(text)


def test_the_defaults_are_those_of_the_specification() -> None:
    defaults = {flag.dashed: flag.default for flag in FLAGS.values()}
    assert defaults == {
        "timeout": 30.0, "total-timeout": None, "max-output": 10485760, "output-mode": "stream",
        "max-files": 200_000, "max-bytes": 10 << 30,
        "no-git": False, "record": "auto", "git-author": "clada", "message": None, "commit-all": False,
        "repository": None, "snapshot-limit": 100 << 20, "allow-escape": False, "allow-autorun": False,
        "lock-file": None, "lock-timeout": 10.0, "error-detail": "minimal", "workspace": ".",
        "format": "auto", "merge": "auto",
        "start-delimiter": "<---", "end-delimiter": "--->", "root": None, "run-fences": False,
        "strip-fences": None,
        "match": "auto", "summary": "auto", "events": None,
        "dry-run": False, "syntax": "note", "atomic": False, "verify": (),
        "verify-strict": False, "again": False, "confirm": False,
        "final-newline": None, "approve": (), "approve-all": False,
        "shell": "never", "sandbox": "auto", "color": "auto", "copy": False,
    }  # fmt: skip


def test_flags_may_stand_anywhere_and_the_last_one_counts() -> None:
    invocation = read(["--timeout", "1s", "plan", "--timeout=2s", "--", "--odd-name"])
    assert (invocation.command, invocation.arguments) == ("plan", ("--odd-name",))
    assert invocation.given == {"timeout": 2.0}


def test_approve_can_be_repeated() -> None:
    assert read(["--approve", "a", "--approve=b c"]).given == {"approve": ("a", "b c")}


def test_min_is_short_for_minimal() -> None:
    assert read(["--error-detail=min"]).given == {"error_detail": "minimal"}


def test_total_timeout_can_be_taken_back() -> None:
    assert read(["--total-timeout=none"]).given == {"total_timeout": None}


def test_a_document_from_standard_input(shell: Shell) -> None:
    done = shell("--no-git", document=WRITE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)\n"


@pytest.mark.parametrize("argument", ["answer.md", "-", "./answer.md"])
def test_a_document_from_a_file_or_by_a_dash(shell: Shell, argument: str) -> None:
    shell.write("answer.md", WRITE)
    done = shell("--no-git", argument, document=WRITE)
    assert (done.returncode, done.stdout) == (0, "[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)\n")


def test_a_document_that_is_named_like_a_command(shell: Shell) -> None:
    shell.write("plan", WRITE)
    assert shell("--no-git", "./plan").returncode == 0


@pytest.mark.parametrize("document", ["", "just prose\n", "<---TASKS--->\n<---END--->\n"])
def test_nothing_to_do_has_an_exit_code_of_its_own(shell: Shell, document: str) -> None:
    done = shell(document=document)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", NOTHING)


def test_nothing_to_do_has_a_summary_where_one_is_asked_for(shell: Shell) -> None:
    done = shell("--summary=xml", document="prose")
    assert done.stdout == '<result blocks="0" tasks="0" succeeded="0" failed="0">\n</result>\n'
    assert done.stderr == NOTHING


def test_what_only_looks_like_an_operation_is_a_failure_naming_the_line(shell: Shell) -> None:
    done = shell(document='Sure:\n\n  <---WRITE file="a"--->\n  x\n  <---END--->\n')
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("[task-1] FATAL: PARSE - Line 3: ")


def test_closed_standard_input_is_an_empty_document(shell: Shell) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m clada <&-"],
        cwd=shell.workspace, env=shell.environment, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.decode()) == (3, NOTHING)


def test_a_terminal_without_a_document_gets_usage_at_once(terminal: Terminals) -> None:
    code, seen = terminal().end()
    assert code == 2
    assert seen.startswith("usage: clada [FILE] [flags]")


def test_a_document_can_be_typed_after_a_dash(shell: Shell, terminal: Terminals) -> None:
    screen = terminal("-", "--no-git", "--color=never")
    screen.type(WRITE + "\x04")
    code, seen = screen.end()
    assert (code, (shell.workspace / "a.txt").read_text()) == (0, "hi\n")
    assert "SUCCESS: WRITE - a.txt" in seen


def test_too_large_a_document_is_noticed_without_reading_it_all(shell: Shell) -> None:
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run(
            [sys.executable, "-m", "clada"], stdin=endless.stdout, cwd=shell.workspace,
            env=shell.environment, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        endless.kill()
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout == (
        b"[task-1] FATAL: INPUT - The document is larger than 50 MB (52,428,800 bytes): split it\n"
    )


def test_python_m_clada_and_the_installed_command_are_the_same(shell: Shell) -> None:
    command = os.path.join(os.path.dirname(sys.executable), "clada")
    done = subprocess.run([command, "--help"], capture_output=True, check=True, env=shell.environment)
    assert done.stdout.decode() == shell("--help").stdout


BUG = """\
import sys
from clada.cli.commands import apply
from clada.cli.dispatch import dispatch
def bug(*_, **__): raise ZeroDivisionError("oh dear")
apply.plan_for = bug
sys.exit(dispatch(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("arguments", "configuration", "traced"),
    [
        ((), "", False),
        (("--error-detail=debug",), "", True),
        (("--error-detail", "debug"), "", True),
        ((), 'error_detail = "debug"\n', True),
        (("debug",), "", False),  # a file of that name
        (("--error-detail=full",), 'error_detail = "debug"\n', False),
    ],
)
def test_a_bug_is_one_line_unless_more_is_asked_for(
    shell: Shell, arguments: tuple[str, ...], configuration: str, *, traced: bool
) -> None:
    shell.configure(configuration)
    shell.write("debug", WRITE)
    done = subprocess.run(
        [sys.executable, "-c", BUG, *arguments],
        cwd=shell.workspace, env=shell.environment, input=WRITE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) is traced
    again = " ".join(["clada", *arguments, "--error-detail=debug"])
    line = f"clada: internal error: ZeroDivisionError: oh dear\n  {again}\n"
    assert (done.stderr == line) is not traced


UNDO_BUG = BUG.replace("import apply", "import undo").replace("apply.plan_for", "undo.undo")


def test_a_bug_in_a_command_without_the_flag_does_not_name_it(shell: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNDO_BUG, "undo"],
        cwd=shell.workspace, env=shell.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "clada: internal error: ZeroDivisionError: oh dear\n  clada doctor\n",
    )
