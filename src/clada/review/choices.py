"""The choices of a person on an answer: operations, hunks, approvals, notes and edited texts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from clada.report.diff import FileHunk
    from clada.selection import Chosen, Preview

    Mask = Callable[[str], str]

ANSWERS = frozenset("once once+network always always+network no never".split())
MAX_NOTE = 2000  # characters
BAD_REQUEST = "this is not what the page asks for"
NAMES = ("chosen", "answers", "notes", "edits", "viewed")


class RefusedError(Exception):
    """A request that cannot be met now, or makes no sense: the status of HTTP, and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def refuse_malformed() -> Iterator[None]:
    """Refuse a request whose values are missing, or of another type."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError):
        raise RefusedError(400, BAD_REQUEST) from None


class Choices:
    """All choices on one answer, by operation (`"3"`) or by hunk (`"3.2"`), as the page sends them."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.chosen: dict[str, list[int] | None] = request["chosen"]  # None for all hunks
        self.answers: dict[str, str] = request["answers"]
        self.notes: dict[str, str] = request.get("notes", {})
        self.edits: dict[str, str] = request.get("edits", {})
        self.viewed: list[int] = request.get("viewed", [])

    @classmethod
    def of_all(cls, previews: Sequence[Preview]) -> Self:
        """Return the choices before a person has made any: all operations that can be read."""
        chosen = {str(each.task.index): None for each in previews if not each.task.invalid}
        return cls({"chosen": chosen, "answers": {}})

    @classmethod
    def read(cls, request: Any, previews: Sequence[Preview]) -> Self:
        """Return the choices of a request; raise RefusedError if one makes no sense."""
        with refuse_malformed():
            choices = cls(request)
            choices.check({str(each.task.index): each for each in previews})
        return choices

    def check(self, known: Mapping[str, Preview]) -> None:
        """Raise an error if something is chosen that is not there."""
        for index, numbers in self.chosen.items():
            if {*(numbers or ())} - {hunk.number for hunk in known[index].hunks}:
                raise LookupError(index)
        if any(answer not in ANSWERS for answer in self.answers.values()):
            raise ValueError
        for key in [*self.answers, *self.notes, *self.edits]:
            index, _, number = key.partition(".")
            if number and int(number) not in {hunk.number for hunk in known[index].hunks}:
                raise LookupError(key)
            known[index]
        if not all(isinstance(text, str) for text in [*self.notes.values(), *self.edits.values()]):
            raise TypeError
        self.notes = {
            key: " ".join(note.split())[:MAX_NOTE] for key, note in self.notes.items() if note.strip()
        }
        self.viewed = [int(index) for index in self.viewed]

    def to_dict(self) -> dict[str, Any]:
        """Return them as a page sends them."""
        return {name: getattr(self, name) for name in NAMES}

    def takes(self, index: int) -> bool:
        """Whether an operation is chosen, or a part of it."""
        return self.chosen.get(str(index), ()) != ()

    def takes_hunk(self, index: int, number: int) -> bool:
        """Whether a hunk is chosen; if its operation is not, whether it would be with it."""
        numbers = self.chosen.get(str(index))
        return numbers is None or number in numbers

    def selection(self, previews: Sequence[Preview]) -> Chosen:
        """Return the chosen operations by index: hunks, or None for all of an operation."""
        return {each.task.index: self._hunks(each) for each in previews if self.takes(each.task.index)}

    def _hunks(self, shown: Preview) -> tuple[FileHunk, ...] | None:
        index = shown.task.index
        hunks = [self.hunk(index, hunk) for hunk in shown.hunks if self.takes_hunk(index, hunk.number)]
        is_whole = len(hunks) == len(shown.hunks) and not any(hunk.edited for hunk in hunks)
        return None if is_whole else tuple(hunks)

    def hunk(self, index: int, hunk: FileHunk) -> FileHunk:
        """Return a hunk as it is now: as the person has edited it, if so."""
        edited = self.edits.get(f"{index}.{hunk.number}")
        return hunk if edited is None else edited_hunk(hunk, edited)

    def reasons(self) -> dict[int, str]:
        """Return the notes on operations that are left out, by index."""
        return {
            int(key): note for key, note in self.notes.items() if "." not in key and not self.takes(int(key))
        }

    def carry_over(self, old: Sequence[Preview], new: Sequence[Preview]) -> Choices:
        """Return the choices for a new plan of the same answer; on hunks, only if these are the same."""
        before = {str(each.task.index): each for each in old}
        same = {
            str(each.task.index): {hunk.number for hunk in each.hunks}
            for each in new
            if [hunk.lines for hunk in each.hunks]
            == [hunk.lines for hunk in before[str(each.task.index)].hunks]
        }

        def holds(key: str) -> bool:
            index, _, number = key.partition(".")
            return not number or index in same

        chosen = {index: numbers if index in same else None for index, numbers in self.chosen.items()}
        notes = {key: note for key, note in self.notes.items() if holds(key)}
        edits = {key: text for key, text in self.edits.items() if holds(key)}
        return Choices(
            {"chosen": chosen, "answers": self.answers, "notes": notes, "edits": edits, "viewed": self.viewed}
        )


def editable_text(hunk: FileHunk, mask: Mask) -> str | None:
    """Return the new text of a hunk to edit; None if a page cannot show it as it is."""
    try:
        text = hunk.new.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None
    return text if mask(text) == text and text.translate({10: " ", 9: " "}).isprintable() else None


def edited_hunk(hunk: FileHunk, text: str) -> FileHunk:
    """Return a hunk with the text that a person wrote; its line ends stay as they are."""
    model = hunk.new or hunk.old
    data = text.replace("\r\n", "\n")
    if data and not data.endswith("\n") and model.endswith(b"\n"):
        data += "\n"
    is_crlf = b"\r\n" in model and b"\n" not in model.replace(b"\r\n", b"")
    made = (data.replace("\n", "\r\n") if is_crlf else data).encode()
    return hunk if made == hunk.new else hunk.with_text(made)
