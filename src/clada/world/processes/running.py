"""Runs a program to its end: streams its output in safe lines, limits it, and leaves nothing of it behind.

    ended = run(["npm", "test"], directory=handle, environment=os.environ, timeout=30.0,
                max_output=10 << 20, emit=print, truncated=lambda: print("[output truncated]"))

`emit` gets each line without its line break, escaped by `shown`. `truncated` is called once, between the
last kept line and the end. `stop` is a handle that becomes readable when the run must end early. A program
that cannot be started raises Trouble("exec_failed"). `supervised=False` is for programs that start no
others: it saves the supervisor, and looks them up on SYSTEM_PATH instead of the environment's PATH.
"""

from __future__ import annotations

import os
import sys
import time

from clada.problems import Trouble
from clada.values import Value
from clada.world.processes.family import GRACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from clada.world.confinement.layers import Confined, Confinement
    from clada.world.processes.children import Child
    from clada.world.processes.output import Output
    from clada.world.processes.spawn import Order

    Result = TypeVar("Result")

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/opt/homebrew/bin")
_LINUX = sys.platform == "linux"
_ATTEMPTS = 16  # at a sandbox: what it covers, a socket of another program, can vanish at that moment
_TURN_MS = 20  # between looks at a child, where the system cannot wake us when it ends


class Ended(Value):
    """How a program ended: its exit code, 128 + the signal if one killed it, and what cut it short."""

    exit_code: int
    timed_out: bool = False
    cancelled: bool = False
    lacked: str | None = None  # what confinement seems to have kept a failed program from


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


def run(  # noqa: PLR0913 (each is a plain fact about one run, and named)
    argv: Sequence[str],
    *,
    directory: int,
    environment: Mapping[str, str],
    timeout: float | None,
    max_output: int,
    emit: Callable[[str], None],
    truncated: Callable[[], None] = lambda: None,
    stop: int | None = None,
    supervised: bool = True,
    confinement: Confinement | None = None,
) -> Ended:
    """Run a program until it ends, is stopped or takes too long; then nothing it started is alive."""
    from clada.world.processes.output import Held, Output
    from clada.world.processes.spawn import Order

    deadline = None if timeout is None else time.monotonic() + timeout
    program = find_program(argv[0], _path(environment) if supervised else SYSTEM_PATH)
    frame = _confined(confinement, environment) if confinement else Unconfined(environment)
    seconds = None if supervised else timeout

    def attempt() -> tuple[Ended, list[str]]:
        source, sink = os.pipe()
        order = Order(program, argv, frame.environment, directory, sink, seconds=seconds)
        held = Held(emit)
        output = Output(source, max_output, held, truncated)
        try:
            child = _launch(order, frame, supervised)
            cut = _follow_to_the_end(child, output, deadline, stop)
        finally:
            output.close()
        code = child.exit_code(output.tail)
        held.release()
        return Ended(code, cut == "timed out", cut == "cancelled"), output.tail

    try:
        ended, tail = _persistently(attempt)
    finally:
        changed = frame.end()
    return _judged(ended, confinement, changed, tail) if confinement else ended


def _persistently(attempt: Callable[[], Result], times: int = _ATTEMPTS) -> Result:
    """Do this again where the sandbox could not be set up and so nothing was run."""
    from clada.world.processes.children import NotSetUp

    try:
        return attempt()
    except NotSetUp:
        if times <= 1:
            raise
    return _persistently(attempt, times - 1)


class Unconfined:
    """What surrounds a program that is not confined: nothing."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment

    def start(self, order: Order, supervised: bool) -> Child:
        """Start the program as it is."""
        return start(order, supervised)

    def end(self) -> list[str]:
        """Return what was undone."""
        return []


def _confined(confinement: Confinement, environment: Mapping[str, str]) -> Confined:
    from clada.world.confinement.layers import Confined

    return Confined(confinement, environment)


def _judged(ended: Ended, confinement: Confinement, changed: list[str], tail: list[str]) -> Ended:
    from clada.world.confinement.layers import lacked, was_undone

    if ended.timed_out or ended.cancelled:
        return ended.but(lacked=str(was_undone(changed)) if changed else None)
    if changed:
        raise was_undone(changed)
    return ended.but(lacked=lacked(confinement, tail)) if ended.exit_code else ended


def _path(environment: Mapping[str, str]) -> Sequence[str]:
    return environment["PATH"].split(":") if environment.get("PATH") else SYSTEM_PATH


def _launch(order: Order, frame: Confined | Unconfined, supervised: bool) -> Child:
    """Start the program; from then on only it holds the writing end of its output."""
    try:
        return frame.start(order, supervised)
    finally:
        os.close(order.output)


def _follow_to_the_end(child: Child, output: Output, deadline: float | None, stop: int | None) -> str:
    try:
        cut = _follow(child, output, deadline, stop)
    finally:
        child.bury()
    output.finish()
    return cut


def start(order: Order, supervised: bool) -> Child:
    """Start a program, under a supervisor where it may start others and the system allows it."""
    return _supervised(order) if supervised and _LINUX else _alone(order)


def _supervised(order: Order) -> Child:
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
        if output.source in ready and not output.read():
            poll.unregister(output.source)
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
