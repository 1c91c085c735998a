"""Commands as models write them: behind a prompt, in backquotes or in a fence, as for a person to read.

What is taken off is no part of any command that could run here, so nothing is run that was not written.
"""

from __future__ import annotations

_SHELLS = ("", "sh", "bash", "shell", "console", "zsh", "text")  # tags of a fence
_PROMPT = "$ "
_FENCE = "```"
_BLANKS = " \t\r\n"


def plain(body: str) -> str:
    """Return the body of a run without surrounding blanks, and what only shows that it is a command."""
    text = body.strip(_BLANKS)
    if text.startswith("`"):
        text = _unquoted(text)
    return _without_prompts(text) if text.startswith(_PROMPT) else text


def _unquoted(text: str) -> str:
    """Return a text that is one backquoted command, or a fence, without its marks; any other as it is."""
    tag, _break, rest = text.removeprefix(_FENCE).partition("\n")
    if text.startswith(_FENCE) and text.endswith(f"\n{_FENCE}") and tag.strip(_BLANKS).lower() in _SHELLS:
        inner = rest.removesuffix(_FENCE)
    else:
        inner = text[1:-1] if text.endswith("`") else ""
    return inner.strip(_BLANKS) if inner.strip(_BLANKS) and "`" not in inner else text


def _without_prompts(text: str) -> str:
    """Return a text without the prompts before its lines; in quotes that go over lines, there are none."""
    first, *others = text.removeprefix(_PROMPT).lstrip(_BLANKS).split("\n")
    if not any(mark in text for mark in "'\"\\"):
        others = [line.removeprefix(_PROMPT) for line in others]
    return "\n".join([first, *others])
