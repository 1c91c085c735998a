"""GNU patch, which asks nothing and leaves no files of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from applybench.appliers.base import Applier, run, without_fence
from applybench.cases import Case
from applybench.score import Outcome


class GnuPatch(Applier):
    """`patch -p1` with its usual fuzz."""

    name = "GNU patch"
    formats = frozenset({"unified diff"})

    def version(self) -> str:
        """Return patch's version."""
        return subprocess.check_output(["patch", "--version"], text=True).split()[2]

    def apply(self, root: Path, case: Case) -> Outcome:
        """Pipe the answer to patch."""
        argv = ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--reject-file=-"]
        code, output = run(argv, root, without_fence(case.answer))
        return Outcome(code == 0, output)


APPLIERS = [GnuPatch]
