"""Files that cannot be committed, because clada does not apply their filter or their encoding."""

from __future__ import annotations

import os

from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.git.git import configuration, safe_opener
from clada.world.git.harden import users_have_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clada.world.git.git import Git
    from clada.world.git.repository import Repository


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
