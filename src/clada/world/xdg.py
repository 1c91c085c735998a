"""Where a user's programs keep their files, by the XDG base directory specification."""

from __future__ import annotations

import os


def config_home() -> str:
    """Return where programs look for what the user has set."""
    return _directory("XDG_CONFIG_HOME", "~/.config")


def state_home() -> str:
    """Return where programs keep what they remember from one start to the next."""
    return _directory("XDG_STATE_HOME", "~/.local/state")


def cache_home() -> str:
    """Return where programs keep what they can make again."""
    return _directory("XDG_CACHE_HOME", "~/.cache")


def _directory(variable: str, otherwise: str) -> str:
    given = os.environ.get(variable, "")  # the specification says to ignore a relative path
    return given if os.path.isabs(given) else os.path.expanduser(otherwise)
