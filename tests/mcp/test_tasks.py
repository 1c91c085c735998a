"""Documents that were written from the descriptions of the tools alone do what was asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mcp.agents import text

if TYPE_CHECKING:
    from tests.mcp.agents import Place

TASKS = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text(encoding="utf-8"))["task"]
ENOUGH = 19  # of 20


def test_at_least_19_of_20_tasks_are_right(place: Place) -> None:
    """Each in a folder of files as it needs them; what is wrong is named."""
    agent = place.agent()
    wrong = []
    for task in TASKS:
        for path, content in task.get("before", {}).items():
            place.write(path, content)
        result = agent.call("apply", document=task["document"], again=True)
        after = {path: place.workspace / path for path in task.get("after", {})}
        right = (
            not result.is_error
            and task.get("says", "") in text(result)
            and all(file.exists() and file.read_text() == task["after"][path] for path, file in after.items())
            and not any((place.workspace / path).exists() for path in task.get("gone", ()))
        )
        if not right:
            wrong.append((task["ask"], text(result)))
        for path in [*task.get("before", {}), *after]:
            (place.workspace / path).unlink(missing_ok=True)
    assert len(TASKS) == ENOUGH + 1
    assert len(wrong) <= len(TASKS) - ENOUGH, wrong
