"""Look into the files of a workspace: read some of them, or search all."""

from __future__ import annotations

import os
import re

from clada.errors import CladaError
from clada.packing import choose_files, list_files, load_text, read_files
from clada.values import Value
from clada.world.files.workspace import Workspace
from clada.world.record import seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from clada.packing import PackedFile

LONGEST_LINE = 400  # characters of a line that are returned
MOST_MATCHES = 200


class Contents(Value):
    """The content of files."""

    files: tuple[PackedFile, ...]
    left_out: tuple[tuple[str, str], ...] = ()  # path and reason


class Match(Value):
    """A line that matches."""

    path: str
    line: int
    text: str


class Found(Value):
    """The lines that match, in the order of the paths."""

    matches: tuple[Match, ...]
    is_cut: bool = False  # there are more


def read(
    paths: Sequence[str],
    *,
    workspace: str | PathLike[str] = ".",
    reveal: Sequence[str] = (),
    remember: bool = True,
) -> Contents:
    """Return the content of files, of directories and of globs, with the reasons for what is left out.

    Files that look like secrets are left out unless `reveal` has a pattern for them. With `remember`, the
    files are saved in the record of the workspace, as by `clada.pack`. Raises CladaError if a path does not
    exist.
    """
    root = os.path.abspath(os.fspath(workspace))
    named, chosen = choose_files(root, paths, list_files(root))
    files, left_out = read_files(root, chosen, named, reveal)
    if remember:
        seen.remember(root, [(file.path, file.content) for file in files])
    return Contents(tuple(files), tuple(left_out))


def search(  # noqa: PLR0913 (all but two are named)
    pattern: str,
    paths: Sequence[str] = (),
    *,
    workspace: str | PathLike[str] = ".",
    regex: bool = False,
    ignore_case: bool = False,
    max_matches: int = MOST_MATCHES,
    reveal: Sequence[str] = (),
) -> Found:
    """Return the lines with a text, or that match a regular expression, in files, directories and globs.

    Without paths, all files that git does not ignore are searched. Binary, generated, very large and secret
    files are left out, as by `clada.pack`. Raises CladaError if a path does not exist, ValueError for a wrong
    expression. A regular expression can take very long: do not take one from a stranger.
    """
    try:
        expression = re.compile(pattern if regex else re.escape(pattern), re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ValueError(f"the regular expression is wrong: {error}") from None
    root = os.path.abspath(os.fspath(workspace))
    named, chosen = choose_files(root, paths, list_files(root))
    matches: list[Match] = []
    with Workspace(root) as files:
        for path in chosen:
            matches += _in_file(path, _text(files, path, path in named, reveal), expression)
            if len(matches) > max_matches:
                return Found(tuple(matches[:max_matches]), True)
    return Found(tuple(matches))


def _text(files: Workspace, path: str, is_named: bool, reveal: Sequence[str]) -> str:
    """Return the content of a file; nothing if it is not to be shown."""
    try:
        return load_text(files, path, is_named, reveal)[1].decode()
    except CladaError:
        return ""  # it is gone, or may not be read


def _in_file(path: str, text: str, expression: re.Pattern[str]) -> Iterator[Match]:
    for number, line in enumerate(text.split("\n"), 1):
        if found := expression.search(line):
            start = max(0, found.start() - LONGEST_LINE // 2) if len(line) > LONGEST_LINE else 0
            yield Match(path, number, line[start : start + LONGEST_LINE].rstrip("\r"))
