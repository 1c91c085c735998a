"""Builds a release, checks it, and tags it if asked to: `make release`, `make release TAG=1`.

    python -m tools.release [--tag]

Leaves the wheel, the source distribution and clada.pyz in build/release. Nothing is uploaded.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.build_pyz import build as build_pyz
from tools.pythons import find_pythons

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
RELEASE = ROOT / "build" / "release"
CHECKERS = ROOT / "build" / "release-venv"
PLACEHOLDER = "clada.example"


def main(arguments: list[str]) -> int:
    """Build and check; tag only if nothing stands against it."""
    problems = list(unready())
    for problem in problems:
        print(f"not ready: {problem}", file=sys.stderr)
    build(RELEASE)
    check(RELEASE)
    print(f"built and checked: {', '.join(sorted(path.name for path in RELEASE.iterdir()))}")
    if "--tag" not in arguments:
        return 0
    if problems:
        return 1
    tag = f"v{version()}"
    subprocess.run(["git", "tag", "-a", tag, "-m", f"Clada {version()}"], cwd=ROOT, check=True)
    print(f"tagged {tag}; publish with: git push origin {tag}")
    return 0


def version() -> str:
    """Return the version that is to be released."""
    text = (ROOT / "src" / "clada" / "version.py").read_text(encoding="utf-8")
    (found,) = re.findall(r'VERSION = "(.+)"', text)
    return str(found)


def unready() -> Iterator[str]:
    """Yield what stands against tagging this commit."""
    if PLACEHOLDER in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        yield "set tool.clada.url and the email of the authors in pyproject.toml"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[?{re.escape(version())}\]? - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        yield f'CHANGELOG.md has no heading "## {version()} - YEAR-MONTH-DAY"'
    if f'.TH CLADA 1 "" "clada {version()}"' not in (ROOT / "docs" / "clada.1").read_text(encoding="utf-8"):
        yield "docs/clada.1 is of another version: python -m tools.manual"
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "status", "--porcelain"], capture_output=True, check=False).stdout:
        yield "there are uncommitted changes"
    if subprocess.run([*git, "tag", "-l", f"v{version()}"], capture_output=True, check=False).stdout:
        yield f"the tag v{version()} exists"


def made_by_tools(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder that are not part of the source."""
    top = (".git", ".venv", "build") if folder == str(ROOT) else ()
    return [name for name in names if name in top or name.endswith((".egg-info", "_cache", "__pycache__"))]


def build(target: Path) -> None:
    """Build all packages, from a copy: setuptools would also take in files that an earlier build listed."""
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = f"{folder}/clada"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=made_by_tools)
        subprocess.run([sys.executable, "-m", "build", "--outdir", str(target), copy], check=True)
    build_pyz(target / "clada.pyz", find_pythons())


def check(target: Path) -> None:
    """Run the checkers of packages, in an environment of their own; CalledProcessError if one objects."""
    requirements = ROOT / "requirements" / "release.txt"
    stamp = CHECKERS / "requirements.txt"
    if not stamp.exists() or stamp.read_bytes() != requirements.read_bytes():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(CHECKERS)], check=True)
        python = str(CHECKERS / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", str(requirements)], check=True)
        shutil.copy(requirements, stamp)
    programs = CHECKERS / "bin"
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    subprocess.run([programs / "twine", "check", "--strict", wheel, sdist], check=True)
    subprocess.run([programs / "check-wheel-contents", wheel], check=True, cwd=target)
    subprocess.run([programs / "pyroma", "--min=10", "--file", sdist], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
