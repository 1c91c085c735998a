"""Writes src/clada/constructors.py: one constructor for each number of fields that a value may have."""

from __future__ import annotations

from pathlib import Path

from clada.settings import Settings

MOST = 18
# And that of the settings, which are the largest value by far, and needed by every run.
COUNTS = (*range(MOST + 1), len(Settings.__match_args__))
PATH = Path(__file__).parent.parent / "src/clada/constructors.py"
HEAD = '''\
"""Constructors of values by their number of fields, for values.py to copy with other names.

Written by `python -m tools.constructors`, so that they are compiled once and not at each start.
"""

# ruff: noqa: ANN001, ANN202, E501, PLR0913, PLR0917 (nobody calls them by these names)
# mypy: ignore-errors
# fmt: off
'''


def text() -> str:
    """Return the text of the module."""
    return "\n\n".join([HEAD, *map(_constructor, COUNTS), _table()])


def _constructor(count: int) -> str:
    names = [f"f{number}" for number in range(1, count + 1)]
    body = "".join(f"    self.{name} = {name}\n" for name in names) or "    pass\n"
    return f"def _init_{count}({', '.join(['self', *names])}):\n{body}"


def _table() -> str:
    rows = "".join(f"    {count}: _init_{count},\n" for count in COUNTS)
    return f"CONSTRUCTORS = {{\n{rows}}}\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
