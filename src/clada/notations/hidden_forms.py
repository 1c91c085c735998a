"""The forms of hidden parts: how reasoning, elements, tokens and turns open and close, and who writes them.

`hidden` scans a document for them. All patterns ignore letter case; `^` and `$` match at each line.
"""

from __future__ import annotations

from clada.values import Value

# Fences with one of these tags show the output of a program.
RECORDS = frozenset(
    """
    ansi console irb log logs output pycon pytb result results session shell-session shellsession stderr
    stdout terminal text-output traceback transcript
    """.split()
)
# Elements of reasoning, in any letter case, with or without attributes.
REASONING_TAGS = frozenset(
    (
        b"think",  # DeepSeek R1, Qwen 3, QwQ, GLM; with attributes (time=…) from chat front ends
        b"thinking",  # prompts for Claude; Open WebUI
        b"reason",  # Open WebUI
        b"reasoning",  # prompts for several models; Open WebUI
        b"thought",  # Gemini in agents; Open WebUI
        b"thoughts",
        b"scratchpad",  # prompts for Claude
        b"antthinking",  # Claude, before an artifact
        b"lov-thinking",  # Lovable
        b"seed:think",  # ByteDance Seed-OSS
    )
)
# The last one ends with an id.
REASONING_NAME = b"|".join((*sorted(REASONING_TAGS), rb"thinking-content-[\w-]{1,100}+"))
TYPE_REASONING = (
    rb"""[ \t][^>\n]{0,200}?\btype=["']?reasoning\b[^>\n]{0,200}+>"""  # Open WebUI, exported chats
)
# Elements that browsers do not show.
NOT_RENDERED = frozenset(
    b"""
    audio canvas datalist dialog head iframe noembed noframes noscript object script style template title
    video
    """.split()
)
VOID = frozenset(b"area base br col embed hr img input link meta source track wbr".split())
# Elements with the words of a tool, a file or a user. An answer may be in <output> or <final_result>.
DATA = (
    rb"(?:[\w-]{1,50}:)?(?:(?!(?:final|model|assistant|answer|ai|your|my)[_-])[\w-]{0,50}?[\w][_-]"
    rb"(?:result|response|output|observation)s?"
    rb"|toolresults?|observations?|stdout|stderr|documents?|document[_-]contents?|attachments?|attached[_-]files?"
    rb"|file[_-]contents?|web[_-]?page|search[_-]results?|summary|context|user|human|system"
    rb"|(?:user|system|environment|additional)[_-][\w-]{1,50})"
)
# Elements of a transcript that an answer may be in: all others are quoted data.
ANSWERS = frozenset(
    b"""
    answer assistant response result output solution change changes edit edits patch tasks artifact tool_call
    tool-call tool_calls tool-calls tool-use boltartifact codeproject antartifact article b blockquote body
    center code codeblock dd details div dl dt em figure font h1 h2 h3 h4 h5 h6 html i kbd li main ol p pre
    section small source sourcecode span strong sub sup table tbody td th thead tr u ul
    """.split()
)
ANSWER_NAME = rb"final[\w-]{0,50}|dyad-[\w-]{1,50}|(?:[\w-]{1,50}:)?(?:invoke|parameter|function_calls)"
# Attributes that hide an element.
_ATTRIBUTE = rb"""\s++[\w:@.-]{1,100}+(?:\s*+=\s*+(?:"[^"<]{0,500}+"|'[^'<]{0,500}+'|[^\s"'<>]{1,500}+))?"""
_HIDING_STYLE = (
    rb"(?:display\s*+:\s*+none|visibility\s*+:\s*+hidden|(?:opacity|font-size)\s*+:\s*+0(?![.\d]))"
)
HIDING = rb"(?:%b)*?\s++(?:hidden(?=[\s=>/])|style\s*+=\s*+[\"'][^\"'<>]{0,500}?%b)[^<>]{0,500}+>" % (
    _ATTRIBUTE,
    _HIDING_STYLE,
)
_USER = rb"(?:human|user|system|tool(?:[ _]results?)?)"
_MODEL = rb"(?:assistant|ai|model|claude|chatgpt|gemini)"
# A line that opens a turn: `User:`, `**User:** hello` or `## User`.
_TURN = (
    rb"^(?:\#{1,6}[ \t]++[*_]{0,3}+%b[*_]{0,3}+:?+[*_]{0,3}+[ \t]*+$|[*_]{0,3}+%b(?:[*_]{1,3}+:|:[*_]{0,3}+))"
)
USERS_TURN, MODELS_TURN = (_TURN % (who, who) for who in (_USER, _MODEL))
_TAGGED_TURN = rb"<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|start\|>|<\|assistant\|>|\[/INST\]"
CALL = rb"<(?:[\w-]{1,50}:)?function_calls>|<tool_call>|<tool-use>"
TRANSCRIPT = b"|".join((_TAGGED_TURN, CALL, rb"^[ \t]*+<" + DATA + rb"(?=[\s>])", MODELS_TURN))

# What happens to a document with operations after a part that is never closed.
READ, REFUSED, ALL_OF_IT = "read", "refused", "all of it"  # ignore the opening; refuse; the rest is the part


class Form(Value):
    """One kind of part that is not scanned: its name for messages, and how it closes."""

    name: str
    closing: bytes = b""  # \1 stands for the name of the element that was opened
    unclosed: str = READ
    unclosed_in_line: str = READ  # the same if it opens in the middle of a line
    nests: bool = False  # an element of the same name in it is closed first
    noted: bool = True  # a note tells that operations were ignored


DRAFT = "reasoning"
REASONING = Form(DRAFT, rb"</\1[ \t]*+>", REFUSED, noted=False)
CLOSED_ALONE = Form("reasoning without an opening tag")
COMMENT = Form("an HTML comment", rb"-->", REFUSED)
INSTRUCTION = Form("a processing instruction", rb"\?>")
TITLE = Form("the title of a link definition", rb"""["')][ \t]*+$""")
NOT_SHOWN = Form("an element that is not shown", rb"</\1[ \t\n]*+>", REFUSED, REFUSED, nests=True)
OTHERS_TURN = Form("a turn that is not the model's", rb"(?=" + MODELS_TURN + rb")", ALL_OF_IT, ALL_OF_IT)
MODELS_MESSAGE = Form("")  # starts a message of the model
QUOTED = Form("quoted data (<\\1>)", rb"</\1[ \t\n]*+>", REFUSED, nests=True)
UNKNOWN = Form("quoted data (<\\1>)", rb"</\1[ \t]*+>", REFUSED)  # an element in a transcript
RECORD = Form("a fence tagged {}")
INDENTED = Form("indented code")

_NOT_MODEL = rb"[ \t]*+(?!(?:assistant|model|gpt|ai)\b)[a-z_]{1,30}+"  # a role other than the model's


def _reasoning(closing: bytes) -> Form:
    return REASONING.replace(closing=closing)


def _turn(closing: bytes) -> Form:
    return OTHERS_TURN.replace(closing=closing)


_MESSAGE = (_TAGGED_TURN, MODELS_MESSAGE)
# Tokens of chat templates, by their first two bytes: what opens a part, and its form.
TOKENS: dict[bytes, tuple[tuple[bytes, Form], ...]] = {
    b"<|": (
        (rb"<\|begin_of_thought\|>", _reasoning(rb"<\|end_of_thought\|>")),  # Sky-T1, OpenThinker
        (rb"<\|START_THINKING\|>", _reasoning(rb"<\|END_THINKING\|>")),  # Cohere Command A
        # The analysis channel of harmony, which gpt-oss writes.
        (
            rb"<\|channel\|>[ \t]*+analysis\b[^<\n]{0,200}+<\|message\|>",
            _reasoning(rb"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)"),
        ),
        (rb"<\|end_of_thought\|>|<\|END_THINKING\|>", CLOSED_ALONE),
        (rb"<\|im_start\|>" + _NOT_MODEL, _turn(rb"<\|im_end\|>|(?=<\|im_start\|>)")),  # ChatML: Qwen
        # Llama 3
        (rb"<\|start_header_id\|>" + _NOT_MODEL, _turn(rb"<\|eot_id\|>|(?=<\|start_header_id\|>)")),
        (rb"<\|start\|>" + _NOT_MODEL, _turn(rb"<\|end\|>|(?=<\|start\|>)")),  # harmony
        # Phi, GLM
        (rb"<\|(?:user|system|tool|observation)\|>", _turn(rb"<\|end\|>|(?=<\|assistant\|>)")),
        _MESSAGE,
    ),
    b"<S": (  # Gemma
        (rb"<start_of_turn>" + _NOT_MODEL, _turn(rb"<end_of_turn>|(?=<start_of_turn>)")),
        _MESSAGE,
    ),
    # Mistral, and its Magistral
    b"[T": (
        (rb"\[THINK\]", _reasoning(rb"\[/THINK\]")),
        (rb"\[TOOL_RESULTS\]", _turn(rb"\[/TOOL_RESULTS\]")),
    ),
    b"[I": ((rb"\[INST\]", _turn(rb"\[/INST\]")),),
    b"[S": ((rb"\[SYSTEM_PROMPT\]", _turn(rb"\[/SYSTEM_PROMPT\]")),),
    b"[/": ((rb"\[/THINK\]", CLOSED_ALONE), _MESSAGE),
    b"\xe2\x97": (  # Kimi
        (rb"\xe2\x97\x81think\xe2\x96\xb7", _reasoning(rb"\xe2\x97\x81/think\xe2\x96\xb7")),
        (rb"\xe2\x97\x81/think\xe2\x96\xb7", CLOSED_ALONE),
    ),
}
