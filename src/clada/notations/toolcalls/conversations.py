"""Conversations with tools, as messages and logs have them: the calls that were made, and which count.

In a session's log, each record names the one that it follows:

    Claude Code: {"type": "assistant", "uuid": "b", "parentUuid": "a", …}
    pi:          {"type": "message", "id": "b", "parentId": "a", …}

If the user went back and asked again, several records follow the same one. Calls on an abandoned branch are
ignored: only the branch of the last message counts. All results count, because the parallel calls of one
message have their results on branches of their own.
"""

from __future__ import annotations

from collections import deque

from clada.notations.json_values import PlacedObject
from clada.notations.path_text import relative
from clada.notations.toolcalls.arguments import ARGUMENTS, RefusedCallError, decode_json
from clada.notations.toolcalls.tools import EDITOR_COMMANDS, KNOWN, Call, Ignored, Tools, plain_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clada.model import Invalid, Operation
    from clada.notations.json_values import PlacedValue
    from clada.notations.reading import Reading

    Items = list[Operation | Invalid]


CUT_OFF = "the message was cut off here"
# What a message that was cut off says of itself.
_CUT_REASONS = {
    "stop_reason": "max_tokens",
    "finish_reason": "length",
    "finishReason": "MAX_TOKENS",
    "stopReason": "length",
}
_WRAPPERS = frozenset(
    """
    tool_calls function_call content parts output message messages choices candidates payload
    """.split()
)
# Types of objects that hold messages, or are one. The content of an object of another type is data: results
# of tools, documents, attachments, summaries.
_CONTAINERS = frozenset(
    ("assistant", "message", "model", "response", "response_item", "response.completed", "turn", None)
)
_ITEMS = frozenset(("content", "parts"))  # of a message: texts, calls and results, and nothing around them
_WITH_RESULTS = frozenset(("message", "content", "parts", "payload"))
_TEXTS = frozenset(("text", "thinking", "input_text", "output_text", "reasoning"))
_ASSISTANT = ("assistant", "model")
_LINKS = (("uuid", "parentUuid"), ("id", "parentId"))  # of a record, and of the one that it follows
_MESSAGES = ("user", "assistant", "message")  # types of records that continue a session
_CALL_IDS = ("tool_use_id", "tool_call_id", "toolCallId")  # of the call that a result is of


class _MadeCall:
    """A call of a message: its operations, or None if it changes nothing; and what became of it."""

    def __init__(self, message: int, name: str, at: int, operations: Items | None, *, atomic: bool) -> None:
        self.message, self.name, self.at, self.operations, self.atomic = message, name, at, operations, atomic
        self.failed = self.answered = False

    @property
    def is_read(self) -> bool:
        """Whether it only shows files to the model."""
        return self.operations is not None and all(item.name == "read" for item in self.operations)


class Log:
    """The calls of a conversation so far, with its directories and results."""

    def __init__(self, reading: Reading, start: int, stop: int) -> None:
        self.reading, self._last, self._stop = reading, start, stop
        self._tools = Tools(reading)
        self.calls: list[_MadeCall] = []
        self._lines: list[int] = []  # on which the messages with calls start
        self._identity: Any = None  # of the message that a record is of
        self._last_identity: Any = None  # of the last message with calls
        self._open = False  # whether the next call is of the last message
        self._call: Call | None = None  # the last one
        self._by_id: dict[str, _MadeCall] = {}  # the last call of each id
        self._waiting: dict[str, deque[_MadeCall]] = {}  # those without, by tool: results come in their order
        self._root = self._cwd = self._base = ""  # the first working directory, the last, its relative path
        self._roots: tuple[str, ...] = ()
        self._at = self._end = 0  # of the record
        self.trajectory: int | None = None  # the offset of a SWE-agent trajectory

    def take_all(self, records: Sequence[PlacedValue]) -> None:
        """Take all values of the log that count."""
        counting, abandoned = _without_abandoned(records)
        for record in counting:
            self.take(*record)
        if abandoned:
            messages = "1 message" if abandoned == 1 else f"{abandoned} messages"
            was = "was" if abandoned == 1 else "were"
            self.reading.notes.append(f"{messages} of an abandoned branch {was} left out")

    def take(self, at: int, end: int, record: Any) -> None:
        """Take a value of the log."""
        self._at, self._end = at, end
        self._open, self._identity = False, None
        if isinstance(record, dict):
            if _is_trajectory(record):
                self.trajectory = at
            self._take_object(record, bare=True)
        elif isinstance(record, list):
            self._take_list(record, bare=True)

    def _take_object(self, value: dict[str, Any], *, bare: bool = False) -> None:
        """Take a value that may be a call, a result, a message, or a wrapper of messages."""
        kind, role = _kind_and_role(value)
        if "cwd" in value:
            self._take_cwd(value["cwd"])
        if kind == "user" or (role is not None and role not in _ASSISTANT):
            if not self._take_result(value, kind, role):
                self._take_results(value)
            return
        if kind in _TEXTS:
            return
        if kind not in _CONTAINERS or (role is None and kind != "assistant"):
            if self._take_call(value, kind, bare=bare) or self._take_result(value, kind, role):
                return
        elif role is not None:
            self._open, self._identity = False, value.get("id")
        if kind in _CONTAINERS:
            self._take_all_inner(value)
        elif isinstance(value.get("payload"), dict) and "cwd" in value["payload"]:
            self._take_cwd(value["payload"]["cwd"])

    def _take_all_inner(self, value: dict[str, Any]) -> None:
        """Take the content of a message, or of a wrapper of messages."""
        for key, inner in value.items():
            if key in _WRAPPERS:
                self._take_inner(value, key, inner)
        if self._open and self._call and any(value.get(key) == word for key, word in _CUT_REASONS.items()):
            asked, operations = (
                self._tools.operations(self._call.replace(wrong=CUT_OFF)),
                self.calls[-1].operations,
            )
            if asked and operations:
                operations[-1] = asked[0]  # not all of the last call may be there

    def _take_inner(self, value: dict[str, Any], key: str, inner: Any) -> None:
        if isinstance(inner, list) and key in _ITEMS:
            self._take_items(inner)
        elif isinstance(inner, list):
            self._take_list(inner, bare=key == "tool_calls")
        elif isinstance(inner, dict) and key == "function_call":
            self._add(value, inner.get("name"), inner.get("arguments"), value)
        elif isinstance(inner, dict):
            self._take_object(inner)

    def _take_list(self, values: list[Any], *, bare: bool = False) -> None:
        for value in values:
            if isinstance(value, dict):
                self._take_object(value, bare=bare)

    def _take_items(self, values: list[Any]) -> None:
        """Take the calls and results of a message; deeper values of its items are data."""
        for value in values:
            if isinstance(value, dict):
                kind, role = _kind_and_role(value)
                is_text = kind in _TEXTS or role not in (None, *_ASSISTANT)
                if not is_text and not self._take_call(value, kind, bare=False):
                    self._take_result(value, kind, role)

    def _take_cwd(self, cwd: Any) -> None:
        if cwd == self._cwd or not isinstance(cwd, str) or not cwd.isprintable():
            return
        self._root, self._cwd = self._root or cwd, cwd
        below = relative(cwd, (*self.reading.roots, self._root))
        self._base = "" if below == cwd else below.rstrip("/")
        self._roots = tuple(dict.fromkeys((self._root, cwd)))

    def _take_results(self, value: dict[str, Any]) -> None:
        """Look for results in a message that is not the assistant's."""
        for key, inner in value.items():
            if key in _WITH_RESULTS:
                for each in inner if isinstance(inner, list) else (inner,):
                    if not isinstance(each, dict):
                        continue
                    kind, role = _kind_and_role(each)
                    if kind not in _TEXTS and not self._take_result(each, kind, role):
                        self._take_results(each)

    def _take_result(self, value: dict[str, Any], kind: str | None, role: str | None) -> bool:
        """Take the result of a call; return whether it is one. An error unmakes the call."""
        if kind == "tool_result" or role in ("tool", "toolResult"):
            made = next((made for key in _CALL_IDS if (made := self._made_as(value.get(key)))), None)
            failed = _is_error(value)
        elif kind and kind.endswith("call_output"):
            made = self._made_as(value.get("call_id"))
            failed = _is_error(value) or (
                made is not None and made.name == "apply_patch" and _exit_code(value) != 0
            )
        elif isinstance(value.get("functionResponse"), dict):
            response = value["functionResponse"]
            identity, name = response.get("id"), response.get("name")
            waiting = self._waiting.get(name) if isinstance(name, str) else None
            made = self._made_as(identity) or (waiting.popleft() if waiting else None)
            content = response.get("response")
            failed = isinstance(content, dict) and bool(content.get("error"))
        else:
            return False
        if made:
            made.failed, made.answered = made.failed or failed, True
        self._open = False
        return True

    def _made_as(self, identity: Any) -> _MadeCall | None:
        return self._by_id.get(identity) if isinstance(identity, str) else None

    def _take_call(self, value: dict[str, Any], kind: str | None, *, bare: bool) -> bool:
        """Take a call; return whether it is one."""
        if kind in ("tool_use", "toolCall", "custom_tool_call", "function_call"):
            key = "arguments" if kind in ("toolCall", "function_call") else "input"
            self._add(value, value.get("name"), value.get(key), value)
        elif kind == "local_shell_call":
            self._add(value, "shell", value.get("action"), value)
        elif kind == "apply_patch_call":
            self._add(value, "apply_patch_call", value.get("operation"), value)
        elif bare and isinstance(value.get("function"), dict):
            self._add(value, value["function"].get("name"), value["function"].get("arguments"), value)
        elif isinstance(value.get("functionCall"), dict):
            call = value["functionCall"]
            self._add(value, call.get("name"), call.get("args"), call)
        elif bare and (named := _bare(value)):
            self._add(value, *named, value)
        else:
            return False
        return True

    def _add(self, place: dict[str, Any], name: Any, arguments: Any, value: Mapping[str, Any]) -> None:
        """Add a call to the open message; a repeated call of the same message counts once."""
        at = place.at if isinstance(place, PlacedObject) else self._at
        name = name if isinstance(name, str) else ""
        identity = value.get("call_id", value.get("id"))
        number = self._message(at)
        known = self._made_as(identity)
        if known and known.message == number and self._identity is not None:
            return
        asked = self._operations(at, name, arguments)
        is_atomic = bool(asked and len(asked) > 1 and self._call and self._tools.is_atomic(self._call))
        made = _MadeCall(number, name, at, asked, atomic=is_atomic)
        made.failed = value.get("status") in ("failed", "incomplete")
        self.calls.append(made)
        if isinstance(identity, str):
            self._by_id[identity] = made
        else:
            self._waiting.setdefault(name, deque()).append(made)

    def _message(self, at: int) -> int:
        """Return the number of the message that a call is of: a record may go on with the last one."""
        goes_on = self._identity is not None and self._identity == self._last_identity
        if not self._open and not (goes_on and self._lines):
            self._lines.append(self.reading.lines.line(at))
            self._last_identity = self._identity
        self._open = True
        return len(self._lines) - 1

    def _operations(self, at: int, name: str, arguments: Any) -> Items | None:
        """Return the operations of a call. Its span begins where the one before it ended."""
        wrong = ""
        if isinstance(arguments, str):
            arguments, wrong = _decode_arguments(name, arguments)
        span = self._last, self._end
        self._call = Call(name, arguments, at, span, self._base, self._roots, wrong)
        asked = self._tools.operations(self._call)
        if asked:
            self._last = self._end
        return asked

    def finish(self, *, complete: bool = True) -> None:
        """Add the operations of all messages but those of calls that failed, and note what is left out.

        Reads that have a result, or come before the last message, are left out: the model has gone on.
        """
        ignored: dict[str, list[int]] = {}  # by tool, where calls are that change nothing
        counting: list[list[_MadeCall]] = [[] for _ in self._lines]  # by message
        for call in self.calls:
            is_over = call.answered or call.message < len(self._lines) - 1
            if call.operations is None or (call.is_read and is_over):
                ignored.setdefault(call.name, []).extend([] if call.failed else [call.at])
            elif not call.failed:
                counting[call.message].append(call)
        for line, calls in zip(self._lines, counting, strict=True):
            items = [item for call in calls for item in call.operations or ()]
            if items:
                self.reading.complete += len(items)
                self.reading.add_block(line, items, atomic=any(call.atomic for call in calls))
        if complete:
            self._cover()
        notes = Ignored(self.reading)
        for name, places in ignored.items():
            if places:
                notes.add(name, places[0], len(places), known=plain_name(name) in KNOWN)
        failed = sum(call.failed for call in self.calls)
        if failed:
            self.reading.ignored = True
            calls_left_out = "1 call that failed was" if failed == 1 else f"{failed} calls that failed were"
            self.reading.notes.append(f"{calls_left_out} left out")

    def _cover(self) -> None:
        """Let the last operation go to the end."""
        blocks = self.reading.blocks
        if not blocks:
            return
        *others, last = blocks[-1].operations
        covering = last.replace(span=(last.span[0], self._stop))
        blocks[-1] = blocks[-1].replace(operations=(*others, covering))


def _kind_and_role(value: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the type of an object and the role of its message, if they are given."""
    kind, role = value.get("type"), value.get("role")
    return kind if isinstance(kind, str) else None, role if isinstance(role, str) else None


def _is_trajectory(value: Mapping[str, Any]) -> bool:
    """Whether a value is a .traj file of SWE-agent: actions and results, step by step."""
    steps = value.get("trajectory")
    return isinstance(steps, list) and any(
        isinstance(step, dict) and "action" in step and "observation" in step for step in steps
    )


def _is_error(value: Mapping[str, Any]) -> bool:
    """Whether a result says that its call failed."""
    output = value.get("output")
    return (
        value.get("is_error") is True
        or value.get("isError") is True
        or value.get("status") == "failed"
        or value.get("success") is False
        or (isinstance(output, dict) and _is_error(output))
    )


def _exit_code(value: Mapping[str, Any]) -> int:
    """Return the exit code in the output of a patch, as codex logs it; 0 if there is none."""
    try:
        output = decode_json(value["output"], "output")
        code = output["metadata"]["exit_code"]
    except (RefusedCallError, KeyError, TypeError):
        return 0
    return code if isinstance(code, int) else 0


def _bare(value: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the tool and the arguments of a call without a type; None if it is none for sure."""
    name = value.get("name", value.get("tool"))
    if isinstance(name, str):
        key = next((key for key in ARGUMENTS if key in value), None)
        arguments = value.get(key) if key else None
        schema = isinstance(arguments, dict) and "properties" in arguments
        return (name, arguments) if plain_name(name) in KNOWN and key and not schema else None
    if name is not None:
        return None
    if "path" in value and any(value.get("command") == command for command in EDITOR_COMMANDS):
        return "str_replace_based_edit_tool", value
    if "file_path" in value and "old_string" in value and "new_string" in value:
        return "Edit", value
    return ("edit_file", value) if "path" in value and isinstance(value.get("edits"), list) else None


def _decode_arguments(name: str, text: str) -> tuple[Any, str]:
    """Return the arguments that came as a text, and its error; a patch is an argument as it is."""
    if plain_name(name) in ("apply_patch", "patch") and not text.lstrip().startswith("{"):
        return {"input": text}, ""
    try:
        return decode_json(text, "arguments"), ""
    except RefusedCallError as refused:
        return {}, refused.message


def _without_abandoned(records: Sequence[PlacedValue]) -> tuple[list[PlacedValue], int]:
    """Return the records without the assistant's messages on abandoned branches, and how many those are.

    A log may hold several sessions, one after the other: each has its last branch.
    """
    parents: dict[str, str] = {}
    firsts: dict[str, str] = {}  # of each record, the first one of its session
    leaves: dict[str, str] = {}  # of each session, by its first record, the last message
    for _, _, value in records:
        for own, parent in _links(value):
            parents[own], firsts[own] = parent, firsts.get(parent, own)
            if value.get("type") in _MESSAGES:
                leaves[firsts[own]] = own
    kept = {own for leaf in leaves.values() for own in _ancestors(leaf, parents)}
    going_on = {
        identity for _, _, value in records for own, _ in _links(value)
        if own in kept and (identity := _message(value).get("id"))
    }  # fmt: skip
    left = [record for record in records if not _is_abandoned(record[2], kept, going_on)]
    return left, len(records) - len(left)


def _links(value: Any) -> list[tuple[str, str]]:
    """Return the id of a record and of the one that it follows; nothing if it is not linked."""
    if not isinstance(value, dict) or value.get("isSidechain") is True:  # which another agent wrote
        return []
    for own, parent in _LINKS:
        if parent in value and isinstance(value.get(own), str):
            follows = value[parent] or value.get("logicalParentUuid")  # the latter after a summary
            return [(value[own], follows if isinstance(follows, str) else "")]
    return []


def _ancestors(own: str, parents: Mapping[str, str]) -> set[str]:
    """Return this record and all that come before it on its branch."""
    found = {own}
    while (own := parents.get(own, "")) in parents and own not in found:
        found.add(own)
    return found


def _message(value: Any) -> dict[str, Any]:
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, dict) else {}


def _is_abandoned(value: Any, kept: set[str], going_on: set[Any]) -> bool:
    """Whether a record is a message of the assistant on a branch that does not count."""
    message = _message(value)
    linked = _links(value)
    if not linked or message.get("role") != "assistant":
        return False
    return linked[0][0] not in kept and message.get("id") not in going_on
