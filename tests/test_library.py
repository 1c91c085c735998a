"""Clada as a library: it prints nothing, changes nothing of its host, and works in several threads."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.handles import open_handles

import clada
from clada import public_types, settings
from clada.model import BlockSkipped, Event, Note, Output, TaskEnded, TaskStarted
from clada.report.json import to_dict
from clada.settings import BY_NAME, Settings

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = """\
<---WRITE file="a.txt"--->
one
<---END--->
<---SEARCH file="a.txt"--->
one
<---REPLACE--->
two
<---END--->
<---RUN--->
cat a.txt
sh -c 'echo approved; umask 077; cd /'
<---END--->
<---SEARCH file="a.txt"--->
missing
<---REPLACE--->
<---END--->
<---TASKS--->
<---WRITE--->
<---END--->
<---END--->
"""
APPROVED = ["sh -c 'echo approved; umask 077; cd /'"]

CHOICES = [name for name in Settings.__match_args__ if name in BY_NAME and BY_NAME[name].choices]


def host() -> dict[str, Any]:
    """Return what a library must leave alone."""
    umask = os.umask(0)
    os.umask(umask)
    return {
        "directory": os.getcwd(),
        "umask": umask,
        "signals": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "environment": dict(os.environ),
        "threads": threading.active_count(),
        "handles": open_handles(),
        "stdout": sys.stdout,
        "wakeup": signal.set_wakeup_fd(-1),
    }


@pytest.mark.parametrize("git", [False, True])
def test_nothing_of_the_host_changes_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *, git: bool
) -> None:
    if git:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    clada.execute(clada.parse(EVERYTHING), workspace=str(tmp_path), git=git, approve=APPROVED)  # loads all
    before = host()
    report = clada.execute(
        clada.parse(EVERYTHING), workspace=str(tmp_path), git=git, approve=APPROVED, again=True
    )
    assert host() == before
    assert capfd.readouterr() == ("", "")
    assert [task.status for task in report.tasks] == ["success", "success", "success", "error", "error"]


def test_other_children_of_the_host_are_not_touched(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "30"]) as mine:
        ended = subprocess.Popen(["true"])
        document = "<---RUN--->\nsh -c 'sleep 0.2; (sleep 60 &)'\n<---END--->\n"
        report = clada.execute(clada.parse(document), workspace=str(tmp_path), git=False, approve_all=True)
        assert report.ok
        assert mine.poll() is None
        assert ended.wait() == 0  # its exit code was left for us
        mine.kill()


def test_events_tell_everything_in_order(tmp_path: Path) -> None:
    events: list[Event] = []
    plan = clada.parse(EVERYTHING)
    clada.execute(plan, workspace=str(tmp_path), git=False, approve=APPROVED, on_event=events.append)
    told = [event for event in events if not isinstance(event, Note)]
    kinds = [type(event) for event in told]
    assert kinds.count(TaskStarted) == 4
    assert kinds.count(TaskEnded) == 5
    assert kinds.index(BlockSkipped) < kinds.index(TaskEnded, kinds.index(BlockSkipped))
    assert [line for event in told if isinstance(event, Output) for line in event.lines] == [
        "two",
        "approved",
    ]
    assert [event.task.label for event in told if isinstance(event, TaskEnded)] == ["1", "2", "3", "4", "5.1"]


def test_threads_on_different_workspaces_do_not_disturb_each_other(tmp_path: Path) -> None:
    def work(number: int) -> tuple[bool, str, list[str]]:
        folder = tmp_path / str(number)
        folder.mkdir()
        subprocess.run(["git", "init", "-q", folder], check=True)
        lines: list[str] = []
        document = (
            f'<---WRITE file="a.txt"--->\n{number}\n<---END--->\n'
            f"<---RUN--->\ncat a.txt\nsh -c 'sleep 0.1; echo {number} > b.txt; cat b.txt'\n<---END--->\n"
        )
        report = clada.execute(
            clada.parse(document),
            workspace=str(folder),
            approve_all=True,
            on_event=lambda event: lines.extend(event.lines) if isinstance(event, Output) else None,
        )
        return report.ok, (folder / "b.txt").read_text(encoding="utf-8"), lines

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert results == [(True, f"{number}\n", [str(number)] * 2) for number in range(8)]


def test_a_wrong_option_is_a_mistake_of_the_caller() -> None:
    options: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        clada.execute(clada.parse(""), **options)
    with pytest.raises(ValueError, match="unknown notation 'yaml'"):
        clada.parse("", "yaml")  # type: ignore[arg-type]


def test_the_package_is_typed() -> None:
    assert os.path.exists(os.path.join(os.path.dirname(clada.__file__), "py.typed"))


def test_every_public_name_is_there_and_documented() -> None:
    for name in clada.__all__:
        value = getattr(clada, name)
        is_alias = not isinstance(value, type) and not callable(value)
        assert value.__doc__ or is_alias or clada._NAMES[name] == "public_types"


def test_the_public_names_are_shown_before_they_are_loaded() -> None:
    script = "import clada, sys; print(*dir(clada)); assert 'clada.run' not in sys.modules"
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert shown.stdout.split() == sorted(clada.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = clada.nothing  # type: ignore[attr-defined]


def test_a_report_raises_if_something_failed(tmp_path: Path) -> None:
    good = clada.execute('<---WRITE file="a"--->\nx\n<---END--->\n', workspace=tmp_path, git=False)
    assert good.raise_for_status() is good
    bad = '<---SEARCH file="a"--->\ny\n<---REPLACE--->\nz\n<---END--->\n'
    with pytest.raises(clada.ReportError) as raised:
        clada.execute(bad, workspace=tmp_path, git=False).raise_for_status()
    assert isinstance(raised.value, clada.CladaError)
    assert raised.value.error.type == "match_count_mismatch"
    assert raised.value.report.tasks[0].status == "error"
    expected = "[task-1] ERROR: SEARCH - a: match_count_mismatch: found 0 matches, expected 1"
    assert str(raised.value).startswith(expected)
    with pytest.raises(clada.ReportError, match=r"\(and 1 more\)$"):
        clada.execute(bad + bad, workspace=tmp_path, git=False).raise_for_status()
    with pytest.raises(clada.ReportError, match="no operations found"):
        clada.execute("prose", workspace=tmp_path, git=False).raise_for_status()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a new repository, with a folder beside it."""
    workspace = tmp_path / "workspace"
    (tmp_path / "outside").mkdir()
    subprocess.run(["git", "init", "-q", workspace], check=True)
    return workspace


@pytest.mark.parametrize("command", ["chmod 755 .", "touch ."])
def test_a_change_of_the_workspace_itself_is_in_no_commit(repository: Path, command: str) -> None:
    repository.chmod(0o700)
    document = f'<---RUN--->\n{command}\n<---END--->\n<---WRITE file="a"--->\nx\n<---END--->\n'
    report = clada.execute(clada.parse(document), workspace=str(repository))
    assert (report.ok, report.error) == (True, None)
    assert list(report.commits) == ["post"]


def test_a_path_outside_is_written_as_the_system_writes_it(repository: Path) -> None:
    target = repository.parent / "outside" / "x"
    paths = (str(target), "inside")
    plan = clada.parse("".join(f'<---WRITE file="{path}"--->\nx\n<---END--->\n' for path in paths))
    look = clada.execute(plan, workspace=str(repository), allow_escape=True, dry_run=True)
    assert look.changes == tuple((path, None, b"x\n") for path in paths)
    report = clada.execute(plan, workspace=str(repository), allow_escape=True)
    assert report.ok
    undone = subprocess.run(
        [sys.executable, "-m", "clada", "undo"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert str(target) in undone.stdout + undone.stderr
    assert f"/{target}" not in undone.stdout + undone.stderr


def test_a_dry_run_counts_untried_operations_as_failures_but_not_those_left_out(tmp_path: Path) -> None:
    """In the report, its blocks and its tasks alike."""
    plan = clada.parse("<---TASKS--->\n<---RUN--->\nls\n<---END--->\n<---END--->\n")
    look = clada.execute(plan, workspace=str(tmp_path), git=False, dry_run=True)
    assert (look.ok, look.blocks[0].status, look.tasks[0].ok) == (True, "planned", True)
    late = clada.execute(plan, workspace=str(tmp_path), git=False, dry_run=True, total_timeout=0.0)
    assert (late.ok, late.blocks[0].status, late.tasks[0].status) == (False, "failed", "skipped")


def test_commits_that_were_not_made_are_not_there(repository: Path) -> None:
    report = clada.execute(clada.parse("<---RUN--->\necho hi\n<---END--->\n"), workspace=str(repository))
    assert (report.ok, report.commits) == (True, {})
    assert to_dict(report)["commits"] == {"pre": None, "post": None}


@pytest.mark.parametrize("name", CHOICES)
def test_an_option_that_is_not_among_its_choices_is_a_mistake_of_the_caller(name: str) -> None:
    options: Any = {name: "bogus"}
    with pytest.raises(ValueError, match=f"{name} must be one of .*, not 'bogus'"):
        clada.execute(clada.parse(""), **options)


# What cannot be, by its option: the type of the exception, the value, and what is said.
MISTAKES: list[tuple[str, object, type[Exception], str]] = [
    ("timeout", "1s", TypeError, "timeout must be a number of seconds, 0 or more, not '1s'"),
    ("timeout", None, TypeError, "timeout must be a number of seconds, 0 or more, not None"),
    ("timeout", True, TypeError, "timeout must be a number of seconds, 0 or more, not True"),
    ("timeout", -1, ValueError, "timeout must be a number of seconds, 0 or more, not -1"),
    (
        "total_timeout",
        float("nan"),
        ValueError,
        "total_timeout must be a number of seconds, 0 or more, not nan",
    ),
    (
        "lock_timeout",
        float("inf"),
        ValueError,
        "lock_timeout must be a number of seconds, 0 or more, not inf",
    ),
    ("max_output", "10MB", TypeError, "max_output must be a number of bytes, 0 or more, not '10MB'"),
    ("max_output", 1.5, TypeError, "max_output must be a number of bytes, 0 or more, not 1.5"),
    ("max_output", -1, ValueError, "max_output must be a number of bytes, 0 or more, not -1"),
    ("approve", "npm test", TypeError, "approve must be a list of texts, not 'npm test'"),
    ("approve", [b"npm test"], TypeError, "approve must be a list of texts, not [b'npm test']"),
    ("approve", None, TypeError, "approve must be a list of texts, not None"),
    ("sandbox_write", "/tmp", TypeError, "sandbox_write must be a list of texts, not '/tmp'"),
    ("git", "no", TypeError, "git must be True or False, not 'no'"),
    ("dry_run", 1, TypeError, "dry_run must be True or False, not 1"),
    ("workspace", 3, TypeError, "workspace must be a text that is not empty, not 3"),
    ("workspace", b".", TypeError, "workspace must be a text that is not empty, not b'.'"),
    ("workspace", "", ValueError, "workspace must be a text that is not empty, not ''"),
    ("lock_file", "a\0b", ValueError, "lock_file must be a text that is not empty, not 'a\\x00b'"),
    ("git_author", "Ada <ada", ValueError, "git_author must be Name or Name <mail>, not 'Ada <ada'"),
    ("shell", None, TypeError, "shell must be a text that is not empty, not None"),
    ("sandbox", "on", ValueError, "sandbox must be one of auto, off, require, not 'on'"),
    ("colour", "red", TypeError, "execute() has no option 'colour'"),
    ("on_event", None, TypeError, "on_event must be a function, not None"),
    ("ask", "yes", TypeError, "ask must be a function, not 'yes'"),
    ("stop", 1, TypeError, "stop must be a Stop, not 1"),
]


@pytest.mark.parametrize(("name", "value", "exception", "said"), MISTAKES)
def test_a_value_that_cannot_be_is_told_before_anything_is_touched(
    tmp_path: Path, name: str, value: object, exception: type[Exception], said: str
) -> None:
    options: Any = {"workspace": str(tmp_path), "git": False, name: value}
    with pytest.raises(exception) as raised:
        clada.execute(clada.parse('<---WRITE file="a"--->\nx\n<---END--->\n'), **options)
    assert str(raised.value) == said
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("document", "options", "said"),
    [
        (None, {}, "parse() takes a str or bytes, not NoneType"),
        (["x"], {}, "parse() takes a str or bytes, not list"),
        ("x", {"start_delimiter": 5}, "delimiters must be texts, not 5 and '--->'"),
    ],
)
def test_parsing_anything_but_text_is_a_type_error(document: Any, options: Any, said: str) -> None:
    with pytest.raises(TypeError) as raised:
        clada.parse(document, **options)
    assert str(raised.value) == said


def test_a_text_is_read_by_the_options_and_executed(tmp_path: Path) -> None:
    text = '@WRITE file="a"%\none\n@END%\n'
    report = clada.execute(text, workspace=tmp_path, git=False, start_delimiter="@", end_delimiter="%")
    assert (report.ok, (tmp_path / "a").read_text(encoding="utf-8")) == (True, "one\n")
    fatal = clada.execute(text, workspace=tmp_path, git=False, format="cml").fatal
    assert fatal is None  # a marker of other delimiters is prose
    number: Any = 42
    expected = "execute() takes a text, or a plan as parse() returns it, not int"
    with pytest.raises(TypeError, match=re.escape(expected)):
        clada.execute(number)


def test_paths_may_be_path_objects_and_lists_of_any_kind(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    report = clada.execute(
        clada.parse("<---RUN--->\npython3 -V\n<---END--->\n"),
        workspace=workspace,
        lock_file=tmp_path / "lock",
        git=False,
        timeout=20,
        total_timeout=None,
        approve=("python3 -V",),
    )
    assert report.ok
    assert (tmp_path / "lock").exists()


def test_the_options_of_execute_are_the_settings() -> None:
    with open(settings.__file__, encoding="utf-8") as file:
        (fields,) = (
            {
                ast.unparse(line.target): ast.unparse(line.annotation)
                for line in node.body
                if isinstance(line, ast.AnnAssign)
            }
            for node in ast.walk(ast.parse(file.read()))
            if isinstance(node, ast.ClassDef) and node.name == "Settings"
        )
    both = {**public_types.Options.__annotations__, **public_types.RunOptions.__annotations__}
    options = {name: kind.__forward_arg__.replace(" | PathLike[str]", "") for name, kind in both.items()}
    assert options.pop("git") == "bool"  # `git=False` is another way to say `record="none"`
    assert fields == options
    assert tuple(fields) == settings.Settings.__match_args__


def test_the_report_has_all_that_was_noted(tmp_path: Path) -> None:
    events: list[Event] = []
    plan = clada.parse('<tasks version="1.1">\n<later/>\n<write path="a">x</write>\n</tasks>\n')
    report = clada.execute(plan, workspace=str(tmp_path), git=False, on_event=events.append)
    assert report.notes == plan.notes == tuple(event.text for event in events if isinstance(event, Note))
    assert len(report.notes) == 1
    fatal = clada.execute(plan, workspace=str(tmp_path), record="commits")  # no repository
    assert fatal.fatal
    assert fatal.notes == plan.notes


def test_a_name_is_looked_up_once() -> None:
    script = "import clada; assert 'parse' not in vars(clada); clada.parse; assert 'parse' in vars(clada)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_host_whose_encoding_cannot_name_a_file_is_told_so(tmp_path: Path) -> None:
    program = f"""import clada, sys
plan = clada.parse('<---WRITE file="\\xe9"--->\\n<---END--->\\n')
error = clada.execute(plan, workspace={str(tmp_path)!r}, git=False).tasks[0].error
print(error.type, error.message, error.hint, sep=": ")
"""
    host = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=host, capture_output=True, check=True, text=True
    )
    assert done.stdout == "io_error: this Python cannot name it in ascii: start it with python -X utf8\n"
