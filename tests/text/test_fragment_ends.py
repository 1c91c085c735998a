"""Whether a content ends in the middle of something: told where it is sure, and nothing else."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from clada.text.fragments import ends_inside

OPEN = [
    ("a.py", '"""A module.\n\n'),
    ("a.py", "x = 1\n'''text\n"),
    ("a.py", 'x = """a"""\ny = """b\n'),
    ("a.toml", 'a = """\nb\n'),
    ("A.java", 'var a = """\n  b\n'),
    ("a.js", "/*\n * Usage:\n"),
    ("src/a.CSS", "a {}\n/* b\n"),
    ("a.html", "<p>\n<!-- a\n"),
    ("a.sh", "cat <<'EOF'\na\n"),
    ("Dockerfile", "RUN <<EOT\na\n"),
]
CLOSED = [
    ("a.py", '"""A module."""\n'),
    ("a.py", 'Q = \'"""\'\n'),
    ("a.py", '# """\n'),
    ("a.py", 'x = "\\""\n'),
    ("a.py", "x = 'it is'  # don't\n"),
    ("a.js", "glob('src/**/*.js')\n"),
    ("a.js", "/* a */\nb /* c\n"),
    ("a.kt", 'val a = """b"""\n// "don\'t"\n'),
    ("a.html", "<!-- a -->\n<p>\n"),
    ("a.sh", "cat <<EOF\na\nEOF\necho $((1 << 2))\n"),
    ("a.sh", 'read -r a <<< "$b"\ncat <<< word\n(( x = 1 << SHIFT ))\n'),
    ("a.txt", '"""\n/*\n<!--\n'),
    ("", '"""'),
    ("a.py", ""),
]


@pytest.mark.parametrize(("path", "content"), OPEN)
def test_what_is_open_at_the_end_is_told(path: str, content: str) -> None:
    """A string, a comment, a here-document."""
    assert ends_inside(content, path)


@pytest.mark.parametrize(("path", "content"), CLOSED)
def test_what_is_closed_is_not(path: str, content: str) -> None:
    """Nor what only looks like it: quotes in strings and comments, globs, languages that nobody knows."""
    assert not ends_inside(content, path)


def test_no_module_of_the_standard_library_is_open() -> None:
    """Whole files are whole."""
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    assert len(modules) > 100
    contents = {path.name: path.read_text(encoding="utf-8", errors="replace") for path in modules}
    assert [name for name, content in contents.items() if ends_inside(content, name)] == []
