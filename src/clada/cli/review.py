"""`clada review`: the plan as a page in the browser, where it is chosen from, carried out and undone."""

from __future__ import annotations

import os
import sys
from select import select

from clada.cli import open_reviews
from clada.cli.console import STDIN
from clada.cli.document import read, settings_of, with_uncommitted
from clada.cli.first_use import with_record
from clada.cli.signals import stop_on_signals
from clada.exit_codes import DONE, FAILED, SIGNALLED
from clada.report import commits_line
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console

# The variables that say where a browser can be shown.
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Serve the page until it is closed; return the exit code of the last run, 1 where there was none."""
    # Without a document there is a page to paste one into.
    is_empty = not arguments and os.isatty(STDIN)
    text = b"" if is_empty else read(arguments, console)
    from clada.review.server import Server
    from clada.review.session import PATIENCE, Session

    workspace = os.path.realpath(options["workspace"])
    if running := open_reviews.find(workspace, text or b""):
        console.write(f"{running.address}\n")
        console.note("this review is open already")
        open_page(running.address_to_open, options, console)
        return DONE
    options = with_uncommitted(options, arguments)
    options = with_record(options, console)

    def say_that_it_stays() -> None:
        minutes = round(PATIENCE / 60)
        stays = f"the page was closed; the review stays for {minutes} minutes: clada review opens it again"
        console.note(f"{stays}, Ctrl+C ends it")

    session = Session(
        text or b"",
        lambda text: plan_for(text, settings_of(options)),
        settings_of(options),
        on_alone=say_that_it_stays,
    )
    with (
        stop_on_signals(session.stop) as stop,
        Server(session) as server,
        open_reviews.listed(workspace, server.address),
    ):
        console.write(f"{server.address}\n")
        open_page(server.address_to_open, options, console)
        select([session.ended, stop.handle], [], [])
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


def open_page(address: str, options: dict[str, Any], console: Console) -> None:
    """Open a page in the browser, unless only its address is wanted."""
    if not options.get("no_open") and not open_browser(address):
        console.note("no browser was found: open the address in one")


def open_browser(address: str) -> bool:
    """Open the browser, if there is a screen for one: a browser of the terminal would take that over."""
    if sys.platform == "linux" and not any(name in os.environ for name in SCREENS):
        return False
    import webbrowser

    return webbrowser.open(address)
