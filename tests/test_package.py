"""What is installed besides the code: the files that the build takes by the patterns of pyproject.toml."""

from __future__ import annotations

import tomllib
from glob import glob
from pathlib import Path

import clada

ROOT = Path(__file__).parents[1]


def packaged() -> set[str]:
    """Return the data files of the package, as setuptools finds them: by its patterns, through links too."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]

    def matching(kind: str) -> set[str]:
        return {
            path
            for pattern in settings[kind]["clada"]
            for path in glob(pattern, root_dir=ROOT / "src/clada", recursive=True)
        }

    return matching("package-data") - matching("exclude-package-data")


def test_the_pages_and_the_prompts_are_installed() -> None:
    """The MCP server hands them out; `src/clada/docs` is a link, which a copy of the tree may lose."""
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert "docs/mcp.md" in pages
    assert pages | {f"prompts/{name}.md" for name in clada.PROMPTS} <= packaged()
    assert not any(path.startswith("docs/contributing/") for path in packaged())
