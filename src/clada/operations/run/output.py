"""What the commands of a run print: passed on as it comes, up to a limit, and its last lines kept."""

from __future__ import annotations

from clada.model import Output, OutputTruncated, output_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.world.world import World

TAIL = 20  # lines of a failed command's output that `full` shows again


class Printed:
    """What one run prints."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._tail: list[str] = []
        self.overhead = len(output_prefix(world.label)) + 1  # of each line, with its line break

    @property
    def tail(self) -> str | None:
        """The last lines."""
        return "\n".join(self._tail) or None

    def emit(self, lines: Sequence[str]) -> None:
        """Pass on lines."""
        self._tail = [*self._tail, *lines[-TAIL:]][-TAIL:]
        self._world.keep(lines)
        self._world.emit(Output(self._world.label, tuple(lines)))

    def truncate(self) -> None:
        """Say that something was left out."""
        self._world.keep([], cut=True)
        self._world.emit(OutputTruncated(self._world.label))


class Allowance:
    """How many bytes may still be printed, prefixes and line breaks too: by one program, or by several."""

    def __init__(self, printed: Printed, left: int) -> None:
        self._printed, self._left = printed, left
        self._is_told = False

    def emit(self, lines: list[str]) -> bool:
        """Pass on lines as far as they fit; return whether that was too much."""
        size = len("".join(lines).encode()) + len(lines) * self._printed.overhead
        if size <= self._left:
            self._left -= size
            self._printed.emit(lines)
            return False
        fitting = self._fitting(lines)
        if fitting:
            self._printed.emit(fitting)
        self._left = 0
        if not self._is_told:  # once, for all that share it
            self._printed.truncate()
        self._is_told = True
        return True

    def _fitting(self, lines: list[str]) -> list[str]:
        """Return the lines that fit, and what fits of the one after them, cut between two characters."""
        room = self._left
        for number, line in enumerate(lines):
            data = line.encode()
            room -= len(data) + self._printed.overhead
            if room < 0:
                part = data[: max(0, len(data) + room)].decode(errors="ignore")
                return [*lines[:number], part] if part else lines[:number]
        return lines
