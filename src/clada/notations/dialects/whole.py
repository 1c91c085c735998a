"""whole: named files in fences, the commonest answer of all; and in a few tags.

    block  = fence lines fence, where one of these is a path, the strongest first:
             the info      ```python src/a.py | ```python:src/a.py | ```src/a.py | ```js title="src/a.js"
                           ```save src/a.py | ```append src/a.py                            (gptme)
             the first line, if it is a comment: # src/a.py | // filepath: src/a.js         (Copilot)
             the line above, with one blank line between at most: **src/a.py** | ### Updated `src/a.py`:
             the one path in backticks of a sentence that ends in a colon: a person is asked
    tagged = <file path="PATH"> | <file name="PATH"> | <codeblock path="PATH"> | <antArtifact … title="PATH">
             lines, and the closing tag

Two different names for one block are refused, unless one is the end of the other. So are lines that stand for
code which is not there, and blocks whose end is not clear. What is cited (12:34:PATH, PATH:12, PATH#L3), an
excerpt, or in a language that the file cannot be in, is not a file. An existing file is guarded against being
replaced by a part of it.
"""

from __future__ import annotations

import re

from clada.errors import Problem, shortened
from clada.model import NO_ATTRIBUTES, Block, Invalid, Operation, dialect_of
from clada.notations import csl
from clada.notations.dialects.heredoc import shell_fence
from clada.notations.dialects.whole_names import (
    OUTPUTS,
    SHELLS,
    FenceName,
    contradicts,
    from_outside,
    in_sentence,
    names_of_one,
    tagged_file,
    with_first_line,
    without_equal_names,
)
from clada.notations.markdown import (
    FENCE,
    LONGEST_LINE,
    MARKDOWN,
    OPENING_TAG,
    Fence,
    LinePattern,
    fence_at,
    fence_line,
    is_heading_underline,
    is_indented_code,
    line_end,
    lines_above,
)
from clada.notations.path_text import PATH_SIGN, has_extension, path_in
from clada.notations.reading import UnreadableError
from clada.operations.write import SENTENCE, Write
from clada.text.fragments import ends_inside
from clada.text.line_endings import end_with_line_break
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.notations.reading import Reading

NAME = "whole"
UNCLOSED = "Unterminated file: this block is not closed"
UNCLEAR = "the end of this block is not clear: use more backticks than it contains"
SHOWN = "{} was shown, not written; --format=whole writes it"
CITED = "{} was shown, not written"
TWO_NAMES = "this block is called {} and {}"
TWICE = "{} differs at lines {} and {}"
NO_MARKER = (
    '"{}" is no marker of an edit, and would be written: write <<<<<<< SEARCH, ======= and >>>>>>> REPLACE'
)
NO_DIFF = '"{}" begins a hunk, and would be written: tag the block as diff'
_START = LinePattern(
    FENCE
    + rb"(?=\n|\Z)|"
    + OPENING_TAG
    + rb"[ \t]*+[\w+#.-]*+[ \t]*+(?=\n)|<(?:file|codeblock|antArtifact)[ \t]"
)
_GLUED = re.compile(rb"```[^`\n]*+(?=\n)")
_OTHER = re.compile(
    rb"\s*+(?:[^\n]*+\n\s*+)??(?:[<>]{5,9}+|-{3,}+) (?:SEARCH|ORIGINAL)|\s*+(?:[^\n]*+\n)?\*\*\* Begin Patch"
    rb"|\s*+(?:diff --git |Index: |--- [^\n]++\n\+\+\+ |<<<FILE>>>)"
    rb"|\s*+(?:[^\n]*+\n\s*+)??<{5,9}+[ \t]*+[A-Z]{0,8}+\Z"  # cut off
)
_MARKER = re.compile(
    rb"\n[ \t]*+(?:<{3,}+|>{3,}+|-{3,}+|\+{3,}+) (?:SEARCH|ORIGINAL|REPLACE|UPDATED)>?[ \t]*+\n"
)
_SR_START = re.compile(rb"\n[ \t]*+(?:[<>]{5,9}+|-{3,}+) (?:SEARCH|ORIGINAL)>?[ \t]*+(?=\n)")
_SR_END = re.compile(
    rb"\n[ \t]*+(?:[<>]{5,9}+|\+{3,}+) (?:REPLACE|UPDATED)>?[ \t]*+(?=\n|\Z)(?:\n`{3,}+(?=\n|\Z))?"
)
# A conflict, or a search/replace block that was written wrongly: lines of which all three must be there.
_CONFLICT = tuple(
    re.compile(rf"^[ \t]*+{sign}{{5,9}}+{rest}", re.MULTILINE)
    for sign, rest in (("<", r"(?![<>=])[^\n]*+"), ("=", r"[ \t]*+$"), (">", r"(?![<>=])"))
)
_HUNK = re.compile(r"@@ [^\n]*+")
_EDITS_SHOWN = (*MARKDOWN, ".diff", ".patch")  # ends of files that may have such lines
DIFFS = frozenset("diff patch udiff".split())
_BESIDE = SHELLS | OUTPUTS | DIFFS  # languages of fences that are not files
MANY = 20  # blocks: answers have fewer, and manuals name most of their examples at times
_WORDS, IN_ALL_WORDS = (b" SEARCH", b" ORIGINAL", b" REPLACE", b" UPDATED"), b"A"  # of markers
_NESTING = ("md", "markdown")


class Blocks:
    """Finds and reads the named blocks of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data
        self._csl = re.compile(rb"\s*+" + csl.marker(reading.delimiters))
        self._found: _Found | None = None  # the next block
        self._noted: set[int] = set()
        self._written: dict[str, int] = {}  # by path, the number of its last block
        self._twice: dict[str, list[int]] = {}  # of those that have several, all of them
        self._usage: tuple[int, int, int] | None = None  # blocks with a name, with one in a sentence, in all

    def next(self, at: int, before: int | None = None) -> int | None:
        """Return where the next named block starts, at or after a place."""
        self._found = None
        last = self.reading.end if before is None else before
        while (start := self._opening(at, last)) is not None:
            tagged = tagged_file(self.data, start, self.reading.end)
            if tagged:
                found: _Found | None = _Found(tagged[0], FenceName((tagged[1],)), tagged=True)
            else:
                found = self._find_fence(start, at)
            if found and found.called.names:
                self._found = found
                return found.fence.start
            at = found.fence.end if found else line_end(self.data, start, self.reading.end)
        return None

    def _note_written(self, path: str) -> None:
        """Note that the next block is another one of this path; `./a.py` is `a.py`."""
        number = len(self.reading.blocks)
        path = "/".join(part for part in path.replace("\\", "/").split("/") if part not in ("", "."))
        if path in self._written:
            self._twice.setdefault(path, [self._written[path]]).append(number)
        self._written[path] = number

    def _has_marker(self, start: int, end: int) -> bool:
        """Whether there may be a marker of a search/replace block between two places."""
        find = self.data.find
        return find(IN_ALL_WORDS, start, end) >= 0 and any(find(word, start, end) >= 0 for word in _WORDS)

    def _opening(self, at: int, last: int) -> int | None:
        """Return where the next fence opens, or the next tag, before the last place."""
        data, end = self.data, self.reading.end
        glued = data[at - 3 : at] == b"```" and _GLUED.match(data, at, end)
        start = at if glued else _START.start(data, at, last)
        while start is not None and self._has_marker(at, start):
            block = _SR_START.search(data, max(at - 1, 0), start)
            if not block:
                break
            closed = _SR_END.search(data, block.end(), end)
            if not closed:
                return None  # for others to refuse
            at = closed.end()  # content of a search/replace block does not count
            if start < at:
                start = _START.start(data, at, last)
        return start

    def _find_fence(self, start: int, floor: int) -> _Found | None:
        """Return the fence that opens here, with its name; None if there is none."""
        data, limit = self.data, self.reading.end
        fence = fence_at(data, start, limit)
        if not fence or is_indented_code(data, start) or is_heading_underline(data, start):
            return None
        if fence.language in SHELLS and data.find(b"<<", fence.inside, fence.inside_end) >= 0:
            fence = shell_fence(data, start, limit) or fence  # the files that it writes may have fences
        above = self._above(start, floor)
        called = from_outside(fence.info, above)
        nests = fence.language in _NESTING or any(name.lower().endswith(MARKDOWN) for name in called.names)
        if nests:
            fence = fence_at(data, start, limit, nests=True) or fence
        if fence.language in DIFFS or self._is_other(fence, called if nests else None):
            return _Found(fence, FenceName())
        called = self._name_of(fence, called, above)
        if called.cited:
            self._note_cited(start, called, fence.language)
        if not called.names and not nests and (fence.unclear or not fence.closed):
            return self._hidden(fence) or _Found(fence, called)
        return _Found(fence, called, nests)

    def _name_of(self, fence: Fence, called: FenceName, above: str) -> FenceName:
        """Return the name of a fence, also by its content and the sentence above it."""
        if not self.reading.chosen and self.data[fence.inside : fence.inside_end].isspace():
            return FenceName()  # nothing is shown
        if not called.cited:
            called = self._first_line(called, fence)
        if called.names and contradicts(fence.language, called.names[0]):
            return FenceName(cited=called.names[0])
        if called.names or called.cited:
            return called
        path = in_sentence(above)
        if path is None or contradicts(fence.language, path):
            return called
        if self.reading.chosen:
            return FenceName((path,))
        if not _shows_code(fence) or not has_extension(path) or not self._name_most(sentences=True):
            return FenceName(cited=path, if_chosen=True)
        return FenceName((path,), named_in=SENTENCE)

    def _is_other(self, fence: Fence, markdown: FenceName | None) -> bool:
        """Whether it holds blocks of another dialect or of CSL, or the rest of one.

        A file of Markdown may quote them: in that, only one counts that is about this very file.
        """
        other = _OTHER.match(self.data, fence.inside, fence.inside_end)
        if not markdown and self._csl.match(self.data, fence.inside, fence.inside_end):
            return True
        if markdown and markdown.names:
            return other is not None and self._is_about(fence, other.group().strip(), markdown.names)
        if other:
            return True
        if markdown or not self._has_marker(fence.inside, fence.inside_end):
            return False
        return _MARKER.search(self.data, fence.inside - 1, fence.inside_end) is not None

    def _is_about(self, fence: Fence, begins: bytes, names: tuple[str, ...]) -> bool:
        """Whether a fence that begins like an edit edits the file that it is named after."""
        if begins.endswith((b" SEARCH", b" ORIGINAL")) and b"\n" not in begins:
            return True
        first = self.data[fence.inside : min(fence.inside + LONGEST_LINE, fence.inside_end)].split(b"\n")[:3]
        return any(name.encode() in line for line in first for name in names)

    def _hidden(self, fence: Fence) -> _Found | None:
        """Return the first named block that would be content of a fence without a name: one line too many.

        Its own line or one of the two above has what every path has: all others are passed over at once.
        """
        data, floor, end = self.data, fence.inside, fence.inside_end
        at = above = floor
        while sign := re.compile(PATH_SIGN).search(data, above, end):
            start = _START.start(data, max(at, data.rfind(b"\n", floor, sign.start()) + 1), end)
            if start is None:
                return None
            at = line_end(data, start, end)
            above = max(data.rfind(b"\n", floor, max(data.rfind(b"\n", floor, at), floor)), floor)
            line = fence_line(data[start:at])
            called = from_outside(line.info, self._above(start, fence.inside)) if line and line.info else None
            if called and called.names:
                return _Found(fence.replace(start=start, unclear=True), called)
        return None

    def _above(self, start: int, floor: int) -> str:
        """Return the line above, with one blank line between at most; not the end of a longer sentence."""
        found = None
        for index, line in enumerate(lines_above(self.data, floor, start, 3)):
            if found is not None:
                text = line.decode().strip()
                goes_on = text and text[-1] not in ".:!?)*`|>" and not text.startswith(("#", "-", "*", "+"))
                return "" if goes_on and path_in(found) and not path_in(text) else found
            if index < 2 and line and not line.isspace():  # noqa: PLR2004 (one blank line)
                found = line.decode().strip()
        return found or ""

    def _first_line(self, called: FenceName, fence: Fence) -> FenceName:
        """Return the name of a fence, also by its first line."""
        named = self._by_first_line(called, fence)
        sure = named.labelled or named.named_in  # the latter is decided at the operation's turn
        if not called.names and named.names and not sure and not self._name_most(sentences=False):
            return FenceName(cited=named.names[0], if_chosen=True)
        return named

    def _name_most(self, *, sentences: bool) -> bool:
        """Whether comments, or sentences too, name most blocks here: in an answer they do, in a manual few.

        Fences without any info are what programs print, as those of shells are commands.
        """
        if self.reading.chosen:
            return True
        if self._usage is None:
            named = in_sentences = blocks = 0
            at = self.reading.start
            while (start := _START.start(self.data, at, self.reading.end)) is not None:
                fence = fence_at(self.data, start, self.reading.end)
                if fence:
                    above = self._above(start, at)
                    outside = from_outside(fence.info, above)
                    called = self._by_first_line(outside, fence)
                    is_named = bool(called.names) and not called.named_in
                    named += is_named
                    in_sentences += not is_named and _shows_code(fence) and in_sentence(above) is not None
                    blocks += is_named or _shows_code(fence)
                at = fence.end if fence else line_end(self.data, start, self.reading.end)
            self._usage = (named, in_sentences, blocks)
        named, in_sentences, blocks = self._usage
        named += in_sentences if sentences else 0
        return 3 * named > 2 * blocks if blocks > MANY else 2 * named > blocks

    def _by_first_line(self, called: FenceName, fence: Fence) -> FenceName:
        data = self.data
        first = line_end(data, fence.inside, fence.inside_end)
        second = line_end(data, min(first + 1, fence.inside_end), fence.inside_end)
        if first - fence.inside > 1000:  # noqa: PLR2004 (no path)
            return called
        lines = data[fence.inside : min(second, first + 1000)].decode(errors="ignore").split("\n")
        return with_first_line(called, fence.language, lines)

    def _note_cited(self, start: int, called: FenceName, language: str) -> None:
        """Note a file that is shown, and could be meant to be written."""
        if start in self._noted or called.cited == "?" or language in SHELLS:
            return
        self._noted.add(start)
        self.reading.notes.append((SHOWN if called.if_chosen else CITED).format(called.cited))

    def read(self, at: int, floor: int) -> int:  # noqa: ARG002 (`next` has found its name)
        """Read the block that starts here, after what ended at `floor`; return where it ends."""
        found = self._found
        if found is None or found.fence.start != at:  # pragma: no cover (next was asked first)
            raise UnreadableError(at, UNCLOSED)
        if not found.fence.closed:
            raise UnreadableError(at, UNCLOSED, cut=True, path=found.called.names[0])
        item = self._operation(found)
        path = getattr(item, "path", None)
        if path and not getattr(item, "append", False) and found.called.named_in != SENTENCE:
            self._note_written(path)
        self.reading.add(item)
        return found.fence.end

    def _operation(self, found: _Found) -> Operation | Invalid:
        reading, fence, called = self.reading, found.fence, found.called
        span, path = (fence.start, fence.end), called.names[0]
        names = without_equal_names(called.names)
        both = names_of_one(names) if len(names) > 1 else (path, "")
        if both is None:
            return reading.invalid("write", span[0], span, TWO_NAMES.format(*names[:2]), "path")
        path, other = both
        if self._is_unclear(found):
            return reading.invalid("write", span[0], span, UNCLEAR, path=path)
        content = self._content(found)
        wrong = _edit_complaint(content, path)
        if wrong:
            return reading.invalid("write", span[0], span, wrong, path=path)
        return reading.make(
            "write", span[0], span, path=path, other_path=other, content=content, append=called.append,
            named_in="" if reading.chosen else called.named_in,
        )  # fmt: skip

    def _content(self, found: _Found) -> str:
        """Return the content of the file: lines, without the one that only names it."""
        text = found.fence.content(self.data).decode()
        if found.tagged:
            return end_with_line_break(text)
        if found.called.dropped is not None:
            lines = text.split("\n")
            del lines[found.called.dropped]
            text = "\n".join(lines)
        return text

    def _is_unclear(self, found: _Found) -> bool:
        """Whether the end of a block is ambiguous, because fences are in it or left over after it."""
        fence, data, limit = found.fence, self.data, self.reading.end
        if found.tagged:
            return False
        if fence.unclear:
            return True
        if not found.nests:
            return self._ends_too_early(found)
        mark = fence.inside - 1
        signs = data[fence.start : mark].strip()
        if fence.end >= limit and not self.reading.closed and not signs.startswith((b"````", b"~~~~")):
            return True  # the line that closes it may be the beginning of one that opens another
        at = fence.end
        while (start := self._opening(at, limit)) is not None:
            following = fence_at(data, start, limit)
            if not following or from_outside(following.info, self._above(start, at)).names:
                return False
            if not following.info and data[start : start + 1] != b"<":
                return True
            at = following.end
        return False

    def _ends_too_early(self, found: _Found) -> bool:
        """Whether the line that closes a block may be one of its own, as in the docstring of a module.

        Then it is in a string or a comment, or indented more; or a fence without a name is left over.
        """
        fence, data, limit = found.fence, self.data, self.reading.end
        if fence.further_in or ends_inside(self._content(found), found.called.names[0]):
            return True
        start = self._opening(fence.end, limit)
        following = None if start is None else fence_at(data, start, limit)
        if start is None or following is None or following.closed or following.info:
            return False
        if not data[fence.end : start].strip():
            return False  # one fence line too many at the end of the answer
        return data[start : start + 1] != b"<" and not from_outside("", self._above(start, fence.end)).names

    def finish(self) -> None:
        """Decide on files that are written twice, or beside edits of them: this needs all blocks."""
        blocks = self.reading.blocks
        if NAME not in self.reading.dialects:
            return
        changed = self._changed_otherwise()
        for number, block in enumerate(blocks if changed else ()):
            item = next(iter(block.operations), None)  # a block of CSL may have none
            if not isinstance(item, Write) or item.dialect != NAME or item.append:
                continue
            # A file is only shown where it is edited, too; or beside edits, if only a sentence names it.
            if item.path in changed or item.named_in == SENTENCE:
                blocks[number] = block.replace(operations=(item.replace(if_exists="skip"),))
        if self.reading.chosen:
            return  # the last one counts
        for path, numbers in self._twice.items():
            self._refuse_differing(path, numbers)

    def _changed_otherwise(self) -> set[str]:
        """Return the paths that operations in other formats change."""
        operations = (item for item in self.reading.operations if isinstance(item, Operation))
        others = [item for item in operations if item.changes_files and dialect_of(item) != NAME]
        return {path for item in others for path in item.paths}

    def _refuse_differing(self, path: str, numbers: list[int]) -> None:
        blocks = self.reading.blocks
        first, *others = (blocks[number].operations[0] for number in numbers)
        content = getattr(first, "content", first)  # one that is refused is like no other
        other = next((item for item in others if getattr(item, "content", item) != content), None)
        if other is None:
            return
        message = TWICE.format(path, first.line, other.line)
        for number in numbers:
            item = blocks[number].operations[0]
            if isinstance(item, Write):
                problem = Problem("invalid_operation", message, item.line, None, "write")
                fields = {"path": path}
                refused = Invalid(item.line, item.span, NO_ATTRIBUTES, "write", fields, (problem,), NAME)
                blocks[number] = Block(item.line, None, True, (refused,))


def _edit_complaint(content: str, path: str) -> str | None:
    """Return why a text is not a whole file, if it is an edit."""
    if path.lower().endswith(_EDITS_SHOWN):
        return None
    hunk = _HUNK.match(content)
    if hunk:
        return NO_DIFF.format(shortened(hunk.group()))
    marker, at = None, 0
    for part in _CONFLICT if "<<<<<" in content else ():
        found = part.search(content, at)
        if not found:
            return None
        marker, at = marker or found.group().strip(), found.end()
    return NO_MARKER.format(shortened(marker)) if marker else None


def _shows_code(fence: Fence) -> bool:
    """Whether the info of a fence says that it is code: neither commands, nor output, nor a diff."""
    return bool(fence.info) and fence.language not in _BESIDE


class _Found(Value):
    """A fence, or a tag, with its name."""

    fence: Fence
    called: FenceName
    nests: bool = False
    tagged: bool = False
