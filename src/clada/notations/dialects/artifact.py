"""artifact: files and actions in the elements that bolt, dyad, Lovable, v0 and Plandex have models write.

    bolt    = <boltArtifact …> { action } </boltArtifact> | action               an artifact is one block
    action  = <boltAction type="file" filePath="p"> content | <boltAction type="shell"> command
    dyad    = <dyad-write path> content | <dyad-rename from to> | <dyad-copy from to> | <dyad-delete path>
            | <dyad-search-replace path> blocks of sr
    lovable = <lov-write file_path> content | <lov-rename original_file_path new_file_path/>
            | <lov-delete file_path/>
            | <lov-line-replace file_path first_replaced_line> <search> lines <replace> lines
    v0      = <CodeProject …> { ```lang file="p" | <DeleteFile file/> | <MoveFile from to/> } </CodeProject>
    plandex = <PlandexBlock lang path> content

Each but those with a slash at their end has its closing tag; they start their lines, but for <boltArtifact>,
which may come after words. Only dyad has entities.
What never ends (type="start"), adds a dependency, or holds English (<QuickEdit>) is refused.
"""

from __future__ import annotations

import re
from shlex import join

from clada.errors import shortened
from clada.grammar import read_number
from clada.notations.markdown import LONGEST_LINE, LinePattern, closing_line, line_end
from clada.notations.reading import Reading, UnreadableError
from clada.notations.toolcalls import tag_text
from clada.notations.toolcalls.arguments import RefusedCallError
from clada.notations.toolcalls.tag_calls import unclosed_error
from clada.notations.toolcalls.tag_text import BlockOptions, search_blocks
from clada.operations.edit import BLANKS
from clada.text.line_endings import end_with_line_break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from re import Match

    from clada.model import Invalid, Operation
    from clada.notations.reading import Span

    Items = list[Operation | Invalid]

WRITE, RENAME, COPY, DELETE, BLOCKS, LINES, DEPENDENCY, LAZY, ACTION = (
    "write", "rename", "copy", "delete", "blocks", "lines", "dependency", "lazy", "action",
)  # fmt: skip
# What each element does, and the names of its attributes for that.
ELEMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "boltAction": (ACTION, ("type",)),
    "dyad-write": (WRITE, ("path",)),
    "dyad-rename": (RENAME, ("from", "to")),
    "dyad-copy": (COPY, ("from", "to")),
    "dyad-delete": (DELETE, ("path",)),
    "dyad-search-replace": (BLOCKS, ("path",)),
    "dyad-add-dependency": (DEPENDENCY, ()),
    "lov-write": (WRITE, ("file_path",)),
    "lov-rename": (RENAME, ("original_file_path", "new_file_path")),
    "lov-delete": (DELETE, ("file_path",)),
    "lov-line-replace": (LINES, ("file_path",)),
    "lov-add-dependency": (DEPENDENCY, ()),
    "PlandexBlock": (WRITE, ("path",)),
}
IN_PROJECT = {
    "DeleteFile": (DELETE, ("file",)),
    "MoveFile": (RENAME, ("from", "to")),
    "QuickEdit": (LAZY, ("file",)),
}
OPERATIONS = {WRITE: "write", RENAME: "move", COPY: "run", DELETE: "remove", DEPENDENCY: "run"}  # else: edit
WRAPPERS = ("boltArtifact", "CodeProject")
SHORTEST = 6  # bytes of a tag that is cut off
DYAD = BlockOptions(escaped=True, entities=True)
_NAMES = "|".join((*ELEMENTS, *WRAPPERS)).encode()
_START = LinePattern(rb"[ \t]*+<(" + _NAMES + rb")(?=[\s/>]|\Z)")
_INLINE = re.compile(rb"<boltArtifact\s++\w++=")  # behind words
_NAME = re.compile(rb"\s*+<(" + _NAMES + b"|" + "|".join(IN_PROJECT).encode() + rb")(?=[\s/>])")
_IN_ARTIFACT = re.compile(rb"<boltAction(?=[\s>])|</boltArtifact>")
_IN_PROJECT = re.compile(
    rb"(?:^|(?<=\n))[ \t]*+"
    rb"(?:<(?:DeleteFile|MoveFile|QuickEdit)(?=\s)|(`{3,}+|~{3,}+)([^`\n]*+)\n|(</CodeProject>))"
)
_FILE = re.compile(rb"""\bfile=(?:"([^"\n]+)"|'([^'\n]+)')""")


class Blocks:
    """Finds and reads the elements of a document, one after the other."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data

    def next(self, at: int) -> int | None:
        """Return where the next element starts; or one that is cut off at the end of the text."""
        data, end = self.data, self.reading.end
        found = _START.start(data, at, end)
        inline = self._inline(at, end if found is None else found)
        if inline is not None or found is not None:
            return found if inline is None else inline
        last = data.rfind(b"\n", 0, end) + 1
        text = data[last : min(end, last + 40)].lstrip()
        names = (*ELEMENTS, *WRAPPERS)
        is_cut = len(text) >= SHORTEST and any(f"<{name}".encode().startswith(text) for name in names)
        return last if is_cut and last >= at else None

    def _inline(self, at: int, end: int) -> int | None:
        """Return where an artifact starts behind words on its line that do not quote it."""
        for found in _INLINE.finditer(self.data, at, end):
            floor = max(found.start() - LONGEST_LINE, 0)
            before = self.data[max(self.data.rfind(b"\n", floor, found.start()) + 1, floor) : found.start()]
            if b"`" not in before and not before.startswith(b">"):
                return found.start()
        return None

    def read(self, at: int, _floor: int) -> int:
        """Read the element that starts here; return where it ends."""
        name, tag = self._opening(at)
        if name == "boltArtifact":
            return self._read_artifact(at, tag.end)
        if name == "CodeProject":
            return self._read_project(at, tag.end)
        items, end = self._element(at)
        self.reading.add(*items, together=at if len(items) > 1 else None)
        return end

    def _opening(self, at: int) -> tuple[str, tag_text.Opening]:
        """Return the name of the element that starts here, and its tag."""
        data, end = self.data, self.reading.end
        name = _NAME.match(data, at, end)
        tag = tag_text.opening(data, name.end(), end) if name else None
        if not name or not tag:
            shown = data[at : line_end(data, at, end)].decode().strip()
            raise UnreadableError(
                at, f"this tag cannot be read: {shortened(shown)}", cut=data.find(b">", at, end) < 0
            )
        return name.group(1).decode(), tag

    def _read_artifact(self, at: int, start: int) -> int:
        """Read the actions of an artifact, which are one block."""
        items: Items = []
        servers: Items = []  # which are refused, and do not keep the others from being carried out
        while found := _IN_ARTIFACT.search(self.data, start, self.reading.end):
            if found.group() == b"</boltArtifact>":
                if items:
                    self.reading.add(*items, together=at)
                self.reading.add(*servers)
                return found.end()
            starts = self._opening(found.start())[1].attributes.get("type") == "start"
            made, start = self._element(found.start())
            (servers if starts else items).extend(made)
        raise unclosed_error(at, b"boltArtifact")

    def _read_project(self, at: int, start: int) -> int:
        """Read the files and the elements of a project of v0's, which are one block."""
        items: Items = []
        while found := _IN_PROJECT.search(self.data, start, self.reading.end):
            if found.group(3):
                self.reading.add(*items, together=at)
                return found.end()
            if found.group(1):
                made, start = self._fence(found)
            else:
                made, start = self._element(found.start())
            items += made
        raise unclosed_error(at, b"CodeProject")

    def _fence(self, found: Match[bytes]) -> tuple[Items, int]:
        """Read a fence of a project: a file, if it names one."""
        data, mark = self.data, found.group(1)
        opened = found.start(1)
        closing = closing_line(mark).search(data, found.end() - 1, self.reading.end)
        if not closing:
            raise UnreadableError(opened, "this fence is never closed", cut=True)
        file = _FILE.search(found.group(2))
        if not file:
            return [], closing.end()
        path = (file.group(1) or file.group(2)).decode()
        element = _Element(self.reading, "CodeProject", (opened, closing.end()), {"path": path})
        return element.operations(
            WRITE, ("path",), (found.end(), max(closing.start(), found.end()))
        ), closing.end()

    def _element(self, at: int) -> tuple[Items, int]:
        """Return the operations of the element that starts here, and its end."""
        name, tag = self._opening(at)
        way, fields = ELEMENTS[name] if name in ELEMENTS else IN_PROJECT[name]
        opened, inside, end = self.data.find(b"<", at), (tag.end, tag.end), tag.end
        if not tag.is_empty and (name in ELEMENTS or way == LAZY):
            close = self._close(opened, end, name.encode())
            inside, end = (end, close), close + len(name) + 3
        attributes = tag.attributes
        if name.startswith("dyad"):
            attributes = {key: tag_text.without_entities(value) for key, value in attributes.items()}
        element = _Element(self.reading, name, (opened, end), attributes)
        return element.operations(way, fields, inside), end

    def _close(self, opened: int, start: int, name: bytes) -> int:
        """Return where an element is closed: before the next one of its kind."""
        close = self.data.find(b"</%b>" % name, start, self.reading.end)
        if close < 0:
            raise unclosed_error(opened, name)
        again = re.compile(rb"\n[ \t]*+<" + name + rb"[\s>]").search(self.data, start, close)
        if again:
            line, word = self.reading.lines.line(again.start() + 1), name.decode()
            raise UnreadableError(opened, f"<{word}> has no </{word}> before the next one, in line {line}")
        return close


class _Element:
    """One element: its attributes and operations."""

    def __init__(self, reading: Reading, name: str, span: Span, attributes: Mapping[str, str]) -> None:
        self.reading, self.data, self.name, self.span = reading, reading.data, name, span
        self.attributes = attributes

    def operations(self, way: str, fields: tuple[str, ...], inside: Span) -> Items:
        """Return its operations; one invalid operation if there is an error."""
        try:
            given = [self._attribute(field) for field in fields]
            made: Items = getattr(self, f"_{way}")(inside, *given)
        except RefusedCallError as refused:
            action = "write" if self.attributes.get("type") == "file" else "run"
            operation = OPERATIONS.get(way, action if way == ACTION else "edit")
            path = self.attributes.get("filePath" if way == ACTION else fields[0] if fields else "")
            shown = {"path": path} if path and operation in ("write", "edit", "remove") else {}
            if way == ACTION and operation == "run":
                shown = {"command": tag_text.strip_blanks(self.data, inside)}
            return [
                self.reading.invalid(
                    operation, self.span[0], self.span, refused.message, refused.field, **shown,
                )
            ]  # fmt: skip
        return made

    def _attribute(self, name: str) -> str:
        value = self.attributes.get(name, "").strip()
        if not value:
            raise RefusedCallError(f"Missing required attribute '{name}'", name)
        return value

    def _make(self, operation: str, **fields: object) -> Items:
        return [self.reading.make(operation, self.span[0], self.span, **fields)]

    def _text(self, span: Span) -> str:
        text = self.data[slice(*span)].decode()
        return tag_text.without_entities(text) if self.name.startswith("dyad") else text

    def _write(self, inside: Span, path: str) -> Items:
        text = self._text(tag_text.content(self.data, inside, path))
        if self.name == "boltAction":
            text = text.strip()
        return self._make("write", path=path, content=tag_text.file_text(text, path))

    def _action(self, inside: Span, kind: str) -> Items:
        if kind == "file":
            return self._write(inside, self._attribute("filePath"))
        command = tag_text.strip_blanks(self.data, inside)
        if kind == "start":
            raise RefusedCallError(f"unsupported background: {shortened(command)}")
        if kind != "shell":
            raise RefusedCallError(f"Unknown type: {shortened(kind)}", "type")
        if not command:
            raise RefusedCallError("Empty command not allowed", "command")
        if tag_text.is_escaped(command):
            raise RefusedCallError(tag_text.ESCAPED, "command")
        return self._make("run", command=command)

    def _rename(self, _inside: Span, source: str, destination: str) -> Items:
        return self._make("move", source=source, destination=destination)

    def _copy(self, _inside: Span, source: str, destination: str) -> Items:
        return self._make("run", command=join(["cp", *map(self.reading.path, (source, destination))]))

    def _delete(self, _inside: Span, path: str) -> Items:
        return self._make("remove", path=path)

    def _blocks(self, inside: Span, path: str) -> Items:
        span = tag_text.content(self.data, inside, path)
        return search_blocks(self.reading, self.span, span, path, DYAD)

    def _lines(self, inside: Span, path: str) -> Items:
        """Return the edit of lines that are given twice: by their number, and in full."""
        old, new = (self._lines_in(inside, name) for name in ("search", "replace"))
        near = read_number(self.attributes.get("first_replaced_line", "")) or None
        hunk = tag_text.replacement(old, new, path, "search").replace(near=near)
        return self._make("edit", path=path, hunks=(hunk,), match=BLANKS, whole_lines=True)

    def _lines_in(self, inside: Span, name: str) -> str:
        start, end = inside
        opened = self.data.find(f"<{name}>".encode(), start, end)
        if opened < 0:
            raise RefusedCallError(f"Missing required field '{name}'", name)
        first = opened + len(name) + 2
        closed = (self.data.rfind if name == "replace" else self.data.find)(f"</{name}>".encode(), first, end)
        if closed < 0:
            raise unclosed_error(self.span[0], name.encode())
        return end_with_line_break(
            self.data[slice(*tag_text.without_tag_lines(self.data, (first, closed)))].decode()
        )

    def _dependency(self, inside: Span) -> Items:
        names = self.attributes.get("packages") or tag_text.strip_blanks(self.data, inside)
        raise RefusedCallError(f"a dependency is added by a command: npm install {shortened(names)}")

    def _lazy(self, _inside: Span, _path: str) -> Items:
        raise RefusedCallError(f"{self.name} leaves the edit to another model")
