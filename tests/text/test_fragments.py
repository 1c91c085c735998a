"""A part of a file never replaces the file; new versions of it do."""

from __future__ import annotations

import json
import random
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clada.text.fragments import missing_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Place

PACKAGES = Path(sysconfig.get_path("purelib"))
SUFFIXES = (".py", ".pyi", ".js", ".css", ".html", ".md", ".rst", ".txt")
FILES = 700
PIECES = 20_000
LEAST_LINES = 11  # of which a tenth are two lines

FILE = """\
import os
import sys


def first(path):
    return os.stat(path)


def second(path):
    return os.listdir(path)


def main():
    print(first(sys.argv[1]), second(sys.argv[1]))


if __name__ == "__main__":
    main()
"""
SECOND = "def second(path):\n    return sorted(os.listdir(path))\n"


@pytest.mark.parametrize(
    ("new", "missing"),
    [
        (SECOND, (1, 6)),  # one function, edited
        (f"import os\n\n\n{SECOND}", (2, 6)),  # with an import
        (f"# The new second():\n{SECOND}", (1, 6)),  # with a comment
        (FILE.partition("\n\n\n")[2], (1, 2)),  # without the imports
        (FILE.partition("\n\n\nif __name__")[0], (17, 18)),  # without the last lines
        (FILE.replace("\ndef second(path):\n    return os.listdir(path)\n\n", ""), None),  # one function less
        ("print(1)\n", (1, 18)),  # nothing in common, and shorter
        ("", (1, 18)),
        ("x = 1\n" * 40, None),  # nothing in common, and longer
        (FILE.replace("first", "top"), None),
        (FILE.replace("import os\n", ""), None),  # one line at the top
        (FILE.replace("import os\nimport sys", "import pathlib"), None),  # something stands in their place
        (FILE.replace("    ", "\t").replace("\n\n", "\n"), None),  # blanks do not count
        (FILE.replace("\n", "\r\n"), None),
        (f'"""A module."""\n\n{FILE}\n\n# The end.\n', None),
        (FILE, None),
    ],
)
def test_a_part_is_told_from_a_new_version(new: str, missing: tuple[int, int] | None) -> None:
    """The lines that are missing are those of the file, from 1."""
    assert missing_lines(FILE, new) == missing


def test_what_holds_nothing_loses_nothing() -> None:
    """An empty file, or one of blanks, can be replaced by anything."""
    assert missing_lines("", "x") is None
    assert missing_lines("\n \n\n", "") is None


def test_a_large_file_of_equal_lines_takes_no_time() -> None:
    """Pieces are found in proportion to the size of the file."""
    assert missing_lines("x = 1\n" * 200_000, "x = 1\n" * 100_000) == (100_001, 200_000)
    assert missing_lines("x = 1\n" * 200_000, "y = 1\n" + "x = 1\n" * 100_000) is not None


def real_files() -> list[str]:
    """Return texts of installed packages."""
    texts = []
    paths = sorted(path for path in PACKAGES.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    random.Random(31).shuffle(paths)
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size < 100_000 else ""
        if len(text.splitlines()) >= LEAST_LINES and len(text.split()) > LEAST_LINES:
            texts.append(text)
        if len(texts) == FILES:
            break
    return texts


def pieces(texts: list[str], count: int) -> Iterator[tuple[str, str]]:
    """Yield files, each with some lines of it in a row: 10 to 90 % of them, at least one not blank."""
    chance = random.Random(32)
    while count:
        text = chance.choice(texts)
        lines = text.strip("\n").split("\n")
        length = max(int(len(lines) * chance.uniform(0.1, 0.9)), 1)
        start = chance.randrange(len(lines) - length + 1)
        piece = "\n".join(lines[start : start + length]) + "\n"
        if piece.strip():
            yield text, piece
            count -= 1


@pytest.mark.slow
def test_a_piece_of_a_real_file_is_a_part_of_it() -> None:
    """None of 20,000 is taken for a new version."""
    texts = real_files()
    assert len(texts) >= 200
    assert [piece for text, piece in pieces(texts, PIECES) if not missing_lines(text, piece)] == []


def edited(piece: str, chance: random.Random) -> str:
    """Return a piece as a model would show it: a line changed, perhaps imports or a comment above."""
    lines = piece.split("\n")
    lines[chance.randrange(len(lines) - 1)] = "    result = compute(value)"
    above = chance.choice(
        ([], ["# The updated part:"], ["import json", ""], ["import json", "import re", "", ""])
    )
    return "\n".join((*above, *lines))


def test_few_edited_pieces_are_taken_for_a_new_version() -> None:
    """A line is changed in each, and most have other lines above; those that pass lose little of the file."""
    chance = random.Random(33)
    parts = [(text, edited(piece, chance)) for text, piece in pieces(real_files(), 2_000)]
    passed = sum(missing_lines(text, part) is None for text, part in parts)
    assert passed < 0.03 * len(parts)


DIALECTS = {
    "whole": "**file.py**\n````\n{}````\n",
    "info": "````python file.py\n{}````\n",
    "heredoc": "````bash\ncat > file.py <<'END_OF_FILE'\n{}END_OF_FILE\n````\n",
    "tags": "<write_to_file>\n<path>file.py</path>\n<content>\n{}</content>\n</write_to_file>\n",
    "artifact": '<dyad-write path="file.py">\n{}</dyad-write>\n',
    "nesl": '#!nesl [@three-char-SHA-256: k7m]\naction = "write_file"\npath = "file.py"\n'
    "content = <<'EOT_k7m'\n{}EOT_k7m\n#!end_k7m\n",
    "sr": "<<<EXPLANATION>>>\nx\n<<<FILE>>>\nfile.py\n<<<OVERWRITE>>>\n{}<<<END>>>\n",
}  # fmt: skip


def answer(dialect: str, content: str) -> str:
    """Return an answer that writes the file."""
    if dialect == "calls":
        return json.dumps({"name": "Write", "arguments": {"file_path": "file.py", "content": content}})
    if dialect == "v4a":
        added = "".join(f"+{line}\n" for line in content.splitlines())
        return f"*** Begin Patch\n*** Add File: file.py\n{added}*** End Patch\n"
    return DIALECTS[dialect].format(content)


@pytest.mark.parametrize("dialect", [*DIALECTS, "calls", "v4a"])
def test_no_dialect_writes_a_piece(place: Place, dialect: str) -> None:
    """Through the command line, in each dialect that writes whole files."""
    place.write("file.py", FILE)
    done = place.clada(answer(dialect, SECOND))
    assert done.returncode == 1, done.stdout
    assert "this looks like a part of file.py: lines 1-6 are missing" in done.stdout.decode()
    assert (place.inside / "file.py").read_text() == FILE
    whole = FILE.replace("os.listdir(path)", "sorted(os.listdir(path))")
    done = place.clada(answer(dialect, whole))
    assert done.returncode == 0, done.stdout
    assert (place.inside / "file.py").read_text().strip() == whole.strip()


def test_pieces_of_real_files_through_the_command_line(place: Place) -> None:
    """Some dozens, all refused."""
    plain = [text for text in real_files() if "```" not in text and "\r" not in text]
    for text, piece in pieces(plain, 40):
        place.write("file.py", text)
        done = place.clada(answer("info", piece))
        assert done.returncode == 1, (piece, done.stdout)
        assert (place.inside / "file.py").read_text() == text
