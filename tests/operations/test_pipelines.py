"""Pipelines of readers, without a shell: each part by its own row, limits for all of them together."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.handles import open_handles
from tests.programs import needs

from clada.operations.run import launch

if TYPE_CHECKING:
    from pathlib import Path

    from tests.operations.conftest import Runner

LINES = [f"line {number}" for number in range(1, 31)]


@pytest.fixture
def tree(runs: Runner) -> Path:
    """Return the workspace, with files to read, something outside, and links that lead there."""
    workspace = runs.workspace
    (workspace / "f").write_text("".join(f"{line}\n" for line in LINES))
    (workspace / "sub").mkdir()
    (workspace / "sub" / "g").write_text("line 5\n")
    (workspace.parent / "outside").write_text("SECRET\n")
    (workspace / "link").symlink_to("../outside")
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("SECRET\n")
    os.mkfifo(workspace / "pipe")
    return workspace


ACCEPTED = [
    ("cat f | head -2", ["line 1", "line 2"]),
    ("cat f|head -2", ["line 1", "line 2"]),
    ("cat f |\n head -2", ["line 1", "line 2"]),
    ("cat f | # all of it\n\n tail -1", ["line 30"]),
    ("cat f | tail -n 1", ["line 30"]),
    ("cat f | tail -1 | cat -n", ["     1\tline 30"]),
    ("cat f | wc -l", ["30"]),
    ("cat f | grep 'line 3'", ["line 3", "line 30"]),
    ("cat f | grep -c line", ["30"]),
    ("cat f | grep -v line 2>&1 | wc -l", ["0"]),
    ("cat f 2>&1 | head -1", ["line 1"]),
    ("cat f | head -1 2>&1", ["line 1"]),
    ("grep -rn 'line 5' . | head -1", None),
    ("grep -h 'line 5' f sub/g | wc -l", ["2"]),
    ("cd sub && cat g | head -1", ["line 5"]),
    ("cat f | head -1 && cat f | tail -1", ["line 1", "line 30"]),
    pytest.param("cat f | xxd -l 4 -p", ["6c696e65"], marks=needs("xxd")),
    ("ls | grep -x f", ["f"]),
    ("find . -name g | head", ["./sub/g"]),
    ("find sub -type f -print | wc -l", ["1"]),
    ("cat f | head -5 | tail -3 | head -2 | tail -1", ["line 4"]),
    ("cat f | grep -e 'line 7'", ["line 7"]),
    ("cat f | grep --regexp 'line 7'", ["line 7"]),
    ("cat f | diff f f", []),
    ("diff f sub/g | head -1", ["1,4d0"]),
    ("stat -c %s sub/g | cat", ["7"]),
    ("$ cat f | head -1", ["line 1"]),
    ("`cat f | head -1`", ["line 1"]),
]


@pytest.mark.parametrize(("body", "expected"), ACCEPTED)
def test_readers_read_what_others_print(
    body: str, expected: list[str] | None, runs: Runner, tree: Path
) -> None:
    """With the words that bash makes of it, and what bash prints."""
    (tree / "pipe").unlink()
    done = runs(body)
    assert done.report.ok, done.report.tasks
    if expected is not None:
        assert done.output == expected
    if body[0] not in "$`" and shutil.which("bash"):
        ran = subprocess.run(["bash", "-c", body], cwd=tree, capture_output=True, text=True, check=True)
        if "grep -rn" not in body:  # which leaves out .git here
            assert done.output == ran.stdout.splitlines()


REFUSED = [
    ("cat f | sort", "sort is not a reader"),
    ("sort f | head", "leave out `| head`"),
    ("cat f | xargs rm", "xargs is not a reader"),
    ("cat f | tee g", "tee is not a reader"),
    ("cat f | sh", "sh is not a reader"),
    ("cat f | python3", "python3 is not a reader"),
    ("cat f | ./head", "./head is not a reader"),
    ("cat f | /bin/head", "/bin/head is not a reader"),
    ("cat f | rm -r sub", "rm is not a reader"),
    ("cat f | cd sub", "cd is not a reader"),
    ("cat f | echo x", "echo is not a reader"),
    ("echo x | cat", "leave out `| cat`"),
    ("pwd | cat f | head", "leave out `| cat f | head`"),
    ("pwd | wc -l", "pwd is not a reader"),
    ("cat | head", "standard input"),
    ("head | cat f", "standard input"),
    ("cat f | cat -", "`-`"),
    ("cat f | head -", "`-`"),
    ("cat f | grep x -", "`-`"),
    ("cat f | tail -f", "`-f`"),
    ("cat f | tail -5f", "`-5f`"),
    ("cat f | tail --follow", "`--follow`"),
    ("cat f | grep -f sub/g", "`-f`"),
    ("cat f | grep -R x", "`-R`"),
    ("cat f | wc --files0-from=-", "`--files0-from=-`"),
    ("find . -files0-from - | cat", "`-files0-from`"),
    ("find . -delete | head", "`-delete`"),
    ("find . -exec rm {} + | head", "`-exec`"),
    ("cat f | find . -delete", "`-delete`"),
    ("cat f | xxd -r", "`-r`"),
    ("cat f | xxd -r - out", "`-r`"),
    ("cat f | xxd f out", "out"),
    ("cat f | file -f -", "`-f`"),
    ("cat f | tree --fromfile", "`--fromfile`"),
    ("cat f | diff -", "`-`"),
    ("git stash | cat", "leave out"),
    ("git stash pop | cat", "leave out"),
    ("cat f | git stash", "git stash push is not a reader"),
    ("cat f | git push", "git push is not a reader"),
    ("git log --output=x | cat", "`--output=x`"),
    ("cat f | git diff --no-index f -", "no-index"),
    ("cat f |& head", "`|&`"),
    ("cat f || head f", "`||`"),
    ("cat f | head > out", "`>`"),
    ("cat f | head; rm f", "`;`"),
    ("cat f | head & rm f", "`&`"),
    ("cat f | (head)", "`(`"),
    ("cat f | ! head", "`!`"),
    ("cat f | A=1 head", "`A=`"),
    ("cat f | $(head)", "`$(`"),
    ("cat f | while read x", "`while`"),
    ("cat f |", "`|` must stand between two commands"),
    ("| cat f", "`|` must stand between two commands"),
    ("cat f | | head", "`|` must stand between two commands"),
    ("2>&1 | cat", "`|` must stand between two commands"),
    ("cat f | 2>&1", "`|` must stand between two commands"),
]


@pytest.mark.parametrize(("body", "why"), REFUSED)
def test_a_pipeline_with_anything_else_is_refused_whole(
    body: str, why: str, runs: Runner, tree: Path
) -> None:
    """Nothing of it starts, and the message names the part."""
    before = sorted(os.listdir(tree))
    done = runs(f"touch early && {body}" if not body.startswith("|") else body)
    assert done.error.type == "command_not_allowed"
    assert why in done.said
    assert sorted(os.listdir(tree)) == before
    assert done.output == []


PATHS = [
    ("cat ../outside | head", "path_escape"),
    ("cat f | cat ../outside", "path_escape"),
    ("cat f | grep x ../outside", "path_escape"),
    ("cat f | head /etc/passwd", "path_escape"),
    ("cat link | head", "symlink_not_allowed"),
    ("cat f | cat link", "symlink_not_allowed"),
    ("cat .git/config | head", "permission_denied"),
    ("cat f | cat sub/../.git/config", "permission_denied"),
    ("cat f | cat .clada/allowed-commands.json", "permission_denied"),
    ("cat pipe | head", "permission_denied"),
    ("cat f | wc pipe", "permission_denied"),
    ("cat f | grep -rl SECRET ..", "path_escape"),
]


@pytest.mark.parametrize(("body", "kind"), PATHS)
def test_paths_are_held_to_the_rules_in_every_part(body: str, kind: str, runs: Runner, tree: Path) -> None:
    """Wherever the part stands."""
    del tree
    done = runs(body)
    assert done.error.type == kind
    assert "SECRET" not in "\n".join(done.output)


def test_the_exit_code_is_the_last_ones(runs: Runner, tree: Path) -> None:
    """As in a shell: what fails before it is shown, and that is all."""
    del tree
    done = runs("cat missing f | head -1")
    assert done.report.ok
    assert done.output == ["cat: missing: No such file or directory", "line 1"]
    done = runs("cat f | grep zzz")
    assert (done.error.type, done.error.message) == ("exec_failed", "exit code 1: no line matched")
    done = runs("cat f | grep zzz", "cat f | grep zzz | cat")
    assert [task.status for task in done.report.tasks] == ["error", "success"]


def test_a_part_that_ends_early_ends_the_others(runs: Runner, tree: Path) -> None:
    """Far more than a pipe holds is on the way: nobody waits for a reader that is gone."""
    (tree / "big").write_bytes(b"0123456789abcde\n" * 300_000)
    assert runs("cat big | head -1").output == ["0123456789abcde"]
    assert runs("cat big | cat | cat | wc -l").output == ["300000"]
    assert runs("cat big | grep -m1 0 | cat -n").output == ["     1\t0123456789abcde"]
    assert runs("cat big | ls sub").output == ["g"]
    assert runs("head -c 3000000 big | tail -c 5").report.ok


def test_the_output_of_all_parts_is_limited_together(runs: Runner, tree: Path) -> None:
    """Errors of an early part count, too; the rest is discarded, and nobody is stuck."""
    (tree / "big").write_bytes(b"0123456789abcde\n" * 1_000_000)
    done = runs("cat big | cat", max_output=64)
    assert done.report.ok
    assert done.output[-1] == "[output truncated]"
    assert sum(map(len, done.output)) <= launch.READER_OUTPUT


SLOW = r"cat slow | grep -E '^(.+)(.+)(.+)(.+)\1\2\3\4$' | cat"


@pytest.mark.parametrize("body", [SLOW, SLOW.removesuffix(" | cat")])
def test_the_time_of_all_parts_is_limited_together(
    body: str, runs: Runner, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing of it is left."""
    monkeypatch.setattr(launch, "READER_SECONDS", 0.3)
    (tree / "slow").write_text("ab" * 300 + "\n")
    before = _children()
    done = runs(body)
    assert (done.error.type, done.error.message) == ("exec_timeout", "took longer than 0.3s")
    assert _children() == before


def _children() -> list[str]:
    """Return the processes whose parent is this one."""
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read().split()


def test_no_handle_is_left_open(runs: Runner, tree: Path) -> None:
    """Neither after success, nor where a program cannot be started."""
    del tree
    runs("cat f | head -1")
    before = open_handles()
    for body in (
        "cat f | head -1",
        "cat f | grep zzz",
        "cat f | cat ../x",
        "cat f | sort",
        "cat missing | wc",
    ):
        runs(body)
    assert open_handles() == before


def test_a_dry_run_says_that_no_approval_is_needed(runs: Runner, tree: Path) -> None:
    """And starts nothing."""
    del tree
    done = runs("cat f | head -1", dry_run=True)
    assert done.output == []
    assert "needs no approval" in str(done.task.outcome)


@pytest.mark.parametrize("blocked", ["head -1", "cat f", "head  -1", "cat f | head -1"])
def test_what_is_blocked_is_blocked_as_a_part_too(blocked: str, runs: Runner, tree: Path) -> None:
    """By its words, wherever they stand."""
    del tree
    runs.approve(blocked=[blocked])
    assert "is blocked" in runs("cat f | head -1").said


def test_a_pipeline_for_bash_is_approved_whole(runs: Runner, tree: Path) -> None:
    """Its exact text, and only with the flag; approving its parts is not enough."""
    del tree
    body = "cat f | sort -r"
    assert not runs(body, shell="approved", approve=["cat f", "sort -r"]).report.ok
    assert not runs(body, approve=[body]).report.ok
    assert runs(body, shell="approved", approve=[body]).output[0] == "line 9"


def test_git_is_a_reader_in_a_pipeline(runs: Runner, tree: Path) -> None:
    """With all that keeps it harmless."""
    shutil.rmtree(tree / ".git")
    (tree / "pipe").unlink()
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    assert runs("git status --short | grep f").output == ["?? f"]
    assert runs("cat f | git status --short | wc -l").report.ok
