"""Values: what frozen dataclasses with slots give, without the import that doubles start-up.

Type checkers hold that nobody changes a value. At run time nothing does: it would cost a tenth of parsing.
"""

from __future__ import annotations

from clada.constructors import CONSTRUCTORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object) -> object:
        """Stand in for typing's, which only type checkers look at."""
        return lambda cls: cls


def _constructor(names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    """Return an __init__ of these fields: a loop over them would triple the cost of a value.

    It is that of as many other names (see constructors.py), for to compile one is a hundredth of a start.
    """
    template: Any = CONSTRUCTORS.get(len(names)) or _compiled(len(names))
    code = template.__code__.replace(co_varnames=("self", *names), co_names=names)
    given = tuple(name for name in names if name in defaults)
    if names[len(names) - len(given) :] != given:
        raise TypeError(f"fields without a default follow {given[0]}, which has one")
    return type(template)(code, {}, "__init__", tuple(defaults[name] for name in given))


def _compiled(count: int) -> Any:
    """Return a constructor of a value that has more fields than most."""
    fields = [f"field_{number}" for number in range(count)]
    body = [f"    self.{field} = {field}" for field in fields] or ["    pass"]
    scope: dict[str, Any] = {}
    text = "\n".join([f"def __init__({', '.join(['self', *fields])}):", *body])
    exec(text, scope)  # noqa: S102 (there is nothing in the text but numbers)
    return scope["__init__"]


@dataclass_transform(frozen_default=True)
class Kind(type):
    """Makes a class of values from its annotations: slots for the fields, and a constructor.

    A subclass has the fields of its base first. What is annotated as ClassVar is no field.
    """

    __match_args__: tuple[str, ...]  # as dataclasses have it; a plain name could be that of a field
    field_defaults: dict[str, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Kind:
        """Take the annotated names out of the class body, with their defaults."""
        annotations = body.get("__annotations__", {})
        own = tuple(field for field, kind in annotations.items() if not kind.startswith("ClassVar"))
        defaults = {field: body.pop(field) for field in own if field in body}
        inherited: tuple[str, ...] = ()
        for base in bases:
            if isinstance(base, Kind):
                inherited, defaults = base.__match_args__, {**base.field_defaults, **defaults}
        names = (*inherited, *own)
        made = {"__slots__": own, "__match_args__": names, "__init__": _constructor(names, defaults)}
        return super().__new__(cls, name, bases, {**body, **made, "field_defaults": defaults})


class Value(metaclass=Kind):
    """A class whose annotations are its fields; equal by value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and type(self) is type(other) and self.by_name() == other.by_name()

    def __hash__(self) -> int:
        return hash(tuple(self.by_name().values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.by_name().items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.by_name().values())

    def by_name(self) -> dict[str, Any]:
        """Return the fields by their names."""
        return {name: getattr(self, name) for name in type(self).__match_args__}

    def replace(self, **fields: Any) -> Self:
        """Return a copy that differs in these fields."""
        return type(self)(**{**self.by_name(), **fields})
