"""The configuration files: the user's own, and the workspace's, which travels with a repository."""

from __future__ import annotations

import os

from clada.cli.flags import FLAGS, USER_LISTS, Flag, UsageError, convert, meant
from clada.world.files.entries import reason
from clada.world.handles import is_link, open_directory, open_file, read_at_most

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BY_KEY = {flag.key: flag for flag in FLAGS}
LARGEST = 1 << 20
KINDS = {"duration": "a duration such as 5m, or seconds", "size": "a size such as 10MB, or bytes"}
FOLDER, FILE = ".clada", "config.toml"


def defaults(workspace: str | None) -> dict[str, Any]:
    """Return what the configuration files set: the workspace's wins over the user's."""
    mine = read_own()
    return {**mine, **read_shared(workspace or mine.get("workspace", "."))}


def read_own() -> dict[str, Any]:
    """Return what the user's own file sets."""
    path = user_file()
    return _read(path, _text(path), own=True)


def read_shared(workspace: str) -> dict[str, Any]:
    """Return what the workspace's file sets; only harmless keys may stand there."""
    path = os.path.join(workspace, FOLDER, FILE)
    return _read(path, _shared_text(workspace, path), own=False)


def user_file() -> str:
    """Return the path of the user's own file."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(home, "clada", FILE)


def _read(path: str, text: str | None, *, own: bool) -> dict[str, Any]:
    if text is None:
        return {}
    import tomllib

    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    return {key: _value(path, key, value, own=own) for key, value in values.items()}


def _shared_text(workspace: str, path: str) -> str | None:
    """Return the text of the workspace's file: nothing is read through a link that a repository brought."""
    directory = os.path.join(workspace, FOLDER)
    if not os.path.lexists(directory):
        return None
    try:
        folder = open_directory(directory)
    except OSError as error:
        words = "is a symbolic link" if is_link(directory) else f"cannot be read: {reason(error)}"
        raise UsageError(f"{directory}: {words}") from None
    try:
        return _text(path, folder)
    finally:
        os.close(folder)


def _text(path: str, folder: int | None = None) -> str | None:
    """Return the text of a file, or None where there is none."""
    try:
        # The user's own file may be a link.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if folder is None else open_file(FILE, folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    try:
        return _content(handle)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    except ValueError as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    finally:
        os.close(handle)


def _content(handle: int) -> str:
    data = read_at_most(handle, LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("it is larger than 1 MB")
    return data.decode()


def _value(path: str, key: str, value: Any, *, own: bool) -> Any:
    flag = BY_KEY.get(key)
    if key in USER_LISTS and own:
        return _texts(path, key, value)
    if flag is None and key not in USER_LISTS:
        raise UsageError(f"{path}: unknown key {key}{meant(key.replace('-', '_'), [*BY_KEY, *USER_LISTS])}")
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
        raise UsageError(f"{path}: {flag.key} must be {KINDS.get(flag.kind, 'a text')}")
    try:
        return convert(flag, str(value))
    except UsageError as error:
        message = str(error).removeprefix("--").replace(flag.name, flag.key, 1)
        raise UsageError(f"{path}: {message}") from None


def _texts(path: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{path}: {key} must be a list of texts")
    return tuple(value)
