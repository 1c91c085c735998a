"""Paths as documents write them: normalised as text, and refused if they lead where they may not."""

from __future__ import annotations

from clada.errors import CladaError
from clada.grammar import MAX_PATH, SHORT, byte_length, long_path, long_path_complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

# The components of a path below the workspace. Outside of it, which takes --allow-escape, the first is "/".
Parts = tuple[str, ...]
OUTSIDE = "/"
FIRST_LETTERS = tuple(".gGcC")  # of protected names, to skip nearly all others quickly
PROTECTED = (".git", ".clada", "git~1", "clada~1")  # the last two are their short names on NTFS and FAT
# Characters that HFS+ leaves out when it compares names; the list is git's own (core.protectHFS).
_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
# Names of modules that Python imports before clada runs, by the directory in which it looks for them, if that
# is one that documents may write. The command line fills it; with the usual start it is empty.
early_imports: dict[str, frozenset[str]] = {}
_MODULES = ("py", "pyc", "so")  # extensions of modules


def locate(path: str, root: str, base: Parts = (), *, allow_escape: bool = False) -> Parts:
    """Return the parts of a path that is relative to `base` in the workspace at `root`.

    Everything is literal but slashes of both kinds, `.` and `..`. Links are refused later, by the walk.
    """
    text = path.replace("\\", "/")
    if "\0" in text:
        raise CladaError("path_escape", "a path cannot contain a NUL character")
    if len(text) > SHORT:
        _refuse_long(text)
    absolute = text.startswith("/")
    has_drive = text[1:2] == ":" and text[:1].isascii() and text[:1].isalpha()
    if absolute or has_drive:
        if not (allow_escape and absolute):
            raise _absolute_error(text)
        base = (OUTSIDE,)
    parts = _normalise(text, base, root, allow_escape=allow_escape)
    if parts[:1] == (OUTSIDE,):
        parts = inside(parts, root)
    known = len(base) if parts[: len(base)] == base else 0  # the current directory was checked already
    if known:
        _refuse_long_total(parts)
    for part in parts[known:]:
        if is_protected(part):
            raise _protected_error(part)
    return parts


def locate_inside(path: str, root: str) -> Parts | None:
    """Return the parts of an absolute path that lies in the workspace by its text, else None."""
    if not path.startswith("/"):
        return None
    parts = inside(_normalise(path, (OUTSIDE,), root, allow_escape=True), root)
    return None if parts[:1] == (OUTSIDE,) else parts


def parts_outside(path: str) -> Parts:
    """Return the parts of an absolute path that counts as outside of the workspace."""
    return (OUTSIDE, *filter(None, path.split("/")))


def inside(parts: Parts, root: str) -> Parts:
    """Return the parts below the workspace where an outside path leads back into it, by its text."""
    if parts[:1] != (OUTSIDE,):
        return parts
    home = parts_outside(root)
    return parts[len(home) :] if parts[: len(home)] == home else parts


def new_on_the_way(parts: Parts, known: Container[Parts]) -> list[Parts]:
    """Return a path and its parents, the topmost first, except those that are known.

    All parents of a known path are known, so each path is visited once.
    """
    found = []
    while parts and parts not in known:
        found.append(parts)
        parts = parts[:-1]
    return found[::-1]


def display_path(parts: Parts) -> str:
    """Return the path of these parts, as reports write it."""
    return "/" + "/".join(parts[1:]) if parts[:1] == (OUTSIDE,) else "/".join(parts) or "."


def protect(parts: Parts) -> None:
    """Refuse git's and clada's own directories, at any depth and in any letter case."""
    for part in parts:
        if is_protected(part):
            raise _protected_error(part)


def _protected_error(part: str) -> CladaError:
    return CladaError("permission_denied", f"{part} is protected")


def refuse_early_import(parts: Parts, root: str) -> None:
    """Refuse a file that Python would import instead of its own the next time that clada starts."""
    path = display_path(parts) if parts[0] == OUTSIDE else f"{root.rstrip('/')}/{display_path(parts)}"
    for place, names in early_imports.items():
        module, _, rest = path.removeprefix(f"{place}/").partition("/")
        name, _, ending = module.partition(".")
        loaded = rest.startswith("__init__.") if rest else ending.endswith(_MODULES)
        if path == place or (name in names and loaded):
            message = f"Python would load {display_path(parts)} as soon as clada is started again"
            raise CladaError("permission_denied", message, "start clada as `clada`, or `python -P -m clada`")


def is_protected(name: str) -> bool:
    """Whether a file of this name belongs to git or to clada itself, on any file system."""
    if name[:1] not in FIRST_LETTERS and name.isascii():
        return False
    return fold_name(name) in PROTECTED


def fold_name(name: str) -> str:
    """Return the form that a name shares with all names that some file system treats as the same.

    HFS+ and NTFS ignore letter case. HFS+ ignores some invisible characters. NTFS drops dots and blanks at
    the end, and takes what follows a colon for a stream of the file. So git protects `.git.`, too.
    """
    visible = name if name.isascii() else name.translate(_IGNORED)
    return visible.partition(":")[0].rstrip(". ").casefold()


def _refuse_long(path: str) -> None:
    """Refuse a path that is too long for any file system, before each of its components is checked."""
    complaint = long_path_complaint(path)
    if complaint:
        raise CladaError("io_error", f"file name too long: {complaint}")


def _refuse_long_total(parts: Parts) -> None:
    """Refuse a path that is too long together with the current directory; each name was checked."""
    if len("/".join(parts)) > MAX_PATH // 4:
        size = byte_length("/".join(parts))
        if size > MAX_PATH:
            raise CladaError("io_error", f"file name too long: {long_path(size)}")


def _absolute_error(text: str) -> CladaError:
    if not text.startswith("/"):
        return CladaError("path_escape", "drive letters are not allowed", "use a path in the workspace")
    hint = "use a path in the workspace, or --allow-escape"
    return CladaError("path_escape", "absolute paths are not allowed", hint)


def _normalise(text: str, base: Parts, root: str, *, allow_escape: bool) -> Parts:
    parts = list(base)
    for part in text.split("/"):
        if part == "..":
            if parts and parts[-1] != OUTSIDE:
                parts.pop()
            else:
                _climb(parts, root, allow_escape=allow_escape)
        elif part and part != ".":
            parts.append(part)
    return tuple(parts)


def _climb(parts: list[str], root: str, *, allow_escape: bool) -> None:
    """Go up from the root of the file system, which is its own parent, or from the workspace."""
    if parts:
        return
    if allow_escape:
        parts[:] = [OUTSIDE, *root.strip("/").split("/")][:-1]
    else:
        raise CladaError(
            "path_escape", "the path leads out of the workspace", "--allow-escape would allow it"
        )
