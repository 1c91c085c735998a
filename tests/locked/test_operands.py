"""Operands of git mean what was checked: no file outside is ever read through them."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.locked.conftest import Place

from tests.locked.conftest import SECRET

OUT = "../../outside"
# A directory, or a file, with a name that git could read in another way; and two operands made of it.
NAMES = (
    ":!x",
    ":^x",
    ":(exclude)x",
    ":/x",
    "a:b",
    "HEAD:x",
    ":x",
    ":0:x",
    "a\\b\\c",
    "a\\b",
    "-x",
    "main..x",
    "^x",
)
FORMS = (
    "git diff {0} {1}",
    "git diff -- {0} {1}",
    "git diff -S x {1} {0}",
    "git show {0} {1}",
    "git status {0} {1}",
)


@pytest.mark.sample(4)
@pytest.mark.parametrize("form", FORMS)
def test_no_operand_leads_out(place: Place, form: str) -> None:
    """By directories, by files, by links with such names; with and without `--`."""
    bodies = []
    for name in NAMES:
        (place.inside / name).mkdir(parents=True, exist_ok=True)
        ends = (f"{name}/{OUT}/secret", f"./{name}/{OUT}")
        bodies += [form.format(f"'{end}'", "'file'") for end in ends]
    done = place.clada(*bodies)
    assert SECRET not in done.text
    assert "outside/secret b/" not in done.text


@pytest.mark.sample(4)
@pytest.mark.parametrize("form", FORMS)
def test_no_link_with_such_a_name_leads_out(place: Place, form: str) -> None:
    for name in NAMES:
        (place.inside / name).parent.mkdir(exist_ok=True)
        (place.inside / name).symlink_to(place.outside)
        (place.inside / f"{name}-file").symlink_to(place.outside / "secret")
    operands = [f"'{name}{end}'" for name in NAMES for end in ("/secret", "-file", "", "/")]
    done = place.clada(*(form.format(operand, "file") for operand in operands))
    assert SECRET not in done.text


def test_the_attack_of_old(place: Place) -> None:
    """It compared two files as if there were no repository."""
    deep = "../" * 9
    done = place.clada(f"mkdir ':!x' && git diff ':!x/{deep}etc/hostname' ':!x/{deep}etc/passwd'")
    assert done.errors == ["command_not_allowed"]
    assert "root:" not in done.text
    assert "name the paths themselves" in done.text


MAGIC = (":!file", ":^file", ":(exclude)file", ":/file", ":(top)file", ":(glob)**")
WITH_MAGIC = (
    "git diff -- . '{}'",
    "git diff . '{}'",
    "git log -p -- '{}'",
    "git status '{}'",
    "git ls-files '{}'",
)


def test_pathspec_magic_is_refused_with_a_word_why(place: Place) -> None:
    """It would not do what it says, for paths are literal: `:!file` would still show the file."""
    place.write("file", "changed\n")
    bodies = [form.format(magic) for form in WITH_MAGIC for magic in MAGIC]
    done = place.clada(*bodies)
    assert done.errors == ["command_not_allowed"] * len(bodies)
    assert all("needs git to guess" in task["error"]["message"] for task in done.tasks)


HONEST = [
    ("git diff", "+changed"),
    ("git diff file", "+changed"),
    ("git diff HEAD", "+changed"),
    ("git diff HEAD file", "+changed"),
    ("git diff HEAD -- file", "+changed"),
    ("git diff HEAD file sub/other", "+changed"),
    ("git diff file sub/other", "+changed"),
    ("git diff -- file sub", "+changed"),
    ("git diff -S changed", "+changed"),
    ("git diff -S changed file", "+changed"),
    ("git diff -S ../changed", ""),
    ("git diff HEAD:file HEAD:sub/other", "+other"),
    ("git diff HEAD:file file", "+changed"),
    ("git diff HEAD:file -- file", "+changed"),
    ("git diff HEAD~1 HEAD", "+more"),
    ("git diff HEAD~1..HEAD -- sub/more", "+more"),
    ("git diff HEAD~1...HEAD", "+more"),
    ("git log --format=%s HEAD~1..", "second"),
    ("git log --format=%s ^HEAD~1 HEAD", "second"),
    ("git log --format=%s -- sub", "second"),
    ("git log --format=%s sub/more", "second"),
    ("git log --format=%s HEAD sub/more", "second"),
    ("git log --format=%s 'HEAD^{/hand}'", "by hand"),
    ("git log --format=%s -- gone", "second"),
    ("git show HEAD:file", "two"),
    ("git show HEAD:sub/", "other"),
    ("git show :file", "two"),
    ("git show :0:file", "two"),
    ("cd sub && git show HEAD:./other", "other"),
    ("cd sub && git log --format=%s more", "second"),
    ("git show --stat v1", "second"),
    ("git show 'HEAD@{0}' --format=%s", "second"),
    ("git status -s file", " M file"),
    ("git status -s -- file", " M file"),
    ("git ls-files sub", "sub/other"),
    ("git log --format=%s -n 1", "second"),
    ("git log --format=%s --author User -1", "second"),
    ("git log --format=%s -L 1,1:file", "by hand"),
    ("git branch --contains HEAD", "main"),
]


def test_what_is_meant_honestly_works(place: Place) -> None:
    place.write("sub/more", "more\n")
    place.write("gone")
    place.give()
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "second")
    place.git("tag", "v1")
    (place.inside / "gone").unlink()
    place.write("file", "changed\n")
    done = place.clada(*(body for body, _shown in HONEST))
    assert done.errors == [None] * len(HONEST), done.text
    for (body, shown), task in zip(HONEST, done.tasks, strict=True):
        assert shown in done.output(task), body


REFUSED = [
    ("git log nothing", "exec_failed", "neither a revision nor a file"),
    ("git diff HEAD nothing", "exec_failed", "neither a revision nor a file"),
    ("git diff file HEAD", "exec_failed", "neither a revision nor a file"),
    ("git log both", "exec_failed", "both a revision and a file"),
    ("git diff 'sub\\other'", "command_not_allowed", "backslash"),
    ("git diff -- 'sub\\other'", "command_not_allowed", "backslash"),
    ("git diff ../outside/secret file", "path_escape", ""),
    ("git diff -- ../outside/secret file", "path_escape", ""),
    ("git diff link file", "symlink_not_allowed", ""),
    ("git diff HEAD:link/hidden file", "symlink_not_allowed", ""),
]


def test_what_git_would_not_take_is_told(place: Place) -> None:
    place.write("both")
    (place.inside / "link").symlink_to(place.outside / "secret")
    place.commit()
    place.git("tag", "both")
    done = place.clada(*(body for body, _error, _words in REFUSED))
    assert done.errors == [error for _body, error, _words in REFUSED], done.text
    for (_body, _error, words), task in zip(REFUSED, done.tasks, strict=True):
        assert words in task["error"]["message"]
    assert SECRET not in done.text


@pytest.mark.parametrize("damage", ["no repository", "HEAD", "objects", "another's"])
def test_git_never_compares_as_if_there_were_no_repository(place: Place, damage: str) -> None:
    git = place.inside / ".git"
    if damage == "no repository":
        git.rename(place.top / "gone")
    elif damage == "HEAD":
        (git / "HEAD").write_text("nonsense\n")
    elif damage == "objects":
        (git / "objects").rename(git / "gone")
    else:
        (git / "config").write_text("[core]\nrepositoryformatversion = 99\n")
    place.write("third", "other\n")
    done = place.clada(
        *(f"git diff {words}" for words in ("file third", "-- file third", "--stat -- file sub/other"))
    )
    assert all(done.errors)
    assert "+other" not in done.text
