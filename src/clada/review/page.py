"""A plan as a page: rendered on the server, piece by piece, with the choices so far.

Nothing of an answer or a file becomes markup (markup.py). A page that is served may load the style and the
scripts of its server alone; one that is kept as a file has them in it, and may load nothing.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from time import strftime
from typing import TYPE_CHECKING

import clada
from clada.review.cards import Cards, height
from clada.review.choices import Choices
from clada.review.markup import MINUS, Markup, el, join, odd_text
from clada.review.operations import ShownOperation, group_by_file, plural
from clada.review.prose import render_prose, split_prose
from clada.review.tree import tree
from clada.selection import mask_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clada.selection import Preview

STYLE = "review.css"
SCRIPTS = ("live.js", "choose.js", "run.js", "view.js")  # of a page that is served
STATIC_SCRIPT = "view.js"  # of one that is a file
CHUNK = 40  # cards that a browser renders, or leaves out, together
SELF = "'self'"


class Review:
    """A plan and its dry run, as a page shows them."""

    def __init__(
        self,
        plan: clada.Plan,
        report: clada.Report,
        previews: Sequence[Preview],
        settings: clada.Settings,
        notes: Sequence[str] = (),
    ) -> None:
        self.plan, self.report, self.previews = plan, report, previews
        self.workspace, self.notes = os.path.abspath(settings.workspace), notes
        items = [item for block in plan.blocks for item in block.operations]
        *said, self.closing = split_prose(plan, settings.start_delimiter)
        self.before = {path: old for path, old, _new in report.changes}  # contents of files, by path
        self.operations = [
            ShownOperation(item, each, prose, self._deleted_files(each))
            for item, each, prose in zip(items, previews, said, strict=False)
        ]
        self.groups = group_by_file(self.operations)
        self.mask = mask_of(report)
        self.rendered: dict[tuple[int, ...], Markup] = {}  # rows, by index, hunk and limit

    def _deleted_files(self, shown: Preview) -> dict[str, bytes]:
        """Return the files that an operation removes, also those in folders, with their contents."""
        changes = getattr(shown.task.outcome, "changes", ())
        if {change.how for change in changes} != {"removed"}:
            return {}
        paths = tuple(f"{change.path}/" for change in changes)
        return {
            path: old for path, old in self.before.items() if old is not None and f"{path}/".startswith(paths)
        }

    @property
    def is_empty(self) -> bool:
        """Whether there is no answer yet."""
        return not self.plan.source

    @property
    def for_model(self) -> str | None:
        """The report for a model that can mend its answer, if nothing of it can be carried out."""
        is_for_model = self.plan.fatal or (self.plan.source.strip() and not self.plan.has_operations)
        return self.report.text(for_llm=True) if is_for_model else None

    def cards(self, choices: Choices, *, live: bool) -> Cards:
        """Return the renderer of cards with these choices."""
        return Cards(self, choices, live=live)

    # The parts of the page.

    def pieces(self, choices: Choices, *, live: bool, version: int = 0) -> Iterator[str]:
        """Yield the page in pieces, from its top on."""
        start, middle, end = _template(live=live)
        where = os.path.basename(self.workspace) or self.workspace
        kind = "clada review" if live else f"clada plan of {strftime('%Y-%m-%d %H:%M')}"
        parts = {
            "title": join(f"{where} · {kind}"),
            "kind": join(kind),
            "where": el("b", odd_text(where), title=self.workspace),
            "state": "" if self.operations else "bare",
            "version": str(version),
        }
        yield fill(start, parts)
        yield tree(self.groups, choices.viewed)
        yield middle
        yield self._summary()
        yield el("section", *self._messages(live=live), id="messages", aria_label="Notes")
        cards = self.cards(choices, live=live)
        for at in range(0, len(self.groups), CHUNK):
            chunk = self.groups[at : at + CHUNK]
            yield el("div", *map(cards.card, chunk), class_="chunk", data_rows=sum(map(height, chunk)))
        yield render_prose(self.closing)
        yield end

    def _summary(self) -> Markup:
        """Return the numbers, each with a link to the first operation that it counts."""
        if not self.operations:
            return el("h2", id="summary", class_="unseen")
        files = {path for each in self.operations for path in each.paths}
        added, removed = (sum(sides) for sides in zip(*(each.lines for each in self.operations), strict=True))
        failing = [each for each in self.operations if each.is_failing]
        waiting = [each for each in self.operations if each.needs_approval]
        deleting = [each for each in self.operations if each.kind == "delete"]
        adding = [each for each in self.operations if each.lines[0]]
        removing = [each for each in self.operations if each.lines[1]]
        operations = plural(len(self.operations), "operation")
        commands = f"{plural(len(waiting), 'command')} {'needs' if len(waiting) == 1 else 'need'} you"
        rows: list[tuple[Sequence[ShownOperation], str, str]] = [
            (self.operations, "", f"{operations} in {plural(len(files), 'file')}"),
            (adding, "plus", f"+{added:,}"),
            (removing, "minus", f"{MINUS}{removed:,}"),
            (deleting, "bad", plural(len(deleting), "deletion")),
            (failing, "bad", f"{len(failing):,} will fail"),
            (waiting, "wait", commands),
        ]
        numbers = [
            el("a", words, href=f"#op-{counted[0].index}", class_=colour or None)
            for counted, colour, words in rows
            if counted
        ]
        return el("h2", *numbers, id="summary")

    def _messages(self, *, live: bool) -> Iterator[Markup]:
        report = self.report
        for note in self.notes:
            yield el("p", note, class_="message good")
        if report.fatal:
            yield el("p", report.fatal.sentence, class_="message bad")
        for each in report.not_applied:
            yield el("p", each.text, class_="message bad")
        if self.is_empty:
            yield Markup(read_static("empty.html"))
        else:
            for note in report.notes:
                yield el("p", note, class_="message")
        if self.for_model and live:
            yield el("button", "Copy for the chat", type="button", class_="primary copy-plan")
            yield el(
                "textarea", self.for_model, id="for-model", hidden=True, readonly=True, aria_label="report"
            )


# The page around them.


@cache
def read_static(name: str, package: str = "clada.review") -> str:
    """Return a file of the page."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")


@cache
def read_style(name: str, package: str = "clada.review") -> str:
    """Return a style sheet, after the rules that all pages share."""
    return read_static("base.css") + read_static(name, package)


def static_file(name: str) -> tuple[str, bytes]:
    """Return type and content of a file that a served page loads."""
    if name == STYLE:
        return "text/css; charset=utf-8", read_style(name).encode()
    return "text/javascript; charset=utf-8", read_static(name).encode()


def fill(template: str, parts: Mapping[str, str]) -> str:
    """Replace `{{name}}` by the part of this name, in one pass: marks inside of a part stay."""
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts.get(mark[1], mark[0]), template)


@cache
def _template(*, live: bool) -> tuple[str, str, str]:
    """Return the page before its tree, between the tree and its cards, and after them."""
    if live:
        head = f'<link rel="stylesheet" href="{STYLE}">\n<script type="module" src="{SCRIPTS[0]}"></script>'
    else:
        style, script = read_style(STYLE), read_static(STATIC_SCRIPT)
        allowed = policy(connects=False, script=script, style=style)
        head = (
            f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
            f'<style>{style}</style>\n<script type="module">{script}</script>'
        )
    page = read_static("base.html") + read_static("review.html")
    filled = fill(page, {"head": head, "mode": "live" if live else "static"})
    start, middle, end = re.split(r"\{\{(?:tree|cards)\}\}", filled)
    return start, middle, end


def error_end(bug: Exception) -> str:
    """Return the end of a page that could not be rendered to its end."""
    message = f"internal error: {type(bug).__name__}: {bug}. What should follow is not shown, nor applied."
    return el("p", message, class_="message bad") + _template(live=True)[2]


def policy(*, connects: bool, script: str = "", style: str = "") -> str:
    """Return the policy of a page: it may load only this script and style, or those of its server."""
    sources = [
        f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" if text else SELF
        for text in (script, style)
    ]
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {sources[0]}",
            f"style-src {sources[1]}",
            *(["connect-src 'self'"] if connects else []),
            "img-src data:",  # for the empty icon
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def export(review: Review) -> str:
    """Return one HTML file with all of a plan in it, for example to attach it to a ticket."""
    return "".join(review.pieces(Choices.of_all(review.previews), live=False))
