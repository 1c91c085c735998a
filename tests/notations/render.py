"""Writes blocks of operations in each notation, so that reading them back can be compared."""

from __future__ import annotations

import json
from typing import Any

Block = tuple[bool, list[dict[str, Any]]]  # standalone?, operations with `action` and their fields


def csl(blocks: list[Block]) -> str:
    """Render as CSL, which has no move and remove, with prose in between."""
    texts = []
    for implicit, operations in blocks:
        inside = "\nprose\n".join(map(_csl_operation, operations))
        texts.append(inside if implicit else f"<---TASKS--->\n{inside}\n<---END--->")
    return "Prose first.\n" + "\n\nMore prose.\n".join(texts) + "\n"


def _csl_operation(fields: dict[str, Any]) -> str:
    action = fields["action"]
    if action == "write":
        append = ' append="true"' if fields["append"] else ""
        attributes = f'file={_quoted(fields["path"])}{append} literal="true"'
        return f"<---WRITE {attributes}--->\n{_lines(fields['content'])}<---END--->"
    if action == "run":
        folder = f" dir={_quoted(fields['dir'])}" if "dir" in fields else ""
        return f'<---RUN{folder} literal="true"--->\n{_lines(fields["command"])}<---END--->'
    search = fields["search" if "search" in fields else "search_start"]
    to = f"<---TO--->\n{_lines(fields['search_end'])}" if "search_end" in fields else ""
    return (
        f'<---SEARCH file={_quoted(fields["path"])} count = "{fields["count"]}"--->\n{_lines(search)}{to}'
        f"<---REPLACE--->\n{_lines(fields['replace'])}<---END--->"
    )


def _lines(text: str) -> str:
    """Return content as lines: what is joined by LF between the markers."""
    return f"{text}\n" if text else ""


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def cml(blocks: list[Block]) -> str:
    """Render as CML."""
    texts = []
    for implicit, operations in blocks:
        inside = "\n".join(map(_cml_operation, operations))
        texts.append(inside if implicit else f'<tasks version="1.1">\n{inside}\n</tasks>')
    return "Prose with a < and an & in it.\n" + "\nMore <prose>.\n".join(texts) + "\n"


def _cml_operation(fields: dict[str, Any]) -> str:
    action = fields["action"]
    if action in ("move", "remove"):
        names = ("from", "to") if action == "move" else ("path",)
        return f"  <{action}{_attributes(fields, *names)}/>"
    if action == "write":
        append = ' append="true"' if fields["append"] else ""
        return f"  <write{_attributes(fields, 'path')}{append}>{_cdata(fields['content'])}</write>"
    if action == "run":
        return f"<run{_attributes(fields, 'dir')}>{_cdata(fields['command'])}</run>"
    parts = "".join(
        f"\n<{name.replace('_', '-')}>{_cdata(fields[name])}</{name.replace('_', '-')}>"
        for name in ("search", "search_start", "search_end", "replace")
        if name in fields
    )
    return f"<edit{_attributes(fields, 'path', 'count')}>{parts}\n</edit>"


def _attributes(fields: dict[str, Any], *names: str) -> str:
    shown = {name: str(fields[name]) for name in names if name in fields}
    return "".join(
        f' {name}="{value.replace("&", "&amp;").replace("<", "&lt;").replace(chr(34), "&quot;")}"'
        for name, value in shown.items()
    )


def _cdata(text: str) -> str:
    text = text.replace("]]&gt;", "]]]]><![CDATA[&gt;")  # so that it is not taken for an escape
    return f"<![CDATA[{_escape_ends(text)}]]>"


def _escape_ends(text: str) -> str:
    parts = text.split("]]]]><![CDATA[&gt;")
    return "]]]]><![CDATA[&gt;".join(part.replace("]]>", "]]&gt;") for part in parts)


def json_blocks(blocks: list[Block]) -> str:
    """Render as JSON, which has no standalone operations, in a fence."""
    text = json.dumps([{"tasks": operations} for _, operations in blocks], indent=1)
    return f"Here it is:\n\n```json\n{text}\n```\nDone.\n"


def toml(blocks: list[Block]) -> str:
    """Render as TOML: all blocks, or all standalone."""
    standalone = all(implicit for implicit, _ in blocks)
    lines = []
    for _, operations in blocks:
        if not standalone:
            lines.append("[[tasks]]")
        for fields in operations:
            lines.append("[[task]]" if standalone else "[[tasks.task]]")
            lines += [f"{name} = {_toml_value(value)}" for name, value in fields.items()]
    return "```toml\n" + "\n".join(lines) + "\n```\n"


def _toml_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
