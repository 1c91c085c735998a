"""Computes what pyproject.toml cannot state: the project's links, the README for an index, shell completions.

The project's URL is `tool.clada.url` in pyproject.toml, and nowhere else.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
URL: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["clada"]["url"]
LINKS = {
    "Homepage": URL,
    "Documentation": f"{URL}/blob/main/docs/index.md",
    "Changelog": f"{URL}/blob/main/CHANGELOG.md",
    "Issues": f"{URL}/issues",
    "Source": URL,
}
RELATIVE_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")
COMPLETIONS = {  # by shell: where the wheel installs the script, and its name there
    "bash": ("share/bash-completion/completions", "clada"),
    "zsh": ("share/zsh/site-functions", "_clada"),
    "fish": ("share/fish/vendor_completions.d", "clada.fish"),
}


def readme() -> str:
    """Return the README with absolute links, because an index has none of the files beside it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")

    def absolute(match: re.Match[str]) -> str:
        picture, label, path = match.groups()
        return f"{picture}{label}({URL}/{'raw' if picture else 'blob'}/main/{path})"

    return RELATIVE_LINK.sub(absolute, text)


def data_files() -> list[tuple[str, list[str]]]:
    """Write the completion scripts, and return what is installed beside the package."""
    sys.path.insert(0, str(ROOT / "src"))
    from clada.cli.commands.completion import SCRIPTS

    found = [("share/man/man1", ["docs/clada.1"])]
    for shell, (place, name) in COMPLETIONS.items():
        path = ROOT / "build" / "completions" / shell / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(SCRIPTS[shell]()) + "\n", encoding="utf-8")
        found.append((place, [str(path.relative_to(ROOT))]))
    return found


if __name__ == "__main__":
    setup(
        url=URL,
        project_urls=LINKS,
        long_description=readme(),
        long_description_content_type="text/markdown",
        data_files=data_files(),
    )
