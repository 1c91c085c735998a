"""write: a file gets exactly this content, or has it added at its end."""

from __future__ import annotations

from clada.errors import Trouble
from clada.grammar import Field
from clada.model import Change, Done, Operation, Skipped
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
MIN_LINES = 10  # different ones, not blank, of a file that is guarded
MIN_SHARE = 50  # of them, in percent, that a content must have which replaces it
OVERWRITE, REFUSE, GUARD, EMPTY, SKIP = IF_EXISTS = ("overwrite", "refuse", "guard", "empty", "skip")
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

    def _check(self, files: Files, parts: Parts) -> None:
        """Raise Trouble where what is there, or is not, speaks against writing it."""
        if not self.placeholder and (self.append or self.if_exists == OVERWRITE):
            return
        old = files.entry(parts)
        if not old:
            if self.placeholder:
                raise Trouble("invalid_operation", f"{self.path} is an example, not a file")
            return
        if old.kind != "file" or self.append or self.if_exists == OVERWRITE:
            return  # that it is no file, writing it will tell
        content = files.load(parts)
        if content == self.content.removeprefix(BOM).encode():
            return
        if self.if_exists == REFUSE:
            raise Trouble("invalid_operation", f"{self.path} exists, the answer creates it")
        if self.if_exists == EMPTY and content:
            remedy = "give the whole file, or a line of it"
            raise Trouble("invalid_operation", f"SEARCH is empty but {self.path} has content: {remedy}")
        share = _looks_partial(content, self.content) if self.if_exists == GUARD else None
        if share is not None:
            remedy = f"--format={self.dialect}" if self.dialect else "if_exists=overwrite"
            message = f"only {share} % of {self.path}'s lines are in this block; {remedy} writes it"
            raise Trouble("invalid_operation", message)

    def _differs(self, files: Files, parts: Parts) -> bool:
        """Whether the file is there with another content."""
        old = files.entry(parts)
        return bool(old and (old.kind != "file" or files.load(parts) != self.content.encode()))

    def apply(self, world: World) -> Outcome:
        """Write or append."""
        if self.path.endswith(("/", "\\")):
            raise Trouble("permission_denied", "names a directory", "leave out the slash at the end")
        parts = world.files.locate(self.path)
        if self.if_exists == SKIP and self._differs(world.files, parts):
            return Skipped(LEFT.format(self.path))
        if self.placeholder or self.if_exists != OVERWRITE:
            self._check(world.files, parts)
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


def _looks_partial(old: bytes, new: str) -> int | None:
    """Return the percentage of the old lines that the new content has, if that makes it look like a part.

    Only what has some lines can be told from a part of it: blank ones and repetitions do not count.
    """
    lines = {line.strip() for line in old.decode(errors="replace").splitlines()} - {""}
    if len(lines) < MIN_LINES:
        return None
    share = 100 * len(lines & {line.strip() for line in new.splitlines()}) // len(lines)
    return share if share < MIN_SHARE else None


def _append(files: Files, parts: Parts, data: bytes) -> str:
    if data and files.append(parts, data):
        return "appended"
    if not data and files.entry(parts):
        files.load(parts)  # for it must be a file all the same
        return "unchanged"
    files.store(parts, data)
    return "created"
