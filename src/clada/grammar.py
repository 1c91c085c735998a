"""The fields of operations and the checks of their values, common to all notations."""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    Complaints: TypeAlias = list[tuple[str | None, str]]  # the attribute, and what is wrong with it

MAX_INPUT = 52_428_800  # bytes of one document: 50 MB
DELIMITERS = START_DELIMITER, END_DELIMITER = "<---", "--->"  # of CSL markers
CSL_VERSIONS = ("1.0", "1.1", "2.0")
BLOCK_VERSIONS = ("0.0.1", "1.0", "1.0.0", "1.1")  # of CML, and of JSON and TOML blocks


class Field(Value):
    """A field of an operation, under its name in plans."""

    name: str
    kind: str  # path, text, lines, anchors, count, number, line, range, flag, choice or objects
    required: bool = True  # unless a field that excludes it is given
    default: bool | int | None = None  # that is filled in, and shown, if it is not given
    choices: tuple[str, ...] = ()
    beside: str = ""  # the field that it belongs to: without that one, it is none
    excludes: tuple[str, ...] = ()  # fields that cannot be given with it
    fields: tuple[Field, ...] = ()  # of the objects that its value is a list of


AUTHOR = "Name or Name <mail>"
LEFT_OUT = ".,:;\"\\' "  # characters that git drops around a name; a name must have others
MAX_PATH, MAX_NAME = 4096, 255  # bytes: what file systems take of a path, and of a name in it
SHORT = MAX_NAME // 4  # characters that can exceed neither, because each has at most four bytes

WRONG_COUNT = "Invalid value for 'count': must be positive integer or 'all'"
WRONG_FLAG = "must be 'true' or 'false'"
WRONG_NUMBER = "must be a positive integer"
WRONG_LINE = "must be 0 or a positive integer"
WRONG_RANGE = "must be a line, or a range such as 10-60"
NOT_ATTRIBUTES = ("text", "line", "objects")  # kinds that are content, or for JSON and TOML alone
FLAG_WORDS = {"true": True, "false": False}
MAX_COUNT_DIGITS = 18  # a longer count than any file has bytes is not worth converting
LARGE_COUNT = f"Invalid value for 'count': must have at most {MAX_COUNT_DIGITS} digits"


def read_count(text: str) -> int | str | None:
    """Return the value of a count attribute: a positive decimal integer or `all`; None if it is wrong."""
    return "all" if text == "all" else read_number(text) or None


def wrong_count(text: str) -> str:
    """Return the error message for a count attribute that cannot be read."""
    return LARGE_COUNT if text.isascii() and text.isdigit() and text.strip("0") else WRONG_COUNT


def read_number(text: str) -> int | None:
    """Return the number that these digits stand for; None if there is anything else, or far too many."""
    digits = text.lstrip("0") or text[:1]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= MAX_COUNT_DIGITS else None


def read_range(text: str) -> tuple[int, int | None] | None:
    """Return the first and the last line of `10`, `10-60` or `10-`, None for the end; None if it is wrong."""
    start, dash, end = text.partition("-")
    first, last = read_number(start.strip()), read_number(end.strip())
    if not first or (end.strip() and (last or 0) < first):
        return None
    return first, last if dash else first


def range_complaint(value: object) -> str | None:
    """Return why this is not a range of lines, or None."""
    return None if isinstance(value, str) and read_range(value) else WRONG_RANGE


def take_fields(
    fields: Iterable[Field],
    attributes: dict[str, str],
    complaints: Complaints,
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Take the fields out of the attributes, and return their values by the names of the fields.

    `fields` are those of an operation; some of them are never attributes. `names` has the attributes that are
    called otherwise than their field. Defaults are filled in.
    """
    taken: dict[str, Any] = {}
    for field in fields:
        if field.kind in NOT_ATTRIBUTES:
            continue
        key = names.get(field.name, field.name)
        written = attributes.pop(key, None)
        if written is None and not field.required:
            if field.default is not None:
                taken[field.name] = field.default
        elif not written and field.required:
            complaints.append((key, f"Missing required attribute '{key}'"))
        else:
            value, complaint = _read_attribute(field, key, written or "")
            if complaint:
                complaints.append((key, complaint))
            else:
                taken[field.name] = value
    return taken


def _read_attribute(field: Field, key: str, written: str) -> tuple[Any, str | None]:
    """Return the value of an attribute, or the error in it."""
    kind = field.kind
    if kind == "count":
        count = read_count(written)
        return count, wrong_count(written) if count is None else None
    value: Any = written
    if kind == "flag":
        value = FLAG_WORDS.get(written)
        complaint = WRONG_FLAG if value is None else None
    elif kind == "number":
        value = read_number(written)
        complaint = None if value else WRONG_NUMBER
    elif kind == "choice":
        complaint = choice_complaint(written, field.choices)
    elif kind == "range":
        complaint = range_complaint(written)
    else:
        complaint = path_complaint(written)
    return value, complaint and f"Invalid value for '{key}': {complaint}"


def choice_complaint(value: object, choices: Sequence[str]) -> str | None:
    """Return why this is none of the choices, or None."""
    if value in choices:
        return None
    *others, last = (f"'{choice}'" for choice in choices)
    return f"must be {', '.join(others)} or {last}"


def path_complaint(path: str) -> str | None:
    """Return why no file can have this path, or None: where the path leads is decided when it is walked."""
    if "\0" in path:
        return "must not contain a NUL character"
    if "\n" in path or "\r" in path:
        return "must not contain a line break"
    return long_path_complaint(path)


def long_path_complaint(path: str) -> str | None:
    """Return the limit of file systems that a path exceeds, or None; lengths are in bytes, as theirs are."""
    size = byte_length(path)
    if size > MAX_PATH:
        return long_path(size)
    longest = max(map(byte_length, path.replace("\\", "/").split("/")))
    if longest > MAX_NAME:
        return f"a name in it has {longest:,} bytes, and at most {MAX_NAME} are allowed"
    return None


def long_path(size: int) -> str:
    """Return the error message for a path of so many bytes."""
    return f"the path has {size:,} bytes, and at most {MAX_PATH:,} are allowed"


def byte_length(text: str) -> int:
    """Return the size of a text in bytes; lone surrogates count too."""
    return len(text.encode(errors="surrogatepass"))


def read_author(text: str) -> tuple[str, str] | None:
    """Return the name and mail that `Name` or `Name <mail>` stands for; None if it is neither."""
    name, bracket, mail = text.strip().partition("<")
    name, mail = name.strip(), mail.removesuffix(">").strip() if bracket else "clada@localhost"
    closed = not bracket or text.rstrip().endswith(">")
    plain = (name + mail).isprintable() and not any(char in "<>" for char in name + mail)
    return (name, mail) if name.strip(LEFT_OUT) and mail and closed and plain else None


def check_delimiters(start: object, end: object) -> None:
    """Raise TypeError or ValueError if no line could ever be a marker."""
    for name, delimiter in (("start", start), ("end", end)):
        if not isinstance(delimiter, str):
            raise TypeError(f"delimiters must be texts, not {start!r} and {end!r}")
        if not delimiter or "\n" in delimiter or "\r" in delimiter:
            raise ValueError(f"the {name} delimiter must not be empty or contain a line break")
