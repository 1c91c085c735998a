"""What a built-in command says, as coreutils would, where it cannot act; which troubles are clada's rules."""

from __future__ import annotations

from clada.problems import Trouble
from clada.text.shown import shown

NO_SUCH = "No such file or directory"
NOT_A_DIRECTORY = "Not a directory"

RULES = ("path_escape", "symlink_not_allowed", "command_not_allowed")
# How messages end that tell of a rule: the system's own permission_denied never ends so.
RULE_ENDINGS = ("protected", "is the workspace itself", "not a regular file")


class Fault(Exception):  # noqa: N818 (it is what a command prints of one operand, and no error of clada)
    """What is wrong with one operand: it is said, the others still get their turn, and the command fails."""


class Missing(Fault):
    """The operand names nothing that is there."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.why = why


def is_rule(trouble: Trouble) -> bool:
    """Whether this is refused by clada's rules, rather than by the system."""
    error = trouble.error
    if error.type == "permission_denied":
        return error.message.endswith(RULE_ENDINGS)
    return error.type in RULES


def named(trouble: Trouble, text: str) -> Trouble:
    """Return the trouble with the operand in front: a command has several."""
    error = trouble.error
    return Trouble(error.type, f"{shown(text)}: {error.message}", error.hint)


def reason(trouble: Trouble) -> str:
    """Return the system's own words for a trouble of its."""
    message = trouble.error.message
    if message.endswith("not a directory"):
        return NOT_A_DIRECTORY
    if trouble.error.type == "file_not_found":
        return NO_SUCH
    words = message.rpartition(": ")[2]
    return words[:1].upper() + words[1:]


def quoted(text: str) -> str:
    """Return a name in quotes, as coreutils prints it."""
    if "'" not in text:
        return f"'{text}'"
    if not set(text) & set('"$`\\'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"
