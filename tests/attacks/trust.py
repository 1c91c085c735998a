"""Trust: what a workspace, its configuration, its history and a document's words can make clada itself do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from tests.attacks.approvals import on_terminal
from tests.attacks.cases import run, write
from tests.attacks.place import Place, Result, command, document, interpreter, library
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.place import User

# Modules that a run loads late; a document writes files of these names, and the next one runs commands.
MODULES = """
select _thread fcntl ctypes struct fnmatch shlex tomllib unicodedata pygments json subprocess difflib datetime
tempfile marshal resource termios pty hashlib
""".split()
# Modules that Python loads before clada has a say: a document may not write these where Python looks.
EARLY = """
functools collections warnings types keyword operator reprlib importlib runpy pkgutil contextlib signal
sitecustomize usercustomize clada
""".split()
PATHS = (":", ":/nowhere", "/nowhere:", ".", "./", "sub/..", "{inside}")
LOADED = "LOADED FROM THE WORKSPACE"
PLANTED = f'import os\nos.write(2, b"{LOADED}: " + __name__.encode())\n'
# Settings of a repository that would silence the report, lift limits or choose delimiters; and others.
SETTINGS = {
    "output_mode": '"silent"', "summary": '"none"', "error_detail": '"simple"', "timeout": '"900s"',
    "total_timeout": '"9000s"', "max_output": '"1GB"', "start_delimiter": '"<<"', "end_delimiter": '">>"',
    "approve": '["make evil"]', "approve_all": "true", "allow_escape": "true", "sandbox": '"off"',
    "shell": '"approved"', "git": "false", "sandbox_read": '["/"]', "sandbox_write": '["/"]',
    "sandbox_env_keep": '["*"]',
    "reveal": '["*"]', "workspace": '"/"', "lock_timeout": '"0s"', "max_files": "999999999",
}  # fmt: skip
SHARED = """
output_mode summary error_detail timeout total_timeout max_output start_delimiter end_delimiter
""".split()
UNTRUSTED = {"CLADA_TRUST_WORKSPACE": ""}
APPROVING = '{"commands": ["touch-it"], "network": ["touch-it"]}'
STATE = ".local/state/clada/trust/{place}/.clada"
BROUGHT = {
    "its own approvals": {".clada/allowed-commands.json": APPROVING},
    "a prefix": {".clada/allowed-commands.json": '{"commands": [], "prefixes": ["touch-it"]}'},
    "a configuration that approves": {".clada/config.toml": 'approve = ["touch-it"]\n'},
    "a state of trust in a home": {
        ".clada/allowed-commands.json": APPROVING,
        f"{STATE}/allowed-commands.json": APPROVING,
    },
    "a state of own approvals in a home": {
        ".clada/allowed-commands.json": APPROVING,
        f"{STATE}/own.json": APPROVING,
    },
}
LOOKALIKES = {
    "a line break and a literal \\n": ("make a\nrm -rf b", "make a\\nrm -rf b"),
    "a tab and a literal \\t": ("make a\tb", "make a\\tb"),
    "a carriage return and a literal \\r": ("make 'a\rb'", "make 'a\\rb'"),
    "an escape and a literal \\x1b": ("make 'a\x1b[8mb'", "make 'a\\x1b[8mb'"),
    "blanks of another kind": ("make a\u00a0b", "make a b"),
}
RAW = ("\x1b", "\x9b", "\x07", "\u202e")


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about trust."""
    yield from _modules(user)
    yield from _settings(user)
    yield from _approvals(user)
    yield from _questions(user)
    yield from _history(user)


def _modules(user: User) -> Iterator[Row]:
    """Yield a row for each module: not loaded from the workspace, with each way to find it there."""
    names = (*MODULES, *EARLY)
    loaded: dict[str, list[str]] = {name: [] for name in names}
    tried = 0
    for path in ("", *PATHS):
        for start in (["-m", "clada"], ["-c", "import sys; from clada.cli import main; sys.exit(main())"]):
            with Place(user) as place:
                (place.inside / "sub").mkdir()
                place.repository()
                entries = f"{library()}:{path.format(inside=place.inside)}" if path else library()
                given = {"PYTHONPATH": entries}
                argv = [interpreter(user), *start, "--no-git", "--sandbox=off", "--summary=json"]
                planted = document(*(write(f"{name}.py", PLANTED) for name in names))
                place.run(argv, document=planted.encode(), environment=given)
                commands = document(run("ls"), run("git status"), run("sh -c true"), write("x", "y"))
                done = place.run([*argv, "--approve-all"], document=commands.encode(), environment=given)
                there = sum((place.inside / f"{name}.py").exists() for name in MODULES)
            tried += there == len(MODULES) and "task-4" in done.out
            for name in names:
                if f"{LOADED}: {name}" in done.err:
                    loaded[name].append(f"PYTHONPATH={path} {start[0]}")
    for name, ways in loaded.items():
        observed = f"loaded with {'; '.join(ways)}" if ways else f"not loaded, in {tried} ways to start"
        yield Row(f"{name}.py, written by a document", "not loaded", observed, not ways and tried > 0)


def _settings(user: User) -> Iterator[Row]:
    """Yield a row for each setting that a repository brings: not trusted, and trusted."""
    for key, value in SETTINGS.items():
        result, made = _with_setting(user, key, value, UNTRUSTED)
        ok = result.code == 0 and made and "not trusted" in result.err and "SUCCESS" in result.out
        observed = "told, and without effect" if ok else f"exit {result.code}: {result.err or result.out}"
        yield Row(f"a repository that nobody trusts sets {key}", "told, and without effect", observed, ok)
    for key in (key for key in SETTINGS if key not in SHARED):
        result, made = _with_setting(user, key, SETTINGS[key], {})
        said = (result.err or result.out).strip().partition("\n")[0]
        ok = result.code != 0 and key in said and not made
        yield Row(
            f"a repository's configuration sets {key}", "an error that names it, nothing done", said, ok
        )


def _with_setting(user: User, key: str, value: str, environment: dict[str, str]) -> tuple[Result, bool]:
    with Place(user) as place:
        place.put(".clada/config.toml", f"{key} = {value}\n")
        place.give()
        result = place.clada(document(write("made")), "--no-git", "--summary=none", environment=environment)
        return result, (place.inside / "made").exists()


def _approvals(user: User) -> Iterator[Row]:
    """Yield a row for each way in which a repository could approve commands by itself."""
    for name, files in BROUGHT.items():
        with Place(user) as place:
            for path, content in files.items():
                place.put(path.format(place=str(place.inside).lstrip("/")), content)
            place.give()
            home = {"HOME": str(place.inside)} if "state" in name else {}
            result = place.clada(document(run("touch-it")), "--no-git", environment={**UNTRUSTED, **home})
        refused = result.code == 1 and "command_not_allowed" in result.out
        yield Row(f"a repository brings {name}", "command_not_allowed", _first(result), refused)


def _first(result: Result) -> str:
    return next((line for line in result.out.splitlines() if "error" in line.lower()), result.out)[:200]


def _questions(user: User) -> Iterator[Row]:
    """Yield a row for each pair of commands that must not look alike to the person who is asked."""
    for name, pair in LOOKALIKES.items():
        shown = []
        for text in pair:
            with Place(user) as place:
                place.give()
                shown.append(on_terminal(place, document(run(text)).encode(), b"make"))
        raw = [f"U+{ord(char):04X}" for char in RAW[1:] if any(char in text for text in shown)]
        first, second = (_question(text) for text in shown)
        ok = first != second and bool(first) and not raw
        observed = "alike" if first == second else f"raw {', '.join(raw)}" if raw else "told apart"
        yield Row(f"the question about {name}", "told apart", observed, ok)


def _question(text: str) -> str:
    """Return what of a terminal's content is about the command."""
    return "\n".join(line for line in text.splitlines() if "command:" in line)


def _history(user: User) -> Iterator[Row]:
    """Yield rows about a history that was tampered with: it steers no terminal."""
    for name, char in {
        "an escape": "\x1b]0;x\x07",
        "a C1 control": "\x9b2J",
        "a bidi mark": "\u202ex",
    }.items():
        with Place(user) as place:
            place.put("file")
            place.repository()
            place.clada(document(write("made")), "--summary=none")
            tampered = _tamper(place, char)
            result = place.run([*command(user), "history"])
        raw = [f"U+{ord(each):04X}" for each in result.out if each in RAW]
        observed = f"raw {', '.join(raw)}" if raw else f"escaped, exit {result.code}"
        yield Row(f"a history with {name}", "escaped", observed, not raw if tampered else None)


def _tamper(place: Place, char: str) -> int:
    """Put a character into the titles of the recorded runs; return into how many."""
    (path,) = (place.inside / ".git/clada").glob("*/record.db")
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute("UPDATE runs SET what = ?", (f"1 {char}write".encode(),)).rowcount
