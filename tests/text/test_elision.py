"""Lines that stand for code which is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada.text.elision import elision_complaint, find_elision, is_elision

TABLES = Path(__file__).parent


def lines_of(name: str) -> list[str]:
    """Return the lines of a table, each once."""
    lines = (TABLES / name).read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == len(lines)
    return lines


def test_phrasings_of_models_are_recognised() -> None:
    """As they are written in answers, in many comment syntaxes."""
    lines = lines_of("omissions.txt")
    assert len(lines) >= 300
    assert [line for line in lines if not is_elision(line)] == []


def test_indentation_and_case_make_no_difference() -> None:
    """A model writes such a line where the code was."""
    for line in lines_of("omissions.txt"):
        assert is_elision(f"\t    {line}  ")
        assert is_elision(line.replace("existing", "Existing").replace("rest of", "Rest of"))


def test_real_comments_are_not_recognised() -> None:
    """From the standard library and installed packages: they have the same words."""
    lines = lines_of("no_omissions.txt")
    assert len(lines) >= 400
    assert [line for line in lines if is_elision(line)] == []


def test_prose_has_other_comments() -> None:
    """In Markdown `#` is a heading, and code is shown."""
    assert find_elision("# ...\n// rest of the code\n", path="a.py") is not None
    assert find_elision("# ...\n// rest of the code\n", path="docs/a.md") is None
    assert find_elision("a\n<!-- rest of the page unchanged -->\n", path="a.MD") == (
        "<!-- rest of the page unchanged -->"
    )


def test_a_long_line_takes_no_time() -> None:
    """Lines of generated files may be megabytes long."""
    for sign in ("*", ".", "(", " ", "{- "):
        assert not is_elision(f"# existing {sign * 1_000_000} x")


@pytest.mark.parametrize(
    "line",
    [
        "# ... existing code ...",
        "    // ... rest of the file unchanged ...",
        "# ... (existing imports) ...",
        "/* ... remaining methods ... */",
        "<!-- ... the rest of the page ... -->",
        "{/* ... existing JSX ... */}",
        "-- ... same as before ...",
        "; ... previous definitions …",
        "% … omitted …",
        "// Keep existing code...",
        "# ...",
        "// …",
        "/* ... */",
        "<!-- ... -->",
        "... existing code ...",
        "… rest of the file …",
        "(... remaining code unchanged ...)",
        "rest of the code...",
        "Keep existing code …",
        "...existing code...",
        "…existing code…",
        "...rest of file...",
        "...rest of the file",
        "[... rest of the code ...]",
        "  [...existing code...]",
        " * ... existing code ...",
        "    pass  # ... existing code ...",
        "render();  // … rest unchanged, existing code",
        "function f() { /* ... existing code ... */ }",
    ],
)
def test_a_line_that_stands_for_others(line: str) -> None:
    """A comment of dots alone, or of dots and a word that says what they stand for."""
    assert is_elision(line)


@pytest.mark.parametrize(
    "line",
    [
        "...",  # Python
        "    ...",
        "…",
        "def f(self) -> None: ...",
        "Loading previous results...",
        "Remaining time…",
        "Previous...",
        'print("Loading previous results...")',
        "return {...existing, name};",
        "  ...previous,",
        "...rest",
        "# Loading...",
        "# the remaining items",
        "log(...existing);  // unchanged",
        "...previous",
        "...existing, ...added",
        "[...existing, ...previous]",
        "...previous as State,",
        " * the previous state...",
        'print("a  # ... existing code ...")',
        "wait()  # until the previous one has ended...",
        "[...]",
        "f(x)  # ...",
        "",
    ],
)
def test_a_line_that_is_what_it_is(line: str) -> None:
    """Python's dots, spreads, texts that are shown, comments without dots."""
    assert not is_elision(line)


def test_the_first_line_that_stands_for_others_is_found() -> None:
    """As it is told: without the blanks around it."""
    assert find_elision("a\n  # ... existing code ...\n# ...\n") == "# ... existing code ..."
    assert find_elision("a\nb\n") is None


def test_what_the_search_text_has_is_the_files_own() -> None:
    """Such a line may really be there."""
    assert find_elision("a\n# ...\nb", "b\n    # ...\n") is None
    assert find_elision("a\n# ...\n// ...\n", "# ...") == "// ..."


def test_the_message_quotes_it() -> None:
    """Shortened, for a line can be long."""
    assert elision_complaint("# ... existing code ...") == (
        '"# ... existing code ..." stands for code that is not there: send the whole file or a SEARCH block'
    )
    assert len(elision_complaint(f"# ... existing {'x' * 90}") or "") < 200


@given(st.text(st.sampled_from(".…#/*()<!->{} \nexisting")), st.text(st.sampled_from(".# \n")))
def test_no_text_is_too_strange(text: str, known: str) -> None:
    """The line that is found is one of the text, and none that is known."""
    found = find_elision(text, known)
    if found:
        assert found in {line.strip() for line in text.split("\n")}
        assert found not in {other.strip() for other in known.split("\n")}
