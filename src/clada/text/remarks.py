"""Remarks that say that code is left out: `existing code`, `rest of the file unchanged`, `40 more lines`.

    remark  = [KEEP] KEPT [words] NOUN [STATE]         keep the existing code; other routes remain the same
            | [KEEP] the rest [of words NOUN] [STATE]  the rest of your component is unchanged
            | [NOUN] STATE                             imports unchanged; omitted for brevity
            | lines NUMBERS                            showing lines 1-20 of 60; 40 more lines

The words are in lower case and without punctuation.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match


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
_OF_KEPT = re.compile(
    rf"(?:{_KEEP} )*(?:{_THE} )*(?P<kept>{_KEPT})(?: (?:{_KEPT}|of|the|your|in))*(?: \w+){{0,3}}?"
    rf" (?P<noun>{_NOUN})(?: (?:and|or) (?:\w+ ){{0,2}}{_NOUN})*{_WHERE}{_END}"
)
_OF_REST = re.compile(
    rf"(?:{_KEEP} )*(?:{_THE} )*(?:rest|remainder)(?: of(?: {_THE})*(?: \w+){{0,4}}?(?P<noun> {_NOUN})?)?"
    rf"{_WHERE}{_END}"
)
_OF_NOUN = re.compile(
    rf"(?:{_THE} )*(?:\w+ )?(?P<noun>{_NOUN})(?: (?:and|or) (?:\w+ )?{_NOUN})*"
    rf"(?P<end>(?: {_GLUE})*? (?P<state>{_STATE})(?: {_GLUE})*)"
)
_OTHER_REMARKS = (
    # The state alone.
    re.compile(rf"(?:(?:is|are|all|left|kept|remains?|stays?) )*{_ALONE}(?: from (?:before|above)| code)?"),
    re.compile(r"(?:remains?|stays?|left|kept) (?:the same|as is|as before)"),
    re.compile(rf"(?:everything|all) (?:else|the rest|other \w+){_WHERE}{_SAID_LEFT_OUT}"),
    re.compile(
        rf"(?:keep|leave|retain|preserve) (?:{_THE} )*(?:\w+ )?(?:everything|rest|{_NOUN})(?: else)?"
        rf"{_SAID_LEFT_OUT}"
    ),
    # For brevity.
    re.compile(
        rf".*\b(?:omitted|skipped|truncated|elided|not shown|left out|shortened|abbreviated|excluded|removed"
        rf"|hidden|collapsed) (?:here )?(?:for|to save) {_REASON}"
    ),
    re.compile(
        r"(?:for brevity|to save space)\b.* (?:omit(?:ted)?|skip(?:ped)?|not shown|truncated|unchanged|same)"
    ),
    re.compile(
        rf"(?:(?:the |this )?(?:file|output|text|response|listing|{_CODE})(?: is| was| has been)? )?"
        r"(?:truncated|snip|snipped|elided|abridged)(?: here| output| content| file| code)?"
    ),
    # Numbers of lines.
    re.compile(
        r"(?:showing|displaying|viewing)(?: only)?(?: the)?(?: first| last)?(?: lines?)? \d+(?:(?: to)? \d+)?"
        r"(?: (?:lines?|of|out of|the|total|about|\d+))*"
    ),
    re.compile(
        rf"(?:the )?(?:(?:remaining|other|next|last) )?(?:lines? \d+(?:(?: to| through)? \d+)?"
        rf"|\d+ (?:(?:more|other|remaining|unchanged|existing) )?(?:lines?|rows|characters)){_SAID_LEFT_OUT}"
    ),
    re.compile(rf"(?:and )?\d+ (?:more|other|additional|remaining) {_NOUN}"),
)
_BARE_KEPT = _any_of("existing remaining unchanged")  # with a noun of _CODE alone: `# existing imports`
_CLEAR_STATE = rf"(?!(?:go(?:es)? |belongs? )?here|same$|follows?|as above|left){_STATE}"


def names_code(said: str) -> bool:
    """Whether one of the words stands for code, or for a file."""
    return bool(re.search(rf"\b(?:{_CODE}|file)\b", said))


def is_noun(said: str) -> bool:
    """Whether the words are one thing that code consists of, and nothing else."""
    return bool(re.fullmatch(_NOUN, said))


def is_remark(said: str, *, dots: bool) -> bool:
    """Whether words say that code is left out; with dots before or behind them, fewer words are needed."""
    return (
        any(remark.fullmatch(said) for remark in _OTHER_REMARKS)
        or _is_kept(_OF_KEPT.fullmatch(said), dots=dots)
        or _is_rest(_OF_REST.fullmatch(said), dots=dots)
        or _is_left_out(_OF_NOUN.fullmatch(said), dots=dots)
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
