"""The name of a fence in an answer: the path in its info, in its first line, or in the line above it.

Files may also be in tags: <file path="PATH">, <codeblock path="PATH">, <antArtifact … title="PATH">.

It also recognises fences that are not files although they have a path: citations, excerpts, commands, output.
"""

from __future__ import annotations

import re

from clada.notations.markdown import Fence
from clada.notations.path_text import (
    NAMES,
    has_extension,
    is_directive,
    path_in,
    path_in_info,
    path_in_title,
)
from clada.notations.registry import NOTATIONS
from clada.operations.write import COMMENT
from clada.values import Value

SHELLS = frozenset("bash sh shell cmd batch powershell ps1 zsh fish ksh csh tcsh".split())
OUTPUTS = frozenset("console terminal output text txt plaintext plain log session shell-session".split())
_COMMENT = re.compile(r"\s*(?://+|#(?=\s)|--(?=\s)|;+|%+|/\*+|<!--|\{/\*)\s*(.*?)\s*(?:\*/\}?|-->)?\s*")
_LABEL = re.compile(r"(?i:new file|filename|filepath|file|path|create|update|edit|modify)\s*:")
_PREAMBLE = ("#!", "<?xml", "<!DOCTYPE", "<!doctype")
_CITED_INFO = re.compile(r"\d+:\d+:(\S+)|.*\burl=")
_CITED_PATH = re.compile(r"(?::\d+(?:[-:]\d+)*|#L\d+\S*)$")
_SHOWN = re.compile(
    r"[\W_]*(?:before|current(?:ly)?|excerpt|old|original)\b[^.]{0,40}:?[\W_]*"
    r"|.*[(\[](?:lines?\s+\d|excerpt|before|current|snippet|partial).*",
    re.IGNORECASE,
)
_INFO_SHOWN = re.compile(r"\b(?:excerpt|before|current)\b|\blines?[ =]\d", re.IGNORECASE)
_BELOW = re.compile(r"[\w.@+-]*[^\W\d][\w.@+-]*(?:/[\w.@+-]+)+")  # a path of the workspace, without blanks
_BACKTICKED = re.compile(r"`([^`]+)`")
# The endings of files by language: a fence of another language shows no such file.
_LANGUAGES = {
    " ".join(name for name, row in NOTATIONS.items() if not row.rank): "csl cml xml",  # documents for us
    "python py python3 cython": "py pyi pyx pxd",
    "javascript js jsx typescript ts tsx mjs cjs node": "js jsx mjs cjs ts tsx mts cts vue svelte astro",
    "json jsonc json5 jsonl": "json jsonc json5 jsonl webmanifest ipynb lock",
    "html vue svelte astro xml svg xhtml": """
        html htm xhtml xml svg vue svelte astro xsl xslt xsd plist csproj vbproj xaml ejs hbs handlebars erb
        jinja jinja2 j2 twig liquid mustache template tmpl config resx jsp php
    """,
    "css scss sass less styl": "css scss sass less styl",
    "yaml yml": "yaml yml cfg conf lock j2",
    "ini toml cfg conf properties dotenv env": "ini toml lock cfg conf properties env service config plist",
    "go golang": "go", "rust rs": "rs", "java": "java", "kotlin kt": "kt kts", "swift": "swift",
    "groovy gradle": "gradle groovy", "scala": "scala sbt", "csharp cs c#": "cs", "fsharp": "fs fsi fsx",
    "c cpp c++ h hpp cc objc": "c cc cpp cxx h hh hpp hxx m mm ino cu", "ruby rb": "rb rake gemspec ru",
    "php": "php", "perl": "pl pm t", "lua": "lua", "r": "r", "dart": "dart", "elixir": "ex exs",
    "erlang": "erl hrl", "haskell hs": "hs lhs", "sql": "sql", "graphql gql": "graphql gql",
    "proto protobuf": "proto", "dockerfile docker": "dockerfile", "makefile make": "make mk makefile",
    "markdown md mdx": "md mdx", "rst": "rst", "csv": "csv tsv",
    "terraform hcl tf": "tf tfvars hcl", "diff patch udiff": "diff patch",
    " ".join(sorted(SHELLS)): "sh bash zsh fish bat cmd ps1 psm1 env",
    " ".join(sorted(OUTPUTS)): "txt log md rst csv tsv env",
}  # fmt: skip
_ENDS = {name: frozenset(ends.split()) for names, ends in _LANGUAGES.items() for name in names.split()}
_KNOWN_ENDS = frozenset().union(*_ENDS.values())
_LANGUAGES_OF_NAMES = {
    "dockerfile": "dockerfile", "containerfile": "dockerfile", "makefile": "makefile",
    "gnumakefile": "makefile", "gemfile": "rb", "rakefile": "rb", "vagrantfile": "rb", "brewfile": "rb",
    "podfile": "rb", "fastfile": "rb", "jenkinsfile": "groovy", "pipfile": "conf",
}  # fmt: skip
_PLAIN = frozenset(name.lower() for name in NAMES)  # files of no language


_TAG = re.compile(rb"<(file|codeblock|antArtifact)[ \t]([^<>\n]*+)>\n?")
_ATTRIBUTE = re.compile(r"""\b(path|name|title)=(?:"([^"]*)"|'([^']*)')""")
_KEYS = {b"file": ("path", "name"), b"codeblock": ("path",), b"antArtifact": ("title",)}


class FenceName(Value):
    """The name of a fence."""

    names: tuple[str, ...] = ()  # different ones, the strongest first
    append: bool = False
    dropped: int | None = None  # the index of the line of its content that only names it
    labelled: bool = False  # by a comment with a label: `// filepath: a.js`
    cited: str = ""  # the path of a file that is shown in part, or as it is
    if_chosen: bool = False  # it is cited, but written with --format=whole
    named_in: str = ""  # what alone names it, and may be meant otherwise: one of NAMED_IN


def from_outside(info: str, above: str) -> FenceName:
    """Return the name of a fence by its info and the line above it."""
    if is_directive(info):
        return FenceName(cited="?")
    cited = _CITED_INFO.match(info)
    if cited:
        return FenceName(cited=cited.group(1) or "?")
    inside = path_in_info(info) if info else None
    over = path_in(above) if above else None
    if over and not _is_named(over, above):
        over = None
    over = over or (path_in_title(above) if above else None)
    names = [name for name in (inside, over) if name]
    if not names:
        return FenceName()
    shown = (not over and _SHOWN.fullmatch(above)) or _INFO_SHOWN.search(info)
    if shown or any(_CITED_PATH.search(name) for name in names):
        return FenceName(cited=names[0])
    return FenceName(tuple(names), append=info.startswith("append "))


def _is_named(path: str, above: str) -> bool:
    """Whether a path above a fence is one for sure: with an extension, a name that files have, or quoted."""
    name = path.replace("\\", "/").rpartition("/")[2]
    if any(sign in path for sign in "`'\"") or path.endswith("."):
        return False
    return "." in name or name in NAMES or "`" in above or _LABEL.search(above) is not None


def with_first_line(called: FenceName, language: str, lines: list[str]) -> FenceName:
    """Return the name of a fence, also by its first line, or its second below `#!`."""
    index = 1 if lines[0].startswith(_PREAMBLE) else 0
    match = _COMMENT.fullmatch(lines[index]) if index < len(lines) else None
    if not match or (language in ("md", "markdown", "mdx") and "<!--" not in lines[index]):
        return called
    text = match.group(1)
    path = path_in(text)
    if not path or _CITED_PATH.search(path):
        return called
    labelled = _LABEL.match(text) is not None
    if not labelled and not has_extension(path):
        weak = not called.names and (index or language not in SHELLS | OUTPUTS)
        is_below = _BELOW.fullmatch(path) and ".." not in path.split("/")
        return called.replace(names=(path,), named_in=COMMENT) if weak and is_below else called
    dropped = index if labelled or path.endswith(".json") else None
    return called.replace(names=(*called.names, path), dropped=dropped, labelled=labelled)


def without_equal_names(names: tuple[str, ...]) -> list[str]:
    """Return the names without those that say the same."""
    return list({name.replace("\\", "/").removeprefix("./"): name for name in reversed(names)}.values())[::-1]


def names_of_one(names: list[str]) -> tuple[str, str] | None:
    """Return the longest of several names, and another, if they are the ends of it; None of different files.

    An absolute path is not one of the workspace: the longest of the others replaces it.
    """
    plain = sorted((name.replace("\\", "/").removeprefix("./") for name in names), key=len, reverse=True)
    if not all(plain[0].endswith("/" + name) for name in plain[1:]):
        return None
    is_absolute = plain[0].startswith("/") or plain[0][1:2] == ":"
    first, *others = plain[1:] if is_absolute else plain
    return first, others[0] if others else ""


def contradicts(language: str, path: str) -> bool:
    """Whether a fence of this language cannot be the file: commands, output, another language."""
    ends = _ENDS.get(language)
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if ends is None:
        return False
    known = _LANGUAGES_OF_NAMES.get(name)
    if known:
        return language not in (*OUTPUTS, known) and known not in ends
    if name in _PLAIN:
        return language in SHELLS and not name.startswith(".")
    _stem, dot, end = name.rpartition(".")
    return bool(dot) and end in _KNOWN_ENDS and end not in ends


def in_sentence(above: str) -> str | None:
    """Return the one path in backticks of a sentence that ends in a colon: `Change x.py like this:`."""
    if not above.rstrip("* \t").endswith(":") or len(above) > 1000:  # noqa: PLR2004 (no sentence)
        return None
    found = {path for text in _BACKTICKED.findall(above) if (path := path_in(f"`{text}`"))}
    path = found.pop() if len(found) == 1 else None
    return None if path is None or _CITED_PATH.search(path) else path


def tagged_file(data: bytes, start: int, limit: int) -> tuple[Fence, str] | None:
    """Return the content of the tag that opens here, and its path; None if it has no path.

    The title of an artifact may be any text: only a path counts.
    """
    opened = _TAG.match(data, start, limit)
    if not opened:
        return None
    tag = opened.group(1)
    given = {key: one or two for key, one, two in _ATTRIBUTE.findall(opened.group(2).decode())}
    path = next((given[key] for key in _KEYS[tag] if given.get(key)), None)
    if path is None or (tag == b"antArtifact" and not path_in(path)):
        return None
    closing = b"</%b>" % tag
    close = data.find(closing, opened.end(), limit)
    if close < 0:
        return Fence(start, opened.end(), limit, limit, "", "", 0, False), path
    return Fence(start, opened.end(), close, close + len(closing), "", "", 0, True), path
