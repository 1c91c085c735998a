"""The file of approved commands: exact texts, blocked first, stored whole and never lost."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.handles import open_handles

from clada.commands.judgements import remedy
from clada.errors import CladaError
from clada.world import approvals as module
from clada.world.approvals import Approvals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXAMPLE = {
    "commands": ["npm install", "npm test"],
    "added": {"npm test": "2024-01-20T10:30:00Z"},
    "blocked": ["rm -rf /"],
    "network": ["npm install"],
}


def file_in(workspace: Path) -> Path:
    """Return where the approvals of a workspace are kept."""
    return workspace / ".clada" / "allowed-commands.json"


def put(workspace: Path, content: Any) -> Path:
    """Write the file by hand: a value as JSON, or bytes as they are."""
    file = file_in(workspace)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


def load(workspace: Path) -> Approvals:
    """Load the approvals of a workspace."""
    return Approvals.load(str(workspace))


def trouble_of(workspace: Path) -> tuple[str, str]:
    """Load approvals that cannot be loaded, and return the error's type and message."""
    with pytest.raises(CladaError) as caught:
        load(workspace)
    return caught.value.error.type, caught.value.error.message


def test_without_a_file_nothing_is_approved_and_nothing_is_made(tmp_path: Path) -> None:
    """Looking does not leave traces."""
    approvals = load(tmp_path)
    assert not approvals.is_approved("npm test")
    assert not approvals.is_blocked("npm test")
    assert approvals.describe() == []
    assert list(tmp_path.iterdir()) == []


def test_the_example_of_the_specification_is_read(tmp_path: Path) -> None:
    """Commands, network and blocked each count for what they are."""
    put(tmp_path, EXAMPLE)
    approvals = load(tmp_path)
    assert approvals.is_approved("npm test")
    assert approvals.is_approved("npm install")
    assert approvals.has_network("npm install")
    assert not approvals.has_network("npm test")
    assert approvals.is_blocked("rm -rf /")
    assert approvals.describe() == ["network  npm install", "allowed  npm test", "blocked  rm -rf /"]


def test_keys_other_than_commands_may_be_missing(tmp_path: Path) -> None:
    """And a BOM or an unknown key does no harm."""
    put(tmp_path, b'\xef\xbb\xbf{"commands": ["npm test"], "note": "ours"}')
    approvals = load(tmp_path)
    assert approvals.is_approved("npm test")
    approvals.add("make")
    assert json.loads(file_in(tmp_path).read_text())["note"] == "ours"


@pytest.mark.parametrize("text", ["npm test", "  npm test\n", "\tnpm test\r\n"])
def test_surrounding_blanks_do_not_matter(text: str, tmp_path: Path) -> None:
    """Neither in the command nor in the file."""
    put(tmp_path, {"commands": [" npm test "]})
    assert load(tmp_path).is_approved(text)


@pytest.mark.parametrize(
    "text",
    [
        "npm  test",
        "npm\ttest",
        "npm\ntest",
        "npm test2",
        "npm tes",
        "npm",
        "NPM test",
        "npm test; rm x",
        "'npm' test",
        "npm\u00a0test",
        "\u00a0npm test",
        "npm test\u00a0",
        "npm test\u200b",
        "npm test\x0b",
        "npm test\x1c",
        "n\u0440m test",  # a Cyrillic letter
        "npm t\u0435st",
        "",
    ],
)
def test_any_other_text_is_another_command(text: str, tmp_path: Path) -> None:
    """No patterns, no folding, no blanks but the plain ones."""
    put(tmp_path, {"commands": ["npm test"], "network": ["npm test"]})
    approvals = load(tmp_path)
    assert not approvals.is_approved(text)
    assert not approvals.has_network(text)


def test_blocked_wins_over_everything(tmp_path: Path) -> None:
    """A command that stands in all lists is blocked."""
    put(tmp_path, {"commands": ["x"], "blocked": [" x"], "network": ["x"]})
    approvals = load(tmp_path)
    assert approvals.is_blocked("x")
    assert not approvals.is_approved("x")
    assert not approvals.has_network("x")
    assert approvals.describe() == ["blocked  x"]


def test_what_is_stored_is_readable_in_a_diff(tmp_path: Path) -> None:
    """One command per line, sorted, with the time of each; nothing can hide outside ASCII."""
    approvals = load(tmp_path)
    approvals.add("npm test")
    approvals.add("npm install", network=True)
    approvals.add("echo \u202e")
    approvals.block("rm -rf /")
    text = file_in(tmp_path).read_text()
    assert re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text) == (
        "{\n"
        '  "commands": [\n'
        '    "echo \\u202e",\n'
        '    "npm install",\n'
        '    "npm test"\n'
        "  ],\n"
        '  "added": {\n'
        '    "echo \\u202e": "TIME",\n'
        '    "npm install": "TIME",\n'
        '    "npm test": "TIME"\n'
        "  },\n"
        '  "blocked": [\n'
        '    "rm -rf /"\n'
        "  ],\n"
        '  "network": [\n'
        '    "npm install"\n'
        "  ]\n"
        "}\n"
    )
    assert os.listdir(tmp_path / ".clada") == ["allowed-commands.json"]


def test_a_change_counts_at_once_and_for_others(tmp_path: Path) -> None:
    """Approve, grant and take the network, block, approve again, forget."""
    approvals = load(tmp_path)
    changes: list[tuple[Callable[[], object], bool, bool, bool]] = [
        (lambda: approvals.add(" make \n"), True, False, False),
        (lambda: approvals.add("make", network=True), True, True, False),
        (lambda: approvals.add("make"), True, False, False),
        (lambda: approvals.block("make"), False, False, True),
        (lambda: approvals.add("make"), True, False, False),
        (lambda: approvals.remove("make"), False, False, False),
    ]
    for change, approved, network, blocked in changes:
        change()
        for seen in (approvals, load(tmp_path)):
            found = (seen.is_approved("make"), seen.has_network("make"), seen.is_blocked("make"))
            assert found == (approved, network, blocked)


def test_removing_says_whether_the_command_was_known(tmp_path: Path) -> None:
    """Blocked ones are forgotten too."""
    put(tmp_path, EXAMPLE)
    approvals = load(tmp_path)
    assert approvals.remove("rm -rf /")
    assert not approvals.remove("rm -rf /")
    assert not load(tmp_path).is_blocked("rm -rf /")


def test_a_blank_command_cannot_be_stored(tmp_path: Path) -> None:
    """It would never match, or match what is blank."""
    for text in ("", "  \n"):
        with pytest.raises(CladaError) as caught:
            load(tmp_path).add(text)
        assert caught.value.error.type == "command_not_allowed"
    assert list(tmp_path.iterdir()) == []


DAMAGED = [
    (b"", "line 1, column 1"),
    (b"{", "line 1, column 2"),
    (b'{"commands": ["a",\n  "b"\n  "c"]}', "line 3, column 3"),
    (b'{"commands": ["a"]} x', "line 1, column 21"),
    (b"[]", "an object"),
    (b"null", "an object"),
    (b"{}", "'commands' is missing"),
    (b'{"blocked": []}', "'commands' is missing"),
    (b'{"commands": "a"}', "'commands' must be a list"),
    (b'{"commands": null}', "'commands' must be a list"),
    (b'{"commands": ["a", 1]}', "entry 2 of 'commands'"),
    (b'{"commands": [], "blocked": {}}', "'blocked' must be a list"),
    (b'{"commands": [], "network": [["a"]]}', "entry 1 of 'network'"),
    (b'{"commands": [], "added": []}', "'added'"),
    (b'{"commands": [], "added": {"a": 1}}', "'added'"),
    (b'{"commands": [], "blocked": ["a"], "blocked": []}', "'blocked' stands there twice"),
    (b'{"commands": ["\xff"]}', "byte 15 is not UTF-8"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"commands": [' + b"1" * 5000 + b"]}", "entry 1 of 'commands'|digit"),
    (b'{"commands": ["' + b"a" * (10 << 20) + b'"]}', "larger than 10 MB"),
]


@pytest.mark.parametrize(("content", "where"), DAMAGED, ids=[where for _content, where in DAMAGED])
def test_a_damaged_file_is_an_error_that_says_where(content: bytes, where: str, tmp_path: Path) -> None:
    """It is never an empty list, and storing does not paint over it."""
    file = put(tmp_path, content)
    type_, message = trouble_of(tmp_path)
    assert type_ == "command_not_allowed"
    assert re.search(where, message) or "recursion" in message
    assert message.startswith(".clada/allowed-commands.json is damaged: ")
    (tmp_path / "other").mkdir()
    stale = load(tmp_path / "other")
    stale._workspace = str(tmp_path)
    for change in (stale.add, stale.block, stale.remove):
        with pytest.raises(CladaError):
            change("npm test")
    assert file.read_bytes() == content


def test_a_link_in_the_place_of_the_file_or_its_folder_is_refused(tmp_path: Path) -> None:
    """Inside the workspace or out of it, dangling or not."""
    outside = tmp_path / "outside"
    outside.mkdir()
    put(outside, {"commands": ["npm test"]})
    for number, target in enumerate(["../../outside/.clada/allowed-commands.json", "nowhere"]):
        workspace = tmp_path / f"file{number}"
        (workspace / ".clada").mkdir(parents=True)
        file_in(workspace).symlink_to(target)
        assert trouble_of(workspace)[0] == "symlink_not_allowed"
    for number, target in enumerate(["../outside/.clada", "nowhere"]):
        workspace = tmp_path / f"folder{number}"
        workspace.mkdir()
        (workspace / ".clada").symlink_to(target)
        assert trouble_of(workspace)[0] == "symlink_not_allowed"
    before = file_in(outside).read_bytes()
    approvals = load(outside)
    approvals._workspace = str(tmp_path / "folder0")
    with pytest.raises(CladaError):
        approvals.add("make")
    assert file_in(outside).read_bytes() == before


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    """A pipe would hang a careless reader."""
    for name, make in [
        ("pipe", os.mkfifo),
        ("folder", os.mkdir),
    ]:
        workspace = tmp_path / name
        (workspace / ".clada").mkdir(parents=True)
        make(file_in(workspace))
        type_, message = trouble_of(workspace)
        assert type_ == "io_error"
        assert "not a regular file" in message
    (tmp_path / ".clada").write_text("")
    assert trouble_of(tmp_path)[0] == "io_error"
    assert trouble_of(tmp_path / "missing")[0] == "io_error"


def test_a_file_that_may_not_be_read_is_an_io_error(tmp_path: Path) -> None:
    """Seen as an ordinary user: root may read everything."""
    put(tmp_path, EXAMPLE).chmod(0)
    code = (
        "import os\n"
        "from clada.world.approvals import Approvals\n"
        "from clada.errors import CladaError\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "try: Approvals.load('.')\n"
        "except CladaError as trouble: print(trouble.error.type, trouble.error.message)\n"
    )
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "io_error .clada/allowed-commands.json cannot be read: permission denied\n"


def test_the_mode_of_the_file_is_kept(tmp_path: Path) -> None:
    """And another hard link keeps its content: the new content is put in place whole."""
    file = put(tmp_path, EXAMPLE)
    file.chmod(0o640)
    os.link(file, tmp_path / "other")
    before = (tmp_path / "other").read_bytes()
    load(tmp_path).add("make")
    assert file.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "other").read_bytes() == before
    assert os.listdir(tmp_path / ".clada") == ["allowed-commands.json"]


def test_processes_that_store_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each adds and blocks its own commands, all started before any is waited for."""
    code = (
        "import sys\n"
        "from clada.world.approvals import Approvals\n"
        "approvals = Approvals.load(sys.argv[1])\n"
        "for number in range(10):\n"
        "    approvals.add(f'run {sys.argv[2]} {number}', network=number % 2 == 0)\n"
        "    approvals.block(f'never {sys.argv[2]} {number}')\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(worker)]) for worker in range(4)
    ]
    assert [worker.wait(timeout=90) for worker in workers] == [0, 0, 0, 0]
    approvals = load(tmp_path)
    for worker in range(4):
        for number in range(10):
            assert approvals.is_approved(f"run {worker} {number}")
            assert approvals.has_network(f"run {worker} {number}") is (number % 2 == 0)
            assert approvals.is_blocked(f"never {worker} {number}")
    assert os.listdir(tmp_path / ".clada") == ["allowed-commands.json"]


def test_a_lock_that_is_held_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait has an end."""
    monkeypatch.setattr(module, "LOCK_TIMEOUT", 0.1)
    file = put(tmp_path, EXAMPLE)
    handle = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(CladaError) as caught:
            load(tmp_path).add("make")
    finally:
        os.close(handle)
    assert caught.value.error.type == "lock_timeout"
    load(tmp_path).add("make")


def test_reading_is_possible_while_another_stores(tmp_path: Path) -> None:
    """A reader needs no lock: it sees the old file or the new one."""
    file = put(tmp_path, EXAMPLE)
    handle = os.open(file.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert load(tmp_path).is_approved("npm test")
    finally:
        os.close(handle)


def test_no_handles_are_left_open(tmp_path: Path) -> None:
    """Neither after success nor after trouble."""
    before = open_handles()
    contents: list[Any] = [EXAMPLE, b"{", {"commands": []}]
    for content in contents:
        put(tmp_path, content)
        for action in (lambda: load(tmp_path), lambda: load(tmp_path).add("make")):
            try:
                action()
            except CladaError:
                continue
    assert open_handles() == before


@pytest.mark.parametrize(
    "command",
    [
        "npm",
        "npm test",
        "echo 'a b' \"c\" \\d",
        "it's",
        "a\nb",
        "a\tb\r\x1b[2J\x7f",
        "-x",
        "--network x",
        "$HOME `x` !y *",
        "é \u00a0 \u202e \u200b'",
        "a\\nb\nc",
        "7\x017",
    ],
)
def test_the_remedy_is_one_line_that_a_shell_reads_as_the_exact_command(command: str) -> None:
    """To be pasted as it is."""
    line = remedy(command)
    assert line.isprintable()
    done = subprocess.run(
        ["bash", "-c", f"clada() {{ printf '%s\\0' \"$@\"; }}; {line}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    dashes = ["--"] if command.startswith("-") else []
    assert done.stdout.decode().split("\0")[:-1] == ["approvals", "add", *dashes, command]


def test_the_remedy_can_grant_the_network() -> None:
    """As `clada approvals add --network` does."""
    assert remedy("npm install", network=True) == "clada approvals add --network 'npm install'"
