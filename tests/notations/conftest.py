"""What the tests of notations share: a measure of cost, and limits that are quickly reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.counting import calls

from clada.notations import json_values, structured, toml_scan

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
    return calls(lambda: (notation.sign(text), notation.read(text)))


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the limits of a document a hundredth of what they are: a text beyond them is soon refused."""
    for module in (json_values, structured, toml_scan):
        for name in LIMITS:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(module, name) // 100)
