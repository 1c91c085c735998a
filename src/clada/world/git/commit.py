"""The parts of a commit: changes in the work tree, HEAD, messages, and files that cannot be committed.

Nothing here runs `git add` or `git commit`, which would run filters and hooks and enter nested repositories.
"""

from __future__ import annotations

import os
from errno import ENAMETOOLONG
from stat import S_ISDIR, S_ISLNK, S_ISREG

from clada import grammar
from clada.errors import CladaError
from clada.text.escape import escape_controls, first_few
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.git.git import configuration, git_call_error, safe_opener
from clada.world.git.harden import users_have_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clada.world.git.git import Git
    from clada.world.git.repository import Repository


NO_IDENTITY = (b"auto-detection is disabled", b"empty ident name")
STATUS = tuple(
    "status --porcelain=v2 --branch -z --untracked-files=all --no-renames --ignore-submodules=all".split()
)
GITIGNORE = ".gitignore"
FEW = 50  # paths that git finds in its index faster than it can list the whole of it


# Changes.


class WorkTreeStatus(Value):
    """What differs between last commit, index and work tree, as paths below the repository's root."""

    head: str  # the commit that HEAD is; empty before the first one
    changed: tuple[str, ...] = ()  # in the work tree, against the index
    untracked: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()  # in the index, against the commit
    unmerged: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()  # repositories of their own, which are left alone
    ignored: tuple[str, ...] = ()  # files, and directories with a slash at the end; only if asked for
    announced: tuple[str, ...] = ()  # in the index, without content as yet


def work_tree_status(git: Git, prefix: str, *, ignored: bool = False) -> WorkTreeStatus:
    """Return the changes below the prefix, by one `git status`; with `ignored`, also ignored paths."""
    limit = [*(["--ignored=matching"] if ignored else []), *(["--", prefix.rstrip("/")] if prefix else [])]
    found: dict[str, list[str]] = {name: [] for name in WorkTreeStatus.__match_args__[1:]}
    head: str | None = None
    for line in os.fsdecode(git.check_output(*STATUS, *limit)).split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "1":
            _add_tracked(rest, found)
        elif kind == "?":
            found["nested" if rest.endswith("/") else "untracked"].append(rest)
        elif kind == "!":
            found["ignored"].append(rest)
        elif kind == "u":
            found["unmerged"].append(rest.split(" ", 9)[9])
        elif rest.startswith("branch.oid "):
            head = rest.partition(" ")[2].removesuffix("(initial)")
    if head is None:
        raise CladaError("git_operation_failed", "git does not say where HEAD is", "try again")
    return WorkTreeStatus(head, **{name: tuple(paths) for name, paths in found.items()})


def _add_tracked(fields: str, found: dict[str, list[str]]) -> None:
    in_index, in_tree, path = fields[0], fields[1], fields.split(" ", 7)[7]
    if in_index != ".":
        found["staged"].append(path)
    if in_tree != ".":
        found["changed"].append(path)
    if in_tree == "A":
        found["announced"].append(path)


def is_off_limits(path: str) -> bool:
    """Return whether undo and stash must leave the path alone: approvals, git's own, and what leads out."""
    return any(part in {"..", ".", ""} or is_protected(part) for part in path.split("/"))


def ignored_files(git: Git, paths: list[str]) -> dict[str, None]:
    """Return which of these files are ignored and not tracked."""
    if not paths:
        return {}
    # check-ignore cannot be told that names are literal: without ./ a colon in front would be magic
    stdin = b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths)
    result = git.call("check-ignore", "-z", "--stdin", stdin=stdin, GIT_LITERAL_PATHSPECS="0")
    if result.code not in {0, 1}:  # 1: none is
        raise git_call_error("check-ignore", result)
    return dict.fromkeys(path[2:] for path in os.fsdecode(result.output).split("\0")[:-1])


def with_parents(path: str) -> Iterable[str]:
    """Return the path and every directory that it is in."""
    while path:
        yield path
        path = path.rpartition("/")[0]


class WorkTree:
    """Reads the status of files without following links, and caches it."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.kinds: dict[str, str] = {"": "directory"}
        self._listed: set[str] = set()  # directories

    def kind(self, path: str) -> str:
        """Return file (or link), directory, nested (with a .git), gone, beyond (a link or file), or other."""
        unknown, above = [], path
        while above not in self.kinds:
            unknown.append(above)
            above = above.rpartition("/")[0]
        for each in reversed(unknown):
            self.kinds[each] = self._look(each)
        return self.kinds[path]

    def _look(self, path: str) -> str:
        above = self.kinds[path.rpartition("/")[0]]
        if above != "directory":
            return above if above in {"gone", "nested"} else "beyond"
        full = os.path.join(self._root, path)
        try:
            mode = os.lstat(full).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError as error:
            if error.errno == ENAMETOOLONG:  # git cannot name it either
                return "other"
            raise
        if S_ISDIR(mode):
            return "nested" if os.path.lexists(os.path.join(full, ".git")) else "directory"
        return "file" if S_ISREG(mode) or S_ISLNK(mode) else "other"

    def is_listed(self, path: str) -> bool:
        """Return whether this is in a directory whose files were returned."""
        return path.rpartition("/")[0] in self._listed

    def files(self, path: str) -> Iterable[str]:
        """Return the file, or all files in the directory."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            kind = self.kind(path)
            if kind == "file":
                yield path
            elif kind == "directory":
                self._listed.add(path)
                names = sorted(os.listdir(os.path.join(self._root, path)), reverse=True)
                waiting += [f"{path}/{name}" if path else name for name in names]


# Committing.


class Author(Value):
    """Who a commit is by."""

    name: str
    mail: str


class Head(Value):
    """What HEAD is: a commit and its tree; both empty before the first commit."""

    commit: str
    tree: str


def read_author(text: str) -> Author:
    """Return the author that `Name` or `Name <mail>` stands for."""
    read = grammar.read_author(text)
    if read is None:
        raise CladaError("git_operation_failed", f"not an author: {text!r}", f"write {grammar.AUTHOR}")
    return Author(*read)


def read_head(git: Git) -> Head:
    """Return what HEAD is."""
    questions = b"HEAD^{commit}\nHEAD^{tree}\n"
    lines = git.check_output("cat-file", "--batch-check", stdin=questions).decode().splitlines()
    if len(lines) != questions.count(b"\n"):  # git stops at a question that it cannot read
        raise CladaError("git_operation_failed", "git does not say where HEAD is", "try again")
    if lines[0].endswith(" missing"):
        return Head("", "")
    return Head(lines[0].split()[0], lines[1].split()[0])


def make_commit(git: Git, tree: str, parents: tuple[str, ...], text: str, author: Author | None) -> str:
    """Make a commit that no ref leads to yet; its committer is the user or, if unknown, the author.

    Without an author, the user is that, too.
    """
    call = ["commit-tree", "--no-gpg-sign", *(f"-p{parent}" for parent in parents), "-F", "-", tree]
    who = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.mail} if author else {}
    message = f"{text}\n".encode("utf-8", "surrogateescape")
    result = git.call(*call, stdin=message, **who)
    if author and result.code != 0 and any(words in result.errors for words in NO_IDENTITY):
        who |= {"GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.mail}
        result = git.call(*call, stdin=message, **who)
    if result.code != 0:
        raise git_call_error("commit-tree", result)
    return result.output.decode().strip()


def empty_tree(git: Git) -> str:
    """Return the name of the tree without files, which depends on the repository's hash."""
    return git.check_word("hash-object", "-t", "tree", "--stdin")


MAX_LINES = 100
MAX_LINE = 200  # characters
MAX_NAMED = 10  # files that a note names


def commit_message(
    kind: str, time: str, subject: str | None, body: Sequence[str], numbers: Mapping[str, int | None]
) -> str:
    """Return the message, with numbers of runs as trailers; {run} and {time} in a given subject are those."""
    run = numbers.get("Clada-Run")
    given = [escape_controls(line.rstrip()) for line in (subject or "").strip().splitlines()]
    first = "\n".join(given).replace("{run}", str(run or "")).replace("{time}", time)
    lines = [f"- {_shorten(line)}" for line in body[:MAX_LINES]]
    if len(body) > MAX_LINES:
        lines.append(f"and {len(body) - MAX_LINES} more")
    trailers = [f"{name}: {number}" for name, number in numbers.items() if number]
    return "\n\n".join(
        "\n".join(part) for part in ([first or f"[clada:{kind}] {time}"], lines, trailers) if part
    )


def _shorten(line: str) -> str:
    shown = escape_controls(line)
    return shown if len(shown) <= MAX_LINE else f"{shown[: MAX_LINE - 1]}…"


def listed(paths: Sequence[str]) -> str:
    """Return some of the paths, and how many more there are."""
    return first_few(paths, MAX_NAMED)


USERS_SCOPES = ("system", "global")
CLEANING = ("clean", "process")  # the directions of a filter that apply to commits
PLAIN = ("unspecified", "unset", "set", "", "utf-8", "utf8")  # values of an encoding that change nothing
FILTERED = ":(top,exclude,attr:!filter)"  # all but those without a filter
REQUIRED, TRUE = ".required", ("true", "yes", "on", "1")
MAX_ATTRIBUTES = 1 << 20  # bytes of an attributes file that are examined


class Unfit(Value):
    """A file that must not be committed without what applies to it."""

    path: str
    because: str


def unfit_files(
    repository: Repository,
    git: Git,
    present: Sequence[str],
    planned: Sequence[str] = (),
    *,
    dry: bool = False,
) -> list[Unfit]:
    """Return which of these files cannot be committed; of planned ones the content is not known yet.

    dry: write nothing into the repository. Git then does not try whether a text survives the way back.
    """
    filters, required = _local_filters(repository), _required_filters(git)
    if not filters and not required and not _name_encodings(repository, (*present, *planned)):
        return []
    files = [path for path in present if not os.path.islink(os.path.join(git.root, path))]
    coming = [path for path in planned if path not in files]
    found, works = [], dict[str, bool]()
    for path, (name, encoding) in _attributes(git, [*files, *coming]).items():
        if name in required and name not in works:
            works[name] = _filter_works(git, path)
        if name in filters:
            found.append(Unfit(path, f"the repository's own filter {name}"))
        elif name in required and not works[name]:
            command = escape_controls(required[name]) or "it has no command"
            found.append(Unfit(path, f"the filter {name} of your configuration, which fails ({command})"))
        elif encoding.lower() not in PLAIN and (path in coming or not _can_convert(git, path, dry=dry)):
            found.append(Unfit(path, f"the encoding {encoding}"))
    return found


def filtered_files(git: Git) -> list[str]:
    """Return the tracked files to which a filter applies; none where git cannot list files."""
    listed = git.call("ls-files", "-z", "--", FILTERED, GIT_LITERAL_PATHSPECS="0").output
    return os.fsdecode(listed).split("\0")[:-1]


def _local_filters(repository: Repository) -> set[str]:
    """Return the filters that git itself would run and hardened git does not."""
    users: dict[str, str] = {}
    local: dict[str, str] = {}
    for scope, key, value in configuration(repository):
        if key.startswith("filter.") and key.endswith(tuple(f".{name}" for name in CLEANING)):
            (users if scope in USERS_SCOPES else local)[key] = value
    return {
        key.split(".", 1)[1].rpartition(".")[0] for key, value in local.items() if users.get(key) != value
    }


def _required_filters(git: Git) -> dict[str, str]:
    """Return the filters of the user that git insists on, and their commands."""
    if not users_have_filters():
        return {}
    listed = git.call("config", "-z", "--get-regexp", r"^filter\.").output
    lines = (line.partition("\n") for line in os.fsdecode(listed).split("\0")[:-1])
    values = {key: value if given else "true" for key, given, value in lines}
    names = [
        key.removesuffix(REQUIRED)
        for key, value in values.items()
        if key.endswith(REQUIRED) and value in TRUE
    ]
    return {
        name.removeprefix("filter."): values.get(f"{name}.process") or values.get(f"{name}.clean", "")
        for name in names
    }


def _filter_works(git: Git, path: str) -> bool:
    """Ask git whether it can apply the filter of a file: to nothing, and nothing is written."""
    free = git.replace(confinement=None)  # as with all calls that start the user's own programs
    return free.call("hash-object", "--stdin", f"--path={path}").code == 0


def _name_encodings(repository: Repository, paths: Iterable[str]) -> bool:
    """Return whether an attributes file around these paths speaks of encodings; most speak of none."""
    directories = {""}
    for path in paths:
        above = path.rpartition("/")[0]
        while above not in directories:
            directories.add(above)
            above = above.rpartition("/")[0]
    places = [os.path.join(repository.root, each, ".gitattributes") for each in directories]
    return any(
        b"working-tree-encoding" in _read_attributes(place)
        for place in (*places, os.path.join(repository.common_dir, "info", "attributes"))
    )


def _read_attributes(path: str) -> bytes:
    try:
        with open(path, "rb", opener=safe_opener) as file:
            return file.read(MAX_ATTRIBUTES)
    except OSError:
        return b""  # as for git, which does not follow links here, either


def _attributes(git: Git, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return filter and encoding of each file."""
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    call = ("check-attr", "-z", "--stdin", "filter", "working-tree-encoding")
    fields = os.fsdecode(git.check_output(*call, stdin=stdin)).split("\0")[:-1]
    return dict(zip(fields[0::6], zip(fields[2::6], fields[5::6], strict=True), strict=True))


def _can_convert(git: Git, path: str, *, dry: bool) -> bool:
    """Ask git whether it can convert the file for a commit; it may only warn if it cannot."""
    writing = () if dry else ("-w",)
    result = git.call("hash-object", *writing, "--path", path, "--", os.path.join(git.root, path))
    return result.code == 0 and b"error: " not in result.errors
