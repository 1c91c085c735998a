"""Real answers: messy documents as chats produce them, each carried out, and looked at first, as it says."""

from __future__ import annotations

import re
import subprocess
import sys

from tools.prove.place import ROOT
from tools.prove.rows import Row

ANSWERS = ROOT / "tests" / "answers"
TESTS = "tests/test_answers.py"
TRIED = ("test_answer", "test_looking_first")


def rows(*, quick: bool) -> list[Row]:
    """Return what came of each answer; a quick look leaves them to the tests, of which they are part."""
    names = sorted(folder.name for folder in ANSWERS.iterdir() if folder.is_dir())
    if quick:
        return [Row(f"{len(names)} answers", "as each says", f"{TESTS} has them all", None)]
    argv = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", TESTS]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    passed = set(re.findall(r"^PASSED \S+::(\w+)\[(.+)\]$", said, re.MULTILINE))
    return [_row(name, all((test, name) in passed for test in TRIED)) for name in names]


def _row(name: str, ok: bool) -> Row:
    told, *lines = (ANSWERS / name / "expected").read_text(encoding="utf-8").splitlines()
    required = next(line for line in lines if line.startswith("exit "))
    files = "files as expected" if (ANSWERS / name / "after").exists() else "nothing changed"
    observed = "the same, and looking first foretells it" if ok else f"{TESTS} fails"
    return Row(f"{name}: {told.removeprefix('# ')}", f"{required}, lines and {files}", observed, ok)
