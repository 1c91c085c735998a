"""Changed files that do not parse any more are named, with line and column; or nothing is written."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import subprocess
import sys
import threading
import warnings
from typing import TYPE_CHECKING

import pytest
from tests import command_line

import clada
from clada import syntax
from clada.syntax import TREE_SITTER, find_error

if TYPE_CHECKING:
    from pathlib import Path

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
BROKEN = {  # a file that does not parse, and the line and column where
    "a.py": ("x = 1\ndef f(:\n    pass\n", 2, 7),
    "stub.pyi": ("def f(x: int -> int: ...\n", 1, None),
    "return.py": ("return 1\n", 1, 1),
    "null.py": ("x = 1\ny = '\0'\n", 2, 6),
    "a.json": ('{"a": 1,\n "b" 2}\n', 2, 6),
    "a.toml": ("a = 1\nb = c\n", 2, 5),
    "cut.toml": ("a = [1\n", None, None),
    "a.xml": ("<a>\n<b></a>\n", 2, 6),
    "a.svg": ("<svg", 1, None),
}
FINE = {
    "a.py": "x = 1\n",
    "escape.py": "x = '\\d'\n",  # a SyntaxWarning
    "latin.py": "# -*- coding: latin-1 -*-\nx = 1\n",
    "a.json": '\ufeff{"a": [1, 2.5, "\U0001f600"]}',
    "digits.json": "1" * 10_000,
    "tsconfig.json": '{"a": 1, // comments are allowed here\n}',
    "a.toml": "a = 1\r\n[b]\n",
    "a.xml": "<?xml version='1.0'?>\n<a xmlns:b='c'><b:d/></a>",
    "entities.xml": '<!DOCTYPE a [<!ENTITY x "y">]>\n<a>&x;',  # what declares entities is not looked at
    "unknown.xml": "<?xml version='1.0' encoding='klingon'?><a/>",
    "a.txt": "def f(:",
    "py": "def f(:",
}
DEEP = (
    "(",
    "-",
    "a.",
    "x=",
    "lambda:",
    "not ",
    "[",
    "1+",
    "f(",
    "{",
    "f'{",
    "a if b else ",
    "@a\n",
    '{"a":',
    "<a>",
)


@pytest.mark.parametrize("name", BROKEN)
def test_the_place_of_an_error_is_found(name: str) -> None:
    text, line, column = BROKEN[name]
    found = find_error(f"folder/{name}", text.encode())
    assert found
    assert found.why
    assert line in (None, found.line)
    assert column in (None, found.column)


@pytest.mark.parametrize("name", FINE)
def test_nothing_is_said_of_a_file_that_parses_or_that_no_parser_is_for(name: str) -> None:
    assert find_error(name, FINE[name].encode()) is None


def test_a_file_that_is_not_utf_8_is_named_with_its_place() -> None:
    assert find_error("a.json", b'{"a":\n"\xff"}') == syntax.Place(2, 2, "not UTF-8")
    assert find_error("a.toml", b"a = '\xff'") == syntax.Place(1, 6, "not UTF-8")


@pytest.mark.parametrize("ending", ["py", "json", "toml", "xml"])
def test_deep_nesting_ends_no_run(ending: str) -> None:
    for part in DEEP:
        find_error(f"a.{ending}", part.encode() * 100_000)


def test_entities_without_end_are_not_expanded() -> None:
    lines = [f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 30)]
    bomb = f'<!DOCTYPE a [<!ENTITY a0 "x">{"".join(lines)}]><a>&a29;</a>'
    assert find_error("a.xml", bomb.encode()) is None


def test_warnings_of_the_host_stay_as_they_are() -> None:
    """Not even where the host makes errors of them, and several threads look at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        found: list[object] = []
        look = [
            threading.Thread(target=lambda: found.append(find_error("a.py", b"x = '\\d'\n")))
            for _ in range(8)
        ]
        for thread in look:
            thread.start()
        for thread in look:
            thread.join()
        assert found == [None] * 8
        assert list(warnings.filters) == before


def test_each_changed_file_that_does_not_parse_any_more_has_a_note(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    (tmp_path / "old.py").write_text("print 1\n", encoding="utf-8")
    (tmp_path / "moved.py").write_text("print 2\n", encoding="utf-8")
    document = {
        "tasks": [
            {"action": "edit", "path": "app.py", "search": "f()", "replace": "f("},
            {"action": "edit", "path": "old.py", "search": "1", "replace": "2"},
            {"action": "move", "from": "moved.py", "to": "there.py"},
            {"action": "write", "path": "new.json", "content": "{'a': 1}"},
            {"action": "write", "path": "fine.json", "content": "{}"},
        ]
    }
    report = clada.execute(json.dumps(document), workspace=tmp_path, git=False)
    assert report.exit_code == 0
    assert report.notes == (
        f"app.py does not parse any more: line 1, column 7: invalid syntax (Python {VERSION})",
        "new.json does not parse: line 1, column 2: Expecting property name enclosed in double quotes",
    )
    for note in report.notes:
        assert f"Note: {note}" in report.text(for_llm=True)
    assert "def f(:" in (tmp_path / "app.py").read_text(encoding="utf-8")


def test_only_the_state_at_the_end_of_a_run_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = (1, 2)\n", encoding="utf-8")
    edits = [
        {"action": "edit", "path": "a.py", "search": "(1, ", "replace": "(1, 3, "},
        {"action": "edit", "path": "a.py", "search": "2)", "replace": "2"},
        {"action": "edit", "path": "a.py", "search": "2", "replace": "2)"},
    ]
    assert clada.execute(json.dumps({"tasks": edits}), workspace=tmp_path, git=False).notes == ()
    failing = [edits[1] | {"search": "2)", "replace": "2"}, {"action": "remove", "path": "missing"}]
    report = clada.execute(json.dumps({"tasks": failing}), workspace=tmp_path, git=False, atomic=True)
    assert [note for note in report.notes if "parse" in note] == []  # it was rolled back


def test_a_plan_tells_before_anything_is_applied(tmp_path: Path) -> None:
    document = b'<---WRITE file="a.json"--->\n{]\n<---END--->\n'
    done = command_line.run("plan", document=document, directory=tmp_path)
    assert done.returncode == 0
    assert b"clada: a.json would not parse: line 1, column 2: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_refuse_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b\n", encoding="utf-8")
    document = b'<---WRITE file="b.txt"--->\nc\n<---END--->\n<---WRITE file="a.json"--->\n{]\n<---END--->\n'
    for arguments in (["--syntax=refuse"], ["plan", "--syntax=refuse"]):
        done = command_line.run(*arguments, document=document, directory=tmp_path)
        assert done.returncode == 1
        assert b"[task-1] FATAL: PARSE - a.json would not parse: line 1, column 2: " in done.stdout
        assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]
        assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "b\n"
    report = command_line.run("report", directory=tmp_path).stdout
    assert b"Correct the document, and send all of it again." in report
    assert b"--syntax" not in report


def test_refuse_lets_everything_else_pass(tmp_path: Path) -> None:
    """The trial counts nothing, and asks nothing."""
    document = '<---WRITE file="a.json"--->\n{}\n<---END--->\n<---RUN--->\ntouch b\n<---END--->\n'
    report = clada.execute(document, workspace=tmp_path, git=False, syntax="refuse", max_files=2)
    assert report.exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b"]


def test_syntax_off_gives_no_notes(tmp_path: Path) -> None:
    document = '<---WRITE file="a.json"--->\n{]\n<---END--->\n'
    assert clada.execute(document, workspace=tmp_path, git=False, syntax="off").notes == ()


def test_large_files_and_links_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "LARGEST", 100)
    (tmp_path / "link.json").symlink_to("elsewhere")
    large = f'<---WRITE file="a.json"--->\n{"x" * 101}\n<---END--->\n'
    linked = '<---WRITE file="link.json"--->\n{]\n<---END--->\n'
    report = clada.execute(large + linked, workspace=tmp_path, git=False)
    assert report.notes == ()


def test_many_broken_files_are_named_in_few_notes(tmp_path: Path) -> None:
    document = "".join(f'<---WRITE file="{number}.json"--->\n]\n<---END--->\n' for number in range(30))
    report = clada.execute(document, workspace=tmp_path, git=False)
    assert len(report.notes) == 11
    assert report.notes[-1].startswith("does not parse either: 10.json, ")
    assert report.notes[-1].endswith("and 10 more")


def test_a_plain_run_loads_no_parser(tmp_path: Path) -> None:
    """A change of a text file loads neither json nor tomllib, expat or tree-sitter."""
    code = (
        "import sys, clada\n"
        "clada.execute('<---WRITE file=\"a.txt\"--->\\n{]\\n<---END--->', workspace='.', git=False)\n"
        "print([name for name in ('json', 'tomllib', 'pyexpat', 'tree_sitter') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert done.stdout == "[]\n"


def test_other_languages_are_parsed_by_tree_sitter() -> None:
    get_parser = pytest.importorskip(
        "tree_sitter_language_pack", reason="clada[syntax] is not installed"
    ).get_parser
    languages = sorted(set(TREE_SITTER.values()))
    assert len(languages) >= 30
    for language in languages:
        get_parser(language)
    found = {
        "a.js": "let a = 1;\nlet b = (1;\n", "a.ts": "let a: number = 1;\nlet b: = 2;\n",
        "a.go": "package a\nfunc f() { return 1\n", "a.rs": "fn f() {}\nfn g( {}\n",
        "a.java": "class A { int a; }\nclass B {\n  int f( { }\n}\n",
        "a.rb": "a = 1\ndef f(\nend\n", "a.sh": "a=1\nif true; then\n",
        "a.css": "a { b: c }\nd { e: ", "a.yaml": "a: 1\nb: [1\n",
    }  # fmt: skip
    for name, text in found.items():
        wrong = find_error(name, text.encode())
        assert wrong, name
        assert find_error(name, text.encode().splitlines(keepends=True)[0]) is None, name
    missing = find_error("a.rs", "fn f() {}\nfn é() { let ü = 1 }\n".encode())
    assert missing == syntax.Place(2, 19, "`;` is missing")
