"""Commands in a dry run: built-in ones act on the overlay, others are skipped; nothing starts or is asked."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.programs import needs

from clada.model import Skipped

if TYPE_CHECKING:
    from tests.operations.conftest import Runner, Shell

NO_APPROVAL = "not run in a dry run: needs no approval"
APPROVAL = "not run in a dry run: needs approval"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("cat a", NO_APPROVAL),
        ("touch b && cat b", NO_APPROVAL),
        ("git status", NO_APPROVAL),
        ("npm test", APPROVAL),
        ("touch b\nnpm test\ncat x", APPROVAL),
        ("cat a && npm test", APPROVAL),
        ("npm run known && npm test", APPROVAL),
        ("tail -f a", "not run in a dry run: needs approval: `-f`"),
        ("npm run known", NO_APPROVAL),
    ],
)
def test_a_command_that_is_not_run(body: str, reason: str, runs: Runner) -> None:
    """It is a skip that says why, and whether it would need approval; that is no failure."""
    runs.approve("npm run known")
    (runs.workspace / "a").write_text("a\n")
    asked: list[str] = []
    done = runs(body, dry_run=True, ask=lambda *given, **_: asked.append(given[0]))
    assert isinstance(done.task.outcome, Skipped)
    assert done.task.outcome.reason.startswith(reason)
    assert (done.report.ok, done.output, asked) == (True, [], [])


@pytest.mark.parametrize(
    ("body", "type_"),
    [
        ("cat a | sort", "command_not_allowed"),
        ("cat ../x", "path_escape"),
        ("cat ../x && npm test", "path_escape"),
        ("npm test && cat ../x", "path_escape"),
        ("cat .git/config", "permission_denied"),
        ("touch b && cat link", "symlink_not_allowed"),
        ("rm missing", "exec_failed"),
        ("mv ../x .", "path_escape"),
        ("npm publish", "command_not_allowed"),
        ("  ", "command_not_allowed"),
    ],
)
def test_a_command_that_is_refused(body: str, type_: str, runs: Runner) -> None:
    """It is an error in a dry run too."""
    runs.approve(blocked=["npm publish"])
    (runs.workspace / "link").symlink_to("/etc/passwd")
    done = runs(body, dry_run=True)
    assert (done.error.type, done.report.ok) == (type_, False)


def test_built_in_commands_act_on_the_overlay(shell: Shell) -> None:
    """Later operations see what they did, the diff shows it, and the disk does not."""
    (shell.workspace / "old").write_text("text\n")
    first = "mkdir -p a/b && mv old a/b/new && cd a/b && cp new copy && chmod +x copy"
    done = shell.run(
        first,
        "rm a/b/new",
        "cat a/b/copy",
        "rm a/b/new",
        arguments=("--dry-run",),
    )
    assert done.returncode == 1
    assert done.stdout.splitlines()[:5] == [
        f"[task-1.1] PLAN: RUN - {first} (would run)",
        "[task-2.1] PLAN: RUN - rm a/b/new (would run)",
        f"[task-3.1] SKIP: RUN - {NO_APPROVAL}",
        "  | cat a/b/copy",
        "[task-4.1:exec] rm: cannot remove 'a/b/new': No such file or directory",
    ]
    assert "rename from old\nrename to a/b/copy\n" in done.stdout
    assert [path.name for path in shell.workspace.iterdir()] == ["old"]


def test_only_skips_are_no_failure(shell: Shell) -> None:
    """The exit code is 0, also with everything approved, and nothing has run."""
    body = 'python3 -c \'open("marker", "w")\''
    done = shell.run(body, "npm test", "cat x", arguments=("--dry-run", "--approve", body, "--approve-all"))
    assert done.returncode == 0
    assert done.stdout.count("SKIP: RUN - not run in a dry run") == 3
    assert list(shell.workspace.iterdir()) == []


@needs("strace")
def test_nothing_is_started(runs: Runner) -> None:
    """Not one process, whatever the document asks for: the system itself is asked."""
    (runs.workspace / "x").write_text("x\n")
    log = runs.workspace.parent / "log"
    document = '{"tasks": [{"action": "run", "command": "%s"}]}'
    commands = ["cat x", "npm test", "git status", "touch y", "grep x x", "for i in 1; do true; done"]
    strace = ["strace", "-f", "-qq", "-e", "trace=execve,fork,vfork,clone,clone3", "-o", str(log)]
    flags = ["--no-git", "--dry-run", "--shell=approved", "--approve-all"]
    subprocess.run(
        [*strace, sys.executable, "-m", "clada", *flags],
        input=f"[{', '.join(document % command for command in commands)}]",
        cwd=runs.workspace,
        capture_output=True,
        text=True,
        check=True,
    )
    started = [line for line in log.read_text().splitlines() if "exited" not in line]
    assert len(started) == 1, started  # clada itself
