"""Places that commands name, and what keeps commands from them."""

from __future__ import annotations

from clada.errors import Trouble
from clada.operations.builtins.faults import named, quoted
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.files.entries import Entry
    from clada.world.files.paths import Parts


class Place(Value):
    """A place in the tree, and how the command names it."""

    text: str
    parts: Parts

    def __str__(self) -> str:
        return quoted(self.text)

    @property
    def slash(self) -> bool:
        """Whether it is named as a directory."""
        return self.text.endswith(("/", "\\"))

    @property
    def name(self) -> str:
        """Return its last component as it is written: it may be `.` or `..`."""
        return self.text.replace("\\", "/").rstrip("/").rpartition("/")[2]

    def below(self, *names: str) -> Place:
        """Return a place below this one."""
        if not names:
            return self
        between = "" if self.slash else "/"
        return Place(self.text + between + "/".join(names), (*self.parts, *names))


def refusal(place: Place, type_: str, message: str) -> Trouble:
    """Return the trouble of a place that a rule keeps commands from."""
    return named(Trouble(type_, message), place.text)


def refuse_link(place: Place, entry: Entry | None) -> None:
    """Refuse to read, write or go through a link."""
    if entry and entry.kind == "link":
        raise refusal(place, "symlink_not_allowed", "is a symbolic link")


def refuse_special(place: Place, entry: Entry | None) -> None:
    """Refuse all but files and directories."""
    refuse_link(place, entry)
    if entry and entry.kind == "other":
        raise refusal(place, "permission_denied", "is not a regular file")
