"""The prose of an answer between its operations: Markdown, without HTML, links or images."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from clada.review.markup import Markup, el, visible

try:
    from markdown_it import MarkdownIt
except ImportError:  # as in the one-file build: the answer's words are shown as they are
    MarkdownIt = None  # type: ignore[assignment, misc]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import clada

MAX_PROSE = 4000  # characters beside one operation
FENCES = (b"```", b"~~~")
# Lines of a notation around its operations, which are not prose.
MARKUP = re.compile(r'[\s\[\]{},:]*("?tasks?"?[\s\[\]{},:]*)?|\s*</?[a-zA-Z][^<>]*>\s*')
# A link could lead away from the page, an image would be loaded.
UNWANTED = ("html_block", "html_inline", "link", "image", "autolink", "reference", "entity")


def render_prose(prose: str) -> Markup:
    """Return prose as markup."""
    if not prose:
        return Markup()
    shown = visible(prose)
    markup = el("pre", shown) if MarkdownIt is None else Markup(_markdown().render(shown))
    return el("div", markup, class_="prose")


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(UNWANTED)
    rules: dict[str, Any] = {
        # The page has headings of its own; in an answer they are no parts of it.
        "heading_open": lambda *_: '<p class="heading">',
        "heading_close": lambda *_: "</p>\n",
        "fence": _code,
        "code_block": _code,
    }
    markdown.renderer.rules.update(rules)  # type: ignore[attr-defined]  # of the HTML renderer
    return markdown


def _code(tokens: Sequence[Any], index: int, *_: Any) -> str:
    return el("pre", el("code", tokens[index].content), tabindex=0)


def split_prose(plan: clada.Plan, start_delimiter: str) -> Iterator[str]:
    """Yield the prose before each operation, and after the last."""
    at, in_fence = 0, False
    for item in [item for block in plan.blocks for item in block.operations]:
        start, end = item.span
        prose, in_fence = _prose(plan.source[at:start], start_delimiter, in_fence=in_fence)
        said, _, last = prose.rpartition("\n")
        is_name = last.strip("*`#: ") == item.target  # of the file, right above its content
        yield (said if is_name else prose).strip()[:MAX_PROSE]
        lines = plan.source[start:end].strip().splitlines() or [b""]
        if lines[0].startswith(FENCES):  # it may hold its fence, or the beginning of it
            in_fence = not lines[-1].startswith(FENCES)
        at = max(at, end)
    yield _prose(plan.source[at:], start_delimiter, in_fence=in_fence)[0][:MAX_PROSE]


def _prose(data: bytes, start_delimiter: str, *, in_fence: bool) -> tuple[str, bool]:
    """Return the prose between two operations, and whether it ends inside a fence.

    A fence that is open at either end is that of an operation.
    """
    kept: list[str] = []
    fenced: list[str] = []
    is_own = False  # the fence is all here
    for line in data.decode(errors="replace").splitlines():
        if line.lstrip().encode().startswith(FENCES):
            kept += [*fenced, line] if is_own else []
            in_fence = not in_fence
            fenced, is_own = [line], in_fence
        elif in_fence:
            fenced.append(line)
        elif not line.startswith(start_delimiter) and (not line.strip() or not MARKUP.fullmatch(line)):
            kept.append(line)
    return "\n".join(kept).strip(), in_fence
