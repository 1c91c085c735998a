"""Takes the pictures of docs/review.md, of real reviews in a real browser.

    python -m tools.screenshots

It needs chromium, and what requirements/browser.txt installs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
EXAMPLE = (ROOT / "examples" / "answer.md").read_text(encoding="utf-8")
WIDE, LOW, PHONE = (
    {"width": 1000, "height": 700},
    {"width": 1000, "height": 480},
    {"width": 400, "height": 700},
)
COLOURS = 224  # of a picture: a page has few, and letters have edges

NAMES = "".join(f"name_{number} = {number}\n" for number in range(1, 31))
HUNKS = f"""Two of the names are taken already:

<---WRITE file="names.py"--->
{NAMES.replace("name_2 =", "first_name =").replace("name_29 =", "last_name =")}
<---END--->
"""
# A command that is not done before somebody has seen it.
LIVE = """The tests, one by one:

<---RUN--->
python3 -u tests.py
<---END--->
"""
TESTS = """import os, time
for number in range(1, 8):
    print(f"test {number} of 12 ... ok")
while not os.path.exists("seen"):
    time.sleep(0.05)
"""
MARKUP = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = f"""{MARKUP} is what this answer says.

<---WRITE file="<b>index</b>.html"--->
{MARKUP}
harmless\u202egnp.exe\u200b
<---END--->
{MARKUP}
<---RUN--->
python3 -c 'print("{MARKUP}")' \u0430dmin.py
<---END--->
"""
MANY = "".join(
    f'<---WRITE file="settings/host_{number:04}.py"--->\nHOST = "host-{number}"\nPORT = {8000 + number}\n'
    "<---END--->\n"
    for number in range(1, 2001)
)


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with browser() as chromium:
        for answer, files, take in SCENES:
            with tempfile.TemporaryDirectory() as folder, review(Path(folder), answer, files) as address:
                take(opened(chromium, address), Path(folder))


def whole_way(page: Any, _folder: Path) -> None:
    """Look, in the light and in the dark and on a phone; approve, apply, undo."""
    save(page, "review")
    page.keyboard.press("s")
    page.emulate_media(color_scheme="dark")
    save(page, "review-dark")
    page.keyboard.press("s")
    save(page, "review-phone", PHONE)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(LOW)
    page.get_by_label("Once").check()
    page.locator(".card", has=page.locator("fieldset")).scroll_into_view_if_needed()
    save(page, "review-approval", LOW)
    page.set_viewport_size(WIDE)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#report-title:has-text('1 of 4 failed')")
    save(page, "review-report")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("#report-title:has-text('Undone')")
    save(page, "review-undone", LOW)


def hunks(page: Any, _folder: Path) -> None:
    """Leave out one of two hunks."""
    page.get_by_label("hunk 1 of 2 of names.py").uncheck()
    save(page, "review-hunks", LOW)


def live(page: Any, folder: Path) -> None:
    """Look at what a command prints while it runs."""
    page.get_by_label("Once").check()
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector(".output:has-text('test 7 of 12')")
    save(page, "review-live", LOW)
    (folder / "project" / "seen").touch()
    page.wait_for_selector("#report-title:has-text('Done')")


def hostile(page: Any, _folder: Path) -> None:
    """Look at markup, and at what cannot be seen."""
    save(page, "review-hostile", LOW)


def many(page: Any, _folder: Path) -> None:
    """Look at the last of many operations."""
    while not page.locator(".card[data-index='1999'] .hunk").count():
        page.keyboard.press("End")
        page.wait_for_timeout(200)
    save(page, "review-many", LOW)


# What each picture needs: an answer, files beside those of the example, and who takes it.
SCENES: tuple[tuple[str, dict[str, str], Callable[[Any, Path], None]], ...] = (
    (EXAMPLE, {}, whole_way),
    (HUNKS, {"names.py": NAMES}, hunks),
    (LIVE, {"tests.py": TESTS}, live),
    (HOSTILE, {}, hostile),
    (MANY, {}, many),
)


def save(page: Any, name: str, size: dict[str, int] | None = None) -> None:
    """Take a picture of what is seen, in few colours."""
    from PIL import Image

    page.set_viewport_size(size or WIDE)
    page.wait_for_timeout(300)
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)
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


def opened(chromium: Any, address: str) -> Any:
    """Return a page that shows a review."""
    page = chromium.new_page(viewport=WIDE)
    page.goto(address)
    page.wait_for_selector(".card")
    return page


@contextmanager
def review(folder: Path, answer: str, files: dict[str, str]) -> Iterator[str]:
    """Yield the address of a review of an answer, in the example's project."""
    project = folder / "project"
    shutil.copytree(ROOT / "examples" / "project", project)
    for path, content in files.items():
        (project / path).write_text(content, encoding="utf-8")
    (folder / "answer.md").write_text(answer, encoding="utf-8")
    git = ["git", "-c", "user.name=clada", "-c", "user.email=clada@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "shapes"]):
        subprocess.run([*git, *words], cwd=project, check=True)
    command = [sys.executable, "-m", "clada", "review", "--no-open", str(folder / "answer.md")]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().strip() if process.stdout else ""
        process.terminate()


if __name__ == "__main__":
    main()
