"""Whether a text that a person wants to approve can ever match a command; if not, why, and what would."""

from __future__ import annotations

from clada.commands import policy, words
from clada.commands.judgements import Refused
from clada.commands.prefixes import refusal
from clada.commands.transcript import plain
from clada.values import Value

_PATTERNS = ("*", "?", "[")


class Mismatch(Value):
    """Why a text never matches, and texts that would: each with the flag with which it is approved."""

    message: str
    instead: tuple[tuple[str, str], ...] = ()


def mismatch(text: str, *, shell: bool = False, prefix: bool = False) -> Mismatch | None:
    """Return why a text would never match the command of a document; None if it can.

    `shell`: bash is to run it; `prefix`: it is approved as the first words of commands.
    """
    if plain(text) != text:
        flag = "--prefix" if prefix else "--shell" if shell else ""
        return Mismatch(
            "it would never match: leave out what stands around the command", ((flag, plain(text)),)
        )
    read = words.read_pipelines(text)
    if isinstance(read, words.Refusal):
        return _of_refusal(text, read, shell=shell, prefix=prefix)
    if prefix:
        return _of_prefix(text, read)
    for pipeline in read:
        found = _of_pipeline(text, pipeline, shell=shell)
        if found:
            return found
    return None


def _of_pipeline(text: str, pipeline: words.Pipeline, *, shell: bool) -> Mismatch | None:
    first, *others = pipeline.commands
    if not others:
        judged = policy.judge(first.words)
        return Mismatch(f"it cannot run: {judged.message}") if isinstance(judged, Refused) else None
    piped = policy.judge_pipeline(pipeline)
    if shell or not isinstance(piped, words.Refusal):
        return None
    exact = (("", first.text),) if "leave out" in piped.message else ()
    return Mismatch(
        f"it needs a shell, and so would never match: {piped.message}", (*exact, ("--shell", text))
    )


def _of_refusal(text: str, refused: words.Refusal, *, shell: bool, prefix: bool) -> Mismatch | None:
    if not refused.shell:
        return Mismatch(f"it would never match: {refused.message}")
    if shell and not prefix:
        return None
    instead: list[tuple[str, str]] = []
    words_before = text.partition(refused.construct)[0].strip()
    if words_before and refused.construct in _PATTERNS and not mismatch(words_before, prefix=True):
        instead.append(("--prefix", words_before))
    if not prefix:
        instead.append(("--shell", text))
    return Mismatch(f"it needs a shell, and so would never match: {refused.message}", tuple(instead))


def _of_prefix(text: str, read: tuple[words.Pipeline, ...]) -> Mismatch | None:
    if len(read) != 1 or len(read[0].commands) != 1:
        return Mismatch("it cannot be a prefix: that is the first words of one command")
    why = refusal(read[0].commands[0].words)
    if not why:
        return None
    return Mismatch(f"it cannot be a prefix: {why}", () if mismatch(text) else (("", text),))
