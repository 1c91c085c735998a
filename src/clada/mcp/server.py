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
from clada.mcp import descriptions, pages
from clada.mcp.run import SharedWorkspace, ToolCall
from clada.mcp.tools import TOOLS, call_tool

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any, Any]


def make_server(settings: clada.Settings, *, all_tools: bool) -> Server[Any]:
    """Return a server of one workspace; the settings hold for all its clients."""
    # Log messages are how clients of today see the output of commands; the next protocol has another way.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)
    workspace = SharedWorkspace(settings.replace(workspace=os.path.realpath(settings.workspace)))

    tools = {name: row for name, row in TOOLS.items() if row.default or all_tools}

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[row.listed(name, workspace.delimiters) for name, row in tools.items()]
        )

    async def tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if params.name not in tools:
            raise pages.not_found(f"tool {params.name}", f"there are {', '.join(tools)}")
        call = ToolCall(workspace, context)
        answer = await call_tool(call, params.name, params.arguments or {}, params.input_responses)
        return types.CallToolResult.model_validate(answer) if isinstance(answer, dict) else answer

    async def list_resources(_context: Context, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=pages.resources(workspace))

    async def list_templates(_context: Context, _params: object) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=pages.templates())

    async def resource(
        _context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await anyio.to_thread.run_sync(pages.read, str(params.uri), workspace)

    async def list_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=pages.prompts())

    async def prompt(_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await anyio.to_thread.run_sync(pages.prompt, params.name, workspace)

    async def set_level(_context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        workspace.level = params.level
        return types.EmptyResult()

    server: Server[Any] = Server(
        "clada",
        version=clada.__version__,
        title="Clada",
        instructions=pages.with_agents_note(descriptions.SERVER, workspace),
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
