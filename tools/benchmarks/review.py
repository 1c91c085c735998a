"""What a review costs in a real browser: until it is seen, and while it is scrolled."""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tools.benchmarks.measuring import Row
from tools.screenshots import browser

import clada
from clada.review.server import Handler, Server
from clada.review.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = "".join(f"    value_{number} = compute({number}, 'text')\n" for number in range(8))
WRITE = 'Number {0}.\n<---WRITE file="f{0}.py"--->\n' + LINES + "<---END--->\n"
LONGEST = 200  # milliseconds that a person does not notice
# The time of the frame in which the first operation, or the first paragraph, is seen.
SEEN = """
new MutationObserver((_, observer) => {
  if (!document.querySelector('.card, .empty')) return;
  observer.disconnect();
  requestAnimationFrame(() => { setTimeout(() => { window.seen = performance.now(); }); });
}).observe(document, {childList: true, subtree: true});
window.longest = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({type: 'longtask'});
"""


class _Empty(Handler):
    """Answers with a page of one paragraph."""

    def _page(self, _query: dict[str, list[str]]) -> None:
        self._send(
            200, "text/html; charset=utf-8", b"<!doctype html><title>.</title><p class=empty>empty</p>"
        )


def rows(*, quick: bool) -> Iterator[Row]:
    """Yield what was measured; nothing where there is no browser, or nothing that drives it."""
    if not shutil.which("chromium") or not find_spec("playwright"):
        return
    with browser() as chromium, tempfile.TemporaryDirectory() as folder:
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        page.add_init_script(SEEN)
        with _server(folder, 20 if quick else 200) as full, _server(folder, 0) as empty:
            empty.RequestHandlerClass = _Empty
            seen = [[_seen(page, each.address) for each in (full, empty)] for _ in range(1 if quick else 30)]
        first, nothing = (min(times) for times in zip(*seen, strict=True))
        yield Row(
            "200 operations seen in `clada review` / an empty page served the same way", first / nothing, 2
        )
        with _server(folder, 100 if quick else 2000) as many:
            page.goto(many.address)
            longest = min(_scrolled(page, 5 if quick else 80) for _ in range(1 if quick else 3))
        yield Row("the longest task while 2,000 operations are scrolled / 200 ms", longest / LONGEST, 1)


def _server(folder: str, operations: int) -> Server:
    answer = "".join(WRITE.format(number) for number in range(operations))
    return Server(Session(answer.encode(), clada.parse, clada.Settings(workspace=folder, record="none")))


def _seen(page: Any, address: str) -> float:
    page.goto(address)
    while not (seen := page.evaluate("() => window.seen")):
        page.wait_for_timeout(5)
    return float(seen)


def _scrolled(page: Any, steps: int) -> float:
    page.evaluate("() => { scrollTo(0, 0); window.longest = 0; }")
    page.mouse.move(600, 400)
    for _ in range(steps):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(16)
    return float(page.evaluate("() => window.longest"))
