"""CSL that arrives in pieces, as an LLM writes it: operations are given out as they are completed."""

from __future__ import annotations

from clada.errors import invalid_utf8, too_large
from clada.grammar import END_DELIMITER, MAX_INPUT, START_DELIMITER, check_delimiters
from clada.model import Plan
from clada.notations.csl import NAME, Parser
from clada.notations.detect import BOM, parse
from clada.notations.hidden import Scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.errors import Problem
    from clada.model import Invalid, Operation


class Reader:
    """Reads CSL that arrives in pieces: `feed` returns the operations that each piece completes.

    A block is only known to be valid when it is closed: `close` returns the plan of the whole, which is the
    one that `parse` gives, wherever the text was cut. Operations in parts that are not scanned are not given
    out. Only a closing tag of reasoning without an opening one comes too late: operations before it were
    given out, and are not in the plan.
    """

    def __init__(self, start_delimiter: str = START_DELIMITER, end_delimiter: str = END_DELIMITER) -> None:
        check_delimiters(start_delimiter, end_delimiter)
        self._delimiters = (start_delimiter, end_delimiter)
        self._data = bytearray()  # all so far, with LF line endings
        self._parser = Parser(
            self._data, self._delimiters, Scan(self._data, start_delimiter.encode(), grows=True)
        )
        self._given = 0  # operations that were given out
        self._characters = self._bytes = 0  # as they came
        self._after_cr = False  # the last piece ended in CR, which counted: a LF right after it does not
        self._refused: Problem | None = None
        self._plan: Plan | None = None

    def feed(self, chunk: str) -> list[Operation | Invalid]:
        """Take the next piece of the text; return the operations that are complete with it.

        Raises TypeError if it is not a text, and ValueError after `close`.
        """
        if not isinstance(chunk, str):
            raise TypeError(f"feed() takes a str, not {type(chunk).__name__}")
        if self._plan:
            raise ValueError("feed() after close(): the text has ended")
        self._append(chunk)
        if self._refused:
            return []
        if "\n" in chunk or "\r" in chunk:
            self._parser.advance(self._data.rfind(b"\n") + 1)
        complete = self._parser.complete[self._given :]
        self._given += len(complete)
        return complete

    def close(self) -> Plan:
        """Take the end of the text; return the plan of the whole."""
        if self._plan is None:
            start, end = self._delimiters
            refused = Plan(NAME, fatal=self._refused) if self._refused else None
            # A BOM that is still there was the second one, and belongs to the text: parse removes the first.
            document = bytes(BOM + self._data if self._data.startswith(BOM) else self._data)
            self._plan = refused or parse(document, NAME, start_delimiter=start, end_delimiter=end)
        return self._plan

    def _append(self, chunk: str) -> None:
        """Add a piece to the data, unless it forbids reading all of it, as it does in `parse`."""
        self._characters += len(chunk)
        if self._characters > MAX_INPUT:
            self._refused = too_large()
        if self._refused or not chunk:
            return
        try:
            data = chunk.encode()
        except UnicodeEncodeError as error:
            offset = self._bytes + len(chunk[: error.start].encode())
            self._refused = invalid_utf8(offset) if offset <= MAX_INPUT else too_large()
            return
        first, self._bytes = not self._bytes, self._bytes + len(data)
        if self._bytes > MAX_INPUT:
            self._refused = too_large()
            return
        data = data.removeprefix(BOM if first else b"\n" if self._after_cr else b"")
        self._after_cr = chunk.endswith("\r")
        self._data += data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
