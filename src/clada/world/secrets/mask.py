"""The values in files that look like secrets, and the mask that keeps them out of all output.

A file is read line by line for `KEY=value`, `key: value`, pairs in quotes (JSON, PHP), XML elements, logins
in addresses, netrc and PEM; JSON is also read as a whole, so that a value is known by all keys above it. A
value is replaced by a mark that says where it comes from: `•••(.env:API_KEY)`.
"""

from __future__ import annotations

import json
import os
import re
import stat

from clada.text.escape import escape_controls
from clada.world.secrets.names import (
    SECRET_WORDS,
    SecretFiles,
    file_status,
    find_secret_files,
    in_secret_directory,
    is_revealed,
    looks_secret,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from clada.errors import Error

    Pair = tuple[str, str]  # a key, which can be empty, and its value


SHORTEST = 8  # characters of a value that is masked: shorter ones occur in ordinary output
LONGEST = 4096

# Parts of a key that say that its value is secret; some are too common for variables of the environment.
_SECRET_KEYS = SECRET_WORDS | frozenset(
    "pwd pw authtoken private signature salt webhook login sensitive".split()
)
# Last parts of a key that say that its value describes a secret, or says where one is.
_DESCRIBING = frozenset(
    """name names type kind mode url uri host hostname port path file dir directory ttl expiry expires prefix
    suffix algorithm alg provider region length size count enabled required domain issuer audience version
    format method scope scopes realm user username email owner realm fingerprint public""".split()
)
# Values that stand for something else, or that everybody has. Compared in lower case.
_COMMON = frozenset(
    """changeme change_me change-me password passw0rd password1 password123 12345678 123456789 1234567890
    00000000 development production localhost postgres postgresql username undefined disabled optional
    required default1 testtest test1234 testing1 secretsecret supersecret mysecret mypassword root1234
    administrator adminadmin qwertyui placeholder application""".split()
)
_PLACEHOLDER = re.compile(
    r"""(?ix) ^----- | ^(your|my|the|some|insert|enter|replace|change|put|add|todo|fixme|example|sample|dummy
    |fake)[-_ ] | (here|placeholder|example|changeme)$ | ^<.*>$ | ^\$(\{.*\}|\w+)$ | ^\{\{ | ^%\w+%$
    | ^(.)\3+$ | ^[x*.•_-]+$
    """
)
_ADDRESS_OR_PATH = re.compile(r"[a-z][a-z0-9+.-]*://|\.{0,2}/|~/|[A-Za-z]:\\")
_LOGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@'\"]*:([^\s/@'\"]+)@")
_WORD_AND_NUMBER = re.compile(r"[A-Za-z]+\d+|\d+[A-Za-z]{1,3}")
_SHORTEST_MIXED = 6  # letters and digits together, as in 93af21
_SENSITIVE = ".sensitive"  # added to the keys of values that Terraform calls so
_FEW_LINES = 3  # of a file that holds a bare password

_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY[A-Z ]*)-----((?:(?!-----).)*)", re.DOTALL)
_SET = re.compile(r"\s*(?:export\s+|set\s+|-\s+)?([\w./:@$-]*[\w$-])\s*(?:=>|=|:(?=\s))(.*)")
_COMMENT = re.compile(r"\s*(?:[#;]+|//\s)\s*")
_QUOTED_PAIR = re.compile(
    r"""(["'])([\w./:@$ -]+)\1\s*(?::|=>|,|=)\s*(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')"""
)
_ELEMENT = re.compile(r"<(\w[\w.-]*)[^<>]*>([^<>\n]+)</\1>")
_NETRC = re.compile(r"\b(password|passwd|account|secret|token|pass)\s+(\S+)")


def secret_values(text: str) -> dict[str, str]:
    """Return the secret values in the text of a file, each with its key, which can be empty."""
    found: dict[str, str] = {}
    for key, value in _pairs(text):
        for part in _secret_parts(key, value):
            found.setdefault(part, key.removesuffix(_SENSITIVE))
    return found


def _pairs(text: str) -> Iterator[Pair]:
    yield from _pairs_of_json(text)
    for kind, body in _PEM.findall(text):
        yield from ((kind, line) for line in re.split(r"\s+|\\n", body) if line)
    lines = text.splitlines()
    for line in lines:
        pairs = list(_pairs_of_line(line))
        yield from pairs
        if not pairs and not line.lstrip().startswith(("#", ";", "-----", "[")):
            yield from _pairs_of_bare_line(line.strip().removeprefix("- "), alone=len(lines) <= _FEW_LINES)


def _pairs_of_line(line: str) -> Iterator[Pair]:
    """Yield the keys and values of a line, in any of the forms; a value can match two of them."""
    comment = _COMMENT.match(line)
    assigned = _SET.match(line, comment.end() if comment else 0)
    if assigned:
        key, value = assigned[1], _unquote(assigned[2].strip().removesuffix(",").rstrip())
        if not comment or " " not in value:  # of comments, only settings that were put out of use
            yield key, value
    for _quote, key, double, single in _QUOTED_PAIR.findall(line):
        yield key, double or single
        if "\\" in double + single:
            yield key, _unescape(double or single)
    yield from _ELEMENT.findall(line)
    yield from _NETRC.findall(line)
    yield from (("password", password) for password in _LOGIN.findall(line))


def _pairs_of_bare_line(line: str, *, alone: bool) -> Iterator[Pair]:
    """Yield a line without a key, where it is one word: a token, or fields as in .pgpass and .htpasswd."""
    if " " in line or "\t" in line:
        return
    *_others, last = line.split(":")
    key = "password" if alone or ":" in line else ""
    yield key, line if ":" not in line else last


def _pairs_of_json(text: str) -> Iterator[Pair]:
    """Yield the texts in a JSON document, each with all keys above it; nothing if it is not JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(text))]
    except (ValueError, RecursionError):
        return
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            sensitive = _SENSITIVE if value.get("sensitive") is True else ""
            waiting += [(f"{path}.{key}{sensitive}".lstrip("."), each) for key, each in value.items()]
        elif isinstance(value, list):
            waiting += [(path, each) for each in value]
        elif isinstance(value, str):
            yield path, value


def _unquote(value: str) -> str:
    """Return a value without its quotes, and without the comment behind it."""
    quote = value[:1]
    if quote in ('"', "'"):
        end = value.find(quote, 1)
        return value[1:end] if end > 0 else value[1:]
    return re.split(r"\s[#;]", value, maxsplit=1)[0].strip()


def _unescape(value: str) -> str:
    try:
        return str(json.loads(f'"{value}"'))
    except ValueError:
        return value


# Which of them are secret.


def _secret_parts(key: str, value: str) -> Iterator[str]:
    """Yield what of a value is to be masked: all of it, its lines, or the password in an address."""
    if "\n" in value or "\\n" in value:
        for line in re.split(r"\n|\\n", value):
            if "-----" not in line and is_secret_value(key, line.strip()):
                yield line.strip()
        return
    login = _LOGIN.search(value)
    if login:
        if is_secret_value("password", login[1]):
            yield login[1]
    elif is_secret_value(key, value):
        yield value


def is_secret_value(key: str, value: str) -> bool:
    """Return whether a value is a secret, by its key and its form."""
    if not SHORTEST <= len(value) <= LONGEST or value.lower() in _COMMON or _PLACEHOLDER.search(value):
        return False
    if re.fullmatch(r"[\d.,:/_ -]*", value) and not _is_secret_key(key):
        return False
    if _ADDRESS_OR_PATH.match(value) or not _is_secret_key(key):
        return not re.search(r"\s", value) and _has_mixed_part(value)
    return True


def _is_secret_key(key: str) -> bool:
    """Return whether a key such as API_KEY, clientSecret or db.password.value means a secret."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", key)]
    if not words or words[-1] in _DESCRIBING:
        return False
    return not _SECRET_KEYS.isdisjoint(words)


def _has_mixed_part(value: str) -> bool:
    """Return whether letters and digits are mixed in a part of a value, as they are in keys and hashes."""
    return any(
        len(part) >= _SHORTEST_MIXED
        and not part.isalpha()
        and not part.isdigit()
        and not _WORD_AND_NUMBER.fullmatch(part)
        for part in re.findall(r"[A-Za-z0-9]+", value)
    )


MOST_FILES, LARGEST, MOST_BYTES = 200, 256 << 10, 2 << 20  # of secret files whose values are read
MOST_VALUES = 1000  # each is searched for in all output
LONGEST_KEY = 60  # characters of a key that a mark names


class Mask:
    """The secret values that are known, each with its mark."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._sorted: list[tuple[str, str]] = []

    @property
    def longest(self) -> int:
        """How many bytes the longest value can have."""
        return max((len(value.encode()) for value, _mark in self._sorted[:1]), default=0)

    def add(self, path: str, content: bytes) -> None:
        """Learn the values in a file, as far as there is room for more."""
        if b"\0" in content:
            return  # a binary file, of which nothing is printed as text
        for value, key in secret_values(content.decode("utf-8", "replace")).items():
            if len(self._marks) >= MOST_VALUES:
                break
            where = f"{path}:{key[-LONGEST_KEY:]}" if key else path
            for form in (value, escape_controls(value)):
                self._marks.setdefault(form, f"•••({escape_controls(where)})")
        # A value can be a part of another one: the longer one is replaced first.
        self._sorted = sorted(self._marks.items(), key=lambda item: -len(item[0]))

    def __call__(self, text: str) -> str:
        """Return a text with a mark in place of each value."""
        for value, mark in self._sorted:
            if value in text:
                text = text.replace(value, mark)
        return text

    def error(self, error: Error) -> Error:
        """Return an error without secret values, wherever it quotes a file."""
        nearest = error.nearest and error.nearest.replace(
            **{
                name: self._optional(getattr(error.nearest, name))
                for name in ("wanted", "found", "difference")
            }
        )
        texts = ("message", "hint", "searched", "details", "traceback")
        repairs = tuple(text for text in error.repairs if self(text) == text)
        return error.replace(
            nearest=nearest, repairs=repairs, **{name: self._optional(getattr(error, name)) for name in texts}
        )

    def _optional(self, text: str | None) -> str | None:
        return text and self(text)


def mask_of_changes(
    changes: Iterable[tuple[str, bytes | None, bytes | None]], reveal: Sequence[str] = ()
) -> Mask:
    """Return a mask of the old values of changed secret files; new values come from the answer."""
    mask = Mask()
    for path, old, _new in changes:
        if old and looks_secret(path) and not is_revealed(path, reveal):
            mask.add(path, old)
    return mask


class WorkspaceSecrets:
    """The secrets in a workspace: searched for right before a command runs."""

    def __init__(self, root: str, reveal: Sequence[str]) -> None:
        self._root, self._reveal = root, tuple(reveal)
        self.mask = Mask()  # values stay known for the whole run, wherever their file goes
        self.files = SecretFiles()
        self.is_stale = True  # whether files may have changed since they were searched for

    def refresh(self) -> None:
        """Look for secret files, and learn their values, unless nothing has changed."""
        if not self.is_stale:
            return
        self.files = find_secret_files(self._root, self._reveal)
        room = MOST_BYTES
        for path in self.files.paths[:MOST_FILES]:
            content = _content(os.path.join(self._root, path), min(LARGEST, room))
            self.mask.add(path, content)
            room -= len(content)
        self.is_stale = False

    def names(self, path: str) -> bool:
        """Return whether a path of the workspace names a file, or a directory, that looks like a secret."""
        if is_revealed(path, self._reveal):
            return False
        status = file_status(self._root, path)
        if status and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            self.refresh()
            if path in self.files.links:
                return True
        if os.path.isdir(os.path.join(self._root, path)):
            return in_secret_directory(path.lower().split("/"))
        return looks_secret(path)


def _content(path: str, most: int) -> bytes:
    """Return the start of a regular file, also through a link; nothing if it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(handle, "rb", buffering=0) as file:
        return file.read(max(0, most)) or b"" if stat.S_ISREG(os.fstat(handle).st_mode) else b""
