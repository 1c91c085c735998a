"""Links and commands: none is read through, walked through, or run in."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.operations.conftest import Runner

SECRET = "what must not be seen"

# Each kind: what the link `x/link` leads to, and how a command gets to it.
KINDS = {
    "leaf": ("outside/hidden", "link"),
    "directory": ("outside", "link"),
    "ancestor": ("outside", "link/hidden"),
    "back from it": ("outside/deep", "link/../hidden"),
    "dangling": ("outside/nothing", "link"),
    "dangling ancestor": ("outside/nothing", "link/hidden"),
    "inside the tree": ("workspace/inside", "link"),
    "ancestor inside the tree": ("workspace/inside", "link/file"),
    "with a slash": ("outside", "link/"),
    "with a dot": ("outside", "link/."),
}
COMMANDS = [
    "cat {}",
    "head -c 100 {}",
    "tail -n 1 {}",
    "wc -l {}",
    "ls {}",
    "ls -la -- {}",
    "grep -r what {}",
    "grep what {}",
    "find {}",
    "find {} -type f -print",
    "tree {}",
    "diff inside/file {}",
    "diff -r inside {}",
    "file {}",
    "stat {}",
    "realpath {}",
    "xxd {}",
]


@pytest.fixture
def tree(runs: Runner) -> Runner:
    """Return a workspace with a secret beside it, and something of its own."""
    outside = runs.workspace.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "hidden").write_text(f"{SECRET}\n")
    (runs.workspace / "inside").mkdir()
    (runs.workspace / "inside" / "file").write_text(f"{SECRET}\n")
    return runs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("absolute", [True, False], ids=["absolute", "relative"])
def test_a_link_as_operand_is_refused(kind: str, command: str, absolute: bool, tree: Runner) -> None:
    """Whatever it leads to, and wherever it stands on the way."""
    target, path = KINDS[kind]
    whole = tree.workspace.parent / target
    (tree.workspace / "link").symlink_to(whole if absolute else os.path.relpath(whole, tree.workspace))
    done = tree(command.format(path))
    assert (done.error.type, done.output) == ("symlink_not_allowed", [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["pwd", "ls", "python3 -V"])
def test_a_link_as_directory_is_refused(kind: str, command: str, tree: Runner) -> None:
    """No run takes place behind a link; `..` after one is read by its text, as in all paths of operations."""
    target, path = KINDS[kind]
    (tree.workspace / "link").symlink_to(tree.workspace.parent / target)
    done = tree(command, where=path, approve_all=True)
    expected = "file_not_found" if kind == "back from it" else "symlink_not_allowed"
    assert (done.error.type, done.output) == (expected, [])


@pytest.mark.parametrize("kind", KINDS)
def test_cd_does_not_go_through_a_link(kind: str, tree: Runner) -> None:
    """The same holds for `cd`."""
    target, path = KINDS[kind]
    (tree.workspace / "link").symlink_to(tree.workspace.parent / target)
    done = tree(f"cd {path} && pwd")
    assert done.error.type == ("exec_failed" if kind == "back from it" else "symlink_not_allowed")
    assert str(tree.workspace) not in "".join(done.output)


@pytest.mark.parametrize(
    "command",
    [
        "grep -r what .",
        "grep -r what",
        "grep -rn what x",
        "find . -type f -newermt 2000-01-01",
        "find x",
        "find . -name hidden",
        "ls -R",
        "tree",
        "tree -a x",
        "diff -r x y",
        "diff -rN x y",
        "diff -N x/link y",
        "wc -c x/own",
        "file x/own",
    ],
)
def test_links_met_on_the_way_are_not_followed(command: str, tree: Runner) -> None:
    """What searches a tree stays in it: links to files, to directories and to nowhere, deep in it."""
    outside = tree.workspace.parent / "outside"
    (tree.workspace / "inside" / "file").unlink()
    for folder in ("x", "y"):
        (tree.workspace / folder).mkdir()
        (tree.workspace / folder / "own").write_text(folder)
    (tree.workspace / "x" / "link").symlink_to(outside)
    (tree.workspace / "x" / "leaf").symlink_to(outside / "hidden")
    (tree.workspace / "y" / "leaf").write_text("other\n")
    (tree.workspace / "x" / "dangling").symlink_to(outside / "nothing")
    (tree.workspace / "x" / "loop").symlink_to(".")
    printed = "\n".join(tree(command).output)
    assert SECRET not in printed
    assert "link/hidden" not in printed
    assert "loop/own" not in printed


@pytest.mark.skipif(sys.platform != "linux", reason="names with backslashes are plain names here")
@pytest.mark.parametrize("path", [r"inside\link", r"link\..\..\outside\hidden", r"\\"])
def test_a_backslash_does_not_name_another_file(path: str, tree: Runner) -> None:
    """Clada would read it as a slash, a program would not: neither does."""
    (tree.workspace / path).symlink_to(tree.workspace.parent / "outside" / "hidden")
    done = tree(f"cat '{path}'")
    assert (done.error.type, done.output) == ("command_not_allowed", [])
    assert "write `/`" in done.said


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat inside/../inside/file", [SECRET]),
        ("cat ./inside//file", [SECRET]),
        ("cat inside/./file inside/missing/../file", None),
        ("grep -c what inside/file/..", None),
    ],
)
def test_dots_without_links_are_the_programs_business(
    command: str, output: list[str] | None, tree: Runner
) -> None:
    """They are passed on as they are written."""
    done = tree(command)
    assert done.task.error is None or done.error.type == "exec_failed"
    assert output is None or done.output == output


@pytest.mark.parametrize(
    "command",
    [
        "grep -r token",
        "grep -rh token .",
        "grep -r --include='*' --exclude-dir=x --include=config token .",
        "grep -rc token one two",
        "diff -r one two",
        "diff -rN one two",
        "diff -r -x other one two",
    ],
)
def test_what_is_protected_is_not_read_on_the_way_either(command: str, runs: Runner) -> None:
    """No path may name it, so what goes through directories leaves it out: at any depth, in any case."""
    for folder in ("one", "two"):
        (runs.workspace / folder).mkdir()
        (runs.workspace / folder / "plain").write_text(f"token of {folder}\n")
        (runs.workspace / folder / ".git").write_text(f"gitdir: secret token of {folder}\n")
    for path in (".git/config", "one/.GIT/config", "one/deep/.Git/x/config", "one/.clada/a", "one/.CLADA/a"):
        os.makedirs(os.path.dirname(runs.workspace / path), exist_ok=True)
        (runs.workspace / path).write_text("secret token\n")
    printed = "\n".join(runs(command).output)
    assert "secret" not in printed
    assert "git" not in printed.lower()
    assert "clada" not in printed.lower()
    if "--include" not in command:
        assert "plain" in printed or "token of one" in printed


@pytest.mark.parametrize(
    ("command", "found"), [("grep -rl x", {"a.py", "b.txt"}), ("grep -rl --include='*.py' x", {"a.py"})]
)
def test_leaving_out_what_is_protected_changes_nothing_else(
    command: str, found: set[str], runs: Runner
) -> None:
    """Of grep's own filters, the first decides what happens to all that none of them names."""
    for name in ("a.py", "b.txt"):
        (runs.workspace / name).write_text("x\n")
    assert set(runs(command).output) == found
