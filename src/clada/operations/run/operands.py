"""Checks of the paths of commands: as text before a run starts, in the tree before each command."""

from __future__ import annotations

from clada.commands.judgements import Allowed, BuiltIn, Piped
from clada.errors import CladaError
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files
    from clada.world.world import World

# Programs that show names, sizes and dates of files, and nothing of their content.
NAMES_ONLY = frozenset("ls stat find tree realpath dirname".split())
GIT_NAMES_ONLY = frozenset("status ls-files branch stash".split())
COPYING = frozenset(("cp", "mv"))  # built-in commands that give a file another name
_MOST_SHOWN = 200  # characters of an operand that an error names


def with_operand(raised: CladaError, text: str) -> CladaError:
    """Return the error with the operand in front of its message, because a command can have several."""
    error = raised.error
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return CladaError(error.type, f"{escape_controls(shown)}: {error.message}", error.hint)


def check_texts(files: Files, commands: Iterable[object], here: Parts) -> None:
    """Refuse paths that are wrong as text, before anything of the run is done.

    So is the path of `cd`; whether it is a link, or missing, is checked when it is its turn.
    """
    for command in commands:
        if isinstance(command, Allowed | Piped):
            for program in command.parts if isinstance(command, Piped) else (command,):
                _check_program(files, program, here)
        elif isinstance(command, BuiltIn) and command.name == "cd":
            here = enter_directory(files, command.operands[0], here)
        elif isinstance(command, BuiltIn):
            for path in command.paths:
                locate(files, path, here)


def check(files: Files, how: Allowed, here: Parts) -> None:
    """Apply the rules of file operations to the paths that a program is given."""
    for path in how.paths:
        for part in _paths_to_check(path):
            _check_place(files, part, here)


def check_paths_of_git(files: Files, paths: Iterable[str], here: Parts) -> None:
    """Check words that git does not know as revisions as paths; each must exist, as git demands."""
    for path in paths:
        _refuse_backslash(path)
        for part in _paths_to_check(path.rstrip("/") or path[:1]):
            _check_place(files, part, here)
        if files.entry(locate(files, path.rstrip("/"), here)) is None:
            hint = "put `--` before paths of files that are gone"
            raise CladaError("exec_failed", f"`{path}` is neither a revision nor a file", hint)


def refuse_ambiguous(files: Files, revisions: Iterable[str], here: Parts) -> None:
    """Refuse a revision that is also the name of a file, as git does."""
    for word in revisions:
        try:
            entry = files.entry(files.locate(word, here)) if "\\" not in word else None
        except CladaError:
            continue  # it cannot be the name of a file in the workspace
        if entry is not None:
            hint = "put `--` behind revisions and before paths"
            raise CladaError("exec_failed", f"`{word}` is both a revision and a file", hint)


def _refuse_backslash(path: str) -> None:
    if "\\" in path:
        message = "programs do not read a backslash as a slash"
        raise with_operand(CladaError("command_not_allowed", message, "write `/`"), path)


def _check_program(files: Files, how: Allowed, here: Parts) -> None:
    for path in (*(how.paths if how.program != "git" else ()), *how.pathspecs):
        _refuse_backslash(path)
    for path in how.paths:
        for part in _paths_to_check(path):
            locate(files, part, here)


def _check_place(files: Files, path: str, here: Parts) -> None:
    parts = locate(files, path, here)
    try:
        entry = files.entry(parts)
    except CladaError as raised:
        raise with_operand(raised, path) from None
    if entry and entry.kind == "link":
        raise CladaError("symlink_not_allowed", f"{path} is a symbolic link")
    if entry and entry.kind == "other":
        raise CladaError("permission_denied", f"{path} is not a regular file")


def locate(files: Files, path: str, here: Parts) -> Parts:
    """Return the parts of a path in the workspace; an error names the path."""
    try:
        return files.locate(path, here)
    except CladaError as raised:
        raise with_operand(raised, path) from None


def enter_directory(files: Files, path: str, here: Parts) -> Parts:
    """Return the directory that `cd` changes to, as text."""
    try:
        return files.locate_directory(path, here)
    except CladaError as raised:
        raise with_operand(raised, path) from None


def _paths_to_check(path: str) -> list[str]:
    """Return the path, and the path before each `..` in it: after a link, `..` would lead elsewhere."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    top = "/" if path.startswith("/") else ""
    # Of several `..` in a row, the first is enough: the others go up the same path.
    ends = [at for at in range(1, len(names)) if names[at] == ".." != names[at - 1]]
    return [top + "/".join(names[:end]) for end in ends] + [path]


# Operands that name secrets.


def secret_operand(world: World, verdict: object, here: Parts) -> str | None:
    """Return the first operand by which a command would show or copy a secret file; None if there is none."""
    if isinstance(verdict, Piped):
        return next(filter(None, (secret_operand(world, part, here) for part in verdict.parts)), None)
    return next((path for path in _shown_operands(verdict) if _is_secret(world, path, here)), None)


def _shown_operands(verdict: object) -> Iterable[str]:
    """Return the operands whose content a command shows or copies."""
    if isinstance(verdict, BuiltIn) and verdict.name in COPYING:
        return verdict.operands[:-1] or verdict.operands
    if not isinstance(verdict, Allowed) or verdict.program in NAMES_ONLY:
        return ()
    if verdict.program != "git":
        return verdict.paths
    if verdict.argv[1] in GIT_NAMES_ONLY:
        return ()
    # In `HEAD:.env` and `:0:.env`, a path stands behind the revision.
    named = (word.rpartition(":")[2] for word in verdict.revisions)
    return (*verdict.paths, *verdict.pathspecs, *named)


def _is_secret(world: World, path: str, here: Parts) -> bool:
    try:
        parts = world.files.locate(path.rstrip("/"), here) if path.strip("/") else ()
    except CladaError:
        return False  # not a path of the workspace, which another check reports
    return bool(parts) and world.secrets.names("/".join(parts))
