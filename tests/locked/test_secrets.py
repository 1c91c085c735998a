"""Canaries in 20 kinds of secret files: no command, dialect or report shows one, for root and other users."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from clada.world.sandbox.landlock import has_landlock

if TYPE_CHECKING:
    from tests.locked.conftest import Place

LAYERS = ("bubblewrap", "namespace", "landlock")
# By path: a file with {0} where its canary is.
KINDS = {
    ".env": "NODE_ENV=development\nAPI_KEY={0}\n",
    "deploy/.env.production": "export DB_PASSWORD='{0}' # live\n",
    "prod.env": "DATABASE_URL=postgres://app:{0}@db.example.com:5432/app\n",
    ".netrc": "machine api.example.com login me password {0}\n",
    ".npmrc": "//registry.npmjs.org/:_authToken={0}\nsave-exact=true\n",
    ".pypirc": "[pypi]\nusername = __token__\npassword = {0}\n",
    ".git-credentials": "https://me:{0}@github.com\n",
    ".htpasswd": "admin:{0}\n",
    ".pgpass": "db.example.com:5432:app:me:{0}\n",
    ".vault-token": "{0}\n",
    "infra/terraform.tfstate": '{{"outputs": {{"db_password": {{"value": "{0}", "sensitive": true}}}}}}\n',
    "auth.json": '{{"http-basic": {{"repo.example.com": {{"username": "u", "password": "{0}"}}}}}}\n',
    "key.json": '{{"type": "service_account", "private_key_id": "{0}"}}\n',
    "wp-config.php": "<?php\ndefine( 'DB_PASSWORD', '{0}' );\n",
    "config/secrets.yml": "production:\n  secret_key_base: {0}\n  host: db.example.com\n",
    ".aws/credentials": "[default]\naws_secret_access_key = {0}\n",
    ".docker/config.json": '{{"auths": {{"r.example.com": {{"auth": "{0}"}}}}}}\n',
    "kubeconfig": "users:\n- name: admin\n  user:\n    token: {0}\n",
    "prod.tfvars": 'db_password = "{0}"\n',
    "home.ovpn": "<auth-user-pass>\nme\n{0}\n</auth-user-pass>\n",
    "tls/server.pem": "-----BEGIN PRIVATE KEY-----\n{0}\n-----END PRIVATE KEY-----\n",
    "credentials.xml": "<server><password>{0}</password></server>\n",
}
CANARIES = {path: f"cnry{number:02}Zq7Xw{number * 7919:06}" for number, path in enumerate(KINDS)}
OTHER_READERS = """
    head .env; tail -n 3 .env; grep -n KEY .env; wc -c .env; xxd .env; diff .env app.py; file .env
    ls -la .env; stat .env; cat ./deploy/../.env; cat deploy/.env.production | head -1
    cp .env copy.txt; mv .env copy.txt; cp -r .aws copies; cd deploy && cat .env.production
    cd deploy && cat ../.env; grep -r cnry .; grep -rn cnry; grep -ra --include=.env cnry .
    grep -rh . .; grep -r cnry deploy infra config tls; diff -r . deploy; diff -rN deploy tls
    find . -name .env; ls -laR; cat app.py; head -c 400 app.py; grep -o cnry.* app.py; git diff
    git diff --stat; git diff HEAD~1; git diff --cached; git diff .env; git diff HEAD~1 HEAD -- .env
    git show; git show HEAD~1; git show HEAD:.env; git show HEAD~1:config/secrets.yml; git show :.env
    git log -p; git log -p --all --graph; git log --oneline --stat; git log -p -- .env
    git log -L1,2:.env; git log -U3; git log -S cnry -p; git log --word-diff; git status -v -v
    git status; git ls-files -s; git stash push; git stash show -p; git stash show; git show stash@{0}
    git stash pop; git diff --word-diff; cat app.py | grep cnry
"""
READERS = (
    *(f"cat {path}" for path in KINDS),
    *(text.strip() for text in OTHER_READERS.strip().replace("\n", ";").split(";")),
)
APPROVED = ("cat .env .netrc auth.json", "sh -c 'cat * .[a-z]* */*.* */.[a-z]* 2>/dev/null; true'")


@pytest.fixture
def secrets(place: Place) -> Place:
    """Put a canary into each kind of file, an older one into the history, and some into ordinary code."""
    for round_ in ("old", ""):
        for path, text in KINDS.items():
            place.write(path, text.format(round_ + CANARIES[path]))
        place.write("app.py", f"key = 'none'  # {round_}\n")
        place.commit()
    place.write("app.py", "".join(f"key = '{canary}'\n" for canary in CANARIES.values()))
    place.write(".env", KINDS[".env"].format(CANARIES[".env"]) + "MORE=1\n")
    place.give()
    return place


def leaked(text: str) -> list[str]:
    return [path for path, canary in CANARIES.items() if canary in text]


def test_there_are_enough_kinds_and_commands() -> None:
    assert len(KINDS) >= 20
    assert len(READERS) >= 60


@pytest.mark.sample(2)
@pytest.mark.parametrize("arguments", [("--no-git",), ("--no-git", "--sandbox=off")])
def test_readers_never_show_a_canary(secrets: Place, arguments: tuple[str, ...]) -> None:
    found = secrets.clada(*READERS, arguments=arguments)
    assert len(found.tasks) == len(READERS)
    assert not leaked(found.text)
    by_command = {task["target"]: task for task in found.tasks}
    assert found.output(by_command["cat app.py"]).splitlines()[0] == "key = '•••(.env:API_KEY)'"
    for path in KINDS:
        error = by_command[f"cat {path}"]["error"]
        assert error["type"] == "command_not_allowed"
        assert error["message"].startswith(f"needs approval: `{path}` looks like a secret")
        assert f"clada approvals add 'cat {path}'" in error["hint"]
    for fine in ("grep -rn cnry", "git diff", "git log -p", "git show", "git stash pop", "ls -la .env"):
        assert by_command[fine]["status"] == "success", by_command[fine]


@pytest.mark.parametrize("layer", LAYERS)
def test_approved_commands_print_masks_in_every_layer(secrets: Place, layer: str) -> None:
    secrets.environment["CLADA_SANDBOX_LAYER"] = layer
    approved = [f"--approve={text}" for text in APPROVED]
    found = secrets.clada(*APPROVED, arguments=("--no-git", *approved))
    if "which is not a layer that works here" in found.text:
        pytest.skip(f"{layer} does not work on this machine")
    assert found.errors == [None, None], found.text
    assert not leaked(found.text)
    assert "API_KEY=•••(.env:API_KEY)" in found.text
    assert "•••(tls/server.pem:PRIVATE KEY)" in found.text


def test_reports_summaries_events_and_history_hold_no_canary(secrets: Place) -> None:
    approve = [f"--approve={text}" for text in APPROVED]
    for summary in ("json", "xml", "llm", "none"):
        arguments = (
            f"--summary={summary}",
            "--record=snapshots",
            "--events=jsonl:events.log",
            "--again",
            *approve,
        )
        found = secrets.clada("cat app.py", "cat .env", *APPROVED, "cat missing-file", arguments=arguments)
        assert not leaked(found.text)
        events = (secrets.inside / "events.log").read_text()
        assert "•••(.env:API_KEY)" in events.replace("\\u2022", "•")
        assert not leaked(events)
        (secrets.inside / "events.log").unlink()
    shown = secrets.start([sys.executable, "-m", "clada", "history", "show"])
    assert "•••(.env:API_KEY)" in shown.stdout
    assert not leaked(shown.stdout)


EDITS = {
    "csl": '<---EDIT file=".env"--->\n<---SEARCH--->\nNODE_ENV=development\nAPI_KEY=wrong\n'
    "<---REPLACE--->\nx\n<---END--->\n",
    "sr": ".env\n<<<<<<< SEARCH\nNODE_ENV=development\nAPI_KEY=wrong\n=======\nx\n>>>>>>> REPLACE\n",
    "udiff": "--- a/.env\n+++ b/.env\n@@ -1,2 +1,2 @@\n NODE_ENV=development\n-API_KEY=wrong\n+x\n",
    "v4a": "*** Begin Patch\n*** Update File: .env\n@@\n NODE_ENV=development\n-API_KEY=wrong\n+x\n"
    "*** End Patch\n",
    "json": json.dumps(
        {"tasks": [{"action": "edit", "path": ".env", "search": "API_KEY=wrong\n", "replace": "x"}]}
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("dialect", EDITS)
@pytest.mark.parametrize("mode", ["run", "plan"])
def test_an_edit_that_fails_does_not_quote_a_secret(secrets: Place, dialect: str, mode: str) -> None:
    secrets.write(".env", KINDS[".env"].format(CANARIES[".env"]))
    flags = ["--dry-run"] if mode == "plan" else ["--no-git"]
    for summary in ("json", "llm"):
        argv = [
            sys.executable,
            "-m",
            "clada",
            f"--format={dialect}",
            f"--summary={summary}",
            "--error-detail=full",
        ]
        done = secrets.start([*argv, *flags], EDITS[dialect])
        assert done.returncode == 1, done.stdout + done.stderr
        assert not leaked(done.stdout + done.stderr)


def test_a_diff_of_a_secret_file_shows_only_what_the_answer_brings(secrets: Place) -> None:
    document = (
        EDITS["json"]
        .replace("API_KEY=wrong\\n", "NODE_ENV=development")
        .replace('"x"', '"NODE_ENV=newvalue"')
    )
    done = secrets.start([sys.executable, "-m", "clada", "--dry-run", "--format=json"], document)
    assert "+NODE_ENV=newvalue" in done.stdout
    assert " API_KEY=•••(.env:API_KEY)" in done.stdout
    assert not leaked(done.stdout)


def test_a_move_cannot_make_a_secret_readable(secrets: Place) -> None:
    for target, status in (("notes.txt", "error"), (".env.old", "success")):
        document = json.dumps({"tasks": [{"action": "move", "from": ".env", "to": target}]})
        argv = [sys.executable, "-m", "clada", "--no-git", "--format=json", "--summary=json"]
        done = secrets.start(argv, document)
        assert f'"status": "{status}"' in done.stdout, done.stdout


def test_reveal_opens_files(secrets: Place) -> None:
    config = secrets.home / ".config/clada/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('reveal = [".env", "config/*.yml"]\n')
    found = secrets.clada("cat .env", "cat config/secrets.yml", "grep -rl cnry .", "cat .netrc")
    assert set(leaked(found.text)) == {".env", "config/secrets.yml"}
    assert found.errors == [None, None, None, "command_not_allowed"]


def test_the_workspace_cannot_reveal(secrets: Place) -> None:
    secrets.write(".clada/config.toml", 'reveal = [".env"]\n')
    secrets.environment["CLADA_TRUST_WORKSPACE"] = "1"
    found = secrets.clada("cat .env")
    assert found.code == 2
    assert "reveal cannot be set here" in found.text


def test_other_names_of_a_secret_file_are_hidden_too(secrets: Place) -> None:
    (secrets.inside / "notes.txt").hardlink_to(secrets.inside / ".netrc")
    secrets.write("app.py", "plain\n")
    readers = ("cat notes.txt", "cat sub/../notes.txt", "cp notes.txt copy")
    walking = ("grep -r plain .", "git diff --stat", "ls -l notes.txt", "grep -rl password .")
    found = secrets.clada(*readers, *walking)
    assert not leaked(found.text)
    assert found.errors == ["command_not_allowed"] * 3 + [None] * 3 + ["exec_failed"]
    assert found.output(found.tasks[3]) == "./app.py:plain"
    assert found.tasks[6]["error"]["message"] == "exit code 1: no line matched"


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "command",
    [
        "git log -L1,2:notes.txt",
        "git log -L 1,2:notes.txt",
        "git show -L1,2:notes.txt HEAD",
        "git log -p --follow notes.txt",
        "git log --follow -U1 -- notes.txt",
        "git log --all -p --follow notes.txt",
        "cd sub && git log -p --follow ../notes.txt",
    ],
)
def test_no_file_is_followed_to_the_time_when_it_was_a_secret(secrets: Place, command: str) -> None:
    secrets.write("app.py", "plain\n")
    secrets.git("mv", "-f", ".netrc", "notes.txt")
    secrets.commit()
    found = secrets.clada(command, "git log --follow --oneline notes.txt", "git log -p --follow file")
    assert not leaked(found.text)
    assert found.errors == ["command_not_allowed", None, None], found.text
    assert ".netrc in the history" in found.tasks[0]["error"]["message"]


# Programs as a reader, past all checks of what they are given.
READING = """
import json, os, sys
from clada.world.processes.run import RunOptions, run
from clada.world.sandbox.layers import confined_launcher
from clada.world.sandbox.landlock import ReadOnly
from clada.world.secrets.names import find_secret_files
here, top = os.open(".", os.O_RDONLY), os.getcwd()
found = find_secret_files(top)
hidden = tuple(f"{top}/{path}" for path in (*found.paths, *found.links))
lines = []
launcher = confined_launcher(ReadOnly((top,), hidden=hidden), os.environ)
run(json.loads(sys.argv[1]), launcher, RunOptions(directory=here, timeout=20, emit=lines.extend))
print("\\n".join(lines))
"""


@pytest.mark.skipif(not has_landlock(), reason="Landlock does not work on this machine")
def test_the_kernel_keeps_readers_from_secret_files(secrets: Place) -> None:
    secrets.write("deploy/README", "read me\n")
    secrets.write("app.py", "plain\n")
    (secrets.inside / "sub/link").hardlink_to(secrets.inside / ".env")
    secrets.give()
    argv = ["cat", *KINDS, "sub/link", "deploy/README", "app.py", "sub/other"]
    done = secrets.start([sys.executable, "-P", "-c", READING, json.dumps(argv)])
    assert done.returncode == 0, done.stderr
    assert not leaked(done.stdout)
    assert done.stdout.count("Permission denied") == len(KINDS) + 1
    assert done.stdout.endswith("read me\nplain\nother\n")
