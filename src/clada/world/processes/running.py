"""Runs a program to its end: streams its output in safe lines, limits it, and leaves nothing of it behind.

    ended = run(["npm", "test"], Frame(os.environ), directory=handle, timeout=30.0, max_output=10 << 20,
                emit=print, truncated=lambda: print("[output truncated]"), path=search_path(os.environ))

`emit` gets each line without its line break, escaped by `shown`; the time that it takes does not count.
`truncated` is called once, between the last kept line and the end. `stop` is a handle that becomes readable
when the run must end early. A program that cannot be started raises Trouble("exec_failed").
"""

from __future__ import annotations

import os
import stat
import sys
import time

from clada.errors import Trouble
from clada.values import Value
from clada.world.processes.family import GRACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clada.world.processes.children import Child
    from clada.world.processes.output import Listener, Output
    from clada.world.processes.spawn import Order

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/opt/homebrew/bin")
_LINUX = sys.platform == "linux"
_ATTEMPTS = 16  # at what surrounds a program: a file that it covers can vanish at that moment
_TURN_MS = 20  # between looks at a child, where the system cannot wake us when it ends


class Ended(Value):
    """How a program ended: its exit code, 128 + the signal if one killed it, and what cut it short."""

    exit_code: int
    timed_out: bool = False
    cancelled: bool = False
    lacked: str | None = None  # what its frame seems to have kept a failed program from


def find_program(name: str, path: Sequence[str] = SYSTEM_PATH) -> str:
    """Return where the program is: as it is if it has a slash, else in the path's absolute directories."""
    if "/" in name:
        return name
    candidates = [f"{directory}/{name}" for directory in path if directory.startswith("/")]
    files = [candidate for candidate in candidates if os.path.isfile(candidate)] if name else []
    for candidate in files:
        if os.access(candidate, os.X_OK):
            return candidate
    if files:
        raise Trouble("exec_failed", f"{name} is not executable", f"found at {files[0]}")
    raise Trouble("exec_failed", f"{name} is not installed")


def _refuse_directory(name: str, here: int) -> None:
    """Say what the system would call a lack of permission."""
    try:
        mode = os.stat(name, dir_fd=here).st_mode if "/" in name else 0
    except (OSError, ValueError):
        return  # starting it will tell
    if stat.S_ISDIR(mode):
        raise Trouble("exec_failed", f"{name} is a directory", "name a program in it")


def search_path(environment: Mapping[str, str]) -> Sequence[str]:
    """Return where an environment has its programs."""
    return environment["PATH"].split(":") if environment.get("PATH") else SYSTEM_PATH


def run(  # noqa: PLR0913 (each is a plain fact about one run, and named)
    argv: Sequence[str],
    frame: Frame,
    *,
    directory: int,
    timeout: float | None,
    max_output: int,
    emit: Callable[[str], None],
    truncated: Callable[[], None] = lambda: None,
    stop: int | None = None,
    path: Sequence[str] = SYSTEM_PATH,
) -> Ended:
    """Run a program until it ends, is stopped or takes too long; then nothing it started is alive."""
    from clada.world.processes.output import Listener
    from clada.world.processes.spawn import Order

    deadline = None if timeout is None else time.monotonic() + timeout
    listener = Listener(max_output, emit, truncated)
    try:
        program = find_program(argv[0], path)
        _refuse_directory(argv[0], directory)
        order = Order(program, argv, frame.environment, directory, seconds=timeout)
        ended, tail = _persistently(frame, order, listener, deadline, stop)
    finally:
        frame.end()
    return frame.judged(ended, tail)


def _persistently(
    frame: Frame, order: Order, listener: Listener, deadline: float | None, stop: int | None
) -> tuple[Ended, list[str]]:
    """Run a program, and again where it was not started; return how it ended, and its last lines."""
    from clada.world.processes.children import NotStarted

    for _attempt in range(_ATTEMPTS - 1):
        try:
            return _once(frame, order, listener, deadline, stop)
        except NotStarted:
            continue
    return _once(frame, order, listener, deadline, stop)


def _once(
    frame: Frame, order: Order, listener: Listener, deadline: float | None, stop: int | None
) -> tuple[Ended, list[str]]:
    from clada.world.processes.output import Output

    source, sink = os.pipe()
    output = Output(source, frame.hear(listener))
    try:
        child = _launch(frame, order.replace(output=sink))
        cut = _follow_to_the_end(child, output, deadline, stop)
    finally:
        output.close()
    return Ended(child.exit_code(), cut == "timed out", cut == "cancelled"), output.tail


class Frame:
    """What surrounds a program while it runs: by itself nothing, and others make more of it.

    A program that starts no others needs no supervisor to end them. It then has a limit of processor time.
    """

    def __init__(self, environment: Mapping[str, str], *, supervised: bool = True) -> None:
        self.environment = environment
        self._supervised = supervised

    def hear(self, listener: Listener) -> Listener:
        """Return who hears the program that is started next, and hands on what it prints."""
        return listener

    def start(self, order: Order) -> Child:
        """Start the program; raise NotStarted where another attempt may go better."""
        if not self._supervised:
            return _alone(order)
        unlimited = order.replace(seconds=None)
        return _under_supervisor(unlimited) if _LINUX else _alone(unlimited)

    def end(self) -> None:
        """Clear up, whatever has happened; called once."""

    def judged(self, ended: Ended, tail: Sequence[str]) -> Ended:
        """Return how the program ended, seen from here; `tail` is the end of its output."""
        del tail
        return ended


def _launch(frame: Frame, order: Order) -> Child:
    """Start the program; from then on only it holds the writing end of its output."""
    try:
        return frame.start(order)
    finally:
        os.close(order.output)


def _under_supervisor(order: Order) -> Child:
    from clada.world.processes.children import Supervised
    from clada.world.processes.supervisor import start_supervisor

    return Supervised(*start_supervisor(order), order)


def _alone(order: Order) -> Child:
    from clada.world.processes.children import Alone, cannot_start
    from clada.world.processes.spawn import spawn

    try:
        return Alone(spawn(order))
    except OSError as error:
        raise cannot_start(order.argv[0], error.errno or 0) from error


def _follow_to_the_end(child: Child, output: Output, deadline: float | None, stop: int | None) -> str:
    try:
        cut = _follow(child, output, deadline, stop)
    finally:
        child.bury()
    output.finish()
    return cut


def _follow(child: Child, output: Output, deadline: float | None, stop: int | None) -> str:
    """Pass on the output until the child is over; return what cut it short, if anything did."""
    import select

    poll = select.poll()
    for handle in (output.source, child.handle, stop):
        if handle is not None and handle >= 0:
            poll.register(handle, select.POLLIN)
    cut = ""
    while True:
        ready = dict(poll.poll(_patience(deadline, child.handle)))
        if output.source in ready:
            if not output.read():
                poll.unregister(output.source)
            deadline = None if deadline is None else deadline + output.held_up()
        if (child.handle in ready or child.handle < 0) and child.is_over():
            return cut
        late = deadline is not None and time.monotonic() >= deadline
        if cut and late:
            child.force()
            deadline = None
        elif not cut and (late or stop in ready):
            cut = "timed out" if late else "cancelled"
            child.ask()
            deadline = time.monotonic() + GRACE
            if stop is not None:
                poll.unregister(stop)


def _patience(deadline: float | None, handle: int) -> int | None:
    """Return how many milliseconds there is nothing to do but wait for an event."""
    if handle < 0:
        return _TURN_MS
    if deadline is None:
        return None
    return max(0, int((deadline - time.monotonic()) * 1000) + 1)
