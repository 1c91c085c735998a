"""A work tree of its own for a commit of another repository, whose objects it shares and never changes.

    make_work_tree("/srv/mirrors/project.git", "v1.2", "/tmp/job-1")

It gets a git directory of its own, whose objects are found in that repository (alternates). Nothing of that
repository's configuration counts in it: no hooks, no filters. HEAD is the commit, and no branch.
"""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.world.files.stat import identity_of
from clada.world.git import repository
from clada.world.git.git import git_call_error, hardened_git, run
from clada.world.git.harden import KEPT, OWN_VARIABLES, lend_objects
from clada.world.git.repository import Repository, os_errors_as_git_errors
from clada.world.handles import make_directory, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.git.git import Git


SHA256 = 64  # hexadecimal digits of a hash of that kind
_HASHES = (40, SHA256)
_DIRECTORIES = ("", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "info")
_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n"
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"


def make_work_tree(repo: str, commit: str, target: str) -> str:
    """Make the directory `target`, and check the commit out there; return the commit's full hash.

    Raises CladaError if that cannot be done, and the target may be there in part.
    """
    with os_errors_as_git_errors():
        source = _git_dir(repo)
        found = _resolve_commit(source, commit)
        os.mkdir(target)
        _make_git_dir(f"{os.path.realpath(target)}/.git", source, found)
        git = hardened_git(repository.find(target))
        # Confined, git could write its own directory only.
        git.replace(confinement=None).check_output("read-tree", "--reset", "-u", found)
        return found


def _git_dir(repo: str) -> str:
    """Return the common git directory of a clone, of a linked work tree of one, or of a bare mirror."""
    if not os.path.isdir(repo):
        raise CladaError("git_operation_failed", f"there is no repository {escape_controls(repo)}")
    if os.path.lexists(os.path.join(repo, ".git")):
        return repository.find(repo).common_dir
    if repository.looks_like_git_dir(repo):
        return os.path.realpath(repo)
    raise CladaError(
        "git_operation_failed",
        f"{escape_controls(repo)} is not a git repository",
        "name a clone, or a mirror",
    )


def _resolve_commit(source: str, commit: str) -> str:
    """Return the hash of a commit that is named in any way that git knows."""
    if len(commit) in _HASHES and all(char in "0123456789abcdef" for char in commit):
        return commit
    git = _git_in(source)
    result = git.call("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    words = result.output.decode(errors="replace").split()
    found = next((word for word in words if len(word) in _HASHES), "")
    if result.code or not found:
        reason = f": {result.complaint}" if result.errors else ""
        message = f"there is no commit {escape_controls(commit)} in {escape_controls(source)}{reason}"
        raise CladaError("git_operation_failed", message, "fetch it first")
    return found


def _git_in(source: str) -> Git:
    """Return git for looking things up in a git directory, whether or not there is a work tree."""
    identity = identity_of(os.lstat(source))
    known = Repository(repository.git_program(source), source, source, source, "", identity)
    return hardened_git(known)


def _make_git_dir(path: str, source: str, commit: str) -> None:
    for name in _DIRECTORIES:
        make_directory(f"{path}/{name}" if name else path)
    sha256 = len(commit) == SHA256
    _write(f"{path}/config", _CONFIG.format(version=int(sha256)) + (_SHA256 if sha256 else ""))
    _write(f"{path}/objects/info/alternates", f"{source}/objects\n")
    lend_objects(f"{source}/objects", path)
    _write(f"{path}/HEAD", f"{commit}\n")
    try:  # the history of a shallow clone ends somewhere
        with open(f"{source}/shallow", encoding="ascii") as file:
            _write(f"{path}/shallow", file.read())
    except FileNotFoundError:
        return


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


# Repositories elsewhere.


def is_url(repo: str) -> bool:
    """Whether this names a repository that has to be fetched: https://…, ssh://…, git@host:path."""
    if "://" in repo:
        return True
    host, colon, _path = repo.partition(":")
    return bool(colon) and "/" not in host and "@" in host


def mirror(url: str, commit: str, folder: str) -> str:
    """Return a mirror of a repository elsewhere, in this folder: cloned once, fetched where a commit lacks.

    The person's own git does it, with their credentials; hooks do not run.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, sha256(os.fsencode(url)).hexdigest()[:20])
    with os_errors_as_git_errors(), open(f"{path}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(path):
            _run_users_git(
                "clone", "--quiet", "--mirror", "--template=", "--end-of-options", url, f"{path}.new"
            )
            os.rename(f"{path}.new", path)
        elif _is_missing(path, commit):
            _run_users_git(f"--git-dir={path}", "fetch", "--quiet", "--prune")
    return path


def _is_missing(path: str, commit: str) -> bool:
    result = _git_in(path).call("cat-file", "-e", "--end-of-options", f"{commit}^{{commit}}")
    return result.code != 0


def _run_users_git(*arguments: str) -> None:
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in KEPT
    }
    variables["GIT_TERMINAL_PROMPT"] = "0"
    argv = [
        repository.git_program("/nowhere"),
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "gc.auto=0",
        *arguments,
    ]
    if arguments[-1].endswith(".new"):
        remove_tree(arguments[-1])
    result = run(argv, {**variables, **OWN_VARIABLES})
    if result.code:
        raise git_call_error(next(word for word in arguments if not word.startswith("-")), result)
