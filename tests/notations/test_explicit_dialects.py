"""Tool calls, tags, artifacts and NESL: what holds whatever the text, and documents made to hurt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clada

NAMES = ("calls", "tags", "artifact", "nesl")
CALL = {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "a", "content": "x\n"}}

PIECES = st.sampled_from([
    "<write_to_file>", "</write_to_file>", "<path>a</path>", "<content>", "</content>", "<diff>", "</diff>",
    "<replace_in_file>", "</replace_in_file>", "<apply_diff>", "</apply_diff>", "<args>", "</args>", "<file>",
    "</file>", "<insert_content>", "</insert_content>", "<line>3</line>", "<execute_command>",
    "</execute_command>", "<command>ls</command>", "<search_and_replace>", "</search_and_replace>",
    "<search>x</search>", "<replace>y</replace>", "<start_line>2</start_line>", "<<<<<<< SEARCH", "=======",
    ">>>>>>> REPLACE", "<function_calls>", "</function_calls>", '<invoke name="Write">', "</invoke>",
    '<parameter name="path">a</parameter>', '<parameter name="content">', "</parameter>", "<tool_call>",
    "</tool_call>", '{"name": "bash", "arguments": {"command": "ls"}}', "<function=bash>", "</function>",
    "<parameter=command>", "@save(c): {", '"path": "a"}', "<tool-use>", "<save args='a'>", "</save>",
    "</tool-use>", '<boltArtifact id="a">', "</boltArtifact>", '<boltAction type="file" filePath="a">',
    '<boltAction type="shell">', "</boltAction>", '<dyad-write path="a">', "</dyad-write>",
    '<dyad-rename from="a" to="b"></dyad-rename>', '<lov-write file_path="a">', "</lov-write>",
    '<lov-delete file_path="a"/>', "<CodeProject>", "</CodeProject>", '```tsx file="a"', "```",
    '<DeleteFile file="a"/>', '<PlandexBlock path="a">', "</PlandexBlock>", "<![CDATA[", "]]>",
    "#!nesl [@x: abc]", "#!SHAM [@x: abc]", "#!end_abc", 'action = "write_file"', 'path = "a"',
    "content = <<'EOT_abc'", "EOT_abc", 'lines = "2-3"', 'new_content = "x"', "prose", "", "é\u2028", "\x00",
    json.dumps(CALL), '{"role": "assistant", "content": [', "]}", "[", "]", ",", '{"tool_calls": [{',
    '"function": {"name": "Edit", "arguments": "{}"}', "}", '"\\ud800"', "<think>", "</think>", "> quoted",
])  # fmt: skip


@given(lines=st.lists(PIECES, max_size=25), notation=st.sampled_from(["auto", *NAMES]))
@settings(max_examples=75, deadline=None)
def test_reading_never_raises(lines: list[str], notation: clada.Format) -> None:
    """Whatever the text: there is a plan that can be printed, and its spans are in the text."""
    plan = clada.parse("\n".join(lines), notation, roots=("/x",))
    json.dumps(plan.to_dict()).encode()
    for operation in (operation for block in plan.blocks for operation in block.operations):
        start, end = operation.span
        assert 0 <= start <= end <= len(plan.source)


WORDS = "tool_use function_call Write Edit Bash apply_patch_call edit_file user model /p".split()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            "type role name input content parts message messages tool_calls function arguments payload cwd "
            "id call_id output action operation command path edits old_string new_string status functionCall "
            "functionResponse args response error choices candidates function_call stop_reason tool".split()
        ),
        inner | st.sampled_from(WORDS),
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(values=st.lists(VALUES, min_size=1, max_size=4), indent=st.sampled_from([None, 1]))
@settings(max_examples=75, deadline=None)
def test_no_shape_of_json_raises(values: list[object], indent: int | None) -> None:
    """Calls of any shape, with anything in place of anything, are read or refused."""
    plan = clada.parse("\n".join(json.dumps(value, indent=indent) for value in values), "calls")
    json.dumps(plan.to_dict()).encode()


@given(content=st.text(max_size=40), indent=st.sampled_from([None, 2]))
def test_a_text_in_json_is_exact(content: str, indent: int | None) -> None:
    """What a call writes is what the standard library reads there, on one line or on several."""
    values = {"file_path": "a", "content": f"\n{content}"}
    plan = clada.parse(json.dumps([{**CALL, "input": values}], indent=indent, ensure_ascii=False))
    (write,) = plan.blocks[0].operations
    assert write.values().get("content", "\n" + content) == "\n" + content


def _log(*records: object) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in records)


MESSAGE = {"role": "assistant", "content": [CALL]}
# Each is made when its turn comes: all at once they take half a gigabyte.
LONG = 8_000_000  # bytes: whoever goes back takes hours
HUGE = {
    "brackets": lambda: b'{"name": "Write", "input": ' + b"[" * 3_333,
    "brackets on lines": lambda: b'{"type": "tool_use", "content": ' + b"[\n" * 3_333,
    "objects 900 deep": lambda: b'{"type": "tool_use", "message": ' + b'{"message": ' * 900 + b"1" + b"}" * 901,  # noqa: E501
    "one long string": lambda: _log({**CALL, "input": {"file_path": "a", "content": "x" * LONG}}),
    "one long string without an end": lambda: b'{"name": "Write", "input": {"content": "' + b"x" * LONG,
    "records": lambda: _log(*[MESSAGE] * 6_666),
    "invalid calls": lambda: _log(*[{**CALL, "input": {}}] * 6_666),
    "calls in one message": lambda: _log({"role": "assistant", "content": [CALL] * 3_333}),
    "calls on lines": lambda: json.dumps({"role": "assistant", "content": [CALL] * 6_666}, indent=1).encode(),
    "values over lines": lambda: b"\n".join([json.dumps(CALL, indent=1).encode()] * 6_666),
    "results without ids": lambda: _log(
        {"role": "model", "parts": [{"functionCall": {"name": "Write", "args": {}}}] * 6_666},
        {"role": "user", "parts": [{"functionResponse": {"name": "Write", "response": {}}}] * 6_666},
    ),
    "tools without an end": lambda: b"<write_to_file>\n" * 6_666,
    "closing tags": lambda: b"<write_to_file>\nx" + b"</write_to_file>\nx" * 6_666,
    "tools": lambda: b"<write_to_file>\n<path>a</path>\n<content>\nx\n</content>\n</write_to_file>\n" * 2_000,
    "diffs": lambda: b"<apply_diff>\n<path>a</path>\n<diff>\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    b"</diff>\n</apply_diff>\n" * 666,
    "calls in tags": lambda: b'<tool_call>\n{"name": "bash", "args": {"cmd": "ls"}}\n</tool_call>\n' * 6_666,
    "calls without an end": lambda: b"<tool_call>\n" * 6_666,
    "invokes": lambda: b"<function_calls>\n"
    + b'<invoke name="x">\n<parameter name="a">b</parameter>\n</invoke>\n' * 2_000,
    "parameters": lambda: b'<function_calls>\n<invoke name="x">\n' + b'<parameter name="a">' * 2_000,
    "at signs": lambda: b'@shell(a): {"command": "ls"}\n' * 2_000,
    "elements": lambda: b'<dyad-write path="a">\nx\n</dyad-write>\n' * 2_000,
    "attributes": lambda: b"<dyad-write " + b'a="b" ' * 6_666,
    "blanks in a tag": lambda: b"<dyad-write " + b" " * 6_666,
    "actions": lambda: b"<boltArtifact>\n" + b'<boltAction type="shell">ls</boltAction>\n' * 2_000,
    "fences of a project": lambda: b"<CodeProject>\n" + b'```ts file="a"\nx\n```\n' * 2_000,
    "blocks of NESL": lambda: b"".join(
        b'#!nesl [@x: %05x]\naction = "delete_file"\npath = "a"\n#!end_%05x\n' % (number, number)
        for number in range(2_000)
    ),
    "invalid blocks": lambda: b'#!nesl [@x: abc]\naction = "x"\nfoo\n#!end_abc\n' * 2_000,
    "here-documents without an end": lambda: b"#!nesl [@x: abc]\n" + b"a = <<'EOT_abc'\n" * 6_666,
    "almost ends": lambda: b"#!nesl [@x: abc]\na = <<'EOT_abc'\n" + b"EOT_abcd\n" * 6_666,
    "one long line": lambda: b"<write_to_file> #!nesl [@ <tool_call> " * (LONG // 38),
}  # fmt: skip


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", HUGE)
def test_huge_and_hostile_documents_are_read(name: str) -> None:
    """None raises, and none keeps the suite waiting."""
    clada.parse(HUGE[name]())
