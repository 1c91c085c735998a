"""Values and operands are what the table says, or the command does not run without asking."""

from __future__ import annotations

import pytest

from clada.commands.kinds import paths_of
from clada.commands.policy import Allowed, BuiltIn, NeedsApproval, Refused, judge

FITS = (
    ("NUMBER", "5 0 12 5K 5kB 1KiB 3MB 2b"),
    ("SIGNED", "5 +5 -5 +5K"),
    ("OFFSET", "0 0x1F 10 +10 -10 0xff"),
    ("STASH", "0 12 stash@{3}"),
    ("ATTRIBUTES", "mode mode,timestamps all"),
    ("FORMAT", "oneline raw %h format:%h tformat:%h format:x tformat:x %h%n"),
    ("FIELDS", "%(refname) refname"),
)
DOES_NOT = (
    ("NUMBER", "-5 +5 5X X5 5KK 5i five 1.5 ٣ K"),
    ("SIGNED", "++5 +-5 + 5X X5"),
    ("OFFSET", "x1 X5 5g X +x"),
    ("STASH", "x stash@{x} stash@{-1}"),
    ("ATTRIBUTES", "mode,other context"),
    ("FORMAT", "mine FORMAT:x TFORMAT:x %G %GG format:%+GG %-G? Oneline"),
    ("FIELDS", "%(signature) %(SIGNATURE:key)"),
)


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in FITS for value in values.split()]
)
def test_a_value_of_its_kind_passes_and_names_no_file(kind: str, value: str) -> None:
    """It is passed on as it is."""
    assert paths_of(kind, value) == ()


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in DOES_NOT for value in (*values.split(), "")]
)
def test_what_is_no_value_of_its_kind_does_not_pass(kind: str, value: str) -> None:
    """An empty one is none either, but as the pretty format that git has by itself."""
    assert paths_of(kind, value) == (() if kind in ("FORMAT", "FIELDS") and not value else None)


@pytest.mark.parametrize(
    ("kind", "value", "paths"),
    [
        ("PATH", "a/b", ("a/b",)),
        ("PATH", "a/b//", ("a/b",)),
        ("PATH", "/", ("/",)),
        ("PATHSPEC", "a", ("a",)),
        ("PATHSPEC", ":!a", None),
        ("PATHSPEC", ":^a", None),
        ("PATHSPEC", ":/a", None),
        ("PATHSPEC", ":(top)a", None),
        ("REVISION", "HEAD~1", ("HEAD~1",)),
        ("REVISION", "HEAD:a", ("a",)),
        ("REVISION", "HEAD:1a", ("1a",)),
        ("REVISION", "HEAD:1:a", ("1:a",)),
        ("REVISION", ":a", ("a",)),
        ("REVISION", ":0:a", ("a",)),
        ("REVISION", ":x:a", ("x:a",)),
        ("REVISION", "HEAD:", ()),
        ("REVISION", "HEAD@{1:2}:a/", ("a",)),
        ("REVISION", "HEAD^{/a:b}", ("HEAD^{/a:b}",)),
        ("REVISION", ":/message", None),
        ("REVISION", ":(top)a", None),
        ("REVISION", ":!a", None),
        ("RANGE", "1,5:a", ("a",)),
        ("RANGE", ":name:a", ("a",)),
        ("RANGE", "1,5:", None),
        ("RANGE", "1,5:a:b", None),
        ("RANGE", ":name", None),
    ],
)
def test_the_paths_in_a_value_are_found(kind: str, value: str, paths: tuple[str, ...] | None) -> None:
    """So that they can be checked; where they might lead elsewhere, the value does not pass."""
    assert paths_of(kind, value) == paths


@pytest.mark.parametrize(
    ("words", "argv"),
    [
        ("xxd -l4 -c8 f", "xxd -l4 -c8 f"),
        ("xxd -l 4 -- f", "xxd -l 4 -- f"),
        ("xxd -s10 -l 0x10 f", "xxd -s10 -l 0x10 f"),
        ("head -5 f", "head -n 5 -- f"),
        ("tail +5 f", "tail -n +5 -- f"),
    ],
)
def test_options_with_their_values_are_passed_on(words: str, argv: str) -> None:
    """All of them, in order."""
    judgement = judge(words.split())
    assert isinstance(judgement, Allowed), judgement
    assert (" ".join(judgement.argv), judgement.paths) == (argv, ("f",))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("xxd -z f", "`-z` is not among the arguments of xxd that run without asking"),
        ("xxd -lx f", "`-lx` is not among the arguments of xxd"),
        ("xxd -s5 -r f", "`-r` is not among the arguments of xxd"),
        ("chmod -R +x f", "`-R` is not among the arguments of chmod"),
        ("chmod +x -v f", "`-v` is not among the arguments of chmod"),
        ("chmod +x -", "`-` stands for standard input, which is empty"),
        ("head -c f", "`-c f` is not among the arguments of head"),
        ("tail -n 5x f", "`-n 5x` is not among the arguments of tail"),
        ("ls -lL", "`-L` in `-lL` is not among the arguments of ls"),
    ],
)
def test_what_is_not_in_the_table_is_named(words: str, told: str) -> None:
    """With the program, so that somebody can decide about it."""
    judgement = judge(words.split())
    assert isinstance(judgement, NeedsApproval), judgement
    assert judgement.reason.startswith(told)


def test_an_option_without_its_value_cannot_work() -> None:
    """It is named with its program."""
    assert judge(["xxd", "-l"]) == Refused("command_not_allowed", "xxd: `-l` needs a value after it")


@pytest.mark.parametrize("words", ["cd", "cd a b", "cd -P a", "cd -"])
def test_cd_takes_one_directory(words: str) -> None:
    """And nothing else."""
    assert judge(words.split()) == Refused("command_not_allowed", "cd takes one directory, and no options")


def test_cd_after_dashes_takes_any_name() -> None:
    """Also one that looks like an option."""
    assert judge(["cd", "--", "-P"]) == BuiltIn("cd", {}, ("-P",), ("-P",))
