"""Files that are unusual: read-only, sparse, very large."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
from typing import TYPE_CHECKING

import clada
from clada.world.files.reader import TAIL
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

APPEND = '<---WRITE file="file" append="true"--->\nmore\n<---END--->\n'
WRITE = '<---WRITE file="file"--->\nnew\n<---END--->\n'
EDIT = '<---SEARCH file="file"--->\nold\n<---REPLACE--->\nnew\n<---END--->\n'


def run(tmp_path: Path, document: str) -> clada.Report:
    return clada.execute(document, workspace=tmp_path, git=False)


def test_that_a_file_was_read_only_is_said(tmp_path: Path) -> None:
    """Replacing it takes no right to write the file itself; its mode stays."""
    file = tmp_path / "file"
    for document in (WRITE, EDIT, APPEND):
        for mode, words in ((0o444, ", was read-only)"), (0o644, ")")):
            file.unlink(missing_ok=True)
            file.write_text("old\n")
            file.chmod(mode)
            report = run(tmp_path, document)
            assert report.ok
            assert report.text().rstrip().endswith(words)
            assert ("was read-only" in report.text()) == (mode == 0o444)
            assert file.stat().st_mode & 0o777 == mode


def test_an_append_to_a_large_file_reads_its_end_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    with file.open("wb") as opened:
        opened.truncate(3 << 30)
        opened.seek(0, os.SEEK_END)
        opened.write("é".encode() * TAIL + b"x\r\n")
    read = 0
    for name in ("read", "pread"):
        real = getattr(os, name)

        def counted(handle: int, size: int, *rest: int, real: object = real) -> bytes:
            nonlocal read
            data: bytes = real(handle, size, *rest)  # type: ignore[operator]
            read += len(data)
            return data

        monkeypatch.setattr(os, name, counted)
    with Workspace(str(tmp_path)) as workspace:
        assert workspace.append(("file",), b"more")
    assert read < 2 * TAIL
    with file.open("rb") as written:
        written.seek(-7, os.SEEK_END)
        assert written.read() == b"x\r\nmore"


def test_what_is_sparse_stays_so(tmp_path: Path) -> None:
    """So does what an undo brings back."""
    content = b"start\n" + bytes(8 << 20) + b"end\n"
    with Workspace(str(tmp_path)) as workspace:
        for data in (content, content + b"more\n"):
            workspace.store(("file",), data)
            assert (tmp_path / "file").read_bytes() == data
            assert (tmp_path / "file").stat().st_blocks * 512 < 1 << 20
        for data in (bytes(10_000), b"x" + bytes(4096), bytes(4096) + b"x", b""):
            workspace.store(("file",), data)
            assert (tmp_path / "file").read_bytes() == data
