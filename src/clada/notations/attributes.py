"""The attributes that mean the same in CSL and CML: taken out of what is written, into fields."""

from __future__ import annotations

from clada.grammar import SHORT, WRONG_FLAG, path_complaint, read_count, read_flag, wrong_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Complaints: TypeAlias = list[tuple[str | None, str]]  # the attribute, and what is wrong with it


def take_path(
    attributes: dict[str, str], key: str, fields: dict[str, Any], complaints: Complaints, name: str = ""
) -> None:
    """Take a path that must be there, under the name of the attribute or another."""
    path = attributes.pop(key, "")
    if not path:
        complaints.append((key, f"Missing required attribute '{key}'"))
    elif (len(path) <= SHORT and path.isprintable()) or _is_path(path, key, complaints):
        fields[name or key] = path


def take_directory(attributes: dict[str, str], fields: dict[str, Any], complaints: Complaints) -> None:
    """Take `dir`, which need not be there, and may be empty."""
    path = attributes.pop("dir", None)
    if path is not None and _is_path(path, "dir", complaints):
        fields["dir"] = path


def _is_path(path: str, key: str, complaints: Complaints) -> bool:
    complaint = path_complaint(path)
    if complaint:
        complaints.append((key, f"Invalid value for '{key}': {complaint}"))
    return not complaint


def take_count(attributes: dict[str, str], fields: dict[str, Any], complaints: Complaints) -> None:
    """Take the count of an edit, which is 1 where none is written."""
    written = attributes.pop("count", "1")
    count = read_count(written)
    if count is None:
        complaints.append(("count", wrong_count(written)))
    else:
        fields["count"] = count


def take_append(attributes: dict[str, str], fields: dict[str, Any], complaints: Complaints) -> None:
    """Take `append`, which is false where it is not written."""
    append = read_flag(attributes.pop("append")) if "append" in attributes else False
    if append is None:
        complaints.append(("append", WRONG_FLAG))
    else:
        fields["append"] = append
