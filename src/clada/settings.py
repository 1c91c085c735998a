"""The settings of a run, under the names of the flags."""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any, Unpack

NONE = " | None"
PATHS = ("workspace", "lock_file")  # which may be path objects, too
FOREVER = 1e10  # seconds
AUTHOR = "Name or Name <mail>"
LEFT_OUT = ".,:;\"\\' "  # signs that git drops around a name, which must be more than that
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

        workspace: str | PathLike[str]
        git: bool
        git_author: str
        allow_escape: bool
        timeout: float
        total_timeout: float | None
        max_output: int
        lock_file: str | PathLike[str] | None
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
    """Return the settings with these options; one that is unknown, or whose value cannot be, is an error."""
    checked: Any = {name: _checked(name, value) for name, value in options.items()}
    return Settings(**checked)


def _checked(name: str, value: Any) -> Any:
    """Return an option's value as settings have it; whoever called is told which one is wrong."""
    kind = Settings.__annotations__.get(name)
    if kind is None:
        raise TypeError(f"execute() has no option {name!r}")
    if value is None and kind.endswith(NONE):
        return None
    if name in PATHS and hasattr(value, "__fspath__"):
        value = value.__fspath__()
    row = KINDS[kind.removesuffix(NONE)]
    if not row.is_of(value):
        raise TypeError(f"{name} must be {row.name}, not {value!r}")
    wanted = row.name if not row.fits(value) else _wanted(name, value)
    if wanted:
        raise ValueError(f"{name} must be {wanted}, not {value!r}")
    return value


def _wanted(name: str, value: Any) -> str | None:
    """Return what an option takes, where a value of its kind is still none of it."""
    if name in CHOICES and value not in CHOICES[name]:
        return f"one of {', '.join(CHOICES[name])}"
    if name == "git_author" and read_author(value) is None:
        return AUTHOR
    return None


class _KindOf(Value):
    """A kind of values: what a message calls it, its types, and which values of them it has."""

    name: str
    types: tuple[type, ...]
    fits: Callable[[Any], bool] = lambda _value: True

    def is_of(self, value: Any) -> bool:
        """Whether a value has one of the types: true is no number, and a text no list of texts."""
        if isinstance(value, bool):
            return bool in self.types
        fits = isinstance(value, self.types)
        return fits and (list not in self.types or all(isinstance(item, str) for item in value))


# By how Settings writes them.
KINDS = {
    "str": _KindOf("a text that is not empty", (str,), lambda text: bool(text) and "\0" not in text),
    "bool": _KindOf("True or False", (bool,)),
    "int": _KindOf("a number of bytes, 0 or more", (int,), lambda number: number >= 0),
    "float": _KindOf("a number of seconds, 0 or more", (int, float), lambda number: 0 <= number < FOREVER),
    "Sequence[str]": _KindOf("a list of texts", (list, tuple, set, frozenset)),
}


def read_author(text: str) -> tuple[str, str] | None:
    """Return the name and mail that `Name` or `Name <mail>` stands for; None if it is neither."""
    name, bracket, mail = text.strip().partition("<")
    name, mail = name.strip(), mail.removesuffix(">").strip() if bracket else "clada@localhost"
    closed = not bracket or text.rstrip().endswith(">")
    plain = (name + mail).isprintable() and not any(char in "<>" for char in name + mail)
    return (name, mail) if name.strip(LEFT_OUT) and mail and closed and plain else None
