"""Approvals: no answer approves its own commands, and nothing but the exact text is approved."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.attacks.cases import Case, edit, move, refused, remove, run, write
from tests.attacks.place import Place, command, document
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.place import User

FILE = ".clada/allowed-commands.json"
NOT_ALLOWED = ("command_not_allowed",)
DENIED = ("permission_denied",)
# Texts that are not `make test`, however much they look like it.
NEARLY = {
    "two blanks": "make  test",
    "a no-break space": "make\u00a0test",
    "a homoglyph": "m\u0430ke test",
    "a capital": "Make test",
    "one argument more": "make test all",
    "quotes": "make 'test'",
    "a zero-width space": "make te\u200bst",
    "a path": "./make test",
    "another beside it": "make test && make install",
}
BY_COMMAND = (
    "cp other.json {0}",
    "mv other.json {0}",
    "rm {0}",
    "rm -rf .clada",
    "touch {0}",
    "chmod 600 {0}",
    "mkdir .clada/x",
)
AT_ONCE = 16
# Makes standard output the terminal that a person is asked on, and goes on as something else.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about approvals."""
    yield from refused(user, _approved, list(_tampering()))
    yield from refused(
        user,
        _approved,
        [
            Case(f"approved `make test`, asked: {name}", run(text), NOT_ALLOWED)
            for name, text in NEARLY.items()
        ],
    )
    yield from refused(
        user,
        _blocked,
        [Case("a blocked command under --approve-all", run("touchy"), NOT_ALLOWED)],
        "--approve-all",
    )
    for name, text in {
        "not JSON": "{",
        "a list": "[]",
        "wrong types": '{"commands": [1]}',
        "binary": "\0\xff",
    }.items():
        yield _damaged(user, name, text)
    yield _at_once(user, AT_ONCE)
    yield _prompt(user)


def _approved(place: Place) -> None:
    place.put(FILE, json.dumps({"commands": ["make test"]}))
    place.put("other.json", json.dumps({"commands": ["make all"]}))
    place.put("Makefile", "test:\n\ttouch made\nall:\n\ttouch made\n")


def _blocked(place: Place) -> None:
    place.put(FILE, json.dumps({"commands": ["touchy"], "blocked": ["touchy"]}))


def _tampering() -> Iterator[Case]:
    yield Case("write of the approvals", write(FILE), DENIED)
    yield Case("append to the approvals", write(FILE, append=True), DENIED)
    yield Case("edit of the approvals", edit(FILE, "test", "all"), DENIED)
    yield Case("move over the approvals", move("other.json", FILE), DENIED)
    yield Case("move of the approvals", move(FILE, "x"), DENIED)
    yield Case("move of their directory", move(".clada", "x"), DENIED)
    yield Case("removal of the approvals", remove(FILE), DENIED)
    yield Case("removal of their directory", remove(".clada"), DENIED)
    for line in BY_COMMAND:
        yield Case(f"`{line.format('APPROVALS')}`", run(line.format(FILE)), DENIED)
    yield Case("the approvals in another letter case", write(".Clada/Allowed-Commands.json"), DENIED)
    yield Case(
        "`cd .clada`", run("cd .clada && cp ../other.json allowed-commands.json"), (*DENIED, "exec_failed")
    )
    yield Case("`make all` with no terminal", run("make all"), NOT_ALLOWED)


def _damaged(user: User, name: str, text: str) -> Row:
    with Place(user) as place:
        place.put(FILE, text)
        place.give()
        operations = document(run("make test"), write("x"))
        result = place.clada(operations, "--no-git", "--summary=json", "--output-mode=silent")
        same = (place.inside / FILE).read_text() == text
    errors = [(task.get("error") or {}).get("message", "") for task in result.tasks] or [result.err]
    clear = result.code == 1 and "allowed-commands.json" in errors[0] and "Traceback" not in result.err
    return Row(f"a damaged approvals file: {name}", "an error that says where", errors[0], clear and same)


def _at_once(user: User, count: int) -> Row:
    """Return whether nothing gets lost when several store at once."""
    with Place(user) as place:
        place.give()
        with ThreadPoolExecutor(count) as pool:
            codes = list(
                pool.map(lambda n: place.clada("", "approvals", "add", f"make t{n}").code, range(count))
            )
        stored = json.loads((place.inside / FILE).read_text())["commands"]
    observed = f"{len(stored)} stored, exit codes {sorted(set(codes))}"
    case = f"{count} processes that store at once"
    return Row(
        case, f"{count} stored", observed, sorted(stored) == sorted(f"make t{n}" for n in range(count))
    )


def _prompt(user: User) -> Row:
    """Return what a person sees of a command with escapes and many blanks."""
    text = "make " + " " * 5000 + "\u202e 'x\x1b[2J\x9b1A\x07'"
    with Place(user) as place:
        place.give()
        shown = on_terminal(place, document(run(text)).encode(), b"2J")
    asked = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)  # clada's own colours
    bad = [f"U+{ord(char):04X}" for char in asked if char in "\x1b\x9b\x07\u202e"]
    forged = "\x1b[2J" in shown or "\x1b[1A" in shown
    whole = "make" in asked and "[2J" in asked
    observed = f"raw {', '.join(bad)}" if bad else "escaped" if whole and not forged else f"{asked[-200:]!r}"
    return Row(
        "a prompt with escapes and 5,000 blanks",
        "the whole command, escaped",
        observed,
        observed == "escaped",
    )


def on_terminal(place: Place, data: bytes, shown: bytes) -> str:
    """Return what clada puts on a terminal before it is answered with no, once this is shown."""
    master, slave = pty.openpty()
    source, sink = os.pipe()
    os.write(sink, data)
    os.close(sink)
    process = subprocess.Popen(
        [*command(place.user)[:1], "-c", TAKE_TERMINAL, *command(place.user), "--no-git"],
        stdin=source,
        stdout=slave,
        stderr=slave,
        cwd=place.inside,
        env={**place.environment(), "TERM": "xterm"},
        start_new_session=True,
        **place.identity(),
    )
    os.close(slave)
    os.close(source)
    seen, end = b"", time.monotonic() + 20
    answered = False
    while time.monotonic() < end and select.select([master], [], [], end - time.monotonic())[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        seen += piece
        if not answered and shown in seen and seen.rstrip().endswith((b":", b"]", b"?", b">")):
            os.write(master, b"n\n")
            answered = True
    if process.poll() is None:
        time.sleep(0.2)
    if process.poll() is None:
        process.kill()
    process.wait()
    os.close(master)
    return seen.decode(errors="replace")
