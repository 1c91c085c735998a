"""Parts of a document that are not scanned for operations, in any notation.

    reasoning        see `reasoning`
    hidden text      HTML comments, elements that are not rendered, titles of link definitions
    records          fences tagged as the output of a program, indented code
    quoted data      results of tools, documents and the user's turns in a transcript

What a reader of the rendered answer does not see as an operation is not one. A part counts only where it
opens outside of an operation: in the content of one, it is content. So the document is read first. The parts
that have operations in them are blanked, and it is read again, until none is left.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

from clada.errors import Problem
from clada.grammar import START_DELIMITER
from clada.notations.line_counter import LineCounter
from clada.notations.markdown import is_indented_code, line_end
from clada.notations.reasoning import CLOSED_ALONE, REASONING
from clada.notations.registry import NOTATIONS, UNKNOWN
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Match, Pattern
    from typing import Any

    from clada.model import Plan

    Read = Callable[[bytes], tuple[Plan, Any]]
    Span = tuple[int, int]

MARKER = START_DELIMITER.encode()  # how a line of CSL starts
MOST_NOTES = 20  # parts that are told of one by one
MOST_ROUNDS = 50  # readings of one document; each blanks at least one part
NEVER_CLOSED = "{} is never closed, and there are operations after it: close it, or leave it out"
TOO_MANY = "too many parts that are not scanned have operations in them: leave these parts out"

# Fences with one of these tags show what a program printed.
RECORDS = frozenset(
    """
    ansi console irb log logs output pycon pytb result results session shell-session shellsession stderr
    stdout terminal text-output traceback transcript
    """.split()
)
# Elements that a browser does not show, whatever is in them.
_NOT_RENDERED = (
    rb"audio|canvas|datalist|dialog|head|iframe|noembed|noframes|noscript|object|script|style|template|title"
    rb"|video"
)
_VOID = rb"area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"
_ATTRIBUTE = rb"""\s++[\w:@.-]{1,100}+(?:\s*+=\s*+(?:"[^"<]{0,500}+"|'[^'<]{0,500}+'|[^\s"'<>]{1,500}+))?+"""
_HIDING_STYLE = (
    rb"(?:display\s*+:\s*+none|visibility\s*+:\s*+hidden|(?:opacity|font-size)\s*+:\s*+0(?![.\d]))"
)
_HIDING = (
    rb"""\s++(?:hidden(?=[\s=>/])|style\s*+=\s*+["'][^"'<>]{0,500}?""" + _HIDING_STYLE + rb")[^<>]{0,500}+"
)
# Elements that hold what a tool, a file or a user said. An answer may be in <output> or <final_result>.
_DATA = (
    rb"(?:[\w-]{1,50}:)?(?:(?!(?:final|model|assistant|answer|ai|your|my)[_-])[\w-]{0,50}?[\w][_-]"
    rb"(?:result|response|output|observation)s?"
    rb"|toolresults?|observations?|stdout|stderr|documents?|document[_-]contents?|attachments?|attached[_-]files?"
    rb"|file[_-]contents?|web[_-]?page|search[_-]results?|summary|context|user|human|system"
    rb"|(?:user|system|environment|additional)[_-][\w-]{1,50})"
)
# Elements that an answer may be in, in a transcript: all others are quoted data.
_ANSWERS = (
    rb"answer|assistant|response|result|output|final[\w-]{0,50}|solution|changes?|edits?|patch|tasks|artifact"
    rb"|tool[_-]calls?|tool-use|(?:[\w-]{1,50}:)?(?:invoke|parameter)|(?:[\w-]{1,50}:)?function_calls|boltArtifact|CodeProject|antArtifact|dyad-[\w-]{1,50}"
    rb"|article|b|blockquote|body|center|code|codeblock|dd|details|div|dl|dt|em|figure|font|h[1-6]|html|i|kbd|li|main"
    rb"|ol|p|pre|section|small|source|sourcecode|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul"
)
_OTHERS = rb"(?!(?:assistant|model|gpt|ai)\b)[a-z_]{1,30}+"  # who is not the model, where roles are tagged
_USER = rb"(?:human|user|system|tool(?:[ _]results?)?)"
_MODEL = rb"(?:assistant|ai|model|claude|chatgpt|gemini)"
# A line that opens a turn: `User:`, `**User:** hello` or `## User`.
_TURN = (
    rb"^(?:\#{1,6}[ \t]++[*_]{0,3}+%b[*_]{0,3}+:?+[*_]{0,3}+[ \t]*+$|[*_]{0,3}+%b(?:[*_]{1,3}+:|:[*_]{0,3}+))"
)
_USERS_TURN, _MODELS_TURN = (_TURN % (who, who) for who in (_USER, _MODEL))
_TAGGED_TURN = rb"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|start\|>|<\|assistant\|>|\[/INST\]"
_CALLED = rb"<(?:[\w-]{1,50}:)?function_calls>|<tool_call>|<tool-use>"

# What becomes of a document with operations after a part that is never closed.
READ, REFUSED, ALL_OF_IT = "read", "refused", "all of it"  # as if it did not open; not at all; as part of it


class Form(Value):
    """One kind of part that is not scanned: its name for messages, how it opens, and how it closes."""

    name: str
    opening: bytes  # a pattern
    closing: bytes  # \1 in it is what the first group of the opening has matched
    unclosed: str = READ
    nests: bytes = b""  # what opens another one in it, which is closed first; \1 as above
    noted: bool = True  # a note tells that operations were passed over
    only_in_transcripts: bool = False


@cache
def _compiled(pattern: bytes) -> Pattern[bytes]:
    """Compile a pattern when a document first needs it: all of them take as long as a start."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _element(name: str, opening: bytes, unclosed: str = READ, **others: Any) -> Form:
    return Form(name, opening, rb"</\1[ \t\n]*+>", unclosed, nests=rb"<\1(?=[\s>])", **others)


DRAFT = "reasoning"
OTHERS_TURN = "a turn that is not the model's"
_FENCE = Form(
    "a fence tagged {}",
    rb"^[ \t]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?(?:(`{3,}+)([^`\n]*+)|(~{3,}+)([^\n]*+))$",
    b"",
)
_INLINE_CODE = Form("inline code", rb"(?<!`)(`++)", rb"(?<!`)\1(?!`)|\n[ \t]*+\n")
_INDENTED = Form("indented code", rb"^(?:[ ]{4}|[ ]{0,3}\t)[ \t]*+", b"")
_CLOSED_ALONE = Form("reasoning without an opening tag", CLOSED_ALONE, b"")
_TURN_OF_MODEL = Form("", _TAGGED_TURN, b"")
_LINE_OF_MODEL = Form("", _MODELS_TURN, b"", only_in_transcripts=True)
FORMS = (
    _INDENTED,
    _FENCE,
    *(Form(DRAFT, rb"^[ \t]*+" + opening, closing, REFUSED, noted=False) for opening, closing in REASONING),
    *(Form(DRAFT, *row, noted=False) for row in REASONING),
    _CLOSED_ALONE,
    Form("an HTML comment", rb"^[ \t]*+<!--(?!-?>)", rb"-->", REFUSED),
    Form("an HTML comment", rb"<!--(?!-?>)", rb"-->"),
    Form("a processing instruction", rb"^[ \t]*+<\?", rb"\?>"),
    Form(
        "the title of a link definition",
        rb"""^[ ]{0,3}\[[^\]\n]{1,200}+\]:[ \t]*+[^\s]++\s++["'(]""",
        rb"""["')][ \t]*+$""",
    ),
    _element("an element that is not shown", rb"<(" + _NOT_RENDERED + rb")(?=[\s>])[^<>]{0,500}+>", REFUSED),
    _element(
        "an element that is not shown",
        rb"<(?!(?:" + _VOID + rb")\b)([a-z][\w-]{0,50}+)(?:" + _ATTRIBUTE + rb")*?" + _HIDING + rb">",
        REFUSED,
    ),
    *(
        Form(OTHERS_TURN, opening, closing, ALL_OF_IT)
        for opening, closing in (
            (rb"<\|im_start\|>[ \t]*+" + _OTHERS, rb"<\|im_end\|>|(?=<\|im_start\|>)"),  # ChatML: Qwen
            (
                rb"<\|start_header_id\|>[ \t]*+" + _OTHERS,
                rb"<\|eot_id\|>|(?=<\|start_header_id\|>)",
            ),  # Llama 3
            (rb"<start_of_turn>[ \t]*+" + _OTHERS, rb"<end_of_turn>|(?=<start_of_turn>)"),  # Gemma
            (rb"<\|start\|>[ \t]*+" + _OTHERS, rb"<\|end\|>|(?=<\|start\|>)"),  # harmony: gpt-oss
            (rb"<\|(?:user|system|tool|observation)\|>", rb"<\|end\|>|(?=<\|assistant\|>)"),  # Phi, GLM
            (rb"\[(INST|TOOL_RESULTS|SYSTEM_PROMPT)\]", rb"\[/\1\]"),  # Mistral
        )
    ),
    Form(OTHERS_TURN, _USERS_TURN, rb"(?=" + _MODELS_TURN + rb")", ALL_OF_IT, only_in_transcripts=True),
    _element("quoted data (<\\1>)", rb"^[ \t]*+<(" + _DATA + rb")(?=[\s>])[^<>\n]{0,500}+>", REFUSED),
    Form(
        "quoted data (<\\1>)",
        rb"^[ \t]*+<(?!(?:"
        + _ANSWERS
        + rb"|"
        + _VOID
        + rb")[\s>])([a-z][\w:.-]{0,50}+)(?:[ \t][^<>\n]{0,500}+)?>[ \t]*+$",
        rb"</\1[ \t]*+>",
        REFUSED,
        only_in_transcripts=True,
    ),
    _TURN_OF_MODEL,
    _LINE_OF_MODEL,
    _INLINE_CODE,
)
_FLAGS = re.IGNORECASE | re.MULTILINE


@cache
def _any_of(*, is_transcript: bool, code: bool) -> Pattern[bytes]:
    """Return the pattern of what opens a part of any form; the name of its group has the form's number."""
    numbered = [
        rb"(?P<form%d>%b)" % (number, form.opening)
        for number, form in enumerate(FORMS)
        if (is_transcript or not form.only_in_transcripts) and (code or form is not _INDENTED)
    ]
    return _compiled(b"|".join(numbered))


_TRANSCRIPT = re.compile(
    b"|".join((_TAGGED_TURN, _CALLED, rb"^[ \t]*+<" + _DATA + rb"(?=[\s>])", _MODELS_TURN)), _FLAGS
)
# Where a part may open: at the start of a line, or with one of these bytes. The last is that of Kimi's tags.
_PLACES = re.compile(rb"^|[<`\[\xe2]", re.MULTILINE)
_LESS_INDENTED = re.compile(rb"^(?![ ]{4}|[ ]{0,3}\t|[ \t]*+$)", re.MULTILINE)
_BLANK = re.compile(rb"\s*+\Z")
_BLANKED = re.compile(rb"[^\n]")


class Part(Value):
    """A part of a document that is not scanned. Its end is None where it is never closed."""

    start: int
    inside: int  # where an operation in it may start
    end: int | None
    form: Form
    name: str

    def holds(self, places: list[int]) -> bool:
        """Whether one of these places, which are in order, is in it."""
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
        self._grows = grows  # whether what is never closed may still be
        self._original = data if original is None else original  # before parts of it were blanked
        self._fence = b""  # the mark of the fence that is open around the place that was reached
        self._message = 0  # where the model's message starts that this place is in
        self._unclosed: set[bytes] = set()  # patterns that do not occur any more

    def parts(self, start: int, stop: int) -> Iterator[Part]:
        """Yield the parts that open in a text without operations. The last one may reach beyond it."""
        last_line = self.data[self.data.rfind(b"\n", 0, max(start - 1, 0)) + 1 : start].strip()
        if self._fence and last_line.startswith(self._fence) and not last_line.strip(self._fence[:1]):
            self._fence = b""  # the last operation took the end of its fence with it
        at, openings = start, _any_of(is_transcript=self._is_transcript, code=True)
        while at < stop and (found := self._next(openings, at, stop)):
            part = self._part(found, stop)
            if isinstance(part, Part):
                yield part
                at = len(self.data) if part.end is None else max(part.end, found.end())
            else:
                at = max(part, found.end())
        indented = _compiled(_INDENTED.opening).match(self.data, stop) if at <= stop else None
        if indented and not self._is_marker(stop):  # the operation that stands there is in it
            code = self._indented(*indented.span())
            yield from [code] if code else []

    def _next(self, openings: Pattern[bytes], at: int, stop: int) -> Match[bytes] | None:
        """Return the next opening. To try all patterns at every byte would take a second for each MB."""
        for place in _PLACES.finditer(self.data, at, stop):
            if found := openings.match(self.data, place.start(), stop):
                return found
        return None

    def over(self, start: int, at: int) -> Part | None:
        """Return the part that opens in this text and is open at its end; the document may have grown."""
        self._unclosed.clear()
        return next((part for part in self.parts(start, at) if part.end is None or part.end > at), None)

    def _part(self, found: Match[bytes], stop: int) -> Part | int:
        """Return the part that opens here; where to go on, if none does."""
        start, inside = found.span()
        form = FORMS[int((found.lastgroup or "form0")[4:])]
        if self._is_marker(start):
            return inside  # of CSL, whose delimiters may be those of a comment
        if form is _INDENTED:
            other = _any_of(is_transcript=self._is_transcript, code=False).match(self.data, start, stop)
            return self._indented(start, inside) or (self._part(other, stop) if other else inside)
        if form is _FENCE:
            return self._fenced(start, inside, stop)
        if form is _CLOSED_ALONE:
            return Part(self._message, self._message, inside, form, form.name)
        if form is _TURN_OF_MODEL or form is _LINE_OF_MODEL:
            self._message = inside
            return inside
        return self._closed(form, start, stop)

    def _fenced(self, start: int, inside: int, stop: int) -> Part | int:
        """Return a fence that is a record. Others are passed over, unless there are operations in them."""
        line = _compiled(_FENCE.opening).match(self.data, start, inside)
        mark, info = (line[1] or line[3], line[2] or line[4] or b"") if line else (b"", b"")
        if self._fence:
            if mark.startswith(self._fence) and not info.strip():
                self._fence = b""
            return inside
        close = self._find(rb"^[ \t]*+%b{%d,}+[ \t]*+$" % (mark[:1], len(mark)), inside)
        language = re.split(rb"[\s:{,]", info.strip(), maxsplit=1)[0].lower().decode(errors="replace")
        if language in RECORDS:
            end = close.end() if close else len(self.data)
            return Part(start, inside, end, _FENCE, _FENCE.name.format(language))
        if close and close.end() <= stop:
            return close.end()
        self._fence = mark if close else b""
        return inside

    def _indented(self, start: int, inside: int) -> Part | None:
        """Return indented code; where all of the document is indented, it is the answer."""
        before = self.data[self.data.rfind(b"\n", 0, max(start - 1, 0)) + 1 : start]
        is_blank = self.data[inside : inside + 1] in (b"\n", b"")
        if self._fence or is_blank or before.strip() or self._original[start:inside].strip():
            return None
        end = _LESS_INDENTED.search(self.data, inside)
        is_first = _BLANK.match(self.data, 0, start + 1) is not None
        if not (end if is_first else is_indented_code(bytes(self.data), start)):
            return None
        return Part(start, start, end.start() if end else len(self.data), _INDENTED, _INDENTED.name)

    def _closed(self, form: Form, start: int, stop: int) -> Part | int:
        """Return the part that opens here, up to its end."""
        opening = _compiled(form.opening).match(self.data, start)
        if not opening:
            return start + 1
        inside = opening.end()
        tag = opening[1] if opening.re.groups else b""
        closing, nested = (text.replace(rb"\1", re.escape(tag)) for text in (form.closing, form.nests))
        close = self._balanced(nested, closing, inside) if nested else self._find(closing, inside)
        if form is _INLINE_CODE:
            is_code = close and close.end() <= stop and close[0].strip()
            return close.end() if close and is_code else inside
        name = form.name.replace("\\1", tag.decode(errors="replace"))
        if close:
            return Part(start, inside, close.end(), form, name)
        if form.unclosed == READ and not self._grows:
            return inside
        return Part(start, inside, len(self.data) if form.unclosed == ALL_OF_IT else None, form, name)

    def _find(self, pattern: bytes, at: int) -> Match[bytes] | None:
        """Return the next match; once there is none, it is not looked for again.

        A line that starts like a marker of CSL closes nothing: its end delimiter may end a comment, too.
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

    def _balanced(self, opening: bytes, closing: bytes, at: int) -> Match[bytes] | None:
        """Return what closes an element, in which others of the same name are closed first."""
        depth = 1
        for found in re.compile(rb"(%b)|%b" % (opening, closing), _FLAGS).finditer(self.data, at):
            depth += 1 if found[1] else -1
            if not depth:
                return found
        return None


def read_scanned(data: bytes, read: Read, marker: bytes) -> tuple[Plan, Any]:
    """Read a document without the parts that are not scanned; return what `read` does.

    The plan has the text with blanks in place of these parts.
    """
    text, noted, blanked_all, rounds = data, dict[int, str](), False, 0
    while True:
        plan, prose = read(text)
        rounds += 1
        if rounds > MOST_ROUNDS:
            return plan.replace(fatal=Problem(_error_type(plan), TOO_MANY)), prose
        found = _Found(text, plan)
        parts = _parts_of(data, found, marker)
        chosen = found.to_blank(parts)
        if chosen and found.fatal and not chosen[-1].holds(found.places):
            before = chosen[-1].end if chosen[-1].form is _CLOSED_ALONE else chosen[-1].start
            if read(text[:before])[0].fatal:  # it opens in the operation that cannot be read
                chosen.pop()
        unclosed = next((part for part in chosen if part.end is None), None)
        if unclosed:
            return _never_closed(plan, unclosed), prose
        noted |= {part.start: part.name for part in chosen if part.form.noted and found.is_in(part)}
        if not chosen and not blanked_all and not plan.has_operations and not plan.fatal:
            chosen = [part for part in parts if part.end is not None and part.form is not _INDENTED]
            blanked_all = True
        if not chosen:
            return plan.replace(notes=(*plan.notes, *_notes(data, noted))) if noted else plan, prose
        text = _blanked(text, chosen)


def _notes(data: bytes, noted: dict[int, str]) -> list[str]:
    """Return notes on parts with operations, by where they start."""
    lines = LineCounter(data)
    first = sorted(noted.items())[:MOST_NOTES]
    notes = [f"Line {lines.line(at)}: operations in {name} were passed over" for at, name in first]
    more = len(noted) - len(first)
    return [*notes, f"operations were passed over in {more} more places"] if more else notes


def blank_parts(text: bytes, *, with_code: bool = True) -> bytes:
    """Return a text without operations with blanks in place of its parts that are not scanned.

    Indented code is one of them where it is not all that there is.
    """
    scan = Scan(text, is_transcript=bool(_TRANSCRIPT.search(text)))
    parts = [part for part in scan.parts(0, len(text)) if with_code or part.form is not _INDENTED]
    return _blanked(text, parts) if parts else text


def _parts_of(original: bytes, found: _Found, marker: bytes) -> list[Part]:
    """Return the parts that open outside of the operations of a plan; not behind what is fatal in it."""
    text, spans, fatal = found.text, found.spans, found.fatal
    limit = max(fatal[1], max((end for _, end in spans), default=0)) if fatal else len(text)
    scan = Scan(text, marker, original=original, is_transcript=_is_transcript(text, spans))
    parts: list[Part] = []
    at = 0
    for start, end in [*spans, (limit, limit)]:
        if start < at:
            continue
        for part in scan.parts(at, start):
            parts.append(part)
            at = len(text) if part.end is None else max(at, part.end)
        at = max(at, end) if at <= start else at
    if fatal:  # in its line, only a part that starts it
        parts = [part for part in parts if part.start < fatal[0] or not text[fatal[0] : part.start].strip()]
    return parts


def _is_transcript(text: bytes, spans: list[Span]) -> bool:
    """Whether a document shows the marks of a transcript, in its operations' places or beside them."""
    at, ends = 0, [(len(text), len(text))]
    for start, end in [*sorted(spans), *ends]:
        if _TRANSCRIPT.search(text, at, start) or (end > start and _TRANSCRIPT.match(text, start)):
            return True
        at = max(at, end)
    return False


class _Found:
    """What was found in a text: where operations, blocks without any, and what is fatal are."""

    def __init__(self, text: bytes, plan: Plan) -> None:
        lines = LineCounter(text)
        empty = [lines.start(block.line) for block in plan.blocks if not block.operations]
        self.text = text
        # Of a notation that stands alone, only its operations are known: others may follow a hidden one.
        self._alone = not NOTATIONS.get(plan.notation or "", UNKNOWN).mixes
        self.spans = sorted(item.span for block in plan.blocks for item in block.operations)
        self.places = sorted([start for start, _ in self.spans] + empty)
        self.fatal: Span | None = None  # the line that the document cannot be read from
        if plan.fatal and plan.fatal.line:
            start = LineCounter(text).start(plan.fatal.line)
            self.fatal = start, line_end(text, start, len(text))

    def is_in(self, part: Part) -> bool:
        """Whether something of it is in a part. A fence that cannot be read is not in itself."""
        if part.holds(self.places) or not self.fatal:
            return part.holds(self.places)
        first, last = self.fatal
        after = part.end is not None and first >= part.end
        return part.start <= last and not after and not (part.form is _FENCE and part.inside > first)

    def to_blank(self, parts: list[Part]) -> list[Part]:
        """Return the parts to be blanked: reasoning, and those with operations in them.

        Behind one that may have changed how the rest was read, the next reading tells more.
        """
        chosen: list[Part] = []
        for part in parts:
            is_in = self.is_in(part)
            if not is_in and (part.form.name != DRAFT or part.end is None):
                continue
            chosen.append(part)
            end = len(self.text) if part.end is None else part.end
            if self._reaches_beyond(end) or (self.fatal and end > self.fatal[0]) or (is_in and self._alone):
                break
        return chosen

    def _reaches_beyond(self, end: int) -> bool:
        """Whether the last operation that starts before a place goes on behind it."""
        last = bisect_left(self.spans, (end, 0))
        return last > 0 and self.spans[last - 1][1] > end


def _blanked(text: bytes, parts: list[Part]) -> bytes:
    """Return a text with blanks in place of these parts, line by line."""
    pieces, at = [], 0
    for part in sorted(parts, key=lambda each: each.start):
        end = len(text) if part.end is None else part.end
        pieces += [text[at : part.start], _BLANKED.sub(b" ", text[max(at, part.start) : end])]
        at = max(at, end)
    return b"".join([*pieces, text[at:]])


def _never_closed(plan: Plan, part: Part) -> Plan:
    line = plan.source.count(b"\n", 0, part.inside) + 1
    tag = plan.source[part.start : part.inside].strip().decode()
    blocks = tuple(block for block in plan.blocks if block.line < line)
    message = f"Line {line}: {NEVER_CLOSED.format(tag)}"
    return plan.replace(blocks=blocks, fatal=Problem(_error_type(plan), message, line))


def _error_type(plan: Plan) -> str:
    return NOTATIONS.get(plan.notation or "", UNKNOWN).error_type
