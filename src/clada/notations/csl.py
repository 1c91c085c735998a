"""CSL: operations between marker lines.

    document   = { prose | block | operation }
    block      = <---TASKS attributes--->  { prose | operation }  <---END--->
    operation  = <---WRITE attributes--->  content  <---END--->
               | <---RUN attributes--->    content  <---END--->
               | <---SEARCH attributes---> content [ <---TO---> content ] <---REPLACE---> content <---END--->
    attributes = { blanks key [blanks] "=" [blanks] quoted }
    quoted     = " … " | ' … '          in it, backslash escapes itself and the quote

A marker starts at column 0. Which markers count depends on the state (COUNTING): in
content, all else is content. Whether paths lead anywhere and commands may run is not checked here.
"""

from __future__ import annotations

from clada.errors import Problem, cut_off, too_large
from clada.grammar import (
    CSL_VERSIONS,
    DELIMITERS,
    END_DELIMITER,
    MAX_INPUT,
    START_DELIMITER,
    check_delimiters,
)
from clada.model import Block, Invalid, Plan
from clada.notations.attributes import take_append, take_count, take_directory, take_path
from clada.notations.line_counter import LineCounter
from clada.operations import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from clada.model import Operation
    from clada.notations.attributes import Complaints
    from clada.notations.registry import Delimiters

    Fields = dict[str, Any]

NAME = "csl"
BLANKS = " \t"
LARGE = 1 << 20  # a slice that is worth decoding without a copy

OPENING = ("WRITE", "RUN", "SEARCH", "TASKS")
CLOSING = ("END", "TO", "REPLACE")
# The markers that count in each content; outside of content every marker does.
COUNTING = {
    "WRITE": ("END",),
    "RUN": ("END",),
    "SEARCH": ("TO", "REPLACE", "END"),
    "TO": ("REPLACE",),
    "REPLACE": ("END",),
}
# Markers as they are usually written, up to the value: settled without a closer look.
USUAL = {"WRITE file=": ("WRITE", "file"), "SEARCH file=": ("SEARCH", "file"), "RUN dir=": ("RUN", "dir")}
NO_ATTRIBUTES: dict[str, str] = {}  # one for all operations that have none left
MALFORMED = "Malformed marker"
CONTENT_AFTER = "Content not allowed on marker line"
NO_END = ("SEARCH", "TO")  # where END does not end an operation


def sign(data: bytes, delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first line is that starts with the start delimiter and a letter."""
    mark = delimiters[0].encode()
    at = 0 if data.startswith(mark) else _after_newline(data, mark, 0)
    while at is not None:
        if data[at + len(mark) : at + len(mark) + 1].isalpha():
            return at
        at = _after_newline(data, mark, at)
    return None


def _after_newline(data: bytes, mark: bytes, since: int) -> int | None:
    at = data.find(b"\n" + mark, since)
    return None if at < 0 else at + 1


def read(data: bytes, delimiters: Delimiters = DELIMITERS) -> Plan:
    """Read a whole document: UTF-8 with LF line endings."""
    return Reader(*delimiters, whole=data).close()


class Reader:
    """Reads CSL that arrives in pieces: `feed` returns the operations that each piece completes.

    A block is only known to be valid when it is closed: `close` returns the plan of the whole.
    """

    def __init__(
        self,
        start_delimiter: str = START_DELIMITER,
        end_delimiter: str = END_DELIMITER,
        *,
        whole: bytes | None = None,
    ) -> None:
        check_delimiters(start_delimiter, end_delimiter)
        self._mark, self._line_mark = start_delimiter.encode(), f"\n{start_delimiter}".encode()
        self._end, self._end_text, self._value_end = (
            end_delimiter.encode(),
            end_delimiter,
            f'"{end_delimiter}',
        )
        self._heads = {name: self._mark + name.encode() for name in (*OPENING, *CLOSING)}
        self._plain_end = self._heads["END"] + self._end
        self._data: bytes | bytearray = bytearray() if whole is None else whole
        self._lines = LineCounter(self._data)
        self._final = False
        self._skip_newline = False  # the last piece ended in CR, which counted: a LF right after does not
        self._seen = 0  # up to here nothing more is to be found with the data there is
        self._candidate: int | None = None  # a line that starts like a marker and is not complete yet
        self._state: str | None = None  # None at top level, TASKS, or a key of COUNTING
        self._opened: tuple[str, int, int, dict[str, str]] = ("", 0, 0, {})  # name, offset, line, attributes
        self._texts: dict[str, str] = {}  # the texts that are complete, by the marker before them
        self._text_start = 0  # of the text that is not
        self._block: _OpenBlock | None = None
        self._blocks: list[Block] = []
        self._note = ""  # on the first line of content that looks like a marker
        self._complete: list[Operation | Invalid] = []  # since the last feed
        self._fatal: Problem | None = None

    def feed(self, chunk: str) -> list[Operation | Invalid]:
        """Take the next piece of the text; return the operations that are complete with it."""
        if not self._fatal:
            self._append(chunk)
            self._advance()
        complete, self._complete = self._complete, []
        return complete

    def close(self) -> Plan:
        """Take the end of the text; return the plan of the whole."""
        if not self._fatal:
            self._final = True
            self._advance()
        if not self._fatal and self._state is not None:
            self._unterminated()
        begun = [self._block.closed()] if self._block and self._block.operations else []
        blocks = [*self._blocks, *begun]
        notes = (self._note,) if self._note else ()
        return Plan(NAME, tuple(blocks), self._fatal, notes, bytes(self._data))

    def _append(self, chunk: str) -> None:
        if self._skip_newline and chunk.startswith("\n"):
            chunk = chunk[1:]
        self._skip_newline = chunk.endswith("\r") or (self._skip_newline and not chunk)
        try:
            self._data += chunk.replace("\r\n", "\n").replace("\r", "\n").encode()
        except UnicodeEncodeError:
            self._fatal = Problem("invalid_utf8", "The text has a lone surrogate, which UTF-8 cannot hold")
        if len(self._data) > MAX_INPUT:
            self._fatal = too_large()

    def _advance(self) -> None:
        """Read on as far as the text goes; what is fatal ends it."""
        try:
            self._handle_lines()
        except _FatalError as fatal:
            message = f"Line {fatal.line}: {fatal.message}"
            if fatal.message == MALFORMED and self._final and self._data.rfind(b"\n") < fatal.at:
                message += cut_off(self._completed())  # it is the last line: the answer stops in it
            self._fatal = Problem("malformed_csl", message, fatal.line)

    def _handle_lines(self) -> None:
        """Handle every line that is complete and starts with the start delimiter.

        How far the data was looked at is noted, for the next piece.
        """
        data, mark, seen = self._data, self._line_mark, self._seen
        at, self._candidate = self._candidate, None
        if at is None:
            at = 0 if not seen and data.startswith(self._mark) else data.find(mark, seen) + 1 or None
        since: int | None = max(at or 0, seen)  # of a line that was begun before, only the rest
        while at is not None:
            end = data.find(b"\n", since)
            if end < 0:
                if not self._final:
                    self._candidate, self._seen = at, len(data)
                    return
                end = len(data)
            if self._state in COUNTING:
                self._handle_in_content(at, end)
            else:
                self._handle_outside(at, end)
            seen = end
            at = since = data.find(mark, seen) + 1 or None
        if seen or len(data) > len(self._mark):  # else the first line may still become a marker
            self._seen = max(seen, len(data) - len(self._mark), 1)

    def _handle_in_content(self, at: int, end: int) -> None:
        state = self._state
        if (
            state not in NO_END
            and end - at == len(self._plain_end)
            and self._data.startswith(self._plain_end, at)
        ):
            self._end_content("END", at, end)  # the usual case, settled without parsing it
            return
        for name in COUNTING[state or ""]:
            if self._counts(name, at, end):
                if self._named(self._body(at, end), at) != (name, ""):
                    self._fail(at, f"{name} marker cannot have attributes")
                self._end_content(name, at, end)
                return
        if not self._note and any(self._counts(name, at, end) for name in OPENING):
            line, opened = self._lines.line(at), self._opened[0]
            self._note = f"Line {line} is in the content of {opened}: is an END missing before it?"

    def _counts(self, name: str, at: int, end: int) -> bool:
        """Whether the line is this marker, be it written rightly or wrongly."""
        head, data = self._heads[name], self._data
        after = at + len(head)
        return data.startswith(head, at) and (
            data.startswith(self._end, after) or after >= end or data[after] in b" \t"
        )

    def _handle_outside(self, at: int, end: int) -> None:
        head, _, tail = self._data[at + len(self._mark) : end].decode().partition('"')
        usual, value = USUAL.get(head), tail.removesuffix(self._value_end)
        if usual and value != tail and '"' not in value and "\\" not in value:
            self._open(usual[0], {usual[1]: value}, at, end)
        else:
            self._handle_marker(*self._named(self._body(at, end), at), at, end)

    def _handle_marker(self, name: str, rest: str, at: int, end: int) -> None:
        if name == "TASKS" and self._block:
            self._fail(at, "TASKS cannot be nested")
        if name in OPENING:
            attributes = read_attributes(rest, self._end_text)
            if isinstance(attributes, str):
                self._fail(at, attributes)
            self._open(name, attributes, at, end)
        elif name not in CLOSING:
            self._fail(at, f"Unknown operation: {name}")
        elif rest:
            self._fail(at, f"{name} marker cannot have attributes")
        elif name != "END":
            self._fail(at, f"{name} marker not valid in {self._state or 'null'} operation")
        elif not self._block:
            self._fail(at, "END marker without active operation")
        else:
            self._blocks.append(self._block.closed())
            self._block = self._state = None

    def _body(self, at: int, end: int) -> str:
        """Return what stands between the delimiters of a marker line."""
        first = at + len(self._mark)
        last = self._data.rfind(self._end, first, end)
        if last < 0:
            self._fail(at, MALFORMED)
        if last + len(self._end) < end and self._data[last + len(self._end) : end].strip(b" \t"):
            self._fail(at, CONTENT_AFTER)
        body = self._data[first:last].decode()
        if not body or not ("a" <= body[0] <= "z" or "A" <= body[0] <= "Z"):
            self._fail(at, MALFORMED)
        return body

    def _named(self, body: str, at: int) -> tuple[str, str]:
        """Split the body of a marker into the name and the text of the attributes."""
        name = body.partition(" ")[0].partition("\t")[0]
        if self._end_text in name:
            self._fail(at, CONTENT_AFTER)
        return name, body[len(name) :].rstrip(BLANKS)

    def _open(self, name: str, attributes: dict[str, str], at: int, end: int) -> None:
        line = self._lines.line(at)
        if name == "TASKS":
            version = attributes.get("version")
            if version is not None and version not in CSL_VERSIONS:
                self._fail(at, f"Unsupported version: {version}")
            self._block = _OpenBlock(line, version)
        self._opened = (name, at, line, attributes)
        self._texts, self._text_start, self._state = {}, end + 1, name

    def _end_content(self, name: str, at: int, end: int) -> None:
        start, stop = self._text_start, at - 1
        small = stop - start < LARGE
        text = self._data[start:stop].decode() if small else self._large_text(start, stop)
        self._texts[self._state or ""] = text
        self._text_start = end + 1
        if name != "END":
            self._state = name
            return
        if self._state == "SEARCH":
            self._fail(at, "SEARCH requires a REPLACE marker before END")
        operation = self._operation(end)
        self._complete.append(operation)
        if self._block:
            self._block.operations.append(operation)
            self._state = "TASKS"
        else:
            self._blocks.append(Block(operation.line, None, True, (operation,)))
            self._state = None

    def _large_text(self, start: int, end: int) -> str:
        """Decode a text without a copy of it in between."""
        with memoryview(self._data) as view:
            return str(view[start:end], "utf-8")

    def _operation(self, end: int) -> Operation | Invalid:
        opened, start, line, attributes = self._opened
        name, take_fields = BUILDERS[opened]
        complaints: Complaints = []
        fields = take_fields(attributes, self._texts, complaints)
        rest, span = attributes or NO_ATTRIBUTES, (start, end)
        operation = find(name)
        if operation and not complaints:
            return operation.from_fields(line, span, rest, fields)
        block_line = self._block.line if self._block else None
        problems = tuple(
            Problem("invalid_operation", message, line, None, name, field, block_line)
            for field, message in complaints
        )
        return Invalid(line, span, rest, name, fields, problems)

    def _unterminated(self) -> None:
        name, _, line, _ = self._opened
        if self._block and self._state == "TASKS":
            name, line = "TASKS", self._block.line
        message = f"Line {line}: Unterminated {name} operation{cut_off(self._completed())}"
        self._fatal = Problem("malformed_csl", message, line)

    def _completed(self) -> int:
        in_block = len(self._block.operations) if self._block else 0
        return sum(len(block.operations) for block in self._blocks) + in_block

    def _fail(self, at: int, message: str) -> NoReturn:
        raise _FatalError(at, self._lines.line(at), message)


class _FatalError(Exception):
    """Ends the reading from within."""

    def __init__(self, at: int, line: int, message: str) -> None:
        super().__init__(message)
        self.at, self.line, self.message = at, line, message


class _OpenBlock:
    """A TASKS that is not closed yet."""

    def __init__(self, line: int, version: str | None) -> None:
        self.line, self.version = line, version
        self.operations: list[Operation | Invalid] = []

    def closed(self) -> Block:
        return Block(self.line, self.version, False, tuple(self.operations))


def _write(attributes: dict[str, str], texts: dict[str, str], complaints: Complaints) -> Fields:
    fields: Fields = {}
    take_path(attributes, "file", fields, complaints, "path")
    fields["content"] = texts["WRITE"]
    take_append(attributes, fields, complaints)
    return fields


def _search(attributes: dict[str, str], texts: dict[str, str], complaints: Complaints) -> Fields:
    fields: Fields = {}
    take_path(attributes, "file", fields, complaints, "path")
    take_count(attributes, fields, complaints)
    is_range = "TO" in texts
    _take_pattern("search_start" if is_range else "search", texts["SEARCH"], fields, complaints)
    if is_range:
        _take_pattern("search_end", texts["TO"], fields, complaints)
    fields["replace"] = texts["REPLACE"]
    return fields


def _run(attributes: dict[str, str], texts: dict[str, str], complaints: Complaints) -> Fields:
    fields: Fields = {}
    if texts["RUN"]:
        fields["command"] = texts["RUN"]
    else:
        complaints.append(("content", "Empty content not allowed for RUN operation"))
    take_directory(attributes, fields, complaints)
    return fields


# The operation of each marker, and what takes its fields out of the attributes and texts.
BUILDERS = {"WRITE": ("write", _write), "SEARCH": ("edit", _search), "RUN": ("run", _run)}


def _take_pattern(name: str, text: str, fields: Fields, complaints: Complaints) -> None:
    if text:
        fields[name] = text
    elif name == "search_end":
        complaints.append(("to", "Empty TO pattern not allowed"))
    else:
        complaints.append(("search", "Empty search pattern not allowed"))


def read_attributes(text: str, end_delimiter: str = END_DELIMITER) -> dict[str, str] | str:
    """Read attributes, each after at least one blank; return the fatal message where they are wrong."""
    found: dict[str, str] = {}
    at, size = 0, len(text)
    while at < size:
        start = _skip_blanks(text, at)
        if start == at:
            return CONTENT_AFTER if text.startswith(end_delimiter, at) else "Invalid attribute syntax"
        equals = text.find("=", start)
        key = text[start : equals if equals >= 0 else size].rstrip(BLANKS)
        if not key:
            return "Invalid attribute syntax"
        if equals < 0 or " " in key or "\t" in key:
            return "Expected '=' after attribute name"
        opening = _skip_blanks(text, equals + 1)
        quote = text[opening : opening + 1]
        if quote not in ("'", '"'):
            return "Unquoted attribute value" if quote else "Missing attribute value"
        closing = _closing_quote(text, opening + 1, quote)
        if closing < 0:
            return "Unterminated quoted value"
        if key in found:
            return f"Duplicate attribute: {key}"
        found[key] = _unescape(text[opening + 1 : closing], quote)
        at = closing + 1
    return found


def _skip_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return at


def _closing_quote(text: str, start: int, quote: str) -> int:
    """Return where the value ends: at a quote behind an even number of backslashes; -1 if it does not."""
    since = start
    while (at := text.find(quote, since)) >= 0:
        if text[at - 1] != "\\":
            return at
        before = text[since:at]
        if (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return at
        since = at + 1
    return -1


def _unescape(value: str, quote: str) -> str:
    if "\\" not in value:
        return value
    return "\\".join(part.replace("\\" + quote, quote) for part in value.split("\\\\"))
