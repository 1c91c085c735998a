"""One review: the answer that is looked at, what is chosen of it, its run, and who is told of that."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import clada
from clada.review.page import Shown, page, task_dict
from clada.selection import preview, select, warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from clada.report.diff import FileHunk
    from clada.selection import Chosen, Preview

    Parse = Callable[[bytes], clada.Plan]
    Work = Callable[[clada.Stop], Callable[[], None]]

GRACE = 3.0  # seconds that a page has to come back, for it may be loaded again
BEAT = 1.0  # seconds between two looks whether a page is still there
ANSWERS = {answer: answer for answer in "once once+network always always+network no never".split()}
MOST_NAMED = 5  # paths in a message
MOST_TEXT = 200_000  # characters of a report that a page shows
AND_MORE = "… and more, which the terminal will show\n"


class RefusedError(Exception):
    """A request that cannot be met now, or makes no sense: the status of HTTP, and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Session:
    """What the pages of one review share. Everything it says is told as events, in order, to all of them.

    One thing is done at a time: while a run, an undo or a new look is under way, others are refused.
    """

    def __init__(self, text: bytes, parse: Parse, settings: clada.Settings) -> None:
        # The page marks files that run by themselves: choosing one is a yes.
        self.settings = settings.replace(allow_autorun=True)
        self._parse, self._text = parse, text
        self._changed = threading.Condition()
        self._events: list[dict[str, Any]] = []
        self._number = 0  # of the look that is shown
        self._done = False  # what is shown was carried out
        self._stop: clada.Stop | None = None  # of what is under way
        self._pages = 0
        self._was_open = False
        self.report: clada.Report | None = None  # of the last run
        self._has_run = False
        self.ended, self._end = os.pipe()
        self._look(text)()

    @property
    def unexecuted(self) -> clada.Report | None:
        """What the plan says of the answer that is shown, if none was carried out; None if one was."""
        return None if self._has_run or self.overview["empty"] else self.shown.report

    # What is shown.

    def _look(self, text: bytes) -> Callable[[], None]:
        """Read an answer, and try it; return what shows it."""
        plan = self._parse(text)
        shown = Shown(plan, *preview(plan, self.settings))
        number = self._number + 1
        overview = shown.overview(
            self.settings.start_delimiter,
            live=True,
            look=number,
            workspace=os.path.abspath(self.settings.workspace),
            empty=not text,
        )
        html = page(overview, served=True).encode()  # now, so that a browser need not wait for it

        def show() -> None:
            self._text, self.shown, self.overview, self.page = text, shown, overview, html
            self._number, self._done, self._events = number, False, []

        return show

    def diffs(self, look: int, start: int, end: int) -> dict[int, list[list[str]]]:
        """Return the diffs of some operations."""
        with self._changed:
            self._expect({"look": look})
            return self.shown.diffs(start, end)

    def events(self, after: int, look: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Yield the events of this look from this one on, as they come, and nothing now and then."""
        while True:
            with self._changed:
                if look == self._number and len(self._events) <= after:
                    self._changed.wait(BEAT)
                is_shown = look == self._number
                news = self._events[after:] if is_shown else [{"type": "look"}]
            after += len(news)
            yield after, news
            if not is_shown:
                return

    def _tell(self, type_: str, **values: Any) -> None:
        with self._changed:
            self._events.append({"type": type_, **values})
            self._changed.notify_all()

    # What is asked for.

    def _chosen(self, request: Any) -> tuple[Chosen, dict[int, str]]:
        """Return what a request chooses, by index: hunks or all; and the answers to what commands ask."""
        known = {str(each.task.index): each for each in self.shown.previews}
        try:
            chosen = {
                known[key].task.index: _hunks(known[key], numbers)
                for key, numbers in request["chosen"].items()
            }
            answers = {known[key].task.index: ANSWERS[answer] for key, answer in request["answers"].items()}
        except (AttributeError, LookupError, TypeError, ValueError):
            raise RefusedError(400, "this is not what the page asks for") from None
        return chosen, answers

    def warnings(self, request: Any) -> list[str]:
        """Return what depends on what a request leaves out."""
        with self._changed:
            self._expect(request)
            chosen, _answers = self._chosen(request)
            shown = self.shown
        labels = [each.task.label for each in shown.previews]
        plan = select(shown.plan, chosen)
        return [*warnings(plan, labels), *self._unforeseen(plan)]

    def _unforeseen(self, plan: clada.Plan) -> Iterator[str]:
        """Yield what was shown as failing, and is carried out now that something else is left out."""
        failing = {each.task.index for each in self.shown.previews if each.task.status == "error"}
        if not failing - plan.left_out.keys():
            return
        report, _previews = preview(plan, self.settings)
        for task in report.tasks:
            if task.index in failing and task.status == "planned":
                yield f"task {task.label} was shown as failing, and is carried out if the others are left out"

    def apply(self, request: Any) -> None:
        """Begin to carry out what was chosen."""
        with self._changed:
            self._expect(request)
            if self._done:
                raise RefusedError(409, "this was carried out already: look again first")
            chosen, answers = self._chosen(request)
            told = {"chosen": request["chosen"], "answers": request["answers"]}
            self._begin(lambda stop: self._run(chosen, answers, told, stop))

    def undo(self) -> None:
        """Begin to take back the last run."""
        with self._changed:
            if not self.report or self.report.recorded is None:
                raise RefusedError(409, "there is no recorded run to undo")
            number = self.report.recorded
            self._begin(lambda _stop: self._undo(number))

    def next(self, text: bytes | None) -> None:
        """Begin to look at another answer, or again at this one."""
        with self._changed:
            self._begin(lambda _stop: self._look(self._text if text is None else text))

    def stop(self) -> None:
        """End the run that is under way, in order."""
        with self._changed:
            if self._stop and self._stop.signal is None:
                self._stop.set()

    def _expect(self, request: Any) -> None:
        if not isinstance(request, dict) or request.get("look") != self._number:
            raise RefusedError(409, "another answer is shown by now: load the page again")

    def _begin(self, work: Work) -> None:
        """Do something in a thread of its own, unless something else is under way."""
        if self._stop:
            raise RefusedError(409, "something is under way: wait for its end, or stop it")
        self._stop = clada.Stop()
        threading.Thread(target=self._work, args=(work, self._stop)).start()

    def _work(self, work: Work, stop: clada.Stop) -> None:
        """Run it; the next request may come as soon as its end is announced."""
        try:
            finish = work(stop)
        except Exception as error:  # noqa: BLE001 (the person is told, and goes on)
            finish = self._telling("failed", message=str(error))
        with self._changed, stop:  # closed when it can no longer be set
            self._stop = None
            finish()
            self._changed.notify_all()
        self._end_unless_looked_at()

    def _telling(self, type_: str, **values: Any) -> Callable[[], None]:
        return lambda: self._tell(type_, **values)

    # What is done. Each returns what is done at its very end.

    def _run(
        self, chosen: Chosen, answers: dict[int, str], told: dict[str, Any], stop: clada.Stop
    ) -> Callable[[], None]:
        """Carry out what was chosen; pages are told of that in the words of the one that asked for it."""
        shown = self.shown
        if stale := self._stale(shown.report):
            return self._telling("failed", message=f"changed since this was shown: {stale}; look again")
        running = _Running(self, answers)
        self._tell("begun", **told)
        report = clada.execute(
            select(shown.plan, chosen),
            on_event=running.take,
            ask=running.ask,
            stop=stop,
            settings=self.settings,
        )
        text = report.text()
        with self._changed:
            self.report, self._done, self._has_run = report, report.fatal is None, True
        return self._telling(
            "report",
            ok=report.ok,
            heading=_heading(report),
            done=self._done,
            text=text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n{AND_MORE}",
            for_llm=report.text(for_llm=True),
            recorded=report.recorded,
        )

    def _stale(self, seen: clada.Report) -> str:
        """Return which files are not as they were when this was shown."""
        now, _previews = preview(self.shown.plan, self.settings)
        before = {path: old for path, old, _new in seen.changes}
        after = {path: old for path, old, _new in now.changes}
        paths = sorted({path for path in before | after if before.get(path) != after.get(path)})
        if not paths and [task.status for task in now.tasks] != [task.status for task in seen.tasks]:
            return "the workspace"
        more = ["…"] if len(paths) > MOST_NAMED else []
        return ", ".join([*paths[:MOST_NAMED], *more])

    def _undo(self, number: int) -> Callable[[], None]:
        options = {name: getattr(self.settings, name) for name in ("git_author", "lock_timeout")}
        try:
            undone = clada.undo(self.settings.workspace, number, **options)
        except clada.CladaError as trouble:
            return self._telling("failed", message=trouble.error.sentence)
        self.report = None
        return self._telling("undone", restored=undone.restored, removed=undone.removed, notes=undone.notes)

    # Who is there.

    def open(self) -> None:
        """Take note that a page is there."""
        with self._changed:
            self._pages += 1
            self._was_open = True

    def leave(self) -> None:
        """Take note that a page is gone; if it was the last, and does not come back, this ends."""
        with self._changed:
            self._pages -= 1
        self._end_unless_looked_at()

    def _end_unless_looked_at(self) -> None:
        """End the review in a moment unless a page connects again, for example after a reload."""
        timer = threading.Timer(GRACE, self._end_if_alone)
        timer.daemon = True
        timer.start()

    def _end_if_alone(self) -> None:
        with self._changed:
            alone = self._was_open and not self._pages and not self._stop
        if alone:
            self.end()

    def end(self) -> None:
        """End the review."""
        os.write(self._end, b"!")

    def wait(self) -> None:
        """Wait until nothing is under way."""
        with self._changed:
            while self._stop:
                self._changed.wait()


class _Running:
    """What is told of a run, and answered in it."""

    def __init__(self, session: Session, answers: dict[int, str]) -> None:
        self._tell = session._tell  # noqa: SLF001 (a part of it)
        self._indexes = {each.task.label: each.task.index for each in session.shown.previews}
        self._answers = answers
        self._current = -1

    def take(self, event: clada.Event) -> None:
        """Tell an event."""
        match event:
            case clada.TaskStarted(label=label):
                self._current = self._indexes[label]
                self._tell("started", index=self._current)
            case clada.Output(label=label, lines=lines):
                self._tell("output", index=self._indexes[label], lines=lines)
            case clada.OutputTruncated(label=label):
                self._tell("output", index=self._indexes[label], lines=["[output truncated]"])
            case clada.TaskEnded(task=task):
                self._tell("ended", **{**task_dict(task), "output": []})
            case clada.Note(text=text):
                self._tell("note", text=text)
            case clada.BlockSkipped():
                pass  # its tasks are told each

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> Any:  # noqa: ARG002 (seen)
        """Answer for the command that runs now: as the person did who saw it; None if they did not."""
        answer = self._answers.get(self._current)
        return answer if network or answer is None else answer.removesuffix("+network")


def _heading(report: clada.Report) -> str:
    """Return how a run went, in a few words."""
    if report.fatal:
        return "Nothing was carried out"
    tasks, failed, missed = len(report.tasks), report.count("error"), len(report.not_applied)
    unfinished = sum(not task.ok for task in report.tasks)
    left_out = report.count("skipped") - unfinished  # by a person
    rows = (
        (failed, f"{failed} of {tasks} failed"),
        (unfinished, f"{unfinished} of {tasks} not carried out"),
        (missed, f"{missed} of {tasks + missed} not applied"),
        (not tasks, "No operations were found"),
        (not report.ok, "Done, with an error"),
        (left_out == tasks, "Nothing was chosen"),
        (left_out, f"Done, {left_out} not chosen"),
    )
    return next((words for applies, words in rows if applies), "Done")


def _hunks(shown: Preview, numbers: list[int] | None) -> tuple[FileHunk, ...] | None:
    """Return the hunks with these numbers; None, which is all there is, for none."""
    if numbers is None:
        return None
    hunks = {hunk.number: hunk for hunk in shown.hunks}
    return tuple(hunks[number] for number in numbers)
