"""A plan as a page: rendered on the server, piece by piece, with what a person has chosen so far.

Nothing of an answer or a file becomes markup (markup.py). A page that is served may load the style and the
scripts of its server alone; one that is kept as a file has them in it, and may load nothing.
"""

from __future__ import annotations

import json
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
from clada.review.groups import Shown, groups
from clada.review.markup import MINUS, Markup, el, join, odd_text
from clada.review.prose import proses, rendered
from clada.review.tree import tree
from clada.review.words import plural
from clada.selection import mask_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.selection import Preview

STYLE = "review.css"
SCRIPTS = ("live.js", "choose.js", "run.js", "view.js")  # of a page that is served
STATIC_SCRIPT = "view.js"  # of one that is a file
CHUNK = 40  # cards that a browser renders, or leaves out, together
SELF = "'self'"


class Review:
    """A plan, what its dry run says of each operation, and how a page shows that."""

    def __init__(  # noqa: PLR0913 (named)
        self,
        plan: clada.Plan,
        report: clada.Report,
        previews: Sequence[Preview],
        *,
        start_delimiter: str,
        workspace: str,
        notes: Sequence[str] = (),
    ) -> None:
        self.plan, self.report, self.previews = plan, report, previews
        self.workspace, self.notes = workspace, notes
        items = [item for block in plan.blocks for item in block.operations]
        *said, self.closing = proses(plan, start_delimiter)
        self._before = {path: old for path, old, _new in report.changes}
        self.operations = [
            Shown(item, each, prose, self._gone(each))
            for item, each, prose in zip(items, previews, said, strict=False)
        ]
        self.groups = groups(self.operations)
        self.mask = mask_of(report)
        self._rows: dict[tuple[int, ...], Markup] = {}

    def _gone(self, shown: Preview) -> dict[str, bytes]:
        """Return the files that an operation removes, of folders all, and what they have."""
        changes = getattr(shown.task.outcome, "changes", ())
        if {change.how for change in changes} != {"removed"}:
            return {}
        paths = tuple(f"{change.path}/" for change in changes)
        return {
            path: old
            for path, old in self._before.items()
            if old is not None and f"{path}/".startswith(paths)
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
        """Return what renders cards with these choices."""
        return Cards(self._before, self.mask, choices, live=live, rendered_rows=self._rows)

    # The parts of the page.

    def pieces(self, choices: Choices, *, live: bool, look: int = 0) -> Iterator[str]:
        """Yield the page in pieces: all that is seen first comes first."""
        start, middle, end = _template(live=live)
        where = os.path.basename(self.workspace) or self.workspace
        kind = "clada review" if live else f"clada plan of {strftime('%Y-%m-%d %H:%M')}"
        parts = {
            "title": join(f"{where} · {kind}"),
            "kind": join(kind),
            "where": el("b", odd_text(where), title=self.workspace),
            "state": "" if self.operations else "bare",
            "look": str(look),
        }
        # In one pass: what is put in is not looked through for marks of its own.
        yield re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], start)
        yield tree(self.groups, choices.viewed)
        yield middle
        yield self._summary()
        yield el("section", *self._messages(live=live), id="messages", aria_label="Notes")
        cards = self.cards(choices, live=live)
        for at in range(0, len(self.groups), CHUNK):
            chunk = self.groups[at : at + CHUNK]
            yield el("div", *map(cards.card, chunk), class_="chunk", data_rows=sum(map(height, chunk)))
        yield rendered(self.closing)
        yield end

    def _summary(self) -> Markup:
        """Return the numbers, each a link to what it counts."""
        if not self.operations:
            return el("h2", id="summary", class_="unseen")
        files = {path for each in self.operations for path in each.paths}
        added, removed = (sum(sides) for sides in zip(*(each.lines for each in self.operations), strict=True))
        failing = [each for each in self.operations if each.is_failing]
        waiting = [each for each in self.operations if each.lacking]
        deleting = [each for each in self.operations if each.kind == "delete"]
        adding = [each for each in self.operations if each.lines[0]]
        removing = [each for each in self.operations if each.lines[1]]
        operations = plural(len(self.operations), "operation")
        commands = f"{plural(len(waiting), 'command')} {'needs' if len(waiting) == 1 else 'need'} you"
        rows: list[tuple[Sequence[Shown], str, str]] = [
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
        if self.for_model and live:
            yield el("button", "Copy for the chat", type="button", class_="primary copy-plan")
            yield el(
                "textarea", self.for_model, id="for-model", hidden=True, readonly=True, aria_label="report"
            )
        if self.is_empty:
            yield Markup(_static("empty.html"))
        else:
            for note in report.notes:
                yield el("p", note, class_="message")


# The page around them.


@cache
def _static(name: str) -> str:
    return (files("clada.review") / "static" / name).read_text(encoding="utf-8")


def static_file(name: str) -> tuple[str, bytes]:
    """Return type and content of a file that a served page loads."""
    return f"text/{'css' if name == STYLE else 'javascript'}; charset=utf-8", _static(name).encode()


@cache
def _template(*, live: bool) -> tuple[str, str, str]:
    """Return the page before its tree, between that and its cards, and after them."""
    style, script = _static(STYLE), _static(STATIC_SCRIPT)
    allowed = policy(connects=False, script=script, style=style)
    loaded = f'<link rel="stylesheet" href="{STYLE}">\n<script type="module" src="{SCRIPTS[0]}"></script>'
    contained = (
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        f'<style>{style}</style>\n<script type="module">{script}</script>'
    )
    parts = {"head": loaded if live else contained, "mode": "live" if live else "static"}
    page = re.sub(r"\{\{(head|mode)\}\}", lambda mark: parts[mark[1]], _static("review.html"))
    start, middle, end = re.split(r"\{\{(?:tree|cards)\}\}", page)
    return start, middle, end


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def policy(*, connects: bool, script: str = "", style: str = "") -> str:
    """Return what a page may load and run: this script and style, or those of its server; nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script) if script else SELF}",
            f"style-src {_hash(style) if style else SELF}",
            *(["connect-src 'self'"] if connects else []),
            "img-src data:",  # for the icon that there is not
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def as_json(value: Any) -> str:
    """Return a value as JSON that is safe inside an element of HTML: nothing in it can end that."""
    text = json.dumps(value, separators=(",", ":"))  # in ASCII
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def exported(review: Review) -> str:
    """Return one HTML file with all of a plan in it, to be attached to a ticket, say."""
    return "".join(review.pieces(Choices.of_all(review.previews), live=False))
