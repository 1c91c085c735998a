"""The kinds of values and operands in the table of programs: how each is checked, and the paths in it."""

from __future__ import annotations

from clada.commands.modes import read_mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_UNITS = frozenset(
    """
    b kB K KB KiB MB M MiB GB G GiB TB T TiB PB P PiB EB E EiB ZB Z ZiB YB Y YiB
    """.split()
)
_ATTRIBUTES = frozenset("mode ownership timestamps links xattr all".split())
_HEX = frozenset("0123456789abcdefABCDEFxX")
_PRETTY = frozenset(" oneline short medium full fuller reference email mboxrd raw".split(" "))
_SIGNATURES = ("%G", "%+G", "%-G", "% G")
_MAGIC = (":!", ":^", ":(", ":/")
_FUNCTION_COLONS = 2


def paths_of(kind: str, value: str) -> tuple[str, ...] | None:
    """Return the paths that a value of this kind names, often none; None if it is not of this kind."""
    if kind not in _KINDS:
        return () if value in kind.split("|") else None
    return _KINDS[kind](value)


def is_digits(text: str) -> bool:
    """Whether a text is a plain decimal number."""
    return text.isascii() and text.isdigit()


def is_mode(text: str) -> bool:
    """Whether chmod reads this as a mode."""
    return read_mode(text) is not None


def is_magic(kind: str, value: str) -> bool:
    """Whether git reads this as more than a plain path or revision."""
    return kind in ("PATHSPEC", "REVISION") and value.startswith(":")


def _anything(_value: str) -> tuple[str, ...]:
    return ()


def _if(fits: bool) -> tuple[str, ...] | None:
    return () if fits else None


def _number(value: str) -> tuple[str, ...] | None:
    digits = value.rstrip("bkBKMGTPEZYi")
    unit = value[len(digits) :]
    return _if(is_digits(digits) and (not unit or unit in _UNITS))


def _offset(value: str) -> tuple[str, ...] | None:
    digits = value.lstrip("+-")
    return _if(is_digits(digits[:1]) and _HEX.issuperset(digits))


def _mode(value: str) -> tuple[str, ...] | None:
    mode = read_mode(value)
    return _if(mode is not None and not mode.special)


def _path(value: str) -> tuple[str, ...]:
    """Accept a path, without trailing slashes: with one, a link would be followed."""
    return (value.rstrip("/") or value[:1],)


def _pathspec(value: str) -> tuple[str, ...] | None:
    """Accept a literal path: a colon in front would change its meaning to git."""
    return None if value.startswith(":") else _path(value)


def _revision(value: str) -> tuple[str, ...] | None:
    """Accept an operand that may be a revision, which may contain a path, or a path: each must be inside."""
    at = _colon(value)
    if value.startswith(_MAGIC):
        return None
    if at < 0:
        return _path(value)
    part = value[at + 1 :]
    if at == 0 and part[1:2] == ":" and is_digits(part[:1]):
        part = part[2:]
    return _path(part) if part else ()


def _colon(revision: str) -> int:
    """Return the position of the first colon outside `{…}`, where the path starts; -1 if there is none."""
    depth = 0
    for at, char in enumerate(revision):
        depth += (char == "{") - (char == "}")
        if char == ":" and depth <= 0:
            return at
    return -1


def _range(value: str) -> tuple[str, ...] | None:
    """Accept `1,5:file` or `:function:file`; with more colons, the start of the file name is uncertain."""
    expected = _FUNCTION_COLONS if value.startswith(":") else 1
    path = value.rpartition(":")[2]
    return _path(path) if value.count(":") == expected and path else None


def _stash(value: str) -> tuple[str, ...] | None:
    return _if(is_digits(value.removeprefix("stash@{").removesuffix("}")))


def _format(value: str) -> tuple[str, ...] | None:
    """Accept a format without signatures, which start a program, and no name from the configuration."""
    if value in _PRETTY:
        return ()
    own = "%" in value or value.startswith(("format:", "tformat:"))
    return _if(own and not any(sign in value for sign in _SIGNATURES))


def _fields(value: str) -> tuple[str, ...] | None:
    """Accept any fields of references except signatures."""
    return _if("signature" not in value.lower())


_KINDS: dict[str, Callable[[str], tuple[str, ...] | None]] = {
    "TEXT": _anything,
    "PATTERN": _anything,
    "WORD": _anything,
    "NAME": lambda value: (value,),  # clada itself reads it
    "NUMBER": _number,
    "SIGNED": lambda value: _number(value[1:] if value[:1] in ("+", "-") else value),
    "OFFSET": _offset,
    "MODE": _mode,
    "ATTRIBUTES": lambda value: _if(_ATTRIBUTES.issuperset(value.split(","))),
    "PATH": _path,
    "PATHSPEC": _pathspec,
    "REVISION": _revision,
    "RANGE": _range,
    "STASH": _stash,
    "FORMAT": _format,
    "FIELDS": _fields,
}
