"""Checks: their own time, their exit codes and output, the counts of JUnit files."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit

from clada.batch.jobs import Check
from clada.batch.run_job import _junit_counts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.batch.conftest import Yard

JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite name="s" tests="5">
<testcase name="a"/><testcase name="b"><failure message="m">text</failure></testcase>
<testcase name="c"><error/></testcase><testcase name="d"><skipped/></testcase><testcase name="e"/>
</testsuite></testsuites>
"""
COUNTS = {"tests": 5, "failures": 1, "errors": 1, "skipped": 1}


def checks_of(yard: Yard, checks: list[Any], *flags: str) -> list[dict[str, Any]]:
    yard.jobs([{"id": 1, "path": "w", "document": edit(), "checks": checks}])
    assert yard.batch("--approve-checks", *flags).returncode == 0
    found: list[dict[str, Any]] = yard.results()["1"]["checks"]
    return found


def test_a_check_has_its_own_time_limit(yard: Yard) -> None:
    yard.workspace("w")
    slow, quick = checks_of(yard, [{"command": "sleep 60", "timeout": 0.5}, "cat a.txt"])
    assert slow["error"] or slow["exit_code"]
    assert 0.4 < slow["seconds"] < 50
    assert (quick["exit_code"], quick["output"], quick["junit"]) == (0, "new\n", None)


def test_junit_files_are_counted(yard: Yard) -> None:
    folder = yard.workspace("w", a_txt="old\n", junit_txt=JUNIT)
    (folder / "pytest").write_text("cp junit.txt out.xml\n")
    named, by_flag, none = checks_of(
        yard,
        [
            {"command": "cp junit.txt made.xml", "junit": "made.xml"},
            "sh pytest --junitxml=out.xml",
            "cat junit.txt",
        ],
    )
    assert (named["junit"], by_flag["junit"], none["junit"]) == (COUNTS, COUNTS, None)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'


@pytest.mark.parametrize("content", [BOMB, "<testsuite>", "", "\0"])
def test_a_file_that_is_not_junit_has_no_counts(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.xml").write_text(content)
    assert _junit_counts(Check("x", junit="x.xml"), str(tmp_path)) is None


def test_a_junit_file_outside_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "secret.xml").write_text(JUNIT)
    (tmp_path / "w" / "link.xml").symlink_to("../secret.xml")
    (tmp_path / "w" / "up").symlink_to("..")
    for name in ("link.xml", "up/secret.xml", "../secret.xml", str(tmp_path / "secret.xml")):
        assert _junit_counts(Check("x", junit=name), str(tmp_path / "w")) is None, name
