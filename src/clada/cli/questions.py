"""Questions to the user on the terminal: whether a command may run, and what of a plan is carried out.

They are asked on /dev/tty, because standard input has the document. A command is shown in full, with nothing
hidden: control characters, changes of text direction, invisible letters and long runs of blanks are made
visible.
"""

from __future__ import annotations

import os
import re
import select
import signal
import termios
from contextlib import contextmanager, suppress

from clada.text.forms import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType
    from typing import Any

    from clada.public_types import Answer

TERMINAL = "/dev/tty"
TERMINAL_IS_GONE = (OSError, termios.error)  # raised when its window was closed
DUMB = ("", "dumb", "unknown")  # values of TERM for which an answer is a line with Enter
TRIES = 3
MAX_ANSWER = 4096
LONG_COMMAND = 1000  # characters; a longer one may not fit on the screen
MAX_NAMED = 5  # characters outside ASCII that the question names

END_OF_INPUT = "\x04"  # Ctrl-D
CURSOR_KEYS = re.compile(r"\x1b(\[[0-9;?]*[@-~]|O.|.)?", re.DOTALL)  # their letters are not answers
HELP = "?"  # the answer that explains the others
QUESTION = "[y] once  [a] always  [n] no  [v] never{}  [?] "
WITH_NETWORK = "   (add + to allow network)"
ANSWERS = {
    "y": "once", "yes": "once", "once": "once", "a": "always", "always": "always",
    "n": "no", "no": "no", "v": "never", "never": "never", HELP: HELP,
}  # fmt: skip
NETWORK_ANSWERS = {
    "y+": "once+network", "yes+": "once+network", "once+": "once+network",
    "a+": "always+network", "always+": "always+network",
}  # fmt: skip
EXPLANATION = """\
y  run it now, and ask again the next time
a  run it now, and without asking whenever this workspace gets the same command
n  do not run it now
v  do not run it, and refuse it without asking from now on
clada approvals list shows what is remembered, clada approvals remove forgets it
"""
NETWORK_EXPLANATION = """\
y+ and a+ run it with access to the network; y and a run it without
"""
YES_OR_NO = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "": "no"}


def _ignore(_text: str) -> None:
    pass


def prompt(  # noqa: PLR0913 (all that the user needs to know)
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
    invalid answers and a readable `stop` handle mean no. `plan` is shown above the question. `on_shown` is
    called with all that the terminal shows, answers included.
    """
    question = QUESTION.format(WITH_NETWORK if network else "")
    answers = {**ANSWERS, **NETWORK_ANSWERS} if network else ANSWERS
    text = _introduction(command, directory, reason, plan)
    given: Any = HELP
    while given == HELP:
        given = ask(text, question, answers, stop, on_shown)
        text = EXPLANATION + (NETWORK_EXPLANATION if network else "")
    return "no" if given == "" else given


def confirm(question: str, stop: int | None = None, on_shown: Callable[[str], None] = _ignore) -> bool:
    """Ask a yes/no question, which may have several lines; without a terminal, the answer is no."""
    shown = "\n".join(map(visible, question.split("\n")))
    return ask("", f"\nclada: {shown} [y/N] ", YES_OR_NO, stop, on_shown) == "yes"


def ask(
    introduction: str,
    question: str,
    answers: Mapping[str, str],
    stop: int | None = None,
    on_shown: Callable[[str], None] = _ignore,
) -> str | None:
    """Show a text on the terminal, and ask a question below it; return what its answer stands for.

    None: there is no terminal. "": there is no answer, as `answer` says, or the terminal is gone.
    """
    with opened_terminal() as terminal:
        if terminal is None:
            return None
        try:
            if introduction:
                write(terminal, introduction)
                on_shown(introduction)
            return answer(terminal, stop, question, answers, on_shown) or ""
        except TERMINAL_IS_GONE:
            return ""


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


@contextmanager
def opened_terminal() -> Iterator[int | None]:
    """Open the terminal for a while; None as `open_terminal`."""
    terminal = open_terminal()
    try:
        yield terminal
    finally:
        if terminal is not None:
            os.close(terminal)


def answer(
    terminal: int,
    stop: int | None,
    question: str,
    answers: Mapping[str, str],
    on_shown: Callable[[str], None] = _ignore,
) -> str | None:
    """Ask a question that is answered by a line; return what the line stands for in `answers`.

    None: the input ended, `stop` became readable, or three answers were invalid.
    """
    for _ in range(TRIES):
        line = ask_for_line(terminal, question, stop)
        on_shown(f"{question}{'no' if line is None else line}\n")
        if line is None:
            return None
        meaning = answers.get(line.lower())
        if meaning is not None:
            return meaning
        remark = f"please answer with one of {', '.join(filter(None, answers))}\n"
        write(terminal, remark)
        on_shown(remark)
    return None


def ask_for_line(terminal: int, question: str, stop: int | None = None) -> str | None:
    """Ask for a line; return it without blanks around it, None at the end of input or of waiting."""
    termios.tcflush(terminal, termios.TCIFLUSH)  # drop what was typed before the question
    write(terminal, question)
    line = _read_line(terminal, stop)
    if line is None:
        write(terminal, "no\n")
    return None if line is None else line.strip()


def answer_by_key(terminal: int, question: str, answers: Mapping[str, str]) -> str | None:
    """Ask a question that is answered by a key, without Enter; on a terminal that cannot, by a line.

    None: the input ended. Unknown keys explain the known ones; Enter and keys such as arrows do nothing.
    """
    if os.environ.get("TERM", "") in DUMB:
        return answer(terminal, None, question, answers)
    with _single_keys(terminal):
        termios.tcflush(terminal, termios.TCIFLUSH)  # drop what was typed before the question
        write(terminal, question)
        while True:
            typed = os.read(terminal, MAX_ANSWER).decode(errors="replace")
            if typed in ("", END_OF_INPUT):
                write(terminal, "no\n")
                return None
            if key := CURSOR_KEYS.sub("", typed).strip().lower():
                write(terminal, f"{visible(key)}\n")
                return answers.get(key, answers[HELP])


@contextmanager
def _single_keys(terminal: int) -> Iterator[None]:
    """Let the terminal pass on each key at once, without showing it; restore it even if a signal ends us."""
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ICANON | termios.ECHO)

    def restore() -> None:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def end(number: int, _frame: FrameType | None) -> None:
        restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    caught = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) == signal.SIG_DFL]
    try:
        for each in caught:
            signal.signal(each, end)
        termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
        yield
    finally:
        restore()
        for each in caught:
            signal.signal(each, signal.SIG_DFL)


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
