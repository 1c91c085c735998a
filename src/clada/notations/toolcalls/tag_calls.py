"""Calls of tools in tags: `<invoke>`, `<tool_call>`, `<function=…>`, `@name(id): {…}` and `<tool-use>`.

`tools` makes their operations. Consecutive calls are one block.
"""

from __future__ import annotations

import re

from clada.model import Invalid
from clada.notations.json_values import ValueReader
from clada.notations.reading import Reading, UnreadableError
from clada.notations.structured import CUT, MalformedError
from clada.notations.toolcalls import tag_text
from clada.notations.toolcalls.arguments import ARGUMENTS, FIELDS, RefusedCallError, decode_json
from clada.notations.toolcalls.tag_text import BlockOptions, search_blocks
from clada.notations.toolcalls.tools import KNOWN, Call, Ignored, Tools, plain_name
from clada.text.line_endings import end_with_line_break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern
    from typing import Any

    from clada.model import Operation
    from clada.notations.reading import Span

    Items = list[Operation | Invalid]

FILES = (*FIELDS["content"], "file_text")  # parameters that are whole files
EXACT = (*FIELDS["old"], *FIELDS["new"])
# How each of them starts, at the start of a line.
STARTS = (
    rb"<(?P<invokes>(?:[\w-]+:)?function_calls)>(?=\s*+(?:\Z|<(?:[\w-]+:)?invoke\b|<[\w:-]*+\Z))"
    rb"|<(?P<call>tool_call)>|<(?P<function>function)=[\w.-]+>|<(?P<use>tool-use)>"
    rb"|@(?P<at>[a-zA-Z_]\w*)\([\w-]+\):[ \t]*+(?=\{)"
)
_INVOKE = re.compile(rb"""\s*+<([\w-]+:)?invoke\s+name=["']?([\w.-]+)["']?\s*>""")
_PARAMETER = re.compile(rb"""\s*+<(?:[\w-]+:)?parameter\s+name=["']?([\w.-]+)["']?(?:\s[^>\n]*)?>""")
_CLOSED_PARAMETER = re.compile(
    rb"</(?:[\w-]+:)?parameter>(?=\s*+(?:<(?:[\w-]+:)?parameter[\s=]|</(?:[\w-]+:)?(?:invoke|function)>))"
)
_FUNCTION = re.compile(rb"\s*+<function=([\w.-]+)>")
_FUNCTION_PARAMETER = re.compile(rb"\s*+<parameter=([\w.-]+)>")
_NEXT = re.compile(rb"\s*+(<tool_call>|(?=<function=))")
_USED = re.compile(rb"""\s*+<([a-z_]+)(?:\s+args=(?:"([^"\n]*)"|'([^'\n]*)'))?\s*>""")


def unclosed_error(at: int, name: bytes) -> UnreadableError:
    """Return the error of a tag that opens here and is never closed."""
    word = name.decode()
    return UnreadableError(at, f"<{word}> is never closed: there is no </{word}>", cut=True)


class CallsInTags:
    """Reads the calls of a document, wherever one starts."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.data = reading, reading.data
        self._tools, self._ignored = Tools(reading), Ignored(reading)
        self._values: ValueReader | None = None
        self._atomic = False  # whether the calls that are read are done all, or not at all

    def read(self, at: int, found: Match[bytes]) -> int:
        """Read the calls that start here, and add their operations; return where they end."""
        items: Items = []
        self._atomic = False
        if found["invokes"]:
            end = self._read_invokes(at, found["invokes"], items)
        elif found["use"]:
            end = self._read_uses(at, found.end(), items)
        elif found["at"]:
            arguments, end, wrong = self._json(at, found.end())
            items += self._gptme(Call(found["at"].decode(), arguments, at, (at, end), wrong=wrong))
        else:
            end = at
            while following := _NEXT.match(self.data, end, self.reading.end):
                end = self._read_tool_call(following, items)
        self.reading.add(*items, together=at if len(items) > 1 else None, atomic=self._atomic)
        return end

    def _find(self, opened: int, start: int, name: bytes) -> int:
        """Return where a closing tag is."""
        closed = self.data.find(b"</%b>" % name, start, self.reading.end)
        if closed < 0:
            raise unclosed_error(opened, name)
        return closed

    def _take(self, call: Call, items: Items) -> None:
        """Add the operations of a call."""
        asked = self._tools.operations(call)
        if asked is None:
            self._ignored.add(call.name, call.at, known=plain_name(call.name) in KNOWN)
        else:
            items += asked
            self._atomic = self._atomic or (len(asked) > 1 and self._tools.is_atomic(call))

    def _read_invokes(self, block: int, wrapper: bytes, items: Items) -> int:
        """Read one <invoke> after the other, up to the end of their wrapper."""
        data, at = self.data, block + len(wrapper) + 2
        while found := _INVOKE.match(data, at, self.reading.end):
            opened, name = data.find(b"<", found.start()), found.group(2).decode()
            closing = (found.group(1) or b"") + b"invoke"
            if plain_name(name) in KNOWN:
                arguments, end = self._parameters(opened, found.end(), _PARAMETER, closing)
                self._take(Call(name, arguments, opened, (opened, end)), items)
            else:  # its parameters may well be a document for us
                self._ignored.add(name, opened, known=False)
                end = self._find(opened, found.end(), closing) + len(closing) + 3
            at = end
        close = self._find(block, at, wrapper)
        if data[at:close].strip():
            raise UnreadableError(at, "an <invoke name=…> cannot be read here")
        return close + len(wrapper) + 3

    def _parameters(
        self, opened: int, at: int, pattern: Pattern[bytes], closing: bytes
    ) -> tuple[dict[str, str], int]:
        """Return the parameters from here on, and where the closing tag after them ends."""
        data, end, values = self.data, self.reading.end, dict[str, str]()
        while found := pattern.match(data, at, end):
            closed = _CLOSED_PARAMETER.search(data, found.end(), end)
            if not closed:
                raise unclosed_error(opened, b"parameter")
            name = found.group(1).decode()
            values[name] = _parameter(name, data, (found.end(), closed.start()))
            at = closed.end()
        close = self._find(opened, at, closing)
        if data[at:close].strip():
            raise UnreadableError(at, f"a parameter cannot be read here, before </{closing.decode()}>")
        return values, close + len(closing) + 3

    def _read_tool_call(self, found: Match[bytes], items: Items) -> int:
        """Read the call in a <tool_call>, or a <function=…> on its own; return where it ends."""
        data, wrapped = self.data, bool(found.group(1))
        opened = found.start(1)
        function = _FUNCTION.match(data, found.end(), self.reading.end)
        wrong = ""
        if function:
            name = function.group(1).decode()
            arguments, end = self._parameters(opened, function.end(), _FUNCTION_PARAMETER, b"function")
        else:
            value, end, wrong = self._json(opened, found.end(), b"tool_call")
            name, arguments, wrong = _name_and_arguments(value, wrong)
        if wrapped:
            close = self._find(opened, end, b"tool_call")
            if data[end:close].strip():
                wrong = wrong or "something else stands before </tool_call>"
            end = close + len(b"</tool_call>")
        self._take(Call(name, arguments, opened, (opened, end), wrong=wrong), items)
        return end

    def _json(self, opened: int, start: int, closing: bytes = b"") -> tuple[Any, int, str]:
        """Return the JSON that starts here, where it ends, and its error.

        Where that is not clear, and no closing tag follows, the document cannot be read.
        """
        if self._values is None:
            self._values = ValueReader(self.data[: self.reading.end])
        reader = self._values
        try:
            reader.go_to(start, self.reading.end)
            return reader.value(1), reader.ended, ""
        except MalformedError as error:
            if not closing:
                raise UnreadableError(error.offset, error.message, cut=error.why == CUT) from None
            return {}, self._find(opened, start, closing), error.message

    def _gptme(self, call: Call) -> Items:
        """Return the operations of a tool of gptme with arguments in JSON."""
        items: Items = []
        if call.name in ("save", "append"):
            self._take(call.replace(name="write_file"), items)
        else:
            self._take(call, items)
        if call.name == "append":
            return [item if isinstance(item, Invalid) else item.replace(append=True) for item in items]
        return items

    def _read_uses(self, at: int, start: int, items: Items) -> int:
        """Read the tools in a <tool-use> of gptme's."""
        data = self.data
        end = start
        while found := _USED.match(data, end, self.reading.end):
            opened, name = data.find(b"<", found.start()), found.group(1)
            close = self._find(opened, found.end(), name)
            end = close + len(name) + 3
            path = (found.group(2) or found.group(3) or b"").decode().strip()
            items += self._gptme_operations(name.decode(), path, (found.end(), close), (opened, end))
        close = self._find(at, end, b"tool-use")
        if data[end:close].strip():
            raise UnreadableError(end, "a tool cannot be read here, before </tool-use>")
        return close + len(b"</tool-use>")

    def _gptme_operations(self, name: str, path: str, inside: Span, span: Span) -> Items:
        """Return the operations of a tool of gptme with this text in it."""
        reading, at = self.reading, span[0]
        if name == "shell":
            items: Items = []
            command = tag_text.strip_blanks(self.data, inside)
            self._take(Call("shell", {"command": command}, at, span), items)
            return items
        if name not in ("save", "append", "patch"):
            self._ignored.add(name, at, known=name in KNOWN)
            return []
        operation = "edit" if name == "patch" else "write"
        if not path:
            return [reading.invalid(operation, at, span, "Missing required field 'path'", "path")]
        if name == "patch":
            return search_blocks(
                reading, span, tag_text.content(self.data, inside, path), path, BlockOptions()
            )
        text = self.data[slice(*tag_text.content(self.data, inside, path))].decode()
        complaint = tag_text.escape_complaint(text, path)
        if complaint:
            return [reading.invalid(operation, at, span, complaint, path=path)]
        content, append = end_with_line_break(text), name == "append"
        return [reading.make(operation, at, span, path=path, content=content, append=append)]


def _name_and_arguments(value: Any, wrong: str) -> tuple[str, Any, str]:
    """Return the tool and the arguments of a call in JSON, and its error."""
    value = value if isinstance(value, dict) else {}
    name = value.get("name", value.get("tool"))
    arguments: Any = next((value[key] for key in ARGUMENTS if key in value), {})
    if isinstance(arguments, str):
        try:
            arguments = decode_json(arguments, "arguments")
        except RefusedCallError as refused:
            wrong = wrong or refused.message
    if not isinstance(name, str) or not name:
        return "edit", arguments, wrong or "Missing required field 'name'"
    return name, arguments, wrong


def _parameter(name: str, data: bytes, span: Span) -> str:
    """Return the value of a parameter: files end in a line break, edited texts are exact, others trimmed."""
    if name in EXACT:
        starts = data[span[0] : span[0] + 1] == b"\n"
        return data[slice(*(tag_text.without_tag_lines(data, span) if starts else span))].decode()
    if name in FILES:
        return end_with_line_break(data[slice(*tag_text.without_tag_lines(data, span))].decode())
    return tag_text.strip_blanks(data, span)
