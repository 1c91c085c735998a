"""Frozen values: what dataclasses give, without the import that doubles start-up."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Self, dataclass_transform
else:

    def dataclass_transform(**_options: object) -> object:
        """Stand in for typing's, which only type checkers look at."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Value:
    """A class whose annotations are its fields; equal by value, never changed after it is made."""

    def __init_subclass__(cls) -> None:
        cls.__init__ = _constructor(cls)  # type: ignore[method-assign]

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: values are frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"

    def but(self, **fields: Any) -> Self:
        """Return a copy that differs in these fields."""
        return type(self)(**{**self.__dict__, **fields})


def _constructor(cls: type) -> Any:
    """Compile an __init__ from the annotations: a loop over names would triple the cost of a value."""
    names = list(cls.__annotations__)
    parameters = [f"{name}=defaults[{name!r}]" if name in cls.__dict__ else name for name in names]
    assignments = [f"    own__[{name!r}] = {name}" for name in names]
    head = [f"def __init__(self, {', '.join(parameters)}):", "    own__ = self.__dict__"]
    source = "\n".join([*head, *assignments])
    scope: dict[str, Any] = {"defaults": cls.__dict__}
    exec(source, scope)  # noqa: S102 (the text is made of this package's own field names)
    return scope["__init__"]
