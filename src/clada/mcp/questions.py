"""Asks a person, through a client that supports it, whether a command may run or a file may be written.

Clients up to protocol 2025-11-25 are asked while the run waits. Since 2026-07-28 a server sends no requests:
a dry run finds the commands that need approval, the result lists them, and the client calls again with the
answers; questions about files are answered no there. An answer is valid for one run: `clada approvals add`
allows a command permanently.
"""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.shared.exceptions import MCPError

import clada

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from mcp.server.context import ServerRequestContext

ANSWERS = ("once", "once+network", "no")
BLANKS = " \t\r\n"  # around a command, which do not count
FORM = {
    "type": "object",
    "properties": {
        "answer": {
            "type": "string",
            "title": "May it run?",
            "description": "once; once+network: with access to the network; no",
            "enum": list(ANSWERS),
        }
    },
    "required": ["answer"],
}
YES_OR_NO = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "May it be done?", "enum": ["yes", "no"]}},
    "required": ["answer"],
}


class Questions:
    """The questions of one call."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._context, self._loop = context, asyncio.get_running_loop()
        self._asked: Future[types.ElicitResult] | None = None  # and not answered yet
        self._withdrawn = False
        self._answers: dict[str, str] = {}  # by command
        capabilities = context.session.client_capabilities
        forms = capabilities.elicitation if capabilities else None
        # An empty capability means forms, as it did before there was anything else.
        self.possible = forms is not None and (forms.form is not None or forms.url is None)
        self.beforehand = self.possible and not context.session.can_send_request

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Ask, from the thread of the run; None where there is no answer, so that the remedy is told."""
        del network  # that is what one of the answers says
        if self.beforehand:
            return self._answers.get(command)
        given = self._elicit(_message(command, reason, directory), FORM)
        return _meaning(given) if given else None

    def consent(self, question: str) -> bool:
        """Ask a yes-or-no question, from the thread of the run."""
        given = None if self.beforehand else self._elicit(clada.visible(question), YES_OR_NO)
        return bool(given and given.action == "accept" and (given.content or {}).get("answer") == "yes")

    def _elicit(self, message: str, form: dict[str, Any]) -> types.ElicitResult | None:
        """Send a form to the client and wait; None if the call was cancelled or the client failed."""
        asking = self._context.session.elicit_form(message, form, self._context.request_id)
        self._asked = asyncio.run_coroutine_threadsafe(asking, self._loop)
        if self._withdrawn:  # just before that
            self._asked.cancel()
        try:
            return self._asked.result()
        except (CancelledError, MCPError):
            return None
        finally:
            self._asked = None

    def withdraw(self) -> None:
        """Stop waiting for an answer: the call was cancelled."""
        self._withdrawn = True
        if asked := self._asked:
            asked.cancel()

    def open(
        self, planned: clada.Report, responses: Mapping[str, object] | None
    ) -> types.InputRequiredResult | None:
        """Return what has to be asked before this can run; take the answers that there are."""
        requests: types.InputRequests = {}
        for task in planned.tasks:
            reason = task.outcome.needs_approval if isinstance(task.outcome, clada.Skipped) else None
            if reason is None:
                continue
            command = task.target.strip(BLANKS)
            key = f"command-{hashlib.sha256(command.encode(errors='replace')).hexdigest()[:32]}"
            given = (responses or {}).get(key)
            if isinstance(given, types.ElicitResult):
                self._answers[command] = _meaning(given)
            else:
                form = types.ElicitRequestFormParams(message=_message(command, reason), requested_schema=FORM)
                requests[key] = types.ElicitRequest(params=form)
        return types.InputRequiredResult(input_requests=requests) if requests else None


def _message(command: str, reason: str, directory: str = "") -> str:
    where = f"\ndirectory: {clada.visible(directory)}" if directory else ""
    return (
        f"May this command run?\ncommand: {clada.visible(command)}{where}\nbecause: {clada.visible(reason)}"
    )


def _meaning(given: types.ElicitResult) -> str:
    """Return the answer: anything but a clear yes is a no."""
    answer = (given.content or {}).get("answer") if given.action == "accept" else "no"
    return answer if isinstance(answer, str) and answer in ANSWERS else "no"
