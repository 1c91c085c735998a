"""How a person approves a command by hand: a line to be pasted into a shell."""

from __future__ import annotations

_LONGEST_PASTED = 4000  # characters of a command that a message repeats, and a terminal takes in one line
SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")  # unquoted
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def remedy(command: str, *, network: bool = False, flag: str = "") -> str:
    """Return the command line that approves a command, to be pasted into a shell."""
    flag = (" --network" if network else "") + (f" {flag}" if flag else "")
    if len(command) > _LONGEST_PASTED:
        return f"clada approvals add{flag} with its exact text ({len(command):,} characters)"
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
