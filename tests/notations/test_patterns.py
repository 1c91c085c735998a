"""The patterns that notations are read with mean the same in every version of Python that we support.

Before 3.11.5, a possessive group that ends with a failed round goes on from where that round last looked
ahead or repeated something, not from where it began. So a round must not fail once it has come that far.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

from clada.notations import cml, csl, hidden, hidden_forms, json, lookalikes, markdown, path_text, toml
from clada.notations.dialects import sr, udiff, udiff_files, v4a

PARSER: Any = import_module("re._parser")
MODULES = (
    cml, csl, hidden, hidden_forms, json, lookalikes, markdown, path_text, sr, toml,
    udiff, udiff_files, v4a,
)  # fmt: skip
LOOKS = ("ASSERT", "ASSERT_NOT")
REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
GROUPS = ("SUBPATTERN", "ATOMIC_GROUP")


def patterns() -> dict[str, bytes | str]:
    """Return what the modules of notations compile, and the texts that they make patterns of."""
    named = [
        (f"{module.__name__}.{name}", value) for module in MODULES for name, value in vars(module).items()
    ]
    found = {name: getattr(value, "pattern", value) for name, value in named if "__" not in name}
    return {
        name: value for name, value in found.items() if isinstance(value, bytes | str) and is_pattern(value)
    }


def is_pattern(text: bytes | str) -> bool:
    """Tell whether a text is a pattern, rather than something else or a part of one."""
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def risky_groups(pattern: bytes | str) -> list[str]:
    """Return the possessive groups in a pattern whose rounds can fail too late."""
    return [str(body) for body in possessive(PARSER.parse(pattern)) if any(map(fails_late, ways(body)))]


def possessive(tree: Any) -> list[Any]:
    """Return what the possessive repetitions in a parsed pattern repeat."""
    found = []
    for kind, value in tree:
        if str(kind) == "POSSESSIVE_REPEAT":
            found.append(value[2])
        for inner in inside(str(kind), value):
            found += possessive(inner)
    return found


def inside(kind: str, value: Any) -> list[Any]:
    """Return the parsed patterns that are inside of a part of one."""
    if kind == "BRANCH":
        return list(value[1])
    if kind in REPEATS:
        return [value[2]]
    if kind in LOOKS:
        return [value[1]]
    return [value if kind == "ATOMIC_GROUP" else value[3]] if kind in GROUPS else []


def ways(tree: Any) -> list[list[tuple[str, Any]]]:
    """Return the sequences of parts that a round can consist of."""
    found: list[list[tuple[str, Any]]] = [[]]
    for part, value in tree:
        kind = str(part)
        more = [[(kind, value)]]
        if kind == "BRANCH" or kind in GROUPS:
            more = [way for inner in inside(kind, value) for way in ways(inner)]
        found = [[*way, *rest] for way in found for rest in more]
    return found


def fails_late(way: list[tuple[str, Any]]) -> bool:
    """Tell whether a sequence of parts can fail after it has looked ahead or begun to repeat something.

    That does no harm at its start, where the round itself began.
    """
    for index, (kind, value) in enumerate(way):
        if kind in LOOKS and index:
            return True
        if kind in REPEATS and ((index and value[0]) or any(map(can_fail, way[index + 1 :]))):
            return True
    return False


def can_fail(part: tuple[str, Any]) -> bool:
    """Tell whether a part must match something."""
    kind, value = part
    return kind not in REPEATS or value[0] > 0


def test_no_possessive_group_keeps_what_a_failed_round_went_over() -> None:
    """A round of a possessive group fails at its start, or not at all."""
    found = patterns()
    assert found
    assert [name for name, pattern in found.items() if risky_groups(pattern)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        rb'(?:[^"]++|"(?!""))*+',
        rb'(?:"[^"]*+")*+',
        rb"(?:a(?:[xy]*b|c))++",
        rb"(?:a[0-9]{3})*+",
        rb"x(?:y(?:ab*c)*+|z)",
    ],
)
def test_a_group_that_would_is_noticed(pattern: bytes) -> None:
    """The test above can fail."""
    assert risky_groups(pattern)


@pytest.mark.parametrize(
    "pattern", [rb"(?:[ \t]++|#[^\n]*+)*+", rb"(?:a|bc[de])*+", rb'(?:"[^"]*+"?+)*+', rb"a*+"]
)
def test_a_group_that_would_not_is_let_be(pattern: bytes) -> None:
    """The test above can pass."""
    assert not risky_groups(pattern)
