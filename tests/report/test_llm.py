"""The report for a model names no flag: it says what to send next."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import clada
from clada.cli.flags import FLAGS
from clada.notations.registry import NOTATIONS
from clada.report.llm import BY_MESSAGE, without_flags

EXAMPLES = {name: row.example for name, row in NOTATIONS.items() if row.example}
ANSWERS = Path(__file__).parents[1] / "answers"
A_FLAG = re.compile(rf"(?<![\w`-])--(?:{'|'.join(name.replace('_', '-') for name in FLAGS)})(?![\w-])")


def _report(folder: Path, workspace: Path) -> clada.Report:
    if (folder / "before").exists():
        shutil.copytree(folder / "before", workspace)
    else:
        workspace.mkdir()
    return clada.execute((folder / "answer.md").read_bytes(), workspace=workspace, git=False, dry_run=True)


def test_no_report_of_any_answer_names_a_flag(tmp_path: Path) -> None:
    """Of all answers there are, read without any option; and what fails says what to send."""
    used: set[int] = set()
    failing = [
        folder for folder in ANSWERS.iterdir() if "\nexit 0\n" not in (folder / "expected").read_text()
    ]
    for folder in sorted(failing):
        report = _report(folder, tmp_path / folder.name)
        text = report.text(for_llm=True)
        quoted = re.sub(r"`[^`]*`", "", text)
        assert not A_FLAG.search(quoted), f"{folder.name}: {text}"
        reasons = [getattr(task.outcome, "reason", "") for task in report.tasks]
        errors = [error for error in (report.fatal, *(task.error for task in report.tasks)) if error]
        for message in (*reasons, *(error.message for error in errors)):
            used.update(row for row, (pattern, _) in enumerate(BY_MESSAGE) if re.search(pattern, message))
    assert used == set(range(len(BY_MESSAGE)))  # each row is of use


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1 shell block was not run; --run-fences runs it", "1 shell block was not run"),
        ("wait for the other run, or allow more time with --lock-timeout", "wait for the other run"),
        ("a.py was shown, not written; --format=whole writes it", "a.py was shown, not written"),
        (
            "it needs a sandbox (--sandbox=require), and there is none",
            "it needs a sandbox, and there is none",
        ),
        ("`npm test --timeout 5` failed", "`npm test --timeout 5` failed"),
        ("npm ci --root x: not run; --run-fences runs it", "npm ci --root x: not run"),
        ("use git commit --amend; --no-git works, too", "use git commit --amend"),
    ],
)
def test_clauses_with_flags_are_left_out(text: str, plain: str) -> None:
    """What is quoted, or is not a flag of ours, stays."""
    assert without_flags(text) == plain


def test_what_to_send_is_in_the_words_of_the_format(tmp_path: Path) -> None:
    """CSL has SEARCH blocks, CML has <edit>, the others are told of search/replace blocks."""
    (tmp_path / "a.py").write_text("x = 1\n" * 6, encoding="utf-8")
    documents = {
        '<---SEARCH file="a.py"--->\nx = 1\n<---REPLACE--->\ny\n<---END--->\n': "a SEARCH block",
        '<edit path="a.py"><search>x = 1</search><replace>y</replace></edit>\n': "an <edit>",
        "a.py\n<<<<<<< SEARCH\nx = 1\n=======\ny\n>>>>>>> REPLACE\n": "a search/replace block",
    }
    for document, words in documents.items():
        text = clada.execute(document, workspace=tmp_path, git=False).text(for_llm=True)
        assert f"  send next: {words} with more lines around it" in text


def test_where_nothing_is_found_the_report_shows_how_an_operation_is_written(tmp_path: Path) -> None:
    """In the format that was asked for; CSL if none was."""
    text = clada.execute("Do this:\n\n```python\nx\n```\n", workspace=tmp_path, git=False).text(for_llm=True)
    assert text == (
        "No operations were found.\n\n"
        "Note: no operations found; the nearest thing to one is the code block at line 3, "
        "which names no file\n\n"
        "Next: write each operation like this, at the start of a line:\n\n"
        '    <---WRITE file="path/to/file"--->\n    its whole content\n    <---END--->\n'
    )
    name: Any
    for name, example in EXAMPLES.items():
        report = clada.execute("Just prose.\n", workspace=tmp_path, git=False, format=name)
        assert report.text(for_llm=True).endswith(f"{_indented(example, '<---', '--->')}\n")
    settings = clada.Settings(str(tmp_path), start_delimiter="[[[", end_delimiter="]]]", record="none")
    text = clada.execute("Prose.\n", settings=settings).text(for_llm=True)
    assert '    [[[WRITE file="path/to/file"]]]\n' in text


def _indented(example: str, start: str, end: str) -> str:
    text = example.replace("<START>", start).replace("<END>", end)
    return "\n".join(f"    {line}" for line in text.split("\n"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_an_operation(name: clada.NotationName, tmp_path: Path) -> None:
    """It is read as what it is an example of, and can be carried out."""
    example = clada.execute("Prose.\n", workspace=tmp_path, git=False, format=name).example
    document = example.replace("path/to/file", "a/b.txt")  # the other is known to be an example
    report = clada.execute(f"{document}\n", workspace=tmp_path, git=False, format=name)
    assert (report.ok, report.notation) == (True, name)
    assert (tmp_path / "a/b.txt").exists()


def test_a_refusal_that_is_not_about_the_document_asks_for_no_correction(tmp_path: Path) -> None:
    """Only a document that cannot be read is to be corrected."""
    broken = clada.execute('<---WRITE file="a.txt"--->\nx\n', workspace=tmp_path, git=False)
    assert broken.text(for_llm=True).endswith("Correct the document, and send all of it again.\n")
    document = '<---WRITE file="a.txt"--->\nx\n<---END--->\n<---RUN--->\nnot-approved\n<---END--->\n'
    clada.execute(document, workspace=tmp_path, record="snapshots")
    again = clada.execute(document, workspace=tmp_path, record="snapshots")
    outside = clada.execute(document, workspace=tmp_path, record="commits")
    for report, reason in (
        (again, "already applied in part (run 1: 1 of 2 done). Continue: clada resume\n"),
        (outside, "not a git repository"),
    ):
        text = report.text(for_llm=True)
        assert reason in text
        assert text.endswith(
            "\nNext: nothing was carried out, but the document is not at fault: do not change it.\n"
        )


def test_what_is_said_first_is_not_said_again_in_a_note(tmp_path: Path) -> None:
    """A note that adds something stays."""
    text = clada.execute("Just prose.\n", workspace=tmp_path, git=False).text(for_llm=True)
    assert text.startswith("No operations were found.\n\nNext: ")
