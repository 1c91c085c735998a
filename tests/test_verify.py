"""--verify: a run after which a command is worse than before is rolled back."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests import command_line
from tests.programs import needs
from tests.world.repository.states import content as content_of
from tests.world.repository.states import git

import clada
from clada.world.trust import EVERYWHERE

if TYPE_CHECKING:
    from pathlib import Path

PASSES = "grep -q good state"
RECORDS = pytest.mark.parametrize("record", ["commits", "snapshots", "none"])
SANDBOXES = pytest.mark.parametrize("sandbox", ["auto", "off"])


def write(root: Path, files: dict[str, str]) -> None:
    """Write files."""
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def content(root: Path) -> dict[str, object]:
    """Return the files of a workspace, without its repository."""
    return {path: entry for path, entry in content_of(root).items() if not path.startswith(".git")}


def document(state: str, more: str = "") -> str:
    """Return an answer that writes a state, and a new file."""
    new = '<---WRITE file="deep/new"--->\nnew\n<---END--->\n'
    return f'<---WRITE file="state"--->\n{state}\n<---END--->\n{new}{more}'


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a repository with a state that is good."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {"state": "good\n", "user": "mine\n"})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "start")
    return tmp_path


@RECORDS
@SANDBOXES
def test_a_run_after_which_a_check_fails_is_rolled_back(record: Any, sandbox: Any, workspace: Path) -> None:
    write(workspace, {"check": "echo checking; cat state; grep -q good state\n"})
    before = content(workspace)
    report = clada.execute(
        document("bad"), workspace=workspace, record=record, sandbox=sandbox, verify=["sh check"]
    )
    assert report.exit_code == 1
    assert [task.status for task in report.tasks] == ["rolled_back"] * 2
    assert content(workspace) == before
    assert report.error
    assert report.error.message == (
        "verify failed, everything was rolled back: sh check (before: exit 0, after: exit 1)"
    )
    assert report.error.details == "checking\nbad"
    for text in (report.text(), report.text(for_llm=True)):
        assert "[verify] checking\n[verify] bad\n" in text
    assert not git(workspace, "log", "--format=%s", "-1").startswith("[clada:post]")


@RECORDS
def test_a_run_after_which_the_check_still_passes_is_kept(record: Any, workspace: Path) -> None:
    report = clada.execute(document("good too"), workspace=workspace, record=record, verify=[PASSES])
    assert report.ok, report.text()
    assert (workspace / "state").read_text(encoding="utf-8") == "good too\n"
    assert f"verified: {PASSES} (before: exit 0, after: exit 0)" in report.notes
    assert f"Note: verified: {PASSES} (before: exit 0, after: exit 0)" in report.text(for_llm=True)


@pytest.mark.parametrize(
    ("before", "after", "strict", "kept"),
    [(1, 1, False, True), (2, 1, False, True), (1, 2, False, False), (1, 0, False, True), (0, 0, True, True),
     (1, 1, True, False), (1, 0, True, True), (0, 1, True, False)],
)  # fmt: skip
def test_a_failure_before_must_not_become_worse(
    before: int, after: int, strict: bool, kept: bool, workspace: Path
) -> None:
    write(workspace, {"state": f"{before}\n", "check": "exit $(cat state)\n"})
    options: Any = {"workspace": workspace, "git": False, "verify": ["sh check"], "verify_strict": strict}
    report = clada.execute(document(str(after)), **options)
    assert report.ok == kept
    assert (workspace / "state").read_text(encoding="utf-8") == f"{after if kept else before}\n"


def test_a_command_that_still_fails_is_not_called_verified(workspace: Path) -> None:
    write(workspace, {"check": "echo the tax is missing; exit 1\n"})
    report = clada.execute(document("x"), workspace=workspace, git=False, verify=["sh check"])
    assert report.ok
    assert report.notes[-2:] == (
        "still fails: sh check (before: exit 1, after: exit 1)",
        "[verify] the tax is missing",
    )
    assert "Note: [verify] the tax is missing" in report.text(for_llm=True)


def test_failed_tasks_alone_do_not_roll_back(workspace: Path) -> None:
    more = '<---SEARCH file="user"--->\nnot there\n<---REPLACE--->\nx\n<---END--->\n'
    report = clada.execute(document("good too", more), workspace=workspace, git=False, verify=[PASSES])
    assert [task.status for task in report.tasks] == ["success", "success", "error"]
    assert (workspace / "deep" / "new").exists()


def test_all_of_it_is_rolled_back_with_an_atomic_block_inside(workspace: Path) -> None:
    write(workspace, {"state": "good\n"})
    block = '<---TASKS atomic="true"--->\n<---WRITE file="{}"--->\nx\n<---END--->\n{}<---END--->\n'
    failing = '<---SEARCH file="user"--->\nnot there\n<---REPLACE--->\nx\n<---END--->\n'
    more = block.format("inside", "") + block.format("failed", failing)
    before = content(workspace)
    report = clada.execute(document("bad", more), workspace=workspace, git=False, verify=[PASSES])
    assert content(workspace) == before
    assert [task.status for task in report.tasks] == ["rolled_back"] * 4 + ["error"]
    report = clada.execute(document("good again", more), workspace=workspace, git=False, verify=[PASSES])
    assert (workspace / "inside").exists()
    assert not (workspace / "failed").exists()
    assert report.exit_code == 1


@SANDBOXES
def test_changes_by_the_verifying_command_are_put_back(sandbox: str, workspace: Path) -> None:
    write(
        workspace,
        {"check": "echo x >> user; echo y > made; rm -f gone; grep -q good state\n", "gone": "here\n"},
    )
    before = content(workspace)
    options: Any = {"workspace": workspace, "git": False, "verify": ["sh check"], "sandbox": sandbox}
    report = clada.execute(document("good too"), **options)
    assert report.ok, report.text()
    changed = {path for path, entry in content(workspace).items() if before.get(path) != entry}
    assert (changed, set(before) - set(content(workspace))) == ({"state", "deep/new"}, set())
    assert (workspace / "user").read_text(encoding="utf-8") == "mine\n"
    named = " ".join(note for note in report.notes if "put back" in note)
    assert all(name in named for name in ("user", "made", "gone"))


def test_a_command_that_hangs_refuses_the_run_or_rolls_it_back(workspace: Path) -> None:
    before = content(workspace)
    options: Any = {"workspace": workspace, "git": False, "timeout": 5}
    report = clada.execute(document("bad"), verify=["sleep 60"], **options)
    assert report.fatal
    assert report.fatal.type == "exec_timeout"
    assert report.fatal.hint == "--timeout=5m gives it more time"
    write(workspace, {"check": "grep -q good state || sleep 60\n"})
    report = clada.execute(document("bad"), verify=["sh check"], **options)
    assert report.error
    assert "(before: exit 0, after: timed out)" in report.error.message
    (workspace / "check").unlink()
    assert content(workspace) == before


def test_a_command_that_needs_the_network_is_told_so(workspace: Path) -> None:
    write(workspace, {"check": "grep -q good state || { echo could not resolve host; exit 6; }\n"})
    report = clada.execute(document("bad"), workspace=workspace, git=False, verify=["sh check"])
    assert report.error
    confined = command_line.run("doctor", directory=workspace).stdout
    if b"bubblewrap" in confined or b"namespace" in confined:
        assert "network" in (report.error.hint or ""), report.error


def test_values_of_secret_files_are_masked(workspace: Path) -> None:
    secret = "hunter2hunter2hunter2"
    write(workspace, {".env": f"PASSWORD={secret}\n", "check": "cat .env; grep -q good state\n"})
    report = clada.execute(document("bad"), workspace=workspace, git=False, verify=["sh check"])
    assert report.error
    assert secret not in str(report.to_dict())
    assert secret not in report.text()


def test_nothing_is_verified_if_nothing_was_done(workspace: Path) -> None:
    write(workspace, {"check": "echo run >> ../ran; true\n"})
    failing = '<---SEARCH file="user"--->\nnot there\n<---REPLACE--->\nx\n<---END--->\n'
    report = clada.execute(failing, workspace=workspace, git=False, verify=["true"])
    assert not [note for note in report.notes if note.startswith("verified")]
    report = clada.execute("no operations", workspace=workspace, git=False, verify=["false"])
    assert report.exit_code == 3


def test_the_command_line_takes_several_and_a_shell(workspace: Path) -> None:
    more = ("--no-git", "--verify", PASSES, "--verify", "cat state | grep -q '[a-z]' && test -f user")
    done = command_line.run(*more, document=document("good too").encode(), directory=workspace)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count(b"verified: ") == 2
    done = command_line.run("plan", *more[1:], document=document("bad").encode(), directory=workspace)
    assert b"not verified in a dry run: grep -q good state\n" in done.stderr


def test_a_trusted_workspace_may_name_commands(workspace: Path) -> None:
    write(workspace, {".clada/config.toml": f'verify = ["{PASSES}"]\n'})
    answer = document("bad").encode()
    environment = {name: value for name, value in os.environ.items() if name != EVERYWHERE}
    done = command_line.run("--no-git", document=answer, directory=workspace, environment=environment)
    assert done.returncode == 0  # it is not trusted: nothing of it counts
    write(workspace, {"state": "good\n"})
    done = command_line.run("--no-git", "--again", document=answer, directory=workspace)
    assert done.returncode == 1
    assert (workspace / "state").read_text(encoding="utf-8") == "good\n"


def test_a_watch_takes_only_approved_commands(workspace: Path) -> None:
    done = command_line.run("watch", "--yes", "--verify", "make test", directory=workspace)
    assert done.returncode == 2
    assert b"clada approvals add 'make test'" in done.stderr


@needs("git")
def test_undo_takes_back_a_verified_run(workspace: Path) -> None:
    before = content(workspace)
    assert clada.execute(document("good too"), workspace=workspace, verify=[PASSES]).ok
    assert (
        subprocess.run(["git", "status", "--short"], cwd=workspace, capture_output=True, check=True).stdout
        == b""
    )
    clada.undo(workspace=workspace)
    assert content(workspace) == before
