"""CML: operations as XML elements that open at the start of a line.

    document  = { prose | comment | tasks | operation }
    tasks     = <tasks version="…">  { operation | comment }  </tasks>
    operation = <write path append>content</write>
              | <edit path count> (<search> | <search-start> <search-end>) <replace> </edit>
              | <move from to/> | <remove path/> | <read path lines/> | <run dir>command</run>
    content   = one line of text, or CDATA sections with blanks around them

Each top-level element is found by its tags and read by expat. What expat refuses is fatal; what this grammar
refuses makes one operation invalid.
"""

from __future__ import annotations

import re
from xml.parsers import expat

from clada.errors import Problem, cut_off, shortened
from clada.grammar import BLOCK_VERSIONS, DELIMITERS, take_fields
from clada.model import NO_ATTRIBUTES, Block, Invalid, NotApplied, Plan
from clada.notations.markdown import LinePattern
from clada.notations.reading import LineCounter, UnreadableError
from clada.operations import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match
    from typing import Any

    from clada.grammar import Complaints
    from clada.model import Operation
    from clada.notations.registry import Delimiters
    from clada.public_types import NotationName

    Fields = dict[str, Any]

NAME: NotationName = "cml"
MAX_DEPTH = 16
BLANKS = " \t\n\r"
SLASH = ord("/")
ELEMENTS = ("tasks", "edit", "write", "move", "remove", "read", "run")
_NAMES = "|".join(ELEMENTS).encode()
# A line that opens an element, or a comment. Possessive, so that no input makes it go back.
# <edit><file> is the edit of another tool: it has no attributes, and says the file in an element.
_OPENING = LinePattern(rb"[ \t]*+<(?!edit>\s*+<file>)(?:" + _NAMES + rb")(?=[ \t\n/>]|\Z)")
_SAME_LINE = re.compile(rb"[ \t]*+<(" + _NAMES + rb")(?=[ \t/>])")
# A quote that is not closed continues to the end, where there is no `>`: a round of a possessive group must
# not fail after its first byte, because before Python 3.11.5 the group keeps what a failed round had gone
# over.
_TAG = re.compile(rb"""<(?!!)[^<>"']*+(?:"[^"]*+"?+[^<>"']*+|'[^']*+'?+[^<>"']*+)*+>""")
_ATTRIBUTE = re.compile(rb"""([^\s=]++)\s*+=\s*+("[^"]*+"|'[^']*+')""")
_REFERENCE = re.compile(r"&(?:#([0-9]++)|#x([0-9a-fA-F]++)|([a-z]++));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
# Markup in which tags do not count: how it opens and how it closes.
CDATA, CDATA_END = b"<![CDATA[", b"]]>"
COMMENT, COMMENT_END = b"<!--", b"-->"
INSTRUCTION, INSTRUCTION_END = b"<?", b"?>"
_MARKUP = (b"<", b"&")
_CURLY_QUOTES = tuple(chr(code).encode() for code in range(0x2018, 0x2020))
# What expat says when the text ends too soon.
_CUT_OFF = {
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}


def sign(data: bytes, _delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first line is that opens an element."""
    return _next_opening(data, 0)


def _next_opening(data: bytes, at: int) -> int | None:
    """Return where the next element opens."""
    line = _OPENING.start(data, at, len(data))
    return None if line is None else data.find(b"<", line)


def read(data: bytes, _delimiters: Delimiters = DELIMITERS) -> Plan:
    """Read a whole document: UTF-8 with LF line endings."""
    return _Reading(data).plan()


class _Reading:
    """One pass through a document: the blocks so far, and the first fatal problem."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = LineCounter(data)
        self.builder = _Builder(data)
        self.blocks: list[Block] = []
        self.notes: list[str] = []
        self.not_applied: list[NotApplied] = []

    def plan(self) -> Plan:
        at, fatal = 0, None
        try:
            while (start := _next_opening(self.data, at)) is not None:
                at = self._read_element(start)
        except UnreadableError as error:
            fatal = error.problem
        not_applied = tuple(self.not_applied)
        return Plan(NAME, tuple(self.blocks), fatal, tuple(self.notes), self.data, not_applied=not_applied)

    def _read_element(self, start: int) -> int:
        node = self._parse(start, _extent(self.data, start))
        self._add(node)
        end = node.end
        beside = self.data[end : end + 1] != b"\n" and _SAME_LINE.match(self.data, end)
        if beside:
            line, name = self.lines.line(end), beside.group(1).decode()
            self.not_applied.append(NotApplied(line, f"<{name}>", "an element must start its line"))
        return end

    def _parse(self, start: int, end: int | None) -> _Node:
        builder = self.builder
        try:
            return builder.read(start, end)
        except expat.ExpatError as error:
            cut = error.code in _CUT_OFF
            offset = builder.offset(builder.parser.ErrorByteIndex)
            message = "the text ends inside an element" if cut else expat.ErrorString(error.code)
            advice = _advice(self.data, offset, message)
        except _RefusedError as refused:
            cut, offset, message, advice = False, builder.offset(), str(refused), ""
        opened = builder.operation()
        if builder.top:
            self._add_complete(builder.top)
        complete = sum(len(block.operations) for block in self.blocks)
        if cut:
            offset = opened.start if opened else builder.top.start if builder.top else start
            raise self._fatal(offset, message + cut_off(complete))
        task = f"at task {complete + 1}"
        if opened:
            line = self.lines.line(opened.start)
            task = f"in task {complete + 1} (<{shortened(opened.name)}> at line {line})"
        raise self._fatal(offset, f"{message}; this is {task}{advice}")

    def _fatal(self, offset: int, message: str) -> UnreadableError:
        line, column = self.lines.line(offset), self.lines.column(offset)
        message = f"Line {line}, column {column}: {message}"
        return UnreadableError(offset, message, problem=Problem("malformed_xml", message, line, column))

    def _add(self, node: _Node) -> None:
        line = self.lines.line(node.start)
        if node.name == "tasks":
            self.blocks.append(self._block(node, line))
        else:
            operation = self._operation(node, None, line)
            self.blocks.append(Block(operation.line, None, True, (operation,)))

    def _add_complete(self, top: _Node) -> None:
        """Keep the complete operations of a block that cannot be read to its end."""
        top.children = [child for child in top.children if child.end]
        if top.name == "tasks" and top.children:
            self.blocks.append(self._block(top, self.lines.line(top.start)))

    def _block(self, node: _Node, line: int) -> Block:
        _restore_blanks(self.data, node)
        version = node.attributes.pop("version", None)
        if version is not None and version not in BLOCK_VERSIONS:
            message = f"Line {line}: Unsupported version: {shortened(version)}"
            problem = Problem("unsupported_version", message, line)
            raise UnreadableError(node.start, message, problem=problem)
        operations = []
        for child in node.children:
            if child.name in _READERS or version is None or child.name == "tasks":
                operations.append(self._operation(child, line, self.lines.line(child.start)))
            else:
                place, name = self.lines.line(child.start), shortened(child.name)
                self.notes.append(f"Line {place}: unknown element <{name}> skipped")
        return Block(line, version, False, tuple(operations), node.attributes or NO_ATTRIBUTES)

    def _operation(self, node: _Node, block_line: int | None, line: int) -> Operation | Invalid:
        complaints: Complaints = []
        _restore_blanks(self.data, node)
        operation = find(node.name)
        fields = take_fields(operation.fields if operation else (), node.attributes, complaints, {})
        _READERS.get(node.name, _complain_of_unknown)(node, fields, complaints)
        rest, span = node.attributes or NO_ATTRIBUTES, (node.start, node.end)
        if operation and not complaints:
            return operation.from_fields(line, span, rest, fields)
        problems = tuple(
            Problem("malformed_xml", message, line, None, node.name, field, block_line)
            for field, message in complaints
        )
        return Invalid(line, span, rest, node.name, fields, problems)


def _restore_blanks(data: bytes, node: _Node) -> None:
    """Give attributes the tabs and line breaks back that XML turns into blanks: a path with them is another.

    Only values with a blank can have lost one.
    """
    if not any(" " in value for value in node.attributes.values()):
        return
    tag = _TAG.match(data, node.start)
    for name, quoted in _ATTRIBUTE.findall(tag.group()) if tag else ():
        if b"\n" in quoted or b"\t" in quoted:
            node.attributes[name.decode()] = _REFERENCE.sub(_resolve_reference, quoted[1:-1].decode())


def _resolve_reference(match: Match[str]) -> str:
    """Return the character that a reference stands for, in a text that expat has accepted."""
    decimal, hexadecimal, name = match.groups()
    return _ENTITIES[name] if name else chr(int(decimal or hexadecimal, 10 if decimal else 16))


class _RefusedError(Exception):
    """Ends expat's reading at something that it would accept and we do not."""


def _advice(data: bytes, offset: int, message: str) -> str:
    """Return a clause with the remedy for the commonest mistakes in XML that is written by hand."""
    if message == "undefined entity":
        return "; only &lt; &gt; &amp; &quot; &apos; are known: write the character itself"
    if b"]]>" in data[max(offset - 3, 0) : offset + 3]:
        return "; inside CDATA, ]]> is written ]]&gt;"
    if data.startswith(_CURLY_QUOTES, offset):
        return "; attributes stand in straight quotes"
    if data.startswith(_MARKUP, offset) or data.startswith(_MARKUP, max(offset - 1, 0)):
        return "; write &amp; for & and &lt; for <, or put the text into <![CDATA[…]]>"
    return ""


def _extent(data: bytes, at: int) -> int | None:
    """Return where the element that opens here ends; None if its tags do not tell."""
    depth = 0
    while (start := data.find(b"<", at)) >= 0:
        if data.startswith(CDATA, start):
            at = _section_end(data, start, CDATA_END)
        elif data.startswith(COMMENT, start):
            at = _section_end(data, start, COMMENT_END)
        elif data.startswith(INSTRUCTION, start):
            at = _section_end(data, start, INSTRUCTION_END)
        elif tag := _TAG.match(data, start):
            at = tag.end()
            if data[start + 1] == SLASH:
                depth -= 1
            elif data[at - 2] != SLASH:
                depth += 1
            if depth <= 0:
                return at
        else:
            break
    return None


def _section_end(data: bytes, start: int, closing: bytes) -> int:
    """Return where a section in which tags do not count is closed; the end of all, if it is not."""
    end = data.find(closing, start)
    return len(data) if end < 0 else end + len(closing)


class _Node:
    """An element: its text outside of CDATA, and its CDATA sections, if it has any."""

    __slots__ = ("attributes", "children", "end", "markup", "name", "plain", "sections", "start")

    def __init__(self, name: str, attributes: dict[str, str], start: int) -> None:
        self.name, self.attributes, self.start = name, attributes, start
        self.end = 0  # until it is closed
        self.children: list[_Node] = []
        self.plain: list[str] = []
        self.sections: list[list[str]] = []
        self.markup = ""  # a comment or processing instruction inside, which content must not lose

    @property
    def text(self) -> str:
        return "".join(self.plain)


class _Builder:
    """Builds nodes from expat's events: one parser for all elements, as children of a root of its own."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.view = memoryview(data)
        self.fed = self.base = 0  # how many bytes expat has had; where the present element starts
        self.top: _Node | None = None
        self.stack: list[_Node] = []
        self.into: list[str] = []  # where character data goes
        self.parser = expat.ParserCreate("utf-8")
        self.parser.Parse(b"<document>", False)
        self.fed = len(b"<document>")
        self.parser.buffer_text, self.parser.buffer_size = True, 1 << 16
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartCdataSectionHandler = self._open_section
        self.parser.EndCdataSectionHandler = self._close_section
        self.parser.CommentHandler = lambda _text: self._note_markup("a comment")
        self.parser.ProcessingInstructionHandler = lambda *_: self._note_markup("a processing instruction")

    def read(self, start: int, end: int | None) -> _Node:
        """Read the element from start to end; without an end, it is fed to the last byte and refused."""
        self.base = start - self.fed
        text = self.view[start:end]
        self.parser.Parse(text, False)
        self.fed += len(text)
        if end is None:
            self.parser.Parse(b"", True)
        top = self.top
        if end is None or self.stack or not top:
            raise _RefusedError("the element is not closed")
        self.top, top.end = None, end
        return top

    def operation(self) -> _Node | None:
        """Return the operation that is open, if any is."""
        in_block = bool(self.stack) and self.stack[0].name == "tasks"
        return next(iter(self.stack[in_block:]), None)

    def offset(self, index: int | None = None) -> int:
        """Return where in the document expat is, or was at this index of its own."""
        return self.base + (self.parser.CurrentByteIndex if index is None else index)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise _RefusedError(f"elements are nested more than {MAX_DEPTH} deep")
        node = _Node(name, attributes, self.base + self.parser.CurrentByteIndex)
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.top = node
        self.stack.append(node)
        self.into = node.plain

    def _end(self, _name: str) -> None:
        node = self.stack.pop()
        if self.stack:  # else `read` knows its end
            at = self.offset()  # at the closing tag, or behind a tag that closes itself
            node.end = self.data.find(b">", at) + 1 if self.data.startswith(b"</", at) else at
            self.into = self.stack[-1].plain

    def _text(self, text: str) -> None:
        self.into.append(text)

    def _open_section(self) -> None:
        self.into = []
        self.stack[-1].sections.append(self.into)

    def _close_section(self) -> None:
        self.into = self.stack[-1].plain

    def _note_markup(self, what: str) -> None:
        if self.stack:
            self.stack[-1].markup = what


def _write(node: _Node, fields: Fields, complaints: Complaints) -> None:
    _take_content(node, "content", fields, complaints)


def _edit(node: _Node, fields: Fields, complaints: Complaints) -> None:
    parts = _parts(node, complaints)
    ranged = "search-start" in parts or "search-end" in parts
    if "search" in parts and ranged:
        complaints.append(("search", "<search> cannot stand beside <search-start> and <search-end>"))
    for name in ("search-start", "search-end") if ranged else ("search",):
        _take_part(parts, name, fields, complaints)
    _take_part(parts, "replace", fields, complaints)


def _parts(node: _Node, complaints: Complaints) -> dict[str, _Node]:
    """Return the children of an edit by name."""
    parts: dict[str, _Node] = {}
    for child in node.children:
        name = shortened(child.name)
        if child.name not in ("search", "search-start", "search-end", "replace"):
            complaints.append((name, f"Unknown element <{name}> in <edit>"))
        elif child.name in parts:
            complaints.append((name, f"<{name}> stands twice in <edit>"))
        parts[child.name] = child
    if node.text.strip(BLANKS) or node.sections:
        complaints.append((None, "Text in <edit> outside of its elements"))
    return parts


def _take_part(parts: dict[str, _Node], name: str, fields: Fields, complaints: Complaints) -> None:
    key = name.replace("-", "_")
    if name in parts:
        before = len(complaints)
        _take_content(parts[name], key, fields, complaints)
        if len(complaints) > before or fields.get(key):
            return
        del fields[key]
    advice = "to delete text, keep a neighbouring line in both the search and the replacement"
    complaints.append((name, f"Empty or missing <{name}>: {advice}"))


def _run(node: _Node, fields: Fields, complaints: Complaints) -> None:
    _take_content(node, "command", fields, complaints, strip=True)
    if fields.get("command") == "":
        del fields["command"]
        complaints.append(("command", "Empty content not allowed for <run>"))


def _expect_nothing_inside(node: _Node, _fields: Fields, complaints: Complaints) -> None:
    if node.children or node.sections or node.text.strip(BLANKS):
        complaints.append((None, f"<{node.name}> takes no content"))


def _complain_of_unknown(node: _Node, _fields: Fields, complaints: Complaints) -> None:
    nested, name = node.name == "tasks", shortened(node.name)
    complaints.append((None, "<tasks> cannot be nested" if nested else f"Unknown element <{name}>"))


# The functions that read the fields of an operation from its element.
_READERS: dict[str, Callable[[_Node, Fields, Complaints], None]] = {
    "write": _write,
    "edit": _edit,
    "move": _expect_nothing_inside,
    "remove": _expect_nothing_inside,
    "read": _expect_nothing_inside,
    "run": _run,
}


def _take_content(
    node: _Node, name: str, fields: Fields, complaints: Complaints, *, strip: bool = False
) -> None:
    """Take the text of an element if it is valid."""
    complaint = _content_complaint(node, strip=strip)
    if complaint:
        complaints.append((name, f"{complaint}: put the content into <![CDATA[…]]>"))
        return
    sections = ["".join(section).replace("]]&gt;", "]]>") for section in node.sections]
    text = "".join(sections) if sections else node.text
    fields[name] = text.strip(BLANKS) if strip else text


def _content_complaint(node: _Node, *, strip: bool) -> str | None:
    if node.children:
        return f"Element <{shortened(node.children[0].name)}> in the content of <{node.name}>"
    if node.markup:
        return f"There is {node.markup} in the content of <{node.name}>"
    if node.sections:
        beside = node.plain and node.text.strip(BLANKS)
        return f"Text beside CDATA in <{node.name}>" if beside else None
    text = node.text.strip(BLANKS) if strip else node.text
    return f"Multi-line content in <{node.name}>" if "\n" in text else None
