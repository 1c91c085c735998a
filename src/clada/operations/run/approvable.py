"""Check a text that a person wants to approve: can it match a command? If not, why, and which text would."""

from __future__ import annotations

from clada.commands import policy, words
from clada.commands.judgements import BuiltIn, Refused
from clada.commands.prefixes import refusal
from clada.errors import CladaError
from clada.operations.run.operands import check_texts, with_operand
from clada.values import Value
from clada.world.files.tree import refuse_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clada.commands.judgements import Judgement, Piped
    from clada.world.files.tree import Files

# Remedies for errors without a hint of their own.
_REMEDIES = {"permission_denied": "use git or clada commands for files in it"}
_PATTERNS = ("*", "?", "[")


class Mismatch(Value):
    """Why a text never matches, and texts that would, each with the flag to approve it."""

    message: str
    instead: tuple[tuple[str, str], ...] = ()


def mismatch(text: str, files: Files, *, shell: bool = False, prefix: bool = False) -> Mismatch | None:
    """Return why a text would never match the command of a document in this workspace; None if it can.

    `shell`: bash is to run it; `prefix`: it is approved as the first words of commands.
    """
    if words.plain(text) != text:
        flag = "--prefix" if prefix else "--shell" if shell else ""
        return Mismatch(
            "it would never match: leave out what stands around the command", ((flag, words.plain(text)),)
        )
    read = words.read_pipelines(text)
    if isinstance(read, words.Refusal):
        return _refusal_mismatch(text, read, files, shell=shell, prefix=prefix)
    if prefix:
        return _prefix_mismatch(text, read, files)
    if not read:
        return Mismatch("there is no command in it: name a program")
    judged: list[Judgement | Piped] = []
    for pipeline in read:
        first, *others = pipeline.commands
        found = policy.judge_pipeline(pipeline) if others else policy.judge(first.words)
        if isinstance(found, words.Refusal):
            exact = (("", first.text),) if "leave out" in found.message else ()
            why = f"it needs a shell, and so would never match: {found.message}"
            return None if shell else Mismatch(why, (*exact, ("--shell", text)))
        if isinstance(found, Refused):
            return Mismatch(f"it cannot run: {found.message}")
        judged.append(found)
    return _path_mismatch(files, judged)


def _path_mismatch(files: Files, judged: Sequence[Judgement | Piped]) -> Mismatch | None:
    """Return why commands could not run even if approved: their paths are refused."""
    try:
        check_texts(files, judged, ())
        _check_sources(files, judged)
    except CladaError as raised:
        error = raised.error
        return Mismatch(
            f"it cannot run: {error.replace(hint=error.hint or _REMEDIES.get(error.type)).sentence}"
        )
    return None


def _check_sources(files: Files, judged: Iterable[object]) -> None:
    """Refuse to move or remove the workspace itself."""
    for command in judged:
        if not isinstance(command, BuiltIn) or command.name == "cd":
            return  # the commands that follow may be in another directory
        taken = {"rm": command.operands, "mv": command.operands[:-1]}.get(command.name, ())
        for path in taken:
            try:
                refuse_workspace(files, files.locate(path))
            except CladaError as raised:
                found = with_operand(raised, path).error
                raise CladaError(found.type, found.message, "name what is in it") from None


def _refusal_mismatch(
    text: str, refused: words.Refusal, files: Files, *, shell: bool, prefix: bool
) -> Mismatch | None:
    if not refused.shell:
        return Mismatch(f"it would never match: {refused.message}")
    if shell and not prefix:
        return None
    instead: list[tuple[str, str]] = []
    words_before = text.partition(refused.construct)[0].strip()
    if words_before and refused.construct in _PATTERNS and not mismatch(words_before, files, prefix=True):
        instead.append(("--prefix", words_before))
    if not prefix:
        instead.append(("--shell", text))
    return Mismatch(f"it needs a shell, and so would never match: {refused.message}", tuple(instead))


def _prefix_mismatch(text: str, read: tuple[words.Pipeline, ...], files: Files) -> Mismatch | None:
    if len(read) != 1 or len(read[0].commands) != 1:
        return Mismatch("it cannot be a prefix: that is the first words of one command")
    why = refusal(read[0].commands[0].words)
    if not why:
        return None
    return Mismatch(f"it cannot be a prefix: {why}", () if mismatch(text, files) else (("", text),))
