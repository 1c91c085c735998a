"""The supervisor: a small process between clada and an approved command, to which nothing escapes.

It is the subreaper of all that the command starts, so that a process which leaves its session or loses
its parent becomes the supervisor's child. When the command ends, or clada says so, or clada itself is
gone, it ends everything. In a host with one thread it is a plain fork; else a fresh interpreter.

It reads its control pipe, whose end means "end everything", and writes to its status pipe:
`exited CODE`, or `failed ERRNO`, or `trouble TYPE TEXT`.
"""

from __future__ import annotations

import marshal
import os
import select
import sys

from clada.errors import Trouble, system_words
from clada.world.libc import LIBC
from clada.world.processes.children import shell_code
from clada.world.processes.family import KILL, end_children, watch
from clada.world.processes.spawn import Order, Prepared, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from clada.world.processes.spawn import Rules

_prctl, _signal = LIBC.prctl, LIBC.signal  # looked up here once, rather than after every fork
_PR_SET_CHILD_SUBREAPER = 36
_SIG_DFL, _SIG_IGN = 0, 1
_IGNORED = (1, 2, 3, 10, 12, 13, 15)  # SIGHUP INT QUIT USR1 USR2 PIPE TERM, on Linux
_SIGCHLD = 17
_MOST_TO_COPY = 200 << 20  # bytes
_TURN_MS = 100  # how often orphans are buried, and clada's life is checked by a second sign
_SHORT_TURN_MS = 10  # the same where the system cannot say when the command ends

# The handles of a fresh interpreter that is to be a supervisor.
_DIRECTORY, _OUTPUT, _CONTROL, _STATUS, _LETTER = range(3, 8)
# The directory that clada is in: this file is …/clada/world/processes/supervisor.py. It comes last on the
# path, because what else is installed there must not stand in for a standard module.
_ROOT = os.path.abspath(__file__).rsplit("/", 4)[0]
_FRESH = f"import sys; sys.path.append({_ROOT!r}); from clada.world.processes.supervisor import main; main()"


def start_supervisor(order: Order) -> tuple[int, int, int]:
    """Start a supervisor; return its process id, the writing end of its control and its status to read."""
    control, control_writer = os.pipe()
    status_reader, status = os.pipe()
    try:
        pid = (_forked if _is_single_threaded() and _is_small() else _fresh)(order, control, status)
    except BaseException:
        os.close(control_writer)
        os.close(status_reader)
        raise
    finally:
        os.close(control)
        os.close(status)
    return pid, control_writer, status_reader


def _is_single_threaded() -> bool:
    return len(os.listdir("/proc/self/task")) == 1


def _is_small() -> bool:
    """Whether a fork, which copies the tables of all memory, is quicker than a fresh interpreter."""
    with open("/proc/self/statm", encoding="ascii") as file:
        resident = int(file.read().split()[1])
    return resident * os.sysconf("SC_PAGE_SIZE") <= _MOST_TO_COPY


def _forked(order: Order, control: int, status: int) -> int:
    prepared = Prepared(order)  # before the fork, because every page that is touched after it is copied
    try:
        pid = os.fork()
        if not pid:
            supervise(order, prepared.start, control, status)
        return pid
    finally:
        prepared.close()


def _fresh(order: Order, control: int, status: int) -> int:
    """Start the supervisor as an interpreter of its own: a fork could inherit a lock that is held forever."""
    letter, letter_writer = os.pipe()
    try:
        handles = (order.directory, order.output, control, status, letter)
        pid = _interpreter(order.directory, status, handles)
        os.close(letter)  # so that the letter to one that died at once does not wait for a reader
        letter = -1
        _post(_plain(order), letter_writer)
    finally:
        _close(letter)
        os.close(letter_writer)
    return pid


def _interpreter(directory: int, output: int, handles: tuple[int, ...]) -> int:
    words = [sys.executable or "", "-I", "-S", "-c", _FRESH]
    try:
        return spawn(Order(words[0], words, os.environ, directory, output, handles))
    except OSError as error:
        raise Trouble("exec_failed", f"no Python to supervise the command: {system_words(error)}") from error


def _post(letter: dict[str, Any], writer: int) -> None:
    try:
        with open(writer, "wb", closefd=False) as file:
            marshal.dump(letter, file)
    except BrokenPipeError:  # it is dead: whoever waits for its word will see that
        return


def _plain(order: Order) -> dict[str, Any]:
    """Return the order as a letter carries it: plain fields, and the handles as the reader has them."""
    plain = order.replace(
        argv=list(order.argv),
        environment=dict(order.environment),
        directory=_DIRECTORY,
        output=_OUTPUT,
        rules=_packed(order.rules) if order.rules else None,
    )
    return plain.by_name()


def _packed(rules: Rules) -> tuple[str, str, dict[str, Any]]:
    return type(rules).__module__, type(rules).__name__, rules.by_name()


def _unpacked(module: str, name: str, fields: dict[str, Any]) -> Any:
    return getattr(__import__(module, fromlist=[name]), name)(**fields)


def main() -> NoReturn:
    """Be the supervisor that `_fresh` started: its handles have fixed numbers, its order is in the letter."""
    with open(_LETTER, "rb") as reader:
        letter = marshal.load(reader)  # noqa: S302 (our own parent wrote it)
    rules = letter["rules"] and _unpacked(*letter["rules"])
    order = Order(**letter | {"rules": rules})
    supervise(order, lambda: spawn(order), _CONTROL, _STATUS)


def supervise(order: Order, start: Callable[[], int], control: int, status: int) -> NoReturn:
    """Be the supervisor of the command that `start` starts until nothing of it is left, then end."""
    code = 1
    try:
        _stand_apart(keep={order.directory, order.output, control, status})
        _carry_out(order, start, control, status)
        os.close(status)
        _clear(order.temporary)
        code = 0
    finally:
        os._exit(code)


def _stand_apart(keep: set[int]) -> None:
    if os.getsid(0) != os.getpid():  # a fresh interpreter leads its session already
        os.setsid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for signal in _IGNORED:
        _signal(signal, _SIG_IGN)
    _signal(_SIGCHLD, _SIG_DFL)  # a host that ignores it would make every wait fail
    _close_all_but(keep)


def _close_all_but(keep: set[int]) -> None:
    """Let go of the host's files and locks, which would else outlive the host."""
    for handle in set(map(int, os.listdir("/proc/self/fd"))) - keep:
        _close(handle)
    nothing = os.open(os.devnull, os.O_RDWR)
    while nothing <= 2:  # noqa: PLR2004 (standard input, output and error must lead somewhere)
        nothing = os.open(os.devnull, os.O_RDWR)
    os.close(nothing)


def _close(handle: int) -> None:
    try:
        os.close(handle)
    except OSError:  # closed already, as the one that a listing itself used
        return


def _carry_out(order: Order, start: Callable[[], int], control: int, status: int) -> None:
    host = os.getppid()
    try:
        pid = start()
    except OSError as error:
        _say(status, f"failed {error.errno}")
        return
    except Trouble as trouble:
        _say(status, f"trouble {trouble.error.type} {trouble}")
        return
    os.close(order.output)
    burial = Burial(pid)
    _wait_until_over(pid, control, host, burial)
    end_children(burial.reap)
    _say(status, f"exited {128 + KILL if burial.code is None else burial.code}")


def _clear(directory: str) -> None:
    """Remove the command's temporary directory: clada would do it too, but may be dead."""
    if directory:
        from clada.world.handles import remove_tree

        remove_tree(directory)


def _say(status: int, text: str) -> None:
    """Tell clada, if it is still there to be told."""
    try:
        os.write(status, text.encode() + b"\n")
    except BrokenPipeError:
        return


def _wait_until_over(pid: int, control: int, host: int, burial: Burial) -> None:
    main = watch(pid)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    if main >= 0:
        poll.register(main, select.POLLIN)
    turn = _TURN_MS if main >= 0 else _SHORT_TURN_MS
    while burial.code is None and not poll.poll(turn) and os.getppid() == host:
        burial.reap()


class Burial:
    """Reaps whatever has died, and keeps the exit code of the one process that matters."""

    def __init__(self, pid: int) -> None:
        self.code: int | None = None
        self._pid = pid

    def reap(self) -> bool:
        """Take leave of the dead; return whether any child is left."""
        while True:
            try:
                pid, state = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            if pid == self._pid:
                self.code = shell_code(state)
