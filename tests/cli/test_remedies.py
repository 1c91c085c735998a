"""Every error that a person sees ends in what to do, on a line of its own, ready to copy."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
RUN = "<---RUN--->\nnpm test\n<---END--->\n"
CUT_OFF = '<---WRITE file="a.txt"--->\nhi\n'
# A command, or a line for the configuration file.
REMEDY = re.compile(
    r"  (to [\w ]+: )?(clada|git|mv|rm|mkdir|ls|export|unset|chmod|pip|\$EDITOR) \S.*|  \w+ = \S.*"
)


def nothing(_shell: Shell) -> None:
    """Leave the workspace empty."""


def a_run(shell: Shell) -> None:
    shell("--record=snapshots", document=WRITE)


def a_run_and_a_later_change(shell: Shell) -> None:
    a_run(shell)
    shell.write("a.txt", "changed\n")


def a_failed_run(shell: Shell) -> None:
    shell("--record=snapshots", document=WRITE + RUN)


def a_reverted_run(shell: Shell) -> None:
    a_failed_run(shell)
    (shell.workspace / "a.txt").unlink()


def a_run_in_a_repository(shell: Shell) -> None:
    shell.git("init", "-q")
    shell("--record=snapshots", document=WRITE)


def a_commit_above_a_run(shell: Shell) -> None:
    shell.git("init", "-q")
    shell(document=WRITE)
    shell.git("commit", "-q", "--allow-empty", "-m", "later")


def a_damaged_record(shell: Shell) -> None:
    a_run(shell)
    for file in shell.home.rglob("record.db"):
        file.write_bytes(b"damaged" * 1000)


def files(*pairs: tuple[str, str]) -> Callable[[Shell], None]:
    def prepare(shell: Shell) -> None:
        for path, content in pairs:
            shell.write(path, content)

    return prepare


def configured(content: str) -> Callable[[Shell], None]:
    def prepare(shell: Shell) -> None:
        shell.configure(content)

    return prepare


# What is there, what is typed, and how the message begins.
SITUATIONS: tuple[tuple[Callable[[Shell], None], str, str], ...] = (
    (nothing, "undo", "no run is recorded for this workspace"),
    (a_run, "undo 9", "there is no run 9 for this workspace"),
    (a_run_and_a_later_change, "undo", "changed since run 1: a.txt"),
    (a_run, "history show 9", "there is no run 9 for this workspace"),
    (nothing, "report", "no run is recorded for this workspace"),
    (nothing, "resume", "no run is recorded for this workspace"),
    (a_run, "resume", "run 1 did everything: there is nothing to resume"),
    (a_reverted_run, "resume", "files are no longer as run 1 left them: a.txt"),
    (nothing, "commit -m x", "not a git repository: "),
    (a_run_in_a_repository, "commit -m x", "no run has made a commit here"),
    (a_run_in_a_repository, "commit 1 -m x", "run 1 has no commit"),
    (a_commit_above_a_run, "commit -m x", "commit "),
    (a_damaged_record, "history", "the record "),
    (a_damaged_record, "undo", "the record "),
    (nothing, "approvals remove x", "neither approved nor blocked: x"),
    (files((".clada/allowed-commands.json", "{")), "approvals list", ".clada/allowed-commands.json is"),
    (files((".clada/config.toml", "color = 1\n")), "trust", "there is no terminal to ask on"),
    (configured("x = 1\n"), "plan", "/"),
    (configured("timeout = 's'\n"), "plan", "/"),
    (configured("confirm = 1\n"), "plan", "/"),
    (configured("verify = 1\n"), "plan", "/"),
    (configured("after_edit = 1\n"), "plan", "/"),
    (configured("record = snapshots\n"), "plan", "/"),
    (configured("[[\n"), "plan", "/"),
    (configured("a.b.c.d.e.f = 1\n"), "plan", "/"),
    (nothing, "config get", "config get needs one setting"),
    (nothing, "config set after_edit x", "after_edit is a table: write it into the file"),
    (nothing, "watch", "clada watch needs a terminal to ask on"),
    (nothing, "watch --yes missing/answer.md", "missing/answer.md: there is no directory missing"),
    (nothing, "watch --yes .", ". contains the workspace"),
    (nothing, "watch --yes answer.report.md", "answer.report.md is the name of a report"),
    (nothing, "watch --yes --clipboard", "no clipboard: there is no display"),
    (nothing, "paste", "no clipboard: there is no display"),
    (a_run, "report --copy", "no clipboard: there is no display"),
    (files(("answer.md", WRITE)), "--confirm answer.md", "--confirm needs a terminal to ask on"),
    (nothing, "missing.md", "missing.md: no such file or directory"),
    (nothing, "-C missing", "--workspace: missing is not a directory"),
    (files(("answer.md", WRITE)), "plan --html answer.md answer.md", "--html: answer.md exists"),
    (files(("answer.md", WRITE)), "plan --html x/plan.html answer.md", "--html: No such file"),
    (nothing, "--events=x", "--events must be jsonl"),
    (nothing, "--events=jsonl:99", "--events: handle 99 is not open"),
    (nothing, "--events=jsonl:x/y", "--events: x/y: no such file or directory"),
    (files(("answer.md", CUT_OFF)), "convert --to cml answer.md", "Line 1: Unterminated WRITE operation"),
    (nothing, "pack missing.py", "missing.py is not a file, or a directory with files"),
    (nothing, "pack --changed", "not a git repository: "),
    (a_run_in_a_repository, "pack --since missing", "git has no revision missing"),
    (nothing, "pack --edit", "--edit needs a terminal"),
    (nothing, "batch missing.jsonl --out=x", "missing.jsonl: no such file or directory"),
    (files(("jobs.jsonl", "{\n")), "batch jobs.jsonl --out=x", "jobs.jsonl, line 1: not JSON"),
    (nothing, "batch summary missing.jsonl", "missing.jsonl: no such file or directory"),
)  # fmt: skip


@pytest.mark.parametrize(("prepare", "line", "message"), SITUATIONS)
def test_an_error_ends_in_what_to_do(
    shell: Shell, prepare: Callable[[Shell], None], line: str, message: str
) -> None:
    prepare(shell)
    done = shell(*line.split(), document=WRITE, DISPLAY="", WAYLAND_DISPLAY="", CLADA_TRUST_WORKSPACE="")
    assert done.returncode in (1, 2)
    assert f"clada: {message}" in done.stderr
    assert REMEDY.fullmatch(done.stderr.splitlines()[-1]), done.stderr


@pytest.mark.parametrize(("record", "then"), [("none", []), ("snapshots", ["  clada resume"])])
def test_a_command_that_needs_approval_has_the_commands_to_copy_below_it(
    shell: Shell, record: str, then: list[str]
) -> None:
    commands = ["  clada approvals add 'npm test'", *then]
    done = shell(f"--record={record}", document=RUN)
    refused = "[task-1] ERROR: RUN - npm test: command_not_allowed: needs approval"
    assert done.stdout.splitlines() == [refused, *commands]
    silent = shell(f"--record={record}", "--again", "-q", document=RUN)
    assert (silent.stdout, silent.stderr.splitlines()) == ("", [refused, *commands])


def test_an_untrusted_approval_is_remedied_by_trust(shell: Shell) -> None:
    shell.write(".clada/allowed-commands.json", '{"commands": ["npm test"]}')
    done = shell("--no-git", document=RUN, CLADA_TRUST_WORKSPACE="")
    assert done.stdout.splitlines()[1:] == ["  clada trust"]


def test_a_document_that_was_applied_in_part_says_how_to_go_on(shell: Shell) -> None:
    document = WRITE + RUN
    shell("--record=snapshots", document=document)
    again = shell("--record=snapshots", document=document)
    told = "already applied in part (run 1: 1 of 2 done). Continue: clada resume. Start over: --again"
    assert again.stdout == f"[task-1] FATAL: INPUT - {told}\n"
