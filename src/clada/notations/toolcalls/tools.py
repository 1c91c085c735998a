"""Tools of agents: from the name of a tool and the arguments of a call to operations.

TOOLS says which tool does what. A call that only lists, plans or shows something is ignored. One that leaves
the edit to another model is refused. A call of a tool that is neither in TOOLS nor in READERS is left out,
because it is not known what it does.
"""

from __future__ import annotations

import re
from shlex import join

from clada.errors import shortened
from clada.model import Invalid, NotApplied, Operation
from clada.notations.dialects import v4a
from clada.notations.path_text import relative
from clada.notations.reading import Reading, UnreadableError, shown_lines
from clada.notations.toolcalls.arguments import FIELDS, Arguments, RefusedCallError
from clada.operations.edit import TYPOGRAPHIC, Hunk
from clada.text.elision import elision_complaint
from clada.text.escape import first_few
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Items = list[Operation | Invalid]


# Which tools do the same: the name of the method, and those of the tools.
_WAYS = {
    "write": "Write write write_file create_file",
    "edit": "Edit edit replace str_replace edit_file search_replace replace_string_in_file",
    "edits": "MultiEdit multi_replace_string_in_file",
    "editor": "str_replace_editor str_replace_based_edit_tool",
    "patch": "apply_patch patch",
    "move": "move_file",
    "remove": "delete_file",
    "read": "Read read read_file read_text_file view open cat",
    "reads": "read_many_files read_multiple_files",
    "run": "Bash bash shell run_shell_command run_terminal_cmd run_in_terminal execute_command exec_command",
    "lazy": "insert_edit_into_file morph",
    "described": "apply_patch_call",
}
TOOLS = {name: way for way, names in _WAYS.items() for name in names.split()}
READERS = frozenset(
    """
    list_files list_dir list_directory ls LS Glob glob Grep grep grep_search file_search
    codebase_search search_files search_file_content NotebookRead BashOutput view_image
    list_code_definition_names
    TodoWrite TodoRead todo_write todowrite update_plan WebFetch WebSearch web_search web_fetch
    google_web_search get_file_info directory_tree list_allowed_directories get_errors
    ListMcpResourcesTool ReadMcpResourceTool ExitPlanMode AskUserQuestion ask_followup_question
    """.split()
)  # that change nothing
KNOWN = frozenset(TOOLS) | READERS
PREFIXES = re.compile(r"(?:functions\.|default_api\.|mcp__[\w-]*?filesystem[\w-]*?__)")
DESCRIBED = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}  # as patches have it
MOST_NAMED = 5  # tools in a note
UNKNOWN_TOOL = "the tool is not known"
WORDS_OF_A_SHELL = 3  # bash -c COMMAND
SHELLS = frozenset(("bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh"))
EDITOR_COMMANDS = frozenset(("create", "str_replace", "insert"))  # that change something
_ENTERED = re.compile(
    r"""\s*cd[ \t]+(['"]?)(?P<path>/[^\s'"$`\\*?<>|&;()]*)\1[ \t]*&&[ \t]*(?P<rest>\S.*)""", re.DOTALL
)
_HEREDOC = re.compile(
    r"""\s*(?:cd[ \t]+\S+[ \t]*&&[ \t]*)?(?:apply_patch|applypatch)[ \t]*<<[ \t]*(['"]?)(\w+)\1[ \t]*\n"""
    r".*\n\2\s*",
    re.DOTALL,
)
_PATCH_MARKER = re.compile(r"^\*\*\* (?!End of File[ \t]*$)", re.MULTILINE)


class Call(Value):
    """A call of a tool, its offsets in the document, and the directory of its relative paths."""

    name: str
    arguments: Any  # an object, if it is right
    at: int
    span: tuple[int, int]
    base: str = ""
    roots: tuple[str, ...] = ()  # directories in which absolute paths are those of the workspace
    wrong: str = ""  # why it cannot be carried out, regardless of its arguments


def plain_name(name: str) -> str:
    """Return the name of a tool without that of the server, or the module, which offers it."""
    prefix = PREFIXES.match(name)
    return name[prefix.end() :] if prefix else name


class Ignored:
    """Collects the calls that are not operations.

    Calls of tools that change nothing are counted in a note. Calls of unknown tools are not applied.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._counts: dict[str, int] = {}  # of calls that change nothing, by tool
        self._note: int | None = None  # its index among the notes

    def add(self, name: str, at: int, count: int = 1, *, known: bool = True) -> None:
        """Take calls of this tool, the first of them at this place."""
        if not known:
            line, calls = self._reading.lines.line(at), "call" if count == 1 else f"{count} calls"
            self._reading.not_applied.append(NotApplied(line, f"{calls} of {_printable(name)}", UNKNOWN_TOOL))
            return
        self._reading.ignored = True
        self._counts[name] = self._counts.get(name, 0) + count
        if self._note is None:
            self._note = len(self._reading.notes)
            self._reading.notes.append("")
        total, named = sum(self._counts.values()), first_few([*map(_printable, self._counts)], MOST_NAMED)
        calls = "1 call changes nothing and was" if total == 1 else f"{total} calls change nothing and were"
        self._reading.notes[self._note] = f"{calls} ignored: {named}"


def _printable(name: str) -> str:
    return shortened(name) if name.isprintable() and name else "?"


class Tools:
    """Makes the operations of calls."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def operations(self, call: Call) -> Items | None:
        """Return the operations of a call; None if it changes nothing."""
        arguments = call.arguments
        way = self.way(plain_name(call.name), arguments if isinstance(arguments, dict) else {})
        if way is None:
            return None
        if call.wrong:
            return [self._invalid(call, way, RefusedCallError(call.wrong))]
        if not isinstance(arguments, dict):
            must = "Invalid value for 'arguments': must be an object"
            return [self._invalid(call, way, RefusedCallError(must, "arguments"))]
        try:
            made: Items = getattr(self, f"_{way}")(call, Arguments(arguments))
        except RefusedCallError as refused:
            return [self._invalid(call, way, refused)]
        return made

    def way(self, name: str, values: Mapping[str, Any]) -> str | None:
        """Return the name of the method for a tool with these arguments; None if it changes nothing."""
        way = TOOLS.get(name)
        if way == "edit" and isinstance(values.get("code_edit"), str):
            return "lazy"
        if way == "edit" and not any(old in values for old in FIELDS["old"]) and "edits" in values:
            way = "edits"
        if way == "edits" and values.get("dryRun") is True:
            return None
        if way == "editor" and values.get("command") == "view":
            return "read"
        return way

    def is_atomic(self, call: Call) -> bool:
        """Whether all that a call asks for is done, or nothing."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        return self.way(plain_name(call.name), arguments) == "edits"

    def _invalid(self, call: Call, way: str, refused: RefusedCallError) -> Invalid:
        name = way if way in ("write", "move", "remove", "read", "run") else "edit"
        field = "command" if name == "run" else "path"
        shown: dict[str, str] = {}
        try:
            text = Arguments(call.arguments if isinstance(call.arguments, dict) else {}).text(field)
            shown[field] = text if field == "command" else self._path(call, text)
        except RefusedCallError:
            pass  # it is not given, or not a text
        place = call.at, call.span[1]
        made = self.reading.invalid(name, call.at, place, refused.message, refused.field, **shown)
        return made.replace(span=call.span)

    def _make(self, name: str, call: Call, **fields: Any) -> Operation | Invalid:
        return self.reading.make(name, call.at, call.span, **fields)

    def _path(self, call: Call, written: str) -> str:
        """Return a path as the workspace has it."""
        path = written
        if path[:1] in ("/", "\\") or path[1:2] == ":":
            path = relative(written, (*self.reading.roots, *call.roots))
            if path != written:
                return path
        absolute = path.startswith(("/", "\\", "~")) or path[1:2] == ":"
        return f"{call.base}/{path}" if call.base and path and not absolute else path

    def _path_of(self, call: Call, arguments: Arguments, field: str = "path") -> str:
        path = self._path(call, arguments.text(field))
        if not path:
            raise RefusedCallError(f"Missing required field '{arguments.name(field)}'", field)
        return path

    def _write(self, call: Call, arguments: Arguments, field: str = "content", **how: Any) -> Items:
        path, content = self._path_of(call, arguments), arguments.text(field)
        return [self._file(call, path, content, **how)]

    def _file(self, call: Call, path: str, content: str, **how: Any) -> Operation | Invalid:
        _check_escapes(content)
        return self._make("write", call, path=path, content=content, **how)

    def _edit(self, call: Call, arguments: Arguments) -> Items:
        return [self._replacement(call, self._path_of(call, arguments), arguments)]

    def _replacement(
        self, call: Call, path: str, arguments: Arguments, new: str | None = None
    ) -> Operation | Invalid:
        """Return the edit of one text."""
        old = arguments.text("old")
        new = arguments.text("new", new)
        if not old:
            return self._file(call, path, new, if_exists="refuse")
        _check_omissions(new, old)
        count: int | str = "all" if arguments.flag("all") else arguments.number("expected_replacements", 1)
        if not count:
            raise RefusedCallError(
                "Invalid value for 'expected_replacements': must be positive", "expected_replacements"
            )
        hunks = (Hunk(old, new),)
        return self._make("edit", call, path=path, hunks=hunks, count=count, match=TYPOGRAPHIC)

    def _edits(self, call: Call, arguments: Arguments) -> Items:
        """Return the edits of one file, or of several, each of which sees the result of those before."""
        edits = arguments.objects("edits")
        path = self._path_of(call, arguments) if arguments.has("path") else None
        made = []
        for edit in edits:
            own = self._path_of(call, edit) if path is None else path
            made.append(self._replacement(call, own, edit))
        return made

    def _editor(self, call: Call, arguments: Arguments) -> Items:
        """Return the operations of a command of Anthropic's editor."""
        command = arguments.text("command")
        if command == "create":
            return self._write(call, arguments, "file_text", if_exists="refuse")
        path = self._path_of(call, arguments)
        if command == "str_replace":
            return [self._replacement(call, path, arguments, "")]
        if command == "insert":
            line, text = arguments.number("insert_line"), arguments.text("inserted")
            _check_escapes(text)
            _check_omissions(text)
            return [self._make("edit", call, path=path, hunks=(Hunk("", text, after_line=line),))]
        if command == "undo_edit":
            raise RefusedCallError(
                "undo_edit is not carried out: write the edit that brings back what was there"
            )
        raise RefusedCallError(f"Unknown command: {shortened(command)}", "command")

    def _patch(self, call: Call, arguments: Arguments) -> Items:
        return self.patch_operations(call, arguments.text("patch"), "")

    def _move(self, call: Call, arguments: Arguments) -> Items:
        source, destination = (self._path_of(call, arguments, name) for name in ("source", "destination"))
        return [self._make("move", call, source=source, destination=destination)]

    def _remove(self, call: Call, arguments: Arguments) -> Items:
        return [self._make("remove", call, path=self._path_of(call, arguments), file_only=True)]

    def _read(self, call: Call, arguments: Arguments) -> Items:
        return [self._make("read", call, path=self._path_of(call, arguments), lines=_lines(arguments))]

    def _reads(self, call: Call, arguments: Arguments) -> Items:
        written = arguments.words("paths")
        paths = [written] if isinstance(written, str) else written
        return [self._make("read", call, path=self._path(call, path)) for path in paths]

    def _lazy(self, call: Call, _arguments: Arguments) -> Items:
        raise RefusedCallError(f"{shortened(call.name)} leaves the edit to another model")

    def _run(self, call: Call, arguments: Arguments) -> Items:
        words = arguments.words("command")
        has_directory = arguments.has("directory")
        directory = self._place(call, arguments.text("directory")) if has_directory else call.base
        if isinstance(words, list) and words[0] in ("apply_patch", "applypatch") and words[1:]:
            return self.patch_operations(call, words[1], directory)
        command = words if isinstance(words, str) else _command(words)
        if arguments.flag("background"):
            raise RefusedCallError(f"unsupported background: {shortened(command)}")
        if not command.strip():
            raise RefusedCallError("Empty command not allowed", "command")
        if "*** Begin Patch" in command and _HEREDOC.fullmatch(command):
            return self.patch_operations(call, command, directory)
        entered = _ENTERED.fullmatch(command)  # an absolute path, which the workspace has by another name
        if entered and (place := self._place(call, entered["path"])) != entered["path"].rstrip("/"):
            directory, command = place, entered["rest"]
        if shown := shown_lines(command):
            there = call.replace(base=directory) if directory else call
            return [self._make("read", call, path=self._path(there, shown[0]), lines=shown[1])]
        return [self._make("run", call, command=command, dir=directory or None)]

    def _place(self, call: Call, written: str) -> str:
        """Return a directory as the workspace has it; nothing for the workspace itself."""
        written = written.rstrip("/")
        if written in (".", "") or written in (
            root.rstrip("/") for root in (*self.reading.roots, *call.roots)
        ):
            return ""
        return self._path(call, written.removeprefix("./"))

    def patch_operations(self, call: Call, text: str, directory: str) -> Items:
        """Return the operations of a patch, in a directory."""
        text = text.replace("\r\n", "\n")  # as in any document
        inner = Reading(text.encode(), chosen=self.reading.chosen)
        inner.dialect = self.reading.dialect
        blocks, at = v4a.Blocks(inner), 0
        try:
            while (place := blocks.next(at)) is not None:
                at = blocks.read(place, at)
        except UnreadableError as error:
            raise RefusedCallError(error.message) from None
        items = inner.operations
        if not items:
            raise RefusedCallError("this is not a patch: it has no *** Begin Patch")
        there = call.replace(base=directory) if directory else call
        return [self._as_part_of(there, item) for item in items]

    def _described(self, call: Call, arguments: Arguments) -> Items:
        """Return the operations of an apply_patch_call: its diff is a patch without markers."""
        kind, path = arguments.text("type"), arguments.text("path")
        if kind not in DESCRIBED:
            raise RefusedCallError(f"Unknown type: {shortened(kind)}", "type")
        diff = "" if kind == "delete_file" else arguments.text("diff").removesuffix("\n")
        if "\n" in path or "\r" in path:
            raise RefusedCallError("Invalid value for 'path': must not contain a line break", "path")
        if _PATCH_MARKER.search(diff):
            raise RefusedCallError(
                "Invalid value for 'diff': must not contain lines that start with ***", "diff"
            )
        head = f"*** Begin Patch\n*** {DESCRIBED[kind]} File: {path}\n"
        return self.patch_operations(call, f"{head}{diff}\n*** End Patch\n", "")

    def _as_part_of(self, call: Call, item: Operation | Invalid) -> Operation | Invalid:
        """Return an operation of a patch as one of the call that the patch is in."""
        line = self.reading.lines.line(call.at)
        place: dict[str, Any] = {"line": line, "span": call.span}
        if isinstance(item, Invalid):
            problems = tuple(problem.replace(line=line) for problem in item.problems)
            return item.replace(**place, problems=problems)
        paths = {
            name: self._path(call, value)
            for name in ("path", "source", "destination")
            if (value := getattr(item, name, None)) is not None
        }
        hunks = getattr(item, "hunks", None)
        texts = {} if hunks is None else {"hunks": tuple(hunk.replace(line=None) for hunk in hunks)}
        return item.replace(**place, **paths, **texts)


def _check_escapes(content: str) -> None:
    """Refuse a text that was escaped twice."""
    if "\n" not in content and "\\n" in content:
        raise RefusedCallError("the text has \\n in place of line breaks: it was escaped twice")


def _check_omissions(new: str, old: str = "") -> None:
    """Refuse a text with a line that stands for other code, unless the text that it replaces has it."""
    elided = elision_complaint(new, old)
    if elided:
        raise RefusedCallError(elided)


def _lines(arguments: Arguments) -> str | None:
    """Return the range of lines that a call asks for; None for the whole file."""
    if arguments.has("view_range"):
        first, last = [*arguments.numbers("view_range"), -1][:2]
        return f"{max(1, first)}-{max(first, last) if last > 0 else ''}"
    start, limit, end = (arguments.number(name, 0) for name in ("first_line", "limit", "last_line"))
    if arguments.has("head"):
        start, limit = 1, arguments.number("head")
    if arguments.has("absolute_path"):
        start += 1  # Gemini counts from 0
    start = max(1, start)
    end = end or (start + limit - 1 if limit else 0)
    return f"{start}-{max(start, end) if end else ''}" if start > 1 or end else None


def _command(words: Sequence[str]) -> str:
    """Return a list of words as a command; of `bash -c COMMAND`, the command."""
    if len(words) == WORDS_OF_A_SHELL and words[0] in SHELLS and words[1] in ("-lc", "-c"):
        return words[2]
    return join(words)
