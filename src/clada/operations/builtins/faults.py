"""What a built-in command says, as coreutils would, where it cannot act."""

from __future__ import annotations

from clada.errors import Trouble
from clada.text.escape import escape_controls

NO_SUCH = "No such file or directory"
NOT_A_DIRECTORY = "Not a directory"


class Fault(Exception):  # noqa: N818 (it is what a command prints of one operand, and no error of clada)
    """What is wrong with one operand: it is said, the others still get their turn, and the command fails."""


class Missing(Fault):
    """The operand names nothing that is there."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")
        self.why = why


def named(trouble: Trouble, text: str) -> Trouble:
    """Return the trouble with the operand in front: a command has several."""
    error = trouble.error
    return Trouble(error.type, f"{escape_controls(text)}: {error.message}", error.hint)


def quoted(text: str) -> str:
    """Return a name in quotes, as coreutils prints it."""
    if "'" not in text:
        return f"'{text}'"
    if not set(text) & set('"$`\\'):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"
