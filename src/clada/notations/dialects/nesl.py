"""nesl: the later language of CSL's first author, also called SHAM. Each block is one operation.

    block   = #!nesl [@WORDS: ID]  { KEY = value | blank line }  #!end_ID
    value   = a JSON string | <<'EOT_ID' line break, lines, EOT_ID        the last line break is not content
    capital = #!SHAM or #!NESL, with #!END_SHAM_ID and EOT_SHAM_ID
    ID      = 2 to 8 letters and digits, the same at the end and in EOT; a stray ' after the end is forgiven

All starts in the first column. ACTIONS says which keys each action has. What only lists or searches is
ignored. Texts to be replaced must be in the file as they are written. As its author's tools have it, the end
of a range is refused if it stands again behind it, an addition begins right where the file ends, and no
lines are one blank line.
"""

from __future__ import annotations

import re
from shlex import join

from clada.errors import shortened
from clada.grammar import WRONG_RANGE, read_number, read_range
from clada.notations.markdown import LinePattern, line_end
from clada.notations.reading import Reading, UnreadableError
from clada.notations.toolcalls.arguments import RefusedCallError, decode_json
from clada.notations.toolcalls.tools import Ignored
from clada.operations.edit import Hunk
from clada.text.elision import elision_complaint
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.model import Invalid, Operation

HEADER = "a block starts with #!nesl [@three-char-SHA-256: abc]"
# The names of each action, what it does, and the keys that it needs.
_ACTIONS = {
    "write_file file_write": ("write", "path content"),
    "append_to_file file_append": ("append", "path content"),
    "replace_text_in_file file_replace_text": ("replace", "path old_text new_text"),
    "replace_all_text_in_file file_replace_all_text": ("replace_all", "path old_text new_text"),
    "replace_text_range_in_file file_replace_text_range": (
        "range",
        "path old_text_beginning old_text_end new_text",
    ),
    "replace_lines_in_file file_replace_lines": ("lines", "path lines new_content"),
    "move_file file_move": ("move", "old_path new_path"),
    "delete_file file_delete": ("remove", "path"),
    "dir_create": ("make_directory", "path"),
    "dir_delete": ("remove_directory", "path"),
    "exec": ("run", "code lang"),
    "read_file file_read read_file_numbered file_read_numbered": ("read", "path"),
    "read_files files_read": ("reads", "paths"),
}
ACTIONS = {name: way for names, way in _ACTIONS.items() for name in names.split()}
READS = re.compile(r"(?:file|files|dir)_(?:read|list)\w*|read_\w+|list_\w+|ls|grep|glob|search\w*|undo_list")
OPERATIONS = {
    "append": "write", "move": "move", "remove": "remove", "remove_directory": "remove", "write": "write",
    "make_directory": "run", "run": "run", "read": "read",
}  # fmt: skip
MIDDLES = ("", "_SHAM", "_NESL", "_nesl")  # between end, or EOT, and the id
BY_NUMBERS = "lines are replaced by their numbers, which nothing confirms; --format=nesl does it"
_START = LinePattern(rb"#!(?:nesl|NESL|SHAM)(?![\w-])")
_HEADER = re.compile(rb"#!(?:nesl|NESL|SHAM) \[@[^\]\n]*?: ?([A-Za-z0-9]{2,8})\][ \t]*+(?=\n|\Z)")
_MEMBER = re.compile(r"([A-Za-z_]\w*)[ \t]*=[ \t]*(?:(\".*\")|<<[ \t]*'?(\w+)'?)[ \t]*")
_LINES = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?")


class Blocks:
    """Finds and reads the blocks of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data
        self._ignored = Ignored(reading)

    def next(self, at: int) -> int | None:
        """Return where the next block starts."""
        return _START.start(self.data, at, self.reading.end)

    def read(self, at: int, _floor: int) -> int:
        """Read the block that starts here; return where it ends."""
        header = _HEADER.match(self.data, at, self.reading.end)
        if not header:
            cut = self.data.find(b"\n", at, self.reading.end) < 0
            raise UnreadableError(at, HEADER, cut=cut)
        block = _Block(self.reading, at, header.group(1).decode())
        end = block.read(header.end() + 1)
        items = block.operations((at, end))
        if items is None:
            self._ignored.add(block.action, at)
        else:
            self.reading.add(*items)
        return end


class _Member(Value):
    """A value of a block, and the offset of its key."""

    text: str
    at: int


class _Block:
    """One block while it is read."""

    def __init__(self, reading: Reading, at: int, identity: str) -> None:
        self.reading, self.data, self.at, self.identity = reading, reading.data, at, identity
        self._ends = [
            f"#!{word}{middle}_{identity}".encode() for word in ("end", "END") for middle in MIDDLES
        ]
        self._words = [f"EOT{middle}_{identity}" for middle in MIDDLES]
        self.members: dict[str, _Member] = {}
        self._wrong: tuple[int, str] | None = None
        self._span = (at, at)

    @property
    def action(self) -> str:
        """The action, by its name in the block."""
        return self._text("action")

    def read(self, start: int) -> int:
        """Read line after line up to the end of the block; return where that is."""
        limit = self.reading.end
        while start < limit:
            end = line_end(self.data, start, limit)
            line = self.data[start:end]
            if line.startswith(b"#!") and line.rstrip(b" \t").removesuffix(b"'") in self._ends:
                return end
            if _START.match(self.data, start, limit):
                number = self.reading.lines.line(start)
                raise UnreadableError(
                    self.at, f"this block has no #!end_{self.identity} before line {number}"
                )
            start = self._take(line.decode(), start, end) + 1
        raise self._never_ends(f"#!end_{self.identity}")

    def _never_ends(self, closing: str) -> UnreadableError:
        return UnreadableError(self.at, f"Unterminated block: there is no {closing}", cut=True)

    def _take(self, line: str, at: int, end: int) -> int:
        """Take a line of the block; return where it ends, or its here-document."""
        if not line.strip():
            return end
        member = _MEMBER.fullmatch(line)
        if not member:
            self._complain(
                at, f'expected KEY = "…" or KEY = <<\'EOT_{self.identity}\', not "{shortened(line)}"'
            )
            return end
        key, text, word = member.groups()
        if word:
            value, end = self._here_document(word, end)
            if word not in self._words:
                self._complain(at, f"{shortened(word)} must end in the block's own id, {self.identity}")
        else:
            value = self._string(text, at)
        if key in self.members:
            self._complain(at, f"Duplicate key '{shortened(key)}'")
        self.members[key] = _Member(value, at)
        return end

    def _here_document(self, word: str, end: int) -> tuple[str, int]:
        """Return the lines up to this word, without their last break, and where its line ends."""
        data, limit, closing = self.data, self.reading.end, f"\n{word}".encode()
        start = end
        while (found := data.find(closing, start, limit)) >= 0:
            start = line_end(data, found + 1, limit)
            if data[found + len(closing) : start].rstrip(b" \t") in (b"", b"'"):
                return data[end + 1 : found].decode(), start
        raise self._never_ends(shortened(word))

    def _string(self, text: str, at: int) -> str:
        try:
            value = decode_json(text, "value")
            value.encode()
        except (RefusedCallError, AttributeError, UnicodeEncodeError):
            self._complain(at, f"not a JSON string: {shortened(text)}")
            return ""
        return str(value)

    def _complain(self, at: int, message: str) -> None:
        self._wrong = self._wrong or (at, message)

    def _text(self, key: str) -> str:
        member = self.members.get(key)
        return member.text if member else ""

    def operations(self, span: tuple[int, int]) -> list[Operation | Invalid] | None:
        """Return the operations of the block; None if it only lists or searches."""
        self._span = span
        way, keys = ACTIONS.get(self.action, ("", ""))
        if not way and not self._wrong and READS.fullmatch(self.action):
            return None
        try:
            self._check(way, keys)
            made: Operation | Invalid | list[Operation | Invalid] = getattr(self, f"_{way}")()
        except RefusedCallError as refused:
            made = self._invalid(way, refused)
        return made if isinstance(made, list) else [made]

    def _check(self, way: str, keys: str) -> None:
        if self._wrong:
            raise RefusedCallError(self._wrong[1])
        if not self.action:
            raise RefusedCallError("Missing required field 'action'", "action")
        if not way:
            raise RefusedCallError(f"Unknown action: {shortened(self.action)}", "action")
        for key in keys.split():
            if key not in self.members or (key.endswith("path") and not self._text(key)):
                raise RefusedCallError(f"Missing required field '{key}'", key)

    def _invalid(self, way: str, refused: RefusedCallError) -> Invalid:
        name = OPERATIONS.get(way, "edit")
        key = "command" if name == "run" else "path"
        text = self._text("code" if name == "run" else "path")
        shown: dict[str, Any] = {key: text} if text and name != "move" else {}
        member = self.members.get(refused.field or "")
        at = self._wrong[0] if self._wrong else member.at if member else self.at
        return self.reading.invalid(name, at, self._span, refused.message, refused.field, **shown)

    def _make(self, operation: str, **fields: object) -> Operation | Invalid:
        return self.reading.make(operation, self.at, self._span, **fields)

    def _check_text(self, key: str, known: str = "") -> str:
        """Return a text that a file is to have."""
        text = self._text(key)
        complaint = elision_complaint(text, known)
        if complaint:
            raise RefusedCallError(complaint)
        return text

    def _write(self, **how: object) -> Operation | Invalid:
        return self._make("write", path=self._text("path"), content=self._text("content"), **how)

    def _append(self) -> Operation | Invalid:
        return self._write(append=True, raw=True)

    def _edit(self, hunk: Hunk, **how: object) -> Operation | Invalid:
        return self._make("edit", path=self._text("path"), hunks=(hunk,), **how)

    def _search_text(self, key: str) -> str:
        text = self._text(key)
        if not text:
            raise RefusedCallError("Empty search text not allowed", key)
        return text

    def _replace(self, count: int | str = 1) -> Operation | Invalid:
        old = self._search_text("old_text")
        return self._edit(Hunk(old, self._check_text("new_text", old)), count=count)

    def _replace_all(self) -> Operation | Invalid:
        count = self._text("count").strip()
        if "count" not in self.members:
            return self._replace("all")
        number = read_number(count)
        if not number:
            raise RefusedCallError("Invalid value for 'count': must be a positive number", "count")
        return self._replace(number)

    def _range(self) -> Operation | Invalid:
        start, end = self._search_text("old_text_beginning"), self._search_text("old_text_end")
        return self._edit(Hunk(start, self._check_text("new_text"), end, end_once=True))

    def _lines(self) -> Operation | Invalid:
        """Replace lines by their numbers: nothing shows that they are the ones that were meant."""
        if not self.reading.chosen:
            raise RefusedCallError(BY_NUMBERS)
        numbers = _LINES.fullmatch(self._text("lines").strip())
        first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (1, 0)
        if last < first:
            raise RefusedCallError("Invalid value for 'lines': must be a number, or two like 23-43", "lines")
        content = self._check_text("new_content") or "\n"
        return self._edit(Hunk("", content, after_line=first - 1, through_line=last))

    def _move(self) -> Operation | Invalid:
        return self._make("move", source=self._text("old_path"), destination=self._text("new_path"))

    def _remove(self) -> Operation | Invalid:
        return self._make("remove", path=self._text("path"), file_only=True)

    def _remove_directory(self) -> Operation | Invalid:
        return self._make("remove", path=self._text("path"))

    def _make_directory(self) -> Operation | Invalid:
        return self._make("run", command=join(["mkdir", "-p", self.reading.path(self._text("path"))]))

    def _read(self) -> Operation | Invalid:
        lines = self._text("lines").strip()
        if lines and not read_range(lines):
            raise RefusedCallError(f"Invalid value for 'lines': {WRONG_RANGE}", "lines")
        return self._make("read", path=self._text("path"), lines=lines or None)

    def _reads(self) -> list[Operation | Invalid]:
        paths = [line.strip() for line in self._text("paths").split("\n")]
        return [self._make("read", path=path) for path in paths if path]

    def _run(self) -> Operation | Invalid:
        lang, code = self._text("lang").strip().lower(), self._text("code")
        if lang not in ("bash", "sh", "shell"):
            raise RefusedCallError(f"only bash is run, not {shortened(lang)}", "lang")
        if not code.strip():
            raise RefusedCallError("Empty command not allowed", "code")
        return self._make("run", command=code, dir=self.reading.directory(self._text("cwd")))
