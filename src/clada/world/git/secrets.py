"""Which untracked files stay off the branch: those whose names say that they hold secrets, and large ones."""

from __future__ import annotations

import os

LARGE = 10 * 1024 * 1024  # bytes

# Whole names of files; all are compared in lower case.
NAMES = frozenset(
    """
    .env .envrc .netrc _netrc .authinfo .npmrc .pypirc .pgpass pgpass.conf .my.cnf .mylogin.cnf
    .htpasswd .htdigest .git-credentials .dockercfg .dockerconfigjson .s3cfg .boto .passwd-s3fs
    .terraformrc terraform.rc .vault-token .vault_pass .vault_pass.txt .vault-password .credentials
    .secret .secrets .token .msmtprc .fetchmailrc .smbcredentials .ftppass .ftpconfig .psql_history
    .mysql_history .bash_history .zsh_history .flaskenv credentials secrets secret accesskeys.csv
    access_tokens.db token.json token.txt secret_token.rb master.key kubeconfig kubeconfig.yml
    kubeconfig.yaml keystore.properties key.properties rclone.conf wp-config.php localsettings.php
    filezilla.xml recentservers.xml wallet.dat
    """.split()
)
# A `.key` or `.asc` is mostly private; public ones say `.pub`.
ENDINGS = tuple(
    """
    .env .pem .key .p8 .p12 .pfx .pkcs12 .jks .bks .keystore .truststore .kdb .kdbx .psafe3 .ppk
    .asc .gpg .keychain .keytab .agekey .snk .tfstate .tfstate.backup .tfvars .tfvars.json .ovpn
    .mobileprovision .publishsettings
    """.split()
)
# A file of data whose name is one of these words, or ends in one: my-secrets.yaml.
WORDS = tuple("secret secrets credential credentials password passwords passwd apikey apikeys".split())
OF_DATA = tuple(".txt .csv .json .yml .yaml .toml .xml .ini .conf .cfg .properties .db".split())
STARTS = tuple(".env. .env- .env_ id_rsa id_dsa id_ecdsa id_ed25519 id_xmss".split())
JSON_WORDS = tuple(
    "service-account service_account serviceaccount credentials client_secret client-secret adminsdk".split()
)
DIRECTORIES = frozenset(".ssh .gnupg .aws .azure .gcloud .kube .password-store".split())
PATHS = tuple(  # where the name of the file alone says nothing
    "/.docker/config.json /gh/hosts.yml /.cargo/credentials.toml /.m2/settings.xml".split()
)
HARMLESS_ENDINGS = tuple(".example .sample .template .tmpl .dist .pub .md .j2".split())
HARMLESS_WORDS = tuple(".example. .sample. .template. -example. -sample. -template.".split())


def looks_secret(path: str) -> bool:
    """Return whether a file of this name usually holds a secret."""
    lowered = path.lower()
    *directories, name = lowered.split("/")
    if name.endswith(HARMLESS_ENDINGS) or any(word in name for word in HARMLESS_WORDS):
        return False
    return (
        name in NAMES
        or name.endswith(ENDINGS)
        or name.startswith(STARTS)
        or (name.endswith(OF_DATA) and _ends_in_word(name.rpartition(".")[0]))
        or (name.endswith(".json") and any(word in name for word in JSON_WORDS))
        or not DIRECTORIES.isdisjoint(directories)
        or f"/{lowered}".endswith(PATHS)
    )


def _ends_in_word(stem: str) -> bool:
    """Return whether a word stands at the end, alone or behind something that is no letter."""
    before = next((stem.removesuffix(word) for word in WORDS if stem.endswith(word)), "x")
    return not before[-1:].isalpha()


def is_large(path: str) -> bool:
    """Return whether a file is so large that nobody wants it in a commit unasked."""
    try:
        return os.lstat(path).st_size > LARGE
    except OSError:
        return False  # it is gone since it was listed, so no commit takes it in
