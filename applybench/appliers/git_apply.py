"""Git apply, plain and with the options that are meant for imperfect diffs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import ClassVar

from applybench.appliers.base import Applier, run, without_fence
from applybench.cases import Case
from applybench.score import Outcome


class GitApply(Applier):
    """Plain `git apply`."""

    name = "git apply"
    formats = frozenset({"unified diff"})
    options: ClassVar[tuple[str, ...]] = ()

    def version(self) -> str:
        """Return git's version."""
        return subprocess.check_output(["git", "--version"], text=True).split()[2]

    def apply(self, root: Path, case: Case) -> Outcome:
        """Pipe the answer to git apply."""
        code, output = run(["git", "apply", *self.options], root, without_fence(case.answer))
        return Outcome(code == 0, output)


class GitApplyRecount(GitApply):
    """Git apply that does not trust the counts of hunks."""

    name = "git apply --recount"
    options = ("--recount",)


class GitApply3way(GitApply):
    """Git apply that merges, in a repository where the tree is committed."""

    name = "git apply --3way"
    options = ("--3way",)

    def apply(self, root: Path, case: Case) -> Outcome:
        """Commit the tree, apply, and remove the repository."""
        for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m tree"):
            run(["git", *command.split()], root)
        try:
            return super().apply(root, case)
        finally:
            run(["rm", "-rf", ".git"], root)


APPLIERS = [GitApply, GitApplyRecount, GitApply3way]
