"""A file that only a sentence names: on a terminal it is shown, and written if the person says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import clada

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell, Terminals

CONTENT = "".join(f"x{number} = {number}\n" for number in range(30))
ANSWER = f"Change the default in `src/a.py` like this:\n\n```python\n{CONTENT}```\n"
REFUSED = "src/a.py is named only in a sentence: put the path alone on the line above the fence"


@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_a_person_is_asked_about_a_file_that_only_a_sentence_names(
    typed: str, code: int, terminal: Terminals, shell: Shell
) -> None:
    """The question shows the beginning of the content; anything but a yes is a refusal."""
    screen = terminal("--no-git", document=ANSWER)
    asked = screen.until("[y/N]")
    assert "clada: src/a.py is named only in a sentence (line 3). Write it?" in asked
    assert "  | x0 = 0\r\n" in asked
    assert "  | … 11 more lines\r\n" in asked
    screen.type(f"{typed}\n")
    ended, seen = screen.end()
    assert ended == code
    written = shell.workspace / "src" / "a.py"
    assert written.exists() == (code == 0)
    assert (REFUSED in " ".join(seen.split())) == (code == 1)


def test_without_a_terminal_it_is_refused_with_what_the_model_should_write(tmp_path: Path) -> None:
    """The library calls the `ask` function of its caller."""
    refused = clada.execute(ANSWER, workspace=tmp_path, record="none")
    assert [task.error.message for task in refused.tasks if task.error] == [REFUSED]
    assert not (tmp_path / "src").exists()
    questions: list[str] = []

    def consent(question: str) -> bool:
        questions.append(question)
        return True

    assert clada.execute(ANSWER, workspace=tmp_path, record="none", consent=consent).ok
    assert (tmp_path / "src" / "a.py").read_text() == CONTENT
    assert len(questions) == 1


def test_a_dry_run_asks_nothing(tmp_path: Path) -> None:
    """It foretells that a person will be asked, where there is one."""

    def consent(_question: str) -> bool:
        raise AssertionError

    assert clada.execute(ANSWER, workspace=tmp_path, record="none", dry_run=True, consent=consent).ok
    assert not clada.execute(ANSWER, workspace=tmp_path, record="none", dry_run=True).ok
