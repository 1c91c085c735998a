"""Counts the functions and modules of clada that one document visits: python -m tools.trace [--list].

The document is one WRITE that creates a file in a new directory, by the command line and without git; it is
run twice, so that all imports are done.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING

from clada.cli import main

if TYPE_CHECKING:
    from types import FrameType

DOCUMENT = '<---WRITE file="folder/new.txt"--->\nHello!\n<---END--->\n'
INNER = ("<genexpr>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>")  # parts of another one


def visited(arguments: list[str]) -> dict[str, set[str]]:
    """Return the functions that are entered while the command line runs, by their modules."""
    found: dict[str, set[str]] = {}

    def note(frame: FrameType, event: str, _argument: object) -> None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if event == "call" and module.split(".")[0] == "clada" and not name.endswith(INNER):
            found.setdefault(module, set()).add(name)

    sys.setprofile(note)
    try:
        main(arguments)
    finally:
        sys.setprofile(None)
    return found


def run() -> None:
    """Run the document twice, and print what the second run visited."""
    found: dict[str, set[str]] = {}
    for _ in range(2):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "answer.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(DOCUMENT)
            work = os.path.join(directory, "work")
            os.mkdir(work)
            found = visited(["--no-git", "--output-mode=stream", "--workspace", work, path])
    if "--list" in sys.argv:
        for module in sorted(found):
            print(f"{module}: {', '.join(sorted(found[module]))}")
    print(f"{sum(map(len, found.values()))} functions in {len(found)} modules")


if __name__ == "__main__":
    run()
