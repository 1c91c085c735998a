"""What a person should hear of the files that a commit takes in for the first time."""

from __future__ import annotations

import os

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LARGE = 10 * 1024 * 1024  # bytes
MAX_NAMED = 10

SECRET_NAMES = frozenset(
    """
    .env .envrc .netrc _netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials .dockercfg .my.cnf
    credentials credentials.json credentials.yml credentials.yaml secrets.json secrets.yml secrets.yaml
    secrets.toml id_rsa id_dsa id_ecdsa id_ed25519 master.key service-account.json kubeconfig
    """.split()
)
SECRET_ENDINGS = tuple(".pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .tfvars".split())
SECRET_STARTS = (".env.",)
HARMLESS_ENDINGS = tuple(".example .sample .template .dist .pub".split())


def noted(workspace: str, untracked: Iterable[str]) -> list[str]:
    """Return a note for the files that look like secrets, and one for those that are large."""
    paths = list(untracked)
    return [
        *_note("look like secrets", [path for path in paths if looks_secret(path)]),
        *_note("are over 10 MB", [path for path in paths if _size(os.path.join(workspace, path)) > LARGE]),
    ]


def looks_secret(path: str) -> bool:
    """Tell whether a file of this name usually holds a secret."""
    name = path.rpartition("/")[2].lower()
    if name.endswith(HARMLESS_ENDINGS):
        return False
    return name in SECRET_NAMES or name.endswith(SECRET_ENDINGS) or name.startswith(SECRET_STARTS)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0  # it has gone since git listed it: then the commit will not take it in


def _note(what: str, paths: list[str]) -> list[str]:
    if not paths:
        return []
    names = ", ".join(escape_controls(path) for path in paths[:MAX_NAMED])
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return [f"the commit before the run takes in untracked files that {what}: {names}{more}"]
