"""The bodies of cards without a diff: commands, deletions, moves, and why an operation would fail."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import clada
from clada.review.diffs import context_rows, diff_rows, tables
from clada.review.markup import DASH, MINUS, Markup, el, numbers, odd_text
from clada.review.operations import line_count, plural, size
from clada.selection import find_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clada.review.choices import Choices, Mask
    from clada.review.operations import ShownOperation
    from clada.selection import Place, Preview

MAX_FILES = 500  # removed or changed files that are named
MAX_REMOVED = 400  # lines of a removed file that are shown
AROUND = 2  # lines before and after a match
ANSWERS = (("", "Not yet"), ("once", "Once"), ("always", "Always"), ("never", "Never, block it"))


def button(words: str, class_: str, **attributes: str | float | None) -> Markup:
    """Return a button."""
    return el("button", words, type="button", class_=class_, **attributes)


def file_lines(shown: ShownOperation, first: int, last: int) -> list[str]:
    """Return these lines of the file of an operation."""
    lines = (shown.preview.before or b"").decode(errors="replace").split("\n")
    return [line.removesuffix("\r") for line in lines[first - 1 : last]]


# Commands.


def command(shown: ShownOperation, item: clada.Run, approval: Markup | None) -> Markup:
    """Return the text of a command, and the question whether it may run."""
    odd = [char for char in dict.fromkeys(item.command) if not char.isascii()][:5]
    beware = f"Contains {numbers(''.join(odd))}: not ASCII, though it may look like it." if odd else ""
    return el(
        "div",
        el("pre", odd_text(item.command), tabindex=0, aria_label="command"),
        el("p", "in ", odd_text(item.dir)) if item.dir else None,
        el("p", beware, class_="wait") if beware else None,
        approval if shown.needs_approval else None,
        class_="command-text",
    )


def approval(shown: ShownOperation, choices: Choices) -> Markup:
    """Return the question whether a command may run."""
    index = shown.index
    answer, _, network = choices.answers.get(str(index), "").partition("+")
    given = [
        _choice("radio", "answer", words, index, answer == value, name=f"approve-{index}", value=value)
        for value, words in ANSWERS
    ]
    box = _choice("checkbox", "network", "with the network", index, bool(network))
    why = el("p", shown.needs_approval, class_="why")
    return el("fieldset", el("legend", "May it run?"), why, *given, box)


def _choice(type_: str, class_: str, words: str, index: int, checked: bool, **more: str) -> Markup:
    field = el(
        "input", type=type_, class_=f"choice {class_}", data_index=index, checked=checked, autocomplete="off",
        **more,
    )  # fmt: skip
    return el("label", field, words)


def changed_files(task: clada.Task, before: Mapping[str, bytes | None]) -> Iterator[Markup]:
    """Yield the files that are moved, or changed by a command that clada carries out itself."""
    changes = getattr(task.outcome, "changes", ())
    rows = []
    for change, following in pairwise([*changes, None]):
        if change.how == "moved":
            continue  # shown with the file that it was before
        if change.how == "removed" and following and following.how == "moved":
            data = before.get(change.path)
            what = f" ({_measure(data)}, unchanged)" if data is not None else None
            paths = el("del", odd_text(change.path)), " → ", el("ins", odd_text(following.path))
            rows.append(el("li", *paths, what, class_="move-text"))
        else:
            rows.append(el("li", el("span", change.how, class_="how"), odd_text(change.path)))
    if rows:
        yield _file_list(rows)


# Deletions.


def deletion(shown: ShownOperation, mask: Mask) -> Iterator[Markup]:
    """Yield every deleted file, with its lines."""
    files = shown.deleted
    total = sum(map(line_count, files.values()))
    what = f"Removes {plural(len(files), 'file')} with {plural(total, 'line')}."
    yield el("p", what, class_="plain-body bad")
    if len(files) > 1:
        yield _file_list(
            [
                el("li", odd_text(path), " ", el("span", _measure(data), class_="minus"))
                for path, data in files.items()
            ]
        )
    for path, data in files.items():
        if data and b"\0" not in data and (len(files) == 1 or total <= MAX_REMOVED):
            yield _deleted_file(path, data, mask)


def _deleted_file(path: str, data: bytes, mask: Mask) -> Markup:
    lines = data.decode(errors="replace").removesuffix("\n").split("\n")
    rows = diff_rows([("removed", f"-{line}") for line in lines[:MAX_REMOVED]], path, mask)
    left = len(lines) - MAX_REMOVED
    more = el("p", f"and {plural(left, 'more line')}", class_="plain-body") if left > 0 else None
    head = el("div", el("code", odd_text(path)), class_="hunk-head")
    return el("div", head, tables(rows, f"what {path} has"), more, class_="hunk")


def _file_list(rows: Sequence[Markup]) -> Markup:
    more = [el("li", f"and {len(rows) - MAX_FILES:,} more")] if len(rows) > MAX_FILES else []
    return el("ul", *rows[:MAX_FILES], *more, class_="files plain-body")


def _measure(data: bytes) -> str:
    return size(len(data)) if b"\0" in data else plural(line_count(data), "line")


def size_summary(shown: Preview) -> str:
    """Return what happens to a file whose diff is not shown."""
    how = getattr(shown.task.outcome, "how", "")
    if shown.sizes is None or not how or how == "unchanged":
        return ""
    old, new = map(size, shown.sizes)
    what = "Binary file" if shown.is_binary else "Too much to show"
    lines = f", {plural(line_count(shown.before), 'line')} before" if shown.before else ""
    return f"{what}: {new}" if how == "created" else f"{what}: {old} → {new}{lines}"


# Failures.


def failure(shown: ShownOperation, error: clada.Error, mask: Mask, *, live: bool) -> Markup:
    """Return why an operation would fail: the text that the answer expects, and that of the file."""
    places = find_places(shown.item, shown.preview)
    parts: list[Markup | None] = [el("p", mask(error.sentence), class_="bad")]
    if places:
        if not error.lines:
            wanted, found = el("span", MINUS, class_="minus"), el("span", "+", class_="plus")
            parts.append(el("p", wanted, " the answer expects, ", found, " the file has", class_="legend"))
        parts += [_place(shown, place, mask, live=live) for place in places]
    elif error.searched:
        parts.append(_details("What the answer searches for", mask(error.searched), is_open=True))
    if isinstance(shown.item, clada.Edit) and len(shown.item.hunks) == 1:
        parts.append(_details("What it would put there", shown.item.hunks[0].replacement))
    elif isinstance(shown.item, clada.Write):
        parts.append(_details("What it would write", shown.item.content))
    return el("div", *parts, class_="trouble")


def _place(shown: ShownOperation, place: Place, mask: Mask, *, live: bool) -> Markup:
    """Return lines that the answer may mean, and a button that takes them."""
    path = shown.preview.task.path
    if place.difference:
        rows = diff_rows(place.difference, path, mask, (place.first, place.first))
    else:
        first, last = max(1, place.first - AROUND), place.last + AROUND
        rows = context_rows(file_lines(shown, first, last), first, 0, path, mask)
    for row in rows:
        row.old = None
        if not place.difference and place.first <= (row.new or 0) <= place.last:
            row.kind = "hit"
    one = place.first == place.last
    lines = f"line {place.first}" if one else f"lines {place.first}{DASH}{place.last}"
    use = button(
        f"Use {lines}", "place", data_index=shown.index, data_first=place.first, data_last=place.last
    )
    return el(
        "div",
        el("div", el("code", lines), use if live else None, class_="hunk-head"),
        tables(rows, f"what the answer expects, and {lines} of {path}"),
        class_="hunk place-shown",
    )


def _details(title: str, content: str, *, is_open: bool = False) -> Markup:
    return el("details", el("summary", title), el("pre", content, tabindex=0), open=is_open)
