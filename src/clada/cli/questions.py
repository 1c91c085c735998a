"""Questions to the person at the terminal: whether a command may run, whether a plan shall be executed.

They are asked on /dev/tty, because standard input has the document. A command is shown in full, with nothing
hidden: control characters, changes of text direction, invisible letters and long runs of blanks are made
visible.
"""

from __future__ import annotations

import os
import select
import termios

from clada.text.forms import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.public_types import Answer

TERMINAL = "/dev/tty"
TRIES = 3
MAX_ANSWER = 4096
LONG_COMMAND = 1000  # characters; a longer one may not fit on the screen
MAX_NAMED = 5  # characters outside ASCII that the question names

QUESTION = "[y] once   [a] always   [n] no   [v] never: "
WITH_NETWORK = "with access to the network: [y+] once   [a+] always\nwithout: "
ANSWERS = {
    "y": "once", "yes": "once", "once": "once", "a": "always", "always": "always",
    "n": "no", "no": "no", "v": "never", "never": "never",
}  # fmt: skip
NETWORK_ANSWERS = {
    "y+": "once+network", "yes+": "once+network", "once+": "once+network",
    "a+": "always+network", "always+": "always+network",
}  # fmt: skip
YES_OR_NO = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "": "no"}


def _ignore(_text: str) -> None:
    pass


def prompt(  # noqa: PLR0913 (all that a person needs to know)
    command: str,
    directory: str,
    reason: str,
    network: bool,
    stop: int | None = None,
    *,
    plan: Sequence[str] = (),
    on_shown: Callable[[str], None] = _ignore,
) -> Answer | None:
    """Ask whether a command may run; return `once`, `always`, `no` or `never`, or None without a terminal.

    With `network`, the answer may grant that, too, and then ends in `+network`. The end of input, three
    invalid answers and a readable `stop` handle count as a no. `plan` stands above the question. `on_shown`
    is called with all that the terminal shows of it, answers included.
    """
    terminal = open_terminal()
    if terminal is None:
        return None
    question = WITH_NETWORK + QUESTION if network else QUESTION
    answers = {**ANSWERS, **NETWORK_ANSWERS} if network else ANSWERS
    try:
        introduction = _introduction(command, directory, reason, plan)
        write(terminal, introduction)
        on_shown(introduction)
        given: Any = answer(terminal, stop, question, answers, on_shown) or "no"
    except OSError:
        return "no"  # the terminal is gone
    else:
        return given  # type: ignore[no-any-return]
    finally:
        os.close(terminal)


def confirm(question: str, stop: int | None = None, on_shown: Callable[[str], None] = _ignore) -> bool:
    """Ask something that a yes or no answers; without a terminal, that is a no. It may have several lines."""
    terminal = open_terminal()
    if terminal is None:
        return False
    try:
        shown = "\n".join(map(visible, question.split("\n")))
        return answer(terminal, stop, f"\nclada: {shown} [y/N] ", YES_OR_NO, on_shown) == "yes"
    except OSError:
        return False  # the terminal is gone
    finally:
        os.close(terminal)


def _introduction(command: str, directory: str, reason: str, plan: Sequence[str]) -> str:
    lines = ["", *(f"  {visible(line)}" for line in plan), "clada: may this command run?"]
    lines.append(f"  command:    {visible(command)}")
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


def answer(
    terminal: int,
    stop: int | None,
    question: str,
    answers: Mapping[str, str],
    on_shown: Callable[[str], None] = _ignore,
) -> str | None:
    """Ask a question and return what the answer stands for in `answers`.

    None: the input ended, `stop` became readable, or three answers were invalid.
    """
    for _ in range(TRIES):
        termios.tcflush(terminal, termios.TCIFLUSH)  # drop what was typed before the question
        write(terminal, question)
        line = _read_line(terminal, stop)
        if line is None:
            write(terminal, "no\n")
        on_shown(f"{question}{'no' if line is None else line.strip()}\n")
        if line is None:
            return None
        meaning = answers.get(line.strip().lower())
        if meaning is not None:
            return meaning
        remark = f"please answer with one of {', '.join(filter(None, answers))}\n"
        write(terminal, remark)
        on_shown(remark)
    return None


def _read_line(terminal: int, stop: int | None) -> str | None:
    """Return the next line that is typed; None at the end of input, or when `stop` becomes readable."""
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


def write(terminal: int, text: str) -> None:
    """Write a text to the terminal."""
    data = text.encode(errors="backslashreplace")
    while data:
        data = data[os.write(terminal, data) :]
