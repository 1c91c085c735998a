"""The cards of the page: one for each file, or command, with its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import clada
from clada.review.choices import editable_text
from clada.review.diffs import context_rows, diff_rows, hunk_rows, tables
from clada.review.markup import DASH, MINUS, Markup, el, join, numbers, odd_text
from clada.review.prose import rendered
from clada.review.tree import badge, counts
from clada.review.words import outcome, plural, size
from clada.selection import find_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clada.report.diff import FileHunk
    from clada.review.choices import Choices, Mask
    from clada.review.groups import Group, Shown
    from clada.selection import Place, Preview

MAX_ROWS = 3000  # rows of a hunk; of a longer one only the first are in the page
FIRST_ROWS = 200
STEP = 20  # lines of context that are shown more
MAX_FILES = 500  # removed or changed files that are named
MAX_REMOVED = 400  # lines of a removed file that are shown
HEAD_ROWS = 5  # height of a card without its diffs
AROUND = 2  # lines before and after a match
ANSWERS = (("", "Not yet"), ("once", "Once"), ("always", "Always"), ("never", "Never, block it"))


class Cards:
    """Renders cards with what a person has chosen."""

    def __init__(
        self,
        changes: Mapping[str, bytes | None],
        mask: Mask,
        choices: Choices,
        *,
        live: bool,
        rendered_rows: dict[tuple[int, ...], Markup] | None = None,
    ) -> None:
        self._changes = changes  # what files have before, by path
        self._mask, self._choices, self._live = mask, choices, live
        self._rows = {} if rendered_rows is None else rendered_rows  # by index, hunk and limit

    def card(self, group: Group) -> Markup:
        """Return the prose before a group, and its card."""
        first = group.operations[0]
        is_viewed = first.index in self._choices.viewed
        kind = group.kind
        added, removed = group.lines
        name = "Command" if isinstance(first.item, clada.Run) else group.name
        viewed = el(
            "label",
            el(
                "input",
                type="checkbox",
                class_="viewed",
                data_index=first.index,
                checked=is_viewed,
                autocomplete="off",
            ),
            "Viewed",
            class_="live",
        )
        head = el(
            "header",
            el(
                "button",
                type="button",
                class_="fold",
                aria_expanded=str(not is_viewed).lower(),
                aria_label=f"fold {name}",
            ),
            badge(kind),
            el("h2", odd_text(name), id=f"{group.id}-name"),
            counts(added, removed),
            viewed if self._live else None,
        )
        body = [self.operation(each, prose=number > 0) for number, each in enumerate(group.operations)]
        return join(
            rendered(first.prose),
            el(
                "div",
                head,
                el("div", *body, class_="body", hidden=is_viewed),
                class_=f"card {kind}",
                id=group.id,
                role="group",
                aria_labelledby=f"{group.id}-name",
                data_rows=height(group),
            ),
        )

    def operation(self, shown: Shown, *, prose: bool = False) -> Markup:
        """Return one operation: what it would do, what a person may say of it, and its diff."""
        task, index = shown.preview.task, shown.index
        colour, words = outcome(task, planned=True)
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
            rendered(shown.prose) if prose else None,
            head,
            self._note(str(index), f"task {task.label}"),
            *self._body(shown),
            el("pre", class_="output", tabindex=0, aria_label=f"output of task {task.label}", hidden=True),
            id=f"op-{index}",
            class_=f"op {shown.kind}",
            data_index=index,
            data_failing=shown.is_failing,
            data_invalid=task.invalid,
            data_lacking=bool(shown.lacking),
            data_runs=shown.kind == "command" and task.status == "skipped",
            data_name=shown.name[:200],
            tabindex="-1",
            aria_labelledby=f"op-{index}-name",
        )

    def _body(self, shown: Shown) -> Iterator[Markup]:
        task, item = shown.preview.task, shown.item
        is_command = isinstance(item, clada.Run)
        if isinstance(item, clada.Run):
            yield self._command(shown, item)
        if task.error:
            yield self._trouble(shown)
        elif shown.kind == "delete":
            yield from self._removed(task)
        elif is_command:
            yield from self._changed_files(task)
        elif shown.kind == "move":
            yield self._move(task)
        elif shown.preview.hunks:
            yield from self._hunks(shown)
        elif summary := _summary(shown.preview):
            yield el("p", summary, class_="plain-body")
        remarks = getattr(task.outcome, "remarks", ())
        if self._live and any(remark.endswith("by the user") for remark in remarks):
            yield el(
                "p", _button("Choose another place", "unplace", data_index=shown.index), class_="plain-body"
            )

    # Notes.

    def _note_button(self, key: str, what: str) -> Markup | None:
        if not self._live:
            return None
        return _button(
            "Note", "add-note plain", data_key=key, aria_label=f"note on {what}", title="tell the model why"
        )

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

    def _hunks(self, shown: Shown) -> Iterator[Markup]:
        """Yield the hunks, with what can be shown between them."""
        data = shown.preview.before
        lines = data.count(b"\n") + (not data.endswith(b"\n")) if data else 0
        at, shift = 0, 0  # lines of the file that were passed, and how much longer the new version is
        for hunk in shown.preview.hunks:
            if data is not None and hunk.old:
                yield self._expander(shown, at + 1, hunk.start, shift, "up")
            yield self.hunk(shown, hunk)
            at = hunk.start + _line_count(hunk.old)
            shift += _line_count(hunk.new) - _line_count(hunk.old)
        if data:
            yield self._expander(shown, at + 1, lines, shift, "down")

    def hunk(self, shown: Shown, hunk: FileHunk) -> Markup:
        """Return one hunk as it is now."""
        index, number = shown.index, hunk.number
        key, what = f"{index}.{number}", f"hunk {number} of {hunk.of} of {shown.preview.task.target}"
        now = self._choices.hunk(index, hunk)
        take = el(
            "label",
            el(
                "input", type="checkbox", class_="choice take-hunk", data_index=index, data_hunk=number,
                checked=self._choices.takes_hunk(index, number), aria_label=what, autocomplete="off",
            ),
            f"hunk {number} of {hunk.of}",
        )  # fmt: skip
        can_edit = self._live and editable_text(hunk, self._mask) is not None
        head = el(
            "div",
            take if hunk.of > 1 and self._live else None,
            el("code", hunk.lines[0][1]),
            el("span", "edited by you", class_="chip") if now.edited else None,
            _button("Edit", "edit plain", data_key=key, aria_label=f"edit {what}") if can_edit else None,
            self._note_button(key, what) if hunk.of > 1 else None,
            class_="hunk-head",
        )
        return el(
            "div",
            head,
            self._note(key, what) if hunk.of > 1 else None,
            self.rows(shown, now, FIRST_ROWS if len(now.lines) > MAX_ROWS and self._live else None),
            class_="hunk",
            data_key=key,
        )

    def rows(self, shown: Shown, hunk: FileHunk, most: int | None = None) -> Markup:
        """Return the rows of a hunk; or the first of these, and what asks for the others."""
        key = (shown.index, hunk.number, most or 0)
        shown_rows = None if hunk.edited else self._rows.get(key)
        if shown_rows is None:
            path = shown.preview.task.path
            cut = hunk.replace(lines=hunk.lines[: most + 1]) if most else hunk
            shown_rows = tables(hunk_rows(cut, path, self._mask), f"diff of {path}")
            if not hunk.edited:
                self._rows[key] = shown_rows
        if not most:
            return shown_rows
        more = f"Show all {len(hunk.lines) - 1:,} lines"
        return join(shown_rows, _button(more, "more", data_index=shown.index, data_hunk=hunk.number))

    def _expander(self, shown: Shown, first: int, last: int, shift: int, way: str) -> Markup:
        if first > last or not self._live:
            return Markup()
        count = min(STEP, last - first + 1)
        return _button(
            f"{'↑' if way == 'up' else '↓'} {plural(count, 'line')} {'above' if way == 'up' else 'below'}",
            "expand", data_index=shown.index, data_from=first, data_to=last, data_shift=shift, data_way=way,
        )  # fmt: skip

    def context(self, shown: Shown, first: int, last: int, shift: int) -> Markup:
        """Return lines of a file around its hunks, which do not change."""
        path = shown.preview.task.path
        rows = context_rows(_lines_of(shown, first, last), first, shift, path, self._mask)
        return tables(rows, f"more of {path}")

    # Commands.

    def _command(self, shown: Shown, item: clada.Run) -> Markup:
        odd = [char for char in dict.fromkeys(item.command) if not char.isascii()][:5]
        beware = f"Beware of {numbers(''.join(odd))}: not ASCII, and it may look like it." if odd else ""
        return el(
            "div",
            el("pre", odd_text(item.command), tabindex=0, aria_label="command"),
            el("p", "in ", odd_text(item.dir)) if item.dir else None,
            el("p", beware, class_="wait") if beware else None,
            self._approval(shown) if shown.lacking else None,
            class_="command-text",
        )

    def _approval(self, shown: Shown) -> Markup:
        if not self._live:
            return el("p", f"Needs approval: {shown.lacking}", class_="wait")
        index = shown.index
        answer, _, network = self._choices.answers.get(str(index), "").partition("+")
        choices = [
            el(
                "label",
                el(
                    "input", type="radio", class_="choice answer", name=f"approve-{index}", value=value,
                    data_index=index, checked=answer == value, autocomplete="off",
                ),
                words,
            )
            for value, words in ANSWERS
        ]  # fmt: skip
        box = el(
            "input", type="checkbox", class_="choice network", data_index=index, checked=bool(network),
            autocomplete="off",
        )  # fmt: skip
        why = el("p", shown.lacking, class_="why")
        return el(
            "fieldset", el("legend", "May it run?"), why, *choices, el("label", box, "with the network")
        )

    def _changed_files(self, task: clada.Task) -> Iterator[Markup]:
        changes = getattr(task.outcome, "changes", ())
        if changes:
            yield _listed(
                [el("li", el("span", change.how, class_="how"), odd_text(change.path)) for change in changes]
            )

    # Files that go, or are moved.

    def _removed(self, task: clada.Task) -> Iterator[Markup]:
        """Yield every file that goes, with its lines."""
        paths = tuple(f"{change.path}/" for change in getattr(task.outcome, "changes", ()))
        files = {
            path: data
            for path, data in self._changes.items()
            if data is not None and f"{path}/".startswith(paths)
        }
        total = sum(map(_line_count, files.values()))
        yield el(
            "p",
            f"Removes {plural(len(files), 'file')} with {plural(total, 'line')}.",
            class_="plain-body bad",
        )
        if len(files) > 1:
            yield _listed(
                [
                    el("li", odd_text(path), " ", el("span", _measure(data), class_="minus"))
                    for path, data in files.items()
                ]
            )
        for path, data in files.items():
            if data and b"\0" not in data and (len(files) == 1 or total <= MAX_REMOVED):
                yield self._removed_text(path, data)

    def _removed_text(self, path: str, data: bytes) -> Markup:
        lines = data.decode(errors="replace").removesuffix("\n").split("\n")
        shown = [("removed", f"-{line}") for line in lines[:MAX_REMOVED]]
        rows = diff_rows(shown, path, self._mask)
        left = len(lines) - len(shown)
        more = el("p", f"and {plural(left, 'more line')}", class_="plain-body") if left else None
        head = el("div", el("code", odd_text(path)), class_="hunk-head")
        return el("div", head, tables(rows, f"what {path} has"), more, class_="hunk")

    def _move(self, task: clada.Task) -> Markup:
        before, _, after = task.target.partition(" -> ")
        data = self._changes.get(before)
        what = f" ({_measure(data)}, unchanged)" if data is not None else ""
        return el(
            "p",
            el("del", odd_text(before)),
            " → ",
            el("ins", odd_text(after)),
            what,
            class_="plain-body move-text",
        )

    # Failures.

    def _trouble(self, shown: Shown) -> Markup:
        """Return why an operation fails: what the answer expects, and what the file has."""
        error = shown.preview.task.error
        if error is None:
            return Markup()
        places = find_places(shown.item, shown.preview)
        parts: list[Markup | None] = [el("p", self._mask(error.sentence), class_="bad")]
        if places:
            if not error.lines:
                parts.append(_legend())
            parts += [self._place(shown, place) for place in places]
        elif error.searched:
            parts.append(_details("What the answer searches for", self._mask(error.searched), is_open=True))
        if isinstance(shown.item, clada.Edit) and len(shown.item.hunks) == 1:
            parts.append(_details("What it would put there", shown.item.hunks[0].replacement))
        elif isinstance(shown.item, clada.Write):
            parts.append(_details("What it would write", shown.item.content))
        return el("div", *parts, class_="trouble")

    def _place(self, shown: Shown, place: Place) -> Markup:
        path = shown.preview.task.path
        if place.difference:
            rows = diff_rows(place.difference, path, self._mask, (place.first, place.first))
        else:
            first, last = max(1, place.first - AROUND), place.last + AROUND
            rows = context_rows(_lines_of(shown, first, last), first, 0, path, self._mask)
        for row in rows:
            row.old = None
            if not place.difference and place.first <= (row.new or 0) <= place.last:
                row.kind = "hit"
        lines = (
            f"line {place.first}" if place.first == place.last else f"lines {place.first}{DASH}{place.last}"
        )
        use = _button(
            f"Use {lines}", "place", data_index=shown.index, data_first=place.first, data_last=place.last
        )  # fmt: skip
        return el(
            "div",
            el("div", el("code", lines), use if self._live else None, class_="hunk-head"),
            tables(rows, f"what the answer expects, and {lines} of {path}"),
            class_="hunk place-shown",
        )


def height(group: Group) -> int:
    """Return about how many rows a card takes: what is not near is not rendered, and keeps its place."""
    return HEAD_ROWS + sum(len(hunk.lines) for each in group.operations for hunk in each.preview.hunks)


def _legend() -> Markup:
    wanted, found = el("span", MINUS, class_="minus"), el("span", "+", class_="plus")
    return el("p", wanted, " the answer expects, ", found, " the file has", class_="legend")


def _lines_of(shown: Shown, first: int, last: int) -> list[str]:
    """Return these lines of the file of an operation."""
    lines = (shown.preview.before or b"").decode(errors="replace").split("\n")
    return [line.removesuffix("\r") for line in lines[first - 1 : last]]


def _button(words: str, class_: str, **attributes: str | float | None) -> Markup:
    return el("button", words, type="button", class_=class_, **attributes)


def _details(title: str, content: str, *, is_open: bool = False) -> Markup:
    return el("details", el("summary", title), el("pre", content, tabindex=0), open=is_open)


def _listed(rows: Sequence[Markup]) -> Markup:
    more = [el("li", f"and {len(rows) - MAX_FILES:,} more")] if len(rows) > MAX_FILES else []
    return el("ul", *rows[:MAX_FILES], *more, class_="files plain-body")


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


def _measure(data: bytes | None) -> str:
    if data is None:
        return ""
    return size(len(data)) if b"\0" in data else plural(_line_count(data), "line")


def _summary(shown: Preview) -> str:
    """Return what happens to a file whose diff is not shown."""
    how = getattr(shown.task.outcome, "how", "")
    if shown.sizes is None or not how or how == "unchanged":
        return ""
    old, new = map(size, shown.sizes)
    what = "Binary file" if shown.is_binary else "Too much to show"
    lines = f", {plural(_line_count(shown.before), 'line')} before" if shown.before else ""
    return f"{what}: {new}" if how == "created" else f"{what}: {old} → {new}{lines}"
