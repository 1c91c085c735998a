"""What the commands of a run print: passed on as it comes, up to a limit, and its last lines kept."""

from __future__ import annotations

from clada.model import OutputLine, OutputTruncated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.world import World

TAIL = 20  # lines of a failed command's output that `full` shows again


class Printed:
    """What one run prints."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lines: list[str] = []

    @property
    def tail(self) -> str | None:
        """The last lines."""
        return "\n".join(self._lines[-TAIL:]) or None

    def emit(self, line: str) -> None:
        """Pass on one line."""
        self._lines.append(line)
        if len(self._lines) > 4 * TAIL:  # now and then: a flood has many lines
            del self._lines[:-TAIL]
        self._world.keep(line)
        self._world.emit(OutputLine(self._world.label, line))

    def truncate(self) -> None:
        """Say that something was left out."""
        self._world.truncated = True
        self._world.keep(None)
        self._world.emit(OutputTruncated(self._world.label))


class Allowance:
    """How many bytes may still be printed: by one program, or by several that share it."""

    def __init__(self, printed: Printed, left: int) -> None:
        self.left = left
        self._printed = printed
        self._is_told = False

    def emit(self, line: str) -> None:
        """Pass on one line, and count it."""
        self.left = max(0, self.left - len(line.encode()) - 1)
        self._printed.emit(line)

    def use_up(self) -> None:
        """Say that the limit is reached: once, for all that share it."""
        if not self._is_told:
            self._printed.truncate()
        self._is_told = True
        self.left = 0
