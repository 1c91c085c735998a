"""Tasks: a file that changed between two consecutive releases, with a few files around it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {
    ".py",
    ".pyi",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".mts",
    ".cts",
    ".json",
    ".md",
    ".rst",
    ".toml",
    ".css",
    ".html",
}
LARGEST = 100_000  # characters; models do not edit larger files whole
LONGEST_LINE = 1_000  # characters; longer ones are generated code
BYSTANDERS = 2  # unchanged files in the tree, which an applier must leave alone


@dataclass(frozen=True)
class Task:
    """A change of one file; `older` is that file in the release before, `neighbour` another changed file."""

    name: str
    path: str
    before: str
    after: str
    older: str | None
    bystanders: dict[str, str]
    neighbour: tuple[str, str, str] | None


def find_tasks(packages: list[list[Path]]) -> list[Task]:
    """Return a task for each usable file that changed between consecutive releases."""
    tasks: list[Task] = []
    for releases in packages:
        older: dict[str, str] = {}
        before = read_release(releases[0])
        for folder in releases[1:]:
            after = read_release(folder)
            tasks += _tasks_of_release(f"{folder.parent.name} {folder.name}", older, before, after)
            older, before = before, after
    return tasks


def sample(tasks: list[Task], count: int, seed: int) -> list[Task]:
    """Return `count` tasks chosen by the seed, in a stable order; all of them if there are fewer."""
    order = sorted(tasks, key=lambda task: task.name)
    random.Random(f"{seed} tasks").shuffle(order)
    return order[:count]


def _tasks_of_release(
    name: str, older: dict[str, str], before: dict[str, str], after: dict[str, str]
) -> Iterator[Task]:
    common = sorted(before.keys() & after.keys())
    changed = [path for path in common if before[path] != after[path]]
    for index, path in enumerate(changed):
        chance = random.Random(f"{name} {path}")
        others = [other for other in common if other != path]
        around = chance.sample(others, min(BYSTANDERS, len(others)))
        other = changed[index - 1]
        neighbour = (other, before[other], after[other]) if other != path else None
        paths = {*around, *([other] if neighbour else [])}
        bystanders = {path: before[path] for path in sorted(paths)}
        yield Task(f"{name} {path}", path, before[path], after[path], older.get(path), bystanders, neighbour)


def read_release(folder: Path) -> dict[str, str]:
    """Return the usable texts of a release by path."""
    texts = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        # Wheels have their metadata in NAME-VERSION.dist-info, which is renamed with each release.
        if file.suffix in SUFFIXES and ".dist-info" not in path.parts[0] and file.is_file():
            text = _usable_text(file.read_bytes())
            if text is not None:
                texts[path.as_posix().removeprefix("package/")] = text
    return texts


def _usable_text(data: bytes) -> str | None:
    """Return the text if it is one that a model would edit: not generated, of lines that end in LF."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    usable = (
        len(text) <= LARGEST
        and text.endswith("\n")
        and text.strip()
        and "\r" not in text
        and "\0" not in text
    )
    return text if usable and max(map(len, lines)) <= LONGEST_LINE else None
