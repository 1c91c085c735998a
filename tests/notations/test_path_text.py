"""Paths as answers write them: which lines of prose are one, and what is left of an absolute one."""

from __future__ import annotations

import pytest

from clada.notations.path_text import is_placeholder, path_in, path_in_info, path_in_title, relative

PATHS = {
    "src/app.py": "src/app.py",
    "  `src/app.py`  ": "src/app.py",
    "**src/app.py**:": "src/app.py",
    "### 2. `src/app.py`": "src/app.py",
    "- src/app.py": "src/app.py",
    "1. **File:** `src/app.py`": "src/app.py",
    "New file: src/app.py": "src/app.py",
    "filename: app.py": "app.py",
    "[app.py](src/app.py)": "app.py",
    '"my notes.txt"': "my notes.txt",
    "`my notes.txt`": "my notes.txt",
    "__init__.py": "__init__.py",
    "__app.py__": "app.py",
    "Makefile": "Makefile",
    ".gitignore": ".gitignore",
    "src\\app.py": "src\\app.py",
    "C:\\work\\app.py": "C:\\work\\app.py",
    "bin/tool": "bin/tool",
    "path/to/file.py": "path/to/file.py",
    "FILENAME": "FILENAME",
}
NO_PATHS = [
    "", "Here it is:", "app", "Node.js", "next.js", "socket.io", "1.2.3", "v2.0", "www.example.org/a.html",
    "github.com/a/b", "https://example.org/a.py", "my notes.txt", "a<b>.py", "what?.py", "src/",
    "`a.py` and `b.py`", "x" * 300 + ".py", "a\tb.py", "e.g.", "and so on...", "~/.bashrc", "`~/a/b.py`",
    "{{path}}/a.py", "`src/{{name}}.py`", "`macOS / Linux`", "`a.py / b.py`", "`src/ a.py`",
]  # fmt: skip
TITLES = {
    "### Updated app.py": "app.py",
    "1. **Create `src/models.py`**": "src/models.py",
    "app.py (updated)": "app.py",
    "**`app.py`** (new file):": "app.py",
    "\U0001f4c4 app.py": "app.py",
    "\U0001f6e0\ufe0f **Modified: app.py**": "app.py",
    "<summary>app.py</summary>": "app.py",
    "<summary><b>src/app.py</b> (complete file)</summary>": "src/app.py",
    "Step 3: Update Dockerfile": "Dockerfile",
    "Here's the updated `src/x.py`:": "src/x.py",
    "Here is the complete code for `x.py`:": "x.py",
    "app.py \u2014 updated": "app.py",
}
NO_TITLES = [
    "", "Updated", "### Updated app", "Update Node.js", "app.py and main.py", "### Updated a.py and b.py",
    "Changes in app.py", "Add to app.py", "app.py (excerpt)", "app.py (lines 1-20)", "app.py (before)",
    "The current app.py", "Run app.py", "Here is `app.py`:", "Remove app.py", "### src/components (new)",
    "Update v1.2", "see https://example.org/a.py", "new " * 300 + "a.py",
]  # fmt: skip


@pytest.mark.parametrize("line", PATHS)
def test_a_line_that_is_only_a_path_is_one(line: str) -> None:
    """Whatever stands around it."""
    assert path_in(line) == PATHS[line]


@pytest.mark.parametrize("line", NO_PATHS)
def test_prose_products_versions_and_domains_are_not_paths(line: str) -> None:
    """Prose, products, versions, domains."""
    assert path_in(line) is None


@pytest.mark.parametrize("line", TITLES)
def test_a_title_names_the_one_path_in_it(line: str) -> None:
    """With a few known words beside it, which say that it is a whole file."""
    assert path_in_title(line) == TITLES[line]


@pytest.mark.parametrize("line", NO_TITLES)
def test_any_other_words_make_no_title(line: str) -> None:
    """They may say that it is a part, or is only shown."""
    assert path_in_title(line) is None


@pytest.mark.parametrize(
    ("info", "path"),
    [
        ("a.py", "a.py"),
        ("python a.py", "a.py"),
        ("python:src/a.py", "src/a.py"),
        ('python title="a.py"', "a.py"),
        ("js {file=a.js}", "a.js"),
        ("python", None),
        ("", None),
        ("python linenums=1", None),
        ("c++", None),
        ("{image} img/a.svg", None),
        ("{code-cell} a.py", None),
        ('{.python filename="a.py"}', "a.py"),
    ],
)
def test_the_info_of_a_fence_may_name_a_path(info: str, path: str | None) -> None:
    """Alone, behind a language, or behind a key."""
    assert path_in_info(info) == path


@pytest.mark.parametrize(
    ("path", "roots", "expected"),
    [
        ("/repo/a.py", ["/repo"], "a.py"),
        ("/repo/a.py", ["/repo/"], "a.py"),
        ("/repository/a.py", ["/repo"], "/repository/a.py"),
        ("/repo", ["/repo"], "/repo"),
        ("C:\\repo\\src\\a.py", ["c:/repo"], "src/a.py"),
        ("/b/a.py", ["/a", "/b"], "a.py"),
        ("repo/a.py", ["/repo"], "repo/a.py"),
        ("/repo/../etc/x", ["/repo"], "../etc/x"),  # which leads out, and is refused as ever
    ],
)
def test_an_absolute_path_below_a_root_is_relative(path: str, roots: list[str], expected: str) -> None:
    """By its text alone."""
    assert relative(path, roots) == expected


def test_examples_of_instructions_are_known() -> None:
    """They are no names that a file would have."""
    assert is_placeholder("path/to/app.py")
    assert is_placeholder("your_file.js")
    assert not is_placeholder("src/path/to/app.py")
