"""Runs the user's formatters on the files that a run has changed, as a part of it; a failure is a note."""

from __future__ import annotations

from fnmatch import fnmatchcase

from clada.errors import CladaError
from clada.model import Done, Failed
from clada.notations.write import quote_word
from clada.text.escape import escape_controls, first_few
from clada.verify import world_of_user
from clada.world.files.tree import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clada.model import Task
    from clada.world.world import World

MOST_FILES = 200  # on one command line
WIDEST = 200  # characters of what a formatter printed last


def format_changed(world: World, tasks: Iterable[Task], tell: Callable[[Sequence[str]], None]) -> None:
    """Run the formatter of each changed file; say what it changed, or why it failed."""
    done = [task.outcome for task in tasks if isinstance(task.outcome, Done)]
    paths = dict.fromkeys(change.path for outcome in done for change in outcome.changes)
    for pattern, command in world.settings.after_edit.items():
        matching = [
            path for path in paths if any(fnmatchcase(name, pattern) for name in (path, path.split("/")[-1]))
        ]
        before = {path: data for path in matching if (data := content_of(world.files, path)) is not None}
        names = list(before)
        for start in range(0, len(names), MOST_FILES):
            failure = _run(world, command, names[start : start + MOST_FILES])
            if failure:
                tell([f"`{command}` failed: {failure}"])
                break
        changed = [path for path, data in before.items() if content_of(world.files, path) != data]
        if changed:
            tell([f"formatted by `{command}`: {first_few(changed, 10)}"])


def _run(world: World, command: str, names: Sequence[str]) -> str:
    """Run a formatter on files; return why it failed, or nothing."""
    from clada.operations.run.body import run_commands

    text = f"{command} {' '.join(map(quote_word, names))}"
    own = world_of_user(world, text)
    try:
        outcome = run_commands(own, text, None)
    except CladaError as raised:
        return raised.error.sentence
    finally:
        world.tree = world.tree_after = None
        world.note_file_changes()
    if not isinstance(outcome, Failed):
        return ""
    last = next((line for line in reversed(own.output) if line and line.strip()), "")
    return f"{outcome.error.sentence}{f': {escape_controls(last[:WIDEST])}' if last else ''}"
