"""Fetches the pinned releases by package name, and unpacks them; no code of theirs is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = Path(__file__).with_name("packages.toml")


def pinned_releases() -> dict[str, dict[str, list[str]]]:
    """Return the versions of each package, oldest first, by registry: python, npm."""
    return tomllib.loads(PACKAGES.read_text(encoding="utf-8"))


def fetch(target: Path, only: str | None = None) -> list[list[Path]]:
    """Return the unpacked releases of each package, or of one, oldest first; fetch those that are not there.

    Raises CalledProcessError if a release cannot be downloaded.
    """
    packages = []
    for registry, every in pinned_releases().items():
        pinned = {name: versions for name, versions in every.items() if only in (None, name)}
        wanted = [(name, version) for name, versions in pinned.items() for version in versions]
        missing = [pair for pair in wanted if not _folder(target, registry, *pair).is_dir()]
        _FETCHERS[registry](target, missing)
        packages += [
            [_folder(target, registry, name, v) for v in versions] for name, versions in pinned.items()
        ]
    return packages


def _folder(target: Path, registry: str, name: str, version: str) -> Path:
    return target / registry / name / version


def _fetch_python(target: Path, missing: list[tuple[str, str]]) -> None:
    """Download wheels, because pip runs the build system of a source distribution to learn its name."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--retries=1"]
    for name, version in missing:
        command = [*pip, f"{name}=={version}"]
        with _downloaded(command) as file, zipfile.ZipFile(file) as archive:
            _unpack(archive.extractall, _folder(target, "python", name, version))


def _fetch_npm(target: Path, missing: list[tuple[str, str]]) -> None:
    for name, version in missing:
        with (
            _downloaded(["npm", "pack", "--silent", f"{name}@{version}"]) as file,
            tarfile.open(file) as archive,
        ):
            archive.extraction_filter = tarfile.data_filter
            _unpack(archive.extractall, _folder(target, "npm", name, version))


@contextmanager
def _downloaded(command: list[str]) -> Iterator[Path]:
    """Return the one file that a command puts into the folder where it runs."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (file,) = Path(folder).iterdir()
        yield file


def _unpack(extract: Callable[[Path], None], folder: Path) -> None:
    """Unpack beside the folder and rename it, so that an interrupted run leaves no half release."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    extract(partial)
    os.rename(partial, folder)


_FETCHERS = {"python": _fetch_python, "npm": _fetch_npm}
