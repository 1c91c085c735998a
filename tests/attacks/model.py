"""What operations do to a tree, as plainly as it can be said: what a run is compared with.

A tree maps paths to content; None is a directory, a `Link` is a symbolic link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTECTED = (".git", ".clada")


class Link(NamedTuple):
    """A symbolic link."""

    target: str


Tree = dict[str, "bytes | Link | None"]


class Refused(Exception):  # noqa: N818 (it carries the type of an error)
    """What the model says when an operation is to fail."""


def perform(tree: Tree, blocks: Iterable[list[dict[str, Any]]]) -> list[str]:
    """Change the tree as the blocks do; return what comes of each: success, skipped or the error."""
    outcomes = []
    for block in blocks:
        failed = False
        for operation in block:
            outcome = "skipped" if failed else _outcome(tree, operation)
            failed = failed or outcome != "success"
            outcomes.append(outcome)
    return outcomes


def _outcome(tree: Tree, operation: dict[str, Any]) -> str:
    try:
        ACTIONS[operation["action"]](tree, operation)
    except Refused as refusal:
        return str(refusal)
    return "success"


def _write(tree: Tree, operation: dict[str, Any]) -> None:
    path = _checked(tree, operation["path"], in_a_file="permission_denied")
    old = tree.get(path, b"")
    if isinstance(old, Link):
        raise Refused("symlink_not_allowed")
    if old is None:
        raise Refused("permission_denied")
    new = operation["content"].encode()
    if operation.get("append"):
        new = old + (b"\n" if old and new and not old.endswith(b"\n") else b"") + new
    _make_parents(tree, path)
    tree[path] = new


def _edit(tree: Tree, operation: dict[str, Any]) -> None:
    path = _checked(tree, operation["path"])
    old = tree.get(path, "missing")
    if isinstance(old, Link):
        raise Refused("symlink_not_allowed")
    if isinstance(old, str):
        raise Refused("file_not_found")
    if old is None:
        raise Refused("permission_denied")
    search, count = operation["search"].encode(), operation.get("count", 1)
    found = old.count(search)
    if found != count if count != "all" else not found:
        raise Refused("match_count_mismatch")
    tree[path] = old.replace(search, operation["replace"].encode())


def _remove(tree: Tree, operation: dict[str, Any]) -> None:
    path = _checked(tree, operation["path"])
    if path not in tree:
        raise Refused("file_not_found")
    for name in [name for name in tree if name == path or name.startswith(f"{path}/")]:
        del tree[name]


def _move(tree: Tree, operation: dict[str, Any]) -> None:
    for path in (operation["from"], operation["to"]):
        _contained(path)
    source = _checked(tree, operation["from"])
    if source not in tree:
        raise Refused("file_not_found")
    target = _checked(tree, operation["to"], in_a_file="permission_denied")
    if isinstance(tree.get(target), Link):
        raise Refused("symlink_not_allowed")
    if target in tree and tree[target] is None:
        target = f"{target}/{source.rpartition('/')[2]}"
        if isinstance(tree.get(target), Link):
            raise Refused("symlink_not_allowed")
    if target == source:
        raise Refused("any")  # nothing to do, or nothing that can be done
    if f"{target}/".startswith(f"{source}/") or f"{source}/".startswith(f"{target}/"):
        raise Refused("any")
    if target in tree and (tree[target] is None or tree[source] is None):
        raise Refused("any")
    _make_parents(tree, target)
    for name in [name for name in tree if name == source or name.startswith(f"{source}/")]:
        tree[target + name[len(source) :]] = tree.pop(name)


def _mkdir(tree: Tree, operation: dict[str, Any]) -> None:
    path = _checked(tree, operation["command"].split()[-1], in_a_file="exec_failed")
    if isinstance(tree.get(path), Link):
        raise Refused("symlink_not_allowed")
    if isinstance(tree.get(path), bytes):
        raise Refused("exec_failed")
    _make_parents(tree, f"{path}/x")


def _checked(tree: Tree, path: str, in_a_file: str = "file_not_found") -> str:
    """Return the path, if it may be walked; `in_a_file` is the error if a file is in place of a directory."""
    parts = _contained(path)
    for number in range(1, len(parts)):
        ancestor = "/".join(parts[:number])
        if isinstance(tree.get(ancestor), Link):
            raise Refused("symlink_not_allowed")
        if isinstance(tree.get(ancestor), bytes):
            raise Refused(in_a_file)
        if ancestor not in tree:
            break
    return path


def _contained(path: str) -> list[str]:
    """Return the parts of a path that does not lead out, or where nobody may go."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        raise Refused("path_escape")
    if any(part.lower() in PROTECTED for part in parts):
        raise Refused("permission_denied")
    return parts


def _make_parents(tree: Tree, path: str) -> None:
    parts = path.split("/")
    for number in range(1, len(parts)):
        tree.setdefault("/".join(parts[:number]), None)


ACTIONS = {"write": _write, "edit": _edit, "remove": _remove, "move": _move, "run": _mkdir}
