"""Search texts as models get them wrong, in real files: the lines that must be named, or that none may be."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from clada.text.explain import explain
from clada.text.match import Text

FOLDER = Path(__file__).parent / "near_misses"
CASES = tomllib.loads((FOLDER / "cases.toml").read_text())["case"]


def test_there_are_cases_of_all_kinds() -> None:
    """Sixty and more in which a place must be named, and some in which none may be."""
    assert sum(bool(case["lines"]) for case in CASES) >= 60
    assert sum(case["kind"] == "nothing" for case in CASES) >= 15
    assert len({case["kind"] for case in CASES}) == 9
    assert len({(case["kind"], case["name"]) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['name']}")
def test_the_lines_that_were_meant_are_named(case: dict[str, Any]) -> None:
    """These lines and no others, in these words."""
    text, search = Text((FOLDER / "files" / case["file"]).read_bytes()), case["search"].encode()
    assert text.locate(search).count == 0
    told = explain(text, search, case.get("replace", "").encode())
    nearest = told.nearest
    places = [] if nearest is None else [(nearest.first_line, nearest.last_line), *nearest.others]
    assert [f"{first}-{last}" if first < last else f"{first}" for first, last in places] == case["lines"]
    assert case.get("says", "") in told.hint
    assert set(case.get("shows", ())) <= set(told.details.split("\n"))
