"""Many cases in one run: operations that must be refused, or that must work, on one prepared tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.attacks.place import Place, changed, document
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.attacks.place import User

    Setup = Callable[[Place], object]

QUIET = ("--no-git", "--summary=json", "--output-mode=silent")


class Case(NamedTuple):
    """An operation, and the error types of which one has to come of it; without any, success."""

    name: str
    operation: dict[str, Any]
    types: tuple[str, ...] = ()


def write(path: str, content: str = "new\n", **more: Any) -> dict[str, Any]:
    """Return a write."""
    return {"action": "write", "path": path, "content": content, **more}


def edit(path: str, search: str = "old", replace: str = "new", **more: Any) -> dict[str, Any]:
    """Return an edit."""
    return {"action": "edit", "path": path, "search": search, "replace": replace, **more}


def move(source: str, target: str) -> dict[str, Any]:
    """Return a move."""
    return {"action": "move", "from": source, "to": target}


def remove(path: str) -> dict[str, Any]:
    """Return a remove."""
    return {"action": "remove", "path": path}


def run(command: str, **more: Any) -> dict[str, Any]:
    """Return a run."""
    return {"action": "run", "command": command, **more}


def refused(user: User, setup: Setup, cases: Sequence[Case], *arguments: str) -> Iterator[Row]:
    """Yield a row for each case, all in one run: each has its error, and nothing at all has changed."""
    with Place(user) as place:
        setup(place)
        place.give()
        before = place.picture()
        result = place.clada(document(*(case.operation for case in cases)), *QUIET, *arguments)
        difference = changed(before, place.picture())
    tasks = result.tasks
    if len(cases) > 1 and (difference or len(tasks) != len(cases)):
        for case in cases:  # one by one, to see which
            yield from refused(user, setup, [case], *arguments)
        return
    for number, case in enumerate(cases):
        found = seen(tasks[number]) if tasks else f"exit {result.code}: {result.out}{result.err}"
        what = f"; changed {', '.join(difference)}" if difference else ""
        required = f"{' or '.join(case.types)}, nothing changed"
        yield Row(case.name, required, found + what, not difference and found.startswith(case.types))


def worked(
    user: User, setup: Setup, cases: Sequence[Case], *arguments: str, git: bool = False
) -> Iterator[Row]:
    """Yield a row for each case, all in one run: each succeeds, and nothing outside has changed."""
    with Place(user) as place:
        setup(place)
        place.give()
        before = place.picture()
        flags = QUIET[1:] if git else QUIET
        result = place.clada(document(*(case.operation for case in cases)), *flags, *arguments)
        difference = changed(before, place.picture(), "outside")
    tasks = result.tasks
    for number, case in enumerate(cases):
        found = seen(tasks[number]) if tasks else f"exit {result.code}: {result.out}{result.err}"
        what = f"; changed {', '.join(difference)}" if difference else ""
        yield Row(case.name, "success", found + what, not difference and found == "success")


def seen(task: dict[str, Any]) -> str:
    """Return what came of a task: success, or its error."""
    if task["status"] == "success":
        return "success"
    error = task.get("error") or {}
    return f"{error.get('type', task['status'])}: {error.get('message', task.get('reason', ''))}"
