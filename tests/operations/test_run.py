"""Runs that run: where they are, what they are given, what they print, how they end."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.handles import open_handles

from clada.operations.run import launch
from clada.world.sandbox import layers as confinement
from clada.world.sandbox.landlock import has_landlock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.operations.conftest import Runner, Shell

CUT = "[output truncated]"
AROUND = len("[task-1.1:exec] \n")  # what is printed with each line, and counts


def python(script: str) -> str:
    """Return the command that runs a script, without single quotes in it."""
    assert "'" not in script
    return f"python3 -c '{script}'"


def plant(runs: Runner, **files: str) -> None:
    """Put files into the workspace; `__` in a name is a slash."""
    for name, content in files.items():
        path = runs.workspace / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


# Where it runs.


@pytest.mark.parametrize(
    ("body", "where", "output"),
    [
        ("pwd", None, [""]),
        ("pwd", "", [""]),
        ("pwd", ".", [""]),
        ("pwd", "sub", ["/sub"]),
        ("pwd", "sub/deep/..", ["/sub"]),
        ("pwd", "sub\\deep", ["/sub/deep"]),
        ("cd sub && pwd", None, ["/sub"]),
        ("cd sub\ncd deep\npwd\ncd ../..\npwd", None, ["/sub/deep", ""]),
        ("cd deep && pwd", "sub", ["/sub/deep"]),
        ("cd .. && pwd", "sub", [""]),
        ("mkdir -p new/er && cd new/er && pwd", "sub", ["/sub/new/er"]),
        ("cp -r sub copy && cd copy/deep && pwd", None, ["/copy/deep"]),
        ("mv sub moved && cd moved && pwd", None, ["/moved"]),
    ],
)
@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry run"])
def test_built_in_commands_and_cd_agree(
    body: str, where: str | None, output: list[str], dry: bool, runs: Runner
) -> None:
    """`dir` and `cd` lead to the same places, also to those that an earlier command has made."""
    plant(runs, sub__deep__file="x\n")
    done = runs(body, where=where, dry_run=dry)
    assert done.task.error is None
    assert done.output == [f"{runs.workspace}{path}" for path in output]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("cat file", "sub/deep"),
        ("cat deep/file", "sub"),
        ("cat ../deep/file", "sub/deep"),
        ("cd sub && cat deep/file", None),
        ("cd deep && cat file", "sub"),
        ("cd deep && cat ../../sub/deep/file", "sub"),
        ("mkdir a && cp sub/deep/file a/copy && cd a && cat copy", None),
        ("grep -h here -r .", "sub"),
        ("python3 show.py", "sub/deep"),
        ("cd sub/deep && python3 show.py", None),
        ("mkdir a && mv sub/deep a && cd a/deep && python3 show.py", None),
        ("chmod +x sub/deep/tool && cd sub && deep/tool", None),
        ("cd sub/deep && chmod +x tool && ./tool", None),
    ],
)
def test_programs_run_where_built_in_commands_are(body: str, where: str | None, runs: Runner) -> None:
    """Paths are relative to the run's directory, for all kinds of commands."""
    plant(runs, sub__deep__file="here\n")
    (runs.workspace / "sub/deep/show.py").write_text("with open('file') as file: print(file.read(), end='')")
    (runs.workspace / "sub/deep/tool").write_text('#!/bin/sh\ncat "${0%tool}file"\n')
    done = runs(body, where=where, approve_all=True)
    assert (done.task.error, done.output) == (None, ["here"])


def test_cd_is_for_this_run_only(runs: Runner) -> None:
    """The next run starts in the workspace again."""
    plant(runs, sub__file="x")
    assert runs("cd sub && pwd", "pwd").output == [f"{runs.workspace}/sub", str(runs.workspace)]


@pytest.mark.parametrize(
    ("where", "type_", "said"),
    [
        ("nowhere", "file_not_found", "no such directory"),
        ("file", "file_not_found", "is not a directory"),
        ("file/x", "file_not_found", "no such directory"),
        ("link", "symlink_not_allowed", "is a symbolic link"),
        ("..", "path_escape", "the path leads out of the workspace"),
        ("/etc", "path_escape", "absolute paths are not allowed"),
        (".git", "permission_denied", ".git is protected"),
    ],
)
def test_a_directory_that_is_none(where: str, type_: str, said: str, runs: Runner) -> None:
    """It is refused before anything is asked or started, and the message says that it is about `dir`."""
    plant(runs, file="x")
    (runs.workspace / "link").symlink_to("/etc")
    asked: list[str] = []
    done = runs("touch a && npm test", where=where, ask=lambda *given, **_: asked.append(given[0]))
    assert (done.error.type, done.error.message) == (type_, f"dir={where}: {said}")
    assert (asked, sorted(os.listdir(runs.workspace))) == ([], ["file", "link"])


def test_an_absolute_directory_in_the_workspace(runs: Runner) -> None:
    """It is fine, as a `dir` and after `cd`."""
    plant(runs, sub__file="x\n")
    inside = f"{runs.workspace}/sub"
    assert runs("cat file", where=inside).output == ["x"]
    assert runs(f"cd '{inside}' && cat file").output == ["x"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("cat ../outside/file", None),
        ("cat {outside}/file", None),
        ("cd ../outside && cat file", None),
        ("cd {outside} && cat ./file", None),
        ("cat file", "../outside"),
        ("cat ../workspace/../outside/file", "{outside}"),
        ("cp ../outside/file copy && cat copy", None),
    ],
)
def test_outside_of_the_workspace_where_that_is_allowed(body: str, where: str | None, runs: Runner) -> None:
    """With --allow-escape, commands reach what other operations reach; without it, nothing there."""
    outside = runs.workspace.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside\n")
    body, where = body.format(outside=outside), where and where.format(outside=outside)
    assert runs(body, where=where).error.type == "path_escape"
    done = runs(body, where=where, allow_escape=True)
    assert (done.task.error, done.output) == (None, ["outside"])


def test_a_directory_that_is_gone_on_the_way(runs: Runner) -> None:
    """It is named: there is nowhere to run."""
    done = runs("mkdir a && cd a && rm -r ../a && ls")
    assert (done.error.type, "cannot run in a" in done.error.message) == ("file_not_found", True)


# What it is given.


@pytest.mark.parametrize(
    ("body", "output"),
    [
        (python("import sys; print(len(sys.stdin.read()))"), ["0"]),
        (python('import os; print(os.environ["CLADA_TEST"])'), ["inherited"]),
        ("cat", []),
    ],
)
def test_input_is_empty_and_the_environment_inherited(
    body: str, output: list[str], runs: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An approved command sees the environment of clada, and nothing on its input."""
    monkeypatch.setenv("CLADA_TEST", "inherited")
    done = runs(body, approve=[body])
    assert (done.task.error, done.output) == (None, output)


@pytest.mark.parametrize("program", ["cat", "ls", "grep", "git", "find", "diff"])
@pytest.mark.parametrize("path", [".:{}", ":{}", "planted:{}", "{}:.", "{here}/planted:{}"])
def test_readers_are_the_systems_own(
    program: str, path: str, runs: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program planted in the workspace is never run in its place, whatever PATH says."""
    subprocess.run(["git", "init", "-q", runs.workspace], check=True)
    for folder in (".", "planted"):
        planted = runs.workspace / folder / program
        planted.parent.mkdir(exist_ok=True)
        planted.write_text("#!/bin/sh\ntouch run\necho planted\n")
        planted.chmod(0o755)
    monkeypatch.setenv("PATH", path.replace("{here}", str(runs.workspace)).replace("{}", os.environ["PATH"]))
    plant(runs, a="line\n", b="line\n")
    bodies = {
        "cat": "cat a",
        "ls": "ls a",
        "grep": "grep line a",
        "git": "git status -s a",
        "diff": "diff a b",
    }
    done = runs(bodies.get(program, "find a"))
    assert done.task.error is None
    assert "planted" not in "".join(done.output)
    assert not (runs.workspace / "run").exists()


def test_approved_programs_are_not_found_in_relative_folders(
    runs: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative entry of PATH would be the workspace's: the program is not installed, then."""
    plant(runs, tool="#!/bin/sh\necho planted\n")
    (runs.workspace / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}")
    assert runs("tool", approve_all=True).error.message == "tool is not installed"
    assert runs("./tool", approve_all=True).output == ["planted"]


def test_a_hidden_path_still_finds_programs(
    runs: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH is looked up by clada itself, also where the command does not see it."""
    tool = tmp_path / "bin" / "tool-of-mine"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho found "$SEEN"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SEEN", "seen")
    hidden = "" if confinement.available() != "none" else "seen"
    assert runs(tool.name, approve_all=True, sandbox_env_hide=["*"]).output == [f"found {hidden}"]


def test_long_arguments_arrive(runs: Runner) -> None:
    """200 KB of arguments, quoted, through words and policy."""
    words = " ".join(f"'{'x' * 999} '" for _ in range(200))
    body = f"{python('import sys; print(sum(map(len, sys.argv[1:])))')} {words}"
    assert runs(body, approve_all=True).output == ["200000"]
    assert runs(f"echo {words}").task.error is None


# What it prints.


def test_all_that_is_printed_comes_in_order(shell: Shell) -> None:
    """Both streams, of all kinds of commands, line by line behind the label; the last may be partial."""
    script = (
        "import sys\n"
        "for n in range(3):\n"
        ' print("out", n, flush=True); print("err", n, file=sys.stderr, flush=True)\n'
        'sys.stdout.buffer.write(b"\\xff\\xe9t\\xc3\\xa9 partial")'
    )
    body = f"echo first\n{python(script)}\necho last"
    done = shell.run(body, arguments=("--approve", body))
    assert done.stdout.splitlines() == [
        "[task-1.1:exec] first",
        "[task-1.1:exec] out 0",
        "[task-1.1:exec] err 0",
        "[task-1.1:exec] out 1",
        "[task-1.1:exec] err 1",
        "[task-1.1:exec] out 2",
        "[task-1.1:exec] err 2",
        "[task-1.1:exec] \ufffd\ufffdté partial",
        "[task-1.1:exec] last",
        "[task-1.1] SUCCESS: RUN - echo first … (exit 0)",
    ]


def test_output_past_the_limit_is_cut_once(shell: Shell) -> None:
    """The sign stands on a line of its own, without a prefix; the command still runs to its end."""
    body = python('print("x" * 9 + "\\n" + "y" * 9 + "\\n" + "z" * 9); open("end", "w")')
    done = shell.run(body, arguments=("--approve", body, "--max-output", str(2 * AROUND + 14)))
    assert done.stdout.splitlines()[:3] == ["[task-1.1:exec] xxxxxxxxx", "[task-1.1:exec] yyyyy", CUT]
    assert done.stdout.count(CUT) == 1
    assert (shell.workspace / "end").exists()


@pytest.mark.parametrize(
    ("sizes", "limit", "output"),
    [
        ((4, 4), 100, ["xxxx", "xxxx"]),
        ((4, 4), 2 * (AROUND + 4), ["xxxx", "xxxx"]),
        ((4, 4), 2 * (AROUND + 4) - 1, ["xxxx", "xxx", CUT]),
        ((4, 4), AROUND + 4 + AROUND, ["xxxx", CUT]),
        ((9, 4, 4), AROUND + 5, ["xxxxx", CUT]),
        ((4, 4, 4), AROUND + 5, ["xxxx", CUT]),
        ((4,), AROUND, [CUT]),
        ((4,), 0, [CUT]),
    ],
)
def test_the_commands_of_a_task_share_its_limit(
    sizes: tuple[int, ...], limit: int, output: list[str], runs: Runner
) -> None:
    """`--max-output` is what is printed of a task, however many approved commands it has."""
    body = "\n".join(python(f'print("x" * {size})') for size in sizes)
    done = runs(body, approve=[body], max_output=limit)
    assert (done.task.error, done.output) == (None, output)
    assert done.task.truncated is (CUT in output)


def test_built_in_commands_count_too(runs: Runner) -> None:
    """They print into the same task."""
    done = runs("echo xxxx && echo yyyy && echo zzzz && touch end", max_output=2 * AROUND + 6)
    assert (done.task.error, done.output) == (None, ["xxxx", "yy", CUT])
    assert (runs.workspace / "end").exists()


def test_the_limit_cuts_no_character_in_two(runs: Runner) -> None:
    """A character that would only fit in part is left out."""
    body = python('print("aé")')
    assert runs(body, approve=[body], max_output=AROUND + 2).output == ["a", CUT]


def test_the_limit_of_readers_is_fixed(runs: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """An allowed program has 10 MB of its own, whatever `--max-output` says."""
    monkeypatch.setattr(launch, "READER_SECONDS", 90.0)  # so much takes its time on a busy machine
    with open(runs.workspace / "large", "wb") as file:
        file.write(b"x" * 99 + b"\n")
        file.truncate((10 << 20) + 1)
    plant(runs, small="small\n")
    done = runs("cat small && cat large && cat small", max_output=1)
    assert done.output[0] == done.output[-1] == "small"
    assert (done.output.count(CUT), done.task.truncated) == (1, True)


# How it ends.


@pytest.mark.parametrize(
    ("body", "type_", "message", "code"),
    [
        ("grep nothing a", "exec_failed", "exit code 1: no line matched", 1),
        ("grep -q nothing a", "exec_failed", "exit code 1: no line matched", 1),
        ("grep x missing", "exec_failed", "exit code 2", 2),
        ("diff a b", "exec_failed", "exit code 1: the files differ", 1),
        ("diff a missing", "exec_failed", "exit code 2", 2),
        ("cat missing", "exec_failed", "exit code 1", 1),
        ("false", "exec_failed", "exit code 1", 1),
        ("rm missing", "exec_failed", "exit code 1", 1),
        (python("raise SystemExit(7)"), "exec_failed", "exit code 7", 7),
        (python("import os; os.kill(os.getpid(), 9)"), "exec_failed", "exit code 137", 137),
        ("nothing-like-this --x", "exec_failed", "nothing-like-this is not installed", None),
        ("./missing", "exec_failed", "./missing does not exist", None),
        ("./a", "exec_failed", "./a is not executable", None),
    ],
)
def test_how_a_run_fails(body: str, type_: str, message: str, code: int | None, runs: Runner) -> None:
    """The code, and what it means where that is known; the rest of the body is not carried out."""
    plant(runs, a="a\n", b="b\n")
    done = runs(f"touch before\n{body}\ntouch after", approve_all=True)
    assert done.error.type == type_
    assert done.error.message.startswith(message)
    assert getattr(done.task.outcome, "exit_code", 0) == code
    assert (runs.workspace / "before").exists()
    assert not (runs.workspace / "after").exists()


def test_full_detail_shows_the_end_of_the_output(runs: Runner) -> None:
    """The last lines of a failed run, of all its commands."""
    body = f"echo before\n{python('print(*range(30), sep=chr(10)); exit(3)')}"
    done = runs(body, approve_all=True)
    assert done.error.details == "\n".join(map(str, range(10, 30)))
    assert runs("echo before\ncat missing\necho after").error.details is not None


@pytest.mark.skipif(os.geteuid() == 0 and not has_landlock(), reason="root reads everything")
def test_a_reader_that_may_not_read_a_file_is_not_told_of_writing(runs: Runner) -> None:
    """Its confinement is not what it lacked."""
    plant(runs, closed="a")
    (runs.workspace / "closed").chmod(0)
    done = runs("cat closed")
    assert "Permission denied" in done.output[0]
    assert (done.error.message, done.error.hint) == ("exit code 1", None)


@pytest.mark.parametrize(
    ("body", "options", "layer"),
    [
        ("echo a", {}, None),
        ("python3 -V", {}, confinement.available()),
        ("python3 -V", {"sandbox": "off"}, "none"),
        ("cat a && python3 -V && cat a", {}, confinement.available()),
        ("cat a", {}, "landlock" if has_landlock() else "none"),
        ("cat a", {"sandbox": "off"}, "none"),
    ],
)
def test_the_report_says_what_confined_it(
    body: str, options: dict[str, Any], layer: str | None, runs: Runner
) -> None:
    """That of the approved commands where there are any; nothing where clada did all itself."""
    plant(runs, a="a\n")
    done = runs(body, approve_all=True, **options)
    assert (done.task.error, done.task.confinement) == (None, layer)


# In a repository.


@pytest.fixture
def git(runs: Runner) -> Callable[..., str]:
    """Make the workspace a repository with two committed files, and return what calls git there."""

    def call(*arguments: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@b")
        done = subprocess.run(
            ["git", "-C", runs.workspace, *identity, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout

    plant(runs, a="one\n", sub__b="one\n")
    call("init", "-q")
    call("config", "user.name", "A")
    call("config", "user.email", "a@b")
    call("add", "-A")
    call("commit", "-q", "-m", "all")
    return call


def changed(git: Callable[..., str]) -> list[str]:
    """Return what the last commit changed, which must be the one after the run."""
    subject, *paths = git("show", "--format=%s", "--name-only", "HEAD").split("\n")
    assert subject.startswith("[clada:post]")
    assert git("status", "--porcelain") == ""
    return [path for path in paths if path]


def test_what_an_approved_command_changes_is_committed(runs: Runner, git: Callable[..., str]) -> None:
    """Nobody knows beforehand what it will touch, so the whole tree is looked at."""
    body = python('open("sub/new", "w").close(); open("a", "w").write("two")')
    assert runs(body, approve=[body], git=True).report.ok
    assert changed(git) == ["a", "sub/new"]


def test_what_a_failed_command_changed_is_committed(runs: Runner, git: Callable[..., str]) -> None:
    """Also where it is ended for taking too long."""
    body = python('import time; open("new", "w").close(); time.sleep(60)')
    for seconds in (1.0, 8.0, 50.0):  # more, where the machine is too busy for it to begin
        assert runs(body, approve=[body], git=True, timeout=seconds).error.type == "exec_timeout"
        if (runs.workspace / "new").exists():
            break
    assert changed(git) == ["new"]


def test_what_a_stash_brings_back_is_committed(runs: Runner, git: Callable[..., str]) -> None:
    """A stash is the one reader that writes."""
    plant(runs, sub__b="two\n")
    git("stash")
    assert runs("git stash pop", git=True).report.ok
    assert changed(git) == ["sub/b"]


def test_a_stash_takes_away_what_the_run_wrote(runs: Runner, git: Callable[..., str]) -> None:
    """And brings it back."""
    head = git("rev-parse", "HEAD")
    done = runs("touch a-new", "git stash -u", git=True)
    assert done.report.ok, done.output
    assert not (runs.workspace / "a-new").exists()
    assert git("rev-parse", "HEAD") == head
    assert runs("git stash apply", git=True).report.ok
    assert changed(git) == ["a-new"]


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize("command", ["git stash", "git stash pop", "git stash apply", "git stash push -u"])
def test_a_stash_that_would_reach_above_the_workspace(
    command: str, dry: bool, runs: Runner, git: Callable[..., str]
) -> None:
    """It is refused before anything of its run starts; looking at stashes is fine."""
    runs.workspace /= "sub"
    done = runs(f"touch a\n{command}", git=False, dry_run=dry)
    assert done.error.type == "command_not_allowed"
    assert "outside of the workspace" in done.error.message
    assert git("status", "--porcelain") == ""
    assert runs("git stash list", git=False).task.error is None


@pytest.mark.parametrize(
    ("body", "where", "output"),
    [
        ("git status -s", "sub", [" M b"]),
        ("git diff --stat", None, [" sub/b | 2 +-", " 1 file changed, 1 insertion(+), 1 deletion(-)"]),
        ("git log --oneline --format=%s", "sub", ["all"]),
        ("git show HEAD:sub/b", None, ["one"]),
        ("cd sub && git ls-files", None, ["b"]),
        ("git branch --show-current", None, None),
    ],
)
def test_git_looks_around(
    body: str, where: str | None, output: list[str] | None, runs: Runner, git: Callable[..., str]
) -> None:
    """Git's readers run in the run's directory too."""
    plant(runs, sub__b="two\n")
    done = runs(body, where=where)
    assert done.task.error is None
    assert output is None or done.output == output
    assert git("status", "--porcelain") == " M sub/b\n"


def test_git_where_there_is_no_repository(runs: Runner) -> None:
    """It says what to do."""
    done = runs("git status")
    assert (done.error.type, "git init" in done.said) == ("git_operation_failed", True)


def test_the_host_stays_as_it_is(runs: Runner, tmp_path: Path) -> None:
    """As a library: no handle is left open, no directory changed."""
    plant(runs, a="a\n")

    def facts() -> tuple[str, list[str]]:
        return os.getcwd(), open_handles()

    runs("cat a\npython3 -V", approve_all=True)
    before = facts()
    runs("cd . && cat a", "cat missing", "cat ../x", "nothing-like-this", "python3 -V", approve_all=True)
    runs("sleep 60", approve_all=True, timeout=0.1)
    assert facts() == before
    assert tmp_path.exists()
