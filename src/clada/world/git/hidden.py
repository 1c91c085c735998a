"""Keeps files that look like secrets out of what git shows, in the work tree and in the history.

git is asked first which files a command would show; those that look like secrets are then left out by their
paths. A blob that is named by its hash alone is refused, because nothing says which file it was.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.world.git.calls import git_failed
from clada.world.secrets.names import is_revealed, looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.world.git.allowed import Operands
    from clada.world.git.calls import Git

_NAMES = ("--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--ignore-submodules=all")
# Options that say how something is shown, or leave out some of it: without them, git names at least as many.
_OF_DISPLAY = tuple(
    """-p --patch -U --unified --stat --numstat --shortstat --name- --summary --word-diff -z --oneline --graph
    --decorate --format --pretty -M --find-renames -C --find-copies --relative --diff-filter -w -b
    --ignore-""".split()
)
_SHOWING = ("-p", "--patch", "-U", "--unified", "--word-diff")  # options with which `log` shows contents
VERBOSE = ("-v", "--verbose")  # options with which `status` shows contents
FATAL = 128  # the exit code of git where a command itself is wrong, and not an option of ours
# Options with which `log` follows one file through its renames, past all limits of paths.
_LINES, _FOLLOW = "-L", "--follow"


def secret_paths(
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
        found = _listed(git, directory, name, *limits, *_NAMES, *title, *behind, "--", *operands.paths)
    elif words[:2] == ["stash", "show"]:
        found = _listed(git, directory, "diff", *_NAMES, *stash_sides(options[1:]), "--")
    elif name == "status" and any(word.startswith(VERBOSE) for word in options):
        found = [
            path for more in ([], ["--cached"]) for path in _listed(git, directory, "diff", *more, *_NAMES)
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
        names = _listed(git, directory, "log", _FOLLOW, *_NAMES[:2], "--format=", *start, *behind, "--", path)
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


def _listed(git: Git, directory: str, *call: str) -> list[str]:
    """Return the paths that git names; nothing if it fails, as the command itself will then, too."""
    result = git.call(*call, directory=directory)
    if result.code not in (0, FATAL):
        raise git_failed(call[0], result)
    return [path for path in (part.lstrip("\n") for part in os.fsdecode(result.output).split("\0")) if path]
