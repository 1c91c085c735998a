"""`clada plan`: what a run would do, and what would keep it from beginning; notes on paths from the root."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

import clada

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
PLANNED = (
    "[task-1] PLAN: WRITE - a.txt (would create, 2 bytes)\n"
    "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hi\n\\ No newline at end of file\n"
)


def test_outside_of_a_repository_the_plan_ends_with_the_line_of_the_run(shell: Shell) -> None:
    planned, run = shell("plan", document=WRITE), shell(document=WRITE)
    assert run.stdout.startswith("[task-1] FATAL: GIT - not a git repository: ")
    assert (planned.returncode, planned.stdout) == (1, PLANNED + run.stdout)
    assert os.listdir(shell.workspace) == []


def test_without_git_there_is_nothing_that_would_keep_a_run_from_beginning(shell: Shell) -> None:
    done = shell("plan", "--no-git", document=WRITE)
    assert (done.returncode, done.stdout, done.stderr) == (0, PLANNED, "")


@pytest.mark.parametrize("name", ["MERGE_HEAD", "index.lock"])
def test_what_keeps_git_from_committing_is_planned_too(repository: Shell, name: str) -> None:
    repository.write(f".git/{name}", "")
    planned, run = repository("plan", document=WRITE), repository(document=WRITE)
    assert run.stdout.startswith("[task-1] FATAL: GIT - ")
    assert (planned.returncode, planned.stdout) == (1, PLANNED + run.stdout)


def test_a_plan_in_a_repository_that_does_not_know_the_workspace_is_refused_as_its_run(
    repository: Shell,
) -> None:
    repository.write("new/here.txt", "old\n")
    planned, run = (repository(*words, "--workspace=new", document=WRITE) for words in (("plan",), ()))
    assert "has no file of this workspace" in run.stdout
    assert (planned.returncode, planned.stdout) == (1, PLANNED + run.stdout)
    named = repository("plan", "--workspace=new", f"--repository={repository.workspace}", document=WRITE)
    assert (named.returncode, named.stdout) == (0, PLANNED)


def test_a_plan_with_many_untracked_files_is_refused_where_nobody_can_be_asked(repository: Shell) -> None:
    for number in range(501):
        repository.write(f"many/{number}", "")
    planned, run = repository("plan", document=WRITE), repository(document=WRITE)
    assert "there are 501 untracked files" in run.stdout
    assert (planned.returncode, planned.stdout) == (1, PLANNED + run.stdout)
    assert repository("plan", "--commit-all", document=WRITE).returncode == 0


def test_the_lock_of_a_killed_clada_is_no_reason_to_refuse_a_plan_and_is_left(repository: Shell) -> None:
    repository.write(".git/index.lock", "clada 999999999 1")
    before = _tree(repository.workspace)
    assert repository("plan", document=WRITE).returncode == 0
    assert _tree(repository.workspace) == before
    assert repository(document=WRITE).returncode == 0


def test_a_plan_of_what_was_done_in_part_is_refused_as_its_run(repository: Shell) -> None:
    document = (
        WRITE.replace("a.txt", "b.txt") + '<---SEARCH file="none"--->\na\n<---REPLACE--->\n<---END--->\n'
    )
    assert repository(document=document).returncode == 1
    planned, run = repository("plan", document=document), repository(document=document)
    assert "parts of this were done in run 1" in run.stdout
    assert planned.stdout.endswith(run.stdout)
    assert "done in run 1" not in repository("plan", "--again", document=document).stdout


def test_a_plan_touches_nothing_in_the_repository(repository: Shell) -> None:
    before = _tree(repository.workspace)
    done = repository("plan", document=WRITE)
    assert (done.returncode, done.stdout, done.stderr) == (0, PLANNED, "")
    assert _tree(repository.workspace) == before


def _tree(top: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ctime_ns) for path in (top, *top.rglob("*"))}


def test_a_plan_of_nothing_that_can_be_executed_needs_no_repository(shell: Shell) -> None:
    done = shell("plan", document="<---RUN--->\n<---END--->\n")
    assert done.stdout == "[task-1] SKIP: RUN - Empty content not allowed for RUN operation\n"


def test_the_summaries_of_a_plan_that_could_not_begin(shell: Shell) -> None:
    xml = shell("plan", "--summary=xml", "--output-mode=silent", document=WRITE).stdout
    assert xml.startswith(
        '<result blocks="0" tasks="0" succeeded="0" failed="1">\n  <error type="git_operation_failed">'
    )
    summary = json.loads(shell("plan", "--summary=json", "--output-mode=silent", document=WRITE).stdout)
    assert (summary["ok"], summary["dry_run"], summary["failed"]) == (False, True, 1)
    assert summary["fatal"]["type"] == "git_operation_failed"
    assert summary["blocks"][0]["tasks"][0]["status"] == "planned"


def test_the_library_has_both_the_changes_and_why_a_run_would_not_begin(tmp_path: Path) -> None:
    report = clada.execute(WRITE, workspace=str(tmp_path), dry_run=True)
    assert report.fatal is not None
    assert report.fatal.type == "git_operation_failed"
    assert report.changes == (("a.txt", None, b"hi"),)
    assert report.text().splitlines()[-1].startswith("[task-1] FATAL: GIT - not a git repository: ")


ONLY = "only from the root of the repository; paths are relative to the workspace, which is src/ in it: "


@pytest.mark.parametrize("flags", [(), ("--no-git",), ("--dry-run",)], ids=" ".join)
def test_a_path_that_exists_only_from_the_root_gets_a_note(repository: Shell, flags: tuple[str, ...]) -> None:
    repository.write("src/x.py", "old\n")
    repository.git("add", "src")
    done = repository("--workspace=src", *flags, document='<---WRITE file="src/x.py"--->\nnew\n<---END--->\n')
    root = repository.workspace.resolve()
    status = (
        "PLAN: WRITE - src/x.py (would create"
        if "--dry-run" in flags
        else "SUCCESS: WRITE - src/x.py (created"
    )
    assert done.stdout.startswith(f"[task-1] {status}, 3 bytes)\n")
    assert done.stderr == f"clada: src/x.py exists {ONLY}to work in the root, use --workspace={root}\n"


def test_several_such_paths_get_one_note(repository: Shell) -> None:
    for name in ("src/x.py", "src/y.py", "docs/z.md"):
        repository.write(name, "old\n")
    document = (
        '<remove path="src/x.py"/>\n<move from="./src//y.py" to="b"/>\n<run dir="docs">ls</run>\n'
        '<remove path="src/x.py"/>\n<remove path="y.py"/>\n<write path="">x</write>\n'
    )
    done = repository("plan", "--workspace=src", document=document)
    assert f"clada: src/x.py and 2 more paths exist {ONLY}" in done.stderr


@pytest.mark.parametrize(
    "path", ["x.py", "new.py", "src/new.py", "../src/x.py", "/etc/passwd", ".git/HEAD", "link/x.py"]
)
def test_other_paths_get_none(repository: Shell, path: str) -> None:
    repository.write("src/x.py", "old\n")
    (repository.workspace / "link").symlink_to("src")
    done = repository("plan", "--workspace=src", document=f'<---WRITE file="{path}"--->\n<---END--->\n')
    assert done.stderr == ""


def test_a_path_that_is_in_both_places_gets_none(repository: Shell) -> None:
    repository.write("src/x.py", "old\n")
    repository.write("src/src/x.py", "old\n")
    done = repository("plan", "--workspace=src", document='<---WRITE file="src/x.py"--->\n<---END--->\n')
    assert done.stderr == ""


def test_a_page_is_not_written_over_another_file(shell: Shell) -> None:
    """Over the answer itself, say, whose name was taken for that of the page."""
    shell.write("answer.md", WRITE)
    done = shell("plan", "--no-git", "--html", "answer.md")
    assert done.returncode == 2
    assert "--html: answer.md is there, and is no page; name another file" in done.stderr
    assert (shell.workspace / "answer.md").read_text() == WRITE
