"""Checks all commands of a run before the first one starts: words, options, paths, approvals, sandbox."""

from __future__ import annotations

import os

from clada.commands import policy, words
from clada.commands.judgements import (
    Allowed,
    BuiltIn,
    NeedsApproval,
    Piped,
    Refused,
    remedy,
)
from clada.errors import CladaError
from clada.model import Skipped
from clada.operations.run.operands import check_texts, enter_directory, secret_operand
from clada.text.forms import odd_blank
from clada.values import Value
from clada.world.approvals import PATH, UNTRUSTED, Approvals
from clada.world.trust import HOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.world.files.paths import Parts
    from clada.world.world import World

    Verdict = Allowed | BuiltIn | NeedsApproval | Piped
    Judged = list[tuple[words.SimpleCommand, Verdict]]


class Approved(Value):
    """A command that a person has approved, by its own text or as part of the whole."""

    argv: tuple[str, ...]
    network: bool = False


How = Allowed | BuiltIn | Approved | Piped


class Permit(Value):
    """The way of carrying out each command of a run; in a dry run also why it would need approval, if so."""

    commands: tuple[tuple[str, How], ...]  # each by its own text
    lacking: NeedsApproval | None = None


def permit_commands(world: World, body: str, here: Parts) -> Permit | Skipped:
    """Check all commands of a run; raise CladaError if it may not start.

    A person may be asked; an interrupt meanwhile skips the run.
    """
    return _Review(world, body, here).result()


def sandbox(world: World) -> str:
    """Return the layer that confines approved commands: bubblewrap, namespace, landlock or none."""
    if world.settings.sandbox == "off":
        return "none"
    from clada.world.sandbox.layers import available

    return available()


class _Review:
    """The decision about one run."""

    def __init__(self, world: World, body: str, here: Parts) -> None:
        self.world, self.body, self.here = world, words.plain(body), here
        self.asked = self.body  # the text of the question: without a comment, or `2>&1`
        self._loaded: Approvals | None = None
        self.given = {command.strip(words.BLANKS_AROUND) for command in world.settings.approve}
        self.untrusted = False  # whether a command is approved only by a file that is not trusted

    @property
    def approvals(self) -> Approvals:
        """The approved and blocked commands of the workspace."""
        if self._loaded is None:
            self._loaded = Approvals.load(self.world.files.root)
        return self._loaded

    def result(self) -> Permit | Skipped:
        judged = _judge_all(self.body, shell=self.world.settings.shell == "approved")
        self._refuse_blocked()
        if len(judged) == 1:
            self.asked = judged[0][0].text
        _refuse_wider_stash(self.world, judged)
        check_texts(self.world.files, (verdict for _command, verdict in judged), self.here)
        judged = self._with_secrets(judged)
        _refuse_without_sandbox(self.world, judged)
        lacking = next(filter(None, (self._missing_approval(*pair) for pair in judged)), None)
        network = False
        if lacking and not self.world.settings.dry_run:
            answer = self._ask(lacking)
            halted = self.world.stop_reason()
            if halted:
                return Skipped(halted)
            network = self._apply_answer(answer, lacking)
            lacking = None
        hows = ((command.text, self._how(command, verdict, network)) for command, verdict in judged)
        return Permit(tuple(hows), lacking)

    def _with_secrets(self, judged: Judged) -> Judged:
        """Return the verdicts, in which a command that shows or copies a secret file needs approval."""
        checked: Judged = []
        here = self.here
        for command, verdict in judged:
            path = secret_operand(self.world, verdict, here)
            if path and isinstance(verdict, Piped):
                hint = "name it in a command of its own, which can be approved"
                raise CladaError(
                    "command_not_allowed", f"`{path}` looks like a secret, and needs approval", hint
                )
            if path:
                checked.append((command, NeedsApproval(f"`{path}` looks like a secret", exact=True)))
                continue
            checked.append((command, verdict))
            if isinstance(verdict, BuiltIn) and verdict.name == "cd":
                here = enter_directory(self.world.files, verdict.operands[0], here)
        return checked

    def _refuse_blocked(self) -> None:
        """Refuse a blocked command, regardless of quotes and blanks, alone or in a pipeline."""
        read = words.read_pipelines(self.body)
        pipelines = read if not isinstance(read, words.Refusal) else ()
        given = [command for pipeline in pipelines for command in pipeline.commands]
        texts = (self.body, *(each.text for each in pipelines), *(each.text for each in given))
        for text in self.approvals.blocked:
            if text in texts or _has_words_of(text, given):
                hint = f"only a person can lift that, in {PATH} or with clada approvals remove"
                raise CladaError("command_not_allowed", f"`{text}` is blocked", hint)

    def _missing_approval(self, command: words.SimpleCommand, verdict: Verdict) -> NeedsApproval | None:
        """Return the verdict on a command if it needs approval and is not approved."""
        if not isinstance(verdict, NeedsApproval):
            return None
        exact = self._is_approved(command.text) or self._is_approved(self.body)
        if exact or (not verdict.exact and self.approvals.is_covered(command.words)):
            return None
        known = self.approvals
        untrusted = known.is_untrusted(command.text, command.words) or known.is_untrusted(self.body)
        self.untrusted = self.untrusted or untrusted
        return verdict

    def _is_approved(self, text: str) -> bool:
        return self.world.settings.approve_all or text in self.given or self.approvals.is_approved(text)

    def _ask(self, lacking: NeedsApproval) -> str | None:
        """Put the whole body to a person."""
        world = self.world
        if world.ask is None:
            return None
        directory = os.path.join(world.files.root, *self.here)
        return world.untimed(
            world.ask, self.asked, directory, lacking.reason, network=sandbox(world) != "none"
        )

    def _apply_answer(self, answer: str | None, lacking: NeedsApproval) -> bool:
        """Store the answer if the person said always or never; return whether the network was granted."""
        if answer is None:
            odd = odd_blank(self.asked)
            hints = [*([UNTRUSTED] if self.untrusted else []), *([odd] if odd else [])]
            allow = HOW if self.untrusted else remedy(self.asked)
            commands = (allow, *(["clada resume"] if self.world.recording else []))
            raise CladaError(
                "command_not_allowed", lacking.message, "; ".join(hints) or None, remedy=commands
            )
        decision, _plus, network = answer.partition("+")
        if decision == "always":
            self.approvals.add(self.asked, network=bool(network))
        elif decision == "never":
            self.approvals.block(self.asked)
        if decision not in ("once", "always"):
            raise CladaError("command_not_allowed", "the user said no")
        return bool(network)

    def _how(self, command: words.SimpleCommand, verdict: Verdict, network: bool) -> How:
        if not isinstance(verdict, NeedsApproval):
            return verdict
        known = self.approvals
        stored = known.has_network(self.body) or known.has_network(command.text)
        stored = stored or known.is_covered(command.words, network=True)
        return Approved(command.words, network or stored or self.world.settings.approve_all)


def _has_words_of(text: str, commands: Sequence[words.SimpleCommand]) -> bool:
    """Whether these commands contain those of a text, word for word and in a row."""
    read = words.read(text)
    if isinstance(read, words.Refusal) or not read:
        return False
    wanted, given = [command.words for command in read], [command.words for command in commands]
    return any(given[at : at + len(wanted)] == wanted for at in range(len(given)))


def _judge_all(body: str, *, shell: bool) -> Judged:
    """Return the commands of a body, each with its verdict; one command for bash if a shell may run it."""
    read = words.read_pipelines(body)
    if isinstance(read, words.Refusal):
        return [_for_bash(body, read, shell=shell)]
    if not read:
        raise CladaError("command_not_allowed", "the command is blank: name a program")
    judged: Judged = []
    for pipeline in read:
        if len(pipeline.commands) == 1:
            verdict = policy.judge(pipeline.commands[0].words)
            if isinstance(verdict, Refused):
                raise CladaError(verdict.type, verdict.message)
            judged.append((pipeline.commands[0], verdict))
            continue
        piped = policy.judge_pipeline(pipeline)
        if isinstance(piped, words.Refusal):
            return [_for_bash(body, piped, shell=shell)]
        judged.append((words.SimpleCommand((), pipeline.text), piped))
    return judged


def _for_bash(body: str, refusal: words.Refusal, *, shell: bool) -> tuple[words.SimpleCommand, NeedsApproval]:
    if not (shell and refusal.shell):
        raise CladaError("command_not_allowed", refusal.message, words.SHELL_HINT if refusal.shell else None)
    reason = NeedsApproval(f"`{refusal.construct}` needs a shell, so bash would run it")
    return words.SimpleCommand(("bash", "-c", body), body), reason


def _refuse_wider_stash(world: World, judged: Judged) -> None:
    """Refuse a command on the whole repository if that is larger than the workspace."""
    for command, verdict in judged:
        if isinstance(verdict, Allowed) and verdict.whole_repository:
            from clada.world.git import repository

            if repository.find(world.files.root, confined=world.settings.sandbox != "off").prefix:
                message = f"`{command.text}` would change files outside of the workspace"
                hint = "it can be used where the workspace is the root of the repository"
                raise CladaError("command_not_allowed", message, hint)


def _refuse_without_sandbox(world: World, judged: Judged) -> None:
    if world.settings.sandbox != "require" or sandbox(world) != "none":
        return
    for command, verdict in judged:
        if isinstance(verdict, NeedsApproval):
            message = f"`{command.text}` needs a sandbox (--sandbox=require), and this machine has none"
            raise CladaError("command_not_allowed", message, "clada doctor says what is missing")
