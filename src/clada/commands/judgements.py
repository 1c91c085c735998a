"""The four decisions about a command: allowed to start, built in, needs approval, refused."""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clada.public_types import ErrorType


class Allowed(Value):
    """A program to start, after its paths were checked to be in the workspace.

    `argv` starts with the program's bare name; for git, its subcommand follows. `paths` are all operands and
    option values that name files, or might: the program itself reports those that do not exist.
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
        """The whole command as it was requested."""
        return (*self.argv, *self.revisions, *(("--", *self.pathspecs) if self.pathspecs else ()))


class Piped(Value):
    """Allowed programs in a pipeline."""

    parts: tuple[Allowed, ...]


class BuiltIn(Value):
    """A command that clada carries out itself.

    Options are named by their letter, or by their long name if there is no letter, in the order in which they
    were last given; each is True or its value. `paths` are the operands that name files. All values were
    checked by the table.
    """

    name: str
    options: Mapping[str, str | bool]
    operands: tuple[str, ...]
    paths: tuple[str, ...] = ()


class NeedsApproval(Value):
    """A command that needs approval, and why."""

    reason: str
    exact: bool = False  # its whole text has to be approved, not a prefix
    is_unlisted: bool = False  # because its program is not in the table

    @property
    def message(self) -> str:
        """The error if it is not approved."""
        return "needs approval" if self.is_unlisted else f"needs approval: {self.reason}"


class Refused(Value):
    """A command that could not work even if it were approved, so it is refused."""

    type: ErrorType
    message: str


Judgement = Allowed | BuiltIn | NeedsApproval | Refused


def unknown(name: str, word: str) -> NeedsApproval:
    """Return the decision for an argument that is not in the table."""
    return NeedsApproval(f"`{word}` is not among the arguments of {name} that run without asking")


# Approving a command by hand.

_LONGEST_PASTED = 4000  # upper limit of characters of a command in a message: a terminal takes 4096 in a line
SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")  # unquoted
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def remedy(command: str, *, network: bool = False, flag: str = "") -> str:
    """Return the command line that approves a command, to be pasted into a shell."""
    flag = (" --network" if network else "") + (f" {flag}" if flag else "")
    if len(command) > _LONGEST_PASTED:
        return f"clada approvals add{flag} with its exact text ({len(command):,} characters)"
    dashes = " --" if command.startswith("-") else ""
    return f"clada approvals add{flag}{dashes} {_quote(command)}"


def _quote(text: str) -> str:
    """Quote a text for a shell, on one line; control characters need `$'…'`, for bash, zsh and ksh."""
    if text and SAFE.issuperset(text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return f"$'{''.join(map(_escape, text))}'"


def _escape(char: str) -> str:
    """Return a character as `$'…'` writes it; an unprintable one byte by byte in octal."""
    if char in _ESCAPES or char.isprintable():
        return _ESCAPES.get(char, char)
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
