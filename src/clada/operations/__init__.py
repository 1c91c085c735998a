"""The operations: one module each, and one row in the table that names them.

An operation is a value (model.Operation) that knows its fields, its words in reports, and how to be applied.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.model import Operation

# By their names in plans: where each class is. They are loaded when they are first needed.
OPERATIONS = {
    "write": "clada.operations.write.Write",
    "edit": "clada.operations.edit.Edit",
    "move": "clada.operations.move.Move",
    "remove": "clada.operations.remove.Remove",
    "read": "clada.operations.read.Read",
    "run": "clada.operations.run.Run",
}
_loaded: dict[str, type[Operation]] = {}


def find(name: str) -> type[Operation] | None:
    """Return the operation of this name, if there is one."""
    known = _loaded.get(name)
    if known is None and name in OPERATIONS:
        module, _, class_name = OPERATIONS[name].rpartition(".")
        known = _loaded[name] = getattr(__import__(module, fromlist=(class_name,)), class_name)
    return known
