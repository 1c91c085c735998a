"""Confined commands cannot hurt anything outside the workspace: a hostile program, and honest tools."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.handles import few_handles, open_handles
from tests.programs import needs, skip_without
from tests.waiting import PATIENCE, eventually

from clada.errors import CladaError
from clada.values import Value
from clada.world.handles import remove_tree
from clada.world.processes.run import Launcher, ProcessResult, RunOptions, run, search_path
from clada.world.sandbox import bwrap, landlock, mounts
from clada.world.sandbox import layers as confinement
from clada.world.sandbox.guard import Guard
from clada.world.sandbox.hints import failure_hint
from clada.world.sandbox.landlock import ReadOnly, has_landlock
from clada.world.sandbox.layers import Confinement, confined_launcher

if TYPE_CHECKING:
    from collections.abc import Iterator

ESCAPES = Path(__file__).with_name("sandbox_escapes.py")
DOCS = Path(__file__).parents[2] / "docs" / "sandbox-tests.md"
ROOT = os.geteuid() == 0
MOUNTED = ("bubblewrap", "namespace")
EVERY = (*MOUNTED, "landlock")
PYTHON = os.path.realpath(sys.executable)
_SCOPES = 6  # the version of Landlock that keeps signals in


WORKS = {
    "bubblewrap": confinement.has_bubblewrap,
    "namespace": confinement.has_namespaces,
    "landlock": has_landlock,
}


def layer_mark(layer: str) -> pytest.MarkDecorator:
    """Skip what needs a layer, saying so, where it is missing."""
    there = WORKS[layer]()
    return pytest.mark.skipif(not there, reason=f"{layer} does not work on this machine")


_LAYERS = [pytest.param(name, marks=layer_mark(name)) for name in EVERY]
layers = pytest.mark.parametrize("layer", _LAYERS)
# One is enough where test_sandbox_projects.py has the same of a real project in each of them.
layers_or_one = pytest.mark.parametrize("layer", _LAYERS[:1])
only_landlock = layer_mark("landlock")
only_bubblewrap = layer_mark("bubblewrap")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Make a workspace with `.git` and `.clada`, and a home and other files outside of it."""
    base = tempfile.mkdtemp(prefix="clada-test-", dir="/var/tmp")  # /tmp itself is private in bubblewrap
    place = Place(os.path.realpath(base))
    monkeypatch.setenv("HOME", place.path("home"))
    for folder in (
        "workspace/.git/hooks",
        "workspace/.git/refs/heads",
        "workspace/.clada",
        "outside",
        "home/.ssh",
    ):
        os.makedirs(place.path(folder))
    for file in ("workspace/.git/config", "workspace/.git/HEAD", "workspace/.git/refs/heads/main"):
        Path(place.path(file)).write_text("original\n")
    for file in (
        "workspace/.git/index",
        "workspace/.clada/allowed-commands.json",
        "outside/file",
        "home/.bashrc",
    ):
        Path(place.path(file)).write_text("original\n")
    Path(place.path("home/.ssh/id_rsa")).write_text("secret\n")
    yield place
    subprocess.run(["chmod", "-R", "u+rwX", base], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", base], check=True)


class Place(Value):
    """A folder with everything that one test is about."""

    base: str

    def path(self, name: str) -> str:
        """Return the path of something in it."""
        return f"{self.base}/{name}"

    @property
    def workspace(self) -> str:
        """Return the workspace."""
        return self.path("workspace")

    def run(
        self,
        *argv: str,
        layer: str,
        environment: dict[str, str] | None = None,
        timeout: float = 60.0,
        **options: Any,
    ) -> Result:
        """Run a command in the workspace under a layer."""
        lines: list[str] = []
        handle = os.open(self.workspace, os.O_RDONLY | os.O_DIRECTORY)
        options = {"workspace": self.workspace} | options
        given = os.environ | (environment or {})
        try:
            ended = run(
                argv,
                Launcher(given)
                if layer == "none"
                else confined_launcher(Confinement(layer, **options), given),
                RunOptions(directory=handle, timeout=timeout, emit=lines.extend, path=search_path(given)),
            )
        finally:
            os.close(handle)
        return Result(ended, lines)

    def state(self) -> dict[str, object]:
        """Return everything there is, but for what the workspace holds besides `.git` and `.clada`."""
        found: dict[str, object] = {}
        for folder, _, files in os.walk(self.base):
            inside = folder.removeprefix(self.base)
            if inside.startswith("/workspace") and not inside.startswith(
                ("/workspace/.git", "/workspace/.clada")
            ):
                continue
            for name in files:
                path = os.path.join(folder, name)
                facts = os.lstat(path)
                if not os.path.islink(path) and os.path.isfile(path):
                    found[path] = (facts.st_mode, facts.st_mtime_ns, Path(path).read_bytes())
            found[folder] = os.lstat(folder).st_mode
        return found


class Result(Value):
    """How a command ended and what it printed."""

    ended: ProcessResult
    lines: list[str]


# What is tried, what stops it, and what it takes for the attempt to work without a sandbox ("" nothing).
# docs/sandbox-tests.md has the same table, and a test compares them.
TABLE: dict[str, tuple[tuple[str, ...], str]] = {
    "write_outside": (EVERY, ""),
    "append_outside": (EVERY, ""),
    "truncate_outside": (EVERY, ""),
    "remove_outside": (EVERY, ""),
    "rename_into_workspace": (EVERY, ""),
    "make_folder_outside": (EVERY, ""),
    "hard_link_and_write": (EVERY, ""),
    "write_through_symbolic_link": (EVERY, ""),
    "write_home": (EVERY, ""),
    "read_credentials": (EVERY, ""),
    "write_shared_temporary_folder": (EVERY, ""),
    "write_shared_memory": (EVERY, ""),
    "chmod_outside": (MOUNTED, ""),
    "utime_outside": (MOUNTED, ""),
    "write_git_config": (EVERY, ""),
    "plant_hook": (EVERY, ""),
    "move_reference": (EVERY, ""),
    "write_index": (EVERY, ""),
    "replace_git_folder": (EVERY, ""),
    "approve_command": (EVERY, ""),
    "remove_approvals": (EVERY, ""),
    "unmount": (EVERY, "a mount"),
    "mount": (EVERY, "a mount"),
    "new_user_namespace": (EVERY, "a kernel that lets"),
    "use_capabilities": (EVERY, "root"),
    "gain_by_setuid_program": (EVERY, ""),
    "make_disk_device": (EVERY, "root"),
    "change_kernel_setting": (EVERY, "root"),
    "trace_outside_process": (EVERY, "root"),
    "read_outside_process": (EVERY, ""),
    "signal_outside_process": (EVERY, ""),
    "kill_supervisor": (EVERY, ""),
    "connect_to_loopback": (EVERY, ""),
    "send_datagram": (EVERY, ""),
    "connect_to_path_socket": (EVERY, ""),
    "connect_to_abstract_socket": (EVERY, ""),
    "use_inherited_handle": (EVERY, "a careless program"),
    "survive": (EVERY, "no supervisor"),
}
SIGNALS = ("signal_outside_process", "kill_supervisor")


class World(Value):
    """What is outside: a process, servers, and what they are called."""

    environment: dict[str, str]
    victim: subprocess.Popen[bytes]
    datagrams: socket.socket

    @property
    def was_reached(self) -> bool:
        """Return whether a datagram came in, or the process outside is gone."""
        try:
            return bool(self.datagrams.recv(9)) or True
        except BlockingIOError:
            return self.victim.poll() is not None


@pytest.fixture
def world(place: Place) -> Iterator[World]:
    """Start what a hostile program would like to get at."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        abstract = f"clada-{os.getpid()}-{os.path.basename(place.base)}"
        for address in (place.path("outside/socket"), "\0" + abstract):
            unix = stack.enter_context(socket.socket(socket.AF_UNIX))
            unix.bind(address)
            unix.listen()
        victim = subprocess.Popen(["sleep", "99"], env=os.environ | {"CONFIDENTIAL": "1"})
        shared = [f"{folder}/{abstract}" for folder in ("/tmp", "/dev/shm")]
        try:
            yield World(
                {
                    "OUTSIDE": place.path("outside"),
                    "VICTIM": str(victim.pid),
                    "PORT": str(listener.getsockname()[1]),
                    "DATAGRAMS": str(datagrams.getsockname()[1]),
                    "ABSTRACT": abstract,
                    "SHARED": shared[0],
                    "MEMORY": shared[1],
                    "MARK": f"98765{os.getpid()}",
                },
                victim,
                datagrams,
            )
        finally:
            victim.kill()
            victim.wait()
            for path in filter(os.path.exists, shared):
                os.unlink(path)


@contextlib.contextmanager
def second_thread() -> Iterator[None]:
    """Make this process one with threads."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def is_running(mark: str) -> bool:
    """Return whether a `sleep` of that many seconds is running."""
    skip_without("pgrep")
    return subprocess.run(["pgrep", "-f", f"sleep {mark}"], check=False, capture_output=True).returncode == 0


def escapes(name: str, layer: str, place: Place, world: World, **options: Any) -> bool:
    """Return whether the attempt worked: by its own word, or by anything that is different outside."""
    before = place.state()
    shutil.copy(ESCAPES, place.workspace)
    words = (PYTHON, "-I", "-S", ESCAPES.name, name)
    try:
        result = place.run(*words, layer=layer, environment=world.environment, **options)
        said = result.ended.exit_code == 0
    except CladaError as trouble:
        said = "which was undone" not in str(trouble)
    if name == "survive":
        return is_running(world.environment["MARK"])
    if name == "send_datagram":
        return world.was_reached
    if name == "write_home":  # each command has a home of its own
        return place.state() != before
    if name.startswith("write_shared"):
        return os.path.exists(world.environment["SHARED"]) or os.path.exists(world.environment["MEMORY"])
    return said or place.state() != before or world.was_reached


@pytest.mark.sample(60)
@layers
@pytest.mark.parametrize("name", TABLE)
def test_escape(name: str, layer: str, place: Place, world: World) -> None:
    """Each attempt is stopped by the layers that the table says, and by no other."""
    if layer == "landlock" and name in SIGNALS and landlock.version() < _SCOPES:
        pytest.skip("Landlock keeps signals in since Linux 6.12")
    assert escapes(name, layer, place, world) == (layer not in TABLE[name][0])


@pytest.mark.sample(16)
@pytest.mark.skipif(not ROOT, reason="a hostile program can do less as an ordinary user")
@pytest.mark.parametrize("name", [name for name, (_, needs) in TABLE.items() if needs in {"", "root"}])
def test_escape_without_a_sandbox(name: str, place: Place, world: World) -> None:
    """The attempts are real: without a sandbox they work."""
    assert escapes(name, "none", place, world)


@layers
@pytest.mark.parametrize("name", ["connect_to_abstract_socket", "connect_to_path_socket", "write_outside"])
def test_network_opens_nothing_else(name: str, layer: str, place: Place, world: World) -> None:
    """A command with network still has no sockets of the desktop's services, and writes nowhere else."""
    assert not escapes(name, layer, place, world, network=True)


@layers
def test_network_when_it_is_approved(layer: str, place: Place, world: World) -> None:
    """A command that is approved with network has it."""
    assert escapes("connect_to_loopback", layer, place, world, network=True)


def test_the_documented_table() -> None:
    """The table in the docs says for each attempt what stops it, as tested here."""
    assert {stops for stops, _needs in TABLE.values()} <= {MOUNTED, EVERY}  # which makes one column of both
    lines = [line.split("|") for line in DOCS.read_text().splitlines() if "stopped |" in line]
    documented = {
        attempt: tuple(word.strip() for word in line[3:5])
        for line in lines
        for attempt in re.findall(r"`(\w+)`", line[2])
    }
    expected = {
        name: tuple("stopped" if layer in stops else "**open**" for layer in ("bubblewrap", "landlock"))
        for name, (stops, _) in TABLE.items()
    }
    assert {
        name: tuple(word.replace("undone", "stopped") for word in row) for name, row in documented.items()
    } == expected


# --- what honest commands need ---


@layers
def test_a_command_works_in_the_workspace(layer: str, place: Place) -> None:
    """A command reads the system, and writes in the workspace and in its temporary directory."""
    script = (
        "echo a > made && mkdir d && mv made d/ && cat /etc/passwd > copy && echo x > $(mktemp) && pwd -P"
    )
    result = place.run("sh", "-c", script, layer=layer)
    assert (result.ended.exit_code, result.lines) == (0, [place.workspace])
    assert Path(place.path("workspace/d/made")).read_text() == "a\n"


@layers
def test_the_temporary_folder_is_gone_afterwards(layer: str, place: Place) -> None:
    """What a command leaves in its temporary directory is not left behind."""
    result = place.run("sh", "-c", "mktemp; mktemp -d; echo ${TMPDIR-none}", layer=layer)
    assert len(result.lines) == 3
    assert [path for path in result.lines if os.path.exists(path)] == []


@layers
def test_extra_folders(layer: str, place: Place) -> None:
    """A folder named in the configuration can be written, or read where it would be hidden."""
    script = f"echo x > {place.path('outside')}/new && cat ~/.ssh/id_rsa"
    options: dict[str, Any] = {"write": (place.path("outside"), place.path("missing")), "read": ("~/.ssh",)}
    result = place.run("sh", "-c", script, layer=layer, **options)
    assert (result.ended.exit_code, result.lines) == (0, ["secret"])


SECRET_VARIABLES = """
    MY_TOKEN GITHUBTOKEN AWS_REGION AWS_SECRET_ACCESS_KEY AZURE_X DEPLOY_KEY api_key PGPASSWORD MYSQL_PWD
    DB_PASS SECRETKEY MYPRIVATEKEY S3_ACCESSKEY SSHPASS MYSQL_PW DB_PWD
    NPM_CONFIG__AUTH npm_config_authToken SENTRY_DSN DATABASE_URL SSH_AUTH_SOCK DOCKER_HOST
    DBUS_SESSION_BUS_ADDRESS GOOGLE_APPLICATION_CREDENTIALS GIT_CONFIG_VALUE_7 GIT_CONFIG_PARAMETERS
    SESSION_COOKIE
""".split()
OTHER_VARIABLES = """
    KEYBOARD TOKENIZERS_PARALLELISM MONKEY PASSAGE AUTHOR PATTERN CI LANG PYTHONPATH NODE_ENV KEYTIMEOUT
""".split()


@layers
def test_variables_that_look_like_secrets(layer: str, place: Place) -> None:
    """They are not passed on, but for those that the person's configuration keeps; more can be hidden."""
    variables = dict.fromkeys([*SECRET_VARIABLES, *OTHER_VARIABLES, "MINE_1", "KEPT_TOKEN"], "clada-test")
    variables |= {"PROXY": "http://name:clada-test@host:8080", "HOST": "http://host:80/a:b@clada-test"}
    result = place.run("env", layer=layer, environment=variables, hide=("MINE_*",), keep=("KEPT_*",))
    seen = {line.partition("=")[0] for line in result.lines if "clada-test" in line}
    assert seen == {*OTHER_VARIABLES, "HOST", "KEPT_TOKEN"} | ({"HOME", "PWD"} & seen)


@layers
def test_a_variable_that_a_command_lacked(layer: str, place: Place) -> None:
    """A failure that names a variable which was not passed on says how to pass it."""
    script = "echo 'error: MY_TOKEN is not set'; exit 1"
    hint = place.run("sh", "-c", script, layer=layer, environment={"MY_TOKEN": "1"}).ended.hint
    assert hint == "MY_TOKEN looks like a secret and was not passed on (sandbox_env_keep passes it)"


@layers
def test_exit_codes_and_missing_programs(layer: str, place: Place) -> None:
    """Exit codes and programs that cannot be started are told as without a sandbox."""
    assert place.run("sh", "-c", "exit 7", layer=layer).ended == ProcessResult(7)
    assert place.run("sh", "-c", "kill -9 $$", layer=layer).ended.exit_code == 137
    for program, message in (
        ("./missing", "does not exist"),
        ("no-such", "is not installed"),
        ("./x", "executable"),
    ):
        Path(place.path("workspace/x")).write_text("x")
        with pytest.raises(CladaError, match=message) as caught:
            place.run(program, layer=layer)
        assert caught.value.error.type == "exec_failed"


@layers
@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 'curl: (6) Could not resolve host: example.com'; exit 6",
            "ran without network: approve it with network",
        ),
        (
            "echo x > /usr/clada-test",
            "only the workspace and the temporary directory can be written (sandbox_write names more)",
        ),
        ("echo 'npm error code ENOTFOUND'; exit 1", "ran without network: approve it with network"),
        ("echo 'ModuleNotFoundError: No module named x'; exit 1", None),
        ("exit 1", None),
    ],
)
def test_what_a_failed_command_lacked(layer: str, script: str, message: str | None, place: Place) -> None:
    """A command that failed for its confinement says what it lacked."""
    assert place.run("sh", "-c", script, layer=layer).ended.hint == message


@only_bubblewrap
def test_git_is_read_only(place: Place) -> None:
    """Writing `.git` in bubblewrap fails at once, and says why."""
    assert (
        place.run("sh", "-c", "echo x > .git/config", layer="bubblewrap").ended.hint
        == "the sandbox keeps .git read-only (commit yourself, or use --sandbox=off)"
    )


def test_a_command_that_succeeded_lacked_nothing() -> None:
    """What would be a sign of missing network is none where there was network."""
    assert failure_hint(Confinement("landlock", "/", network=True), ["Could not resolve host: x"]) is None


@only_landlock
def test_git_status_changes_nothing(place: Place) -> None:
    """Git commands that only look do not count as changes of `.git`."""
    shutil.rmtree(place.path("workspace/.git"))
    Path(place.path("workspace/file")).write_text("x")
    for words in (["init", "-q"], ["add", "file"]):
        subprocess.run(["git", *words], cwd=place.workspace, check=True)
    os.utime(place.path("workspace/file"), (1, 1))
    result = place.run("sh", "-c", "git status --short && git diff --stat", layer="landlock")
    assert result.ended.exit_code == 0, result.lines


@only_landlock
@pytest.mark.parametrize("program", ["socket.socket()", "socket.create_server(('', 0))"])
def test_a_socket_that_was_refused(program: str, place: Place) -> None:
    """Under Landlock even a local server lacks the network, and that is said."""
    result = place.run(PYTHON, "-I", "-S", "-c", f"import socket; {program}", layer="landlock")
    assert result.ended.hint == "ran without network: approve it with network"


def in_time(place: Place, script: str, layer: str, seconds: float) -> Result:
    """Run a script with this limit; with more, where the machine was too busy for it to print anything."""
    result = place.run("sh", "-c", script, layer=layer, timeout=seconds)
    return result if result.lines or seconds > PATIENCE else in_time(place, script, layer, 8 * seconds)


@layers
def test_a_command_that_takes_too_long(layer: str, place: Place) -> None:
    """A confined command is asked to end at its time limit, and its last words are heard."""
    script = "trap 'echo bye; exit 9' TERM; echo hi; sleep 99 & wait"
    result = in_time(place, script, layer, 1.0)
    assert (result.ended, result.lines) == (ProcessResult(9, timed_out=True), ["hi", "bye"])


@layers
def test_a_deaf_command_that_takes_too_long(layer: str, place: Place) -> None:
    """A confined command that ignores being asked is killed, with all that it started."""
    mark = f"9876{os.getpid()}"
    script = f"trap '' TERM; setsid sleep {mark} & echo hi; sleep {mark}; sleep {mark}"
    assert in_time(place, script, layer, 0.5).ended == ProcessResult(137, timed_out=True)
    assert not is_running(mark)


@layers
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
def test_clada_killed_while_a_confined_command_runs(layer: str, threads: bool, place: Place) -> None:
    """When clada is killed with SIGKILL, everything in the sandbox dies too, temporary files included."""
    mark = f"9877{os.getpid()}"
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(confinement.__file__).parents[2])!r})
from clada.world.sandbox.layers import Confinement, confined_launcher
from clada.world.processes.run import RunOptions, run
if {threads}:
    import threading, time
    threading.Thread(target=time.sleep, args=(99,)).start()
run(["sh", "-c", "trap '' TERM; mktemp > /dev/null; setsid sleep {mark} & echo started; sleep {mark}"],
    confined_launcher(Confinement({layer!r}, {place.workspace!r}), os.environ),
    RunOptions(os.open({place.workspace!r}, 0), None, lambda lines: print(*lines, flush=True)))
"""
    outside = os.environ | {"TMPDIR": place.path("outside")}
    clada = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=outside)
    assert clada.stdout
    assert clada.stdout.readline() == b"started\n"
    clada.kill()
    clada.wait()
    clada.stdout.close()
    assert eventually(lambda: not is_running(mark))
    # Its temporary directory is gone.
    assert eventually(lambda: os.listdir(place.path("outside")) == ["file"])


@layers
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
def test_how_a_command_ends_is_told_in_any_host(layer: str, threads: bool, place: Place) -> None:
    """Its exit code, the signal that killed it, that it took too long, and that there is no such program."""
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(confinement.__file__).parents[2])!r})
from clada.errors import CladaError
from clada.world.sandbox.layers import Confinement, confined_launcher
from clada.world.processes.run import RunOptions, run
if {threads}:
    import threading, time
    threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
scripts = ("exit 7", "kill -9 $$", "trap '' TERM; sleep 9; sleep 9")
for argv in (*(["sh", "-c", script] for script in scripts), ["./no-interpreter"]):
    try:
        ended = run(argv, confined_launcher(Confinement({layer!r}, {place.workspace!r}), os.environ),
                    RunOptions(os.open({place.workspace!r}, 0), 0.5 if "trap" in argv[-1] else 20, print))
        print(ended.exit_code, ended.timed_out)
    except CladaError as trouble:
        print(trouble.error.type)
"""
    script = Path(place.path("workspace/no-interpreter"))
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == ["7 False", "137 False", "137 True", "exec_failed"]


@layers
@pytest.mark.parametrize("name", [".git", ".clada"])
def test_what_is_protected_cannot_be_planted(layer: str, name: str, place: Place) -> None:
    """A `.git` or `.clada` that was not there cannot be made by a command."""
    shutil.rmtree(place.path(f"workspace/{name}"))
    with pytest.raises(
        CladaError, match=f"the command changed {name}, {name}/config, which was undone"
    ) as caught:
        place.run("sh", "-c", f"mkdir {name} && echo x > {name}/config", layer=layer)
    assert caught.value.error.type == "permission_denied"
    assert not os.path.exists(place.path(f"workspace/{name}"))


@pytest.mark.sample(2)
@layers
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
def test_a_sandbox_that_cannot_be_set_up_runs_nothing(layer: str, threads: bool, place: Place) -> None:
    """Where the sandbox fails to start, the command does not run, and that is said."""
    impossible = place.path("outside/file/x")
    hosted = second_thread() if threads else contextlib.nullcontext()
    with hosted, pytest.raises(CladaError, match="the sandbox could not be set up") as caught:
        place.run("sh", "-c", "echo x > made", layer=layer, write=(impossible,))
    assert caught.value.error.type == "command_not_allowed"
    assert not os.path.exists(place.path("workspace/made"))


@only_landlock
def test_a_set_up_that_fails_halfway_leaves_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """No handle stays open and no folder stays behind when a sandbox cannot be prepared."""
    monkeypatch.setenv("TMPDIR", place.path("outside"))
    wanted = Confinement("landlock", place.workspace)
    before = open_handles(), place.state()
    launcher = confined_launcher(wanted, {})
    with (
        few_handles(3),
        pytest.raises(CladaError, match="the sandbox could not be set up: Too many open files"),
    ):
        launcher.prepare()
    launcher.close()
    assert (open_handles(), place.state()) == before
    monkeypatch.setenv("TMPDIR", "/proc")  # where no folder can be made
    with pytest.raises(CladaError, match="the sandbox could not be set up"):
        confined_launcher(wanted, {})
    assert (open_handles(), place.state()) == before


@pytest.mark.sample(2)
@layers
@pytest.mark.parametrize(("word", "length", "message"), [("\0", 1, "NUL"), ("x", 10_000_000, "too long")])
def test_a_start_that_fails_leaves_nothing_open(
    layer: str, word: str, length: int, message: str, place: Place
) -> None:
    """Words that the system cannot take are refused, in words for people, and no handle stays open."""
    before = open_handles()
    with pytest.raises(CladaError, match=message) as caught:
        place.run("true", word * length, layer=layer)
    assert "Errno" not in str(caught.value)
    assert open_handles() == before


@only_bubblewrap
def test_sockets_that_come_and_go(place: Place) -> None:
    """A socket outside that vanishes while a sandbox is set up does not keep the command from running."""
    churn = subprocess.Popen([PYTHON, "-I", "-S", "-c", COME_AND_GO, place.path("outside")])
    try:
        results = [place.run("echo", "hi", layer="bubblewrap") for _ in range(20)]
    finally:
        churn.kill()
        churn.wait()
    assert [(result.ended.exit_code, result.lines) for result in results] == [(0, ["hi"])] * 20


COME_AND_GO = """
import itertools, os, socket, sys, time
for number in itertools.count():
    folder = f"{sys.argv[1]}/{number}"
    os.mkdir(folder)
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"{folder}/socket")
        service.listen()
        time.sleep(0.04)
    os.unlink(f"{folder}/socket")
    os.rmdir(folder)
"""


@only_bubblewrap
def test_a_command_that_speaks_as_bubblewrap(place: Place) -> None:
    """A line that looks like bubblewrap's own is passed on where the command printed it."""
    for script, lines in (
        ("echo bwrap: x", ["bwrap: x"]),
        ("echo bwrap: x; echo y; exit 1", ["bwrap: x", "y"]),
    ):
        assert place.run("sh", "-c", script, layer="bubblewrap").lines == lines


def test_the_best_layer_that_works() -> None:
    """Bubblewrap is preferred to namespaces of our own, these to Landlock, and Landlock to nothing."""
    working = [layer for layer, works in WORKS.items() if works()]
    assert confinement.available() == [*working, "none"][0]


def test_why_bubblewrap_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What keeps bubblewrap from working is known, for a person to be told."""
    monkeypatch.setattr(bwrap, "_SANDBOX", ["--no-such-option"])
    assert bwrap.problem() in {"not installed", "Unknown option --no-such-option"}


@only_bubblewrap
@pytest.mark.parametrize("vanishes", [True, False])
def test_what_is_gone_when_it_is_to_be_hidden(vanishes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that ends while bubblewrap is tried says nothing about bubblewrap; what stays does."""
    real, gone = mounts.system_paths_to_hide, ["/usr/no-such-folder/x.sock"]

    def closed_places(listening: list[str]) -> list[str]:
        now = gone[:]
        if vanishes:
            gone.clear()
        return [*real(listening), *now]

    monkeypatch.setattr(mounts, "system_paths_to_hide", closed_places)
    assert (bwrap.problem() is None) == vanishes


@layers
def test_a_host_with_threads(layer: str, place: Place) -> None:
    """Confinement is the same in a host with threads, which is not forked."""
    results: list[Result] = []
    script = "echo x > ../outside/file; echo x > made; cat made"
    work = threading.Thread(target=lambda: results.append(place.run("sh", "-c", script, layer=layer)))
    work.start()
    work.join()
    assert results[0].lines[-1] == "x"
    assert Path(place.path("outside/file")).read_text() == "original\n"


@layers
def test_the_whole_file_system_is_no_workspace(layer: str) -> None:
    """A workspace that is the whole file system cannot be confined, and that is said."""
    with pytest.raises(CladaError, match="the whole file system"):
        confined_launcher(Confinement(layer, "/"), {})


@layers
def test_a_workspace_behind_a_link(layer: str, place: Place) -> None:
    """A workspace named through a symbolic link is the folder that it leads to."""
    os.symlink(place.workspace, place.path("link"))
    words = ("sh", "-c", "echo x > made; cat made .git/config")
    assert place.run(*words, layer=layer, workspace=place.path("link")).lines == ["x", "original"]


@only_landlock
@pytest.mark.parametrize(
    ("words", "works"),
    [
        (["cat", "kept"], True),
        (["ls", "-la", "."], True),
        (["grep", "-r", "original", "."], True),
        (["touch", "new"], False),
        (["tee", "kept"], False),
        pytest.param(["xxd", "kept", "new"], False, marks=needs("xxd")),
    ],
)
def test_readers_read_only(words: list[str], works: bool, place: Place) -> None:
    """An allowed reader under Landlock reads, and can write nothing, in the workspace either."""
    Path(place.path("workspace/kept")).write_text("original\n")
    before = place.state()
    handle = os.open(place.workspace, os.O_RDONLY)
    lines: list[str] = []
    try:
        launcher = confined_launcher(ReadOnly(), os.environ)
        ended = run(words, launcher, RunOptions(directory=handle, timeout=PATIENCE, emit=lines.extend))
    finally:
        os.close(handle)
    assert (ended.exit_code == 0) is works, lines
    assert place.state() == before
    assert Path(place.path("workspace/kept")).read_text() == "original\n"
    assert not os.path.exists(place.path("workspace/new"))


# --- putting back ---


# Deeper than functions can call each other, and with a path longer than the system takes.
DIG = 'import os\nfor _ in range(1100): os.mkdir("deep"); os.chdir("deep")'
# Each is a shell command in the workspace.
CHANGES = {
    "content": "echo changed > .git/config",
    "new file": "echo changed > .git/hooks/post-merge",
    "new folder": "mkdir -p .git/modules/x",
    "removed file": "rm .git/HEAD",
    "removed folder": "rm -r .git/refs",
    "mode": "chmod 777 .git/config",
    "link instead": "ln -sf /etc/passwd .git/config",
    "folder instead": "rm .git/config; mkdir -p .git/config/a/b",
    "file instead": "rm -r .git/hooks; echo x > .git/hooks",
    "moved deep": "mkdir -p a/b; mv .git a/b/c",
    "moved and replaced": "mv .clada c; mkdir .clada; echo x > .clada/allowed-commands.json",
    "all gone": "rm -r .git .clada",
    "no rights": "chmod 000 .git/hooks .clada; chmod 000 .git",
    "too deep to remove": f"{PYTHON} -c '{DIG}'; mv deep .git/deep",
    "times set back": "touch -r .git/HEAD t; echo changed0 > .git/HEAD; touch -r t .git/HEAD",
}


@pytest.mark.parametrize("change", CHANGES)
def test_put_back(change: str, place: Place) -> None:
    """Any change of what is protected is noticed and undone, modes and times included."""
    before = place.state()
    guard = Guard(place.workspace)
    subprocess.run(["sh", "-c", CHANGES[change]], cwd=place.workspace, check=True)
    assert guard.restore()
    assert place.state() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("echo x > .git/large; echo x > .git/config", r"^\.git/large could not be put back: its content"),
        ("rm -r ../workspace", r"^\.clada, .* could not be put back: "),
    ],
)
def test_what_cannot_be_put_back(change: str, message: str, place: Place) -> None:
    """A change that cannot be undone is said to be so, and all others are undone; no handle stays open."""
    before = open_handles()
    with open(place.path("workspace/.git/large"), "wb") as large:
        large.truncate(300 << 20)
    guard = Guard(place.workspace)
    subprocess.run(["sh", "-c", change], cwd=place.workspace, check=True)
    with pytest.raises(CladaError, match=message) as caught:
        guard.restore()
    assert caught.value.error.type == "permission_denied"
    assert open_handles() == before
    if os.path.exists(place.workspace):
        assert Path(place.path("workspace/.git/config")).read_text() == "original\n"


@pytest.mark.slow
def test_a_guard_without_handles(place: Place) -> None:
    """Where the system has no more handles, what is protected is not taken for missing."""
    for left in range(4):
        before = open_handles()
        with few_handles(left), pytest.raises(OSError, match="Too many open files"):
            Guard(place.workspace)
        assert open_handles() == before


def test_folders_of_any_depth_and_mode_are_removed(place: Place) -> None:
    """What a command leaves is removed, at any depth and with any rights; links are not followed."""
    script = (
        f"{PYTHON} -c '{DIG}'; mkdir -p a/b/c; touch a/b/f; ln -s ../../outside a/b/l; chmod 0 a/b/c a/b a"
    )
    subprocess.run(["sh", "-c", script], cwd=place.workspace, check=True)
    handle = os.open(place.workspace, os.O_RDONLY)
    try:
        for name in ("a", "deep", "missing"):
            remove_tree(name, handle)
        assert sorted(os.listdir(handle)) == [".clada", ".git"]
    finally:
        os.close(handle)
    assert os.path.exists(place.path("outside/file"))


@only_bubblewrap
def test_a_link_in_place_of_git(place: Place) -> None:
    """A `.git` that is a link, which no mount can protect, is put back as it was."""
    os.rename(place.path("workspace/.git"), place.path("outside/git"))
    os.symlink(place.path("outside/git"), place.path("workspace/.git"))
    with pytest.raises(CladaError, match=r"changed \.git, which was undone"):
        place.run("sh", "-c", "rm .git && ln -s /elsewhere .git", layer="bubblewrap")
    assert os.readlink(place.path("workspace/.git")) == place.path("outside/git")


def test_objects_and_logs_may_not_come(place: Place) -> None:
    """New objects are removed, since git does not look whether their names are right; so are new logs."""
    os.makedirs(place.path("workspace/.git/objects/aa"))
    os.makedirs(place.path("workspace/.git/logs"))
    guard = Guard(place.workspace)
    names = [".git/logs/x", ".git/objects/aa/bb"]
    for name in names:
        Path(place.path(f"workspace/{name}")).write_text("x")
    assert guard.restore() == names
    assert not any(os.path.exists(place.path(f"workspace/{name}")) for name in names)


# --- real tools ---

PREFIXES = (sys.prefix, sys.base_prefix)  # in case they are below /tmp
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(folder + "/thing-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing.py", "WORKS = 'installed'")
        wheel.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1\\n")
        wheel.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        wheel.writestr("thing-1.dist-info/RECORD", "")
    return "thing-1-py3-none-any.whl"
"""


@layers
def test_make(layer: str, place: Place) -> None:
    """`make` builds."""
    Path(place.path("workspace/Makefile")).write_text("all: out\nout:\n\techo built > out && cat out\n")
    assert "built" in place.run("make", layer=layer).lines


@layers_or_one
def test_pytest(layer: str, place: Place) -> None:
    """`pytest` runs tests, temporary directories included."""
    Path(place.path("workspace/test_it.py")).write_text(
        "def test_it(tmp_path):\n    (tmp_path / 'x').write_text('x')\n"
    )
    result = place.run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", layer=layer, read=PREFIXES
    )
    assert any("1 passed" in line for line in result.lines), result.lines


@pytest.mark.sample(1)
@layers
def test_pip_install_from_a_folder(layer: str, place: Place) -> None:
    """`pip install` installs a local package into a folder of the workspace, without network."""
    Path(place.path("workspace/pyproject.toml")).write_text(PROJECT)
    Path(place.path("workspace/backend.py")).write_text(BACKEND)
    words = "-m pip install --no-index --no-deps --target here .".split()
    result = place.run(sys.executable, *words, layer=layer, read=PREFIXES)
    assert result.ended.exit_code == 0, result.lines
    script = "import sys; sys.path.insert(0, 'here'); import thing; print(thing.WORKS)"
    assert place.run(sys.executable, "-c", script, layer=layer, read=PREFIXES).lines == ["installed"]


@layers_or_one
@needs("node", "npm")
def test_npm_test(layer: str, place: Place) -> None:
    """`npm test` runs its script."""
    Path(place.path("workspace/package.json")).write_text(
        '{"name": "x", "scripts": {"test": "node -e \\"console.log(6 * 7)\\""}}'
    )
    result = place.run("npm", "test", layer=layer)
    assert "42" in result.lines, result.lines
