"""`clada plan`: what a run would do, and what would keep it from beginning; notes on paths from the root."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import clada

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
PLANNED = (
    "[task-1] PLAN: WRITE - a.txt (would create, 3 bytes)\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hi\n"
)


def test_outside_of_a_repository_the_plan_ends_with_the_line_of_the_run(shell: Shell) -> None:
    planned, run = (shell(*words, "--record=commits", document=WRITE) for words in (["plan"], []))
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


def test_a_plan_with_many_untracked_files_is_refused_without_a_terminal(repository: Shell) -> None:
    for number in range(501):
        repository.write(f"many/{number}", "")
    planned, run = repository("plan", document=WRITE), repository(document=WRITE)
    assert "there are 501 untracked files" in run.stdout
    assert (planned.returncode, planned.stdout) == (1, PLANNED + run.stdout)
    assert repository("plan", "--commit-all", document=WRITE).returncode == 0


@pytest.mark.parametrize("command", [["plan"], ["doctor"], ["recover"], ["history"], ["--dry-run"]])
def test_the_lock_of_a_killed_clada_is_cleared_by_every_command(
    repository: Shell, command: list[str]
) -> None:
    """That of another program, or of one that lives, is left."""
    lock = repository.write(".git/index.lock", "clada 999999999 1")
    repository(*command, document=WRITE)
    assert not lock.exists()
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    for text in ("", f"clada {os.getpid()} {started}"):
        lock.write_text(text)
        repository(*command, document=WRITE)
        assert lock.read_text() == text


def test_a_plan_of_what_was_done_in_part_is_refused_as_its_run(repository: Shell) -> None:
    document = (
        WRITE.replace("a.txt", "b.txt") + '<---SEARCH file="none"--->\na\n<---REPLACE--->\n<---END--->\n'
    )
    assert repository(document=document).returncode == 1
    planned, run = repository("plan", document=document), repository(document=document)
    assert "already applied in part (run 1: " in run.stdout
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
    xml = shell("plan", "--record=commits", "--summary=xml", "--output-mode=silent", document=WRITE).stdout
    assert xml.startswith(
        '<result blocks="0" tasks="0" succeeded="0" failed="1">\n  <error type="git_operation_failed">'
    )
    planned = shell("plan", "--record=commits", "--summary=json", "--output-mode=silent", document=WRITE)
    summary = json.loads(planned.stdout)
    assert (summary["ok"], summary["dry_run"], summary["failed"]) == (False, True, 1)
    assert summary["fatal"]["type"] == "git_operation_failed"
    assert summary["blocks"][0]["tasks"][0]["status"] == "planned"


def test_the_library_has_both_the_changes_and_why_a_run_would_not_begin(tmp_path: Path) -> None:
    report = clada.execute(WRITE, workspace=str(tmp_path), dry_run=True, record="commits")
    assert report.fatal is not None
    assert report.fatal.type == "git_operation_failed"
    assert report.changes == (("a.txt", None, b"hi\n"),)
    assert report.text().splitlines()[-1].startswith("[task-1] FATAL: GIT - not a git repository: ")


def committed_line(repository: Shell) -> str:
    """Return the line that a run ends with which made two commits."""
    post, pre = repository.git("log", "-2", "--format=%H").split()
    return f"committed {pre[:7]} (your work before), {post[:7]} (this run)"


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
    assert done.stdout.startswith(f"[task-1] {status}, 4 bytes)\n")
    note = f"clada: src/x.py exists {ONLY}to work in the root, use --workspace={root}\n"
    committed = "" if flags else f"clada: {committed_line(repository)}\n"
    assert done.stderr == note + committed


def test_several_such_paths_get_one_note(repository: Shell) -> None:
    for name in ("src/x.py", "src/y.py", "docs/z.md"):
        repository.write(name, "old\n")
    document = (
        '<remove path="src/x.py"/>\n<move from="./src//y.py" to="b"/>\n<run dir="docs">ls</run>\n'
        '<remove path="src/x.py"/>\n<remove path="y.py"/>\n<write path="">x</write>\n'
    )
    done = repository("plan", "--workspace=src", document=document)
    assert f"clada: src/x.py and 2 more exist {ONLY}" in done.stderr


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


def diff_of(printed: str) -> str:
    return "".join(line for line in printed.splitlines(keepends=True) if not line.startswith("[task-"))


LINES_134 = "".join(f"line {number}\n" for number in range(134))
MOVED = "similarity index 100%\nrename from old/a.txt\nrename to new/a.txt\n"
RENAMES = {
    "move": '{"tasks": [{"action": "move", "from": "old/a.txt", "to": "new/a.txt"}]}',
    "move of a directory": '{"tasks": [{"action": "move", "from": "old", "to": "new"}]}',
    "mv": "<---RUN--->\nmkdir new && mv old/a.txt new/a.txt\n<---END--->\n",
    "mv of a directory": "<---RUN--->\nmv old new\n<---END--->\n",
    "udiff": f"```diff\ndiff --git a/old/a.txt b/new/a.txt\n{MOVED}```\n",
}


def applied(repository: Shell, document: str) -> str:
    """Let git apply what a plan prints; return what git then says has changed."""
    printed = repository("plan", "--no-git", "--summary=none", document=document)
    assert printed.returncode == 0, printed.stdout
    (repository.workspace.parent / "patch").write_text(diff_of(printed.stdout), encoding="utf-8")
    repository.git("apply", "--index", "../patch")
    return repository.git("diff", "--cached", "-M", "--summary")


@pytest.mark.parametrize("name", RENAMES)
def test_a_rename_is_shown_as_one_and_git_applies_it(repository: Shell, name: str) -> None:
    repository.write("old/a.txt", LINES_134)
    repository.git("add", "-A")
    shown = diff_of(repository("plan", "--no-git", "--summary=none", document=RENAMES[name]).stdout)
    assert shown == f"diff --git a/old/a.txt b/new/a.txt\n{MOVED}"
    repository.git("commit", "-qm", "before")
    assert applied(repository, RENAMES[name]) == " rename {old => new}/a.txt (100%)\n"


def test_a_rename_with_an_edit_and_other_changes_is_applied_by_git(repository: Shell) -> None:
    """Headers without hunks come last: git would take what follows for a part of them."""
    for path in ("old/a.txt", "old/b.txt", "keep me.txt", "z.txt"):
        repository.write(path, LINES_134 + path)
    (repository.workspace / "keep me.txt").chmod(0o755)
    repository.git("add", "-A")
    repository.git("commit", "-qm", "before")
    tasks = [
        {"action": "move", "from": "old", "to": "new"},
        {"action": "edit", "path": "new/a.txt", "search": "line 70\n", "replace": "line seventy\n"},
        {"action": "move", "from": "keep me.txt", "to": "kept.txt"},
        {"action": "write", "path": "made.txt", "content": "made\n"},
        {"action": "edit", "path": "z.txt", "search": "line 7\n", "replace": "line seven\n"},
        {"action": "run", "command": "chmod +x z.txt"},
    ]
    summary = applied(repository, json.dumps({"tasks": tasks}))
    assert re.sub(r"[5-9]\d%", "N%", summary).splitlines() == [
        " rename keep me.txt => kept.txt (100%)",
        " create mode 100644 made.txt",
        " rename {old => new}/a.txt (N%)",
        " rename {old => new}/b.txt (100%)",
        " mode change 100644 => 100755 z.txt",
    ]
    assert "line seventy\n" in (repository.workspace / "new" / "a.txt").read_text()


EVERY = {
    "write": '<---WRITE file="new.txt"--->\n1\n<---END--->\n',
    "overwrite": '<---WRITE file="old.txt"--->\n1\n<---END--->\n',
    "append": '<---WRITE file="old.txt" append="true"--->\n1\n<---END--->\n',
    "edit": '<---SEARCH file="old.txt"--->\na\n<---REPLACE--->\nb\n<---END--->\n',
    "run": "<---RUN--->\nrm old.txt\n<---END--->\n",
}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("summary", ["none", "xml", "json", "llm"])
def test_a_plan_never_says_that_something_was_done(shell: Shell, kind: str, summary: str) -> None:
    shell.write("old.txt", "a\n")
    done = shell("plan", "--no-git", f"--summary={summary}", document=EVERY[kind])
    assert done.returncode == 0
    assert done.stdout.startswith("[task-1] PLAN: ")
    assert "(would " in done.stdout
    assert "success" not in done.stdout.lower()


def test_the_summaries_of_a_plan_call_it_planned(shell: Shell) -> None:
    shell.write("old.txt", "a\n")
    document = EVERY["edit"] + EVERY["edit"]
    xml = shell("plan", "--no-git", "--summary=xml", "--output-mode=silent", document=document).stdout
    assert xml.splitlines()[:3] == [
        '<result blocks="2" tasks="2" succeeded="0" failed="1" planned="1">',
        '  <block index="0" status="planned" tasks="1"/>',
        '  <block index="1" status="failed" tasks="1">',
    ]
    report = json.loads(
        shell("plan", "--no-git", "--summary=json", "--output-mode=silent", document=document).stdout
    )
    assert (report["succeeded"], report["planned"], report["failed"]) == (0, 1, 1)
    assert [block["status"] for block in report["blocks"]] == ["planned", "failed"]
    assert [block["tasks"][0]["status"] for block in report["blocks"]] == ["planned", "error"]
    text = shell("plan", "--no-git", "--summary=llm", "--output-mode=silent", document=document).stdout
    assert text.startswith("Of 2 operations: 1 planned, 1 would fail.\n")
    assert text.endswith(
        "Next: this was a dry run. Correct what would fail and send the whole answer again.\n"
    )


def test_what_an_atomic_plan_would_roll_back_is_not_called_done(shell: Shell) -> None:
    document = EVERY["write"] + EVERY["edit"]
    shown = shell("plan", "--no-git", "--atomic", "--summary=none", document=document).stdout
    first = shown.partition("\n")[0]
    assert first.startswith("[task-1] PLAN: WRITE - new.txt (would create, ")
    assert first.endswith("); would be rolled back")


def test_a_page_is_not_written_over_another_file(shell: Shell) -> None:
    """Over the answer itself, say, whose name was taken for that of the page."""
    shell.write("answer.md", WRITE)
    done = shell("plan", "--no-git", "--html", "answer.md")
    assert done.returncode == 2
    assert "--html: answer.md exists and is not a page" in done.stderr
    assert (shell.workspace / "answer.md").read_text() == WRITE
