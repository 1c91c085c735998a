"""The arguments of a call of a tool, under the names that agents give them; and the error of a wrong one."""

from __future__ import annotations

from clada.grammar import read_number
from clada.notations.json_values import strict_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

ARGUMENTS = ("arguments", "parameters", "input", "args")  # as they are called where a call has no type
MOST_DIGITS = 9  # of a number of lines, or replacements
FIELDS = {
    "path": ("file_path", "path", "filePath", "target_file", "absolute_path"),
    "paths": ("paths", "file_paths"),
    "first_line": ("offset", "startLine", "start_line", "start_line_one_indexed"),
    "last_line": ("endLine", "end_line", "end_line_one_indexed_inclusive"),
    "content": ("content", "contents"),
    "old": ("old_string", "oldString", "old_str", "old_text", "oldText"),
    "new": ("new_string", "newString", "new_str", "new_text", "newText"),
    "all": ("replace_all", "replaceAll", "allow_multiple"),
    "edits": ("edits", "replacements"),
    "inserted": ("new_str", "insert_text"),
    "patch": ("input", "patch", "patchText"),
    "command": ("command", "cmd"),
    "directory": ("cwd", "workdir", "dir_path"),
    "background": ("run_in_background", "is_background", "isBackground", "background"),
}


class RefusedCallError(Exception):
    """Ends the reading of a call that cannot be carried out."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.message, self.field = message, field


class Arguments:
    """The arguments of a call, by the names of their fields in FIELDS, or by their own."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def has(self, field: str) -> bool:
        """Whether it is there."""
        return self.name(field) is not None

    def text(self, field: str, default: str | None = None) -> str:
        """Return a text."""
        value = self.value(field, default)
        if not isinstance(value, str):
            raise self._invalid(field, "a string")
        return value if value.isascii() else self._encodable(field, value)

    def flag(self, field: str) -> bool:
        """Return whether something is set, as a boolean or in its words."""
        value = self.value(field, default=False)
        return value is True or (isinstance(value, str) and value.strip().lower() == "true")

    def number(self, field: str, default: int | None = None) -> int:
        """Return a number that is not negative."""
        value = self.value(field, default)
        value = read_number(value.strip()) if isinstance(value, str) else value
        if type(value) is not int or not 0 <= value < 10**MOST_DIGITS:
            raise self._invalid(field, "a number")
        return value

    def numbers(self, field: str) -> list[int]:
        """Return a list of numbers, the last of which may be negative."""
        return self._list(field, "numbers", lambda each: type(each) is int)

    def objects(self, field: str) -> list[Arguments]:
        """Return a list of objects."""
        return [Arguments(each) for each in self._list(field, "objects", lambda each: isinstance(each, dict))]

    def _list(self, field: str, what: str, is_one: Callable[[Any], bool]) -> list[Any]:
        """Return a list that is not empty; it may be given as a text of JSON."""
        value = self.value(field)
        if isinstance(value, str):
            value = decode_json(value, self.name(field) or field)
        if not isinstance(value, list) or not value or not all(map(is_one, value)):
            raise self._invalid(field, f"a list of {what}")
        return value

    def _invalid(self, field: str, must: str) -> RefusedCallError:
        name = self.name(field)
        return RefusedCallError(f"Invalid value for '{name}': must be {must}", name)

    def words(self, field: str) -> str | list[str]:
        """Return a text, or a list of such."""
        value = self.value(field)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return [self._encodable(field, word) for word in value]
        return self.text(field)

    def value(self, field: str, default: Any = None) -> Any:
        """Return the value of a field. Raises RefusedCallError if it is missing and has no default."""
        name = self.name(field)
        if name is not None:
            return self.values[name]
        if default is None:
            first = FIELDS.get(field, (field,))[0]
            raise RefusedCallError(f"Missing required field '{first}'", first)
        return default

    def name(self, field: str) -> str | None:
        """Return the name under which a field is given; null counts as missing."""
        for name in FIELDS.get(field, (field,)):
            if self.values.get(name) is not None:
                return name
        return None

    def _encodable(self, field: str, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            name = self.name(field)
            raise RefusedCallError(f"Lone surrogate in '{name}'", name) from None
        return text


def decode_json(text: str, name: str) -> Any:
    """Return the value that a text of JSON stands for; refuse the call if it is not JSON."""
    try:
        return strict_value(text)
    except ValueError as error:
        raise RefusedCallError(f"'{name}' is not JSON: {error}", name) from None
