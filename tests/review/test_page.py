"""What a page shows of a plan."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.operations import OPERATIONS, find
from clada.review.markup import MINUS, el, odd_text, visible
from clada.review.operations import PLANNED_WORDS
from clada.review.page import Review, export
from clada.review.prose import render_prose
from clada.selection import preview

if TYPE_CHECKING:
    from pathlib import Path

CSL = '<---WRITE file="a.py"--->\nx\n<---END--->'
SR = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
LS = '{"action":"run","command":"ls"}'
PROSE = {
    f"One.\n\n{CSL}\ntwo\n{CSL}\nthree\n": ["One.", "two", "three"],
    f"One.\n<---TASKS--->\n{CSL}\n{CSL}\n<---END--->\n": ["One.", "", ""],
    f"One:\n```sh\nnpm start\n```\nSo.\n```\n{CSL}\n```\nend": ["One:\n```sh\nnpm start\n```\nSo.", "end"],
    f'One\n```json\n{{"tasks":[\n{LS},\n{LS}]}}\n```\nend': ["One", "", "end"],
    '[[task]]\naction="run"\ncommand="ls"\n\n[[task]]\naction="run"\ncommand="ls"\n': ["", "", ""],
    'One\n<tasks>\n<write path="a">x</write>\n</tasks>\nend': ["One", "end"],
    f"One\n\na.py\n```python\n{SR}\n```\nand\n\na.py\n```python\n{SR}\n```\nend": ["One", "and", "end"],
    "One\n\n**a.py**\n```python\nx\n```\nand\n\n`b.py`:\n```python\nx\n```\nend": ["One", "and", "end"],
    "One\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n```\nend": ["One", "end"],
}  # fmt: skip


def review_of(text: str, workspace: Path, **settings: Any) -> Review:
    """Return the review of a text."""
    plan = clada.parse(text)
    options = clada.Settings(workspace=str(workspace), record="none", **settings)
    return Review(plan, *preview(plan, options), options)


@pytest.mark.parametrize("text", PROSE)
def test_prose_stands_before_its_operation(text: str, tmp_path: Path) -> None:
    shown = review_of(text, tmp_path)
    assert [each.prose for each in shown.operations] + [shown.closing] == PROSE[text]


def test_prose_is_markdown_without_html_links_and_images() -> None:
    html = render_prose(
        "# Big\n\n**bold** `code` [x](http://e) ![y](z) <b>raw</b> \u202e\n\n- one\n\n```py\na < b\n```\n"
    )
    assert '<p class="heading">Big</p>' in html
    assert "<strong>bold</strong> <code>code</code>" in html
    assert "<li>one</li>" in html
    assert "a &lt; b" in html
    assert "&lt;b&gt;raw&lt;/b&gt; ⟨U+202E⟩" in html
    assert "<a" not in html
    assert "<img" not in html


def test_what_is_not_markup_is_escaped_and_what_cannot_be_seen_is_shown() -> None:
    assert el("b", "<i>", title='"') == '<b title="&quot;">&lt;i&gt;</b>'
    assert visible("a\u200bb") == "a⟨U+200B⟩b"
    assert odd_text("a\u0430<") == 'a<span class="odd" title="U+0430">\u0430</span>&lt;'


def test_a_command_says_why_it_needs_approval(tmp_path: Path) -> None:
    run = "<---RUN--->\n{}\n<---END--->\n"
    shown = review_of(run.format("make") + run.format("ls") + run.format("echo x"), tmp_path).operations
    assert [bool(each.needs_approval) for each in shown] == [True, False, False]
    given = review_of(run.format("make"), tmp_path, approve=("make",)).operations
    assert given[0].needs_approval is None


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    shown = review_of(f"{CSL}\n<---WRITE--->\nx\n<---END--->\n", tmp_path)
    assert [each.preview.task.invalid for each in shown.operations] == [False, True]
    broken = export(review_of(f"{CSL}\n<---WRIT--->\n", tmp_path))
    assert "Line 4: Unknown operation: WRIT" in broken
    assert 'class="card' not in broken


def test_operations_on_one_file_are_together_unless_a_command_is_between_them(tmp_path: Path) -> None:
    other, run = CSL.replace("a.py", "b.py"), "<---RUN--->\nls\n<---END--->"
    shown = review_of(f"{CSL}\n{other}\n{CSL}\n{run}\n{CSL}", tmp_path).groups
    assert [(each.name, [one.index for one in each.operations]) for each in shown] == [
        ("a.py", [0, 2]), ("b.py", [1]), ("ls", [3]), ("a.py", [4]),
    ]  # fmt: skip


def test_deletions_and_moves_are_shown_as_such_and_counted(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.py").write_text("1\n2\n")
    (tmp_path / "old" / "b.py").write_text("3\n")
    (tmp_path / "c.py").write_text("4\n")
    run = "<---RUN--->\n{}\n<---END--->\n"
    page = export(review_of(run.format("rm -r old") + run.format("mv c.py d.py"), tmp_path))
    assert re.findall(r"<h2[^>]*>(Deletion|Move)<", page) == ["Deletion", "Move"]
    assert "2 operations in 3 files" in page
    assert page.count(f"{MINUS}3</span>") == 2  # in the tree, and on its card
    assert f">{MINUS}3</a>" in page  # in the summary
    assert "would remove" in page
    assert "would move" in page
    assert "<del>c.py</del> → <ins>d.py</ins> (1 line, unchanged)" in page
    assert "Removes 2 files with 3 lines." in page


def test_binary_and_huge_files_are_summarised(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\0" * 5000)
    assert "Binary file: 5.0 KB → 2 bytes" in export(review_of(CSL, tmp_path))
    (tmp_path / "a.py").write_bytes(b"line\n" * 1_000_000)
    assert "Too much to show: 5.0 MB → 2 bytes, 1,000,000 lines before" in export(review_of(CSL, tmp_path))


def test_a_deletion_shows_every_file_that_goes_with_its_lines(tmp_path: Path) -> None:
    for name, lines in {"old/a.py": 3, "old/in/b.py": 40}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n" * lines)
    html = export(review_of("<---RUN--->\nrm -r old\n<---END--->", tmp_path))
    assert "Removes 2 files with 43 lines." in html
    assert re.search(r"old/in/b\.py <span class=\"minus\">40 lines", html)
    assert html.count('<tr class="removed">') == 43
    remove = export(
        review_of('```json\n{"tasks": [{"action": "remove", "path": "old/a.py"}]}\n```', tmp_path)
    )
    assert "Removes 1 file with 3 lines." in remove


def test_a_move_is_shown_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    html = export(review_of('<move from="a.py" to="b.py"/>', tmp_path))
    assert "<del>a.py</del> → <ins>b.py</ins> (1 line, unchanged)" in html


def test_a_failure_shows_what_the_answer_expects_and_what_the_file_has(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def area(w, h):\n    return w * h\n")
    edit = '<---SEARCH file="a.py"--->\ndef area(w, h):\n    return w+h\n<---REPLACE--->\nx\n<---END--->\n'
    html = export(review_of(edit, tmp_path))
    assert html.count("found 0 matches, expected 1; closest is lines 1-2") == 1
    wanted, has = re.findall(r'<tr class="(?:removed|added)">.*?</tr>', html)
    assert "w+h" in re.sub("<[^>]*>", "", wanted)
    assert "w * h" in re.sub("<[^>]*>", "", has)


def test_colours_and_changed_words(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def area(w, h):\n    return w * h\n")
    edit = '<---SEARCH file="a.py"--->\n    return w * h\n<---REPLACE--->\n    return w * 2\n<---END--->\n'
    html = export(review_of(edit, tmp_path))
    assert '<span class="k">def</span> <span class="f">area</span>(w, h):' in html
    assert '<span class="k">return</span> w * <mark>h</mark>' in html
    assert '<mark><span class="m">2</span></mark>' in html


def test_the_words_of_the_page_are_those_of_a_plan() -> None:
    results = {
        result: phrases.planned[0]
        for operation in map(find, OPERATIONS)
        if operation
        for result, phrases in operation.phrases.items()
    }
    for result, phrase in results.items():
        said = phrase.replace("{listed}", "merged")  # the remarks of a merge begin with that
        assert f"({PLANNED_WORDS.get(result, result)}" in said


def test_a_page_that_is_a_file_is_titled_and_has_nothing_to_press(tmp_path: Path) -> None:
    html = export(review_of(CSL, tmp_path))
    assert re.search(rf"<title>{tmp_path.name} · clada plan of \d{{4}}-\d\d-\d\d \d\d:\d\d</title>", html)
    assert 'class="choice' not in html
    assert "src=" not in html.partition("<style>")[0]


def test_the_diff_of_a_secret_file_shows_no_value_that_it_held(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODE=one\nAPI_KEY=sk-abcdefgh\n")
    edit = '<---SEARCH file=".env"--->\nMODE=one\n<---REPLACE--->\nMODE=two\n<---END--->\n'
    html = export(review_of(edit, tmp_path))
    assert "two" in html
    assert "•••(.env:API_KEY)" in re.sub("<[^>]*>", "", html)
    assert "sk-abcdefgh" not in html
    assert "sk-abcdefgh" in export(review_of(edit, tmp_path, reveal=(".env",)))
