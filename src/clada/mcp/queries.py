"""The tools that change nothing: read, search, history."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import clada
from clada.mcp.results import answer, cut, failed

if TYPE_CHECKING:
    from clada.mcp.changes import Answer, Arguments, Responses
    from clada.mcp.run import ToolCall

RANGE = re.compile(r"(.+?)(?::([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?)?", re.DOTALL)  # path:10-60
PATIENCE = 20  # seconds for a regular expression
TOO_LONG = f"the regular expression took more than {PATIENCE} seconds; search for a text, or for less"
# A regular expression can take for ever, and no thread can be ended: it is tried in a process of its own.
SEARCH_PROCESS = """\
import json, sys, clada
given = json.load(sys.stdin)
try:
    found = clada.search(**given)
    answer = {"lines": [[each.path, each.line, each.text] for each in found.matches], "more": found.is_cut}
except (ValueError, clada.CladaError) as error:
    answer = {"error": str(error)}
json.dump(answer, sys.stdout)
"""


async def read(call: ToolCall, given: Arguments, _responses: Responses) -> Answer:
    """Return the content of files, or of some of their lines."""
    settings = call.workspace.settings

    def work(_stop: clada.Stop) -> Answer:
        parts, missing = [], []
        for asked in given["paths"]:
            path, first, last = RANGE.fullmatch(asked).groups()  # type: ignore[union-attr]  # it matches all
            found = clada.read(
                [path],
                workspace=settings.workspace,
                reveal=settings.reveal,
                remember=settings.record != "none",
            )
            parts += [_shown(file, int(first or 1), int(last or first or 0)) for file in found.files]
            missing += [f"{clada.visible(name)} is not shown: {why}\n" for name, why in found.left_out]
        text = cut("".join([*parts, *missing]) or "There is no such file.\n")
        return answer(text, ok=bool(parts))

    return await call.look(work)


def _shown(file: clada.PackedFile, first: int, last: int) -> str:
    """Return lines of a file under its path; `last` 0 is the end of the file."""
    lines = file.content.decode().splitlines(keepends=True)
    chosen = lines[first - 1 : last or None]
    of = f" (lines {first}-{first + len(chosen) - 1} of {len(lines)})" if len(chosen) < len(lines) else ""
    text = "".join(chosen)
    ending = (
        "" if text.endswith("\n") else "\n[no line break at the end of the file]\n" if text else "[empty]\n"
    )
    return f"==> {clada.visible(file.path)}{of} <==\n{text}{ending}"


async def search(call: ToolCall, given: Arguments, _responses: Responses) -> Answer:
    """Find lines in files."""
    settings = call.workspace.settings
    asked = {**given, "workspace": settings.workspace, "reveal": list(settings.reveal)}

    def work(_stop: clada.Stop) -> Answer:
        command = [sys.executable, "-P", "-c", SEARCH_PROCESS]
        try:
            done = subprocess.run(  # noqa: S603 (our own program)
                command, input=json.dumps(asked), capture_output=True, text=True, timeout=PATIENCE, check=True
            )
        except subprocess.TimeoutExpired:
            return failed(TOO_LONG)
        found = json.loads(done.stdout)
        if "error" in found:
            return failed(found["error"])
        lines = [f"{clada.visible(path)}:{number}: {text}\n" for path, number, text in found["lines"]]
        more = "[there are more: search for something longer, or in fewer paths]\n" if found["more"] else ""
        return answer("".join(lines) + more or "No line matches.\n")

    return await call.look(work)


async def history(call: ToolCall, given: Arguments, _responses: Responses) -> Answer:
    """List the recorded runs."""

    def work(_stop: clada.Stop) -> Answer:
        runs = clada.history(call.workspace.settings.workspace)[: given.get("limit", 20)]
        lines = [f"{run.number}  {run.when}  {run.ended}  {run.what}" for run in runs]
        content: list[dict[str, Any]] = [
            {
                "run": run.number,
                "ended": run.ended,
                "what": run.what,
                **({"undoes": run.undoes} if run.undoes else {}),
            }
            for run in runs
        ]
        text = "".join(f"{clada.visible(line)}\n" for line in lines) or "No run is recorded yet.\n"
        return answer(text, {"runs": content})

    return await call.look(work)
