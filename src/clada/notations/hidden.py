"""Parts of a document that are not scanned for operations, in any notation.

    reasoning        <think>, <thinking>, [THINK], harmony's analysis channel …; see REASONING_TAGS and TOKENS
    hidden text      HTML comments, elements that are not rendered, titles of link definitions
    records          fences tagged as the output of a program, indented code
    quoted data      results of tools, documents and the user's turns in a transcript

A reader of the rendered answer does not see these parts as operations, so they are not. A part counts only
if it opens outside of an operation: inside one, it is content.

Many hosts put the opening tag of reasoning into the prompt, so that only the closing one is in the answer. A
closing tag without an opening one therefore makes everything before it reasoning, back to the start of its
message, or of the document if messages are not marked. It must start or end its line.

The scan goes through a text once. It looks at the start of each line and at the few characters that can open
a part elsewhere; tables have the names of elements.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from clada.grammar import START_DELIMITER
from clada.notations.hidden_forms import (
    ALL_OF_IT,
    ANSWER_NAME,
    ANSWERS,
    CALL,
    CLOSED_ALONE,
    COMMENT,
    DATA,
    HIDING,
    INDENTED,
    INSTRUCTION,
    MODELS_MESSAGE,
    MODELS_TURN,
    NOT_RENDERED,
    NOT_SHOWN,
    OTHERS_TURN,
    QUOTED,
    READ,
    REASONING,
    REASONING_NAME,
    RECORD,
    RECORDS,
    TITLE,
    TOKENS,
    TRANSCRIPT,
    TYPE_REASONING,
    UNKNOWN,
    USERS_TURN,
    VOID,
    Form,
)
from clada.notations.markdown import FENCE, is_indented_code, line_end
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from re import Match

    Span = tuple[int, int]
    _Opening = tuple["Form", int, bytes]  # the form, the end of what opens it, the name of the element

MARKER = START_DELIMITER.encode()  # start of a CSL marker
_BEFORE_FENCE = tuple(bytes([sign]) for sign in b"`~-*+0123456789")
_INDENT = rb"(?m)^(?:[ ]{4}|[ ]{0,3}\t)[ \t]*+"
_LESS_INDENTED = rb"(?m)^(?![ ]{4}|[ ]{0,3}\t|[ \t]*+$)"
_LINK_TITLE = rb"""[ ]{0,3}\[[^\]\n]{1,200}+\]:[ \t]*+[^\s]++\s++["'(]"""
LONGEST_NAME = 51  # bytes of the name of an element
# Where a part may open: at the start of a line that is not blank, with a tag, a token or a backtick. This
# passes over what opens nothing, because hostile texts have millions of it.
_PLACES = rb"(?m)^(?![ \t]*+\n)|<(?=[A-Za-z_][\w:.-]*+[\s>/]|[!?/|\xef])|`|\[(?=[TIStis/])|\xe2(?=\x97)"
_FLAGS = re.IGNORECASE | re.MULTILINE
# Tags that are not elements, by their first two bytes.
_TAGS = {
    b"<!": (COMMENT, rb"<!--(?!-?>)"),
    b"<?": (INSTRUCTION, rb"<\?"),
    b"</": (CLOSED_ALONE, rb"</(?:%b)[ \t]*+>" % REASONING_NAME),
}


class Part(Value):
    """A part of a document that is not scanned. Its end is None if it is never closed."""

    start: int
    inside: int  # where an operation in it may start
    end: int | None
    form: Form
    name: str

    def holds(self, places: list[int]) -> bool:
        """Whether one of these sorted offsets is in it."""
        first = bisect_left(places, self.inside)
        return first < len(places) and (self.end is None or places[first] < self.end)


class Scan:
    """Finds the parts of a document that are not scanned, from its start to its end."""

    def __init__(
        self,
        data: bytes | bytearray,
        marker: bytes = MARKER,
        *,
        original: bytes | None = None,
        is_transcript: bool = False,
        grows: bool = False,
    ) -> None:
        self.data, self._marker, self._is_transcript = data, marker, is_transcript
        self._grows = grows  # more text may follow, which closes an open part
        self._original = data if original is None else original  # before parts of it were blanked
        self._fence = b""  # the mark of the fence that is open where the scan is
        self._message = 0  # the start of the model's message that the scan is in
        self._unclosed: set[bytes] = set()  # patterns that do not occur any more

    def parts(self, start: int, stop: int) -> Iterator[Part]:
        """Yield the parts that open in a text without operations. The last one may reach beyond it."""
        last = self.data[start - 1 : start]
        # Other lines are not searched: an operation may end anywhere in a line of megabytes.
        if self._fence and (last.isspace() or last == self._fence[:1]):
            last_line = self.data[self.data.rfind(b"\n", 0, start - 1) + 1 : start].strip()
            if last_line.startswith(self._fence) and not last_line.strip(self._fence[:1]):
                self._fence = b""  # the last operation included the end of its fence
        at = start
        while at < stop and (found := next(self._find_parts(at, stop), None)) is not None:
            if isinstance(found, Part):
                yield found
                at = len(self.data) if found.end is None else found.end
            else:
                at = found
        code = self._indented_code(stop) if at <= stop and not self._is_marker(stop) else None
        if code:  # the operation that starts there is in it
            yield code

    def over(self, start: int, at: int) -> Part | None:
        """Return the part that opens in this text and is open at its end; the document may have grown."""
        self._unclosed.clear()
        return next((part for part in self.parts(start, at) if part.end is None or part.end > at), None)

    def _find_parts(self, at: int, stop: int) -> Iterator[Part | int]:
        """Yield each part from here on, or the offset behind something that is not a part."""
        for place in re.compile(_PLACES).finditer(self.data, at, stop):
            start = place.start()
            if self._is_marker(start):
                yield start + len(self._marker)  # CSL's delimiters may be those of a comment
            found = self._opening(start, start, stop) if place[0] else self._at_line_start(start, stop)
            if found:
                yield found

    def _at_line_start(self, start: int, stop: int) -> Part | int | None:
        """Return the part that opens with a line, after its indentation."""
        code = self._indented_code(start)
        if code:
            return code
        blanks = re.compile(rb"[ \t]*+").match(self.data, start, stop)
        at = blanks.end() if blanks else start
        if self.data[at : at + 1] in _BEFORE_FENCE:
            line = re.compile(FENCE + b"$", re.MULTILINE).match(self.data, start, stop)
            if line:
                return self._scan_fence(line, stop)
        found = self._opening(start, at, stop, starts_line=True)
        return found or (self._turn(start, stop) if self._is_transcript else None)

    def _indented_code(self, start: int) -> Part | None:
        """Return the indented code that starts here; if the whole document is indented, it is the answer."""
        blanks = re.compile(_INDENT).match(self.data, start)
        before = self.data[self.data.rfind(b"\n", 0, max(start - 1, 0)) + 1 : start] if blanks else b""
        if not blanks or self._fence or before.strip() or self._original[start : blanks.end()].strip():
            return None
        inside = blanks.end()
        if self.data[inside : inside + 1] in (b"\n", b""):
            return None
        end = re.compile(_LESS_INDENTED).search(self.data, inside)
        is_first = re.compile(rb"\s*+\Z").match(self.data, 0, start + 1) is not None
        if not (end if is_first else is_indented_code(bytes(self.data), start)):
            return None
        return Part(start, start, end.start() if end else len(self.data), INDENTED, INDENTED.name)

    def _scan_fence(self, line: Match[bytes], stop: int) -> Part | int:
        """Return the fence if it is a record. Skip any other, unless there are operations in it."""
        mark, info = line[1] or line[3], (line[2] or line[4] or b"").strip()
        start, inside = line.span()
        if self._fence:
            if mark.startswith(self._fence) and not info:
                self._fence = b""
            return inside
        close = self._find(rb"^[ \t]*+%b{%d,}+[ \t]*+$" % (mark[:1], len(mark)), inside)
        language = re.split(rb"[\s:{,]", info, maxsplit=1)[0].lower().decode(errors="replace")
        if language in RECORDS:
            end = close.end() if close else len(self.data)
            return Part(start, inside, end, RECORD, RECORD.name.format(language))
        if close and close.end() <= stop:
            return close.end()
        self._fence = mark if close else b""
        return inside

    def _turn(self, start: int, stop: int) -> Part | int | None:
        """Return the turn that a line such as `User:` opens in a transcript."""
        users = re.compile(USERS_TURN, _FLAGS).match(self.data, start, stop)
        if users:
            return self._close(OTHERS_TURN, start, users.end())
        models = re.compile(MODELS_TURN, _FLAGS).match(self.data, start, stop)
        if models:
            self._message = models.end()
        return models and models.end()

    def _opening(self, start: int, at: int, stop: int, *, starts_line: bool = False) -> Part | int | None:
        """Return the part that is opened by a tag, a token or a backtick at `at`."""
        sign = bytes(self.data[at : at + 2]).upper()
        if sign[:1] == b"`":
            ticks = re.compile(rb"(?<!`)`++").match(self.data, at, stop)
            return ticks and self._inline_code(ticks, stop)
        found = self._token(sign, at, stop, starts_line=starts_line)
        if not found and sign[:1] == b"<":
            found = self._tag(sign, at, stop, starts_line=starts_line)
        if not found and sign[:1] == b"[" and starts_line:
            title = re.compile(_LINK_TITLE).match(self.data, start, stop)
            found = title and (TITLE, title.end(), b"")
        if not found:
            return None
        form, inside, tag = found
        if form is CLOSED_ALONE:
            return Part(self._message, self._message, inside, form, form.name)
        if form is MODELS_MESSAGE:
            self._message = inside
            return inside
        return self._close(form, start, inside, tag, starts_line=starts_line)

    def _inline_code(self, ticks: Match[bytes], stop: int) -> int:
        """Return the end of inline code, or of its backticks if its paragraph does not close it."""
        close = self._find(rb"(?<!`)%b(?!`)|\n[ \t]*+\n" % ticks[0], ticks.end())
        return close.end() if close and close.end() <= stop and close[0].strip() else ticks.end()

    def _token(self, sign: bytes, at: int, stop: int, *, starts_line: bool) -> _Opening | None:
        """Return the token of a chat template that starts here: its form, its end and no name."""
        for pattern, form in TOKENS.get(sign, ()):
            token = re.compile(pattern, _FLAGS).match(self.data, at, stop)
            if token and (form is not CLOSED_ALONE or starts_line or self._ends_line(token.end(), stop)):
                return form, token.end(), b""
        return None

    def _ends_line(self, at: int, stop: int) -> bool:
        return not self.data[at : line_end(self.data, at, stop)].strip(b" \t")

    def _tag(self, sign: bytes, at: int, stop: int, *, starts_line: bool) -> _Opening | None:
        """Return the tag that starts here: its form, its end, and the name of the element."""
        if sign not in _TAGS:
            return self._element(at, stop, starts_line=starts_line)
        form, pattern = _TAGS[sign]
        tag = re.compile(pattern, _FLAGS).match(self.data, at, stop)
        alone = starts_line or (form is CLOSED_ALONE and tag and self._ends_line(tag.end(), stop))
        return (form, tag.end(), b"") if tag and (alone or form is COMMENT) else None

    def _element(self, at: int, stop: int, *, starts_line: bool) -> _Opening | None:
        """Return the element that opens here: its form, the end of its tag, and its name."""
        opened = re.compile(rb"<(?!--)([\w:.-]++)").match(self.data, at, stop)
        if not opened:
            return None
        name, after = opened[1], opened.end()
        lower, is_short = name.lower(), name[:1].isalpha() and len(name) <= LONGEST_NAME
        is_hidden = is_short and lower not in VOID and self._may_hide(after, stop)
        is_unknown = is_short and lower not in ANSWERS | VOID and self._is_transcript and starts_line
        # The first that matches counts: the form, the rest of its tag, and whether the name allows it.
        possible = (
            (REASONING, rb"(?:[ \t][^>\n]{0,200}+)?>", re.fullmatch(REASONING_NAME, lower)),
            (REASONING, TYPE_REASONING, lower == b"details"),
            (NOT_SHOWN, rb"(?=[\s>])[^<>]{0,500}+>", lower in NOT_RENDERED),
            (NOT_SHOWN, HIDING, is_hidden),
            (QUOTED, rb"(?=[\s>])[^<>\n]{0,500}+>", starts_line and re.fullmatch(DATA, lower)),
            (
                UNKNOWN,
                rb"(?:[ \t][^<>\n]{0,500}+)?>[ \t]*+$",
                is_unknown and not re.fullmatch(ANSWER_NAME, lower),
            ),
        )
        for form, rest, is_possible in possible:
            tag = re.compile(rest, _FLAGS).match(self.data, after, stop) if is_possible else None
            if tag:
                return form, tag.end(), name
        return None

    def _may_hide(self, at: int, stop: int) -> bool:
        """Whether the attributes of a tag may hide its element."""
        end = self.data.find(b"<", at, stop)
        attributes = self.data[at : stop if end < 0 else end].lower()
        return b"hidden" in attributes or b"style" in attributes

    def _close(
        self, form: Form, start: int, inside: int, tag: bytes = b"", *, starts_line: bool = True
    ) -> Part | int:
        """Return the part that opens here, up to its end."""
        closing = form.closing.replace(rb"\1", re.escape(tag))
        close = (
            self._find_balanced(re.escape(tag), closing, inside)
            if form.nests
            else self._find(closing, inside)
        )
        name = form.name.replace("\\1", tag.decode(errors="replace"))
        if close:
            return Part(start, inside, close.end(), form, name)
        unclosed = form.unclosed if starts_line else form.unclosed_in_line
        if unclosed == READ and not self._grows:
            return inside
        return Part(start, inside, len(self.data) if unclosed == ALL_OF_IT else None, form, name)

    def _find(self, pattern: bytes, at: int) -> Match[bytes] | None:
        """Return the next match; once there is none, the pattern is not searched again.

        A line that starts like a marker of CSL closes nothing: its end delimiter may be that of a comment.
        """
        if pattern in self._unclosed:
            return None
        for found in re.compile(pattern, _FLAGS).finditer(self.data, at):
            line = self.data.rfind(b"\n", 0, found.start()) + 1
            if line < at or not self._is_marker(line):
                return found
        self._unclosed.add(pattern)
        return None

    def _is_marker(self, at: int) -> bool:
        after = at + len(self._marker)
        return self.data.startswith(self._marker, at) and self.data[after : after + 1].isalpha()

    def _find_balanced(self, name: bytes, closing: bytes, at: int) -> Match[bytes] | None:
        """Return the closing tag of an element, in which others of the same name are closed first."""
        depth = 1
        for found in re.compile(rb"(<%b(?=[\s>]))|%b" % (name, closing), _FLAGS).finditer(self.data, at):
            depth += 1 if found[1] else -1
            if not depth:
                return found
        return None


def is_transcript(text: bytes, spans: Sequence[Span] = ()) -> bool:
    """Whether a document has the marks of a transcript outside of its operations, or starts one with such."""
    at = 0
    for start, end in [*sorted(spans), (len(text), len(text))]:
        if text[at:start].strip() and re.compile(TRANSCRIPT, _FLAGS).search(text, at, start):
            return True
        if end > start and re.compile(CALL, _FLAGS).match(text, start):
            return True
        at = max(at, end)
    return False


def hidden_parts(text: bytes) -> list[Part]:
    """Return the parts of a text without operations that are not scanned.

    Indented code is one of them if it is not the whole text.
    """
    return list(Scan(text, is_transcript=is_transcript(text)).parts(0, len(text)))


def blank_out(text: bytes, parts: Sequence[Part]) -> bytes:
    """Return a text with blanks in place of these parts, line by line."""
    pieces, at = [], 0
    for part in sorted(parts, key=lambda each: each.start):
        end = len(text) if part.end is None else part.end
        pieces += [text[at : part.start], re.sub(rb"[^\n]", b" ", text[max(at, part.start) : end])]
        at = max(at, end)
    return b"".join([*pieces, text[at:]])
