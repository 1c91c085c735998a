"""Takes the pictures of docs/review.md, of a real review of examples/answer.md in a real browser.

    python -m tools.screenshots

It needs chromium, and what requirements/browser.txt installs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
WIDE, PHONE = {"width": 1000, "height": 700}, {"width": 400, "height": 700}


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with browser() as chromium, tempfile.TemporaryDirectory() as folder, review(Path(folder)) as address:
        page = opened(chromium, address, viewport=WIDE)
        save(page, "review")
        page.keyboard.press("s")
        page.emulate_media(color_scheme="dark")
        save(page, "review-dark")
        page.keyboard.press("s")
        page.set_viewport_size(PHONE)
        save(page, "review-phone")
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="light")
        page.get_by_label("Once").check()
        page.get_by_role("button", name="Apply").click()
        page.wait_for_selector("#report-title:has-text('Done')")
        save(page, "review-report")


def save(page: Any, name: str) -> None:
    """Take a picture of what is seen."""
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / f"{name}.png")
    print(PICTURES / f"{name}.png")


@contextmanager
def browser() -> Iterator[Any]:
    """Yield a browser that runs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Root, and many containers, have no sandbox for it; it sees nothing but pages of our own.
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


def opened(chromium: Any, address: str, **options: Any) -> Any:
    """Return a page that shows a review."""
    page = chromium.new_page(**options)
    page.goto(address)
    page.wait_for_selector(".hunk")
    return page


@contextmanager
def review(folder: Path) -> Iterator[str]:
    """Yield the address of a review of the example."""
    project = folder / "project"
    shutil.copytree(ROOT / "examples" / "project", project)
    git = ["git", "-c", "user.name=clada", "-c", "user.email=clada@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "shapes"]):
        subprocess.run([*git, *words], cwd=project, check=True)
    command = [sys.executable, "-m", "clada", "review", "--no-open", str(ROOT / "examples" / "answer.md")]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip() if process.stdout else ""
        process.terminate()


if __name__ == "__main__":
    main()
