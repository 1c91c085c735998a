"""Questions to the person at the terminal: whether a command may run, whether a plan shall be executed.

They are asked on /dev/tty, because standard input has the document. A command is shown in full, with nothing
hidden: control characters, changes of text direction, invisible letters and long runs of blanks are made
visible.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TERMINAL = "/dev/tty"
TRIES = 3
MAX_ANSWER = 4096
LONG_COMMAND = 1000  # characters; a longer one may not fit on the screen
BLANKS_SHOWN = 3  # in a row; more are counted
INVISIBLE = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols, by their category, that look like blanks
MAX_NAMED = 5  # characters outside ASCII that the question names

QUESTION = "[y] yes, once   [a] always   [n] no   [v] never: "
ANSWERS = {
    "y": "once", "yes": "once", "once": "once", "a": "always", "always": "always",
    "n": "no", "no": "no", "v": "never", "never": "never",
}  # fmt: skip
NETWORK_QUESTION = "with access to the network?   [y] yes   [n] no: "
NETWORK_ANSWERS = {"y": "+network", "yes": "+network", "n": "", "no": ""}


def prompt(command: str, directory: str, reason: str, network: bool, stop: int | None = None) -> str | None:
    """Ask whether a command may run; return `once`, `always`, `no` or `never`, or None without a terminal.

    With `network`, a yes is followed by a second question, and `+network` is added to the answer if it is
    granted. The end of input, three invalid answers and a readable `stop` handle count as a no.
    """
    terminal = open_terminal()
    if terminal is None:
        return None
    try:
        _write(terminal, _introduction(command, directory, reason))
        decision = answer(terminal, stop, QUESTION, ANSWERS) or "no"
        if network and decision in ("once", "always"):
            granted = answer(terminal, stop, NETWORK_QUESTION, NETWORK_ANSWERS)
            decision = "no" if granted is None else f"{decision}{granted}"
        return decision  # noqa: TRY300 (the whole conversation is tried)
    except OSError:
        return "no"  # the terminal is gone
    finally:
        os.close(terminal)


def visible(text: str) -> str:
    """Return a text as one line, with invisible characters escaped and long runs of blanks as a count.

    What stands for a character is in ⟨⟩, so that a line break is not taken for a backslash and an `n`.
    """
    import unicodedata

    def escape(char: str) -> str:
        plain = char == " " or (char.isascii() and char.isprintable())
        if plain or (unicodedata.category(char)[0] in "LNPS" and char not in INVISIBLE and char != "\u27e8"):
            return char
        return f"\u27e8{char.encode('unicode_escape').decode()}\u27e9"

    pieces: list[str] = []
    blanks = 0
    for piece in "".join(map(escape, text)).split(" "):
        if piece:
            pieces += [_shown_blanks(blanks), piece]
            blanks = 0
        blanks += 1
    return "".join([*pieces, _shown_blanks(blanks - 1)])


def _shown_blanks(count: int) -> str:
    return " " * count if count <= BLANKS_SHOWN else f"\u27e8{count} blanks\u27e9"


def _introduction(command: str, directory: str, reason: str) -> str:
    lines = ["", "clada: may this command run?", f"  command:    {visible(command)}"]
    if len(command) > LONG_COMMAND:
        lines.append(f"              ({len(command)} characters: scroll up to see where it starts)")
    if not command.isascii():
        lines.append(f"  beware of:  {_non_ascii_names(command)}")
    lines += [f"  directory:  {visible(directory) or '.'}", f"  because:    {visible(reason)}", ""]
    return "\n".join(lines)


def _non_ascii_names(command: str) -> str:
    """Return the names of the characters outside ASCII, because some look like ASCII ones."""
    import unicodedata

    found = sorted({char for char in command if not char.isascii()})
    names = [f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}" for char in found[:MAX_NAMED]]
    return ", ".join([*names, "…"] if len(found) > MAX_NAMED else names)


def open_terminal() -> int | None:
    """Open the terminal and return its handle; None without one, or in the background."""
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
    """Ask a question and return what the answer stands for in `answers`.

    None: the input ended, `stop` became readable, or three answers were invalid.
    """
    import termios

    for _ in range(TRIES):
        termios.tcflush(terminal, termios.TCIFLUSH)  # drop what was typed before the question
        _write(terminal, question)
        line = _read_line(terminal, stop)
        if line is None:
            _write(terminal, "no\n")
            return None
        meaning = answers.get(line.strip().lower())
        if meaning is not None:
            return meaning
        _write(terminal, f"please answer with one of {', '.join(filter(None, answers))}\n")
    return None


def _read_line(terminal: int, stop: int | None) -> str | None:
    """Return the next line that is typed; None at the end of input, or when `stop` becomes readable."""
    import select

    poll = select.poll()
    for handle in (terminal, stop):
        if handle is not None:
            poll.register(handle, select.POLLIN)
    data = b""
    while b"\n" not in data and b"\r" not in data:
        stopped = stop in dict(poll.poll())
        piece = b"" if stopped else os.read(terminal, MAX_ANSWER)
        data += piece
        if not piece or len(data) > MAX_ANSWER:
            return None
    return data.decode(errors="replace")


def _write(terminal: int, text: str) -> None:
    data = text.encode(errors="backslashreplace")
    while data:
        data = data[os.write(terminal, data) :]
