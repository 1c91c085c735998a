"""Merging: an edit that does not fit the file as it is, but fits a version that is known, is made there.

The difference is merged into the file as it is now, by three-way merge (world/merge.py). Versions come in
this order: shown to the model by a pack or a read; left by an earlier run of clada; the last commits of the
path. In the first of these groups that has a version which the edit fits, all such versions must merge to the
same text: nothing is chosen by similarity. All edits of a file in one document are made on the same version.
"""

from __future__ import annotations

from clada.errors import CladaError, Error
from clada.model import MERGED, Change, Done, Note
from clada.operations.edit import MISMATCH
from clada.text.diff import line_changes, split_lines
from clada.text.match import Text
from clada.values import Value
from clada.world.files.paths import display_path
from clada.world.merge import (
    Merged,
    committed_versions,
    known_to_model,
    merge,
    shown_versions,
    versions_left_by_runs,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.operations.edit import Edit, EditedFile
    from clada.operations.write import Write
    from clada.world.files.paths import Parts
    from clada.world.merge import KnownVersion
    from clada.world.world import World

MOST_SHOWN = 40  # lines of a conflict in an error
MOST_UNKNOWN = 10  # edits that fit no version, after which none is looked for where merging is off
SEEN, HISTORY, AUTO, OFF = "seen", "history", "auto", "off"
GROUPS = (
    (shown_versions, (SEEN, HISTORY)),
    (versions_left_by_runs, (HISTORY,)),
    (committed_versions, (HISTORY,)),
)
CLEANLY = "clada resume --merge would apply it cleanly"
CONFLICTING = "clada resume --merge would conflict"
SEVERAL = "it fits several earlier versions of the file, which merge differently"
FORGOTTEN = "{}: the version that the model saw is no longer in the record, so nothing is merged"
QUESTION = "An edit of {} does not fit the file as it is, but fits {} ({}). Merge it?"


class Fit(Value):
    """A version that an edit fits, the version with all edits, and how that merges."""

    version: KnownVersion
    edited: bytes
    merged: Merged


class MergedWrite(Value):
    """A whole file, merged: the version that it was written for, the new content, and remarks."""

    base: bytes
    content: bytes
    remarks: tuple[str, ...]


def setting_for(operation: Edit | Write, world: World) -> str:
    """Return the setting: off, seen or history. Dialects merge with the version that the model saw."""
    setting = world.settings.merge
    if setting != AUTO:
        return setting
    return SEEN if operation.dialect else OFF


def merge_edit(edit: Edit, world: World, parts: Parts, file: EditedFile, failure: Error) -> Done:
    """Make an edit on the version that it was written for, and merge it; raise CladaError if that fails."""
    path, setting = display_path(parts), setting_for(edit, world)
    if setting == OFF and world.unknown_edits >= MOST_UNKNOWN:
        raise CladaError.of(failure)
    fits, allowed = _find_fits(edit, world, path, file)
    if not fits:
        world.unknown_edits += 1
        raise CladaError.of(failure)
    fit = fits[0]
    if len({each.merged.content for each in fits}) > 1:
        raise CladaError.of(_with_hint(failure, SEVERAL))
    may_merge = setting in allowed
    if fit.merged.conflicts and may_merge:
        raise _conflict(path, fit, failure)
    if fit.merged.conflicts:
        raise CladaError.of(_with_hint(failure, CONFLICTING))
    question = QUESTION.format(path, f"{path} {fit.version.label}", _since(fit.version, file.original))
    if not may_merge and not world.ask_user(question):
        raise CladaError.of(_with_hint(failure, CLEANLY))
    file.base, file.edited = fit.version, fit.edited
    return _hold(edit, world, parts, file, fit.merged.content)


def find_insertion(edit: Edit, world: World, parts: Parts, file: EditedFile) -> Done | None:
    """Return the outcome of an insertion that was made since the model saw the file, else None."""
    fits, allowed = _find_fits(edit, world, display_path(parts), file)
    if setting_for(edit, world) not in allowed or {fit.merged.content for fit in fits} != {file.current}:
        return None
    file.base, file.edited = fits[0].version, fits[0].edited
    return _hold(edit, world, parts, file, file.current)


def merge_again(edit: Edit, world: World, parts: Parts, file: EditedFile) -> Done:
    """Make a further edit of a file on the version that the edits before it were made on."""
    base = file.base
    assert base  # noqa: S101 (for type checkers: an edit before was merged)
    edited = edit.edit_text(Text(file.edited), edit.way(world.settings))[0].data
    merged = merge(base.content, file.original, edited, world.files.root)
    if not merged:
        raise CladaError(MISMATCH, "cannot be merged")
    if merged.conflicts:
        raise _conflict(display_path(parts), Fit(base, edited, merged))
    file.edited = edited
    return _hold(edit, world, parts, file, merged.content)


def _hold(edit: Edit, world: World, parts: Parts, file: EditedFile, content: bytes) -> Done:
    path = display_path(parts)
    remarks = _remarks(path, file.base, file.original) if file.base else ()
    changes = () if content == file.current else (Change(path, "edited"),)
    text = Text(content)
    world.files.hold(parts, text)
    file.current = content
    file.edits.append(edit)
    return Done("merged", edit.path, changes=changes, held=True, remarks=remarks)


def _find_fits(edit: Edit, world: World, path: str, file: EditedFile) -> tuple[list[Fit], tuple[str, ...]]:
    """Return the versions that the edit fits, of the first group that has any, and who may use that group."""
    are_missing = False
    for find, allowed in GROUPS:
        versions, is_incomplete = find(world.store, path)
        are_missing = are_missing or is_incomplete
        fits = [fit for version in versions if (fit := _fit(edit, world, file, version))]
        if fits:
            return fits, allowed
    if are_missing:
        world.emit(Note(FORGOTTEN.format(path)))
    return [], ()


def _fit(edit: Edit, world: World, file: EditedFile, version: KnownVersion) -> Fit | None:
    """Return the result of all edits of the file so far on this version; None if one does not fit."""
    try:
        base = _edited(Text(version.content), file.before, world)  # which the file has already
        edited = _edited(base, (*file.edits, edit), world)
    except CladaError:
        return None
    merged = merge(base.data, file.original, edited.data, world.files.root)
    return Fit(version.replace(content=base.data), edited.data, merged) if merged else None


def _edited(text: Text, edits: Iterable[Edit], world: World) -> Text:
    for edit in edits:
        text = edit.edit_text(text, edit.way(world.settings))[0]
    return text


def merge_write(write: Write, world: World, path: str, now: bytes, new: bytes) -> MergedWrite | None:
    """Merge a whole file that was written for an earlier version; return None if it is not merged.

    It is merged where the file was changed since the model saw it, other than by clada.
    """
    if setting_for(write, world) not in (SEEN, HISTORY):
        return None
    versions = known_to_model(world.store, path)
    if not versions or now in [version.content for version in versions]:
        return None
    base = versions[-1]
    merged = merge(base.content, now, new, world.files.root)
    if merged is None:
        return None
    if merged.conflicts:
        raise _conflict(path, Fit(base, new, merged))
    return MergedWrite(base.content, merged.content, _remarks(path, base, now))


def _conflict(path: str, fit: Fit, failure: Error | None = None) -> CladaError:
    """Return the error that shows a conflict."""
    lines = fit.merged.content.decode(errors="replace").split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("<<<<<<< ")), 0)
    last = next((number for number, line in enumerate(lines) if line.startswith(">>>>>>> ")), first)
    details = "\n".join(lines[first : min(last + 1, first + MOST_SHOWN)])
    since = f"conflicts with changes since, first at line {first + 1}"
    message = (
        f"{f'{failure.message}: ' if failure else ''}written for {path} {fit.version.label}, and {since}"
    )
    known = failure or Error(MISMATCH, message)
    return CladaError.of(known.replace(message=message, hint=None, details=details, nearest=None))


def _with_hint(failure: Error, hint: str) -> Error:
    return failure.replace(hint=f"{failure.hint}; {hint}" if failure.hint else hint)


def _remarks(path: str, version: KnownVersion, now: bytes) -> tuple[str, str]:
    return f"{MERGED}written for {path} {version.label}", _since(version, now)


def _since(version: KnownVersion, now: bytes) -> str:
    changes = line_changes(split_lines(version.content), split_lines(now))
    count = sum(max(each.end - each.start, each.new_end - each.new_start) for each in changes)
    return f"{count} line{'' if count == 1 else 's'} changed since"
