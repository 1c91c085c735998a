"""The docs site has all pages, no link on it leads nowhere, and nothing on a page becomes markup."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from tests.test_docs import PAGES, ROOT
from tools.site import build

if TYPE_CHECKING:
    from pathlib import Path


class Links(HTMLParser):
    """Collects where a page leads, and where one can be led on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.anchors = list[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif (tag, name) in {("a", "href"), ("img", "src"), ("link", "href")}:
                self.links.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert build(ROOT, out) == []
    return out


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    names = {page.relative_to(ROOT).as_posix().removesuffix(".md") for page in PAGES}
    assert built == {f"{name}.html".replace("README", "index") for name in (*names, "CHANGELOG")}


def test_no_link_on_the_site_leads_nowhere(site: Path) -> None:
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    lost = []
    for path, page in pages.items():
        for link in page.links:
            if "://" in link or link.startswith("mailto:"):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (anchor and anchor not in pages[target].anchors):
                lost.append((path.name, link))
    assert lost == []


def test_links_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "a.md").write_text("# A\n\n## Part one\n\n[r](../README.md#top)\n")
    (root / "README.md").write_text(
        "# Top\n\n[a](docs/a.md#part-one) [b](docs/a.md#part-two)\n"
        "[c](docs/no.md) [d](../outside) ![e](no.svg)\n"
    )
    (tmp_path / "outside").write_text("secret")
    assert build(root, tmp_path / "out") == [
        "README.md: docs/a.md#part-two leads nowhere",
        "README.md: docs/no.md leads nowhere",
        "README.md: ../outside leads nowhere",
        "README.md: no.svg leads nowhere",
    ]


def test_prompts_are_not_copied_and_nothing_becomes_markup(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# <b>T</b>\n\n<script>x</script>\n\n```console\n$ echo '<i>'\n<i>\n```\n\n```sh\nls <x\n```\n"
    )
    assert build(tmp_path, tmp_path / "out") == []
    text = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert '<span class="prompt">$ </span><span class="typed">echo' in text
