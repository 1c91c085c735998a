"""Choosing operations, and hunks of them, one question after the other."""

from __future__ import annotations

import os

from clada.cli.pager import Pages, edit, page
from clada.cli.questions import HELP, answer_by_key, ask_for_line
from clada.engine import SIBLING
from clada.errors import CladaError
from clada.grammar import read_number
from clada.model import Skipped
from clada.notations.registry import UNKNOWN
from clada.report import is_command, status_line
from clada.report.diff import numbered, split_hunk
from clada.text.forms import visible
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clada.model import Plan
    from clada.report import Line
    from clada.report.diff import FileHunk
    from clada.selection import Chosen, Preview
    from clada.world.secrets.mask import Mask

UNSEEN = "not run in a dry run: "  # start of the reason for which a plan runs no command
# A no to a failure may only mean that it cannot work, but the model would read that it is not wanted.
WOULD_FAIL = "  would fail: [y] tries it, and reports the error to the model; [n] reports it as not wanted"
DECISIONS = {None: "", True: ", yes so far", False: ", no so far"}
NO_HUNK = "this has no hunk"


class Question(Value):
    """What can be chosen by itself: an operation, or one of the hunks of its file."""

    preview: Preview
    hunk: FileHunk | None
    decision: bool | None = None


def choose(previews: Sequence[Preview], plan: Plan, mask: Mask, color: str, terminal: int) -> Chosen | None:
    """Ask about each operation and hunk; return what is chosen, None if the input ends too early."""
    questions = [
        Question(each, hunk)
        for each in previews
        if _can_be_chosen(each, plan)
        for hunk in each.hunks or (None,)
    ]
    choices = Choices(questions, mask, color, terminal)
    return _collect_choices(choices.questions) if choices.ask() else None


def _can_be_chosen(each: Preview, plan: Plan) -> bool:
    outcome = each.task.outcome
    of_invalid_block = isinstance(outcome, Skipped) and outcome.reason == SIBLING
    return not (each.task.invalid or of_invalid_block or each.task.index in plan.left_out)


def _collect_choices(questions: Sequence[Question]) -> Chosen:
    chosen: dict[int, tuple[FileHunk, ...] | None] = {}
    for question in questions:
        index, hunk = question.preview.task.index, question.hunk
        if hunk is None:
            chosen[index] = None if question.decision else ()
        else:
            chosen[index] = (*(chosen.get(index) or ()), *((hunk,) if question.decision else ()))
    return chosen


class Choices:
    """The questions, with what is decided so far. Each method for a key returns a remark for the user."""

    def __init__(self, questions: list[Question], mask: Mask, color: str, terminal: int) -> None:
        self.questions = questions
        self._at = 0  # the question that is shown; their number if all are decided
        self._mask, self._color, self._terminal = mask, color, terminal

    def ask(self) -> bool:
        """Ask until all is decided; return False if the input ends before."""
        actions = {key.letter: key.act for key in KEYS}
        shown = None
        while self._at < len(self.questions):
            question = self.questions[self._at]
            if question is not shown:
                self._pages().show()
                shown = question
            letter = answer_by_key(self._terminal, PROMPT, ANSWERS)
            if letter is None:
                return False
            if remark := actions[letter](self):
                self._say([("note", line) for line in remark.split("\n")]).show()
        return True

    def decide(self, *, wanted: bool, rest: bool = False) -> str:
        """Decide this one, or with `rest` this one and all that are open, and go to the next open one."""
        for number, question in enumerate(self.questions):
            if number == self._at or (rest and question.decision is None):
                self.questions[number] = question.replace(decision=wanted)
        order = [*range(self._at, len(self.questions)), *range(self._at)]
        is_open = (number for number in order if self.questions[number].decision is None)
        self._at = next(is_open, len(self.questions))
        return ""

    def back(self) -> str:
        """Go to the one before, which is open again."""
        if not self._at:
            return "this is the first"
        self._at -= 1
        self.questions[self._at] = self.questions[self._at].replace(decision=None)
        return ""

    def split(self) -> str:
        """Replace a hunk by one for each change in it."""
        hunk = self.questions[self._at].hunk
        parts = split_hunk(hunk) if hunk else []
        if len(parts) < 2:  # noqa: PLR2004 (a part and the rest)
            return "this is one change: it cannot be split" if hunk else NO_HUNK
        self._replace_hunk(parts)
        return ""

    def edit(self) -> str:
        """Let the user edit the lines of a hunk as they will be in the file."""
        hunk, task = self.questions[self._at].hunk, self.questions[self._at].preview.task
        if hunk is None:
            return f"{NO_HUNK}; [e] at the question whether to execute edits the document"
        try:
            new = edit(hunk.new, self._terminal, os.path.basename(task.path or "") or "hunk")
        except CladaError as trouble:
            return trouble.error.sentence
        if new:  # editors add or leave out the last line break: it stays as it was
            new = new.removesuffix(b"\n") + (b"\n" if hunk.new.endswith(b"\n") else b"")
        if not new or new == hunk.new:
            return "nothing was changed"
        if new == hunk.old:
            return "these are the lines that the file has already: [n] leaves them as they are"
        self._replace_hunk([hunk.with_text(new)])
        return ""

    def _replace_hunk(self, hunks: Sequence[FileHunk]) -> None:
        """Ask about other hunks in place of this one, and count all hunks of its file again."""
        preview = self.questions[self._at].preview
        self.questions[self._at : self._at + 1] = [Question(preview, hunk) for hunk in hunks]
        places = [at for at, each in enumerate(self.questions) if each.preview is preview]
        counted = numbered([hunk for at in places if (hunk := self.questions[at].hunk)])
        for at, hunk in zip(places, counted, strict=True):
            self.questions[at] = self.questions[at].replace(hunk=hunk)

    def page(self) -> str:
        """Show this one in the pager."""
        pages = self._pages()
        if not page(pages.text, self._terminal):
            pages.show()
        return ""

    def search(self) -> str:
        """Go to the next one that contains a text."""
        text = ask_for_line(self._terminal, "Search for: ")
        for at in (*range(self._at + 1, len(self.questions)), *range(self._at + 1)) if text else ():
            if (text or "").lower() in "\n".join(line for _kind, line in self._lines(at)).lower():
                self._at = at
                return ""
        return f"not found: {visible(text)}" if text else ""

    def go(self) -> str:
        """Go to a number."""
        text = ask_for_line(self._terminal, f"Go to (1-{len(self.questions)}): ")
        number = read_number(text or "")
        if not number or number > len(self.questions):
            return f"not a number from 1 to {len(self.questions)}: {visible(text)}" if text else ""
        self._at = number - 1
        return ""

    def _pages(self) -> Pages:
        return self._say(self._lines(self._at))

    def _say(self, lines: Sequence[Line]) -> Pages:
        pages = Pages(self._color, self._terminal)
        pages.say(lines)
        pages.close()
        return pages

    def _lines(self, at: int) -> list[Line]:
        """Return the lines of a question: the operation, its command in full, the hunk."""
        question = self.questions[at]
        task, hunk = question.preview.task, question.hunk
        kind, text = status_line(task, UNKNOWN)  # the same words for all notations
        _label, _, text = text.partition(" ")
        if task.ok:  # nothing was done yet, so it has no status
            text = text.partition(": ")[2].replace(UNSEEN, "")
        place = f"({at + 1}/{len(self.questions)}{DECISIONS[question.decision]})"
        part = f", hunk {hunk.number} of {hunk.of}" if hunk and hunk.of > 1 else ""
        part += ", edited" if hunk and hunk.edited else ""
        lines: list[Line] = [("note", ""), (kind, f"{place} task {task.label}: {text}{part}")]
        if task.error:
            lines.append(("note", WOULD_FAIL))
        if is_command(task):
            lines += [("detail", f"  | {visible(line)}") for line in task.target.strip("\n").split("\n")]
        if hunk:
            lines += [(kind, self._mask(line)) for kind, line in hunk.lines]
        return lines


class Key(Value):
    """A key that answers a question."""

    letter: str
    word: str  # in the prompt; empty for keys that only the explanation has
    meaning: str
    act: Callable[[Choices], str]


KEYS = (
    Key("y", "yes", "carry this out", lambda choices: choices.decide(wanted=True)),
    Key("n", "no", "leave it out", lambda choices: choices.decide(wanted=False)),
    Key(
        "a",
        "all",
        "carry out this and all that are not decided yet",
        lambda choices: choices.decide(wanted=True, rest=True),
    ),
    Key(
        "q",
        "quit",
        "leave out this and all that are not decided yet",
        lambda choices: choices.decide(wanted=False, rest=True),
    ),
    Key("b", "back", "go back to the one before", Choices.back),
    Key("s", "split", "split this hunk into one for each change", Choices.split),
    Key(
        "e", "edit", "edit the lines of this hunk, as they will be in the file, in your editor", Choices.edit
    ),
    Key("p", "", "show this in your pager", Choices.page),
    Key("/", "", "go to the next one that contains a text", Choices.search),
    Key("g", "", "go to a number", Choices.go),
    Key(HELP, "", "explain the keys", lambda _choices: EXPLANATION),
)
EXPLANATION: str = "\n".join(f"{key.letter}  {key.meaning}" for key in KEYS)
PROMPT = "".join(f"[{key.letter}] {key.word}  " for key in KEYS if key.word) + f"[{HELP}] "
ANSWERS = {word: key.letter for key in KEYS for word in (key.letter, key.word) if word}
