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
WIDE, LOW, PHONE = (
    {"width": 1200, "height": 800},
    {"width": 1200, "height": 560},
    {"width": 400, "height": 800},
)
COLOURS = 224  # of a picture: a page has few, and letters have edges

CART = '''"""The cart of the shop."""


class Cart:
    """Items, and what they cost."""

    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)

    def total(self):
        total = 0
        for item in self.items:
            total = total + item.price
        return total
'''
LEGACY = "".join(
    f"def old_price_{number}(item):\n    return item.price * {number}\n\n\n" for number in range(1, 7)
)
APP = """export function render(cart) {
  const list = document.querySelector('#list');
  list.innerHTML = '';
  for (const item of cart.items) list.append(item.name);
}
"""
FILES = {
    "shop/cart.py": CART,
    "shop/legacy.py": LEGACY,
    "web/app.js": APP,
    "config.toml": 'currency = "EUR"\n',
}
SHOP = """## Totals with counts

The total ignored `count`. I changed **three** things:

1. `Cart.total` multiplies by the count,
2. there are discounts now,
3. the legacy prices are gone.

<---SEARCH file="shop/cart.py"--->
            total = total + item.price
        return total
<---REPLACE--->
            total += item.price * item.count
        return round(total, 2)
<---END--->
<---WRITE file="shop/discount.py"--->
\"\"\"Discounts.\"\"\"


def discounted(amount: float, percent: int) -> float:
    if not 0 <= percent <= 100:
        raise ValueError(f"no percentage: {percent}")
    return round(amount * (100 - percent) / 100, 2)
<---END--->
The list is emptied at once:

<---SEARCH file="web/app.js"--->
  const list = document.querySelector('#items');
  list.innerHTML = '';
<---REPLACE--->
  const list = document.querySelector('#items');
  list.replaceChildren();
<---END--->
Nothing uses these any more:

<---RUN--->
rm shop/legacy.py
<---END--->
<---RUN--->
mv config.toml shop.toml
<---END--->
<---RUN--->
python3 -u tests.py
<---END--->
"""
# A command that is not done before somebody has seen it.
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


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with browser() as chromium:
        for answer, take in SCENES:
            with tempfile.TemporaryDirectory() as folder, review(Path(folder), answer) as address:
                take(opened(chromium, address), Path(folder))


def whole_way(page: Any, folder: Path) -> None:
    """Look, in the light and in the dark and on a phone; choose, apply, undo."""
    save(page, "review")
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Side by side").click()
    save(page, "review-dark")
    page.get_by_role("button", name="Side by side").click()
    page.emulate_media(color_scheme="light")
    save(page, "review-phone", PHONE)
    page.set_viewport_size(LOW)
    show(page, "op-2")
    save(page, "review-failing", LOW)
    page.locator("#op-2 .place").click()
    page.wait_for_selector("#op-2:not([data-failing])")
    page.get_by_label("note on task 3", exact=True).click()
    page.keyboard.type("the element is called #list")
    show(page, "op-2")
    save(page, "review-place", LOW)
    show(page, "op-3")
    save(page, "review-deleting", LOW)
    page.get_by_label("Once").check()
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#confirm[open]")
    save(page, "review-confirm", LOW)
    page.get_by_role("button", name="Apply and run them").click()
    page.wait_for_selector(".output:has-text('test 7 of 12')")
    page.wait_for_selector(".outcome:has-text('running, 2 s')")
    save(page, "review-running", LOW)
    (folder / "project" / "seen").touch()
    page.wait_for_selector("#report:not([hidden])")
    save(page, "review-done", LOW)
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".message:has-text('Undone')")
    save(page, "review-undone", LOW)


def empty(page: Any, _folder: Path) -> None:
    """Look at a page without an answer."""
    save(page, "review-empty", LOW)


def hostile(page: Any, _folder: Path) -> None:
    """Look at markup, and at what cannot be seen."""
    save(page, "review-hostile", LOW)


def show(page: Any, name: str) -> None:
    """Scroll to an operation."""
    page.evaluate("name => document.getElementById(name).scrollIntoView()", name)


# What each picture needs: an answer, and who takes it.
SCENES: tuple[tuple[str, Callable[[Any, Path], None]], ...] = (
    (SHOP, whole_way),
    ("", empty),
    (HOSTILE, hostile),
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
    page.wait_for_selector(".card, #messages > *")
    return page


@contextmanager
def review(folder: Path, answer: str) -> Iterator[str]:
    """Yield the address of a review of an answer, in a small project."""
    project = folder / "project"
    for path, content in {**FILES, "tests.py": TESTS}.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(content, encoding="utf-8")
    (folder / "answer.md").write_text(answer, encoding="utf-8")
    git = ["git", "-c", "user.name=clada", "-c", "user.email=clada@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "shapes"]):
        subprocess.run([*git, *words], cwd=project, check=True)
    command = [sys.executable, "-m", "clada", "review", "--no-open", str(folder / "answer.md")]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip() if process.stdout else ""
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
