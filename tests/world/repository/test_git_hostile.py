"""Nothing in a repository or its tree runs code through clada's git calls or the allowed git commands.

Each attack arms a repository with something that leaves a marker when it runs. All calls are made; the marker
must not be there. Then the control: plain git, in the same repository, does run it, which proves the attack.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from tests.world.repository.conftest import Repo
from tests.world.repository.states import content, copy, init

from clada.errors import CladaError
from clada.past import undo
from clada.world.git.allowed import Operands, allowed_command
from clada.world.git.git import hardened_git

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.world.repository.states import Content

    from clada.world.git.git import Git

ALLOWED = (
    ["status", "-s", "-b", "--show-stash"],
    ["status", "-v", "-v"],
    ["--no-pager", "diff"],
    ["diff", "--stat", "HEAD"],
    ["log", "-p", "-n", "9", "--all", "--graph"],
    ["show"],
    ["branch", "-a", "-vv"],
    ["ls-files", "-m", "-o", "-d", "-t"],
    ["stash", "push", "-u", "-m", "message"],
    ["stash", "list", "-p"],
    ["stash", "show", "-p"],
    ["stash", "pop"],
)


class Hostile:
    """A repository to arm, and the program that leaves the marker."""

    def __init__(self, repo: Repo, folder: Path) -> None:
        self.repo = repo
        self.marker = folder / "marker"
        self.script = folder / "evil.sh"
        self.script.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.marker}'\n")
        self.script.chmod(0o755)

    def set(self, key: str, value: str | None = None) -> None:
        """Set a key of the repository's own configuration."""
        self.repo.git("config", key, str(self.script) if value is None else value)

    def hook(self, name: str, folder: str = ".git/hooks") -> None:
        """Put the program where git looks for a hook."""
        self.repo.write(f"{folder}/{name}", self.script.read_bytes()).chmod(0o755)

    def run(self, arguments: list[str], git: Git | None = None) -> int:
        """Run an allowed git command as clada would."""
        argv, environment = allowed_command(arguments, git or hardened_git(self.repo.found()))
        return subprocess.run(
            argv, env=environment, cwd=self.repo.workspace, stdin=subprocess.DEVNULL, check=False,
            capture_output=True,
        ).returncode  # fmt: skip


def _hook(name: str) -> Callable[[Hostile], None]:
    return lambda hostile: hostile.hook(name)


def _tracked_hooks(hostile: Hostile) -> None:
    for name in ("pre-commit", "post-commit", "post-index-change"):
        hostile.hook(name, ".husky")
    hostile.set("core.hooksPath", ".husky")


def _key(key: str, value: str | None = None) -> Callable[[Hostile], None]:
    return lambda hostile: hostile.set(key, value)


def _filter(key: str, name: str = "x", attributes: str = ".gitattributes") -> Callable[[Hostile], None]:
    def arm(hostile: Hostile) -> None:
        hostile.set(f"filter.{name}.{key}")
        hostile.set(f"filter.{name}.required", "true")
        hostile.repo.write(attributes, f"*.txt filter={name}\n")

    return arm


def _included(hostile: Hostile) -> None:
    hostile.repo.write("evil.config", f'[filter "x"]\nclean = {hostile.script}\n')
    hostile.repo.write(".gitattributes", "*.txt filter=x\n")
    hostile.set("include.path", "../evil.config")


def _included_if(hostile: Hostile) -> None:
    _included(hostile)
    hostile.repo.git("config", "--unset", "include.path")
    hostile.set("includeIf.onbranch:main.path", "../evil.config")


def _written(text: str) -> Callable[[Hostile], None]:
    """Write the configuration by hand, in a form that git's own commands would not produce."""

    def arm(hostile: Hostile) -> None:
        with (hostile.repo.root / ".git/config").open("a") as file:
            file.write(text.format(script=hostile.script))
        hostile.repo.write(".gitattributes", "*.txt filter=x\n")

    return arm


def _work_tree_configuration(hostile: Hostile) -> None:
    hostile.set("extensions.worktreeConfig", "true")
    hostile.repo.git("config", "--worktree", "filter.x.clean", str(hostile.script))
    hostile.repo.write(".gitattributes", "*.txt filter=x\n")


def _attributes_file(hostile: Hostile) -> None:
    hostile.set("filter.x.clean")
    hostile.repo.write("attributes", "*.txt filter=x\n")
    hostile.set("core.attributesFile", str(hostile.repo.root / "attributes"))


def _diff_driver(key: str) -> Callable[[Hostile], None]:
    def arm(hostile: Hostile) -> None:
        hostile.set(f"diff.x.{key}")
        hostile.repo.write(".gitattributes", "*.txt diff=x\n")

    return arm


def _merge_driver(hostile: Hostile) -> None:
    hostile.set("merge.x.driver", f"{hostile.script} %O %A %B")
    hostile.repo.write(".gitattributes", "*.txt merge=x\n")


def _signed(*settings: tuple[str, str]) -> Callable[[Hostile], None]:
    """Put a commit with a signature on top, and a program in place that is to check it."""

    def arm(hostile: Hostile) -> None:
        raw = hostile.repo.git("cat-file", "commit", "HEAD")
        head, _, message = raw.partition("\n\n")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        file = hostile.repo.write(".git/signed", f"{head}\n{signature}\n\n{message}\n")
        made = hostile.repo.git("hash-object", "-t", "commit", "-w", str(file))
        hostile.repo.git("update-ref", "HEAD", made)
        hostile.set("gpg.program")
        for key, value in settings:
            hostile.set(key, value)

    return arm


def _ssh_signing(hostile: Hostile) -> None:
    hostile.set("gpg.format", "ssh")
    hostile.set("gpg.ssh.program")
    hostile.set("user.signingKey", "/etc/hostname")
    hostile.set("commit.gpgSign", "true")


def _promisor(*settings: tuple[str, str]) -> Callable[[Hostile], None]:
    """Take away an object that history needs, and offer a remote that is said to have it."""

    def arm(hostile: Hostile) -> None:
        blob = hostile.repo.git("rev-parse", "HEAD~1:a.txt")
        (hostile.repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
        hostile.set("core.repositoryFormatVersion", "1")
        hostile.set("extensions.partialClone", "evil")
        hostile.set("remote.evil.promisor", "true")
        for key, value in settings:
            hostile.set(key, value.format(script=hostile.script, root=hostile.repo.root))

    return arm


def _submodule(*settings: tuple[str, str]) -> Callable[[Hostile], None]:
    """Make a repository within the tree a submodule whose own configuration runs things."""

    def arm(hostile: Hostile) -> None:
        _nested(hostile)
        hostile.repo.git("-C", "nested", "-c", "core.fsmonitor=false", "add", ".gitattributes")
        hostile.repo.git("-C", "nested", "-c", "core.fsmonitor=false", "commit", "-q", "-m", "x")
        hostile.repo.git("-c", "advice.addEmbeddedRepo=false", "add", "nested")
        hostile.repo.git("commit", "-q", "-m", "submodule")
        hostile.repo.write("nested/c.txt", "changed")
        for key, value in settings:
            hostile.set(key, value)
        hostile.marker.unlink(missing_ok=True)

    return arm


def _nested(hostile: Hostile) -> None:
    subprocess.run(["git", "init", "-q", str(hostile.repo.root / "nested")], check=True)
    hostile.repo.write("nested/.gitattributes", "*.txt filter=x\n")
    hostile.repo.write("nested/c.txt")
    for key in ("filter.x.clean", "filter.x.process", "core.fsmonitor", "diff.external", "core.pager"):
        hostile.repo.git("-C", "nested", "config", key, str(hostile.script))


def _fake_bare(hostile: Hostile) -> None:
    """Arm a plain folder that looks like a bare repository, and work in it."""
    subprocess.run(["git", "init", "-q", "--bare", str(hostile.repo.root / "fake")], check=True)
    for key, value in (
        ("core.fsmonitor", str(hostile.script)),
        ("core.bare", "false"),
        ("core.worktree", ".."),
    ):
        subprocess.run(["git", "config", "-f", hostile.repo.root / "fake/config", key, value], check=True)
    hostile.repo.write("fake/a.txt")
    hostile.repo.workspace = hostile.repo.root / "fake"


def _background(hostile: Hostile) -> None:
    hostile.set("gc.auto", "1")
    hostile.set("gc.autoDetach", "false")
    hostile.hook("pre-auto-gc")
    for number in range(600):
        hostile.repo.write(f"loose/{number}.txt", str(number))


def _many(hostile: Hostile) -> None:
    """Set what git acts on elsewhere: on a terminal, with a remote, in commands that are not called here."""
    for key in """
        core.pager pager.log pager.status pager.diff alias.status core.askPass credential.helper core.gitProxy
        core.alternateRefsCommand uploadpack.packObjectsHook interactive.diffFilter trailer.x.command
        sequence.editor gpg.ssh.defaultKeyCommand difftool.x.cmd mergetool.x.cmd man.x.cmd browser.x.cmd
    """.split():
        hostile.set(key)


STATUS, COMMIT, DIFF = ["status"], ["commit", "-q", "--allow-empty", "-m", "x"], ["diff", "HEAD"]
LOG, ADD, CHECKOUT = ["log", "-p"], ["add", "-A"], ["checkout", "-f", "HEAD~1"]
TOUCH_ADD = [["rm", "-rq", "--cached", "."], ADD]

ATTACKS: dict[str, tuple[Callable[[Hostile], None], list[list[str]]]] = {
    **{
        f"hook {name}": (_hook(name), [COMMIT])
        for name in "pre-commit prepare-commit-msg commit-msg post-commit reference-transaction".split()
    },
    "hook post-index-change": (_hook("post-index-change"), TOUCH_ADD),
    "hook post-checkout": (_hook("post-checkout"), [["checkout", "-q", "-f"]]),
    "hook pre-auto-gc": (_background, [["gc", "--auto"]]),
    "tracked hooks folder": (_tracked_hooks, [COMMIT]),
    "core.fsmonitor": (_key("core.fsmonitor"), [STATUS]),
    "core.fsmonitor in capitals": (_written("[CORE]\nFSMonitor = {script}\n"), [STATUS]),
    "filter clean": (_filter("clean"), TOUCH_ADD),
    "filter smudge": (_filter("smudge"), [CHECKOUT]),
    "filter process": (_filter("process"), TOUCH_ADD),
    "filter named a=b": (_filter("clean", "a=b"), TOUCH_ADD),
    "filter named a.b": (_filter("clean", "a.b"), TOUCH_ADD),
    "filter named A": (_filter("clean", "A"), TOUCH_ADD),
    "filter in info/attributes": (_filter("clean", attributes=".git/info/attributes"), TOUCH_ADD),
    "filter in core.attributesFile": (_attributes_file, TOUCH_ADD),
    "filter by include": (_included, TOUCH_ADD),
    "filter by includeIf": (_included_if, TOUCH_ADD),
    "filter in an old-style section": (_written("[filter.x]\nclean = {script}\n"), TOUCH_ADD),
    "filter in capitals": (_written('[FILTER "x"]\nCLEAN = {script}\n'), TOUCH_ADD),
    "filter after another section": (_written('[a] b = c\n[d] [filter "x"] clean = {script}\n'), TOUCH_ADD),
    "filter of the work tree's configuration": (_work_tree_configuration, TOUCH_ADD),
    "merge driver": (_merge_driver, [["checkout", "-q", "-f"], ["stash", "pop"]]),
    "diff.external": (_key("diff.external"), [DIFF]),
    "diff driver": (_diff_driver("command"), [DIFF]),
    "textconv": (_diff_driver("textconv"), [LOG]),
    "commit.gpgSign": (_key("commit.gpgSign", "true"), []),
    "gpg.program signing": (_signed(("commit.gpgSign", "true")), [COMMIT]),
    "gpg.ssh.program": (_ssh_signing, [COMMIT]),
    "log.showSignature": (_signed(("log.showSignature", "true")), [["log"]]),
    "format.pretty": (_signed(("format.pretty", "%G? %GS")), [["log"]]),
    "promisor ext": (
        _promisor(("remote.evil.url", "ext::{script}"), ("protocol.ext.allow", "always")),
        [LOG],
    ),
    "promisor uploadpack": (
        _promisor(("remote.evil.url", "{root}"), ("remote.evil.uploadpack", "{script}")),
        [LOG],
    ),
    "promisor ssh": (
        _promisor(("remote.evil.url", "ssh://host/x"), ("core.sshCommand", "{script}")),
        [LOG],
    ),
    "promisor vcs": (
        _promisor(
            ("remote.evil.vcs", "ext"), ("remote.evil.url", "{script}"), ("protocol.ext.allow", "always")
        ),
        [LOG],
    ),
    "submodule": (_submodule(), [STATUS]),
    "submodule diff": (_submodule(("diff.submodule", "diff")), [["diff"]]),
    "submodule summary": (_submodule(("status.submoduleSummary", "true")), [STATUS]),
    "submodule recursion": (_submodule(("submodule.recurse", "true")), [STATUS]),
    "nested repository": (_nested, [["-C", "nested", "status"]]),
    "a folder that looks bare": (_fake_bare, [["-C", "fake", "status"]]),
    "core.editor": (_key("core.editor"), [["commit", "-q", "--allow-empty"]]),
    "what plain git does not run here either": (_many, []),
}

UNTRACKED = {"hook pre-auto-gc", "a folder that looks bare"}  # so much of it that a run would be refused
FILTERS = {name for name in ATTACKS if name.startswith("filter ")} - {"filter smudge"}
# The same in another spelling: recording and a look at the tree are enough to show that it is known.
SPELLINGS = {name for name in ATTACKS if name.startswith("filter ")} - {"filter clean", "filter smudge"}


@pytest.mark.sample(12)
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_foreign_is_executed(tmp_path: Path, attack: str) -> None:
    """Neither by recording and undoing runs, nor by an allowed git command; plain git does execute it."""
    arm, control = ATTACKS[attack]
    repo = Repo(tmp_path / "repo")
    copy(_two_commits(), repo.root)
    hostile = Hostile(repo, tmp_path)
    arm(hostile)
    assert not hostile.marker.exists(), "arming it already ran it"

    if attack in FILTERS:
        _refused(repo)
    elif attack in UNTRACKED:
        _record_and_undo(repo, commit_all=True, repository=str(repo.root))
    else:
        _record_and_undo(repo)
    _record_and_undo(repo, record="snapshots")
    _allowed(hostile, ALLOWED[:2] if attack in SPELLINGS else ALLOWED)
    assert not hostile.marker.exists(), hostile.marker.read_text()

    repo.write("a.txt", "for the control\n")
    for command in control:
        repo.git(*command, check=False)
    assert hostile.marker.exists() == bool(control)


@cache
def _two_commits() -> Content:
    """Make what all attacks begin with."""
    with TemporaryDirectory() as name:
        repo = Repo(init(Path(name)))
        for text in ("first", "second"):
            repo.commit(**{"a.txt": f"{text}\n", "b.txt": f"{text}\n"})
        return content(repo.root)


def _refused(repo: Repo) -> None:
    """See that no commit is made that is another one than git itself would make."""
    repo.write("a.txt", "uncommitted\n")
    before = repo.head()
    with (
        pytest.raises(CladaError, match=r"clada does not apply the repository's own filter"),
        repo.recorded(),
    ):
        pytest.fail("it was started")
    assert repo.head() == before


def _record_and_undo(repo: Repo, **options: Any) -> None:
    """Make runs with every call that clada has."""
    inside = repo.workspace.relative_to(repo.root)
    file = inside / "a.txt"
    repo.write(str(file), "uncommitted\n")
    documents = (
        '<---WRITE file="a.txt"--->\nwritten\n<---END--->\n<---WRITE file="new.txt"--->\n<---END--->\n'
    )
    report = repo.execute(documents, **options)
    assert (report.ok, report.error) == (True, None)
    undo(str(repo.workspace))
    with repo.recorded(**options) as record:
        repo.write(str(file), "by a command\n")
    assert record.error is None
    undo(str(repo.workspace))
    assert (repo.root / file).read_text() == "uncommitted\n"


def _allowed(hostile: Hostile, commands: Sequence[list[str]]) -> None:
    """Run allowed commands on a changed tree, and the stash at the end into a conflict."""
    inside = hostile.repo.workspace.relative_to(hostile.repo.root)
    hostile.repo.write(str(inside / "a.txt"), "changed, not committed\n")
    hostile.repo.write(str(inside / "untracked.txt"))
    git = hardened_git(hostile.repo.found())  # once, for none of them changes the configuration
    for arguments in commands:
        if arguments[0] == "stash" and hostile.repo.workspace != hostile.repo.root:
            return  # the policy refuses it
        if arguments == ["stash", "pop"]:
            # So that it has to merge.
            _commit(hostile, git, str(inside / "a.txt"), "in conflict with the stash\n")
        try:
            hostile.run(arguments, git)
        except CladaError as trouble:
            assert "a repository of its own" in str(trouble)  # noqa: PT017 (only some of them are refused)
    _resolve(hostile, git)


def _commit(hostile: Hostile, git: Git, path: str, text: str) -> None:
    """Commit a file, without plain git setting off what is armed."""
    hostile.repo.write(path, text)
    git.check_output("update-index", "--add", "--", path)
    made = git.check_word("commit-tree", "-pHEAD", "-m", "x", git.check_word("write-tree", "--missing-ok"))
    git.check_output("update-ref", "HEAD", made)


def _resolve(hostile: Hostile, git: Git) -> None:
    """Leave the stash's conflict behind, without plain git setting off what is armed."""
    argv, environment = allowed_command(["status"], git)
    start = argv[: argv.index("status")]
    subprocess.run([*start, "read-tree", "HEAD"], env=environment, cwd=hostile.repo.root, check=True)


def test_what_a_command_of_the_run_arms_is_not_executed_either(repo: Repo, tmp_path: Path) -> None:
    """The configuration is looked at again before the last commit, which leaves out what it cannot have."""
    repo.commit(**{"a.txt": "1\n", "b": "1\n"})
    hostile = Hostile(repo, tmp_path)
    with repo.recorded() as record:
        _filter("clean")(hostile)
        _tracked_hooks(hostile)
        hostile.set("core.fsmonitor")
        repo.write("a.txt", "2\n")
        repo.write("b", "2\n")
    assert record.error is None
    assert record.notes == ("a.txt is not committed: clada does not apply the repository's own filter x",)
    assert not hostile.marker.exists()
    shown = [repo.git("-c", "core.fsmonitor=false", "show", f"HEAD:{name}") for name in ("a.txt", "b")]
    assert shown == ["1", "2"]


VARIABLES = {
    "GIT_TRACE": "{marker}",
    "GIT_TRACE2": "{marker}",
    "GIT_TRACE_SETUP": "{marker}",
    "GIT_EXTERNAL_DIFF": "{script}",
    "GIT_PAGER": "{script}",
    "GIT_EDITOR": "{script}",
    "GIT_SSH_COMMAND": "{script}",
    "GIT_ASKPASS": "{script}",
    "GIT_PROXY_COMMAND": "{script}",
    "GIT_CONFIG_PARAMETERS": "'core.fsmonitor={script}'",
    "GIT_EXEC_PATH": "{folder}",
    "GIT_INDEX_FILE": "{marker}",
    "GIT_OBJECT_DIRECTORY": "{marker}",
    "GIT_DIR": "{folder}",
    "GIT_WORK_TREE": "{folder}",
    "GIT_COMMON_DIR": "{folder}",
    "GIT_NAMESPACE": "evil",
    "GIT_DEFAULT_HASH": "sha256",
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", VARIABLES)
def test_inherited_variables_do_not_count(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Of GIT_* only who the user is, and where their configuration is, gets through."""
    repo.commit(**{"a.txt": "1\n"})
    hostile = Hostile(repo, tmp_path)
    values = {"marker": hostile.marker, "script": hostile.script, "folder": tmp_path}
    with monkeypatch.context() as patch:
        patch.setenv(name, VARIABLES[name].format(**values))
        with repo.recorded() as record:
            (repo.root / "a.txt").write_text("2\n")
        assert record.error is None
        repo_files = undo(str(repo.root)).restored
        for arguments in (["status"], ["diff"], ["log", "-p"]):
            assert hostile.run(arguments) == 0
    assert repo_files == ("a.txt",)
    assert not hostile.marker.exists()
    assert repo.status() == []


@pytest.mark.parametrize("repeated", [True, False])
def test_filters_of_the_users_own_configuration_keep_working(repo: Repo, home: Path, repeated: bool) -> None:
    """As those of LFS do, also where the repository's configuration repeats them."""
    _global_filter(home)
    repo.write(".gitattributes", "*.bin filter=big\n")
    if repeated:
        repo.git("config", "filter.big.clean", "tr a-z A-Z")
        repo.git("config", "filter.big.required", "true")
    with repo.recorded() as record:
        repo.write("x.bin", "content\n")
    assert (record.error, record.notes) == (None, ())
    assert repo.git("cat-file", "-p", "HEAD:x.bin") == "CONTENT"


def test_a_filter_of_the_user_that_the_repository_overrides_is_not_executed(repo: Repo, home: Path) -> None:
    """Neither is a commit made with the user's: git itself would make another one."""
    _global_filter(home)
    repo.write(".gitattributes", "*.bin filter=big\n")
    repo.git("config", "filter.big.clean", "touch evil-clean; cat")
    with repo.recorded() as record:
        repo.write("x.bin", "content\n")
        repo.write("y", "content\n")
    assert record.error is None
    assert record.notes == ("x.bin is not committed: clada does not apply the repository's own filter big",)
    assert repo.names() == ["y"]
    assert not (repo.root / "evil-clean").exists()


def _global_filter(home: Path) -> None:
    with (home / ".gitconfig").open("a") as file:
        file.write('[filter "big"]\nclean = tr a-z A-Z\nsmudge = tr A-Z a-z\nrequired = true\n')


def test_a_merge_driver_of_the_repository_becomes_gits_own_merge(repo: Repo) -> None:
    """A stash that merges cleanly does so; nothing of it is lost."""
    lines = "".join(f"{number}\n" for number in range(20))
    repo.commit(**{"a.txt": lines, ".gitattributes": "*.txt merge=x\n"})
    repo.git("config", "merge.x.driver", "touch evil-merge")
    repo.write("a.txt", lines.replace("19", "stashed"))
    hostile = Hostile(repo, repo.root.parent)
    assert hostile.run(["stash"]) == 0
    repo.commit(**{"a.txt": lines.replace("0\n", "committed\n", 1)})
    assert hostile.run(["stash", "pop"]) == 0
    text = (repo.root / "a.txt").read_text()
    assert "stashed" in text
    assert "committed" in text
    assert not (repo.root / "evil-merge").exists()


@pytest.mark.parametrize("arguments", [["stash"], ["stash", "push", "-u", "-q"], ["stash", "push"]])
def test_a_stash_never_takes_the_approvals(repo: Repo, arguments: list[str]) -> None:
    """Tracked or not, at any depth and in any letter case."""
    repo.commit(**{"a.txt": "1\n"})
    approvals = (".clada/allowed-commands.json", "sub/.CLADA/config.toml")
    repo.write(approvals[0], "old")
    repo.commit()
    repo.write("a.txt", "2\n")
    for path in approvals:
        repo.write(path, "precious")
    assert Hostile(repo, repo.root.parent).run(arguments) == 0
    assert [(repo.root / path).read_text() for path in approvals] == ["precious", "precious"]
    assert (repo.root / "a.txt").read_text() == "1\n"


@pytest.mark.parametrize("untracked", [True, False])
@pytest.mark.parametrize("words", [["pop"], ["apply", "stash@{0}"], ["apply", "0"]])
def test_a_stash_never_brings_approvals(repo: Repo, untracked: bool, words: list[str]) -> None:
    """The user's own stash may hold some; a document cannot make use of them."""
    repo.commit(**{"a.txt": "1\n"})
    if not untracked:
        repo.write(".clada/allowed-commands.json", "old")
        repo.commit()
    repo.write(".clada/allowed-commands.json", "stashed")
    repo.git("stash", "push", "-q", "-u")
    with pytest.raises(CladaError, match=r"holds \.clada/allowed-commands\.json"):
        allowed_command(["stash", *words], hardened_git(repo.found()))


@pytest.mark.parametrize("words", [["push", "-u"], ["push"], [], ["pop"], ["apply"]])
def test_a_stash_is_refused_where_there_are_nested_repositories(repo: Repo, words: list[str]) -> None:
    """Git would go into them, and their own configuration would count; looking at stashes is fine."""
    repo.commit(**{"a.txt": "1\n"})
    hostile = Hostile(repo, repo.root.parent)
    _nested(hostile)
    repo.write("a.txt", "2\n")
    with pytest.raises(CladaError, match="would go into nested/, a repository of its own"):
        hostile.run(["stash", *words])
    assert hostile.run(["stash", "list"]) == 0
    assert not hostile.marker.exists()
    assert (repo.root / "a.txt").read_text() == "2\n"


def test_every_allowed_command_works_in_an_ordinary_repository(repo: Repo) -> None:
    """The hardening takes nothing from an honest user."""
    repo.commit(**{"a.txt": "1\n"})
    hostile = Hostile(repo, repo.root.parent)
    repo.write("a.txt", "2\n")
    repo.write("new.txt")
    assert [hostile.run(arguments) for arguments in ALLOWED] == [0] * len(ALLOWED)


def test_names_in_an_allowed_command_are_literal(inner: Repo) -> None:
    """No pathspec magic leads out of the workspace."""
    inner.write("outside.txt", "private change\n")
    operands = Operands(paths=(":(top)outside.txt", ":/"))
    argv, environment = allowed_command(["diff"], hardened_git(inner.found()), operands)
    done = subprocess.run(argv, env=environment, cwd=inner.workspace, capture_output=True, check=False)
    assert b"private" not in done.stdout


def test_a_hardened_reader_writes_nothing(repo: Repo) -> None:
    """Not even a refreshed index."""
    repo.commit(**{"a.txt": "1\n"})
    os.utime(repo.root / "a.txt", (1, 1))
    before = (repo.root / ".git/index").read_bytes()
    assert Hostile(repo, repo.root.parent).run(["status"]) == 0
    assert (repo.root / ".git/index").read_bytes() == before
