"""Values: what frozen dataclasses with slots give, without the import that doubles start-up.

Type checkers enforce that values are not changed. Nothing does at run time, where it would slow down parsing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object) -> object:
        """Stand in for typing's, which only type checkers look at."""
        return lambda cls: cls


def _constructor(names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """Return an __init__ that sets each field: a loop over the fields would triple the cost of a value.

    It is built with its class, not with the first value: a run that is out of memory could not build it, and
    has to make the outcomes of its tasks all the same.
    """
    parameters = [f"{name}=_defaults[{name!r}]" if name in defaults else name for name in names]
    body = [f"    self.{name} = {name}" for name in names] or ["    pass"]
    scope: dict[str, Any] = {"_defaults": defaults}
    text = "\n".join([f"def __init__({', '.join(['self', *parameters])}):", *body])
    exec(text, scope)  # noqa: S102 (the text holds names of fields only)
    return scope["__init__"]


@dataclass_transform(frozen_default=True)
class Kind(type):
    """Makes a class of values from its annotations: slots for the fields, and a constructor.

    A subclass has the fields of its base first. What is annotated as ClassVar is no field.
    """

    __match_args__: tuple[str, ...]  # as dataclasses have it; a plain name could be that of a field
    __field_defaults__: dict[str, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Kind:
        """Take the annotated names out of the class body, with their defaults."""
        annotations = body.get("__annotations__", {})
        own = tuple(field for field, kind in annotations.items() if not kind.startswith("ClassVar"))
        defaults = {field: body.pop(field) for field in own if field in body}
        inherited: tuple[str, ...] = ()
        for base in bases:
            if isinstance(base, Kind):
                inherited, defaults = base.__match_args__, {**base.__field_defaults__, **defaults}
        names = (*inherited, *own)
        made = {"__slots__": own, "__match_args__": names, "__init__": _constructor(names, defaults)}
        return super().__new__(cls, name, bases, {**body, **made, "__field_defaults__": defaults})


class Value(metaclass=Kind):
    """A class whose annotations are its fields; equal by value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and type(self) is type(other) and fields_of(self) == fields_of(other)

    def __hash__(self) -> int:
        return hash(tuple(fields_of(self).values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in fields_of(self).items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(fields_of(self).values())

    def replace(self, **fields: Any) -> Self:
        """Return a copy that differs in these fields."""
        return type(self)(**{**fields_of(self), **fields})


def fields_of(value: Value) -> dict[str, Any]:
    """Return the fields of a value by their names; no method, because users of the library would see it."""
    return {name: getattr(value, name) for name in type(value).__match_args__}
