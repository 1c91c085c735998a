"""Values: equal by their fields, whatever those are called."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest

from clada.values import Kind, Value, fields_of


class Named(Value):
    """Has a field with a name that the machinery of values might want for itself."""

    names: tuple[str, ...]
    name: str = "x"


def test_a_field_may_be_called_names() -> None:
    """No name of a field gets in the way of how values are made."""
    value = Named(("a", "b"))
    assert value.names == ("a", "b")
    assert value.replace(name="y") == Named(("a", "b"), "y")
    assert fields_of(value) == {"names": ("a", "b"), "name": "x"}


def test_values_are_equal_by_their_fields() -> None:
    """Equal fields make equal values, and equal hashes."""
    assert Named(("a",)) == Named(("a",))
    assert hash(Named(("a",))) == hash(Named(("a",)))
    assert Named(("a",)) != Named(("b",))


@pytest.mark.parametrize(
    ("values", "named", "words"),
    [
        ((), {}, "missing 1 required positional argument: 'names'"),
        (("a", "b", "c"), {}, "takes from 2 to 3 positional arguments but 4 were given"),
        (("a",), {"other": "b"}, "unexpected keyword argument 'other'"),
    ],
)
def test_arguments_are_the_fields_of_the_class(
    values: tuple[Any, ...], named: dict[str, Any], words: str
) -> None:
    """Wrong arguments are refused as for any function."""
    with pytest.raises(TypeError, match=words):
        Named(*values, **named)


def test_a_field_without_a_default_cannot_follow_one_that_has_one() -> None:
    """As with parameters of functions."""
    with pytest.raises(SyntaxError, match="default"):
        Kind("Wrong", (Value,), {"__annotations__": {"first": "int", "second": "int"}, "first": 1})


def test_help_shows_the_fields_as_parameters() -> None:
    """As for a dataclass."""

    class Fresh(Value):
        first: int
        second: int = 2

    assert str(signature(Fresh)) == "(first, second=2)"
    assert Fresh(1).second == len(signature(Fresh).parameters)


def test_a_subclass_has_a_constructor_of_its_own() -> None:
    """Also if a value of its base was made before."""

    class Base(Value):
        first: int

    class Derived(Base):
        second: int

    assert Base(1).first == Derived(1, 2).first
    assert Derived(1, 2).second == Derived(second=2, first=3).second
