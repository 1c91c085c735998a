"""A host with LangChain's adapters: lists the tools of `PYTHON -m clada mcp`, and has it apply a document.

test_hosts.py runs this in an environment of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(python: str, document: str) -> None:
    """Print the names of the tools, and what the first one answers."""
    server: Any = {
        "transport": "stdio",
        "command": python,
        "args": ["-m", "clada", "mcp"],
        "env": dict(os.environ),
        "cwd": os.getcwd(),
    }
    tools = await MultiServerMCPClient({"clada": server}).get_tools()
    answer = await tools[0].ainvoke({"document": document})
    sys.stdout.write(f"{' '.join(tool.name for tool in tools)}\n{answer[0]['text']}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
