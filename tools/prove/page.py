"""Writes down what was shown: docs/contributing/proof.json has all rows, and proof.md is a page of tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from tools.prove.place import ROOT
from tools.prove.rows import Row, failures, tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DATA = ROOT / "docs" / "contributing" / "proof.json"
PAGE = DATA.with_suffix(".md")
FEW = 12  # rows that the page shows one by one; of more it shows how many there are of each kind
MARKS = {True: "✓", False: "**✗**", None: "not run"}


class Part(NamedTuple):
    """What a part showed, how many seconds it took (0 if in several sittings), and when."""

    rows: list[Row]
    seconds: float
    day: str


class Proof(NamedTuple):
    """What all parts showed, and on what machine."""

    machine: str
    parts: dict[str, Part]


def load() -> Proof:
    """Read the data file."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    return Proof(
        data["machine"],
        {
            name: Part([Row(*row) for row in part["rows"]], part["seconds"], part["day"])
            for name, part in data["parts"].items()
        },
    )


def save(proof: Proof) -> None:
    """Write the data file, and the page."""
    DATA.write_text("\n".join(data(proof)) + "\n", encoding="utf-8")
    PAGE.write_text("\n".join(page(proof)) + "\n", encoding="utf-8")


def data(proof: Proof) -> Iterator[str]:
    """Yield the lines of the data file: JSON with a line for each row, so that changes can be read."""
    yield "{"
    yield f'"machine": {json.dumps(proof.machine)},'
    yield '"columns": ["case", "required", "observed", "holds"],'
    yield '"parts": {'
    for number, (name, part) in enumerate(proof.parts.items()):
        yield f"{',' if number else ''}{json.dumps(name)}: {{"
        yield f'"day": "{part.day}", "seconds": {part.seconds:.0f}, "rows": ['
        yield ",\n".join(json.dumps(row.printable(), ensure_ascii=False) for row in part.rows)
        yield "]}"
    yield "}}"


def page(proof: Proof) -> Iterator[str]:
    """Yield the lines of the page: figures first, what is missing, then a table for each part."""
    yield from HEAD.splitlines()
    yield ""
    yield f"Made with {proof.machine}."
    yield ""
    yield "| part | what is tried | rows | time | date |"
    yield "|---|---|---|---|---|"
    for name, part in proof.parts.items():
        took = f"{part.seconds:.0f} s" if part.seconds else "in several sittings"
        yield f"| [{name}](#{_anchor(name)}) | {ABOUT[name]} | {tally(part.rows)} | {took} | {part.day} |"
    yield ""
    yield from NOT_COVERED.splitlines()
    for name, part in proof.parts.items():
        rows = [row.printable() for row in part.rows]
        yield from ("", f"## {name}", "")
        yield from NOTES.get(name, "").splitlines()
        yield from _each(rows) if len(rows) <= FEW else _kinds(rows)


def _each(rows: Sequence[Row]) -> Iterator[str]:
    yield "| case | required | observed | |"
    yield "|---|---|---|---|"
    for row in rows:
        yield f"| {_cell(row.case)} | {_cell(row.required)} | {_cell(row.observed)} | {MARKS[row.ok]} |"


def _kinds(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table of what was required of how many cases; those that fail stand one by one below it."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row.required, []).append(row)
    yield "| required | cases | such as |"
    yield "|---|---|---|"
    for required, alike in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        yield f"| {_cell(required)} | {tally(alike)} | {_cell(alike[0].case)} |"
    if failed := failures(rows):
        yield ""
        yield from _each(failed)


def _anchor(name: str) -> str:
    return name.lower().replace(":", "").replace(" ", "-")


def _cell(text: str) -> str:
    """Return a text that stays in its cell, whatever it is made of."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


ABOUT = {
    "Load": "large documents, many runs, many at once, large repositories, a long life as a library",
    "Faults": "kills, full disks and failing system calls",
    "Record": "kills, power cuts, a user at work meanwhile, thousands of runs: nothing is lost",
    "Rollback and resume": "what is all or nothing, ended in every way; what was cut, and goes on",
    "Mutation testing": "small changes to the code, each of which a test should notice",
    "Fuzzing": "each part that reads foreign text, with coverage to lead the way",
    "Whole path": "random documents in random trees, and real ones cut and spliced",
    "Real answers": "messy documents as chats produce them",
    "Adversarial: Paths": "paths that lead out, that no file can have, that are strange but fine",
    "Adversarial: Links": "every kind of link, every way to get at a file, a parent that is swapped",
    "Adversarial: Files": "files that are not plain ones, and plain ones of which every byte counts",
    "Adversarial: Commands": "every refused option in all its spellings, every allowed one, shell constructs",
    "Adversarial: Git": "repositories that would run something, and every state of a repository",
    "Adversarial: Parsers": "documents made to cost time or memory, or to smuggle something in",
    "Adversarial: Forging": "contents and names that look like clada's own words, or steer a terminal",
    "Adversarial: Resources": "commands that flood, hang, multiply or hide",
    "Adversarial: Approvals": "answers that approve their own commands, and texts that are nearly approved",
    "Adversarial: Reading": "documents and readers that want to see more than the workspace",
    "Adversarial: Git confined": "links out of git directories, stashes, and git let past every check",
    "Adversarial: Layers": "approved commands that want out, in bubblewrap, namespaces and Landlock alone",
    "Adversarial: Trust": "modules, settings, histories and questions that want to pass for something else",
}
HEAD = """\
# Proof

What happens under load, faults and hostile input, observed. `make prove` runs all of it and writes this page,
and all its rows into [proof.json](proof.json); `make prove QUICK=1` runs a part of it in under two minutes,
which is part of `make test` too: fewer rounds, smaller documents, and clada forked from a Python that has it
loaded, where all of it starts clada anew for each case. Parts can be run one by one (`python -m tools.prove
PART`), so that they may be of different days and commits. A row that came out alike as root and as an
ordinary user, but for figures, stands once.

Of a part with few cases, every case stands below; of the others, what was required of how many, and the first
of them. A case that fails always stands there by itself.
"""
NOT_COVERED = """\
## What is not covered
- Each system call of a run fails once, with one of five errors in turn; not each with every error. Those of
  the interpreter's own start are left out, for nothing of ours runs yet. It is one run, of 16 operations.
- A crash of the machine itself (power loss) without `durable`: files are not synchronised to disk then
  ([decisions](decisions.md)). With it, the disk is an image whose copies are taken at moments of a run: what
  the system has given to the disk counts as written, and no disk lies about it.
- Mutation testing changes the four parts that it names, and no tables outside of functions. Processes,
  confinement, git and the command line have no mutants, for their tests start processes: each change would
  take minutes.
- Network file systems, other systems than Linux, and other versions of git than the one named above.
- The fork bomb is one of 64 processes, for the sake of the machine that it runs on.
"""
NOTES = {
    "Mutation testing": """\
The changes that [mutmut](https://mutmut.readthedocs.io) makes to the functions of a part, each tried with the
quick tests of that part; where not all were tried, the row says how many were.
A change is noticed if a test fails, or does not end.
`python -m tools.prove.mutants PART` names those that nobody noticed. Those that were looked at and left are

- no change at all: `x >= 0` for `x > 0` where 0 cannot be, another value for one that is not used, `strict`
  of `zip`, the case of an encoding's name, what only type checkers need;
- cost only: how far to look, what to remember, when to stop early. Tests of time and size notice such, but
  are too slow to be run for each change;
- thresholds of likeness: what counts as the closest place moves a little, but nothing that is promised;
- a check that another one repeats: what the first lets through, the second refuses.

""",
}
