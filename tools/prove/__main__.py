"""Shows that the whole holds, under load, faults and hostile input.

    python -m tools.prove [--quick] [PART …]

Without parts it runs all of them, and writes docs/contributing/proof.md with the figures and the dates. What
single parts showed is kept in build/prove until there is something of each; a quick look writes nothing.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from tools.prove import adversarial, answers, faults, fuzzing, load, mutants, whole
from tools.prove.load import git_version
from tools.prove.place import ROOT, users
from tools.prove.rows import Row, failures, table, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

PROOF = ROOT / "docs" / "contributing" / "proof.md"
KEPT = ROOT / "build" / "prove"
LONG = 40  # rows of a table that is folded away


def _adversarial(name: str) -> Callable[[bool], list[Row]]:
    return lambda quick: adversarial.rows(name, quick=quick)


PARTS: dict[str, Callable[[bool], list[Row]]] = {
    "Load": lambda quick: load.rows(quick=quick),
    "Faults": lambda quick: faults.rows(quick=quick),
    "Mutation testing": lambda quick: mutants.rows(quick=quick),
    "Fuzzing": lambda quick: fuzzing.rows(quick=quick),
    "Whole path": lambda quick: whole.rows(quick=quick),
    "Real answers": lambda quick: answers.rows(quick=quick),
    **{f"Adversarial: {name}": _adversarial(name) for name in adversarial.GROUPS},
}


class Shown(NamedTuple):
    """What a part showed, how many seconds it took, and when."""

    rows: list[Row]
    seconds: float
    day: str


def main() -> int:
    """Run the parts, print what fails, and write down all of it."""
    quick = "--quick" in sys.argv
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    names = [name for name in PARTS if not chosen or any(word.lower() in name.lower() for word in chosen)]
    shown = dict(zip(names, _all(names, quick=quick), strict=True))
    if not quick:
        _write_down(shown)
    return 1 if any(failures(part.rows) for part in shown.values()) else 0


def _all(names: Sequence[str], *, quick: bool) -> Iterator[Shown]:
    """Yield what each part showed: side by side in a quick look, else one by one, for times are measured."""
    with ProcessPoolExecutor((os.cpu_count() or 1) if quick else 1) as pool:
        waiting = [pool.submit(_run, name, quick=quick) for name in names]
        for name, future in zip(names, waiting, strict=True):
            part = future.result()
            print(f"{name}: {tally(part.rows)} ({part.seconds:.0f} s)", flush=True)
            for row in failures(part.rows):
                print(f"  {row}", flush=True)
            yield part


def _run(name: str, *, quick: bool) -> Shown:
    start = time.perf_counter()
    try:
        rows = PARTS[name](quick)
    except Exception as error:  # noqa: BLE001 (a part that cannot be tried must not hide what others show)
        rows = [Row("the part itself", "can be tried", f"{type(error).__name__}: {error}", False)]
    return Shown(rows, time.perf_counter() - start, f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")


def _write_down(shown: dict[str, Shown]) -> None:
    """Keep what was shown; once there is something of every part, write the page."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name, part in shown.items():
        _file(name).write_text(json.dumps(part), encoding="utf-8")
    if all(_file(name).exists() for name in PARTS):
        PROOF.write_text("\n".join(_document({name: _kept(name) for name in PARTS})) + "\n", encoding="utf-8")
        print(f"written: {PROOF.relative_to(ROOT)}")


def _file(name: str) -> Path:
    return KEPT / f"{name.replace(': ', '-').replace(' ', '-').lower()}.json"


def _kept(name: str) -> Shown:
    rows, seconds, day = json.loads(_file(name).read_text(encoding="utf-8"))
    return Shown([Row(*row) for row in rows], seconds, day)


def _document(shown: dict[str, Shown]) -> Iterator[str]:
    """Yield the lines of the page: figures first, what is missing, then every row."""
    yield from HEAD.splitlines()
    yield ""
    yield f"Made with {_machine()}."
    yield ""
    yield "| part | rows | time | date |"
    yield "|---|---|---|---|"
    for name, part in shown.items():
        yield f"| [{name}](#{_anchor(name)}) | {tally(part.rows)} | {_took(part)} | {part.day} |"
    yield ""
    yield from NOT_COVERED.splitlines()
    for name, part in shown.items():
        yield from ("", f"## {name}", "")
        yield from NOTES.get(name, "").splitlines()
        yield from _folded(part.rows)


def _took(part: Shown) -> str:
    return f"{part.seconds:.0f} s" if part.seconds else "in several sittings"


def _anchor(name: str) -> str:
    return name.lower().replace(":", "").replace(" ", "-")


def _folded(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table, folded away if it is a long one."""
    if len(rows) <= LONG:
        yield from table(rows)
    else:
        yield from (f"<details><summary>{len(rows)} rows</summary>", "")
        yield from table(rows)
        yield from ("", "</details>")


def _machine() -> str:
    python = f"Python {platform.python_version()}"
    who = " and as an ".join(user.name for user in users())
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    return f"{python}, {git_version()}, {system}, {os.cpu_count()} cores, as {who}"


HEAD = """\
# Proof

What happens under load, faults and hostile input, observed. `make prove` runs all of it and writes this page;
`make prove QUICK=1` runs a part of it in under two minutes, which is part of `make test` too.
Parts can be run one by one (`python -m tools.prove PART`), so that they may be of different days and commits.
A row that came out alike as root and as an ordinary user, but for figures, stands once.
"""
NOT_COVERED = """\
## What is not covered
- Each system call of a run fails once, with one of five errors in turn; not each with every error. Those of
  the interpreter's own start are left out, for nothing of ours runs yet. It is one run, of 16 operations.
- A crash of the machine itself (power loss): files are not synchronised to disk ([decisions](decisions.md)).
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


if __name__ == "__main__":
    sys.exit(main())
