"""Whole files in tags: <file path="PATH">, <codeblock path="PATH">, <antArtifact … title="PATH">."""

from __future__ import annotations

import re

from clada.notations.markdown import Fence
from clada.notations.path_text import path_in

_TAG = re.compile(rb"<(file|codeblock|antArtifact)[ \t]([^<>\n]*+)>\n?")
_ATTRIBUTE = re.compile(r"""\b(path|name|title)=(?:"([^"]*)"|'([^']*)')""")
_KEYS = {b"file": ("path", "name"), b"codeblock": ("path",), b"antArtifact": ("title",)}


def tagged_file(data: bytes, start: int, limit: int) -> tuple[Fence, str] | None:
    """Return what is between the tag that opens here and its closing one, and the path; None if it has none.

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
