"""Documentation pages of installed packages are not answers: they plan nothing but files that they name.

Such a page may show a whole file below its name, as an answer does; then the file is planned. Anything else
(a command, an edit, a file named after a heading) would be a wrong write.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import clada

if TYPE_CHECKING:
    from tests.conftest import Place

    from clada.model import Operation

PACKAGES = Path(sysconfig.get_path("purelib"))
OTHER_CONTENT = "".join(f"line {number}\n" for number in range(500))
HEADINGS = """\
What is new
===========

tornado.log
~~~~~~~~~~~

- One change.

tornado.web
~~~~~~~~~~~

- Another.
"""


def pages() -> list[str]:
    """Return the descriptions of all packages but our own, and their pages."""
    found = []
    for path in sorted(PACKAGES.rglob("*")):
        is_description = path.name == "METADATA" and not path.parent.name.startswith("clada-")
        if path.is_file() and (is_description or path.suffix in (".md", ".rst")):
            text = path.read_text(encoding="utf-8", errors="replace")
            found.append(text.partition("\n\n")[2] if is_description else text)
    return found


def operations(page: str) -> list[Operation]:
    """Return what would be carried out; a file that only a sentence names is asked about, or refused."""
    plan = clada.parse(page)
    items = [item for block in plan.blocks for item in block.operations] if plan.ok else []
    return [
        item
        for item in items
        if not isinstance(item, clada.Invalid) and getattr(item, "named_in", "") != "sentence"
    ]


def is_named(page: str, write: Operation) -> bool:
    """Whether a write is of a file whose name is in the first line of its fence, or right above it."""
    above = page.splitlines()[max(write.line - 3, 0) : write.line + 1]
    words = {word.strip("*_`#:-\"'").removeprefix('title="') for line in above for word in line.split()}
    return write.name == "write" and write.target in words


def test_pages_plan_nothing_but_files_that_they_name() -> None:
    """There are some dozens of pages, and most have examples in fences."""
    found = pages()
    assert len(found) >= 30
    assert sum("```" in page for page in found) >= 10
    assert [item for page in found for item in operations(page) if not is_named(page, item)] == []


def test_no_page_replaces_a_file(place: Place) -> None:
    """What a page shows of a file that is there is an example: it does not replace the file."""
    for page in pages():
        for item in operations(page):
            place.write(item.target, OTHER_CONTENT)
            done = place.clada(page)
            assert done.returncode == 1, done.stdout
            assert (place.inside / item.target).read_text() == OTHER_CONTENT


def test_a_heading_underlined_with_tildes_is_no_fence() -> None:
    """As in reStructuredText; a fence is shorter than the name above it, or has less than six tildes."""
    assert clada.parse(HEADINGS).blocks == ()
    assert len(clada.parse("a.py\n~~~~\nx = 1\n~~~~\n").blocks) == 1
    assert len(clada.parse("longer_name.py\n~~~~~~~~\nx = 1\n~~~~~~~~\n").blocks) == 1
