"""Resources and prompts: documentation, reports, the project's AGENTS.md; instructions for each notation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.shared.exceptions import MCPError

import clada

if TYPE_CHECKING:
    from clada.mcp.call import SharedWorkspace

DOCS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "docs")
PAGE, REPORT, AGENTS = "clada://docs/", "clada://report", "clada://agents"
LARGEST_AGENTS = 1 << 20  # bytes of AGENTS.md
LONGEST_NUMBER = 9  # digits
PLAIN, MARKDOWN = "text/plain", "text/markdown"


def _docs() -> dict[str, str]:
    """Return the paths of the documentation by address: no other file is read."""
    try:
        names = sorted(name for name in os.listdir(DOCS) if name.endswith(".md"))
    except OSError:
        names = []
    return {f"{PAGE}{name.removesuffix('.md')}": os.path.join(DOCS, name) for name in names}


def list_resources(workspace: SharedWorkspace) -> list[types.Resource]:
    """Return all resources but older reports."""
    report = types.Resource(
        uri=REPORT, name="report", title="The last report", description="The outcome of the last run.",
        mime_type=PLAIN,
    )  # fmt: skip
    pages = [
        types.Resource(uri=uri, name=f"docs/{uri.removeprefix(PAGE)}", title=_title(path), mime_type=MARKDOWN)
        for uri, path in _docs().items()
    ]
    return [*_agents(workspace), report, *pages]


def _agents(workspace: SharedWorkspace) -> list[types.Resource]:
    """Return the workspace's own instructions for agents, if there are any."""
    if not os.path.isfile(os.path.join(workspace.settings.workspace, "AGENTS.md")):
        return []
    title = "What this project asks of agents"
    return [types.Resource(uri=AGENTS, name="AGENTS.md", title=title, mime_type=MARKDOWN)]


def with_agents_note(instructions: str, workspace: SharedWorkspace) -> str:
    """Return the server's instructions, with a pointer to the project's own if there are any."""
    return f"{instructions} Read the resource {AGENTS} first." if _agents(workspace) else instructions


def list_templates() -> list[types.ResourceTemplate]:
    """Return the template of the addresses of older reports."""
    return [
        types.ResourceTemplate(
            uri_template=f"{REPORT}/{{run}}", name="report of a run", title="The report of a recorded run",
            description="By its number in the history.", mime_type=PLAIN,
        )
    ]  # fmt: skip


def read_resource(uri: str, workspace: SharedWorkspace) -> types.ReadResourceResult:
    """Return a resource; MCPError where there is no such address."""
    try:
        return _read(uri, workspace)
    except clada.CladaError as error:
        raise not_found(uri, error.error.sentence) from None


def _read(uri: str, workspace: SharedWorkspace) -> types.ReadResourceResult:
    path = _docs().get(uri)
    if path:
        with open(path, encoding="utf-8") as file:
            return _content(uri, MARKDOWN, file.read())
    if uri == AGENTS and _agents(workspace):
        return _content(uri, MARKDOWN, _agents_text(workspace))
    if uri == REPORT:
        return _content(uri, PLAIN, _last_report(workspace))
    number = uri.removeprefix(f"{REPORT}/")
    if number != uri and number.isdecimal() and number.isascii() and len(number) <= LONGEST_NUMBER:
        return _content(uri, PLAIN, _report(int(number), workspace))
    raise not_found(uri, "resources/list names the others")


def _agents_text(workspace: SharedWorkspace) -> str:
    """Return AGENTS.md as a dry run reads it: within the workspace, and never through a link."""
    (file,) = clada.pack(["AGENTS.md"], workspace=workspace.settings.workspace).files or [None]
    if file is None:
        raise not_found(AGENTS, "AGENTS.md cannot be read")
    return file.content[:LARGEST_AGENTS].decode(errors="replace")


def _content(uri: str, kind: str, text: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _title(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()


def _last_report(workspace: SharedWorkspace) -> str:
    if workspace.last:
        return workspace.last.text()
    runs = [run.number for run in clada.history(workspace.settings.workspace) if not run.undoes]
    if not runs:
        raise not_found(REPORT, "no run is recorded for this workspace")
    return _report(runs[0], workspace)


def _report(number: int, workspace: SharedWorkspace) -> str:
    return clada.run_details(number, workspace.settings.workspace).report


def not_found(what: str, reason: str) -> MCPError:
    """Return the error for something that is not there."""
    return MCPError(types.INVALID_PARAMS, f"not found: {clada.visible(what[:200])}; {reason}")


def list_prompts() -> list[types.Prompt]:
    """Return the prompts: instructions for each notation."""
    return [
        types.Prompt(
            name=name, title=f"How to write {name}",
            description=f"How to change files and run commands in the notation {name}.",
        )
        for name in clada.PROMPTS
    ]  # fmt: skip


def read_prompt(name: Any, workspace: SharedWorkspace) -> types.GetPromptResult:
    """Return the instructions for a notation, as the first message of a conversation."""
    if name not in clada.PROMPTS:
        raise not_found(f"prompt {name}", f"there are {', '.join(clada.PROMPTS)}")
    settings = workspace.settings
    try:
        text = clada.instructions(name, settings.workspace, settings.start_delimiter, settings.end_delimiter)
    except clada.CladaError as error:  # the list of approvals is damaged
        raise not_found(f"prompt {name}", error.error.sentence) from None
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])
