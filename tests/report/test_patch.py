"""A patch of a run is one that git apply carries out exactly, and takes back."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clada.report.patch import patch

LINES = "".join(f"line {number}\n" for number in range(30)).encode()
CASES = {
    "a line changed": (LINES, LINES.replace(b"line 14\n", b"other\n")),
    "the first and the last": (LINES, LINES.replace(b"line 0\n", b"").replace(b"line 29\n", b"end\n")),
    "far apart": (LINES, LINES.replace(b"line 3\n", b"3\n").replace(b"line 20\n", b"20\nx\n")),
    "made": (None, LINES),
    "removed": (LINES, None),
    "made empty": (None, b""),
    "emptied": (LINES, b""),
    "an empty one removed": (b"", None),
    "last break lost": (b"a\nb\n", b"a\nb"),
    "last break gained": (b"a\nb", b"a\nb\n"),
    "no break at all": (b"a", b"b"),
    "added after one without a break": (b"a\nb", b"a\nb\nc"),
    "carriage returns": (b"a\r\nb\r\n", b"a\r\nc\r\n"),
    "a lone one": (b"a\rb\nc\n", b"a\rb\nd\n"),
    "not UTF-8": (b"a\n\xff\n", b"b\n\xff\n"),
    "binary": (b"\0" * 100, bytes(range(256)) * 3),
    "binary, made": (None, b"\0\1"),
    "one line only": (b"a\n", b"b\n"),
    "a line doubled": (b"a\na\n", b"a\na\na\n"),
}


def applied(top: Path, text: str, *flags: str) -> None:
    subprocess.run(["git", "apply", *flags], cwd=top, input=text.encode(), check=True, capture_output=True)


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


NAMES = dict.fromkeys(CASES, "a.txt") | {"made": 'some dir/ä “q".txt', "removed": "tab\there", "binary": "ö"}


@pytest.mark.parametrize("case", CASES)
def test_git_applies_it_exactly_and_takes_it_back(tmp_path: Path, case: str) -> None:
    (old, new), name = CASES[case], NAMES[case]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if old is not None:
        path.write_bytes(old)
    text = patch([(name, old, new)])
    applied(tmp_path, text)
    assert content(path) == new
    applied(tmp_path, text, "--reverse")
    assert content(path) == old


def test_modes_and_links(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo\n")
    (tmp_path / "file").write_text("x\n")
    text = patch(
        [("new.sh", None, b"y\n"), ("link", None, b"file"), ("file", b"x\n", b"z\n")],
        [("run.sh", "100644", "100755"), ("new.sh", None, "100755"), ("link", None, "120000"),
         ("folder", None, "040000")],
    )  # fmt: skip
    applied(tmp_path, text)
    assert os.access(tmp_path / "run.sh", os.X_OK) or os.stat(tmp_path / "run.sh").st_mode & 0o100
    assert os.stat(tmp_path / "new.sh").st_mode & 0o100
    assert os.readlink(tmp_path / "link") == "file"
    assert (tmp_path / "file").read_text() == "z\n"


def test_a_file_that_becomes_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    applied(tmp_path, patch([("a", b"x\n", b"b")], [("a", "100644", "120000")]))
    assert os.readlink(tmp_path / "a") == "b"


TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"\xc3\xa4"]), max_size=12).map(b"\n".join)


@settings(max_examples=20)
@given(TEXTS, TEXTS)
def test_any_text_becomes_any_other(old: bytes, new: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes(old)
        text = patch([("a", old, new)])
        if old == new:
            assert "@@" not in text
        else:
            applied(Path(folder), text)
            assert path.read_bytes() == new


@pytest.mark.parametrize(
    ("old", "new", "modes"),
    [
        (LINES, LINES, []),
        (LINES, LINES.replace(b"line 14\n", b"other\n"), []),
        (b"\0" * 100, b"\0" * 100, []),
        (LINES + b"\xff\n", LINES + b"\xfe\n", []),
        (LINES, LINES, [("old ä.txt", "100644", None), ("new/“b”.txt", None, "100755")]),
    ],
    ids=["only renamed", "edited", "binary", "not UTF-8", "made a program"],
)
def test_a_rename_is_applied_and_taken_back(
    tmp_path: Path, old: bytes, new: bytes, modes: list[tuple[str, str | None, str | None]]
) -> None:
    before, after = tmp_path / "old ä.txt", tmp_path / "new" / "“b”.txt"
    before.write_bytes(old)
    (tmp_path / "z").write_bytes(b"z\n")
    text = patch([("old ä.txt", old, None), ("new/“b”.txt", None, new), ("z", b"z\n", b"zz\n")], modes)
    assert "\nrename from " in text
    applied(tmp_path, text)
    assert (content(before), content(after), content(tmp_path / "z")) == (None, new, b"zz\n")
    assert bool(after.stat().st_mode & 0o100) == bool(modes)
    applied(tmp_path, text, "--reverse")
    assert (content(before), content(after), content(tmp_path / "z")) == (old, None, b"z\n")
