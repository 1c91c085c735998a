"""Which removed and new files count as one that was renamed."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from clada.report.diff import MAX_PAIRS, find_renames

TEXT = "".join(f"line {number}\n" for number in range(20)).encode()


def renames(gone: dict[str, bytes], new: dict[str, bytes]) -> list[tuple[str, str, int]]:
    changes = [
        *((path, data, None) for path, data in gone.items()),
        *((path, None, data) for path, data in new.items()),
    ]
    return [(found.old_path, found.new_path, found.similarity) for found in find_renames(changes)]


def test_equal_contents_are_paired_by_their_names_first() -> None:
    gone = {"a/x": TEXT, "a/y": TEXT, "a/z": TEXT}
    new = {"b/other": TEXT, "b/y": TEXT, "b/x": TEXT}
    assert renames(gone, new) == [("a/x", "b/x", 100), ("a/y", "b/y", 100), ("a/z", "b/other", 100)]


def test_each_file_is_renamed_once() -> None:
    assert renames({"a": TEXT}, {"b": TEXT, "c": TEXT}) == [("a", "b", 100)]
    assert renames({"a": TEXT, "b": TEXT}, {"c": TEXT}) == [("a", "c", 100)]


def test_the_most_similar_is_taken_and_less_than_half_is_another_file() -> None:
    edited, other = TEXT.replace(b"line 3\n", b"3\n"), TEXT.replace(b"line 1", b"row 1")
    assert renames({"a": TEXT}, {"b": other, "c": edited}) == [("a", "c", 95)]
    assert renames({"a": TEXT}, {"b": TEXT[:60]}) == []
    assert renames({"a": b"x\n"}, {"b": b"y\n"}) == []


def test_a_binary_file_is_a_rename_only_if_it_is_the_same() -> None:
    assert renames({"a": b"\0" + TEXT}, {"b": b"\0" + TEXT}) == [("a", "b", 100)]
    assert renames({"a": b"\0" + TEXT}, {"b": b"\0" + TEXT + b"x\n"}) == []


def test_a_changed_file_and_a_link_are_no_renames() -> None:
    assert find_renames([("a", TEXT, None), ("b", b"old", TEXT)]) == []
    links = [("a", "120000", None), ("b", None, "120000")]
    assert find_renames([("a", b"target", None), ("b", None, b"target")], links) == []


def test_very_many_files_are_paired_by_equal_content_alone() -> None:
    many = range(MAX_PAIRS // 10)
    gone = {f"old/{number}": b"%d\n" % number + TEXT for number in many}
    new = {f"new/{number}": b"%d\n" % number + TEXT + b"more\n" * (number == 0) for number in many}
    found = renames(gone, new)
    assert len(found) == len(many)  # one pair was left to compare, which is not much
    gone |= {f"other/{number}": b"%d\n" % number for number in many}
    new |= {f"others/{number}": b"+%d\n" % number for number in many}
    assert len(renames(gone, new)) == len(many) - 1
