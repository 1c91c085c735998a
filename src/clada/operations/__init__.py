"""What each operation does to a world: one module an operation.

A module has `apply(world, fields) -> Outcome`, and raises Trouble where it cannot.
"""

from __future__ import annotations

import time

from clada.model import Event, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol, TypeVar

    from clada.settings import Settings
    from clada.world.files.tree import Files

    Result = TypeVar("Result")

    class Stop(Protocol):
        """How a run is told to end early."""

        signal: int | None
        handle: int  # readable when it is to end

    class Ask(Protocol):
        """Puts a command to a person."""

        def __call__(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
            """Return once, always, no or never, with `+network` behind it; None where nobody can be asked."""


class World:
    """What the operations of one run act on, and what they leave word of."""

    def __init__(
        self,
        files: Files,
        settings: Settings,
        emit: Callable[[Event], None],
        ask: Ask | None = None,
        stop: Stop | None = None,
    ) -> None:
        self.files, self.settings, self.emit, self.ask, self.stop = files, settings, emit, ask, stop
        total = settings.total_timeout
        self.deadline = None if total is None else time.monotonic() + total
        if total is not None:
            self.emit = lambda event: self.untimed(emit, event)
        self.ran = False  # a program has run: anything in the tree may have changed
        self.noted: set[str] = set()  # what the person was told, once
        self.label = ""
        self.confinement: str | None = None
        self.truncated = False

    def untimed(self, call: Callable[..., Result], *arguments: object, **named: object) -> Result:
        """Call what waits for somebody else, a person or a reader: the run's clock stands still meanwhile."""
        start = time.monotonic()
        result = call(*arguments, **named)
        if self.deadline is not None:
            self.deadline += time.monotonic() - start
        return result

    def begin(self, label: str) -> None:
        """Start a task."""
        self.label, self.confinement, self.truncated = label, None, False

    def remaining(self) -> float | None:
        """Return how many seconds the whole run has left; None where it has no limit."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def halted(self) -> str | None:
        """Return why nothing more is to be done, if that is so."""
        if self.stop and self.stop.signal:
            return "interrupted"
        remaining = self.remaining()
        return "total timeout reached" if remaining is not None and remaining <= 0 else None


def find(name: str) -> Callable[[World, Mapping[str, Any]], Outcome]:
    """Return what applies the operation of this name; each is loaded when it is first needed."""
    known = _loaded.get(name)
    if known is None:
        from importlib import import_module

        known = _loaded[name] = import_module(f"clada.operations.{name}").apply
    return known


_loaded: dict[str, Callable[[World, Mapping[str, Any]], Outcome]] = {}


def target(name: str, fields: Mapping[str, Any]) -> str:
    """Return what a failure of this operation names: its path, or its command."""
    if name == "move":
        return f"{fields.get('from', '')} -> {fields.get('to', '')}"
    return str(fields.get("path", fields.get("command", "")))
