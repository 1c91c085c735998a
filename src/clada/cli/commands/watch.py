"""`clada watch`: each answer that is saved, or copied, is shown, asked about, carried out and reported.

With `--review`, a page in the browser shows each of them, and one tab stays open all day.
"""

from __future__ import annotations

import os
import select
from shlex import join

from clada.cli import clipboard
from clada.cli.clipboard import ClipboardWatch, copy
from clada.cli.commands import watched_files
from clada.cli.commands.apply import carry_out, settings_of, with_uncommitted
from clada.cli.commands.watched_files import WatchedFiles
from clada.cli.questions import open_terminal
from clada.errors import CladaError, UsageError
from clada.exit_codes import SIGNALLED
from clada.past import history, run_details
from clada.prompts import own_text
from clada.run import execute, plan_for
from clada.user_commands import refuse_unapproved
from clada.values import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.commands.review import ReviewPage
    from clada.cli.console import Console
    from clada.model import Plan
    from clada.report import Report

USUAL = "answer.md"  # the file that is watched if none is named
COPIED = "the clipboard"
RECENT = 20  # recorded runs among which one of the same text is looked for


def watch(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Watch until the user ends it; return the exit code."""
    if options.get("clipboard") and arguments:
        raise UsageError(
            f"--clipboard watches the clipboard, not {arguments[0]}: give one of them",
            "clada watch --clipboard",
        )
    refuse_unapproved(settings_of(options))
    watch = Watch(options, console)
    try:
        if options.get("clipboard"):
            return watch.clipboard()
        place = WatchedFiles(arguments[0] if arguments else USUAL, options["workspace"], options["settle"])
        try:
            return watch.files(place)
        finally:
            place.close()
    finally:
        watch.close()


class Watch:
    """Handles one answer after the other, and the keyboard in between."""

    def __init__(self, options: dict[str, Any], console: Console) -> None:
        self._options = {**options, "confirm": not options.get("yes"), "keeps_reports": True}
        self._console = console
        self._terminal = open_terminal()
        asks_here = self._options["confirm"] and not options["dry_run"] and not options.get("review")
        if self._terminal is None and asks_here:
            raise CladaError("io_error", "clada watch needs a terminal to ask on", "clada watch --yes")
        self._done: list[bytes] = []  # texts that were carried out
        self._last: tuple[bytes, str] | None = None  # the text that came last, and where from
        self._report = ""  # on that, for a model
        self._ran = False  # whether a command ran with it
        self._written: list[str] = []  # files that it changed: they are not answers
        self._tracked: list[str] = []  # answers that git tracks, of which a note was written
        self._code: int | None = None  # the exit code, once it is to end
        self._page: ReviewPage | None = None  # that shows answers instead of the terminal

    def close(self) -> None:
        """Let go of the terminal, and of the page."""
        if self._terminal is not None:
            os.close(self._terminal)
        if self._page:
            self._page.close()

    def _open_page(self, own: Sequence[str]) -> None:
        """Open the page of a review, if one was asked for; `own` are files that no commit is to have."""
        if self._options.get("review"):
            from clada.cli.commands.review import ReviewPage

            self._page = ReviewPage(with_uncommitted(self._options, own), self._console)

    def files(self, place: WatchedFiles) -> int:
        """Handle each file that is saved there."""
        self._open_page(place.uncommitted)
        self._say(f"watching {place.place}")
        self._keep_out_of_commits(place)
        self._offer()
        before = place.signatures()
        for settled in place.ticks():
            for path in settled:
                self._take_file(place, path)
            if self._take_reports():
                place.leave(self._written)
                if self._ran:
                    self._leave_changed(place, before)
            if self._page and not self._page.is_busy:
                before = place.signatures()
            self._take_key()
            if self._code is not None:
                break
        return self._code or 0

    def clipboard(self) -> int:
        """Handle each text that is copied, if it has operations."""
        copied = ClipboardWatch()
        self._open_page(())
        self._say("watching the clipboard")
        self._offer()
        for text in copied.ticks():
            if text and not own_text(text):
                plan = plan_for(text, settings_of(self._options))
                if plan.has_operations or plan.fatal:
                    self._take(text, plan, COPIED)
            self._take_reports()
            self._take_key()
            if self._code is not None:
                break
        return self._code or 0

    def _take_file(self, place: WatchedFiles, path: str) -> None:
        try:
            text = watched_files.read(path)
        except CladaError as trouble:
            place.take(path)
            self._console.note_error(trouble.error)
            return
        plan = plan_for(text, settings_of(self._options))
        place.take(path)
        if what := own_text(text):
            self._say(f"{path} is {what}")
        elif plan.has_operations or plan.fatal:
            self._keep_out_of_commits(place)  # again: there may be a repository only now
            before = place.signatures()
            self._take(text, plan, path)
            place.leave(self._written)
            if self._ran:
                self._leave_changed(place, before)
        elif text.strip():
            self._say(f"no operations found in {path}")
            self._replace_report(plan, path)

    def _replace_report(self, plan: Plan, path: str) -> None:
        """Replace the report on an earlier text of a file that has no operations now, if there is one."""
        self._report = ""
        if os.path.lexists(watched_files.report_path(path)):
            try:
                self._keep(execute(plan, settings=settings_of(self._options)), path)
            except CladaError as trouble:
                self._console.note_error(trouble.error)

    def _leave_changed(self, place: WatchedFiles, before: dict[str, tuple[int, ...]]) -> None:
        """Do not take files for answers that a command may have written: no run feeds the next one."""
        for path in place.leave_changed(before):
            self._say(f"{path} changed while a command ran: save it again if it is an answer")

    def _take(self, text: bytes, plan: Plan, source: str) -> None:
        """Carry an answer out, unless that was done already."""
        if self._last != (text, source):
            self._report = ""  # it is on another answer
        self._last, self._written, self._ran = (text, source), [], False
        if before := self._done_before(text):
            self._say(f"{source} {before}")
        elif self._page:
            self._say("an answer was copied" if source == COPIED else f"{source} was saved")
            self._page.offer(text, source)
        else:
            self._carry_out(plan, source, self._options)
        self._offer()

    def _done_before(self, text: bytes) -> str | None:
        """Return that a text, or its beginning, was carried out already, in words; None if it was not."""
        if self._options["again"]:
            return None
        kept = self._options["record"] != "none" and not self._options["dry_run"]
        runs = _recent_documents(self._options["workspace"]) if kept else []
        documents = [*(("before", done) for done in self._done), *runs]
        same = next((who for who, done in documents if done == text), None)
        if same:
            return f"has the same text as {same}: it is not carried out twice"
        begun = next((who for who, done in documents if text.startswith(done.rstrip())), None)
        if begun:
            what = "what was carried out before" if begun == "before" else begun
            return f"continues {what}: it is not carried out; save the rest as an answer of its own"
        return None

    def _carry_out(self, plan: Plan, source: str, options: dict[str, Any]) -> None:
        self._say("an answer was copied" if source == COPIED else f"{source} was saved")
        text, _source = self._last or (b"", "")
        try:
            own = () if source == COPIED else (source, watched_files.report_path(source))
            code, report = carry_out(plan, with_uncommitted(options, own), self._console)
            if report is not None:
                if report.fatal is None and not report.dry_run:  # else nothing was tried
                    self._done.append(text)
                self._keep(report, source)
        except CladaError as trouble:
            self._console.note_error(trouble.error)
            return
        if code > SIGNALLED:
            self._code = code

    def _take_reports(self) -> bool:
        """Keep the reports on what was carried out on the page; return whether there was one."""
        reports = self._page.take_reports() if self._page else []
        for report, source, text in reports:
            if report.fatal is None:
                self._done.append(text)
            self._keep(report, source or COPIED)
        return bool(reports)

    def _keep(self, report: Report, source: str) -> None:
        """Save the report, ready to be pasted."""
        outcomes = [fields_of(task.outcome) for task in report.tasks]
        changed = [change.path for outcome in outcomes for change in outcome.get("changes", ())]
        self._ran = any(task.operation == "run" for task in report.tasks)
        self._written = [os.path.join(self._options["workspace"], path) for path in changed]
        self._report = report.text(for_llm=True)
        if source != COPIED:
            path = watched_files.report_path(source)
            watched_files.write_report(path, self._report)
            self._say(f"the report is in {path}")

    def _keep_out_of_commits(self, place: WatchedFiles) -> None:
        if self._options["record"] not in {"auto", "commits"} or self._options["dry_run"]:
            return
        from clada.world.git import index, repository
        from clada.world.git.select import exclude

        try:
            found = repository.find(self._options["workspace"], named=self._options["repository"])
            index.check(found)
            new, tracked = exclude(found, place.uncommitted)
        except OSError as error:
            self._say(f".git/info/exclude: {error.strerror}")
            return
        except CladaError:
            return  # the run itself will say why nothing can be committed
        if new:
            self._say(f"kept out of commits, by .git/info/exclude: {' '.join(new)}")
        if tracked and tracked != self._tracked:
            names = join([os.path.relpath(os.path.join(found.root, path)) for path in tracked])
            self._console.note(
                f"git tracks {names}: what is saved there is committed with the next run",
                f"git rm --cached {names}",
            )
            self._tracked = tracked

    # The keyboard.

    def _offer(self) -> None:
        """Say which keys there are."""
        if self._terminal is None:
            return
        keys = ["[c] copy the report"] if self._report and clipboard.is_available() else []
        keys += ["[r] do it again"] if self._last and not self._page else []
        self._say("waiting; " + "  ".join([*keys, "[q] quit"]))

    def _take_key(self) -> None:
        """Do what was typed since the last check."""
        if self._terminal is None or not select.select([self._terminal], [], [], 0)[0]:
            return
        line = os.read(self._terminal, 4096).decode(errors="replace")
        key = line.strip().lower()
        if not line or key in ("q", "quit"):
            self._code = 0
        elif key in ("c", "copy") and self._report:
            self._copy()
        elif key in ("r", "again") and self._last and not self._page:
            text, source = self._last
            self._carry_out(
                plan_for(text, settings_of(self._options)), source, {**self._options, "again": True}
            )
            self._offer()
        else:
            self._offer()

    def _copy(self) -> None:
        try:
            copy(self._report)
            self._say("the report is on the clipboard")
        except CladaError as trouble:
            self._console.note_error(trouble.error)
        self._offer()

    def _say(self, text: str) -> None:
        self._console.note(text)


def _recent_documents(workspace: str) -> list[tuple[str, bytes]]:
    """Return the documents of the last recorded runs that were not undone, and which runs these are."""
    undone, found = set(), []
    try:
        for run in history(workspace)[:RECENT]:
            if run.undoes:
                undone.add(run.undoes)
            elif run.number not in undone and (document := run_details(run.number, workspace).document):
                found.append((f"run {run.number}", document))
    except CladaError:  # there is no history, or it cannot be read: the run itself will say why
        pass
    return found
