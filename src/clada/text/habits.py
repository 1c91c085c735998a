"""Habits of those who write search texts, which keep the text from being found; and how each is undone."""

from __future__ import annotations

from clada.text.differences import straight, unescaped
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FENCE = "```"
SEPARATORS = (":", "|", "│", "→", "\t")  # between a line number and its line
DIFF_MARKS = ("+", "-", " ")
COMMENT = "#/*-<!>{};% "  # what an ellipsis in a comment may be wrapped in
ELLIPSES = ("...", "…")


class Habit(Value):
    """One habit: its name, what to do about it, and the text without it, which is the same if it has none."""

    name: str
    remedy: str
    undone: Callable[[str], str]


def _without_fence(text: str) -> str:
    if FENCE not in text:
        return text
    lines = text.strip("\n").split("\n")
    fenced = len(lines) > 2 and lines[0].startswith(FENCE) and lines[-1].strip() == FENCE  # noqa: PLR2004 (fences)
    return "\n".join(lines[1:-1]) if fenced else text


def _without_numbers(text: str) -> str:
    """Take away the number, separator and blank that listings put in front of each line."""
    lines = []
    for line in text.split("\n"):
        rest = _after_number(line) if line.strip() else line
        if rest is None:
            return text
        lines.append(rest)
    spaced = all(line.startswith(" ") for line in lines if line.strip())
    return "\n".join(line[spaced:] for line in lines)


def _after_number(line: str) -> str | None:
    rest = line.lstrip()
    digits = len(rest) - len(rest.lstrip("0123456789"))
    rest = rest[digits:].lstrip(" ")
    return rest[1:] if digits and rest.startswith(SEPARATORS) else None


def _without_marks(text: str) -> str:
    """Take the old side out of a diff."""
    if text[:1] not in DIFF_MARKS:
        return text
    lines = [line for line in text.split("\n") if line]
    marked = all(line[0] in DIFF_MARKS for line in lines) and any(line[0] in "+-" for line in lines)
    return "\n".join(line[1:] for line in lines if line[0] != "+") if marked else text


def _without_escaped_quotes(text: str) -> str:
    return text.replace('\\"', '"').replace("\\'", "'")


def _with_line_breaks(text: str) -> str:
    return text.replace("\\n", "\n").replace("\\t", "\t")


def _without_ellipsis(text: str) -> str:
    """Take away the lines at both ends that stand for lines left out."""
    lines = text.strip("\n").split("\n")
    first = 1 if _is_ellipsis(lines[0]) else 0
    last = len(lines) - (1 if _is_ellipsis(lines[-1]) else 0)
    return "\n".join(lines[first:last]) if last - first < len(lines) else text


def _is_ellipsis(line: str) -> bool:
    bare = line.strip(COMMENT)
    return bare.startswith(ELLIPSES) or bare.endswith(ELLIPSES)


HABITS = (
    Habit("line numbers", "without the line numbers in front of its lines", _without_numbers),
    Habit("diff marks", "without the + and - in front of its lines", _without_marks),
    Habit("code fence", "without the code fence around it", _without_fence),
    Habit("escaped entities", "with < > & in place of &lt; &gt; &amp;", unescaped),
    Habit("quotes", "with straight quotes in place of curly ones", straight),
    Habit("backslashes", "without the backslashes in front of its quotes", _without_escaped_quotes),
    Habit("escaped line breaks", "with line breaks in place of \\n", _with_line_breaks),
    Habit("ellipsis", "without the line that stands for others", _without_ellipsis),
)


def around_ellipsis(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the text before each line that stands for lines left out, that line, and the text after it."""
    lines = text.strip("\n").split("\n") if any(dots in text for dots in ELLIPSES) else []
    for number, line in enumerate(lines[1:-1], 1):
        if _is_ellipsis(line):
            yield "\n".join(lines[:number]), line, "\n".join(lines[number + 1 :])
