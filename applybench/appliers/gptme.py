"""Gptme's patch tool, which has other words for the same markers and the path in the fence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from applybench.appliers.base import Served, serve


class Gptme(Served):
    """The tool's own parser reads the answer."""

    name = "gptme patch"
    formats = frozenset({"search/replace"})
    pip = "gptme==0.35.1"
    module = "applybench.appliers.gptme"


APPLIERS = [Gptme]


def in_its_words(answer: str) -> str:
    """Return search/replace blocks as gptme's prompt asks for them."""
    named = re.sub(r"(?m)^(\S+)\n(`{3,})\w*\n(?=<<<<<<< SEARCH)", r"\2patch \1\n", answer)
    return re.sub(
        "(?m)^<<<<<<< SEARCH", "<<<<<<< ORIGINAL", re.sub("(?m)^>>>>>>> REPLACE", ">>>>>>> UPDATED", named)
    )


def _start() -> Callable[[dict[str, Any]], bool]:
    from gptme.tools import init_tools
    from gptme.tools.base import ToolUse

    init_tools(["patch"])

    def handle(request: dict[str, Any]) -> bool:
        uses = list(ToolUse.iter_from_content(in_its_words(request["answer"])))
        messages = [message.content for use in uses for message in use.execute()]
        return bool(messages) and all("successfully applied" in message for message in messages)

    return handle


if __name__ == "__main__":
    serve(_start)
