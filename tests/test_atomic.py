"""All or nothing: where a part fails, everything that the run did is put back, byte by byte."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from tests import command_line
from tests.handles import open_handles
from tests.world.repository.states import content, copy, git, write
from tools.plain_git import IDENTITY

import clada
from clada.world.record import states

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.world.repository.states import Content

RECORDS = pytest.mark.parametrize("record", ["commits", "snapshots", "none"])
KILLS = 60
MANY = 200  # files that a killed run is writing, before the change that it is about and after it

# Operations that succeed, each changing the tree in another way.
CHANGES = {
    "write": '<---WRITE file="new/deep/file"--->\nnew\n<---END--->',
    "overwrite": '<---WRITE file="file"--->\nother\n<---END--->',
    "append": '<---WRITE file="file" append="true"--->\nmore\n<---END--->',
    "ignored": '<---WRITE file="cache/ignored"--->\nchanged\n<---END--->',
    "edit": '<---SEARCH file="file"--->\nold\n<---REPLACE--->\nnew\n<---END--->',
    "move": "<---RUN--->\nmv file elsewhere\n<---END--->",
    "move a directory": "<---RUN--->\nmv folder moved\n<---END--->",
    "move over a file": "<---RUN--->\nmv file folder/inner\n<---END--->",
    "remove": "<---RUN--->\nrm -r folder cache\n<---END--->",
    "copy": "<---RUN--->\ncp -r folder copy\n<---END--->",
    "make": "<---RUN--->\nmkdir -p a/b/c\n<---END--->",
    "mode": "<---RUN--->\nchmod 600 file && chmod +x folder/inner\n<---END--->",
    "touch": "<---RUN--->\ntouch touched\n<---END--->",
    "command": "<---RUN--->\nsh change.sh\n<---END--->",
    "twice": '<---WRITE file="file"--->\none\n<---END--->\n<---WRITE file="file"--->\ntwo\n<---END--->\n'
    "<---RUN--->\nrm file\n<---END--->",
    "move operation": '<move from="file" to="new/elsewhere"/>',
    "move operation on a directory": '<move from="folder" to="moved"/>',
    "remove operation": '<remove path="file"/>',
    "remove operation on a directory": '<remove path="folder"/>\n<remove path="cache"/>',
}
# What ends the run: the document behind it, and its options.
FAILURES: dict[str, tuple[str, dict[str, object]]] = {
    "missing file": ('<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->', {}),
    "no match": ('<---SEARCH file="folder/other"--->\nnowhere\n<---REPLACE--->\nb\n<---END--->', {}),
    "escape": ('<---WRITE file="../outside"--->\na\n<---END--->', {}),
    "refused command": ("<---RUN--->\nnobody-approved-this\n<---END--->", {}),
    "failing command": ("<---RUN--->\nfalse\n<---END--->", {}),
    "half a body": ("<---RUN--->\ntouch half && false\n<---END--->", {}),
    "timeout": ("<---RUN--->\nsleep 60\n<---END--->", {"timeout": 0.2}),
    "no room": ('<---WRITE file="large"--->\n' + 5000 * "x" + "\n<---END--->", {"max_bytes": 4000}),
    "total timeout": ("<---RUN--->\nsleep 60\n<---END--->", {"total_timeout": 0.4}),
}
COMMANDS = ["sh change.sh", "sleep 60"]
SCRIPT = """\
echo changed > file; echo new > by-command; rm folder/other; mkdir empty; chmod 700 folder; ln -s file link
"""


def tree(top: Path) -> dict[str, tuple[object, ...]]:
    """Return all that is in the workspace but for the repository: kinds, modes, contents."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if os.path.islink(path):
                content: object = os.readlink(path)
            else:
                content = b"" if os.path.isdir(path) else Path(path).read_bytes()
            mode = 0 if os.path.islink(path) else status.st_mode
            found[os.path.relpath(path, top)] = (mode, content)
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace in a repository, with committed, changed and ignored files."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    top = tmp_path / "project"
    copy(_committed(), top)
    (top / "folder" / "other").write_text("uncommitted\n")
    (top / "file").chmod(0o640)
    return top


@cache
def _committed() -> Content:
    """Make the repository once: to copy it is quicker."""
    with TemporaryDirectory() as name:
        top = Path(name)
        for path, text in {
            "file": "old\n",
            "folder/inner": "inner\n",
            "folder/other": "other\n",
            ".gitignore": "cache\n",
            "cache/ignored": "ignored\n",
            "change.sh": SCRIPT,
        }.items():
            write(top, path, text)
        git(top, "init", "-q", "--template=")
        git(top, "add", "-A")
        git(top, *IDENTITY, "commit", "-qm", "all")
        return content(top)


def run(project: Path, document: str, record: str, **options: object) -> clada.Report:
    """Carry out a document that is all or nothing."""
    given = {"workspace": project, "record": record, "approve": COMMANDS, "atomic": True, **options}
    return clada.execute(document, **given)  # type: ignore[arg-type]


def after(change: str, failing: str) -> str:
    """Return a document with a change and then what fails, in the notation of the change."""
    if not change.startswith("<---"):
        command = failing.removeprefix("<---RUN--->").removesuffix("<---END--->").strip()
        failing = f"<run>{command}</run>" if failing.startswith("<---RUN") else '<remove path="missing"/>'
    return f"{change}\n{failing}\n"


@pytest.mark.sample(24)
@RECORDS
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_taken_back(project: Path, change: str, record: str) -> None:
    before = tree(project)
    report = run(project, after(CHANGES[change], FAILURES["missing file"][0]), record)
    assert tree(project) == before
    *done, failed = report.tasks
    assert {task.status for task in done} == {"rolled_back"}
    assert failed.status == "error"
    assert report.error is None


@RECORDS
@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_takes_back_the_rest(project: Path, failure: str, record: str) -> None:
    before = tree(project)
    document, options = FAILURES[failure]
    report = run(project, "\n".join([*list(CHANGES.values())[:5], document]), record, **options)
    assert tree(project) == before
    assert not report.ok
    assert report.error is None
    assert "success" not in {task.status for task in report.tasks}


@RECORDS
def test_an_atomic_run_without_failures_does_everything(project: Path, record: str) -> None:
    report = run(project, CHANGES["write"] + "\n" + CHANGES["command"], record)
    assert report.ok
    assert (project / "new/deep/file").read_text() == "new\n"
    assert (project / "by-command").exists()
    assert not os.path.exists(os.path.join(os.environ["XDG_STATE_HOME"], "clada", "pending"))


def test_runs_side_by_side_in_many_workspaces_are_not_in_each_others_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each notes that it has begun in one folder of the user, which the last one removes."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def runs(name: str) -> set[str]:
        (tmp_path / name).mkdir()
        return {run(tmp_path / name, CHANGES["touch"], "none").text() for _ in range(50)}

    with ThreadPoolExecutor(4) as threads:
        assert set().union(*threads.map(runs, "abcd")) == {"[task-1] SUCCESS: RUN - touch touched (exit 0)\n"}


def test_malformed_pending_run_markers_stop_no_run(project: Path) -> None:
    """Nor does it cost a handle."""
    notes = Path(os.environ["XDG_STATE_HOME"]) / "clada" / "pending"
    (notes / "folder").mkdir(parents=True)
    notes.chmod(0o700)
    (notes / "link").symlink_to("nowhere")
    os.mkfifo(notes / "pipe")
    (notes / "text").write_bytes(b"\xff\t\0")
    before = open_handles()
    assert run(project, CHANGES["write"], "snapshots").ok
    assert open_handles() == before


def test_a_file_in_place_of_the_pending_directory_means_nothing_to_recover(project: Path) -> None:
    state = Path(os.environ["XDG_STATE_HOME"]) / "clada"
    state.mkdir(parents=True)
    (state / "pending").write_text("")
    done = command_line.run("recover", directory=project)
    assert (done.returncode, done.stdout) == (0, b"nothing to recover\n")


def test_an_invalid_operation_lets_nothing_happen(project: Path) -> None:
    before = tree(project)
    report = run(project, CHANGES["write"] + "\n<---WRITE--->\n<---END--->", "snapshots")
    assert tree(project) == before
    assert [task.status for task in report.tasks] == ["skipped", "error"]


def test_nothing_runs_after_a_failure_not_even_in_other_blocks(project: Path) -> None:
    failing = FAILURES["missing file"][0]
    report = run(project, f"{failing}\n{CHANGES['write']}", "snapshots")
    assert [task.status for task in report.tasks] == ["error", "skipped"]


def test_statuses_are_settled_at_the_end(project: Path) -> None:
    seen: list[str] = []

    def note(event: object) -> None:
        if isinstance(event, clada.TaskEnded):
            seen.append(event.task.status)
            assert not (project / "new").exists()  # all is back before the first word of it

    run(project, f"{CHANGES['write']}\n{FAILURES['missing file'][0]}", "none", on_event=note)
    assert seen == ["rolled_back", "error"]


def test_an_interrupt_takes_everything_back(project: Path) -> None:
    before = tree(project)
    with clada.Stop() as stop:

        def halt(event: object) -> None:
            if isinstance(event, clada.TaskStarted) and event.target == "sleep 60":
                stop.set()

        document = f"{CHANGES['write']}\n<---RUN--->\nsleep 60\n<---END--->\n{CHANGES['touch']}"
        report = run(project, document, "commits", stop=stop, on_event=halt)
    assert tree(project) == before
    assert report.interrupted == signal.SIGINT
    assert [task.status for task in report.tasks] == ["rolled_back", "error", "skipped"]


def test_a_block_can_be_atomic_by_itself_in_every_notation(project: Path) -> None:
    documents = {
        "csl": '<---WRITE file="first"--->\nx\n<---END--->\n<---TASKS atomic="true"--->\n'
        '<---WRITE file="first"--->\ny\n<---END--->\n<---WRITE file="second"--->\nx\n<---END--->\n'
        '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n<---END--->\n'
        '<---WRITE file="last"--->\nx\n<---END--->',
        "cml": '<write path="first">x</write>\n<tasks atomic="true"><write path="first">y</write>'
        '<write path="second">x</write><edit path="missing"><search>a</search><replace>b</replace></edit>'
        '</tasks>\n<write path="last">x</write>',
        "json": '[{"tasks": [{"action": "write", "path": "first", "content": "x"}]}, '
        '{"atomic": true, "tasks": ['
        '{"action": "write", "path": "first", "content": "y"}, '
        '{"action": "write", "path": "second", "content": "x"}, {"action": "remove", "path": "missing"}]}, '
        '{"tasks": [{"action": "write", "path": "last", "content": "x"}]}]',
        "toml": '[[tasks]]\n[[tasks.task]]\naction = "write"\npath = "first"\ncontent = "x"\n'
        '[[tasks]]\natomic = true\n[[tasks.task]]\naction = "write"\npath = "first"\ncontent = "y"\n'
        '[[tasks.task]]\naction = "write"\npath = "second"\ncontent = "x"\n'
        '[[tasks.task]]\naction = "remove"\npath = "missing"\n'
        '[[tasks]]\n[[tasks.task]]\naction = "write"\npath = "last"\ncontent = "x"\n',
    }
    for name, document in documents.items():
        for record in ("commits", "snapshots", "none"):
            report = run(project, document, record, atomic=False, again=True)
            statuses = [task.status for task in report.tasks]
            assert statuses == ["success", "rolled_back", "rolled_back", "error", "success"], name
            assert (project / "first").read_text().rstrip("\n") == "x"
            assert not (project / "second").exists()
            for path in ("first", "last"):
                (project / path).unlink()


@pytest.mark.parametrize(
    "document",
    [
        '<---TASKS atomic="yes"--->\n<---END--->',
        '<tasks atomic="1"><write path="a">x</write></tasks>',
        '{"tasks": [{"action": "write", "path": "a", "content": ""}], "atomic": "true "}',
        '[[tasks]]\natomic = 1\n[[tasks.task]]\naction = "write"\npath = "a"\ncontent = ""\n',
    ],
)
def test_an_atomic_attribute_that_is_neither_true_nor_false_is_fatal(document: str) -> None:
    fatal = clada.parse(document).fatal
    assert fatal is not None
    assert fatal.message == "Line 1: Invalid value for 'atomic': must be 'true' or 'false'"


@pytest.mark.parametrize("record", ["commits", "snapshots"])
def test_a_failed_atomic_run_is_in_the_history_and_has_nothing_to_undo(project: Path, record: str) -> None:
    run(project, CHANGES["write"], record, atomic=False)
    run(project, f"{CHANGES['edit']}\n{FAILURES['missing file'][0]}", record)
    newest, first = clada.history(project)
    assert (newest.ended, newest.changed) == ("failed", 0)
    assert clada.undo(project).run.number == first.number


def test_a_dry_run_shows_what_would_be_taken_back(project: Path) -> None:
    before = tree(project)
    report = run(project, f"{CHANGES['edit']}\n{FAILURES['missing file'][0]}", "none", dry_run=True)
    assert [task.status for task in report.tasks] == ["rolled_back", "error"]
    assert report.changes == ()
    assert tree(project) == before


def test_files_that_the_user_saves_meanwhile_are_not_overwritten(project: Path) -> None:
    def save(event: object) -> None:
        if isinstance(event, clada.TaskStarted) and event.target == "missing":
            (project / "file").write_text("mine\n")

    report = run(project, f"{CHANGES['edit']}\n{FAILURES['missing file'][0]}", "snapshots", on_event=save)
    assert (project / "file").read_text() == "mine\n"
    assert report.error is not None
    assert "file" in report.error.message


@RECORDS
def test_changes_during_an_unconfined_command_are_put_back_named_and_kept(project: Path, record: str) -> None:
    """Without a sandbox nobody can tell the command's work from the user's: undo brings both back."""
    before = tree(project)
    users = "echo mine > file; echo mine > fresh; rm folder/inner; exit 1"
    (project / "users.sh").write_text(users)
    before = tree(project)
    document = f"{CHANGES['write']}\n<---RUN--->\nsh users.sh\n<---END--->"
    report = run(project, document, record, approve=["sh users.sh"], sandbox="off")
    assert tree(project) == before
    note = next(note for note in report.notes if "clada undo brings these versions back" in note)
    for path in ("file", "fresh", "folder/inner"):
        assert path in note
    undone = clada.undo(project)
    assert {*undone.restored, *undone.removed} == {"file", "fresh", "folder/inner"}
    assert (project / "file").read_text() == "mine\n"
    assert (project / "fresh").read_text() == "mine\n"
    assert not (project / "folder/inner").exists()
    assert not (project / "new/deep/file").exists()


@pytest.mark.parametrize("handles", [13, 14, 15, 16, 20])
def test_with_few_file_handles_a_rollback_says_what_it_did(project: Path, handles: int) -> None:
    """Too many open files are not a change by another program; what is not put back is not called so."""
    before = tree(project)
    deep = "/".join("abcdefghij")
    written = "".join(f'<---WRITE file="{deep}/{n}/file"--->\nnew\n<---END--->\n' for n in range(8))
    document = f"{written}{FAILURES['missing file'][0]}\n"
    command = f"ulimit -n {handles}; exec {sys.executable} -m clada --atomic --record=snapshots -"
    done = subprocess.run(
        ["sh", "-c", command], cwd=project, input=document, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "another program" not in said
    for number in range(8):
        is_there = (project / deep / str(number)).exists()
        assert is_there == (f"SUCCESS: WRITE - {deep}/{number}/file" in said), said
    assert ("not put back" in said) == (tree(project) != before), said
    subprocess.run([sys.executable, "-m", "clada", "recover"], cwd=project, check=True, capture_output=True)
    assert tree(project) == before


def test_unreadable_paths_are_not_called_rolled_back(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its task stays a success, for what it did is still there; clada recover puts it back later."""
    before = tree(project)
    real = states.state_and_version

    def state_and_version(parent: int, name: str) -> object:
        if name == "file":
            raise OSError(24, "Too many open files")
        return real(parent, name)

    with monkeypatch.context() as patch:
        patch.setattr("clada.world.record.restore.state_and_version", state_and_version)
        report = run(
            project, f"{CHANGES['edit']}\n{CHANGES['touch']}\n{FAILURES['missing file'][0]}", "snapshots"
        )
    assert [task.status for task in report.tasks] == ["success", "rolled_back", "error"]
    assert report.error is not None
    assert report.error.message == "not put back: file (too many open files)"
    assert not (project / "touched").exists()
    assert (project / "file").read_text() == "new\n"
    subprocess.run([sys.executable, "-m", "clada", "recover"], cwd=project, check=True, capture_output=True)
    assert tree(project) == before


def test_the_summaries_have_a_word_for_it(project: Path) -> None:
    report = run(project, f"{CHANGES['write']}\n{FAILURES['missing file'][0]}", "none")
    assert report.to_dict()["rolled_back"] == 1
    assert report.to_dict()["succeeded"] == 0
    assert report.text().startswith("[task-1] ROLLED BACK: WRITE - new/deep/file (created, 4 bytes)\n")
    cml = '<write path="x">x</write>\n<remove path="missing"/>'
    assert run(project, cml, "none").text().startswith("[task-1] Rolled back: created x\n")


@pytest.mark.parametrize("limit", [{"history_size": 3 << 20}, {"snapshot_limit": 1 << 20}])
def test_a_command_is_refused_where_not_all_could_be_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: dict[str, int]
) -> None:
    """Without a repository all files are kept, and those may be too many; the rest does not stay either."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    top = tmp_path / "top"
    top.mkdir()
    for number in range(2):
        (top / f"large{number}").write_bytes(bytes(2 << 20))
    before = tree(top)
    document = f"{CHANGES['touch']}\n<---RUN--->\nrm-all\n<---END--->"
    for record in ("snapshots", "none"):
        report = run(top, document, record, approve=["rm-all"], sandbox="off", **limit)
        assert tree(top) == before
        error = report.tasks[-1].error
        assert error is not None
        assert error.type == "permission_denied"
        assert "can be rolled back" in error.message
        assert run(top, CHANGES["touch"], record, **limit).ok  # without a command, nothing is in the way
        (top / "touched").unlink()


@RECORDS
@pytest.mark.parametrize(
    "change",
    [
        '<---WRITE file="../outside"--->\nnew\n<---END--->',
        '<---WRITE file="../outside" append="true"--->\nnew\n<---END--->',
        "<---RUN--->\nmv file ../elsewhere\n<---END--->",
        "<---RUN--->\nrm ../outside\n<---END--->",
        "<---RUN--->\nchmod 600 ../outside\n<---END--->",
    ],
)
def test_paths_outside_of_the_workspace_are_left_alone(project: Path, change: str, record: str) -> None:
    """It is not kept, and so could not be put back."""
    (project.parent / "outside").write_text("outside\n")
    before = tree(project.parent)
    before = {path: state for path, state in before.items() if not path.startswith("state")}
    report = run(project, f"{CHANGES['touch']}\n{change}", record, allow_escape=True)
    after = tree(project.parent)
    assert {path: state for path, state in after.items() if not path.startswith("state")} == before
    assert [task.status for task in report.tasks] == ["rolled_back", "error"]
    assert "could not be put back" in str(report.tasks[-1])


# Kills.


def start(project: Path, document: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start clada on a document."""
    command = [sys.executable, "-m", "clada", "--atomic", "--approve-all", *arguments, "-"]
    process = subprocess.Popen(
        command, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    process.stdin.write(document.encode())
    process.stdin.close()
    return process


def killed_at_random(project: Path, document: str, record: str, longest: float) -> None:
    process = start(project, document, f"--record={record}")
    time.sleep(random.uniform(0.02, longest))
    process.kill()
    process.wait()


def long_document(change: str) -> str:
    """Return a document that takes a while, and fails: files, a change, more files, a move."""
    write, move = '<write path="{0}/{1}">{1}</write>\n', '<move from="many" to="others"/>'
    if change.startswith("<---"):
        write = '<---WRITE file="{0}/{1}"--->\n{1}\n<---END--->\n'
        move = "<---RUN--->\nmv many others\n<---END--->"
    files, more = ("".join(write.format(name, n) for n in range(MANY)) for name in ("many", "more"))
    return after(f"{files}{change}\n{more}{move}", FAILURES["missing file"][0])


@RECORDS
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_kill_at_any_moment_is_taken_back_by_recover(project: Path, record: str) -> None:
    """Each kind of change is killed in turn; a sample begins with any."""
    before = tree(project)
    begun = time.monotonic()
    assert start(project, long_document(CHANGES["command"]), f"--record={record}").wait() == 1
    longest = time.monotonic() - begun
    changes = cycle(random.sample(list(CHANGES), len(CHANGES)))
    for _, change in zip(range(KILLS // 3), changes, strict=False):
        killed_at_random(project, long_document(CHANGES[change]), record, longest)
        subprocess.run(
            [sys.executable, "-m", "clada", "recover"], cwd=project, check=True, capture_output=True
        )
        assert tree(project) == before, change


def test_the_next_run_recovers_first(project: Path) -> None:
    process = start(project, f"{CHANGES['edit']}\n<---RUN--->\nsleep 60\n<---END--->\n", "--record=snapshots")
    wait_until(lambda: (project / "file").read_text() != "old\n")
    process.kill()
    process.wait()
    report = clada.execute(CHANGES["touch"], workspace=project, record="snapshots")
    assert report.ok
    assert (project / "file").read_text() == "old\n"
    assert any("was killed" in note for note in report.notes)
    assert [each.ended for each in clada.history(project)] == ["ok", "failed"]


@RECORDS
def test_a_run_without_a_record_recovers_first_too(project: Path, record: str) -> None:
    process = start(project, f"{CHANGES['edit']}\n<---RUN--->\nsleep 60\n<---END--->\n", f"--record={record}")
    wait_until(lambda: (project / "file").read_text() != "old\n")
    meanwhile = clada.execute(CHANGES["touch"], workspace=project, record="none")
    assert meanwhile.ok  # for a run that is still going it neither waits, nor takes it back
    assert (project / "file").read_text() != "old\n"
    (project / "touched").unlink()
    process.kill()
    process.wait()
    report = clada.execute(CHANGES["touch"], workspace=project, record="none")
    assert report.ok
    assert (project / "file").read_text() == "old\n"
    assert any("was killed" in note for note in report.notes)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
