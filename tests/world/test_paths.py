"""Paths of documents: literal, normalised by their text, contained; the rows of the security page."""

from __future__ import annotations

import pytest

from clada.errors import CladaError
from clada.world.files.paths import is_protected, locate, locate_inside

ROOT = "/home/someone/project"

LITERAL = {
    "a.txt": ("a.txt",),
    "a/b/c.txt": ("a", "b", "c.txt"),
    "./a": ("a",),
    "a//b/./c": ("a", "b", "c"),
    "a/": ("a",),
    "a/../b": ("b",),
    "a/b/../../c": ("c",),
    "a/..": (),
    ".": (),
    "..foo": ("..foo",),
    "...": ("...",),
    "a..": ("a..",),
    "a/.. /b": ("a", ".. ", "b"),
    "~/a": ("~", "a"),
    "~root": ("~root",),
    "$HOME/a": ("$HOME", "a"),
    "${HOME}": ("${HOME}",),
    "%2e%2e/a": ("%2e%2e", "a"),
    "%2Fetc%2Fpasswd": ("%2Fetc%2Fpasswd",),
    "*.txt": ("*.txt",),
    "[a-z]?": ("[a-z]?",),
    "{a,b}": ("{a,b}",),
    "-rf": ("-rf",),
    "name.": ("name.",),
    "name ": ("name ",),
    " name": (" name",),
    "name. . ": ("name. . ",),
    " ": (" ",),
    "a\\b\\c": ("a", "b", "c"),
    "a\\..\\b": ("b",),
    "ab:c": ("ab:c",),
    "1:c": ("1:c",),
    "é:c": ("é:c",),
    "file:///etc/x": ("file:", "etc", "x"),
    "\u2025/x": ("\u2025", "x"),  # TWO DOT LEADER is no `..`
    "\uff0e\uff0e/x": ("\uff0e\uff0e", "x"),  # nor are full-width stops
    "\uff0fetc": ("\uff0fetc",),
    "a\tb": ("a\tb",),
    "CON": ("CON",),
    ".gitignore": (".gitignore",),
    ".github/x": (".github", "x"),
    ".gitmodules": (".gitmodules",),
    "git": ("git",),
    "a.git/x": ("a.git", "x"),
    ".clada-tmp": (".clada-tmp",),
    "/".join(["a"] * 500): ("a",) * 500,
}
ESCAPING = (
    "../x",
    "..",
    "a/../../x",
    "a/b/../../../x",
    "./../x",
    "..\\x",
    "a\\..\\..\\x",
    "/etc/x",
    "//etc/x",
    "/",
    "\\etc\\x",
    "\\\\server\\share\\x",
    "C:\\x",
    "C:/x",
    "c:x",
    "z:",
    "../project/x",  # out, though it would lead in again
    "../project-2/x",  # a sibling that shares the root's prefix
    f"{ROOT}-2/x",
    f"{ROOT}/x",
)
PROTECTED = (
    ".git/config",
    ".GIT/config",
    ".Git",
    "sub/.git/config",
    "a/b/.gIt/hooks/pre-commit",
    ".clada/allowed-commands.json",
    ".CLADA/config.toml",
    "sub/.clada/x",
    ".git\\config",
    "x/../.git/config",
    "./.git",
    ".git/",
    ".git./config",
    ".git /config",
    ".git. ./config",
    ".git::$INDEX_ALLOCATION/config",
    "GIT~1/config",
    ".clada./config.toml",
    "CLADA~1/config.toml",
    ".clada::$INDEX_ALLOCATION/config.toml",
    ".g\u200cit/config",
    "\u200d.git/config",
    ".git\ufeff/config",
    ".\u202agit/hooks/pre-commit",
    ".gi\u206ft. /config",
    "sub/.cl\u200eada/allowed-commands.json",
)


@pytest.mark.parametrize("path", LITERAL)
def test_paths_are_literal_but_for_slashes_and_dots(path: str) -> None:
    """No globs, no home, no variables, no percent signs: the file has the name that is written."""
    assert locate(path, ROOT) == LITERAL[path]


@pytest.mark.parametrize("path", ESCAPING)
def test_what_leads_out_is_refused(path: str) -> None:
    """By the text alone, before anything is looked at."""
    with pytest.raises(CladaError) as raised:
        locate(path, ROOT)
    assert raised.value.error.type == "path_escape"


@pytest.mark.parametrize("allow_escape", [False, True])
@pytest.mark.parametrize("path", PROTECTED)
def test_the_directories_of_git_and_clada_are_protected(path: str, allow_escape: bool) -> None:
    """At any depth, in any letter case, under any name that git takes for its own; always."""
    with pytest.raises(CladaError) as raised:
        locate(path, ROOT, allow_escape=allow_escape)
    assert raised.value.error.type == "permission_denied"
    assert "is protected" in raised.value.error.message


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("../x", ("/", "home", "someone", "x")),
        ("a/../../x", ("/", "home", "someone", "x")),
        ("../../../../../../x", ("/", "x")),
        ("/etc/x", ("/", "etc", "x")),
        ("/etc/../x", ("/", "x")),
        ("//etc//x", ("/", "etc", "x")),
        ("\\etc\\x", ("/", "etc", "x")),
        ("/", ("/",)),
        (f"{ROOT}-2/x", ("/", "home", "someone", "project-2", "x")),
        ("../project-2/x", ("/", "home", "someone", "project-2", "x")),
        ("../project/x", ("x",)),
        (f"{ROOT}/a/b", ("a", "b")),
        (ROOT, ()),
        ("/home/someone/else/../project/a", ("a",)),
        ("a/b", ("a", "b")),
    ],
)
def test_escaping_can_be_allowed(path: str, parts: tuple[str, ...]) -> None:
    """Then a path may lead anywhere, and what leads back into the workspace is inside again."""
    assert locate(path, ROOT, allow_escape=True) == parts


def test_protection_holds_outside_as_well() -> None:
    """An absolute path into another repository's git directory is refused even where escaping is allowed."""
    for path in ("/elsewhere/.git/config", "../.git/config", f"{ROOT}/.git/config"):
        with pytest.raises(CladaError) as raised:
            locate(path, ROOT, allow_escape=True)
        assert raised.value.error.type == "permission_denied"


def test_a_drive_letter_is_refused_even_where_escaping_is_allowed() -> None:
    """No drive exists here: it would become a directory called `C:`."""
    with pytest.raises(CladaError) as raised:
        locate("C:\\x", ROOT, allow_escape=True)
    assert raised.value.error.type == "path_escape"


def test_the_refusal_names_the_flag() -> None:
    """Whoever tries again learns how."""
    for path in ("/etc/x", "../x"):
        with pytest.raises(CladaError) as raised:
            locate(path, ROOT)
        assert "--allow-escape" in (raised.value.error.hint or "")


def test_a_path_is_relative_to_the_base() -> None:
    """A command that ran `cd sub` names its files from there; climbing out of the base is fine."""
    assert locate("x", ROOT, ("a", "b")) == ("a", "b", "x")
    assert locate("../x", ROOT, ("a", "b")) == ("a", "x")
    with pytest.raises(CladaError):
        locate("../../../x", ROOT, ("a", "b"))


@pytest.mark.parametrize("root", ["/", "/one"])
def test_the_root_of_the_system_can_be_the_workspace(root: str) -> None:
    """Then nothing is outside of it."""
    inside = locate("/one/two", root, allow_escape=True)
    assert inside == (("one", "two") if root == "/" else ("two",))


def test_an_absolute_path_inside_is_recognised() -> None:
    """The directory of a command may be given so; a neighbour with the same prefix is not inside."""
    assert locate_inside(f"{ROOT}/a", ROOT) == ("a",)
    assert locate_inside(ROOT, ROOT) == ()
    assert locate_inside(f"{ROOT}-2/a", ROOT) is None
    assert locate_inside(f"{ROOT}/../x", ROOT) is None
    assert locate_inside("a", ROOT) is None


def test_nul_is_refused_before_it_reaches_the_system() -> None:
    """The system would raise an error that is not about the file."""
    with pytest.raises(CladaError):
        locate("a\0b", ROOT)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x" * 256, "a name in it has 256 bytes, and at most 255 are allowed"),
        ("a/" + "é" * 128 + "/b", "a name in it has 256 bytes"),
        ("a\\" + "x" * 256, "a name in it has 256 bytes"),
        ("a/" * 2048 + "b", "the path has 4,097 bytes, and at most 4,096 are allowed"),
        ("../a/" * 1000, "the path has 5,000 bytes"),
        ("😀" * 63 + "/" + "a/" * 1922 + "b", "the path has 4,098 bytes"),
    ],
)
def test_what_no_file_system_takes_is_refused_by_its_length(path: str, said: str) -> None:
    """In bytes, and before any of its components costs a look."""
    with pytest.raises(CladaError) as raised:
        locate(path, ROOT)
    assert raised.value.error.type == "io_error"
    assert raised.value.error.message.startswith(f"file name too long: {said}")


@pytest.mark.parametrize("path", ["x" * 255, "é" * 127, "a/" * 2047 + "bc", "😀" * 63])
def test_the_longest_paths_are_fine(path: str) -> None:
    """Up to 255 bytes a component, and 4,096 altogether."""
    assert "/".join(locate(path, ROOT)) == path


def test_a_path_is_as_long_as_the_way_to_it() -> None:
    """Or a run of `cd` would lead deeper than any path."""
    base = ("x" * 255,) * 15
    assert len(locate("y" * 255, ROOT, base)) == 16
    with pytest.raises(CladaError):
        locate("y" * 255 + "/z", ROOT, base)


@pytest.mark.parametrize("name", ["git", "gitx", ".gitx", ".git-2", "git~2", ".clad", "clada", "", "."])
def test_other_names_are_not_protected(name: str) -> None:
    """Only git's and clada's own are."""
    assert not is_protected(name)
