"""A confined command sees an empty home with the programs of the real one, and no sockets of services."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.programs import needs
from tests.world.test_sandbox import Place, layers, only_bubblewrap, place

from clada.world.sandbox import mounts

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["place"]

# Where programs keep what gives access to other machines and accounts: far more than anybody can list.
CREDENTIALS = """
    .ssh/id_rsa .ssh/config .aws/credentials .azure/accessTokens.json .gnupg/private-keys-v1.d/k
    .kube/config .docker/config.json .password-store/x.gpg .terraform.d/credentials.tfrc.json
    .vault-token .netrc .pgpass .my.cnf .git-credentials .gitconfig .npmrc .pypirc .yarnrc.yml .yarnrc
    .bunfig.toml .cargo/credentials .cargo/credentials.toml .cargo/config.toml .gem/credentials
    .bundle/config .composer/auth.json .config/composer/auth.json .config/gh/hosts.yml .config/hub
    .config/glab-cli/config.yml .config/gcloud/credentials.db .config/git/credentials .config/op/config
    .config/rclone/rclone.conf .config/sops/age/keys.txt .config/containers/auth.json
    .config/google-chrome/Default/Cookies .mozilla/x/logins.json .config/doctl/config.yaml
    .config/heroku/x .config/netlify/config.json .config/configstore/firebase-tools.json
    .config/pypoetry/auth.toml .config/pip/pip.conf .pip/pip.conf .config/uv/uv.toml
    .local/share/keyrings/login.keyring .local/share/uv/credentials/x .m2/settings.xml
    .gradle/gradle.properties .nuget/NuGet/NuGet.Config .ivy2/.credentials .sbt/.credentials .s3cfg .boto
    .databricks.cfg .snowflake/config .oci/config .linode-cli .wrangler/config/default.toml
    .openai/auth.json .codex/auth.json .claude/x.json .huggingface/token .cache/huggingface/token
    .kaggle/kaggle.json .jupyter/jupyter_server_config.json .bash_history .zsh_history .python_history
    .node_repl_history .psql_history .bashrc .profile .env Documents/taxes.txt .pyenv/secret .nvm/.npmrc
    .rustup/tmp/x .rvm/user/db
""".split()


@layers
def test_nothing_else_of_the_home_can_be_read(layer: str, place: Place) -> None:
    """No file is there, under any name: by its path, by `~` or through a link."""
    for name in CREDENTIALS:
        path = Path(place.path(f"home/{name}"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("clada-secret\n")
    os.symlink(place.path("home"), place.path("workspace/link"))
    Path(place.path("workspace/names")).write_text("\n".join(CREDENTIALS) + "\n")
    script = f'while read n; do cat "$HOME/$n" ~/"$n" {place.path("home")}/"$n" link/"$n"; done < names; true'
    result = place.run("sh", "-c", script, layer=layer)
    assert [line for line in result.lines if "clada-secret" in line] == []
    assert len(result.lines) == 4 * len(CREDENTIALS)


@layers
def test_the_home_is_private(layer: str, place: Place) -> None:
    """A command can write its home, so that caches work; nothing of that is left."""
    before = place.state()
    result = place.run(
        "sh",
        "-c",
        "mkdir -p ~/.cache/x && echo kept > ~/.cache/x/y && cat ~/.cache/x/y && ls -A ~",
        layer=layer,
    )
    assert result.lines[:1] == ["kept"], result.lines
    assert ".ssh" not in result.lines
    assert place.state() == before


def tool(path: str, text: str) -> None:
    """Make a program."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text)
    os.chmod(path, 0o755)


@layers
def test_programs_of_the_home_work(layer: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Toolchains in the home are there, with what they need beside them; not the tokens beside them."""
    home = place.path("home")
    tool(
        f"{home}/.cargo/bin/cargo-like", '#!/bin/sh\nexec "$HOME/.rustup/toolchains/stable/bin/rustc-like"\n'
    )
    tool(
        f"{home}/.rustup/toolchains/stable/bin/rustc-like",
        "#!/bin/sh\necho built; cat ~/.cargo/credentials.toml\n",
    )
    Path(f"{home}/.cargo/credentials.toml").write_text("clada-secret\n")
    tool(f"{home}/.tool/bin/of-mine", '#!/bin/sh\ncat "$(dirname "$0")/../lib/data"; cat ~/.tool/token\n')
    os.makedirs(f"{home}/.tool/lib")
    Path(f"{home}/.tool/lib/data").write_text("data\n")
    Path(f"{home}/.tool/token").write_text("clada-secret\n")
    tool(f"{home}/apps/go/bin/go-like", '#!/bin/sh\ncat "$(dirname "$0")/../src/data"\n')
    os.makedirs(f"{home}/apps/go/src")
    os.makedirs(f"{home}/apps/go/pkg/tool")  # by which Go is known
    Path(f"{home}/apps/go/src/data").write_text("source\n")
    path = ":".join([f"{home}/.cargo/bin", f"{home}/.tool/bin", f"{home}/apps/go/bin", os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    lines = place.run("sh", "-c", "cargo-like; of-mine; go-like", layer=layer).lines
    assert [line for line in lines if not line.startswith("cat:")] == ["built", "data", "source"]
    assert place.run(f"{home}/apps/go/bin/go-like", layer=layer).lines == ["source"]


# Where PATH, or the program itself, leads in a home; and a secret near it.
NEAR_PROGRAMS = {
    ".config/tool/bin": ".config/tool/token",
    ".cache/tool/bin": ".cache/tool/token",
    "work/bin": "work/production.env",
    "work/tool/bin": "work/tool/share/token",
    ".local/bin": ".local/share/keyrings/login",
    "brew/bin": "brew/var/token",
    "scripts": None,
    "deep/in/project": "deep/in/project/.env",
}


@layers
def test_a_folder_of_programs_does_not_open_what_is_beside_it(
    layer: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders of programs in a home lie in folders with settings, caches and projects."""
    home = place.path("home")
    for folder, secret in NEAR_PROGRAMS.items():
        tool(f"{home}/{folder}/tool", f"#!/bin/sh\ncat {home}/{secret}; echo ran\n")
        if secret:
            os.makedirs(os.path.dirname(f"{home}/{secret}"), exist_ok=True)
            Path(f"{home}/{secret}").write_text("clada-secret\n")
    for folder in NEAR_PROGRAMS:
        if os.path.basename(folder) == "bin":
            monkeypatch.setenv("PATH", f"{home}/{folder}:{os.environ['PATH']}")
    for folder in NEAR_PROGRAMS:
        lines = place.run(f"{home}/{folder}/tool", layer=layer).lines
        assert "ran" in lines
        assert "clada-secret" not in lines, folder


@pytest.mark.parametrize(
    ("marker", "inside"),
    [
        ("conda-meta/x", "etc/x"),
        ("pyvenv.cfg", "share/x"),
        ("pkg/tool/x", "src/x"),
        ("lib/modules", "conf/x"),
    ],
)
def test_an_installation_in_a_home_is_open_as_a_whole(tmp_path: Path, marker: str, inside: str) -> None:
    """It is known by something that nothing else has."""
    for name in ("bin/program", marker, inside):
        tool(f"{tmp_path}/apps/it/{name}", "")
    opened = mounts._prefix(f"{tmp_path}/apps/it/bin", str(tmp_path))
    assert list(opened) == [f"{tmp_path}/apps/it"]


@layers
def test_a_workspace_in_the_home(layer: str, place: Place) -> None:
    """The usual place of a workspace is in the home: it is there, and its neighbours are not."""
    workspace = place.path("home/project")
    os.rename(place.workspace, workspace)
    Path(place.path("home/neighbour")).write_text("clada-secret\n")
    os.symlink(workspace, place.workspace)
    script = f"echo x > made && cat {workspace}/made && cat ~/project/made && cat ../neighbour"
    result = place.run("sh", "-c", script, layer=layer, workspace=workspace)
    assert result.lines[:2] == ["x", "x"]
    assert "clada-secret" not in result.lines


@only_bubblewrap
def test_a_home_that_is_the_workspace(place: Place) -> None:
    """The settings in it are hidden, all else is the workspace's."""
    home = place.path("home")
    Path(f"{home}/file").write_text("seen\n")
    os.unlink(place.path("workspace/.git/config"))
    script = f"cd {home}; cat file; cat .ssh/id_rsa .bashrc; echo x > made"
    assert "secret" not in place.run("sh", "-c", script, layer="bubblewrap", workspace=home).lines
    assert Path(f"{home}/made").read_text() == "x\n"


@layers
@pytest.mark.parametrize("name", ["~/.npmrc", "~/settings/token", "/srv/clada-test/data", "/data/file"])
def test_a_closed_door_is_named(layer: str, name: str, place: Place) -> None:
    """A command that fails for want of a file outside says which setting opens it."""
    path = name.replace("~", place.path("home"))
    denied = "No such file or directory" if layer != "landlock" else "Permission denied"
    hint = place.run("sh", "-c", f"echo 'tool: {path}: {denied}'; exit 1", layer=layer).ended.hint
    assert (
        hint
        == "commands see the workspace, the system's programs and an empty home (sandbox_read names more)"
    )


@layers
def test_a_closed_file_of_the_home_is_named(layer: str, place: Place) -> None:
    """Also where a program is told that it is missing, for the home is another one; not what is nowhere."""
    Path(place.path("home/.npmrc")).write_text("clada-secret\n")
    result = place.run("cat", "~/.npmrc".replace("~", place.path("home")), layer=layer)
    assert "sandbox_read" in (result.ended.hint or "")
    result = place.run("sh", "-c", "cat ~/.npmrc", layer=layer)
    assert "sandbox_read" in (result.ended.hint or "")
    if layer == "landlock":
        assert place.run("sh", "-c", "cat ~/.nothing", layer=layer).ended.hint is None


@contextlib.contextmanager
def service(address: str, folder: str) -> Iterator[None]:
    """Listen at an address, as a service that was started in this folder does."""
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(folder)
        try:
            listener.bind(address)
        finally:
            os.chdir(here)
        listener.listen()
        try:
            yield
        finally:
            os.unlink(os.path.join(folder, address))


CONNECT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('connected')"


@layers
@pytest.mark.parametrize("address", ["relative.sock", "{outside}/absolute.sock", "/var/run/{name}.sock"])
def test_sockets_of_services(layer: str, address: str, place: Place) -> None:
    """A service outside is out of reach, however its socket is called, and keeps no sandbox from starting."""
    if address.startswith("/var/run") and not os.access("/var/run", os.W_OK):
        pytest.skip("only root has sockets there")
    outside = place.path("outside")
    address = address.format(outside=outside, name=f"clada-test-{os.urandom(4).hex()}")
    with service(address, outside):
        words = ("/usr/bin/python3", "-I", "-S", "-c", CONNECT, os.path.join(outside, address))
        result = place.run(*words, layer=layer)
        assert "connected" not in result.lines
        assert place.run("echo", "works", layer=layer).lines == ["works"]


@layers
@pytest.mark.parametrize("where", ["brew/lib/x.sock", "conda/var/x.sock", "conda/lib/x.sock", "data/x.sock"])
def test_sockets_where_commands_may_read(
    layer: str, where: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service in the home is out of reach, though the folder of its socket is open."""
    home = place.path("home")
    os.makedirs(os.path.dirname(f"{home}/{where}"))
    for name in ("brew/bin/x", "conda/bin/x", "conda/conda-meta/x"):
        tool(f"{home}/{name}", "")
    monkeypatch.setenv("PATH", f"{home}/brew/bin:{home}/conda/bin:{os.environ['PATH']}")
    with service(f"{home}/{where}", home):
        words = ("/usr/bin/python3", "-I", "-S", "-c", CONNECT, f"{home}/{where}")
        result = place.run(*words, layer=layer, read=(f"{home}/data",))
    assert result.ended.exit_code == 1
    assert "connected" not in result.lines


# Where services have sockets below the system's directories, and whether by a name that no list tells.
BESIDE_THE_SYSTEM = [
    ("/opt/clada-test/run/x.sock", True),
    ("/opt/clada-test/var/lib/x.sock", True),
    ("/opt/clada-test/product/var/x.sock", True),
    ("/usr/local/var/clada-test/x.sock", True),
    ("/opt/clada-test/elsewhere/x.sock", False),
    ("/usr/local/clada-test/x.sock", False),
    ("/etc/clada-test/x.sock", False),
]


@pytest.mark.sample(7)
@layers
@pytest.mark.parametrize(("address", "relative"), BESIDE_THE_SYSTEM)
def test_sockets_beside_the_system(layer: str, address: str, relative: bool, place: Place) -> None:
    """What is installed in /opt and /usr/local can be seen, but for the sockets of its services."""
    before, own, behind = address.partition("clada-test")
    if not os.access(before if os.path.exists(before) else os.path.dirname(before[:-1]), os.W_OK):
        pytest.skip("only root can put something there")
    own = f"{before}{own}-{os.urandom(4).hex()}"
    folder, name = os.path.split(own + behind)
    taking_turns = os.open("/usr/local", os.O_RDONLY)  # each removes the folder var of all
    fcntl.flock(taking_turns, fcntl.LOCK_EX)
    try:
        os.makedirs(folder)
        with service(name if relative else f"{folder}/{name}", folder):
            Path(f"{own}/program").write_text("seen\n")
            words = ("/usr/bin/python3", "-I", "-S", "-c", CONNECT, f"{folder}/{name}")
            result = place.run(*words, layer=layer)
            assert "connected" not in result.lines
            assert result.ended.exit_code == 1
            if before != "/usr/local/var/":
                assert place.run("cat", f"{own}/program", layer=layer).lines == ["seen"]
    finally:
        shutil.rmtree(own)
        with contextlib.suppress(OSError):
            os.rmdir("/usr/local/var")
        fcntl.flock(taking_turns, fcntl.LOCK_UN)  # forks may have it open still
        os.close(taking_turns)


@layers
def test_a_link_in_place_of_such_a_folder_stops_no_sandbox(layer: str, place: Place) -> None:
    """What is installed in /opt often has its data elsewhere, by a link."""
    if not os.access("/opt", os.W_OK):
        pytest.skip("only root can put something there")
    own = Path(f"/opt/clada-test-{os.urandom(4).hex()}")
    own.mkdir()
    try:
        (own / "var").symlink_to(place.path("outside"))
        (own / "run").symlink_to("/var/nowhere")
        (own / "tmp").symlink_to("../nowhere")
        assert place.run("ls", str(own), layer=layer).lines == ["run", "tmp", "var"]
    finally:
        shutil.rmtree(own)


def test_a_listed_name_that_is_no_socket_here_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that shares the network may have bound a socket by the name of one of our programs."""
    listed = "Num       RefCount Protocol Flags    Type St Inode Path\n0: 2 0 0 1 1 7 /usr/bin/env\n"
    monkeypatch.setattr("builtins.open", lambda *_args, **_more: io.StringIO(listed))
    assert mounts.system_paths_to_hide(mounts.listening()).count("/usr/bin/env") == 0


@only_bubblewrap
def test_a_service_that_starts_late(place: Place) -> None:
    """A socket that is made while the command runs is out of reach too."""
    late = place.path("outside/late.sock")
    script = (
        "import os, socket, sys, time\nopen('ready', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('connected')"
    )
    waiter = subprocess.Popen([sys.executable, "-I", "-S", "-c", LATE, place.workspace, late])
    try:
        result = place.run("/usr/bin/python3", "-I", "-S", "-c", script, late, layer="bubblewrap")
    finally:
        waiter.kill()
        waiter.wait()
    assert result.ended.exit_code == 1
    assert "connected" not in result.lines


LATE = """
import os, socket, sys, time
while not os.path.exists(sys.argv[1] + "/ready"): time.sleep(0.01)
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[2]); s.listen()
open(sys.argv[1] + "/go", "w").close()
time.sleep(99)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="others cannot read it anyhow")
@only_bubblewrap
def test_what_only_root_may_read_of_the_system(place: Place) -> None:
    """Root's own commands do not see what belongs to root alone."""
    assert stat.S_IMODE(os.stat("/etc/shadow").st_mode) & 0o007 == 0
    assert place.run("cat", "/etc/shadow", layer="bubblewrap").ended.exit_code == 1


def test_every_opening_has_a_reason() -> None:
    """The tables give reasons, and no row opens a whole folder of settings."""
    for reason, names in (mounts.SYSTEM | mounts.HOME).items():
        assert reason
        assert names.split()
    opened = {name for names in mounts.HOME.values() for name in names.split()}
    assert [name for name in CREDENTIALS for part in opened if mounts.is_in(name, part)] == []
    assert [name for name in opened if name.startswith(".") and "/" not in name] == []


@layers
@needs("rustc")
def test_a_real_toolchain(layer: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler works, from the home of the person who runs the tests."""
    import pwd

    monkeypatch.setenv("HOME", pwd.getpwuid(os.geteuid()).pw_dir)
    Path(place.path("workspace/hi.rs")).write_text('fn main() { println!("hi"); }\n')
    result = place.run("sh", "-c", "rustc hi.rs && ./hi", layer=layer)
    assert result.lines == ["hi"], result.lines
