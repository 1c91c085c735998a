"""One file's part of a unified diff: its names, what git says of it, and its hunks."""

from __future__ import annotations

import re

from clada.notations.reading import ChangedLines
from clada.operations.edit import Hunk
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

    from clada.notations.reading import LineCounter

NOTHING = "/dev/null"
PREFIXES = frozenset("abciow12")  # of `a/path`, as git and others put them before both names
LINK, SUBMODULE, EXECUTABLE = "120000", "160000", "100755"
EMPTY_BLOB = "e69de29"
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_STAMP = re.compile(r"(?:\t.*|[ ]+[0-9]{4}-[0-9]{2}-[0-9]{2}[ T].*)")
_HEADERS = {
    "old mode ": "old_mode",
    "new mode ": "new_mode",
    "new file mode ": "created_mode",
    "deleted file mode ": "deleted_mode",
    "rename from ": "moved_from",
    "rename to ": "moved_to",
    "copy from ": "copied_from",
    "copy to ": "copied_to",
    "index ": "index",
}
_IGNORED = ("similarity index ", "dissimilarity index ", "Index: ", "=====", "Only in ")
_BINARY = ("Binary files ", "GIT binary patch", "Binary file ")


class Names(Value):
    """The names of a file before and after; None if it does not exist. It may be copied from another."""

    old: str | None
    new: str | None
    copied: str | None = None


class HunkDraft(ChangedLines):
    """A hunk of a diff while it is read."""

    def __init__(self, numbers: Match[str] | None, at: int) -> None:
        super().__init__(at)
        groups = numbers.groups() if numbers else (None,) * 4
        self.start = None if groups[0] is None else int(groups[0])
        # The numbers of old and new lines.
        self.counts = None if groups[0] is None else (int(groups[1] or "1"), int(groups[3] or "1"))
        self.blank = 0  # lines at its end that are empty, without even a blank
        self.last = ""  # the sign of the last line
        self.no_newline: set[str] = set()  # signs of lines that end the file without a line break

    def take(self, line: str) -> None:
        """Take a line: its sign, and its text."""
        sign, text = line[:1] or " ", line[1:]
        if sign == "\\":
            self.no_newline.add(self.last)
            return
        self.blank = 0 if line else self.blank + 1
        self.last = sign
        self.take_line(sign, text)

    def lines(self) -> tuple[list[str], list[str]]:
        """Return old and new lines, without empty ones at the end, which may be those after the diff.

        Where the counts fit with some of them, these are of the diff.
        """
        spare = self.blank
        if self.counts:
            over = len(self.old) - self.counts[0]
            if over == len(self.new) - self.counts[1] and 0 <= over <= spare:
                spare = over
        return (self.old[: len(self.old) - spare], self.new[: len(self.new) - spare])

    def fits(self) -> bool:
        """Whether it has as many lines as its header says."""
        if self.counts is None:
            return False
        over = len(self.old) - self.counts[0]
        return over == len(self.new) - self.counts[1] and 0 <= over <= self.blank


class FileDiff:
    """The part of one file in a diff, while it is read."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.hunks: list[HunkDraft] = []
        self.closed = False  # something after it shows that it is all there
        self.named_from_outside = False
        self.header = ""  # the rest of the line `diff --git`
        self.facts: dict[str, str] = {}
        self.binary = False
        self.old: str | None = None  # the names of --- and +++
        self.new: str | None = None

    @property
    def expects_names(self) -> bool:
        """Whether its --- line may still come."""
        return bool(self.header) and self.old is None and not self.hunks

    def is_called(self, old: str, new: str) -> bool:
        """Whether the names of --- and +++ are those that git's header says."""
        return all(
            name in (NOTHING, said)
            for name, said in zip(map(name_in_header, (old, new)), _git_names(self.header), strict=True)
        )

    @property
    def expects_new_name(self) -> bool:
        """Whether its +++ line comes next."""
        return self.old is not None and self.new is None and not self.hunks

    @property
    def executable(self) -> bool:
        """Whether it is created as a program."""
        return self.facts.get("created_mode") == EXECUTABLE

    def take_header(self, line: str) -> bool:
        """Take a line of git's own about the file; return whether it is one."""
        if line.startswith("diff --git "):
            self.header = line[11:]
            return True
        for start, name in _HEADERS.items():
            if line.startswith(start):
                self.facts[name] = line[len(start) :].strip()
                return True
        if line.startswith(_BINARY):
            self.binary = True
            return True
        return self.binary or line.startswith(_IGNORED) or not line.strip()

    def names(self) -> tuple[str | None, str | None]:
        """Return both names as they are written, without the letters that tools put before both."""
        old, new = self.old, self.new
        if old is None or new is None:
            old, new = _git_names(self.header)
        if self.named_from_outside:
            return old, new
        plain = [name for name in (old, new) if name is not None and name != NOTHING]
        if plain and all(name[1:2] == "/" and name[0] in PREFIXES for name in plain):
            old, new = (name if name == NOTHING else name and name[2:] for name in (old, new))
        return self.facts.get("moved_from", old), self.facts.get("moved_to", new)

    def if_exists(self) -> str:
        """Return the rule for a new file that exists: one that is not marked as new may be empty."""
        return "refuse" if "created_mode" in self.facts or self.old == NOTHING else "empty"

    def is_new(self) -> bool:
        """Whether the file is created."""
        first = self.hunks[0] if len(self.hunks) == 1 else None
        numbers = first is not None and first.start == 0 and first.counts is not None and not first.counts[0]
        return "created_mode" in self.facts or numbers

    def is_whole(self) -> bool:
        """Whether it is all there, as far as its counts and headers tell."""
        if self.closed:
            return True
        if self.hunks:
            return self.hunks[-1].fits()
        if {"created_mode", "deleted_mode"} & self.facts.keys():
            return EMPTY_BLOB in self.facts.get("index", "")
        return bool({"moved_to", "copied_to", "new_mode"} & self.facts.keys()) or self.binary

    def complaint(self) -> str | None:
        """Return why this cannot be carried out, if so."""
        modes = [
            self.facts[name] for name in ("created_mode", "deleted_mode", "old_mode") if name in self.facts
        ]
        modes += self.facts.get("index", "").split()[1:]
        if LINK in modes:
            return "unsupported mode: 120000, a symbolic link"
        if SUBMODULE in modes:
            return "unsupported mode: 160000, a submodule"
        if self.binary:
            return "unsupported binary: a diff of a file that is not text"
        if "old_mode" in self.facts:
            return f"unsupported mode: {self.facts['old_mode']} -> {self.facts.get('new_mode', '?')}"
        if not self.hunks and not self.facts.keys() - {"index"}:
            return "there are no changes in this diff"
        if self.is_new() and any(hunk.old and any(hunk.lines()[0]) for hunk in self.hunks):
            return "a new file has no old lines: start each with +"
        if self.is_new():
            return None  # it is examined when it is written
        return next(filter(None, (hunk.elision_complaint() for hunk in self.hunks)), None)

    def content(self) -> str:
        """Return the content of a new file."""
        text = "".join(f"{line}\n" for hunk in self.hunks for line in hunk.added)
        return text.removesuffix("\n") if self.final_newline() is False else text

    def old_content(self) -> str:
        """Return the content that a file has which is deleted."""
        text = "".join(f"{line}\n" for hunk in self.hunks for line in hunk.lines()[0])
        return text.removesuffix("\n") if self.hunks and "-" in self.hunks[-1].no_newline else text

    def final_newline(self) -> bool | None:
        """Return whether the file ends in a line break afterwards, if the diff says so."""
        ends = self.hunks[-1].no_newline if self.hunks else set()
        return False if ends & {"+", " "} else True if "-" in ends else None

    def values(self, seen: set[tuple[str, str, int]], lines: LineCounter) -> tuple[Hunk, ...]:
        """Return the hunks that change something; one that is written again for the same line counts once."""
        made = []
        for draft in self.hunks:
            if not draft.changes:
                continue
            old, new = ("".join(f"{line}\n" for line in side) for side in draft.lines())
            key = (old, new, draft.start or 0)  # the same change may be made at several places
            if key not in seen:
                seen.add(key)
                near = draft.start or None
                made.append(Hunk(old, new, None, (), near, line=lines.line(draft.at)))
        return tuple(made)


def names_in(file: FileDiff) -> Names | None:
    """Return the names of a file before and after; None if there is no name."""
    old, new = file.names()
    if old is None or new is None:
        return None
    if "copied_to" in file.facts:
        return Names(file.facts["copied_to"], file.facts["copied_to"], file.facts.get("copied_from"))
    created = old == NOTHING or file.is_new()
    deleted = new == NOTHING or "deleted_mode" in file.facts
    if deleted:
        return Names(old, None)
    return Names(None if created else old, new)


def name_in_header(text: str) -> str:
    """Return a name as it is in a header: unquoted, without the rest of the line."""
    quoted = _QUOTED.match(text)
    if quoted:
        return _unquote(quoted.group(1))
    stamp = _STAMP.search(text)
    return (text[: stamp.start()] if stamp else text).strip()


def _unquote(text: str) -> str:
    """Return a name that git wrote in quotes, as C writes texts."""
    data = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(text):
        data += text[at : escape.start()].encode()
        code = escape.group(1)
        data += bytes([int(code, 8) & 0xFF]) if len(code) > 1 else _ESCAPES.get(code, code).encode()
        at = escape.end()
    return (data + text[at:].encode()).decode(errors="replace")


def _git_names(header: str) -> tuple[str | None, str | None]:
    """Return both names of `diff --git a/P b/P`: between them is nothing that a name could not have."""
    quoted = _QUOTED.match(header)
    if quoted:
        return _unquote(quoted.group(1)), name_in_header(header[quoted.end() :].strip())
    old, _, new = header.partition(" ")
    half = len(header) // 2
    if header[half : half + 1] == " " and header[2:half] == header[half + 3 :]:
        old, new = header[:half], header[half + 1 :]
    elif " b/" in header:
        old, _, new = header.partition(" b/")
        new = f"b/{new}"
    return (old, new) if old and new else (None, None)
