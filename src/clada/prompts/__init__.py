"""Instructions that tell an LLM how to write a notation, from the parser's own tables."""

from __future__ import annotations

import os
import re
from pkgutil import get_data

from clada.commands.programs import ALLOWED, BUILT_IN
from clada.grammar import BLOCK_VERSIONS, CSL_VERSIONS, END_DELIMITER, START_DELIMITER
from clada.notations.csl import CLOSING, OPENING
from clada.notations.registry import NOTATIONS, with_prompt
from clada.operations import OPERATIONS, find
from clada.report.llm import is_report
from clada.text.escape import first_few
from clada.world.approvals import Approvals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from clada.public_types import NotationName

PROMPTS = with_prompt()
MOST_APPROVED = 40  # commands that are listed
COUNT = ", or give the count"  # for which dialects have no word
EITHER = {"search": "search (or search_start and search_end)"}
# Optional fields that are named with another, or needed by so few answers that they would only confuse.
LEFT_OUT = """
    search_start search_end insert_line content hunks near match whole_lines final_newline if_exists
""".split()
KINDS = {"flag": " (true or false)", "count": ' (a number or "all")', "range": '="10-60"'}
# How each begins: a title, and who reads the answer. Chats may drop the sign of the title.
START = r"\s*(# )?How to change files[^\n]*\s+Your answer is read by a program, clada,"


def instructions(
    notation: NotationName | None = None,
    workspace: str | PathLike[str] = ".",
    start_delimiter: str = START_DELIMITER,
    end_delimiter: str = END_DELIMITER,
) -> str:
    """Return what tells an LLM how to write a notation, by default the first one, for this workspace.

    Raises ValueError if there are no instructions for that notation.
    """
    name = notation or PROMPTS[0]
    if name not in PROMPTS:
        raise ValueError(f"notation must be one of {', '.join(PROMPTS)}, not {name!r}")
    known = Approvals.load(os.fspath(workspace))
    approved = [*known.approved, *(f"{text} …" for text in known.prefixes)]
    return prompt(name, start_delimiter, end_delimiter, approved)


def prompt(
    name: str, start: str = START_DELIMITER, end: str = END_DELIMITER, approved: Sequence[str] = ()
) -> str:
    """Return the instructions for a notation, with these delimiters where it has any.

    What is approved in the workspace is listed, so that an LLM knows which tests it may run.
    """
    row = NOTATIONS[name]
    text = _template(row.prompt)
    values = {**_values(), "APPROVED": _approved(approved), "COUNT": "" if row.rank else COUNT}
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text.replace(START_DELIMITER, start).replace(END_DELIMITER, end)


def is_prompt(text: str) -> bool:
    """Whether a text is, or begins with, what `prompt` returns: instructions, and no answer."""
    return bool(re.match(START, text))


def own_text(text: bytes) -> str | None:
    """Return what a text of clada's own is; None if it may be an answer."""
    words = text.decode(errors="replace")
    if is_report(words):
        return "a report of clada, not an answer"
    return "a prompt of clada, not an answer" if is_prompt(words) else None


def _approved(commands: Sequence[str]) -> str:
    """Return the sentence about approved commands; those of several lines are told by none."""
    shown = [f"`{text}`" for text in commands if "`" not in text and "\n" not in text]
    if not shown:
        return ""
    rest = " (… stands for any further arguments)" if any(text.endswith(" …`") for text in shown) else ""
    return f" Approved here: {first_few(shown, MOST_APPROVED)}{rest}."


def _values() -> dict[str, str]:
    """Return what each @NAME@ in a template is replaced by."""
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
    """Return a file of this package, or one that an added notation names by an absolute path."""
    if os.path.isabs(name):
        with open(name, encoding="utf-8") as file:
            return file.read()
    return (get_data(__name__, name) or b"").decode()


def _sentence_list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _fields_line(name: str) -> str:
    """Return the line about an operation's fields, from the table by which documents are checked."""
    operation = find(name)
    known = operation.fields if operation else ()
    fields = [field for field in known if field.required or field.name not in LEFT_OUT]
    required = ", ".join(EITHER.get(field.name, field.name) for field in fields if field.required)
    optional = ", ".join(field.name + KINDS.get(field.kind, "") for field in fields if not field.required)
    return f"- `{name}`: {required}" + (f"; optional {optional}" if optional else "")
