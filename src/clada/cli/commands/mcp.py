"""`clada mcp`: serves the Model Context Protocol, for agents."""

from __future__ import annotations

import os

from clada.cli.commands.apply import APPROVE_ALL, settings_of
from clada.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console

TOKEN = "CLADA_MCP_TOKEN"  # noqa: S105 (the name of the variable that has it)
SHORTEST = 16  # characters


def mcp(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Serve until the client leaves; return the exit code."""
    from clada.mcp import serve

    if options["approve_all"]:
        console.note(APPROVE_ALL)
    token = os.environ.pop(TOKEN, None)  # no command that is run shall see it
    if token is not None and len(token) < SHORTEST:
        raise UsageError(
            f"{TOKEN} must have {SHORTEST} characters or more",
            "export CLADA_MCP_TOKEN=$(openssl rand -hex 16)",
        )
    if options.get("http") is None and os.isatty(0):
        console.note("this is for a host to start, see docs/mcp.md; Ctrl-C ends it")
    all_tools = options.get("tools") == "all"
    return serve(settings_of(options), options.get("http"), token, console.note, all_tools=all_tools)
