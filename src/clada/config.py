"""The settings of configuration files and of the environment.

One file is the user's own; the other is the workspace's, which travels with a repository and is used only if
the user has trusted it.
"""

from __future__ import annotations

import os
import re
from shlex import quote

from clada.errors import UsageError, reason
from clada.setting_values import close_to, read_text
from clada.settings import BY_NAME, REPOSITORY, SETTINGS, Settings, with_record
from clada.values import Value
from clada.world.handles import NO_LINK, READ, is_link, read_at_most
from clada.world.trust import everywhere, is_trusted
from clada.world.xdg import config_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clada.public_types import Options
    from clada.settings import Setting

LARGEST = 1 << 20
KINDS = {"duration": "a duration such as 5m, or seconds", "size": "a size such as 10MB, or bytes"}
FOLDER, FILE = ".clada", "config.toml"
ENVIRONMENT = "CLADA_"  # before the name of a setting, in capitals
DEEPEST = 4  # dots in a key; tomllib takes time with their square
STRINGS_AND_COMMENTS = (
    r'''(?s)"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*'''
)


class Sources(Value):
    """The settings from each place that can set them; later ones win."""

    user: dict[str, Any]  # the user's file
    workspace: dict[str, Any]  # the workspace's file, if it is trusted
    environment: dict[str, Any]

    @property
    def merged(self) -> dict[str, Any]:
        """The settings of all places together."""
        return {**self.user, **self.workspace, **self.environment}


def load_options(workspace: str = ".") -> Options:
    """Return what the configuration files and the environment set, as options of `execute`.

    The workspace's file is used only if it is trusted: see `clada trust`.
    """
    settings = load(workspace).merged
    settings["workspace"] = find_workspace(workspace)
    options: Any = {name: value for name, value in settings.items() if name in Settings.__match_args__}
    return options  # type: ignore[no-any-return]


def load(workspace: str | None, trusts: Callable[[str], bool] = lambda _workspace: False) -> Sources:
    """Return the settings of the user's file, of the workspace's and of the environment.

    An untrusted workspace's file sets nothing unless `trusts`, called with the workspace, returns True; it
    may ask the user.
    """
    own, environment = own_settings(), environment_settings()
    directory = workspace or environment.get("workspace") or own.get("workspace", ".")
    return Sources(own, _workspace_settings(find_workspace(directory), trusts), environment)


def find_workspace(directory: str) -> str:
    """Return a directory, or the top of the git repository around the current one for `repository`."""
    if directory != REPOSITORY:
        return directory
    top = top_of_repository(os.getcwd())
    if top is None:
        raise UsageError("workspace is repository, and this directory is not in a git repository", "git init")
    return "." if top == os.getcwd() else top


def top_of_repository(directory: str) -> str | None:
    """Return the directory with `.git` that is this one or above it, without asking git; None without one."""
    while not os.path.lexists(os.path.join(directory, ".git")):
        if directory == os.path.dirname(directory):
            return None
        directory = os.path.dirname(directory)
    return directory


def own_settings() -> dict[str, Any]:
    """Return what the user's own file sets."""
    path = user_file()
    data = _read_file(path)
    return {} if data is None else _parse(path, data, own=True)


def environment_settings() -> dict[str, Any]:
    """Return what variables such as CLADA_TIMEOUT set; an empty one sets nothing."""
    found = {}
    for setting in SETTINGS:
        name = f"{ENVIRONMENT}{setting.name.upper()}"
        if text := os.environ.get(name):
            try:
                found[setting.name] = _read_variable(setting, text)
            except UsageError as error:
                raise UsageError(f"{name} {error}", f"unset {name}") from None
    return {key: as_preference(key, value) for key, value in with_record(**found).items()}


def _read_variable(setting: Setting, text: str) -> Any:
    if setting.kind == "table":
        raise UsageError("cannot be set by a variable")
    if setting.kind == "list":
        return tuple(text.split("\n"))
    return read_text(setting, text)


def set_in_user_file(key: str, values: Sequence[str]) -> str:
    """Set a key in the user's own file, and leave the rest of it as it is; return the path of the file."""
    import tomllib

    path = os.path.realpath(user_file())  # it may be a link, which stays one
    lines = (_read_file(path) or b"").decode(errors="surrogateescape").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    start, end = len(lines), len(lines)
    for at, line in enumerate(lines):
        if re.match(rf"\s*{key}\s*=", line):
            start, end = at, at + 1
            while end < len(lines) and not _is_toml(tomllib, "".join(lines[start:end])):
                end += 1  # the value has several lines
            break
    text = "".join([*lines[:start], f"{key} = {_as_toml(key, values)}\n", *lines[end:]])
    data = text.encode(errors="surrogateescape")
    _parse(path, data, own=True)  # raises, rather than leave a file that cannot be read
    from clada.world.files.atomic import put_at

    put_at(path, data)
    return path


def _is_toml(tomllib: Any, text: str) -> bool:
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _as_toml(key: str, values: Sequence[str]) -> str:
    """Return a value as TOML; what it means is checked when the file is read."""
    setting = find_setting(key)
    if setting.kind == "table":
        raise UsageError(f"{key} is a table: write it into the file", f"$EDITOR {user_file()}")
    if setting.kind == "list":
        return f"[{', '.join(map(_quoted, values))}]"
    if len(values) != 1:
        raise UsageError(f"{key} takes one value", f'clada config set {key} "{" ".join(values)}"')
    try:
        value = read_text(setting, values[0])
    except UsageError as error:
        raise UsageError(
            f"{key} {error}", error.remedy and f"clada config set {key} {error.remedy}"
        ) from None
    return str(value).lower() if setting.kind == "switch" else _quoted(values[0])


def find_setting(key: str) -> Setting:
    """Return the setting of this name."""
    if key not in BY_NAME:
        raise _unknown_key("", key)
    return BY_NAME[key]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in escaped) + '"'


def _workspace_settings(workspace: str, trusts: Callable[[str], bool]) -> dict[str, Any]:
    """Return what the workspace's file sets, if it is trusted; only harmless keys are allowed in it."""
    if not os.path.lexists(os.path.join(workspace, FOLDER)):
        return {}
    try:
        data = _read_workspace_file(workspace)
    except UsageError:
        if everywhere():
            raise
        trusts(workspace)  # says that it is ignored, and why
        return {}
    if data is None:
        return {}
    if not is_trusted(workspace, FILE, data):
        # Read again: it may have changed since it was shown.
        data = _read_workspace_file(workspace) if trusts(workspace) else None
        if data is None or not is_trusted(workspace, FILE, data):
            return {}
    return _parse(os.path.join(workspace, FOLDER, FILE), data, own=False)


def _read_workspace_file(workspace: str) -> bytes | None:
    """Return the workspace's file, if there is one, without following a link from the repository."""
    directory = os.path.join(workspace, FOLDER)
    try:
        folder = os.open(directory, NO_LINK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if not os.path.lexists(directory):
            return None
        words = "is a symbolic link" if is_link(directory) else f"cannot be read: {reason(error)}"
        raise _file_error(directory, words, f"rm {directory}") from None
    try:
        return _read_file(os.path.join(directory, FILE), folder)
    finally:
        os.close(folder)


def user_file() -> str:
    """Return the path of the user's own file."""
    return os.path.join(config_home(), "clada", FILE)


def _read_file(path: str, folder: int | None = None) -> bytes | None:
    """Return the content of a file, or None if it does not exist."""
    try:
        if folder is None:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # the user's own may be a link
        else:
            handle = os.open(FILE, READ, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _file_error(path, f"cannot be read: {reason(error)}") from None
    try:
        data = read_at_most(handle, LARGEST + 1)
    except OSError as error:
        raise _file_error(path, f"cannot be read: {reason(error)}") from None
    finally:
        os.close(handle)
    if len(data) > LARGEST:
        raise _file_error(path, "cannot be read: it is larger than 1 MB")
    return data


def _parse(path: str, data: bytes, *, own: bool) -> dict[str, Any]:
    import tomllib

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _file_error(path, f"cannot be read: {error}") from None
    _refuse_deep_keys(path, text)
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        raise _toml_error(path, text, error) from None
    except RecursionError:
        raise _file_error(path, "its values are nested too deeply") from None
    read = with_record(**{key: _read_value(path, key, value, own=own) for key, value in values.items()})
    return {key: as_preference(key, value) for key, value in read.items()}


def _toml_error(path: str, text: str, error: ValueError) -> UsageError:
    """Return what is wrong with a file that is not TOML; most often a text has no quotes."""
    place = re.search(r"at line (\d+)", str(error))
    line = text.splitlines()[int(place[1]) - 1] if place and int(place[1]) <= len(text.splitlines()) else ""
    unquoted = re.fullmatch(r"\s*([\w-]+)\s*=\s*([^\s\"'\[{#][^\"'#]*?)\s*(#.*)?", line)
    if place and unquoted:
        value = {"True": "true", "False": "false"}.get(unquoted[2], f'"{unquoted[2]}"')
        verb = "quote the value" if value.startswith('"') else "write it in small letters"
        return UsageError(f"{path} line {place[1]}: {verb}:", f"{unquoted[1]} = {value}")
    return _file_error(path, f"{error}{f': {line.strip()}' if line else ''}")


def _file_error(path: str, message: str, remedy: str = "") -> UsageError:
    """Return an error in a file, with what to write there or a command that opens it."""
    return UsageError(f"{path}: {message}", remedy or f"$EDITOR {quote(path)}")


def as_preference(key: str, value: Any) -> Any:
    """Return what a value means for all workspaces, whether they are in a repository or not."""
    return "auto" if (key, value) == ("record", "commits") else value


def _refuse_deep_keys(path: str, text: str) -> None:
    """Refuse keys with many dots, on which tomllib takes very long."""
    bare = re.sub(STRINGS_AND_COMMENTS, lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        if line.count(".") > DEEPEST:
            raise _file_error(path, f"line {number}: a key with more than {DEEPEST} dots in it")


def _read_value(path: str, key: str, value: Any, *, own: bool) -> Any:
    setting = BY_NAME.get(key)
    if setting is None:
        raise _unknown_key(f"{path}: ", key)
    if not own and not _is_harmless(setting, value):
        raise UsageError(
            f"{path}: {key} cannot be set here: it belongs in {user_file()} or on the command line",
            f"clada config set {key} VALUE",
        )
    if setting.kind == "switch":
        if not isinstance(value, bool):
            raise _file_error(path, f"{key} must be true or false", f"{key} = true")
        return value
    if setting.kind in ("list", "table"):
        return _read_list_or_table(path, setting, value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _file_error(path, f"{key} must be {KINDS.get(setting.kind, 'a text')}")
    try:
        return read_text(setting, str(value))
    except UsageError as error:
        raise _file_error(path, f"{key} {error}", error.remedy and f'{key} = "{error.remedy}"') from None


def _read_list_or_table(path: str, setting: Setting, value: Any) -> Any:
    """Return a list or a table of texts."""
    kind: Any = {"list": list, "table": dict}[setting.kind]
    texts = value.values() if isinstance(value, dict) else value
    if not isinstance(value, kind) or not all(isinstance(text, str) for text in texts):
        example = '["make test"]' if kind is list else '{ "*.py" = "ruff format" }'
        message = f"{setting.name} must be a {setting.kind} of texts"
        raise _file_error(path, message, f"{setting.name} = {example}")
    return tuple(value) if isinstance(value, list) else value


def _unknown_key(where: str, key: str) -> UsageError:
    near = close_to(key.replace("-", "_").lower(), list(BY_NAME))
    hint = f"; did you mean {near}?" if near else ""
    return UsageError(
        f"{where}unknown key {key}{hint}", f"clada config get {near}" if near else "clada config"
    )


def _is_harmless(setting: Setting, value: Any) -> bool:
    """Return whether a repository may set this."""
    return setting.shared or (setting.name == "sandbox" and value == "require")
