"""Writes the change from one tree to another in each dialect, so that carrying it out can be compared."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Tree = dict[str, str]  # contents by paths; each is empty or ends in a line break


def sr(before: Tree, after: Tree) -> str:
    """Render as search/replace blocks: of all lines of a file, with markers that it has not."""
    parts = ["Some prose first.\n"]
    for path, new in after.items():
        old = before.get(path, "")
        if path not in before or (old != new and not old):
            parts.append(_block(path, "", new))
        elif old != new:
            parts.append(_block(path, old, new))
    return "\n".join(parts)


def _block(path: str, old: str, new: str) -> str:
    return f"`{path}`\n````\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n````\n"


def v4a(before: Tree, after: Tree) -> str:
    """Render as one patch."""
    return "".join(["Fine.\n\n*** Begin Patch\n", *_sections(before, after), "*** End Patch\n"])


def _sections(before: Tree, after: Tree) -> Iterator[str]:
    for path in before.keys() | after.keys():
        old, new = before.get(path), after.get(path)
        if new is None:
            yield f"*** Delete File: {path}\n"
        elif old is None:
            yield f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in new.splitlines())
        elif old != new:
            yield f"*** Update File: {path}\n@@\n"
            yield from _whole(old, new)


def _whole(old: str, new: str) -> Iterator[str]:
    """Yield one hunk with all lines of both."""
    for line in difflib.ndiff(old.splitlines(), new.splitlines()):
        if not line.startswith("?"):
            yield f"{line[0]}{line[2:]}\n"


def udiff(before: Tree, after: Tree) -> str:
    """Render as a unified diff with context around each change, in a fence of its own."""
    parts = []
    for path in before.keys() | after.keys():
        old, new = before.get(path), after.get(path)
        if old is None and new == "":
            parts.append(f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex 0000000..e69de29\n")
        elif old == "" and new is None:
            parts.append(f"diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex e69de29..0000000\n")
        elif old != new:
            names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
            lines = ((old or "").splitlines(), (new or "").splitlines())
            parts.append("".join(f"{line}\n" for line in difflib.unified_diff(*lines, *names, lineterm="")))
    return f"The diff:\n\n````diff\n{''.join(parts)}````\n"


def calls(before: Tree, after: Tree) -> str:
    """Render as a message with calls of tools: edits of whole texts, writes and deletions."""
    made = [
        *({"name": "delete_file", "input": {"path": path}} for path in before.keys() - after.keys()),
        *({"name": name, "input": values} for name, values in _changes(before, after)),
    ]
    content = [{"type": "tool_use", "id": f"t{number}", **call} for number, call in enumerate(made)]
    return json.dumps({"role": "assistant", "content": content}, indent=len(made))


def _changes(before: Tree, after: Tree) -> Iterator[tuple[str, Tree]]:
    for path, new in after.items():
        old = before.get(path)
        if old and old != new:
            yield "Edit", {"file_path": path, "old_string": old, "new_string": new}
        elif old != new:
            yield "Write", {"file_path": path, "content": new}


def tags(before: Tree, after: Tree) -> str:
    """Render as tools of Roo's; sections of CDATA keep what looks like a fence."""
    return "\n".join(
        f"<write_to_file>\n<path>{path}</path>\n<content>\n<![CDATA[\n{new}\n]]>\n</content>\n</write_to_file>"
        for path, new in after.items()
        if before.get(path) != new
    )


def artifact(before: Tree, after: Tree) -> str:
    """Render as elements of dyad's."""
    parts = [f'<dyad-delete path="{path}"></dyad-delete>\n' for path in before.keys() - after.keys()]
    for path, new in after.items():
        if before.get(path) != new:
            parts.append(f'<dyad-write path="{path}">\n<![CDATA[\n{new}\n]]>\n</dyad-write>\n')
    return "Some prose.\n" + "\n".join(parts)


def nesl(before: Tree, after: Tree) -> str:
    """Render as blocks, with here-documents where they can tell a text, and strings where not."""
    blocks = [{"action": "delete_file", "path": path} for path in before.keys() - after.keys()]
    for path, new in after.items():
        old = before.get(path)
        if old and old != new:
            blocks.append({"action": "replace_text_in_file", "path": path, "old_text": old, "new_text": new})
        elif old != new:
            blocks.append({"action": "write_file", "path": path, "content": new})
    return "\n".join(f"#!nesl [@three-char-SHA-256: q8z]\n{_members(block)}#!end_q8z" for block in blocks)


def _members(block: Tree) -> str:
    texts = {
        key: f"<<'EOT_q8z'\n{value}\nEOT_q8z" if "\n" in value else json.dumps(value)
        for key, value in block.items()
    }
    return "".join(f"{key} = {text}\n" for key, text in texts.items())


def whole(before: Tree, after: Tree) -> str:
    """Render all files that differ, each in a fence that is longer than any in it."""
    changed = {path: new for path, new in after.items() if before.get(path) != new}
    return "\n".join(f"### `{path}`\n\n````\n{new}````\n" for path, new in changed.items())


def heredoc(before: Tree, after: Tree) -> str:
    """Render all files that differ as commands of one fence."""
    changed = {path: new for path, new in after.items() if before.get(path) != new}
    commands = "".join(f"cat > '{path}' <<'THE_END'\n{new}THE_END\n" for path, new in changed.items())
    return f"Run this:\n\n````bash\n{commands}````\n"


NO_DELETIONS = ("sr", "tags", "whole", "heredoc")  # cannot delete a file
RENDERERS: dict[str, Callable[[Tree, Tree], str]] = {
    "sr": sr, "v4a": v4a, "udiff": udiff, "calls": calls, "tags": tags, "artifact": artifact, "nesl": nesl,
    "whole": whole, "heredoc": heredoc,
}  # fmt: skip
