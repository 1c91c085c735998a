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


Verdict = Allowed | BuiltIn | NeedsApproval
BLANKS = " \t\r\n"


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
    return _Review(world, body, directory).steps()


class _Review:
    """One look at the body of a run."""

    def __init__(self, world: World, body: str, directory: str) -> None:
        from clada.world.approvals import Approvals

        self.world, self.body, self.directory = world, body, directory
        self.approvals = Approvals.load(world.files.root)

    def steps(self) -> tuple[Step, ...]:
        commands = _commands(self.world, self.body)
        self._refuse_blocked([self.body, *(command.text for command in commands)])
        judged = [(command, _judged(command)) for command in commands]
        lacking = next(filter(None, (self._lacks(*pair) for pair in judged)), None)
        if lacking and not self.world.settings.dry_run:
            self._ask(lacking)
            lacking = None
        return tuple(self._step(command, verdict, lacking) for command, verdict in judged)

    def _refuse_blocked(self, texts: Sequence[str]) -> None:
        if any(self.approvals.is_blocked(text) for text in texts):
            raise Trouble("command_not_allowed", "the command is blocked", "see clada approvals list")

    def _lacks(self, command: words.Command, verdict: Verdict) -> str | None:
        """Return why a command does not run without asking, if it is not approved."""
        if not isinstance(verdict, NeedsApproval):
            return None
        approved = self._is_approved(command.text) or self._is_approved(self.body)
        return None if approved else verdict.reason

    def _is_approved(self, text: str) -> bool:
        settings = self.world.settings
        given = {command.strip(BLANKS) for command in settings.approve}
        return settings.approve_all or text.strip(BLANKS) in given or self.approvals.is_approved(text)

    def _ask(self, reason: str) -> None:
        """Put the whole body to a person; return if it is approved. The clock stands still meanwhile."""
        world = self.world
        start = time.monotonic()
        cut = _cuts_network(world)
        answer = world.ask(self.body, self.directory, reason, network=cut) if world.ask else None
        if world.deadline is not None:
            world.deadline += time.monotonic() - start
        if answer is None:
            from clada.world.approvals import remedy

            raise Trouble("command_not_allowed", f"{reason}: {remedy(self.body)}")
        self._take(*answer.partition("+")[::2])

    def _take(self, decision: str, network: str) -> None:
        if decision == "always":
            self.approvals.add(self.body, network=bool(network))
        elif decision == "never":
            self.approvals.block(self.body)
        if decision not in ("once", "always"):
            raise Trouble("command_not_allowed", "the person at the terminal said no")
        self.world.approved_now[self.body] = bool(network)

    def _step(self, command: words.Command, verdict: Verdict, lacking: str | None) -> Step:
        if not isinstance(verdict, NeedsApproval):
            return Step(command.text, verdict)
        if lacking:
            return Step(command.text, Unapproved(lacking))
        network = self.world.settings.approve_all or self.world.approved_now.get(self.body, False)
        stored = self.approvals.has_network(self.body) or self.approvals.has_network(command.text)
        return Step(command.text, Approved(command.words, network or stored))


def _commands(world: World, body: str) -> Sequence[words.Command]:
    read = words.read(body)
    if isinstance(read, words.Refusal):
        if world.settings.shell == "approved" and read.shell:
            return [words.Command(("bash", "-c", body), body.strip(BLANKS))]
        raise Trouble("command_not_allowed", read.message)
    if not read:
        raise Trouble("command_not_allowed", "the command is blank")
    return read


def _judged(command: words.Command) -> Verdict:
    verdict = policy.judge(command.words)
    if isinstance(verdict, Refused):
        raise Trouble(verdict.type, verdict.message)
    return verdict


def _cuts_network(world: World) -> bool:
    if world.settings.sandbox == "off":
        return False
    from clada.world.confinement import available

    return available() != "none"


def note_once(world: World, text: str) -> None:
    """Tell the person something that does not get truer by being repeated."""
    if text not in world.noted:
        world.noted.add(text)
        world.emit(Note(text))
