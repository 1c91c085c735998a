"""calls: the tool calls of Anthropic's, OpenAI's and Google's messages, and of agents' logs, in JSON.

    document = JSON, or one value of it a line: the whole text, or its only fence
    wrappers = choices[].message  candidates[].content  messages[]  content[]  parts[]  output[]  payload
    call     = {"type": "tool_use", "name", "input"}                            Anthropic, Claude Code
             | {"type": "toolCall", "name", "arguments"}                        pi
             | tool_calls[] {"function": {"name", "arguments": "…"}} | function_call {"name", …}
             | {"type": "function_call", "name", "arguments": "…"}              OpenAI's responses, codex
             | {"type": "custom_tool_call", "name", "input": "…"}
             | {"type": "local_shell_call", "action": {"command": […]}}
             | {"type": "apply_patch_call", "operation": {"type", "path", "diff"}}
             | {"functionCall": {"name", "args"}}                               Google
             | {"name" or "tool", "arguments", "parameters", "input" or "args"} of a tool that is known
             | {"command": "str_replace", "create" or "insert", "path", …} | {"path", "edits": […]}
             | {"file_path", "old_string", "new_string", …}

The calls of a message are one block. Only those of the assistant count, and none whose result was an error;
of a session that was forked (see `conversations`) those of the last branch. `tools` makes the operations; the
`cwd` of a log says where absolute paths begin. A trajectory of SWE-agent's is named, and not carried out.
"""

from __future__ import annotations

import re
from itertools import islice

from clada.notations.json_values import read_values
from clada.notations.markdown import fences
from clada.notations.reading import Reading, UnreadableError
from clada.notations.structured import CUT, MalformedError
from clada.notations.toolcalls.conversations import Log
from clada.notations.toolcalls.tools import EDITOR_COMMANDS, TOOLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.notations.json_values import PlacedValue

TRAJECTORY = "this is a SWE-agent trajectory, which clada does not replay: send the diff in info.submission"
SMALL = 1 << 16  # bytes of a document that is read to tell whether there is a call in it
_TYPES = ("tool_use", "toolCall", "function_call", "custom_tool_call", "local_shell_call", "apply_patch_call")
_INFOS = ("", *"json jsonl ndjson json5 jsonc tool_call tool_code tool_use text txt".split())
_SIGN = re.compile(
    rb'"(?:type"\s*+:\s*+"(?:' + "|".join(_TYPES).encode() + rb')"'
    rb'|(?:tool_calls|function_call|functionCall|trajectory)"\s*+:\s*+[\[{]'
    rb'|(?:name|tool)"\s*+:\s*+"(?:[\w.-]*[._])?(?:' + "|".join(TOOLS).encode() + rb')"'
    rb'|(?:old_string|edits)"\s*+:|command"\s*+:\s*+"(?:'
    + "|".join(sorted(EDITOR_COMMANDS)).encode()
    + rb')")'
)


class Blocks:
    """Finds the one value, or log, of a document, and reads the calls in it."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._looked = False
        self._found: tuple[int, int, int, int] | None = None  # all of it, and the JSON in it

    def next(self, at: int) -> int | None:
        """Return where the JSON starts, or its fence, if there is a call in it."""
        if not self._looked:
            self._looked, self._found = True, self._region()
        return self._found[0] if self._found and self._found[0] >= at else None

    def read(self, _at: int, _floor: int) -> int:
        """Read all calls; return where the JSON ends, or its fence."""
        whole, start, end, stop = self._found or (0, 0, 0, 0)
        log = Log(self.reading, whole, stop)
        taken: list[PlacedValue] = []
        try:
            taken += read_values(self.reading.data, start, end)
        except MalformedError as error:
            log.take_all(taken)
            log.finish(complete=False)
            raise UnreadableError(error.offset, error.message, cut=error.why == CUT) from None
        log.take_all(taken)
        if log.trajectory is not None:
            raise UnreadableError(log.trajectory, TRAJECTORY)
        log.finish()
        return stop

    def _region(self) -> tuple[int, int, int, int] | None:
        """Return where the JSON is: from where to where, with its fence and without."""
        data, start, end = self.reading.data, self.reading.start, self.reading.end
        if not _SIGN.search(data, start, end):
            return None
        first = start
        while data[first : first + 1].isspace() and first < end:
            first += 1
        if data[first : first + 1] in (b"{", b"["):
            region = (first, first, end, end)
        else:
            fence, *others = [*islice(fences(data, start, end), 2)] or (None,)
            if not fence or others or fence.info.lower() not in _INFOS:
                return None
            if not _SIGN.search(data, fence.inside, fence.inside_end):
                return None
            region = (fence.start, fence.inside, fence.inside_end, fence.end)
            if data[fence.inside : fence.inside_end].lstrip()[:1] not in (b"{", b"["):
                return None
        return region if region[2] - region[1] > SMALL or self._has_calls(region[1], region[2]) else None

    def _has_calls(self, start: int, end: int) -> bool:
        """Whether there is a call in the JSON; also if it cannot be read, so that the error is reported."""
        log = Log(Reading(self.reading.data), start, end)
        try:
            log.take_all(list(read_values(self.reading.data, start, end)))
        except MalformedError:
            return True
        return bool(log.calls) or log.trajectory is not None
