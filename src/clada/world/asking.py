"""Asking the person at the terminal whether a command may run; standard input is the document's.

The command is shown whole, and nothing in it can hide: no control sequence, no text that turns direction, no
letter that cannot be seen, no run of blanks that pushes its end off the screen.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TERMINAL = "/dev/tty"
TRIES = 3
MAX_ANSWER = 4096
LONG = 1000  # characters, from which on a command may not fit on the screen
BLANKS_SHOWN = 3  # in a row; more are counted
UNSEEN = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols, by their category, that look like blanks
NAMED = 5  # characters outside ASCII are named, as far as these
SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")

QUESTION = "[y] yes, once   [a] always   [n] no   [v] never: "
ANSWERS = {
    "y": "once", "yes": "once", "once": "once", "a": "always", "always": "always",
    "n": "no", "no": "no", "v": "never", "never": "never",
}  # fmt: skip
NETWORK_QUESTION = "with access to the network?   [y] yes   [n] no: "
NETWORK_ANSWERS = {"y": "+network", "yes": "+network", "n": "", "no": ""}


def ask(command: str, directory: str, reason: str, network: bool, stop: int | None = None) -> str | None:
    """Return `once`, `always`, `no` or `never`, and behind the first two `+network` if that was granted.

    `network` says whether that is a question at all. None: there is no terminal to ask on. `stop` is a handle
    that becomes readable when the run must end: that is a no, as is the end of input, and a third bad answer.
    """
    terminal = open_terminal()
    if terminal is None:
        return None
    try:
        _write(terminal, _introduction(command, directory, reason))
        return _decision(terminal, stop, network=network)
    except OSError:
        return "no"  # the terminal has gone
    finally:
        os.close(terminal)


def _decision(terminal: int, stop: int | None, *, network: bool) -> str:
    decision = answer(terminal, stop, QUESTION, ANSWERS)
    if not network or decision in (None, "no", "never"):
        return decision or "no"
    granted = answer(terminal, stop, NETWORK_QUESTION, NETWORK_ANSWERS)
    return "no" if granted is None else f"{decision}{granted}"


def remedy(command: str, *, network: bool = False) -> str:
    """Return the line that approves a command, to paste into a shell."""
    flag = " --network" if network else ""
    dashes = " --" if command.startswith("-") else ""
    return f"clada approvals add{flag}{dashes} {_quoted(command)}"


def visible(text: str) -> str:
    """Return a text as one line in which every character can be seen, blanks counted where there are many."""
    import unicodedata

    from clada.text.escape import escape_controls

    def seen(char: str) -> str:
        plain = char == " " or (char.isascii() and char.isprintable())
        if plain or (unicodedata.category(char)[0] in "LNPS" and char not in UNSEEN and char != "\u27e8"):
            return char
        return char.encode("unicode_escape").decode()

    return _with_counted_blanks("".join(map(seen, escape_controls(text))))


def _with_counted_blanks(text: str) -> str:
    pieces: list[str] = []
    blanks = 0
    for piece in text.split(" "):
        if piece:
            pieces += [_blanks(blanks), piece]
            blanks = 0
        blanks += 1
    return "".join([*pieces, _blanks(blanks - 1)])


def _blanks(count: int) -> str:
    return " " * count if count <= BLANKS_SHOWN else f"\u27e8{count} blanks\u27e9"


def _introduction(command: str, directory: str, reason: str) -> str:
    lines = ["", "clada: may this command run?", f"  command:    {visible(command)}"]
    if len(command) > LONG:
        lines.append(f"              ({len(command)} characters: scroll up to see where it starts)")
    foreign = _foreign(command)
    if foreign:
        lines.append(f"  beware of:  {foreign}")
    lines += [f"  directory:  {visible(directory) or '.'}", f"  because:    {visible(reason)}", ""]
    return "\n".join(lines)


def _foreign(command: str) -> str:
    """Name the characters outside ASCII: some look like others."""
    import unicodedata

    found = sorted({char for char in command if not char.isascii()})
    names = [f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}" for char in found[:NAMED]]
    return ", ".join([*names, "…"] if len(found) > NAMED else names)


def open_terminal() -> int | None:
    """Open the terminal this process is in the foreground of; in the background, nobody could answer."""
    try:
        terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        foreground = os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        foreground = False
    if foreground:
        return terminal
    os.close(terminal)
    return None


def answer(terminal: int, stop: int | None, question: str, answers: Mapping[str, str]) -> str | None:
    """Return what an answer means; None after the end of input, a stop, or too many that mean nothing."""
    import termios

    for _ in range(TRIES):
        termios.tcflush(terminal, termios.TCIFLUSH)  # what was typed before the question does not answer it
        _write(terminal, question)
        line = _line(terminal, stop)
        if line is None:
            _write(terminal, "no\n")
            return None
        meaning = answers.get(line.strip().lower())
        if meaning is not None:
            return meaning
        _write(terminal, f"please answer with one of {', '.join(filter(None, answers))}\n")
    return None


def _line(terminal: int, stop: int | None) -> str | None:
    """Return the next line that is typed; None at the end of input, or when the run must end."""
    data = b""
    while b"\n" not in data and b"\r" not in data:
        piece = b"" if _must_stop(terminal, stop) else os.read(terminal, MAX_ANSWER)
        data += piece
        if not piece or len(data) > MAX_ANSWER:
            return None
    return data.decode(errors="replace")


def _must_stop(terminal: int, stop: int | None) -> bool:
    """Wait until something was typed, or the run must end."""
    import select

    poll = select.poll()
    for handle in (terminal, stop):
        if handle is not None:
            poll.register(handle, select.POLLIN)
    return stop in [handle for handle, _event in poll.poll()]


def _write(terminal: int, text: str) -> None:
    data = text.encode(errors="backslashreplace")
    while data:
        data = data[os.write(terminal, data) :]


def _quoted(text: str) -> str:
    """Quote a text for a shell, on one line: in `$'…'`, which bash, zsh and ksh read, if it has several."""
    if text and SAFE.issuperset(text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    escaped = "".join(_ESCAPED.get(char) or (char if char.isprintable() else _code(char)) for char in text)
    return f"$'{escaped}'"


_ESCAPED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def _code(char: str) -> str:
    """Write a character that cannot be printed so that the shell puts it back."""
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
