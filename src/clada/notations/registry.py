"""The notations: one row each, with all that differs between them. No other module names one.

A notation is a module with two functions, `sign` and `read` (see Module), and its row here. A document is in
the notation whose first sign comes first; of signs at the same place, the earlier row counts.

A dialect is a format of another tool: a module with a class `Blocks` (see `dialects`), and a row
with a rank: 1 if its signs are certain, 2 if texts without operations often have them. Dialects and CSL mix:
in one document, the operations of all of them are carried out. A document in JSON, TOML or CML has no others.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    from clada.model import Plan
    from clada.public_types import ErrorType

    Delimiters = tuple[str, str]  # how a marker starts and ends, where a notation has such

    class Module(Protocol):
        """The functions of the module of a notation."""

        def sign(self, data: bytes, delimiters: Delimiters) -> int | None:
            """Return where the document first shows that it is in this notation."""

        def read(self, data: bytes, delimiters: Delimiters) -> Plan:
            """Read a document: valid UTF-8, LF line endings."""


# The families of reports: `[task-1] SUCCESS: WRITE - a.txt (created, 6 bytes)`, and
# `[task-1] Success: created a.txt`.
TAGGED, SENTENCES = "tagged", "sentences"

ONE = "a document is in one notation only"
COLUMN = "a marker must start at the first column"
LINE_START = "an element must start its line"
ONLY_JSON = "a tool call is read where the whole text, or its only fence, is JSON"

_MARKERS = rb"(?:WRITE|READ|RUN|SEARCH|TASKS)\b"
_DASH = rb"(?:-|\xe2\x80[\x90-\x95]|\xe2\x88\x92)"  # and those that word processors make of hyphens
_ELEMENT = rb"(?:tasks|edit|write|move|remove|read|run)\b"
_TOOLS = (
    rb"write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|execute_command|read_file"
)
# Names of tools that write, which others give to nothing else.
_CALLED = (
    rb"[Ww]rite|write_file|create_file|Edit|edit_file|MultiEdit|str_replace|search_replace|replace_string_in_file"
    rb"|str_replace_editor|str_replace_based_edit_tool|apply_patch|insert_edit_into_file"
)
# The columns that JSON and TOML share.
_TASK_LISTS: dict[str, Any] = {
    "asks": ('an "edit" task', 'a "write" task with the whole file'),
    "word": b"action",
    "summary": "json",
    "problems_name_lines": True,
    "search_not_found_versions": ("1.0", "1.0.0"),
}
_LIST_ITEM = rb"^[ \t]*+(?:[-*+>]|[0-9]{1,9}[.)])[ \t]"


class Lookalike(Value):
    """Text that looks like an operation of a notation but is not: a pattern, and the error in it.

    In the pattern, %s stands for the start delimiter and %e for the end delimiter.
    """

    pattern: bytes
    advice: str
    own: bool = True  # whether it can also be overlooked in a document of that very notation
    closing: bytes = b""  # what ends it: where operations are in it that are read, it is only their wrapper
    illustrates: bool = False  # beside operations it is probably meant to be read, not carried out
    default_delimiters: bool = False  # only searched for if the delimiters are the default ones


class Notation(Value):
    """All that is particular to one notation."""

    name: str
    title: str  # what people call it, for messages: search/replace blocks (aider style)
    one: str  # the same for one operation: search/replace block
    module: str
    hint: bytes  # a document without these bytes is not in it; searched for before the module is loaded
    error_type: ErrorType  # of fatal errors in it
    prompt: str  # the file with the instructions for an LLM, in prompts/ if it is not a whole path; or none
    words: Mapping[str, str] = {}  # of operations in status lines, if they differ from their names
    family: str = TAGGED  # of its reports
    summary: str = "none"  # that is printed by default
    numbers_through: bool = False  # tasks are numbered through the document, and not by blocks
    problems_name_lines: bool = False  # in the status lines of invalid operations
    word: bytes = b""  # without it, what begins like a document in a file with a name is that file's
    # Blocks of these versions call an edit that found nothing by its older name, search_not_found.
    search_not_found_versions: tuple[str, ...] = ()
    lookalikes: tuple[Lookalike, ...] = ()
    lookalike_signs: tuple[bytes, ...] = ()  # without one of these, no lookalike can match
    rank: int = 0  # of a dialect: how sure its signs are
    hints: tuple[bytes, ...] = ()  # of a dialect: a document without any of these shows no sign of it
    mixes: bool = False  # one document may have operations of it and of others that mix
    takes_fence: bool = False  # of a dialect: its blocks end with the fence around them
    example: str = ""  # an operation, in three lines or so; <START> and <END> are the delimiters
    asks: tuple[str, str] = (
        "a search/replace block",
        "the whole file",
    )  # the forms of edits and files to ask a model for
    writer: str = ""  # the class that writes it, if documents can be converted into it


def dialect(
    name: str, words: tuple[str, str], rank: int, hints: tuple[bytes, ...], *columns: Lookalike, **others: Any
) -> Notation:
    """Return the row of a dialect; `words` are its title and the name of one block."""
    module = others.pop("module", f"clada.notations.dialects.{name}")
    return Notation(
        name, *words, module, b"", "malformed_dialect", others.pop("prompt", ""),
        problems_name_lines=True, lookalikes=columns, lookalike_signs=hints if columns else (), rank=rank,
        hints=hints, mixes=True, **others,
    )  # fmt: skip


def holds_any(text: bytes, hints: Iterable[bytes]) -> bool:
    """Whether one of the hints is in a text."""
    return any(hint in text for hint in hints)


# The row of a document in which no notation was found.
UNKNOWN = Notation("", "a format that is not known", "operation", "", b"", "invalid_operation", "")

NOTATIONS = {
    row.name: row
    for row in (
        Notation(
            "csl",
            "CSL",
            "CSL operation",
            "clada.notations.csl",
            b"",
            "malformed_csl",
            "csl.md",
            writer="clada.notations.write.native.Csl",
            example='<START>WRITE file="path/to/file"<END>\nits whole content\n<START>END<END>',
            asks=("a SEARCH block", "a WRITE with the whole file"),
            words={"edit": "SEARCH"},
            mixes=True,
            lookalikes=(
                Lookalike(rb"^[ \t>*`\-+0-9.)]+%s" + _MARKERS + rb"[^\n]*%e[ \t`]*$", COLUMN),
                Lookalike(rb"^%s" + _MARKERS, ONE, own=False),
                Lookalike(rb"^[ \t>*`\-]*+&lt;-+" + _MARKERS, "a marker is written with < and >"),
                Lookalike(
                    rb"^[ \t>*`]*+<" + _DASH + rb"++[ \t]*" + _MARKERS,
                    "a marker starts with <--- and its name",
                    own=False,
                    default_delimiters=True,
                ),
            ),
            lookalike_signs=(b"WRITE", b"READ", b"SEARCH", b"RUN", b"TASKS"),
        ),
        Notation(
            "cml",
            "CML",
            "CML operation",
            "clada.notations.cml",
            b"<",
            "malformed_xml",
            "cml.md",
            writer="clada.notations.write.native.Cml",
            example='<write path="path/to/file"><![CDATA[\nits whole content\n]]></write>',
            asks=("an <edit>", "a <write> with the whole file"),
            family=SENTENCES,
            summary="xml",
            numbers_through=True,
            search_not_found_versions=("1.0", "1.0.0"),
            lookalikes=(
                Lookalike(_LIST_ITEM + rb"[^\n<`]{0,80}<" + _ELEMENT, LINE_START),
                Lookalike(rb"^[^\n<`]{1,80}<" + _ELEMENT + rb"[^>\n]*\b(?:path|from)\s*=", LINE_START),
                Lookalike(rb"^[ \t]*+<" + _ELEMENT + rb"[^>\n]*\b(?:path|from)\s*=", ONE, own=False),
                Lookalike(rb"^[ \t]*+<(?:tasks|run)(?:[ \t][^>\n]*)?>", ONE, own=False),
                Lookalike(
                    rb"^[ \t]*+<(?!" + _ELEMENT + rb")(?i:" + _ELEMENT + rb")[^>\n]*\bpath\s*=",
                    "names are in lower case",
                ),
                Lookalike(rb"^[ \t>*`\-]*+&lt;" + _ELEMENT, "an element is written with < and >"),
            ),
            lookalike_signs=(b"<", b"&lt;"),
        ),
        Notation(
            "json",
            "JSON",
            "JSON task",
            "clada.notations.json",
            b'"tasks"',
            "malformed_json",
            "json.md",
            writer="clada.notations.write.native.Json",
            example='```json\n{"tasks": [{"action": "write", "path": "path/to/file", "content": "…"}]}\n```',
            **_TASK_LISTS,
            lookalikes=(
                Lookalike(
                    rb'[\[{,]\s*"tasks"\s*:\s*\[\s*\{', "it must be in a block tagged ```json", own=False
                ),
                Lookalike(
                    rb'"action"\s*:\s*"(?:write|edit|move|remove|read|run)"',
                    "tasks stand in a list, `tasks`",
                    own=False,
                ),
                Lookalike(
                    rb"^[ \t]*+[\[{][ \t\[{]*+'tasks'\s*:", "JSON is written with double quotes", own=False
                ),
            ),
            lookalike_signs=(b'"action"', b"tasks"),
        ),
        Notation(
            "toml",
            "TOML",
            "TOML task",
            "clada.notations.toml",
            b"[[",
            "malformed_toml",
            "toml.md",
            writer="clada.notations.write.native.Toml",
            example='```toml\n[[task]]\naction = "write"\npath = "path/to/file"\ncontent = "its lines"\n```',
            **_TASK_LISTS,
            lookalikes=(
                Lookalike(rb"^\[tasks?\][ \t]*$", "a task is opened by [[task]]", own=False),
                Lookalike(rb"^\[\[tasks?\]\][ \t]*$", ONE, own=False),
            ),
            lookalike_signs=(b"[task",),
        ),
        dialect(
            "sr",
            ("search/replace blocks (aider style)", "search/replace block"),
            1,
            (b" SEARCH", b" ORIGINAL", b" REPLACE", b" UPDATED", b"<<<<<", b"<<<FILE>>>", b"<edit>"),
            Lookalike(
                rb"^[ \t]*+(?:<{3,4}|<{10,}+)[ \t]++(?:SEARCH|ORIGINAL)>?[ \t]*+$",
                "a marker has 5 to 9 signs",
            ),
            Lookalike(
                rb"^[ \t]*+<{5,9}+(?![ \t]++(?:SEARCH|ORIGINAL)>?[ \t]*+$)"
                rb"[ \t]*+(?i:SEARCH|ORIGINAL)[:>]?[ \t]*+$",
                "a marker is <<<<<<< SEARCH, with a blank, in capitals, and nothing behind it",
            ),
            takes_fence=True,
            prompt="sr.md",
            writer="clada.notations.write.dialects.Sr",
            example="path/to/file\n<<<<<<< SEARCH\n=======\nits whole content\n>>>>>>> REPLACE",
        ),
        dialect(
            "v4a",
            ("patches (apply_patch style)", "patch (apply_patch style)"),
            1,
            (b"*** ", b"***Begin"),
            Lookalike(
                rb"^[ \t]*+\*\*\* ?Begin Patch[ \t]*+\n\s*+(?:@@|[-+]|\*\*\*[ \t]*+\w++ File\b)",
                "below *** Begin Patch come *** Add File: PATH, *** Update File: PATH, *** Delete File: PATH",
            ),
            prompt="v4a.md",
            writer="clada.notations.write.dialects.V4a",
            example="*** Begin Patch\n*** Add File: path/to/file\n+its first line\n*** End Patch",
            asks=("a patch with *** Update File", "a patch with *** Add File and the whole file"),
        ),
        dialect(
            "udiff",
            ("unified diffs", "unified diff"),
            1,
            (b"diff --git ", b"+++ ", b"```diff", b"```patch", b"~~~diff", b"Mon Sep 17 00:00:00 2001"),
            Lookalike(
                rb"^[ \t]*+(?:`{3,}+|~{3,}+)[ \t]*+(?:diff|patch)[ \t]*+\n"
                rb"(?:[ @][^\n]*+\n){0,9}?[-+](?!-- |\+\+ )",
                "no file is named above this diff",
            ),
            Lookalike(
                rb"(?i)^[^\n]*\b(?:returns|prints|outputs?|displays):[*_ \t]*+\n\s{0,9}+"
                rb"(?:`{3,}+|~{3,}+)[^\n]*+\n(?:diff --git |--- )",
                "this diff is shown as what a program prints; --format=udiff carries it out",
                own=False,
                illustrates=True,
            ),
            takes_fence=True,
            writer="clada.notations.write.dialects.Udiff",
            example="```diff\n--- /dev/null\n+++ b/path/to/file\n@@ -0,0 +1 @@\n+its first line\n```",
            asks=("a diff with three lines of context", "a diff that creates the file"),
        ),
        dialect(
            "calls",
            ("tool calls in JSON", "tool call in JSON"),
            1,
            (
                *b'_call" _calls" "tool_use" "name" "tool" "command" "edits" "old_string"'.split(),
                *b'"functionCall" "trajectory"'.split(),
            ),
            Lookalike(
                rb'"(?:type"\s*+:\s*+"tool_use"|tool_calls"\s*+:\s*+\[|functionCall"\s*+:\s*+\{)',
                ONLY_JSON,
                own=False,
            ),
            Lookalike(
                rb'^[^\n{`"]{0,80}\{\s*+"(?:name|tool)"\s*+:\s*+"(?:' + _CALLED + rb')"\s*+,\s*+'
                rb'"(?:arguments|parameters|input|args)"\s*+:',
                ONLY_JSON,
                own=False,
            ),
            Lookalike(
                rb'^[^\n{`"]{0,80}\{\s*+"(?:file_?[pP]ath|path|target_file)"\s*+:\s*+"[^"\n]++"\s*+,\s*+'
                rb'"(?:old|new)_?(?:string|String|str|text|Text)"\s*+:',
                ONLY_JSON,
                own=False,
            ),
            module="clada.notations.toolcalls.calls",
        ),
        dialect(
            "tags",
            ("tool calls in tags (Cline style)", "tool call in tags"),
            1,
            (
                *b"<write_to <replace_in <apply_di <insert_con <search_and <execute_c <read_file>".split(),
                *b"function_calls> <tool_call> <tool-use> <function=".split(),
                b"): {",
            ),
            Lookalike(rb"^[ \t]++<(?:" + _TOOLS + rb")>[ \t]*+$", LINE_START),
            Lookalike(
                rb"^[ \t]*+<(?:[\w-]+:)?invoke name=[^>\n]*+>",
                "an <invoke> stands in <function_calls>",
                own=False,
                closing=b"invoke>",
            ),
            module="clada.notations.toolcalls.tags",
        ),
        dialect(
            "artifact",
            ("artifact tags (bolt.new style)", "artifact tag"),
            1,
            (b"<bolt", b"<dyad-", b"<lov-", b"<Plandex", b"<CodePr", b"<QuickE"),
            Lookalike(
                rb"^[ \t]*+<QuickEdit[ >\n]", "<QuickEdit> leaves the edit to another model", own=False
            ),
        ),
        dialect(
            "nesl",
            ("NESL blocks", "NESL block"),
            1,
            (b"#!nesl", b"#!NESL", b"#!SHAM"),
            Lookalike(rb"^[ \t]++#!(?:nesl|NESL|SHAM) \[@", COLUMN),
        ),
        dialect(
            "whole",
            ("named code blocks", "named code block"),
            2,
            (*b"``` ~~~ <codeblock <source> <code> <pre> <sourcecode>".split(), b"<file ", b"<antArtifact "),
            takes_fence=True,
            prompt="whole.md",
            example="path/to/file\n```\nits whole content\n```",
        ),
        dialect(
            "heredoc",
            ("shell blocks", "shell block"),
            2,
            (b"```", b"~~~"),
            takes_fence=True,
        ),
    )
}


def title(name: str | None) -> str:
    """Return the title of a notation for messages, by its name."""
    return NOTATIONS.get(name or "", UNKNOWN).title


def with_prompt() -> tuple[str, ...]:
    """Return the names of the notations that have instructions for an LLM."""
    return tuple(row.name for row in NOTATIONS.values() if row.prompt)


SHELL = "heredoc"  # the dialect of commands in fences
# The hints of dialects of rank 1 and of rank 2: a text without any of them is in no dialect.
HINTS, HINTS_IN_PROSE = (
    tuple(hint for row in NOTATIONS.values() if row.rank == rank for hint in row.hints) for rank in (1, 2)
)


def load(name: str) -> Any:
    """Import the module of a notation when a document needs it; see Module and `dialects.Blocks`."""
    # `importlib.import_module` does the same, but importing importlib takes longer.
    return __import__(NOTATIONS[name].module, fromlist=("read",))


def load_writer(name: str) -> Any:
    """Return the writer of a notation (see `write`)."""
    module, _, writer = NOTATIONS[name].writer.rpartition(".")
    return getattr(__import__(module, fromlist=(writer,)), writer)()
