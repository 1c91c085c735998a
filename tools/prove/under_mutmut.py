"""A plugin of pytest for mutation testing: it lets mutmut 3.8 work with pytest 9.2, and saves time."""

from __future__ import annotations

from typing import Any

from hypothesis import Phase, settings

# An example that fails is enough: that it be small or kept is for people.
settings.register_profile(
    "mutants",
    max_examples=50,
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("mutants")


def pytest_itemcollected(item: Any) -> None:
    """Give the item its name under the attribute that mutmut reads and pytest no longer has."""
    item._nodeid = item.nodeid  # noqa: SLF001 (it is what mutmut reads)
