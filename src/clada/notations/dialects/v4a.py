"""v4a: patches from `*** Begin Patch` to `*** End Patch`, as OpenAI's models write them; each is one block.

    patch   = *** Begin Patch  [*** Environment ID: x]  { section }  *** End Patch
    section = *** Add File: PATH     { +line }
            | *** Delete File: PATH
            | *** Update File: PATH  [*** Move to: PATH]  { hunk }
    hunk    = { @@ [anchor] }  { blank context | -old | +new | empty line }  [*** End of File]
    anchor  = a line of the file before the hunk

It may be in a fence, and in a here-document: [cd DIR &&] apply_patch <<'EOF' … EOF; if one of these is
closed, `*** End Patch` may be missing. Markers may have blanks behind them, and before them but in an update;
the last `*** End Patch` may have blanks before it everywhere.
"""

from __future__ import annotations

import re

from clada.errors import shortened
from clada.notations.markdown import LinePattern, line_end, lines_above, open_fence
from clada.notations.reading import ChangedLines, Reading, UnreadableError
from clada.notations.registry import SHELL, load
from clada.operations.edit import TYPOGRAPHIC, Hunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

    from clada.model import Invalid, Operation

NAME = "v4a"
BEGIN, END, STARS = b"*** Begin Patch", b"*** End Patch", b"*** "
UNCLOSED = "Unterminated patch: there is no *** End Patch"
NO_BEGIN = "*** Begin Patch is missing before this line"
_START = LinePattern(
    rb"[ \t]*+\*\*\* (?:(Begin Patch)[ \t]*+(?=\n|\Z)|(?:Add|Update|Delete) File: |"
    rb"B(?:e(?:g(?:i(?:n(?: (?:P(?:a(?:t(?:c)?)?)?)?)?)?)?)?)?\Z)"
)
# The first marker after the beginning, which decides whether it is a patch.
_FILE = re.compile(rb"\n[ \t]*+\*\*\* (?:(Add|Update|Delete) File: |(?:Begin|End) Patch)")
_CUT = re.compile(rb"\s*+(?:\*[^\n]*+)?\Z")
_BODY = re.compile(rb"[^\n]*+(?:\n(?:@@|[-+ ]|\*\*\* )|\n?\Z)")
_HEREDOC = re.compile(r"""(?:.*?\bcd[ \t]+(\S+)[ \t]*&&[ \t]*)?.*?<<-?[ \t]*['"\\]?(\w+)['"]?[ \t]*""")
_SECTION = re.compile(rb"\*\*\* (Add|Update|Delete) File:[ \t]*+(.*)", re.DOTALL)
_PATCH_MARKER = re.compile(rb"\n\*\*\* (?:(End)|Begin) Patch[ \t]*+(?=\n|\Z)")
_RANGES = re.compile(r"-[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@")


class Blocks:
    """Finds and reads the patches of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data

    def next(self, at: int) -> int | None:
        """Return where the next patch starts, or the rest of one that surely has lost its beginning."""
        data, end = self.data, self.reading.end
        while found := _START.next(data, at, end):
            start = found.start() + (data[found.start() : found.start() + 1] == b"\n")
            if self._is_patch(found):
                opened = open_fence(data, at, start)
                # In the fence of a shell with other commands that write, too, it is one of them.
                passed = load(SHELL).end_of_own_fence(self.reading, opened.start) if opened else None
                if passed is None:
                    return start
                at = passed
            else:
                at = found.end()
        return None

    def _is_patch(self, found: Match[bytes]) -> bool:
        """Whether a patch begins here, or has lost its beginning, or all that comes after it."""
        data, at, end = self.data, found.end(), self.reading.end
        if not found.group(1):
            return _BODY.match(data, at, end) is not None
        first = _FILE.search(data, at, end)
        return first.group(1) is not None if first else _CUT.match(data, at, end) is not None

    def read(self, at: int, floor: int) -> int:
        """Read the patch that starts here, after what ended at `floor`; return where it ends."""
        begins = self.data[at : line_end(self.data, at, self.reading.end)].strip() == BEGIN
        if not begins and not self.reading.chosen:
            cut = self.data.startswith(STARS + b"B", at) or self.data.startswith(b" ", at)
            raise UnreadableError(at, UNCLOSED if cut else NO_BEGIN, cut=cut)
        patch = _Patch(self.reading, at, floor)
        return patch.read(line_end(self.data, at, self.reading.end) + 1 if begins else at)


class _Patch:
    """One patch while it is read."""

    def __init__(self, reading: Reading, at: int, floor: int) -> None:
        self.reading, self.data, self.at = reading, reading.data, at
        self.folder, self.closers = "", set[bytes]()  # where paths start; lines that show that it has ended
        self._look_above(floor)
        self.indent = self._indent()
        self.section: _Section | None = None  # the last one, and where its text starts
        self.since = at
        self.items: list[Operation | Invalid] = []  # of those before it
        self.wrong: tuple[int, str] | None = None  # before the first section

    def _look_above(self, floor: int) -> None:
        """Find the fence and the here-document around the patch."""
        fence = open_fence(self.data, floor, self.at)
        if fence:
            self.closers.add(fence.mark)
        for line in lines_above(self.data, max(floor, fence.start if fence else 0), self.at, 3):
            heredoc = _HEREDOC.fullmatch(line.decode())
            if heredoc:
                self.folder = (heredoc.group(1) or "").strip("'\"").rstrip("/")
                self.closers |= {heredoc.group(2).encode(), heredoc.group(2).encode() + b'"'}

    def _indent(self) -> bytes:
        """Return the blanks that every line of the patch starts with, as in a list."""
        blanks = self.data[self.at : self.data.find(b"*", self.at)]
        end = self.data.find(END, self.at) if blanks else -1
        lines = self.data[self.at : end].split(b"\n") if end >= 0 else [b"*"]
        return blanks if all(line.startswith(blanks) or not line.strip() for line in lines) else b""

    def read(self, start: int) -> int:
        """Read the lines from here on, add the operations, and return where the patch ends."""
        data, limit = self.data, self.reading.end
        while start < limit:
            end = line_end(data, start, limit)
            line = data[start:end].removeprefix(self.indent) if self.indent else data[start:end]
            marker = line.rstrip() if self.section and self.section.kind == b"Update" else line.strip()
            if marker == END or (line.strip() == END and not self._ends_later(end)):
                return self._finish(end)
            if marker.startswith(STARS):
                self._marker(marker, start)
            elif line.strip() in self.closers and not line.startswith(b" "):
                return self._finish(start)
            elif self.section:
                self.section.take(line.decode(), start)
            elif line.strip():
                self._complain(start, f'"{shortened(line.decode().strip())}" stands before any file')
            start = end + 1
        if self.reading.closed and self.section:
            return self._finish(limit)
        raise UnreadableError(self.at, UNCLOSED, cut=True)

    def _ends_later(self, at: int) -> bool:
        """Whether a line without blanks before it ends the patch, so that an indented one is context."""
        marker = _PATCH_MARKER.search(self.data, at, self.reading.end)
        return marker is not None and marker.group(1) is not None

    def _marker(self, marker: bytes, at: int) -> None:
        section, last = _SECTION.fullmatch(marker), self.section
        if section:
            self._close_section(at)
            self.section = _Section(section.group(1), self._below(section.group(2).decode().strip()), at)
        elif marker == BEGIN:
            raise UnreadableError(self.at, "this patch has no *** End Patch before the next one")
        elif last and marker.startswith(b"*** Move to:") and last.kind == b"Update" and not last.hunks:
            last.destination = self._below(marker[12:].decode().strip())
        elif last and marker == b"*** End of File" and last.hunks:
            last.hunks[-1].at_end = True
        elif last or not marker.startswith(b"*** Environment ID:"):
            self._complain(at, f'"{shortened(marker.decode())}" cannot stand here')

    def _complain(self, at: int, message: str) -> None:
        """Note an error of the section, or of the text before the first one."""
        if self.section:
            self.section.complain(at, message)
        else:
            self.wrong = self.wrong or (at, message)

    def _close_section(self, end: int) -> None:
        """Make operations of the section that ends here; without a section, of the errors so far."""
        if self.section:
            self.items += self.section.operations(self.reading, (self.since, end))
            self.since = end
        elif self.wrong:
            at, message = self.wrong
            self.items.append(self.reading.invalid("edit", at, (self.since, end), message))
            self.since = end

    def _below(self, path: str) -> str:
        return f"{self.folder}/{path}" if self.folder and not path.startswith("/") else path

    def _finish(self, end: int) -> int:
        """Add the operations of the patch as one block: its text is theirs, from the first to the last."""
        if not self.section:
            self._complain(self.at, "a patch without a file")
        self._close_section(end)
        self.reading.add(*self.items, together=self.at)
        return end


class _HunkDraft(ChangedLines):
    """A hunk of an update while it is read."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at_end = False
        self.anchors: list[str] = []

    def value(self, line: int) -> Hunk:
        """Return the hunk; one that only adds is inserted after its anchor, or at the end of the file."""
        old, new = ("".join(f"{line}\n" for line in lines) for lines in (self.old, self.new))
        at_end = self.at_end or (not self.old and not self.anchors)
        return Hunk(old, new, None, tuple(self.anchors), None, at_end, None, line)


class _Section:
    """The section of one file in a patch, while it is read."""

    def __init__(self, kind: bytes, path: str, at: int) -> None:
        self.kind, self.path, self.at = kind, path, at
        self.destination: str | None = None
        self.lines: list[str] = []  # of a file that is added
        self.hunks: list[_HunkDraft] = []
        self.wrong: tuple[int, str] | None = None

    def complain(self, at: int, message: str) -> None:
        """Note the first error."""
        self.wrong = self.wrong or (at, message)

    def take(self, line: str, at: int) -> None:
        """Take a line of content."""
        if self.kind == b"Update":
            self._take_change(line, at)
        elif self.kind == b"Add" and (line.startswith("+") or not line.strip()):
            self.lines.append(line[1:])
        elif line.strip():
            must = (
                "a line of a new file starts with +"
                if self.kind == b"Add"
                else "nothing follows a Delete File"
            )
            self.complain(at, f'{must}, not "{shortened(line)}"')

    def _take_change(self, line: str, at: int) -> None:
        if line.startswith("@@"):
            self._take_anchor(line, at)
            return
        if not self.hunks:
            self.hunks.append(_HunkDraft(at))
        sign, text = line[:1], line[1:]
        if sign not in ("", " ", "+", "-"):
            self.complain(at, f'a line of a change starts with a blank, + or -, not "{shortened(line)}"')
        self.hunks[-1].take_line(sign, text)

    def _take_anchor(self, line: str, at: int) -> None:
        hunk = self.hunks[-1] if self.hunks else None
        if hunk is None or hunk.old or hunk.new:
            hunk = _HunkDraft(at)
            self.hunks.append(hunk)
        anchor = line[2:].rstrip().removeprefix(" ")
        if _RANGES.match(anchor):
            return
        anchor = anchor.removesuffix("@@").rstrip()
        if anchor:
            hunk.anchors.append(anchor)

    def operations(self, reading: Reading, span: tuple[int, int]) -> list[Operation | Invalid]:
        """Return the operations; one invalid operation if there is an error."""
        name = {b"Add": "write", b"Delete": "remove", b"Update": "edit"}[self.kind]
        hunks = [hunk for hunk in self.hunks if hunk.changes]
        elided = ((hunk.at, why) for hunk in hunks if (why := hunk.elision_complaint()))
        wrong = self.wrong or next(elided, None)
        if not wrong and not self.path:
            wrong = self.at, "the name of the file is missing"
        if not wrong and self.kind == b"Update" and not hunks and not self.destination:
            wrong = self.at, "an Update File without changes"
        if wrong:
            at, message = wrong
            path = {"path": self.path} if self.path else {}
            return [reading.invalid(name, at, span, message, **path)]
        if self.kind == b"Delete":
            return [reading.make(name, self.at, span, path=self.path, file_only=True)]
        if self.kind == b"Add":
            content = "".join(f"{line}\n" for line in self.lines)
            return [reading.make(name, self.at, span, path=self.path, content=content)]
        made: list[Operation | Invalid] = []
        if hunks:
            values = tuple(hunk.value(reading.lines.line(hunk.at)) for hunk in hunks)
            made.append(
                reading.make(
                    name, self.at, span, path=self.path, hunks=values, match=TYPOGRAPHIC, whole_lines=True,
                    final_newline=True,
                )
            )  # fmt: skip
        if self.destination:
            made.append(reading.make("move", self.at, span, source=self.path, destination=self.destination))
        return made
