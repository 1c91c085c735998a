"""A command in bubblewrap, seen from clada: how it is ended, and which words are bubblewrap's own."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.world.processes.children import Alone, NotStarted
from clada.world.processes.family import KILL, PATIENCE, TERMINATE, descendants, send, watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.processes.output import Listener

_OWN = "bwrap: "  # how bubblewrap's own lines start
_NOT_EXECUTED = f"{_OWN}execvp "


class Held:
    """Hands on what is printed; but what may be bubblewrap's, only when it is known to be the command's."""

    def __init__(self, listener: Listener) -> None:
        self.reason = ""  # what bubblewrap said, if it was bubblewrap
        self._listener = listener
        self._is_kept = self._is_cut = False
        self._begun = False

    def take(self, line: str) -> None:
        """Take one line. Of the first one, the limit of output may have left only the beginning."""
        if not self._begun and line and (line.startswith(_OWN) or _OWN.startswith(line)):
            self.reason = line
            self._is_kept = True
        else:
            self.release()
            self._listener.emit(line)
        self._begun = True

    def cut(self) -> None:
        """Take in that the rest is left out."""
        if self._is_kept or not self._begun:
            self._is_cut = True
        else:
            self._listener.truncated()

    def release(self) -> None:
        """Hand on what was kept."""
        if self._is_kept:
            self._listener.emit(self.reason)
        if self._is_cut:
            self._listener.truncated()
        self._is_kept = self._is_cut = False


class Boxed(Alone):
    """A command in bubblewrap: its processes are in a namespace whose first one takes all others with it."""

    def __init__(self, pid: int, status: int, held: Held) -> None:
        super().__init__(pid)
        self._status = status
        self._held = held
        self._told = ""

    def ask(self) -> None:
        """Ask what is inside to end; the namespace's first process does not listen."""
        send(descendants(self._pid), TERMINATE)

    def force(self) -> None:
        """End the namespace."""
        send(descendants(self._pid), KILL)
        super().force()

    def bury(self) -> None:
        """Wait until the namespace is gone: its end begins with bubblewrap's, and takes a moment."""
        super().bury()
        os.set_blocking(self._status, False)
        try:
            self._told = os.read(self._status, 1 << 12).decode("ascii", "replace")
        except BlockingIOError:  # it was killed before it could say anything
            self._told = ""
        os.close(self._status)
        if first := self._number("child-pid"):
            _wait_for_stranger(first, PATIENCE)

    def exit_code(self) -> int:
        """Return the command's exit code; raise Trouble if the sandbox did not come to running it."""
        code = super().exit_code()
        if self._number("exit-code") is None and code < 128:  # noqa: PLR2004 (it was not killed)
            raise _not_run(self._held.reason or "it ended at once")
        self._held.release()
        return code

    def _number(self, key: str) -> int | None:
        digits = self._told.partition(f'"{key}": ')[2]
        end = next((at for at, letter in enumerate(digits) if not letter.isdigit()), len(digits))
        return int(digits[:end]) if end else None


def _not_run(reason: str) -> Trouble:
    if reason.startswith(_NOT_EXECUTED):
        return Trouble("exec_failed", reason.removeprefix(_NOT_EXECUTED))
    return NotStarted("command_not_allowed", f"the sandbox could not be set up, nothing was run: {reason}")


def _wait_for_stranger(pid: int, seconds: float) -> None:
    """Wait until a process is gone that is not our child."""
    import select

    handle = watch(pid)
    if handle < 0:
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll(int(seconds * 1000))
    os.close(handle)
