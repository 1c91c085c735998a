"""The settings of a run, under the names of the flags."""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

CHOICES = {"shell": ("never", "approved"), "sandbox": ("auto", "off", "require")}


class Settings(Value):
    """How a plan is to be executed."""

    workspace: str = "."
    git: bool = True
    git_author: str = "clada"
    allow_escape: bool = False
    timeout: float = 30.0  # seconds
    total_timeout: float | None = None
    max_output: int = 10 << 20  # bytes
    lock_file: str | None = None
    lock_timeout: float = 10.0
    dry_run: bool = False
    final_newline: bool = False
    approve: Sequence[str] = ()
    approve_all: bool = False
    shell: str = "never"
    sandbox: str = "auto"
    sandbox_write: Sequence[str] = ()
    sandbox_read: Sequence[str] = ()
    sandbox_env_hide: Sequence[str] = ()


if TYPE_CHECKING:
    from typing import TypedDict

    class Options(TypedDict, total=False):
        """The same, as keyword arguments of `execute`."""

        workspace: str
        git: bool
        git_author: str
        allow_escape: bool
        timeout: float
        total_timeout: float | None
        max_output: int
        lock_file: str | None
        lock_timeout: float
        dry_run: bool
        final_newline: bool
        approve: Sequence[str]
        approve_all: bool
        shell: str
        sandbox: str
        sandbox_write: Sequence[str]
        sandbox_read: Sequence[str]
        sandbox_env_hide: Sequence[str]


def chosen(**options: Unpack[Options]) -> Settings:
    """Return the settings with these options; a value that is not among its choices is an error."""
    settings = Settings(**options)
    for name, choices in CHOICES.items():
        value = getattr(settings, name)
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return settings
