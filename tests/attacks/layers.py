"""Layers: approved commands that try to get out, in each layer of confinement that the machine offers."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import time
from typing import TYPE_CHECKING, NamedTuple

from tests.attacks.cases import run, seen
from tests.attacks.outside import outside
from tests.attacks.place import ROOT, Place, changed, document, interpreter
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.attacks.outside import Outside
    from tests.attacks.place import User

LAYERS = ("bubblewrap", "namespace", "landlock")
UNCONFINED = "none"
ESCAPES = ROOT / "tests" / "world" / "sandbox_escapes.py"
CALLS = ROOT / "tests" / "world" / "sandbox_calls.py"
HOSTILE = ROOT / "tests" / "attacks" / "hostile.py"
# What lies beside folders of PATH.
BESIDE_PROGRAMS = (".config/tool/token", ".cache/tool/token", "projects/production.env")
STOPPED = "stopped, nothing changed outside"
# Judged by what is different outside, for the program itself cannot tell, or it has one of its own.
BY_EFFECT = """
write_home write_shared_temporary_folder write_shared_memory send_datagram resolve_a_name survive
leave_in_var_tmp
""".split()
# What Landlock does not know of, as docs/sandbox-tests.md says.
KNOWN_OPEN = ("chmod_outside", "utime_outside")
# What a refused system call says.
REFUSED = ("EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EACCES")
NEEDED = """
prlimit of itself/affinity of itself/scheduler of itself/priority of itself/ioprio of itself/
a pair of sockets/interfaces/sticky by chmod/an ordinary mode/an ordinary nameless file
""".replace("\n", "").split("/")
INTERNET = ("internet", "internet 6", "datagrams")
# What a command may do to its own processes, memory and sockets, where it has namespaces of its own.
OWN = """
prlimit of another/affinity of another/scheduler of another/sched_setattr of another/priority of another/
priority of a group/priority of the person/ioprio of another/ioprio of the person/shared memory/
message queue/semaphores/named queue/extended attribute/local sockets
""".replace("\n", "").split("/")
REPOSITORIES = {
    "a line in the configuration": "printf '[core]\\nfsmonitor = x\\n' >> .git/config",
    "a hook": "echo x > .git/hooks/post-checkout",
    "a branch": "echo x > .git/refs/heads/other",
    "HEAD": "echo 'ref: refs/heads/other' > .git/HEAD",
    "the index": "echo x >> .git/index",
    "another index": "rm -f .git/index && echo x > .git/index",
    "the log of the stash as a link": "mkdir -p .git/logs/refs && ln -sf ~/.bashrc .git/logs/refs/stash",
    "the log of HEAD as a link": "rm -f .git/logs/HEAD && ln -s ~/.bashrc .git/logs/HEAD",
    "a reference named logs": "mkdir -p .git/refs/heads/logs && echo x > .git/refs/heads/logs/x",
    "alternates": "mkdir -p .git/objects/info && echo /elsewhere > .git/objects/info/alternates",
    "a commit graph": "mkdir -p .git/objects/info && echo x > .git/objects/info/commit-graph",
    "a forged object": "mkdir -p .git/objects/ab && echo x > .git/objects/ab/$(printf 'c%.0s' $(seq 38))",
    "a forged pack": "mkdir -p .git/objects/pack && echo x > .git/objects/pack/pack-1.idx",
    "packed references": "echo x > .git/packed-refs",
    "excluded names": "mkdir -p .git/info && echo '*' > .git/info/exclude",
    "attributes": "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
    "another .git": "mv .git old && cp -r old .git",
    ".git gone": "rm -rf .git",
    ".git a link": "mv .git old && ln -s old .git",
    ".git a file": "mv .git old && echo 'gitdir: old' > .git",
    "the rights of .git": "chmod 777 .git && chmod 777 .git/config",
    "configuration of a nested one": "printf '[core]\\nfsmonitor = x\\n' >> vendor/own/.git/config",
    "hook of a nested one": "echo x > vendor/own/.git/hooks/post-checkout",
    "the folder above a nested one": "mv vendor/own vendor/x && mkdir vendor/own && cp -r .git vendor/own",
    "the folder above, as a link": "mv vendor/own vendor/x && ln -s ../lib vendor/own",
    "a submodule's file": "rm -f lib/sub/.git && mkdir lib/sub/.git && echo x > lib/sub/.git/config",
    "a submodule's configuration": "printf '[core]\\nfsmonitor = x\\n' >> .git/modules/lib/sub/config",
    "folders above a submodule": "mv lib old && mkdir -p lib/sub && echo 'gitdir: ../../old' > lib/sub/.git",
    "a submodule that is not there": "mkdir lib/empty/.git && echo x > lib/empty/.git/config",
    "a bare one": "echo x >> data/bare.git/config",
    "the approvals": 'echo \'{"commands": ["evil"]}\' > .clada/allowed-commands.json',
    "no approvals": "rm -rf .clada",
    "approvals as a link": "rm -rf .clada && mkdir x && ln -s x .clada",
    "settings of clada": "echo 'sandbox = \"off\"' > .clada/config.toml",
    "approvals of a part": "echo x > part/.clada/allowed-commands.json",
}
LOST = (".git gone",)  # what Landlock alone cannot undo, as docs/sandbox-tests.md says
SECRETS = {
    "GITHUB_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_PROFILE": "x", "AZURE_CLIENT_ID": "x",
    "NPM_TOKEN": "x", "OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x", "MY_PASSWORD": "x", "DB_PASSWD": "x",
    "PRIVATE_KEY": "x", "APP_SECRET": "x", "GOOGLE_APPLICATION_CREDENTIALS": "/x", "BASIC_AUTH": "x",
    "DATABASE_URL": "postgres://localhost/x", "SERVICE": "https://me:word@example.org/",
    "SSH_AUTH_SOCK": "/run/x", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x", "DOCKER_HOST": "unix:///x",
    "XDG_RUNTIME_DIR": "/run/user/0", "VAULT_TOKEN": "x", "CI_JOB_JWT": "x", "GH_ENTERPRISE_TOKEN": "x",
}  # fmt: skip
# Where programs keep what gives access to other machines and accounts.
CREDENTIALS = """
.ssh/id_rsa .ssh/config .aws/credentials .azure/accessTokens.json .gnupg/private-keys-v1.d/k .kube/config
.docker/config.json .netrc .pgpass .my.cnf .git-credentials .npmrc .pypirc .yarnrc.yml .cargo/credentials.toml
.cargo/config.toml .gem/credentials .bundle/config .composer/auth.json .config/gh/hosts.yml .config/hub
.config/gcloud/credentials.db .config/git/credentials .config/op/config .config/rclone/rclone.conf
.config/sops/age/keys.txt .config/containers/auth.json .config/google-chrome/Default/Cookies
.mozilla/x/logins.json .config/pip/pip.conf .local/share/keyrings/login.keyring .m2/settings.xml
.gradle/gradle.properties .terraform.d/credentials.tfrc.json .vault-token .codex/auth.json .claude/x.json
.cache/huggingface/token .kaggle/kaggle.json .bash_history .zsh_history .python_history .bashrc .profile .env
Documents/taxes.txt .pyenv/secret .nvm/.npmrc .rustup/tmp/x .local/share/uv/credentials/x
""".split()
PLANTED = {
    "a repository": ("git init -q planted", "planted/.git"),
    "a bare repository": ("git init -q --bare planted.git", "planted.git"),
    "a repository deep down": ("mkdir -p a/b && git init -q a/b/c", "a/b/c/.git"),
    "approvals in a folder": ("mkdir -p sub/.clada && echo '{}' > sub/.clada/x", "sub/.clada"),
    "an executable": ("echo x > tool && chmod 755 tool", "tool"),
    "a program in place of a text": ("chmod 755 plain", "plain"),
}


class Command(NamedTuple):
    """What came of one command: the task in the report, and the lines that it printed."""

    task: dict[str, object]
    lines: list[str]


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about layers."""
    offered = [layer for layer in LAYERS if _is_offered(user, layer)]
    for layer in LAYERS:
        if layer not in offered:
            yield Row(f"{layer}: everything", "tried", "this machine does not offer it", None)
    for layer in offered:
        yield from _calls(user, layer)
        yield from _variables(user, layer)
        for source in (HOSTILE, ESCAPES):
            yield from _attempts(user, layer, source)
        yield from _repositories(user, layer)
        yield from _planted(user, layer)
    yield from _credentials(user, offered)


def _is_offered(user: User, layer: str) -> bool:
    with Place(user) as place:
        place.give()
        done = _approved(place, layer, ["sh -c true"])
    return bool(done) and done[0].task.get("confinement") == layer


def _approved(
    place: Place, layer: str, commands: Sequence[str], environment: Mapping[str, str] | None = None
) -> list[Command]:
    """Run commands that are approved, each as a task, in a layer or without any; return what came of each."""
    place.put(".clada/allowed-commands.json", json.dumps({"commands": list(commands)}))
    place.give()
    result = place.clada(
        document(*(run(command) for command in commands)), "--no-git", "--summary=json", "--timeout=2s",
        "--sandbox=off" if layer == UNCONFINED else "--sandbox=require",
        environment={**(environment or {}), "CLADA_SANDBOX_LAYER": "" if layer == UNCONFINED else layer},
    )  # fmt: skip
    return [Command(task, _printed(result.out, str(task["label"]))) for task in result.tasks]


def _printed(text: str, label: str) -> list[str]:
    start = f"[task-{label}:exec] "
    return [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]


def _program(user: User) -> str:
    return f"{interpreter(user)} -I -S"


def _calls(user: User, layer: str) -> Iterator[Row]:
    """Yield a row for each system call: refused, or there because programs need it."""
    with Place(user) as place:
        shutil.copy(CALLS, place.inside)
        place.put("made")
        (command,) = _approved(place, layer, [f"{_program(user)} {CALLS.name}"])
    found = dict(line.split(": ") for line in command.lines if ": " in line)
    allowed = {*NEEDED, *(() if layer == "landlock" else INTERNET)}
    for name, answer in found.items():
        if name in OWN and layer != "landlock":
            continue  # in namespaces these are its own
        required = "works" if name in allowed else "refused"
        ok = answer == "ok" if name in allowed else answer in REFUSED
        yield Row(f"{layer}: system call, {name}", required, "works" if answer == "ok" else answer, ok)
    if len(found) < len(NEEDED):
        yield Row(f"{layer}: system calls", "tried", seen(command.task), False)


def _variables(user: User, layer: str) -> Iterator[Row]:
    """Yield a row for each variable that looks like a secret, or leads to a service."""
    with Place(user) as place:
        (command,) = _approved(place, layer, ["env"], {**SECRETS, "HARMLESS": "1"})
    shown = {line.partition("=")[0] for line in command.lines}
    for name in SECRETS:
        observed = "passed on" if name in shown else "not passed on"
        yield Row(f"{layer}: the variable {name}", "not passed on", observed, name not in shown)
    yield Row(f"{layer}: another variable", "passed on", f"{'HARMLESS' in shown}", "HARMLESS" in shown)


def _attempts(user: User, layer: str, source: Path) -> Iterator[Row]:
    """Yield a row for each attempt of a hostile program; all in one run, one by one if anything changed."""
    tries = functions_of(source)
    known = [name for name in KNOWN_OPEN if name in tries and layer == "landlock"]
    names = [name for name in tries if name not in known]
    found = attempted(user, layer, source, names)
    for name in names:
        said, effect = found[name]
        if effect and len(names) > 1:  # which one was it?
            said, effect = attempted(user, layer, source, [name])[name]
        ok = not effect and (name in BY_EFFECT or said != "success")
        yield Row(f"{layer}: {tries[name]}", STOPPED, f"{said}{effect}", ok)
    for name in known:
        said, effect = attempted(user, layer, source, [name])[name]
        required = "open, as docs/sandbox-tests.md says"
        yield Row(f"{layer}: {tries[name]}", required, f"{said}{effect}", said == "success")


def functions_of(source: Path) -> dict[str, str]:
    """Return the names of what a hostile program can try, with what each does."""
    body = ast.parse(source.read_text(encoding="utf-8")).body
    tries = [each for each in body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")]
    return {each.name: (ast.get_docstring(each) or each.name).rstrip(".") for each in tries}


def attempted(user: User, layer: str, source: Path, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return what each attempt said, and what is different outside after all of them."""
    with Place(user) as place:
        _prepare(place, source)
        with outside(place) as there:
            before = _guarded(place)
            commands = [f"{_program(user)} {source.name} {name}" for name in names]
            folders = [f"{place.home}/{os.path.dirname(name)}/bin" for name in BESIDE_PROGRAMS]
            path = ":".join([*folders, place.environment()["PATH"]])
            done = _approved(place, layer, commands, {**there.variables, "PATH": path})
            if "outlive_the_supervisor" in names:
                time.sleep(1.5)  # until the survivor would be at work
            effect = _effect(place, before, there)
    if len(done) != len(names):
        return dict.fromkeys(names, ("success", "; the run itself failed"))
    return {name: (seen(command.task), effect) for name, command in zip(names, done, strict=True)}


def _prepare(place: Place, source: Path) -> None:
    shutil.copy(source, place.inside)
    for name in ("kept", ".bashrc", ".ssh/id_rsa", *BESIDE_PROGRAMS):
        place.put(f"../home/{name}", "secret\n")
    for name in BESIDE_PROGRAMS:
        place.put(f"../home/{os.path.dirname(name)}/bin/tool", "", 0o755)
    place.put("../outside/file", "original\n")
    place.repository()
    place.put(".clada/allowed-commands.json", "{}")
    place.give()


def _guarded(place: Place) -> dict[str, tuple[str, int, object]]:
    """Return all that no command may change, but for the approvals that the case itself puts there."""
    theirs = ("outside", "home", "workspace-sibling", "workspace/.git/", "workspace/.clada/")
    sockets = ("outside/late.sock",)
    return {
        name: facts
        for name, facts in place.picture().items()
        if name.startswith(theirs) and name not in sockets and not name.endswith("allowed-commands.json")
    }


def _effect(place: Place, before: dict[str, tuple[str, int, object]], there: Outside) -> str:
    different = changed(before, _guarded(place))
    text = (place.inside / ".clada/allowed-commands.json").read_text(encoding="utf-8", errors="replace")
    with contextlib.suppress(ValueError):
        json.loads(text)
        text = ""
    approvals = ["the approvals"] if text else []
    survivors = [f"a process {pid} is left" for pid in _marked(there.variables["MARK"])]
    found = [*different, *approvals, *survivors, *there.reached()]
    return f"; changed {', '.join(found)}" if found else ""


def _marked(mark: str) -> list[int]:
    """Return the processes that sleep for that many seconds."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
            if file.read().split(b"\0")[:2] == [b"sleep", mark.encode()]:
                found.append(int(name))
    return found


def _repositories(user: User, layer: str) -> Iterator[Row]:
    """Yield a row for each change to a repository or to approvals: stopped, or put back and told."""
    with Place(user) as template:
        _nest(template)
        for name, script in REPOSITORIES.items():
            with Place(user) as place:
                shutil.rmtree(place.inside)
                shutil.copytree(template.inside, place.inside, symlinks=True)
                place.put("attack.sh", f"set -e\n{script}\n")
                place.put(".clada/allowed-commands.json", json.dumps({"commands": ["sh attack.sh"]}))
                before = _protected(place)
                (command,) = _approved(place, layer, ["sh attack.sh"])
                different = changed(before, _protected(place))
            what = f"; changed {', '.join(different)}" if different else ""
            said = seen(command.task)
            lost = layer == "landlock" and name in LOST
            ok = not different and said.startswith(("exec_failed", "permission_denied"))
            required = "told, for objects cannot be put back" if lost else "refused or put back"
            ok = "could not be put back" in said if lost else ok
            yield Row(f"{layer}: a command puts in place: {name}", required, said + what, ok)


def _nest(place: Place) -> None:
    """Make a workspace with a submodule, one that is not there, a nested repository and a bare one."""
    place.put("file")
    place.repository()
    for folder in ("vendor/own", "../outside/origin"):
        place.put(f"{folder}/file")
        place.give()
        place.git("init", "-q", folder)
        place.git("-C", folder, "add", "-A")
        place.git("-C", folder, "commit", "-q", "-m", "x")
    for path in ("lib/sub", "lib/empty"):
        adding = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
        place.git(*adding, f"{place.outside}/origin", path)
    place.git("submodule", "--quiet", "deinit", "-f", "lib/empty")
    place.git("init", "-q", "--bare", "data/bare.git")
    place.put("part/.clada/allowed-commands.json", "{}")
    place.put(".clada/allowed-commands.json", "{}")
    place.give()


def _protected(place: Place) -> dict[str, tuple[str, int, object]]:
    """Return all repositories and approvals of the workspace, and what is outside."""
    tops = (".git", ".clada", "vendor/own/.git", "lib/sub/.git", "lib/empty", "data/bare.git", "part/.clada")
    inside = tuple(f"workspace/{top}" for top in tops)
    return {
        name: facts
        for name, facts in place.picture().items()
        if not name.startswith("workspace/") or any(f"{name}/".startswith(f"{top}/") for top in inside)
    }


def _planted(user: User, layer: str) -> Iterator[Row]:
    """Yield a row for each thing that others would act on: the report names it."""
    for name, (script, shown) in PLANTED.items():
        with Place(user) as place:
            place.put("plain")
            place.put("plant.sh", script)
            place.put(".clada/allowed-commands.json", json.dumps({"commands": ["sh plant.sh"]}))
            place.give()
            result = place.clada(
                document(run("sh plant.sh")), "--no-git", "--summary=json",
                environment={"CLADA_SANDBOX_LAYER": layer},
            )  # fmt: skip
        notes = [str(note) for note in result.report.get("notes", ()) if "the command made" in str(note)]
        ok = any(shown in note for note in notes)
        yield Row(
            f"{layer}: a command makes {name}", "named in the report", "; ".join(notes) or "nothing", ok
        )


def _credentials(user: User, offered: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each file of a home: closed in every layer, by its path, by `~` and by a link."""
    read: dict[str, list[str]] = {name: [] for name in CREDENTIALS}
    for layer in offered:
        with Place(user) as place:
            for name in CREDENTIALS:
                place.put(f"../home/{name}", f"the secret of {name}\n")
            (place.inside / "link").symlink_to(place.home)
            places = f'"$HOME/$n" ~/"$n" {place.home}/"$n" link/"$n" ../home/"$n"'
            place.put("names", "\n".join(CREDENTIALS) + "\n")
            place.put("read.sh", f"while read n; do cat {places}; done < names; true\n")
            (command,) = _approved(place, layer, ["sh read.sh"])
            tried = len(command.lines) >= len(CREDENTIALS)
        for name, layers in read.items():
            if not tried or f"the secret of {name}" in command.lines:
                layers.append(layer)
    for name, layers in read.items():
        observed = f"read in {', '.join(layers)}" if layers else f"closed in {', '.join(offered)}"
        yield Row(f"~/{name}, by an approved command", "closed in every layer", observed, not layers)
