"""What a run may do, decided whole before its first command starts: words, options, approvals."""

from __future__ import annotations

import time

from clada.commands import policy, words
from clada.commands.judgements import Allowed, BuiltIn, NeedsApproval, Refused
from clada.model import Note
from clada.problems import Trouble
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.operations import World
    from clada.world.approvals import Approvals


class Approved(Value):
    """A command that a person has approved, by its own text or as part of the whole."""

    argv: tuple[str, ...]
    network: bool = False


class Unapproved(Value):
    """A command that a dry run leaves out, and that would have to be approved."""

    reason: str


class Step(Value):
    """One command of a run, and how it is carried out."""

    text: str
    how: Allowed | BuiltIn | Approved | Unapproved


def permitted(world: World, body: str, directory: str) -> tuple[Step, ...]:
    """Return the steps of a run, or raise the reason why nothing of it may start."""
    from clada.world.approvals import Approvals

    approvals = Approvals.load(world.files.root)
    commands = _commands(world, body)
    _refuse_blocked(approvals, [body, *(command.text for command in commands)])
    judged = [(command, _judged(command)) for command in commands]
    reasons = [
        verdict.reason
        for command, verdict in judged
        if isinstance(verdict, NeedsApproval) and not _is_approved(world, approvals, command.text)
    ]
    asked = None
    if reasons and not _is_approved(world, approvals, body):
        if world.settings.dry_run:
            asked = Unapproved(reasons[0])
        else:
            _ask(world, approvals, body, directory, reasons[0])
    return tuple(_step(world, approvals, body, command, verdict, asked) for command, verdict in judged)


def _commands(world: World, body: str) -> Sequence[words.Command]:
    read = words.read(body)
    if isinstance(read, words.Refusal):
        if world.settings.shell == "approved" and read.shell:
            return [words.Command(("bash", "-c", body), body.strip())]
        raise Trouble("command_not_allowed", read.message)
    if not read:
        raise Trouble("command_not_allowed", "the command is blank")
    return read


def _judged(command: words.Command) -> Allowed | BuiltIn | NeedsApproval:
    verdict = policy.judge(command.words)
    if isinstance(verdict, Refused):
        raise Trouble(verdict.type, verdict.message)
    return verdict


def _refuse_blocked(approvals: Approvals, texts: Sequence[str]) -> None:
    for text in texts:
        if approvals.is_blocked(text):
            raise Trouble("command_not_allowed", "the command is blocked", "see clada approvals list")


def _is_approved(world: World, approvals: Approvals, text: str) -> bool:
    settings = world.settings
    given = {command.strip(BLANKS) for command in settings.approve}
    return settings.approve_all or text.strip(BLANKS) in given or approvals.is_approved(text)


BLANKS = " \t\r\n"


def _ask(world: World, approvals: Approvals, body: str, directory: str, reason: str) -> None:
    """Put the whole body to a person; return if it is approved. The clock stands still meanwhile."""
    from clada.world.approvals import remedy

    start = time.monotonic()
    answer = world.ask(body, directory, reason, network=_cuts_network(world)) if world.ask else None
    if world.deadline is not None:
        world.deadline += time.monotonic() - start
    if answer is None:
        raise Trouble("command_not_allowed", f"{reason}: {remedy(body)}")
    decision, _, network = answer.partition("+")
    if decision == "always":
        approvals.add(body, network=bool(network))
    elif decision == "never":
        approvals.block(body)
    if decision not in ("once", "always"):
        raise Trouble("command_not_allowed", "the person at the terminal said no")
    world.approved_now[body] = bool(network)


def _cuts_network(world: World) -> bool:
    if world.settings.sandbox == "off":
        return False
    from clada.world.confinement import available

    return available() != "none"


def _step(
    world: World,
    approvals: Approvals,
    body: str,
    command: words.Command,
    verdict: Allowed | BuiltIn | NeedsApproval,
    asked: Unapproved | None,
) -> Step:
    if not isinstance(verdict, NeedsApproval):
        return Step(command.text, verdict)
    if asked:
        return Step(command.text, asked)
    network = (
        world.settings.approve_all
        or world.approved_now.get(body, False)
        or approvals.has_network(body)
        or approvals.has_network(command.text)
    )
    return Step(command.text, Approved(command.words, network))


def note_once(world: World, text: str) -> None:
    """Tell the person something that does not get truer by being repeated."""
    if text not in world.noted:
        world.noted.add(text)
        world.emit(Note(text))
