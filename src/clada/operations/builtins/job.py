"""The common part of built-in commands: operands, messages in the words of coreutils, changes."""

from __future__ import annotations

from clada.errors import CladaError
from clada.model import Change
from clada.operations.run.operands import with_operand
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.paths import OUTSIDE, display_path
from clada.world.files.stat import refuse_shared
from clada.world.files.tree import refuse_workspace, relation_of, walk_unprotected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from clada.commands.judgements import BuiltIn
    from clada.world.files.paths import Parts
    from clada.world.files.stat import Entry
    from clada.world.files.tree import Files

    Item = TypeVar("Item")
    Checked = TypeVar("Checked")
    Result = TypeVar("Result")

NO_SUCH = "No such file or directory"
NOT_A_DIRECTORY = "Not a directory"


class CommandError(Exception):
    """An error of one operand: the command prints it, goes on with the others, and fails."""


class MissingError(CommandError):
    """The operand does not exist."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.why = why


class Operand(Value):
    """A path as the command writes it, and its parts."""

    text: str
    parts: Parts

    def __str__(self) -> str:
        return quoted(self.text)

    @property
    def slash(self) -> bool:
        """Whether it ends in a slash."""
        return self.text.endswith(("/", "\\"))

    @property
    def name(self) -> str:
        """Its last component as it is written, perhaps `.` or `..`."""
        return self.text.replace("\\", "/").rstrip("/").rpartition("/")[2]

    def below(self, *names: str) -> Operand:
        """Return the operand with these names added to its path."""
        if not names:
            return self
        between = "" if self.slash else "/"
        return Operand(self.text + between + "/".join(names), (*self.parts, *names))


def quoted(text: str) -> str:
    """Return a name in quotes, as coreutils prints it."""
    if "'" not in text:
        return f"'{text}'"
    if not set(text) & set('"$`\\'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"


def refuse_link(operand: Operand, entry: Entry | None) -> None:
    """Refuse to read, write or go through a link."""
    if entry and entry.kind == "link":
        raise with_operand(CladaError("symlink_not_allowed", "is a symbolic link"), operand.text)


def refuse_special(operand: Operand, entry: Entry | None) -> None:
    """Refuse everything but files and directories."""
    refuse_link(operand, entry)
    if entry and entry.kind == "other":
        raise with_operand(CladaError("permission_denied", "is not a regular file"), operand.text)


class BuiltInJob:
    """Runs one built-in command.

    A violated rule of clada raises CladaError, which ends the command at once. Any other error is a
    CommandError: it is printed, and the command goes on and fails.
    """

    def __init__(self, command: BuiltIn, files: Files, here: Parts, emit: Callable[[str], None]) -> None:
        self.name, self.options, self.operands = command.name, command.options, command.operands
        self.files, self.here = files, here
        self.changes: list[Change] = []
        self.exit_code = 0
        self._emit = emit

    # Options and operands.

    def has(self, *options: str) -> bool:
        """Whether one of these options is given."""
        return any(self.options.get(option) is not None for option in options)

    def value(self, option: str) -> str | None:
        """Return the value of an option, if it is given with one."""
        value = self.options.get(option)
        return value if isinstance(value, str) else None

    def locate_all(self, texts: Iterable[str] | None = None) -> list[Operand]:
        """Return the operands, or these texts, with their parts."""
        return [self.locate(text) for text in (self.operands if texts is None else texts)]

    def locate(self, text: str) -> Operand:
        """Return a text with its parts; raise CladaError if clada may not act there."""
        try:
            return Operand(text, self.files.locate(text, self.here))
        except CladaError as raised:
            raise with_operand(raised, text) from None

    # Output and changes.

    def say(self, text: str) -> None:
        """Print a line, escaped so that it cannot forge another."""
        self._emit(escape_controls(text))

    def complain(self, error: CommandError) -> None:
        """Print an error; the command will exit with 1."""
        self.say(f"{self.name}: {error}")
        self.exit_code = 1

    def note_change(self, operand: Operand, how: str) -> None:
        """Note a change for the report."""
        self.changes.append(Change(display_path(operand.parts), how))

    # Actions.

    def each(
        self,
        items: list[Item],
        check: Callable[[Item], Checked],
        act: Callable[[Item, Checked], None],
    ) -> None:
        """Check and act on each item; of several, all are checked before the first is acted on."""
        if len(items) > 1:
            for item in items:
                try:
                    check(item)
                except CommandError:
                    continue  # it is printed when it is the item's turn
        for item in items:
            try:
                act(item, check(item))
            except CommandError as error:
                self.complain(error)

    @staticmethod
    def attempt(what: str, operand: Operand, action: Callable[..., Result], *args: object) -> Result:
        """Call the action; if the system refuses, raise a CommandError that starts with `what`."""
        try:
            return action(*args)
        except CladaError as raised:
            if raised.system is None:
                raise with_operand(raised, operand.text) from None
            raise CommandError(f"{what}: {raised.system}") from None

    # Entries.

    def entry(self, operand: Operand, what: str) -> Entry | None:
        """Return the entry of an operand, or None."""
        if not operand.text:
            return None
        return self.attempt(what, operand, self.files.entry, operand.parts)

    def existing(self, operand: Operand, what: str) -> Entry:
        """Return the entry of an operand, which must exist, and be a directory if it ends in a slash."""
        entry = self.entry(operand, what)
        if entry is None:
            raise MissingError(what, self.why_missing(operand, what))
        # A slash after a link is ignored: the link itself is meant, never its target.
        if operand.slash and entry.kind not in ("directory", "link"):
            raise MissingError(what, NOT_A_DIRECTORY)
        return entry

    def why_missing(self, operand: Operand, what: str) -> str:
        """Return why an operand does not exist: no such entry, or a parent is not a directory."""
        above = self.attempt(what, operand, self.files.entry, operand.parts[:-1])
        if above and above.kind == "directory":
            return NO_SUCH  # checking all parents would cost as much as it is deep
        for size in range(1, len(operand.parts)):  # downwards, because kept handles make the next one cheap
            above = self.attempt(what, operand, self.files.entry, operand.parts[:size])
            if above is None:
                return NO_SUCH
            if above.kind == "link" and operand.parts[0] == OUTSIDE:
                continue  # outside the workspace, links on the way are followed
            refuse_link(operand, above)  # the overlay does not refuse a link that it has moved
            if above.kind != "directory":
                return NOT_A_DIRECTORY
        return NO_SUCH

    def require_parent(self, operand: Operand, what: str) -> None:
        """Raise CommandError if the directory of a new entry is missing; storing a file would create it."""
        above = self.attempt(what, operand, self.files.entry, operand.parts[:-1]) if operand.text else None
        if not above or above.kind != "directory":
            raise CommandError(f"{what}: {self.why_missing(operand, what)}")

    def tree(self, operand: Operand, what: str) -> list[tuple[Parts, Entry]]:
        """Return all entries below a directory, by their path below it, each directory after its content.

        Raise CladaError if one is protected, because it may be neither removed nor copied.
        """
        found = self.attempt(what, operand, walk_unprotected, self.files, operand.parts)
        return [(parts[len(operand.parts) :], entry) for parts, entry in found]

    def relation(self, source: Operand, entry: Entry, target: Operand, there: Entry | None) -> str | None:
        """Return the relation of source and target if they are one file (see relation_of), else None."""
        what = f"cannot stat {target}"
        places = (source.parts, entry), (target.parts, there)
        return self.attempt(what, target, relation_of, self.files, *places)

    def refuse_shared(self, operand: Operand, entry: Entry) -> None:
        """Refuse to change the mode or times of a file with several hard links: some may be outside."""
        self.attempt(f"cannot change {operand}", operand, refuse_shared, entry)

    def refuse_moving_workspace(self, operand: Operand) -> None:
        """Refuse to move or remove the workspace, or a directory that contains it."""
        self.attempt(f"cannot take {operand}", operand, refuse_workspace, self.files, operand.parts)
