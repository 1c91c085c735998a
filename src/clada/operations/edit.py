"""edit: replace texts in a file, if each is found exactly as often as expected."""

from __future__ import annotations

from clada.errors import CladaError, Error
from clada.grammar import Field
from clada.model import UNCHANGED, WAS_READ_ONLY, Change, Done, Operation, Phrases
from clada.text.elision import elision_complaint
from clada.values import Value, fields_of
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, Final, Self

    from clada.settings import Settings
    from clada.text.match import Matches, Text
    from clada.world.files.paths import Parts
    from clada.world.merge import KnownVersion
    from clada.world.world import World

    # A text with its replacements, their number, their lines, and remarks.
    Edited = tuple[Text, int, tuple[int, ...], tuple[str, ...]]

MOST_LINES = 1000  # upper limit of line numbers in a report
MISMATCH: Final = "match_count_mismatch"
# How a search text is compared with the file's. Each way allows what the one before it does, and more:
# `blanks` other blanks at the ends of lines, an indentation that differs evenly, blank lines around it;
# `typographic` other dashes, quotes and spaces, too. See text/tiers.py.
EXACT, BLANKS, TYPOGRAPHIC = WAYS = ("exact", "blanks", "typographic")
SEVERAL_DIVIDERS = 'lines of "=======": use longer markers'  # follows the number of dividers

_USUAL = {"path", "count", "search", "replace"}  # the fields of most edits
_TEXTS = ("search", "search_start", "search_end", "replace", "near")  # fields of an edit without hunks


class Hunk(Value):
    """One replacement: of a text by another; or an insertion, whose search text is empty.

    In an edit of whole lines a text is lines, each with its line break, which the last may lack: `""` is no
    line at all, and a line break alone is a blank line.

    An insertion says where it goes: right after its last anchor, `at_end`, or `after_line`. One that does
    not is only made in an empty file, or at the end of one that has no line after `near`.
    """

    search: str
    replacement: str
    search_end: str | None = None  # replace up to the nearest such text; only in an edit of one hunk
    anchors: tuple[str, ...] = ()  # lines that come before it, in order
    near: int | None = None  # decides between several exact matches, if one starts at this line
    at_end: bool = False  # it must end at the end of the file, except for one blank line
    after_line: int | None = None  # where an insertion goes; 0 is the top
    line: int | None = None  # its line in the document
    through_line: int | None = None  # with `after_line`: the last line that is removed
    end_once: bool = False  # with `search_end`: that text must not occur again after it
    instead: tuple[Hunk, ...] = ()  # other readings of the same text: exactly one must match


class EditedFile:
    """A file that edits of one document change: what a merge starts from (merge.py)."""

    __slots__ = ("base", "before", "current", "edited", "edits", "may_merge", "original")

    def __init__(self, content: bytes, before: Sequence[Operation], *, is_own: bool) -> None:
        """Take the content before the first edit, and the operations that the resumed run did.

        `is_own`: this document wrote the content, so the model knows it.
        """
        self.original = self.current = self.edited = content
        self.before = [edit for edit in before if isinstance(edit, Edit)]
        self.edits: list[Edit] = []
        self.may_merge = not is_own and len(self.before) == len(before)
        self.base: KnownVersion | None = None  # the version that the edits are made on, with what came of it


class Edit(Operation):
    """Replace texts in a file: all hunks, which are located in order in the same text, or none.

    `count` says how often a hunk that is alone must be found: a number, or all. Several are found once each.
    """

    path: str
    hunks: tuple[Hunk, ...]
    count: int | str = 1
    match: str = EXACT  # one of WAYS, unless a setting says otherwise
    whole_lines: bool = False  # search texts match whole lines only
    final_newline: bool | None = None  # whether the file ends in a line break afterwards; None: as it did
    placeholder: bool = False  # the path looks like an example: an error for a missing file says so
    dialect: str = ""

    name: ClassVar = "edit"
    fields: ClassVar = (
        Field("path", "path"),
        Field("count", "count", required=False, default=1),
        Field("search", "text"),  # or search_start and search_end, insert_line and content, or hunks
        Field("search_start", "text", required=False),
        Field("search_end", "text", required=False),
        Field("replace", "text"),
        Field("insert_line", "line", required=False, excludes=("count", *_TEXTS)),
        Field("content", "text", required=False, beside="insert_line"),
        Field(
            "hunks",
            "objects",
            required=False,
            excludes=("count", *_TEXTS, "insert_line"),
            fields=(
                Field("search", "lines", required=False),  # missing or empty: an insertion
                Field("replace", "lines"),
                Field("anchors", "anchors", required=False),
                Field("near", "number", required=False),
                Field("at_end", "flag", required=False),
                Field(
                    "insert_line", "line", required=False, excludes=("search", "anchors", "near", "at_end")
                ),
            ),
        ),
        Field("near", "number", required=False),
        Field("match", "choice", required=False, choices=WAYS),
        Field("whole_lines", "flag", required=False),
        Field("final_newline", "flag", required=False),
    )
    only_its_paths: ClassVar = True
    in_part: ClassVar = "edited"
    phrases: ClassVar = {
        "edited": Phrases(
            done=(
                "{target} ({replacements} at {lines}{remarks})",
                "edited {target} ({replacements}{remarks})",
            ),
            planned=(
                "{target} (would edit, {replacements} at {lines}{remarks})",
                "would edit {target} ({replacements}{remarks})",
            ),
        ),
        "merged": Phrases(
            done=("{target} ({listed})", "edited {target} ({listed})"),
            planned=("{target} (would be {listed})", "would edit {target} ({listed})"),
        ),
        "unchanged": UNCHANGED,
    }

    @classmethod
    def from_fields(
        cls, line: int, span: tuple[int, int], attributes: Mapping[str, str], values: Mapping[str, Any]
    ) -> Self:
        """Make an edit from its fields; without a list of hunks, the fields are one hunk."""
        if len(values) == len(_USUAL) and values.keys() == _USUAL:
            hunk = Hunk(values["search"], values["replace"])
            return cls(line, span, attributes, values["path"], (hunk,), values["count"])
        if "hunks" in values:
            hunks = tuple(map(_hunk, values["hunks"]))
        elif "insert_line" in values:
            hunks = (Hunk("", values["content"], after_line=values["insert_line"]),)
        else:
            search = values["search"] if "search" in values else values["search_start"]
            end, near = values.get("search_end"), values.get("near")
            hunks = (Hunk(search, values["replace"], end, near=near),)
        others = {name: values[name] for name in ("match", "whole_lines", "final_newline") if name in values}
        return cls(line, span, attributes, values["path"], hunks, values.get("count", 1), **others)

    @property
    def holds(self) -> str | None:
        """The path: edits of one file in a row are written once."""
        return self.path

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans; optional ones only if they are set."""
        unset, names = Edit.__field_defaults__, ("match", "whole_lines", "final_newline", "placeholder")
        others = {name: getattr(self, name) for name in names if getattr(self, name) != unset[name]}
        return {"path": self.path, **self._texts(), **others}

    def _texts(self) -> dict[str, Any]:
        hunk, *more = self.hunks
        nowhere = not hunk.search and hunk.after_line is None
        listed = hunk.anchors or hunk.at_end or hunk.line or hunk.through_line or hunk.instead
        if more or listed or nowhere:
            return {"hunks": [_hunk_to_dict(hunk) for hunk in self.hunks]}
        if hunk.after_line is not None:
            return {"insert_line": hunk.after_line, "content": hunk.replacement}
        if hunk.search_end is None:
            texts = {"search": hunk.search}
        else:
            texts = {"search_start": hunk.search, "search_end": hunk.search_end}
        others = {} if hunk.near is None else {"near": hunk.near}
        others |= {"end_once": True} if hunk.end_once else {}
        return {"count": self.count, **texts, "replace": hunk.replacement, **others}

    def apply(self, world: World) -> Done:
        """Replace all matches, or none if their number is not the expected one."""
        parts = world.files.locate(self.path)
        if self.placeholder and not world.files.entry(parts):
            raise CladaError("invalid_operation", f"{self.path} is an example, not a file")
        text = world.files.text(parts)
        if not self.dialect:  # dialects look at this when they are read
            self._refuse_elision()
        way, file = self.way(world.settings), self._edited_file(world, parts, text)
        try:
            if file.base and world.merging:
                return world.merging().merge_again(self, world, parts, file)
            edited, count, lines, remarks = self.edit_text(text, way)
        except CladaError as raised:
            if not world.merging or file.base or not file.may_merge or raised.error.type != MISMATCH:
                raise
            return world.merging().merge_edit(self, world, parts, file, raised.error)
        if world.merging and file.may_merge and self._may_be_done(text):
            done = world.merging().find_insertion(self, world, parts, file)
            if done:
                return done
        file.current = edited.data
        file.edits.append(self)
        if edited is text:
            how = "edited" if way == EXACT and not self.whole_lines else "unchanged"
            return Done(how, self.path, None, count, lines, held=True, remarks=remarks)
        world.files.hold(parts, edited)
        changes = (Change(display_path(parts), "edited"),)
        if world.files.is_read_only(parts):
            remarks = (*remarks, WAS_READ_ONLY)
        return Done("edited", self.path, None, count, lines, None, changes, held=True, remarks=remarks)

    def _may_be_done(self, text: Text) -> bool:
        """Whether it inserts lines that the file has already: its search text is found all the same."""
        pairs = ((hunk.search, hunk.replacement) for hunk in self.hunks)
        return any(old and old != new and old in new and new.encode() in text.data for old, new in pairs)

    def way(self, settings: Settings) -> str:
        """Return the way of comparing its search texts with the file's: one of WAYS."""
        return self.match if settings.match == "auto" else settings.match

    def _edited_file(self, world: World, parts: Parts, text: Text) -> EditedFile:
        """Return the state of the file after earlier edits; a new one if something else changed it."""
        file = world.edited_files.get(parts)
        if file is None or (file.current is not text.data and file.current != text.data):
            is_own = file is not None or parts in world.files.touched
            file = EditedFile(text.data, world.done_before.get(self.path, ()), is_own=is_own)
            world.edited_files[parts] = file
        return file

    def _refuse_elision(self) -> None:
        """Raise CladaError if a replacement stands for code that it does not have."""
        for hunk in self.hunks:
            known = f"{hunk.search}\n{hunk.search_end or ''}"
            elided = elision_complaint(hunk.replacement, known, self.path) if hunk.search else None
            if elided:
                raise CladaError("invalid_operation", elided)

    def edit_text(self, text: Text, way: str) -> Edited:
        """Return the text with all replacements; raise CladaError if one has no match."""
        hunk = self.hunks[0]
        if hunk.instead:
            return self._only_reading(text, way, (hunk.replace(instead=()), *hunk.instead))
        return self._exactly(text, way) or self._by_lines(text, way)

    def _only_reading(self, text: Text, way: str, readings: Sequence[Hunk]) -> Edited:
        """Return the text edited by the one reading of a hunk that matches."""
        found: list[Edited] = []
        errors: list[CladaError] = []
        for hunk in readings:
            try:
                found.append(self.replace(hunks=(hunk,)).edit_text(text, way))
            except CladaError as raised:
                errors.append(raised)
        if not found:
            raise errors[0]  # it names the closest match of the shortest text
        if len(found) > 1:
            raise CladaError("invalid_operation", f"{len(readings)} {SEVERAL_DIVIDERS}")
        return found[0]

    def _exactly(self, text: Text, way: str) -> Edited | None:
        """Replace one text, or range, by exact matches; return None if that is not enough."""
        hunk = self.hunks[0]
        is_plain = len(self.hunks) == 1 and hunk.search and not hunk.anchors and not hunk.at_end
        if self.whole_lines or not is_plain or self.final_newline is not None:
            return None
        found = self._find(text, hunk)
        if not found.count and way != EXACT and hunk.search_end is None and self.count in (1, "all"):
            return None
        if found.count > 1 and self.count == 1 and hunk.near is not None:
            found = _nearest(text, found, hunk.near)
        if not found.count if self.count == "all" else found.count != self.count:
            raise CladaError.of(self._mismatch(text, hunk, found))
        if hunk.end_once:
            _check_end(text, hunk.search_end or "", found.ends[0])
        edited = text.replaced(found, hunk.replacement.encode())
        return edited, found.count, _lines(text, found), ()

    def _by_lines(self, text: Text, way: str) -> Edited:
        """Replace all hunks, which are located in order."""
        from clada.operations.hunks import replace_hunks  # late: an edit by its text alone starts without it

        edited, count, lines, remarks = replace_hunks(self, text, way)
        return text if edited.data == text.data else edited, count, lines, remarks

    def _find(self, text: Text, hunk: Hunk) -> Matches:
        # Past the limit, matches are only counted.
        limit = max(self.count, MOST_LINES) if isinstance(self.count, int) else None
        if hunk.search_end is None:
            return text.locate(hunk.search.encode(), limit)
        return text.locate_range(hunk.search.encode(), hunk.search_end.encode(), limit)

    def _mismatch(self, text: Text, hunk: Hunk, found: Matches) -> Error:
        """Return the error with an explanation, by which a model can try again."""
        error = self.mismatch(hunk, found.count, _lines(text, found))
        if found.count and found.unfinished is None:
            return error
        from clada.text.explain import explain, explain_range  # late: only a failure is explained

        search, replacement = hunk.search.encode(), hunk.replacement.encode()
        if hunk.search_end is None:
            why = explain(text, search, replacement)
        else:
            why = explain_range(text, search, hunk.search_end.encode(), replacement, found)
        return error.replace(hint=why.hint or None, details=why.details or None, nearest=why.nearest)

    def mismatch(self, hunk: Hunk, found: int, lines: tuple[int, ...], most: int | None = None) -> Error:
        """Return the error for a text that is not found as often as expected; `most` is the limit."""
        matches = "1 match" if found == 1 else f"{found}{' or more' if found == most else ''} matches"
        expected = "at least 1" if self.count == "all" else self.count
        message = f"found {matches}, expected {expected}"
        return Error(MISMATCH, message, found=found, expected=self.count, lines=lines, searched=hunk.search)


def _lines(text: Text, found: Matches) -> tuple[int, ...]:
    return tuple(text.lines(found.starts[:MOST_LINES]))


def _check_end(text: Text, search_end: str, end: int) -> None:
    """Raise CladaError if the end text of a range occurs again after it."""
    again = [start for start in text.locate(search_end.encode()).starts if start >= end]
    if again:
        (line,) = text.lines(again[:1])
        raise CladaError(MISMATCH, f"the end text occurs again at line {line}: make it longer")


def _nearest(text: Text, found: Matches, near: int) -> Matches:
    """Return the one match that starts at this line, if there is one; else all."""
    lines = _lines(text, found)
    if lines.count(near) != 1:
        return found
    number = lines.index(near)
    return found.replace(starts=[found.starts[number]], ends=[found.ends[number]], count=1)


_HUNK_NAMES = {"replacement": "replace", "after_line": "insert_line"}  # in plans


def _hunk(values: Mapping[str, Any]) -> Hunk:
    """Make a hunk from its fields by their names in plans."""
    renamed = {plan: name for name, plan in _HUNK_NAMES.items()}
    fields = {renamed.get(name, name): value for name, value in values.items()}
    return Hunk(**{"search": "", **fields, "anchors": tuple(values.get("anchors", ()))})


def _hunk_to_dict(hunk: Hunk) -> dict[str, Any]:
    """Return a hunk as plans write it: its texts, and other fields that are set."""
    unset = Hunk.__field_defaults__
    values = fields_of(hunk)
    shown = {name: value for name, value in values.items() if name not in unset or value != unset[name]}
    if not hunk.search:
        del shown["search"]
    if hunk.anchors:
        shown["anchors"] = list(hunk.anchors)
    if hunk.instead:
        shown["instead"] = [_hunk_to_dict(each) for each in hunk.instead]
    return {_HUNK_NAMES.get(name, name): value for name, value in shown.items()}
