"""Reasoning: what a model thinks before it answers. Nothing in it is carried out.

Each row of REASONING says how one kind of reasoning opens and closes, and which models or hosts write it. One
that opens in the middle of a line must be closed: otherwise it is taken for a word in a sentence.

Many hosts put the opening tag into the prompt, so that only the closing one is in the answer. A closing tag
without an opening one therefore makes everything before it reasoning, back to the start of its message, or of
the document where messages are not marked. It must start or end its line. In the content of an operation, in
a closed fence and in inline code it is text like any other.
"""

from __future__ import annotations

# Names of tags, in any case, with attributes or without.
TAGS = (
    rb"think",  # DeepSeek R1, Qwen 3, QwQ, GLM; with attributes (time=…) from chat front ends
    rb"thinking",  # prompts for Claude; Open WebUI
    rb"reason",  # Open WebUI
    rb"reasoning",  # prompts for several models; Open WebUI
    rb"thoughts?",  # Gemini in agents; Open WebUI
    rb"scratchpad",  # prompts for Claude
    rb"antThinking",  # Claude, before an artifact
    rb"lov-thinking",  # Lovable
    rb"seed:think",  # ByteDance Seed-OSS
    rb"thinking-content-[\w-]{1,100}+",  # chat front ends; an id is at the end
)
_TAG = b"(" + b"|".join(TAGS) + b")"
# How it opens and how it closes; \1 in the second is the tag of the first.
REASONING = (
    (rb"<" + _TAG + rb"(?:[ \t][^>\n]{0,200}+)?>", rb"</\1[ \t]*+>"),
    (rb"\[THINK\]", rb"\[/THINK\]"),  # Mistral Magistral
    (rb"\xe2\x97\x81think\xe2\x96\xb7", rb"\xe2\x97\x81/think\xe2\x96\xb7"),  # Kimi
    (rb"<\|begin_of_thought\|>", rb"<\|end_of_thought\|>"),  # Sky-T1, OpenThinker
    (rb"<\|START_THINKING\|>", rb"<\|END_THINKING\|>"),  # Cohere Command A
    # The analysis channel of harmony, which gpt-oss writes.
    (
        rb"<\|channel\|>[ \t]*+analysis\b[^<\n]{0,200}+<\|message\|>",
        rb"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)",
    ),
    # Open WebUI, in exported chats.
    (rb"""<details[ \t][^>\n]{0,200}?\btype=["']?reasoning\b[^>\n]{0,200}+>""", rb"</details>"),
)
_CLOSED = (
    rb"(?:</(?:" + b"|".join(TAGS) + rb")[ \t]*+>|\[/THINK\]|\xe2\x97\x81/think\xe2\x96\xb7"
    rb"|<\|end_of_thought\|>|<\|END_THINKING\|>)"
)
CLOSED_ALONE = rb"^[ \t]*+" + _CLOSED + rb"|" + _CLOSED + rb"(?=[ \t]*+$)"
