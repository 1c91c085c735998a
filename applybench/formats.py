"""The formats in which models write edits, as plain templates.

A format returns None where it cannot express an edit: a marker of its own among the lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from applybench.hunks import Hunk

# How a unified diff gives the places of its hunks.
RIGHT, WRONG_STARTS, WRONG_COUNTS, NO_NUMBERS = "right", "wrong starts", "wrong counts", "none"


@dataclass(frozen=True)
class Edit:
    """An edit of one file, before it is written in a format."""

    path: str
    hunks: Sequence[Hunk]
    texts: tuple[str, ...] = ()  # whole contents of the file; more than one only by mistake
    numbers: str = RIGHT
    chance: Random = field(default_factory=lambda: Random(0))

    def with_hunks(self, hunks: Sequence[Hunk]) -> Edit:
        """Return the same edit with other hunks."""
        return replace(self, hunks=hunks)


def search_replace(edit: Edit) -> str | None:
    """Write blocks as aider's prompts ask for them: path, fence, SEARCH, REPLACE."""
    if any(re.match("[<=>]{5,9}", text) for hunk in edit.hunks for _, text in hunk.lines):
        return None
    fence = _fence(text for hunk in edit.hunks for _, text in hunk.lines)
    opening = fence + _language(edit.path)
    blocks = (
        [edit.path, opening, "<<<<<<< SEARCH", *hunk.old, "=======", *hunk.new, ">>>>>>> REPLACE", fence]
        for hunk in edit.hunks
    )
    return "\n".join("\n".join(block) + "\n" for block in blocks)


def v4a(edit: Edit) -> str | None:
    """Write a patch as OpenAI's models do."""
    lines = ["*** Begin Patch", f"*** Update File: {edit.path}"]
    for hunk in edit.hunks:
        header = _diff_header(hunk, edit) if edit.numbers != RIGHT else "@@"
        lines += [header, *(sign + text for sign, text in hunk.lines)]
    return "\n".join([*lines, "*** End Patch"]) + "\n"


def unified_diff(edit: Edit) -> str | None:
    """Write a unified diff as git does, without the index line."""
    lines = [f"--- a/{edit.path}", f"+++ b/{edit.path}"]
    for hunk in edit.hunks:
        lines += [_diff_header(hunk, edit), *(sign + text for sign, text in hunk.lines)]
    return "\n".join(lines) + "\n"


def whole_file(edit: Edit) -> str | None:
    """Write the path and the whole file in a fence."""
    blocks = []
    for text in edit.texts:
        fence = _fence(text.split("\n"))
        blocks.append(f"{edit.path}\n{fence}{_language(edit.path)}\n{text}{fence}\n")
    return "\n".join(blocks)


def csl(edit: Edit) -> str | None:
    """Write Clada's search markers."""
    if any(text.startswith("<---") for hunk in edit.hunks for _, text in hunk.lines):
        return None
    blocks = (
        [f'<---SEARCH file="{edit.path}"--->', *hunk.old, "<---REPLACE--->", *hunk.new, "<---END--->"]
        for hunk in edit.hunks
    )
    return "\n".join("\n".join(block) + "\n" for block in blocks)


def claude_edit(edit: Edit) -> str | None:
    """Write a message with a call of Claude's Edit tool for each hunk."""
    calls = [
        {
            "type": "tool_use",
            "id": f"toolu_{index:02}",
            "name": "Edit",
            "input": {"file_path": edit.path, **texts},
        }
        for index, texts in enumerate(_texts(edit, "old_string", "new_string"))
    ]
    return json.dumps({"role": "assistant", "content": calls}, indent=1, ensure_ascii=False) + "\n"


def mcp_edit(edit: Edit) -> str | None:
    """Write one call of the MCP file system server's edit_file."""
    arguments = {"path": edit.path, "edits": _texts(edit, "oldText", "newText")}
    return json.dumps({"name": "edit_file", "arguments": arguments}, indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Edit], str | None]] = {
    "search/replace": search_replace,
    "V4A": v4a,
    "unified diff": unified_diff,
    "whole file": whole_file,
    "CSL": csl,
    "Edit call": claude_edit,
    "MCP edit_file": mcp_edit,
}
CALLS = {"Edit call", "MCP edit_file"}
HUNKS = set(FORMATS) - {"whole file"}

_LANGUAGES = {"py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "md": "markdown"}


def _texts(edit: Edit, old: str, new: str) -> list[dict[str, str]]:
    return [{old: "\n".join(hunk.old), new: "\n".join(hunk.new)} for hunk in edit.hunks]


def _language(path: str) -> str:
    suffix = path.rpartition(".")[2]
    return _LANGUAGES.get(suffix, suffix)


def _fence(lines: Iterable[str]) -> str:
    """Return a fence that no line closes."""
    runs = [len(match[0]) for line in lines if (match := re.match("`{3,}", line.strip()))]
    return "`" * max(3, 1 + max(runs, default=0))


def _diff_header(hunk: Hunk, edit: Edit) -> str:
    old, new = len(hunk.old), len(hunk.new)
    start, new_start = hunk.start + (old > 0), hunk.new_start + (new > 0)
    if edit.numbers == NO_NUMBERS:
        return "@@ ... @@"
    if edit.numbers == WRONG_STARTS:
        off = edit.chance.choice([-1, 1]) * edit.chance.randint(2, 60)
        start, new_start = max(1, start + off), max(1, new_start + off)
    if edit.numbers == WRONG_COUNTS:
        old, new = old + edit.chance.randint(1, 4), max(0, new + edit.chance.randint(-4, 4))
    return f"@@ -{start},{old} +{new_start},{new} @@"
