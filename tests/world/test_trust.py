"""Trust: what a repository brings along in `.clada` counts only as its user has seen it on this machine."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from clada import config
from clada.errors import CladaError, UsageError
from clada.world import trust
from clada.world.approvals import Approvals

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BROUGHT = {"commands": ["make evil", "make test"], "network": ["make evil"], "blocked": ["make never"]}
SETTINGS = {
    "output_mode": '"silent"', "summary": '"none"', "error_detail": '"full"', "timeout": '"900s"',
    "total_timeout": '"9000s"', "max_output": '"1GB"', "start_delimiter": '"<<"', "end_delimiter": '">>"',
    "format": '"cml"', "final_newline": "true", "color": '"always"', "record": '"none"', "atomic": "true",
    "git_author": '"Somebody Else"', "sandbox": '"require"', "approve_all": "true", "allow_escape": "true",
    "shell": '"approved"', "approve": '["make evil"]', "workspace": '"/"', "sandbox_read": '["/"]',
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_trusts_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Be a user with a state of their own, who has trusted nothing."""
    monkeypatch.delenv(trust.EVERYWHERE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a workspace as it was cloned."""
    workspace = tmp_path / "clone"
    bring(workspace, BROUGHT)
    return workspace


def bring(workspace: Path, approvals: Any = None, configuration: str | bytes | None = None) -> None:
    """Let a repository bring something along."""
    folder = workspace / ".clada"
    folder.mkdir(parents=True, exist_ok=True)
    if approvals is not None:
        data = approvals if isinstance(approvals, bytes) else json.dumps(approvals).encode()
        (folder / trust.APPROVALS).write_bytes(data)
    if configuration is not None:
        data = configuration if isinstance(configuration, bytes) else configuration.encode()
        (folder / trust.CONFIGURATION).write_bytes(data)


def trust_all(workspace: Path) -> None:
    """Trust what is there, as `clada trust --yes` does."""
    for file in trust.clada_files(str(workspace)):
        trust.remember(str(workspace), file.name, file.data)


def load(workspace: Path) -> Approvals:
    """Load the approvals of a workspace."""
    return Approvals.load(str(workspace))


# Approvals.


def test_what_a_repository_approves_does_not_count_until_it_is_trusted(clone: Path) -> None:
    """And is listed as what it is."""
    known = load(clone)
    assert known.approved == []
    assert not known.is_approved("make test")
    assert known.is_untrusted("make test")
    assert known.describe() == ["blocked  make never", "untrusted  make evil", "untrusted  make test"]
    trust_all(clone)
    assert load(clone).approved == ["make evil", "make test"]
    assert load(clone).has_network("make evil")
    assert not load(clone).is_untrusted("make test")


def test_what_a_repository_blocks_counts_in_any_case(clone: Path) -> None:
    """A refusal is safe, and --approve-all must not run what a team has blocked."""
    assert load(clone).is_blocked("make never")
    assert load(clone).blocked == ["make never"]


@pytest.mark.parametrize(
    "change",
    [
        {**BROUGHT, "commands": ["make evil", "make test", "make worse"]},
        {**BROUGHT, "network": ["make evil", "make test"]},
        {**BROUGHT, "commands": ["make test"]},
        {**BROUGHT, "note": "a key that clada does not read"},
        json.dumps(BROUGHT).encode() + b"\n",
    ],
)
def test_any_change_takes_the_trust_away(clone: Path, change: Any) -> None:
    """By the byte: what was seen is not what is there."""
    trust_all(clone)
    bring(clone, change)
    assert load(clone).approved == []
    bring(clone, BROUGHT)
    assert load(clone).is_approved("make test")


def test_the_same_file_in_another_workspace_is_not_trusted(clone: Path, tmp_path: Path) -> None:
    """The commands may be the same, and what they run another thing."""
    trust_all(clone)
    bring(tmp_path / "other", BROUGHT)
    assert load(tmp_path / "other").approved == []


def test_a_workspace_is_known_by_its_real_path(clone: Path, tmp_path: Path) -> None:
    """However one gets there; and another directory in its place is asked about by its content."""
    trust_all(clone)
    (tmp_path / "link").symlink_to(clone)
    assert load(tmp_path / "link").is_approved("make test")


def test_what_the_user_approves_here_is_trusted_and_nothing_else(clone: Path) -> None:
    """That entry, of a file that is not trusted."""
    load(clone).add("npm test")
    assert load(clone).approved == ["npm test"]
    assert load(clone).is_untrusted("make evil")


def test_a_brought_command_that_the_user_approves_counts_as_it_was_approved(clone: Path) -> None:
    """Without the network that the repository had in mind for it."""
    load(clone).add("make evil")
    assert load(clone).is_approved("make evil")
    assert not load(clone).has_network("make evil")
    assert not load(clone).is_approved("make test")


def test_a_prefix_that_a_repository_brings_covers_nothing_until_it_is_trusted(clone: Path) -> None:
    """And one of the user's own covers what it covers, without the network that the repository adds."""
    bring(clone, {"commands": [], "prefixes": ["make"], "network_prefixes": ["make"]})
    assert not load(clone).is_covered(("make", "test"))
    assert load(clone).is_untrusted("make test", ("make", "test"))
    load(clone).add("make", prefix=True)
    bring(clone, {"commands": [], "prefixes": ["make", "npm run"], "network_prefixes": ["make"]})
    assert load(clone).is_covered(("make", "test"))
    assert not load(clone).is_covered(("make", "test"), network=True)
    assert not load(clone).is_covered(("npm", "run", "x"))
    trust_all(clone)
    assert load(clone).is_covered(("make", "test"), network=True)


def test_the_repository_cannot_add_the_network_to_what_the_user_approved(clone: Path) -> None:
    """Its file says so later; the user did not."""
    load(clone).add("npm test")
    bring(clone, {"commands": ["npm test"], "network": ["npm test"]})
    assert load(clone).is_approved("npm test")
    assert not load(clone).has_network("npm test")


def test_what_the_user_approved_outlives_changes_by_others(clone: Path) -> None:
    """As long as it still stands in the file: to take it out there is meant."""
    load(clone).add("npm test", network=True)
    bring(clone, {"commands": ["npm test", "make other"], "network": ["npm test"]})
    assert load(clone).approved == ["npm test"]
    assert load(clone).has_network("npm test")
    bring(clone, {"commands": ["make other"]})
    assert load(clone).approved == []


def test_a_trusted_file_stays_trusted_when_the_user_changes_it(clone: Path) -> None:
    """By clada; by hand it is shown again."""
    trust_all(clone)
    load(clone).add("npm test")
    assert load(clone).approved == ["make evil", "make test", "npm test"]
    load(clone).block("make evil")
    load(clone).remove("make test")
    assert load(clone).approved == ["npm test"]


def test_the_first_approval_in_a_workspace_makes_a_trusted_file(tmp_path: Path) -> None:
    """There is nothing else in it."""
    (tmp_path / "new").mkdir()
    load(tmp_path / "new").add("npm test")
    assert load(tmp_path / "new").approved == ["npm test"]
    assert [file.trusted for file in trust.clada_files(str(tmp_path / "new"))] == [True]


def test_what_is_removed_or_blocked_is_forgotten_in_the_state_too(clone: Path) -> None:
    """If the repository brings it back, it is not approved here."""
    load(clone).add("npm test")
    load(clone).add("npm install")
    load(clone).remove("npm test")
    load(clone).block("npm install")
    bring(clone, {"commands": ["npm test", "npm install"]})
    assert load(clone).approved == []


def test_the_variable_for_ci_trusts_without_remembering(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An approval that is added meanwhile does not make the rest trusted later."""
    for value, counts in [("1", True), ("0", False), ("", False), ("true", False), ("yes", False)]:
        monkeypatch.setenv(trust.EVERYWHERE, value)
        assert load(clone).is_approved("make test") is counts
    monkeypatch.setenv(trust.EVERYWHERE, "1")
    load(clone).add("npm test")
    monkeypatch.delenv(trust.EVERYWHERE)
    assert load(clone).approved == []


# The user's own state.


def test_the_state_is_the_users_alone(clone: Path, tmp_path: Path) -> None:
    """Others must not see which commands a user runs, nor add any."""
    load(clone).add("npm test")
    assert (tmp_path / "state" / "clada" / "trust").stat().st_mode & 0o777 == 0o700


def test_a_state_inside_the_workspace_is_not_believed(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository that is a home could bring it along, for a path that is easily guessed."""
    trust_all(clone)
    inside = clone / ".local" / "state"
    inside.parent.mkdir()
    os.rename(tmp_path / "state", inside)
    monkeypatch.setenv("XDG_STATE_HOME", str(inside))
    assert load(clone).approved == []
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(clone))
    assert load(clone).approved == []
    with pytest.raises(CladaError) as caught:
        load(clone).add("npm test")
    assert caught.value.error.hint == "set XDG_STATE_HOME to a directory of yours, outside of the workspace"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_state_of_somebody_else_is_not_believed(clone: Path, tmp_path: Path) -> None:
    """Other users who may write there could have trusted anything."""
    trust_all(clone)
    os.chown(tmp_path / "state" / "clada" / "trust", 65534, 65534)
    assert load(clone).approved == []
    with pytest.raises(CladaError, match="not yours"):
        load(clone).add("npm test")


@pytest.mark.parametrize("name", ["state", "./state", "~/state"])
def test_a_relative_state_home_is_ignored(clone: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As its specification says: it would be another one in each directory, the repository's own too."""
    monkeypatch.chdir(clone)
    monkeypatch.setenv("HOME", str(clone.parent / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", name)
    trust_all(clone)
    assert load(clone).is_approved("make test")
    assert (clone.parent / "home" / ".local" / "state" / "clada" / "trust").is_dir()


def test_a_damaged_state_trusts_nothing(clone: Path, tmp_path: Path) -> None:
    """In doubt, the user is asked again."""
    load(clone).add("npm test")
    (own,) = (tmp_path / "state").rglob(trust.OWN)
    for damage in (b"[", b'{"commands": 1}', b"\xff", b""):
        own.write_bytes(damage)
        assert load(clone).approved == []
    load(clone).add("npm install")
    assert load(clone).approved == ["npm install"]


def test_a_state_that_cannot_be_written_is_told(clone: Path, tmp_path: Path) -> None:
    """With the remedy."""
    (tmp_path / "state").write_text("")
    with pytest.raises(CladaError) as caught:
        load(clone).add("npm test")
    assert caught.value.error.type == "io_error"
    assert "what you trust: not a directory" in caught.value.error.message
    assert load(clone).approved == []


# Configuration.


@pytest.mark.parametrize("key", SETTINGS)
def test_no_setting_counts_before_it_is_trusted(clone: Path, key: str) -> None:
    """It silences nothing, lifts no limit, chooses no delimiter; nor is it even read."""
    bring(clone, configuration=f"{key} = {SETTINGS[key]}\n")
    assert config.load(str(clone)).merged == {}
    assert config.load_options(str(clone)) == {"workspace": str(clone)}


@pytest.mark.parametrize("key", ["output_mode", "timeout", "max_output", "start_delimiter", "summary"])
def test_a_trusted_configuration_may_set_what_the_specification_lists(clone: Path, key: str) -> None:
    """Those that silence, lift and choose, too."""
    bring(clone, configuration=f"{key} = {SETTINGS[key]}\n")
    trust_all(clone)
    assert list(config.load(str(clone)).workspace) == [key]


@pytest.mark.parametrize(
    "key", ["approve_all", "allow_escape", "shell", "approve", "workspace", "sandbox_read"]
)
def test_trust_does_not_make_other_settings_a_repositorys(clone: Path, key: str) -> None:
    """They are the user's, in any trusted workspace."""
    bring(clone, configuration=f"{key} = {SETTINGS[key]}\n")
    trust_all(clone)
    with pytest.raises(UsageError, match=f"{key} cannot be set here"):
        config.load(str(clone))


def test_the_two_files_are_trusted_each_by_itself(clone: Path) -> None:
    """A changed configuration does not take the approvals away, nor the other way round."""
    bring(clone, configuration='color = "never"\n')
    trust_all(clone)
    bring(clone, configuration='color = "always"\n')
    assert config.load(str(clone)).merged == {}
    assert load(clone).is_approved("make test")


def test_what_changed_while_it_was_shown_does_not_count(clone: Path) -> None:
    """Only the content that the person saw is trusted."""
    bring(clone, configuration='color = "never"\n')

    def shown_and_changed(workspace: str) -> bool:
        trust_all(clone)
        bring(clone, configuration='color = "always"\n')
        return bool(workspace)

    assert config.load(str(clone), shown_and_changed).merged == {}


# What stands in the place of the files.


def _link(file: Path) -> None:
    file.with_name("target").write_text("commands")
    file.symlink_to("target")


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (_link, "is a symbolic link"),
    "a link to a device": (lambda file: file.symlink_to("/dev/zero"), "is a symbolic link"),
    "a pipe": (os.mkfifo, "is not a regular file"),
    "a directory": (os.mkdir, "is not a regular file"),
    "too much": (lambda file: file.write_bytes(b"#" * (trust.MAX_SHOWN + 1)), "is larger than 100 KB"),
    "far too much": (lambda file: os.truncate(_made(file), 1 << 40), "is larger than 100 KB"),
}


def _made(file: Path) -> Path:
    file.write_bytes(b"")
    return file


@pytest.mark.parametrize("name", [trust.CONFIGURATION, trust.APPROVALS])
@pytest.mark.parametrize("kind", HOSTILE)
def test_what_nobody_can_look_at_cannot_be_trusted(tmp_path: Path, kind: str, name: str) -> None:
    """And is neither waited for nor read to its end."""
    make, problem = HOSTILE[kind]
    (tmp_path / ".clada").mkdir()
    make(tmp_path / ".clada" / name)
    (file,) = trust.clada_files(str(tmp_path))
    assert (file.name, file.trusted, file.data) == (name, False, b"")
    assert file.problem.startswith(problem)
    if name == trust.CONFIGURATION:
        assert config.load(str(tmp_path)).merged == {}


@pytest.mark.parametrize("kind", ["link", "file", "pipe", "dangling"])
def test_what_is_no_folder_cannot_be_trusted(tmp_path: Path, kind: str) -> None:
    """Any kind of file, and any target."""
    place = tmp_path / "workspace" / ".clada"
    place.parent.mkdir()
    (tmp_path / "elsewhere").mkdir()
    if kind == "file":
        place.write_text("")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / "elsewhere" if kind == "link" else "nowhere")
    (file,) = trust.clada_files(str(place.parent))
    assert file.problem
    assert config.load(str(place.parent)).merged == {}


def test_where_there_is_nothing_nothing_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a state made, or even read."""
    monkeypatch.setattr(trust, "_state_directory", lambda _workspace: pytest.fail("the state was looked at"))
    assert trust.clada_files(str(tmp_path)) == ()
    assert config.load(str(tmp_path)).merged == {}
    assert load(tmp_path).approved == []
    (tmp_path / ".clada").mkdir()
    assert config.load(str(tmp_path)).merged == {}
    assert load(tmp_path).approved == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [".clada"]
