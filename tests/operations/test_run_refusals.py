"""A run that is refused: the word, the reason and the way to do it are named, and nothing of it starts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from clada.world.sandbox import layers as confinement

if TYPE_CHECKING:
    from tests.operations.conftest import Runner, Shell

# A body, and what the refusal must say: the word, and a way to do it.
NEEDS_A_SHELL = [
    ("make x | sort", "`|`", "one by one"),
    ("make x | tail -5", "`|` behind `make`", "leave out `| tail -5`"),
    ("make x 2>&1 | tail -5", "`|` behind `make`", "leave out `| tail -5`"),
    ("ls 2>/dev/null", "`>/dev/null`", "leave it out"),
    ("ls 2>&1 -a", "`>&`", "leave it out"),
    ("cat x |& wc", "`|&`", "one by one"),
    ("ls; pwd", "`;`", "`&&`"),
    ("ls || pwd", "`||`", "`&&`"),
    ("ls & pwd", "`&`", "background"),
    ("echo a > b", "`>`", "write operation"),
    ("echo a >> b", "`>>`", "append with a write operation"),
    ("cat < b", "`<`", "name the file"),
    ("cat <<END\na\nEND", "`<<`", "write operation"),
    ("cat <<<a", "`<<<`", "name the file"),
    ("diff <(ls) b", "`<(`", "one by one"),
    ("echo $HOME", "`$`", "single quotes"),
    ('echo "$HOME"', "double quotes", "single quotes"),
    ("echo $(pwd)", "`$(`", "one by one"),
    ("echo `pwd`", "```", "one by one"),
    ("(ls)", "`(`", "in order"),
    ("ls *.py", "`*`", "name the files"),
    ("ls a?", "`?`", "name the files"),
    ("ls [ab]", "`[`", "name the files"),
    ("ls ~/x", "`~`", "write the path"),
    ("echo {a,b}", "`{…}`", "write the words out"),
    ("! true", "`!`", "plain commands"),
    ("for i in 1 2; do echo a; done", "`for`", "plain commands"),
    ("if true; then ls; fi", "`if`", "plain commands"),
    ("A=1 ls", "`A=`", "start with the command"),
]
NEEDS_APPROVAL = [
    ("npm test", "needs approval"),
    ("/bin/ls", "needs approval"),
    ("./cat x", "needs approval"),
    ("tail -f x", "`-f`"),
    ("tail -5f x", "`-5f`"),
    ("cat -", "`-`"),
    ("cat", "standard input"),
    ("grep -R a .", "`-R`"),
    ("find . -delete", "`-delete`"),
    ("find . -exec rm '{}' +", "`-exec`"),
    ("xxd -r x", "`-r`"),
    ("git push", "needs approval"),
    ("git commit -m x", "needs approval"),
    ("git -C .. status", "needs approval"),
    ("rm -i x", "`-i`"),
    ("cp -L a b", "`-L`"),
    ("chmod -R 755 x", "`-R`"),
    ("echo -e x", "`-e`"),
]
IS_NOTHING = [
    ("   \n\t", "blank"),
    ("# only a comment", "blank"),
    ("''", "blank"),
    ("echo 'a", "never closed"),
    ('echo "a', "never closed"),
    ("ls &&", "`&&`"),
    ("&& ls", "`&&`"),
    ("cd", "one directory"),
    ("cd a b", "one directory"),
    ("cd -P a", "one directory"),
    ("head -n", "needs a value"),
    ("echo a\\", "`\\`"),
]


@pytest.mark.parametrize(("body", "word", "way"), NEEDS_A_SHELL)
@pytest.mark.parametrize("options", [{}, {"approve_all": True}, {"dry_run": True}], ids=str)
def test_what_needs_a_shell(body: str, word: str, way: str, options: dict[str, Any], runs: Runner) -> None:
    """The construct, what to use instead and the flag are named; approving all makes no difference."""
    asked: list[str] = []
    done = runs(f"touch first\n{body}", ask=lambda *given, **_: asked.append(given[0]), **options)
    assert done.error.type == "command_not_allowed"
    assert word in done.error.message
    assert way in done.error.message
    assert "--shell=approved" in done.said
    assert (os.listdir(runs.workspace), asked) == ([], [])


@pytest.mark.parametrize(("body", "word"), NEEDS_APPROVAL)
def test_what_needs_approval(body: str, word: str, runs: Runner) -> None:
    """What is not in the tables is named, with the line that would approve the whole text."""
    whole = f"touch first && {body}"
    done = runs(whole)
    assert done.error.type == "command_not_allowed"
    assert word in done.error.message
    assert done.error.remedy[0].startswith("clada approvals add ")
    assert "--shell" not in done.said
    assert os.listdir(runs.workspace) == []


@pytest.mark.parametrize(("body", "word"), IS_NOTHING)
@pytest.mark.parametrize("options", [{}, {"approve_all": True, "shell": "approved"}], ids=str)
def test_what_is_no_command(body: str, word: str, options: dict[str, Any], runs: Runner) -> None:
    """Neither a person nor a shell could make something of it, so neither is named."""
    asked: list[str] = []
    done = runs(body, ask=lambda *given, **_: asked.append(given[0]), **options)
    assert done.error.type == "command_not_allowed"
    assert word in done.error.message
    assert "--shell" not in done.said
    assert asked == []


@pytest.mark.parametrize(
    ("joint", "refused"),
    [
        *[
            (joint, refused)
            for joint in (" && ", "\n", " &&\n\n")
            for refused in ("npm test", "cat x | sort")
        ],
        *[(" && ", refused) for refused in ("cat", "chmod u+s x", "echo 'a", "cd", "git push")],
    ],
)
def test_nothing_of_a_refused_run_starts(joint: str, refused: str, shell: Shell) -> None:
    """Not even its first command, on the real command line."""
    done = shell.run(f"touch a{joint}{refused}")
    assert done.returncode == 1
    assert "command_not_allowed" in done.stdout
    assert os.listdir(shell.workspace) == []


# What the text of a path tells: each behind a command that would leave something, in a directory below.
BY_THEIR_TEXT = [
    ("rm -rf ../outside", "path_escape", "../outside: the path leads out of the workspace"),
    ("cat ../outside/hidden", "path_escape", "../outside/hidden: the path leads out of the workspace"),
    ("cat /etc/passwd", "path_escape", "/etc/passwd: absolute paths are not allowed"),
    ("cat a/../../outside/hidden", "path_escape", "a/../../outside/hidden: the path leads out"),
    ("head -n1 first ../outside/hidden", "path_escape", "../outside/hidden: "),
    ("grep -r x first /etc", "path_escape", "/etc: absolute paths"),
    ("find . -newer ../outside/hidden", "path_escape", "../outside/hidden: "),
    ("git log -- ../outside", "path_escape", "../outside: "),
    ("git show HEAD:../outside", "path_escape", "../outside: "),
    ("mkdir -p sub/../../outside/new", "path_escape", "sub/../../outside/new: "),
    ("touch last ../outside/new", "path_escape", "../outside/new: "),
    ("chmod +x first ../outside/hidden", "path_escape", "../outside/hidden: "),
    ("cp first ../outside", "path_escape", "../outside: "),
    ("mv ../outside/hidden .", "path_escape", "../outside/hidden: "),
    ("cp C:\\\\secret .", "path_escape", "drive letters are not allowed"),
    ("cat 'trap\\hidden'", "command_not_allowed", "programs do not read a backslash as a slash"),
    ("cat .git/config", "permission_denied", ".git/config: .git is protected"),
    ("grep -r x .GIT", "permission_denied", ".GIT: .GIT is protected"),
    ("rm .clada/allowed-commands.json", "permission_denied", ".clada is protected"),
    ("cd ..", "path_escape", "..: the path leads out of the workspace"),
    ("cd /etc", "path_escape", "/etc: absolute paths are not allowed"),
    ("cd sub && cat ../../outside/hidden", "path_escape", "../../outside/hidden: "),
    ("mkdir new && cd new && cd .. && cat ../outside/hidden", "path_escape", "../outside/hidden: "),
    ("cd {here}/sub && touch ../../outside/new", "path_escape", "../../outside/new: "),
    ("python3 -V && cat ../outside/hidden", "path_escape", "../outside/hidden: "),
    (f"touch {'n' * 256}", "io_error", f"{'n' * 200}…: file name too long: a name in it has 256 bytes"),
    (f"cat {'n/' * 13_000}n", "io_error", "file name too long: the path has 26,001 bytes, and at most 4,096"),
    (f"mkdir -p {'n/' * 20_000}n", "io_error", "file name too long: the path has 40,001 bytes"),
    (
        " && ".join([f"cd {'n' * 255}"] * 16 + ["touch new"]),
        "io_error",
        "file name too long: the path has 4,099",
    ),
]


@pytest.mark.parametrize(("body", "type_", "said"), BY_THEIR_TEXT)
def test_a_path_that_cannot_be_right_is_refused_before_anything_starts(
    body: str, type_: str, said: str, runs: Runner
) -> None:
    """By its text alone, wherever the run's own `cd` leads; nobody is asked about a run that cannot be."""
    outside = runs.workspace.parent / "outside"
    outside.mkdir()
    (outside / "hidden").write_text("secret\n")
    asked: list[str] = []
    body = f"mkdir zy && {body}".format(here=runs.workspace)
    for dry_run in (False, True):
        done = runs(body, dry_run=dry_run, ask=lambda *given, **_: asked.append(given[0]))
        assert (done.error.type, done.output) == (type_, [])
        assert said in done.error.message
    assert (asked, os.listdir(runs.workspace), os.listdir(outside)) == ([], [], ["hidden"])


@pytest.mark.parametrize(
    "body",
    [
        "mkdir zy && cd zy && touch ../a && cat ../a",
        "mkdir -p zy/b && cd zy/b && cat ../../zy/../first",
        "cd {here} && mkdir zy && cat first",
        "echo ../x /etc && mkdir zy",
    ],
)
def test_a_path_that_a_cd_makes_right_is_right(body: str, runs: Runner) -> None:
    """Operands count from where the run's own `cd` leads."""
    (runs.workspace / "first").write_text("x\n")
    done = runs(body.format(here=runs.workspace))
    assert done.task.error is None
    assert (runs.workspace / "zy").exists()


# The tree is looked at when it is a command's turn: what came before it has happened.
AT_THEIR_TURN = [
    ("ls link", "symlink_not_allowed"),
    ("ls link/", "symlink_not_allowed"),
    ("cat link/hidden", "symlink_not_allowed"),
    ("cat link/../outside/hidden", "symlink_not_allowed"),
    ("cat first/../link/../outside/hidden", "symlink_not_allowed"),
    ("find . -newer link", "symlink_not_allowed"),
    ("realpath --relative-to=link .", "symlink_not_allowed"),
    ("cat pipe", "permission_denied"),
    ("cd link", "symlink_not_allowed"),
]


@pytest.mark.parametrize(("body", "type_"), AT_THEIR_TURN)
def test_what_the_tree_forbids_is_refused_at_its_turn(body: str, type_: str, runs: Runner) -> None:
    """The rule's own error type; what had been done by then is in the report."""
    outside = runs.workspace.parent / "outside"
    outside.mkdir()
    (outside / "hidden").write_text("secret\n")
    (runs.workspace / "link").symlink_to(outside)
    (runs.workspace / "trap\\hidden").symlink_to(outside / "hidden")
    os.mkfifo(runs.workspace / "pipe")
    done = runs(f"touch first\n{body}\ntouch last")
    assert (done.error.type, done.output) == (type_, [])
    assert [change.path for change in getattr(done.task.outcome, "changes", ())] == ["first"]
    assert (runs.workspace / "first").exists()
    assert not (runs.workspace / "last").exists()
    assert (outside / "hidden").read_text() == "secret\n"


@pytest.mark.parametrize(
    ("body", "refused"),
    [("touch a && python3 -V", True), ("touch a && cat a", False), ("touch a", False)],
)
def test_a_sandbox_that_is_required_and_missing(
    body: str, refused: bool, runs: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An approved command is refused before anything of its run starts; what needs no sandbox runs."""
    monkeypatch.setattr(confinement, "_found", ["none"])
    done = runs(body, sandbox="require", approve_all=True)
    assert done.report.ok is not refused
    if refused:
        assert done.error.type == "command_not_allowed"
        assert "python3 -V" in done.error.message
        assert "clada doctor" in done.said
    assert os.listdir(runs.workspace) == ([] if refused else ["a"])


def test_without_a_sandbox_that_is_said_once(runs: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without any, commands run, and the person and the report are told."""
    monkeypatch.setattr(confinement, "_found", ["none"])
    done = runs("python3 -V", "python3 -V && python3 -V", approve_all=True)
    assert [note for note in done.notes if "unsandboxed" in note] == done.notes
    assert len(done.notes) == 1
    assert [task.confinement for task in done.report.tasks] == ["none", "none"]
