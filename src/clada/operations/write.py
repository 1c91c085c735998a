"""write: a file gets exactly this content, or has it added at its end."""

from __future__ import annotations

from clada.errors import Trouble, shortened
from clada.grammar import Field
from clada.model import Change, Done, Note, Operation, Skipped
from clada.text.elision import elided_content, find_elision
from clada.text.fragments import missing_lines
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from clada.model import Outcome
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
LEFT = "{} was shown, not written; --format=whole writes it"


class Write(Operation):
    """Write a file, or append to it; parent directories are made."""

    path: str
    content: str
    append: bool = False
    if_exists: str = OVERWRITE  # one of IF_EXISTS
    placeholder: bool = False  # the path looks like an example: only a file that is there is written
    dialect: str = ""

    name: ClassVar = "write"
    fields: ClassVar = (
        Field("path", "path"),
        Field("content", "text"),
        Field("append", "flag", required=False, default=False),
        Field("if_exists", "choice", required=False, choices=IF_EXISTS),
    )
    only_its_paths: ClassVar = True
    in_part: ClassVar = "overwritten"
    phrases: ClassVar = {
        "created": ("{target} (created, {bytes})", "created {target}"),
        "overwritten": ("{target} (overwritten, {bytes}{remarks})", "overwrote {target}"),
        "appended": ("{target} (appended, {bytes})", "appended to {target}"),
        "unchanged": ("{target} (unchanged)", "{target} unchanged"),
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

    def _check(self, world: World, parts: Parts) -> None:
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
        if content == self.content.removeprefix(BOM).encode():
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
            return Skipped(LEFT.format(self.path), left_out=True)
        self._check(world, parts)
        data = self.content.removeprefix(BOM).encode()
        if world.settings.final_newline and data and not data.endswith(b"\n"):
            data += b"\n"
        remarks = _what_goes(world.files, parts, data) if self.dialect and not self.append else ()
        if self.append:
            how = _append(world.files, parts, data)
        else:
            old = world.files.entry(parts)
            same = old and old.kind == "file" and old.size == len(data) and world.files.load(parts) == data
            how = "unchanged" if same else "overwritten" if old else "created"
            if not same:
                world.files.store(parts, data)
        changes = () if how == "unchanged" else (Change(display_path(parts), how),)
        return Done(how, self.path, bytes=len(data), changes=changes, held=how == "appended", remarks=remarks)


def _what_goes(files: Files, parts: Parts, data: bytes) -> tuple[str, ...]:
    """Return how much of the file goes, if it is there: whoever wrote the answer may not have seen it."""
    from collections import Counter

    old = files.entry(parts)
    if not old or old.kind != "file":
        return ()
    lines = files.load(parts).splitlines()
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
