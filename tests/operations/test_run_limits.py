"""Limits, with real processes: whatever a run starts ends in time, with all its children."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import eventually

import clada
from clada.errors import Error
from clada.model import Output
from clada.operations.run import launch
from clada.world.processes.run import SYSTEM_PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.operations.conftest import Marker, Run, Runner, Shell

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see what is left")
CUT = "[output truncated]"
PATIENCE = 30.0  # seconds


def python(script: str, mark: Marker) -> str:
    """Return the command that runs a script, without single quotes in it; forks of it carry the mark."""
    assert "'" not in script
    return f"python3 -c '{script}' {mark.word}"


# Each says "ready", and would go on for a long time.
STUBBORN = {
    "sleeps": "import time; print(1, flush=True); time.sleep(60)",
    "is deaf": """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(1, flush=True)
while True: time.sleep(60)
""",
    "double fork": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(1, flush=True)
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(60)
""",
    "deaf daemon": """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    print(1, flush=True)
    while True: time.sleep(60)
while True: time.sleep(60)
""",
    "flood": """
import os
os.write(1, b"1" + bytes([10]))
while True:
    os.write(1, b"x" * 65536)
    os.write(2, b"y" * 65536)
""",
    "bomb": """
import os, time
print(1, flush=True)
until = time.monotonic() + 60
for _ in range(7): os.fork()
while time.monotonic() < until: time.sleep(0.1)
""",
}


def begun(attempt: Callable[[float], Run], seconds: float = 1.0) -> Run:
    """Try a run with this limit; with more, where the machine was too busy for it to print anything."""
    done = attempt(seconds)
    return done if done.output or seconds > PATIENCE else begun(attempt, 8 * seconds)


@pytest.mark.parametrize(
    ("script", "sandbox"), [*((name, "auto") for name in STUBBORN), ("deaf daemon", "off"), ("bomb", "off")]
)
def test_a_command_that_takes_too_long(script: str, sandbox: str, runs: Runner, mark: Marker) -> None:
    """It is ended at its limit with everything that it started, and the rest of the body is not begun."""
    body = f"{python(STUBBORN[script], mark)}\ntouch after"

    def attempt(seconds: float) -> Run:
        done = runs(body, approve=[body], timeout=seconds, max_output=100, sandbox=sandbox)
        assert (done.error.type, done.error.message) == ("exec_timeout", f"took longer than {seconds:g}s")
        return done

    done = begun(attempt)
    assert done.output[0] == "1"
    assert done.output.count(CUT) <= 1
    assert mark.alive() == []
    assert os.listdir(runs.workspace) == []


@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("deaf", [False, True])
def test_children_do_not_outlive_their_command(deaf: bool, sandbox: str, runs: Runner, mark: Marker) -> None:
    """A command that ends leaves nothing behind that could go on: its output is not waited for either."""
    script = f"""
import os, signal, time
if {deaf}: signal.signal(signal.SIGTERM, signal.SIG_IGN)
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.write(writer, b"!")
    while True: time.sleep(60)
os.read(reader, 1)
print("done")
"""
    body = python(script, mark)
    before = time.monotonic()
    done = runs(body, approve=[body], sandbox=sandbox, timeout=120.0)
    assert (done.task.error, done.output) == (None, ["done"])
    assert time.monotonic() - before < 100
    assert mark.alive() == []


# A regular expression with back references, which takes exponential time on a text without repetitions.
SLOW = r"grep -E '^(.+)(.+)(.+)(.+)\1\2\3\4$' slow"
TEXT = "".join(chr(97 + (number * number * 7 + number // 3) % 26) for number in range(400))


def test_a_slow_regular_expression_is_ended(runs: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers have a fixed limit, whatever `--timeout` says."""
    monkeypatch.setattr(launch, "READER_SECONDS", 0.3)
    (runs.workspace / "slow").write_text(TEXT)
    done = runs(f"touch before\n{SLOW}\ntouch after", timeout=60.0)
    assert (done.error.type, done.error.message) == ("exec_timeout", "took longer than 0.3s")
    assert sorted(os.listdir(runs.workspace)) == ["before", "slow"]


@pytest.mark.slow
def test_the_limit_of_readers_is_five_seconds(shell: Shell) -> None:
    """On the real command line, with the real limit."""
    (shell.workspace / "slow").write_text(TEXT)
    before = time.monotonic()
    done = shell.run(SLOW, arguments=("--timeout=1h",))
    assert time.monotonic() - before >= 5
    assert done.stdout.endswith("slow: exec_timeout: took longer than 5s\n")
    assert done.returncode == 1


FLOODS = {
    "yes": "yes",
    "empty lines": "yes ''",
    "escapes": "yes \x1b",
    "line by line": "python3 -u -c 'while True: print(1)'",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_short_lines_is_ended_in_time_and_cut(flood: str, color: str, shell: Shell) -> None:
    """Passing them on is our work, and takes hardly any; prefixes count in what is printed."""
    body = FLOODS[flood]
    arguments = ("--approve", body, "--timeout=0.5s", "--max-output=1MB", "--sandbox=off", f"--color={color}")
    before = os.times()
    done = shell.run(body, arguments=arguments)
    after = os.times()
    assert "exec_timeout: took longer than 0.5s\n" in done.stdout
    printed = [line for line in done.stdout.splitlines(keepends=True) if ":exec] " in line]
    colours = len("\x1b[2m\x1b[0m") if color == "always" else 0
    assert sum(len(line) - colours for line in printed) <= 1 << 20
    assert CUT in done.stdout or flood == "line by line"
    spent = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    assert spent < 5  # seconds of the processors, the flood's own included


@pytest.mark.parametrize("line", ["x\n", "\n", "\x07\n", "\xe9\n"])
def test_a_reader_of_many_short_lines_has_time_to_spare(line: str, shell: Shell) -> None:
    """50 MB of them, of which 10 MB are printed, are read to their end within its 5 seconds."""
    data = line.encode()
    (shell.workspace / "short").write_bytes(data * ((50 << 20) // len(data)))
    done = shell.run("cat short")
    *printed, cut, last = done.stdout.splitlines(keepends=True)
    assert (cut, last) == (f"{CUT}\n", "[task-1.1] SUCCESS: RUN - cat short (exit 0)\n")
    size = len("".join(printed).encode())
    assert (10 << 20) - 100 < size <= 10 << 20


# The limit of the whole.


def test_the_total_timeout_ends_what_runs_and_skips_the_rest(runs: Runner, mark: Marker) -> None:
    """The running command is ended, the rest of its body and the other tasks are not begun."""
    body = f"{python(STUBBORN['double fork'], mark)}\ntouch a"
    done = begun(lambda seconds: runs(body, "touch b", approve=[body], total_timeout=seconds))
    assert (done.error.type, done.error.message) == ("exec_timeout", "total timeout reached")
    assert [getattr(task.outcome, "reason", None) for task in done.report.tasks] == [
        None,
        "total timeout reached",
    ]
    assert os.listdir(runs.workspace) == []


def test_the_total_timeout_counts_between_the_commands_of_a_body(runs: Runner) -> None:
    """A body of many short commands is not a way around it."""
    body = "\n".join(["sleep 0.2"] * 100)
    done = runs(f"touch a\n{body}", approve=["sleep 0.2"], total_timeout=1.0)
    assert (done.error.type, done.error.message) == ("exec_timeout", "total timeout reached")


def test_the_clock_stops_while_a_person_is_asked(runs: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the answer takes, what runs has its time."""
    real, slept = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: real() + slept[0])

    def answer(*_: Any, **__: Any) -> str:
        slept[0] += 1000.0  # as the clock has it
        return "once"

    done = runs("echo a && sleep 0.01", "echo b", ask=answer, total_timeout=90.0, sandbox="off")
    assert (done.report.ok, done.output) == (True, ["a", "b"])


@pytest.mark.parametrize(
    ("remaining", "seconds", "message"),
    [
        (None, 5.0, "took longer than 5s"),
        (6.0, 5.0, "took longer than 5s"),
        (4.5, 4.5, "total timeout reached"),
        (-1.0, 0.0, "total timeout reached"),
    ],
)
def test_the_limit_that_comes_first_counts_and_is_named(
    remaining: float | None, seconds: float, message: str
) -> None:
    """Of a program's own limit and that of the whole."""
    bounded = launch.Program(["cat"], {}, None, 5.0, SYSTEM_PATH).within(remaining)
    assert (bounded.seconds, bounded.timeout_message) == (seconds, message)


# Interrupts, on the real command line.


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("script", ["is deaf", "double fork"])
def test_an_interrupt_ends_the_command_and_skips_the_rest(
    number: int, code: int, script: str, shell: Shell, mark: Marker
) -> None:
    """Command and children are ended; the rest is skipped; the summary is still made."""
    body = f"{python(STUBBORN[script], mark)}\ntouch a"
    arguments = ("--approve", body, "--timeout=10m", "--summary=xml")
    process = shell.start(body, "touch b", arguments=arguments)
    assert process.stdout
    assert process.stdout.readline() == "[task-1.1:exec] 1\n"
    process.send_signal(number)
    done = shell.end()
    assert done.returncode == code
    assert "ERROR: RUN - python3 -c " in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[0].endswith("exec_failed: interrupted")
    assert "[task-2.1] SKIP: RUN - interrupted\n<result" in done.stdout
    assert done.stdout.endswith("</result>\n")
    assert mark.alive() == []
    assert os.listdir(shell.workspace) == []


def test_an_interrupt_ends_a_reader(shell: Shell) -> None:
    """A program that needs no approval is ended too."""
    (shell.workspace / "slow").write_text(TEXT)
    process = shell.start(f"echo 1\n{SLOW}")
    assert process.stdout
    assert process.stdout.readline() == "[task-1.1:exec] 1\n"
    process.send_signal(signal.SIGINT)
    done = shell.end()
    assert (done.returncode, "interrupted" in done.stdout) == (130, True)


def test_a_second_interrupt_stops_at_once(shell: Shell, mark: Marker) -> None:
    """Clada is gone by the signal itself, and what it started does not stay behind."""
    body = python(STUBBORN["is deaf"], mark)
    process = shell.start(body, arguments=("--approve", body, "--timeout=10m", "--sandbox=off"))
    assert process.stdout
    process.stdout.readline()
    while process.poll() is None:  # two that come at the same moment are one
        process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
    assert shell.end().returncode == -signal.SIGTERM
    assert eventually(lambda: not mark.alive())


def test_an_interrupt_between_the_commands_of_a_body(runs: Runner) -> None:
    """What comes after it is not begun, though clada would do it itself."""
    plan = clada.parse('{"tasks": [{"action": "run", "command": "echo 1\\ntouch a"}]}')
    with clada.Stop() as stop:

        def take(event: clada.Event) -> None:
            if isinstance(event, Output):
                stop.set()

        report = clada.execute(plan, workspace=str(runs.workspace), git=False, stop=stop, on_event=take)
    assert report.tasks[0].error == Error("exec_failed", "interrupted", details="1")
    assert report.interrupted == signal.SIGINT
    assert os.listdir(runs.workspace) == []


def test_a_slow_reader_takes_no_time_from_the_command(runs: Runner) -> None:
    """What we wait until our own output is taken counts neither for the command nor for the whole run."""
    seconds = 3.0
    printing = "sh -c 'echo 1; echo 2; sleep 1'"
    plan = clada.parse(f"<---RUN--->\n{printing}\n<---END--->\n<---RUN--->\nls\n<---END--->\n")

    def on_event(event: object) -> None:
        if isinstance(event, Output):
            time.sleep(seconds * 0.6)

    options: dict[str, Any] = {"approve_all": True, "timeout": seconds, "total_timeout": seconds}
    report = clada.execute(plan, workspace=runs.workspace, git=False, on_event=on_event, **options)
    assert [(task.status, task.error) for task in report.tasks] == [("success", None)] * 2
