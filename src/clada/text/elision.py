"""Lines that stand for code which is not there: `# ... existing code ...`, `// ...`, `... rest of the file`.

A whole file, or a replacement, with such a line would lose what the line stands for.

1. Behind a comment sign: the dots alone, or with one of WORDS anywhere in the comment.
2. Without one: dots, and one of WORDS with a blank before it, dots at the end, or one of CODE behind it; or
   the same in parentheses or brackets, or behind a star; or one of WORDS, one of CODE and dots at the end.
   Dots alone are Python, `...previous` is a spread, and `Loading previous results...` is shown to people.
3. At the end of a line of code: a comment that begins with dots, and has one of WORDS.
"""

from __future__ import annotations

import re

DOTS = ("...", "…")
WORDS = ("existing", "rest of", "remaining", "unchanged", "same as", "previous", "omitted")
CODE = "code|file|functions?|methods?|class(?:es)?|imports?|implementation|lines|module|script"
SHORT = 100  # characters: a longer line is no such remark
_OPENING = ("//", "#", "--", ";", "%", "/*", "<!--", "{/*")
_CLOSING = ("*/", "-->", "*/}")
_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
_DOTS = r"(?:\.{3,}|…)"
_NO_CODE = r"[^\"'`=;{}\[\]<>]*"
_SAID = rf"(?:(?:the|keep|all|your)\s+)*(?:{'|'.join(WORDS)})\s+(?:\w+\s+)*?(?:{CODE})\b[\w\s]*"
_BARE = re.compile(rf"{_DOTS}(?:\s{_NO_CODE}|{_NO_CODE}{_DOTS})")
_OF_CODE = re.compile(rf"{_DOTS}?{_SAID}{_DOTS}?", re.IGNORECASE)
_BEHIND_CODE = re.compile(rf"\s(?:#|//|/\*|<!--)\s*({_DOTS}[^\"'`]*)$")


def find_elision(text: str, known: str = "") -> tuple[int, str] | None:
    """Return the first line that stands for code which is not there: its index, and the line without blanks.

    Lines of `known`, the text that is replaced, do not count: they are the file's own.
    """
    if not any(dots in text for dots in DOTS):
        return None
    owned = {line.strip() for line in known.split("\n")}
    for index, line in enumerate(text.split("\n")):
        if is_elision(line) and line.strip() not in owned:
            return index, line.strip()
    return None


def elided_content(line: str) -> str:
    """Return what is said of a text with such a line."""
    from clada.errors import shortened

    return f'"{shortened(line)}" stands for code that is not there: send the whole file or a SEARCH block'


def is_elision(line: str) -> bool:
    """Whether this line stands for others."""
    if not any(dots in line for dots in DOTS):
        return False
    bare = line.strip()
    comment = _without_signs(bare)
    if comment != bare:
        return comment.replace("(", "", 1).replace(")", "", 1).strip() in DOTS or bool(_WORD.search(comment))
    behind = _BEHIND_CODE.search(bare[-SHORT:])
    if behind:
        return bool(_WORD.search(behind.group(1)))
    if bare.startswith("(") and bare.endswith(")"):
        return bool(_WORD.search(bare)) and not bare[1:-1].strip(" .…").count("(")
    return _is_remark(bare)


def _is_remark(text: str) -> bool:
    """Whether a line without a comment sign stands for others: it is no code."""
    text = text.removeprefix("* ").strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if _BARE.fullmatch(text) and _WORD.search(text):
        return True
    return len(text) <= SHORT and _OF_CODE.fullmatch(text) is not None


def _without_signs(text: str) -> str:
    """Return what is in a comment; the text itself, if it is none."""
    opened = next((sign for sign in _OPENING if text.startswith(sign)), None)
    if opened is None:
        return text
    inside = text[len(opened) :].lstrip("/#-;%*! ")
    closed = next((sign for sign in _CLOSING if inside.endswith(sign)), "")
    return inside.removesuffix(closed).strip()
