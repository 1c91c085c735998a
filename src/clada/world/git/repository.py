"""The repository around a workspace: finding it, and checking that a run can be recorded in it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from stat import S_ISDIR, S_ISLNK, S_ISREG

from clada.errors import CladaError, system_words
from clada.grammar import read_number
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.stat import identity_of
from clada.world.files.walk import skip_error, walk
from clada.world.git import git
from clada.world.git.harden import (
    KEY,
    configured_files,
    environment,
    git_confinement,
    is_inside,
    path_directories,
    refuse_others,
)
from clada.world.locks import RepositoryLock
from clada.world.sandbox.guard import IN_GIT_DIRECTORY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


NO_GIT = "use --no-git to work without commits"
SNAPSHOTS = "--record=snapshots"
BARE, WORK_IN_A_CLONE = "this is a bare repository, without a work tree", "work in a clone of it"
NOT_FOLLOWED = ("hooks", "lfs", "annex")  # in a git directory, by the git that clada runs
MAX_POINTER = 4096  # bytes of a file that names another path, such as a .git file


class Repository(Value):
    """A work tree with its git directory, and the workspace in it."""

    program: str  # the absolute path of git itself
    root: str  # of the work tree
    git_dir: str  # of this work tree
    common_dir: str  # the same, except for linked work trees
    prefix: str  # where the workspace is below the root: "" or "some/directory/"
    identity: tuple[int, int]  # device and inode of git_dir
    confined: bool = True  # whether git is kept from all the rest, where the machine can do it
    named: bool = False  # by the user: it may be used though it has no file of the workspace

    @property
    def workspace(self) -> str:
        """The workspace itself."""
        return os.path.join(self.root, self.prefix).rstrip("/") or "/"

    @property
    def is_sparse(self) -> bool:
        """Whether some of its files may not be checked out, by the patterns of a sparse checkout."""
        return os.path.exists(os.path.join(self.git_dir, "info", "sparse-checkout"))

    def lock(
        self, timeout: float, waiting: Callable[[], None] | None = None, stop: int | None = None
    ) -> RepositoryLock:
        """Return the lock that every run in this repository holds, in all of its work trees."""
        return RepositoryLock(os.path.join(self.common_dir, "clada", "lock"), timeout, waiting, stop)


@contextmanager
def os_errors_as_git_errors() -> Iterator[None]:
    """Turn an OSError into CladaError with a hint."""
    try:
        yield
    except OSError as error:
        raise as_git_error(error) from None


class NoRepositoryError(CladaError):
    """There is no repository around a workspace."""


@contextmanager
def suggest_no_git() -> Iterator[None]:
    """Add to the hint of an error of git how to work without commits."""
    try:
        yield
    except CladaError as failure:
        if failure.error.type != "git_operation_failed":
            raise
        hint = f"{failure.error.hint}, or {NO_GIT}" if failure.error.hint else NO_GIT
        if SNAPSHOTS not in hint:
            hint += f"; {SNAPSHOTS} makes none and can undo all the same"
        raise CladaError.of(failure.error.replace(hint=hint)) from None


def as_git_error(error: OSError) -> CladaError:
    """Return the error for a system error in the repository."""
    return git_error(f"cannot work in the repository: {escape_controls(system_words(error))}", "repair this")


def find(workspace: str, *, confined: bool = True, named: str | None = None) -> Repository:
    """Return the repository around the workspace, in any state; raise CladaError if there is none.

    named: the root of the one that the user wants; another one is refused.
    """
    with os_errors_as_git_errors():
        directory = os.path.realpath(workspace)
        if not os.path.isdir(directory):
            raise CladaError("file_not_found", f"there is no directory {escape_controls(directory)}")
        root = _root(directory)
        if named is not None and os.path.realpath(named) != root:
            message = f"the repository around the workspace is {escape_controls(root)}"
            raise git_error(f"{message}, not {escape_controls(named)}", "name that one, or none")
        git_dir = _git_dir(root)
        common_dir = _common_dir(root, git_dir)
        for place in {git_dir, common_dir}:
            if not os.path.isdir(os.path.join(place, "")):
                message = f"the git directory {escape_controls(place)} is missing"
                raise git_error(message, "repair the .git file")
            if os.path.islink(os.path.join(place, "clada")):
                raise git_error(f"{escape_controls(place)}/clada is a symbolic link", "remove it")
        program = git_program(directory)
        below = directory[len(root.rstrip("/")) + 1 :]
        prefix = f"{below}/" if below else ""
        identity = identity_of(os.lstat(git_dir))
        found = Repository(program, root, git_dir, common_dir, prefix, identity, confined, named is not None)
        _refuse_links(found)
        _refuse_devices(found)
        _check_owner(found)
        refuse_others(found, lambda: _users_alternates(found))
        _check_configuration(found)
        return found


def check_identity(repository: Repository) -> None:
    """Raise CladaError if another git directory is at the path of the one that was found."""
    try:
        now = identity_of(os.lstat(repository.git_dir))
    except FileNotFoundError:
        raise git_error("the git directory is gone", "look into it before going on") from None
    if now != repository.identity:
        raise git_error("the git directory was replaced by another one", "look into it before going on")


def git_error(message: str, remedy: str) -> CladaError:
    """Return an error of git, with a remedy for the user."""
    return CladaError("git_operation_failed", message, remedy)


def _root(workspace: str) -> str:
    """Return the nearest directory upwards that has a usable .git, on the same file system."""
    directory = workspace
    device = os.lstat(directory).st_dev
    is_damaged = False  # there is a .git, and it is of no use
    while True:
        entry = os.path.join(directory, ".git")
        try:
            mode = os.lstat(entry).st_mode
        except (FileNotFoundError, PermissionError):
            mode = 0  # one that cannot be examined is none; there may be another further up
        is_damaged = is_damaged or mode != 0
        if S_ISLNK(mode):
            raise git_error(
                f"{escape_controls(entry)} is a symbolic link", "work where the repository really is"
            )
        if S_ISREG(mode) or (S_ISDIR(mode) and looks_like_git_dir(entry)):
            return directory
        above = os.path.dirname(directory)
        if above == directory or os.lstat(above).st_dev != device:
            break
        directory = above
    if looks_like_git_dir(workspace):
        raise git_error(BARE, WORK_IN_A_CLONE)
    message = f"not a git repository: {escape_controls(workspace)}"
    raise (CladaError if is_damaged else NoRepositoryError)("git_operation_failed", message, "git init")


def looks_like_git_dir(path: str) -> bool:
    """Return whether a directory has the entries by which git recognises one of its own."""
    return all(os.path.lexists(os.path.join(path, name)) for name in IN_GIT_DIRECTORY)


def _git_dir(root: str) -> str:
    """Return the git directory: .git itself, or where the .git file of a work tree or submodule leads."""
    entry = os.path.join(root, ".git")
    if os.path.isdir(entry):
        return entry
    pointer = _read_pointer(entry)
    if not pointer.startswith("gitdir: "):
        raise _damaged_error(entry)
    git_dir = os.path.realpath(os.path.join(root, pointer.removeprefix("gitdir: ")))
    if is_inside(git_dir, root):
        raise git_error(
            f"{escape_controls(entry)} leads to {escape_controls(git_dir)}, inside the work tree",
            "remove that file",
        )
    return git_dir


def _common_dir(root: str, git_dir: str) -> str:
    """Return the git directory that all work trees of a repository share.

    A repository may bring along a `commondir` that names any folder, which commands could then read. So one
    counts only where git itself makes it, and where the folder that it names knows of this work tree.
    """
    pointer = os.path.join(git_dir, "commondir")
    if not os.path.lexists(pointer):
        return git_dir
    if git_dir == os.path.join(root, ".git"):
        message = f"{escape_controls(pointer)} leads to another git directory"
        raise git_error(f"{message}, as only a linked work tree's may", "look at it, and remove it")
    common = os.path.realpath(os.path.join(git_dir, _read_pointer(pointer)))
    if os.path.dirname(git_dir) != os.path.join(common, "worktrees") or not looks_like_git_dir(common):
        message = f"{escape_controls(git_dir)} is not of a work tree of {escape_controls(common)}"
        raise git_error(message, "run git worktree repair there, or remove the .git file here")
    return common


def _read_pointer(path: str) -> str:
    """Return the text of a file in which git names another path."""
    with open(path, "rb", opener=git.safe_opener) as file:
        pointer = os.fsdecode(file.read(MAX_POINTER).rstrip(b"\r\n"))
    if "\0" in pointer:
        raise _damaged_error(path)
    return pointer


def _damaged_error(path: str) -> CladaError:
    return git_error(f"{escape_controls(path)} is not a file that git could have made", "repair it")


def git_program(workspace: str) -> str:
    """Return the path of git, which is nothing in the workspace."""
    for directory in path_directories(os.environ, workspace):
        path = os.path.join(directory, "git")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise git_error("git is not installed, or not on the PATH", "install git")


def _refuse_links(repository: Repository) -> None:
    """Refuse a git directory with links that lead out: git would write to files that they name."""
    places = {repository.git_dir, repository.common_dir}
    tops = tuple(f"{os.path.realpath(place)}/" for place in places)
    for place in places:
        for path in _find_links(place):
            if not f"{os.path.realpath(path)}/".startswith(tops):
                message = f"{escape_controls(path)} is a symbolic link that leads out of the git directory"
                raise git_error(message, "look at it, and remove it")


def _find_links(place: str) -> Iterator[str]:
    """Yield the links in a git directory that git could follow; single objects are not examined."""
    walked = (f"{place}/refs", f"{place}/logs")
    left = [place, f"{place}/info", f"{place}/objects", f"{place}/objects/info", *walked]
    while left:
        directory = left.pop()
        try:
            entries = list(os.scandir(directory))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # git cannot follow a link there either
        for entry in entries:
            if entry.is_symlink():
                if directory != place or entry.name not in NOT_FOLLOWED:
                    yield entry.path
            elif directory.startswith(walked) and entry.is_dir():
                left.append(entry.path)


def _refuse_devices(repository: Repository) -> None:
    """Refuse a configuration that names a pipe or a device as a file: git would wait for it without end."""
    left = [
        os.path.join(repository.common_dir, "config"),
        os.path.join(repository.git_dir, "config.worktree"),
    ]
    for path in configured_files(left):
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            continue  # git cannot read it, either
        if not (S_ISREG(mode) or S_ISDIR(mode) or path == os.devnull):
            message = (
                f"{escape_controls(path)} is a pipe or a device, and the repository's configuration names it"
            )
            raise git_error(message, f"look at {escape_controls(left[0])}, and remove that")


def _users_alternates(repository: Repository) -> list[str]:
    """Return the directories below which the user's own configuration lets any repository use objects."""
    call = ("config", "--global", "--includes", "--type=path", "-z", "--get-all", KEY)
    values = os.fsdecode(git.hardened_git(repository).call(*call).output).split("\0")
    return [os.path.realpath(value) for value in values if value]


def _check_owner(repository: Repository) -> None:
    """Refuse another user's git directory, unless git is configured to trust it (safe.directory)."""
    user = os.geteuid()
    caller = read_number(os.environ.get("SUDO_UID", "")) if user == 0 else None  # under sudo, as git has it
    owners = {os.lstat(place).st_uid for place in (repository.git_dir, repository.common_dir)}
    if owners <= {user, user if caller is None else caller}:
        return
    command = [repository.program, "-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false"]
    variables = environment(os.environ, repository.workspace)
    confinement = git_confinement(repository)
    rules = confinement.of_own_call("rev-parse") if confinement else None
    result = git.run([*command, "-C", repository.root, "rev-parse", "--git-dir"], variables, rules=rules)
    if result.code != 0:
        message = f"the repository belongs to another user: {escape_controls(repository.git_dir)}"
        trust = f"git config --global --add safe.directory {escape_controls(repository.root)}"
        raise git_error(message, f"if you trust it, run {trust}")


def give_to_owner(repository: Repository) -> None:
    """Give what root made in another user's git directory to that user: else it would lock them out.

    clada's own record stays root's, because only root may read it.
    """
    if os.geteuid():
        return
    for top in dict.fromkeys((repository.git_dir, repository.common_dir)):
        try:
            owner = os.lstat(top)
            for directory in walk(top, skip_error) if owner.st_uid else ():
                kept = directory.enter if os.path.basename(directory.path) == "clada" else []
                directory.enter = [name for name in directory.enter if name not in kept]
                for entry in directory.entries:
                    if entry.name not in kept and entry.stat(follow_symlinks=False).st_uid == 0:
                        ids = owner.st_uid, owner.st_gid
                        os.chown(entry.name, *ids, dir_fd=directory.handle, follow_symlinks=False)
        except OSError:
            continue  # something has gone meanwhile; the next run as root comes by here, too


def _check_configuration(repository: Repository) -> None:
    """Refuse a bare repository, and a git directory whose work tree is another one."""
    values = {key: value for _, key, value in git.configuration(repository)}
    linked = repository.git_dir != repository.common_dir  # then git ignores core.bare and core.worktree
    if not linked and values.get("core.bare", "false").lower() not in {"false", "no", "off", "0", ""}:
        raise git_error(BARE, WORK_IN_A_CLONE)
    if repository.git_dir == os.path.join(repository.root, ".git"):
        return
    expected = _work_tree(repository, linked=linked)
    place, root = escape_controls(repository.git_dir), escape_controls(repository.root)
    if expected is None and not repository.named:
        raise git_error(
            f"the git directory {place} does not say that it belongs here",
            f"if it does, run git config core.worktree {root}, or say --repository={root}; "
            "if not, remove the .git file here",
        )
    if expected is not None and os.path.realpath(expected) != repository.root:
        raise git_error(
            f"the git directory {place} belongs to {escape_controls(expected)}",
            "remove the .git file here",
        )


def _work_tree(repository: Repository, *, linked: bool) -> str | None:
    """Return the work tree that a git directory elsewhere says it belongs to; None if it does not say."""
    git_dir = repository.git_dir
    if linked:
        return os.path.dirname(os.path.join(git_dir, _read_pointer(os.path.join(git_dir, "gitdir"))))
    configured = git.hardened_git(repository).call("config", "--get", "core.worktree")  # as a submodule has
    if configured.code == 0:
        return os.path.join(git_dir, os.fsdecode(configured.output.rstrip(b"\n")))
    return os.path.dirname(git_dir) if os.path.basename(git_dir) == ".git" else None


def head_name(repository: Repository) -> str:
    """Return the branch that HEAD names, as refs/heads/...; nothing if it names a commit."""
    head = os.path.join(repository.git_dir, "HEAD")
    text = f"ref:{os.readlink(head)}" if os.path.islink(head) else _read_pointer(head)
    return text.removeprefix("ref:").strip() if text.startswith("ref:") else ""


def knows_workspace(repository: Repository, its_git: git.Git | None = None) -> bool:
    """Return whether the user named the repository, or it has a file of the workspace."""
    prefix = repository.prefix.rstrip("/")
    if not prefix or repository.named:
        return True
    its_git = its_git or git.hardened_git(repository)
    if its_git.call("rev-parse", "-q", "--verify", "--end-of-options", f"HEAD:{prefix}").code == 0:
        return True
    return bool(its_git.check_output("ls-files", "-z", "--", prefix))


def locked_refs(repository: Repository) -> list[str]:
    """Return the files that git locks to set HEAD: HEAD itself, and the branch that it names."""
    files, branch = [os.path.join(repository.git_dir, "HEAD")], head_name(repository)
    return [*files, os.path.join(repository.common_dir, branch)] if branch else files
