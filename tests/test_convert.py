"""`clada convert`: the converted document gives the same tree, or says what it cannot say."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.notations import render

import clada
from clada.cli.flags import CONVERTIBLE
from clada.convert import convert
from clada.model import Operation
from clada.notations.registry import NOTATIONS
from clada.operations.write import Write
from clada.settings import Settings

ROOT = Path(__file__).parents[1]
NATIVE = [name for name in CONVERTIBLE if not NOTATIONS[name].rank]
DIALECTS = [name for name in CONVERTIBLE if NOTATIONS[name].rank]
DOCUMENTS = sorted((ROOT / "tests" / "corpus").rglob("*.in"))
ANSWERS = sorted(folder for folder in (ROOT / "tests" / "answers").iterdir() if folder.is_dir())


def _values(plan: clada.Plan) -> list[dict[str, Any]]:
    """Return the operations of a plan as they would be carried out, whichever notation they came from."""
    return [
        {"operation": item.name, **{name: value for name, value in _exact(item).items() if value != ""}}
        for block in plan.blocks
        if block.valid
        for item in block.operations
    ]


def _exact(item: Operation | clada.Invalid) -> dict[str, Any]:
    """Return the fields of an operation; of a write, with the text that is written."""
    values = item.values()
    if isinstance(item, Write):
        values.pop("final_newline", None)
        values["content"] = item.text(Settings(strip_fences=False))
    return values


def test_there_are_documents() -> None:
    assert len(DOCUMENTS) > 500
    assert CONVERTIBLE == ("csl", "cml", "json", "toml", "sr", "v4a", "udiff")


@pytest.fixture(autouse=True)
def _state_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a run that is all or nothing saves out of the state of whoever runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))


@cache
def _read(path: Path) -> clada.Plan:
    """Return the plan of a document, which several tests convert: a plan is a value."""
    return clada.parse(path.read_bytes())


@pytest.mark.parametrize("to", NATIVE)
def test_the_corpus_is_converted_without_loss_or_that_is_said(
    to: clada.NotationName, tmp_path: Path, *, is_whole: bool
) -> None:
    """Between our own notations: the same operations, or fewer and a note for each that is missing.

    A sample is each document into two of the four.
    """
    said = 0
    for path in DOCUMENTS if is_whole else DOCUMENTS[NATIVE.index(to) % 2 :: 2]:
        plan = _read(path)
        if plan.fatal or not plan.notation or NOTATIONS[plan.notation].rank:
            continue
        converted = convert(plan, to, Settings(workspace=str(tmp_path)))
        back = clada.parse(converted.text, to) if converted.text else clada.Plan(None)
        assert not back.fatal, (path, converted.text)
        assert not back.problems, (path, converted.text)
        if not converted.notes and to != "csl":
            assert _commands_stripped(_values(back)) == _commands_stripped(_values(plan)), path
            said += 1
        invalid = sum(
            isinstance(item, clada.Invalid) or not block.valid
            for block in plan.blocks
            for item in block.operations
        )
        assert len(_values(back)) + len(converted.notes) + invalid >= len(_values(plan)), path
    assert said > (100 if is_whole else 50) or to == "csl"


def _prepare(plan: clada.Plan, workspace: Path) -> None:
    """Make the files that a plan is about, with the texts that it looks for."""
    lines: dict[str, list[str]] = {}
    for item in _items(plan):
        path = getattr(item, "path", None) or getattr(item, "source", None)
        if not path or not re.fullmatch(r"[\w.][\w./-]*", path) or ".." in path:
            continue
        found = lines.setdefault(path, ["top"])
        for hunk in getattr(item, "hunks", ()):
            found += [*hunk.anchors, hunk.search.removesuffix("\n")]
            found += ["between", hunk.search_end] if hunk.search_end else []
    for path, texts in lines.items():
        file = workspace / path.rstrip("/")
        with suppress(OSError):  # where another path says that it is a folder, or the other way round
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(texts) + "\nend\n", encoding="utf-8")


@pytest.mark.parametrize("to", CONVERTIBLE)
def test_every_document_of_the_corpus_gives_the_same_tree_or_that_is_said(
    to: clada.NotationName, tmp_path: Path, *, is_whole: bool
) -> None:
    """From every notation into every one; a sample is each document into one."""
    same = 0
    for number, path in enumerate(DOCUMENTS):
        if not is_whole and CONVERTIBLE[number % len(CONVERTIBLE)] != to:
            continue
        plan = _read(path)
        if not plan.ok:
            continue
        direct, converted = (tmp_path / f"{number}{name}" for name in "ab")
        for workspace in (direct, converted):
            workspace.mkdir()
            _prepare(plan, workspace)
        made = convert(plan, to, Settings(workspace=str(converted)))
        report = clada.execute(plan, workspace=str(direct), git=False, record="none")
        if made.notes or not report.ok or not made.text:
            continue
        done = clada.execute(
            made.text, workspace=str(converted), git=False, record="none", format=to, run_fences=True
        )
        assert done.ok, (path, made.text, done.text())
        assert _tree(converted) == _tree(direct), (path, made.text)
        same += 1
    assert same > (300 if is_whole else 30)


@pytest.mark.parametrize("to", NATIVE)
def test_a_block_that_is_all_or_nothing_stays_so(to: clada.NotationName, tmp_path: Path) -> None:
    plan = clada.parse('<tasks atomic="true">\n<write path="a">x</write>\n</tasks>\n')
    converted = convert(plan, to, Settings(workspace=str(tmp_path)))
    assert [block.atomic for block in clada.parse(converted.text, to).blocks] == [True]


def _commands_stripped(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "command": each["command"].strip()} if "command" in each else each for each in values]


NASTY = st.lists(
    st.sampled_from([
        "<---END--->", "<---REPLACE--->", " <---END--->", "<---TO--->x", "]]>", "]]&gt;", "<![CDATA[",
        "&amp;", "'''", '"""', "\\", "\\n", "\x00", "\x1b", "\r", "\r\n", "\n", "\n\n", "\t", " ", "é", "😀",
        "'", '"', "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "```", "*** End Patch", "+", "[[task]]",
        "x", "\x7f", "<think>", "\ufeff", "\u2028", "@@", "</write>", "a b",
    ]),
    max_size=6,
).map("".join)  # fmt: skip
TEXT = NASTY.filter(bool)
NAMES = st.sampled_from(["a.txt", "b c.txt", 'q"u.txt', "d/e.py", "é.md", "back\\slash", "<t>&.xml"])


def _task(action: str, *paths: str, optional: Any = None, **texts: Any) -> Any:
    fields = {"action": st.just(action), **dict.fromkeys(paths, NAMES), **texts}
    return st.fixed_dictionaries(fields, optional=optional)


COUNTS = {"count": st.sampled_from([1, 2, "all"]), "match": st.just("blanks"), "near": st.integers(1, 9)}
OPERATIONS = st.one_of(
    _task("write", "path", content=NASTY, optional={"append": st.booleans()}),
    _task("edit", "path", search=TEXT, replace=NASTY, optional=COUNTS),
    _task("edit", "path", search_start=TEXT, search_end=TEXT, replace=TEXT),
    _task("move", "from", "to"),
    _task("remove", "path"),
    _task("run", command=TEXT, optional={"dir": NAMES}),
)
PLANS = st.lists(
    st.tuples(st.booleans(), st.lists(OPERATIONS, min_size=1, max_size=3)), min_size=1, max_size=3
)


@given(blocks=PLANS, to=st.sampled_from(NATIVE))
@settings(max_examples=75, deadline=None)
def test_random_plans_are_converted_without_loss_or_that_is_said(
    blocks: list[Any], to: clada.NotationName
) -> None:
    plan = clada.parse(render.json_blocks(blocks), "json")
    with tempfile.TemporaryDirectory() as folder:
        converted = convert(plan, to, Settings(workspace=folder))
    back = clada.parse(converted.text, to) if converted.text else clada.Plan(None)
    assert not back.fatal, converted.text
    if converted.notes:
        assert to in ("csl", "cml") or plan.problems
        return
    if to == "csl" and any(item.name in ("move", "remove") for item in _items(plan)):
        return  # which are commands there
    assert _commands_stripped(_values(back)) == _commands_stripped(_values(plan))


def _items(plan: clada.Plan) -> list[Operation | clada.Invalid]:
    return [item for block in plan.blocks for item in block.operations]


def _is_read_with_flags(answer: Path) -> bool:
    lines = (answer / "expected").read_text(encoding="utf-8").splitlines()
    return any(line.startswith("$ ") for line in lines)


def _begun(answer: Path, workspace: Path) -> Path:
    """Make the workspace of an answer, as it is before."""
    if (answer / "before").exists():
        shutil.copytree(answer / "before", workspace)
    else:
        workspace.mkdir()
    return workspace


@pytest.mark.sample(150)
@pytest.mark.parametrize(
    "answer",
    [folder for folder in ANSWERS if not _is_read_with_flags(folder)],
    ids=lambda folder: folder.name,
)
def test_an_answer_gives_the_same_tree_in_any_notation(
    answer: Path, tmp_path: Path, *, is_whole: bool
) -> None:
    """Every answer there is, carried out as it is and converted; without a note, the trees are equal.

    A sample is into every second notation.
    """
    plan = clada.parse((answer / "answer.md").read_bytes())
    if plan.fatal or plan.problems:
        return
    direct = _begun(answer, tmp_path / "direct")
    if not clada.execute(plan, workspace=str(direct), git=False).ok:
        return  # what is left after a failure is told by notes
    to: Any
    for to in CONVERTIBLE if is_whole else CONVERTIBLE[ANSWERS.index(answer) % 2 :: 2]:
        workspace = _begun(answer, tmp_path / to)
        converted = convert(plan, to, Settings(workspace=str(workspace)))
        if converted.notes:
            continue
        if converted.text:
            done = clada.execute(
                converted.text, workspace=str(workspace), git=False, format=to, run_fences=True
            )
            assert done.ok, (to, converted.text, done.text())
        assert _tree(workspace) == _tree(direct), (to, converted.text)


def _tree(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}


LINES = st.lists(
    st.sampled_from(["a", "b", "c", "", "  d", "x = 1", "}", "```", "=======", "+", "@@ x"]), max_size=10
)
CONTENTS = st.tuples(LINES, st.booleans()).map(
    lambda each: "\n".join(each[0]) + ("\n" if each[1] and each[0] else "")
)


@given(
    old=CONTENTS,
    new=CONTENTS,
    search=st.sampled_from(["a", "b\n", "c", "x", "d\n", " "]),
    to=st.sampled_from(CONVERTIBLE),
)
@settings(max_examples=75, deadline=None)
def test_counted_and_partial_edits_become_whole_lines(
    old: str, new: str, search: str, to: clada.NotationName
) -> None:
    """Or what cannot be said is."""
    tasks = [
        {"action": "edit", "path": "a.txt", "search": search, "replace": "<y>", "count": "all"},
        {"action": "write", "path": "b/new.txt", "content": new},
        {"action": "run", "command": "mkdir -p keep && cp a.txt keep/b.txt"},
    ]
    plan = clada.parse(render.json_blocks([(True, [task]) for task in tasks]), "json")
    trees = []
    for text in (None, to):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.txt").write_text(old)
            if text is None:
                report = clada.execute(plan, workspace=folder, git=False)
                if not report.ok:
                    return
            else:
                converted = convert(plan, to, Settings(workspace=folder))
                if converted.notes:
                    return
                done = clada.execute(converted.text, workspace=folder, git=False, format=to, run_fences=True)
                assert done.ok, (converted.text, done.text())
            trees.append(_tree(Path(folder)))
    assert trees[0] == trees[1]


def test_operations_without_an_equivalent_are_reported_with_exit_1(tmp_path: Path) -> None:
    task = {"action": "write", "path": "a.md", "content": "x\n<---END--->\n", "append": False}
    plan = clada.parse(render.json_blocks([(True, [task])]), "json")
    converted = convert(plan, "csl", Settings(workspace=str(tmp_path)))
    assert converted.notes == ("Line 7: write a.md cannot be said in csl: left out",)
    assert converted.text == ""


@pytest.mark.parametrize("to", ["v4a", "udiff"])
def test_a_run_is_left_out_with_a_note_where_there_are_no_words_for_it(
    to: clada.NotationName, tmp_path: Path
) -> None:
    plan = clada.parse('<---WRITE file="a"--->\nx\n\n<---END--->\n<---RUN--->\nnpm test\n<---END--->\n')
    converted = convert(plan, to, Settings(workspace=str(tmp_path)))
    assert converted.notes == (f"Line 5: run npm test cannot be said in {to}: left out",)
    assert _values(clada.parse(converted.text, to))[0]["content"] == "x\n"


def test_an_empty_file_is_created_and_removed_by_a_diff_that_ends_with_it(tmp_path: Path) -> None:
    for text, left in (('<write path="a"></write>\n', ["a"]), ('<remove path="a"/>\n', [])):
        converted = convert(clada.parse(text), "udiff", Settings(workspace=str(tmp_path)))
        assert converted.notes == ()
        assert clada.execute(converted.text, workspace=str(tmp_path), git=False).ok, converted.text
        assert [path.name for path in tmp_path.iterdir()] == left


def test_a_command_before_a_change_is_left_out_with_a_note(tmp_path: Path) -> None:
    plan = clada.parse('<write path="a">x</write>\n<run>cat a</run>\n<remove path="a"/>\n<run>ls</run>\n')
    converted = convert(plan, "sr", Settings(workspace=str(tmp_path)))
    assert converted.notes == ("Line 2: run cat a: it comes before other changes: left out",)
    assert converted.text == "```bash\nls\n```\n"


def test_hunks_become_edits_of_whole_lines_in_csl(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 1\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ def g():\n-    return 1\n+    return 2\n*** End Patch\n"
    )
    converted = convert(clada.parse(patch), "csl", Settings(workspace=str(tmp_path)))
    assert converted.notes == ()
    assert clada.execute(converted.text, workspace=str(tmp_path), git=False, format="csl").ok
    assert (tmp_path / "a.py").read_text() == "def f():\n    return 1\n\n\ndef g():\n    return 2\n"


def test_the_workspace_is_not_changed(tmp_path: Path) -> None:
    plan = clada.parse('<---WRITE file="a"--->\nx\n<---END--->\n')
    to: Any
    for to in CONVERTIBLE:
        convert(plan, to, Settings(workspace=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_converts(tmp_path: Path) -> None:
    import subprocess
    import sys

    def run(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "clada", "convert", *arguments]
        return subprocess.run(argv, input=text, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("--to", "json", text='<remove path="a"/>')
    assert (done.returncode, done.stdout) == (0, '{"tasks": [\n  {"action": "remove", "path": "a"}\n]}\n')
    done = run("--to", "v4a", text="<run>npm test</run>")
    assert (done.returncode, done.stderr) == (
        1,
        "clada: Line 1: run npm test cannot be said in v4a: left out\n",
    )
    done = run(text="x")
    assert (done.returncode, done.stderr) == (
        2,
        "clada: clada convert needs --to\n  clada convert --to=csl FILE\n",
    )
    done = run("--to", "xml", text="x")
    assert done.returncode == 2
    done = run("--to", "csl", text="<---WRITE")
    assert (done.returncode, done.stderr) == (
        1,
        "clada: Line 1: Malformed marker; 0 complete operations came before it\n  clada plan -v FILE\n",
    )
