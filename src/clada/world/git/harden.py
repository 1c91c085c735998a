"""Hardens git against hostile repositories: settings, environment, and the paths that it may reach.

clada's own calls write the git directory; a stash writes the work tree, too. No network, and no programs but
git's own. Where the user's configuration has filters (LFS), what converts contents runs as it always did:
these are the user's own programs, and may need the network, or a cache in their home.
"""

from __future__ import annotations

import os
from stat import S_IMODE, S_IWGRP

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.handles import open_file, read_at_most
from clada.world.sandbox.landlock import KeptRules, ReadOnly, has_landlock, rules
from clada.world.sandbox.mounts import homebrew_folders, is_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from clada.world.git.repository import Repository
    from clada.world.sandbox.landlock import KeptRules


REFUSING = "/bin/false"

# With each of these in the repository's own configuration, git was seen to execute code, to start something
# in the background, to reach outside the work tree, or to fail to make a commit.
SETTINGS = (
    ("safe.bareRepository", "explicit"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", REFUSING),
    ("core.sshCommand", REFUSING),
    ("core.ignoreStat", "false"),
    ("core.safecrlf", "false"),
    ("core.commentChar", "#"),
    ("user.useConfigOnly", "true"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("diff.submodule", "short"),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("stash.showIncludeUntracked", "false"),  # they may look like secrets, and git does not list them
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    # started by a format of the repository's configuration, such as format.pretty = %G?
    ("gpg.program", REFUSING),
    ("gpg.openpgp.program", REFUSING),
    ("gpg.x509.program", REFUSING),
    ("gpg.ssh.program", REFUSING),
    ("gpg.ssh.defaultKeyCommand", REFUSING),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("apply.whitespace", "nowarn"),
    # A stash that is applied changes the files that it names, and not those that they were renamed to. Some
    # versions of git do not heed this when they apply one: allowed.py looks at the names, too.
    ("merge.renames", "false"),
    ("merge.directoryRenames", "false"),
)

VARIABLES = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": REFUSING,
    "GIT_LITERAL_PATHSPECS": "1",
}

# Variables that say who the user is and where their configuration is: trusted, and passed on.
KEPT = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
)

# For clada's own calls: it parses the output of git, and must see the objects as they really are.
OWN_VARIABLES = {"LC_ALL": "C", "LANGUAGE": "C", "GIT_NO_REPLACE_OBJECTS": "1"}

# What replaces a driver of the repository's own configuration. An empty merge driver would count as a merge
# that succeeded, so it becomes git's own text merge. No option keeps `git status -v` from using a textconv:
# it becomes a plain copy.
DISABLED = {
    "clean": "",
    "smudge": "",
    "process": "",
    "required": "false",
    "driver": "git merge-file --marker-size=%L %A %O %B",
    "textconv": "cat",
}


# Keys of the user's configuration that name a file which git then reads; `path` only where it includes one.
_NAMING = ("excludesfile", "attributesfile", "orderfile")
_MOST = 100  # files of a configuration, or object directories, that are examined
_LARGEST_CONFIGURATION = 1 << 20  # bytes of each file that are read
_HELPERS = ("/usr/lib/git-core", "/usr/libexec/git-core")
# What replaces a driver of the repository's is started by a shell.
_SHELL = tuple("/bin/sh /usr/bin/sh /bin/dash /bin/bash /bin/cat /usr/bin/cat".split())
# Subcommands that pass no file of the work tree through a filter; most others may, to refresh the index.
_UNFILTERED = frozenset(
    """
    config rev-parse rev-list cat-file hash-object commit-tree update-ref diff-tree ls-tree
    check-ignore log show branch
    """.split()
)
FILTERS = "git status, diff, ls-files and stash run unconfined: your git configuration has filters (LFS)"
SCRIPT = "git runs unconfined: it is a script, which may need any file or program"


class GitConfinement(Value):
    """What one repository's git may reach."""

    repository: Repository
    reads: tuple[str, ...]
    programs: tuple[str, ...]
    filters: bool  # whether the user's own configuration has filters
    own: KeptRules  # of the calls that clada makes for itself

    def of_own_call(self, subcommand: str) -> KeptRules | None:
        """Return the rules of a call that clada makes for itself; None if there are none."""
        return None if self.filters and subcommand not in _UNFILTERED else self.own

    def of_reader(self, subcommand: str) -> ReadOnly:
        """Return how a git command of a document that changes nothing is confined."""
        if self.filters and subcommand not in _UNFILTERED:
            return ReadOnly()
        return ReadOnly(self.reads, execute=self.programs)

    def of_stash(self) -> ReadOnly | None:
        """Return how a git command of a document that writes the work tree is confined."""
        if self.filters:
            return None
        return _writable(
            self.reads, (*_git_directories(self.repository), self.repository.root), self.programs
        )


def git_confinement(repository: Repository, *, drivers: bool = False) -> GitConfinement | None:
    """Return the paths that git may reach in a repository; None if it cannot be confined.

    `drivers`: whether some of the repository's own are replaced by harmless ones, which a shell starts.
    """
    if not repository.confined or not has_landlock() or _is_script(repository.program):
        return None
    users, filters = _users_files()
    installed = _installation_folders(repository.program)
    reads = (repository.root, *_git_directories(repository), *alternates(repository), *users, *installed)
    programs = (*_HELPERS, *installed, *(_SHELL if drivers else ()))
    umask = _shared_umask(repository)
    own = rules(_writable(reads, _git_directories(repository), programs), repository.program)
    return GitConfinement(repository, reads, programs, filters, KeptRules(own.replace(umask=umask)))


def why_unconfined(program: str) -> str | None:
    """Return why this git is not, or not always, confined on a machine that could do it; None if it is."""
    if _is_script(program):
        return SCRIPT
    _files, filters = _users_files()
    return FILTERS if filters else None


def _shared_umask(repository: Repository) -> int | None:
    """Return the umask that makes files as a group which shares the repository needs them; None: none does.

    With it git need not change the mode of a directory that it makes, in which setgid is inherited.
    """
    mode = S_IMODE(os.stat(repository.common_dir).st_mode)
    return 0o777 & ~mode if mode & S_IWGRP else None


def _writable(reads: tuple[str, ...], write: tuple[str, ...], programs: tuple[str, ...]) -> ReadOnly:
    return ReadOnly(reads, write, programs, capabilities=True)


def _git_directories(repository: Repository) -> tuple[str, ...]:
    return tuple({repository.git_dir, repository.common_dir})


def _is_script(program: str) -> bool:
    """Whether git is started by a script of the user, which may need any file or program."""
    try:
        with open(program, "rb", buffering=0) as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _installation_folders(program: str) -> tuple[str, ...]:
    """Return where git's own programs and libraries are, if it is not the system's."""
    tops = {os.path.dirname(os.path.dirname(path)) for path in (program, os.path.realpath(program))}
    names = ("lib", "lib64", "libexec", "share/git-core")
    return tuple(f"{top}/{name}" for top in tops - {"/usr", "/"} for name in (*names, *homebrew_folders(top)))


# The user's own configuration.


def _users_files() -> tuple[tuple[str, ...], bool]:
    """Return the files of the user's configuration that git reads, and whether filters are among them."""
    home = os.environ.get("HOME", "")
    own = f"{os.environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git"
    given = os.environ.get("GIT_CONFIG_GLOBAL")
    system = os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"
    users = [given] if given else [f"{home}/.gitconfig", f"{own}/config"]
    found = {f"{own}/ignore": None, f"{own}/attributes": None, "/etc/gitattributes": None}
    filters = False
    for path, text, named in _configurations([*users, system]):
        found |= dict.fromkeys((path, *named))
        filters = filters or "[filter" in text.lower()
    return tuple(found), filters


def users_have_filters() -> bool:
    """Return whether the user's own configuration has filters, as far as can be seen without git."""
    return _users_files()[1]


def configured_files(paths: Iterable[str]) -> Iterable[str]:
    """Return the files that these configurations name, and those that they include."""
    return (name for _path, _text, named in _configurations(paths) for name in named)


def _configurations(paths: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield these configurations and those that they include: the path, the text, and the files it names."""
    home, waiting, seen = os.environ.get("HOME", ""), list(paths), set[str]()
    while waiting and len(seen) < _MOST:
        path = waiting.pop(0)
        if path not in seen:
            seen.add(path)
            text = _read_text(path)
            named = list(_named_files(text, path, home))
            waiting += [name for name, included in named if included]
            yield path, text, [name for name, _included in named]


def _read_text(path: str) -> str:
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            return os.fsdecode(file.read(_LARGEST_CONFIGURATION))
    except OSError:
        return ""


def _named_files(text: str, path: str, home: str) -> Iterator[tuple[str, bool]]:
    """Yield the files that a configuration names, and whether it includes them."""
    section = ""
    for line in text.splitlines():
        start = line.strip()
        if start.startswith("["):
            section, _, start = start[1:].lower().partition("]")
        key, equals, value = start.partition("=")
        word = key.strip().lower()
        included = section.startswith("include") and word == "path"
        if equals and (included or word in _NAMING or (section, word) == ("mailmap", "file")):
            yield os.path.join(os.path.dirname(os.path.realpath(path)), _parse_value(value, home)), included


def _parse_value(text: str, home: str) -> str:
    """Return a value without its quotes and comment, and with the home in place of `~`."""
    value = text.strip()
    if value.startswith('"'):
        value = value[1:].partition('"')[0]
    else:
        value = value.partition(" #")[0].partition(" ;")[0].strip()
    return f"{home}{value[1:]}" if value.startswith("~/") else os.path.expanduser(value)


# The environment.


def environment(base: Mapping[str, str], workspace: str) -> dict[str, str]:
    """Return an environment without GIT_ variables that do harm, whose PATH has nothing in the workspace."""
    kept = {name: value for name, value in base.items() if not name.startswith("GIT_") or name in KEPT}
    path = os.pathsep.join(path_directories(base, workspace))
    return {**kept, "PATH": path, **VARIABLES}


def path_directories(base: Mapping[str, str], workspace: str) -> list[str]:
    """Return the directories of PATH that are absolute and outside the workspace."""
    listed = base.get("PATH", os.defpath).split(os.pathsep)
    return [
        directory for directory in listed if os.path.isabs(directory) and not is_inside(directory, workspace)
    ]


def is_inside(path: str, directory: str) -> bool:
    """Return whether a path, with links resolved, is this directory or below it."""
    return (os.path.realpath(path) + "/").startswith(directory.rstrip("/") + "/")


KEY = "clada.alternates"  # of the user's own git configuration: a path, once or more often
_LARGEST_ALTERNATES = 1 << 16  # bytes of a list of object directories
_lent: dict[str, str] = {}  # by git directories that this process has made: whose objects they have


def lend_objects(objects: str, git_dir: str) -> None:
    """Let a git directory that was made by this process have the objects of another repository."""
    _lent[git_dir] = os.path.realpath(objects)


def alternates(repository: Repository) -> list[str]:
    """Return the object directories that a repository uses besides its own, of any owner."""
    found = [os.path.join(repository.common_dir, "objects")]
    for objects in found:  # it grows
        found += [other for other in _read_alternates(objects) if other not in found and len(found) < _MOST]
    return found[1:]


def refuse_others(repository: Repository, users: Callable[[], list[str]]) -> None:
    """Raise CladaError if the repository borrows objects from outside the given directories."""
    own = (repository.root, repository.git_dir, repository.common_dir)
    waiting = [os.path.join(repository.common_dir, "objects")]
    allowed: list[str] | None = None
    for objects in waiting:  # it grows
        for other in _read_alternates(objects):
            if other in waiting:
                continue
            if any(is_in(other, place) for place in own) and len(waiting) < _MOST:
                waiting.append(other)
            elif other != _lent.get(repository.git_dir):
                allowed = users() if allowed is None else allowed
                if not any(is_in(other, place) for place in allowed):
                    raise _foreign_objects_error(objects, other)


def _read_alternates(objects: str) -> Iterator[str]:
    """Yield what an object directory names as others, as git reads it."""
    path = os.path.join(objects, "info", "alternates")
    try:
        handle = open_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        data = read_at_most(handle, _LARGEST_ALTERNATES + 1)
    finally:
        os.close(handle)
    for line in os.fsdecode(data).split("\n"):
        # git reads a quoted line in its own way.
        if len(data) > _LARGEST_ALTERNATES or line.startswith('"') or "\0" in line:
            message = f"{escape_controls(path)} is not as git writes it"
            raise CladaError("git_operation_failed", message, "look at it, and repair it")
        if line and not line.startswith("#"):
            yield os.path.realpath(os.path.join(objects, line))


def _foreign_objects_error(objects: str, other: str) -> CladaError:
    place = escape_controls(other)
    message = f"{escape_controls(objects)}/info/alternates leads to another repository's objects, {place}"
    remedy = f"if its files may be seen here, run git config --global --add {KEY} {place}"
    copied = "if not, run git repack -a -d and remove that file"
    return CladaError("git_operation_failed", message, f"{remedy}; {copied}")
