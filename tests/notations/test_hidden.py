"""Parts of a document that are not scanned: they never add an operation, and never change another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clada

if TYPE_CHECKING:
    from pathlib import Path

CALL = (
    '<function_calls>\n<invoke name="Write">\n<parameter name="file_path">{0}</parameter>\n'
    '<parameter name="content">x</parameter>\n</invoke>\n</function_calls>'
)
# One operation in each notation; {0} is the file that it writes.
OPERATIONS = {
    "csl": '<---WRITE file="{0}"--->\nx\n<---END--->',
    "csl-run": "<---RUN--->\ntouch {0}\n<---END--->",
    "csl-block": '<---TASKS--->\n<---WRITE file="{0}"--->\nx\n<---END--->\n<---END--->',
    "cml": '<write path="{0}">x</write>',
    "json": '```json\n{{"tasks": [{{"action": "write", "path": "{0}", "content": "x"}}]}}\n```',
    "toml": '```toml\n[[task]]\naction = "write"\npath = "{0}"\ncontent = "x"\n```',
    "sr": "{0}\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE",
    "v4a": "*** Begin Patch\n*** Add File: {0}\n+x\n*** End Patch",
    "udiff": "--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x",
    "whole": "**{0}.py**\n```python\nx = 1\n```",
    "tags": "<write_to_file>\n<path>{0}</path>\n<content>\nx\n</content>\n</write_to_file>",
    "invoke": CALL,
    "tool-call": (
        '<tool_call>\n{{"name": "write_file", "arguments": {{"path": "{0}", "content": "x"}}}}\n</tool_call>'
    ),
    "bolt": (
        '<boltArtifact id="a" title="b">\n<boltAction type="file" filePath="{0}">x</boltAction>'
        "\n</boltArtifact>"
    ),
    "here-document": "```bash\ncat > {0} <<'EOF'\nx\nEOF\n```",
}  # fmt: skip
# How a part opens and closes.
PARTS = {
    "comment": ("<!--", "-->"),
    "comment in mid line": ("Look: <!-- a", "b -->"),
    "ruled comment": ("<!------ a", "b ------>"),
    "template": ("<template>", "</template>"),
    "hidden": ("<div hidden>\n<div>a</div>", "</div>"),
    "display none": ('<span class="a b" style="color:red; display:none">', "</span>"),
    "script": ('<script type="text/x">', "</script>"),
    "noscript": ("<noscript>", "</noscript>"),
    "console": ("````console", "````"),
    "output": ("~~~~ output", "~~~~"),
    "log": ("````log", "````"),
    "think": ("<think>", "</think>"),
    "think with attributes": ('<think time="3" a=b>', "</think>"),
    "capitals": ("<THINK>", "</Think>"),
    "in mid line": ("Well, <think>hm", "ok</think>"),
    "brackets": ("[THINK]", "[/THINK]"),
    "thought": ("<thought>", "</thought>"),
    "thinking content": ("<thinking-content-a1b2>", "</thinking-content-a1b2>"),
    "harmony": (
        "<|start|>assistant<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "details": ('<details type="reasoning" done="true">\n<summary>Thought</summary>', "</details>"),
    "function results": ("<function_results>\n<result>", "</result>\n</function_results>"),
    "tool result": ('<tool_result id="1">', "</tool_result>"),
    "tool response": ("<tool_response>", "</tool_response>"),
    "document": ("<document>", "</document>"),
    "attachment": ("<attachment>", "</attachment>"),
    "summary": ("<summary>", "</summary>"),
    "unknown in a transcript": ("<tool_result>a</tool_result>\n<page>", "</page>"),
    "user": ("<|im_start|>user", "<|im_end|>\n<|im_start|>assistant"),
    "Human": ("Human: look", "\nAssistant: ok"),
    "instruction": ("[INST]", "[/INST]"),
}
# Content of files that looks like the beginning, or the end, of a part.
CONTENTS = [
    "<!--", "-->", "<!-- a -->", "<template>\n  <p hidden>\n</template>", "</think>", "<think>", "[/THINK]",
    "```console", "<tool_result>", "</tool_result>", "    indented", "Human: hi\n\nAssistant: ho",
    "<|im_start|>user", "x",
]  # fmt: skip
PROSE = [
    "",
    "Hello.",
    "# Title",
    "- an item",
    "`<!--` is code",
    "```text\nshown\n```",
    "a < b, c --> d",
    "> quote",
]


def targets(plan: clada.Plan) -> list[str]:
    """Return what the operations of a plan are about."""
    return [item.target for block in plan.blocks for item in block.operations]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operation_in_a_part_that_is_not_scanned_is_not_carried_out(
    part: str, kind: str, tmp_path: Path
) -> None:
    """Alone, it is no operation; before one that is shown, only that one is carried out."""
    opening, closing = PARTS[part]
    hidden = f"{opening}\n{OPERATIONS[kind].format('evil')}\n{closing}\n"
    assert clada.execute(hidden, git=False, workspace=tmp_path, approve_all=True).exit_code in (1, 3)
    assert list(tmp_path.iterdir()) == []
    good = OPERATIONS["csl"].format("good")
    report = clada.execute(f"{hidden}\n{good}\n", git=False, workspace=tmp_path, approve_all=True)
    assert report.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


@pytest.mark.parametrize("kind", OPERATIONS)
def test_indented_code_is_an_example(kind: str, tmp_path: Path) -> None:
    """After a blank line, and not in an item of a list."""
    code = "".join(f"    {line}\n" for line in OPERATIONS[kind].format("evil").split("\n"))
    text = f"For example:\n\n{code}\n{OPERATIONS['csl'].format('good')}\n"
    clada.execute(text, git=False, workspace=tmp_path, approve_all=True)
    assert [path.name for path in tmp_path.iterdir()] == ["good"]


@st.composite
def shown_documents(draw: st.DrawFn) -> list[str]:
    """Return pieces of a document: prose and writes, whose content may look like a part."""
    pieces = []
    for number in range(draw(st.integers(0, 4))):
        pieces.append(draw(st.sampled_from(PROSE)))
        content = "\n".join(draw(st.lists(st.sampled_from(CONTENTS), min_size=1, max_size=3)))
        pieces.append(f'<---WRITE file="f{number}"--->\n{content}\n<---END--->')
    return [*pieces, draw(st.sampled_from(PROSE))]


@given(pieces=shown_documents())
@settings(max_examples=50, deadline=None)
def test_content_that_looks_like_a_part_is_content(pieces: list[str]) -> None:
    """Every write is there, with what it has between its markers."""
    plan = clada.parse("\n\n".join(pieces))
    assert plan.fatal is None
    found = [item.values()["content"] for block in plan.blocks for item in block.operations]
    assert found == [piece.split("\n", 1)[1].removesuffix("\n<---END--->") for piece in pieces[1::2]]


@given(
    pieces=shown_documents(),
    part=st.sampled_from(sorted(PARTS)),
    kinds=st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=3),
    data=st.data(),
)
@settings(max_examples=75, deadline=None)
def test_a_hidden_part_never_changes_the_plan(
    pieces: list[str], part: str, kinds: list[str], data: st.DataObject
) -> None:
    """Wherever it is put between the pieces, whatever is in it: the operations are those without it."""
    opening, closing = PARTS[part]
    inside = "\n\n".join(OPERATIONS[kind].format("evil") for kind in kinds)
    at = data.draw(st.integers(0, len(pieces)))
    hidden = [*pieces[:at], f"{opening}\n{inside}\n{closing}", *pieces[at:]]
    without, plan = clada.parse("\n\n".join(pieces)), clada.parse("\n\n".join(hidden))
    assert targets(plan) == targets(without)
    assert [item.values() for block in plan.blocks for item in block.operations] == [
        item.values() for block in without.blocks for item in block.operations
    ]


@given(
    pieces=shown_documents(),
    closing=st.sampled_from(["</think>", "</THINKING>", "[/THINK]", "</thought>"]),
    data=st.data(),
)
@settings(max_examples=50, deadline=None)
def test_a_closing_tag_alone_makes_drafts_of_what_is_before_it(
    pieces: list[str], closing: str, data: st.DataObject
) -> None:
    """Everything behind it is carried out, and nothing that the document does not have there."""
    at = data.draw(st.integers(0, len(pieces)))
    plan = clada.parse("\n\n".join([*pieces[:at], closing, *pieces[at:]]))
    assert targets(plan) == targets(clada.parse("\n\n".join(["", *pieces[at:]])))
    dropped = any(piece.startswith("<---WRITE") for piece in pieces[:at])
    assert dropped == any("passed over" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("broken", "part"),
    [
        ('<write path="a.html">x < y <script>\nz</script></write>\n', "<script>"),
        (
            '<write path="a.html"><b>\n<template>\n<run>touch evil</run> & \n</template></write>\n',
            "<template>",
        ),
        (
            '```json\n{"tasks": [{"action": "write", "path": "a", "content": "\n<!--\nx\n-->\n"}]}\n```\n',
            "<!--",
        ),
    ],
)
def test_an_operation_that_cannot_be_read_is_not_mended_by_blanking_a_part_of_it(
    broken: str, part: str
) -> None:
    """What is wrong in the content of an operation stays wrong."""
    assert part in broken
    plan = clada.parse(broken)
    assert plan.fatal or plan.problems
    assert not plan.ok


def test_a_hidden_operation_of_a_notation_that_stands_alone_hides_no_content() -> None:
    """The CSL below it is only seen once it is blanked: until then its content looks like text."""
    hidden = f"<!--\n{OPERATIONS['cml'].format('evil')}\n-->\n"
    plan = clada.parse(f'{hidden}<---WRITE file="f"--->\na\n</think>\n<think>b</think>\n<---END--->\n')
    assert [item.values()["content"] for block in plan.blocks for item in block.operations] == [
        "a\n</think>\n<think>b</think>"
    ]


def test_too_many_unfinished_operations_in_comments_are_refused() -> None:
    """Each would need a reading of its own."""
    plan = clada.parse('<!--\n<---WRITE file="a"--->\n-->\n' * 100)
    assert plan.fatal is not None
    assert plan.fatal.message.startswith("too many parts that are not scanned")


def test_only_the_first_parts_are_told_one_by_one() -> None:
    """The others are counted."""
    plan = clada.parse(f"<!--\n{OPERATIONS['csl'].format('a')}\n-->\n" * 25)
    assert plan.notes[0] == "no operations found"
    assert plan.notes[-1] == "operations were passed over in 5 more places"
    assert len(plan.notes) == 22


def test_a_reader_does_not_give_out_what_is_hidden() -> None:
    """A piece at a time, as a model writes it."""
    hidden = "".join(
        f"{opening}\n{OPERATIONS['csl'].format('evil')}\n{closing}\n\n"
        for name, (opening, closing) in PARTS.items()
        if name not in {"unknown in a transcript", "Human"}
    )
    reader = clada.Reader()
    given_out = [
        item for sign in hidden + OPERATIONS["csl"].format("good") + "\n" for item in reader.feed(sign)
    ]
    assert [item.target for item in given_out] == ["good"]
    assert targets(reader.close()) == ["good"]
