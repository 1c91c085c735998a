"""What runs without asking is what the table has, letter by letter; everything else needs approval."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.commands.examples import EXAMPLES

import clada
from clada.commands.policy import Allowed, BuiltIn, NeedsApproval, Refused, judge
from clada.commands.programs import ALLOWED, BUILT_IN
from clada.commands.words import read

ROWS = {**BUILT_IN, **ALLOWED}
RUNS = Allowed | BuiltIn


def words_of(line: str) -> tuple[str, ...]:
    """Return the words of the one command in a line."""
    commands = read(line)
    assert isinstance(commands, tuple), commands
    (command,) = commands
    return command.words


def lines(text: str) -> list[str]:
    """Return a row's examples."""
    return [line.strip() for line in text.splitlines() if line.strip()]


PASSES = [(name, line) for name, row in EXAMPLES.items() for line in lines(row.passes)]
REFUSES = [(name, line) for name, row in EXAMPLES.items() for line in lines(row.refuses)]


def test_the_table_has_all_commands_of_the_specification_with_examples() -> None:
    """No more, no fewer."""
    assert set(BUILT_IN) == set("cd mv rm cp mkdir touch chmod pwd echo true false".split())
    programs = {name.split()[0] for name in ALLOWED}
    assert programs == set(
        "cat head tail grep find ls tree wc diff file stat realpath xxd dirname git".split()
    )
    subcommands = {name.split()[1] for name in ALLOWED if " " in name}
    assert subcommands == set("status diff log show branch stash ls-files".split())
    assert list(EXAMPLES) == list(ROWS)
    assert len(PASSES) > 150
    assert len(REFUSES) > 400


def test_the_examples_that_must_pass_do() -> None:
    """They are built in, or real programs."""
    for name, line in PASSES:
        judgement = judge(words_of(line))
        assert isinstance(judgement, RUNS), (line, judgement)
        assert isinstance(judgement, BuiltIn if name in BUILT_IN else Allowed), line


def test_the_examples_that_must_not_pass_say_why() -> None:
    """They need approval; cd alone cannot be approved."""
    for name, line in REFUSES:
        judgement = judge(words_of(line))
        if name == "cd" or isinstance(judgement, Refused):
            assert isinstance(judgement, Refused), line
            assert judgement.type == "command_not_allowed", line
        else:
            assert isinstance(judgement, NeedsApproval), (line, judgement)
            why = "" if judgement.is_unlisted else f": {judgement.reason}"
            assert judgement.message == f"needs approval{why}", line


# Every option that the security rules refuse: its short and long names, `=` where it takes a value, before it
# a flag of the same program to bundle it with. The test makes all spellings of each.
HISTORY = "--output=; --no-index; -O; --ext-diff; --textconv; --submodule=; --stdin; --show-signature"
REFUSED_OPTIONS = {
    "mv -f": "-t --target-directory=; -b; --backup=; -S --suffix=; -i --interactive; -Z --context",
    "rm -f": "-i; -I; --interactive=; --no-preserve-root",
    "cp -f": """
        -L --dereference; -H; -s --symbolic-link; -l --link; --parents; -t --target-directory=; -b; --backup=
        -S --suffix=; -i --interactive; -Z --context=; --attributes-only; --copy-contents
    """,
    "mkdir -p": "-Z --context=",
    "touch -a": "-r --reference=",
    "chmod -x": "-R --recursive",
    "tail -q": "-f --follow=; -F; --retry; --pid=; -s --sleep-interval=; --max-unchanged-stats=",
    "grep -n": """
        -f --file=; --exclude-from=; -R --dereference-recursive; -D --devices=; -d --directories=; --label=
    """,
    "find -P": """
        -exec; -execdir; -ok; -okdir; -delete; -fprint; -fprint0; -fprintf; -fls; -files0-from; -L; -H
        -follow; -D
    """,
    "ls -l": """
        -L --dereference; -H --dereference-command-line; --dereference-command-line-symlink-to-dir
        --hyperlink=; -D --dired; -N --literal; --show-control-chars; -Z --context
    """,
    "tree -a": "-o; -l; -R; -H; -T; --fromfile; --info; --infofile=; --gitfile=; -N; -C",
    "wc -l": "--files0-from=",
    "diff -u": """
        -l --paginate; --from-file=; --to-file=; -X --exclude-from=; -S --starting-file=; -D --ifdef=
        --line-format=; --old-line-format=; --new-line-format=; --unchanged-line-format=; --old-group-format=
        --new-group-format=; --changed-group-format=; --unchanged-group-format=; --palette=
    """,
    "file -b": """
        -C --compile; -m --magic-file=; -f --files-from=; -z --uncompress; -Z --uncompress-noreport
        -s --special-files; -L --dereference; -p --preserve-date; -P --parameter=; -S --no-sandbox; -r --raw
        -d --debug; -c --checking-printout; -l --list
    """,
    "stat -t": "-L --dereference",
    "xxd -p": "-r --r; -revert --revert",
    "git status -s": "--ignore-submodules=",
    "git diff -w": HISTORY,
    "git log -w": HISTORY,
    "git show -w": HISTORY,
    "git branch -v": """
        -d --delete; -D; -m --move; -M; -c --copy; -C; -f --force; -u --set-upstream-to=; -t --track=
        --edit-description
    """,
    "git stash push -q": "-p --patch",
    "git ls-files -c": """
        -X --exclude-from=; --exclude-per-directory=; --recurse-submodules; --with-tree=
    """,
}


def spellings(command: str, option: str) -> list[list[str]]:
    """Return the option in its short, bundled, long, abbreviated and `=` forms, before and after operands."""
    *program, flag = command.split()
    forms: list[list[str]] = []
    for name in option.split():
        bare = name.rstrip("=")
        forms += [[bare], [bare, "x"]]
        if not bare.startswith("--"):
            forms += [[bare + "x"], [flag + bare[1:]], [flag + bare[1:], "x"]]
        else:
            forms += [[bare + "=x"], [bare + "="], [bare[:-1]], [bare[:-1] + "=x"], [bare[:-2]], [bare + "x"]]
    known = ROWS[" ".join(program)].options.split()
    usable = [form for form in forms if form[0] not in known]
    return [
        [*program, *words]
        for form in usable
        for words in ([*form, "a", "b"], ["a", *form], [flag, "a", *form])
    ]


SPELLINGS = [
    words
    for command, options in REFUSED_OPTIONS.items()
    for option in options.replace("\n", ";").split(";")
    if option.strip()
    for words in spellings(command, option)
]


def test_every_spelling_of_every_refused_option_is_refused() -> None:
    """Short, bundled, long, abbreviated, with `=`, before and after operands."""
    assert len(SPELLINGS) > 1500
    passed = [words for words in SPELLINGS if isinstance(judge(words), RUNS)]
    assert passed == []


def test_no_option_may_be_abbreviated() -> None:
    """GNU tools and git take any unambiguous beginning of a long name; the table does not."""
    tried = 0
    for name, row in ROWS.items():
        known = set(row.options.replace(";", " ").split())
        for long in (word for word in known if word.startswith("--")):
            for end in range(3, len(long)):
                if long[:end] not in known:
                    tried += 1
                    for word in (long[:end], long[:end] + "=x", long + "x"):
                        assert not isinstance(judge([*name.split(), word, "a"]), RUNS), (name, word)
    assert tried > 1000


GREP_ALWAYS = (
    "--devices=skip",
    "--exclude=.[gG][iI][tT]",
    "--exclude=.[cC][lL][aA][dD][aA]",
    "--exclude-dir=.[gG][iI][tT]",
    "--exclude-dir=.[cC][lL][aA][dD][aA]",
)
DIFF_ALWAYS = ("--no-dereference", "--exclude=.[gG][iI][tT]", "--exclude=.[cC][lL][aA][dD][aA]")
ARGV = [
    ("cat a -n", ("cat", "-n", "--", "a")),
    ("grep a b -i", ("grep", "-i", *GREP_ALWAYS, "--", "a", "b")),
    ("diff -u a b", ("diff", "-u", *DIFF_ALWAYS, "--", "a", "b")),
    ("head -5 a", ("head", "-n", "5", "--", "a")),
    ("tail +5 a", ("tail", "-n", "+5", "--", "a")),
    ("tail a +5", ("tail", "--", "a", "+5")),
    ("ls", ("ls",)),
    ("grep -A 3 -nB2 x -- -y", ("grep", "-A", "3", "-nB2", *GREP_ALWAYS, "--", "x", "-y")),
    ("grep -rnA 3 x", ("grep", "-rnA", "3", *GREP_ALWAYS, "--", "x")),
    ("find . -name '*.py'", ("find", ".", "-name", "*.py")),
    ("git --no-pager log -5", ("git", "log", "-n", "5")),
    ("git diff HEAD -- a", ("git", "diff", "HEAD", "--", "a")),
    ("git stash", ("git", "stash", "push")),
    ("git stash -m x", ("git", "stash", "push", "-m", "x")),
    ("git stash list", ("git", "stash", "list")),
]


@pytest.mark.parametrize(("line", "argv"), ARGV)
def test_what_is_started_has_the_injected_options_and_operands_behind_dashes(
    line: str, argv: tuple[str, ...]
) -> None:
    """So that no operand can be taken for an option."""
    judgement = judge(words_of(line))
    assert isinstance(judgement, Allowed)
    assert judgement.program == argv[0]
    assert judgement.words == argv


PATHS = [
    ("cat a ../b /etc/passwd", ("a", "../b", "/etc/passwd")),
    ("ls -R dir/ dir// /", ("dir", "dir", "/")),
    ("grep a b c", ("b", "c")),
    ("grep -e a b c", ("b", "c")),
    ("grep --regexp=a b", ("b",)),
    ("find a b -newer c -name d", ("a", "b", "c")),
    ("find . -newermm ../x -newermt now", (".", "../x")),
    ("realpath --relative-to=x/ --relative-base y a", ("x", "y", "a")),
    ("xxd -s 4 a", ("a",)),
    ("tree -L 2 src -I x", ("src",)),
    ("dirname /etc/passwd", ()),
    ("stat -c %n a", ("a",)),
    ("tail a +5", ("a", "+5")),
    ("git diff HEAD~1 -- a ../b", ("HEAD~1", "a", "../b")),
    ("git diff /etc/passwd ../x", ("/etc/passwd", "../x")),
    ("git show HEAD:../x", ("../x",)),
    ("git show HEAD:/etc/passwd", ("/etc/passwd",)),
    ("git show :a/b", ("a/b",)),
    ("git show :0:a/b", ("a/b",)),
    ("git show HEAD:", ()),
    ("git log 'HEAD@{2024-01-01 10:00}'", ("HEAD@{2024-01-01 10:00}",)),
    ("git log 'HEAD@{1 day ago, 10:00}:../x'", ("../x",)),
    ("git log -L1,5:../x", ("../x",)),
    ("git log -L :main:../x", ("../x",)),
    ("git status ../x", ("../x",)),
    ("git ls-files -- ../x", ("../x",)),
    ("git branch --contains HEAD", ()),
]


@pytest.mark.parametrize(("line", "paths"), PATHS)
def test_every_operand_and_value_that_may_name_a_file_is_to_be_checked(
    line: str, paths: tuple[str, ...]
) -> None:
    """Without trailing slashes."""
    judgement = judge(words_of(line))
    assert isinstance(judgement, Allowed)
    assert judgement.paths == paths


BUILT_INS = [
    ("mv -v a b", {"v": True}, ("a", "b")),
    ("mv -f -n a b", {"n": True}, ("a", "b")),
    ("mv -nf a b", {"f": True}, ("a", "b")),
    ("rm -R --force a", {"r": True, "f": True}, ("a",)),
    ("rm -- -rf", {}, ("-rf",)),
    ("cp --archive a b", {"a": True}, ("a", "b")),
    ("cp --preserve=mode,links -T a b", {"preserve": "mode,links", "T": True}, ("a", "b")),
    ("cp --preserve a b", {"preserve": True}, ("a", "b")),
    ("mkdir -pm700 a", {"p": True, "m": "700"}, ("a",)),
    ("mkdir --mode u=rwx a", {"m": "u=rwx"}, ("a",)),
    ("touch -d 'now' -c a", {"d": "now", "c": True}, ("a",)),
    ("chmod -x a", {}, ("-x", "a")),
    ("chmod 0755 a b", {}, ("0755", "a", "b")),
    ("echo -n a  'b  c' -n", {"n": True}, ("a", "b  c", "-n")),
    ("echo - --", {}, ("-", "--")),
    ("pwd --physical", {"P": True}, ()),
    ("true -x", {}, ("-x",)),
    ("cd -- -x", {}, ("-x",)),
]


@pytest.mark.parametrize(("line", "options", "operands"), BUILT_INS)
def test_built_in_commands_get_their_options_by_letter(
    line: str, options: dict[str, str | bool], operands: tuple[str, ...]
) -> None:
    """Whatever name they were given under; the last of rivals wins."""
    judgement = judge(words_of(line))
    assert isinstance(judgement, BuiltIn)
    assert judgement.replace(paths=()) == BuiltIn(line.split(maxsplit=1)[0], options, operands)


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("mv -v a ../b", ("a", "../b")),
        ("rm -rf a/", ("a/",)),
        ("chmod 755 a b", ("a", "b")),
        ("chmod -- -x a", ("a",)),
        ("mkdir -m 755 a", ("a",)),
        ("touch -d now ''", ("",)),
        ("cd ..", ("..",)),
        ("echo ../x /etc", ()),
        ("pwd x", ()),
        ("true ../x", ()),
    ],
)
def test_the_operands_of_built_in_commands_that_name_files_are_known(
    line: str, paths: tuple[str, ...]
) -> None:
    """As they are written."""
    judgement = judge(words_of(line))
    assert isinstance(judgement, BuiltIn)
    assert judgement.paths == paths


@pytest.mark.parametrize("mode", ["4755", "2755", "1777", "u+s", "g=s", "+t", "bad", "888", ""])
def test_built_in_commands_are_never_given_a_special_mode_or_none(mode: str) -> None:
    """They do not look again."""
    for words in (["chmod", mode, "a"], ["mkdir", "-m", mode, "a"], ["mkdir", "-m", mode, "-m", "755", "a"]):
        assert not isinstance(judge(words), RUNS)


@pytest.mark.parametrize("kept", ["context", "mode,context", "mode,", "", "nonsense", "all,nonsense"])
def test_cp_is_never_asked_to_keep_what_it_does_not_know(kept: str) -> None:
    """It does not look again either."""
    assert not isinstance(judge(["cp", f"--preserve={kept}", "a", "b"]), RUNS)


@pytest.mark.parametrize(
    ("line", "type_", "part"),
    [
        ("''", "command_not_allowed", "blank"),
        ("cd", "command_not_allowed", "one directory"),
        ("cd a b", "command_not_allowed", "one directory"),
        ("chmod zz a", "exec_failed", "chmod: invalid mode: 'zz'"),
        ("chmod 999 a", "exec_failed", "invalid mode"),
        ("mkdir -m u+q a", "exec_failed", "mkdir: invalid mode: 'u+q'"),
        ("head -n", "command_not_allowed", "`-n` needs a value"),
        ("find . -name", "command_not_allowed", "`-name` needs a value"),
    ],
)
def test_what_cannot_work_is_refused_without_asking(line: str, type_: str, part: str) -> None:
    """Approval would not make it work."""
    judgement = judge(words_of(line))
    assert isinstance(judgement, Refused)
    assert judgement.type == type_
    assert part in judgement.message


def test_no_words_are_refused() -> None:
    """There is no program to start."""
    assert isinstance(judge([]), Refused)


@pytest.mark.parametrize(
    "words",
    [
        ["npm", "test"],
        ["./cat", "a"],
        ["/bin/cat", "a"],
        ["CAT", "a"],
        ["cat ", "a"],
        ["git log"],
        ["git", "log "],
        ["git stash push"],
        ["git", "stash push"],
        ["git", "stash", "push "],
        ["git", "stash", ""],
        ["git", ""],
        ["git", "LOG"],
        ["bash", "-c", "ls"],
        ["sudo", "ls"],
        ["\u0441at", "a"],  # a Cyrillic letter that looks like c
        ["ls\u00a0-l"],
    ],
)
def test_a_program_that_is_not_in_the_table_needs_approval(words: list[str]) -> None:
    """By its exact name, as one word."""
    judgement = judge(words)
    assert isinstance(judgement, NeedsApproval)
    assert words[0].strip() in judgement.reason


def test_exit_codes_have_meanings() -> None:
    """They are no failures of the program itself."""
    for words, meaning in [(["grep", "a", "b"], "no line matched"), (["diff", "a", "b"], "the files differ")]:
        judgement = judge(words)
        assert isinstance(judgement, Allowed)
        assert judgement.exit_meanings[1] == meaning


@pytest.mark.parametrize(
    "line", ["cat", "head -5", "tail -n 5", "wc -l", "xxd -p", "grep one", "grep -in one", "grep -e one"]
)
def test_a_program_that_would_read_standard_input_is_told_so(line: str) -> None:
    """It is empty: an answer from it would be wrong, and look right."""
    judgement = judge(words_of(line))
    assert isinstance(judgement, NeedsApproval)
    assert "without a file reads standard input, which is empty" in judgement.reason


@pytest.mark.parametrize("line", ["grep -r one", "grep -rn -e one", "ls", "find", "tree", "git log"])
def test_a_program_that_looks_at_the_directory_needs_no_file(line: str) -> None:
    """With -r, grep does too."""
    assert isinstance(judge(words_of(line)), Allowed)


def test_a_stash_that_changes_files_acts_on_the_whole_repository() -> None:
    """Looking at stashes does not."""
    for line, whole in [
        ("", True),
        (" push", True),
        (" pop", True),
        (" apply", True),
        (" list", False),
        (" show", False),
    ]:
        judgement = judge(words_of("git stash" + line))
        assert isinstance(judgement, Allowed)
        assert judgement.whole_repository is whole


def test_an_argument_of_200_kb_is_judged() -> None:
    """Like any other."""
    judgement = judge(["grep", "x" * 200_000, "a"])
    assert isinstance(judgement, Allowed)


PIECES = [
    *"- -- -n -rf -5 +5 --lines --lines=5 a HEAD:x : :: % = -= --= stash push -L 1,2:x".split(),
    *"( ) ! , u+x -x é --help --no-pager".split(),
    "",
    "\n",
]


@settings(max_examples=375, deadline=None)
@given(
    st.sampled_from(sorted(ROWS)),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=5),
)
def test_judging_never_raises_and_passes_on_every_operand(name: str, rest: list[str]) -> None:
    """Whatever the words are."""
    judgement = judge([*name.split(), *rest])
    if isinstance(judgement, Allowed):
        assert all(
            any(word in passed for passed in judgement.words) for word in rest if word[:1] not in ("-", "+")
        )


def test_judging_loads_nothing_heavy() -> None:
    """Start-up is a feature. `re` is not heavy: every notation that is read has loaded it before."""
    code = (
        "import sys; import clada.commands.words, clada.commands.policy; "
        "print(set(sys.modules) & set('typing subprocess shlex json'.split()))"
    )
    source = os.path.dirname(os.path.dirname(clada.__file__))
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"
