"""Aider's edit coders, as `aider --apply FILE` uses them, without a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from applybench.appliers.base import Served, serve

CODERS = {"search/replace": "diff", "unified diff": "udiff", "whole file": "whole", "V4A": "patch"}


class Aider(Served):
    """Every file of the tree is in the chat."""

    name = "aider"
    formats = frozenset(CODERS)
    pip = "aider-chat==0.86.2"
    module = "applybench.appliers.aider"


APPLIERS = [Aider]


def _start() -> Callable[[dict[str, Any]], bool]:
    from aider.coders import Coder
    from aider.io import InputOutput
    from aider.models import Model

    model = Model("gpt-4o")  # one that it knows; it is never asked
    console = InputOutput(yes=True, pretty=False, fancy_input=False)

    def handle(request: dict[str, Any]) -> bool:
        answer = request["answer"]
        if request["format"] == "unified diff" and "```" not in answer:
            answer = f"```diff\n{answer}\n```\n"  # its prompt asks for the fence
        coder = Coder.create(
            main_model=model,
            edit_format=CODERS[request["format"]],
            io=console,
            fnames=request["files"],
            use_git=False,
            map_tokens=0,
            suggest_shell_commands=False,
        )
        coder.root = request[
            "root"
        ]  # as in a git repository; without one it is the common folder of the files
        coder.abs_root_path_cache.clear()
        coder.reflected_message = None
        coder.partial_response_content = answer
        edited = coder.apply_updates()
        if coder.reflected_message:
            raise ValueError(coder.reflected_message)
        return bool(edited)

    return handle


if __name__ == "__main__":
    serve(_start)
