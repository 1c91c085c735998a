"""Lines that stand for code which is not there: `# ... existing code ...`, `// rest of the file unchanged`.

A whole file, or a replacement, with such a line would lose what the line stands for.

    line    = comment              in any comment syntax: a whole line, or all there is in a body
            | [remark] | (remark)  of two words or more
            | dots remark          without a comment sign there must be dots; `...rest` is a spread
    comment = dots | dots words dots | remark
    remark  = words that say that code is left out: see `remarks`

A remark without dots is made of these words alone: `# unchanged since 2.0` and `// the rest parameter` say
something about code that is there. With dots at one end it may be shorter: `# ... other methods`.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

LONGEST = 120  # characters of a remark
MOST_WORDS = 8  # between dots
PROSE = (".md", ".mdx", ".markdown", ".rst", ".adoc")  # files in which `#` and `//` are not comments

_DOTS = r"(?:\.{3,}|…|⋮|⋯|\. \. \.)"
_OPENING = re.compile(
    r"""<!--+|<%--|\{\{!(?:--)?|\{\s*/\*+|/\*+!?|\{\#|\{-|\(\*+|--\[\[|\#\||@\*|//+!?|\#+|--+|;+|%+|::"""
    r"""|(?:rem|REM|Rem|dnl)(?=\s)|'(?=\s)|"{1,2}(?=\s)|!(?=\s)"""
)
_OPENING_IN_PROSE = re.compile(r"<!--+|\{\s*/\*+")
_CLOSING = re.compile(r"""(?:--+>|--%>|(?:--)?\}\}|\*+/\s*\}|\*+/|\#\}|-\}|\*+\)|\]\]|\|\#|\*@)\s*[,;)]?$""")
_DECORATION = " \t=-*~_#"
_NOT_SAID = re.compile(r"""[=?"`$\\|]|://""")  # in a remark
_BEHIND_CODE = re.compile(rf"\s(?:#|//|/\*|<!--)\s*({_DOTS}[^\"'`]*)$")
_IN_EMPTY_BODY = re.compile(r"(?:\bpass|(?<!\.)\.\.\.|\{)\s*((?:#|//|/\*).*?)\s*\}?\)?[;,]?$")
_LEADING = re.compile(rf"[\[(<{{\s]*{_DOTS}")
_TRAILING = re.compile(rf"{_DOTS}[\])>}}\s]*$")
_NO_CODE = r"[^\"'`=;{}\[\]<>]*"
_BARE = re.compile(rf"{_DOTS}(?:\s{_NO_CODE}|{_NO_CODE}{_DOTS})")
_WORD = re.compile(r"\b(?:existing|rest of|remaining|unchanged|same as|previous|omitted)\b", re.IGNORECASE)
_TELLING = re.compile(
    r"existing|rest\b|remain|unchanged|same|omit|truncat|snip|elide|previous|other|more|lines|unmodified"
    r"|untouched|intact|as[ -]is|before|no change|original|brevity|keep|leave|here|else|abridged|skipped"
    rf"|not shown|hidden|continues?|{_DOTS}",
    re.IGNORECASE,
)


def find_elision(text: str, known: str = "", path: str = "") -> tuple[int, str] | None:
    """Return the first line that stands for code which is not there: its index, and the line without blanks.

    Lines of `known`, the text that is replaced, do not count: they are the file's own.
    """
    opening = _OPENING_IN_PROSE if path.lower().endswith(PROSE) else _OPENING
    owned: set[str] | None = None
    for index, line in enumerate(text.split("\n")):
        if is_elision(line, opening):
            owned = {each.strip() for each in known.split("\n")} if owned is None else owned
            if line.strip() not in owned:
                return index, line.strip()
    return None


def elided_content(line: str) -> str:
    """Return what is said of a text with such a line."""
    from clada.errors import shortened

    return f'"{shortened(line)}" stands for code that is not there: send the whole file or a SEARCH block'


def is_elision(line: str, opening: Pattern[str] = _OPENING) -> bool:
    """Whether this line stands for others."""
    if not _TELLING.search(line):
        return False
    line = line.strip()
    comment = _comment(line, opening) if len(line) <= 2 * LONGEST else None
    if comment is not None:
        return _comment_stands_for_code(comment)
    if opening is _OPENING:
        behind = _BEHIND_CODE.search(line[-LONGEST:])
        if behind:
            return bool(_WORD.search(behind.group(1)))
        body = _IN_EMPTY_BODY.search(line[-LONGEST:])
        inside = _comment(body.group(1), opening) if body else None
        if inside is not None:
            return bool(_said(inside)) and _comment_stands_for_code(inside)
    return len(line) <= LONGEST and _text_stands_for_code(line)


def _comment(line: str, opening: Pattern[str]) -> str | None:
    """Return what a comment says; None for a line that is not one."""
    opened = opening.match(line)
    return _CLOSING.sub("", line[opened.end() :]).strip(_DECORATION) if opened else None


def _comment_stands_for_code(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    said, leading, trailing = _said(text), bool(_LEADING.match(text)), bool(_TRAILING.search(text))
    if not said:
        return leading and not text.strip(f"{_DECORATION}.…⋮⋯()[]{{}}<>")
    if _NOT_SAID.search(text):
        return False
    if leading and trailing:
        return said.count(" ") < MOST_WORDS
    if text[0].islower() and text.endswith(".") and not trailing and said.count(" ") < 3:  # noqa: PLR2004
        return False  # the last words of a sentence that began on the line above
    return _is_remark(said, leading=leading, trailing=trailing)


def _text_stands_for_code(line: str) -> bool:
    """Whether a line without a comment sign stands for others: it is neither code nor shown to people."""
    text = line.strip("\"'").strip() if line.startswith(('"""', "'''")) else line.removeprefix("* ").strip()
    is_wrapped = text[:1] + text[-1:] in ("[]", "()", "<>")
    inside = text[1:-1].strip() if is_wrapped else text
    if re.search(r"[=\"'`;{}\[\]<>]|\w\(|,\s*(?:\.\.\.|…|$)", inside):
        return False
    said = _said(inside)
    if said.startswith("showing lines ") or (is_wrapped and " " in said):
        return _is_remark(said) or (_BARE.fullmatch(inside) is not None and _WORD.search(said) is not None)
    if _BARE.fullmatch(inside):
        return _WORD.search(said) is not None or _is_remark(said, trailing=True)
    dots = _LEADING.match(inside) or _TRAILING.search(inside)
    if not dots:
        return False
    from clada.text.remarks import names_code

    return names_code(said) and _is_remark(said)


def _said(text: str) -> str:
    """Return the words of a text, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower().replace("'", "").replace("\u2019", "")))


def _is_remark(said: str, *, leading: bool = False, trailing: bool = False) -> bool:
    """Whether words say that code is left out; with dots before or behind them, fewer words are needed."""
    few = leading and said.count(" ") < MOST_WORDS
    if few and _WORD.search(said):
        return True
    # To compile the patterns of remarks takes longer than Python takes to start: few documents need them.
    from clada.text.remarks import is_noun, is_remark

    return (few and is_noun(said)) or is_remark(said, dots=leading or trailing)
