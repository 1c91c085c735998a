"""The slips of models, each with what should happen, derived from the two releases alone.

A slip takes a task and a format, and returns the answer with its expectation, or None where it does not
occur: where the format cannot express it, or where more than one result could be defended.

| label | what an applier should do |
|---|---|
| apply | apply the edit: the answer says in one way only what is meant |
| lenient | apply the edit as meant, or refuse: both are fine, anything else is wrong |
| refuse | change nothing and say so: the answer does not say what is meant, or not all of it |
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from random import Random

from applybench.formats import CALLS, FORMATS, HUNKS, NO_NUMBERS, WRONG_COUNTS, WRONG_STARTS, Edit
from applybench.hunks import Changes, Hunk, apply_hunks, count_lines, join, loosely, split
from applybench.tasks import Task

APPLY, LENIENT, REFUSE = "apply", "lenient", "refuse"
SPACES = 4  # the blanks that a tab stands for
FEWEST_LINES = 30  # in a file of which a fragment is given
WIDEST_GAP = 40  # lines between two hunks that are elided


@dataclass(frozen=True)
class Draft:
    """An answer, what it is applied to, and the results that count as right (bytes of the file)."""

    answer: str | None
    label: str
    right: tuple[str, ...]
    before: str | None = None  # where it is not the task's own
    neighbour: str | None = None  # the other file after an applier saw which file was meant


@dataclass(frozen=True)
class Setting:
    """A task to be written in a format, with the chance that the seed gives it."""

    task: Task
    changes: Changes
    format: str
    chance: Random

    def render(
        self, hunks: Sequence[Hunk] | None = None, numbers: str = "right", texts: Sequence[str] = ()
    ) -> str | None:
        """Return the answer in this format."""
        edit = Edit(
            self.task.path, hunks or self.hunks(), tuple(texts or [self.task.after]), numbers, self.chance
        )
        return FORMATS[self.format](edit)

    def hunks(self) -> list[Hunk]:
        """Return the hunks as this format needs them: numbers make a place unique in a unified diff."""
        return self.changes.plain_hunks if self.format == "unified diff" else self.changes.unique_hunks

    def label(self) -> str:
        """Return the label of an answer that gives the whole edit.

        A whole file that lost its first or last lines, or a quarter in one place, looks like a fragment.
        """
        last = len(self.changes.before)
        shrinks = any(
            b - a > d - c and (a == 0 or b == last or (b - a) - (d - c) > last / 4)
            for _, a, b, c, d in self.changes.steps
        )
        return LENIENT if self.format == "whole file" and shrinks else APPLY


def build(task: Task, changes: Changes, form: str, slip: str, seed: int) -> Draft | None:
    """Return the answer for this task with this slip; the same seed gives the same answer."""
    setting = Setting(task, changes, form, Random(f"{seed} {task.name} {form} {slip}"))
    draft = SLIPS[slip].make(setting) if form in SLIPS[slip].formats else None
    return draft if draft and draft.answer is not None else None


def none(s: Setting) -> Draft | None:
    """Write the edit as it should be."""
    return Draft(s.render(), s.label(), (s.task.after,))


def trailing_blanks(s: Setting) -> Draft | None:
    """Add blanks to the end of lines that are quoted from the file."""
    hunks = s.changes.clear_hunks
    quoted = {text for hunk in hunks or () for text in hunk.old if text}
    if not hunks or not quoted:
        return None
    chosen = set(s.chance.sample(sorted(quoted), 1 + len(quoted) // 3))
    slipped = [
        _map_lines(hunk, lambda sign, t: t + "  " if t in chosen and sign != "+" else t) for hunk in hunks
    ]
    label = _strict(s, "search/replace V4A MCP_edit_file")
    if s.format in CALLS and any(len(hunk.old) == 1 for hunk in slipped):
        label = LENIENT  # a text within a line is taken as it is
    return Draft(s.render(slipped), label, (s.task.after,))


def tabs_for_blanks(s: Setting) -> Draft | None:
    """Indent every line by tabs where the file has blanks, or the other way round."""
    hunks = s.changes.clear_hunks
    if not hunks:
        return None
    to_tabs = not any(line.startswith("\t") for line in s.changes.before)
    slipped = [_map_lines(hunk, lambda _, text: _swap_indent(text, to_tabs)) for hunk in hunks]
    if all(a.old == b.old for a, b in zip(hunks, slipped, strict=True)):
        return None
    return Draft(s.render(slipped), LENIENT, (s.task.after,))


def shifted_indentation(s: Setting) -> Draft | None:
    """Drop the indentation that all lines of a hunk have in common."""
    hunks = s.changes.clear_hunks
    slipped = [_dedent(hunk) for hunk in hunks or ()]
    if not hunks or hunks == slipped:
        return None
    return Draft(s.render(slipped), _strict(s, "search/replace"), (s.task.after,))


def wrong_line_numbers(s: Setting) -> Draft | None:
    """Give wrong start lines; the lines are found once."""
    return _numbered(s, WRONG_STARTS)


def wrong_counts(s: Setting) -> Draft | None:
    """Give wrong numbers of lines; the lines are found once."""
    return _numbered(s, WRONG_COUNTS)


def no_line_numbers(s: Setting) -> Draft | None:
    """Give `@@ ... @@` in place of numbers; the lines are found once."""
    return _numbered(s, NO_NUMBERS)


def smart_quotes(s: Setting) -> Draft | None:
    """Quote lines of the file with typographic quotes; what is added is as it should be."""
    hunks = s.changes.clear_hunks
    slipped = [
        _map_lines(hunk, lambda sign, text: text if sign == "+" else _smart(text)) for hunk in hunks or ()
    ]
    if not hunks or hunks == slipped:
        return None
    return Draft(s.render(slipped), LENIENT, (s.task.after,))


def no_break_at_end_of_answer(s: Setting) -> Draft | None:
    """Leave out the last line break of the answer."""
    answer = s.render()
    # An added line at the end of a diff may be cut off: nothing else shows how it goes on.
    unsure = s.format == "unified diff" and s.hunks()[-1].lines[-1][0] == "+"
    return Draft(answer and answer.removesuffix("\n"), LENIENT if unsure else s.label(), (s.task.after,))


def no_break_at_end_of_file(s: Setting) -> Draft | None:
    """Apply to a file without a line break at its end, where the edit quotes its last line."""
    hunks = s.hunks()
    if s.format != "whole file" and hunks[-1].end < len(s.changes.before):
        return None
    before, after = (text.removesuffix("\n") for text in (s.task.before, s.task.after))
    return Draft(s.render(), s.label(), (after, s.task.after), before)


def crlf_in_file(s: Setting) -> Draft | None:
    """Apply to a file with CRLF; the answer has LF."""
    before, after = (text.replace("\n", "\r\n") for text in (s.task.before, s.task.after))
    right = (after, s.task.after) if s.format == "whole file" else (after,)
    return Draft(s.render(), s.label(), right, before)


def crlf_in_answer(s: Setting) -> Draft | None:
    """Write the answer with CRLF; the file has LF."""
    answer = s.render()
    return Draft(answer and answer.replace("\n", "\r\n"), s.label(), (s.task.after,))


def elided_context(s: Setting) -> Draft | None:
    """Write `...` for kept lines in the middle of a hunk, before and after."""
    hunks = s.changes.unique_hunks
    wide = [_widen(s.changes, first, second) for first, second in pairwise(hunks)]
    for index, hunk in enumerate(wide):
        run = hunk and _longest_kept_run(hunk, 5)
        if hunk and run:
            first, last = run
            if first == 0 or last == len(hunk.lines):
                continue
            short = replace(hunk, lines=(*hunk.lines[: first + 1], (" ", "..."), *hunk.lines[last - 1 :]))
            return Draft(s.render([*hunks[:index], short, *hunks[index + 2 :]]), LENIENT, (s.task.after,))
    return None


def elided_replacement(s: Setting) -> Draft | None:
    """Quote the lines in full, and write a comment for some of them in the replacement."""
    hunks = s.changes.unique_hunks
    for index, hunk in enumerate(hunks):
        run = _longest_kept_run(hunk, 3)
        if run:
            first, last = run
            lines = [(sign, text) for sign, text in hunk.lines]
            kept = [("-", text) for _, text in lines[first:last]]
            comment = ("+", _comment(s.task.path, lines[first][1], "... existing code ..."))
            lazy = replace(hunk, lines=(*lines[:first], *kept, comment, *lines[last:]))
            return Draft(s.render([*hunks[:index], lazy, *hunks[index + 1 :]]), REFUSE, (s.task.after,))
    return None


def elided_file(s: Setting) -> Draft | None:
    """Write a comment for the longest stretch that did not change."""
    whole = Hunk(0, 0, tuple((" ", line) for line in s.changes.after))
    changed = [range(c, d) for _, _, _, c, d in s.changes.steps]
    signs = ["+" if any(i in r for r in changed) else " " for i in range(len(s.changes.after))]
    run = _longest_kept_run(replace(whole, lines=tuple(zip(signs, s.changes.after, strict=True))), 10)
    if not run:
        return None
    lines = s.changes.after
    comment = _comment(s.task.path, lines[run[0]], "... rest of the code remains unchanged ...")
    return Draft(
        s.render(texts=[join([*lines[: run[0]], comment, *lines[run[1] :]])]), REFUSE, (s.task.after,)
    )


def ambiguous(s: Setting) -> Draft | None:
    """Quote so few lines that they occur several times, and first at another place than the meant one."""
    for step in s.chance.sample(range(len(s.changes.steps)), len(s.changes.steps)):
        for context in (3, 2, 1, 0):
            hunk = s.changes.one_hunk(step, context)
            first = next(
                (i for i in range(hunk.start) if s.changes.before[i : i + len(hunk.old)] == hunk.old), None
            )
            if first is not None and any(len(line.strip()) > 1 for line in hunk.old):
                return Draft(
                    s.render([hunk], NO_NUMBERS if s.format == "unified diff" else "right"), REFUSE, ()
                )
    return None


def stale_base(s: Setting) -> Draft | None:
    """Apply to the release before the one that the answer was written for.

    Right is what a three-way merge gives. Where the quoted lines are found once, and applying there gives the
    same, the edit should be applied; where the merge has conflicts, it must be refused.
    """
    older = s.task.older
    if older is None or older in (s.task.before, s.task.after):
        return None
    hunks = s.changes.unique_hunks
    merged = merge(older, s.task.before, s.task.after)
    applied = _apply_where_found(split(older), hunks)
    if merged is None:
        return None if applied is not None else Draft(s.render(hunks), REFUSE, (), older)
    if merged == older or (applied is not None and join(applied) != merged):
        return None
    return Draft(s.render(hunks), LENIENT if applied is None else APPLY, (merged,), older)


def fragment(s: Setting) -> Draft | None:
    """Give a part of the file, around its first change, in place of the whole."""
    lines = s.changes.after
    hunk = s.changes.plain_hunks[0]
    first, last = max(0, hunk.new_start - 5), hunk.new_start + len(hunk.new) + 5
    if len(lines) < FEWEST_LINES or (last - first) * 2 > len(lines):
        return None
    return Draft(s.render(texts=[join(lines[first:last])]), REFUSE, ())


def cut_off(s: Setting) -> Draft | None:
    """End the answer in the middle of its last block."""
    answer = s.render()
    start, end = _LAST_BLOCK[s.format]
    if answer is None:
        return None
    first = answer.rindex(start) + len(start) if start else answer.index("\n```") + len(s.task.path)
    last = answer.rindex(end) if end else answer.rstrip("\n").rindex("\n")
    return Draft(answer[: s.chance.randint(first, last)], REFUSE, (s.task.after,)) if first < last else None


def two_files_under_one_name(s: Setting) -> Draft | None:
    """Give the edit of another file, too, under the name of the first."""
    if not s.task.neighbour:
        return None
    _, before, after = s.task.neighbour
    if s.format == "whole file":
        return Draft(s.render(texts=[s.task.after, after]), REFUSE, ()) if after != s.task.after else None
    hunks, stray = s.hunks(), Changes(before, after).unique_hunks[0]
    text = join(apply_hunks(s.changes.before, hunks))
    if "\n".join(stray.old) in text + s.task.before or count_lines(split(text), stray.old, loosely):
        return None
    return Draft(
        s.render([*hunks, stray]), REFUSE, (s.task.after,), None, join(apply_hunks(split(before), [stray]))
    )


def prose_around(s: Setting) -> Draft | None:
    """Put the edit into a chat answer, in a fence where the format has none."""
    answer = s.render()
    if answer and s.format in _FENCED:
        answer = _fenced(answer, _FENCED[s.format])
    before = f"Sure! I looked at {s.task.path}. Here is the change:\n\n"
    after = "\nThis keeps the rest as it is. Let me know if I should change anything else.\n"
    return Draft(answer and before + answer + after, s.label(), (s.task.after,))


@dataclass(frozen=True)
class Slip:
    """A slip and the formats in which it occurs."""

    make: Callable[[Setting], Draft | None]
    formats: set[str]


TEXTS = set(FORMATS) - CALLS
SLIPS = {
    "none": Slip(none, set(FORMATS)),
    "prose around": Slip(prose_around, TEXTS),
    "trailing blanks": Slip(trailing_blanks, HUNKS),
    "tabs for blanks": Slip(tabs_for_blanks, HUNKS),
    "shifted indentation": Slip(shifted_indentation, HUNKS),
    "wrong line numbers": Slip(wrong_line_numbers, {"unified diff"}),
    "wrong counts": Slip(wrong_counts, {"unified diff"}),
    "no line numbers": Slip(no_line_numbers, {"unified diff"}),
    "line numbers in V4A": Slip(wrong_line_numbers, {"V4A"}),
    "smart quotes": Slip(smart_quotes, HUNKS),
    "no break at end of answer": Slip(no_break_at_end_of_answer, TEXTS),
    "no break at end of file": Slip(no_break_at_end_of_file, set(FORMATS)),
    "CRLF in file": Slip(crlf_in_file, set(FORMATS)),
    "CRLF in answer": Slip(crlf_in_answer, TEXTS),
    "elided context": Slip(elided_context, HUNKS),
    "elided replacement": Slip(elided_replacement, {"search/replace", "CSL", *CALLS}),
    "elided file": Slip(elided_file, {"whole file"}),
    "ambiguous": Slip(ambiguous, HUNKS),
    "stale base": Slip(stale_base, HUNKS),
    "fragment": Slip(fragment, {"whole file"}),
    "cut off": Slip(cut_off, set(FORMATS)),
    "two files, one name": Slip(two_files_under_one_name, set(FORMATS)),
}

# Where the last block of an answer starts and ends; a unified diff ends with its last line.
_LAST_BLOCK = {
    "search/replace": ("<<<<<<< SEARCH\n", ">>>>>>> REPLACE"),
    "V4A": ("\n@@", "\n*** End Patch"),
    "unified diff": (" @@\n", ""),
    "whole file": ("", "\n```"),
    "CSL": ("<---SEARCH", "<---END--->"),
    "Edit call": ("tool_use", "}"),
    "MCP edit_file": ("edits", "}"),
}
_FENCED = {"V4A": "", "unified diff": "diff"}


def _fenced(answer: str, language: str) -> str:
    ticks = "````" if "```" in answer else "```"
    return f"{ticks}{language}\n{answer}{ticks}\n"


@lru_cache(maxsize=1)
def merge(ours: str, base: str, theirs: str) -> str | None:
    """Return the three-way merge of texts, or None where it has conflicts; by git."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for file, text in zip(files, (ours, base, theirs), strict=True):
            file.write_bytes(text.encode())
        result = subprocess.run(
            ["git", "merge-file", "-p", *map(str, files)], capture_output=True, check=False
        )
    return result.stdout.decode() if result.returncode == 0 else None


def _strict(s: Setting, formats: str) -> str:
    """Return the label where only some formats have a tradition of finding lines despite this slip."""
    return APPLY if s.format.replace(" ", "_") in formats.split() else LENIENT


def _map_lines(hunk: Hunk, change: Callable[[str, str], str]) -> Hunk:
    return replace(hunk, lines=tuple((sign, change(sign, text)) for sign, text in hunk.lines))


def _swap_indent(text: str, to_tabs: bool) -> str:
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    swapped = blanks.replace(" " * SPACES, "\t") if to_tabs else blanks.replace("\t", " " * SPACES)
    return swapped + text[len(blanks) :]


def _dedent(hunk: Hunk) -> Hunk:
    lines = [text for _, text in hunk.lines if text.strip()]
    width = min((len(text) - len(text.lstrip(" ")) for text in lines), default=0)
    return _map_lines(hunk, lambda _, text: text[width:] if text.strip() else text)


def _numbered(s: Setting, numbers: str) -> Draft | None:
    hunks = s.changes.plain_hunks
    if hunks != s.changes.unique_hunks:
        return None
    answer = s.render(hunks, numbers)
    if s.format != "unified diff":
        return Draft(answer, LENIENT, (s.task.after,))
    # Without counts only the end of a fence shows that the diff is not cut off.
    return Draft(answer and _fenced(answer, "diff"), APPLY, (s.task.after,))


def _smart(text: str) -> str:
    opened = re.sub(r"(^|[\s(\[{=,])\"", "\\1\u201c", text).replace('"', "\u201d")
    return re.sub(r"(^|[\s(\[{=,])'", "\\1\u2018", opened).replace("'", "\u2019")


def _widen(changes: Changes, first: Hunk, second: Hunk) -> Hunk | None:
    """Return one hunk for two, with all lines between them, if these are few."""
    gap = changes.before[first.end : second.start]
    if len(gap) > WIDEST_GAP:
        return None
    return replace(first, lines=(*first.lines, *((" ", text) for text in gap), *second.lines))


def _longest_kept_run(hunk: Hunk, least: int) -> tuple[int, int] | None:
    """Return where the longest run of kept lines is, blank ones at its ends aside, if it is long enough."""
    best, start = (0, 0), 0
    for index, (sign, _) in enumerate((*hunk.lines, ("+", ""))):
        if sign != " ":
            best = max(best, (start, index), key=lambda run: run[1] - run[0])
            start = index + 1
    first, last = best
    while first < last and not hunk.lines[first][1].strip():
        first += 1
    while first < last and not hunk.lines[last - 1][1].strip():
        last -= 1
    return (first, last) if last - first >= least else None


def _comment(path: str, beside: str, text: str) -> str:
    """Return a comment in the language of the file, indented like the line that it stands for."""
    indent = beside[: len(beside) - len(beside.lstrip())]
    suffix = path.rpartition(".")[2]
    if suffix in ("md", "html"):
        return f"{indent}<!-- {text} -->"
    return f"{indent}{'#' if suffix in ('py', 'pyi', 'toml', 'rst') else '//'} {text}"


def _apply_where_found(lines: list[str], hunks: Sequence[Hunk]) -> list[str] | None:
    """Return the lines after replacing each hunk's lines where they are found, if each is found once."""
    for hunk in hunks:
        if count_lines(lines, hunk.old) != 1:
            return None
        at = next(i for i in range(len(lines)) if lines[i : i + len(hunk.old)] == hunk.old)
        lines = [*lines[:at], *hunk.new, *lines[at + len(hunk.old) :]]
    return lines
