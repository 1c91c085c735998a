"""A review of an answer in a workspace of its own, served by the real command; and a real browser for it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import CLADA, Shell
from tests.programs import skip_without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LONG = 60.0
LONG_MS = LONG * 1000
# Root, and many containers, have no sandbox for a browser; ours sees nothing but pages of our own. So these
# share one process that renders: one for each page, and another in advance, is a third of what all costs.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-site-isolation-trials",
    "--renderer-process-limit=1",
)


class Review(Shell):
    """`clada review`, or a command like it, under way in a repository with a few files."""

    def __init__(
        self,
        top: Path,
        answer: str,
        files: dict[str, str],
        flags: tuple[str, ...],
        command: tuple[str, ...] = ("review",),
    ) -> None:
        super().__init__(top)
        self.top = top
        for path, content in files.items():
            self.write(path, content)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "before", "--allow-empty")
        (top / "answer.md").write_text(answer, encoding="utf-8")
        self.process = subprocess.Popen(
            [*CLADA, *command, "--no-open", *flags, str(top / "answer.md")],
            cwd=self.workspace,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()

    def read(self, path: str) -> str:
        """Return what a file of the workspace has."""
        return (self.workspace / path).read_text(encoding="utf-8")

    def again(self, *words: str) -> tuple[int, str, str]:
        """Call `clada review` again; return its exit code, and what it prints."""
        command = [*CLADA, "review", "--no-open", *words]
        done = subprocess.run(
            command,
            cwd=self.workspace,
            env=self.environment,
            capture_output=True,
            check=False,
            text=True,
            timeout=LONG,
        )
        return done.returncode, done.stdout, done.stderr

    def end(self) -> tuple[int, str, str]:
        """Wait for the command to end; return its exit code, and what else it printed."""
        out, err = self.process.communicate(timeout=LONG)
        return self.process.returncode, out, err

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Callable[..., Review]]:
    """Return what starts a review: of an answer, with files in the workspace, and flags."""
    started: list[Review] = []

    def start(
        answer: str,
        files: dict[str, str] | None = None,
        flags: tuple[str, ...] = (),
        command: tuple[str, ...] = ("review",),
    ) -> Review:
        started.append(Review(tmp_path, answer, files or {}, flags, command))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture(scope="module")  # it has an event loop running, which tests of other modules may not want
def browser() -> Iterator[Any]:
    """Return a browser that runs."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (requirements/browser.txt)"
    )
    skip_without("chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS])
        yield browser
        browser.close()


class Tab:
    """A page of the browser, and all that went wrong on it."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.page = self.context.new_page()
        self.page.set_default_timeout(LONG_MS)
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("dialog", self._dismiss)
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _dismiss(self, dialog: Any) -> None:
        self.wrong.append("a dialog")
        dialog.dismiss()

    def open(self, address: str) -> Any:
        """Open a review, and wait until its operations are there."""
        self.page.goto(address)
        self.page.wait_for_selector(".card, #messages > *")
        return self.page


@pytest.fixture(scope="module")
def context(browser: Any) -> Any:
    """Return what tabs of the usual size share; each review has a port, and so an origin, of its own."""
    shared = browser.new_context(viewport={"width": 1200, "height": 900})
    shared.new_page()  # which is never closed: the process that renders ends with its last page
    return shared


@pytest.fixture
def tab(context: Any) -> Iterator[Tab]:
    """Return a tab in which nothing goes wrong, at the end."""
    tab = Tab(context)
    yield tab
    tab.page.close()
    assert tab.wrong == []
