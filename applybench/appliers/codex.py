"""Codex's apply_patch: the program acts as it when it is called by that name."""

from __future__ import annotations

import json
from pathlib import Path

from applybench.appliers.base import Applier, run
from applybench.cases import Case
from applybench.score import Outcome


class Codex(Applier):
    """The tool takes the patch alone, so prose around it cannot reach it."""

    name = "codex apply_patch"
    formats = frozenset({"V4A"})
    npm = "@openai/codex@0.169.0"
    leaves_out = frozenset({"prose around"})

    def version(self) -> str:
        """Return the version of the package."""
        package = self.folder / "node_modules/@openai/codex/package.json"
        return str(json.loads(package.read_text())["version"])

    def apply(self, root: Path, case: Case) -> Outcome:
        """Call apply_patch with the answer."""
        program = self.folder / "apply_patch"
        if not program.exists():
            (binary,) = self.folder.glob("node_modules/@openai/codex-*/vendor/*/bin/codex")
            program.symlink_to(binary)
        code, output = run([str(program)], root, case.answer)
        return Outcome(None if "panicked" in output else code == 0, output)


APPLIERS = [Codex]
