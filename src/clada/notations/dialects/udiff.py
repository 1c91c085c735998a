r"""udiff: unified diffs, as git and diff write them, and as models do, who count badly.

    diff   = { file }, in a fence or not; in a mail of git format-patch: From HEX40 … text --- … { file } --
    file   = [diff --git a/P b/P { header }]  [--- P]  [+++ P]  { hunk }
    header = index | old mode | new mode | new file mode | deleted file mode | rename from | rename to
           | copy from | copy to | similarity index | Binary files …
    hunk   = @@ [-a[,b] +c[,d]] … [@@ text]  { blank context | -old | +new | empty line | \ No newline … }

A fence tagged diff or patch may have its name in the info or above it, and no headers. Numbers never place
a hunk: a start line only chooses between equal places. They do show whether a diff without a fence, and
without anything after it, is all there.
"""

from __future__ import annotations

import re

from clada.errors import shortened
from clada.notations.dialects.udiff_files import FileDiff, HunkDraft, name_in_header, names_in
from clada.notations.markdown import (
    OPENING_TAG,
    LinePattern,
    closing_line,
    fence_line,
    is_indented_code,
    line_end,
    lines_above,
    open_fence,
)
from clada.notations.path_text import path_in, path_in_info, path_in_title
from clada.notations.reading import Reading, UnreadableError
from clada.notations.write import quote_word
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.model import Invalid, Operation

NAME = "udiff"
PRINTED = "a diff in a transcript was ignored"
IS_PRINTED = re.compile(
    rb"[\W_]*(?:(?:this|which|it|the program)[ \t]+)?(?:returns|prints|outputs?|displays)[\W_]*",
    re.IGNORECASE,
)  # the line above it
AGAIN = "this diff has no changes, or repeats an earlier one"
UNCLOSED = "Unterminated diff"
NO_END = "nothing shows where this diff ends, and its counts do not fit: put it in a fence"
_MAIL = rb"From [0-9a-f]{40} Mon Sep 17 00:00:00 2001"
_START = LinePattern(
    rb"[ \t]*+(?:`{3,}+|~{3,}+|" + OPENING_TAG + rb")[ \t]*+(?:diff|patch|udiff)(?![\w-])[^\n`]*+(?=\n|\Z)"
    rb"|diff --git [^\n]|--- [^\n]++\n\+\+\+ [^\n]++\n@@|" + _MAIL + rb"\n"
)
_OTHERS = re.compile(
    rb"^[ \t]*+(?:(?:<{5,9}|>{5,9}|-{3,})[ \t]++(?:SEARCH|ORIGINAL)|\*\*\* (?:Begin|Update|Add) )",
    re.MULTILINE,
)
_HEADER = re.compile(rb"^[ \t]*+(?:diff --git |--- [^\n]++\n[ \t]*+\+\+\+ )", re.MULTILINE)
_CHANGE = re.compile(rb"^[ \t]*+[-+]", re.MULTILINE)
_IS_MAIL = re.compile(_MAIL + rb"\n")
_SIGNATURE = re.compile(rb"-- ?\n[0-9]+\.[0-9][^\n]*+(?:\n|\Z)")
_REST = re.compile(rb"\s*+\Z")
_SIGNED = re.compile(rb"--[- ]?+[ \t]*+(?:\n[0-9]++\.[0-9][^\n]*+)?\s*+\Z")
# Nothing comes after it, but perhaps a line that is cut off.
_LAST = re.compile(rb"(?:\n[^\s][^\n]*+|\s*+)\Z")
_HUNK = re.compile(
    r"@@+(?:[ \t]*-([0-9]{1,9})(?:,([0-9]{1,9}))?[ \t]+\+([0-9]{1,9})(?:,([0-9]{1,9}))?[ \t]*@@)?.*"
)


class Blocks:
    """Finds and reads the diffs of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data
        self.seen: dict[str, set[tuple[str, str, int]]] = {}  # hunks of each file
        self._unclosed = False  # the last examined fence has no end

    def next(self, at: int) -> int | None:
        """Return where the next diff starts: a header, a mail, or a fence tagged as a diff with changes."""
        data, end = self.data, self.reading.end
        while (start := _START.start(data, at, end)) is not None:
            printed = None if self.reading.chosen else self._end_of_printed(start, at)
            if printed is not None:
                self.reading.note(start, PRINTED)
                at = printed
            elif data[start : start + 1] in b"dF-" or self._is_diff(start, at):
                if not is_indented_code(data, start):
                    return start
                at = line_end(data, start, end)
            else:
                at = line_end(data, start, end)
                if self._unclosed:
                    return None  # all that comes is in this fence
        return None

    def _end_of_printed(self, start: int, floor: int) -> int | None:
        """Return the end of the fence around an offset, if the line above says that a program prints it."""
        around = open_fence(self.data, floor, start)
        if not around and self.data[start : start + 1] in b"dF-":
            return None
        opened = around.start if around else start
        if not IS_PRINTED.fullmatch(self._line_above(opened, floor)):
            return None
        return _Extent.of_fence(self.data, opened, self.reading.end).end

    def _line_above(self, at: int, floor: int) -> bytes:
        """Return the line above, with one blank line between at most."""
        lines = lines_above(self.data, floor, at, 2)
        return next((line for line in lines if line.strip()), b"")

    def _is_diff(self, start: int, floor: int) -> bool:
        """Whether a fence that is tagged as a diff has one in it, and a name."""
        inside = _Extent.of_fence(self.data, start, self.reading.end)
        self._unclosed = not inside.closed
        text = self.data[inside.start : inside.end]
        if _OTHERS.search(text) or not _CHANGE.search(text):
            return False
        return _HEADER.search(text) is not None or self.name_outside(start, floor) is not None

    def name_outside(self, at: int, floor: int) -> str | None:
        """Return the path in the info of the fence that opens here, or in the line above it.

        One blank line may be between the two.
        """
        fence = fence_line(self.data[at : line_end(self.data, at, self.reading.end)])
        named = path_in_info(fence.info) if fence else None
        if named:
            return named
        above = self._line_above(at, floor).decode()
        return path_in(above) or path_in_title(above) if above else None

    def read(self, at: int, floor: int) -> int:
        """Read the diff that starts here, after what ended at `floor`; return where it ends."""
        return _Diff(self, _extent(self.reading, at, floor), at, floor).read()


class _Extent(Value):
    """The extent of a diff: the offsets of its lines, and whether a fence around it is closed."""

    start: int
    end: int
    fenced: bool
    closed: bool
    indent: bytes = b""

    @classmethod
    def of_fence(cls, data: bytes, at: int, limit: int) -> _Extent:
        """Return the extent of the lines in a fence that opens here.

        It is closed by a line with the very same indentation: one more blank, and it is context.
        """
        first = line_end(data, at, limit)
        line = data[at:first]
        fence, bare = fence_line(line), line.lstrip(b" \t")
        indent = line[: len(line) - len(bare)]
        mark = fence.mark if fence else b"```"
        found = closing_line(mark, indent).search(data, first, limit)
        end = found.start() + 1 if found else limit
        return cls(min(first + 1, limit), end, fenced=True, closed=found is not None, indent=indent)


def _extent(reading: Reading, at: int, floor: int) -> _Extent:
    """Return the extent of the diff that starts here: the fence that it opens or is in, or unknown."""
    data, limit = reading.data, reading.end
    if data[at : at + 1] not in b"dF-":
        return _Extent.of_fence(data, at, limit)
    opened = open_fence(data, floor, at)
    if opened is None:
        return _Extent(at, limit, fenced=False, closed=False)
    return _Extent.of_fence(data, opened.start, limit).replace(start=at)


class _Diff:
    """One diff while it is read: its files, one after the other."""

    def __init__(self, blocks: Blocks, extent: _Extent, at: int, floor: int) -> None:
        self.blocks, self.reading, self.data = blocks, blocks.reading, blocks.data
        self.extent, self.at, self.floor = extent, at, floor
        self.files: list[FileDiff] = []
        self.mail: int | None = None  # where the mail starts that the files are of
        self.is_noted = False  # that lines without a prefix are context

    def read(self) -> int:
        """Read all lines that belong to it, add its operations, and return where it ends."""
        end, extent = self._read_lines(), self.extent
        if not extent.closed and not self.reading.closed and _LAST.match(self.data, end, self.reading.end):
            self._check_whole()
        self._finish_files(end)
        if not extent.fenced:
            return end
        return line_end(self.data, extent.end, self.reading.end) if extent.closed else end

    def _check_whole(self) -> None:
        """Refuse a diff at the end of the text that may be cut off: only counts that fit say otherwise."""
        last = self.files[-1] if self.files else None
        if last is None and self.mail is None and self.reading.complete:
            return  # the last mail was closed
        if self.extent.fenced or last is None or not last.is_whole() or not self._is_line_whole(last):
            fits = self.extent.fenced or last is None or not last.hunks
            raise UnreadableError(last.at if last else self.at, UNCLOSED if fits else NO_END, cut=True)

    def _is_line_whole(self, file: FileDiff) -> bool:
        """Whether the last line is all there: it has its end, or must be in the file as it is.

        Without its end, a sign with nothing but blanks after it may be the start of any line.
        """
        last = self.data.rfind(b"\n", 0, self.reading.end) + 1
        line = self.data[last : self.reading.end]
        names = names_in(file)
        is_edit = names is not None and names.old is not None and names.new is not None
        return not line or (is_edit and line[:1] in b" -\\" and bool(line[1:].strip()))

    def _read_lines(self) -> int:
        """Read line by line; return where the last one ends that belongs to the diff."""
        data, extent = self.data, self.extent
        at, last = extent.start, extent.start
        while at < extent.end:
            end = line_end(data, at, extent.end)
            line = data[at:end].decode()
            if extent.indent:
                line = line.removeprefix(extent.indent.decode())
            taken = self._take(line, at, end)
            if taken is None:
                return last
            at, last = taken + 1, taken if line else last
        return extent.end if extent.fenced else last

    def _take(self, line: str, at: int, end: int) -> int | None:
        """Add a line to the file that it belongs to; return its end, or None if it is not part of a diff."""
        file = self.files[-1] if self.files else None
        if self._take_header(line, at, end, file):
            return end
        if file and file.hunks:
            return self._take_body(file, line, at, end)
        if file and file.take_header(line):
            return end
        if file and self.extent.fenced and file.new is not None:
            file.hunks.append(HunkDraft(None, at))  # one without a header
            return self._take_body(file, line, at, end)
        if not file and (self.mail is not None or (self.extent.fenced and self._begin_named_file(line, at))):
            return end  # the text of a mail; or the first line in a fence that has a name
        return end if self.extent.fenced or not line.strip() else None

    def _take_header(self, line: str, at: int, end: int, file: FileDiff | None) -> bool:
        """Take a line that starts a mail, a file, its names or a hunk; return whether it is one."""
        if line.startswith("diff --git "):
            self._begin(at).take_header(line)
        elif _IS_MAIL.match(self.data, at):
            self._finish_files(at)
            self.mail = at
        elif line.startswith("--- ") and self._starts_file(end, file):
            file = file if file and self._is_same(file, line, end) else self._begin(at)
            file.old = name_in_header(line[4:])
        elif line.startswith("+++ ") and file and file.expects_new_name:
            file.new = name_in_header(line[4:])
        elif line.startswith("@@") and file:
            file.hunks.append(HunkDraft(_HUNK.fullmatch(line), at))
        else:
            return False
        return True

    def _take_body(self, file: FileDiff, line: str, at: int, end: int) -> int | None:
        if self.mail is not None and _SIGNATURE.match(self.data, at):
            file.closed = True
            signature = line_end(self.data, end + 1, self.extent.end)
            self._finish_files(signature)
            return signature
        if self._is_over(file, line, at):
            return self.extent.end if self.extent.fenced else None
        if line[:1] in ("", " ", "+", "-", "\\"):
            file.hunks[-1].take(line)
            return end
        if not self.extent.fenced:
            return None
        if not self.is_noted:
            self.is_noted = True
            self.reading.note(at, f'"{shortened(line)}" has no prefix: read as context')
        file.hunks[-1].take(" " + line)
        return end

    def _is_over(self, file: FileDiff, line: str, at: int) -> bool:
        """Whether a signature (`-- `), or a line that Markdown draws (`---`), follows a complete hunk."""
        if line.rstrip() not in ("--", "---") or not file.hunks[-1].fits():
            return False
        return not self.extent.fenced or _SIGNED.match(self.data, at, self.extent.end) is not None

    def _begin(self, at: int) -> FileDiff:
        file = FileDiff(at)
        self.files.append(file)
        return file

    def _starts_file(self, end: int, file: FileDiff | None) -> bool:
        """Whether a line that starts with --- is a header: +++ comes next, and then a hunk or the end."""
        if file and file.expects_names:
            return True
        data, limit, indent = self.data, self.extent.end, self.extent.indent
        second = end + 1
        if not data.startswith(indent + b"+++ ", second, limit):
            return False
        third = line_end(data, second, limit) + 1
        hunk = data.startswith(indent + b"@@", third, limit)
        return hunk or not (file and file.hunks) or _REST.match(data, third, limit) is not None

    def _is_same(self, file: FileDiff, line: str, end: int) -> bool:
        """Whether the names that follow are those of the file whose header came before."""
        new = self.data[end + 1 : line_end(self.data, end + 1, self.extent.end)].decode()
        new = new.removeprefix(self.extent.indent.decode())
        return file.expects_names and (not new.startswith("+++ ") or file.is_called(line[4:], new[4:]))

    def _begin_named_file(self, line: str, at: int) -> bool:
        """Begin a file that is named by the fence around it, or above that; return whether it is."""
        if not line.strip():
            return True
        path = self.blocks.name_outside(self.at, self.floor)
        if path is None:
            return False
        file = self._begin(at)
        file.named_from_outside, file.old, file.new = True, path, path
        file.hunks.append(HunkDraft(_HUNK.fullmatch(line) if line.startswith("@@") else None, at))
        if not line.startswith("@@"):
            self._take_body(file, line, at, at)
        return True

    def _finish_files(self, end: int) -> None:
        """Add the operations of the files so far: in a mail all together, else each file for itself."""
        reading, mail = self.reading, self.mail
        starts = [*(file.at for file in self.files), end]
        starts[0] = self.at if mail is None else mail
        together: list[Operation | Invalid] = []
        for number, file in enumerate(self.files):
            span = (starts[number], starts[number + 1])
            operations = list(self._operations(file, span))
            if mail is not None:
                together += operations
            elif operations:
                reading.add(*operations, together=span[0] if len(operations) > 1 else None)
        if together:
            reading.add(*together, together=mail)
        self.files, self.mail, self.at = [], None, end

    def _operations(self, file: FileDiff, span: tuple[int, int]) -> Iterator[Operation | Invalid]:
        """Yield the operations of one file's part of a diff."""
        reading = self.reading
        names = names_in(file)
        if names is None:
            return
        wrong = file.complaint()
        path = names.new or names.old or ""
        kind = "write" if names.old is None else "remove" if names.new is None else "edit"
        if wrong:
            yield reading.invalid(kind, file.at, span, wrong, path=path)
            return
        if names.copied:
            command = f"cp {quote_word(names.copied)} {quote_word(path)}"
            yield reading.make("run", file.at, span, command=command)
        if kind == "write":
            content, if_exists = file.content(), file.if_exists()
            yield reading.make(kind, file.at, span, path=path, content=content, if_exists=if_exists)
            if file.executable:
                yield reading.make("run", file.at, span, command=f"chmod +x {quote_word(path)}")
        elif kind == "remove":
            yield reading.make(kind, file.at, span, path=path, content=file.old_content(), file_only=True)
        else:
            yield from self._edit(file, names.old or "", path, span)

    def _edit(
        self, file: FileDiff, old: str, path: str, span: tuple[int, int]
    ) -> Iterator[Operation | Invalid]:
        if old != path:
            yield self.reading.make("move", file.at, span, source=old, destination=path)
        hunks = file.values(self.blocks.seen.setdefault(path, set()), self.reading.lines)
        if not hunks and old == path and "copied_to" not in file.facts:
            self.reading.note(file.at, AGAIN)
        if hunks:
            yield self.reading.make(
                "edit", file.at, span, path=path, hunks=hunks, match="blanks", whole_lines=True,
                final_newline=file.final_newline(),
            )  # fmt: skip
