"""From tasks to operations: the quick way is a way to the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clada.model import Operation
from clada.notations.structured import OTHER, RawTask, checked, plain

NAMES = """
    path content append search find replace count search_start search_end from to command cmd dir why
""".split()
VALUES = st.sampled_from(["a", "", "all", "a\0", "a\nb", "x" * 5_000, 1, 0, -1, 10**18, 1.0, True, OTHER])
ACTIONS = st.sampled_from(["write", "edit", "move", "remove", "run"])
NEEDED = {
    "write": ("path", "content"),
    "edit": ("path", "search", "replace"),
    "move": ("from", "to"),
    "remove": ("path",),
    "run": ("command",),
}


@given(
    action=ACTIONS, fields=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4), whole=st.booleans()
)
def test_what_the_quick_way_makes_of_a_task_the_thorough_one_makes_too(
    action: str, fields: dict[str, Any], whole: bool
) -> None:
    """And where it makes nothing, that is none of its business."""
    given_fields = {**dict.fromkeys(NEEDED[action], "a"), **fields} if whole else fields
    members = {name: (value, 5) for name, value in {"action": action, **given_fields}.items()}
    task = RawTask(3, 9, members)
    quick = plain(task, 2)
    assert quick is None or quick == checked(task, b"0123456789", 2, 1)


def test_a_task_with_what_it_needs_is_for_the_quick_way() -> None:
    """Or it would not be one."""
    for action, needed in NEEDED.items():
        members = dict.fromkeys(needed, ("a", 5)) | {"action": (action, 5), "why": ("b", 6), "n": (1, 7)}
        operation = plain(RawTask(3, 9, members), 2)
        assert isinstance(operation, Operation)
        assert operation.attributes == {"why": "b"}


def test_what_is_no_task_is_not() -> None:
    """No action, an unknown one, one that is no text, or no object at all."""
    for members in (None, {}, {"action": ("delete", 5)}, {"action": (OTHER, 5)}, {"path": ("a", 5)}):
        assert plain(RawTask(3, 9, members), 2) is None
