"""The conformance corpus (tests/corpus/README.md), read by the library."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import clada

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
TOOL = runpy.run_path(str(ROOT / "tools" / "conformance" / "__main__.py"))
CASES = TOOL["cases"](CORPUS)
EQUALS = TOOL["equals"](CORPUS)
LEAST = {
    "csl": 160,
    "cml": 110,
    "json": 35,
    "toml": 25,
    "detection": 35,
    "sr": 85,
    "v4a": 60,
    "udiff": 65,
    "calls": 80,
    "tags": 60,
    "artifact": 35,
    "nesl": 40,
    "whole": 110,
    "heredoc": 30,
}
OPTIONS = {
    "--format": "notation",
    "--start-delimiter": "start_delimiter",
    "--end-delimiter": "end_delimiter",
}
NOTATIONS = {"csl", "cml", "json", "toml"}


def options(arguments: list[str]) -> dict[str, Any]:
    """Return the library's options for a case's command-line arguments."""
    switches = {"run_fences": True} if "--run-fences" in arguments else {}
    arguments = [word for word in arguments if word != "--run-fences"]
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    roots = {"roots": [given.pop("--root")]} if "--root" in given else {}
    return {**{OPTIONS[flag]: value for flag, value in given.items()}, **roots, **switches}


def test_the_corpus_was_found() -> None:
    """Nothing is proved by a folder that is empty or was moved."""
    assert len(CASES) >= 560
    for folder, least in LEAST.items():
        assert sum(case.name.startswith(folder + "/") for case in CASES) >= least, folder


def test_twelve_intents_are_written_in_all_four_notations() -> None:
    """Nor by intents that only one notation tells."""
    assert sum(set(equal.documents) == NOTATIONS for equal in EQUALS) >= 12
    assert all(len(equal.documents) > 1 for equal in EQUALS)


@pytest.mark.parametrize("folder", sorted({case.name.partition("/")[0] for case in CASES}))
def test_a_document_gives_its_plan(folder: str) -> None:
    """Every document of the corpus gives the plan beside it."""
    wrong = {}
    for case in CASES:
        if case.name.startswith(f"{folder}/"):
            plan = clada.parse(case.document, **options(case.arguments))
            wrong[case.name] = TOOL["differences"](case.expected, plan.to_dict())
    assert {name: differences for name, differences in wrong.items() if differences} == {}


@pytest.mark.parametrize("equal", EQUALS, ids=lambda equal: equal.name)
def test_one_intent_gives_equal_plans(equal: Any) -> None:
    """One intent gives the same plan in every notation that can tell it, places aside."""
    for notation, document in equal.documents.items():
        plan = clada.parse(document)
        assert plan.notation == notation
        assert TOOL["differences"](equal.expected, TOOL["shared_part"](plan.to_dict())) == []
