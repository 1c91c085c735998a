"""A body is split into commands and words as bash splits it; what bash would act on is refused by name."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clada.commands.words import SHELL_HINT, Refusal, SimpleCommand, read

if TYPE_CHECKING:
    from pathlib import Path


def words_of(body: str) -> list[tuple[str, ...]]:
    """Return the words of each command of a body that is accepted."""
    commands = read(body)
    assert not isinstance(commands, Refusal), commands
    return [command.words for command in commands]


ACCEPTED: list[tuple[str, list[tuple[str, ...]]]] = [
    ("", []),
    ("  \t\n\n", []),
    ("# only a comment", []),
    ("ls -la", [("ls", "-la")]),
    ("ls 2>&1", [("ls",)]),
    ("ls\t2>&1 ", [("ls",)]),
    ("ls a 2>&1 && pwd 2>&1\nls b 2>&1 # c", [("ls", "a"), ("pwd",), ("ls", "b")]),
    ("ls 2>&1&&pwd", [("ls",), ("pwd",)]),
    ("ls '2>&1' 2\\>\\&1 2", [("ls", "2>&1", "2>&1", "2")]),
    ("  ls\t-la  ", [("ls", "-la")]),
    ("echo 'a b' \"c d\" e\\ f", [("echo", "a b", "c d", "e f")]),
    ("echo a'b'\"c\"\\d", [("echo", "abcd")]),
    ("echo '' \"\"", [("echo", "", "")]),
    ("echo 'a\nb' \"c\nd\"", [("echo", "a\nb", "c\nd")]),
    ('echo "a\\"b\\\\c\\$d\\`e\\f"', [("echo", 'a"b\\c$d`e\\f')]),
    ('echo "a\\\nb"', [("echo", "ab")]),
    ("echo 'a\\\nb'", [("echo", "a\\\nb")]),
    ("echo \\$HOME \\* \\~ \\| \\;", [("echo", "$HOME", "*", "~", "|", ";")]),
    ("npm \\\n  install\\\n  x", [("npm", "install", "x")]),
    ("np\\\nm test", [("npm", "test")]),
    ("a && b && c", [("a",), ("b",), ("c",)]),
    ("a&&b", [("a",), ("b",)]),
    ("a &&\n\n  # why\n b", [("a",), ("b",)]),
    ("a\nb\r"[:-1], [("a",), ("b",)]),
    ("a # comment && b\nc", [("a",), ("c",)]),
    ("a # comment \\\nc", [("a",), ("c",)]),
    ("a &&# comment\nc", [("a",), ("c",)]),
    ("a \\\n#comment", [("a",)]),
    ("a b#c '#d' \\#e", [("a", "b#c", "#d", "#e")]),
    ("git diff HEAD~1 HEAD^ stash@{0}", [("git", "diff", "HEAD~1", "HEAD^", "stash@{0}")]),
    ("git log HEAD@{2}..HEAD@{1}", [("git", "log", "HEAD@{2}..HEAD@{1}")]),
    ("find . -name x ! -type d", [("find", ".", "-name", "x", "!", "-type", "d")]),
    (
        "x {} {},{} {a} {a {a,b a,b} {1..x} }{",
        [("x", "{}", "{},{}", "{a}", "{a", "{a,b", "a,b}", "{1..x}", "}{")],
    ),
    ("x '{a,b}' {a\\,b} {a','b}", [("x", "{a,b}", "{a,b}", "{a,b}")]),
    ("x ] ]] ^ % @ + , : = - _ .", [("x", "]", "]]", "^", "%", "@", "+", ",", ":", "=", "-", "_", ".")]),
    ("make a=b --x=~ 1a=~ a=x=~", [("make", "a=b", "--x=~", "1a=~", "a=x=~")]),
    ('x ""~ a~ a:~', [("x", "~", "a~", "a:~")]),
    ("x if then ! { } time", [("x", "if", "then", "!", "{", "}", "time")]),
    ("'if' x", [("if", "x")]),
    ("\\time x", [("time", "x")]),
    ("'A'=b x", [("A=b", "x")]),
    ("!x y", [("!x", "y")]),
    ("echo '|;&><$`()*?[~{a,b}!'", [("echo", "|;&><$`()*?[~{a,b}!")]),
    ('echo "|;&><()*?[~{a,b}!#"', [("echo", "|;&><()*?[~{a,b}!#")]),
    ("echo é 日本 \u00a0 \u202e", [("echo", "é", "日本", "\u00a0", "\u202e")]),
    ("echo '\r'", [("echo", "\r")]),
]


def test_what_a_shell_leaves_alone_is_plain() -> None:
    """Quotes and escapes are read as a shell reads them."""
    for body, words in ACCEPTED:
        assert words_of(body) == words, body


REFUSED = [
    ("a | b", "|"),
    ("a|b", "|"),
    ("a |& b", "|&"),
    ("a || b", "||"),
    ("a; b", ";"),
    ("a;", ";"),
    ("a & b", "&"),
    ("a &", "&"),
    ("a&b", "&"),
    ("a > b", ">"),
    ("a >> b", ">>"),
    ("a 2>&1 b", ">&"),
    ("a2>&1", ">&"),
    ("a 2>&1; b", ">&"),
    ("a 1>&2", ">&"),
    ("a >&2", ">&"),
    ("a 2>/dev/null", ">/dev/null"),
    ("a > /dev/null", "> /dev/null"),
    ("a 2> b", ">"),
    ("a |", "|"),
    ("| a", "|"),
    ("a | | b", "|"),
    ("a | && b", "&&"),
    ("a && | b", "|"),
    ("a |\n", "|"),
    ("a | # b", "|"),
    ("a &> b", "&>"),
    ("a < b", "<"),
    ("cat <<EOF\nx\nEOF", "<<"),
    ("cat <<< x", "<<<"),
    ("diff <(a) b", "<("),
    ("tee >(a)", ">("),
    ("echo $HOME", "$"),
    ("echo ${HOME}", "$"),
    ("echo a$b", "$"),
    ("echo $", "$"),
    ("echo $'a'", "$"),
    ("echo $(a)", "$("),
    ("echo $((1))", "$("),
    ("echo `a`", "`"),
    ('echo "$HOME"', "$"),
    ('echo "a`b`"', "`"),
    ("(a)", "("),
    ("f() { a; }", "("),
    ("a )", ")"),
    ("find . \\( -name a )", ")"),
    ("ls *", "*"),
    ("ls a*b", "*"),
    ("ls a?b", "?"),
    ("ls [ab]", "["),
    ("[ -f a ]", "["),
    ("[[ -f a ]]", "["),
    ("ls ~", "~"),
    ("ls ~/a", "~"),
    ("ls ~root", "~"),
    ("make a=~/x", "~"),
    ("make a+=~", "~"),
    ("make a=b:~/x", "~"),
    ("make a='b':~", "~"),
    ("ls {a,b}", "{…}"),
    ("ls x{a,b}y", "{…}"),
    ("ls {,}", "{…}"),
    ("ls {a},b}", "{…}"),
    ("ls {{a,b}", "{…}"),
    ("ls {a,{b}}", "{…}"),
    ('ls {"a",b}', "{…}"),
    ("ls {1..3}", "{…}"),
    ("ls {-1..+3..2}", "{…}"),
    ("ls {a..c}", "{…}"),
    ("ls {{1..3}}", "{…}"),
    ("ls {a..'b,c'}", "{…}"),
    ("ls a={1,2}", "{…}"),
    ("! a", "!"),
    ("a && ! b", "!"),
    ("if a", "if"),
    ("while a", "while"),
    ("for a in b", "for"),
    ("case a", "case"),
    ("time a", "time"),
    ("function a", "function"),
    ("coproc a", "coproc"),
    ("select a", "select"),
    ("{ a", "{"),
    ("}", "}"),
    ("then", "then"),
    ("in", "in"),
    ("]]", "]]"),
    ("i\\\nf a", "if"),
    ("A=b", "A="),
    ("A=b c", "A="),
    ("A+=b c", "A="),
    ("_a1= c", "_a1="),
    ("x && A='b' c", "A="),
    ("a &&", "&&"),
    ("a && \n\n", "&&"),
    ("a && # b", "&&"),
    ("&& a", "&&"),
    ("a\n&& b", "&&"),
    ("a && && b", "&&"),
    ("a 'b", "'"),
    ('a "b', '"'),
    ('a "b\\"', '"'),
    ("a \\", "\\"),
    ("a \0 b", "NUL"),
    ("a '\0'", "NUL"),
    ("a \ud800", "NUL"),
    ("a\r\nb", "carriage return"),
    ("a &&\nb | c", "|"),
]


def test_what_a_shell_would_act_on_is_refused_by_name() -> None:
    """With what to use instead."""
    for body, construct in REFUSED:
        refusal = read(body)
        assert isinstance(refusal, Refusal), body
        assert refusal.construct == construct, body
        assert construct in refusal.message, body
        assert len(refusal.message.partition(": ")[2]) > len("None"), f"{body}: says what to use instead"


@pytest.mark.parametrize("char", "$`")
def test_a_refusal_says_that_double_quotes_do_not_help(char: str) -> None:
    """For in them a shell acts on it all the same."""
    refusal = read(f'echo "a{char}b"')
    assert isinstance(refusal, Refusal)
    assert f"`{char}` inside double quotes is not available: nothing is substituted" in refusal.message


def test_a_refusal_says_whether_bash_could_run_it() -> None:
    """So that --shell=approved is offered only where it helps."""
    for body, shell in [("a | b", True), ("a $b", True), ("a 'b", False), ("a &&", False), ("a \0", False)]:
        refusal = read(body)
        assert isinstance(refusal, Refusal)
        assert refusal.shell is shell
    assert "--shell=approved" in SHELL_HINT


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        ("  npm test  ", ["npm test"]),
        ("npm  test", ["npm  test"]),
        ("npm test # all of them", ["npm test"]),
        ("# first\nnpm 'a b' && make  x&&\ty ", ["npm 'a b'", "make  x", "y"]),
        ("npm \\\n  test \\\n", ["npm \\\n  test"]),
        ("echo 'a # b' \\#", ["echo 'a # b' \\#"]),
    ],
)
def test_the_text_of_a_command_is_its_source_from_first_word_to_last(body: str, texts: list[str]) -> None:
    """It is what approvals are matched on."""
    commands = read(body)
    assert isinstance(commands, tuple)
    assert [command.text for command in commands] == texts


def test_reading_the_text_of_a_command_gives_the_same_command() -> None:
    """An approval of the text means the same words wherever the text stands."""
    for body, _words in ACCEPTED:
        commands = read(body)
        assert isinstance(commands, tuple)
        for command in commands:
            assert read(command.text) == (command,)


def test_an_argument_of_200_kb_is_read() -> None:
    """Bare, and in either quotes."""
    long = "x" * 200_000
    assert words_of(f"echo {long} '{long}' \"{long}\"") == [("echo", long, long, long)]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "unit", ["{", "}", "{a,", "{1..x}", "a ", "'a'", '"\\a"', "\\\n", "a\n", "# a\n", "a=", "~"]
)
def test_time_grows_linearly(unit: str) -> None:
    """Eight times the text takes about eight times as long; a quadratic reader would take sixty-four."""

    def seconds(times: int) -> float:
        body = "x " + unit * times
        start = time.process_time()
        read(body)
        return time.process_time() - start

    least = min(seconds(5_000) for _ in range(5))
    assert any(seconds(40_000) < 24 * least + 0.01 for _ in range(5))


# The comparison with bash. Every builtin that could act is switched off and no program can be found, so each
# command ends in the handler, which prints the words it was given: a record per command, a group per body.
ORACLE = r"""
command_not_found_handle() { printf '%s\0' "$#" "$@"; }
enable -n $(compgen -b | while read -r name; do
    case $name in printf|read|eval|enable) ;; *) printf '%s\n' "$name" ;; esac; done)
PATH=/nowhere
while IFS= read -r -d '' body; do
    printf 'body\0'
    eval -- "$body" </dev/null
done
"""


def words_in_bash(bodies: list[str], directory: Path) -> list[list[tuple[str, ...]]]:
    """Return, for each body, the words of each command that bash itself would have started."""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-c", ORACLE],
        input="".join(f"{body}\0" for body in bodies).encode(),
        capture_output=True,
        cwd=directory,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nowhere"},
        timeout=90,
        check=False,
    )
    assert done.stderr == b"", done.stderr.decode()
    fields = iter(done.stdout.decode().split("\0")[:-1])
    found: list[list[tuple[str, ...]]] = []
    for field in fields:
        if field == "body":
            found.append([])
        else:
            found[-1].append(tuple(next(fields) for _ in range(int(field))))
    return found


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One directory without files and one full of them: a pattern that slips through would match."""
    empty, full = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("full")
    for name in ["a", "b", "c", "ab", "ba", "-x", "1", "a b", "{", "}", ",", "=", "~", "#", "é"]:
        (full / name).touch()
    return empty, full


def check_against_bash(bodies: list[str], directories: tuple[Path, Path]) -> int:
    """Compare the accepted ones of these bodies, and return their number."""
    accepted = [(body, read(body)) for body in bodies]
    pairs = [(body, commands) for body, commands in accepted if isinstance(commands, tuple)]
    expected = [[command.words for command in commands] for _body, commands in pairs]
    for directory in directories:
        before = sorted(os.listdir(directory))
        assert words_in_bash([body for body, _commands in pairs], directory) == expected
        assert sorted(os.listdir(directory)) == before
    return len(pairs)


def test_the_accepted_rows_are_what_bash_makes_of_them(directories: tuple[Path, Path]) -> None:
    """The table above is not our opinion."""
    assert check_against_bash([body for body, _words in ACCEPTED], directories) == len(ACCEPTED)


def test_the_oracle_notices_what_bash_acts_on(directories: tuple[Path, Path]) -> None:
    """The comparison can fail: bash expands, and the handler shows it."""
    _empty, full = directories
    assert words_in_bash(["x {a,b} ?b ~"], full) == [[("x", "a", "b", "ab", "/nowhere")]]


# Pieces that meet in interesting ways; the plain letters come twice so that words get longer.
PIECES = st.sampled_from(
    [
        *"aabb1  \t\n'\"\\#&=~{},.:!-+@^%/_[]é\r\x01\x7f",
        *"&& .. '' \"\" {a,b} {1..3} {} a= a=~ if time $ | *".split(),
        *["\\\n", " && ", "'a b'", "'a,b'", '"a b"', "\\ ", "\\'", '\\"', " ~", " # "],
    ]
)
BODIES = st.lists(PIECES, max_size=14).map("".join)


def runnable(body: str) -> bool:
    """Whether bash hands each command to the handler: not those with a slash, nor jobs (`%1`)."""
    commands = read(body)
    return isinstance(commands, tuple) and not any(
        "/" in command.words[0] or command.words[0].startswith("%") for command in commands
    )


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(BODIES, min_size=60, max_size=60))
def test_accepted_bodies_have_the_words_that_bash_gives_them(
    directories: tuple[Path, Path], bodies: list[str]
) -> None:
    """Thousands of bodies, many to one process, with and without files to match."""
    both = [*bodies, *(f"x {body}" for body in bodies)]
    check_against_bash([body for body in both if runnable(body)], directories)


@settings(max_examples=75, deadline=None)
@given(
    st.lists(st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8")), min_size=1, max_size=5)
)
def test_any_words_survive_quoting(words: list[str]) -> None:
    """In single quotes, every text is plain."""
    body = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    assert read(body) == (SimpleCommand(tuple(words), body),)


@settings(max_examples=125, deadline=None)
@given(st.text())
def test_reading_never_raises(body: str) -> None:
    """Whatever the text is."""
    assert isinstance(read(body), tuple | Refusal)
