"""edit: what it says of what it did, and of what it could not do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clada.model import Change, Done, Failed

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files

TEXT = "one two\ntwo\nthree two\n"


def edited(attempt: Attempt, files: Files, search: str, **fields: Any) -> Done | Failed:
    """Edit the file, and return what came of it."""
    outcome = attempt(files, "edit", path="file", search=search, replace="2", **fields)
    assert isinstance(outcome, Done | Failed)
    return outcome


@pytest.mark.parametrize(
    "case",
    [
        ("one", 1, (1,)),
        ("two", 3, (1, 2, 3)),
        ("two", "all", (1, 2, 3)),
        ("\ntwo\n", 1, (1,)),
        ("two\n", 3, (1, 2, 3)),
    ],
)
def test_it_says_how_often_and_where(
    files: Files, place: Place, attempt: Attempt, case: tuple[str, int | str, tuple[int, ...]]
) -> None:
    """By the lines as they were when it began."""
    search, count, lines = case
    place.write("file", TEXT)
    outcome = edited(attempt, files, search, count=count)
    assert isinstance(outcome, Done)
    assert (outcome.how, outcome.count, outcome.lines) == ("edited", len(lines), lines)
    assert outcome.changes == (Change("file", "edited"),)
    assert files.load(("file",)) == TEXT.replace(search, "2").encode()


@pytest.mark.parametrize(
    "case",
    [
        ("two", 1, "found 3 matches, expected 1"),
        ("one", 2, "found 1 match, expected 2"),
        ("four", 1, "found 0 matches, expected 1"),
        ("four", "all", "found 0 matches, expected at least 1"),
        ("TWO", 1, "found 0 matches, expected 1"),
    ],
)
def test_another_number_of_matches_changes_nothing(
    files: Files, place: Place, attempt: Attempt, case: tuple[str, int | str, str]
) -> None:
    """The error counts them, and names their lines."""
    search, count, message = case
    place.write("file", TEXT)
    before = place.picture()
    outcome = edited(attempt, files, search, count=count)
    assert isinstance(outcome, Failed)
    error = outcome.error
    assert (error.type, error.message) == ("match_count_mismatch", message)
    assert (error.found, error.expected) == (TEXT.count(search), count)
    assert len(error.lines) == TEXT.count(search)
    assert place.picture() == before
    assert files.changes() == []


def test_a_replacement_by_the_same_text_is_no_change(files: Files, place: Place, attempt: Attempt) -> None:
    """It is done, and the file is left alone."""
    file = place.write("file", TEXT)
    before = file.stat()
    outcome = attempt(files, "edit", path="file", search="one", replace="one")
    assert isinstance(outcome, Done)
    assert (outcome.count, outcome.changes) == (1, ())
    assert file.stat() == before


def test_the_replacement_is_literal(files: Files, place: Place, attempt: Attempt) -> None:
    r"""No `\1`, no `&`, no `$&`."""
    place.write("file", "a.b")
    attempt(files, "edit", path="file", search=".", replace="\\1&$&\\n")
    assert files.load(("file",)) == b"a\\1&$&\\nb"


def test_matches_do_not_overlap_and_go_from_left_to_right(
    files: Files, place: Place, attempt: Attempt
) -> None:
    """`aa` is in `aaaaa` twice."""
    place.write("file", "aaaaa")
    assert isinstance(edited(attempt, files, "aa", count=2), Done)
    assert files.load(("file",)) == b"22a"


def test_a_range_ends_at_the_nearest_end(files: Files, place: Place, attempt: Attempt) -> None:
    """Both texts are replaced too, and it counts like any other match."""
    place.write("file", "<a> <b> </b> </b> <b> c")
    fields: dict[str, Any] = {"path": "file", "search_start": "<b>", "search_end": "</b>", "replace": "-"}
    assert isinstance(attempt(files, "edit", **fields), Done)
    assert files.load(("file",)) == b"<a> - </b> <b> c"
    outcome = attempt(files, "edit", **fields)
    assert isinstance(outcome, Failed)
    assert outcome.error.found == 0
    assert "end text" in (outcome.error.hint or "")
