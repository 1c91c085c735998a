"""Shows that the whole holds, under load, faults and hostile input.

    python -m tools.prove [--quick] [PART …]

Without parts it runs all of them. What they showed goes into docs/contributing/proof.json and proof.md, with
figures and dates, in place of what the same parts showed before; a quick look writes nothing.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from tools.prove import adversarial, answers, faults, fuzzing, load, mutants, page, record, taking_back, whole
from tools.prove.load import git_version
from tools.prove.page import Part, Proof
from tools.prove.place import ROOT, users
from tools.prove.rows import Row, failures, tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def _part(rows: Callable[..., list[Row]], *name: str) -> Callable[[bool], list[Row]]:
    """Return what tries a part. In a quick look, clada is forked from a Python that has loaded it."""

    def tried(quick: bool) -> list[Row]:
        return rows(*name, quick=quick)

    return tried


PARTS: dict[str, Callable[[bool], list[Row]]] = {
    "Load": _part(load.rows),
    "Faults": _part(faults.rows),
    "Record": _part(record.rows),
    "Rollback and resume": _part(taking_back.rows),
    "Mutation testing": _part(mutants.rows),
    "Fuzzing": _part(fuzzing.rows),
    "Whole path": _part(whole.rows),
    "Real answers": _part(answers.rows),
    **{f"Adversarial: {name}": _part(adversarial.rows, name) for name in adversarial.GROUPS},
}


def main() -> int:
    """Run the parts, print what fails, and write down all of it."""
    parser = argparse.ArgumentParser("python -m tools.prove", description="Show that the whole holds.")
    parser.add_argument("--quick", action="store_true", help="a quick look, which writes nothing")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"words of: {', '.join(PARTS)}")
    given = parser.parse_args()
    names = [
        name for name in PARTS if not given.parts or any(word.lower() in name.lower() for word in given.parts)
    ]
    if not names:
        parser.error(f"no part has this in its name: {' '.join(given.parts)}")
    shown = dict(zip(names, _all(names, quick=given.quick), strict=True))
    if not given.quick:
        known = page.load().parts | shown
        page.save(Proof(_machine(), {name: known[name] for name in PARTS if name in known}))
        print(f"written: {page.PAGE.relative_to(ROOT)}")
    return 1 if any(failures(part.rows) for part in shown.values()) else 0


def _all(names: Sequence[str], *, quick: bool) -> Iterator[Part]:
    """Yield what each part showed: side by side in a quick look, else one by one, for times are measured."""
    with ProcessPoolExecutor((os.cpu_count() or 1) if quick else 1) as pool:
        waiting = [pool.submit(_run, name, quick=quick) for name in names]
        for name, future in zip(names, waiting, strict=True):
            part = future.result()
            print(f"{name}: {tally(part.rows)} ({part.seconds:.0f} s)", flush=True)
            for row in failures(part.rows):
                print(f"  {row}", flush=True)
            yield part


def _run(name: str, *, quick: bool) -> Part:
    # Who is started in the background is deaf to SIGINT, and so is all that it starts: no signal would come.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    start = time.perf_counter()
    try:
        rows = PARTS[name](quick)
    except Exception as error:  # noqa: BLE001 (a part that cannot be tried must not hide what others show)
        rows = [Row("the part itself", "can be tried", f"{type(error).__name__}: {error}", False)]
    return Part(rows, time.perf_counter() - start, f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}")


def _machine() -> str:
    python = f"Python {platform.python_version()}"
    who = " and as an ".join(user.name for user in users())
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    return f"{python}, {git_version()}, {system}, {os.cpu_count()} cores, as {who}"


if __name__ == "__main__":
    sys.exit(main())
