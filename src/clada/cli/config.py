"""The configuration files: the user's own, and the workspace's, which travels with a repository."""

from __future__ import annotations

import os

from clada.cli.flags import FLAGS, USER_LISTS, Flag, UsageError, convert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BY_KEY = {flag.key: flag for flag in FLAGS}
LARGEST = 1 << 20


def defaults(workspace: str) -> dict[str, Any]:
    """Return what the configuration files set: the workspace's wins over the user's."""
    mine = user_file()
    return {**_read(mine, own=True), **_read(workspace_file(workspace), own=False)}


def user_file() -> str:
    """Return the path of the user's own file."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(home, "clada", "config.toml")


def workspace_file(workspace: str) -> str:
    """Return the path of the workspace's file."""
    return os.path.join(workspace, ".clada", "config.toml")


def _read(path: str, *, own: bool) -> dict[str, Any]:
    text = _text(path, own=own)
    if text is None:
        return {}
    import tomllib

    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    return {key: _value(path, key, value, own=own) for key, value in values.items()}


def _text(path: str, *, own: bool) -> str | None:
    """Return the text of a file, or None; the workspace's own is not followed where it is a link."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if own else os.O_NOFOLLOW))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        with open(handle, "rb") as file:
            data = file.read(LARGEST + 1)
            return data[:LARGEST].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def _value(path: str, key: str, value: Any, *, own: bool) -> Any:
    flag = BY_KEY.get(key)
    if key in USER_LISTS and own:
        return _texts(path, key, value)
    if flag is None and key not in USER_LISTS:
        raise UsageError(f"{path}: unknown key {key}")
    if not own and not _harmless(flag, value):
        raise UsageError(
            f"{path}: {key} cannot be set here: it belongs in {user_file()} or on the command line"
        )
    return _converted(path, BY_KEY[key], value)


def _harmless(flag: Flag | None, value: Any) -> bool:
    """Whether a repository may bring this along."""
    return flag is not None and (flag.shared or (flag.name == "sandbox" and value == "require"))


def _converted(path: str, flag: Flag, value: Any) -> Any:
    if flag.kind == "switch":
        if not isinstance(value, bool):
            raise UsageError(f"{path}: {flag.key} must be true or false")
        return value
    if flag.kind == "list":
        return _texts(path, flag.key, value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{path}: {flag.key} must be a text")
    try:
        return convert(flag, str(value))
    except UsageError as error:
        raise UsageError(f"{path}: {str(error).removeprefix('--')}") from None


def _texts(path: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{path}: {key} must be a list of texts")
    return tuple(value)
