"""What starting costs: the installed command against a bare start of the same Python."""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

from tools.benchmarks.measuring import Row, installed, least, search, start
from tools.build_pyz import build

LS = b"Let me look:\n<---RUN--->\nls\n<---END--->\n"


def rows(rounds: int = 40) -> list[Row]:
    """Return what was measured."""
    python, clada = installed()
    numbers = itertools.count(10**6)  # each edit is of what the one before it left
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "app.js").write_text(f"console.log(\n  {10**6}\n);\n")

        def edit() -> None:
            number = next(numbers)
            document = search("app.js", str(number), str(number + 1))
            start([clada, "--no-git"], folder, document.encode())

        build(Path(folder, "clada.pyz"), {sys.version_info[:2]: python})
        bare, one_edit, ls, one_file = least(
            rounds,
            lambda: start([python, "-c", "pass"], folder),
            edit,
            lambda: start([clada, "--no-git"], folder, LS),
            lambda: start([python, "clada.pyz", "--no-git"], folder, LS),
        )
    return [
        Row("one edit, no git / bare python", one_edit / bare, 2.5),
        Row("one `ls`, no git / bare python", ls / bare, 3.0),
        Row("one `ls`, no git: clada.pyz / installed", one_file / ls, 1.5),
    ]
