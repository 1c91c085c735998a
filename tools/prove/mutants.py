"""Mutation testing with mutmut: small changes to the code, one at a time, each of which a test should notice.

    python -m tools.prove.mutants PART …    goes on where it was stopped, and prints what nobody noticed

Each part is changed in a copy of the project (build/mutants), and tried with its own quick tests. Once these
have changed, remove the copy: what is known already is not tried again.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tools.prove.place import ROOT
from tools.prove.rows import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

GOAL = 0.85
COPIES = ROOT / "build" / "mutants"
COPIED = ("src", "tests", "tools", "pyproject.toml")
# Tests of time and size, of many examples, with other programs or processes: too slow for each change.
LEFT_OUT = """
linear cost huge limits megabyte deep hostile every_cut never raise as_it_was same_tasks noise
bash heavy meanwhile
""".split()
NOTICED = ("killed", "timeout", "suspicious", "segfault")


class Part(NamedTuple):
    """The folder of modules that are changed, and the tests that are to notice."""

    modules: str
    tests: str


PARTS = {
    "notations": Part("notations", "tests/notations"),
    "text": Part("text", "tests/text tests/operations/test_edit.py"),
    "commands": Part("commands", "tests/commands"),
    "workspace": Part(
        "world/files",
        """
        tests/world/test_paths.py tests/world/test_root.py tests/world/test_entries.py
        tests/world/test_atomic.py
        tests/world/test_overlay_links.py tests/world/test_workspace_files.py
        tests/world/test_workspace_links.py tests/world/test_workspace_refusals.py
        tests/operations/test_write.py tests/operations/test_edit.py
        tests/operations/test_move.py tests/operations/test_remove.py
        """,
    ),
}
SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
also_copy = ["tools"]
only_mutate = {modules}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = {options}
"""


def rows(*, quick: bool) -> list[Row]:
    """Return the score of each part; a quick look does without."""
    if quick or importlib.util.find_spec("mutmut") is None:
        why = "only in the long run" if quick else "mutmut is not installed here"
        return [Row(f"mutants of {name}", f"at least {GOAL:.0%} noticed", why, None) for name in PARTS]
    shutil.rmtree(COPIES, ignore_errors=True)
    return [row(name, judged(name)) for name in PARTS]


def row(name: str, results: Mapping[str, str]) -> Row:
    """Return the score of a part; changes that were not reached do not count, and are named."""
    counts = Counter(results.values())
    tried = len(results) - counts["not checked"]
    noticed = sum(counts[status] for status in NOTICED)
    score = noticed / tried if tried else 0.0
    told = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    return Row(
        f"{len(results):,} mutants of {name}",
        f"at least {GOAL:.0%} noticed",
        f"{score:.1%} of {tried:,} tried; {told}",
        score >= GOAL,
    )


def judged(name: str) -> dict[str, str]:
    """Try all changes to a part; return what became of each."""
    tree = _copy(name)
    _mutmut(tree, "run", "--max-children", str(os.cpu_count() or 1))
    lines = _mutmut(tree, "results", "--all", "true").splitlines()
    return dict(line.strip().rsplit(": ", 1) for line in lines if "__mutmut_" in line)


def _copy(name: str) -> Path:
    """Return a copy of the project that is set up for one part; what mutmut knows of it already is kept."""
    tree, part = COPIES / name, PARTS[name]
    for item in COPIED:
        shutil.rmtree(tree / item, ignore_errors=True)
        source = ROOT / item
        tree.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, tree / item)
    (tree / "mutants" / "src").mkdir(parents=True, exist_ok=True)  # before Python learns that it is not there
    plugins = "-p tools.prove.under_mutmut -p no:cacheprovider".split()
    options = [*plugins, "-k", f"not ({' or '.join(LEFT_OUT)})"]
    with (tree / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(
            SETTINGS.format(
                modules=json.dumps([f"src/clada/{part.modules}/*"]),
                tests=json.dumps(part.tests.split()),
                options=json.dumps(options),
            )
        )
    return tree


def _mutmut(tree: Path, *arguments: str) -> str:
    """Run mutmut; processes that tests start are to see the changes too."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "mutants" / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=tree, env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    said = done.stdout.decode(errors="replace")
    if done.returncode:
        raise RuntimeError(
            f"mutmut {arguments[0]}: {said[-2000:]} {done.stderr.decode(errors='replace')[-500:]}"
        )
    return said


def main(names: Sequence[str]) -> None:
    """Try the parts that are named; print the changes that nobody noticed, for `mutmut show` in the copy."""
    for name in names:
        results = judged(name)
        print(
            *(f"{mutant}: {status}" for mutant, status in results.items() if status not in NOTICED), sep="\n"
        )
        print(row(name, results), f"in {COPIES / name}", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
