"""Approvals: exact texts, whole or in parts, from a file, the command line or a person at a terminal."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada.world.sandbox import layers as confinement

if TYPE_CHECKING:
    from tests.operations.conftest import Runner, Shell

VERSION = "python3 -V"  # a command that needs approval, and does no harm
OTHER = "python3 -c 'print(1)'"


def file_of(runs: Runner) -> Any:
    """Return where the approvals are."""
    return runs.workspace / ".clada" / "allowed-commands.json"


# By exact text.


@pytest.mark.parametrize(
    ("approved", "body"),
    [
        ([VERSION], VERSION),
        ([f"  {VERSION}\n"], VERSION),
        ([VERSION], f"\n  {VERSION}\t\n"),
        ([VERSION], f"{VERSION} # what version is it?"),
        ([VERSION], f"mkdir a && cd a && {VERSION} && ls"),
        ([VERSION], f"{VERSION}\n{VERSION}"),
        ([VERSION, OTHER], f"{VERSION} && {OTHER}"),
        ([f"{VERSION} && {OTHER}"], f"{VERSION} && {OTHER}"),
        ([f"{VERSION}\n{OTHER}"], f"{VERSION}\n{OTHER}"),
        (["tail --follow=name --pid=1 x"], "tail --follow=name --pid=1 x"),
    ],
)
@pytest.mark.parametrize("where", ["file", "flag"])
def test_what_is_approved_runs(approved: list[str], body: str, where: str, runs: Runner) -> None:
    """The whole body, or each part that needs it by its own text; surrounding blanks do not count."""
    if where == "file":
        runs.approve(*approved)
    done = runs(body, approve=approved if where == "flag" else ())
    assert done.task.error is None or done.error.type == "exec_failed"
    assert done.output


@pytest.mark.parametrize(
    "body",
    [
        "python3  -V",
        "python3\t-V",
        "python3 \\\n-V",
        "python3 -V ''",
        "python3 '-V'",
        "python3\u00a0-V",
        "python3 -\uff36",
        "p\u0443thon3 -V",
        "Python3 -V",
        "\u00a0python3 -V",
        "python3 -V -V",
        "python3",
        f"{VERSION} && {OTHER}",
        f"{OTHER}\n{VERSION}",
    ],
)
def test_what_is_not_exactly_approved_does_not_run(body: str, runs: Runner) -> None:
    """Other blanks, other quotes, letters that look alike and longer bodies are other commands."""
    runs.approve(VERSION)
    done = runs(f"touch a\n{body}", approve=[VERSION])
    assert (done.error.type, done.output) == ("command_not_allowed", [])
    assert not (runs.workspace / "a").exists()


def test_the_whole_body_is_not_approved_by_a_line_of_it(runs: Runner) -> None:
    """A text with a line break approves that body, and not its lines."""
    runs.approve(f"{VERSION}\n{OTHER}")
    assert runs(VERSION).error.type == "command_not_allowed"


@pytest.mark.parametrize(
    ("blocked", "body"),
    [
        (VERSION, VERSION),
        (VERSION, f"touch a && {VERSION}"),
        (f"touch a && {VERSION}", f"touch a && {VERSION}"),
        ("cat a", "touch a\ncat a"),
        ("touch a", "touch a"),
        ("git status", "git status"),
        ("ls | wc", "ls | wc"),
        (VERSION, "python3  -V"),
        (VERSION, "touch a && python3 \\\n '-V' # the version"),
        (VERSION, "p\\ython3 -V"),
        ("python3  '-V'", VERSION),
        ("rm -rf build", "touch a && rm\t-rf  build"),
        ("ls", "touch a\n'ls'"),
        (f"touch a && {VERSION}", f"touch  a\n{VERSION} && ls"),
    ],
)
def test_what_is_blocked_runs_for_nobody(blocked: str, body: str, runs: Runner) -> None:
    """Blocked wins over all approvals, and over commands that need none."""
    runs.approve(VERSION, body, blocked=[f" {blocked} "])
    done = runs(
        body, approve=[body, blocked], approve_all=True, shell="approved", ask=lambda *_, **__: "once"
    )
    assert done.error.type == "command_not_allowed"
    assert f"`{blocked}` is blocked" in done.error.message
    assert "clada approvals remove" in done.said
    assert os.listdir(runs.workspace) == [".clada"]


@pytest.mark.parametrize(
    ("blocked", "body"),
    [
        ("ls", "ls a"),
        ("ls a", "ls"),
        ("ls a", "ls 'a '"),
        ("ls 'a b'", "ls a b"),
        ("touch a && ls", "ls && touch a"),
        ("ls && ls", "touch a && ls"),
        ("# ls", "ls"),
        ("ls | wc", "ls"),
        ("ls 'unclosed", "ls"),
    ],
)
def test_other_words_are_not_blocked(blocked: str, body: str, runs: Runner) -> None:
    """What is blocked is that command, and no kin of it."""
    runs.approve(blocked=[blocked])
    for name in ("a", "b", "a "):
        (runs.workspace / name).touch()
    done = runs(body)
    assert done.task.status == "success" or "is blocked" not in done.error.message


@pytest.mark.parametrize(
    "content", ['{"commands": ["python3 -V"]}', '{"commands": [" python3 -V "], "x": 1}']
)
def test_other_keys_may_be_missing(content: str, runs: Runner) -> None:
    """The list of commands is enough."""
    runs.approve()
    file_of(runs).write_text(content)
    assert runs(VERSION).report.ok


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("", "line 1, column 1"),
        ('{"commands": ["a",]}', "line 1, column"),
        ('{"commands": "a"}', "'commands' must be a list"),
        ('{"commands": [1]}', "entry 1 of 'commands'"),
        ('{"blocked": []}', "'commands' is missing"),
        ("[]", "an object"),
        ('{"commands": [], "commands": ["x"]}', "twice"),
        (b"\xff", "byte 0"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"approve_all": True}, {"dry_run": True}], ids=str)
def test_a_damaged_file_lets_nothing_run(
    content: str | bytes, where: str, options: dict[str, Any], runs: Runner
) -> None:
    """It is an error that says where, and never an empty list: it may have blocked something."""
    runs.approve()
    file_of(runs).write_bytes(content.encode() if isinstance(content, str) else content)
    done = runs("touch a", **options)
    assert done.error.type == "command_not_allowed"
    assert where in done.error.message
    assert not (runs.workspace / "a").exists()


BY_DOCUMENT = [
    {"action": "write", "path": ".clada/allowed-commands.json", "content": "x"},
    {"action": "write", "path": "sub/../.clada/allowed-commands.json", "content": "x"},
    {"action": "write", "path": ".CLADA/allowed-commands.json", "content": "x"},
    {"action": "edit", "path": ".clada/allowed-commands.json", "search": "safe", "replace": "rm"},
    {"action": "move", "from": ".clada/allowed-commands.json", "to": "x"},
    {"action": "move", "from": "x", "to": ".clada/allowed-commands.json"},
    {"action": "move", "from": ".clada", "to": "y"},
    {"action": "move", "from": "sub", "to": ".clada"},
    {"action": "remove", "path": ".clada/allowed-commands.json"},
    {"action": "remove", "path": ".clada"},
    *[
        {"action": "run", "command": command}
        for command in (
            "mv x .clada/allowed-commands.json",
            "mv .clada y",
            "cp x .clada/allowed-commands.json",
            "cp -r sub .clada",
            "rm -r .clada",
            "rm .clada/allowed-commands.json",
            "touch .clada/allowed-commands.json",
            "mkdir -p .clada/more",
            "chmod 777 .clada/allowed-commands.json",
            "cd .clada && cp ../x allowed-commands.json",
            "cd sub && mv ../x ../.clada/allowed-commands.json",
        )
    ],
    {"action": "run", "command": "mv ../x allowed-commands.json", "dir": ".clada"},
]


@pytest.mark.parametrize(
    "operation", BY_DOCUMENT, ids=lambda operation: " ".join(map(str, operation.values()))
)
def test_a_document_cannot_approve_its_own_commands(
    operation: dict[str, str], shell: Shell, runs: Runner
) -> None:
    """Whatever writes, moves, copies or removes the approvals is refused."""
    runs.approve("safe")
    (runs.workspace / "x").write_text('{"commands": ["python3 -V"]}')
    (runs.workspace / "sub").mkdir()
    (runs.workspace / "sub" / "allowed-commands.json").write_text('{"commands": ["python3 -V"]}')
    tasks = [operation, {"action": "run", "command": VERSION}]
    plan = clada.parse(json.dumps([{"tasks": [task]} for task in tasks]))
    report = clada.execute(plan, workspace=str(shell.workspace), git=False)
    types = [task.error and task.error.type for task in report.tasks]
    assert types == ["permission_denied", "command_not_allowed"]
    assert runs.stored() == {"commands": ["safe"]}


# On the command line.


def test_approve_is_repeatable_and_for_this_run_only(shell: Shell) -> None:
    """Each --approve names one text; nothing is stored."""
    both = ("--approve", VERSION, f"--approve={OTHER}")
    assert shell.run(f"{VERSION}\n{OTHER}", arguments=both).returncode == 0
    assert shell.run(VERSION).returncode == 1
    assert os.listdir(shell.workspace) == []


def test_approve_all_says_so(shell: Shell) -> None:
    """Who leaves the door open is told, on standard error."""
    done = shell.run(VERSION, arguments=("--approve-all",))
    assert done.returncode == 0
    assert "--approve-all" in done.stderr
    assert "network" in done.stderr


def test_without_a_terminal_there_is_no_waiting(shell: Shell) -> None:
    """The refusal comes at once, with the line that approves the whole text; that line works."""
    body = "touch 'it is' && python3 -V"
    done = shell.run(body)
    assert done.returncode == 1
    line = done.stdout.partition("\n  clada approvals add ")[2].splitlines()[0]
    assert line == "'touch '\"'\"'it is'\"'\"' && python3 -V'"
    adding = [sys.executable, "-m", "clada", "approvals", "add", *shlex.split(line)]
    subprocess.run(adding, cwd=shell.workspace, check=True, capture_output=True)
    assert shell.run(body).returncode == 0


# At a terminal.

OFF = ("--sandbox=off",)  # then there is one question only


@pytest.mark.parametrize(
    ("typed", "runs_now", "stored"),
    [("y", True, None), ("n", False, None), ("a", True, "commands"), ("v", False, "blocked")],
)
def test_a_person_decides(typed: str, runs_now: bool, stored: str | None, shell: Shell, runs: Runner) -> None:
    """Yes once, always, no, never: the last and the second are stored."""
    body = f"mkdir -p a && cd a\n{VERSION}"
    shell.start(body, arguments=OFF, terminal=True)
    screen = shell.read_until("[?] ")
    assert r"mkdir -p a && cd a⟨\n⟩python3 -V" in screen
    assert str(shell.workspace) in screen
    assert "`python3` is not among the commands" in screen
    shell.type(f"{typed}\n")
    done = shell.end()
    assert done.returncode == (0 if runs_now else 1)
    assert (shell.workspace / "a").exists() is runs_now
    assert ("said no" in done.stdout) is not runs_now
    if stored is None:
        assert not file_of(runs).exists()
    else:
        assert runs.stored()[stored] == [body]
        assert runs(body).report.ok is runs_now


def test_the_plan_stands_above_the_question(shell: Shell) -> None:
    """What was done, what is asked about, and what is to come; never more than fits."""
    shell.start("pwd", VERSION, *(f"echo {number}" for number in range(20)), arguments=OFF, terminal=True)
    screen = shell.read_until("[?] ").replace("\r\n", "\n")
    assert "\n  the plan, 2 of 22:\n    run pwd\n  > run python3 -V\n    run echo 0\n" in screen
    assert "\n    … 13 more\nclada: may this command run?\n" in screen
    shell.type("n\n")
    assert shell.end().returncode == 1


def test_yes_once_is_asked_again(shell: Shell) -> None:
    """Once is once: the same body later in the document is put to the person again."""
    shell.start(VERSION, VERSION, arguments=OFF, terminal=True)
    shell.read_until("[?] ")
    shell.type("y\n")
    shell.read_until("[?] ")
    shell.type("n\n")
    done = shell.end()
    assert "[task-1.1] SUCCESS" in done.stdout
    assert "[task-2.1] ERROR" in done.stdout


@pytest.mark.skipif(confinement.available() == "none", reason="no sandbox would cut the network here")
@pytest.mark.parametrize(("typed", "network"), [("a+", [VERSION]), ("a", [])])
def test_the_network_is_part_of_the_one_question(
    typed: str, network: list[str], shell: Shell, runs: Runner
) -> None:
    """Where the sandbox would cut it, the person says whether the command gets it."""
    shell.start(VERSION, terminal=True)
    shell.read_until("[?] ")
    shell.type(f"{typed}\n")
    assert shell.end().returncode == 0
    assert runs.stored()["network"] == network


def test_an_interrupt_at_the_question_is_an_interrupt(shell: Shell, runs: Runner) -> None:
    """Ctrl-C skips that run and the rest, stores nothing, and ends as an interrupt does."""
    shell.start(f"touch a\n{VERSION}", "touch b", terminal=True)
    shell.read_until("[?] ")
    shell.type("\x03")
    done = shell.end()
    assert done.returncode == 130
    assert done.stdout.splitlines() == [
        "[task-1.1] SKIP: RUN - interrupted",
        "[task-2.1] SKIP: RUN - interrupted",
    ]
    assert os.listdir(runs.workspace) == []


# Who has the network.

NETWORK = "python3 -c 'import os; print(os.readlink(\"/proc/self/ns/net\"))'"


@pytest.mark.skipif(confinement.available() != "bubblewrap", reason="a namespace shows who has the network")
@pytest.mark.parametrize(
    ("options", "stored", "own"),
    [
        ({"approve": [NETWORK]}, {}, False),
        ({"approve": [NETWORK], "sandbox": "off"}, {}, True),
        ({"approve_all": True}, {}, True),
        ({}, {"commands": [NETWORK]}, False),
        ({}, {"commands": [NETWORK], "network": [NETWORK]}, True),
        ({"approve": [NETWORK]}, {"commands": [], "network": [NETWORK]}, False),
        ({"ask": lambda *_, **__: "once"}, {}, False),
        ({"ask": lambda *_, **__: "once+network"}, {}, True),
        ({"ask": lambda *_, **__: "always+network"}, {}, True),
    ],
)
def test_who_has_the_network(options: Any, stored: Any, own: bool, runs: Runner) -> None:
    """The approval must say so: --approve alone does not, --approve-all does, and so does no sandbox."""
    if stored:
        runs.approve(*stored.pop("commands"), **stored)
    done = runs(NETWORK, **options)
    assert (done.output == [os.readlink("/proc/self/ns/net")]) is own
    assert len(done.output) == 1


# --shell=approved


SCRIPTS = [
    "for i in 1 2 3; do\n  echo item $i\ndone | tail -n 2",
    'if [ -e x ]; then echo "yes $(cat x)"; else echo no > y; fi\ncat y x 2>/dev/null || true',
    "set -e; a=1; echo $((a + 1)) && printf '%s\\n' {a,b}",
    "cat <<END\nhello\nEND",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_under_bash_once_it_is_approved(script: str, shell: Shell) -> None:
    """Exactly what bash itself makes of it; not without the flag, nor without approval of the whole text."""
    expected = subprocess.run(
        ["bash", "-c", script], cwd=shell.workspace.parent, capture_output=True, text=True, check=True
    )
    done = shell.run(f"  {script}\n", arguments=("--shell=approved", "--approve", script))
    printed = [line.removeprefix("[task-1.1:exec] ") for line in done.stdout.splitlines() if ":exec]" in line]
    assert (done.returncode, printed) == (0, expected.stdout.splitlines())


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("approved", [[], ["echo no", "tail -n 2"], ["{}  "], ["{} "]])
def test_a_script_that_is_not_approved_exactly(script: str, approved: list[str], runs: Runner) -> None:
    """Parts of it, or a text that differs by a blank inside, do not count."""
    given = [text.replace("{}", script.replace(" ", "  ", 1)) for text in approved]
    done = runs(script, shell="approved", approve=given)
    assert done.error.type == "command_not_allowed"
    assert "needs a shell" in done.error.message
    assert done.error.remedy[0].startswith("clada approvals add ")
    without = runs(script, approve=[script])
    assert "--shell=approved" in without.said
    assert os.listdir(runs.workspace) == []


def test_a_plain_body_is_not_handed_to_bash(runs: Runner) -> None:
    """The flag changes nothing for what needs no shell: it stays contained."""
    assert runs("cat ../x", shell="approved", approve_all=True).error.type == "path_escape"
    assert runs("echo '$HOME'", shell="approved").output == ["$HOME"]


def test_a_person_is_told_why_and_not_what_they_are_asked_anyway(runs: Runner) -> None:
    """That approving allows it is for those who cannot be asked."""
    asked: list[tuple[str, ...]] = []
    runs("npm test", ask=lambda *given, **_: asked.append(given))
    assert asked == [
        ("npm test", str(runs.workspace), "`npm` is not among the commands that run without asking")
    ]
    refused = runs("npm test").error
    assert (refused.message, refused.remedy) == ("needs approval", ("clada approvals add 'npm test'",))


UNITTEST = "python3 -m unittest"


@pytest.mark.parametrize(
    ("body", "runs_now"),
    [
        (f"{UNITTEST} --help", True),
        ("'python3' -m unittest --help 2>&1", True),
        (f"echo a && {UNITTEST} -h", True),
        (f"{UNITTEST} -t / -h", False),
        ("python3 -m unittests", False),
        ("python3 -V", False),
        (f"{UNITTEST} -h && python3 -V", False),
        (f"{UNITTEST} -h | cat", False),
        (f"{UNITTEST} -h; python3 -V", False),
        (f"env {UNITTEST} -h", False),
    ],
)
def test_a_prefix_approves_what_it_covers(body: str, runs_now: bool, runs: Runner) -> None:
    """Alone, and beside others that need no approval; with a shell, nothing."""
    runs.approve(prefixes=[UNITTEST])
    assert runs(body, sandbox="off").report.ok is runs_now
    if not runs_now:
        assert runs(body, sandbox="off", shell="approved").error.type == "command_not_allowed"


def test_a_prefix_has_no_effect_where_it_may_not_be_one(runs: Runner) -> None:
    """Though a file says so, which somebody wrote by hand."""
    runs.approve(prefixes=["python3", "sh", "find", "sudo", "bash -c", "", "a && b", "'"])
    for body in ("python3 -V", "sh -c true", "find . -delete", "bash -c true", "a && b"):
        assert runs(body, sandbox="off", shell="approved").error.type == "command_not_allowed"


def test_what_is_blocked_is_blocked_though_a_prefix_covers_it(runs: Runner) -> None:
    """The exact command, however its words are quoted."""
    runs.approve(prefixes=[UNITTEST], blocked=[f"{UNITTEST} -h"])
    assert "is blocked" in runs(f"{UNITTEST} '-h'", sandbox="off").said
    assert runs(f"{UNITTEST} --help", sandbox="off").report.ok


@pytest.mark.skipif(confinement.available() == "none", reason="no sandbox would cut the network here")
@pytest.mark.parametrize(("others", "network"), [({}, False), ({"network_prefixes": [UNITTEST]}, True)])
def test_a_prefix_grants_the_network_only_where_it_says_so(
    others: dict[str, Any], network: bool, runs: Runner
) -> None:
    """Its own list counts, not that of exact commands."""
    script = "import os\nprint(os.readlink('/proc/self/ns/net'))\nos._exit(0)\n"
    (runs.workspace / "which_net.py").write_text(script)
    runs.approve(prefixes=[UNITTEST], network=[UNITTEST], **others)
    done = runs(f"{UNITTEST} which_net")
    assert (done.output == [os.readlink("/proc/self/ns/net")]) is network
