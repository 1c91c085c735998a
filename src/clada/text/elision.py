"""Lines that stand for omitted code: `# ... existing code ...`, `// rest of the file unchanged`.

Writing a whole file, or a replacement, with such a line would lose the omitted code.

    line    = comment              in any comment syntax: a whole line, or all there is in a body
            | [remark] | (remark)  of two words or more
            | dots remark          without a comment sign there must be dots; `...rest` is a spread
    comment = dots | dots words dots | remark
    remark  = [KEEP] KEPT [words] NOUN [STATE]         keep the existing code; other routes remain the same
            | [KEEP] the rest [of words NOUN] [STATE]  the rest of your component is unchanged
            | [NOUN] STATE                             imports unchanged; omitted for brevity
            | lines NUMBERS                            showing lines 1-20 of 60; 40 more lines

A remark without dots is made of these words alone: `# unchanged since 2.0` and `// the rest parameter` say
something about code that is there. With dots at one end it may be shorter: `# ... other methods`.
"""

from __future__ import annotations

import re

from clada.errors import shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

LONGEST = 120  # characters of a remark
MOST_WORDS = 8  # between dots
PROSE = (".md", ".mdx", ".markdown", ".rst", ".adoc")  # files in which `#` and `//` are not comments

_DOTS = r"(?:\.{3,}|…|⋮|⋯|\. \. \.)"
_OPENING = (
    r"""<!--+|<%--|\{\{!(?:--)?|\{\s*/\*+|/\*+!?|\{\#|\{-|\(\*+|--\[\[|\#\||@\*|//+!?|\#+|--+|;+|%+|::"""
    r"""|(?:rem|REM|Rem|dnl)(?=\s)|'(?=\s)|"{1,2}(?=\s)|!(?=\s)"""
)
_OPENING_IN_PROSE = r"<!--+|\{\s*/\*+"
_CLOSING = r"""(?:--+>|--%>|(?:--)?\}\}|\*+/\s*\}|\*+/|\#\}|-\}|\*+\)|\]\]|\|\#|\*@)\s*[,;)]?$"""
_DECORATION = " \t=-*~_#"
_NOT_SAID = r"""[=?"`$\\|]|://"""  # in a remark
_BEHIND_CODE = rf"\s(?:#|//|/\*|<!--)\s*({_DOTS}[^\"'`]*)$"
_IN_EMPTY_BODY = r"(?:\bpass|(?<!\.)\.\.\.|\{)\s*((?:#|//|/\*).*?)\s*\}?\)?[;,]?$"
_LEADING = rf"[\[(<{{\s]*{_DOTS}"
_TRAILING = rf"{_DOTS}[\])>}}\s]*$"
_NO_CODE = r"[^\"'`=;{}\[\]<>]*"
_BARE = rf"{_DOTS}(?:\s{_NO_CODE}|{_NO_CODE}{_DOTS})"
_WORD = r"(?i)\b(?:existing|rest of|remaining|unchanged|same as|previous|omitted)\b"
_TELLING = (
    r"(?i)existing|rest\b|remain|unchanged|same|omit|truncat|snip|elide|previous|other|more|lines|unmodified"
    r"|untouched|intact|as[ -]is|before|no change|original|brevity|keep|leave|here|else|abridged|skipped"
    rf"|not shown|hidden|continues?|{_DOTS}"
)


def _any_of(*phrases: str) -> str:
    """Return a pattern for one of these words; `_` is a blank in a phrase."""
    words = " ".join(phrases).split()
    return f"(?:{'|'.join(words)})".replace("_", " ")


# The words of the grammar.
_THE = _any_of("the your my our its all any both of that this these those some an?")
_KEEP = _any_of(
    "keep keeping leave retain preserve maintain add insert put place include paste copy use continue",
    "with and then plus here is are goes? everything as in",
)
_KEPT = _any_of(
    "existing remaining previous original other same current more additional further old prior unchanged"
)
_CODE = _any_of(
    "codes? codebase imports? implementations? logic methods? functions? functionality jsx markup",
    "boilerplate contents? body config configuration",
)
_WHOLES = _any_of("file class component module script program page styles template")
_NOUN = _any_of(
    _CODE[3:-1].replace("|", " "),
    _WHOLES[3:-1].replace("|", " "),
    "files classes lines modules scripts document components props properties fields attributes members",
    "states? hooks? effects? handlers? listeners? routes? routers? endpoints? controllers? middlewares?",
    "views? models? schemas? serializers? services? helpers? utils utilities constructors? getters?",
    "setters? decorators? tests? cases fixtures mocks style rules? selectors html css elements? sections?",
    "tags nodes children inputs outputs buttons items entries rows columns tables query queries",
    "statements? declarations? definitions? constants? variables? vars types? interfaces? enums? structs?",
    "traits? exports? includes? headers? dependencies packages plugins options settings configs",
    "configurations setup initiali[sz]ations? validations? error_handling parameters params arguments",
    "args steps stages jobs tasks targets commands blocks? parts? stuff things text docstrings? comments?",
)
_LEFT_OUT = _any_of(
    "unchanged unmodified untouched unaltered intact identical omitted elided truncated snipped",
    "abbreviated collapsed skipped hidden excluded not_(?:shown|changed|modified|included)",
    "left_(?:out|as_is) no_changes?(?:_needed|_required|_here)?",
    "as_(?:is|it_is|it_was|they_(?:are|were)|before|above)",
    "(?:the_)?same(?:_as_(?:before|above|earlier|previously|it_was|(?:in_)?(?:the_)?(?:original|previous)))?",
    "continues?(?:_here|_below)? stays? remain(?:s|ing)? follows?",
)
_STATE = f"(?:{_LEFT_OUT}|(?:go(?:es)? |belongs? )?here)"
_ALONE = _any_of(
    "unchanged unmodified untouched omitted elided truncated as_before",
    "no_changes?(?:_needed|_required|_here)?",
    "same_as_(?:before|earlier|previously|it_was|(?:in_)?(?:the_)?(?:original|previous)(?:_version)?)",
)
_REASON = _any_of("brevity clarity conciseness simplicity space readability length")
_GLUE = _any_of(
    "is are was were be been will should must has have stays? remains? keeps? kept left exactly",
    "completely entirely all still also just here below above it they in_place in_th(?:is|e)_file and the",
    "from to this of that file section part code function method class component",
    f"for_(?:now|{_REASON})",
)
_SAID_LEFT_OUT = rf"(?: {_GLUE})*(?: {_STATE})+(?: {_GLUE})*"
_END = f"(?P<end>{_SAID_LEFT_OUT})?"
_WHERE = r"(?P<where> (?:in|of|for|from)(?: \w+){1,3}?)?"
_OF_KEPT = (
    rf"(?:{_KEEP} )*(?:{_THE} )*(?P<kept>{_KEPT})(?: (?:{_KEPT}|of|the|your|in))*(?: \w+){{0,3}}?"
    rf" (?P<noun>{_NOUN})(?: (?:and|or) (?:\w+ ){{0,2}}{_NOUN})*{_WHERE}{_END}"
)
_OF_REST = (
    rf"(?:{_KEEP} )*(?:{_THE} )*(?:rest|remainder)(?: of(?: {_THE})*(?: \w+){{0,4}}?(?P<noun> {_NOUN})?)?"
    rf"{_WHERE}{_END}"
)
_OF_NOUN = (
    rf"(?:{_THE} )*(?:\w+ )?(?P<noun>{_NOUN})(?: (?:and|or) (?:\w+ )?{_NOUN})*"
    rf"(?P<end>(?: {_GLUE})*? (?P<state>{_STATE})(?: {_GLUE})*)"
)
_OTHER_REMARKS = (
    # The state alone.
    (rf"(?:(?:is|are|all|left|kept|remains?|stays?) )*{_ALONE}(?: from (?:before|above)| code)?"),
    (r"(?:remains?|stays?|left|kept) (?:the same|as is|as before)"),
    (rf"(?:everything|all) (?:else|the rest|other \w+){_WHERE}{_SAID_LEFT_OUT}"),
    (
        rf"(?:keep|leave|retain|preserve) (?:{_THE} )*(?:\w+ )?(?:everything|rest|{_NOUN})(?: else)?"
        rf"{_SAID_LEFT_OUT}"
    ),
    # For brevity.
    (
        rf".*\b(?:omitted|skipped|truncated|elided|not shown|left out|shortened|abbreviated|excluded|removed"
        rf"|hidden|collapsed) (?:here )?(?:for|to save) {_REASON}"
    ),
    (r"(?:for brevity|to save space)\b.* (?:omit(?:ted)?|skip(?:ped)?|not shown|truncated|unchanged|same)"),
    (
        rf"(?:(?:the |this )?(?:file|output|text|response|listing|{_CODE})(?: is| was| has been)? )?"
        r"(?:truncated|snip|snipped|elided|abridged)(?: here| output| content| file| code)?"
    ),
    # Numbers of lines.
    (
        r"(?:showing|displaying|viewing)(?: only)?(?: the)?(?: first| last)?(?: lines?)? \d+(?:(?: to)? \d+)?"
        r"(?: (?:lines?|of|out of|the|total|about|\d+))*"
    ),
    (
        rf"(?:the )?(?:(?:remaining|other|next|last) )?(?:lines? \d+(?:(?: to| through)? \d+)?"
        rf"|\d+ (?:(?:more|other|remaining|unchanged|existing) )?(?:lines?|rows|characters)){_SAID_LEFT_OUT}"
    ),
    (rf"(?:and )?\d+ (?:more|other|additional|remaining) {_NOUN}"),
)
_BARE_KEPT = _any_of("existing remaining unchanged")  # with a noun of _CODE alone: `# existing imports`
_CLEAR_STATE = rf"(?!(?:go(?:es)? |belongs? )?here|same$|follows?|as above|left){_STATE}"


def find_elision(text: str, known: str = "", path: str = "") -> str | None:
    """Return the first line that stands for omitted code, without the blanks around it.

    Lines of `known`, the text that is replaced, do not count: they are the file's own.
    """
    opening = _OPENING_IN_PROSE if path.lower().endswith(PROSE) else _OPENING
    owned: set[str] | None = None
    for line in text.split("\n"):
        if is_elision(line, opening):
            owned = {each.strip() for each in known.split("\n")} if owned is None else owned
            if line.strip() not in owned:
                return line.strip()
    return None


def elision_complaint(text: str, known: str = "", path: str = "") -> str | None:
    """Return the error message for a text with such a line."""
    line = find_elision(text, known, path)
    remedy = "send the whole file or a SEARCH block"
    return f'"{shortened(line)}" stands for code that is not there: {remedy}' if line else None


def is_elision(line: str, opening: str = _OPENING) -> bool:
    """Whether this line stands for others."""
    if not re.search(_TELLING, line):
        return False
    line = line.strip()
    comment = _comment(line, opening) if len(line) <= 2 * LONGEST else None
    if comment is not None:
        return _comment_stands_for_code(comment)
    if opening is _OPENING:
        behind = re.search(_BEHIND_CODE, line[-LONGEST:])
        if behind:
            return bool(re.search(_WORD, behind.group(1)))
        body = re.search(_IN_EMPTY_BODY, line[-LONGEST:])
        inside = _comment(body.group(1), opening) if body else None
        if inside is not None:
            return bool(_words_of(inside)) and _comment_stands_for_code(inside)
    return len(line) <= LONGEST and _text_stands_for_code(line)


def _comment(line: str, opening: str) -> str | None:
    """Return the text of a comment; None for a line that is not one."""
    opened = re.match(opening, line)
    return re.sub(_CLOSING, "", line[opened.end() :]).strip(_DECORATION) if opened else None


def _comment_stands_for_code(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    said, leading, trailing = (
        _words_of(text),
        bool(re.match(_LEADING, text)),
        bool(re.search(_TRAILING, text)),
    )
    if not said:
        return leading and not text.strip(f"{_DECORATION}.…⋮⋯()[]{{}}<>")
    if re.search(_NOT_SAID, text):
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
    said = _words_of(inside)
    if said.startswith("showing lines ") or (is_wrapped and " " in said):
        return _is_remark(said) or (
            re.fullmatch(_BARE, inside) is not None and re.search(_WORD, said) is not None
        )
    if re.fullmatch(_BARE, inside):
        return re.search(_WORD, said) is not None or _is_remark(said, trailing=True)
    dots = re.match(_LEADING, inside) or re.search(_TRAILING, inside)
    if not dots:
        return False
    return _names_code(said) and _is_remark(said)


def _words_of(text: str) -> str:
    """Return the words of a text, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower().replace("'", "").replace("\u2019", "")))


def _is_remark(said: str, *, leading: bool = False, trailing: bool = False) -> bool:
    """Whether words say that code is left out; with dots before or behind them, fewer words are needed."""
    few = leading and said.count(" ") < MOST_WORDS
    if few and re.search(_WORD, said):
        return True
    return (few and bool(re.fullmatch(_NOUN, said))) or _says_left_out(said, dots=leading or trailing)


def _names_code(said: str) -> bool:
    """Whether one of the words stands for code, or for a file."""
    return bool(re.search(rf"\b(?:{_CODE}|file)\b", said))


def _says_left_out(said: str, *, dots: bool) -> bool:
    """Whether words say that code is left out; with dots before or behind them, fewer words are needed."""
    return (
        any(re.fullmatch(remark, said) for remark in _OTHER_REMARKS)
        or _is_kept(re.fullmatch(_OF_KEPT, said), dots=dots)
        or _is_rest(re.fullmatch(_OF_REST, said), dots=dots)
        or _is_left_out(re.fullmatch(_OF_NOUN, said), dots=dots)
    )


def _is_kept(found: Match[str] | None, *, dots: bool) -> bool:
    if not found or dots or found["end"]:
        return found is not None
    if found["kept"] in ("previous", "original"):
        return found["noun"] == "code" and not found["where"]
    is_bare = not found["where"] and re.fullmatch(_BARE_KEPT, found["kept"])
    return bool(is_bare and re.fullmatch(_CODE, found["noun"]))


def _is_rest(found: Match[str] | None, *, dots: bool) -> bool:
    if not found or dots or found["end"]:
        return found is not None
    return found["noun"] is not None and bool(re.fullmatch(f" (?:{_CODE}|{_WHOLES})", found["noun"]))


def _is_left_out(found: Match[str] | None, *, dots: bool) -> bool:
    if not found or dots:
        return found is not None
    return bool(re.fullmatch(_CODE, found["noun"]) and re.fullmatch(_CLEAR_STATE, found["state"]))
