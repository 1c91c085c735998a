"""`clada config`: lists every setting, its value and its source; sets one in the user's file."""

from __future__ import annotations

import os
import shlex

from clada import config as settings_files
from clada.cli.console import table_lines
from clada.cli.help import format_value
from clada.errors import CladaError, UsageError, system_words
from clada.settings import SETTINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.config import Sources
    from clada.settings import Setting

    Row = tuple[str, Any, str]  # name, value, source

DEFAULT = "default"


def config(given: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """List the settings, print one, or set one."""
    if arguments and arguments[0] == "set":
        return _set(arguments[1:], console)
    sources = settings_files.load(given.get("workspace"))
    rows = [_row(setting, sources) for setting in SETTINGS if setting.name != "no_git"]
    if arguments:
        rows = [_find(arguments[1:], rows)]
        if not given.get("json"):
            console.write(f"{_format_value(settings_files.find_setting(rows[0][0]), rows[0][1])}\n")
            return 0
    if given.get("json"):
        found = {name: {"value": value, "source": source} for name, value, source in rows}
        console.write_json(found)
    else:
        shown = [
            (name, _format_value(settings_files.find_setting(name), value), source)
            for name, value, source in rows
        ]
        console.write("".join(f"{line}\n" for line in table_lines(("SETTING", "VALUE", "SOURCE"), shown)))
    return 0


def _find(words: Sequence[str], rows: Sequence[Row]) -> Row:
    if len(words) != 1:
        raise UsageError("config get needs one setting", "clada config get record")
    name = settings_files.find_setting(words[0].replace("-", "_")).name
    return next(row for row in rows if row[0] == name)


def _row(setting: Setting, sources: Sources) -> Row:
    """Return the name, the value and the source of a setting."""
    name = setting.name
    if name in sources.environment:
        return name, sources.environment[name], f"{settings_files.ENVIRONMENT}{name.upper()}"
    if name in sources.workspace:
        return name, sources.workspace[name], f"{settings_files.FOLDER}/{settings_files.FILE}"
    if name in sources.user:
        return name, sources.user[name], _with_tilde(settings_files.user_file())
    return name, setting.default, DEFAULT


def _with_tilde(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path


def _format_value(setting: Setting, value: Any) -> str:
    if value is None or value in ((), {}):
        return setting.otherwise or "none"
    return format_value(setting, value)


def _set(words: Sequence[str], console: Console) -> int:
    if not words:
        raise UsageError("config set needs a setting and a value", "clada config set record snapshots")
    key, *values = words[0].replace("-", "_"), *words[1:]
    if not values:
        raise UsageError(f"config set {key} needs a value", f"clada config set {key} VALUE")
    try:
        path = settings_files.set_in_user_file(key, values)
    except OSError as error:
        message = f"{settings_files.user_file()} cannot be written: {system_words(error)}"
        raise CladaError(
            "io_error", message, f"chmod u+w {shlex.quote(settings_files.user_file())}"
        ) from None
    console.write(f"{_with_tilde(path)}: {key} = {' '.join(values)}\n")
    name = f"{settings_files.ENVIRONMENT}{key.upper()}"
    if os.environ.get(name):
        console.note(f"{name} is set in the environment, and wins")
    return 0
