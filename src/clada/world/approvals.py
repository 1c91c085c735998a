"""The commands that a person has approved or blocked: `.clada/allowed-commands.json` in the workspace.

A command is approved by its exact text, without surrounding blanks; what is blocked is never approved. The
file is never opened through a link. A damaged file is an error that says where, and no command runs until it
is repaired: reading it as empty would forget what is blocked.
"""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.world.files.entries import reason
from clada.world.handles import (
    DIRECTORY,
    is_link,
    is_regular,
    make_directory,
    open_directory,
    open_file,
    read_at_most,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

BLANKS = " \t\r\n"  # around a command, and no others: a no-break space is part of it
FOLDER, FILE = ".clada", "allowed-commands.json"
PATH = f"{FOLDER}/{FILE}"
LISTS = ("commands", "blocked", "network")
MAX_BYTES = 10 << 20
LOCK_TIMEOUT = 10.0  # seconds to wait for another process that stores
SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")  # unquoted
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


class Approvals:
    """What is approved and blocked in a workspace, as it was when loaded, or last changed by this object."""

    def __init__(self, workspace: str, content: dict[str, Any]) -> None:
        self._workspace = workspace
        self._content = content

    @classmethod
    def load(cls, workspace: str) -> Approvals:
        """Read the workspace's approvals; where there is no file, nothing is approved or blocked."""
        root = _opened(workspace)
        try:
            folder = _folder(root)
            if folder is None:
                return cls(workspace, _checked({"commands": []}))
            try:
                return cls(workspace, _content(folder))
            finally:
                os.close(folder)
        finally:
            os.close(root)

    def is_approved(self, text: str) -> bool:
        """Whether this exact command may run."""
        return text.strip(BLANKS) in self._content["commands"] and not self.is_blocked(text)

    def is_blocked(self, text: str) -> bool:
        """Whether this exact command must never run, whoever approves it."""
        return text.strip(BLANKS) in self._content["blocked"]

    @property
    def blocked(self) -> Sequence[str]:
        """The commands that must never run."""
        blocked: list[str] = self._content["blocked"]
        return blocked

    def has_network(self, text: str) -> bool:
        """Whether this exact command was approved with the network."""
        return text.strip(BLANKS) in self._content["network"] and self.is_approved(text)

    def listed(self) -> list[str]:
        """Return a line for each command: what it may do, and its text."""
        approved = [text for text in self._content["commands"] if self.is_approved(text)]
        lines = [f"{'network' if self.has_network(text) else 'allowed'}  {text}" for text in approved]
        return lines + [f"blocked  {text}" for text in self._content["blocked"]]

    def add(self, text: str, *, network: bool = False) -> None:
        """Approve a command, with the network or without; it is no longer blocked."""
        self._store(text, lambda content, command: _approved(content, command, network=network))

    def block(self, text: str) -> None:
        """Refuse a command from now on; it is no longer approved."""
        self._store(text, _blocked)

    def remove(self, text: str) -> bool:
        """Forget a command, approved or blocked; return whether it was known."""
        return self._store(text, _forgotten)

    def _store(self, text: str, change: Callable[[dict[str, Any], str], dict[str, Any]]) -> bool:
        """Change what is in the file now: another process may have changed it since it was loaded."""
        command = text.strip(BLANKS)
        if not command:
            raise Trouble("command_not_allowed", "a blank command cannot be approved or blocked")
        root = _opened(self._workspace)
        try:
            folder = _made_folder(root)
            try:
                _lock(folder)  # the folder itself, so that there is no lock file to leave; closing unlocks it
                old = _content(folder)
                self._content = _checked(change(old, command))
                if self._content != old:
                    _write(folder, self._content)
                return self._content != old
            finally:
                os.close(folder)
        finally:
            os.close(root)


# How a person approves a command by hand.


def remedy(command: str, *, network: bool = False) -> str:
    """Return the command line that approves a command, to be pasted into a shell."""
    flag = " --network" if network else ""
    dashes = " --" if command.startswith("-") else ""
    return f"clada approvals add{flag}{dashes} {_shell_quoted(command)}"


def _shell_quoted(text: str) -> str:
    """Quote a text for a shell, on one line; with control characters as `$'…'`, for bash, zsh and ksh."""
    if text and SAFE.issuperset(text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(char: str) -> str:
    """Return a character as it is written within `$'…'`; in octal, byte by byte, if it cannot be printed."""
    if char in _ESCAPES or char.isprintable():
        return _ESCAPES.get(char, char)
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


# Changes of the content: each returns a new one.


def _forgotten(content: dict[str, Any], text: str) -> dict[str, Any]:
    lists = {key: [command for command in content[key] if command != text] for key in LISTS}
    added = {command: when for command, when in content["added"].items() if command != text}
    return {**content, **lists, "added": added}


def _approved(content: dict[str, Any], text: str, *, network: bool) -> dict[str, Any]:
    import time

    clean = _forgotten(content, text)
    when = content["added"].get(text) or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        **clean,
        "commands": [*clean["commands"], text],
        "network": [*clean["network"], *([text] if network else [])],
        "added": {**clean["added"], text: when},
    }


def _blocked(content: dict[str, Any], text: str) -> dict[str, Any]:
    clean = _forgotten(content, text)
    return {**clean, "blocked": [*clean["blocked"], text]}


# The file and its format.


def _content(folder: int) -> dict[str, Any]:
    data = _read(folder)
    return _checked({"commands": []} if data is None else _parsed(data))


def _read(folder: int) -> bytes | None:
    """Return the bytes of the file, None if there is none. A link or a pipe in its place is an error."""
    try:
        handle = open_file(FILE, folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(PATH, error, is_link(FILE, folder)) from error
    try:
        if not is_regular(handle):
            raise Trouble("io_error", f"{PATH} is not a regular file", f"move {PATH} out of the way")
        data = read_at_most(handle, MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        _damaged(f"it is larger than {MAX_BYTES >> 20} MB")
    return data


def _parsed(data: bytes) -> Any:
    import json

    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError as error:
        _damaged(f"byte {error.start} is not UTF-8")
    except json.JSONDecodeError as error:
        _damaged(f"line {error.lineno}, column {error.colno}: {error.msg}")
    except (ValueError, RecursionError) as error:
        _damaged(str(error) or "it is nested too deeply")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: json would silently drop what the first one blocks."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            _damaged(f"the key {key!r} stands there twice")
        found[key] = value
    return found


def _checked(content: Any) -> dict[str, Any]:
    """Return the content with all known keys, commands stripped, sorted and unique; other keys are kept."""
    if not isinstance(content, dict):
        _damaged("it must hold an object with the key 'commands'")
    if "commands" not in content:
        _damaged("the key 'commands' is missing")
    lists = {key: _texts(key, content.get(key, [])) for key in LISTS}
    added = content.get("added", {})
    if not isinstance(added, dict) or not all(isinstance(when, str) for when in added.values()):
        _damaged("'added' must be an object of commands and times")
    known = {"commands": lists["commands"], "added": dict(sorted(added.items())), **lists}
    return {**known, **{key: value for key, value in content.items() if key not in known}}


def _texts(key: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        _damaged(f"{key!r} must be a list")
    for number, text in enumerate(value, 1):
        if not isinstance(text, str):
            _damaged(f"entry {number} of {key!r} must be a text")
    return sorted({text.strip(BLANKS) for text in value})


def _damaged(where: str) -> NoReturn:
    message = f"{PATH} is damaged: {where}"
    raise Trouble(
        "command_not_allowed", message, "correct the file, or restore it with git; no command runs before"
    )


def _write(folder: int, content: dict[str, Any]) -> None:
    """Write one command per line, in ASCII, so that a diff shows what changed and nothing can hide in it."""
    import json

    from clada.world.files.atomic import put

    try:
        put(folder, FILE, json.dumps(content, indent=2).encode() + b"\n")
    except OSError as error:
        raise Trouble("io_error", f"{PATH} cannot be written: {reason(error)}") from error


# The file's directory.


def _opened(path: str) -> int:
    try:
        return os.open(path, DIRECTORY)
    except OSError as error:
        raise _unreadable(path, error, link=False) from error


def _folder(root: int) -> int | None:
    try:
        return open_directory(FOLDER, root)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(FOLDER, error, is_link(FOLDER, root)) from error


def _made_folder(root: int) -> int:
    try:
        make_directory(FOLDER, root)
    except OSError as error:
        raise Trouble("io_error", f"{FOLDER} cannot be made: {reason(error)}") from error
    folder = _folder(root)
    if folder is None:
        raise Trouble("io_error", f"{FOLDER} was removed at this moment", "try again")
    return folder


def _unreadable(path: str, error: OSError, link: bool) -> Trouble:
    if link:
        return Trouble("symlink_not_allowed", f"{path} is a symbolic link", "put the file itself there")
    return Trouble("io_error", f"{path} cannot be read: {reason(error)}")


def _lock(folder: int) -> None:
    """Wait for other processes that store, and keep them waiting until the handle is closed."""
    from clada.world.locks import try_flock, wait_for_lock

    try:
        result = wait_for_lock(lambda: try_flock(folder), LOCK_TIMEOUT)
    except OSError as error:
        raise Trouble("io_error", f"{FOLDER} cannot be locked: {reason(error)}") from error
    if result != "held":
        raise Trouble("lock_timeout", f"{FOLDER} is locked by another process")
