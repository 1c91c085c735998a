"""`clada prompt`: instructions that tell an LLM how to write a notation, from the parser's own tables."""

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
    """Print the instructions for a notation, by default the first one of the registry."""
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
    """Return what each @NAME@ in a template is replaced by."""
    from clada.commands.programs import ALLOWED, BUILT_IN
    from clada.notations.csl import CLOSING, OPENING

    programs = [name for name in ALLOWED if not name.startswith("git ")]
    git = dict.fromkeys(name.split()[1] for name in ALLOWED if name.startswith("git "))
    return {
        "COMMANDS": _template("commands.md").rstrip(),
        "MISTAKES": _template("mistakes.md").rstrip(),
        "REPAIR": _template("repair.md").rstrip(),
        "BUILT_IN": _sentence_list(list(BUILT_IN)),
        "ALLOWED": _sentence_list([*programs, "git " + " ".join(git)]),
        "FIELDS": "\n".join(map(_fields_line, OPERATIONS)),
        "MARKERS": _sentence_list([*OPENING, *CLOSING]),
        "CSL_VERSION": CSL_VERSIONS[-1],
        "BLOCK_VERSION": BLOCK_VERSIONS[-1],
    }


def _template(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _sentence_list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _fields_line(name: str) -> str:
    """Return the line about an operation's fields, from the table by which documents are checked."""
    operation = find(name)
    fields = [field for field in operation.fields if field.name not in ALTERNATIVES] if operation else []
    required = ", ".join(EITHER.get(field.name, field.name) for field in fields if field.required)
    optional = ", ".join(field.name + KINDS.get(field.kind, "") for field in fields if not field.required)
    return f"- `{name}`: {required}" + (f"; optional {optional}" if optional else "")
