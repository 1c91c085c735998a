"""Writers of CSL, CML, JSON and TOML. JSON and TOML can express every plan."""

from __future__ import annotations

import json

from clada.grammar import BLOCK_VERSIONS, CSL_VERSIONS, END_DELIMITER, START_DELIMITER
from clada.notations.csl import LITERAL, MAY_BE_LITERAL
from clada.notations.write import CannotSayError, WrittenBlock, quote_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clada.model import Operation

MARKER = START_DELIMITER + "{}" + END_DELIMITER + "\n"
# The texts of each operation in CSL, in their order, with the marker that opens each.
CSL_TEXTS = {
    "write": (("WRITE", "content"),),
    "run": (("RUN", "command"),),
    "read": (),
    "edit": (("SEARCH", "search"), ("SEARCH", "search_start"), ("TO", "search_end"), ("REPLACE", "replace")),
}
CSL_ATTRIBUTES = {"path": "file"}
CML_TEXTS = ("search", "search_start", "search_end", "replace")
CDATA_SPLIT = "]]]]><![CDATA[&gt;"  # a literal ]]&gt;, over two sections
TOML_LITERAL = "'''"
TOML_LONG = ("text", "lines", "objects")  # kinds of fields that come last


def _without_defaults(item: Operation) -> dict[str, Any]:
    """Return the fields of an operation without those that every reader fills in by itself."""
    defaults = (("append", False), ("count", 1))
    return {name: value for name, value in item.values().items() if (name, value) not in defaults}


def _json_fields(item: Operation) -> dict[str, Any]:
    """Return an operation as JSON and TOML have it."""
    values = _without_defaults(item)
    if "hunks" in values:
        values["hunks"] = [
            {name: value for name, value in hunk.items() if name != "line"} for hunk in values["hunks"]
        ]
    return {"action": item.name, **values}


def _attribute_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Marked:
    """A notation that puts operations between an opening and a closing tag or marker."""

    versions: tuple[str, ...] = BLOCK_VERSIONS
    opening, closing = "", ""  # of a block

    def document(self, blocks: Sequence[WrittenBlock]) -> str:
        """Return a document of these blocks."""
        return "\n".join(map(self._block, blocks))

    def _block(self, block: WrittenBlock) -> str:
        inside = "".join(block.operations)
        if block.implicit:
            return inside
        version = f' version="{block.version}"' if block.version in self.versions else ""
        atomic = ' atomic="true"' if block.atomic else ""
        return self.opening.format(version + atomic) + inside + self.closing


class Csl(_Marked):
    """Nothing is escaped in content: a content that has a marker in it cannot be expressed."""

    versions = CSL_VERSIONS
    opening, closing = MARKER.format("TASKS{}"), MARKER.format("END")

    def operation(self, item: Operation) -> str:
        """Return an operation; files are moved and removed by commands."""
        values = _without_defaults(item)
        if item.name == "move":
            if values["to"].endswith("/"):
                raise CannotSayError  # the tree decides whether it is moved into that directory
            folder = values["to"].rpartition("/")[0]
            made = f"mkdir -p {quote_word(folder)}\n" if folder else ""
            moved = f"mv -- {quote_word(values['from'].rstrip('/'))} {quote_word(values['to'])}"
            return self._text("run", {"command": made + moved})
        if item.name == "remove":
            return self._text("run", {"command": f"rm -r -- {quote_word(values['path'].rstrip('/'))}"})
        if item.name not in CSL_TEXTS or "hunks" in values or "insert_line" in values:
            raise CannotSayError
        if item.name == "write" and values["content"] and not values["content"].endswith("\n"):
            values["final_newline"] = False
        return self._text(item.name, values)

    def _text(self, name: str, values: Mapping[str, Any]) -> str:
        texts = [(marker, values[field]) for marker, field in CSL_TEXTS[name] if field in values]
        fields = {field for _marker, field in CSL_TEXTS[name]}
        attributes = ""
        for key, value in values.items():
            if key not in fields:
                quoted = _attribute_text(value).replace("\\", "\\\\").replace('"', '\\"')
                attributes += f' {CSL_ATTRIBUTES.get(key, key)}="{quoted}"'
        if not texts:  # a READ, which has no END
            return MARKER.format(f"{name.upper()}{attributes}")
        if texts[0][0] in MAY_BE_LITERAL and f"\n{START_DELIMITER}" in f"\n{texts[0][1]}":
            attributes += f' {LITERAL}="true"'
        written = [
            MARKER.format(marker + ("" if index else attributes)) + (f"{text}\n" if text else "")
            for index, (marker, text) in enumerate(texts)
        ]
        return "".join(written) + self.closing


class Cml(_Marked):
    """XML cannot express control characters, and CML cannot express an empty replacement."""

    opening, closing = "<tasks{}>\n", "</tasks>\n"

    def operation(self, item: Operation) -> str:
        """Return an operation."""
        values = _without_defaults(item)
        if "hunks" in values or "insert_line" in values or ("replace" in values and not values["replace"]):
            raise CannotSayError
        inside = ""
        if item.name in ("write", "run"):
            inside = _cdata(values.pop("content" if item.name == "write" else "command"))
        elif item.name == "edit":
            texts = [(name.replace("_", "-"), values.pop(name)) for name in CML_TEXTS if name in values]
            inside = "".join(f"\n<{name}>{_cdata(text)}</{name}>" for name, text in texts) + "\n"
        attributes = "".join(f' {name}="{_xml_escape(value)}"' for name, value in values.items())
        end = f">{inside}</{item.name}>\n" if inside else "/>\n"
        return f"<{item.name}{attributes}{end}"


def _xml_escape(value: object) -> str:
    text = _attribute_text(value)
    for char, name in (("&", "amp"), ("<", "lt"), ('"', "quot")):
        text = text.replace(char, f"&{name};")
    return text


def _cdata(text: str) -> str:
    if not text:
        return ""
    pieces = [piece.replace("]]>", "]]&gt;") for piece in text.split("]]&gt;")]
    return f"<![CDATA[{CDATA_SPLIT.join(pieces)}]]>"


class Json:
    """Each block has a list of its own."""

    def operation(self, item: Operation) -> str:
        """Return an operation."""
        return json.dumps(_json_fields(item), ensure_ascii=False)

    def document(self, blocks: Sequence[WrittenBlock]) -> str:
        """Return a document of these blocks."""
        texts = []
        for block in blocks:
            version = f'"version": "{block.version}", ' if block.version in BLOCK_VERSIONS else ""
            atomic = '"atomic": true, ' if block.atomic else ""
            tasks = ",\n".join(f"  {text}" for text in block.operations)
            texts.append(f'{{{version}{atomic}"tasks": [\n{tasks}\n]}}')
        return f"{texts[0]}\n" if len(texts) == 1 else "[\n" + ",\n".join(texts) + "\n]\n"


class Toml:
    """Texts of several lines are in literal quotes, if possible."""

    def operation(self, item: Operation) -> str:
        """Return the keys of an operation; its header is written with its block."""
        texts = {field.name for field in item.fields if field.kind in TOML_LONG}
        # If a document without a fence is cut off, keys that change the meaning of a text must come before
        # it.
        fields = sorted(_json_fields(item).items(), key=lambda field: field[0] in texts)
        return "".join(f"{name} = {_toml_value(value)}\n" for name, value in fields)

    def document(self, blocks: Sequence[WrittenBlock]) -> str:
        """Return a document of these blocks: standalone tasks, or all in blocks."""
        written = []
        if all(block.implicit for block in blocks):
            written = [f"[[task]]\n{text}" for block in blocks for text in block.operations]
        else:
            for block in blocks:
                version = f'version = "{block.version}"\n' if block.version in BLOCK_VERSIONS else ""
                atomic = "atomic = true\n" if block.atomic else ""
                tasks = "\n".join(f"[[tasks.task]]\n{text}" for text in block.operations)
                written.append(f"[[tasks]]\n{version}{atomic}\n{tasks}")
        return "\n".join([*written, "# end\n"])


def _toml_value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_toml_basic(each)}' for name, each in value.items())}}}"
    if isinstance(value, str) and "\n" in value:
        printable = all(char in "\n\t" or (char >= " " and char != "\x7f") for char in value)
        if printable and TOML_LITERAL not in value and not value.endswith("'"):
            return f"{TOML_LITERAL}\n{value}{TOML_LITERAL}"
    return _toml_basic(value)


def _toml_basic(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
