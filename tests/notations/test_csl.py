"""CSL: what it costs to read."""

from __future__ import annotations

from typing import Any

import pytest

from clada.notations import csl


class Watched(bytes):
    """A document that knows how many of its bytes were searched."""

    searched = 0

    def find(self, sought: Any, start: Any = 0, end: Any = None, /) -> int:
        """Find as others do."""
        found = super().find(sought, start, end)
        self.searched += (len(self) if found < 0 else found) - start if end is None else 0
        return found


@pytest.mark.parametrize(("start", "end"), [("<---", "--->"), ("[[", "]]"), ("«", "»")])
@pytest.mark.parametrize("content", ["x", "[<«x"])
@pytest.mark.parametrize("operation", ["WRITE", "SEARCH"])
def test_csl_is_read_by_looking_at_each_byte_a_few_times(
    start: str, end: str, content: str, operation: str
) -> None:
    """Not at all the rest for each operation, where none of it has a byte that is looked for."""
    body = content if operation == "WRITE" else f"{content}\n{start}REPLACE{end}\ny"
    document = f'{start}{operation} file="a"{end}\n{body}\n{start}END{end}\nText.\n' * 500
    data = Watched(document.encode())
    assert len(csl.Parser(data, (start, end)).plan().blocks) == 500
    assert data.searched < 10 * len(data)
