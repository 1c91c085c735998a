"""One review: the answer that is shown, the choices on it, its run, and its events."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import clada
from clada.review.choices import Choices, RefusedError, editable_text, refuse_malformed
from clada.review.events import RunEvents, report_event
from clada.review.page import Review
from clada.review.presence import PATIENCE, Presence
from clada.selection import choose_place, find_places, preview, select, warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from clada.review.markup import Markup
    from clada.review.operations import ShownOperation
    from clada.selection import Place

    Parse = Callable[[bytes], clada.Plan]
    Finish = Callable[[], None]  # what is done at the very end of some work
    Work = Callable[[clada.Stop], Finish]

BEAT = 1.0  # seconds between two checks whether a page is still there
MAX_NAMED = 5  # paths in a message


class Session:
    """What the pages of one review share. Events go to all pages, in order.

    One thing is done at a time: while a run, an undo or a new plan is under way, others are refused.
    `on_alone` is called when the last page was closed, `on_report` after each run.
    """

    def __init__(  # noqa: PLR0913 (named)
        self,
        text: bytes,
        parse: Parse,
        settings: clada.Settings,
        *,
        patience: float | None = PATIENCE,
        on_alone: Callable[[], None] = lambda: None,
        on_report: Callable[[clada.Report, str, bytes], None] = lambda *_: None,
    ) -> None:
        # The page marks files that run by themselves: choosing one is a yes.
        self.settings = settings.replace(allow_autorun=True)
        self._parse, self._text, self._source = parse, text, ""
        self._on_report = on_report
        self._changed = threading.Condition()
        self._events: list[dict[str, Any]] = []
        self._version = 0  # of what is shown; grows with each new plan
        self._done = False  # what is shown was carried out
        self._stop: clada.Stop | None = None  # of what is under way
        self._places: dict[int, Place] = {}  # that the person chose, by index
        self._waiting: list[tuple[bytes, str]] = []  # answers that arrived, and where from
        self.report: clada.Report | None = None  # of the last run
        self._has_run = False
        self.presence = Presence(
            patience,
            on_alone,
            is_busy=lambda: self.is_busy,
            is_over=lambda: self._done or self.review.is_empty,
        )
        self.review: Review
        self.choices: Choices
        self._load(text)()

    @property
    def unexecuted(self) -> clada.Report | None:
        """The report of the plan that is shown, if no answer was carried out."""
        return None if self._has_run or self.review.is_empty else self.review.report

    @property
    def text(self) -> bytes:
        """The answer that is shown."""
        return self._text

    @property
    def is_busy(self) -> bool:
        """Whether something is under way."""
        return self._stop is not None

    # The page.

    def _load(
        self,
        text: bytes,
        places: Mapping[int, Place] | None = None,
        notes: Sequence[str] = (),
        source: str = "",
    ) -> Finish:
        """Plan an answer; return what shows the plan. Choices on the same answer stay."""
        plan = self._parse(text)
        chosen = dict(places or {})
        for index, place in chosen.items():
            plan = choose_place(plan, index, place)
        report, previews = preview(plan, self.settings)
        if any(each.task.index in chosen and not each.task.ok for each in previews):
            return self._load(text, None, notes, source)  # the lines are not as they were
        review = Review(plan, report, previews, self.settings, notes)
        is_same = self._version > 0 and text == self._text and len(previews) == len(self.review.previews)

        def show() -> None:
            self.choices = (
                self.choices.carry_over(self.review.previews, previews)
                if is_same
                else Choices.of_all(previews)
            )
            self._text, self.review, self._places = text, review, chosen
            self._source = source if not is_same else self._source
            self._version, self._done, self._events = self._version + 1, False, []
            self._announce_waiting()

        return show

    def page(self) -> Iterator[str]:
        """Yield the page in pieces."""
        with self._changed:
            review, choices, version = self.review, self.choices, self._version
        return review.pieces(choices, live=True, version=version)

    def _shown(self, request: Any) -> ShownOperation:
        """Return the operation that a request is about."""
        self._check_version(request)
        with refuse_malformed():
            return {each.index: each for each in self.review.operations}[int(request["index"])]

    def rows(self, request: Any) -> Markup:
        """Return all rows of a hunk."""
        with self._changed:
            shown = self._shown(request)
            hunk = self.choices.hunk(shown.index, _find_hunk(shown, request))
            return self.review.cards(self.choices, live=True).rows(shown, hunk)

    def context(self, request: Any) -> Markup:
        """Return lines of a file around its hunks."""
        with self._changed:
            shown = self._shown(request)
            first, last, shift = (int(request[name]) for name in ("from", "to", "shift"))
            return self.review.cards(self.choices, live=True).context(shown, max(1, first), last, shift)

    def hunk_text(self, request: Any) -> dict[str, str]:
        """Return the new text of a hunk: as it is now, and as the answer has it."""
        with self._changed:
            shown = self._shown(request)
            hunk = _find_hunk(shown, request)
            original = editable_text(hunk, self.review.mask)
            if original is None:
                raise RefusedError(409, "this text cannot be edited here")
            return {
                "now": self.choices.edits.get(f"{shown.index}.{hunk.number}", original),
                "original": original,
            }

    def events(self, after: int, version: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Yield the events of a version from a number on as they come; an empty list now and then."""
        while True:
            with self._changed:
                if version == self._version and len(self._events) <= after:
                    self._changed.wait(BEAT)
                is_shown = version == self._version
                news = self._events[after:] if is_shown else [{"type": "reload"}]
            after += len(news)
            yield after, news
            if not is_shown:
                return

    def _tell(self, type_: str, **values: Any) -> None:
        with self._changed:
            self._events.append({"type": type_, **values})
            self._changed.notify_all()

    def _announce_waiting(self) -> None:
        if self._waiting:
            self._tell("arrived", count=len(self._waiting), source=self._waiting[0][1])

    # Requests.

    def choose(self, request: Any) -> list[str]:
        """Save the choices of a page; return warnings, as about operations that need others left out."""
        with self._changed:
            self._check_version(request)
            choices = self._read(request)
            if self._done or self._stop:
                return []
            self.choices, review = choices, self.review
        labels = [each.task.label for each in review.previews]
        plan = select(review.plan, choices.selection(review.previews))
        return [*warnings(plan, labels), *self._unforeseen(plan, review)]

    def _unforeseen(self, plan: clada.Plan, review: Review) -> Iterator[str]:
        """Yield warnings about operations that were shown as failing, and succeed without those left out."""
        failing = {each.index for each in review.operations if each.is_failing}
        is_all = len(plan.left_out) == len(review.plan.left_out)
        if is_all or not failing - plan.left_out.keys():
            return
        report, _previews = preview(plan, self.settings)
        for task in report.tasks:
            if task.index in failing and task.status == "planned":
                yield f"task {task.label} was shown as failing, and is carried out if the others are left out"

    def edit(self, request: Any) -> Markup:
        """Save the edited text of a hunk, or drop it if there is none; return the hunk as it is now."""
        with self._changed:
            shown = self._shown(request)
            hunk, text = _find_hunk(shown, request), request["text"]
            if self._done or editable_text(hunk, self.review.mask) is None:
                raise RefusedError(409, "this text cannot be edited here")
            edits = {**self.choices.edits, f"{shown.index}.{hunk.number}": text}
            if not isinstance(text, str):
                del edits[f"{shown.index}.{hunk.number}"]
            self.choices = Choices({**self.choices.to_dict(), "edits": edits})
            return self.review.cards(self.choices, live=True).hunk(shown, hunk)

    def place(self, request: Any) -> None:
        """Begin to plan an edit at the lines that a person chose; without lines, as in the answer."""
        with self._changed:
            shown = self._shown(request)
            places = {index: place for index, place in self._places.items() if index != shown.index}
            if request.get("first") is not None:
                found = find_places(shown.item, shown.preview)
                wanted = request["first"], request.get("last")
                place = next((each for each in found if (each.first, each.last) == wanted), None)
                if place is None or self._done:
                    raise RefusedError(409, "these lines cannot be chosen")
                places[shown.index] = place
            self._begin(lambda _stop: self._load(self._text, places))

    def apply(self, request: Any) -> None:
        """Begin to carry out the choices."""
        with self._changed:
            self._check_version(request)
            if self._done:
                raise RefusedError(409, "this was carried out already: look again first")
            choices = self._read(request)
            self._begin(lambda stop: self._run(choices, stop))
            self.choices = choices

    def undo(self) -> None:
        """Begin to undo the last run."""
        with self._changed:
            if not self.report or self.report.recorded is None or not self.report.undoable:
                raise RefusedError(409, "there is no recorded run to undo")
            number = self.report.recorded
            self._begin(lambda _stop: self._undo(number))

    def next(self, text: bytes | None) -> None:
        """Begin to plan another answer, or this one again."""
        with self._changed:
            if text is None:
                self._begin(lambda _stop: self._load(self._text, self._places))
            else:
                self._begin(lambda _stop: self._load(text))

    def offer(self, text: bytes, source: str) -> None:
        """Show an answer that has arrived: now, unless a person is still choosing from another."""
        with self._changed:
            self._waiting.append((text, source))
            is_free = not self._stop and (self._done or self.review.is_empty)
            if is_free and len(self._waiting) == 1:
                self.show_next()
            else:
                self._announce_waiting()

    def show_next(self) -> None:
        """Begin to plan the answer that arrived first."""
        with self._changed:
            if not self._waiting:
                raise RefusedError(409, "there is no other answer")
            text, source = self._waiting[0]
            self._begin(lambda _stop: self._load(text, source=source))
            del self._waiting[0]

    def stop(self) -> None:
        """End the run that is under way, in order."""
        with self._changed:
            if self._stop and self._stop.signal is None:
                self._stop.set()

    def _read(self, request: Any) -> Choices:
        """Return what a page has chosen; edited texts are sent by themselves."""
        return Choices.read({**request, "edits": self.choices.edits}, self.review.previews)

    def _check_version(self, request: Any) -> None:
        if not isinstance(request, dict) or request.get("version") != self._version:
            raise RefusedError(409, "another answer is shown by now: load the page again")

    def _begin(self, work: Work) -> None:
        """Do something in a thread of its own, unless something else is under way."""
        if self._stop:
            raise RefusedError(409, "something is under way: wait for its end, or stop it")
        self._stop = clada.Stop()
        threading.Thread(target=self._work, args=(work, self._stop)).start()

    def _work(self, work: Work, stop: clada.Stop) -> None:
        """Run it, and announce its end, after which the next request may come."""
        try:
            finish = work(stop)
        except Exception as error:  # noqa: BLE001 (the person is told, and goes on)
            finish = self._finish_with("failed", message=str(error))
        with self._changed, stop:  # closed when it can no longer be set
            self._stop = None
            finish()
            self._changed.notify_all()
        self.presence.check_soon()

    def _finish_with(self, type_: str, **values: Any) -> Finish:
        return lambda: self._tell(type_, **values)

    # The work itself. Each method returns what to do at its very end.

    def _run(self, choices: Choices, stop: clada.Stop) -> Finish:
        """Carry out the choices."""
        review = self.review
        if stale := self._stale(review.report):
            return self._finish_with("failed", message=f"changed since this was shown: {stale}; look again")
        running = RunEvents(self._tell, review, choices)
        self._tell("begun")
        report = clada.execute(
            select(review.plan, choices.selection(review.previews), choices.reasons()),
            on_event=running.on_event,
            ask=running.ask,
            stop=stop,
            settings=self.settings,
        )
        with self._changed:
            self.report, self._done, self._has_run = report, report.fatal is None, True
        self._on_report(report, self._source, self._text)
        return self._finish_with("report", **report_event(report, review, choices))

    def _stale(self, seen: clada.Report) -> str:
        """Return which files have changed since they were shown."""
        now, _previews = preview(self.review.plan, self.settings)
        before = {path: old for path, old, _new in seen.changes}
        after = {path: old for path, old, _new in now.changes}
        paths = sorted({path for path in before | after if before.get(path) != after.get(path)})
        if not paths and [task.status for task in now.tasks] != [task.status for task in seen.tasks]:
            return "the workspace"
        return _first_few(paths)

    def _undo(self, number: int) -> Finish:
        """Undo a run, and plan the answer again."""
        options = {name: getattr(self.settings, name) for name in ("git_author", "lock_timeout")}
        try:
            undone = clada.undo(self.settings.workspace, number, **options)
        except clada.CladaError as error:
            return self._finish_with("failed", message=error.error.sentence)
        self.report = None
        words = [("restored", undone.restored), ("removed", undone.removed)]
        did = "; ".join(f"{how} {_first_few(paths)}" for how, paths in words if paths)
        notes = [f"Undone: {did or 'there was nothing to restore'}.", *undone.notes]
        return self._load(self._text, self._places, notes)

    def wait(self) -> None:
        """Wait until nothing is under way."""
        with self._changed:
            while self._stop:
                self._changed.wait()


def _find_hunk(shown: ShownOperation, request: Any) -> Any:
    with refuse_malformed():
        return {hunk.number: hunk for hunk in shown.preview.hunks}[int(request["hunk"])]


def _first_few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return ", ".join(paths[:MAX_NAMED]) + more
