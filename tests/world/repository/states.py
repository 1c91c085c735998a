"""The states that a repository can be in when a run starts: each is built by plain git, as a user would.

`STATES` has them by name: a function that builds the state in an empty directory and returns the workspace.
In every workspace a run can write `a.txt` and `new.txt`, and remove `dir/c.txt`; what else is there is the
state itself. `REFUSED` has those in which no commit is made on the branch, and words of the message.
"""

# ruff: noqa: D401 (what a function builds is described, not commanded)

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Content = dict[str, tuple[int, bytes]]

LARGE = 10 * 1024 * 1024 + 1
ROT13 = "tr a-zA-Z n-za-mN-ZA-M"  # a filter that plainly did its work, or did not


def git(root: Path, *arguments: str, check: bool = True) -> str:
    """Run plain git and return what it printed."""
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    assert not check or done.returncode == 0, (arguments, done.stderr.decode(errors="replace"))
    return os.fsdecode(done.stdout).rstrip("\n")


def write(root: Path, path: str, content: str | bytes) -> None:
    """Write a file, with its directories."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def init(root: Path) -> Path:
    """Make a repository without commits."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main", "--template=")  # without a dozen examples of hooks
    return root


def commit(root: Path, message: str = "by hand") -> None:
    """Commit all that is there."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def files(root: Path) -> Path:
    """Write the files that every state has."""
    write(root, "a.txt", "a\n")
    write(root, "b.txt", "b\n")
    write(root, "dir/c.txt", "c\n")
    write(root, "dir/d.txt", "d\n")
    return root


def clean(root: Path) -> Path:
    """All is committed."""
    if (root / ".git").exists():
        files(root)
        commit(root)
    else:
        copy(_committed(Path(os.environ["HOME"], ".gitconfig").read_bytes()), root)
    return root


@cache
def _committed(_configured: bytes) -> Content:
    """Make the repository of the files that every state has, once for each configuration of the user."""
    with TemporaryDirectory() as name:
        commit(files(init(Path(name))))
        return content(Path(name))


def content(root: Path) -> Content:
    """Return all files of a repository, with their modes."""
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): (path.stat().st_mode, path.read_bytes()) for path in paths}


def copy(made: Content, root: Path) -> None:
    """Make the same repository again, which takes less than half as long."""
    for path, (mode, data) in made.items():
        write(root, path, data)
        (root / path).chmod(mode)
    git(root, "update-index", "-q", "--refresh")  # as it has the inodes of the other files


def dirty(root: Path) -> Path:
    """Files are changed, removed, executable, a link; nothing is staged."""
    write(init(root), "gone.txt", "gone\n")
    write(root, "link.txt", "no link yet\n")
    clean(root)
    write(root, "b.txt", "b, changed\n")
    (root / "dir/d.txt").chmod(0o755)
    (root / "gone.txt").unlink()
    (root / "link.txt").unlink()
    (root / "link.txt").symlink_to("b.txt")
    return root


def staged(root: Path) -> Path:
    """Changed, new and removed files are staged, and so is one that a run writes."""
    write(init(root), "gone.txt", "gone\n")
    clean(root)
    write(root, "a.txt", "a, staged\n")
    write(root, "b.txt", "b, staged\n")
    write(root, "added.txt", "staged\n")
    (root / "gone.txt").unlink()
    git(root, "add", "-A")
    return root


def partly_staged(root: Path) -> Path:
    """What is staged is neither in the last commit nor in the tree."""
    clean(root)
    for name in ("a.txt", "b.txt", "added.txt", "added-and-gone.txt"):
        write(root, name, f"{name}, staged\n")
    git(root, "add", "-A")
    for name in ("a.txt", "b.txt", "added.txt"):
        write(root, name, f"{name}, changed again\n")
    (root / "added-and-gone.txt").unlink()
    return root


def untracked(root: Path) -> Path:
    """Files that git does not know, with odd names and in directories of their own."""
    clean(root)
    for name in ("notes.txt", "scratch/one.txt", "scratch/deep/two.txt", ":colon", " blank", "new\nline"):
        write(root, name, f"{name}\n")
    (root / "empty").mkdir()
    return root


def ignored(root: Path) -> Path:
    """Ignored files, one of which is tracked all the same."""
    write(init(root), "tracked.log", "tracked\n")
    clean(root)
    write(root, ".gitignore", "*.log\nbuild/\n")
    commit(root)
    write(root, "tracked.log", "tracked, changed\n")
    write(root, "debug.log", "ignored\n")
    write(root, "build/out.o", "ignored\n")
    return root


def secrets(root: Path) -> Path:
    """Untracked files that look like secrets or are large, and a tracked one."""
    write(init(root), ".env.local", "tracked\n")
    clean(root)
    write(root, ".env.local", "tracked, changed\n")
    for name in (".env", "keys/id_ed25519", "prod.tfvars", ".aws/credentials"):
        write(root, name, "secret\n")
    write(root, ".env.example", "harmless\n")
    with open(root / "large.bin", "wb") as file:
        file.truncate(LARGE)
    return root


def _filter(root: Path, scope: str) -> Path:
    clean(root)
    write(root, ".gitattributes", "*.hidden filter=rot\n")
    for key in ("clean", "smudge"):
        git(root, "config", scope, f"filter.rot.{key}", ROT13)
    write(root, "known.hidden", "plain text\n")
    commit(root)
    write(root, "known.hidden", "plain text, changed\n")
    return root


def local_filter(root: Path) -> Path:
    """A filter of the repository's own configuration applies to a changed file."""
    return _filter(root, "--local")


def global_filter(root: Path) -> Path:
    """A filter of the user's own configuration applies to a changed file."""
    return _filter(root, "--global")


def autocrlf(root: Path) -> Path:
    """Files have CRLF in the tree and LF in commits, by configuration and by attribute."""
    git(init(root), "config", "core.autocrlf", "true")
    write(root, ".gitattributes", "*.bat text eol=crlf\n*.bin -text\n")
    for name in ("windows.txt", "run.bat", "raw.bin"):
        write(root, name, b"one\r\ntwo\r\n")
    clean(root)
    for name in ("windows.txt", "run.bat", "raw.bin"):
        write(root, name, b"one\r\ntwo\r\nthree\r\n")
    return root


def text_auto(root: Path) -> Path:
    """Files have CRLF, or both line endings, in the tree, and would get LF if they were checked out."""
    write(init(root), ".gitattributes", "* text=auto\n")
    write(root, "windows.txt", b"one\r\ntwo\r\n")
    write(root, "mixed.txt", b"one\r\ntwo\n")
    clean(root)
    return root


def encodings(root: Path) -> Path:
    """A file is UTF-16 in the tree and UTF-8 in commits."""
    write(init(root), ".gitattributes", "*.utf16 working-tree-encoding=UTF-16\n")
    write(root, "wide.utf16", "wide é\n".encode("utf-16"))
    clean(root)
    write(root, "wide.utf16", "wide é, changed\n".encode("utf-16"))
    return root


def wrong_encoding(root: Path) -> Path:
    """A changed file is not in the encoding that it is said to have."""
    encodings(root)
    write(root, "wide.utf16", "not wide at all\n")
    return root


def sparse(root: Path) -> Path:
    """Only some directories are checked out."""
    write(init(root), "away/far.txt", "far\n")
    write(root, "away/deep/er.txt", "deeper\n")
    clean(root)
    git(root, "sparse-checkout", "set", "--cone", "dir")
    write(root, "b.txt", "b, changed\n")
    return root


def sparse_index(root: Path) -> Path:
    """The index does not list what is not checked out, either."""
    sparse(root)
    git(root, "sparse-checkout", "reapply", "--sparse-index")
    return root


def skip_worktree(root: Path) -> Path:
    """One marked file has local content, another is not in the tree."""
    write(init(root), "local.cfg", "local\n")
    write(root, "absent.cfg", "absent\n")
    clean(root)
    git(root, "update-index", "--skip-worktree", "local.cfg", "absent.cfg")
    write(root, "local.cfg", "local, never to be committed\n")
    (root / "absent.cfg").unlink()
    return root


def assume_unchanged(root: Path) -> Path:
    """One marked file is changed, another is not in the tree."""
    write(init(root), "local.cfg", "local\n")
    write(root, "absent.cfg", "absent\n")
    clean(root)
    git(root, "update-index", "--assume-unchanged", "local.cfg", "absent.cfg")
    write(root, "local.cfg", "local, never to be committed\n")
    (root / "absent.cfg").unlink()
    return root


def intent_to_add(root: Path) -> Path:
    """Files are announced, and none of their content is staged; one of them is gone again."""
    clean(root)
    write(root, "announced.txt", "announced\n")
    write(root, "announced-and-gone.txt", "announced\n")
    git(root, "add", "-N", "announced.txt", "announced-and-gone.txt")
    (root / "announced-and-gone.txt").unlink()
    return root


def rm_cached(root: Path) -> Path:
    """Files are taken out of the index and stay in the tree; one is ignored from now on."""
    write(init(root), "untrack.txt", "no longer\n")
    write(root, "untrack.log", "no longer\n")
    clean(root)
    write(root, ".gitignore", "*.log\n")
    git(root, "rm", "-q", "--cached", "untrack.txt", "untrack.log")
    return root


def _library(root: Path) -> Path:
    """Make a repository beside this one that can be its submodule."""
    beside = root.parent / f"{root.name}-library"
    write(init(beside), "lib.txt", "lib\n")
    commit(beside)
    return beside


def submodule(root: Path) -> Path:
    """A submodule is checked out, at another commit than the recorded one, and has changes."""
    library = _library(root)
    files(init(root))
    git(root, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(library), "lib")
    commit(root)
    write(root, "lib/lib.txt", "lib, next\n")
    git(root / "lib", "commit", "-q", "-a", "-m", "next")
    write(root, "lib/lib.txt", "lib, changed\n")
    write(root, "b.txt", "b, changed\n")
    return root


def staged_submodule(root: Path) -> Path:
    """The submodule's next commit is staged."""
    submodule(root)
    git(root, "add", "lib")
    return root


def uninitialised_submodule(root: Path) -> Path:
    """A clone that has an empty directory where the submodule would be."""
    origin = submodule(root.parent / f"{root.name}-origin")
    git(root.parent, "clone", "-q", str(origin), str(root))
    write(root, "b.txt", "b, changed\n")
    return root


def worktree(root: Path) -> Path:
    """A linked work tree, whose own branch has changes, staged and not."""
    clean(root)
    linked = root.parent / f"{root.name}-linked"
    git(root, "worktree", "add", "-q", "-b", "linked", str(linked))
    write(linked, "b.txt", "b, changed\n")
    write(linked, "added.txt", "staged\n")
    git(linked, "add", "added.txt")
    return linked


def _side(root: Path) -> Path:
    """Make a branch whose b.txt conflicts with main's."""
    clean(root)
    git(root, "checkout", "-q", "-b", "side")
    write(root, "b.txt", "b, side\n")
    write(root, "side.txt", "side\n")
    commit(root, "side")
    git(root, "checkout", "-q", "main")
    return root


def _conflict(root: Path, *command: str) -> Path:
    _side(root)
    write(root, "b.txt", "b, main\n")
    commit(root, "main")
    git(root, *command, check=False)
    return root


def merge(root: Path) -> Path:
    """A merge stopped at a conflict."""
    return _conflict(root, "merge", "side")


def rebase(root: Path) -> Path:
    """A rebase stopped at a conflict."""
    return _conflict(root, "rebase", "side")


def cherry_pick(root: Path) -> Path:
    """A cherry-pick stopped at a conflict."""
    return _conflict(root, "cherry-pick", "side")


def revert(root: Path) -> Path:
    """A revert stopped at a conflict."""
    clean(root)
    for text in ("b, second\n", "b, third\n"):
        write(root, "b.txt", text)
        commit(root)
    git(root, "revert", "HEAD~1", check=False)
    return root


def bisect(root: Path) -> Path:
    """A bisect is under way."""
    _side(root)
    git(root, "bisect", "start")
    return root


def stash_conflict(root: Path) -> Path:
    """A stash that was applied left an unmerged file."""
    clean(root)
    write(root, "b.txt", "b, stashed\n")
    git(root, "stash", "-q")
    write(root, "b.txt", "b, main\n")
    commit(root)
    git(root, "stash", "pop", "-q", check=False)
    return root


def stashed(root: Path) -> Path:
    """There is a stash, and other changes since."""
    clean(root)
    write(root, "b.txt", "b, stashed\n")
    git(root, "stash", "-q")
    write(root, "dir/d.txt", "d, changed\n")
    return root


def squash_pending(root: Path) -> Path:
    """A squash merge is staged and waits for its commit."""
    _side(root)
    git(root, "merge", "-q", "--squash", "side")
    return root


def pick_pending(root: Path) -> Path:
    """A cherry-pick without its commit is staged."""
    _side(root)
    git(root, "cherry-pick", "-n", "side")
    return root


def detached(root: Path) -> Path:
    """HEAD names a commit and no branch."""
    dirty(root)
    git(root, "checkout", "-q", "--detach")
    return root


def unborn(root: Path) -> Path:
    """The branch has no commit yet; one file is staged."""
    files(init(root))
    git(root, "add", "b.txt")
    return root


def shallow(root: Path) -> Path:
    """A clone of the last commit only."""
    origin = dirty(root.parent / f"{root.name}-origin")
    commit(origin)
    git(root.parent, "clone", "-q", "--depth=1", f"file://{origin}", str(root))
    write(root, "b.txt", "b, changed in the clone\n")
    return root


def split_index(root: Path) -> Path:
    """The index is in two files."""
    clean(root)
    git(root, "update-index", "--split-index")
    git(root, "config", "core.splitIndex", "true")
    write(root, "b.txt", "b, changed\n")
    write(root, "added.txt", "staged\n")
    git(root, "add", "added.txt")
    return root


def below(root: Path) -> Path:
    """The workspace is a directory of a larger repository, in which other things are staged and changed."""
    files(init(root) / "work/space")
    write(root, "outside.txt", "outside\n")
    write(root, "other/outside.txt", "outside\n")
    commit(root)
    write(root, "outside.txt", "outside, staged\n")
    git(root, "add", "outside.txt")
    write(root, "outside.txt", "outside, changed again\n")
    write(root, "other/outside.txt", "outside, changed\n")
    write(root, "work/space/b.txt", "b, changed\n")
    write(root, "new-outside.txt", "untracked\n")
    return root / "work/space"


def repository_above(root: Path) -> Path:
    """The repository around the workspace has no file of it, as with dotfiles in a home directory."""
    write(init(root), ".profile", "dotfile\n")
    commit(root)
    return files(root / "projects/new")


STATES: dict[str, Callable[[Path], Path]] = {
    state.__name__.replace("_", "-"): state
    for state in (
        clean, dirty, staged, partly_staged, untracked, ignored, secrets, local_filter,
        global_filter, autocrlf, text_auto, encodings, wrong_encoding, sparse, sparse_index, skip_worktree,
        assume_unchanged, intent_to_add, rm_cached, submodule, staged_submodule,
        uninitialised_submodule, worktree, merge, rebase, cherry_pick, revert, bisect,
        stash_conflict, stashed, squash_pending, pick_pending, detached, unborn, shallow,
        split_index, below, repository_above,
    )
}  # fmt: skip

REFUSED = {
    "local-filter": "filter",
    "wrong-encoding": "UTF-16",
    "merge": "a merge is in progress",
    "rebase": "a rebase is in progress",
    "cherry-pick": "a cherry-pick is in progress",
    "revert": "a revert is in progress",
    "bisect": "a bisect is in progress",
    "stash-conflict": "there are unmerged files",
    "repository-above": "no file of",
}
