"""Git, confined: links out of a git directory, stashes, nested repositories, and calls past all checks."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from tests.attacks.cases import run, seen, write
from tests.attacks.place import Place, changed, document, interpreter
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.place import Picture, User

HIDDEN = "what nobody may see"
# Parts of a git directory, each put outside with a link in its place.
FILES = """
HEAD index config logs/HEAD logs/refs/stash logs/refs/heads/main refs/heads/main refs/stash packed-refs
info/exclude info/attributes objects/info/alternates ORIG_HEAD
""".split()
FOLDERS = "refs refs/heads logs logs/refs logs/refs/heads objects objects/00 info clada".split()
# Where a repository brings a git directory along, and which one its commondir says is shared with it.
SHARED = {
    "its .git, for a folder of keys": ("workspace/.git", "../../home/keys"),
    "its .git, for another repository": ("workspace/.git", "../../home/private/.git"),
    "a folder beside it, for a folder of keys": ("evil", "../home/keys"),
    "a folder beside it, for another repository": ("evil", "../home/private/.git"),
    "a false work tree's, for another repository": ("evil/worktrees/x", "../../../home/private/.git"),
}
# What its alternates say, by the folder of .git that they are in; {} are the objects of a private repository.
ALTERNATES = {
    "by their path": {"objects": "{}"},
    "by a relative path": {"objects": "../../../home/private/.git/objects"},
    "in quotes": {"objects": '"{}"'},
    "by way of others": {"objects": "../more", "more": "{}"},
    "behind much": {"objects": "#" * 70_000 + "\n{}"},
}
LOOKS = ("git status", "git log", "git diff HEAD", "git branch", "git ls-files", "git stash push -m x")
STASHES = ("git stash", "git stash push -u", "git stash push -k -m x", "git stash pop", "git stash apply")
SUBJECTS = ("$(touch {marker})", "`touch {marker}`", "; touch {marker};")
APPROVED = '{"commands": ["touch approved"]}'
# Hardened git as clada calls it, past all checks; the list is in a file of the workspace.
UNCHECKED = """
import json
from clada.world.git.git import hardened_git
from clada.world.git.repository import find
git = hardened_git(find("."))
for call in json.load(open("calls")):
    done = git.call(*call)
    print(json.dumps([done.code, (done.output + done.errors).decode(errors="replace")]))
"""
CALLS = """
hash-object -w {outside}/secret
hash-object --no-filters {home}/secret
diff --no-index {outside}/secret file
diff --no-index {home}/secret /dev/null
blame --contents {outside}/secret file
apply --cached {outside}/secret
config --file {home}/secret --list
config --file {outside}/made a.b c
config --file {inside}/made a.b c
config --global a.b c
checkout-index -a --prefix={outside}/
checkout-index -a --prefix={inside}/made/
archive --output={outside}/made HEAD
archive --output={inside}/made HEAD
bundle create {outside}/made HEAD
format-patch -o {outside} -1 HEAD
worktree add {outside}/tree
init {outside}/new
clone . {outside}/clone
-c alias.x=!touch{marker} x
-c core.fsmonitor={script} status
-c core.editor={script} commit --allow-empty
-c core.pager={script} -p log
-c diff.external={script} diff HEAD~0
-c core.sshCommand={script} fetch ssh://127.0.0.1/x
-c credential.helper={script} credential fill
ls-remote https://127.0.0.1:9/x
ls-remote git://127.0.0.1:9/x
fetch {outside}
ls-remote ext::{script}
""".strip().split("\n")


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about git and what it may reach."""
    for part in (*FILES, *FOLDERS):
        yield _link_out(user, part)
    for name in SHARED:
        yield _part_of_another(user, name)
    for name in ALTERNATES:
        yield _objects_of_another(user, name)
    yield from _names(user)
    for nest, prepare in {"a submodule": _submodule, "a nested repository": _nested}.items():
        for command in STASHES:
            yield _stash_with(user, nest, prepare, command)
    for back in ("git stash pop", "git stash apply"):
        for how in ("renamed", "into a renamed folder", "staged", "untracked"):
            yield _stashed_approval(user, how, back)
    yield from _unchecked(user)


def _secrets(place: Place) -> None:
    place.put("file", "one\ntwo\n")
    for path in ("../outside/secret", "../home/secret"):
        place.put(path, f"{HIDDEN}\n")
    place.put(
        "../home/.gitconfig", "[user]\nname = Me\nemail = me@example.org\n[init]\ndefaultBranch = main\n"
    )


def _link_out(user: User, part: str) -> Row:
    """Return what comes of a git directory of which a part is a link that leads out."""
    with Place(user) as place:
        _secrets(place)
        place.repository()
        target, link = place.outside / "target", place.inside / ".git" / part
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.exists():
            shutil.move(link, target)
        elif part in FOLDERS:
            target.mkdir()
        else:
            target.write_text("")
        link.symlink_to(target)
        place.put("file", "changed\n")
        place.give()
        before = place.picture()
        recorded = place.clada(document(write("made")), "--summary=none")
        looked = place.clada(document(*map(run, LOOKS)), "--no-git", "--summary=json")
        difference = changed(before, place.picture())
    said = {seen(task).partition(":")[0] for task in looked.tasks}
    ok = recorded.code != 0 and said == {"git_operation_failed"} and not difference
    what = f"; changed {', '.join(difference)}" if difference else ""
    observed = f"a recorded run ends with {recorded.code}, git commands with {', '.join(sorted(said))}{what}"
    return Row(f"a link out of .git/{part}", "git_operation_failed, nothing changed", observed, ok)


def _part_of_another(user: User, name: str) -> Row:
    """Return what comes of a repository that says its git directory is part of another one."""
    with Place(user) as place:
        _secrets(place)
        place.repository()
        _private(place)
        where, common = SHARED[name]
        folder, pointer = place.top / where, place.inside / ".git"
        if folder != pointer:
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(pointer, folder)
            pointer.write_text(f"gitdir: ../{where}\n")
        place.put(f"../{where}/gitdir", f"{pointer}\n")
        place.put(f"../{where}/commondir", f"{common}\n")
        place.give()
        before = place.picture()
        recorded = place.clada(document(write("made")), "--summary=none")
        tasks = [run("git show HEAD:s"), run("git status"), run(f"sh -c 'cat {place.home}/keys/key'")]
        looked = place.clada(document(*tasks), "--no-git", "--summary=json", "--approve-all")
        difference = changed(before, place.picture())
    said = [seen(task).partition(":")[0] for task in looked.tasks]
    leaked = HIDDEN in recorded.out + looked.out
    expected = ["git_operation_failed", "git_operation_failed", "exec_failed"]
    ok = recorded.code != 0 and said == expected and not leaked and not difference
    observed = f"{', '.join(said)}{'; LEAKED' if leaked else ''}{'; changed' if difference else ''}"
    return Row(f"a commondir in {name}", "refused, nothing seen or changed", observed, ok)


def _objects_of_another(user: User, name: str) -> Row:
    """Return whether a repository that says where more objects are gets those of a private one shown."""
    with Place(user) as place:
        _secrets(place)
        place.repository()
        _private(place)
        blob = place.git("-C", "../home/private", "rev-parse", "HEAD:s")[:6]
        for folder, text in ALTERNATES[name].items():
            place.put(f".git/{folder}/info/alternates", text.format(place.home / "private/.git/objects"))
            (place.inside / ".git" / folder / "pack").mkdir(exist_ok=True)
        place.give()
        looked = place.clada(document(run(f"git show {blob}"), run("git log")), "--no-git", "--summary=json")
        recorded = place.clada(document(write("made")), "--summary=none")
    said = [seen(task).partition(":")[0] for task in looked.tasks]
    leaked = HIDDEN in looked.out
    ok = recorded.code != 0 and said == ["git_operation_failed"] * 2 and not leaked
    observed = f"{', '.join(said)}{'; LEAKED' if leaked else ''}"
    return Row(f"alternates that name another repository's objects {name}", "refused", observed, ok)


def _private(place: Place) -> None:
    """Give the home a key, and a repository with a secret in its last commit."""
    for path in ("keys/key", "private/s"):
        place.put(f"../home/{path}", f"{HIDDEN}\n")
    place.give()
    for call in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        place.git("-C", "../home/private", *call)


def _names(user: User) -> Iterator[Row]:
    """Yield rows about names and messages that a shell would execute: they are in no file outside."""
    for text in SUBJECTS:
        with Place(user) as place:
            _secrets(place)
            place.repository()
            marker = place.outside / "marker"
            word = text.format(marker=marker)
            place.git("config", "user.name", word)
            place.put("file", "changed\n")
            place.give()
            result = place.clada(
                document(write("made"), run(f"git stash push -m '{word}'")), "--summary=json"
            )
            elsewhere = [
                name
                for name, (_kind, _mode, content) in place.picture().items()
                if name.startswith(("outside", "home")) and word.encode() in (content or b"")  # type: ignore[operator]
            ]
            ran = marker.exists()
        observed = (
            f"exit {result.code}, {'EXECUTED' if ran else 'not executed'}, {elsewhere or 'nowhere else'}"
        )
        yield Row(
            f"the name and message {text}", "only in the repository", observed, not ran and not elsewhere
        )


def _submodule(place: Place) -> str:
    """Give the workspace a submodule whose own filter leaves a marker."""
    marker = f"{place.outside}/marker"
    place.put("../outside/origin/inner")
    place.give()
    for call in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        place.git("-C", "../outside/origin", *call)
    adding = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    place.git(*adding, str(place.outside / "origin"), "module")
    for file in ((), ("-f", ".gitmodules")):
        place.git("config", *file, "submodule.module.ignore", "none")
    place.git("commit", "-q", "-a", "-m", "submodule")
    _arm(place, "module", marker)
    return marker


def _nested(place: Place) -> str:
    marker = f"{place.outside}/marker"
    place.put("module/inner")
    place.give()
    place.git("init", "-q", "module")
    _arm(place, "module", marker)
    return marker


def _arm(place: Place, folder: str, marker: str) -> None:
    place.git("-C", folder, "config", "filter.x.clean", f"touch {marker}; cat")
    place.git("-C", folder, "config", "core.fsmonitor", f"touch {marker}; false")
    place.put(f"{folder}/.gitattributes", "* filter=x\n")
    place.put(f"{folder}/inner", "changed\n")


def _stash_with(user: User, nest: str, prepare: Callable[[Place], str], command: str) -> Row:
    with Place(user) as place:
        _secrets(place)
        place.repository()
        marker = prepare(place)
        place.put("file", "changed\n")
        place.give()
        result = place.clada(document(run(command)), "--no-git", "--summary=json")
        ran, kept = os.path.exists(marker), (place.inside / "file").read_text() == "changed\n"
    said = seen(result.tasks[0]) if result.tasks else result.err
    ok = said.startswith("command_not_allowed") and not ran and kept
    observed = f"{said}{'; EXECUTED' if ran else ''}"
    return Row(f"`{command}` where there is {nest}", "command_not_allowed, nothing executed", observed, ok)


def _stashed_approval(user: User, how: str, back: str) -> Row:
    """Return whether a stashed change becomes an approval, by way of a folder that is renamed."""
    with Place(user) as place:
        _secrets(place)
        place.put("x/more", "more\n" * 20)
        if how == "renamed":
            place.put("x/allowed-commands.json", '{"commands": []}')
        place.repository()
        place.put("x/allowed-commands.json", APPROVED)
        place.give()
        if how in ("staged", "into a renamed folder"):
            place.git("add", "-A")
        stash = "git stash push -u" if how == "untracked" else "git stash"
        first = place.clada(document(run(stash)), "--no-git", "--summary=json")
        place.git("mv", "x", ".clada")
        place.git("commit", "-q", "-m", "moved")
        place.clada(document(run(back)), "--no-git", "--summary=json")
        result = place.clada(document(run("touch approved && python3 -V")), "--no-git", "--summary=json")
        file = place.inside / ".clada/allowed-commands.json"
        text = file.read_text() if file.exists() else ""
    stashed = [seen(task) for task in first.tasks] == ["success"]
    ok = stashed and "touch approved" not in text and result.code == 1
    observed = f"stashed: {stashed}, approvals {text.strip() or 'missing'}"
    return Row(f"an approval that is stashed, {how}, then `{back}`", "approves nothing", observed, ok)


def _unchecked(user: User) -> Iterator[Row]:
    """Yield a row for each call of hardened git that no document can make: it is kept in all the same."""
    with Place(user) as place:
        _secrets(place)
        place.repository()
        marker = f"{place.outside}/marker"
        script = place.put("../outside/evil.sh", f"#!/bin/sh\ntouch {marker} {place.inside}/marker\n", 0o755)
        facts = {"outside": place.outside, "home": place.home, "inside": place.inside, "script": script}
        calls = [call.format(marker=f" {marker}", **facts).split() for call in CALLS]
        calls = [
            [word.replace("touch", "touch ", 1) if "=!" in word else word for word in call] for call in calls
        ]
        place.put("calls", json.dumps(calls))
        place.give()
        before = _files(place)
        done = place.run([interpreter(user), "-P", "-c", UNCHECKED])
        difference = changed(before, _files(place))
    answers = [json.loads(line) for line in done.out.splitlines()]
    if len(answers) != len(calls):
        yield Row("calls past all checks", "made", done.err, None if "andlock" in done.err else False)
        return
    for call, (_code, text) in zip(CALLS, answers, strict=True):
        last = (text.strip().splitlines() or ["nothing"])[0]
        yield Row(f"unchecked: git {call}", "nothing of outside, nothing written", last, HIDDEN not in text)
    observed = ", ".join(difference) or "the same files"
    yield Row("all these calls together", "no file more or less", observed, not difference)


def _files(place: Place) -> Picture:
    """Return the files there are, but for those that git keeps in its own directory."""
    found = place.picture()
    return {name: facts for name, facts in found.items() if not name.startswith("workspace/.git/")}
