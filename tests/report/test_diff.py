"""The diff of a dry run: it turns the old version into the new one, shows little more, and costs little."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clada
from clada.report.diff import diff_lines

if TYPE_CHECKING:
    from tests.conftest import Place

VERSIONS = st.lists(st.sampled_from(["a", "a", "b", "c", "d", "e", "", "unique 1", "unique 2"]), max_size=30)
ENDS = st.sampled_from(["", "\n"])


def escape_controls(old: str, new: str) -> list[str]:
    """Return the lines of the diff, without the two that name the file."""
    return [text for _kind, text in diff_lines([("f", old.encode(), new.encode())])][2:]


def applied(old: str, diff: list[str]) -> str:
    """Return what a diff makes of a text, held to every line number and every line of context."""
    before, after, at = old.splitlines(keepends=True), list[str](), 0
    for number, line in enumerate(diff):
        sign, text = line[:1], line[1:]
        bare = number + 1 < len(diff) and diff[number + 1].startswith("\\")
        text += "" if bare else "\n"
        if sign == "@":
            first, size = _range(line.split()[1])
            new_first, new_size = _range(line.split()[2])
            start = first - 1 if size else first
            after += before[at:start]
            at = start
            assert len(after) == (new_first - 1 if new_size else new_first)
        elif sign in " -":
            assert before[at] == text
            at += 1
        if sign in " +":
            after.append(text)
    return "".join(after + before[at:])


def _range(text: str) -> tuple[int, int]:
    first, _, size = text[1:].partition(",")
    return int(first), int(size or 1)


@given(VERSIONS, VERSIONS, ENDS, ENDS)
def test_a_diff_makes_the_new_version_of_the_old_one(
    old: list[str], new: list[str], old_end: str, new_end: str
) -> None:
    before, after = "\n".join(old) + old_end, "\n".join(new) + new_end
    assert applied(before, escape_controls(before, after)) == after


@given(VERSIONS, st.integers(0, 30), st.lists(st.sampled_from("abx"), max_size=3), ENDS)
def test_three_equal_lines_stand_around_each_change_where_there_are_so_many(
    old: list[str], place: int, more: list[str], end: str
) -> None:
    new = [*old[:place], *more, *old[place + 1 :]]
    before, after = "\n".join(old) + end, "\n".join(new) + end
    diff = escape_controls(before, after)
    total = len(before.splitlines())
    for first, line in enumerate(diff):
        if line.startswith("@@"):
            start, size = _range(line.split()[1])
            last = next((n for n, text in enumerate(diff[first + 1 :]) if text.startswith("@@")), None)
            hunk = diff[first + 1 : None if last is None else first + 1 + last]
            signs = "".join(text[0] for text in hunk).replace("\\", "")
            leading, trailing = len(signs) - len(signs.lstrip(" ")), len(signs) - len(signs.rstrip(" "))
            assert leading == 3 or start <= 1
            assert trailing == 3 or start + size - 1 >= total - (0 if size else 1)


def test_one_line_of_a_large_file_shows_its_hunk() -> None:
    many = [f"line {number}\n" for number in range(120_000)]
    old = "".join(many)
    assert len(old) > 1_200_000
    many[60_000] = "changed\n"
    assert escape_controls(old, "".join(many)) == [
        "@@ -59998,7 +59998,7 @@",
        " line 59997", " line 59998", " line 59999",
        "-line 60000", "+changed",
        " line 60001", " line 60002", " line 60003",
    ]  # fmt: skip


def test_both_ends_of_a_large_file_are_two_hunks() -> None:
    body = "".join(f"line {number}\n" for number in range(200_000))
    diff = escape_controls(f"a\n{body}b\n", f"A\n{body}B\n")
    assert [line for line in diff if line[0] != " "] == [
        "@@ -1,4 +1,4 @@", "-a", "+A", "@@ -199999,4 +199999,4 @@", "-b", "+B",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["every other line", "few different lines", "nothing in common", "reversed"])
def test_what_is_hard_to_compare_takes_no_longer(kind: str) -> None:
    """Line by line, some of these would take minutes."""
    size = 40_000
    olds = [f"{number % 150 if kind == 'few different lines' else number}\n" for number in range(size)]
    news = {
        "every other line": [line if number % 2 else f"x{line}" for number, line in enumerate(olds)],
        "few different lines": [f"{number * 7 % 150}\n" for number in range(size)],
        "nothing in common": [f"new {number}\n" for number in range(size)],
        "reversed": olds[::-1],
    }[kind]
    start = time.process_time()
    assert applied("".join(olds), escape_controls("".join(olds), "".join(news))) == "".join(news)
    assert time.process_time() - start < 20


def test_a_change_that_is_too_long_to_read_is_only_named() -> None:
    old, new = (character * 99 + b"\n" for character in (b"x", b"y"))
    assert list(diff_lines([("f", old * 21_000, new * 21_000), ("new", None, new * 21_000)])) == [
        ("file", "Files a/f and b/f differ (2100000 and 2100000 bytes: too much has changed to show it)"),
        ("file", "Files /dev/null and b/new differ (0 and 2100000 bytes: too much has changed to show it)"),
    ]


def test_what_changes_besides_content_shows_as_in_git(place: Place) -> None:
    place.write("plain", "a\n")
    place.write("old/file", "b\n")
    (place.inside / "gone").mkdir()
    (place.inside / "link").symlink_to("plain")
    commands = (
        "chmod +x plain", "mkdir -p new/empty", "mkdir full", "touch full/file", "rm -r old gone link",
        "cp plain copy",
    )  # fmt: skip
    plan = clada.parse("<---RUN--->\n" + "\n".join(commands) + "\n<---END--->\n")
    report = clada.execute(plan, workspace=place.inside, git=False, dry_run=True)
    assert report.ok
    assert [text for _kind, text in diff_lines(report.changes, report.modes)] == [
        "diff --git a/copy b/copy", "new file mode 100755",
        "--- /dev/null", "+++ b/copy", "@@ -0,0 +1 @@", "+a",
        "--- a/old/file", "+++ /dev/null", "@@ -1 +0,0 @@", "-b",
        "--- /dev/null", "+++ b/full/file",
        "removed directory gone",
        "removed link link",
        "new directory new/empty",
        "diff --git a/plain b/plain", "old mode 100644", "new mode 100755",
    ]  # fmt: skip


def test_a_mode_alone_is_shown_on_the_command_line(place: Place) -> None:
    place.write("plain", "a\n")
    done = place.clada("<---RUN--->\nchmod +x plain\n<---END--->\n", "--dry-run")
    assert b"\nold mode 100644\nnew mode 100755\n" in done.stdout
