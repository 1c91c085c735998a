"""write: a file gets this content, or has it added at its end."""

from __future__ import annotations

from clada.errors import Trouble, shortened
from clada.grammar import Field
from clada.model import UNCHANGED, WAS_READ_ONLY, Change, Done, Note, Operation, Phrases, Skipped
from clada.text.elision import elided_content, find_elision
from clada.text.fragments import missing_lines
from clada.text.line_endings import CR_BYTE, CRLF, LF, single_ending
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from clada.model import Outcome
    from clada.settings import Settings
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files
    from clada.world.world import World

BOM = "\ufeff"
# What is done where the file is already there with another content, and the new one is not appended:
# it is overwritten; or that is refused; or refused if the new content looks like a part of the old;
# or refused unless the file is empty, as for an empty SEARCH; or it is left as it is.
OVERWRITE, REFUSE, GUARD, EMPTY, SKIP = IF_EXISTS = ("overwrite", "refuse", "guard", "empty", "skip")
PART = "this looks like a part of {}: {} missing"
WHOLE_OR_EDIT = "send the whole file, or a search/replace block"
OMITTED = '{} is new, but "{}" stands for code that is not there'
MARKUP = (".md", ".mdx", ".markdown", ".rst")  # ends of names of files that have fences as markup
CRLF_KEPT = "CRLF line endings kept"
NOT_WRITTEN = "shown, not written; --format=whole writes it"


class Write(Operation):
    """Write a file, or append to it; parent directories are made."""

    path: str
    content: str
    append: bool = False
    if_exists: str = OVERWRITE  # one of IF_EXISTS
    final_newline: bool | None = None  # whether the last line gets a line break; None: as below
    as_lines: bool = False  # it does unless the setting final_newline is false, as in CSL
    placeholder: bool = False  # the path looks like an example: only a file that is there is written
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
            done=("{target} (created, {bytes})", "created {target}"),
            planned=("{target} (would create, {bytes})", "would create {target}"),
        ),
        "overwritten": Phrases(
            done=("{target} (overwritten, {bytes}{remarks})", "overwrote {target}"),
            planned=("{target} (would overwrite, {bytes}{remarks})", "would overwrite {target}"),
        ),
        "appended": Phrases(
            done=("{target} (appended, {bytes}{remarks})", "appended to {target}"),
            planned=("{target} (would append, {bytes}{remarks})", "would append to {target}"),
        ),
        "unchanged": UNCHANGED,
    }

    @property
    def target(self) -> str:
        """The path."""
        return self.path

    @property
    def paths(self) -> tuple[str, ...]:
        """The path."""
        return (self.path,)

    @property
    def holds(self) -> str | None:
        """The path, if it appends: additions in a row are written once."""
        return self.path if self.append else None

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        return {**super().values(), **({"placeholder": True} if self.placeholder else {})}

    def text(self, settings: Settings) -> str:
        """Return its content as it is written: without a fence around it, and with its last line break."""
        inner = self.unfenced() if strips_fence(self.path, settings.strip_fences) else None
        text = self.content if inner is None else inner
        said = (self.final_newline, settings.final_newline, self.as_lines)
        lacks = text.removeprefix(BOM) and not text.endswith("\n")
        return f"{text}\n" if lacks and next(each for each in said if each is not None) else text

    def unfenced(self) -> str | None:
        """Return its content without a fence around the whole of it, if there is one."""
        if self.dialect or not self.content.startswith(("```", "~~~")):
            return None
        from clada.text.wrapped import unwrapped

        return unwrapped(self.content)

    def _check(self, world: World, parts: Parts, data: bytes) -> None:
        """Raise Trouble if the file must not be written, because of what is there or is not."""
        files = world.files
        omission = find_elision(self.content, path=self.path)
        if not (omission or self.placeholder) and (self.append or self.if_exists == OVERWRITE):
            return
        old = files.entry(parts)
        if not old:
            if self.placeholder:
                raise Trouble("invalid_operation", f"{self.path} is an example, not a file")
            if omission:
                world.emit(Note(OMITTED.format(self.path, shortened(omission[1]))))
            return
        if old.kind != "file":
            return  # storing it will fail with the reason
        content = files.load(parts)
        if content == data:
            return
        if self.if_exists == REFUSE:
            raise Trouble("invalid_operation", f"{self.path} exists, the answer creates it")
        if self.if_exists == EMPTY and content:
            remedy = "give the whole file, or a line of it"
            raise Trouble("invalid_operation", f"SEARCH is empty but {self.path} has content: {remedy}")
        self._check_completeness(content.decode(errors="replace"))

    def _check_completeness(self, old: str) -> None:
        """Raise Trouble if the content leaves out code that the file has."""
        elided = find_elision(self.content, old, self.path)
        if elided:
            raise Trouble("invalid_operation", elided_content(elided[1]))
        missing = missing_lines(old, self.content) if self.if_exists == GUARD and not self.append else None
        if missing:
            raise Trouble("invalid_operation", PART.format(self.path, _listed(*missing)), WHOLE_OR_EDIT)

    def apply(self, world: World) -> Outcome:
        """Write or append."""
        if self.path.endswith(("/", "\\")):
            raise Trouble("permission_denied", "names a directory", "leave out the slash at the end")
        parts = world.files.locate(self.path)
        if self.if_exists == SKIP and world.files.entry(parts):
            return Skipped(NOT_WRITTEN, left_out=True)
        data = self.text(world.settings).removeprefix(BOM).encode()
        old = None if self.append else _old_content(world.files, parts)
        keeps_crlf = old is not None and CR_BYTE not in data and LF in data and single_ending(old) == CRLF
        if keeps_crlf:
            data = data.replace(LF, CRLF)
        self._check(world, parts, data)
        remarks = _what_goes(old, data) if self.dialect and old is not None else ()
        remarks += (WAS_READ_ONLY,) if world.files.is_read_only(parts) else ()
        if self.append:
            how = _append(world.files, parts, data)
        elif old == data:
            how = "unchanged"
        else:
            how = "overwritten" if world.files.entry(parts) else "created"
            world.files.store(parts, data)
            remarks += (CRLF_KEPT,) if keeps_crlf else ()
        changes = () if how == "unchanged" else (Change(display_path(parts), how),)
        return Done(how, self.path, bytes=len(data), changes=changes, held=how == "appended", remarks=remarks)


def strips_fence(path: str, setting: bool | None) -> bool:
    """Whether a fence around a file's whole content is removed: by default unless fences are its markup."""
    return not path.lower().endswith(MARKUP) if setting is None else setting


def _old_content(files: Files, parts: Parts) -> bytes | None:
    """Return the content of the file that is to be overwritten; None where there is none that can be read."""
    old = files.entry(parts)
    if not old or old.kind != "file":
        return None
    try:
        return files.load(parts)
    except Trouble:
        return None  # whether it can be replaced all the same, writing it shows


def _what_goes(old: bytes, data: bytes) -> tuple[str, ...]:
    """Return how much of the old content is lost: the author of the answer may not have seen it."""
    from collections import Counter

    lines = old.splitlines()
    gone = (Counter(lines) - Counter(data.splitlines())).total()
    if not gone:
        return ()
    return (f"{gone:,} of {len(lines):,} lines go" if len(lines) > 1 else "its one line goes",)


def _listed(first: int, last: int) -> str:
    return f"line {first} is" if first == last else f"lines {first}-{last} are"


def _append(files: Files, parts: Parts, data: bytes) -> str:
    if data and files.append(parts, data):
        return "appended"
    if not data and files.entry(parts):
        files.load(parts)  # for it must be a file all the same
        return "unchanged"
    files.store(parts, data)
    return "created"
