"""The tree in the left column: the files of an answer in their folders, and its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clada.review.markup import MINUS, Markup, el, odd_text
from clada.review.operations import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clada.review.operations import Group

    Folder = dict[str, "Folder | Group"]


def tree(groups: Sequence[Group], viewed: Collection[int]) -> Markup:
    """Return the tree, in the order in which things are carried out."""
    if not groups:
        return el("p", "Files and commands of an answer are listed here.", class_="quiet")
    top: Folder = {}
    for group in groups:
        folder, name = top, group.name
        if group.operations[0].preview.task.path:
            *folders, name = name.split("/")
            for each in folders:
                inner = folder.setdefault(f"{each}/", {})
                assert isinstance(inner, dict)  # noqa: S101 (for type checkers: only folders end in a slash)
                folder = inner
        folder[f"{name}\0{group.id}"] = group
    return el("ul", *_rows(top, viewed), id="entries")


def _rows(folder: Folder, viewed: Collection[int]) -> list[Markup]:
    return [
        _folder(name, inner, viewed)
        if isinstance(inner, dict)
        else _entry(name.split("\0")[0], inner, viewed)
        for name, inner in folder.items()
    ]


def _folder(name: str, folder: Folder, viewed: Collection[int]) -> Markup:
    """Return a folder, which can be folded; folders with nothing else in them share a line."""
    while len(folder) == 1:
        ((inner_name, inner),) = folder.items()
        if not isinstance(inner, dict):
            break
        name, folder = name + inner_name, inner
    rows = el("ul", *_rows(folder, viewed))
    return el("li", el("details", el("summary", odd_text(name)), rows, open=True), class_="folder")


def _entry(name: str, group: Group, viewed: Collection[int]) -> Markup:
    first = group.operations[0]
    file = el("span", odd_text(name), class_="file", title=group.name)
    inner = [
        el("li", el("a", badge(each.kind), f"{task.label} {task.operation}", href=f"#op-{each.index}"))
        for each in group.operations
        for task in (each.preview.task,)
    ]
    target = group.id if len(inner) > 1 else f"op-{first.index}"
    return el(
        "li",
        el("a", badge(group.kind), file, counts(*group.lines), href=f"#{target}"),
        el("ul", *inner) if len(inner) > 1 else None,
        id=f"entry-{first.index}",
        class_="entry viewed" if first.index in viewed else "entry",
        data_kinds=" ".join({each.kind for each in group.operations}),
        data_lacking=any(each.needs_approval for each in group.operations),
        data_text=group.name.lower(),
    )


def badge(kind: str) -> Markup:
    """Return the sign of a kind of operation."""
    sign, name = KINDS[kind]
    words = el("span", sign, aria_hidden="true"), el("span", name, class_="unseen")
    return el("span", *words, class_=f"badge {kind}", title=name)


def counts(added: int, removed: int) -> Markup:
    """Return how many lines are added and removed."""
    plus = el("span", f"+{added:,}", class_="plus") if added else None
    minus = el("span", f"{MINUS}{removed:,}", class_="minus") if removed else None
    return (
        el("span", plus, " " if plus and minus else None, minus, class_="counts")
        if plus or minus
        else Markup()
    )
