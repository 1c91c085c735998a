"""The git commands that a document may run: safe arguments, no secrets, approvals left alone by a stash.

git is asked first which files a command would show; those that look like secrets are then left out by their
paths. A blob that is named by its hash alone is refused, because nothing says which file it was.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.git.git import FATAL, git_call_error
from clada.world.git.status import is_off_limits, work_tree_status
from clada.world.secrets.names import is_revealed, looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.world.git.git import Git


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
GITLINK = "160000"  # the mode of a submodule
_BY_HAND = "a person can do that by hand"
TAKES_PATHS = ("status", "diff", "log", "show", "ls-files")


class Operands(Value):
    """The operands of git after its options: revisions, as git resolves them, and literal paths."""

    revisions: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


NOTHING = Operands()


def sort_operands(words: Sequence[str], directory: str, git: Git) -> Operands:
    """Return which of the words are revisions, seen from a directory of the work tree; the rest are paths.

    As for git, no revision follows a path. Whether a path is there, and inside, is not examined.
    """
    if not words or _is_all_revisions(words, directory, git):
        return Operands(tuple(words))
    number = next(at for at, word in enumerate(words) if not _is_all_revisions([word], directory, git))
    return Operands(tuple(words[:number]), tuple(words[number:]))


def _is_all_revisions(words: Sequence[str], directory: str, git: Git) -> bool:
    """Ask git, which resolves ranges and everything else before `--`, and opens no file for it."""
    call = ("rev-list", "--no-walk", "--max-count=0", "--quiet", "--end-of-options")
    return git.call(*call, *words, "--", directory=directory).code == 0


def allowed_command(
    arguments: Sequence[str], git: Git, operands: Operands = NOTHING, hidden: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return the argv and the environment of an allowed git command.

    `arguments` follow the word `git`: the subcommand, its options, and operands that are not paths.
    `hidden` are paths from the root that it does not show.
    """
    words = [word for word in arguments if word != "--no-pager"]
    if words[0] == "stash" and words[1:2] not in (["list"], ["show"]):
        _refuse_nested(git)
    if words[0] == "stash" and words[1:2] in ([], ["push"]):
        variables = {key: value for key, value in git.variables.items() if key != "GIT_LITERAL_PATHSPECS"}
        return [*git.command, "stash", "push", *words[2:], *_stash_limits(git)], variables
    name = " ".join(words[:2]) if words[0] == "stash" else words[0]
    if name in {"stash pop", "stash apply"}:
        _refuse_stashed_approvals(git, words[2:])
    length = len(name.split())
    variables = {**git.variables, "GIT_OPTIONAL_LOCKS": "0"}
    if hidden and name == "status":  # it shows all that is staged, even if it is given paths
        words = [word for word in words if not word.startswith(VERBOSE)]
    elif hidden:
        del variables["GIT_LITERAL_PATHSPECS"]
        if name == "stash show":  # it takes no paths
            shown = [word for word in words[2:] if word.startswith("-")]
            name, words, operands = "diff", ["diff", *shown], Operands(stash_sides(words[2:]))
        every_commit = ("--full-history", "--sparse") if name == "log" and not operands.paths else ()
        words, operands = [*words, *every_commit], operands.replace(paths=_all_but(operands.paths, hidden))
        length = 1
    options = (*ADDED_OPTIONS.get(name, ()), *words[length:])
    return [*git.command, *words[:length], *options, *_format_operands(name, operands)], variables


def _all_but(paths: Sequence[str], hidden: Sequence[str]) -> tuple[str, ...]:
    """Return the paths, or everything, without hidden ones."""
    given = [f":(literal){path}" for path in paths] or [":(top)"]
    return (*given, *(f":(top,exclude,literal){path}" for path in hidden))


def _format_operands(name: str, operands: Operands) -> list[str]:
    """Return the operands so that git cannot take one for something else.

    `git diff` compares any two files where it is given two paths alone and takes one to be outside; with one
    of them repeated there are never two.
    """
    if name not in TAKES_PATHS:
        return []
    again = operands.paths[-1:] if name == "diff" and not operands.revisions else ()
    revisions = ("--end-of-options", *operands.revisions) if operands.revisions else ()
    return [*revisions, "--", *operands.paths, *again]


def _stash_limits(git: Git) -> list[str]:
    """Return the arguments that keep approvals which are not committed out of a stash; mostly none."""
    found = work_tree_status(git, "")
    if not any(is_off_limits(path) for path in (*found.changed, *found.untracked, *found.staged)):
        return []
    return ["--", ":(top)", ":(top,exclude,glob,icase)**/.clada/**"]


def _refuse_stashed_approvals(git: Git, words: Sequence[str]) -> None:
    """Raise if a stash that is to be applied holds approvals."""
    names = [word for word in words if not word.startswith("-")]
    stash = names[0] if names else "stash@{0}"
    if stash.isascii() and stash.isdecimal():
        stash = f"stash@{{{stash}}}"
    raw = _list_paths(git, "diff-tree", "-r", "-z", "--raw", "--no-renames", f"{stash}^1", stash)
    # The untracked files, if any.
    held = [entry.partition("\t") for entry in _list_paths(git, "ls-tree", "-r", "-z", f"{stash}^3")]
    for path in (*raw[1::2], *(path for _mode, _tab, path in held)):
        if is_off_limits(path):
            raise CladaError(
                "permission_denied", f"the stash holds {escape_controls(path)}, which is protected"
            )
    # Git merges a change of a file that was renamed into the new file, under any name.
    added = ("diff-index", "--cached", "-z", "--name-only", "--no-renames", "--diff-filter=A", f"{stash}^1")
    for path in _list_paths(git, *added):
        if is_off_limits(path):
            message = f"{escape_controls(path)} came after the stash, and applying it could change that"
            raise CladaError("permission_denied", message, _BY_HAND)
    if any(GITLINK in modes for modes in (*raw[0::2], *(mode for mode, _tab, _path in held))):
        raise CladaError("command_not_allowed", "the stash holds a submodule", _BY_HAND)


def _refuse_nested(git: Git) -> None:
    """Raise if there are repositories in the work tree: git would go into them, by their configuration."""
    linked = [entry for entry in _list_paths(git, "ls-files", "-s", "-z") if entry.startswith(GITLINK)]
    nested = [*(entry.partition("\t")[2] for entry in linked), *work_tree_status(git, "").nested]
    if nested:
        message = f"git stash would go into {escape_controls(nested[0])}, a repository of its own"
        raise CladaError("command_not_allowed", message, _BY_HAND)


def _list_paths(git: Git, *call: str) -> list[str]:
    """Return the paths that git lists; none if there is no such stash, which git itself will report."""
    result = git.call(*call)
    return os.fsdecode(result.output).split("\0")[:-1] if result.code == 0 else []


_NAMES = ("--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--ignore-submodules=all")
# Options that say how something is shown, or leave out some of it: without them, git names at least as many.
_OF_DISPLAY = tuple(
    """-p --patch -U --unified --stat --numstat --shortstat --name- --summary --word-diff -z --oneline --graph
    --decorate --format --pretty -M --find-renames -C --find-copies --relative --diff-filter -w -b
    --ignore-""".split()
)
_SHOWING = ("-p", "--patch", "-U", "--unified", "--word-diff")  # options with which `log` shows contents
VERBOSE = ("-v", "--verbose")  # options with which `status` shows contents
# Options with which `log` follows one file through its renames, past all limits of paths.
_LINES, _FOLLOW = "-L", "--follow"


def find_secret_paths(
    words: Sequence[str], git: Git, operands: Operands, directory: str, reveal: Sequence[str] = ()
) -> list[str]:
    """Return the paths of secret files, seen from the root, whose content a command of git would show.

    `words` are the subcommand and its options, `directory` is where it runs.
    """
    name, *options = words
    if name in ("log", "show"):
        _refuse_followed(git, options, operands, directory, reveal)
    if name in ("diff", "show") or (name == "log" and _shows_patches(options)):
        for revision in operands.revisions:
            _refuse_blob(git, revision, directory)
        limits = [word for word in options if not word.startswith(_OF_DISPLAY)]
        behind = ["--end-of-options", *operands.revisions] if operands.revisions else []
        title = ["--format="] if name != "diff" else []
        found = _paths_shown_by(
            git, directory, name, *limits, *_NAMES, *title, *behind, "--", *operands.paths
        )
    elif words[:2] == ["stash", "show"]:
        found = _paths_shown_by(git, directory, "diff", *_NAMES, *stash_sides(options[1:]), "--")
    elif name == "status" and any(word.startswith(VERBOSE) for word in options):
        found = [
            path
            for more in ([], ["--cached"])
            for path in _paths_shown_by(git, directory, "diff", *more, *_NAMES)
        ]
    else:
        return []
    return sorted(path for path in set(found) if looks_secret(path) and not is_revealed(path, reveal))


def stash_sides(words: Sequence[str]) -> tuple[str, str]:
    """Return what `git stash show` compares."""
    stash = next((word for word in words if not word.startswith("-")), "0")
    stash = f"stash@{{{stash}}}" if stash.isdecimal() else stash
    return f"{stash}^1", stash


def _shows_patches(options: Sequence[str]) -> bool:
    return any(word.startswith(_SHOWING) for word in options)


def _refuse_followed(
    git: Git, options: Sequence[str], operands: Operands, directory: str, reveal: Sequence[str]
) -> None:
    """Raise if `log` or `show` would follow a file to the time when its name was that of a secret."""
    followed = [word.rpartition(":")[2] for word in _values_of(_LINES, options)]
    if _FOLLOW in options and _shows_patches(options):
        followed += operands.paths
    start = ["--all"] if "--all" in options else []
    behind = ["--end-of-options", *operands.revisions] if operands.revisions else []
    for path in followed:
        names = _paths_shown_by(
            git, directory, "log", _FOLLOW, *_NAMES[:2], "--format=", *start, *behind, "--", path
        )
        secret = next((each for each in names if looks_secret(each) and not is_revealed(each, reveal)), None)
        if secret is not None:
            message = f"`{path}` was {secret} in the history, which looks like a secret"
            raise CladaError("command_not_allowed", message, "leave out -L and --follow")


def _values_of(option: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the values of a short option, each in the word of the option or in the next one."""
    for word, following in zip(words, (*words[1:], ""), strict=False):
        if word.startswith(option):
            yield word.removeprefix(option) or following


def _refuse_blob(git: Git, revision: str, directory: str) -> None:
    """Raise if a word names the content of a file without its name."""
    if ":" in revision or ".." in revision:
        return
    kind = git.call("cat-file", "-t", revision, directory=directory)
    if kind.output.strip() == b"blob":
        message = f"`{revision}` is the content of a file, which may be a secret"
        raise CladaError("command_not_allowed", message, "name the file: REVISION:PATH")


def _paths_shown_by(git: Git, directory: str, *call: str) -> list[str]:
    """Return the paths that git names; nothing if it fails, as the command itself will then, too."""
    result = git.call(*call, directory=directory)
    if result.code not in (0, FATAL):
        raise git_call_error(call[0], result)
    return [path for path in (part.lstrip("\n") for part in os.fsdecode(result.output).split("\0")) if path]
