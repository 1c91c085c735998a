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
NO_FILE = "{} was shown, not written: there is no such file"
# What alone names a file in the answer, and may be meant otherwise: the comment on its first line, without an
# extension (only a file that is there is written), or a sentence above (a person is asked).
COMMENT, SENTENCE = NAMED_IN = ("comment", "sentence")
IN_SENTENCE = "{} is named in a sentence alone: put the path alone on the line above the fence"
QUESTION = "{} is named in a sentence alone (line {}). Write it?"
MOST_SHOWN = 20  # lines of the content that a question shows


class Write(Operation):
    """Write a file, or append to it; parent directories are made."""

    path: str
    content: str
    append: bool = False
    if_exists: str = OVERWRITE  # one of IF_EXISTS
    placeholder: bool = False  # the path looks like an example: only a file that is there is written
    other_path: str = ""  # a second name of the same file, which counts if only that is there
    named_in: str = ""  # one of NAMED_IN, where the name is not sure
    raw: bool = False  # what is appended begins right where the file ends, not on a line of its own
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
        """The path, and the other one."""
        return (self.path, self.other_path) if self.other_path else (self.path,)

    @property
    def holds(self) -> str | None:
        """The path, if it appends: additions in a row are written once."""
        return self.path if self.append and not self.other_path and not self.raw else None

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        names = ("placeholder", "other_path", "named_in", "raw")
        return {**super().values(), **{name: value for name in names if (value := getattr(self, name))}}

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
        if self.if_exists == REFUSE and (content or not self.dialect):
            raise Trouble("invalid_operation", f"{self.path} exists, the answer creates it")
        if self.if_exists == EMPTY and content:
            remedy = "give the whole file, or a line of it"
            raise Trouble("invalid_operation", f"SEARCH is empty but {self.path} has content: {remedy}")
        share = _looks_partial(content, self.content) if self.if_exists == GUARD else None
        if share is not None:
            remedy = f"--format={self.dialect}" if self.dialect else "if_exists=overwrite"
            message = f"only {share} % of {self.path}'s lines are in this block; {remedy} writes it"
            raise Trouble("invalid_operation", message)

    def _only_shown(self, world: World, parts: Parts) -> str | None:
        """Return why the file is only shown, if so; raise Trouble where a person does not want it."""
        there = world.files.entry(parts)
        if self.if_exists == SKIP and (there or self.named_in):
            return LEFT
        if self.named_in == COMMENT and not (there and there.kind == "file"):
            return NO_FILE
        if self.named_in == SENTENCE and not world.asked(self._question()):
            raise Trouble("invalid_operation", IN_SENTENCE.format(self.path))
        return None

    def _question(self) -> str:
        """Return what a person is asked, with the content."""
        lines = self.content.split("\n")
        shown = [f"  | {line}" for line in lines[:MOST_SHOWN]]
        more = len(lines) - len(shown)
        shown += [f"  | … {more:,} more lines"] if more > 0 else []
        return "\n".join([QUESTION.format(self.path, self.line), *shown, ""])

    def apply(self, world: World) -> Outcome:
        """Write or append."""
        if self.path.endswith(("/", "\\")):
            raise Trouble("permission_denied", "names a directory", "leave out the slash at the end")
        parts = world.files.locate(self.path)
        files, other = world.files, self.other_path
        if other and not files.entry(parts) and files.entry(files.locate(other)):
            return self.replace(path=other, other_path="").apply(world)
        unsure = self.named_in or self.if_exists == SKIP
        if unsure and (only_shown := self._only_shown(world, parts)):
            return Skipped(only_shown.format(self.path), left_out=True)
        if self.placeholder or self.if_exists != OVERWRITE:
            self._check(world.files, parts)
        data = self.content.removeprefix(BOM).encode()
        if world.settings.final_newline and data and not data.endswith(b"\n"):
            data += b"\n"
        remarks = _what_goes(world.files, parts, data) if self.dialect and not self.append else ()
        if self.append and self.raw and world.files.entry(parts):
            how = "appended"
            world.files.store(parts, world.files.load(parts) + data)
        elif self.append:
            how = _append(world.files, parts, data)
        else:
            old = world.files.entry(parts)
            same = old and old.kind == "file" and old.size == len(data) and world.files.load(parts) == data
            how = "unchanged" if same else "overwritten" if old else "created"
            if not same:
                world.files.store(parts, data)
        changes = () if how == "unchanged" else (Change(display_path(parts), how),)
        held = how == "appended" and not self.raw
        return Done(how, self.path, bytes=len(data), changes=changes, held=held, remarks=remarks)


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
