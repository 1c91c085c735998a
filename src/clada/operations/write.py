"""write: create, overwrite or append to a file."""

from __future__ import annotations

from collections import Counter

from clada.errors import CladaError, shortened
from clada.grammar import Field
from clada.model import UNCHANGED, WAS_READ_ONLY, Change, Done, Note, Operation, Phrases, Skipped
from clada.text.elision import elision_complaint, find_elision
from clada.text.forms import without_fence
from clada.text.fragments import missing_lines
from clada.text.line_endings import CR, CRLF, LF, single_ending
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from clada.model import Outcome
    from clada.operations.merge import MergedWrite
    from clada.settings import Settings
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files
    from clada.world.world import World

BOM = "\ufeff"
# What to do with an existing file that has another content, unless the new content is appended: overwrite it;
# refuse; refuse if the new content looks like a part of the old (guard); refuse unless the file is empty, as
# for an empty SEARCH; leave it unchanged (skip).
OVERWRITE, REFUSE, GUARD, EMPTY, SKIP = IF_EXISTS = ("overwrite", "refuse", "guard", "empty", "skip")
PART = "this looks like a part of {}: {} missing"
WHOLE_OR_EDIT = "send the whole file, or a search/replace block"
OMITTED = '{} is new, but "{}" stands for code that is not there'
MARKUP = (".md", ".mdx", ".markdown", ".rst")  # files in which fences are markup
CRLF_KEPT = "CRLF line endings kept"
NOT_WRITTEN = "shown, not written; --format=whole writes it"
NO_FILE = "shown, not written: there is no such file"
# Uncertain sources of a file name: a comment on the first line, without an extension (only an existing file
# is written), or a sentence above the block (a person is asked).
COMMENT, SENTENCE = NAMED_IN = ("comment", "sentence")
IN_SENTENCE = "{} is named only in a sentence: put the path alone on the line above the fence"
QUESTION = "{} is named only in a sentence (line {}). Write it?"
MOST_SHOWN = 20  # lines of the content in a question


class Write(Operation):
    """Write a file, or append to it; parent directories are created."""

    path: str
    content: str
    append: bool = False
    if_exists: str = OVERWRITE  # one of IF_EXISTS
    final_newline: bool | None = None  # whether the last line gets a line break; None: see as_lines
    as_lines: bool = False  # it does, unless the setting final_newline is false (CSL)
    placeholder: bool = False  # the path looks like an example: only an existing file is written
    other_path: str = ""  # another path of the same file, used if only that exists
    named_in: str = ""  # one of NAMED_IN, if the name is uncertain
    raw: bool = False  # append directly at the end of the file, not on a new line
    dialect: str = ""

    name: ClassVar = "write"
    fields: ClassVar = (
        Field("path", "path"),
        Field("content", "text"),
        Field("append", "flag", required=False, default=False),
        Field("if_exists", "choice", required=False, choices=IF_EXISTS),
        Field("final_newline", "flag", required=False),
    )
    only_its_paths: ClassVar = True
    in_part: ClassVar = "overwritten"
    phrases: ClassVar = {
        "created": Phrases(
            done=("{target} (created, {bytes}{remarks})", "created {target}{remarks}"),
            planned=("{target} (would create, {bytes}{remarks})", "would create {target}{remarks}"),
        ),
        "overwritten": Phrases(
            done=("{target} (overwritten, {bytes}{remarks})", "overwrote {target}{remarks}"),
            planned=("{target} (would overwrite, {bytes}{remarks})", "would overwrite {target}{remarks}"),
        ),
        "appended": Phrases(
            done=("{target} (appended, {bytes}{remarks})", "appended to {target}{remarks}"),
            planned=("{target} (would append, {bytes}{remarks})", "would append to {target}{remarks}"),
        ),
        "merged": Phrases(
            done=("{target} ({listed})", "overwrote {target} ({listed})"),
            planned=("{target} (would be {listed})", "would overwrite {target} ({listed})"),
        ),
        "unchanged": UNCHANGED,
    }

    @property
    def paths(self) -> tuple[str, ...]:
        """The path, and the other one."""
        return (self.path, self.other_path) if self.other_path else (self.path,)

    @property
    def holds(self) -> str | None:
        """The path, if it appends: several additions in a row are written once."""
        return self.path if self.append and not self.other_path and not self.raw else None

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        names = ("placeholder", "other_path", "named_in", "raw")
        return {**super().values(), **{name: value for name in names if (value := getattr(self, name))}}

    def text(self, settings: Settings) -> str:
        """Return the content to write: without a fence around it, and with its last line break."""
        inner = self.unfenced() if strips_fence(self.path, settings.strip_fences) else None
        text = self.content if inner is None else inner
        said = (self.final_newline, settings.final_newline, self.as_lines)
        lacks = text.removeprefix(BOM) and not text.endswith("\n")
        return f"{text}\n" if lacks and next(each for each in said if each is not None) else text

    def unfenced(self) -> str | None:
        """Return the content without a fence around all of it; None if there is no such fence."""
        if self.dialect or not self.content.startswith(("```", "~~~")):
            return None
        return without_fence(self.content)

    def _check(self, world: World, parts: Parts, data: bytes) -> None:
        """Raise CladaError if the file must not be written, because of its content or its absence."""
        files = world.files
        omission = find_elision(self.content, path=self.path)
        if not (omission or self.placeholder) and (self.append or self.if_exists == OVERWRITE):
            return
        old = files.entry(parts)
        if not old:
            if self.placeholder:
                raise CladaError("invalid_operation", f"{self.path} is an example, not a file")
            if omission:
                world.emit(Note(OMITTED.format(self.path, shortened(omission))))
            return
        if old.kind != "file":
            return  # storing it will fail with the reason
        content = files.load(parts)
        if content == data:
            return
        if self.if_exists == REFUSE and (content or not self.dialect):
            raise CladaError("invalid_operation", f"{self.path} exists, the answer creates it")
        if self.if_exists == EMPTY and content:
            remedy = "give the whole file, or a line of it"
            raise CladaError("invalid_operation", f"SEARCH is empty but {self.path} has content: {remedy}")
        self._check_completeness(content.decode(errors="replace"))

    def _check_completeness(self, old: str) -> None:
        """Raise CladaError if the content leaves out code that the file has."""
        elided = elision_complaint(self.content, old, self.path)
        if elided:
            raise CladaError("invalid_operation", elided)
        missing = missing_lines(old, self.content) if self.if_exists == GUARD and not self.append else None
        if missing:
            raise CladaError(
                "invalid_operation", PART.format(self.path, _line_range(*missing)), WHOLE_OR_EDIT
            )

    def _why_only_shown(self, world: World, parts: Parts) -> str | None:
        """Return why the file is not written, if so; raise CladaError if a person says no."""
        if self.if_exists == SKIP:
            return NOT_WRITTEN
        there = world.files.entry(parts)
        if self.named_in == COMMENT and not (there and there.kind == "file"):
            return NO_FILE
        if self.named_in == SENTENCE and not world.ask_user(self._question()):
            raise CladaError("invalid_operation", IN_SENTENCE.format(self.path))
        return None

    def _question(self) -> str:
        """Return the question to a person, with the content."""
        lines = self.content.split("\n")
        shown = [f"  | {line}" for line in lines[:MOST_SHOWN]]
        more = len(lines) - len(shown)
        shown += [f"  | … {more:,} more lines"] if more > 0 else []
        return "\n".join([QUESTION.format(self.path, self.line), *shown, ""])

    def _merge(self, world: World, parts: Parts, old: bytes | None, data: bytes) -> MergedWrite | None:
        """Merge the content with changes of the file that the model has not seen, if that is wanted."""
        is_off = world.settings.merge == "off" or (world.settings.merge == "auto" and not self.dialect)
        if is_off or not world.merging or old is None or old == data or parts in world.files.touched:
            return None
        return world.merging().merge_write(self, world, display_path(parts), old, data)

    def apply(self, world: World) -> Outcome:
        """Write or append."""
        if self.path.endswith(("/", "\\")):
            raise CladaError("permission_denied", "names a directory", "leave out the slash at the end")
        files, other = world.files, self.other_path
        parts = files.locate(self.path)
        if other and not files.entry(parts) and files.entry(files.locate(other)):
            return self.replace(path=other, other_path="").apply(world)
        if self.named_in and (only_shown := self._why_only_shown(world, parts)):
            return Skipped(only_shown, left_out=True)
        data = self.text(world.settings).removeprefix(BOM).encode()
        return self._append(world, parts, data) if self.append else self._write(world, parts, data)

    def _write(self, world: World, parts: Parts, data: bytes) -> Outcome:
        """Replace the whole content, or merge it with changes that the model has not seen."""
        files = world.files
        entry = files.entry(parts)
        old = _content(files, parts) if entry and entry.kind == "file" else None
        keeps_crlf = old is not None and CR not in data and LF in data and single_ending(old) == CRLF
        if keeps_crlf:
            data = data.replace(LF, CRLF)
        if self.if_exists == SKIP and entry and old != data:
            return Skipped(NOT_WRITTEN)
        merged = self._merge(world, parts, old, data)
        if merged:
            self._check_completeness(merged.base.decode(errors="replace"))
            data = merged.content
        else:
            self._check(world, parts, data)
        remarks = merged.remarks if merged and old != data else ()
        remarks += _lost_lines_remark(old, data) if self.dialect and old is not None else ()
        remarks += (WAS_READ_ONLY,) if files.is_read_only(parts) else ()
        if old == data:
            return Done("unchanged", self.path, bytes=len(data), remarks=remarks)
        files.store(parts, data)
        remarks += (CRLF_KEPT,) if keeps_crlf else ()
        how = "merged" if merged else "overwritten" if entry else "created"
        changes = (Change(display_path(parts), how),)
        return Done(how, self.path, bytes=len(data), changes=changes, remarks=remarks)

    def _append(self, world: World, parts: Parts, data: bytes) -> Outcome:
        """Add to the end of the file: on a new line, or directly (raw)."""
        files = world.files
        if self.if_exists == SKIP and files.entry(parts):
            return Skipped(NOT_WRITTEN)
        self._check(world, parts, data)
        remarks = (WAS_READ_ONLY,) if files.is_read_only(parts) else ()
        how = "appended"
        if self.raw and files.entry(parts):
            files.store(parts, files.load(parts) + data)
        elif not data and files.entry(parts):
            files.load(parts)  # raises if it is not a file
            how = "unchanged"
        elif not data or not files.append(parts, data):  # there is no file yet
            files.store(parts, data)
            how = "created"
        changes = () if how == "unchanged" else (Change(display_path(parts), how),)
        held = how == "appended" and not self.raw
        return Done(how, self.path, bytes=len(data), changes=changes, held=held, remarks=remarks)


def strips_fence(path: str, setting: bool | None) -> bool:
    """Whether a fence around a whole content is removed: by default, unless fences are markup in the file."""
    return not path.lower().endswith(MARKUP) if setting is None else setting


def _content(files: Files, parts: Parts) -> bytes | None:
    """Return the content of a file; None if it cannot be read, because it may still be replaced."""
    try:
        return files.load(parts)
    except CladaError:
        return None


def _lost_lines_remark(old: bytes, data: bytes) -> tuple[str, ...]:
    """Return a remark on the lines that are lost, because the model may not have seen them."""
    lines = old.splitlines()
    gone = (Counter(lines) - Counter(data.splitlines())).total()
    if not gone:
        return ()
    return (f"{gone:,} of {len(lines):,} lines go" if len(lines) > 1 else "its one line goes",)


def _line_range(first: int, last: int) -> str:
    return f"line {first} is" if first == last else f"lines {first}-{last} are"
