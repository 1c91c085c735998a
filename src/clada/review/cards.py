"""The cards of the page: one for each file, or command, with its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import clada
from clada.review import bodies
from clada.review.bodies import button
from clada.review.choices import editable_text
from clada.review.diffs import context_rows, hunk_rows, tables
from clada.review.markup import Markup, el, join, odd_text
from clada.review.operations import describe_outcome, line_count, plural
from clada.review.prose import render_prose
from clada.review.tree import badge, counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.report.diff import FileHunk
    from clada.review.choices import Choices
    from clada.review.operations import Group, ShownOperation
    from clada.review.page import Review

MAX_ROWS = 3000  # rows of a hunk; of a longer one only the first are in the page
FIRST_ROWS = 200
HEAD_ROWS = 5  # height of a card without its diffs
STEP = 20  # lines of context that are shown more
HEADINGS = {"delete": "Deletion", "move": "Move"}  # of commands that clada carries out itself


def height(group: Group) -> int:
    """Return about how many rows a card takes: what is not near is not rendered, and keeps its place."""
    return HEAD_ROWS + sum(len(hunk.lines) for each in group.operations for hunk in each.preview.hunks)


class Cards:
    """Renders cards with the choices of a person."""

    def __init__(self, review: Review, choices: Choices, *, live: bool) -> None:
        self._review, self._mask, self._choices, self._live = review, review.mask, choices, live

    def card(self, group: Group) -> Markup:
        """Return the prose before a group, and its card."""
        first, kind = group.operations[0], group.kind
        is_viewed = first.index in self._choices.viewed
        is_command = isinstance(first.item, clada.Run)
        name = HEADINGS.get(kind, "Command") if is_command else group.name
        tick = el(
            "input", type="checkbox", class_="viewed", data_index=first.index, checked=is_viewed,
            autocomplete="off",
        )  # fmt: skip
        expanded = str(not is_viewed).lower()
        head = el(
            "header",
            button("", "fold", aria_expanded=expanded, aria_label=f"fold {name}"),
            badge(kind),
            el("h2", odd_text(name), id=f"{group.id}-name"),
            counts(*group.lines),
            el("label", tick, "Viewed", class_="live") if self._live else None,
        )
        body = [self.operation(each, prose=number > 0) for number, each in enumerate(group.operations)]
        inner = el("div", *body, class_="body", hidden=is_viewed)
        names = {"id": group.id, "role": "group", "aria_labelledby": f"{group.id}-name"}
        card = el("div", head, inner, class_=f"card {kind}", data_rows=height(group), **names)
        return join(render_prose(first.prose), card)

    def operation(self, shown: ShownOperation, *, prose: bool = False) -> Markup:
        """Return one operation: its outcome, its note, and its diff."""
        task, index = shown.preview.task, shown.index
        colour, words = describe_outcome(task, planned=True, kind=shown.kind)
        take = el(
            "input", type="checkbox", class_="choice take", data_index=index, autocomplete="off",
            checked=self._choices.takes(index), disabled=task.invalid, aria_label=f"take {shown.name}",
        )  # fmt: skip
        head = el(
            "div",
            take if self._live else None,
            el("h3", el("span", task.label, class_="number"), task.operation, id=f"op-{index}-name"),
            el("span", words, class_=f"outcome {colour}", data_planned=words, data_colour=colour),
            self._note_button(str(index), f"task {task.label}"),
            class_="op-head",
        )
        return el(
            "article",
            render_prose(shown.prose) if prose else None,
            head,
            self._note(str(index), f"task {task.label}"),
            *self._body(shown),
            el("pre", class_="output", tabindex=0, aria_label=f"output of task {task.label}", hidden=True),
            id=f"op-{index}",
            class_=f"op {shown.kind}",
            data_index=index,
            data_failing=shown.is_failing,
            data_invalid=task.invalid,
            data_lacking=bool(shown.needs_approval),
            data_runs=shown.kind == "command" and task.status == "skipped",
            data_name=shown.name[:200],
            tabindex="-1",
            aria_labelledby=f"op-{index}-name",
        )

    def _body(self, shown: ShownOperation) -> Iterator[Markup]:
        task, item = shown.preview.task, shown.item
        if isinstance(item, clada.Run):
            approval = bodies.approval(shown, self._choices) if self._live else None
            missing = el("p", f"Needs approval: {shown.needs_approval}", class_="wait")
            yield bodies.command(shown, item, approval or missing)
        if task.error:
            yield bodies.failure(shown, task.error, self._mask, live=self._live)
        elif shown.kind == "delete":
            yield from bodies.deletion(shown, self._mask)
        elif shown.kind in ("command", "move"):
            yield from bodies.changed_files(task, self._review.before)
        elif shown.preview.hunks:
            yield from self._hunks(shown)
        elif summary := bodies.size_summary(shown.preview):
            yield el("p", summary, class_="plain-body")
        remarks = getattr(task.outcome, "remarks", ())
        if self._live and any(remark.endswith("by the user") for remark in remarks):
            other = button("Choose another place", "unplace", data_index=shown.index)
            yield el("p", other, class_="plain-body")

    # Notes.

    def _note_button(self, key: str, what: str) -> Markup | None:
        if not self._live:
            return None
        label = f"note on {what}"
        return button("Note", "add-note plain", data_key=key, aria_label=label, title="tell the model why")

    def _note(self, key: str, what: str) -> Markup | None:
        note = self._choices.notes.get(key, "")
        if not self._live:
            return el("p", note, class_="note-text") if note else None
        field = el(
            "textarea", note, class_="choice note", data_key=key, rows=2, autocomplete="off",
            aria_label=f"note on {what}, for the model", placeholder="For the model: left out because …",
        )  # fmt: skip
        return el("div", field, class_="note-field", hidden=not note)

    # Hunks.

    def _hunks(self, shown: ShownOperation) -> Iterator[Markup]:
        """Yield the hunks, with buttons for more lines between them."""
        data = shown.preview.before
        at, shift = 0, 0  # lines of the file that were passed, and how much longer the new version is
        for hunk in shown.preview.hunks:
            if data is not None and hunk.old:
                yield self._expander(shown, at + 1, hunk.start, shift, "up")
            yield self.hunk(shown, hunk)
            at = hunk.start + line_count(hunk.old)
            shift += line_count(hunk.new) - line_count(hunk.old)
        if data:
            yield self._expander(shown, at + 1, line_count(data), shift, "down")

    def hunk(self, shown: ShownOperation, hunk: FileHunk) -> Markup:
        """Return one hunk as it is now."""
        index, number = shown.index, hunk.number
        key, what = f"{index}.{number}", f"hunk {number} of {hunk.of} of {shown.preview.task.target}"
        now = self._choices.hunk(index, hunk)
        box = el(
            "input", type="checkbox", class_="choice take-hunk", data_index=index, data_hunk=number,
            checked=self._choices.takes_hunk(index, number), aria_label=what, autocomplete="off",
        )  # fmt: skip
        can_edit = self._live and editable_text(hunk, self._mask) is not None
        is_one_of_many = hunk.of > 1
        head = el(
            "div",
            el("label", box, f"hunk {number} of {hunk.of}") if is_one_of_many and self._live else None,
            el("code", now.lines[0][1]),
            el("span", "edited by you", class_="chip") if now.edited else None,
            button("Edit", "edit plain", data_key=key, aria_label=f"edit {what}") if can_edit else None,
            self._note_button(key, what) if is_one_of_many else None,
            class_="hunk-head",
        )
        note = self._note(key, what) if is_one_of_many else None
        rows = self.rows(shown, now, FIRST_ROWS if len(now.lines) > MAX_ROWS and self._live else None)
        return el("div", head, note, rows, class_="hunk", data_key=key)

    def rows(self, shown: ShownOperation, hunk: FileHunk, most: int | None = None) -> Markup:
        """Return the rows of a hunk; or the first of them, and a button for the others."""
        key = (shown.index, hunk.number, most or 0)
        rendered = self._review.rendered if not hunk.edited else {}
        if key not in rendered:
            path = shown.preview.task.path
            cut = hunk.replace(lines=hunk.lines[: most + 1]) if most else hunk
            rendered[key] = tables(hunk_rows(cut, path, self._mask), f"diff of {path}")
        if not most:
            return rendered[key]
        more = f"Show all {len(hunk.lines) - 1:,} lines"
        return join(rendered[key], button(more, "more", data_index=shown.index, data_hunk=hunk.number))

    def _expander(self, shown: ShownOperation, first: int, last: int, shift: int, way: str) -> Markup:
        if first > last or not self._live:
            return Markup()
        count = plural(min(STEP, last - first + 1), "line")
        return button(
            f"↑ {count} above" if way == "up" else f"↓ {count} below",
            "expand", data_index=shown.index, data_from=first, data_to=last, data_shift=shift, data_way=way,
        )  # fmt: skip

    def context(self, shown: ShownOperation, first: int, last: int, shift: int) -> Markup:
        """Return lines of a file around its hunks, which do not change."""
        path = shown.preview.task.path
        lines = bodies.file_lines(shown, first, last)
        return tables(context_rows(lines, first, shift, path, self._mask), f"more of {path}")
