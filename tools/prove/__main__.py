"""Shows that the whole holds, under load, faults and hostile input.

    python -m tools.prove [--quick] [PART …]

Without parts it runs all of them, and writes docs/proof.md with the figures and the date; a quick look
writes nothing.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from tools.prove import adversarial, faults, fuzzing, load, mutants, whole
from tools.prove.load import git_version
from tools.prove.place import ROOT, users
from tools.prove.rows import Row, failures, table, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PROOF = ROOT / "docs" / "proof.md"


def _adversarial(name: str) -> Callable[[bool], list[Row]]:
    return lambda quick: adversarial.rows(name, quick=quick)


PARTS: dict[str, Callable[[bool], list[Row]]] = {
    **{f"Adversarial: {name}": _adversarial(name) for name in adversarial.GROUPS},
    "Whole path": lambda quick: whole.rows(quick=quick),
    "Faults": lambda quick: faults.rows(quick=quick),
    "Load": lambda quick: load.rows(quick=quick),
    "Fuzzing": lambda quick: fuzzing.rows(quick=quick),
    "Mutation testing": lambda quick: mutants.rows(quick=quick),
}


def main() -> int:
    """Run the parts, print what fails, and write down all of it."""
    quick = "--quick" in sys.argv
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    names = [name for name in PARTS if not chosen or any(word.lower() in name.lower() for word in chosen)]
    proof = dict(zip(names, _all(names, quick=quick), strict=True))
    if not quick and not chosen:
        PROOF.write_text("\n".join(_document(proof)) + "\n", encoding="utf-8")
        print(f"written: {PROOF.relative_to(ROOT)}")
    return 1 if any(failures(rows) for rows, _seconds in proof.values()) else 0


def _all(names: Sequence[str], *, quick: bool) -> Iterator[tuple[list[Row], float]]:
    """Yield what each part showed: side by side in a quick look, else one by one, for times are measured."""
    with ProcessPoolExecutor((os.cpu_count() or 1) if quick else 1) as pool:
        waiting = [pool.submit(_run, name, quick=quick) for name in names]
        for name, future in zip(names, waiting, strict=True):
            rows, seconds = future.result()
            print(f"{name}: {tally(rows)} ({seconds:.0f} s)", flush=True)
            for row in failures(rows):
                print(f"  {row}", flush=True)
            yield rows, seconds


def _run(name: str, *, quick: bool) -> tuple[list[Row], float]:
    start = time.perf_counter()
    rows = PARTS[name](quick)
    return rows, time.perf_counter() - start


def _document(proof: dict[str, tuple[list[Row], float]]) -> Iterator[str]:
    """Yield the lines of the proof: figures first, then every row."""
    yield "# Proof"
    yield ""
    yield "What happens under load, faults and hostile input. `make prove` runs all of it, and writes this"
    yield "page; `make prove QUICK=1` runs a part of it in under two minutes, and is part of `make test`."
    yield ""
    yield f"Made on {dt.datetime.now(tz=dt.UTC):%Y-%m-%d} with {_machine()}."
    yield ""
    yield "| part | rows | time |"
    yield "|---|---|---|"
    for name, (rows, seconds) in proof.items():
        yield f"| {name} | {tally(rows)} | {seconds:.0f} s |"
    yield ""
    yield from NOT_COVERED.splitlines()
    for name, (rows, _seconds) in proof.items():
        yield ""
        yield f"## {name}"
        yield ""
        yield from table(rows)


def _machine() -> str:
    python = f"Python {platform.python_version()}"
    who = " and as an ".join(user.name for user in users())
    return f"{python}, {git_version()}, Linux {platform.release()}, {os.cpu_count()} cores, as {who}"


NOT_COVERED = """\
## What is not covered
- Failing system calls are a sample, spread so that rare calls count as much as frequent ones; calls of the
  interpreter's own start are left out, for nothing of ours runs yet.
- A crash of the machine itself (power loss): files are not synchronised to disk, as docs/decisions.md says.
- Mutation testing is a random sample of each part, by a runner of our own (tools/prove/mutants.py);
  world/processes, world/confinement, world/repository and the command line have no mutants.
- Network file systems, other systems than Linux, and other versions of git than the one named above.
- The fork bomb is one of 64 processes, for the sake of the machine that it runs on.
"""


if __name__ == "__main__":
    sys.exit(main())
