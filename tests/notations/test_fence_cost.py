"""Fences that are indented: how much work each of very many takes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from clada import parse

MOST_CALLS = 300  # of functions, for each line


def calls(text: str) -> int:
    """Return how many functions are called to read a text, those of Python itself included."""
    count = 0

    def keep(_frame: object, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(keep)
    try:
        parse(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "lines", ["    ```\n", "\t```py\n", "        - x\n    ```\n", "      ```\n  text\n", "- x\n      ```\n"]
)
def test_each_of_many_indented_fences_takes_the_same_work(lines: str) -> None:
    """It does not grow with their number, nor do all look through the same lines above them."""
    few, many = calls(lines * 500), calls(lines * 2000)
    assert many < 4.5 * few
    assert many < MOST_CALLS * 2000 * lines.count("\n")
