"""Paths as answers write them: a line of prose that is only a path, the info of a fence, an absolute path.

A path in an explicit field or header is taken as written. In prose it must look like one: a slash, an
extension of the table, or a name that files have; and be no product, version or domain. Neither are `~/a`,
`{{path}}` and `and / or` paths of the workspace.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LENGTH = 250
EXTENSIONS = frozenset(
    """
    adb ads adoc ahk asm astro awk bash bat bazel bib bicep bzl c cc cfg cjs clj cljc cljs cls cmake cmd
    coffee conf config cpp cr cs csproj css csv cts cu cxx cypher d dart diff dockerfile dot ejs el elm env
    erb erl ex exs f f90 fish fs fsi fsx gd gemspec glsl gml go gql gradle graphql groovy h haml handlebars
    hbs hcl hh hpp hrl hs htm html hxx i18n ini ino ipynb j2 java jinja jinja2 jl js json json5 jsonc jsonl
    jsp jsx kt kts less lhs liquid lisp lock log lua m make md mdx mjs mk ml mli mm mod mts mustache nim nix
    nut odin patch php pl plist pm po pot prisma pro properties proto ps1 psm1 pug purs py pyi pyx qml r
    rake rb rd re rego res resx rkt rs rst ru s sass sbt scala scm scss service sh sln sol sql styl sum
    svelte svg swift sv t tcl template tex tf tfvars thrift tmpl toml ts tsv tsx twig txt v vb vbproj vert
    vhd vhdl vim vue webmanifest wgsl xaml xhtml xml xsd xsl xslt yaml yml zig zsh
    """.split()
)
NAMES = frozenset(
    """
    Dockerfile Containerfile Makefile GNUmakefile LICENSE LICENCE COPYING NOTICE README CHANGELOG AUTHORS
    CONTRIBUTING CODEOWNERS Gemfile Rakefile Procfile Jenkinsfile Vagrantfile Brewfile Pipfile Podfile
    Fastfile Justfile justfile Caddyfile Tiltfile Earthfile BUILD WORKSPACE .gitignore .gitattributes
    .gitmodules .dockerignore .npmignore .npmrc .nvmrc .prettierrc .eslintrc .eslintignore .babelrc
    .editorconfig .env .flake8 .pylintrc .coveragerc .bashrc .zshrc .profile .vimrc .clang-format
    .clang-tidy .rubocop.yml
    """.split()
)
PRODUCTS = frozenset(
    """
    node.js next.js vue.js nuxt.js express.js react.js three.js d3.js asp.net socket.io
    """.split()
)
# What every path in prose has somewhere: an ASCII sign, or letters that only a closer look can tell.
PATH_SIGN = (
    rb"[./\\\x80-\xff]|(?i:file_path|filename|file path here)|%b"
    % "|".join(sorted(name for name in NAMES if "." not in name)).encode()
)
_DOMAIN = r"(?:www\.\S+|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|app|co|edu|gov|info))(?:/|$)"
_VERSION = r"v?\d+(?:\.\d+)+(?:[-+]\w+)?"
_FORBIDDEN = r'[\x00-\x1f\x7f<>|*?"]|://|\A~|\{\{|\}\}|\s[/\\]|[/\\]\s'
_PLAIN = r"[\w./+@-]+"
_BEFORE = (
    r"(?x)(?:\#{1,6}|[-*+]|[0-9]{1,9}[.)])[ \t]+"
    r"|(?:\*\*|`)?(?i:new[ ]file|filename|filepath|file|path|create|update|edit|modify)(?:\*\*|`)?"
    r"[ \t]*:(?:\*\*)?[ \t]*"
    r"|\*\*"
)
_LINK = r"\[([^\[\]]+)\]\([^()]*\)"
_PAIRS = ("__", "`", '"', "'")  # pairs around a path
_QUOTES = ("`", '"', "'")  # with which it may have blanks
_PLACEHOLDER = r"(?i)(?:\./|/)?path/to/.*|file_path|FILENAME|your_file\..*|File path here"
_DIRECTIVE = r"\{[\w.:+-]+\}"  # of MyST, or a cell that is run: ```{image} a.png
# Words that may be beside the one path of a title: `### Updated app.py`, `1. **Create models.py**`.
_TITLE_WORDS = frozenset(
    """
    updated update new modified modify create created final complete completed full whole entire revised
    rewritten refactored fixed improved replace overwrite edit edited file the step version code content
    contents of for here here's is
    """.split()
)
_WHOLE_WORDS = frozenset(
    """
    updated new modified final complete completed full whole entire revised rewritten refactored fixed
    improved edited
    """.split()
)
_ELEMENTS = r"</?(?:summary|details|b|strong|code|em|i)>"
_NO_WORD = r"(?:[0-9]+[.):]?|[^\w./\\]+)"  # numbers, dashes, signs of headings and lists, emoji
_AROUND = "`*_\"':,;()[]"
_INFO_KEY = r"""(?:^|[\s{,])(?:file|path|filename|filepath|title)=(?:"([^"]*)"|'([^']*)'|([^\s}]+))"""


def path_in(text: str) -> str | None:
    """Return the path that a line of prose consists of, without its markup; None if it is not a path."""
    text = text.strip()
    if re.fullmatch(_PLAIN, text) and not text.endswith("__"):
        return text if is_path(text) else None
    if len(text) > MAX_LENGTH * 2:
        return None
    text, quoted = _bare(text)
    return text if is_path(text, quoted=quoted) else None


def _bare(text: str) -> tuple[str, bool]:
    """Return a text without headings, list markers, labels, emphasis and quotes; whether it was quoted."""
    quoted, before = False, ""
    while text != before:
        before = text
        text = text.strip(" \t").removesuffix(":").removesuffix("**")
        head = re.match(_BEFORE, text)
        if head and not quoted:
            text = text[head.end() :]
        link = re.fullmatch(_LINK, text)
        if link:
            text = link.group(1)
        for mark in _PAIRS:
            inner = text[len(mark) : -len(mark)]
            if inner and text.startswith(mark) and text.endswith(mark) and mark not in inner.strip(mark):
                text = inner.strip("`") if mark == "`" else inner
                quoted = quoted or mark in _QUOTES
    return text, quoted


def path_in_title(text: str) -> str | None:
    """Return the one path of a line that has nothing but a few known words beside it; None for any other.

    The line may be a heading, an item, a <summary>; it may have emphasis, numbers and emoji in it.
    """
    if len(text) > MAX_LENGTH * 2:
        return None
    text = re.sub(_ELEMENTS, " ", text).replace("\u2019", "'")
    bare = (word.strip(_AROUND) for word in text.split() if not re.fullmatch(_NO_WORD, word))
    paths, words = [], set[str]()
    for word in filter(None, bare):
        if word.lower() in _TITLE_WORDS:
            words.add(word.lower())
        else:
            paths.append(word)
    if len(paths) != 1 or not has_extension(paths[0]) or not is_path(paths[0]):
        return None
    is_shown = words & {"here", "here's"} and not words & _WHOLE_WORDS
    return None if is_shown else paths[0]


def has_extension(path: str) -> bool:
    """Whether a path ends in an extension of the table, or is a name that files have."""
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return name in NAMES or bool(dot and stem and extension.lower() in EXTENSIONS)


def is_path(text: str, *, quoted: bool = False) -> bool:
    """Whether a text of the prose is a path."""
    if is_placeholder(text):
        return True
    if not 1 <= len(text) <= MAX_LENGTH or re.search(_FORBIDDEN, text):
        return False
    if not quoted and (" " in text or "\t" in text):
        return False
    name = text.replace("\\", "/").rpartition("/")[2]
    if text.lower() in PRODUCTS or re.fullmatch(_VERSION, text) or re.match(_DOMAIN, text):
        return False
    return has_extension(text) or (bool(name) and ("/" in text or "\\" in text))


def is_directive(info: str) -> bool:
    """Whether the info of a fence makes it something other than code that is shown: ```{image} a.png."""
    return re.match(_DIRECTIVE, info) is not None and not re.search(_INFO_KEY, info)


def is_placeholder(path: str) -> bool:
    """Whether a path is one that instructions use as an example."""
    return re.fullmatch(_PLACEHOLDER, path) is not None


def path_in_info(info: str) -> str | None:
    """Return the path that the info of a fence names: `a.py`, `python a.py`, `python:a.py`, `file=a.py`."""
    info = info.strip()
    if not info:
        return None
    key = re.search(_INFO_KEY, info)
    if key:
        named = next(group for group in key.groups() if group is not None)
        return path_in(named if key.group(3) else f'"{named}"')
    if re.match(_DIRECTIVE, info):
        return None
    word, blank, rest = info.partition(" ")
    if not blank:
        language, colon, path = info.partition(":")
        if colon and len(language) > 1 and language.isalnum() and path_in(path):
            return path_in(path)
        return path_in(info)
    return path_in(rest) if "=" not in rest and word.strip("`") else None


def relative(path: str, roots: Sequence[str]) -> str:
    """Return a path below one of these directories as it is called from there; any other as it is.

    Slashes of both kinds count, and letter case does not in the letter of a drive.
    """
    if not roots or not (path.startswith(("/", "\\")) or path[1:2] == ":"):
        return path
    text = _with_slashes(path)
    for root in filter(None, roots):
        prefix = _with_slashes(root).rstrip("/") + "/"
        if text.startswith(prefix) and len(text) > len(prefix):
            return text[len(prefix) :].lstrip("/")
    return path


def _with_slashes(path: str) -> str:
    path = path.replace("\\", "/")
    return path[0].lower() + path[1:] if path[1:2] == ":" else path
