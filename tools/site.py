"""Builds the docs site from the pages of the repository, and checks its links: `python -m tools.site OUT`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
# The parts of the site, in the order in which a person meets them; each with its pages.
PARTS = (
    ("Start", ("README.md",)),
    ("Workflows", ("docs/workflows/web-chat.md", "docs/workflows/*.md")),
    ("Reference", ("docs/*.md",)),
    (
        "Contributing",
        ("CONTRIBUTING.md", "docs/contributing/*.md", "docs/contributing/decisions/*.md", "CHANGELOG.md"),
    ),
)
STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
nav { padding: 1.5rem 1rem; border-right: 1px solid var(--line); height: 100vh; overflow: auto; position: sticky; top: 0; }
nav h2 { font-size: .8rem; text-transform: uppercase; letter-spacing: .06em; opacity: .7; margin: 1.2rem 0 .3rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .15rem .5rem; border-radius: .3rem; text-decoration: none; color: inherit; }
nav a:hover, nav a[aria-current] { background: var(--soft); }
main { padding: 1.5rem clamp(1rem, 4vw, 3rem); max-width: 62rem; }
h1, h2, h3 { line-height: 1.25; } h2 { border-bottom: 1px solid var(--line); padding-bottom: .2rem; margin-top: 2.2rem; }
pre { background: var(--soft); padding: .8rem 1rem; border-radius: .4rem; overflow: auto; font-size: .87rem; line-height: 1.45; }
code { font-family: ui-monospace, monospace; font-size: .92em; } p code, li code, td code { background: var(--soft); padding: .1em .3em; border-radius: .25em; }
pre .prompt, pre .file { user-select: none; opacity: .55; } pre .typed { font-weight: 600; }
table { border-collapse: collapse; display: block; overflow: auto; } th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
@media (max-width: 50rem) { body { display: flex; flex-direction: column; } main { order: -1; } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); } }
"""  # noqa: E501 (a rule a line)


class Page:
    """A page of the repository, and what it becomes."""

    def __init__(self, root: Path, path: Path) -> None:
        self.source = path
        self.name = path.relative_to(root).as_posix()
        self.target = "index.html" if self.name == "README.md" else f"{self.name.removesuffix('.md')}.html"
        self.tokens = MARKDOWN.parse(path.read_text(encoding="utf-8"))
        self.anchors = set[str]()
        for opening, content in zip(self.tokens, self.tokens[1:], strict=False):
            if opening.type == "heading_open":
                opening.attrSet("id", self._new_anchor(_plain(content)))
        headings = zip(self.tokens, self.tokens[1:], strict=False)
        self.title = next((_plain(text) for each, text in headings if each.tag == "h1"), self.name)

    def _new_anchor(self, title: str) -> str:
        """Return what GitHub makes of a heading, so that links work in both places."""
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        anchor, number = slug, 0
        while anchor in self.anchors:
            number += 1
            anchor = f"{slug}-{number}"
        self.anchors.add(anchor)
        return anchor


def _plain(token: Token) -> str:
    return "".join(child.content for child in token.children or ())


def _fence(code: str, language: str, file: str) -> str:
    """Return a block of code in colour, its file's name first; what one types is copied without prompts."""
    if file:
        return f'<span class="file">{escape(file)}</span>\n{_fence(code, language, "")}'
    if language in ("console", "terminal"):
        return "".join(map(_console_line, code.splitlines(keepends=True)))
    try:
        lexer = get_lexer_by_name(language) if language else None
    except ClassNotFound:
        lexer = None
    if lexer is None:
        return escape(code)
    coloured: str = highlight(code, lexer, HtmlFormatter(nowrap=True))
    return coloured


def _console_line(line: str) -> str:
    for prompt in ("$ ", "> "):
        if line.startswith(prompt):
            return (
                f'<span class="prompt">{escape(prompt)}</span><span class="typed">{escape(line[2:])}</span>'
            )
    return escape(line)


MARKDOWN = MarkdownIt("commonmark", {"html": False, "highlight": _fence}).enable("table")


def build(root: Path, out: Path) -> list[str]:
    """Write the site of a repository; return which links lead nowhere."""
    parts = [(title, _pages(root, patterns)) for title, patterns in PARTS]
    by_source = {page.source.resolve(): page for _title, pages in parts for page in pages}
    problems: list[str] = []
    for page in by_source.values():
        for token in (child for each in page.tokens for child in each.children or ()):
            name = {"link_open": "href", "image": "src"}.get(token.type)
            link = str(token.attrs[name]) if name else ""
            if not name or re.match(r"[a-z]+:", link):
                continue
            leads = _resolved(root, page, link, by_source, out)
            if leads is None:
                problems.append(f"{page.name}: {link} leads nowhere")
            else:
                token.attrSet(name, leads)
        target = out / page.target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_html(page, parts), encoding="utf-8")
    (out / "style.css").write_text(_style(), encoding="utf-8")
    return problems


def _pages(root: Path, patterns: Sequence[str]) -> list[Page]:
    found = dict.fromkeys(path for pattern in patterns for path in sorted(root.glob(pattern)))
    return [Page(root, path) for path in found]


def _resolved(root: Path, page: Page, link: str, pages: dict[Path, Page], out: Path) -> str | None:
    """Return where a link leads on the site, None if nowhere; a file that is no page is copied there."""
    path, _, anchor = link.partition("#")
    source = (page.source.parent / path).resolve() if path else page.source.resolve()
    if source.is_dir():  # the first page in it
        source = next((page for page in pages if page.parent == source), source)
    other = pages.get(source)
    here = os.path.dirname(page.target)
    if other is not None:
        if anchor and anchor not in other.anchors:
            return None
        return os.path.relpath(other.target, here or ".") + (f"#{anchor}" if anchor else "")
    if not source.is_file() or not source.is_relative_to(root.resolve()):
        return None
    name = source.relative_to(root.resolve()).as_posix()
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, out / name)
    return os.path.relpath(name, here or ".")


def _html(page: Page, parts: Sequence[tuple[str, Sequence[Page]]]) -> str:
    here = os.path.dirname(page.target) or "."
    menu = []
    for title, pages in parts:
        menu.append(f"<h2>{escape(title)}</h2><ul>")
        for other in pages:
            current = ' aria-current="page"' if other is page else ""
            link = os.path.relpath(other.target, here)
            menu.append(f'<li><a href="{escape(link)}"{current}>{escape(other.title)}</a></li>')
        menu.append("</ul>")
    body = MARKDOWN.renderer.render(page.tokens, MARKDOWN.options, {})
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(page.title)}</title>"
        f'<link rel="stylesheet" href="{os.path.relpath("style.css", here)}">'
        f"</head>\n<body><nav>{''.join(menu)}</nav>\n<main>{body}</main></body></html>\n"
    )


def _style() -> str:
    light, dark = (
        "\n".join(line for line in each.get_style_defs("pre").split("\n") if line.startswith("pre ."))
        for each in (HtmlFormatter(style="friendly"), HtmlFormatter(style="github-dark"))
    )
    return f"{STYLE}{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def main(arguments: Sequence[str]) -> int:
    """Build the site, and say what leads nowhere."""
    out = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    shutil.rmtree(out, ignore_errors=True)
    problems = build(ROOT, out)
    print("\n".join([*problems, f"{out / 'index.html'}"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
