"""Notes on files that a run leaves in a state that does not parse.

Python, JSON, TOML and XML are parsed by the standard library, other languages by tree-sitter-language-pack,
where that is installed (`clada[syntax]`). A parser is loaded when a file of its language has changed.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock

from clada.errors import CladaError
from clada.text.escape import first_few
from clada.values import Value
from clada.world.files.paths import display_path
from clada.world.files.tree import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

LARGEST = 1 << 20  # bytes of a file that is parsed
MOST_KEPT = 64 << 20  # bytes of old contents that are kept; files beyond that are not looked at
MOST_NAMED = 10  # files that are named in notes
ENCODING_UNKNOWN = 18  # the error code of expat
_FILTERS = allocate_lock()  # the filters of warnings belong to all threads
# JSON files in which comments are allowed.
WITH_COMMENTS = ("tsconfig", "jsconfig", ".eslintrc", "devcontainer", "settings.json", "launch.json")
# Languages of tree-sitter, by the endings of their files.
TREE_SITTER = {
    ending: language
    for language, endings in {
        "bash": "sh bash", "c": "c", "clojure": "clj cljs", "cmake": "cmake", "cpp": "cpp cc cxx hpp hh hxx",
        "csharp": "cs", "css": "css", "dart": "dart", "elixir": "ex exs", "elm": "elm", "erlang": "erl",
        "fish": "fish", "gleam": "gleam", "go": "go", "graphql": "graphql gql", "haskell": "hs",
        "hcl": "hcl tf tfvars", "java": "java", "javascript": "js mjs cjs jsx",
        "julia": "jl", "kotlin": "kt kts", "lua": "lua", "nix": "nix", "ocaml": "ml", "perl": "pl pm",
        "php": "php", "powershell": "ps1 psm1", "proto": "proto", "r": "r R", "ruby": "rb", "rust": "rs",
        "scala": "scala", "scss": "scss", "solidity": "sol", "svelte": "svelte", "swift": "swift",
        "tsx": "tsx", "typescript": "ts mts cts", "vue": "vue", "yaml": "yaml yml", "zig": "zig",
    }.items()
    for ending in endings.split()
}  # fmt: skip


class Place(Value):
    """Where a file stops to parse, and why."""

    line: int
    column: int
    why: str

    @property
    def text(self) -> str:
        """The place and the reason, for notes."""
        return f"line {self.line}, column {self.column}: {self.why}"


class SyntaxLook:
    """Compares how the files of a run parse before and after it."""

    def __init__(self, files: Files, *, planned: bool) -> None:
        self._files = files
        self._words = "would not parse" if planned else "does not parse"
        self._before: dict[Parts, bytes | None] = {}  # None: there was no file
        self._kept = 0

    def before(self, paths: Iterable[str]) -> None:
        """Keep the content of files that are about to be changed."""
        for path in paths:
            if _parser(path) is None or self._kept > MOST_KEPT:
                continue
            try:
                parts = self._files.locate(path)
                if parts not in self._before:
                    entry = self._files.entry(parts)
                    if entry and (entry.kind != "file" or entry.size > LARGEST):
                        continue
                    data = self._before[parts] = self._files.load(parts) if entry else None
                    self._kept += len(data or b"")
            except CladaError:
                continue  # the operation will say what is wrong

    def notes(self) -> list[str]:
        """Return a note for each file that does not parse now, and did before, or is new."""
        known = set(self._before.values())
        found = []
        for parts, old in self._before.items():
            new = content_of(self._files, parts, LARGEST)
            if new is None or new in known:
                continue  # it is unchanged, or was moved
            path = display_path(parts)
            wrong = find_error(path, new)
            if wrong and (old is None or not find_error(path, old)):
                found.append((path, f"{self._words}{'' if old is None else ' any more'}: {wrong.text}"))
        notes = [f"{path} {text}" for path, text in found[:MOST_NAMED]]
        more = [path for path, _text in found[MOST_NAMED:]]
        return [*notes, f"{self._words} either: {first_few(more, MOST_NAMED)}"] if more else notes


def find_error(path: str, data: bytes) -> Place | None:
    """Return where a file does not parse; None if it does, or if no parser can tell."""
    parser = _parser(path)
    if parser is None:
        return None
    try:
        return parser(data)
    except Exception:  # noqa: BLE001 (too deep, too large, too strange: then nothing is known)
        return None


def _parser(path: str) -> Callable[[bytes], Place | None] | None:
    name = path.rpartition("/")[2]
    ending = name.rpartition(".")[2] if "." in name else ""
    if ending == "json" and name.startswith(WITH_COMMENTS):
        return None
    if ending in TREE_SITTER:
        return lambda data: _find_tree_sitter_error(TREE_SITTER[ending], data)
    return PARSERS.get(ending)


def _place(data: bytes, offset: int, why: str) -> Place:
    """Return a place by its offset in bytes."""
    start = data.rfind(b"\n", 0, offset) + 1
    return Place(data.count(b"\n", 0, offset) + 1, len(data[start:offset].decode(errors="replace")) + 1, why)


def _find_python_error(data: bytes) -> Place | None:
    import warnings

    if b"\0" in data:
        return _place(data, data.index(b"\0"), "a null byte")
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "<file>", "exec", dont_inherit=True)
        except SyntaxError as error:
            version = ".".join(map(str, sys.version_info[:2]))
            return Place(error.lineno or 1, error.offset or 1, f"{error.msg} (Python {version})")
    return None


def _find_json_error(data: bytes) -> Place | None:
    import json

    try:
        json.loads(data.decode("utf-8-sig"), parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        return Place(error.lineno, error.colno, error.msg)
    except UnicodeDecodeError as error:
        return _place(data, error.start, "not UTF-8")
    return None


def _find_toml_error(data: bytes) -> Place | None:
    import re
    import tomllib

    try:
        tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        return _place(data, error.start, "not UTF-8")
    except tomllib.TOMLDecodeError as error:
        why, at, where = str(error).partition(" (at ")
        numbers = re.findall(r"\d+", where) if at else []
        if len(numbers) == 2:  # noqa: PLR2004 (a line and a column)
            return Place(int(numbers[0]), int(numbers[1]), why)
        return _place(data, len(data), why)  # at the end of the document
    return None


class _DoctypeError(Exception):
    """The document declares things of its own, which may be entities without end."""


def _find_xml_error(data: bytes) -> Place | None:
    from xml.parsers import expat

    def refuse_declarations(_name: str, _system: object, _public: object, has_subset: bool) -> None:
        if has_subset:
            raise _DoctypeError

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_declarations
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if error.code == ENCODING_UNKNOWN:
            return None
        return Place(error.lineno, error.offset + 1, expat.ErrorString(error.code) or "not well-formed")
    except _DoctypeError:
        return None
    return None


def _find_tree_sitter_error(language: Any, data: bytes) -> Place | None:
    try:
        from tree_sitter_language_pack import get_parser
    except ImportError:
        return None
    node: Any = get_parser(language).parse(data).root_node
    if not node.has_error:
        return None
    while not node.is_missing:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None or node.is_error:
            break
        node = inner
    return _place(data, node.start_byte, f"`{node.type}` is missing" if node.is_missing else "syntax error")


PARSERS: dict[str, Callable[[bytes], Place | None]] = {
    **dict.fromkeys("py pyi pyw".split(), _find_python_error),
    **dict.fromkeys("json geojson ipynb webmanifest".split(), _find_json_error),
    "toml": _find_toml_error,
    **dict.fromkeys(
        "xml svg xsd xsl xslt plist xhtml csproj vcxproj props targets resx xaml wsdl kml gpx".split(),
        _find_xml_error,
    ),
}
