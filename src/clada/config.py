"""The configuration files: the user's own, and the workspace's, which travels with a repository."""

from __future__ import annotations

import os

from clada.errors import UsageError
from clada.settings import BY_NAME, Setting, Settings, meant, read_text
from clada.world.files.entries import reason
from clada.world.handles import is_link, open_directory, open_file, read_at_most

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.settings import Options

LARGEST = 1 << 20
KINDS = {"duration": "a duration such as 5m, or seconds", "size": "a size such as 10MB, or bytes"}
FOLDER, FILE = ".clada", "config.toml"
DEEPEST = 4  # dots in a key; tomllib takes time with their square
STRINGS_AND_COMMENTS = (
    r'''(?s)"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*'''
)


def load_options(workspace: str = ".") -> Options:
    """Return what the user's and the workspace's configuration files set, as options of `execute`."""
    settings = load(workspace)
    if "no_git" in settings:
        settings["git"] = not settings["no_git"]
    settings["workspace"] = workspace
    options: Any = {name: value for name, value in settings.items() if name in Settings.__match_args__}
    return options  # type: ignore[no-any-return]


def load(workspace: str | None) -> dict[str, Any]:
    """Return what the configuration files set: the workspace's wins over the user's."""
    own = read_own()
    return {**own, **read_shared(workspace or own.get("workspace", "."))}


def read_own() -> dict[str, Any]:
    """Return what the user's own file sets."""
    path = user_file()
    text = _text(path)
    return {} if text is None else _read(path, text, own=True)


def read_shared(workspace: str) -> dict[str, Any]:
    """Return what the workspace's file sets; only harmless keys may stand there.

    Nothing is read through a link that a repository brought.
    """
    directory = os.path.join(workspace, FOLDER)
    try:
        folder = open_directory(directory)
    except FileNotFoundError:
        return {}
    except OSError as error:
        if not os.path.lexists(directory):
            return {}
        words = "is a symbolic link" if is_link(directory) else f"cannot be read: {reason(error)}"
        raise UsageError(f"{directory}: {words}") from None
    path = os.path.join(directory, FILE)
    try:
        text = _text(path, folder)
    finally:
        os.close(folder)
    return {} if text is None else _read(path, text, own=False)


def user_file() -> str:
    """Return the path of the user's own file."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(home, "clada", FILE)


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
        data = read_at_most(handle, LARGEST + 1)
        if len(data) > LARGEST:
            raise UsageError(f"{path}: cannot be read: it is larger than 1 MB")
        return data.decode()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    finally:
        os.close(handle)


def _read(path: str, text: str, *, own: bool) -> dict[str, Any]:
    import tomllib

    _refuse_deep_keys(path, text)
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: its values are nested too deeply") from None
    return {key: _value(path, key, value, own=own) for key, value in values.items()}


def _refuse_deep_keys(path: str, text: str) -> None:
    """Refuse what would take tomllib very long: outside of strings and comments, dots are those of keys."""
    import re

    bare = re.sub(STRINGS_AND_COMMENTS, lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        if line.count(".") > DEEPEST:
            raise UsageError(f"{path}: line {number}: a key with more than {DEEPEST} dots in it")


def _value(path: str, key: str, value: Any, *, own: bool) -> Any:
    setting = BY_NAME.get(key)
    if setting is None:
        raise UsageError(f"{path}: unknown key {key}{meant(key.replace('-', '_'), list(BY_NAME))}")
    if not own and not _is_harmless(setting, value):
        raise UsageError(
            f"{path}: {key} cannot be set here: it belongs in {user_file()} or on the command line"
        )
    if setting.kind == "switch":
        if not isinstance(value, bool):
            raise UsageError(f"{path}: {key} must be true or false")
        return value
    if setting.kind == "list":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{path}: {key} must be a list of texts")
        return tuple(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{path}: {key} must be {KINDS.get(setting.kind, 'a text')}")
    try:
        return read_text(setting, str(value))
    except UsageError as error:
        raise UsageError(f"{path}: {key} {error}") from None


def _is_harmless(setting: Setting, value: Any) -> bool:
    """Whether a repository may bring this along."""
    return setting.shared or (setting.name == "sandbox" and value == "require")
