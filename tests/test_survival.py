"""Whatever happens during a run, there are commits, a report of each task, and an exit code that agrees."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests import command_line

import clada
from clada.world.git import branch

if TYPE_CHECKING:
    from collections.abc import Callable

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs limits that other systems do not hold")
FIRST, LAST = '<---WRITE file="first"--->\nx\n<---END--->\n', '<---WRITE file="last"--->\nx\n<---END--->\n'


def run(command: str) -> str:
    """Return a RUN."""
    return f"<---RUN--->\n{command}\n<---END--->\n"


class Place:
    """A repository in which clada runs, and what can be said of it afterwards."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment = {**kept, "XDG_CONFIG_HOME": str(path.parent)}
        path.mkdir()
        self.git("init", "-q")

    def git(self, *words: str) -> str:
        """Run git, and return what it prints; nothing where there is no repository any more."""
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    def clada(
        self, document: str, *arguments: str, start: tuple[str, ...] = (), **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a document on the command line, with every command approved and none confined."""
        flags = ("--approve-all", "--sandbox=off", *arguments)
        if start or options:
            done = subprocess.run(
                [sys.executable, *(start or ("-m", "clada")), *flags], input=document.encode(), cwd=self.path,
                env=self.environment, capture_output=True, check=False, timeout=100, **options,
            )  # fmt: skip
        else:
            done = command_line.run(
                *flags, document=document.encode(), directory=self.path, environment=self.environment
            )
        out, error = (text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr))
        return subprocess.CompletedProcess(done.args, done.returncode, out, error)

    def judge(self, done: subprocess.CompletedProcess[str], tasks: int) -> None:
        """Hold a run to what must be so, whatever happened."""
        assert "Traceback" not in done.stderr
        if not (self.path / "first").exists():
            assert done.returncode in (1, 2), done
            return  # it had not begun
        told = re.findall(r"^\[task-(\d+)\] (\w+)", done.stdout, re.MULTILINE)
        assert [int(label) for label, _ in told] == list(range(1, tasks + 1)), done
        fine = all(status == "SUCCESS" for _, status in told)
        assert done.returncode == (0 if fine and "cannot be" not in done.stderr else 1), done
        left = [line for line in self.git("status", "--porcelain").splitlines() if "__pycache__" not in line]
        assert not left or "[run] ERROR: GIT - git_operation_failed: " in done.stdout, (left, done)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a new repository."""
    return Place(tmp_path / "workspace")


def limited(kind: int, limit: int) -> Callable[[], None]:
    """Return what sets a limit of the system, in the process that is started."""
    return lambda: resource.setrlimit(kind, (limit, limit))


# The system refuses.

HUNGRY = (
    FIRST
    + f'<---WRITE file="large"--->\n{"x" * 200_000}\n<---END--->\n'
    + '<---SEARCH file="large" count="all"--->\nxxxx\n<---REPLACE--->\nyyyyy\n<---END--->\n'
    + run("seq 50000")
    + run("cat large")
    + LAST
)


@only_linux
@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--output-mode=buffer", "--summary=xml"), ("--summary=json",)])
def test_a_run_with_too_little_memory_fails_cleanly(arguments: tuple[str, ...], place: Place) -> None:
    """From so little that nothing begins to so much that all succeeds."""
    ends = set()
    for megabytes in range(16, 80, 2):
        done = place.clada(HUNGRY, *arguments, preexec_fn=limited(resource.RLIMIT_AS, megabytes << 20))
        place.judge(done, 6)
        ends.add(done.returncode)
        if done.returncode == 0:
            break
        shutil.rmtree(place.path)
        place = Place(place.path)
    assert ends == {0, 1}


@only_linux
@pytest.mark.slow
def test_a_run_with_too_few_file_handles_fails_cleanly(place: Place) -> None:
    """From so few that nothing begins to so many that all succeeds."""
    for files in range(5, 40):
        done = place.clada(HUNGRY, "--summary=json", preexec_fn=limited(resource.RLIMIT_NOFILE, files))
        place.judge(done, 6)
        if done.returncode == 0:
            return
        shutil.rmtree(place.path)
        place = Place(place.path)
    pytest.fail("it never succeeded")


@only_linux
def test_full_disks_behind_both_outputs(place: Place) -> None:
    """What cannot be said is lost, and the exit code says that something is."""
    with open("/dev/full", "wb") as full:
        argv = [sys.executable, "-m", "clada", "--summary=json"]
        done = subprocess.run(
            argv, input=FIRST.encode(), cwd=place.path, env=place.environment, stdout=full, stderr=full,
            check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert place.git("show", "HEAD:first") == "x\n"


# Commands take away what clada stands on.


@pytest.mark.parametrize("arguments", [("--summary=json",), ("--summary=xml", "--output-mode=buffer")])
def test_a_document_that_removes_clada_itself(arguments: tuple[str, ...], place: Place) -> None:
    """What was loaded by then goes on, the rest fails as the tasks that need it."""
    code = Path(clada.__file__).parent
    shutil.copytree(code, place.path / "lib" / "clada", ignore=shutil.ignore_patterns("__pycache__"))
    (place.path / ".gitignore").write_text("lib\n")
    place.environment |= {"PYTHONPATH": str(place.path / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    near = '<---SEARCH file="first"--->\nnearly x\n<---REPLACE--->\ny\n<---END--->\n'
    done = place.clada(FIRST + run("rm -r lib") + near + LAST + run("ls"), *arguments)
    place.judge(done, 5)
    summary = done.stdout[done.stdout.index("\n{" if "--summary=json" in arguments else "\n<result") :]
    counts = json.loads(summary) if "--summary=json" in arguments else ET.fromstring(summary.strip()).attrib
    assert (int(counts["tasks"]), int(counts["succeeded"]), int(counts["failed"])) == (5, 3, 2)


@pytest.mark.parametrize(
    "command",
    ["rm -rf .git", "rm -rf .git/objects", "echo x > .git/HEAD", "rm .git/index; mkdir .git/index"],
)
def test_a_command_that_takes_the_repository_away(command: str, place: Place) -> None:
    """The post-commit fails, and that is in the report."""
    done = place.clada(FIRST + run(f"sh -c '{command}'") + LAST, "--summary=json")
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    assert [f"[task-{number}] " in done.stdout for number in (1, 2, 3)] == [True] * 3
    assert "\n[run] ERROR: GIT - git_operation_failed: " in done.stdout
    report = json.loads(done.stdout[done.stdout.index("\n{") :])
    assert (report["ok"], report["tasks"]) == (False, 3)
    assert report["error"]["type"] == "git_operation_failed"


@pytest.mark.parametrize("command", ['rm -rf "$PWD"', 'mv "$PWD" "$PWD.elsewhere"'])
def test_a_command_that_takes_the_workspace_away(command: str, place: Place) -> None:
    """That is in the report, too; nothing is written where it was."""
    done = place.clada(FIRST + run(f"sh -c '{command}'") + LAST, "--summary=json")
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
    assert [f"[task-{number}] " in done.stdout for number in (1, 2, 3)] == [True] * 3
    assert f"\n[run] ERROR: RUN - io_error: the workspace {place.path} was moved, " in done.stdout
    assert not place.path.exists()


# Names.

NAMES = """
import os
for name in (b"\\xff", b"\\xed\\xa0\\x80", b"\\xef\\xbf\\xbe", b"\\x1b[2J", b"a\\nb"):
    os.mkdir(name)
    open(name + b"/" + name, "wb").close()
    os.symlink(name, b"to " + name)
    os.write(1, name + b"\\n")
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="names are UTF-8 there")
@pytest.mark.parametrize("summary", ["json", "xml"])
def test_file_names_that_are_not_utf8_are_committed_and_shown_escaped(summary: str, place: Place) -> None:
    """They are committed, and shown escaped, in all forms of the report."""
    (place.path / "names.py").write_text(NAMES)
    move = run("mkdir into && cp -r . into") + run("ls -R")
    document = FIRST + run(f"{sys.executable} names.py") + move + run("find . -name nothing") + LAST
    done = place.clada(document, f"--summary={summary}", "--error-detail=debug")
    place.judge(done, 6)
    assert done.stdout.replace("\n", "").isprintable()
    if summary == "json":
        assert json.loads(done.stdout[done.stdout.index("\n{") :])["tasks"] == 6
    else:
        assert ET.fromstring(done.stdout[done.stdout.index("<result") :]).get("tasks") == "6"


DEEP = """
import os
for _ in range(1100):
    os.mkdir("d")
    os.chdir("d")
open("file", "w").close()
"""


@pytest.mark.slow
def test_a_tree_that_is_deeper_than_python_calls(place: Place) -> None:
    """The commit takes it in."""
    (place.path / "deep.py").write_text(DEEP)
    try:
        done = place.clada(FIRST + run(f"{sys.executable} deep.py") + run("mv d e") + LAST, "--summary=json")
        place.judge(done, 4)
        assert done.returncode == 0
        assert place.git("ls-files").count("/file\n") == 1
    finally:  # pytest, which removes old folders, cannot go so deep either
        subprocess.run(["rm", "-rf", place.path / "d", place.path / "e"], check=True)


# Bugs in what is shown, and in what records.

BUGGY = """
import sys, termios
from importlib import import_module
module, name, kind = sys.argv[1:4]
home = import_module(module)
owner, _, name = name.rpartition(".")
def bug(*_, **__):
    raise getattr(termios if kind == "error" else __builtins__, kind)("oh dear")
setattr(getattr(home, owner) if owner else home, name, bug)
from clada.cli.dispatch import dispatch
sys.exit(dispatch(sys.argv[4:]))
"""
BUGS = [
    ("clada.cli.presenter", "output_text", "ZeroDivisionError", "a line cannot be shown: internal error: "),
    ("clada.report.json", "summary", "RecursionError", "the summary cannot be shown: internal error: "),
    ("clada.cli.presenter", "Presenter._details", "MemoryError", "a line cannot be shown: out of memory\n"),
    ("clada.cli.console", "Console.working", "KeyError", "a line cannot be shown: internal error: "),
]


@pytest.mark.parametrize(("module", "name", "kind", "words"), BUGS)
def test_a_bug_while_showing_a_task_does_not_stop_the_run(
    module: str, name: str, kind: str, words: str, place: Place
) -> None:
    """The run goes on, and each task has its line."""
    start = ("-c", BUGGY, module, name, kind)
    arguments = ("--summary=json", "--error-detail=full")
    done = place.clada(FIRST + run("echo out") + LAST, *arguments, start=start)
    place.judge(done, 3)
    assert done.returncode == 1
    assert f"clada: {words}" in done.stderr
    assert "[clada:post]" in place.git("log", "--format=%s")
    assert ("\n{\n" in done.stdout) is (name != "summary")


def test_a_bug_in_the_diff_of_a_plan_loses_no_other_output(place: Place) -> None:
    """The lines and the summary are there."""
    start = ("-c", BUGGY, "clada.report.diff", "diff_lines", "ZeroDivisionError")
    done = place.clada(FIRST, "--dry-run", "--summary=xml", start=start)
    assert done.returncode == 1
    assert done.stdout.startswith("[task-1] PLAN: WRITE - first (would create, 2 bytes)\n<result ")
    assert "clada: the diff cannot be shown: internal error: ZeroDivisionError: oh dear" in done.stderr


def test_a_question_that_cannot_be_asked_is_a_no(place: Place) -> None:
    """The other tasks do not need it."""
    start = ("-c", BUGGY, "clada.cli.questions", "prompt", "error")
    argv = [sys.executable, *start, "--summary=none"]
    done = subprocess.run(
        argv, input=FIRST + run("make") + LAST, cwd=place.path, env=place.environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    place.judge(subprocess.CompletedProcess(argv, done.returncode, done.stdout, done.stderr), 3)
    assert "[task-2] ERROR: RUN - make: command_not_allowed: " in done.stdout


@pytest.mark.parametrize(
    "bug", [MemoryError(), RecursionError("oh dear"), UnicodeEncodeError("utf-8", "x", 0, 1, "y")]
)
def test_a_bug_in_the_post_commit_is_reported_and_recorded(
    bug: Exception, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report has all tasks, and the error; the history has the end of the run."""

    def fail(*_: object) -> NoReturn:
        raise bug

    monkeypatch.setattr(branch, "stage", fail)
    report = clada.execute(FIRST + LAST, workspace=place.path)
    assert [task.status for task in report.tasks] == ["success", "success"]
    assert report.error is not None
    assert (report.ok, report.error.type) == (False, "git_operation_failed")
    assert "git add and git commit them" in (report.error.hint or "")
    assert [each.ended for each in clada.history(place.path)] == ["failed"]


def test_after_a_bug_between_tasks_and_record_the_tasks_are_reported_and_committed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done is reported and committed."""

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError("oh dear")

    monkeypatch.setattr("clada.run._describe", fail)
    report = clada.execute(FIRST + LAST, workspace=place.path)
    assert [task.status for task in report.tasks] == ["success", "success"]
    assert report.error is not None
    assert report.error.message == "internal error: ZeroDivisionError: oh dear"
    assert report.commits.keys() == {"post"}
    assert place.git("status", "--porcelain") == ""
