"""Programs are started, streamed, limited and ended for good; with real processes, in both kinds of host."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.handles import open_handles
from tests.waiting import PATIENCE, eventually

from clada.errors import CladaError
from clada.world.processes.children import descendants
from clada.world.processes.run import (
    SYSTEM_PATH,
    Launcher,
    ProcessResult,
    RunOptions,
    find_program,
    run,
    search_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

LINUX = sys.platform == "linux"
only_linux = pytest.mark.skipif(not LINUX, reason="needs Linux: a subreaper and /proc")
_LIBC_SIGNALS = 0b11 << 31  # 32 and 33 are glibc's own, and it passes them on as it likes
_SECOND_THREAD = "import threading, time; threading.Thread(target=time.sleep, args=(99,)).start()"
_numbers = itertools.count(1)


@pytest.fixture(params=["one thread", "threads"])
def host(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the test in a process with one thread (the supervisor is a fork) and with several (it is not)."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    if request.param == "threads":
        thread.start()
    yield
    over.set()
    if request.param == "threads":
        thread.join()


def go(
    *argv: str,
    directory: Path | str = "/",
    environment: Mapping[str, str] = os.environ,
    supervised: bool = True,
    **options: Any,
) -> tuple[ProcessResult, list[str]]:
    """Run a program and return how it ended and what it printed."""
    lines: list[str] = []
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    settings: dict[str, Any] = {
        "path": search_path(environment),
        "timeout": PATIENCE,
        "emit": lines.extend,
    }
    try:
        launcher = Launcher(environment, supervised=supervised)
        return run(list(argv), launcher, RunOptions(directory=handle, **(settings | options))), lines
    finally:
        os.close(handle)


def sh(script: str, **options: Any) -> tuple[ProcessResult, list[str]]:
    """Run a shell script."""
    return go("sh", "-c", script, **options)


def python(script: str, *arguments: str, **options: Any) -> tuple[ProcessResult, list[str]]:
    """Run a Python program."""
    return go(sys.executable, "-I", "-S", "-c", textwrap.dedent(script), *arguments, **options)


def marker() -> str:
    """Return a number of seconds that only processes of one test sleep for."""
    return f"987{os.getpid()}{next(_numbers)}"


def alive(mark: str) -> list[int]:
    """Return the processes whose command line has the mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(int(name))
    return found


def in_time(
    seconds: float, start: Callable[[float], tuple[ProcessResult, list[str]]]
) -> tuple[ProcessResult, list[str]]:
    """Run a program with this limit; with more, where the machine was too busy for it to print anything."""
    ended, lines = start(seconds)
    return (ended, lines) if lines or seconds > PATIENCE else in_time(8 * seconds, start)


# --- what it prints ---


def test_both_streams_are_merged_in_order() -> None:
    """Standard output and error come as one stream, in the order they were written."""
    _, lines = sh("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    assert lines == ["out 1", "err 1", "out 2", "err 2", "out 3", "err 3"]


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\n\n\nb\n", ["a", "", "", "b"]),
        (b"10%\r100%\n", [r"10%\r100%"]),
        (b"\xff\xfe caf\xc3\xa9 \xe2\x82\n", ["\ufffd\ufffd café \ufffd"]),
        (b"a\tb\n", ["a\tb"]),
        (b"x\r[task-1] SUCCESS: RUN\n", [r"x\r[task-1] SUCCESS: RUN"]),
        (b"x\x85[task-1] SUCCESS\xc2\x85[task-1]\n", ["x\ufffd[task-1] SUCCESS\\x85[task-1]"]),
        ("a\u2028[task-1]\u2029</result>\n".encode(), [r"a\u2028[task-1]\u2029</result>"]),
        (
            b"\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\\n",
            [r"\x1b]8;;http://evil\x1b\click\x1b]8;;\x1b" + "\\"],
        ),
        (b"\x1b]52;c;aGk=\x07\x1b[2J\xc2\x9b2J\n", [r"\x1b]52;c;aGk=\x07\x1b[2J\x9b2J"]),
        ("\u202egpj.exe\u200b\n".encode(), [r"\u202egpj.exe\u200b"]),
        (b"a\vb\fc\0d\n", [r"a\x0bb\x0cc\x00d"]),
    ],
)
def test_output_becomes_safe_lines(printed: bytes, lines: list[str], tmp_path: Path) -> None:
    """Only a line feed ends a line, and nothing in a line can forge another or steer a terminal."""
    (tmp_path / "printed").write_bytes(printed)
    assert go("cat", "printed", directory=tmp_path)[1] == lines


def test_output_comes_while_the_program_runs() -> None:
    """A line is handed on when it is printed, not when the program ends."""
    reader, writer = os.pipe()
    seen: list[str] = []

    def emit(lines: list[str]) -> None:
        seen.extend(lines)
        os.write(writer, b"x\n")  # only now may the program end

    try:
        ended, _ = sh(
            f"echo first; read x < /proc/{os.getpid()}/fd/{reader}; exit 4", emit=emit, timeout=PATIENCE
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert (ended.exit_code, seen) == (4, ["first"])


def test_a_character_in_two_chunks_stays_whole() -> None:
    """A character whose bytes come in two writes is one character."""
    assert sh(r"printf '\303'; sleep 0.05; printf '\251\n'")[1] == ["é"]


def test_a_very_long_line_comes_in_pieces() -> None:
    """A line longer than is kept waiting comes in several pieces, cut between characters."""
    _, lines = python("print('é' * 300_000, end='')")
    assert len(lines) > 1
    assert "".join(lines) == "é" * 300_000
    assert max(map(len, lines)) < 200_000


def test_lines_that_come_together_are_passed_on_together() -> None:
    """A flood of short lines costs no call for each of them."""
    batches: list[list[str]] = []
    sh("yes '' | head -n 100000", emit=batches.append)
    assert sum(map(len, batches)) == 100_000
    assert len(batches) < 1000


def test_when_there_are_enough_lines_the_rest_is_discarded() -> None:
    """Nothing more is passed on, and the program still ends by itself."""
    batches: list[list[str]] = []

    def emit(lines: list[str]) -> bool:
        batches.append(lines)
        return True

    ended, _ = sh("yes 123456789 | head -n 100000; echo end; exit 3", emit=emit)
    assert (ended, len(batches)) == (ProcessResult(3), 1)


@pytest.mark.slow
def test_only_waiting_takes_no_time_from_the_program() -> None:
    """Waiting for the receiver of the lines does not count; the work on them does."""

    def wait(_lines: list[str]) -> None:
        time.sleep(2)

    def work(_lines: list[str]) -> None:
        until = time.thread_time() + 2
        while time.thread_time() < until:
            pass

    assert not sh("echo 1; sleep 0.1", emit=wait, timeout=1.5)[0].timed_out
    assert sh("echo 1; sleep 60", emit=work, timeout=1.5)[0].timed_out


@only_linux
def test_a_flood_takes_no_memory() -> None:
    """A flood on both streams is read to its end in flat memory."""
    script = """
        import os, resource, sys
        sys.path.insert(0, sys.argv[1])
        from clada.world.processes.run import Launcher, RunOptions, run
        def flood(size):
            program = f"head -c {size} /dev/zero & head -c {size} /dev/zero >&2; wait"
            cut = []
            options = RunOptions(os.open("/", 0), 90.0, lambda lines: cut.append(1) or len(cut) > 16)
            ended = run(["sh", "-c", program], Launcher(os.environ), options)
            assert len(cut) == 17 and ended.exit_code == 0, ended
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        flood(4 << 20)
        before = flood(4 << 20)
        print(flood(200 << 20) - before)
    """
    ended, lines = python(script, _source_root(), timeout=PATIENCE)
    assert ended.exit_code == 0, lines
    assert int(lines[0]) < 8 << 10  # kilobytes, of 400 MB


def _source_root() -> str:
    import clada

    return os.path.dirname(os.path.dirname(os.path.abspath(clada.__file__)))


# --- what it is given ---


def test_it_runs_in_the_directory_of_the_handle(tmp_path: Path) -> None:
    """The directory is the one that the handle stands for, even if its path has changed."""
    (tmp_path / "before").mkdir()
    handle = os.open(tmp_path / "before", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "before").rename(tmp_path / "after")
    lines: list[str] = []
    try:
        for supervised in (True, False):
            launcher = Launcher({}, supervised=supervised)
            words = ["/bin/pwd", "-P"]
            run(words, launcher, RunOptions(directory=handle, timeout=PATIENCE, emit=lines.extend))
    finally:
        os.close(handle)
    assert lines == [str(tmp_path.resolve() / "after")] * 2


def test_standard_input_is_empty() -> None:
    """A program that reads its input finds its end at once."""
    assert sh("cat; echo done")[1] == ["done"]


def test_the_environment_is_the_given_one() -> None:
    """A program sees exactly the variables that it was given; under a supervisor one by which it is found."""
    given = {"A": "1", "PATH": "/usr/bin:/bin"}
    plain = ["A=1", "PATH=/usr/bin:/bin"]
    assert go("env", environment=given, supervised=False)[1] == plain
    *seen, mark = go("env", environment=given)[1]
    assert (seen, mark.partition("=")[0]) == (plain, "CLADA_COMMAND")


@only_linux
@pytest.mark.parametrize("supervised", [True, False])
def test_nothing_else_is_inherited(supervised: bool, host: None) -> None:
    """No open file of the host, no ignored signal and no terminal reaches the program."""
    del host
    secret = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(secret, True)
    old = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        script = "ls /proc/self/fd; grep SigIgn /proc/self/status; cat /proc/self/stat"
        _, lines = sh(script, supervised=supervised)
    finally:
        signal.signal(signal.SIGUSR1, old)
        os.close(secret)
    assert lines[:4] == ["0", "1", "2", "3"]  # 3 is the directory that ls itself is reading
    assert int(lines[4].split()[1], 16) & ~_LIBC_SIGNALS == 0
    assert lines[5].split()[6] == "0"  # no controlling terminal


def test_long_arguments() -> None:
    """Arguments of 200 KB in all arrive."""
    words = ["x" * 1000] * 200
    assert python("import sys; print(sum(map(len, sys.argv[1:])))", *words)[1] == ["200000"]


def test_arguments_beyond_what_the_system_takes() -> None:
    """One argument that is too long for the system is refused by name."""
    with pytest.raises(CladaError, match="arguments of true are too long"):
        go("true", "x" * 10_000_000)


def test_a_nul_in_an_argument(host: None) -> None:
    """A NUL, which would cut the argument, is refused."""
    del host
    with pytest.raises(CladaError, match="NUL"):
        go("echo", "a\0b")


# --- programs that cannot be started ---


@pytest.mark.parametrize("supervised", [True, False])
@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("no-such-program", "no-such-program is not installed"),
        ("./missing", "./missing does not exist"),
        ("./plain", "./plain is not executable"),
        ("./folder", "./folder is a directory"),
        ("./empty", "./empty is not a program"),
        ("./lost", "./lost does not exist, or the interpreter in its first line does not"),
        ("plain/x", "plain/x does not exist"),
        ("", " is not installed"),
    ],
)
def test_what_cannot_be_started(
    program: str, message: str, supervised: bool, tmp_path: Path, host: None
) -> None:
    """A program that cannot be started is `exec_failed`, with what is wrong with it."""
    del host
    (tmp_path / "plain").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").write_text("\0\1\2")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    for name in ("empty", "lost"):
        (tmp_path / name).chmod(0o755)
    with pytest.raises(CladaError) as caught:
        go(program, directory=tmp_path, supervised=supervised)
    assert caught.value.error.type == "exec_failed"
    assert message in caught.value.error.message


def test_programs_are_found_only_in_absolute_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty and relative entries of PATH, which would mean the workspace, do not count."""
    planted = tmp_path / "planted"
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in ("", ":", ".", "::.", "bin:."):
        with pytest.raises(CladaError, match="planted is not installed"):
            go("planted", directory=tmp_path, environment={"PATH": path})
    assert go("planted", directory=tmp_path, environment={"PATH": f".:{tmp_path}"})[1] == ["planted"]


def test_programs_are_the_system_s_unless_a_path_is_given(tmp_path: Path) -> None:
    """A program that is looked up on the system's path is the system's, not one of PATH."""
    planted = tmp_path / "cat"
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    _, lines = go("cat", "/dev/null", environment={"PATH": str(tmp_path)}, path=SYSTEM_PATH)
    assert lines == []
    assert find_program("cat").startswith(SYSTEM_PATH)


def test_a_file_on_the_path_that_is_not_executable(tmp_path: Path) -> None:
    """A file that only lacks the right to be executed is told apart from a missing one."""
    (tmp_path / "tool").write_text("x")
    with pytest.raises(CladaError, match="tool is not executable"):
        find_program("tool", [str(tmp_path)])


# --- how it ends ---


@pytest.mark.parametrize("supervised", [True, False])
@pytest.mark.parametrize(
    ("script", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill $$", 143)]
)
def test_exit_codes(script: str, code: int, supervised: bool, host: None) -> None:
    """The exit code is the program's, or 128 + the signal that killed it."""
    del host
    assert sh(script, supervised=supervised)[0] == ProcessResult(code)


@pytest.mark.parametrize("supervised", [True, False])
def test_a_program_that_takes_too_long(supervised: bool, host: None) -> None:
    """A program is ended at its time limit, and its last words are heard."""
    del host
    mark = marker()
    script = f"trap 'echo bye; exit 9' TERM; echo hi; sleep {mark} & wait"
    ended, lines = in_time(0.3, lambda seconds: sh(script, timeout=seconds, supervised=supervised))
    assert ended == ProcessResult(9, timed_out=True)
    assert lines == ["hi", "bye"]
    assert alive(mark) == []


@pytest.mark.parametrize("supervised", [True, False])
def test_a_program_that_must_stop(supervised: bool, host: None) -> None:
    """A program is ended when the stop handle becomes readable."""
    del host
    mark = marker()
    reader, writer = os.pipe()
    try:
        ended, _ = sh(
            f"echo ready; sleep {mark}",
            emit=lambda _lines: os.write(writer, b"x"),
            stop=reader,
            supervised=supervised,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert (ended.cancelled, ended.timed_out) == (True, False)
    assert alive(mark) == []


@only_linux
@pytest.mark.parametrize(
    "script",
    [
        "sleep {mark} & echo started",
        "setsid sleep {mark} & echo started; wait $!",
        "(setsid sh -c 'sleep {mark} & sleep {mark}' &) ; echo started",
        "trap '' TERM; sleep {mark} & sleep {mark} & echo started; sleep {mark}",
        "setsid setsid sh -c \"trap '' TERM HUP INT; sleep {mark}; sleep {mark}\" & echo started; exit 0",
        "setsid sh -c 'exec >/dev/null 2>&1; cd /; (sleep {mark} &) ; sleep {mark}' & echo started",
        "sh -c 'kill -STOP $$' & sleep {mark} & kill -STOP $!; echo started",
    ],
)
def test_nothing_survives(script: str, host: None) -> None:
    """What a command started is dead afterwards: in the background, in its own session, deaf or stopped."""
    del host
    mark = marker()
    _, lines = in_time(0.4, lambda seconds: sh(script.format(mark=mark), timeout=seconds))
    assert lines == ["started"]
    assert alive(mark) == []


@only_linux
def test_a_grandchild_that_holds_the_output_is_not_waited_for() -> None:
    """When the command itself has ended, one that still holds its output does not keep us."""
    mark = marker()
    before = time.monotonic()
    ended, lines = sh(f"setsid sleep {mark} & echo done; exit 5", timeout=2 * PATIENCE)
    assert (ended.exit_code, ended.timed_out, lines) == (5, False, ["done"])
    assert time.monotonic() - before < PATIENCE
    assert alive(mark) == []


@only_linux
def test_a_process_that_flees_by_forking(host: None) -> None:
    """A process that forks and exits all the time, so that it is never where one looks, is caught."""
    del host
    mark = marker()
    flight = """
        import os, signal, sys
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("started", flush=True)
        os.setsid() if os.fork() == 0 else os._exit(0)
        while True:
            if os.fork():
                os._exit(0)
    """
    _, lines = in_time(0.4, lambda seconds: python(flight, mark, timeout=seconds))
    assert lines == ["started"]
    assert alive(mark) == []


@pytest.mark.slow
@only_linux
def test_a_fork_bomb_is_ended_by_the_time_limit() -> None:
    """Processes that multiply (here up to a few hundred), deaf to SIGTERM, are all ended."""
    mark = marker()
    bomb = """
        import os, signal, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("started", flush=True)
        for _ in range(8):
            if os.fork() == 0:
                os.setsid()
        while True:
            if os.fork() == 0:
                time.sleep(0.01)
                os._exit(0)
            time.sleep(0.2)
            os.waitpid(-1, os.WNOHANG)
    """
    ended, _ = python(bomb, mark, timeout=0.8)
    assert ended.timed_out
    assert alive(mark) == []


@only_linux
@pytest.mark.parametrize(
    ("host", "fresh"),
    [("", False), (_SECOND_THREAD, True), ("memory = bytearray(b'x') * (250 << 20)", True)],
    ids=["small", "threads", "large"],
)
def test_the_supervisor_is_a_fork_where_that_is_safe_and_quick(host: str, fresh: bool) -> None:
    """A host with threads may hold a lock at that moment; one with much memory would be slow to copy."""
    script = f"""
        import os, sys
        sys.path.insert(0, {_source_root()!r})
        from clada.world.processes.run import Launcher, RunOptions, run
        {host}
        run(["sh", "-c", "xargs -0 echo < /proc/$PPID/cmdline"], Launcher(os.environ),
            RunOptions(os.open("/", 0), None, lambda lines: print(*lines, flush=True)))
        os._exit(0)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert ("-I -S -c" in done.stdout) == fresh


@only_linux
@pytest.mark.parametrize("threads", ["", _SECOND_THREAD], ids=["one thread", "threads"])
def test_clada_killed_while_a_command_runs(threads: str) -> None:
    """When clada is killed with SIGKILL, everything that its command started dies too."""
    mark = marker()
    script = f"""
        import os, sys
        sys.path.insert(0, {_source_root()!r})
        from clada.world.processes.run import Launcher, RunOptions, run
        {threads}
        program = "trap '' TERM; setsid sleep {mark} & echo started; sleep {mark}"
        run(["sh", "-c", program], Launcher(os.environ),
            RunOptions(os.open("/", 0), None, lambda lines: print(*lines, flush=True)))
    """
    clada = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert clada.stdout
    assert clada.stdout.readline() == b"started\n"
    assert eventually(lambda: len(alive(mark)) == 2)
    clada.kill()
    clada.wait()
    clada.stdout.close()
    assert eventually(lambda: alive(mark) == [])


class _NeverReady(Launcher):
    """Cannot do what has to be done before a program runs."""

    def prepare(self) -> None:
        """Fail."""
        raise CladaError("command_not_allowed", "not ready")


@only_linux
@pytest.mark.usefixtures("host")
def test_what_cannot_be_prepared_is_not_started(tmp_path: Path) -> None:
    """And nothing is left of what was to start it."""
    before = descendants(os.getpid())
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(CladaError, match="not ready"):
            run(
                ["touch", "made"],
                _NeverReady(os.environ),
                RunOptions(directory=handle, timeout=PATIENCE, emit=print),
            )
    finally:
        os.close(handle)
    assert os.listdir(tmp_path) == []
    assert descendants(os.getpid()) == before


@only_linux
@pytest.mark.parametrize("threads", ["", _SECOND_THREAD], ids=["one thread", "threads"])
def test_clada_killed_before_a_command_may_run(threads: str, tmp_path: Path) -> None:
    """The supervisor is ready, and is not told to start the command any more."""
    script = f"""
        import os, sys, time
        sys.path.insert(0, {_source_root()!r})
        from clada.world.processes.run import Launcher, RunOptions, run
        {threads}
        class Slow(Launcher):
            def prepare(self):
                print("preparing", flush=True)
                time.sleep(99)
        run(["touch", "made"], Slow(os.environ), RunOptions(os.open({str(tmp_path)!r}, 0), None, print))
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE) as clada:
        assert clada.stdout
        assert clada.stdout.readline() == b"preparing\n"
        supervisors = descendants(clada.pid)
        assert len(supervisors) == 1
        clada.kill()
    assert eventually(lambda: not os.path.exists(f"/proc/{supervisors[0]}/fd"))
    assert os.listdir(tmp_path) == []


@only_linux
def test_a_busy_reader_does_not_outlive_a_killed_clada() -> None:
    """A reader without a supervisor that computes forever is ended by the kernel's own limit."""
    mark = marker()
    script = f"""
        import os, sys
        sys.path.insert(0, {_source_root()!r})
        from clada.world.processes.run import Launcher, RunOptions, run
        run(["/bin/sh", "-c", "echo started; while :; do :; done", {mark!r}],
            Launcher(os.environ, supervised=False),
            RunOptions(os.open("/", 0), float(sys.argv[1]), lambda lines: print(*lines, flush=True)))
    """

    def killed_at_work(seconds: str) -> bool:
        argv = [sys.executable, "-c", textwrap.dedent(script), seconds]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as clada:
            assert clada.stdout
            started = clada.stdout.readline() == b"started\n"
            clada.kill()
        return started

    assert any(killed_at_work(seconds) for seconds in ("0.9", "4", "16"))
    assert eventually(lambda: alive(mark) == [])


@only_linux
def test_a_command_that_kills_its_supervisor() -> None:
    """A command that kills the process which supervises it is ended too, and that is said."""
    mark = marker()
    with pytest.raises(CladaError, match="supervised the command was killed"):
        sh(f"kill -9 $PPID; sleep {mark}")
    assert eventually(lambda: alive(mark) == [])


@pytest.mark.parametrize("supervised", [True, False])
def test_a_failure_of_the_caller_leaves_nothing_behind(supervised: bool, host: None) -> None:
    """When the caller's own function raises, the program is ended before that goes on."""
    del host
    mark = marker()

    def emit(_lines: list[str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sh(f"echo x; sleep {mark}", emit=emit, supervised=supervised)
    assert alive(mark) == []


# --- the host ---


@pytest.mark.sample(2)
@only_linux
@pytest.mark.parametrize("supervised", [True, False])
def test_the_host_does_not_change(supervised: bool, host: None) -> None:
    """Directory, signal handlers, open files, threads and other children of the host stay as they are."""
    del host
    other = subprocess.Popen(["sleep", marker()])
    handled = [signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP]

    def state() -> list[object]:
        with open("/proc/self/status", encoding="ascii") as status:
            signals = [
                line
                for line in status
                if line.startswith(("SigB", "SigI", "SigC", "NoNewPrivs", "Seccomp", "Cap"))
            ]
        return [os.getcwd(), open_handles(), [*map(signal.getsignal, handled)], signals]

    before = state()
    sh("setsid sleep 9 & sleep 9", timeout=0.1, supervised=supervised)
    with pytest.raises(CladaError):
        go("no-such-program", supervised=supervised)
    assert state() == before
    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_host_that_ignores_its_children() -> None:
    """In a host that ignores SIGCHLD a command's exit code is still known."""
    old = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        if LINUX:
            assert sh("exit 7")[0] == ProcessResult(7)
        with pytest.raises(CladaError, match="exit code is lost"):
            sh("exit 7", supervised=False)
    finally:
        signal.signal(signal.SIGCHLD, old)


@only_linux
@pytest.mark.parametrize(
    ("interpreter", "message"),
    [
        ("/no/such/python", "no Python to supervise the command"),
        ("/bin/true", "supervised the command was killed"),
    ],
)
def test_a_host_without_a_python_to_supervise(
    interpreter: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host with threads whose interpreter cannot be started is told so, and does not wait for it."""
    monkeypatch.setattr(sys, "executable", interpreter)
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        with pytest.raises(CladaError, match=message):
            go("true", "x" * 100_000)  # more than fits into a pipe
    finally:
        over.set()
        thread.join()


def test_several_threads_at_once() -> None:
    """Runs in several threads do not disturb each other."""
    results: dict[int, tuple[int, list[str]]] = {}

    def work(number: int) -> None:
        ended, lines = sh(
            f"seq {number} {number + 200}; sleep 0.1; exit {number}", supervised=number % 2 == 0
        )
        results[number] = (ended.exit_code, lines)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: (n, [str(line) for line in range(n, n + 201)]) for n in range(8)}
