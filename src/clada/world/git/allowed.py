"""The git commands that a document may run: safe arguments, and a stash that leaves the approvals alone."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.world.git.calls import Git

# Options that are added after the name of a command.
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
ADDED_OPTIONS = {
    "status": ("--ignore-submodules=all",),
    "diff": _NO_PROGRAMS,
    "log": _NO_PROGRAMS,
    "show": _NO_PROGRAMS,
    "stash list": _NO_PROGRAMS,
    "stash show": _NO_PROGRAMS,
}
TAKES_PATHS = ("status", "diff", "log", "show", "ls-files")


class Operands(Value):
    """What git is given behind its options: revisions, as git resolves them, and paths, literally."""

    revisions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


NOTHING = Operands()


def sorted_operands(words: Sequence[str], directory: str, git: Git) -> Operands:
    """Return which of the words are revisions, seen from a directory of the work tree; the rest are paths.

    As for git, no revision follows a path. Whether a path is there, and inside, is not looked at.
    """
    if not words or _are_revisions(words, directory, git):
        return Operands(tuple(words))
    number = next(at for at, word in enumerate(words) if not _are_revisions([word], directory, git))
    return Operands(tuple(words[:number]), tuple(words[number:]))


def _are_revisions(words: Sequence[str], directory: str, git: Git) -> bool:
    """Ask git, which resolves ranges and all else that can stand before `--`, and opens no file for it."""
    call = ("rev-list", "--no-walk", "--max-count=0", "--quiet", "--end-of-options")
    return git.call(*call, *words, "--", directory=directory).code == 0


def allowed_command(
    arguments: Sequence[str], git: Git, operands: Operands = NOTHING
) -> tuple[list[str], dict[str, str]]:
    """Return the argv and the environment of an allowed git command.

    `arguments` follow the word `git`: the subcommand, its options and, where they are no paths, its operands.
    """
    words = [word for word in arguments if word != "--no-pager"]
    if words[0] == "stash" and words[1:2] in ([], ["push"]):
        variables = {key: value for key, value in git.variables.items() if key != "GIT_LITERAL_PATHSPECS"}
        return [*git.command, "stash", "push", *words[2:], *_stash_limits(git)], variables
    name = " ".join(words[:2]) if words[0] == "stash" else words[0]
    if name in {"stash pop", "stash apply"}:
        _refuse_stashed_approvals(git, words[2:])
    length = len(name.split())
    variables = {**git.variables, "GIT_OPTIONAL_LOCKS": "0"}
    options = (*ADDED_OPTIONS.get(name, ()), *words[length:])
    return [*git.command, *words[:length], *options, *_behind_options(name, operands)], variables


def _behind_options(name: str, operands: Operands) -> list[str]:
    """Return the operands so that git cannot take one for something else.

    `git diff` compares any two files where it is given two paths and takes one to be outside, whatever stands
    before them; with one of them repeated there are never two.
    """
    if name not in TAKES_PATHS:
        return []
    again = operands.paths[-1:] if name == "diff" else ()
    revisions = ("--end-of-options", *operands.revisions) if operands.revisions else ()
    return [*revisions, "--", *operands.paths, *again]


def _stash_limits(git: Git) -> list[str]:
    """Return the arguments that keep approvals which are not committed out of a stash; mostly none.

    With such limits git adds untracked files before it stashes them, so nested repositories are left out too.
    """
    from clada.world.git.commits import is_off_limits, status

    found = status(git, "")
    if not any(is_off_limits(path) for path in (*found.changed, *found.untracked, *found.staged)):
        return []
    nested = [f":(top,exclude,literal){path}" for path in found.nested]
    return ["--", ":(top)", ":(top,exclude,glob,icase)**/.clada/**", *nested]


def _refuse_stashed_approvals(git: Git, words: Sequence[str]) -> None:
    """Raise if a stash that is to be applied holds approvals."""
    from clada.world.git.commits import is_off_limits

    names = [word for word in words if not word.startswith("-")]
    stash = names[0] if names else "stash@{0}"
    if stash.isascii() and stash.isdecimal():
        stash = f"stash@{{{stash}}}"
    held = _paths(git, "diff-tree", "-r", "-z", "--name-only", "--no-renames", f"{stash}^1", stash)
    held += _paths(git, "ls-tree", "-r", "-z", "--name-only", f"{stash}^3")  # the untracked files, if any
    approvals = [path for path in held if is_off_limits(path)]
    if approvals:
        raise Trouble(
            "permission_denied", f"the stash holds {escape_controls(approvals[0])}, which is protected"
        )


def _paths(git: Git, *call: str) -> list[str]:
    """Return what git lists; nothing if there is no such stash, which git itself will report."""
    result = git.call(*call)
    return os.fsdecode(result.output).split("\0")[:-1] if result.code == 0 else []
