"""Commands: every refused option in all its spellings, every allowed one at work, every shell construct."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.attacks.cases import Case, refused, run, worked
from tests.attacks.place import Place, document
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.place import User

NOT_ALLOWED = ("command_not_allowed",)
RULES = ("command_not_allowed", "path_escape", "permission_denied", "symlink_not_allowed", "exec_failed")

# Pieces of words, one a line: what has a meaning to a shell, in and out of quotes.
PIECES = r"""
a
'b c'
"d e"
\ x
\\
'\'
"\""
'"'
"'"
\$
"\$"
\*
'*'
#
\#
""
é
=
{}
!
@{0}
~
%
""".split("\n")[1:-1]


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about commands."""
    yield from _allowed(user)
    yield from _planted(user)
    yield from refused(user, _repository, [Case(f"`{line}`", run(line), RULES) for line in _lines("refused")])
    constructs = [Case(f"`{line}`", run(line), NOT_ALLOWED) for line in _lines("constructs")]
    yield from refused(user, _tree, constructs)
    yield _same_words_as_bash(user, 2000)
    yield from _long_arguments(user)


def _tree(place: Place) -> None:
    for name in ("file", "same"):
        place.put(name, "old\nline\n")
    place.put("folder/file")
    place.put("g", "other\n")
    place.put("a1", "a\n")
    (place.inside / "link").symlink_to("file")


def _repository(place: Place) -> None:
    _tree(place)
    place.put("planted", f"#!/bin/sh\ntouch {place.outside}/marker\n", 0o755)
    place.repository()


def _allowed(user: User) -> Iterator[Row]:
    """Yield a row for each command that needs no approval: it really does its work."""
    lines = _lines("allowed")
    present = [line for line in lines if _installed(line.split()[0])]
    for line in lines:
        if line not in present:
            yield Row(f"`{line}`", "success", "not installed here", None)
    yield from worked(user, _changed_repository, [Case(f"`{line}`", run(line)) for line in present])


def _lines(name: str) -> list[str]:
    """Return the lines of one of the tables beside this file."""
    text = Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _installed(program: str) -> bool:
    builtin = program in "mv cp rm mkdir touch chmod pwd echo true cd".split()
    return builtin or any(os.access(f"{folder}/{program}", os.X_OK) for folder in ("/usr/bin", "/bin"))


def _changed_repository(place: Place) -> None:
    _tree(place)
    place.repository()
    place.put("file", "old\nline\nand more\n")
    place.put("same", "old\nline\nand more\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "second")
    place.put("g", "changed\n")
    place.put("untracked")


def _same_words_as_bash(user: User, count: int) -> Row:
    """Return whether words are what bash makes of the same text: `echo` is built in, and prints them."""
    chance = random.Random(8)
    texts = ["echo " + " ".join("".join(chance.choices(PIECES, k=3)) for _ in range(3)) for _ in range(count)]
    with Place(user) as place:
        place.give()
        result = place.clada(document(*(run(text) for text in texts)), "--no-git", "--summary=json")
    said = dict[str, str]()
    for line in result.out.splitlines():
        label, found, text = line.partition(":exec] ")
        if found:
            said[label.removeprefix("[task-")] = text
    wrong, compared = list[str](), 0
    for text, task in zip(texts, result.tasks, strict=True):
        if task["status"] != "success":
            continue  # refused: bash would act on something in it
        compared += 1
        real = subprocess.run(["bash", "-c", text], capture_output=True, check=False, text=True, cwd="/")
        if real.stdout != said.get(task["label"], "") + "\n":
            wrong.append(f"{text}: bash {real.stdout!r}, clada {said.get(task['label'])!r}")
    observed = wrong[0] if wrong else f"{compared} equal, {count - compared} refused"
    return Row(
        f"quoting, {count} random texts",
        "the words that bash makes of it",
        observed,
        not wrong and compared > 0,
    )


def _planted(user: User) -> Iterator[Row]:
    """Yield rows about a program in the workspace that has the name of an allowed one."""
    for name, path in {"PATH starts with .": ".", "PATH starts with the workspace": "{inside}"}.items():
        with Place(user) as place:
            _tree(place)
            for program in ("cat", "git", "ls", "grep", "bwrap", "python3", "bash"):
                place.put(program, f"#!/bin/sh\ntouch {place.outside}/marker\n", 0o755)
            place.repository()
            search = f"{path.format(inside=place.inside)}:{os.environ['PATH']}"
            operations = [
                run(text) for text in ("cat file", "git status", "ls", "grep -r old .", "./cat file")
            ]
            place.clada(document(*operations), environment={"PATH": search})
            ran = (place.outside / "marker").exists()
        yield Row(
            f"programs planted in the workspace, {name}",
            "none is started",
            "started" if ran else "none",
            not ran,
        )


def _long_arguments(user: User) -> Iterator[Row]:
    """Yield rows about arguments that are longer than the system takes."""
    cases = {"one of 200 KB": "x" * 204_800, "200 KB of many": " ".join(["x"] * 102_400)}
    for name, words in cases.items():
        with Place(user) as place:
            _tree(place)
            place.give()
            operations = [run(f"grep -c {words}"), run(f"echo {words}")]
            result = place.clada(document(*operations), "--no-git", "--summary=none")
        lines = [
            line[:60]
            for line in result.out.splitlines()
            if line.startswith("[task-") and ":exec]" not in line
        ]
        clean = result.code == 1 and "Traceback" not in result.err and "internal error" not in result.out
        yield Row(
            f"arguments: {name}",
            "a clear error or success",
            "; ".join(lines)[:150],
            clean and len(lines) == len(operations),
        )
