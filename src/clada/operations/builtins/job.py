"""A built-in command at work: its operands, what it says, and what it has changed."""

from __future__ import annotations

from clada.errors import Trouble
from clada.model import Change
from clada.operations.builtins.faults import NO_SUCH, NOT_A_DIRECTORY, Fault, Missing, named
from clada.operations.builtins.places import Place, refuse_link
from clada.text.escape import escape_controls
from clada.world.files.paths import display_path
from clada.world.files.tree import refuse_workspace, unprotected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from clada.commands.judgements import BuiltIn
    from clada.world.files.entries import Entry
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

    Item = TypeVar("Item")
    Checked = TypeVar("Checked")
    Result = TypeVar("Result")


class Job:
    """One command at work. A rule that it breaks is a Trouble; any other trouble is said, and it fails."""

    def __init__(self, command: BuiltIn, files: Files, here: Parts, emit: Callable[[str], None]) -> None:
        self.name, self.options, self.operands = command.name, command.options, command.operands
        self.files, self.here = files, here
        self.changes: list[Change] = []
        self.exit_code = 0
        self._emit = emit

    # What it was asked.

    def has(self, *options: str) -> bool:
        """Whether one of these options is given."""
        return any(self.options.get(option) is not None for option in options)

    def value(self, option: str) -> str | None:
        """Return the value of an option, if it is given with one."""
        value = self.options.get(option)
        return value if isinstance(value, str) else None

    def places(self, operands: Iterable[str] | None = None) -> list[Place]:
        """Return the places that the operands name."""
        return [self.place(operand) for operand in (self.operands if operands is None else operands)]

    def place(self, operand: str) -> Place:
        """Return the place that an operand names; it must lie where clada may act."""
        try:
            return Place(operand, self.files.locate(operand, self.here))
        except Trouble as trouble:
            raise named(trouble, operand) from None

    # What it says, and what it has done.

    def say(self, text: str) -> None:
        """Print a line, which cannot look like another."""
        self._emit(escape_controls(text))

    def complain(self, fault: Fault) -> None:
        """Print what is wrong; the command fails by it."""
        self.say(f"{self.name}: {fault}")
        self.exit_code = 1

    def changed(self, place: Place, how: str) -> None:
        """Note a change for the report."""
        self.changes.append(Change(display_path(place.parts), how))

    # Acting.

    def each(
        self,
        items: list[Item],
        check: Callable[[Item], Checked],
        act: Callable[[Item, Checked], None],
    ) -> None:
        """Check and act on each item; of several, all pass the rules before the first is acted on."""
        if len(items) > 1:
            for item in items:
                self._forecheck(item, check)
        for item in items:
            try:
                act(item, check(item))
            except Fault as fault:
                self.complain(fault)

    @staticmethod
    def _forecheck(item: Item, check: Callable[[Item], Checked]) -> None:
        try:
            check(item)
        except Fault:
            return  # no rule: it is said when it is the item's turn

    @staticmethod
    def attempt(what: str, place: Place, action: Callable[..., Result], *args: object) -> Result:
        """Act at a place; say what could not be done where the system does not let us."""
        try:
            return action(*args)
        except Trouble as trouble:
            if trouble.system is None:
                raise named(trouble, place.text) from None
            raise Fault(f"{what}: {trouble.system}") from None

    # Looking.

    def entry(self, place: Place, what: str) -> Entry | None:
        """Return what stands at a place, or None."""
        if not place.text:
            return None
        return self.attempt(what, place, self.files.entry, place.parts)

    def existing(self, place: Place, what: str) -> Entry:
        """Return what stands at a place; it must, and be a directory if it is named as one."""
        entry = self.entry(place, what)
        if entry is None:
            raise Missing(what, self.why_missing(place, what))
        # A slash after a link is left out, so that the link itself is meant and never what it leads to.
        if place.slash and entry.kind not in ("directory", "link"):
            raise Missing(what, NOT_A_DIRECTORY)
        return entry

    def why_missing(self, place: Place, what: str) -> str:
        """Return why there is nothing at a place: no entry, or no directory to look in."""
        for size in range(len(place.parts) - 1, 0, -1):
            above = self.attempt(what, place, self.files.entry, place.parts[:size])
            if above:
                refuse_link(place, above)  # the overlay says it of no link that it has moved
                return NO_SUCH if above.kind == "directory" else NOT_A_DIRECTORY
        return NO_SUCH

    def make_sure_of_parent(self, place: Place, what: str) -> None:
        """Fail where the directory that something new needs is not there: files would make it."""
        above = self.attempt(what, place, self.files.entry, place.parts[:-1]) if place.text else None
        if not above or above.kind != "directory":
            raise Fault(f"{what}: {self.why_missing(place, what)}")

    def tree(self, place: Place, what: str) -> list[tuple[Parts, Entry]]:
        """Return all below a directory, by the rest of its path, each directory after its content.

        What is protected may be neither taken away nor copied.
        """
        found = self.attempt(what, place, unprotected, self.files, place.parts)
        return [(parts[len(place.parts) :], entry) for parts, entry in found]

    def refuse_taking(self, place: Place) -> None:
        """Refuse to take away the workspace, or a directory that it lies in."""
        self.attempt(f"cannot take {place}", place, refuse_workspace, self.files, place.parts)
