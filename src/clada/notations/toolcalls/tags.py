"""tags: tools that are called in tags, as Roo, Cline, gptme, Anthropic's and Qwen's models write them.

    tool   = <write_to_file> <path> <content> [<line_count>] </write_to_file>
           | <replace_in_file> <path> <diff: blocks of sr, or {"replacements": [{old_str, new_str}]}>
           | <apply_diff> <path> <diff: blocks of sr> | <apply_diff> <args> { <file> <path> { <diff> } }
           | <insert_content> <path> <line> <content>           before the line; 0 is the end
           | <search_and_replace> <path> <search> <replace> | <execute_command> <command> [<cwd>]
           | <read_file> <path> [<start_line> <end_line>]
           | <read_file> <args> { <file> <path> [<line_range>] }
    calls  = <function_calls> { <invoke name="N"> { <parameter name="K"> } } </function_calls>
           | <tool_call> {json} </tool_call> | [<tool_call>] <function=N> { <parameter=K> } </function>
           | @name(id): {json}
           | <tool-use> { <save args="p"> content </save> } </tool-use>          or append, patch, shell

The text between two literal words counts, without entities: a value ends at the first closing tag, but
`content` and `diff` to the last before the tool's own. A tool starts its line; what calls do is in `tools`.
"""

from __future__ import annotations

from clada.errors import shortened
from clada.grammar import WRONG_RANGE, read_number, read_range
from clada.notations.markdown import LinePattern
from clada.notations.reading import Reading, UnreadableError
from clada.notations.toolcalls import tag_text
from clada.notations.toolcalls.arguments import Arguments, RefusedCallError, decode_json
from clada.notations.toolcalls.tag_calls import STARTS, CallsInTags, unclosed_error
from clada.notations.toolcalls.tag_text import BlockOptions, search_blocks
from clada.operations.edit import BLANKS, Hunk
from clada.text.elision import elision_complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.model import Invalid, Operation
    from clada.notations.reading import Span

    Items = list[Operation | Invalid]

TOOLS = {  # the operation that each makes
    "write_to_file": "write",
    "replace_in_file": "edit",
    "apply_diff": "edit",
    "insert_content": "edit",
    "search_and_replace": "edit",
    "execute_command": "run",
    "read_file": "read",
}
SHORTEST = 4  # bytes of a tag that is cut off
LONG = ("content", "diff")  # values that go to the last closing tag
CLINE, ROO = BlockOptions(overwrites=True), BlockOptions(escaped=True)
_START = LinePattern(
    rb"(?:<(?P<tool>" + "|".join(TOOLS).encode() + rb")>(?=[ \t]*+(?:\n|\Z|<))|" + STARTS + rb")"
)


class Blocks:
    """Finds and reads the tools of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data
        self._calls = CallsInTags(reading)

    def next(self, at: int) -> int | None:
        """Return where the next tool starts; or a tag that is cut off at the end of the text."""
        found = _START.start(self.data, at, self.reading.end)
        return self._cut_tag(at) if found is None else found

    def _cut_tag(self, at: int) -> int | None:
        end = self.reading.end
        last = self.data.rfind(b"\n", 0, end) + 1
        text = self.data[last : min(end, last + 40)]
        is_cut = len(text) >= SHORTEST and any(f"<{name}".encode().startswith(text) for name in TOOLS)
        return last if is_cut and last >= at else None

    def read(self, at: int, _floor: int) -> int:
        """Read the tool that starts here; return where it ends."""
        found = _START.match(self.data, at, self.reading.end)
        if not found:
            raise UnreadableError(at, "Unterminated tag", cut=True)
        if found["tool"]:
            return self._read_tool(at, found["tool"])
        return self._calls.read(at, found)

    def _read_tool(self, at: int, name: bytes) -> int:
        """Read a tool of Roo's or Cline's."""
        start = at + len(name) + 2
        close = self._end_of_tool(at, start, name)
        end = close + len(name) + 3
        tool = _Tool(self.reading, name.decode(), (at, end), (start, close))
        items = tool.operations()
        self.reading.add(*items, together=at if len(items) > 1 else None)
        return end

    def _end_of_tool(self, at: int, start: int, name: bytes) -> int:
        """Return where the closing tag of a tool is: the first one that comes after that of a value."""
        data, closing = self.data, b"</%b>" % name
        close = data.find(closing, start, self.reading.end)
        while (
            close >= 0 and not data[max(start, close - 100) : close].rstrip().endswith(b">") and close > start
        ):
            close = data.find(closing, close + 1, self.reading.end)
        if close < 0:
            raise unclosed_error(at, name)
        again = data.find(b"\n<%b>" % name, start, close)
        if again >= 0:
            line, word = self.reading.lines.line(again + 1), name.decode()
            raise UnreadableError(at, f"<{word}> has no </{word}> before the next one, in line {line}")
        return close


class _Tool:
    """One tool of Roo or Cline: its values and operations."""

    def __init__(self, reading: Reading, name: str, whole: Span, inside: Span) -> None:
        self.reading, self.data, self.name = reading, reading.data, name
        self.whole, self.inside = whole, inside

    def operations(self) -> Items:
        """Return its operations; one invalid operation if there is an error."""
        try:
            made: Items = getattr(self, f"_{self.name}")()
        except RefusedCallError as refused:
            return [self._invalid(refused)]
        return made

    def _invalid(self, refused: RefusedCallError) -> Invalid:
        operation, at = TOOLS[self.name], self.whole[0]
        key = "command" if operation == "run" else "path"
        text = tag_text.strip_blanks(self.data, self._span(key) or (0, 0))
        shown: dict[str, Any] = {key: self.reading.path(text) if key == "path" else text} if text else {}
        return self.reading.invalid(operation, at, self.whole, refused.message, refused.field, **shown)

    def _make(self, operation: str, **fields: object) -> Items:
        return [self.reading.make(operation, self.whole[0], self.whole, **fields)]

    def _span(self, name: str, within: Span | None = None) -> Span | None:
        """Return where a value is: to its first closing tag, a long one to the last."""
        start, end = within or self.inside
        data, opening, closing = self.data, f"<{name}>".encode(), f"</{name}>".encode()
        opened = data.find(opening, start, end)
        if name not in LONG and within is None:
            opened = self._outside(opening, opened)
        if opened < 0:
            return None
        first = opened + len(opening)
        closed = (data.rfind if name in LONG else data.find)(closing, first, end)
        if closed < 0:
            raise unclosed_error(self.whole[0], name.encode())
        return first, closed

    def _outside(self, opening: bytes, opened: int) -> int:
        """Return where a short value opens that is not in a long one: before it, or else behind it."""
        for name in LONG:
            long = self._span(name) if opened >= 0 else None
            if long and long[0] <= opened < long[1]:
                opened = self.data.find(opening, long[1], self.inside[1])
        return opened

    def _value(self, name: str, default: str | None = None) -> str:
        span = self._span(name)
        if span is None and default is None:
            raise RefusedCallError(f"Missing required field '{name}'", name)
        return (default or "") if span is None else tag_text.strip_blanks(self.data, span)

    def _path(self) -> str:
        path = self._value("path")
        if not path:
            raise RefusedCallError("Missing required field 'path'", "path")
        return path

    def _long_span(self, name: str) -> Span:
        span = self._span(name)
        if span is None:
            raise RefusedCallError(f"Missing required field '{name}'", name)
        return span

    def _content(self, path: str) -> str:
        """Return the content of a file, or a part of one."""
        span = tag_text.content(self.data, self._long_span("content"), path)
        return tag_text.file_text(self.data[slice(*span)].decode(), path)

    def _write_to_file(self) -> Items:
        path = self._path()
        return self._make("write", path=path, content=self._content(path))

    def _replace_in_file(self) -> Items:
        path, span = self._path(), self._long_span("diff")
        text = tag_text.strip_blanks(self.data, span)
        if not text.startswith("{"):
            return self._blocks(path, span, CLINE)
        edits = decode_json(text, "diff")
        if not isinstance(edits, dict):
            raise RefusedCallError("Invalid value for 'diff': must be an object", "diff")
        each = Arguments(edits).objects("replacements")
        return [edit for replacement in each for edit in self._replacement(path, replacement)]

    def _replacement(self, path: str, edit: Arguments) -> Items:
        """Return one of Cline's replacements in JSON."""
        hunk = tag_text.replacement(edit.text("old"), edit.text("new"), path, "diff")
        return self._make("edit", path=path, hunks=(hunk,), match=BLANKS)

    def _apply_diff(self) -> Items:
        """Return the edits of one file; or of several, each with diffs of its own."""
        arguments = self._span("args", self.inside)
        if not arguments:
            return self._blocks(self._path(), self._long_span("diff"), ROO)
        made: Items = []
        for file in self._find_each("file", arguments):
            span = self._span("path", file)
            path = tag_text.strip_blanks(self.data, span) if span else ""
            if not path:
                raise RefusedCallError("Missing required field 'path'", "path")
            for diff in self._find_each("diff", file):
                content, line = self._span("content", diff), self._span("start_line", diff)
                near = read_number(tag_text.strip_blanks(self.data, line)) if line else None
                made += self._blocks(path, content or diff, ROO.replace(near=near or None))
        if not made:
            raise RefusedCallError("Missing required field 'path'", "path")
        return made

    def _find_each(self, name: str, within: Span) -> list[Span]:
        """Return where the values of this name are, one after the other."""
        found: list[Span] = []
        at, end = within
        opening, closing = f"<{name}>".encode(), f"</{name}>".encode()
        while (opened := self.data.find(opening, at, end)) >= 0:
            first = opened + len(opening)
            closed = self.data.find(closing, first, end)
            if closed < 0:
                raise unclosed_error(self.whole[0], name.encode())
            found.append((first, closed))
            at = closed + len(closing)
        return found

    def _blocks(self, path: str, span: Span, manner: BlockOptions) -> Items:
        inside = tag_text.content(self.data, span, path)
        return search_blocks(self.reading, self.whole, inside, path, manner)

    def _insert_content(self) -> Items:
        path, number = self._path(), read_number(self._value("line"))
        if number is None:
            raise RefusedCallError("Invalid value for 'line': must be a number", "line")
        text = self._content(path)
        elided = elision_complaint(text)
        if elided:
            raise RefusedCallError(elided)
        hunk = Hunk("", text, after_line=number - 1) if number else Hunk("", text, at_end=True)
        return self._make("edit", path=path, hunks=(hunk,))

    def _search_and_replace(self) -> Items:
        path, old, new = self._path(), self._value("search"), self._value("replace", "")
        for name in ("use_regex", "ignore_case"):
            if self._value(name, "false").lower() == "true":
                raise RefusedCallError(f"unsupported regex: {name} {shortened(old)}")
        for name in ("start_line", "end_line"):
            if self._value(name, ""):
                raise RefusedCallError(f"'{name}' is not supported: use <apply_diff> with its lines", name)
        hunk = tag_text.replacement(old, new, path, "search")
        return self._make("edit", path=path, hunks=(hunk,), count="all", match=BLANKS)

    def _execute_command(self) -> Items:
        command, directory = self._value("command"), self._value("cwd", "")
        if not command:
            raise RefusedCallError("Empty command not allowed", "command")
        if tag_text.is_escaped(command):
            raise RefusedCallError(tag_text.ESCAPED, "command")
        return self._make("run", command=command, dir=self.reading.directory(directory))

    def _read_file(self) -> Items:
        """Return the read of one file; or of several, each with a range of its own."""
        arguments = self._span("args", self.inside)
        if not arguments:
            first, last = self._value("start_line", ""), self._value("end_line", "")
            return self._read(self._path(), f"{first or 1}-{last}" if first or last else "")
        made: Items = []
        for file in self._find_each("file", arguments):
            spans = [self._span(name, file) for name in ("path", "line_range")]
            path, lines = (tag_text.strip_blanks(self.data, span) if span else "" for span in spans)
            made += self._read(path, lines)
        return made or self._read("", "")

    def _read(self, path: str, lines: str) -> Items:
        if not path:
            raise RefusedCallError("Missing required field 'path'", "path")
        if lines and not read_range(lines):
            raise RefusedCallError(f"Invalid value for 'line_range': {WRONG_RANGE}", "line_range")
        return self._make("read", path=path, lines=lines or None)
