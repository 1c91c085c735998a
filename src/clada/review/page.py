"""A plan as a page: what is shown of it as JSON, and the page around that, in one HTML text.

Nothing of an answer or a file is ever written as markup: all of it is JSON, in a data block that no browser
executes, and the script of the page puts it in as text. The page has our own style and script in it, and its
policy allows these two alone, by their hashes.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

import clada
from clada.selection import mask_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.selection import Preview

AT_ONCE = 40  # operations whose diffs are in the page itself; those of others are asked for
MOST_PROSE = 4000  # characters beside one operation
FENCES = (b"```", b"~~~")
# What notations have around their operations, on a line of its own: it is not what the answer says.
MARKUP = re.compile(r'[\s\[\]{},:]*("?tasks?"?[\s\[\]{},:]*)?|\s*</?[a-zA-Z][^<>]*>\s*')


class Shown:
    """A plan, what its dry run says of each operation, and what a page shows of that."""

    def __init__(self, plan: clada.Plan, report: clada.Report, previews: Sequence[Preview]) -> None:
        self.plan, self.report, self.previews = plan, report, previews

    def overview(self, start_delimiter: str, **more: Any) -> dict[str, Any]:
        """Return what the page has from the start: all but the diffs, and the first of these."""
        items = [item for block in self.plan.blocks for item in block.operations]
        proses = list(_proses(self.plan, start_delimiter))
        fatal = self.report.fatal
        return {
            **more,
            "notation": self.plan.notation,
            "fatal": fatal.sentence if fatal else None,
            # For a model that can mend its answer; another refusal is not the model's to mend.
            "for_llm": self.report.text(for_llm=True) if self._is_for_the_model else None,
            "not_applied": [each.text for each in self.report.not_applied],
            "notes": list(self.report.notes),
            "operations": [
                {
                    **task_dict(preview.task),
                    **_of_item(item),
                    "lacking": getattr(preview.task.outcome, "needs_approval", None),
                    "invalid": preview.task.invalid,
                    # Also what would fail: the report says why. Only what a person takes out is not wanted.
                    "taken": not preview.task.invalid,
                    "prose": prose,
                    **_size(preview),
                }
                for item, preview, prose in zip(items, self.previews, proses[:-1], strict=True)
            ]
            if self.previews
            else [],
            "closing": proses[-1],
            "diffs": self.diffs(0, AT_ONCE),
        }

    @property
    def _is_for_the_model(self) -> bool:
        """Whether only another answer helps: this one cannot be read, or has no operations."""
        return bool(self.plan.fatal or (self.plan.source.strip() and not self.plan.has_operations))

    def diffs(self, start: int, end: int) -> dict[int, list[list[str]]]:
        """Return the hunks of these operations, each as the lines of a diff, its header first."""
        mask = mask_of(self.report)
        return {
            preview.task.index: [[mask(text) for _kind, text in hunk.lines] for hunk in preview.hunks]
            for preview in self.previews[start:end]
        }


def task_dict(task: clada.Task) -> dict[str, Any]:
    """Return a task as the report in JSON has it."""
    block = clada.BlockReport(0, task.label, True, True, (task,))
    shown: dict[str, Any] = clada.Report(None, (block,)).to_dict()["blocks"][0]["tasks"][0]
    return shown


def _of_item(item: clada.Operation | clada.Invalid) -> dict[str, Any]:
    if not isinstance(item, clada.Run):
        return {"command": None, "dir": None}
    return {"command": item.command, "dir": item.dir}


def _size(preview: Preview) -> dict[str, int]:
    """Return how long the diff of an operation is, so that its place can be kept."""
    kinds = [kind for hunk in preview.hunks for kind, _text in hunk.lines]
    return {
        "hunks": len(preview.hunks),
        "rows": len(kinds),
        "added": kinds.count("added"),
        "removed": kinds.count("removed"),
    }


def _proses(plan: clada.Plan, start_delimiter: str) -> Iterator[str]:
    """Yield what the answer says before each operation, and after the last."""
    at, in_fence = 0, False
    for item in [item for block in plan.blocks for item in block.operations]:
        start, end = item.span
        prose, in_fence = _prose(plan.source[at:start], start_delimiter, in_fence=in_fence)
        said, _, last = prose.rpartition("\n")
        is_name = last.strip("*`#: ") == item.target  # of the file, right above its content
        yield (said if is_name else prose).strip()[:MOST_PROSE]
        lines = plan.source[start:end].strip().splitlines() or [b""]
        if lines[0].startswith(FENCES):  # it may hold its fence, or the beginning of it
            in_fence = not lines[-1].startswith(FENCES)
        at = max(at, end)
    yield _prose(plan.source[at:], start_delimiter, in_fence=in_fence)[0][:MOST_PROSE]


def _prose(data: bytes, start_delimiter: str, *, in_fence: bool) -> tuple[str, bool]:
    """Return what is said between two operations, and whether it ends inside a fence.

    A fence that is open at either end is that of an operation.
    """
    kept: list[str] = []
    fenced: list[str] = []
    is_own = False  # the fence is all here
    for line in data.decode(errors="replace").splitlines():
        if line.lstrip().encode().startswith(FENCES):
            kept += fenced if is_own else []
            fenced, in_fence = [], not in_fence
            is_own = in_fence
        elif in_fence:
            fenced.append(f"    {line}")
        elif not line.startswith(start_delimiter) and (not line.strip() or not MARKUP.fullmatch(line)):
            kept.append(line)
    return "\n".join(kept).strip(), in_fence


# The page.


@cache
def _static(name: str) -> str:
    return (files("clada.review") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def policy(*, connects: bool, script: str = "", style: str = "") -> str:
    """Return what a page may load and run: its own style and script; and, if served, what its server says."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script or _static('review.js'))}",
            f"style-src {_hash(style or _static('review.css'))}",
            *(["connect-src 'self'"] if connects else []),
            "img-src data:",  # for the icon that there is not
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def as_json(value: Any) -> str:
    """Return a value as JSON that is safe inside an element of HTML: nothing in it can end that."""
    text = json.dumps(value, separators=(",", ":"))  # in ASCII
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page(data: dict[str, Any], *, served: bool) -> str:
    """Return the page with this data: to be served, or to be kept as a file."""
    meta = "" if served else f'<meta http-equiv="Content-Security-Policy" content="{policy(connects=False)}">'
    parts = {
        "policy": meta,
        "style": _static("review.css"),
        "data": as_json(data),
        "script": _static("review.js"),
    }
    # One pass: what is put in is not looked through for marks of its own.
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _static("review.html"))


def exported(shown: Shown, **more: Any) -> str:
    """Return one HTML file with all of a plan in it, to be attached to a ticket, say."""
    overview = shown.overview(**more, live=False)
    return page({**overview, "diffs": shown.diffs(0, len(shown.previews))}, served=False)
