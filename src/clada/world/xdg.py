"""The directories of the XDG base directory specification."""

from __future__ import annotations

import os


def config_home() -> str:
    """Return the directory of configuration files."""
    return _directory("XDG_CONFIG_HOME", "~/.config")


def state_home() -> str:
    """Return the directory of state that is kept between runs."""
    return _directory("XDG_STATE_HOME", "~/.local/state")


def cache_home() -> str:
    """Return the directory of files that can be created again."""
    return _directory("XDG_CACHE_HOME", "~/.cache")


def _directory(variable: str, otherwise: str) -> str:
    given = os.environ.get(variable, "")  # the specification says that a relative path is ignored
    return given if os.path.isabs(given) else os.path.expanduser(otherwise)
