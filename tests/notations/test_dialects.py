"""What holds for the dialects of other tools, whatever the text: nothing raises, or is written by halves."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cutting import STEP, cuts
from tests.notations import render_dialects as render

import clada
from clada.notations.registry import NOTATIONS

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
DIALECTS = [name for name, row in NOTATIONS.items() if row.rank]
DOCUMENTS = [
    *(path for name in DIALECTS for path in sorted((CORPUS / name).glob("*.in"))),
    *sorted((CORPUS / "detection").glob("*.in")),
    *(path for name in DIALECTS for path in sorted((ROOT / "tests" / "answers").glob(f"{name}-*/answer.md"))),
]
LEAST_DOCUMENTS = 300
TURNS = 20  # tests that share the documents
UNSEEN = re.compile(r"the end of this block is not clear|differs at lines")
END_AS_CONTEXT = "v4a-end-as-context"  # cut off behind the first *** End Patch, it looks like all of a patch


def test_every_dialect_has_documents() -> None:
    """Nothing is proved by a folder that is empty or was moved."""
    assert len(DOCUMENTS) >= LEAST_DOCUMENTS
    assert all(any(path.parent.name == name for path in DOCUMENTS) for name in DIALECTS)


def _asked(path: Path) -> dict[str, Any]:
    words = path.with_suffix(".args")
    given = words.read_text(encoding="utf-8").splitlines() if words.exists() else []
    notation = given[given.index("--format") + 1] if "--format" in given else "auto"
    return {"notation": notation, "run_fences": "--run-fences" in given}


@pytest.mark.parametrize("number", range(TURNS))
def test_a_document_that_is_cut_off_asks_for_nothing_that_the_whole_does_not(
    number: int, *, is_whole: bool
) -> None:
    """Wherever it is cut, what is left is refused, or has only operations of the whole, each to its end."""
    for path in DOCUMENTS[number::TURNS]:
        _hold_for_beginnings(path, 1 if is_whole else 3 * STEP)


def _hold_for_beginnings(path: Path, step: int) -> None:
    data, asked = path.read_bytes(), _asked(path)
    complete = clada.parse(data, **asked)
    if any(UNSEEN.search(problem.message) for problem in complete.problems):
        return  # a part of it does not show what is wrong
    if complete.fatal or not complete.notation or not NOTATIONS[complete.notation].rank:
        return  # then what comes before may well be carried out alone
    if path.parent.name == END_AS_CONTEXT:
        return
    if any(note.endswith("left out") for note in complete.notes):
        return  # a log that ends before the result of a call does not know that it failed
    known = _operations(complete)
    for cut in cuts(data, first=len(path.stem), step=step)[:-1]:
        beginning = data[:cut].decode(errors="ignore")
        plan = clada.parse(beginning, **asked)
        if not plan.fatal:
            assert all(_is_of(operation, known) for operation in _operations(plan)), (path, cut)


def _operations(plan: clada.Plan) -> list[dict[str, Any]]:
    return [
        {"operation": operation.name, **operation.values(), "if_exists": ""}  # which others may change
        for block in plan.blocks
        if block.valid
        for operation in block.operations
        if operation.name != "read"  # a log that ends before the result of a read asks for it again
    ]


def _is_of(operation: dict[str, Any], whole: list[dict[str, Any]]) -> bool:
    """Whether an operation is one of the whole; of a diff without an end, its last hunks may be missing.

    The last line that it looks for may be cut off, too: such a line is not in the file.
    """
    hunks = operation.get("hunks", [])
    if operation in whole or not hunks:
        return operation in whole
    for other in whole:
        beginning = {**other, "hunks": other.get("hunks", [])[: len(hunks)]}
        last = beginning["hunks"][-1:]
        cut = [_cut_like(hunk, hunks[-1]) for hunk in last]
        if operation in (beginning, {**beginning, "hunks": [*beginning["hunks"][:-1], *cut]}):
            return True
    return False


def _cut_like(hunk: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return a hunk with the last line that it looks for cut off where another one's is."""
    *lines, last = hunk.get("search", "").splitlines() or [""]
    cut = other.get("search", "").splitlines()[len(lines) :][:1]
    if not cut or not last.startswith(cut[0]) or not last:
        return hunk
    texts = {"search": "\n".join([*lines, cut[0], ""])}
    if hunk["replace"].endswith(f"{last}\n"):  # it is context
        texts["replace"] = hunk["replace"].removesuffix(f"{last}\n") + f"{cut[0]}\n"
    return {**hunk, **texts}


PIECES = st.sampled_from([
    "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "<<<<<<< ORIGINAL", ">>>>>>> UPDATED",
    "------- SEARCH", "+++++++ REPLACE", ":start_line:3", "-------", "```", "```diff", "````", "~~~",
    "```patch a.py", "a.py", "src/b.c", "**c.md**", "*** Begin Patch", "*** End Patch", "*** Add File: a",
    "*** Update File: b", "*** Delete File: c", "*** Move to: d", "*** End of File", "@@", "@@ def f():",
    "@@ -1,2 +1 @@", "+x", "-y", " z", "--- a/x", "+++ b/x", "diff --git a/x b/x", "new file mode 100644",
    "rename from x", "rename to y", "--- /dev/null", "+++ /dev/null", "\\ No newline at end of file",
    "From " + "a" * 40 + " Mon Sep 17 00:00:00 2001", "-- ", "2.39", "EOF", "apply_patch <<'EOF'",
    "cd x && apply_patch <<EOF", "<think>", "</think>", "<edit>", "<file>a</file>", "<old_code>",
    "</old_code>", "<new_code>", "</new_code>", "</edit>", "<<<FILE>>>", "<<<SEARCH>>>", "<<<REPLACE>>>",
    "<<<END>>>", "<<<OVERWRITE>>>", "```python a.py", '```js title="b.js"', "# a.py", "// filepath: c.js",
    "README.md", "```md", "``````js", '<file path="a.py">', "</file>", "<source>", "</source>", "```bash",
    "cat > a.txt <<'EOF'", "tee -a b <<EOF", "cd sub", "mkdir -p q && cat <<-X > q/r", "X", "12:34:a.py",
    "a.py:3", "Change `a.py`:", '<codeblock path="x">', '<antArtifact title="a.js">', "> quoted", "prose", "",
    "  ", "# ... existing code ...", "<source>python", "</pre>", "<pre>js", "### Updated `a.py`",
    "Here's the updated `a.py`:", "1. **Create `d.py`**", "<summary>e.py</summary>", "# and/or", "b.py (new)",
    "```{image} a.svg", '"""', "/*", "*/", " *** End Patch", "---", "<thinking-content-1>",
    "</thinking-content-1>", 'Yes: <boltArtifact id="a">', '<boltAction type="file" filePath="f.txt">',
    "</boltAction>", "</boltArtifact>", "#!nesl", "#!nesl [@x: abc]", "#!end_abc",
    '<---WRITE file="a"--->', "<---END--->", "[[task]]", '"a\\303"', '--- "a/\\', "é\u2028", "\x00",
])  # fmt: skip
NOISE = st.lists(st.tuples(st.sampled_from(["", "", "", " ", "\t"]), PIECES), max_size=25)


@given(lines=NOISE, notation=st.sampled_from(["auto", *DIALECTS]))
@settings(max_examples=150, deadline=None)
def test_reading_never_raises_and_finds_nothing_that_is_not_there(
    lines: list[tuple[str, str]], notation: clada.Format
) -> None:
    """Whatever the text: there is a plan, and spans are in order and in the text."""
    text = "\n".join(blank + piece for blank, piece in lines)
    plan = clada.parse(text, notation, roots=("/x",))
    plan.to_dict()
    at = 0
    for operation in (operation for block in plan.blocks for operation in block.operations):
        start, end = operation.span
        assert 0 <= start <= end <= len(plan.source)
        assert start >= at or plan.notation != "sr"
        at = start
        assert operation.line == plan.source.count(b"\n", 0, start) + 1 or operation.line > 0


LINES = st.lists(
    st.sampled_from(
        ["a", "b", "c", "  d", "", "x = 1", "é", "\tt", "}", "-", "+", "@@", "--- q", "```", "..."]
    ),
    max_size=12,
)
CONTENTS = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))
TREES = st.dictionaries(st.sampled_from(["a.txt", "b/c.py", "d e.md"]), CONTENTS, max_size=3)


@given(before=TREES, after=TREES)
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_documents_rendered_in_a_dialect_give_the_intended_tree(
    dialect: clada.Format, before: dict[str, str], after: dict[str, str]
) -> None:
    """The change from one tree to another, rendered and carried out, is that change."""
    if dialect in render.NO_DELETIONS:
        after = {**before, **after}
    text = render.RENDERERS[dialect](before, after)
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), before)
        report = clada.execute(text, workspace=folder, git=False, format=dialect)
        assert report.ok or before == after, (text, report.text())
        assert _read(Path(folder)) == after, text


def _write(folder: Path, tree: dict[str, str]) -> None:
    for name, content in tree.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def _read(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


# Linear: seconds, where a reader that goes back would take hours.
# Each is made when its turn comes: all at once they take half a gigabyte.
LONG = 8_000_000  # bytes: whoever goes back takes hours
HUGE = {
    "heads": lambda: b"<<<<<<< SEARCH\n" * 20_000,
    "heads of two lengths": lambda: b"<<<<<<< SEARCH\n<<<<<<<< SEARCH\n" * 10_000,
    "dividers without an end": lambda: b"a.py\n<<<<<<< SEARCH\n" + b"=======\n" * 20_000,
    "ends": lambda: b">>>>>>> REPLACE\n" * 20_000,
    "one long line": lambda: b"SEARCH *** Begin Patch +++ " * (LONG // 27),
    "one long line above a head": lambda: b"x" * LONG + b"\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n",
    "one long line in a block": lambda: b"<<<<<<< SEARCH\n%b\n=======\n>>>>>>> REPLACE\n" % (b"x" * LONG),
    "rules in a hunk": lambda: (
        b"--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n" + b"---\n" * 20_000
    ),
    "inline artifacts": lambda: b'a `<boltArtifact id="a">` ' * 13_333,
    "here-documents on a line": lambda: b"a.sh\n```sh\n" + b"<<a " * 20_000 + b"))\n```\n",
    "unusual blocks": lambda: b"x\n<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\n" * 2_000,
    "blocks in tags without an end": lambda: b"<edit>\n<file>a</file>\n<old_code>\n" * 6_666,
    "of the helper without an end": lambda: b"<<<FILE>>>\na\n<<<SEARCH>>>\n" * 6_666,
    "beginnings": lambda: b"*** Begin Patch\n" * 6_666,
    "sections": lambda: b"*** Begin Patch\n" + b"*** Delete File: a\n" * 6_666 + b"*** End Patch\n",
    "indented patches": lambda: b" *** Begin Patch\n *** Delete File: a\n" * 6_666,
    "anchors": lambda: b"*** Begin Patch\n*** Update File: a\n" + b"@@ x\n" * 20_000 + b"*** End Patch\n",
    "files of a diff": lambda: b"diff --git a/x b/x\n" * 66_666,
    "dashes in a hunk": lambda: b"--- a/x\n+++ b/x\n@@\n" + b"--- x\n+++ y\n" * 10_000,
    "fences of diffs": lambda: b"```diff\n-a\n+b\n" * 6_666,
    "fences of diffs, closed": lambda: b"a.py\n```diff\n-a\n+b\n```\n" * 2_000,
    "mails": lambda: (b"From " + b"b" * 40 + b" Mon Sep 17 00:00:00 2001\n") * 6_666,
    "reasoning blocks": lambda: b"<think></think>\n" * 20_000 + b"a.py\n<<<<<<< SEARCH\n",
    "reasoning blocks without an end": lambda: b"<think>\n" * 20_000 + b"<<<<<<< SEARCH\n",
    "transcripts": lambda: b"```console\n--- a/x\n+++ b/x\n@@\n```\n" * 2_000,
    "named files": lambda: b"a.py\n```\nx\n```\n" * 3_333,
    "files without an end": lambda: b"a.py\n```py\n" * 20_000,
    "fences with an info": lambda: b"```py\n" * 6_666,
    "Markdown files": lambda: b"a.md\n```md\n```\n" * 3_333,
    "Markdown files with a fence": lambda: b"a.md\n```md\n```x\n```\n```\n" * 3_333,
    "one Markdown file, fences after it": lambda: b"a.md\n```md\nx\n```\n" + b"```x\n```\n" * 3_333,
    "Markdown files before fences": lambda: b"a.md\n```md\nx\n```\n```x\n```\n" * 3_333,
    "tags without an end": lambda: b'<file path="a">\n' * 20_000,
    "tags that are none": lambda: b"<source>\n" * 20_000,
    "tagged files": lambda: b'<file path="a">\nx</file>\n' * 6_666,
    "one long file": lambda: b"a.py\n```\n%b\n```\n" % (b"x = 1\n" * (LONG // 6)),
    "a long comment as its first line": lambda: b"```\n# %b\n```\n" % (b"x" * (LONG // 4)),
    "shell fences": lambda: b"```bash\nls\n```\n" * 6_666,
    "here-documents": lambda: b"```bash\n" + b"cat > a <<'E'\nx\nE\n" * 6_666 + b"```\n",
    "fences of here-documents": lambda: b"```bash\ncat > a <<'E'\nx\nE\n```\n" * 2_000,
    "fences, each of a here-document without an end": lambda: b"```bash\ncat > a <<'E'\nx\n```\n" * 666,
    "marks without an end": lambda: b"```bash\n" + b"cat > a <<'E%d'\n" * 6_666 + b"```\n",
    "a long line before a mark": lambda: b"```bash\n" + b"x && " * 66_666 + b"cat > a <<'E'\nE\n```\n",
    "fences": lambda: b"```\n" * 20_000 + b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
}  # fmt: skip


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", HUGE)
def test_huge_and_hostile_documents_are_read(name: str) -> None:
    """None raises, and none keeps the suite waiting."""
    clada.parse(HUGE[name]())


PROSE = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def _packages() -> list[Path]:
    """Return the pages of the packages that are installed here."""
    folders = (Path(folder) for folder in sys.path if "site-packages" in folder)
    return sorted({path for folder in folders for path in folder.rglob("*.md")})


def test_documentation_that_quotes_the_formats_executes_nothing() -> None:
    """Our own, and that of the packages installed here: none has a real block of a dialect of rank 1.

    test_detection.py has those of rank 2, which any page shows that names a whole file.
    """
    assert len(PROSE) > 10
    for path in (*PROSE, *_packages()):
        plan = clada.parse(path.read_bytes())
        rank = NOTATIONS[plan.notation].rank if plan.notation else 0
        executed = [operation for block in plan.blocks if block.valid for operation in block.operations]
        assert rank != 1 or plan.fatal or not executed, (path, plan.notation, executed[:1])
