"""Converts a plan into a document of another notation, which gives the same tree, or says what it cannot say.

Between our own notations each operation is written as it is. What one has no words for, and all that goes
into a dialect, is tried on the workspace first, in memory, and written as whole lines that change. Everything
that was written is read again, and compared.
"""

from __future__ import annotations

from contextlib import suppress

from clada.commands import policy, words
from clada.errors import CladaError, shortened
from clada.model import Block, Done, Invalid, Operation
from clada.notations import parse
from clada.notations.registry import NOTATIONS, load_writer
from clada.notations.write import CannotSayError, FileChange, WrittenBlock, quote_word, replacements
from clada.operations.edit import Edit, Hunk
from clada.operations.remove import Remove
from clada.operations.run import Run
from clada.operations.write import OVERWRITE, REFUSE, Write
from clada.settings import Settings
from clada.values import Value
from clada.world.files.directories import Limits
from clada.world.files.overlay import Overlay
from clada.world.files.tree import content_of
from clada.world.files.workspace import Workspace
from clada.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.model import Outcome, Plan
    from clada.public_types import NotationName

EMPTY_DIRECTORIES, LINKS = "04", "12"  # the first digits of git's modes


class Converted(Value):
    """A document, and what it cannot say."""

    text: str
    notes: tuple[str, ...] = ()


def convert(plan: Plan, to: NotationName, settings: Settings) -> Converted:
    """Return a plan as a document of this notation. The workspace is read, and not changed."""
    refused = tuple(
        f"Line {problem.line}: {problem.message}: left out"
        for block in plan.blocks
        for item in block.operations
        for problem in item.problems
    )
    converter = _IntoDialect if NOTATIONS[to].rank else _IntoNotation
    with Workspace(
        settings.workspace,
        allow_escape=settings.allow_escape,
        limits=Limits(settings.max_files, settings.max_bytes),
    ) as workspace:
        made = converter(plan, to, settings, workspace).convert()
    return made.replace(notes=(*refused, *made.notes))


class _Trial:
    """A plan that is carried out in memory, as far as that can be done: without programs."""

    def __init__(self, settings: Settings, workspace: Workspace) -> None:
        self.files = Overlay(workspace)
        self.world = World(self.files, settings.replace(dry_run=True), lambda _event: None)

    def text(self, path: str) -> str | None:
        """Return the text of a file so far, with plain line breaks; None if there is none, or no text."""
        data = content_of(self.files, path)
        return None if data is None else _as_text(data)

    def apply(self, item: Operation) -> Outcome | str:
        """Carry out an operation; return what came of it, or why that failed."""
        try:
            return item.apply(self.world)
        except CladaError as error:
            return error.error.sentence


class _Converter:
    """The common part of both converters."""

    def __init__(self, plan: Plan, to: NotationName, settings: Settings, workspace: Workspace) -> None:
        self.plan, self.to, self.settings, self.workspace = plan, to, settings, workspace
        self.writer: Any = load_writer(to)
        self.trial = _Trial(settings, workspace)
        self.notes: list[str] = []

    def cannot_say(self, item: Operation, why: str = "") -> None:
        """Note an operation that is left out."""
        what = f"{item.name} {shortened(item.target)}"
        reason = f": {why}" if why else f" cannot be said in {self.to}"
        self.notes.append(f"Line {item.line}: {what}{reason}: left out")

    def steps(self) -> Iterator[tuple[Block, Operation]]:
        """Yield the operations that would be carried out: what comes after a failure is not."""
        for block in self.plan.blocks:
            if block.valid:
                yield from ((block, item) for item in block.operations if isinstance(item, Operation))


class _IntoNotation(_Converter):
    """Writes operation by operation in one of our own notations."""

    def convert(self) -> Converted:
        """Return the document."""
        blocks: list[tuple[Block, list[str]]] = []
        for block, item in self.steps():
            if not blocks or blocks[-1][0] is not block:
                blocks.append((block, []))
            blocks[-1][1].extend(self._operation(item))
        written = [
            WrittenBlock(block.implicit and len(texts) == 1, block.version, tuple(texts), block.atomic)
            for block, texts in blocks
            if texts
        ]
        return Converted(self.writer.document(written) if written else "", tuple(self.notes))

    def _operation(self, item: Operation) -> list[str]:
        """Return an operation as it is written: as one, or as several edits, or not at all."""
        if isinstance(item, Run) and item.suggested:
            self.cannot_say(item, "was only shown")
            return []
        plain = _without_dialect_fields(item, self.settings)
        before = self.trial.text(item.path) if isinstance(item, Edit) else None
        outcome = self.trial.apply(item) if not isinstance(item, Run) or _is_built_in(item) else None
        if isinstance(item, Write) and isinstance(outcome, Done):
            plain = self._without_conditions(item, outcome)
        if _depends_on_the_tree(item) and not isinstance(outcome, Done):
            self.cannot_say(item, outcome if isinstance(outcome, str) else "")
            return []
        text = self._write_operation(plain)
        if text is not None:
            return [text]
        if isinstance(item, Edit) and isinstance(outcome, Done) and before is not None:
            texts = [
                self._write_operation(edit) for edit in _edits(item, before, self.trial.text(item.path) or "")
            ]
            if None not in texts:
                return [text for text in texts if text is not None]
        self.cannot_say(item)
        return []

    def _without_conditions(self, item: Write, outcome: Done) -> Operation:
        """Return a write without what was decided when it was tried: its name, and whether it may be made."""
        plain = _without_dialect_fields(item, self.settings).replace(path=outcome.target)
        if item.raw:
            content = self.trial.text(outcome.target) or ""
            return plain.replace(content=content, append=False, raw=False)
        was_empty = item.if_exists == REFUSE and outcome.how == "overwritten"
        return plain.replace(if_exists=OVERWRITE) if was_empty else plain

    def _write_operation(self, item: Operation) -> str | None:
        """Return an operation as the notation has it; None if reading that would give another."""
        try:
            text: str = self.writer.operation(item)
        except CannotSayError:
            return None
        block = WrittenBlock(True, None, (text,))
        plan = parse(self.writer.document([block]), self.to)
        items = [each for read in plan.blocks for each in read.operations]
        same = not plan.fatal and len(items) == 1 and not items[0].problems
        return text if same and _is_same(items[0], item) else None


class _IntoDialect(_Converter):
    """Writes what changes in the tree, and the commands, in a dialect."""

    def convert(self) -> Converted:
        """Return the document."""
        commands = self._carry_out()
        changes = self._changes(commands)
        while True:
            text = self._document(changes, commands)
            wrong = self._wrong_paths(text, changes)
            if not wrong:
                return Converted(text, tuple(self.notes))
            for change in changes:
                if change.path in wrong:
                    self.notes.append(f"{change.path} cannot be said in {self.to}: left out")
            changes = [change for change in changes if change.path not in wrong]

    def _carry_out(self) -> list[str]:
        """Carry out all but programs; return the commands that are left, which come after all changes."""
        runs: list[Run] = []
        failed: Block | None = None
        for block, item in self.steps():
            if block is failed:
                self.cannot_say(item, "an earlier one fails")
            elif not item.changes_files:
                self.cannot_say(item)
            elif isinstance(item, Run) and not _is_built_in(item):
                if item.suggested or not self.writer.takes_commands:
                    self.cannot_say(item, "was only shown" if item.suggested else "")
                else:
                    runs.append(item)
            else:
                outcome = self.trial.apply(item)
                if isinstance(outcome, str):
                    self.cannot_say(item, outcome)
                    failed = block
                while runs:
                    self.cannot_say(runs.pop(0), "it comes before other changes")
        return [f"cd {quote_word(run.dir)}\n{run.command}" if run.dir else run.command for run in runs]

    def _changes(self, commands: list[str]) -> list[FileChange]:
        """Return the files that have changed; what else has is told by commands, if it can be."""
        modes = {path: (old, new) for path, old, new in self.trial.files.modes()}
        found: list[FileChange] = []
        for path, old, new in self.trial.files.changes():
            before, after = (None if data is None else _as_text(data) for data in (old, new))
            if (before is None) != (old is None) or (after is None) != (new is None):
                self.notes.append(f"{path} is not UTF-8 and cannot be said in {self.to}: left out")
                continue
            is_program = old is None and (modes.get(path) or ("", ""))[1] in ("100755", "100775")
            found.append(FileChange(path, before, after, executable=is_program))
        self._other_changes(modes, {change.path for change in found if change.executable}, commands)
        return found

    def _other_changes(
        self, modes: dict[str, tuple[str | None, str | None]], programs: set[str], commands: list[str]
    ) -> None:
        extra: list[str] = []
        for path, (old, new) in modes.items():
            is_directory = EMPTY_DIRECTORIES in ((old or "")[:2], (new or "")[:2])
            if is_directory:
                used = any(name.startswith(f"{path}/") for name in modes) or not path
                if new and not used:
                    extra.append(f"mkdir -p {quote_word(path)}")
            elif new and new[:2] == "10" and new[-4:] != (old or "0644")[-4:] and (old or path in programs):
                if self.writer.takes_commands:
                    extra.append(f"chmod {new[-3:]} {quote_word(path)}")
                elif old:
                    self.notes.append(f"the mode of {path} cannot be said in {self.to}: left out")
            elif LINKS in ((old or "")[:2], (new or "")[:2]):
                self.notes.append(f"{path} is a link and cannot be said in {self.to}: left out")
        if extra and self.writer.takes_commands:
            commands.insert(0, "\n".join(extra))
        elif extra:
            self.notes += [f"`{text}` cannot be said in {self.to}: left out" for text in extra]

    def _document(self, changes: Sequence[FileChange], commands: Sequence[str]) -> str:
        if not changes and not commands:
            return ""
        said = []
        for change in changes:
            with suppress(CannotSayError):  # which reading the document shows
                self.writer.document([change], [])
                said.append(change)
        text: str = self.writer.document(said, commands)
        return text

    def _wrong_paths(self, text: str, changes: Sequence[FileChange]) -> set[str]:
        """Return the files which the document does not bring about."""
        trial = _Trial(self.settings.replace(match="auto"), self.workspace)
        plan = parse(text, self.to, run_fences=True)
        for block in plan.blocks if not plan.fatal else ():
            if block.valid:
                for item in block.operations:
                    if isinstance(item, Operation) and (not isinstance(item, Run) or _is_built_in(item)):
                        trial.apply(item)
        got = {path: new for path, _old, new in trial.files.changes()}
        wanted = {path: new for path, _old, new in self.trial.files.changes()}
        return {
            change.path
            for change in changes
            if change.path not in got or got[change.path] != wanted[change.path]
        }


def _as_text(data: bytes) -> str | None:
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


def _is_built_in(item: Run) -> bool:
    """Whether clada carries out all commands of a run itself, so that they can be tried in memory."""
    commands = words.read(item.command)
    return isinstance(commands, tuple) and all(
        isinstance(policy.judge(command.words), policy.BuiltIn) for command in commands
    )


def _without_dialect_fields(item: Operation, settings: Settings) -> Operation:
    """Return an operation without what only dialects have, and the content of a write exactly."""
    match item:
        case Write():
            exact = item.final_newline if item.final_newline is False else None
            strip = settings.strip_fences or False  # by default, the run of the new document removes them
            return item.replace(
                content=item.text(settings.replace(strip_fences=strip)),
                placeholder=False,
                other_path="",
                named_in="",
                final_newline=exact,
                as_lines=False,
                dialect="",
            )
        case Edit():
            hunks = tuple(hunk.replace(line=None) for hunk in item.hunks)
            return item.replace(placeholder=False, dialect="", hunks=hunks)
        case Remove():
            return item.replace(content=None, file_only=False, dialect="")
        case _:
            return item


def _depends_on_the_tree(item: Operation) -> bool:
    """Whether something of it is left out that could speak against it."""
    unsure = isinstance(item, Write) and (item.other_path or item.named_in)
    return (
        bool(unsure)
        or getattr(item, "placeholder", False)
        or (isinstance(item, Remove) and (item.file_only or item.content is not None))
    )


def _is_same(read: Operation | Invalid, meant: Operation) -> bool:
    """Whether what was read is what was meant; blanks around a command are nothing."""
    if isinstance(read, Run) and isinstance(meant, Run):
        return (read.command.strip(), read.dir) == (meant.command.strip(), meant.dir)
    if isinstance(read, Run):
        return meant.name in ("move", "remove")
    if isinstance(read, Write) and isinstance(meant, Write):
        read, meant = (
            _without_dialect_fields(read, Settings(final_newline=None)),
            meant.replace(final_newline=None),
        )
        read = read.replace(final_newline=None)
    return read.name == meant.name and read.values() == meant.values()


def _edits(item: Edit, before: str, after: str) -> list[Operation]:
    """Return edits of whole lines that make one text of another."""
    line, span = item.line, item.span
    if not before or not after:
        return [Write(line, span, {}, item.path, after)]
    return [Edit(line, span, {}, item.path, (Hunk(*pair),)) for pair in replacements(before, after)]
