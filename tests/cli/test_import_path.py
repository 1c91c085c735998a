"""Nothing of the workspace is ever loaded as a module of clada's own, however it is started."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Modules of the standard library that a run with a command loads late, each in a file of this name.
LATE = (
    "select",
    "_thread",
    "fcntl",
    "ctypes",
    "struct",
    "fnmatch",
    "shlex",
    "tomllib",
    "unicodedata",
    "pygments",
)
MODULE = 'import os\nos.write(2, b"LOADED FROM THE WORKSPACE: " + __name__.encode())\n'
READ = "<---RUN--->\nls\n<---END--->\n<---RUN--->\ngit status\n<---END--->\n"
WRITTEN = "".join(f'<---WRITE file="{name}.py"--->\n{MODULE}<---END--->\n' for name in LATE)

SCRIPT = str(Path(sys.executable).with_name("clada"))
MODULE_RUN = (sys.executable, "-m", "clada")
LIBRARY_CALL = (sys.executable, "-c", "import sys; from clada.cli import main; sys.exit(main())")
WAYS = [
    pytest.param(MODULE_RUN, {}, id="python -m"),
    pytest.param(LIBRARY_CALL, {}, id="python -c"),
    pytest.param((SCRIPT,), {}, id="the command"),
    *(
        pytest.param(MODULE_RUN, {"PYTHONPATH": path}, id=f"PYTHONPATH={path}")
        for path in (":", ":/nowhere", "/nowhere:", ".", "./", "sub/..", "sub")
    ),
    pytest.param((SCRIPT,), {"PYTHONPATH": ":"}, id="the command, PYTHONPATH=:"),
]

# What Python loads before clada has a say.
EARLY = """
    functools collections warnings types keyword operator reprlib importlib runpy pkgutil contextlib
    sitecustomize usercustomize clada
""".split()
# How a document may bring a module about: what it writes, and the commands that move or copy it.
PLANTS = [
    ("{name}.py",),
    ("{name}/__init__.py",),
    ("x/{name}", "mv x/{name} {name}.py"),
    ("x/{name}", "mv x/{name} {name}.pyc"),
    ("y/{name}.py", "mv y/{name}.py ."),
    ("x/{name}", "cp x/{name} {name}.py"),
    ("z/{name}/__init__.py", "mv z/{name} ."),
    ("u/{name}/__init__.py", "cp -r u/{name} {name}"),
]


NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def _other_user_can_run(program: str) -> bool:
    """Return whether an ordinary user can run this Python, and we can become one."""
    if os.geteuid() or not shutil.which("setpriv"):
        return False
    argv = [*AS_NOBODY, program, "-c", "import clada"]
    return subprocess.run(argv, capture_output=True, check=False, cwd="/").returncode == 0


@pytest.fixture
def open_shell() -> Iterator[Shell]:
    """Return clada in a workspace that belongs to an ordinary user."""
    top = Path(tempfile.mkdtemp(prefix="clada-test-", dir="/var/tmp"))
    top.chmod(0o755)
    made = Shell(top)
    for path in (top, made.workspace, made.home):
        os.chown(path, NOBODY, NOBODY)
    yield made
    shutil.rmtree(top)


def run(shell: Shell, argv: Sequence[str], document: str, **environment: str) -> str:
    """Run clada on a document, and return all that it prints."""
    done = subprocess.run(
        argv,
        input=document.encode(),
        cwd=shell.workspace,
        env={**shell.environment, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        start_new_session=True,
    )
    return done.stdout.decode()


@pytest.mark.parametrize(("way", "environment"), WAYS)
def test_what_a_document_writes_is_not_loaded(
    shell: Shell, way: Sequence[str], environment: dict[str, str]
) -> None:
    printed = run(shell, (*way, "--no-git"), WRITTEN + READ, **environment)
    assert "[task-11:exec] select.py" in printed
    assert "LOADED" not in printed


@pytest.mark.skipif(
    not _other_user_can_run(sys.executable), reason="not root, or other users cannot run this Python"
)
@pytest.mark.parametrize(("way", "environment"), WAYS)
def test_nor_is_it_for_an_ordinary_user(
    open_shell: Shell, way: Sequence[str], environment: dict[str, str]
) -> None:
    printed = run(open_shell, (*AS_NOBODY, *way, "--no-git"), WRITTEN + READ, **environment)
    assert "[task-11:exec] select.py" in printed
    assert "LOADED" not in printed


@pytest.mark.parametrize(("way", "environment"), WAYS)
def test_nor_is_it_in_the_next_run(shell: Shell, way: Sequence[str], environment: dict[str, str]) -> None:
    for name in LATE:
        shell.write(f"{name}.py", MODULE)
        shell.write(f"sub/{name}.py", MODULE)
    assert "[task-1:exec] select.py" in (printed := run(shell, (*way, "--no-git"), READ, **environment))
    assert "LOADED" not in printed


@pytest.mark.parametrize(
    ("way", "environment"),
    [
        pytest.param(MODULE_RUN, {}, id="python -m"),
        pytest.param((SCRIPT,), {"PYTHONPATH": ":"}, id="the command, PYTHONPATH=:"),
        pytest.param((SCRIPT,), {"PYTHONPATH": "sub"}, id="the command, PYTHONPATH=sub"),
    ],
)
def test_a_document_cannot_write_what_python_loads_before_clada(
    shell: Shell, way: Sequence[str], environment: dict[str, str]
) -> None:
    top = "sub" if environment.get("PYTHONPATH") == "sub" else "."
    (shell.workspace / top).mkdir(exist_ok=True)
    tasks = [list(_planting(plant, name, top)) for name in EARLY for plant in PLANTS]
    document = json.dumps([{"tasks": block} for block in tasks])
    for switch in ("--dry-run", "--no-git"):
        flags = ("--format=json", "--summary=none", "--allow-autorun", switch)
        printed = run(shell, (*way, *flags), document, **environment)
        assert printed.count(": Python would load ") == len(tasks), printed
    assert "SUCCESS" in (printed := run(shell, (*way, "--no-git"), READ, **environment))
    assert "LOADED" not in printed


def _planting(plant: Sequence[str], name: str, top: str) -> Iterator[dict[str, str]]:
    path, *commands = (text.format(name=name) for text in plant)
    yield {"action": "write", "path": f"{top}/{path}", "content": MODULE}
    for command in commands:
        yield {"action": "run", "command": command, "dir": top}


def test_other_files_of_these_names_are_fine(shell: Shell) -> None:
    """Python loads no text files, and nothing of a directory without a package."""
    names = (
        "types/index.d.ts",
        "types.txt",
        "collections/a.json",
        "src/functools.py",
        "io",
        "test/__init__.py",
    )
    document = "".join(f'<---WRITE file="{name}"--->\n{MODULE}<---END--->\n' for name in names)
    done = shell("--no-git", document=document + "<---RUN--->\nmv src operator\n<---END--->\n")
    assert (done.returncode, done.stdout.count("SUCCESS")) == (0, len(names) + 1), done.stdout
    written = run(shell, (SCRIPT, "--no-git"), '<---WRITE file="types.py"--->\nx = 1\n<---END--->\n')
    assert "SUCCESS" in written


def test_nor_in_a_workspace_elsewhere_that_the_path_names(shell: Shell, tmp_path: Path) -> None:
    """Python itself would load its own early modules from there; what is loaded late is not."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "link").symlink_to(place)
    for path in (place, place / "link", place / "sub"):
        argv = (SCRIPT, "--no-git", f"--workspace={place}")
        assert "LOADED" not in run(shell, argv, WRITTEN + READ, PYTHONPATH=str(path))
        assert (place / "tomllib.py").exists()
        (place / "tomllib.py").unlink()
        for name in LATE:
            (place / f"{name}.py").unlink(missing_ok=True)


def test_an_installation_inside_the_workspace_still_works(shell: Shell) -> None:
    """A virtual environment in the project is usual; its libraries stay, its programs' folder does not."""
    source = Path(__file__).parents[2] / "src"
    shutil.copytree(source / "clada", shell.workspace / "lib" / "clada")
    printed = run(shell, (sys.executable, "-m", "clada", "--version"), "", PYTHONPATH="lib")
    assert printed.startswith("clada ")
    shell.write("lib/select.py", MODULE)
    path = str(shell.workspace / "lib")
    printed = run(shell, (sys.executable, "-S", "-m", "clada", "--no-git"), READ, PYTHONPATH=path)
    assert "[task-1:exec] lib" in printed
    assert "LOADED" not in printed


def test_a_directory_that_is_gone_is_no_trouble(shell: Shell) -> None:
    """What can be no workspace is told as always."""
    gone = shell.workspace / "gone"
    gone.mkdir()
    line = f"cd {gone} && rmdir {gone} && {sys.executable} -P -m clada --version"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
