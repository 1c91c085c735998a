"""Builds clada as one file: `python -m tools.build_pyz build/clada.pyz`, or `make pyz`.

The file holds the sources, and for each Python on this machine what that has compiled of them, because an
archive cannot keep compiled modules itself. With another Python it works too, and starts more slowly.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.pythons import find_pythons

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "clada"
SHEBANG = b"#!/usr/bin/env python3\n"
TIME = (2020, 1, 1, 0, 0, 0)  # of all entries, so that the same sources give the same file
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "docs"
)  # pages are for the MCP server, which needs a package
# Old Pythons can read this, and say no.
MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("clada needs Python 3.11 or newer; this is Python %s" % sys.version.split()[0])

import os

archive = os.path.abspath(sys.path[0])
sys.path[:1] = [archive + "/py%d%d" % sys.version_info[:2], archive + "/src", archive]

from clada.__main__ import start

start()
"""


def build(target: Path, pythons: dict[tuple[int, int], str]) -> None:
    """Write the file, which is executable, compiled by these Pythons."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        shutil.copytree(PACKAGE, top / "src" / "clada", ignore=LEFT_OUT)
        for (major, minor), python in pythons.items():
            tree = top / f"py{major}{minor}"
            shutil.copytree(top / "src", tree)
            options = ["-q", "-b", "--invalidation-mode=unchecked-hash", f"-s{folder}", "-pclada.pyz"]
            subprocess.run([python, "-I", "-m", "compileall", *options, str(tree)], check=True)
            for source in tree.rglob("*.py"):
                source.unlink()
        (top / "__main__.py").write_text(MAIN)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            file.write(SHEBANG)
            _write_archive(top, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9))
    target.chmod(target.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _write_archive(top: Path, archive: zipfile.ZipFile) -> None:
    with archive:
        for path in sorted(top.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(os.fspath(path.relative_to(top)), TIME)
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    build(Path(sys.argv[1]), find_pythons())
