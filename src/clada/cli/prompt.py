"""`clada prompt`: instructions by which an LLM can write a notation, made from the parser's own tables."""

from __future__ import annotations

import os

from clada import grammar
from clada.notations import csl

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
    """Print the instructions for a notation; CSL where none is named."""
    name = arguments[0] if arguments else "csl"
    console.write(prompt(name, options["start_delimiter"], options["end_delimiter"]))
    return 0


def prompt(name: str, start: str = csl.START, end: str = csl.END) -> str:
    """Return the instructions for a notation, with these delimiters if it is CSL."""
    text = _template(name)
    for key, value in _values().items():
        text = text.replace(f"@{key}@", value)
    if name == "csl":
        text = text.replace(csl.START, start).replace(csl.END, end)
    return text


def _values() -> dict[str, str]:
    """Return what stands for each name in a template."""
    from clada.commands.programs import ALLOWED, BUILT_IN

    return {
        "COMMANDS": _template("commands").rstrip(),
        "MISTAKES": _template("mistakes").rstrip(),
        "REPAIR": _template("repair").rstrip(),
        "BUILT_IN": _listed(list(BUILT_IN)),
        "ALLOWED": _listed(_programs(list(ALLOWED))),
        "FIELDS": "\n".join(map(_fields, grammar.OPERATIONS)),
        "MARKERS": _listed([*csl.OPENING, *csl.CLOSING]),
        "CSL_VERSION": grammar.CSL_VERSIONS[-1],
        "BLOCK_VERSION": grammar.BLOCK_VERSIONS[-1],
    }


def _template(name: str) -> str:
    with open(os.path.join(FOLDER, f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _programs(names: Sequence[str]) -> list[str]:
    """Return the names of programs, with git's subcommands behind one `git`."""
    others = [name for name in names if not name.startswith("git ")]
    git = dict.fromkeys(name.split()[1] for name in names if name.startswith("git "))
    return [*others, "git " + " ".join(git)]


def _fields(operation: str) -> str:
    """Return the fields of an operation, from the table that documents are checked by."""
    fields = [field for field in grammar.OPERATIONS[operation] if field.name not in ALTERNATIVES]
    required = ", ".join(EITHER.get(field.name, field.name) for field in fields if field.required)
    optional = ", ".join(field.name + KINDS.get(field.kind, "") for field in fields if not field.required)
    return f"- `{operation}`: {required}" + (f"; optional {optional}" if optional else "")
