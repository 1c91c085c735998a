"""The four decisions about a command: allowed to start, built in, needs approval, refused."""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


APPROVABLE = "; approving the exact command would allow it"


class Allowed(Value):
    """A real program to start, once its paths were found to be in the workspace.

    `argv` starts with the program's bare name; for git, its subcommand follows. `paths` are all operands and
    option values that name files, or might: something that does not exist is the program's own trouble.
    Operands of git are not in `argv`: `revisions` may be paths too, which the repository tells; `pathspecs`
    are paths, literally.
    """

    program: str
    argv: tuple[str, ...]
    paths: tuple[str, ...]
    exit_meanings: Mapping[int, str]
    whole_repository: bool
    options_end: int = 0  # where in `argv` an option can be added; 0: nowhere
    revisions: tuple[str, ...] = ()
    pathspecs: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The whole command, as it was asked for."""
        return (*self.argv, *self.revisions, *(("--", *self.pathspecs) if self.pathspecs else ()))


class Piped(Value):
    """Allowed programs of which each reads what the one before it prints."""

    parts: tuple[Allowed, ...]


class BuiltIn(Value):
    """A command that clada carries out itself: its options by letter, or long name where there is no letter.

    An option is True or its value; they stand in the order in which they were last given. `paths` are the
    operands that name files. What the table's kinds do not allow is not here: nobody need check it again.
    """

    name: str
    options: Mapping[str, str | bool]
    operands: tuple[str, ...]
    paths: tuple[str, ...] = ()


class NeedsApproval(Value):
    """A command that runs only if it is approved, and why; `exact`: by its whole text, not a prefix."""

    reason: str
    exact: bool = False


class Refused(Value):
    """A command that could not work even if it were approved, so nobody is asked."""

    type: str
    message: str


Judgement = Allowed | BuiltIn | NeedsApproval | Refused


def needs_approval(reason: str, *, exact: bool = False) -> NeedsApproval:
    """Return the decision with its reason, and a hint that an approval would allow it."""
    return NeedsApproval(reason + APPROVABLE, exact)


def unknown(name: str, word: str) -> NeedsApproval:
    """Return the decision for an argument that is not in the table."""
    return needs_approval(f"`{word}` is not among the arguments of {name} that run without asking")
