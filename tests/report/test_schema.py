"""The JSON Schemas that clada ships describe what it prints: reports and plans of every kind."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import clada
from clada.errors import ERROR_TYPES
from clada.report.json import to_dict

if TYPE_CHECKING:
    from tests.conftest import Place

CORPUS = Path(__file__).parents[1] / "corpus"


def schema(name: str) -> Any:
    """Return a schema as it is shipped in the package."""
    return json.loads((files("clada") / "report" / "schema" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["plan", "report"])
def test_the_shipped_schema_names_the_notations_that_there_are(name: clada.SchemaName) -> None:
    assert clada.schema(name) == schema(name)


def check(name: str, value: Any) -> None:
    """Hold a value to a schema."""
    errors = [error.message for error in Draft202012Validator(schema(name)).iter_errors(value)]
    assert errors == []


@pytest.mark.parametrize("name", ["report", "plan"])
def test_the_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


def test_the_report_knows_all_error_types() -> None:
    assert tuple(schema("report")["$defs"]["error"]["properties"]["type"]["enum"]) == ERROR_TYPES


def csl(*operations: str) -> str:
    """Return a document of operations, each its marker and its content."""
    return "".join(f"<---{operation}\n<---END--->\n" for operation in operations)


def block(*operations: str) -> str:
    """Return a document of operations that belong together."""
    return f"<---TASKS--->\n{csl(*operations)}<---END--->\n"


EDIT = 'SEARCH file="a.txt"--->\n{}\n<---REPLACE--->\nx'
REPORTS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("prose", {}),
    "written": (csl('WRITE file="new/b.txt"--->\nx'), {}),
    "appended": (csl('WRITE file="a.txt" append="true"--->\nx'), {}),
    "edited": (csl(EDIT.format("one")), {}),
    "moved": ('<move from="a.txt" to="b.txt"/>', {}),
    "removed": ('<remove path="a.txt"/>', {}),
    "ran": (csl("RUN--->\necho hi\nmv a.txt b.txt"), {}),
    "ran a program": (csl("RUN--->\nsh -c 'echo hi'"), {"approve_all": True}),
    "ran it unconfined": (csl("RUN--->\nsh -c 'echo hi'"), {"approve_all": True, "sandbox": "off"}),
    "truncated": (csl("RUN--->\nsh -c 'seq 99999'"), {"approve_all": True, "max_output": 100}),
    "exec_failed": (csl("RUN--->\ngrep nothing a.txt"), {}),
    "exec_timeout": (csl("RUN--->\nsleep 9"), {"approve_all": True, "timeout": 0.1}),
    "command_not_allowed": (csl("RUN--->\nmake"), {}),
    "match_count_mismatch": (csl(EDIT.format("o")), {}),
    "match_count_mismatch, nearest": (csl(EDIT.format("ohne\ntwo")), {}),
    "match_count_mismatch, all": (csl(EDIT.format("absent").replace('"--->', '" count="all"--->', 1)), {}),
    "search_not_found": (
        '<tasks version="1.0"><edit path="a.txt"><search>absent</search><replace>x</replace></edit></tasks>',
        {},
    ),
    "file_not_found": (csl(EDIT.replace("a.txt", "absent").format("x")), {}),
    "permission_denied": (csl('WRITE file=".git/config"--->\nx'), {}),
    "symlink_not_allowed": (csl('WRITE file="link"--->\nx'), {}),
    "path_escape": (csl('WRITE file="../x"--->\nx'), {}),
    "invalid_utf8 of a file": (csl(EDIT.replace("a.txt", "binary").format("x")), {}),
    "invalid_operation": (csl("WRITE--->\nx"), {}),
    "invalid in a block": (f"<---TASKS--->\n{csl('WRITE--->x', 'RUN--->ls')}<---END--->\n", {}),
    "skipped": (
        f"<---TASKS--->\n{csl('RUN--->' + chr(10) + 'false', 'RUN--->' + chr(10) + 'ls')}<---END--->",
        {},
    ),
    "malformed_csl": ("<---WRIT--->\n", {}),
    "malformed_xml": ("<write path='a'>", {}),
    "malformed_json": ('{"tasks": [', {}),
    "malformed_toml": ("[[task]]\nx", {}),
    "unsupported_version": ('<tasks version="9"></tasks>', {}),
    "git_operation_failed": (csl('WRITE file="b"--->\nx'), {"record": "commits"}),
    "dry run": (csl('WRITE file="b"--->\nx', "RUN--->\nls", "RUN--->\nmake"), {"dry_run": True}),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_a_report_of_every_kind(place: Place, kind: str) -> None:
    place.write("a.txt", "one\ntwo\nthree\n")
    place.write("binary", b"\xff\n")
    os.symlink("a.txt", place.inside / "link")
    document, options = REPORTS[kind]
    plan = clada.parse(document)
    check("plan", plan.to_dict())
    report = clada.execute(plan, workspace=str(place.inside), **{"git": False, **options})
    check("report", to_dict(report))
    type_ = kind.replace(",", " ").split()[0]
    error = report.fatal or next((task.error for task in report.tasks if task.error), None)
    assert type_ not in ERROR_TYPES or (error and error.type == type_)


def test_a_report_with_commits(place: Place) -> None:
    os.system(f"git init -q {place.inside}")
    place.write("a.txt", "one\n")
    plan = clada.parse(csl('WRITE file="b"--->\nx'))
    report = clada.execute(plan, workspace=str(place.inside))
    described = to_dict(report)
    check("report", described)
    assert len(described["commits"]["pre"]) == len(described["commits"]["post"]) == 40


def test_the_schema_notices_what_does_not_belong() -> None:
    report = to_dict(clada.execute(clada.parse(""), git=False))
    assert list(Draft202012Validator(schema("report")).iter_errors({**report, "more": 1}))
    assert list(Draft202012Validator(schema("report")).iter_errors({**report, "ok": None}))


def test_the_plans_of_the_whole_corpus() -> None:
    documents = sorted(CORPUS.rglob("*.in"))
    assert len(documents) > 500
    validator = Draft202012Validator(schema("plan"))
    wrong = {}
    for path in documents:
        plan = json.loads(json.dumps(clada.parse(path.read_bytes()).to_dict()))
        errors = [error.message for error in validator.iter_errors(plan)]
        if errors:
            wrong[str(path.relative_to(CORPUS))] = errors
    assert wrong == {}
