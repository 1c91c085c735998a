"""Interrupts: one ends the run in order, a second one at once."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell, Terminals

DOCUMENT = """\
<---WRITE file="before.txt"--->
x
<---END--->
<---RUN--->
sh -c 'echo started; sleep 60'
<---END--->
<---WRITE file="after.txt"--->
x
<---END--->
"""


def start(shell: Shell, document: str, *arguments: str) -> subprocess.Popen[str]:
    """Start clada with every command approved, and return it as soon as its command prints."""
    argv = [sys.executable, "-m", "clada", "--approve-all", *arguments]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=shell.workspace, env=shell.environment, start_new_session=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.write(document)
    process.stdin.close()
    process.stdin = None
    for line in process.stdout:
        if line.endswith(":exec] started\n"):
            break
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_one_signal_ends_the_command_skips_the_rest_and_still_reports(
    repository: Shell, number: int, code: int
) -> None:
    process = start(repository, DOCUMENT, "--summary=xml")
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=90)
    assert process.returncode == code
    assert out.splitlines()[:2] == [
        "[task-2] ERROR: RUN - sh -c 'echo started; sleep 60': exec_failed: interrupted",
        "[task-3] SKIP: WRITE - interrupted (after.txt)",
    ]
    assert '<result blocks="3" tasks="3" succeeded="1" failed="1" skipped="1">' in out
    assert not (repository.workspace / "after.txt").exists()
    assert repository.git("log", "--format=%s").startswith("[clada:post] ")
    assert repository.git("show", "--name-only", "--format=").split() == ["before.txt"]
    assert "interrupted" in repository("history").stdout
    assert repository("history").stdout.splitlines()[1].split("  ")[-2:] == [
        "1 of 2 writes, 0 of 1 run",
        "before.txt, sh -c 'echo started; sleep 60', after.txt",
    ]


MANY = 20_000  # more than can be done while their lines wait to be read


@pytest.mark.slow
def test_an_interrupt_between_many_operations_is_counted_right(repository: Shell) -> None:
    """In the lines, in both summaries and in the history: what was done, and what was not."""
    document = "".join(f'<---WRITE file="{n % 100}/{n}"--->\n<---END--->\n' for n in range(MANY))
    argv = [sys.executable, "-m", "clada", "--summary=json"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=repository.workspace, env=repository.environment, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        process.stdin.write(document)
        process.stdin.close()
        first = [process.stdout.readline() for _ in range(500)]
        os.kill(process.pid, signal.SIGINT)
        out = "".join(first) + process.stdout.read()
    assert process.returncode == 130
    lines, _, summary = out.partition("{\n")
    report = json.loads("{" + summary)
    done = sum(len(files) for place, _, files in os.walk(repository.workspace) if ".git" not in place)
    assert 500 <= done < MANY
    assert (lines.count("] SUCCESS: "), lines.count("] SKIP: WRITE - interrupted (")) == (done, MANY - done)
    counts = {name: report[name] for name in ("tasks", "succeeded", "failed", "skipped")}
    assert counts == {"tasks": MANY, "succeeded": done, "failed": 0, "skipped": MANY - done}
    assert sum(block["status"] == "success" for block in report["blocks"]) == done
    assert f"  {done} of {MANY} writes  0/0, " in repository("history").stdout


def test_one_signal_ends_a_run_whose_output_is_not_read(repository: Shell) -> None:
    flood = DOCUMENT.replace("sleep 60", "exec yes")
    process = start(repository, flood)
    time.sleep(1)  # by then all pipes are full
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=90) == 130
    process.communicate()
    assert not (repository.workspace / "after.txt").exists()
    assert repository.git("log", "--format=%s").startswith("[clada:post] ")
    assert "interrupted" in repository("history").stdout


def test_a_reader_still_gets_everything_after_a_signal(repository: Shell) -> None:
    flood = DOCUMENT.replace("sleep 60", "exec yes")
    process = start(repository, flood, "--summary=xml", "--max-output=200KB")  # more than a pipe holds
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=90)
    assert process.returncode == 130
    assert "[task-3] SKIP: WRITE - interrupted (after.txt)\n" in out
    assert out.endswith("</result>\n")


def test_two_signals_stop_at_once(shell: Shell) -> None:
    stubborn = (
        "<---RUN--->\nsh -c 'trap \"\" INT TERM; echo started; while :; do sleep 1; done'\n<---END--->\n"
    )
    process = start(shell, stubborn, "--no-git", "--sandbox=off")
    for _ in range(1000):  # two that come too close together are one
        os.kill(process.pid, signal.SIGTERM)
        time.sleep(0.02)
        if process.poll() is not None:
            break
    out, err = process.communicate(timeout=90)
    assert process.returncode == -signal.SIGTERM
    assert "Traceback" not in out + err


def test_control_c_on_a_terminal(shell: Shell, terminal: Terminals) -> None:
    screen = terminal("--approve-all", "--no-git", "--color=never", document=DOCUMENT)
    screen.until("started")
    screen.type("\x03")
    code, seen = screen.end()
    assert code == 130
    assert "[task-3] SKIP: WRITE - interrupted" in seen
    assert not (shell.workspace / "after.txt").exists()


def test_control_c_at_a_question_is_a_no_and_ends_the_run(shell: Shell, terminal: Terminals) -> None:
    document = "<---RUN--->\nsh -c 'echo > ran'\n<---END--->\n" + DOCUMENT
    screen = terminal("--no-git", "--color=never", "--sandbox=off", document=document)
    screen.until("[?]")
    screen.type("\x03")
    code, seen = screen.end()
    assert code == 130
    assert "[task-2] SKIP: WRITE - interrupted" in seen
    assert list(shell.workspace.iterdir()) == []


def test_control_c_while_a_document_is_read_is_no_traceback(terminal: Terminals) -> None:
    screen = terminal("-")
    screen.type_until_read("prose")
    screen.type("\x03")
    code, seen = screen.end()
    assert code == 130
    assert "Traceback" not in seen


DEAF = """import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "clada", *sys.argv[1:]])
"""


def test_what_the_caller_ignores_stays_ignored(shell: Shell) -> None:
    """As under nohup, or after `trap '' INT`."""
    signals = "import os, signal, sys; [os.kill(int(sys.argv[1]), n) for n in (signal.SIGINT, signal.SIGHUP)]"
    shell.write("send.py", signals)
    document = "<---RUN--->\npython3 send.py PID\n<---END--->\n" + '<---WRITE file="b"--->\nx\n<---END--->\n'
    argv = [sys.executable, "-c", DEAF, "--approve-all", "--no-git", "--sandbox=off", "-"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=shell.workspace,
        env=shell.environment,
    ) as process:  # fmt: skip
        out, _ = process.communicate(document.replace("PID", str(process.pid)), timeout=90)
    assert process.returncode == 0
    assert out.endswith("[task-2] SUCCESS: WRITE - b (created, 2 bytes)\n")


IGNORING = """import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "clada", *sys.argv[1:]])
"""


def test_a_caller_that_ignores_the_end_of_its_children_does_not_disturb(repository: Shell) -> None:
    """Some programs leave SIGCHLD ignored, which would hide how a command ended."""
    document = "<---RUN--->\nls\nsh -c 'exit 3'\n<---END--->\n"
    done = subprocess.run(
        [sys.executable, "-c", IGNORING, "--approve-all"],
        input='<---WRITE file="a"--->\nx\n<---END--->\n' + document,
        cwd=repository.workspace, env=repository.environment, capture_output=True, text=True, check=False,
        timeout=90,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == (
        "[task-2] ERROR: RUN - ls …: exec_failed: exit code 3; the command was `sh -c 'exit 3'`"
    )
    assert repository.git("log", "--format=%s").startswith("[clada:post]")


def test_a_terminal_that_is_closed_ends_the_run_in_order(repository: Shell, terminal: Terminals) -> None:
    screen = terminal("--approve-all", document=DOCUMENT)
    screen.until("started")
    screen.hang_up()
    assert screen.process.wait(90) == 129
    assert repository.git("show", "--name-only", "--format=%s").startswith("[clada:post] ")
    assert "interrupted" in repository("history").stdout
    assert not (repository.workspace / "after.txt").exists()


ELSEWHERE = """import os, select, signal, threading
from clada.cli.signals import stop_on_signals
with stop_on_signals(lambda: None) as stop:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # so that the other thread gets it
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    print(bool(select.select([stop.handle], [], [], 30)[0]), stop.signal)
"""


def test_a_signal_that_another_thread_gets_wakes_the_main_one() -> None:
    """The system gives it to any thread: the main one, waiting, would never call what handles it."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=False, timeout=90
    )
    assert (done.stdout, done.returncode) == ("True 2\n", 0)


EARLY = """import os, runpy, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "clada.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
runpy.run_module("clada", run_name="__main__")
"""


def test_an_interrupt_while_clada_is_loaded_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY, "--version"], capture_output=True, text=True, check=False, timeout=90
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
