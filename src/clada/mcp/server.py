"""The server: which handler answers which request of the protocol."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPDeprecationWarning

import clada
from clada.mcp import resources
from clada.mcp.call import SharedWorkspace, ToolCall
from clada.mcp.tools import TOOLS, call_tool

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = """\
Changes files and runs allowed commands in one directory, the workspace. `read` and `search` look at it, \
`apply` carries out a document with any number of operations, `plan` shows what it would do, `undo` reverts \
the last run. After a failure, send what failed, corrected, and what was skipped, and nothing else; or call \
`resume` once the cause is gone."""


def make_server(settings: clada.Settings, *, all_tools: bool) -> Server[Any]:
    """Return a server of one workspace; the settings hold for all its clients."""
    # Log messages are how clients of today see the output of commands; the next protocol has another way.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    workspace = SharedWorkspace(settings.replace(workspace=os.path.realpath(settings.workspace)))

    tools = {name: tool for name, tool in TOOLS.items() if tool.default or all_tools}

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        described = [each.describe(name, workspace.delimiters) for name, each in tools.items()]
        return types.ListToolsResult(tools=described)

    async def tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in tools:
            raise resources.not_found(f"tool {params.name}", f"there are {', '.join(tools)}")
        call = ToolCall(workspace, context, params.input_responses)
        answer = await call_tool(call, params.name, params.arguments or {})
        return types.CallToolResult.model_validate(answer) if isinstance(answer, dict) else answer

    async def list_resources(_context: Context, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.list_resources(workspace))

    async def list_templates(_context: Context, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.list_templates())

    async def resource(
        _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await anyio.to_thread.run_sync(resources.read_resource, str(params.uri), workspace)

    async def list_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=resources.list_prompts())

    async def prompt(_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await anyio.to_thread.run_sync(resources.read_prompt, params.name, workspace)

    async def set_level(_context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        workspace.level = params.level
        return types.EmptyResult()

    server: Server[Any] = Server(
        "clada",
        version=clada.__version__,
        title="Clada",
        instructions=resources.with_agents_note(INSTRUCTIONS, workspace),
        on_list_tools=list_tools,
        on_call_tool=tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=resource,
        on_list_prompts=list_prompts,
        on_get_prompt=prompt,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    return server
