"""`clada review`: the plan as a page in the browser, where it is chosen from, carried out and undone.

A review that is open is listed in a file with its secret address, which only the user can read and which is
named by the workspace: `clada review` again opens the same one.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from queue import SimpleQueue
from select import select
from urllib.parse import urlsplit

from clada.cli.commands.apply import ask_how_to_record, read_document, settings_of, with_uncommitted
from clada.cli.console import STDIN
from clada.cli.signals import stop_on_signals
from clada.exit_codes import DONE, FAILED, SIGNALLED
from clada.report import commits_line
from clada.review.presence import PATIENCE
from clada.review.server import Server
from clada.review.session import Session
from clada.run import plan_for
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.report import Report

    SavedReport = tuple[Report, str, bytes]  # a report, where its answer is from, and the answer

# The variables that say where a browser can be shown.
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
TIMEOUT = 3.0  # seconds that an open review has to answer
CLOSED = (
    f"the page was closed; the review stays for {round(PATIENCE / 60)} minutes: clada review opens it again, "
    "Ctrl+C ends it"
)


def review(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Serve the page until it is closed; return the exit code of the last run, 1 where there was none."""
    # Without a document there is a page to paste one into.
    is_empty = not arguments and os.isatty(STDIN)
    text = (b"" if is_empty else read_document(arguments, console)) or b""
    workspace = os.path.realpath(options["workspace"])
    if running := _find_open(workspace, text):
        address, address_to_open = running
        console.write(f"{address}\n")
        console.note("this review is open already")
        _open_page(address_to_open, options, console)
        return DONE
    options = ask_how_to_record(with_uncommitted(options, arguments), console)
    settings = settings_of(options)
    session = Session(
        text, lambda text: plan_for(text, settings), settings, on_alone=lambda: console.note(CLOSED)
    )
    with (
        stop_on_signals(session.stop) as stop,
        Server(session) as server,
        _list_while_open(workspace, server.address),
    ):
        console.write(f"{server.address}\n")
        _open_page(server.address_to_open, options, console)
        select([session.presence.ended, stop.handle], [], [])
        session.wait()  # a run that is under way is finished, or stopped by the signal
    if session.report:
        console.write(session.report.text())
        if line := commits_line(session.report):
            console.note(line)
    if stop.signal:
        return SIGNALLED + stop.signal
    if session.unexecuted:
        console.note("not executed")
        return session.unexecuted.exit_code or FAILED
    return session.report.exit_code if session.report else DONE


def _open_page(address: str, options: dict[str, Any], console: Console) -> None:
    """Open a page in the browser, unless only its address is wanted."""
    if not options.get("no_open") and not open_browser(address):
        console.note("no browser was found: open the address in one")


def open_browser(address: str) -> bool:
    """Open the browser, if there is a screen for one: a browser of the terminal would take that over."""
    if sys.platform == "linux" and not any(name in os.environ for name in SCREENS):
        return False
    import webbrowser

    return webbrowser.open(address)


def _find_open(workspace: str, text: bytes) -> tuple[str, str] | None:
    """Return the review of a workspace that shows this answer; of no answer, any.

    That is the address of its page, and one that a browser may be started with.
    """
    try:
        with open(_listing(workspace), encoding="utf-8") as file:
            address = file.read().strip()
        parts = urlsplit(address)
        connection = HTTPConnection(parts.netloc, timeout=TIMEOUT)
        body = sha256(text).hexdigest() if text else ""
        connection.request("POST", f"{parts.path}ticket", body, {"Origin": f"http://{parts.netloc}"})
        answer = json.load(connection.getresponse())
        connection.close()
        return (address, answer["address"]) if answer["is_shown"] else None
    except (OSError, HTTPException, ValueError, LookupError):
        return None  # it has ended, or there was none


@contextmanager
def _list_while_open(workspace: str, address: str) -> Iterator[None]:
    """List a review while it is open; one that cannot be listed is open all the same."""
    path = _listing(workspace)
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            os.unlink(path)  # of a review that was killed, or of another answer
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(f"{address}\n")
    try:
        yield
    finally:
        with suppress(OSError):
            with open(path, encoding="utf-8") as file:
                is_own = file.read().strip() == address
            if is_own:
                os.unlink(path)


def _listing(workspace: str) -> str:
    name = sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:32]
    return os.path.join(state_home(), "clada", "reviews", name)


class ReviewPage:
    """The page of `clada watch --review`: it stays open, and shows each answer that arrives."""

    def __init__(self, options: dict[str, Any], console: Console) -> None:
        settings = settings_of(options)
        self._reports: SimpleQueue[SavedReport] = SimpleQueue()
        self._session = Session(
            b"",
            lambda text: plan_for(text, settings),
            settings,
            patience=None,
            on_report=lambda *saved: self._reports.put(saved),
        )
        self._server = Server(self._session)
        self._server.__enter__()
        console.write(f"{self._server.address}\n")
        _open_page(self._server.address_to_open, options, console)

    @property
    def is_busy(self) -> bool:
        """Whether something is carried out."""
        return self._session.is_busy

    def offer(self, text: bytes, source: str) -> None:
        """Show an answer, or say that it has arrived."""
        self._session.offer(text, source)

    def take_reports(self) -> list[SavedReport]:
        """Return the reports since the last call."""
        return [self._reports.get() for _ in range(self._reports.qsize())]

    def close(self) -> None:
        """Stop what is under way, and end."""
        self._session.stop()
        self._session.wait()
        self._server.__exit__()
