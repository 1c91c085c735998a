"""The values of settings as text: in configuration files, in the environment and on the command line."""

from __future__ import annotations

from clada.errors import UsageError
from clada.grammar import AUTHOR, read_author, read_number
from clada.settings import FOREVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.settings import Setting

SWITCHES = {
    "1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip
SHORT_FORMS = {("error_detail", "min"): "minimal"}


def read_text(setting: Setting, text: str) -> Any:
    """Return the value that a text stands for; the error starts with `must`, its remedy is a value."""
    if setting.kind == "choice":
        return _read_choice(setting, text)
    if setting.kind == "duration" and setting.default is None and text == "none":
        return None
    if setting.kind in READERS:
        return READERS[setting.kind](text)
    if not text:
        raise UsageError("must not be empty")
    if setting.kind == "delimiter" and not text.isprintable():
        raise UsageError("must not contain a line break or anything else unprintable")
    if setting.kind == "author" and read_author(text) is None:
        raise UsageError(f"must be {AUTHOR}, not {text!r}")
    return text


def _read_choice(setting: Setting, text: str) -> str:
    text = SHORT_FORMS.get((setting.name, text), text)
    if text not in setting.choices:
        near = close_to(text.lower(), setting.choices)
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(
            f"must be one of {', '.join(setting.choices)}, not {text!r}{hint}", near or setting.choices[0]
        )
    return text


def _read_switch(text: str) -> bool:
    if text.lower() not in SWITCHES:
        raise UsageError(f"must be true or false, not {text!r}", "true")
    return SWITCHES[text.lower()]


def _read_count(text: str) -> int:
    number = read_number(text)
    if number is None:
        raise UsageError(f"must be a number, not {text!r}", "100")
    return number


DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}
MOST_DIGITS = 12


def read_duration(text: str) -> float:
    """Return the seconds of a duration such as 500ms, 30s, 5m or 1h; a bare number is seconds."""
    number = _number(text, DURATIONS)
    if number is None or number >= FOREVER:
        raise UsageError(f"must be a duration such as 500ms, 30s, 5m or 1h, not {text!r}", "30s")
    return number


def read_size(text: str) -> int:
    """Return the bytes that a size such as 10MB stands for; a bare number is bytes."""
    number = _number(text, SIZES)
    if number is None:
        raise UsageError(f"must be a size such as 512B, 64KB, 10MB or 1GB, not {text!r}", "10MB")
    return int(number)


READERS: dict[str, Callable[[str], Any]] = {
    "duration": read_duration, "size": read_size, "number": _read_count, "switch": _read_switch,
}  # fmt: skip


def _number(text: str, units: Mapping[str, float]) -> float | None:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    whole, _, fraction = digits.partition(".")
    unit = units.get(text[len(digits) :]) if len(digits) < len(text) else 1
    plain = (whole + fraction).isdecimal() and digits.isascii() and not digits.endswith(".")
    if unit is None or not whole or not plain or len(digits) > MOST_DIGITS:
        return None
    return float(digits) * unit


def close_to(word: str, known: Sequence[str]) -> str | None:
    """Return what was probably meant by a misspelt word, if anything is close."""
    from difflib import get_close_matches  # late: only mistakes need it

    close = get_close_matches(word, known, n=1)
    return close[0] if close else None
