"""Probable mistakes of the LLM: lookalikes of operations, and hints at what an invalid one was meant to be.

Hints follow the texts of the specification. They do not change what is carried out.
"""

from __future__ import annotations

import re
from itertools import islice

from clada.errors import Problem, shortened
from clada.grammar import DELIMITERS
from clada.model import NotApplied
from clada.notations.dialects import NATIVE, places_of_blocks
from clada.notations.hidden import blank_out, hidden_parts
from clada.notations.hidden_forms import INDENTED
from clada.notations.reading import LineCounter
from clada.notations.registry import NOTATIONS, holds_any, title
from clada.text.forms import ODD_BLANKS, odd_blank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.model import Invalid, Plan
    from clada.notations.registry import Delimiters, Lookalike, Notation


MOST = 1 << 20  # upper limit of bytes of prose that are searched
MOST_LISTED = 20  # lookalikes in a report


def without_operations(
    plan: Plan, asked: str, detected: str | None, delimiters: Delimiters
) -> Problem | None:
    """Return why a document without operations is probably not what was meant.

    It is in another notation than the one that was asked for, or a line looks like an operation.
    """
    if detected and detected != asked:
        message = f"This looks like {title(detected)}, but it was to be read as {title(asked)}"
        return Problem(NOTATIONS[asked].error_type, message)
    text = plan.source[:MOST]
    visible = blank_out(text, [part for part in hidden_parts(text) if part.form is not INDENTED])
    found = _find_lookalikes(visible, delimiters, plan.notation if plan.blocks else None)
    if not found:
        return None
    at, row, meant = found[0]
    line = plan.source.count(b"\n", 0, at) + 1
    message = f"Line {line}: This looks like an operation, but {row.advice}"
    return Problem(meant.error_type, message, line)


def find_overlooked(  # noqa: PLR0913 (how it was read)
    plan: Plan, prose: bytes, gaps: list[int], delimiters: Delimiters, *, chosen: bool, run_fences: bool
) -> list[NotApplied]:
    """Return the text beside the operations of a plan that was probably meant as an operation, too.

    If the user has chosen the notation, other notations do not count.
    """
    prose = blank_out(prose[:MOST], hidden_parts(prose[:MOST]))
    row = NOTATIONS[plan.notation or ""]
    # Beside dialects, all others were read. In CSL, some may be left between the operations of a block.
    names = [each.name for each in NOTATIONS.values() if each.rank and holds_any(prose, each.hints)]
    is_read = row.rank or chosen or not names
    blocks = [] if is_read else places_of_blocks(prose, names, run_fences=run_fences)
    answer = f"the answer is in {row.title}"
    found = [(at, NOTATIONS[name].one, answer) for at, name in blocks]
    for at, lookalike, meant in _find_lookalikes(prose, delimiters, plan.notation):
        is_wrapper = lookalike.closing and _wraps(plan, offset_in(gaps, at), lookalike.closing)
        if is_wrapper or lookalike.illustrates or (chosen and meant.name != plan.notation):
            continue
        is_other = not meant.rank and meant.name != plan.notation and not (meant.mixes and row.mixes)
        found.append((at, *((meant.one, answer) if is_other else (f"likely {meant.one}", lookalike.advice))))
    by_line: dict[int, NotApplied] = {}
    for at, what, why in sorted(found, key=lambda each: each[0]):
        line = plan.source.count(b"\n", 0, offset_in(gaps, at)) + 1
        by_line.setdefault(line, NotApplied(line, what, why))
    known = {each.line for each in plan.not_applied}
    noted = {note.partition(":")[0] for note in plan.notes}
    new = [each for line, each in by_line.items() if line not in known and f"Line {line}" not in noted]
    return new[:MOST_LISTED]


def notes_on_indented_code(plan: Plan, prose: bytes, gaps: list[int], delimiters: Delimiters) -> list[str]:
    """Return notes on operations that are in indented code beside the operations of a plan.

    Only CSL needs them: other notations may be indented, so their operations were read and then passed over.
    """
    text = prose[:MOST]
    notes = []
    for part in hidden_parts(text):
        if part.form is INDENTED and any(
            meant.name == NATIVE
            for _at, _row, meant in _find_lookalikes(text[part.start : part.end], delimiters, NATIVE)
        ):
            line = plan.source.count(b"\n", 0, offset_in(gaps, part.start)) + 1
            notes.append(f"Line {line}: operations in {INDENTED.name} were passed over")
    return notes[:MOST_LISTED]


def nearest_code_block(source: bytes) -> str:
    """Return a clause on the first code block of a text without operations, or nothing."""
    if b"```" not in source and b"~~~" not in source:
        return ""
    fence = re.search(rb"^[ \t]*(?:`{3,}|~{3,})", source[:MOST], re.MULTILINE)
    if not fence:
        return ""
    line = source.count(b"\n", 0, fence.start()) + 1
    return f"; the nearest thing to one is the code block at line {line}, which names no file"


def _wraps(plan: Plan, at: int, closing: bytes) -> bool:
    """Whether operations of a plan are between an offset and the next closing text."""
    end = plan.source.find(closing, at)
    return any(at < item.span[0] < end for item in plan.operations)


def offset_in(gaps: list[int], at: int) -> int:
    """Return the offset in the document of an offset in the text between operations."""
    for start, end in zip(gaps[::2], gaps[1::2], strict=True):
        if at < end - start:
            return start + at
        at -= end - start
    return gaps[-1]


def _find_lookalikes(
    text: bytes, delimiters: Delimiters, notation: str | None
) -> list[tuple[int, Lookalike, Notation]]:
    """Return the offsets of lookalikes in a document of this notation, in order."""
    if not holds_any(text, [sign for row in NOTATIONS.values() for sign in row.lookalike_signs]):
        return []
    start, end = (re.escape(delimiter.encode()) for delimiter in delimiters)
    usual = delimiters == DELIMITERS
    found = []
    for meant in NOTATIONS.values():
        for row in meant.lookalikes:
            if (row.own or meant.name != notation) and (usual or not row.default_delimiters):
                pattern = row.pattern.replace(b"%s", start).replace(b"%e", end)
                matches = re.finditer(pattern, text, re.MULTILINE)
                found += [(match.start(), row, meant) for match in islice(matches, MOST_LISTED)]
    return sorted(found, key=lambda each: each[0])


_MARKERS = ("WRITE", "RUN", "SEARCH", "TASKS", "END", "TO", "REPLACE")
_ACTIONS = ("write", "edit", "move", "remove", "run")
# Other names of markers, actions and fields that models use.
_MARKER_WORDS = {
    "WRITE": "CREATE FILE ADD NEW SAVE APPEND OVERWRITE",
    "SEARCH": "EDIT PATCH MODIFY UPDATE CHANGE FIND DIFF INSERT",
    "RUN": "EXEC EXECUTE BASH SHELL SH CMD COMMAND TERMINAL",
    "RUN with the command mv": "MOVE RENAME MV",
    "RUN with the command rm": "DELETE REMOVE RM",
    "RUN with the command cp": "COPY CP",
    "RUN with the command mkdir": "MKDIR",
    "TASKS": "TASK BLOCK BATCH PLAN",
    "REPLACE": "WITH BY REPLACEMENT",
    "END": "STOP CLOSE FINISH DONE EOF",
}
_ACTION_WORDS = {
    "write": "create file add new save append overwrite write_file create_file",
    "edit": "search replace patch modify update change find insert str_replace edit_file",
    "run": "exec execute bash shell sh cmd command terminal",
    "move": "rename mv",
    "remove": "delete rm unlink",
}
_FIELD_WORDS = {
    "file": "path filename file_path filepath name target src",
    "path": "file filename file_path filepath name target src",
    "command": "run exec script shell bash",
    "content": "text body code data contents",
    "search": "old old_str old_string old_text pattern match",
    "replace": "new new_str new_string new_text replacement with by",
    "from": "source src old old_path",
    "to": "target destination dest dst new new_path",
}
_CLOSING = tuple(f"/{name}" for name in _MARKERS)
_END_MISSING = "END is probably missing before it"
_LONGEST = 80  # bytes of a line that could have been meant as a marker


def hint_for_fatal(fatal: Problem, source: bytes, delimiters: Delimiters) -> str | None:
    """Return a hint at what was meant in a document that cannot be read."""
    if fatal.type != "malformed_csl" or fatal.line is None:
        return None
    at = LineCounter(source).start(fatal.line)
    line = source[at : at + _LONGEST].partition(b"\n")[0].decode(errors="replace")
    _before, unknown, name = fatal.message.partition("Unknown operation: ")
    odd = odd_blank(line)
    if odd and ("attribute" in fatal.message or unknown):
        return odd
    if unknown:
        return _did_you_mean(name.upper(), _MARKERS, _MARKER_WORDS)
    if "Unterminated" in fatal.message:
        return _near_marker(source, (at + len(line), len(source)), "END", delimiters)
    if "requires a REPLACE" in fatal.message:
        opened = source.rfind(f"{delimiters[0]}SEARCH".encode(), 0, at)
        return _near_marker(source, (max(opened, 0), at), "REPLACE", delimiters)
    if "Malformed marker" in fatal.message and _letters(line) in _MARKERS:
        return f"write {delimiters[0]}{_letters(line)}{delimiters[1]}"
    return None


def hint_for_invalid(item: Invalid) -> str | None:
    """Return a hint at what was meant in an operation that is incomplete."""
    for problem in item.problems:
        _before, missing, rest = problem.message.partition("Missing required ")
        if missing:
            kind, _blank, quoted = rest.partition(" ")
            wanted = quoted.strip("'")
            others = _FIELD_WORDS.get(wanted, "").split()
            given = next((key for key in item.attributes if key.lower() in others), None)
            if given:
                sign = "=" if kind == "attribute" else ""
                return f"write {wanted}{sign} instead of {shortened(given)}{sign}"
        _before, unknown, name = problem.message.partition("Unknown action: ")
        if unknown:
            return _did_you_mean(name.lower(), _ACTIONS, _ACTION_WORDS)
        if problem.message.endswith(_END_MISSING):
            inner = problem.message.partition(" starts")[0]
            remedy = f'add literal="true" to line {item.line}'
            return f"write END before {inner}; if it is part of the content, {remedy}"
    return None


def _did_you_mean(name: str, known: Iterable[str], words: dict[str, str]) -> str | None:
    """Return a hint at the known name that was probably meant."""
    from difflib import get_close_matches  # late, because only a wrong name needs it

    plain = name.strip("/")
    same = next((each for each, others in words.items() if plain in others.split()), None)
    found = plain if plain in known else same or next(iter(get_close_matches(plain, known, 1, 0.7)), None)
    return f"did you mean {found}?" if found else None


def _near_marker(source: bytes, span: tuple[int, int], name: str, delimiters: Delimiters) -> str | None:
    """Return a hint at the first line in a part of the document that is nearly this marker."""
    start, end = delimiters
    words = {name, *_MARKER_WORDS.get(name, "").split(), *(_CLOSING if name == "END" else ())}
    pattern = re.compile("|".join(map(re.escape, words)).encode(), re.IGNORECASE)
    for found in pattern.finditer(source, *span):
        line = _short_line(source, found.start())
        bare = line.strip().strip(ODD_BLANKS)
        exact = line.rstrip(" \t") == f"{start}{name}{end}"  # which closed something else
        if _letters(bare) in words and not exact and (bare[0] == start[0] or bare.startswith("&lt;")):
            number = source.count(b"\n", 0, found.start()) + 1
            written = f"write {start}{name}{end} alone, at the start of the line"
            return f"line {number} is nearly {'an' if name == 'END' else 'a'} {name}: {written}"
    return None


def _short_line(source: bytes, at: int) -> str:
    """Return the line around a place; nothing if it is too long to be a marker."""
    first = source.rfind(b"\n", max(0, at - _LONGEST), at)
    last = source.find(b"\n", at, at + _LONGEST)
    if (first < 0 and at > _LONGEST) or (last < 0 and len(source) > at + _LONGEST):
        return ""
    return source[first + 1 : last if last >= 0 else len(source)].decode(errors="replace")


def _letters(line: str) -> str:
    """Return the letters of a line that may be a marker."""
    line = line.replace("&lt;", "").replace("&gt;", "")
    return "".join(char for char in line if char.isalpha() or char in "/_").upper()
