"""Git: nothing in a repository runs through clada, and every state of a repository is dealt with."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.attacks.cases import run, seen, write
from tests.attacks.place import Place, document, users
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.attacks.place import Result, User

    Arm = Callable[[Place, str], object]

HOOKS = """
pre-commit prepare-commit-msg commit-msg post-commit reference-transaction post-index-change post-checkout
pre-auto-gc post-rewrite post-merge pre-merge-commit fsmonitor-watchman
""".split()
KEYS = """
core.fsmonitor diff.external core.pager pager.log pager.status pager.diff core.editor sequence.editor
core.askPass credential.helper core.sshCommand core.gitProxy core.alternateRefsCommand gpg.program
uploadpack.packObjectsHook gpg.ssh.program interactive.diffFilter alias.status alias.log
""".split()
CALLS = """
git status -v
git --no-pager diff
git diff HEAD --stat
git log -p -n 9 --all
git show
git branch -a -vv
git ls-files -m -o -d -t
git stash push -u -m x
git stash list
git stash show -p
git stash pop
cat a.txt
grep -r old .
""".strip().split("\n")
VARIABLES = {
    "GIT_TRACE": "{marker}",
    "GIT_TRACE2": "{marker}",
    "GIT_EXTERNAL_DIFF": "{script}",
    "GIT_PAGER": "{script}",
    "GIT_EDITOR": "{script}",
    "GIT_SSH_COMMAND": "{script}",
    "GIT_ASKPASS": "{script}",
    "GIT_CONFIG_PARAMETERS": "'core.fsmonitor={script}'",
    "GIT_INDEX_FILE": "{marker}",
    "GIT_OBJECT_DIRECTORY": "{marker}",
}


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about git."""
    attacks = {f"hook {name}": _hooked(name) for name in HOOKS} | {
        f"key {name}": _keyed(name) for name in KEYS
    }
    for name, arm in {**attacks, **ATTACKS}.items():
        yield _attacked(user, name, arm)
    for name in VARIABLES:
        yield _inherited(user, [name])
    for name, (state, required) in STATES.items():
        yield _state(user, name, state, required)


def _hooked(name: str) -> Arm:
    return lambda place, script: _hook(place, script, name)


def _keyed(name: str) -> Arm:
    return lambda place, script: _key(place, name, script)


def _hook(place: Place, script: str, name: str, folder: str = ".git/hooks") -> None:
    place.put(f"{folder}/{name}", f"#!/bin/sh\nexec {script}\n", 0o755)


def _key(place: Place, key: str, value: str) -> None:
    place.git("config", key, value)


def _tracked_hooks(place: Place, script: str) -> None:
    for name in HOOKS:
        _hook(place, script, name, ".husky")
    _key(place, "core.hooksPath", ".husky")


def _filter(place: Place, script: str) -> None:
    for key in ("clean", "smudge", "process"):
        _key(place, f"filter.x.{key}", script)
    _key(place, "merge.x.driver", script)
    _key(place, "diff.x.command", script)
    _key(place, "diff.x.textconv", script)
    place.put(".gitattributes", "*.txt filter=x merge=x diff=x\n")


def _included(place: Place, script: str) -> None:
    place.put("evil.config", f'[filter "x"]\nclean = {script}\n[core]\nfsmonitor = {script}\n')
    place.put(".gitattributes", "*.txt filter=x\n")
    _key(place, "include.path", "../evil.config")


def _signing(place: Place, script: str) -> None:
    for key, value in {"commit.gpgSign": "true", "log.showSignature": "true", "gpg.program": script}.items():
        _key(place, key, value)


def _promisor(place: Place, script: str) -> None:
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": f"ext::{script}",
        "protocol.ext.allow": "always",
    }
    blob = place.git("rev-parse", "HEAD~1:a.txt").strip()
    (place.inside / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for key, value in settings.items():
        _key(place, key, value)


def _nested(place: Place, script: str) -> None:
    place.git("init", "-q", "nested")
    place.put("nested/.gitattributes", "*.txt filter=x\n")
    place.put("nested/c.txt")
    for key in ("filter.x.clean", "filter.x.process", "core.fsmonitor", "diff.external"):
        place.git("-C", "nested", "config", key, script)


def _submodule(place: Place, script: str) -> None:
    place.git("init", "-q", "nested")
    place.put("nested/c.txt")
    place.give()
    place.git("-C", "nested", "add", "-A")
    place.git("-C", "nested", "commit", "-q", "-m", "x")
    place.git("-c", "advice.addEmbeddedRepo=false", "add", "nested")
    place.git("commit", "-q", "-m", "submodule")
    place.put("nested/c.txt", "changed")
    for key in ("core.fsmonitor", "filter.x.clean", "diff.external"):
        place.git("-C", "nested", "config", key, script)
    for key, value in {
        "diff.submodule": "diff",
        "status.submoduleSummary": "true",
        "submodule.recurse": "true",
    }.items():
        _key(place, key, value)


def _fake_bare(place: Place, script: str) -> None:
    place.git("init", "-q", "--bare", "fake")
    place.git("config", "-f", "fake/config", "core.fsmonitor", script)
    place.put("fake/a.txt")


def _background(place: Place, script: str) -> None:
    _key(place, "gc.auto", "1")
    _key(place, "gc.autoDetach", "false")
    _key(place, "maintenance.auto", "true")
    _hook(place, script, "pre-auto-gc")
    for number in range(600):
        place.put(f"loose/{number}.txt", str(number))


ATTACKS: dict[str, Arm] = {
    "tracked hooks folder": _tracked_hooks,
    "filter, merge and diff drivers": _filter,
    "an included configuration": _included,
    "signing and signatures": _signing,
    "a promisor remote's command": _promisor,
    "a nested repository's configuration": _nested,
    "a submodule's configuration": _submodule,
    "a folder that looks like a bare repository": _fake_bare,
    "background maintenance": _background,
}


def _armed(place: Place) -> tuple[str, str]:
    """Return a program that leaves a marker, and the marker."""
    marker = f"{place.outside}/marker"
    script = place.put("../outside/evil.sh", f"#!/bin/sh\ntouch '{marker}'\n", 0o755)
    shutil.copytree(_two_commits(), place.inside, dirs_exist_ok=True)
    place.give()
    return str(script), marker


@cache
def _two_commits() -> Path:
    """Return a repository with two commits, made once."""
    folder = Path(tempfile.mkdtemp(prefix="clada-attack-commits-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Place(users()[0]) as place:
        place.put("a.txt", "first old\n")
        place.repository()
        place.put("a.txt", "second old\n")
        place.git("commit", "-q", "-a", "-m", "second")
        shutil.copytree(place.inside, folder, dirs_exist_ok=True)
    return folder


def _attacked(user: User, name: str, arm: Arm) -> Row:
    with Place(user) as place:
        script, marker = _armed(place)
        arm(place, script)
        place.give()
        place.put("a.txt", "changed, not committed\n")
        place.give()
        codes = _everything(place)
        ran = os.path.exists(marker)
    observed = f"{'EXECUTED' if ran else 'not executed'}; exit codes {codes}"
    return Row(name, "not executed", observed, not ran)


def _everything(place: Place) -> str:
    """Make runs with every git call that clada has, and undo one."""
    first = place.clada(document(write("a.txt", "x\n"), write("new.txt")), "--summary=none")
    undone = place.clada("", "undo")
    second = place.clada(document(*(run(call) for call in CALLS)), "--summary=none")
    history = place.clada("", "history")
    return f"{first.code}, {undone.code}, {second.code}, {history.code}"


def _inherited(user: User, names: Sequence[str]) -> Row:
    with Place(user) as place:
        script, marker = _armed(place)
        environment = {name: VARIABLES[name].format(marker=marker, script=script) for name in names}
        result = place.clada(document(write("a.txt", "x\n"), run("git diff HEAD~1")), environment=environment)
        ran = os.path.exists(marker)
        kept = place.git("log", "-1", "--format=%s").startswith("[clada:post]")
    effect, commit = "EXECUTED" if ran else "no effect", "committed" if kept else "NOT committed"
    observed = f"{effect}, {commit}, exit {result.code}"
    return Row(f"inherited {', '.join(names)}", "no effect, committed", observed, not ran and kept)


def _unborn(place: Place) -> None:
    place.give()
    place.git("init", "-q")


def _detached(place: Place) -> None:
    place.repository()
    place.git("checkout", "-q", "--detach")


def _merging(place: Place) -> None:
    place.repository()
    place.git("checkout", "-q", "-b", "other")
    place.put("f", "theirs\n")
    place.git("commit", "-q", "-am", "theirs")
    place.git("checkout", "-q", "-")
    place.put("f", "ours\n")
    place.git("commit", "-q", "-am", "ours")
    place.git("merge", "other", check=False)


def _locked(place: Place) -> None:
    place.repository()
    place.put(".git/index.lock", "")
    place.give()


def _ignoring(place: Place) -> None:
    place.put(".gitignore", "*.log\n")
    place.put("old.log", "kept\n")
    place.repository()


def _above_unknown(place: Place) -> None:
    place.give()
    place.git("-C", "..", "init", "-q")


def _above(place: Place) -> None:
    _above_unknown(place)
    place.git("-C", "..", "add", "outside", "workspace")
    place.git("-C", "..", "commit", "-q", "-m", "x")
    place.put("../outside/secret", "staged\n")
    place.git("-C", "..", "add", "outside")


def _no_repository(place: Place) -> None:
    place.give()


def _planted_file(place: Place) -> None:
    place.put(".git", "gitdir: elsewhere\n")
    place.put("elsewhere/HEAD", "ref: refs/heads/main\n")
    place.give()


COMMITTED, REFUSED = "committed", "git_operation_failed, nothing written"
RECORDED = "['success'], last commit ''"  # by a snapshot
STATES: dict[str, tuple[Callable[[Place], object], str]] = {
    "unborn branch": (_unborn, COMMITTED),
    "detached HEAD": (_detached, COMMITTED),
    "merge in progress": (_merging, REFUSED),
    "index.lock held": (_locked, REFUSED),
    "ignored files": (_ignoring, COMMITTED),
    "a repository above the workspace": (_above, COMMITTED),
    "a repository above that has no file of the workspace": (_above_unknown, REFUSED),
    "no repository": (_no_repository, RECORDED),
    "a planted .git file that points into the workspace": (_planted_file, REFUSED),
}


class Seen(NamedTuple):
    """What a repository looks like after a run."""

    result: Result
    made: bool
    subject: str  # of the last commit
    files: list[str]  # of the last commit
    staged: list[str]

    def __str__(self) -> str:
        """Return the outcome in words."""
        fatal = self.result.report.get("fatal") or {}
        if fatal:
            written = "but it was written" if self.made else "nothing written"
            return f"{fatal['type']}, {written}: {fatal['message']}"
        if self.subject.startswith("[clada:post]"):
            return f"committed {' '.join(self.files)}"
        tasks = [seen(task) for task in self.result.tasks]
        return f"{tasks}, last commit {self.subject!r}, staged {self.staged}"


def _state(user: User, name: str, state: Callable[[Place], object], required: str) -> Row:
    with Place(user) as place:
        place.put("f")
        state(place)
        place.give()
        result = place.clada(document(write("made.txt", "x\n")), "--summary=json", "--lock-timeout=1s")
        after = Seen(
            result,
            (place.inside / "made.txt").exists(),
            place.git("log", "-1", "--format=%s", check=False),
            place.git("show", "--format=", "--name-only", "HEAD", check=False).split(),
            place.git("diff", "--cached", "--name-only", check=False).split(),
        )
    if state is not _above:
        return Row(name, required, str(after), str(after).startswith(required))
    required += ", only the workspace; what was staged outside stays staged"
    own = all(file.startswith("workspace/") for file in after.files)
    ok = own and "workspace/made.txt" in after.files and after.staged == ["outside/secret"]
    return Row(name, required, f"{after}, staged {after.staged}", ok)
