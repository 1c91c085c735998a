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
    share = 4

    def version(self) -> str:
        """Return clada's version."""
        return clada.__version__

    def apply(self, root: Path, case: Case) -> Outcome:
        """Pipe the answer to clada."""
        argv = [sys.executable, "-m", "clada", "--no-git", "--allow-autorun"]
        code, output = run(argv, root, case.answer)
        return Outcome(None if "internal error" in output else code == 0, output)


class CladaLibrary(CladaCommand):
    """The library, all or nothing."""

    name = "clada library"
    in_process = True
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
        text = report.text()
        return Outcome(None if "internal error" in text else report.ok and bool(report.tasks), text)


APPLIERS = [CladaCommand, CladaLibrary]
