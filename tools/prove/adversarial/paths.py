"""Paths: those that lead out, those that no file can have, and those that are strange but fine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.prove.adversarial.batch import QUIET, Case, refused, run, seen, write
from tools.prove.place import Place, changed, document
from tools.prove.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.prove.place import User

ESCAPE, INVALID, DENIED = ("path_escape",), ("invalid_operation",), ("permission_denied",)
REFUSED = {
    "../x": ESCAPE,
    "a/../../x": ESCAPE,
    "/etc/clada-was-here": ESCAPE,
    "//etc/clada-was-here": ESCAPE,
    "\\etc\\x": ESCAPE,
    "..\\x": ESCAPE,
    "C:\\x": ESCAPE,
    "c:x": ESCAPE,
    "../workspace-sibling/secret": ESCAPE,
    "folder/../../outside/secret": ESCAPE,
    "nul\0byte": INVALID,
    "carriage\rreturn": INVALID,
    "line\nbreak": INVALID,
    ".git/config": DENIED,
    ".GIT/config": DENIED,
    ".Git/hooks/pre-commit": DENIED,
    "sub/.git/config": DENIED,
    "folder/../.git/config": DENIED,
    ".git./config": DENIED,
    ".git /config": DENIED,
    ".clada/allowed-commands.json": DENIED,
    ".CLADA/config.toml": DENIED,
    "folder": DENIED,
    "folder/": DENIED,
    ".": DENIED,
    "file/below": DENIED,
    "x" * 256: ("io_error", "permission_denied", "invalid_operation"),
    "é" * 128: ("io_error", "permission_denied", "invalid_operation"),
}
# What is a name like any other, here.
LITERAL = (
    "dot.",
    "blank ",
    " blank",
    "..foo",
    "...",
    "~/x",
    "$HOME/x",
    "%2e%2e/x",
    "*",
    "-rf",
    "ab:c",
    "con",
    "x" * 255,
    "/".join("a" * 500),
)
# Characters that turn the reading direction, hide, or start a line on some terminals.
DECEIVING = "\u202e\u2066\u200b\u200d\u2060\ufeff\u2028\u2029\u0085\x1b\x9b"


def rows(user: User, _quick: bool) -> Iterator[Row]:
    """Yield the rows about paths."""
    cases = [Case(f"write `{name[:40]}`", write(name), types) for name, types in REFUSED.items()]
    yield from refused(user, _tree, cases)
    removed = [Case(f"`rm -rf {path}`", run(f"rm -rf {path}"), types) for path, types in DESTROYING.items()]
    yield from refused(user, _tree, removed)
    yield from _literal(user)
    yield from _deceiving(user)


DESTROYING = {"/": ESCAPE, "..": ESCAPE, ".": DENIED, ".git": DENIED, "holder": DENIED, "/etc": ESCAPE}


def _tree(place: Place) -> None:
    place.put("folder/file")
    place.put("file")
    place.put("holder/.git/config")
    place.put(".git/config")


def _literal(user: User) -> Iterator[Row]:
    """Yield a row for each name that is strange but fine: that file is made, and no other."""
    with Place(user) as place:
        place.give()
        before = place.picture()
        result = place.clada(document(*(write(name) for name in LITERAL)), *QUIET)
        made = {path for path in changed(before, place.picture()) if place.top.joinpath(path).is_file()}
    for name, task in zip(LITERAL, result.tasks, strict=True):
        there = f"workspace/{name}" in made
        observed = f"{seen(task)}{'' if there else ', but it is not there'}"
        yield Row(f"write `{name[:40]}`", "taken literally", observed, observed == "success")
    expected = {f"workspace/{name}" for name in LITERAL}
    extra = sorted(made - expected)
    yield Row(
        "names that are taken literally", "nothing else is made", ", ".join(extra) or "nothing", not extra
    )


def _deceiving(user: User) -> Iterator[Row]:
    names = [f"x{char}y" for char in DECEIVING]
    with Place(user) as place:
        place.give()
        result = place.clada(document(*(write(name) for name in names)), "--no-git", "--summary=none")
    raw = sorted({f"U+{ord(char):04X}" for char in DECEIVING if char in result.out + result.err})
    shown = ", ".join(raw) or "all escaped"
    yield Row("names with bidi, zero-width and control characters", "shown escaped", shown, not raw)
