"""Questions on a terminal, a real pseudo-terminal: whole and honest, and in doubt the answer is no."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import PATIENCE, read_until

from clada.text.forms import visible

if TYPE_CHECKING:
    from collections.abc import Iterator


# The process that asks: a new session whose terminal is the given one; its answer goes to standard output.
PROMPTING = """
import fcntl, json, os, sys, termios
arguments = json.loads(sys.argv[1])
os.setsid()
fcntl.ioctl(int(sys.argv[2]), termios.TIOCSCTTY, 0)
if arguments.pop("in_background", False):
    if os.fork():
        os.wait()
        sys.exit()
    os.setpgid(0, 0)
from clada.cli.questions import prompt
print(json.dumps(prompt(**arguments)))
"""


class Terminal:
    """A pseudo-terminal with a process that asks on it."""

    def __init__(self) -> None:
        self.person, self.device = os.openpty()
        self.screen = ""
        self.process: subprocess.Popen[str] | None = None

    def start(self, command: str = "npm test", **arguments: Any) -> None:
        """Let a process ask."""
        given = {"command": command, "directory": "web", "reason": "why not", "network": False, **arguments}
        handles = [self.device, *([given["stop"]] if given.get("stop") else [])]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROMPTING, json.dumps(given), str(self.device)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            pass_fds=handles,
            text=True,
        )

    def read_until(self, text: str) -> str:
        """Read what is on the screen until this text is there, and return what came with it."""
        seen = read_until(self.person, text)
        self.screen += seen
        return seen

    def type(self, text: str | bytes) -> None:
        """Type on the keyboard."""
        os.write(self.person, text.encode() if isinstance(text, str) else text)

    def answer(self) -> str | None:
        """Return what the asking process made of it."""
        assert self.process is not None
        output, _ = self.process.communicate(timeout=PATIENCE)
        answer: str | None = json.loads(output)
        return answer

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdout:
                self.process.stdout.close()
        for handle in (self.person, self.device):
            os.close(handle)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """Return a terminal to ask on."""
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", "once"),
        ("yes\n", "once"),
        (" Y \n", "once"),
        ("a\n", "always"),
        ("ALWAYS\n", "always"),
        ("n\n", "no"),
        ("no\n", "no"),
        ("v\n", "never"),
        ("never\n", "never"),
        ("y\r", "once"),
    ],
)
def test_an_answer_is_one_of_four(typed: str, answer: str, terminal: Terminal) -> None:
    """By letter or by word."""
    terminal.start()
    terminal.read_until("[?] ")
    terminal.type(typed)
    assert terminal.answer() == answer


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", "once"),
        ("a", "always"),
        ("y+", "once+network"),
        ("YES+", "once+network"),
        ("once+", "once+network"),
        ("a+", "always+network"),
        ("always+", "always+network"),
        ("n", "no"),
        ("N", "no"),
        ("v", "never"),
    ],
)
def test_the_network_is_granted_in_the_same_answer(typed: str, answer: str, terminal: Terminal) -> None:
    """One question; and a capital letter does not mean more than a small one."""
    terminal.start(network=True)
    terminal.read_until("[?] ")
    assert (
        "\n[y] once  [a] always  [n] no  [v] never   (add + to allow network)  [?] "
        in terminal.screen.replace("\r", "")
    )
    terminal.type(typed + "\n")
    assert terminal.answer() == answer
    assert terminal.screen.count("[y") == 1


@pytest.mark.parametrize("typed", ["y+", "a+", "n+", "v+", "+"])
def test_the_network_cannot_be_granted_where_nothing_cuts_it(typed: str, terminal: Terminal) -> None:
    """Nor is it spoken of."""
    terminal.start()
    for _ in range(3):
        assert "network" not in terminal.read_until("[?] ")
        terminal.type(typed + "\n")
    assert terminal.answer() == "no"


@pytest.mark.parametrize("network", [False, True])
def test_a_question_mark_explains_the_answers(network: bool, terminal: Terminal) -> None:
    """And the question is asked again, as often as it is needed."""
    terminal.start(network=network)
    terminal.read_until("[?] ")
    for _ in range(4):
        terminal.type("?\n")
        shown = terminal.read_until("[?] ")
        for letter in "yanv":
            assert f"\n{letter}  " in shown
        assert ("\ny+ and a+ run it with access to the network" in shown) is network
    terminal.type("y\n")
    assert terminal.answer() == "once"


def test_the_plan_stands_above_the_question(terminal: Terminal) -> None:
    """With nothing hidden in it either."""
    terminal.start(plan=["the plan, 2 of 2:", "  write a\x1b[2Jb", "> run npm test"])
    terminal.read_until("[?] ")
    above = terminal.screen.partition("may this command run?")[0]
    assert "the plan, 2 of 2:" in above
    assert "write a\u27e8\\x1b\u27e9[2Jb" in above
    terminal.type("n\n")
    assert terminal.answer() == "no"


def test_the_question_shows_command_directory_and_reason(terminal: Terminal) -> None:
    """All that a person needs to decide."""
    terminal.start("npm run 'build all'", directory="packages/app", reason="`npm` is not among the commands")
    terminal.read_until("[?] ")
    assert "command:    npm run 'build all'" in terminal.screen
    assert "directory:  packages/app" in terminal.screen
    assert "because:    `npm` is not among the commands" in terminal.screen
    terminal.type("n\n")
    assert terminal.answer() == "no"


def test_the_end_of_input_is_a_no(terminal: Terminal) -> None:
    """Control-D."""
    terminal.start()
    terminal.read_until("[?] ")
    terminal.type(b"\x04")
    assert terminal.answer() == "no"


def test_a_terminal_that_is_gone_is_a_no(terminal: Terminal) -> None:
    """Its window was closed. The session is told by SIGHUP, which the asking process here ignores."""
    terminal.start()
    terminal.read_until("[?] ")
    os.close(terminal.person)
    os.close(terminal.device)
    terminal.person, terminal.device = os.openpty()
    assert terminal.process is not None
    terminal.process.wait(timeout=PATIENCE)
    assert terminal.process.stdout is not None
    assert terminal.process.stdout.read() in ("", '"no"\n')


def test_three_bad_answers_are_a_no(terminal: Terminal) -> None:
    """Each but the last is followed by the question again."""
    terminal.start()
    answers: list[str | bytes] = ["maybe\n", "\n", b"\xff\xfe\n"]
    for typed in answers:
        terminal.read_until("[?] ")
        terminal.type(typed)
    assert terminal.answer() == "no"
    assert terminal.screen.count("please answer") == 2


def test_a_good_answer_after_two_bad_ones_counts(terminal: Terminal) -> None:
    """People mistype."""
    terminal.start()
    for typed in ["x\n", "yy\n", "y\n"]:
        terminal.read_until("[?] ")
        terminal.type(typed)
    assert terminal.answer() == "once"


def test_what_was_typed_before_the_question_does_not_answer_it(terminal: Terminal) -> None:
    """It was meant for something else: it is flushed, and the person is waited for."""
    terminal.type("y\na\ny\n")
    terminal.start()
    terminal.read_until("[?] ")
    assert terminal.process is not None
    with pytest.raises(subprocess.TimeoutExpired):
        terminal.process.wait(timeout=0.5)
    terminal.type("n\n")
    assert terminal.answer() == "no"


def test_a_stop_ends_the_question_with_a_no(terminal: Terminal) -> None:
    """An interrupted run does not wait for an answer."""
    reading, writing = os.pipe()
    try:
        terminal.start(stop=reading)
        terminal.read_until("[?] ")
        os.write(writing, b"x")
        assert terminal.answer() == "no"
    finally:
        os.close(reading)
        os.close(writing)


def test_without_a_terminal_there_is_no_answer() -> None:
    """At once, and nothing is written."""
    code = (
        "import os; from clada.cli.questions import prompt; "
        "os.setsid(); print(prompt('npm', '.', 'why', False))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert (done.stdout, done.stderr) == ("None\n", "")


def test_in_the_background_there_is_no_answer(terminal: Terminal) -> None:
    """Reading the terminal from there would only stop the process."""
    terminal.start(in_background=True)
    assert terminal.answer() is None


HIDING = [
    ("a\x1b[2Jb", "a\u27e8\\x1b\u27e9[2Jb"),
    ("a\x1b]8;;http://x\x07b", "a\u27e8\\x1b\u27e9]8;;http://x\u27e8\\x07\u27e9b"),
    ("a\x1b]52;c;eA==\x07", "a\u27e8\\x1b\u27e9]52;c;eA==\u27e8\\x07\u27e9"),
    ("a\x9b2Jb", "a\u27e8\\x9b\u27e92Jb"),
    ("a\rb", "a\u27e8\\r\u27e9b"),
    ("a\nb", "a\u27e8\\n\u27e9b"),
    ("a\tb", "a\u27e8\\t\u27e9b"),
    ("a\x08b\x7f", "a\u27e8\\x08\u27e9b\u27e8\\x7f\u27e9"),
    ("a\u2028b\u2029", "a\u27e8\\u2028\u27e9b\u27e8\\u2029\u27e9"),
    ("a\u202eb\u2066c", "a\u27e8\\u202e\u27e9b\u27e8\\u2066\u27e9c"),
    ("a\u200bb\ufeff", "a\u27e8\\u200b\u27e9b\u27e8\\ufeff\u27e9"),
    ("a\u00a0b\u3000c\u2003", "a\u27e8\\xa0\u27e9b\u27e8\\u3000\u27e9c\u27e8\\u2003\u27e9"),
    ("a\u3164b\u2800c\u115f", "a\u27e8\\u3164\u27e9b\u27e8\\u2800\u27e9c\u27e8\\u115f\u27e9"),
    ("a\ufe0fb\u034f", "a\u27e8\\ufe0f\u27e9b\u27e8\\u034f\u27e9"),
    ("a\U000e0041", "a\u27e8\\U000e0041\u27e9"),
    ("a\ue000", "a\u27e8\\ue000\u27e9"),
    ("a   b", "a   b"),
    ("a    b", "a\u27e84 blanks\u27e9b"),
    ("npm test" + " " * 5000 + "; rm -rf x", "npm test\u27e85000 blanks\u27e9; rm -rf x"),
    (" " * 10 + "a" + " " * 10, "\u27e810 blanks\u27e9a\u27e810 blanks\u27e9"),
    ("a\u27e84 blanks\u27e9b", "a\u27e8\\u27e8\u27e94 blanks\u27e9b"),
    ("café 日本 ✓", "café 日本 ✓"),
    ("a\\nb", "a\\nb"),
    ("a\\x1bb", "a\\x1bb"),
    ("a\udc80", "a\u27e8\\udc80\u27e9"),
]


@pytest.mark.parametrize(("text", "expected"), HIDING)
def test_nothing_can_hide_in_what_is_shown(text: str, expected: str) -> None:
    """Control sequences, directions, unseen letters, long blanks: all are visible."""
    assert visible(text) == expected


@pytest.mark.parametrize(("text", "expected"), HIDING)
def test_nothing_that_is_asked_reaches_the_terminal_as_a_control(
    text: str, expected: str, terminal: Terminal
) -> None:
    """In the command, the directory or the reason."""
    terminal.start(text, directory=text, reason=text)
    terminal.read_until("[?] ")
    lines = terminal.screen.replace("\r\n", "\n").split("\n")
    for title in ("command:  ", "directory:", "because:  "):
        assert f"  {title}  {expected}" in lines
    assert not set("\x1b\x07\x08\x7f\x9b\r") & set("".join(lines))
    terminal.type("n\n")
    assert terminal.answer() == "no"


def test_characters_outside_ascii_are_named(terminal: Terminal) -> None:
    """A Cyrillic letter looks like the Latin one."""
    terminal.start("n\u0440m test")
    terminal.read_until("[?] ")
    assert "beware of:  U+0440 CYRILLIC SMALL LETTER ER" in terminal.screen
    terminal.type("n\n")
    assert terminal.answer() == "no"


def test_a_long_command_is_shown_whole_and_said_to_be_long(terminal: Terminal) -> None:
    """Its start may be off the screen."""
    command = "echo " + "x" * 100_000 + " end"
    size = fcntl.ioctl(terminal.device, termios.TIOCGWINSZ, b"\0" * 8)
    fcntl.ioctl(terminal.device, termios.TIOCSWINSZ, size)
    terminal.start(command)
    terminal.read_until("[?] ")
    assert command in terminal.screen
    assert "100009 characters" in terminal.screen
    terminal.type("n\n")
    assert terminal.answer() == "no"
