"""Which names are secret files, which values in them are secret, and how they are masked in output."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import clada
from clada.world.processes.output import OutputReader
from clada.world.secrets import names
from clada.world.secrets.mask import MOST_VALUES, Mask, secret_values
from clada.world.secrets.names import (
    BY_PROGRAM,
    PATTERNS,
    SecretFiles,
    excluded_names,
    find_secret_files,
    looks_secret,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Place

    from clada.world.files.walk import Directory


def test_the_table_has_enough_names_each_with_a_program() -> None:
    assert len(PATTERNS) >= 90
    assert len(set(PATTERNS)) == len(PATTERNS)
    assert all(BY_PROGRAM)


def test_every_pattern_matches() -> None:
    for pattern in PATTERNS:
        name = pattern.replace("*", "abc")
        assert looks_secret(name), name
        assert looks_secret(f"some/where/{name}"), name
        assert not looks_secret(f"{name}.example"), name


SECRET = """
API_KEY=sk-abcdefgh
export DB_PASSWORD="two plain words"
TOKEN: 'quoted-token'
# OLD_SECRET=unused-secret
DATABASE_URL=mysql://root:pass-in-address@db/app
NODE_ID=93af21bc77d0e4
clientSecret = camel-case-key
{"refresh_token": "json-in-a-line", "n": 1}
SLACK_WEBHOOK_URL=https://hooks.example.com/services/T024BE7LD/abc123def456
"""
ORDINARY = """
NODE_ENV=development
APP_NAME=My Application
PORT=8080
TIMEOUT=86400000
HOST=db.example.com
REDIS_URL=redis://localhost:6379/0
AWS_REGION=eu-central-1
MODEL=gpt-4o-mini-2024-07-18
STARTED=2024-01-01T00:00:00Z
LOG_FILE=/var/log/application/server.log
SECRET_KEY_FILE=/run/secrets/server
GOOGLE_APPLICATION_CREDENTIALS=./config/google
PASSWORD=password
SECRET=changeme
API_KEY=your-api-key-here
API_KEY=<insert it>
TOKEN=${GITHUB_TOKEN}
KEY=xxxxxxxxxxxxxxxx
PASS=short
CACHE_KEY_PREFIX=application
SESSION_COOKIE_NAME=my_application_session
JWT_ALGORITHM=something-long
FEATURES=search,comments,profiles
TLS=true
"""


def test_secrets_are_found_in_every_form() -> None:
    assert secret_values(SECRET) == {
        "sk-abcdefgh": "API_KEY",
        "two plain words": "DB_PASSWORD",
        "quoted-token": "TOKEN",
        "unused-secret": "OLD_SECRET",
        "pass-in-address": "DATABASE_URL",
        "93af21bc77d0e4": "NODE_ID",
        "camel-case-key": "clientSecret",
        "json-in-a-line": "refresh_token",
        "https://hooks.example.com/services/T024BE7LD/abc123def456": "SLACK_WEBHOOK_URL",
    }


def test_ordinary_settings_are_not_secrets() -> None:
    assert secret_values(ORDINARY) == {}


def test_each_line_of_a_private_key_is_secret_and_a_certificate_is_not() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nq0Yk3s5ZrLbq\n-----END RSA PRIVATE KEY-----\n"
    assert list(secret_values(key)) == ["MIIEowIBAAKCAQEA", "q0Yk3s5ZrLbq"]
    assert list(secret_values(f"KEY='{key}'").values()) == ["RSA PRIVATE KEY"] * 2
    assert secret_values(key.replace("RSA PRIVATE KEY", "CERTIFICATE").replace("\n", " ")) == {}


def test_the_longer_of_two_values_is_masked() -> None:
    mask = Mask()
    mask.add("a.env", b"ONE_KEY=abcdefgh\nTWO_KEY=abcdefgh-more\n")
    assert mask("x abcdefgh-more abcdefgh y") == "x •••(a.env:TWO_KEY) •••(a.env:ONE_KEY) y"


def test_values_are_bounded() -> None:
    mask = Mask()
    mask.add(".env", "".join(f"KEY_{n}=value-number-{n:06}\n" for n in range(3 * MOST_VALUES)).encode())
    assert "value-number" not in mask("value-number-000001")
    assert mask("value-number-002999") == "value-number-002999"


@pytest.mark.parametrize("before", [0, 65_500, 65_530, 65_536, 131_060])
@pytest.mark.parametrize("step", [7, 4096, 1 << 16])
def test_a_value_in_a_long_line_and_in_many_chunks_is_masked(before: int, step: int) -> None:
    mask, lines = Mask(), list[str]()
    mask.add(".env", b"API_KEY=secret-value-0123456789\n")
    source, sink = os.pipe()
    reader = OutputReader(source, lines.extend, mask)
    text = b"x" * before + b"secret-value-0123456789" + b"y" * 70_000
    for at in range(0, len(text), step):
        os.write(sink, text[at : at + step])
        reader.read()
    os.close(sink)
    reader.finish()
    reader.close()
    assert "secret-value" not in "".join(lines)
    assert "".join(lines) == f"{'x' * before}•••(.env:API_KEY){'y' * 70_000}"


def test_the_search_for_secret_files_is_bounded_and_starts_at_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("node_modules", "src"):
        (tmp_path / folder).mkdir()
        for number in range(20):
            (tmp_path / folder / f"{number}").touch()
        (tmp_path / folder / "x.pem").touch()
    (tmp_path / ".env").touch()
    monkeypatch.setattr(names, "MOST_ENTRIES", 24)
    assert find_secret_files(str(tmp_path)).paths == (".env", "src/x.pem")
    assert find_secret_files(str(tmp_path)).whole
    monkeypatch.setattr(names, "MOST_ENTRIES", 2)
    assert not find_secret_files(str(tmp_path)).whole


def test_other_names_of_a_secret_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".env").write_text("API_KEY=1")
    for name in ("notes.txt", "sub/more", ".env.example"):
        os.link(tmp_path / ".env", tmp_path / name)
    (tmp_path / "other").touch()
    os.link(tmp_path / "other", tmp_path / "another")
    files = find_secret_files(str(tmp_path), reveal=["sub/more"])
    assert files.paths == (".env",)
    assert sorted(files.links) == [".env.example", "notes.txt"]


def test_names_that_a_walk_leaves_out() -> None:
    files = SecretFiles(("a/.env", "b/.env", ".aws/config", "x/.docker/config.json"), ("notes.txt", "a/b"))
    assert excluded_names(files) == (("notes.txt", "b", ".env"), (".aws", ".docker"))


def test_a_run_without_commands_does_not_look_for_secrets(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write(".env", "API_KEY=sk-abcdefgh\n")
    looked: list[str] = []

    def walk(top: str, *_arguments: object, **_options: object) -> list[Directory]:
        looked.append(top)
        return []

    monkeypatch.setattr(names, "walk", walk)
    write = '{"tasks": [{"action": "write", "path": "a", "content": "x"}]}'
    assert clada.execute(write, workspace=str(place.inside), git=False).ok
    assert not looked
    read = '{"tasks": [{"action": "run", "command": "cat a"}]}'
    assert clada.execute(read, workspace=str(place.inside), git=False).ok
    assert looked
