"""`clada prompt`: instructions by which an LLM can write a notation, made from the parser's own tables."""

from __future__ import annotations

import os

from clada.grammar import BLOCK_VERSIONS, CSL_VERSIONS, END_DELIMITER, START_DELIMITER
from clada.notations.registry import NOTATIONS
from clada.operations import OPERATIONS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console

FOLDER = os.path.join(os.path.dirname(__file__), "prompts")
EITHER = {"search": "search (or search_start and search_end)"}
ALTERNATIVES = ("search_start", "search_end")
KINDS = {"flag": " (true or false)", "count": ' (a number or "all")'}


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the instructions for a notation; the first one where none is named."""
    name = arguments[0] if arguments else next(iter(NOTATIONS))
    console.write(prompt(name, options["start_delimiter"], options["end_delimiter"]))
    return 0


def prompt(name: str, start: str = START_DELIMITER, end: str = END_DELIMITER) -> str:
    """Return the instructions for a notation, with these delimiters where it has any."""
    text = _template(NOTATIONS[name].prompt)
    for key, value in _values().items():
        text = text.replace(f"@{key}@", value)
    return text.replace(START_DELIMITER, start).replace(END_DELIMITER, end)


def _values() -> dict[str, str]:
    """Return what stands for each name in a template."""
    from clada.commands.programs import ALLOWED, BUILT_IN
    from clada.notations.csl import CLOSING, OPENING

    return {
        "COMMANDS": _template("commands.md").rstrip(),
        "MISTAKES": _template("mistakes.md").rstrip(),
        "REPAIR": _template("repair.md").rstrip(),
        "BUILT_IN": _listed(list(BUILT_IN)),
        "ALLOWED": _listed(_programs(list(ALLOWED))),
        "FIELDS": "\n".join(map(_fields, OPERATIONS)),
        "MARKERS": _listed([*OPENING, *CLOSING]),
        "CSL_VERSION": CSL_VERSIONS[-1],
        "BLOCK_VERSION": BLOCK_VERSIONS[-1],
    }


def _template(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _programs(names: Sequence[str]) -> list[str]:
    """Return the names of programs, with git's subcommands behind one `git`."""
    others = [name for name in names if not name.startswith("git ")]
    git = dict.fromkeys(name.split()[1] for name in names if name.startswith("git "))
    return [*others, "git " + " ".join(git)]


def _fields(name: str) -> str:
    """Return the fields of an operation, from the table that documents are checked by."""
    operation = find(name)
    fields = [field for field in operation.fields if field.name not in ALTERNATIVES] if operation else []
    required = ", ".join(EITHER.get(field.name, field.name) for field in fields if field.required)
    optional = ", ".join(field.name + KINDS.get(field.kind, "") for field in fields if not field.required)
    return f"- `{name}`: {required}" + (f"; optional {optional}" if optional else "")
