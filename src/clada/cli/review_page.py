"""The page of `clada watch --review`: it stays open, and each answer that arrives is shown on it."""

from __future__ import annotations

from queue import SimpleQueue

from clada.cli.document import settings_of
from clada.cli.review import open_page
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.report import Report

    Kept = tuple[Report, str, bytes]  # a report, where its answer is from, and the answer


class ReviewPage:
    """A review that waits for answers; it ends when it is closed here."""

    def __init__(self, options: dict[str, Any], console: Console) -> None:
        from clada.review.server import Server
        from clada.review.session import Session

        self._reports: SimpleQueue[Kept] = SimpleQueue()
        self._session = Session(
            b"",
            lambda text: plan_for(text, settings_of(options)),
            settings_of(options),
            patience=None,
            on_report=lambda *kept: self._reports.put(kept),
        )
        self._server = Server(self._session)
        self._server.__enter__()
        console.write(f"{self._server.address}\n")
        open_page(self._server.address_to_open, options, console)

    @property
    def is_busy(self) -> bool:
        """Whether something is carried out."""
        return self._session.is_busy

    def offer(self, text: bytes, source: str) -> None:
        """Show an answer, or say that it has arrived."""
        self._session.offer(text, source)

    def take_reports(self) -> list[Kept]:
        """Return the reports since the last call."""
        return [self._reports.get() for _ in range(self._reports.qsize())]

    def close(self) -> None:
        """Stop what is under way, and end."""
        self._session.stop()
        self._session.wait()
        self._server.__exit__()
