"""Edits of several hunks: located in order in one text, as whole lines or within them; replaced together."""

from __future__ import annotations

from codecs import BOM_UTF8

from clada.errors import CladaError, Error
from clada.text.differences import shorten_line
from clada.text.explain import explain
from clada.text.hunks import MOST_STARTS, Found, Locator, Subject, Wanted, matched_but_for
from clada.text.line_endings import CR, CRLF, LF, endings_at, to_lf
from clada.text.match import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.operations.edit import Edit, Hunk
    from clada.text.hunks import Missing

MOST_LINES = 1000  # line numbers that a report names
MOST_EXPLAINED = 3  # hunks of one edit whose failure is explained
MOST_NAMED = 10  # further failed hunks that are named
OUT_OF_ORDER = "out of order"


def replace_hunks(edit: Edit, text: Text, way: str) -> tuple[Text, int, tuple[int, ...], tuple[str, ...]]:
    """Return the text with all hunks replaced, their number, their lines, and remarks on how they matched.

    Raise CladaError if one has no match.
    """
    if any(hunk.search_end is not None for hunk in edit.hunks):
        raise CladaError("invalid_operation", "a range, with a start and an end text, stands alone")
    has_bom = text.data.startswith(BOM_UTF8)  # it is not part of the first line
    text = Text(text.data[len(BOM_UTF8) :]) if has_bom else text
    base = _with_final_break(text)
    search = _Search(edit, base, way, added_break=base is not text)
    found = search.found()
    edited = _splice(base, found)
    if base is not text or edit.final_newline is not None:
        edited = _set_final_break(edited, with_break=bool(edit.final_newline))
    if has_bom:
        edited = Text(BOM_UTF8 + edited.data)
    lines = search.line_numbers(sorted(place.start for place in found))
    return edited, len(found), lines, _remarks(found)


def _with_final_break(text: Text) -> Text:
    """Return the text with a line break at its end, so that all lines are alike."""
    if not text.data or text.data.endswith((LF, CR)):
        return text
    (ending,) = endings_at(text.data, [len(text.data)])
    return Text(text.data + ending)


def _set_final_break(text: Text, *, with_break: bool) -> Text:
    """Return the text with or without a line break at its end."""
    data = text.data
    if not data or data.endswith((LF, CR)) == with_break:
        return text
    if with_break:
        return _with_final_break(text)
    return Text(data[: -2 if data.endswith(CRLF) else -1])


def _splice(text: Text, found: Sequence[Found]) -> Text:
    """Return the text with the splices of all hunks; raise CladaError if two change the same lines."""
    splices = sorted(
        ((splice, number) for number, place in enumerate(found, 1) for splice in place.splices),
        key=lambda pair: (pair[0].start, pair[0].end),
    )
    end, last = 0, 0
    for splice, number in splices:
        if splice.start < end:
            one, other = sorted((last, number))
            raise CladaError("invalid_operation", f"hunks {one} and {other} change the same lines")
        end, last = splice.end, number
    spans = [(splice.start, splice.end) for splice, _ in splices]
    return text.spliced(spans, [splice.new for splice, _ in splices])


def _remarks(found: Sequence[Found]) -> tuple[str, ...]:
    forgiven = list(dict.fromkeys(what for place in found for what in place.forgiven))
    matched = [matched_but_for(forgiven)] if forgiven else []
    return (*matched, *([OUT_OF_ORDER] if any(place.out_of_order for place in found) else []))


class _Search:
    """The search for all hunks of one edit, and the error if it fails."""

    def __init__(self, edit: Edit, text: Text, way: str, *, added_break: bool) -> None:
        data = to_lf(text.data)
        self._edit, self._text = edit, text if data is text.data else Text(data)
        self._to_wanted = [_to_wanted(hunk, whole_lines=edit.whole_lines) for hunk in edit.hunks]
        subject = Subject(data, len(data) - added_break, edit.path.encode(), text.ending is None)
        self._locator = Locator(subject, self._to_wanted, way)

    def line_numbers(self, starts: Sequence[int]) -> tuple[int, ...]:
        """Return the line numbers of these sorted offsets, up to a limit."""
        return tuple(self._text.lines(starts[:MOST_LINES]))

    def found(self) -> list[Found]:
        """Return the matches of all hunks; of a single hunk, as many as its count says."""
        if self._edit.count != 1:
            return self._find_count()
        found, missing = [], {}
        for number, hunk in enumerate(self._to_wanted):
            place = self._locator.locate(hunk)
            if isinstance(place, Found):
                found.append(place)
            else:
                missing[number] = place
        if missing:
            raise CladaError.of(self._error(missing))
        return found

    def _find_count(self) -> list[Found]:
        found = self._locator.everywhere(self._to_wanted[0])
        if not found if self._edit.count == "all" else len(found) != self._edit.count:
            error = self._mismatch(0, [place.start for place in found])
            raise CladaError.of(error if found else self._explain(error, self._to_wanted[0]))
        return found

    def _error(self, missing: dict[int, Missing]) -> Error:
        """Return the error of the first hunk without a match, with details of the next few."""
        errors = [self._hunk_error(number, missing[number]) for number in list(missing)[:MOST_EXPLAINED]]
        first, *more = errors
        if not more:
            return first
        others = [str(number + 1) for number in list(missing)[1:]]
        named = ", ".join(others[:MOST_NAMED]) + (", …" if others[MOST_NAMED:] else "")
        hint = f"{first.hint or 'it has no place'}; so with hunk{'s' if others[1:] else ''} {named}"
        details = "\n".join(f"{error.message}\n{error.details or error.hint or ''}" for error in errors)
        return first.replace(hint=hint, details=details)

    def _hunk_error(self, number: int, missing: Missing) -> Error:
        """Return why one hunk has no match."""
        if missing.reason:
            return Error("invalid_operation", self._name(number) + missing.reason)
        wanted = self._to_wanted[number]
        error = self._mismatch(number, missing.starts)
        if missing.final:
            return error.replace(hint=missing.hint or None)
        anchor = self._locator.missing_anchor(wanted)
        if anchor is not None:
            return error.replace(hint=f"its anchor `{shorten_line(anchor.decode())}` is not there")
        elsewhere = self._locator.everywhere(wanted.replace(at_end=False)) if wanted.at_end else []
        if elsewhere:
            (line,) = self.line_numbers([elsewhere[-1].start])
            return error.replace(hint=f"it is at line {line}, and not at the end of the file")
        return self._explain(error, wanted)

    def _name(self, number: int) -> str:
        """Return the start of a message: which hunk it is about, if there are several."""
        hunks = self._edit.hunks
        if len(hunks) == 1:
            return ""
        line = hunks[number].line
        return f"hunk {number + 1} of {len(hunks)}{f' (line {line})' if line else ''}: "

    def _mismatch(self, number: int, starts: Sequence[int]) -> Error:
        edit, lines = self._edit, self.line_numbers(starts)
        error = edit.mismatch(edit.hunks[number], len(starts), lines, MOST_STARTS)
        return error.replace(message=self._name(number) + error.message)

    def _explain(self, error: Error, wanted: Wanted) -> Error:
        """Return the error with the closest match; a text of whole lines has line breaks around it."""
        if wanted.text:
            why = explain(self._text, wanted.text, wanted.text_new)
        else:
            lines, new = LF.join(wanted.old) + LF, LF.join(wanted.new)
            why = explain(self._text, LF + lines, new)
            if why.nearest is None:  # the first line of a file has no line break before it
                first = explain(self._text, lines, new)
                why = first if first.nearest and first.nearest.first_line == 1 else why
        return error.replace(hint=why.hint or None, details=why.details or None, nearest=why.nearest)


def _to_wanted(hunk: Hunk, *, whole_lines: bool) -> Wanted:
    """Return a hunk as lines; one that is not of whole lines also as a text, which is tried first."""
    search, replacement = to_lf(hunk.search.encode()), to_lf(hunk.replacement.encode())
    old, new, text, text_new = _split(search), _split(replacement), b"", b""
    if search and not whole_lines:
        text, text_new = search, replacement
        if not search.endswith(LF):
            old, new = search.split(LF), replacement.split(LF)
        if LF not in search or (search.endswith(LF) and replacement and not replacement.endswith(LF)):
            old, new = (), ()  # it does not consist of whole lines, or would not leave whole lines
    anchors = [anchor.encode() for anchor in hunk.anchors]
    return Wanted(
        old, new, text, text_new, anchors, hunk.near, hunk.at_end, hunk.after_line, hunk.through_line
    )


def _split(text: bytes) -> Sequence[bytes]:
    """Return the lines of a text; none if it is empty."""
    return text.removesuffix(LF).split(LF) if text else ()
