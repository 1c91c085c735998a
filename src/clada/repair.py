"""Repairs edits that failed: corrected blocks in the notation of the answer, for the model to copy.

1. A search text that is found several times gets, for each place, the lines around it that make it unique.
2. A search text that is a near miss with one clear place is replaced by the lines of the file. The change
   that the model wanted is merged into them; if that conflicts, nothing is suggested.
3. What was written is read again and tried: it must give exactly the file that is meant.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from clada.errors import CladaError
from clada.notations import parse
from clada.notations.registry import NOTATIONS, load_writer
from clada.notations.write import CannotSayError, FileChange, WrittenBlock, replacements
from clada.operations.edit import TYPOGRAPHIC, Edit, Hunk
from clada.text.diff import common_ends
from clada.text.escape import escape_lines
from clada.text.line_endings import to_lf
from clada.text.match import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clada.errors import Error, Nearest

    Parts = list[str]
    Resolve = Callable[[Parts, Parts, Parts], Parts | None]

LARGEST = 1 << 20  # bytes of a file
LONGEST = 8_000  # characters of a block
MOST_PLACES = 5  # of a text that is found several times
MOST_HUNKS = 5  # of one edit that are corrected
MOST_WORDS = 4_000  # of a search text and its replacement together
ALIKE = 0.6  # part of a search text, a line or a word that the file must have
_WORDS = re.compile(r"\n[ \t]*|\w+|[ \t]+|[^\w\s]|\s")


def suggest_repairs(edit: Edit, text: Text, error: Error, notation: str) -> tuple[str, ...]:
    """Return corrected blocks for an edit that failed: one, or one for each place; or none."""
    row = NOTATIONS.get(edit.dialect or notation)
    if not row or not row.writer or len(text.data) > LARGEST or error.searched is None:
        return ()
    if error.found and error.expected == 1:
        results: Sequence[Text] = _each_place(edit, text)
    else:
        corrected = None if error.found else _correct_edit(edit, text, error)
        results = [corrected] if corrected else []
    blocks = [_write_block(row.name, edit.path, text, result) for result in results]
    return tuple(block for block in blocks if block) if all(blocks) else ()


def _each_place(edit: Edit, text: Text) -> list[Text]:
    """Return the file with each of the matches replaced, one at a time; none if there are many."""
    hunk, *more = edit.hunks
    if more or hunk.search_end is not None or hunk.anchors:
        return []
    found = text.locate(hunk.search.encode(), MOST_PLACES + 1)
    if found.count > MOST_PLACES:
        return []
    ones = (
        found.replace(starts=[start], ends=[end], count=1)
        for start, end in zip(found.starts, found.ends, strict=True)
    )
    return [text.replaced(one, hunk.replacement.encode()) for one in ones]


def _correct_edit(edit: Edit, text: Text, error: Error) -> Text | None:
    """Return the file with an edit whose search texts are corrected; None if one of them is unclear."""
    if edit.count != 1 or any(hunk.search_end is not None or hunk.instead for hunk in edit.hunks):
        return None
    for _ in range(MOST_HUNKS):
        number = next((at for at, hunk in enumerate(edit.hunks) if hunk.search == error.searched), None)
        if number is None:
            return None
        hunk = _correct_hunk(edit.hunks[number], text, error.nearest)
        if hunk is None:
            return None
        edit = edit.replace(hunks=(*edit.hunks[:number], hunk, *edit.hunks[number + 1 :]))
        try:
            return edit.edit_text(text, edit.match)[0]
        except CladaError as raised:
            error = raised.error
    return None


def _correct_hunk(hunk: Hunk, text: Text, nearest: Nearest | None) -> Hunk | None:
    """Return a hunk that is found, and makes the same change; None if its place or the change is unclear."""
    loose = Edit(0, (0, 0), {}, "", (hunk,), match=TYPOGRAPHIC)
    try:
        edited = loose.edit_text(text, TYPOGRAPHIC)[0]
    except CladaError:
        pass
    else:
        old, new = _differing_lines(to_lf(text.data).decode(), to_lf(edited.data).decode())
        return (
            hunk.replace(search=old, replacement=new)
            if old and to_lf(text.data).count(old.encode()) == 1
            else None
        )
    if nearest is None or nearest.others:
        return None
    lines = to_lf(text.data).decode().split("\n")
    found = "\n".join(lines[nearest.first_line - 1 : nearest.last_line])
    search, replacement = hunk.search.strip("\n"), hunk.replacement.strip("\n")
    merged = _merge(search, found, replacement)
    if merged is None or merged == found:
        return None
    return hunk.replace(search=f"{found}\n", replacement=f"{merged}\n", near=nearest.first_line)


def _differing_lines(old: str, new: str) -> tuple[str, str]:
    """Return the lines in which two texts differ, with the line above or below if one has none."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start, end = common_ends(before, after)
    start = max(0, start - 1)
    return "".join(before[start : len(before) - end]), "".join(after[start : len(after) - end])


def _merge(search: str, found: str, replacement: str) -> str | None:
    """Return the lines of the file with the change that the edit wants; None in a conflict.

    Lines are merged first, and words only in lines that both sides have changed.
    """
    words = [_WORDS.findall(each) for each in (search, found, replacement)]
    if sum(map(len, words)) > MOST_WORDS or _is_indented_otherwise(search, found):
        return None
    base = words[0]
    alike = sum(not base[at].isspace() for at in _equal_parts(base, words[1]))
    if alike < ALIKE * sum(not word.isspace() for word in base):
        return None
    base_lines, our_lines, their_lines = (each.split("\n") for each in (search, found, replacement))
    lines = _merge_parts(base_lines, our_lines, their_lines, _merge_lines)
    return None if lines is None else "\n".join(lines)


def _merge_lines(base: Parts, ours: Parts, theirs: Parts) -> Parts | None:
    """Return the lines of a place where the file differs from the search text, and the replacement, too."""
    if base and len(theirs) <= len(base) < len(ours):  # lines of the file were left out beside them
        size = len(base)
        at = next((at for at in range(len(ours) - size + 1) if ours[at : at + size] == base), None)
        return None if at is None else [*ours[:at], *theirs, *ours[at + size :]]
    if not _are_near_misses(base, ours):
        return None  # whether a new line comes before or after one that was left out is not clear
    merged: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, base, theirs, False).get_opcodes():
        if kind == "equal":
            merged += ours[start:end]
        elif kind == "replace":
            parts = (base[start:end], ours[start:end], theirs[new_start:new_end])
            old, one, other = (_WORDS.findall("\n".join(part)) for part in parts)
            words = _merge_parts(old, one, other, _merge_words)
            if words is None:
                return None
            merged += "".join(words).split("\n")
        else:
            merged += theirs[new_start:new_end]
    return merged


def _merge_words(base: Parts, ours: Parts, theirs: Parts) -> Parts | None:
    """Return the replacement of words that were misquoted, one by one."""
    if not _are_near_misses(base, ours):
        return None
    if len(base) == 1:
        return theirs
    if len(base) != len(theirs):
        return None
    return [new if new != old else own for old, own, new in zip(base, ours, theirs, strict=True)]


def _are_near_misses(base: Parts, ours: Parts) -> bool:
    """Whether each line or word of the file is one of the search text with a slip."""
    return len(base) == len(ours) and all(
        SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE
        for one, other in zip(base, ours, strict=True)
    )


def _is_indented_otherwise(search: str, found: str) -> bool:
    """Whether a line of the search text is in the file with other blanks in front: so are new lines then."""
    indented = {line.strip(): line for line in found.split("\n")}
    inner = search.split("\n")[1:]  # the first line may start within one of the file
    return any(line.rstrip() != indented.get(line.strip(), line).rstrip() for line in inner if line.strip())


def _merge_parts(base: Parts, ours: Parts, theirs: Parts, resolve: Resolve) -> Parts | None:
    """Return a three-way merge of lines or words; `resolve` decides on what both sides have changed."""
    in_ours, in_theirs = _equal_parts(base, ours), _equal_parts(base, theirs)
    merged: list[str] = []
    position = our = their = 0
    for at in [*sorted(in_ours.keys() & in_theirs.keys()), len(base)]:
        our_end, their_end = in_ours.get(at, len(ours)), in_theirs.get(at, len(theirs))
        old, one, other = base[position:at], ours[our:our_end], theirs[their:their_end]
        part = other if one in (old, other) else one if other == old else resolve(old, one, other)
        if part is None:
            return None
        merged += [*part, *base[at : at + 1]]
        position, our, their = at + 1, our_end + 1, their_end + 1
    return merged


def _equal_parts(base: Parts, other: Parts) -> dict[int, int]:
    """Return the equal lines or words of two texts, by their positions."""
    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {start + at: other_start + at for start, other_start, size in blocks for at in range(size)}


def _write_block(notation: str, path: str, old: Text, new: Text) -> str | None:
    """Return the block that makes this change of a file; None if the notation cannot say it."""
    before, after = (to_lf(text.data).decode() for text in (old, new))
    writer = load_writer(notation)
    try:
        if NOTATIONS[notation].rank:
            written: str = writer.document([FileChange(path, before, after)], [])
        else:
            pairs = [_without_last_break(before, *pair) for pair in replacements(before, after)]
            edits = [Edit(0, (0, 0), {}, path, (Hunk(*pair),)) for pair in pairs]
            texts = tuple(writer.operation(edit) for edit in edits)
            written = writer.document([WrittenBlock(len(texts) == 1, None, texts)])
    except CannotSayError:
        return None
    if len(written) > LONGEST or escape_lines(written) != written:
        return None
    return written if _try_block(written, notation, path, old) == to_lf(new.data) else None


def _without_last_break(text: str, search: str, replacement: str) -> tuple[str, str]:
    """Return both without the line break at their ends, if the search text is unique without it."""
    if (
        not (search.endswith("\n") and replacement.endswith("\n"))
        or not search.strip()
        or not replacement.strip()
    ):
        return search, replacement
    short = search[:-1]
    is_unique = text.count(short) == 1
    return (short, replacement[:-1]) if is_unique else (search, replacement)


def _try_block(written: str, notation: Any, path: str, text: Text) -> bytes | None:
    """Return the file after a block; None if the block is not an edit of that file alone, or fails."""
    plan = parse(written, notation)
    if plan.fatal or plan.not_applied or not plan.operations:
        return None
    try:
        for item in plan.operations:
            if not isinstance(item, Edit) or item.path != path:
                return None
            text = item.edit_text(text, item.match)[0]
    except CladaError:
        return None
    return to_lf(text.data)
