"""Names of files that usually hold secrets, by the program that writes or reads them.

One table for commits, for the files that commands can read, and for masks in output.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from clada.values import Value
from clada.world.files.walk import skip_error, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


# Names of files in lower case; `*` stands for any text, at the start or at the end of a name.
BY_PROGRAM = {
    "dotenv, docker compose, Vite, Next.js, Laravel": ".env *.env .env.* .env-* .env_*",
    "direnv": ".envrc",
    "Flask": ".flaskenv",
    "Cloudflare Wrangler": ".dev.vars .dev.vars.*",
    "curl, ftp, heroku": ".netrc _netrc",
    "Emacs": ".authinfo",
    "npm, pnpm": ".npmrc",
    "pip and twine": ".pypirc",
    "RubyGems": ".gem/credentials",
    "Composer": "auth.json",
    "Cargo": ".cargo/credentials .cargo/credentials.toml",
    "Maven": ".m2/settings.xml .m2/settings-security.xml",
    "Gradle and Android": "keystore.properties key.properties local.properties",
    "Hackage": ".cabal/config",
    "PostgreSQL": ".pgpass pgpass.conf .psql_history .pg_service.conf",
    "MySQL": ".my.cnf .mylogin.cnf .mysql_history",
    "Redis": ".rediscli_history",
    "MongoDB": ".mongorc.js .mongosh_repl_history",
    "SQL Server and .NET": "*.publishsettings *.pubxml.user usersecrets.json",
    "Apache": ".htpasswd .htdigest",
    "git credential-store": ".git-credentials",
    "GitHub CLI": "gh/hosts.yml",
    "GitLab CLI": "glab-cli/config.yml",
    "hub": ".config/hub",
    "Docker": ".dockercfg .docker/config.json",
    "Kubernetes": "kubeconfig kubeconfig.yml kubeconfig.yaml *.kubeconfig .dockerconfigjson",
    "Helm secrets, SOPS": "secrets.enc.yaml secrets.dec.yaml *.dec.yaml",
    "Terraform": ".terraformrc terraform.rc *.tfstate *.tfstate.backup *.tfvars *.tfvars.json",
    "Pulumi": ".pulumi/credentials.json",
    "Vault": ".vault-token .vault-password vault.json",
    "Ansible": ".vault_pass .vault_pass.txt vault_pass.txt",
    "Chef": "encrypted_data_bag_secret",
    "AWS": "accesskeys.csv rootkey.csv *_accesskeys.csv",
    "Google Cloud": "key.json gcloud-key.json application_default_credentials.json access_tokens.db "
    "*adminsdk*.json *service-account*.json *service_account*.json *serviceaccount*.json "
    "*client_secret*.json *client-secret*.json *credentials*.json",
    "Azure": "azureprofile.json accesstokens.json msal_token_cache.json",
    "Firebase": ".runtimeconfig.json",
    "Heroku and Sentry": ".sentryclirc",
    "s3cmd, boto, s3fs, rclone": ".s3cfg .boto .passwd-s3fs rclone.conf",
    "OAuth clients": "token.json token.txt *.token .token token.pickle",
    "OpenSSL": "*.pem *.key *.p8 *.p12 *.pfx *.pkcs12",
    "OpenSSH": "id_rsa* id_dsa* id_ecdsa* id_ed25519* id_xmss* ssh_host_*_key",
    "PuTTY": "*.ppk",
    "Java keytool": "*.jks *.bks *.keystore *.truststore",
    "GnuPG": "*.asc *.gpg secring.pgp",
    "age": "*.agekey keys.txt.age",
    "macOS": "*.keychain *.keychain-db *.mobileprovision",
    ".NET strong names": "*.snk",
    "Kerberos": "*.keytab",
    "OpenVPN": "*.ovpn",
    "WireGuard": "wg0.conf",
    "KeePass": "*.kdb *.kdbx",
    "Password Safe": "*.psafe3",
    "1Password": "*.1pif *.opvault",
    "Bitcoin Core": "wallet.dat",
    "Ruby on Rails": "master.key secret_token.rb",
    "WordPress": "wp-config.php",
    "MediaWiki": "localsettings.php",
    "Drupal": "settings.local.php",
    "Django": "local_settings.py",
    "Jenkins": "credentials.xml hudson.util.secret",
    "FileZilla": "filezilla.xml recentservers.xml sitemanager.xml",
    "sftp of editors": ".ftppass .ftpconfig sftp-config.json sftp.json .remote-sync.json",
    "msmtp, fetchmail": ".msmtprc .fetchmailrc",
    "mount.cifs": ".smbcredentials",
    "shells": ".bash_history .zsh_history",
    "irssi, WeeChat": "sec.conf",
    "written by hand": ".credentials .secret .secrets credentials secrets secret",
}
# Everything in a directory of such a name, by the program that owns it.
DIRECTORIES = {
    ".ssh": "OpenSSH",
    ".gnupg": "GnuPG",
    ".aws": "AWS",
    ".azure": "Azure",
    ".gcloud": "Google Cloud",
    ".kube": "Kubernetes",
    ".password-store": "pass",
}
# Parts of the name of a variable or a key that say that its value is secret.
SECRET_WORDS = frozenset(
    """token tokens secret secrets password passwords passwd passphrase pass key keys apikey credential
    credentials creds pat auth authorization cookie cookies dsn jwt bearer""".split()
)
# A file of data whose name is one of these words, or ends in one: my-secrets.yaml.
WORDS = tuple("secret secrets credential credentials password passwords passwd apikey apikeys".split())
OF_DATA = tuple(".txt .csv .json .yml .yaml .toml .xml .ini .conf .cfg .properties .db".split())
HARMLESS_ENDINGS = tuple(".example .sample .template .tmpl .dist .pub .md .j2".split())
HARMLESS_WORDS = tuple(".example. .sample. .template. -example. -sample. -template.".split())

PATTERNS = tuple(pattern for patterns in BY_PROGRAM.values() for pattern in patterns.split())
_IN_FOLDERS = tuple(f"/{pattern}" for pattern in PATTERNS if "/" in pattern)
_NAMES = frozenset(pattern for pattern in PATTERNS if "/" not in pattern and "*" not in pattern)
_ENDINGS = tuple(pattern[1:] for pattern in PATTERNS if pattern.rfind("*") == 0)
_STARTS = tuple(pattern[:-1] for pattern in PATTERNS if pattern.find("*") == len(pattern) - 1)
_OTHERS = tuple(pattern for pattern in PATTERNS if "*" in pattern[1:-1] or pattern.count("*") > 1)
_ENDINGS_OF_OTHERS = tuple({pattern.rpartition("*")[2] for pattern in _OTHERS})


def looks_secret(path: str) -> bool:
    """Return whether a file of this path usually holds a secret."""
    lowered = path.lower()
    *directories, name = lowered.split("/")
    is_secret = _is_secret(name) or in_secret_directory(directories) or f"/{lowered}".endswith(_IN_FOLDERS)
    return is_secret and not _is_harmless(name)


def in_secret_directory(directories: Iterable[str]) -> bool:
    """Return whether one of these directories is there for secrets; names are in lower case."""
    return not DIRECTORIES.keys().isdisjoint(directories)


def _is_secret(name: str) -> bool:
    return (
        name in _NAMES
        or name.endswith(_ENDINGS)
        or name.startswith(_STARTS)
        or (name.endswith(OF_DATA) and _ends_in_word(name.rpartition(".")[0]))
        or (name.endswith(_ENDINGS_OF_OTHERS) and _matches_any(name, _OTHERS))
    )


def _is_harmless(name: str) -> bool:
    return name.endswith(HARMLESS_ENDINGS) or any(word in name for word in HARMLESS_WORDS)


def _ends_in_word(stem: str) -> bool:
    """Return whether one of the words is at the end, alone or after a character that is not a letter."""
    before = next((stem.removesuffix(word) for word in WORDS if stem.endswith(word)), "x")
    return not before[-1:].isalpha()


def _matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def is_revealed(path: str, patterns: Sequence[str]) -> bool:
    """Return whether the setting `reveal` names this file: by its name, or by its path in the workspace."""
    return _matches_any(path, patterns) or _matches_any(path.rpartition("/")[2], patterns)


MOST_ENTRIES = 50_000  # of the workspace that are examined: about a tenth of a second
SKIPPED = frozenset((".git", ".clada"))  # no command may name them
# Directories of other people's packages are examined last.
DEPENDENCIES = frozenset("node_modules .venv venv site-packages vendor .tox target __pycache__".split())


class SecretFiles(Value):
    """The files that look like secrets, as paths in the workspace; `whole` if all of it was examined.

    `links` are other names of these files (hard links), which do not look like secrets.
    """

    paths: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    whole: bool = True


def find_secret_files(root: str, reveal: Sequence[str] = ()) -> SecretFiles:
    """Return the files below a directory that look like secrets: outer ones first, following no link."""
    seen = _Walk(root)
    found = [path for path, _inode in seen if looks_secret(path) and not is_revealed(path, reveal)]
    linked = {status.st_ino for path in found if (status := file_status(root, path)) and status.st_nlink > 1}
    names = [path for path, inode in _Walk(root) if inode in linked] if linked else []
    links = tuple(path for path in names if path not in found and not is_revealed(path, reveal))
    return SecretFiles(tuple(found), links, seen.whole)


class _Walk:
    """Yields the files below a directory with their inodes, the outer ones first, in bounded time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.whole = False  # whether all was seen that is not other people's packages, once it has ended

    def __iter__(self) -> Iterator[tuple[str, int]]:
        left, dependencies = MOST_ENTRIES, list[str]()
        for start in ([""], dependencies):
            for directory in walk(self._root, skip_error, start=start, breadth_first=True):
                if left <= 0:
                    return
                left -= len(directory.entries)
                folders = [name for name in directory.enter if name.lower() not in SKIPPED]
                directory.enter, inside = folders, set(directory.enter)
                yield from (
                    (directory.join(entry.name), entry.inode())
                    for entry in directory.entries
                    if entry.name not in inside
                )
                if start is not dependencies:
                    directory.enter = [name for name in folders if name not in DEPENDENCIES]
                    dependencies += [directory.join(name) for name in folders if name in DEPENDENCIES]
            self.whole = True


def file_status(root: str, path: str) -> os.stat_result | None:
    """Return the status of a file, not through a link; None if it is gone."""
    try:
        return os.lstat(os.path.join(root, path))
    except OSError:
        return None  # it is gone


def excluded_names(found: SecretFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of files, and of directories, without which a walk passes over all these files."""
    files, folders = dict.fromkeys(path.rpartition("/")[2] for path in found.links), dict[str, None]()
    for path in found.paths:
        *above, name = path.split("/")
        known = next((each for each in above if each.lower() in DIRECTORIES), None)
        if known:
            folders[known] = None
        elif looks_secret(name):
            files[name] = None
        else:  # only its directory says what it is, as in .docker/config.json
            folders[above[-1]] = None
    return tuple(files), tuple(folders)
