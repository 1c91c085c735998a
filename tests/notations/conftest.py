"""What the tests of notations share: a measure of cost, and limits that are quickly reached."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from clada.notations import json, structured, toml_scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Steps = Callable[[ModuleType, bytes], int]

LIMITS = ("MAX_TASKS", "MAX_TABLES", "MAX_VALUES")


@pytest.fixture
def steps() -> Steps:
    """Return what counts the calls that reading takes: a measure that no other load disturbs."""
    return _steps


def _steps(notation: ModuleType, text: bytes) -> int:
    count = 0

    def seen(_frame: object, _event: str, _argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(seen)
    try:
        notation.sign(text)
        notation.read(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the limits of a document a hundredth of what they are: a text beyond them is soon refused."""
    for module in (json, structured, toml_scan):
        for name in LIMITS:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name) // 100)
