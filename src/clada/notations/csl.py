"""CSL: operations between marker lines.

    document   = { prose | block | operation }
    block      = <---TASKS attributes--->  { prose | operation }  <---END--->
    operation  = <---WRITE attributes--->  content  <---END--->
               | <---RUN attributes--->    content  <---END--->
               | <---READ attributes--->
               | <---SEARCH attributes---> content [ <---TO---> content ] <---REPLACE---> content <---END--->
    attributes = { blanks key [blanks] "=" [blanks] quoted }
    quoted     = " … " | ' … '          in it, backslash escapes itself and the quote

A marker starts at column 0. Which markers count depends on the state (COUNTING): in content, all else is
content. Content of a WRITE or RUN that has an opening marker makes the
operation invalid, because its END was probably forgotten, unless the operation has literal="true". Whether
paths lead anywhere and commands may run is not checked here.
"""

from __future__ import annotations

import re

from clada.errors import Problem, cut_off, shortened
from clada.grammar import CSL_VERSIONS, DELIMITERS, END_DELIMITER, FLAG_WORDS, WRONG_FLAG, take_fields
from clada.model import NO_ATTRIBUTES, Block, Invalid, Plan
from clada.notations.markdown import LinePattern, line_end
from clada.notations.reading import UnreadableError
from clada.operations import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    from clada.grammar import Complaints
    from clada.model import Operation
    from clada.notations.hidden import Scan
    from clada.notations.reading import Reading
    from clada.notations.registry import Delimiters
    from clada.public_types import NotationName

NAME: NotationName = "csl"
BLANKS = " \t"

OPENING = ("WRITE", "READ", "RUN", "SEARCH", "TASKS")
CLOSING = ("END", "TO", "REPLACE")
# The markers that count in each content; outside of content every marker does.
COUNTING = {
    "WRITE": ("END",),
    "RUN": ("END",),
    "SEARCH": ("REPLACE", "TO", "END"),
    "TO": ("REPLACE",),
    "REPLACE": ("END",),
}
OPERATIONS = {"WRITE": "write", "READ": "read", "SEARCH": "edit", "RUN": "run"}
ONE_LINE = ("READ",)  # operations without content, and without END
ATTRIBUTES = {"path": "file"}  # fields that are called otherwise in CSL
# Operations whose content must not have an opening marker, unless LITERAL is true.
MAY_BE_LITERAL = ("WRITE", "RUN")
LITERAL = "literal"
ANOTHER = "line {line} starts another {name}: END is probably missing before it"
# The field of the text after each marker; the error if it must not be empty.
TEXTS = {"WRITE": "content", "RUN": "command", "SEARCH": "search", "TO": "search_end", "REPLACE": "replace"}
EMPTY = {
    "RUN": ("content", "Empty content not allowed for RUN operation"),
    "SEARCH": ("search", "Empty search pattern not allowed"),
    "TO": ("to", "Empty TO pattern not allowed"),
}
# Without one of these, nothing closes a part that is not scanned.
CLOSING_SIGNS = (b">", b"]", b"`", b"~", b":", b"\xb7", b"'", b'"', b")")
MALFORMED = "Malformed marker"
CONTENT_AFTER = "Content not allowed on marker line"


def sign(data: bytes, delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first line is that starts with the start delimiter and a letter."""
    return LinePattern(marker(delimiters)).start(data, 0, len(data))


def read(data: bytes, delimiters: Delimiters = DELIMITERS) -> Plan:
    """Read a whole document: UTF-8 with LF line endings."""
    return Parser(data, delimiters).plan()


class Parser:
    """Reads a document as far as it is there: `data` may grow between two calls of `advance`.

    A block is only known to be valid when it is closed: `plan` ends the document, and has the whole.
    """

    def __init__(
        self, data: bytes | bytearray, delimiters: Delimiters = DELIMITERS, scan: Scan | None = None
    ) -> None:
        start, end = delimiters
        self._scan = scan  # finds parts that are not scanned, of a text that arrives in pieces
        self._data = data
        self._mark, self._line_mark = start.encode(), f"\n{start}".encode()
        self._end, self._end_text = end.encode(), end
        self._heads = {name: f"{start}{name}".encode() for name in (*OPENING, *CLOSING)}
        self.ended = 0  # all before it has been read
        self._outside = 0  # hidden parts were searched for up to here
        self._waited = 0  # so far, there is no end of the one that is open; 0 if none is
        self._line, self._line_at = 1, 0  # of the marker that opened last
        self._state: str | None = None  # None at top level, TASKS, or a key of COUNTING
        self._opened: tuple[str, int, dict[str, str]] = ("", 0, {})  # name, offset, attributes
        self._inner: tuple[str, int] | None = None  # name and line of the first opening marker in content
        self._texts: dict[str, str] = {}  # the texts that are complete, by the marker before them
        self._text_start = 0  # of the text that is not
        self._block: Block | None = None  # the open one, without its operations so far:
        self._in_block: list[Operation | Invalid] = []
        self._blocks: list[Block] = []
        self._notes: tuple[str, ...] = ()  # on the first line of content that looks like a marker
        self._fatal: Problem | None = None
        self.complete: list[Operation | Invalid] = []  # in the order of the document
        self._only_one = False  # whether to stop after the first operation, or block
        self._before = 0  # operations before the text that is read here

    @classmethod
    def one(cls, reading: Reading, at: int) -> Self:
        """Return a parser that reads the operation, or the block, that starts at a place of a document."""
        parser = cls(reading.data, reading.delimiters)
        parser._only_one, parser._before = True, reading.complete
        parser.ended = parser._outside = at
        parser._line, parser._line_at = reading.lines.line(at), at
        return parser

    def plan(self) -> Plan:
        """Take the end of the data for that of the document; return the plan of the whole."""
        self.advance(len(self._data))
        if not self._fatal and self._state is not None:
            name, line = self._opened[0], self._line
            if self._block and self._state == "TASKS":
                name, line = "TASKS", self._block.line
            message = (
                f"Line {line}: Unterminated {name} operation{cut_off(self._before + len(self.complete))}"
            )
            self._fatal = Problem("malformed_csl", message, line)
        if self._block and self._in_block:
            self._blocks.append(self._block.replace(operations=tuple(self._in_block)))
        return Plan(NAME, tuple(self._blocks), self._fatal, self._notes, bytes(self._data))

    def advance(self, end: int) -> None:
        """Read the lines that start like a marker, up to an offset where a line ends, or to a fatal error."""
        try:
            while not self._fatal and not (self._only_one and self._blocks):
                at = self._next_marker(end)
                if at is None:
                    return
                self.ended = self._read_line(at, line_end(self._data, at, end))
                if self.ended == at:  # it is in a part that is not scanned, and has no end yet
                    return
        except UnreadableError as fatal:
            line = self._line_of(fatal.offset)
            message = f"Line {line}: {fatal.message}"
            if fatal.message == MALFORMED and self._data.rfind(b"\n") < fatal.offset:
                # It is the last line: the answer stops in it.
                message += cut_off(self._before + len(self.complete))
            self._fatal = Problem("malformed_csl", message, line)

    def _next_marker(self, end: int) -> int | None:
        """Return the start of the next line that starts with the start delimiter."""
        data, at = self._data, self.ended
        if data.startswith(self._mark, at, end) and data[max(at - 1, 0) : at] in (b"", b"\n"):
            return at
        found = data.find(self._line_mark, at, end)
        if found < 0:
            self.ended = max(at, end - 1)  # the next line may start with it
            return None
        return found + 1

    def _read_line(self, at: int, end: int) -> int:
        """Read a line that starts with the start delimiter; return where to go on.

        That is the line itself if it is in a hidden part that has no end yet.
        """
        if self._state in COUNTING:
            self._read_in_content(self._state, at, end)
            return end
        if self._scan:
            if self._waited and not any(self._data.find(sign, self._waited) >= 0 for sign in CLOSING_SIGNS):
                return at
            self._waited = 0
            part = self._scan.over(self._outside, at)
            if part and (part.end is None or part.end >= len(self._data)):
                self._waited = max(len(self._data) - 1, 1)
                return at
            self._outside = part.end if part and part.end else at
            if part:
                return self._outside
        self._read_outside(at, end)
        return end

    def _read_in_content(self, state: str, at: int, end: int) -> None:
        """Read a line of content that may be the marker that ends it."""
        for name in COUNTING[state]:
            if self._counts(name, at, end):
                if self._marker(at, end) != (name, ""):
                    raise UnreadableError(at, f"{name} marker cannot have attributes")
                if state == "SEARCH" and name == "END":
                    raise UnreadableError(at, "SEARCH requires a REPLACE marker before END")
                self._texts[state] = self._data[self._text_start : at - 1].decode()
                if name == "END":
                    self._make(end)
                else:
                    self._state, self._text_start = name, end + 1
                return
        may_be_literal = state in MAY_BE_LITERAL
        if may_be_literal and (self._inner or self._opened[2].get(LITERAL) == "true"):
            return
        opening = self._opening(at, end) if may_be_literal else None
        if opening:
            self._inner = (opening, self._line + self._data.count(b"\n", self._line_at, at))
        else:
            self._note_opening(at, end)

    def _note_opening(self, at: int, end: int) -> None:
        """Add a note on the first line of content that looks like an opening marker."""
        if not self._notes and any(self._counts(name, at, end) for name in OPENING):
            line, opened = self._line_of(at), self._opened[0]
            self._notes = (f"Line {line} is in the content of {opened}: is an END missing before it?",)

    def _opening(self, at: int, end: int) -> str | None:
        """Return the name of the well-formed opening marker that a line is, or None."""
        try:
            name, rest = self._marker(at, end)
        except UnreadableError:
            return None
        well_formed = name in OPENING and isinstance(read_attributes(rest, self._end_text), dict)
        return name if well_formed else None

    def _counts(self, name: str, at: int, end: int) -> bool:
        """Whether the line is this marker, be it written rightly or wrongly."""
        head, data = self._heads[name], self._data
        after = at + len(head)
        return data.startswith(head, at) and (
            data.startswith(self._end, after) or after >= end or data[after] in b" \t"
        )

    def _read_outside(self, at: int, end: int) -> None:
        """Read a line outside of content, which must be a marker: one that opens an operation or a block."""
        name, rest = self._marker(at, end)
        if name not in OPENING:
            self._close_block(name, rest, at)
            return
        if name == "TASKS" and self._block:
            raise UnreadableError(at, "TASKS cannot be nested")
        attributes = read_attributes(rest, self._end_text)
        if isinstance(attributes, str):
            raise UnreadableError(at, attributes)
        self._line += self._data.count(b"\n", self._line_at, at)
        self._line_at = at
        if name == "TASKS":
            version = attributes.pop("version", None)
            if version is not None and version not in CSL_VERSIONS:
                raise UnreadableError(at, f"Unsupported version: {shortened(version)}")
            self._block = Block(self._line, version, False, (), attributes or NO_ATTRIBUTES)
        self._opened, self._texts, self._inner = (name, at, attributes), {}, None
        if name in ONE_LINE:
            self._make(end)
        else:
            self._state, self._text_start = name, end + 1

    def _marker(self, at: int, end: int) -> tuple[str, str]:
        """Return the name of a marker and the text of its attributes."""
        data, first = self._data, at + len(self._mark)
        last = data.rfind(self._end, first, end)
        if last < 0:
            raise UnreadableError(at, MALFORMED)
        if data[last + len(self._end) : end].strip(b" \t"):
            raise UnreadableError(at, CONTENT_AFTER)
        body = data[first:last].decode()
        if not body or not ("a" <= body[0] <= "z" or "A" <= body[0] <= "Z"):
            raise UnreadableError(at, MALFORMED)
        name = body.partition(" ")[0].partition("\t")[0]
        if name in self._heads:  # searched for first: the end delimiter may be in it, as E is in END
            return name, body[len(name) :].rstrip(BLANKS)
        ended = self._end_text in name or any(
            body.startswith(known + self._end_text) for known in self._heads
        )
        raise UnreadableError(at, CONTENT_AFTER if ended else f"Unknown operation: {shortened(name)}")

    def _close_block(self, name: str, rest: str, at: int) -> None:
        """Close the block with a closing marker outside of content, if one is open."""
        if rest:
            raise UnreadableError(at, f"{name} marker cannot have attributes")
        if name != "END":
            raise UnreadableError(at, f"{name} marker not valid in {self._state or 'null'} operation")
        if not self._block:
            raise UnreadableError(at, "END marker without active operation")
        self._blocks.append(self._block.replace(operations=tuple(self._in_block)))
        self._block, self._in_block, self._state = None, [], None

    def _make(self, end: int) -> None:
        """Make the operation that ends here of its attributes and texts."""
        marker, start, attributes = self._opened
        texts, line = self._texts, self._line
        self._outside = end + 1
        complaints: Complaints = []
        kind = find(OPERATIONS[marker])
        fields = take_fields(kind.fields if kind else (), attributes, complaints, ATTRIBUTES)
        for before, text in texts.items():
            if text or before not in EMPTY:
                fields[TEXTS[before]] = text
            else:
                complaints.append(EMPTY[before])
        if "TO" in texts and "search" in fields:
            fields["search_start"] = fields.pop("search")
        if marker in MAY_BE_LITERAL:
            complaints += self._literal_complaints(attributes)
        operation: Operation | Invalid
        if kind and not complaints:
            if marker == "WRITE":
                fields["as_lines"] = True
            operation = kind.from_fields(line, (start, end), attributes or NO_ATTRIBUTES, fields)
        else:
            operation = self._invalid(complaints, fields, end)
        self._add(operation)

    def _literal_complaints(self, attributes: dict[str, str]) -> Complaints:
        """Take the attribute `literal`; return its error, or that of content that should have it."""
        if attributes.pop(LITERAL, "true") not in FLAG_WORDS:
            return [(LITERAL, f"Invalid value for '{LITERAL}': {WRONG_FLAG}")]
        if not self._inner:
            return []
        name, line = self._inner
        return [("content", ANOTHER.format(line=line, name=name))]

    def _add(self, operation: Operation | Invalid) -> None:
        """Add an operation that is complete."""
        self.complete.append(operation)
        if self._block:
            self._in_block.append(operation)
            self._state = "TASKS"
        else:
            self._blocks.append(Block(operation.line, None, True, (operation,)))
            self._state = None

    def _invalid(self, complaints: Complaints, fields: dict[str, Any], end: int) -> Invalid:
        """Return the operation that is open, with all that is wrong with it."""
        (marker, start, attributes), line = self._opened, self._line
        name, block_line = OPERATIONS[marker], self._block.line if self._block else None
        problems = tuple(
            Problem("invalid_operation", message, line, None, name, field, block_line)
            for field, message in complaints
        )
        return Invalid(line, (start, end), attributes or NO_ATTRIBUTES, name, fields, problems)

    def _line_of(self, at: int) -> int:
        return self._data.count(b"\n", 0, at) + 1


def marker(delimiters: Delimiters) -> bytes:
    """Return the pattern of how a marker starts."""
    return re.escape(delimiters[0].encode()) + rb"[A-Za-z]"


class Blocks:
    """Finds and reads operations and blocks one after the other, in a document that has others, too."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self._marker = reading, LinePattern(marker(reading.delimiters))

    def next(self, at: int) -> int | None:
        """Return where the next line is that starts with the start delimiter and a letter."""
        return self._marker.start(self.reading.data, at, self.reading.end)

    def read(self, at: int, _floor: int) -> int:
        """Read the operation, or the block, that starts here; return where it ends."""
        parser = Parser.one(self.reading, at)
        plan = parser.plan()
        self.reading.blocks += plan.blocks
        self.reading.complete += len(parser.complete)
        self.reading.notes += plan.notes
        if plan.fatal:
            raise UnreadableError(at, plan.fatal.message, problem=plan.fatal)
        return parser.ended


_KEY = re.compile(r"[ \t]+([^= \t]*+)[ \t]*+(=?)[ \t]*+([\"']?)")
# By the quote: the rest of a value, and an escape in it.
_VALUES = {
    quote: (re.compile(rf"((?:[^{quote}\\]++|\\.)*+){quote}"), re.compile(rf"\\([{quote}\\])"))
    for quote in "\"'"
}


def read_attributes(text: str, end_delimiter: str = END_DELIMITER) -> dict[str, str] | str:
    """Read attributes, each after at least one blank; return the fatal message if they are wrong."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        head = _KEY.match(text, at)
        key, equals, quote = head.groups() if head else ("", "", "")
        if not head or not key:
            return CONTENT_AFTER if text.startswith(end_delimiter, at) else "Invalid attribute syntax"
        if not equals:
            return "Expected '=' after attribute name"
        if not quote:
            return "Unquoted attribute value" if head.end() < len(text) else "Missing attribute value"
        pattern, escape = _VALUES[quote]
        value = pattern.match(text, head.end())
        if not value:
            return "Unterminated quoted value"
        if key in found:
            return f"Duplicate attribute: {shortened(key)}"
        found[key] = escape.sub(r"\1", value[1])
        at = value.end()
    return found
