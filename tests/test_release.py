"""What is released: packages that checkers accept, and that work installed alone and with each extra."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from tools import release

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
INSTALLED = (
    "share/man/man1/clada.1", "share/bash-completion/completions/clada", "share/zsh/site-functions/_clada",
    "share/fish/vendor_completions.d/clada.fish",
)  # fmt: skip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("release")
    release.build(target)
    return target


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def environment(tmp_path: Path, *what: str) -> Path:
    """Return the programs of a new environment in which this is installed, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    programs = tmp_path / "venv" / "bin"
    subprocess.run([programs / "python", "-m", "pip", "install", "-q", *what], check=True)
    return programs


def test_checkers_have_no_objections(built: Path) -> None:
    try:
        release.check(built)
    except subprocess.CalledProcessError as error:
        if "install" in error.cmd:
            pytest.skip("the checkers of requirements/release.txt cannot be installed")
        raise


def test_the_metadata_is_complete_and_its_links_are_absolute(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    url = PROJECT["tool"]["clada"]["url"]
    links = dict(text.split(", ", 1) for text in metadata.get_all("Project-URL", []))
    assert set(links) == {"Homepage", "Documentation", "Changelog", "Issues", "Source"}
    assert all(link.startswith(url) for link in links.values())
    assert metadata["Author-email"]
    assert metadata["Keywords"]
    text = str(metadata.get_payload())
    found = re.findall(r"\]\(([^)\s]+)\)", text)
    assert f"{url}/raw/main/docs/run.svg" in found
    assert [link for link in found if "://" not in link] == []
    for link in found:
        if link.startswith(f"{url}/"):
            assert (ROOT / link.removeprefix(f"{url}/").split("/", 2)[2].partition("#")[0]).exists(), link


def test_the_wheel_installs_the_manual_page_and_completions(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path, "--no-deps", str(wheel))
    for name in INSTALLED:
        assert (programs.parent / name).is_file(), name
    for shell, name in (("bash", INSTALLED[1]), ("zsh", INSTALLED[2]), ("fish", INSTALLED[3])):
        done = subprocess.run(
            [programs / "clada", "completion", shell], capture_output=True, text=True, check=True
        )
        assert (programs.parent / name).read_text() == done.stdout


@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_it_works_with_each_extra_alone(wheel: Path, tmp_path: Path, extra: str | None) -> None:
    try:
        programs = environment(tmp_path, f"{wheel}[{extra}]" if extra else str(wheel))
    except subprocess.CalledProcessError:
        pytest.skip(f"the packages of the extra {extra} cannot be installed here")
    clada = str(programs / "clada")

    def run(*words: str, document: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [clada, *words], cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            input=document, capture_output=True, text=True, check=False,
        )  # fmt: skip

    assert run("--no-git", document='<---WRITE file="a.txt"--->\nx\n<---END--->\n').returncode == 0
    (tmp_path / "jobs.jsonl").write_text('{"id": 1, "path": ".", "document": "x"}')
    commands = {
        "mcp": run("mcp"),
        "parquet": run("batch", "jobs.parquet", "--out=results.jsonl"),
        "ray": run("batch", "jobs.jsonl", "--engine=ray", "--address=127.0.0.1:1", "--out=results.jsonl"),
    }
    if extra != "watch":  # which would begin to watch
        commands["watch"] = run("watch", "--yes", "x.md")
    for name, done in commands.items():
        assert "Traceback" not in done.stderr
        assert (f"clada[{name}]" in done.stderr) == (name != extra), (name, done.stderr)


@pytest.fixture
def copied_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with what a release looks at; nothing of this one is tagged."""
    for name in ("pyproject.toml", "CHANGELOG.md", "docs/clada.1", "src/clada/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "build", lambda _target: None)
    monkeypatch.setattr(release, "check", lambda _target: None)
    monkeypatch.setattr(release, "RELEASE", tmp_path / "docs")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "HOME": str(folder), "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
             "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"},
    )  # fmt: skip
    return done.stdout.strip()


def test_a_dry_run_tags_nothing_and_says_what_is_missing(
    copied_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(copied_project, "init", "-q")
    assert release.main([]) == 0
    assert release.main(["--tag"]) == 1
    assert "not ready: there are uncommitted changes" in capsys.readouterr().err
    assert git(copied_project, "tag") == ""


def test_a_version_that_is_ready_is_tagged_once(
    copied_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a@example.org")
    project = copied_project / "pyproject.toml"
    project.write_text(project.read_text().replace("clada.example", "localhost"))
    changes = copied_project / "CHANGELOG.md"
    changes.write_text(f"# Changelog\n\n## {release.version()} - 2030-01-31\n\n### Added\n- It.\n")
    git(copied_project, "init", "-q")
    git(copied_project, "add", ".")
    git(copied_project, "commit", "-qm", "x")
    assert release.main([]) == 0
    assert git(copied_project, "tag") == ""
    assert release.main(["--tag"]) == 0
    assert git(copied_project, "tag") == f"v{release.version()}"
    assert list(release.unready()) == [f"the tag v{release.version()} exists"]
