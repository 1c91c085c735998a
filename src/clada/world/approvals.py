"""The commands that a person has approved or blocked: `.clada/allowed-commands.json` in the workspace.

A command is approved by its exact text, without surrounding blanks; a blocked command is never approved. The
file is never opened through a link. A damaged file is an error that says where, and no command runs until it
is repaired: reading it as empty would forget blocked commands.

The file travels with a repository. Its approvals count if the user trusts it (see trust.py); approvals that
the user gave on this machine always count. Blocked commands always count, because that is safe.
"""

from __future__ import annotations

import json
import os
import time

from clada.commands import prefixes
from clada.commands.prefixes import covers
from clada.commands.words import BLANKS_AROUND, Refusal
from clada.commands.words import read as read_words
from clada.errors import CladaError, reason
from clada.world.files.atomic import put
from clada.world.handles import (
    DIRECTORY,
    is_link,
    make_directory,
    open_directory,
)
from clada.world.locks import try_flock, wait_for_lock
from clada.world.trust import APPROVALS as FILE
from clada.world.trust import (
    FOLDER,
    LARGEST,
    is_remembered,
    is_trusted,
    read_clada_file,
    read_error,
    read_own_approvals,
    remember,
    write_own_approvals,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

PATH = f"{FOLDER}/{FILE}"
# The lists of approved commands and prefixes: without the network, and with it.
EXACT, PREFIX = ("commands", "network"), ("prefixes", "network_prefixes")
TRUSTED_LISTS = (*EXACT, *PREFIX)  # that count only where they are trusted
LISTS = ("commands", "blocked", "network", *PREFIX)
UNTRUSTED = f"{PATH} approves it, but you have not trusted that file on this machine"
LOCK_TIMEOUT = 10.0  # seconds to wait for another process that stores


class Approvals:
    """The approved and blocked commands of a workspace, as they were when loaded or last changed here."""

    def __init__(self, workspace: str, data: bytes | None) -> None:
        self._workspace = workspace
        self._set_content(data)

    @classmethod
    def load(cls, workspace: str) -> Approvals:
        """Read the workspace's approvals; where there is no file, nothing is approved or blocked."""
        root = _open_workspace(workspace)
        try:
            folder = _open_folder(root)
            if folder is None:
                return cls(workspace, None)
            try:
                return cls(workspace, _read(folder))
            finally:
                os.close(folder)
        finally:
            os.close(root)

    def _set_content(self, data: bytes | None) -> None:
        """Keep the content of the file, and the part of it that counts."""
        self._content = _content(data)
        self._trusted = data is None or is_trusted(self._workspace, FILE, data)
        self._effective = self._content
        if not self._trusted:  # then approvals count that the user gave here
            given = _own(self._workspace)
            kept = {key: [text for text in self._content[key] if text in given[key]] for key in TRUSTED_LISTS}
            self._effective = {**self._content, **kept}

    def is_approved(self, text: str) -> bool:
        """Whether this exact command may run."""
        return text.strip(BLANKS_AROUND) in self._effective["commands"] and not self.is_blocked(text)

    def is_blocked(self, text: str) -> bool:
        """Whether this exact command must never run, even if it is approved."""
        return text.strip(BLANKS_AROUND) in self._content["blocked"]

    def is_untrusted(self, text: str, words: Sequence[str] = ()) -> bool:
        """Whether this exact command, or one of these words, would be approved if the file were trusted."""
        given = text.strip(BLANKS_AROUND)
        exact = given in self._content["commands"] and given not in self._effective["commands"]
        return exact or (
            not self._trusted and any(_covers(each, words) for each in self._content["prefixes"])
        )

    @property
    def approved(self) -> Sequence[str]:
        """The commands that may run."""
        return [text for text in self._effective["commands"] if self.is_approved(text)]

    @property
    def prefixes(self) -> Sequence[str]:
        """The first words of commands that may run."""
        return [text for text in self._effective["prefixes"] if _covers(text, prefix_words(text))]

    @property
    def blocked(self) -> Sequence[str]:
        """The commands that must never run."""
        blocked: list[str] = self._content["blocked"]
        return blocked

    def has_network(self, text: str) -> bool:
        """Whether this exact command was approved with the network."""
        return text.strip(BLANKS_AROUND) in self._effective["network"] and self.is_approved(text)

    def describe(self) -> list[str]:
        """Return a line for each command: its rights, and its text."""
        ignored = [f"untrusted  {text}" for text in self._content["commands"] if self.is_untrusted(text)]
        prefixes = [text for text in self._content["prefixes"] if text not in self._effective["prefixes"]]
        return [*_lines(self._effective), *ignored, *(f"untrusted  {text} …" for text in prefixes)]

    def is_covered(self, words: Sequence[str], *, network: bool = False) -> bool:
        """Whether a prefix approves a command of these words; with `network`, one that grants the network."""
        prefixes = [text for text in self._effective["prefixes"] if _covers(text, words)]
        return any(not network or text in self._effective["network_prefixes"] for text in prefixes)

    def add(self, text: str, *, network: bool = False, prefix: bool = False) -> None:
        """Approve a command, with the network or without; it is no longer blocked.

        `prefix`: all commands that start with these words, as commands/prefixes.py says.
        """
        lists = PREFIX if prefix else EXACT
        self._store(text, lambda content, command: _with_approval(content, command, lists, network=network))

    def block(self, text: str) -> None:
        """Refuse a command from now on; it is no longer approved."""
        self._store(text, _with_block)

    def remove(self, text: str) -> bool:
        """Forget a command, approved or blocked; return whether it was known."""
        return self._store(text, _without_command)

    def _store(self, text: str, change: Callable[[dict[str, Any], str], dict[str, Any]]) -> bool:
        """Change the present content of the file: another process may have changed it since it was loaded.

        A trusted file stays trusted; of an untrusted one, only this command becomes trusted.
        """
        command = text.strip(BLANKS_AROUND)
        if not command:
            raise CladaError("command_not_allowed", "a blank command cannot be approved or blocked")
        root = _open_workspace(self._workspace)
        try:
            folder = _make_folder(root)
            try:
                _lock(folder)  # the folder itself, so that there is no lock file to leave; closing unlocks it
                data = _read(folder)
                old = _content(data)
                new = _check(change(old, command))
                if new != old:
                    was_seen = data is None or is_remembered(self._workspace, FILE, data)
                    data = _encode(new)
                    _write(folder, data)
                    if was_seen:
                        remember(self._workspace, FILE, data)
                self._keep_own(change, command)
                self._set_content(data)
                return new != old
            finally:
                os.close(folder)
        finally:
            os.close(root)

    def _keep_own(self, change: Callable[[dict[str, Any], str], dict[str, Any]], command: str) -> None:
        """Keep in the user's own state that this command was approved here, or that it no longer is."""
        before = _own(self._workspace)
        after = _check({**change(before, command), "blocked": []})
        if after != before:
            write_own_approvals(self._workspace, _encode(after))


def describe(data: bytes) -> list[str]:
    """Return a line for each command of a file with this content; raise CladaError if it is damaged."""
    return _lines(_content(data))


def _lines(content: dict[str, Any]) -> list[str]:
    blocked, network = content["blocked"], content["network"]
    approved = [text for text in content["commands"] if text not in blocked]
    lines = [f"{'network' if text in network else 'allowed'}  {text}" for text in approved]
    for text in content["prefixes"]:
        kind = "network" if text in content["network_prefixes"] else "allowed"
        lines.append(f"{kind}  {text} …  ({_reach(text)})")
    return lines + [f"blocked  {text}" for text in blocked]


def _reach(prefix: str) -> str:
    """Describe the commands that a prefix covers."""
    words = prefix_words(prefix)
    refusal = prefixes.refusal(words) if words else "these are not the words of one command"
    if refusal:
        return f"has no effect: {refusal}"
    return f"options: {' '.join(prefixes.covered_options(words)) or 'none'}"


def prefix_words(text: str) -> tuple[str, ...]:
    """Return the words of a prefix; none if it is not the text of one command."""
    read = read_words(text)
    return read[0].words if not isinstance(read, Refusal) and len(read) == 1 else ()


def _covers(prefix: str, words: Sequence[str]) -> bool:
    first = prefix_words(prefix)
    return bool(first) and covers(first, words)


def _own(workspace: str) -> dict[str, Any]:
    """Return the approvals of the user on this machine; none if they cannot be read."""
    try:
        return _content(read_own_approvals(workspace) or None)
    except CladaError:
        return _content(None)


# Changes of the content: each returns a new one.


def _without_command(content: dict[str, Any], text: str) -> dict[str, Any]:
    added = {command: when for command, when in content["added"].items() if command != text}
    return {**_without(content, text, LISTS), "added": added}


def _without(content: dict[str, Any], text: str, keys: Sequence[str]) -> dict[str, Any]:
    return {**content, **{key: [command for command in content[key] if command != text] for key in keys}}


def _with_approval(
    content: dict[str, Any], text: str, lists: tuple[str, str], *, network: bool
) -> dict[str, Any]:
    clean = _without(content, text, (*lists, "blocked") if lists == EXACT else lists)
    when = content["added"].get(text) or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    approved, connected = lists
    return {
        **clean,
        approved: [*clean[approved], text],
        connected: [*clean[connected], *([text] if network else [])],
        "added": {**clean["added"], text: when},
    }


def _with_block(content: dict[str, Any], text: str) -> dict[str, Any]:
    clean = _without_command(content, text)
    return {**clean, "blocked": [*clean["blocked"], text]}


# The file and its format.


def _content(data: bytes | None) -> dict[str, Any]:
    return _check({"commands": []} if data is None else _parse(data))


def _read(folder: int) -> bytes | None:
    """Return the bytes of the file, None if there is none."""
    data = read_clada_file(FILE, folder)
    if data is not None and len(data) > LARGEST:
        _raise_damaged(f"it is larger than {LARGEST >> 20} MB")
    return data


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError as error:
        _raise_damaged(f"byte {error.start} is not UTF-8")
    except json.JSONDecodeError as error:
        _raise_damaged(f"line {error.lineno}, column {error.colno}: {error.msg}")
    except (ValueError, RecursionError) as error:
        _raise_damaged(str(error) or "it is nested too deeply")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: json would silently drop the blocked commands of the first one."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            _raise_damaged(f"the key {key!r} stands there twice")
        found[key] = value
    return found


def _check(content: Any) -> dict[str, Any]:
    """Return the content with all known keys, commands stripped, sorted and unique; other keys are kept."""
    if not isinstance(content, dict):
        _raise_damaged("it must hold an object with the key 'commands'")
    if "commands" not in content:
        _raise_damaged("the key 'commands' is missing")
    lists = {key: _check_texts(key, content.get(key, [])) for key in LISTS}
    added = content.get("added", {})
    if not isinstance(added, dict) or not all(isinstance(when, str) for when in added.values()):
        _raise_damaged("'added' must be an object of commands and times")
    known = {"commands": lists["commands"], "added": dict(sorted(added.items())), **lists}
    return {**known, **{key: value for key, value in content.items() if key not in known}}


def _check_texts(key: str, value: Any) -> list[str]:
    if not isinstance(value, list):
        _raise_damaged(f"{key!r} must be a list")
    for number, text in enumerate(value, 1):
        if not isinstance(text, str):
            _raise_damaged(f"entry {number} of {key!r} must be a text")
    return sorted({text.strip(BLANKS_AROUND) for text in value})


def _raise_damaged(where: str) -> NoReturn:
    message = f"{PATH} is damaged: {where}"
    raise CladaError(
        "command_not_allowed", message, "correct the file, or restore it with git; no command runs before"
    )


def _encode(content: dict[str, Any]) -> bytes:
    """Return one command per line, in ASCII, so that a diff shows what changed and nothing can hide in it."""
    shown = {key: value for key, value in content.items() if value or key not in PREFIX}
    return json.dumps(shown, indent=2).encode() + b"\n"


def _write(folder: int, data: bytes) -> None:
    try:
        put(folder, FILE, data)
    except OSError as error:
        raise CladaError("io_error", f"{PATH} cannot be written: {reason(error)}") from error


# The file's directory.


def _open_workspace(path: str) -> int:
    try:
        return os.open(path, DIRECTORY)
    except OSError as error:
        raise read_error(path, error) from error


def _open_folder(root: int) -> int | None:
    try:
        return open_directory(FOLDER, root)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise read_error(FOLDER, error, link=is_link(FOLDER, root)) from error


def _make_folder(root: int) -> int:
    try:
        make_directory(FOLDER, root)
    except OSError as error:
        raise CladaError("io_error", f"{FOLDER} cannot be made: {reason(error)}") from error
    folder = _open_folder(root)
    if folder is None:
        raise CladaError("io_error", f"{FOLDER} was removed at this moment", "try again")
    return folder


def _lock(folder: int) -> None:
    """Wait for other processes that store, and keep them waiting until the handle is closed."""
    try:
        result = wait_for_lock(lambda: try_flock(folder), LOCK_TIMEOUT)
    except OSError as error:
        raise CladaError("io_error", f"{FOLDER} cannot be locked: {reason(error)}") from error
    if result != "held":
        raise CladaError("lock_timeout", f"{FOLDER} is locked by another process")
