"""Settings as people write them: in the configuration files, and on the command line.

One file is the user's own; the other is the workspace's, which travels with a repository, and counts only
where the user has trusted it.
"""

from __future__ import annotations

import os

from clada.errors import UsageError, reason
from clada.grammar import AUTHOR, read_author, read_number
from clada.settings import BY_NAME, FOREVER, Settings, with_record
from clada.world.handles import NO_LINK, READ, is_link, read_at_most
from clada.world.xdg import config_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.settings import Options, Setting

LARGEST = 1 << 20
KINDS = {"duration": "a duration such as 5m, or seconds", "size": "a size such as 10MB, or bytes"}
FOLDER, FILE = ".clada", "config.toml"
DEEPEST = 4  # dots in a key; tomllib takes time with their square
STRINGS_AND_COMMENTS = (
    r'''(?s)"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*'''
)


def load_options(workspace: str = ".") -> Options:
    """Return what the user's and the workspace's configuration files set, as options of `execute`.

    The workspace's counts only if it is trusted: see `clada trust`.
    """
    own, shared = load(workspace)
    settings = {**own, **shared}
    settings["workspace"] = workspace
    options: Any = {name: value for name, value in settings.items() if name in Settings.__match_args__}
    return options  # type: ignore[no-any-return]


def load(
    workspace: str | None, trusts: Callable[[str], bool] = lambda _workspace: False
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the user's own file sets, and what the workspace's does, which wins.

    Where that one is not trusted, it sets nothing, unless `trusts` says otherwise, which is given the
    workspace, and may put it to a person.
    """
    own = own_settings()
    return own, _shared(workspace or own.get("workspace", "."), trusts)


def own_settings() -> dict[str, Any]:
    """Return what the user's own file sets."""
    path = user_file()
    data = _data(path)
    return {} if data is None else _read(path, data, own=True)


def add_to_user_file(key: str, text: str) -> str:
    """Add a line to the user's own file, which does not set this key yet; return the path of the file."""
    from clada.world.files.atomic import put
    from clada.world.handles import open_directory

    path = os.path.realpath(user_file())  # it may be a link, which stays one
    before = _data(path) or b""
    line = f'{key} = "{text}"\n'.encode()
    data = before + (b"" if before.endswith(b"\n") or not before else b"\n") + line
    _read(path, data, own=True)  # raises, rather than leave a file that cannot be read
    directory, name = os.path.split(path)
    os.makedirs(directory, exist_ok=True)
    folder = open_directory(directory)
    try:
        put(folder, name, data)
    finally:
        os.close(folder)
    return path


def _shared(workspace: str, trusts: Callable[[str], bool]) -> dict[str, Any]:
    """Return what the workspace's file sets, if it counts; only harmless keys may stand there."""
    if not os.path.lexists(os.path.join(workspace, FOLDER)):
        return {}
    try:
        data = _shared_data(workspace)
    except UsageError:
        from clada.world.trust import everywhere

        if everywhere():
            raise
        trusts(workspace)  # which tells that it does not count, and why
        return {}
    if data is None:
        return {}
    from clada.world.trust import is_trusted

    if not is_trusted(workspace, FILE, data):
        # As it is now: it may have changed since it was shown.
        data = _shared_data(workspace) if trusts(workspace) else None
        if data is None or not is_trusted(workspace, FILE, data):
            return {}
    return _read(os.path.join(workspace, FOLDER, FILE), data, own=False)


def _shared_data(workspace: str) -> bytes | None:
    """Return the workspace's file, if there is one, not through a link that a repository brought."""
    directory = os.path.join(workspace, FOLDER)
    try:
        folder = os.open(directory, NO_LINK)
    except FileNotFoundError:
        return None
    except OSError as error:
        if not os.path.lexists(directory):
            return None
        words = "is a symbolic link" if is_link(directory) else f"cannot be read: {reason(error)}"
        raise UsageError(f"{directory}: {words}") from None
    try:
        return _data(os.path.join(directory, FILE), folder)
    finally:
        os.close(folder)


def user_file() -> str:
    """Return the path of the user's own file."""
    return os.path.join(config_home(), "clada", FILE)


def _data(path: str, folder: int | None = None) -> bytes | None:
    """Return the content of a file, or None where there is none."""
    try:
        if folder is None:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # the user's own may be a link
        else:
            handle = os.open(FILE, READ, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    try:
        data = read_at_most(handle, LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}") from None
    finally:
        os.close(handle)
    if len(data) > LARGEST:
        raise UsageError(f"{path}: cannot be read: it is larger than 1 MB")
    return data


def _read(path: str, data: bytes, *, own: bool) -> dict[str, Any]:
    import tomllib

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    _refuse_deep_keys(path, text)
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: its values are nested too deeply") from None
    read = with_record(**{key: _value(path, key, value, own=own) for key, value in values.items()})
    return {key: as_preference(key, value) for key, value in read.items()}


def as_preference(key: str, value: Any) -> Any:
    """Return what a value means in a configuration file, which is for all workspaces, repository or not."""
    return "auto" if (key, value) == ("record", "commits") else value


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


# Texts, as files and flags have them.

SHORT_FORMS = {("error_detail", "min"): "minimal"}


def read_text(setting: Setting, text: str) -> Any:
    """Return what a text stands for as the value of a setting; the error starts with `must`."""
    if setting.kind == "choice":
        text = SHORT_FORMS.get((setting.name, text), text)
        if text not in setting.choices:
            raise UsageError(f"must be one of {', '.join(setting.choices)}, not {text!r}")
    elif setting.kind == "duration":
        return None if setting.default is None and text == "none" else read_duration(text)
    elif setting.kind == "size":
        return read_size(text)
    elif setting.kind == "number":
        number = read_number(text)
        if number is None:
            raise UsageError(f"must be a number, not {text!r}")
        return number
    elif not text:
        raise UsageError("must not be empty")
    elif setting.kind == "delimiter" and not text.isprintable():
        raise UsageError("must not contain a line break or anything else unprintable")
    elif setting.kind == "author" and read_author(text) is None:
        raise UsageError(f"must be {AUTHOR}, not {text!r}")
    return text


DURATIONS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "B": 1}
MOST_DIGITS = 12


def read_duration(text: str) -> float:
    """Return the seconds of a duration such as 500ms, 30s, 5m or 1h; a bare number is seconds."""
    number = _number(text, DURATIONS)
    if number is None or number >= FOREVER:
        raise UsageError(f"must be a duration such as 500ms, 30s, 5m or 1h, not {text!r}")
    return number


def read_size(text: str) -> int:
    """Return the bytes that a size such as 10MB stands for; a bare number is bytes."""
    number = _number(text, SIZES)
    if number is None:
        raise UsageError(f"must be a size such as 512B, 64KB, 10MB or 1GB, not {text!r}")
    return int(number)


def _number(text: str, units: Mapping[str, float]) -> float | None:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    whole, _, fraction = digits.partition(".")
    unit = units.get(text[len(digits) :]) if len(digits) < len(text) else 1
    plain = (whole + fraction).isdecimal() and digits.isascii() and not digits.endswith(".")
    if unit is None or not whole or not plain or len(digits) > MOST_DIGITS:
        return None
    return float(digits) * unit


def meant(word: str, known: Sequence[str], form: str = "{}") -> str:
    """Return a hint at what was probably meant, in this form, if anything is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    return f"; did you mean {form.format(close[0])}?" if close else ""
