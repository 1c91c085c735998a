"""A document in dialects while it is read: its text, the operations so far, and notes on it."""

from __future__ import annotations

import re

from clada.errors import Problem, cut_off
from clada.grammar import DELIMITERS, path_complaint
from clada.model import NO_ATTRIBUTES, Block, Invalid
from clada.notations.path_text import is_placeholder, relative
from clada.notations.registry import title
from clada.operations import find
from clada.text.elision import elision_complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from clada.model import NotApplied, Operation, Plan
    from clada.notations.registry import Delimiters

    Span = tuple[int, int]
    Prose = tuple[bytes, list[int]]  # the text between operations, and the start and end of each gap

PATHS = {"path", "other_path", "source", "destination"}  # fields that are paths
_SHOWS = re.compile(
    r"""\s*(?:cat|head(?:[ \t]+-(?:n[ \t]*)?(?P<count>[1-9]\d{0,8}))?
        |sed[ \t]+-n[ \t]+(['"]?)(?P<first>[1-9]\d{0,8}),(?P<last>[1-9]\d{0,8}|\$)p\2)
    [ \t]+(['"]?)(?P<path>(?!-)[\w./@+-]*[\w.])\5\s*""",
    re.VERBOSE,
)
LINES_OF_HEAD = 10


class LineCounter:
    """Tells the line of one offset after the other; quick as long as each is near the one before."""

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = data
        self._line, self._at = 1, 0

    def line(self, offset: int) -> int:
        """Return the 1-based line of a byte offset."""
        if offset < self._at:
            self._line -= self._data.count(b"\n", offset, self._at)
        else:
            self._line += self._data.count(b"\n", self._at, offset)
        self._at = offset
        return self._line

    def column(self, offset: int) -> int:
        """Return the 1-based column of a byte offset, in characters."""
        start = self._data.rfind(b"\n", 0, offset) + 1
        return len(self._data[start:offset].decode(errors="replace")) + 1

    def start(self, line: int) -> int:
        """Return where a line starts."""
        if line < self._line:
            self._line, self._at = 1, 0
        at = self._data.rfind(b"\n", 0, self._at) + 1
        for _ in range(line - self._line):
            at = self._data.find(b"\n", at) + 1
        self._line, self._at = line, at
        return at


class ChangedLines:
    """The lines of a hunk while it is read."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.old: list[str] = []
        self.new: list[str] = []
        self.added: list[str] = []
        self.changes = False

    def take_line(self, sign: str, text: str) -> None:
        """Take a line by its sign: + for a new one, - for an old one, a blank or nothing for both."""
        if sign != "+":
            self.old.append(text)
        if sign != "-":
            self.new.append(text)
        if sign == "+":
            self.added.append(text)
        self.changes = self.changes or sign in ("+", "-")

    def elision_complaint(self) -> str | None:
        """Return the error of an added line that stands for omitted code."""
        return elision_complaint("\n".join(self.added), "\n".join(self.old))


class UnreadableError(Exception):
    """Ends the reading of a document that cannot be read reliably."""

    def __init__(
        self, offset: int, message: str, *, cut: bool = False, path: str = "", problem: Problem | None = None
    ) -> None:
        super().__init__(message)
        self.offset, self.message, self.cut = offset, message, cut
        self.path = path  # of the file that is not all there
        self.problem = problem  # what to report in place of the message


class Reading:
    """A text that is read from `start` to `end`, with its operations and notes.

    `chosen` is whether the dialect was asked for by name; absolute paths below one of `roots` are relative.
    """

    def __init__(  # noqa: PLR0913 (all but the text and its part are named)
        self, data: bytes, start: int = 0, end: int | None = None, *, chosen: bool = False,
        roots: Sequence[str] = (), run_fences: bool = False, delimiters: Delimiters = DELIMITERS,
    ) -> None:  # fmt: skip
        self.data, self.start, self.end = data, start, len(data) if end is None else end
        self.chosen, self.roots, self.run_fences = chosen, roots, run_fences
        self.delimiters = delimiters  # of the markers of CSL
        self.lines = LineCounter(data)
        self.blocks: list[Block] = []
        self.notes: list[str] = []
        self.not_applied: list[NotApplied] = []
        self.complete = 0  # operations
        self.atomic = False  # whether one of the blocks is
        self.ignored = False  # whether there are known blocks that are not operations
        self.dialect = ""  # that is being read
        self.dialects: dict[str, None] = {}  # that were met, in order

    @property
    def operations(self) -> list[Operation | Invalid]:
        """The operations so far, in document order."""
        return [item for block in self.blocks for item in block.operations]

    @property
    def closed(self) -> bool:
        """Whether a fence around the whole document shows that it is all there."""
        return self.end < len(self.data)

    def path(self, written: str) -> str:
        """Return a path as the workspace has it."""
        return relative(written, self.roots) if self.roots else written

    def directory(self, written: str) -> str | None:
        """Return where a command runs, as the workspace has it; None for the workspace itself."""
        path = written.rstrip("/")
        if path in (".", "") or path in (root.rstrip("/") for root in self.roots):
            return None
        return self.path(path)

    def make(self, name: str, at: int, span: Span, /, **fields: Any) -> Operation | Invalid:
        """Return the operation at an offset; an invalid one if its path is not valid.

        A whole file is guarded against being replaced by a part of it, unless the user named the dialect.
        Whether the path is an example of the instructions is noted: no such file is made. A command that only
        shows a file is a read.
        """
        if name == "run" and not fields.get("suggested") and (shown := shown_lines(fields["command"])):
            folder = fields.get("dir")
            path = f"{folder}/{shown[0]}" if folder and not shown[0].startswith("/") else shown[0]
            name, fields = "read", {"path": path, "lines": shown[1]}
        if name in ("write", "edit"):
            fields["placeholder"] = is_placeholder(fields["path"])
        for key in PATHS & fields.keys():
            path = fields[key] = self.path(fields[key])
            complaint = path_complaint(path)
            if complaint:
                message = f"Invalid value for '{key}': {complaint}"
                return self.invalid(name, at, span, message, field=key)
        if name == "write" and not (self.chosen or fields.get("append")):
            fields.setdefault("if_exists", "guard")
        kind: Any = find(name)
        operation: Operation = kind(self.lines.line(at), span, NO_ATTRIBUTES, **fields, dialect=self.dialect)
        return operation

    def invalid(
        self, name: str, at: int, span: Span, message: str, /, field: str | None = None, **fields: Any
    ) -> Invalid:
        """Return an invalid operation with this error, which is at the offset `at`."""
        line = self.lines.line(span[0])  # first, for lines are counted forward
        problem = Problem("invalid_operation", message, self.lines.line(at), None, name, field)
        return Invalid(line, span, NO_ATTRIBUTES, name, fields, (problem,), self.dialect)

    def add(
        self, *operations: Operation | Invalid, together: int | None = None, atomic: bool = False
    ) -> None:
        """Add operations: each for itself, or all in a block that starts at the place `together`."""
        self.complete += len(operations)
        if together is None:
            self.blocks += [Block(item.line, None, True, (item,)) for item in operations]
            return
        self.add_block(self.lines.line(together), operations, atomic=atomic)

    def add_block(self, line: int, operations: Iterable[Operation | Invalid], *, atomic: bool) -> None:
        """Add operations that are already counted, as a block that starts on this line."""
        items = tuple(_in_block(item, line) if isinstance(item, Invalid) else item for item in operations)
        self.blocks.append(Block(line, None, False, items, atomic=atomic))
        self.atomic = self.atomic or atomic

    def note(self, offset: int, text: str) -> None:
        """Add a note for the user on a line."""
        self.notes.append(f"Line {self.lines.line(offset)}: {text}")

    def fatal(self, error: UnreadableError) -> Problem:
        """Return the problem of a document that cannot be read."""
        if error.problem:
            return error.problem
        line = self.lines.line(error.offset)
        name = f" (read as {title(self.dialect)})" if self.dialect else ""
        message = f"Line {line}: {error.message}{name}{cut_off(self.complete) if error.cut else ''}"
        return Problem("malformed_dialect", message, line)


def shown_lines(command: str) -> tuple[str, str | None] | None:
    """Return the path and the lines of the one file that a command shows; None if it does anything else."""
    shown = _SHOWS.fullmatch(command)
    if not shown:
        return None
    if shown["first"]:
        last = "" if shown["last"] == "$" else max(int(shown["first"]), int(shown["last"]))
        return shown["path"], f"{shown['first']}-{last}"
    is_head = command.lstrip().startswith("head")
    return shown["path"], f"1-{shown['count'] or LINES_OF_HEAD}" if is_head else None


def _in_block(item: Invalid, line: int) -> Invalid:
    """Return an invalid operation whose problems tell the line of its block."""
    return item.replace(problems=tuple(problem.replace(block_line=line) for problem in item.problems))


def prose_of(plan: Plan) -> Prose:
    """Return the text outside of the operations of a plan, and the gaps between operations that it is in."""
    at, source = 0, plan.source  # where the last operation ended
    gaps: list[int] = []
    for block in plan.blocks:
        for item in block.operations:
            start, end = item.span
            if start - at > 1:  # more than a line break
                gaps += (at, start)
            at = max(at, end)
    if len(source) - at > 1:
        gaps += (at, len(source))
    pieces = [source[start:end] for start, end in zip(gaps[::2], gaps[1::2], strict=True)]
    return b"".join(pieces), gaps
