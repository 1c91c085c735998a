"""Values: equal by their fields, whatever those are called."""

from __future__ import annotations

from clada.values import Value


class Named(Value):
    """Has a field with a name that the machinery of values might want for itself."""

    names: tuple[str, ...]
    name: str = "x"


def test_a_field_may_be_called_names() -> None:
    """No name of a field gets in the way of how values are made."""
    value = Named(("a", "b"))
    assert value.names == ("a", "b")
    assert value.replace(name="y") == Named(("a", "b"), "y")
    assert value.by_name() == {"names": ("a", "b"), "name": "x"}


def test_values_are_equal_by_their_fields() -> None:
    """Equal fields make equal values, and equal hashes."""
    assert Named(("a",)) == Named(("a",))
    assert hash(Named(("a",))) == hash(Named(("a",)))
    assert Named(("a",)) != Named(("b",))
