"""Lines that stand for code which is not there: `# ... existing code ...`, `// ...`, `... rest of the file`.

A whole file, or a replacement, with such a line would lose what the line stands for.

1. Behind a comment sign: the dots alone, or with one of WORDS anywhere in the comment.
2. Without one: dots, a blank and one of WORDS; or the same all in parentheses; or one of WORDS, one of CODE
   and dots at the end. Dots alone are Python, and `Loading previous results...` is a text to be shown.
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
_BARE = re.compile(r"(?:\.{3,}|…)\s[^\"'`=;{}\[\]<>]*")  # no code
_BARE_BEFORE = re.compile(
    rf"(?:(?:the|keep|all|your)\s+)*(?:{'|'.join(WORDS)})\s+(?:\w+\s+)*?(?:{CODE})\b[\w\s]*(?:\.{{3,}}|…)",
    re.IGNORECASE,
)


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
    if bare.startswith("(") and bare.endswith(")"):
        return bool(_WORD.search(bare)) and not bare[1:-1].strip(" .…").count("(")
    if _BARE.fullmatch(bare) and _WORD.search(bare):
        return True
    return len(bare) <= SHORT and _BARE_BEFORE.fullmatch(bare) is not None


def _without_signs(text: str) -> str:
    """Return what is in a comment; the text itself, if it is none."""
    opened = next((sign for sign in _OPENING if text.startswith(sign)), None)
    if opened is None:
        return text
    inside = text[len(opened) :].lstrip("/#-;%*! ")
    closed = next((sign for sign in _CLOSING if inside.endswith(sign)), "")
    return inside.removesuffix(closed).strip()
