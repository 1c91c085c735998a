"""read: files and ranges of their lines, within limits, without secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import clada
from clada.operations.read import LARGEST, MOST_CHARACTERS, MOST_LINES

if TYPE_CHECKING:
    from pathlib import Path

    from clada.report import Report


def read(workspace: Path, path: str, lines: str = "", **options: object) -> Report:
    """Run a document with one READ."""
    attribute = f' lines="{lines}"' if lines else ""
    document = f'<---READ file="{path}"{attribute}--->\n'
    return clada.execute(document, workspace=str(workspace), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "lines", "shown", "remarks"),
    [
        (b"a\nb\nc\n", "", ["a", "b", "c"], ()),
        (b"a\nb\nc", "", ["a", "b", "c"], ()),
        (b"a\nb\nc\n", "2", ["b"], ("line 2 of 3",)),
        (b"a\nb\nc\n", "2-3", ["b", "c"], ("lines 2-3 of 3",)),
        (b"a\nb\nc\n", "2-", ["b", "c"], ("lines 2-3 of 3",)),
        (b"a\nb\nc\n", "2-99", ["b", "c"], ("lines 2-3 of 3",)),
        (b"a\r\n\tb \r\n", "", ["a", "\tb "], ()),
        (b"\xef\xbb\xbfa\n\n", "", ["a", ""], ()),
        (b"a\x1b[31m\n", "", ["a\\x1b[31m"], ()),
        (b"", "", [], ()),
    ],
)
def test_lines(
    tmp_path: Path, content: bytes, lines: str, shown: list[str], remarks: tuple[str, ...]
) -> None:
    """The lines that were asked for are shown, without line endings and control characters."""
    (tmp_path / "a").write_bytes(content)
    report = read(tmp_path, "a", lines)
    (task,) = report.tasks
    assert report.ok
    assert list(task.output) == shown
    assert report.to_dict()["blocks"][0]["tasks"][0]["remarks"] == list(remarks)
    assert "SUCCESS: READ - a" in report.text(for_llm=True)


def test_the_fence_is_longer_than_any_in_the_file(tmp_path: Path) -> None:
    """The content cannot end the fence that it is in."""
    (tmp_path / "a.md").write_text("````\nx\n````\n")
    assert "\n`````\n````\nx\n````\n`````\n" in read(tmp_path, "a.md").text(for_llm=True)


def test_much_is_cut_off_at_a_line_with_the_next_range(tmp_path: Path) -> None:
    """A read has an end, and says how to go on."""
    (tmp_path / "a").write_text("x\n" * (MOST_LINES + 10))
    (task,) = read(tmp_path, "a").tasks
    assert len(task.output) == MOST_LINES
    assert f"ask for {MOST_LINES + 1}-{MOST_LINES + 10}" in clada.execute(
        '<---READ file="a"--->', workspace=str(tmp_path)
    ).text(for_llm=True)
    (tmp_path / "b").write_text("x" * (2 * MOST_CHARACTERS))
    (task,) = read(tmp_path, "b").tasks
    assert [len(line or "") for line in task.output] == [MOST_CHARACTERS]


def test_a_huge_file_is_refused_without_being_loaded(tmp_path: Path) -> None:
    """A terabyte takes no time."""
    with open(tmp_path / "a", "wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    (task,) = read(tmp_path, "a").tasks
    assert task.error
    assert task.error.type == "input_too_large"
    assert LARGEST < 1 << 30


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nothing", "file_not_found"),
        ("folder", "permission_denied"),
        ("link", "symlink_not_allowed"),
        ("../outside", "path_escape"),
        (".git/config", "permission_denied"),
        ("pipe", "permission_denied"),
        ("binary", "invalid_utf8"),
    ],
)
def test_what_is_not_read(tmp_path: Path, path: str, error: str) -> None:
    """The rules for paths hold for reads, too."""
    inside = tmp_path / "in"
    (inside / "folder").mkdir(parents=True)
    (tmp_path / "outside").write_text("secret")
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "binary").write_bytes(b"\xff\xfe\0")
    os.mkfifo(inside / "pipe")
    report = read(inside, path)
    assert [task.error and task.error.type for task in report.tasks] == [error]
    assert "secret" not in report.text(for_llm=True)


def test_secrets_need_a_person_and_their_values_are_masked(tmp_path: Path) -> None:
    """A secret is shown to a person's word only, under each of its names."""
    (tmp_path / ".env").write_text("API_KEY=k3y5ecretvalue99\n")
    (tmp_path / "app.py").write_text("key = 'k3y5ecretvalue99'\n")
    os.link(tmp_path / ".env", tmp_path / "notes.txt")
    assert "k3y5" not in read(tmp_path, "app.py").text(for_llm=True)
    for path in (".env", "notes.txt"):
        report = read(tmp_path, path)
        assert not report.ok
        assert "k3y5" not in report.text(for_llm=True)
        assert "k3y5" not in read(tmp_path, path, dry_run=True).text(for_llm=True)
    question = ".env looks like a secret. Show it to the model?"
    report = read(tmp_path, ".env", consent=lambda asked: asked == question)
    assert "k3y5ecretvalue99" in report.text(for_llm=True)
    assert "k3y5ecretvalue99" in read(tmp_path, ".env", reveal=[".env"]).text(for_llm=True)


def test_a_dry_run_shows_no_content_of_secrets_even_where_a_person_could_be_asked(tmp_path: Path) -> None:
    """A plan assumes that a person would say yes, and shows nothing."""
    (tmp_path / ".env").write_text("API_KEY=k3y5ecretvalue99\n")
    report = read(tmp_path, ".env", dry_run=True, consent=lambda _question: True)
    assert report.ok
    assert "k3y5" not in report.text(for_llm=True)


def test_a_read_sees_what_earlier_edits_have_done_and_records_nothing(tmp_path: Path) -> None:
    """Edits that are held in memory count; a document that only reads is not recorded."""
    (tmp_path / "a").write_text("one\n")
    edit = '<---SEARCH file="a"--->\none\n<---REPLACE--->\ntwo\n<---END--->\n'
    report = clada.execute(f'{edit}<---READ file="a"--->\n', workspace=str(tmp_path), git=False)
    assert report.tasks[1].output == ("two",)
    assert read(tmp_path, "a").recorded is None
    assert clada.history(str(tmp_path)) == []
