"""Whether a file's content ends in the middle of a string, a comment or a here-document.

A line of backticks in one of these looks like the end of the fence that the file is written in. What is open
is told by the end of the path alone; of languages that are not in the tables nothing is told.
"""

from __future__ import annotations

import re

_HASH = frozenset("py pyi pyx toml jl ex exs graphql gql coffee".split())  # that begins a comment
_SLASHES = frozenset("kt kts swift scala sc java groovy gradle fs dart cs".split())  # so do //
_BLOCK_COMMENTS = frozenset(
    """
    c cc cpp cxx h hh hpp hxx m mm cs java js jsx mjs cjs ts tsx mts cts go rs swift kt kts scala groovy
    gradle dart php css scss less sql proto
    """.split()
)
_HTML = frozenset("html htm xhtml xml svg vue svelte astro".split())
_SHELLS = frozenset("sh bash zsh ksh dockerfile".split())
_TEXTS = (
    r'"""(?:\\.|[^\\])*?(?:"""|(?P<open>\Z))' r"|'''(?:\\.|[^\\])*?(?:'''|(?P<open2>\Z))"
    r'|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'"
)  # fmt: skip
_WITH_HASH = re.compile(rf"{_TEXTS}|#[^\n]*", re.DOTALL)
_WITH_SLASHES = re.compile(rf"{_TEXTS}|//[^\n]*", re.DOTALL)
_COMMENT = re.compile(r"^[ \t]*/\*.*?(?:\*/|(?P<open>\Z))", re.DOTALL | re.MULTILINE)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|(?P<open>\Z))", re.DOTALL)
_HEREDOC = re.compile(
    r"""(?<!<)<<(?!<)-?[ \t]*(?![^\n]{0,200}\)\))(['"]?)(?P<word>[A-Za-z_]\w*)\1[^\n]*\n"""
    r"(?:.*?^[ \t]*(?P=word)[ \t]*$|.*(?P<open>\Z))",
    re.DOTALL | re.MULTILINE,
)
_PATTERNS = (
    (_HASH, _WITH_HASH),
    (_SLASHES, _WITH_SLASHES),
    (_BLOCK_COMMENTS, _COMMENT),
    (_HTML, _HTML_COMMENT),
    (_SHELLS, _HEREDOC),
)


def ends_inside(content: str, path: str) -> bool:
    """Whether the content of a file with this path ends inside of something that goes over several lines."""
    extension = path.replace("\\", "/").rpartition("/")[2].lower().rpartition(".")[2]
    for extensions, pattern in _PATTERNS:
        found = [match.groupdict() for match in pattern.finditer(content)] if extension in extensions else []
        if found and any(value is not None for name, value in found[-1].items() if name != "word"):
            return True  # the last thing that it finds has no end
    return False
