"""Clada: its command line, and its library."""

from __future__ import annotations

import sys
from pathlib import Path

import clada
from applybench.appliers.base import Applier, run
from applybench.cases import Case
from applybench.formats import FORMATS
from applybench.score import Outcome


class CladaCommand(Applier):
    """The command line with its defaults, but without git; files that run by themselves are allowed."""

    name = "clada"
    formats = frozenset(FORMATS)
    share = 10

    def version(self) -> str:
        """Return clada's version."""
        return clada.__version__

    def apply(self, root: Path, case: Case) -> Outcome:
        """Pipe the answer to clada."""
        argv = [sys.executable, "-m", "clada", "--no-git", "--allow-autorun"]
        code, output = run(argv, root, case.answer)
        return Outcome(None if "Traceback" in output else code == 0, output)


class CladaLibrary(CladaCommand):
    """The library, all or nothing."""

    name = "clada library"
    share = 1

    def apply(self, root: Path, case: Case) -> Outcome:
        """Execute the answer."""
        report = clada.execute(
            case.answer,
            workspace=str(root),
            git=False,
            record="none",
            atomic=True,
            allow_autorun=True,
            durable=False,
        )
        return Outcome(report.ok and bool(report.tasks), report.text())


APPLIERS = [CladaCommand, CladaLibrary]
