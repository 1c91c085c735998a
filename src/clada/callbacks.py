"""The callbacks of a caller: events, questions about commands, consent, and the wish to stop."""

from __future__ import annotations

from clada.model import Note
from clada.world.world import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from clada.model import Event
    from clada.public_types import Answer, Ask

ANSWERS = ("once", "always", "no", "never", "once+network", "always+network")


class Caller:
    """The callbacks of the caller. Their exceptions pass through all handlers of clada's own errors."""

    def __init__(
        self,
        on_event: Callable[[Event], None],
        ask: Ask | None,
        consent: Callable[[str], bool] | None,
        stop: Stop | None,
    ) -> None:
        if not callable(on_event):
            raise TypeError(f"on_event must be a function, not {on_event!r}")
        if ask is not None and not callable(ask):
            raise TypeError(f"ask must be a function, not {ask!r}")
        if stop is not None and not isinstance(stop, Stop):
            raise TypeError(f"stop must be a Stop, not {stop!r}")
        self._on_event, self._ask, self._consent, self.stop = on_event, ask, consent, stop
        self.can_answer = ask is not None
        self.notes: list[str] = []  # emitted so far

    @property
    def stop_handle(self) -> int | None:
        """The file descriptor that becomes readable when the run is to end."""
        return self.stop.handle if self.stop else None

    def emit(self, event: Event) -> None:
        """Pass on an event; collect notes for the report."""
        if isinstance(event, Note):
            self.notes.append(event.text)
        try:
            self._on_event(event)
        except Exception as error:
            raise CallbackError(error) from error

    def tell(self, notes: Iterable[str]) -> None:
        """Emit those of these notes that are new."""
        for note in notes:
            if note not in self.notes:
                self.emit(Note(note))

    def consent(self, question: str) -> bool:
        """Ask a yes-or-no question."""
        try:
            return bool(self._consent and self._consent(question))
        except Exception as error:
            raise CallbackError(error) from error

    @property
    def would_consent(self) -> Callable[[str], bool] | None:
        """A function that always consents, for dry runs; None if no person can be asked."""
        return (lambda _question: True) if self._consent else None

    def answer(self, command: str, directory: str, reason: str, *, network: bool) -> Answer | None:
        """Ask about a command; raise if the callback returns something else than an answer."""
        try:
            given = self._ask and self._ask(command, directory, reason, network=network)
            if given is not None and given not in ANSWERS:
                expected = f"ask must return one of {', '.join(ANSWERS)}, or None, not {given!r}"
                raise ValueError(expected) if isinstance(given, str) else TypeError(expected)  # noqa: TRY301
        except Exception as error:
            raise CallbackError(error) from error
        return given


class CallbackError(BaseException):
    """Carries an exception of a callback through all handlers of clada's own errors."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
