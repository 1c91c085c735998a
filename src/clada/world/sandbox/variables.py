"""The environment of a confined command: without secrets, and without what leads to services with some."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Parts of names, between underscores, and ends of names that say what the value is.
_WORDS = frozenset(
    """TOKEN TOKENS SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE PASS KEY KEYS APIKEY CREDENTIAL
    CREDENTIALS CREDS PAT AUTH AUTHORIZATION COOKIE COOKIES DSN JWT BEARER""".split()
)
_ENDS = tuple(
    """TOKEN SECRET PASSWORD PASSWD PASSPHRASE PASS _PW _PWD APIKEY SECRETKEY PRIVATEKEY ACCESSKEY
    CREDENTIALS""".split()
)
_NAMES = frozenset(
    """DATABASE_URL MYSQL_PWD SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS
    XDG_RUNTIME_DIR DOCKER_HOST GIT_ASKPASS SSH_ASKPASS GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT""".split()
)
# Of clouds, of which half are secrets; and of git, where the headers of requests may be set.
_BEGINNINGS = ("AWS_", "AZURE_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")


def looks_secret(name: str, value: str) -> bool:
    """Return whether a variable looks like a secret: by its name, or as an address with a password in it."""
    known = name.upper()
    if known in _NAMES or known.startswith(_BEGINNINGS) or known.endswith(_ENDS):
        return True
    return not _WORDS.isdisjoint(known.split("_")) or _has_password(value)


def _has_password(value: str) -> bool:
    """Return whether a value is like https://name:password@host."""
    _scheme, mark, rest = value.partition("://")
    login, at, _host = rest.partition("/")[0].rpartition("@")
    return bool(mark and at and ":" in login.strip(":"))


def passed_on(environment: Mapping[str, str], hide: Sequence[str], keep: Sequence[str]) -> dict[str, str]:
    """Return what a command gets: no secrets but those to keep, nothing to hide, not the host's TMPDIR."""
    kept, hidden = _matching(environment, keep), {*_TEMPORARY, *_matching(environment, hide)}
    seen = {
        name: value
        for name, value in environment.items()
        if name not in hidden and (name in kept or not looks_secret(name, value))
    }
    return seen | _git_variables(seen)


def _matching(names: Iterable[str], patterns: Sequence[str]) -> set[str]:
    """Return the names that match one of the patterns."""
    if not patterns:
        return set()
    from fnmatch import fnmatchcase

    return {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)}


def _git_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep `git status` and `git diff` from rewriting the index."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    index = int(count) if count.isdigit() else 0
    return {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": str(index + 1),
        f"GIT_CONFIG_KEY_{index}": "diff.autoRefreshIndex",
        f"GIT_CONFIG_VALUE_{index}": "false",
    }
