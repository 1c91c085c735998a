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


# How a person approves a command by hand.

_LONGEST_PASTED = 4000  # characters of a command that a message repeats, and a terminal takes in one line
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
    """Quote a text for a shell, on one line; with control characters as `$'…'`, for bash, zsh and ksh."""
    if text and SAFE.issuperset(text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return f"$'{''.join(map(_escape, text))}'"


def _escape(char: str) -> str:
    """Return a character as it is written within `$'…'`; in octal, byte by byte, if it cannot be printed."""
    if char in _ESCAPES or char.isprintable():
        return _ESCAPES.get(char, char)
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
