"""sr: search/replace blocks, as aider, Cline, Roo, gptme and others have models write them.

    block   = PATH fence HEAD [extras] lines DIVIDER lines END fence    fences may be missing, or hold PATH
    HEAD    = <<<<<<< SEARCH | <<<<<<< ORIGINAL | ------- SEARCH | >>>>>>> SEARCH
    extras  = :start_line:N  [:end_line:N]  [-------]                    (Roo)
    DIVIDER = =======
    END     = >>>>>>> REPLACE | >>>>>>> UPDATED | +++++++ REPLACE; <<<<<<< REPLACE after >>>>>>> SEARCH
    tagged  = <edit> <file>PATH</file> <old_code>lines</old_code> <new_code>lines</new_code> </edit>
    helper  = <<<FILE>>> PATH ( <<<SEARCH>>> lines <<<REPLACE>>> lines | <<<OVERWRITE>>> lines ) <<<END>>>

Markers have 5 to 9 signs (those with - = + of Cline three or more), stand alone on a line, and may be
indented alike. PATH is in the three lines above, in the info of the fence, or that of the block before, if
there is no text between the two blocks. Of several dividers, the file decides which one is meant.
"""

from __future__ import annotations

import re

from clada.notations.markdown import LinePattern, fence_line, line_end, lines_above
from clada.notations.path_text import path_in, path_in_info, path_in_title
from clada.notations.reading import Reading, UnreadableError
from clada.operations.edit import BLANKS, SEVERAL_DIVIDERS, Edit, Hunk
from clada.text.elision import elision_complaint
from clada.text.line_endings import end_with_line_break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from re import Match
    from typing import Any

    from clada.model import Invalid, Operation
    from clada.notations.reading import Span

NAME = "sr"
MISSING_NAME = "No file name above this block"
SHORTEST, LONGEST = 5, 9  # dividers
NO_END = (
    "this SEARCH block has no end before line {}: close it, or use longer markers around what it contains"
)
NO_DIVIDER = 'no line of "=======" between SEARCH and REPLACE'
MISPLACED = '"{}" belongs above the SEARCH text, not into REPLACE: send the block again without it'
UNCLOSED = "Unterminated SEARCH block"
UNCLOSED_FORM = "this edit cannot be read to its {}"

_HEAD = re.compile(rb"([ \t]*+)(<{5,9}+|>{5,9}+|-{3,}+)[ \t]++(?:SEARCH|ORIGINAL)")
_WORD = rb"(?:<{5,9}+|>{5,9}+|-{3,}+|\+{3,}+)[ \t]++(?:SEARCH|ORIGINAL|REPLACE|UPDATED)>?"
# A line that starts something, or is the end of something that never started.
_START = LinePattern(
    rb"[ \t]*+(?:" + _WORD + rb"[ \t]*+(?=\n|\Z)|<{5,9}+[ \t]*+(?:S(?:E(?:A(?:R(?:C)?)?)?)?)?\Z"
    rb"|<<<FILE>>>|<edit>\s*+<file>)"
)
_MARKER = re.compile(
    rb"\n([ \t]*+)(?:(={3,}+)|(<{5,9}+|>{5,9}+|-{3,}+|\+{3,}+)[ \t]++(SEARCH|ORIGINAL|REPLACE|UPDATED)>?)"
    rb"[ \t]*+(?=\n|\Z)"
)
_EXTRAS = re.compile(
    rb"[ \t]*+:start_line:[ \t]*+([0-9]{1,9})[ \t]*+\n(?:[ \t]*+:end_line:[ \t]*+[0-9]{1,9}[ \t]*+\n)?"
    rb"(?:[ \t]*+-{5,9}[ \t]*+\n)?"
)
# The same in a replacement: the ruler only as its first line, because elsewhere it underlines a heading.
_MISPLACED = re.compile(
    r"^[ \t]*+:(?:start|end)_line:[ \t]*+[0-9]*+[ \t]*+$|\A[ \t]*+-{5,9}[ \t]*+$", re.MULTILINE
)
_OF_MANY = re.compile(r"={3}[ \t]*PATH:[ \t]*(.+?)[ \t]*={3}")
# The two other forms: how each opens, with its path, and the texts that come one after the other.
_TAGGED = re.compile(rb"<edit>\s*+<file>([^<]*+)</file>\s*+<(old_code|original_code)>\n?")
_TAGGED_NEW, _TAGGED_END = re.compile(rb"\s*+<new_code>\n?"), re.compile(rb"</new_code>\s*+</edit>")
_HELPER = re.compile(rb"<<<FILE>>>\s*+(?!<<<)([^\n]++)\n\s*+<<<(SEARCH|OVERWRITE)>>>[ \t]*+(?=\n)")


class Blocks:
    """Finds and reads the blocks of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data
        self._path: str | None = None  # of the block before
        self._end = 0  # where the block before ends
        self._many: list[str] = []  # paths for the next blocks of one fence
        self._fenced = False  # the block is in a fence

    def next(self, at: int) -> int | None:
        """Return where the next block starts, at or after a place."""
        return _START.start(self.data, at, self.reading.end)

    def read(self, at: int, floor: int) -> int:
        """Read the block that starts here, after what ended at `floor`; return where it ends."""
        data, end = self.data, self.reading.end
        if data.startswith(b"<edit>", at):
            return self._read_tagged(at, _TAGGED.match(data, at, end))
        if data.startswith(b"<<<FILE>>>", at):
            return self._read_helper(at, _HELPER.match(data, at, end))
        return self._read_markers(at, floor)

    def _read_markers(self, at: int, floor: int) -> int:
        head = _HEAD.match(self.data, at)
        if not head:
            raise self._no_head(at)
        head_end = line_end(self.data, at, self.reading.end)
        dividers, found = self._markers(head, head_end)
        path, span = self._path_above(at, floor), (at, found.end())
        if dividers:
            near, start = self._extras(head_end + 1, dividers[0].start())
            texts = [
                (self.data[start : divider.start() + 1], self.data[divider.end() + 1 : found.start() + 1])
                for divider in dividers
            ]
            readings = [self._split(span, path, old.decode(), new.decode(), near) for old, new in texts]
            self.reading.add(readings[0] if len(readings) == 1 else self._one_of(readings, span, path))
        else:
            self.reading.add(self._invalid(span, NO_DIVIDER, path))
        self._end = self._after_fence(span[1])
        return self._end

    def _split(
        self, span: Span, path: str | None, old: str, new: str, near: int | None
    ) -> Operation | Invalid:
        """Return the operation of a block that is split at one of its dividers."""
        misplaced = _misplaced_line(old, new)
        if misplaced:
            return self._invalid(span, MISPLACED.format(misplaced), path)
        return self._operation(span, path, old, new, near)

    def _one_of(
        self, readings: Sequence[Operation | Invalid], span: Span, path: str | None
    ) -> Operation | Invalid:
        """Return an edit with several dividers: only the file can tell which one is meant."""
        edits = [each for each in readings if isinstance(each, Edit)]
        if len(edits) < len(readings) or path is None:
            return self._invalid(span, f"{len(readings)} {SEVERAL_DIVIDERS}", path)
        first, *others = (edit.hunks[0] for edit in edits)
        return edits[0].replace(hunks=(first.replace(instead=tuple(others)),))

    def _no_head(self, at: int) -> UnreadableError:
        """Return the error of a marker that opens no block."""
        words = self.data[at : line_end(self.data, at, self.reading.end)].decode().split()
        if words[-1] in ("REPLACE", "REPLACE>", "UPDATED", "UPDATED>"):
            return UnreadableError(at, f"{words[-1].rstrip('>')} without a SEARCH before it")
        return UnreadableError(at, UNCLOSED, cut=True)

    def _extras(self, start: int, end: int) -> tuple[int | None, int]:
        """Return the line that Roo's extras name, and where the text starts behind them."""
        extras = _EXTRAS.match(self.data, start, end) if self.data.startswith(b":", start) else None
        return (int(extras.group(1)) or None, extras.end()) if extras else (None, start)

    def _after_fence(self, end: int) -> int:
        """Return where the fence ends that is closed right after a block; else where the block does."""
        if self._fenced and self.data[end + 1 : end + 4] in (b"```", b"~~~"):
            close = line_end(self.data, end + 1, self.reading.end)
            fence = fence_line(self.data[end + 1 : close])
            if fence and not fence.info:
                self._fenced = False
                return close
        return end

    def _markers(self, head: Match[bytes], head_end: int) -> tuple[list[Match[bytes]], Match[bytes]]:
        """Return the dividers of a block, and its end.

        If some dividers are as long as the head, only these count. An END of another length than the head's
        ends a block in the content, if one starts there.
        """
        indent, signs = head.groups()
        length, inner, dashed = len(signs), 0, signs[:1] == b"-"
        dividers: dict[bool, list[Match[bytes]]] = {True: [], False: []}  # by: as long as the head
        for marker in _MARKER.finditer(self.data, head_end, self.reading.end):
            blanks, divider, sign, word = marker.groups()
            if blanks != indent:
                continue
            if divider:
                if dashed or SHORTEST <= len(divider) <= LONGEST:
                    dividers[len(divider) == length].append(marker)
            elif word in (b"SEARCH", b"ORIGINAL"):
                if len(sign) == length:
                    line = self.reading.lines.line(marker.start() + 1)
                    raise UnreadableError(head.start(), NO_END.format(line))
                inner += sign[:1] != b"+"
            elif sign[:1] == b"-" or (sign[:1] == b"<" and signs[:1] != b">"):
                continue
            elif inner and len(sign) != length:
                inner -= 1
            else:
                return dividers[True] or dividers[False], marker
        raise UnreadableError(head.start(), UNCLOSED, cut=True)

    def _path_above(self, at: int, floor: int) -> str | None:
        """Return the path of the block whose head starts here."""
        path = info = None
        for line in lines_above(self.data, floor, at, 3):
            fence = fence_line(line)
            if fence:
                info, self._fenced = info or fence.info, True
            elif not line.isspace() and line:
                text = line.decode()
                named = _OF_MANY.fullmatch(text.strip())
                path = named.group(1) if named else path_in(text) or path_in_title(text)
                break
        if info and info.startswith("patch_many"):
            self._many = info.split()[1:]
        if path is None and self._many:
            path = self._many.pop(0)
        if path is None and info:
            path = path_in_info(info)
        if path is None:
            path = _path_in_a_fence(lines_above(self.data, floor, at, 5))
        if path is None and not self._has_text_since_last_block(at):
            path = self._path
        self._path = path
        return path

    def _has_text_since_last_block(self, at: int) -> bool:
        """Whether there is text between the block before and this one, other than fence lines."""
        lines = self.data[self._end : at].split(b"\n")
        return any(line.strip() and not fence_line(line) for line in lines)

    def _operation(
        self, span: Span, path: str | None, old: str, new: str, near: int | None = None
    ) -> Operation | Invalid:
        """Return the operation of a block: an edit, or a write if there is no search text."""
        reading, at = self.reading, span[0]
        if path is None:
            return reading.invalid("edit", at, span, MISSING_NAME, "path")
        elided = elision_complaint(new, old) if old else None  # a file that is written is examined later
        if elided:
            return reading.invalid("edit", at, span, elided, path=path)
        if not old:
            how: dict[str, Any] = {"append": True} if reading.chosen else {"if_exists": "empty"}
            return reading.make("write", at, span, path=path, content=new, **how)
        hunks = (Hunk(old, new, near=near),)
        return reading.make("edit", at, span, path=path, hunks=hunks, match=BLANKS, whole_lines=True)

    def _invalid(self, span: Span, message: str, path: str | None) -> Invalid:
        fields = {} if path is None else {"path": path}
        return self.reading.invalid("edit", span[0], span, message, None, **fields)

    def _read_tagged(self, at: int, opened: Match[bytes] | None) -> int:
        """Read an edit in tags; each text ends with the first closing tag."""
        data, limit = self.data, self.reading.end
        closing = b"</%b>" % opened.group(2) if opened else b""
        old_end = data.find(closing, opened.end(), limit) if opened else -1
        new = _TAGGED_NEW.match(data, old_end + len(closing), limit) if old_end >= 0 else None
        new_end = data.find(b"</new_code>", new.end(), limit) if new else -1
        end = _TAGGED_END.match(data, new_end, limit) if new_end >= 0 else None
        if not opened or not new or not end:
            raise UnreadableError(at, UNCLOSED_FORM.format("</edit>"), cut=True)
        texts = (data[opened.end() : old_end], data[new.end() : new_end])
        return self._add_form(
            (at, end.end()), opened, *(end_with_line_break(text.decode()) for text in texts)
        )

    def _read_helper(self, at: int, opened: Match[bytes] | None) -> int:
        """Read an edit, or a whole file, between words in angles, each at the start of a line."""
        data, limit = self.data, self.reading.end
        start, old, closing = opened.end() if opened else limit, None, b"\n<<<END>>>"
        if opened and opened.group(2) == b"SEARCH":
            old_end = data.find(b"\n<<<REPLACE>>>", start, limit)
            old = data[start + 1 : old_end + 1].decode()
            start = line_end(data, old_end + 1, limit) if old_end >= 0 else limit
        new_end = data.find(closing, start, limit)
        if not opened or new_end < 0:
            raise UnreadableError(at, UNCLOSED_FORM.format("<<<END>>>"), cut=True)
        new = data[start + 1 : new_end + 1].decode()
        return self._add_form((at, new_end + len(closing)), opened, old, "" if new == " \n" else new)

    def _add_form(self, span: Span, opened: Match[bytes], old: str | None, new: str) -> int:
        """Add the operation of such a form; return where it ends."""
        path = opened.group(1).decode().strip() or None
        if old is None and path:
            self.reading.add(self.reading.make("write", span[0], span, path=path, content=new))
        else:
            self.reading.add(self._operation(span, path, old or "", new))
        self._path, self._end = path, span[1]
        return span[1]


def _path_in_a_fence(above: Iterable[bytes]) -> str | None:
    """Return the path that is alone in a fence above that of the block; the nearest one counts."""
    lines = [line for line in above if line.strip()]
    if len(lines) != 4 or not all(fence_line(lines[number]) for number in (0, 1, 3)):  # noqa: PLR2004 (they are)
        return None
    return path_in(lines[2].decode())


def _misplaced_line(old: str, new: str) -> str | None:
    """Return the first line of Roo's extras in a replacement, unless the search text has the same line."""
    own = {line.strip() for line in old.split("\n")}
    lines = (found.group().strip() for found in _MISPLACED.finditer(new))
    return next((line for line in lines if line not in own), None)
