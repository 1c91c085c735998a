"""What a job changes in place can be put back, whatever stands there, and a kill cannot tear it."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.batch.conftest import edit

import clada
from clada.batch import kept, workspaces
from clada.batch.jobs import Job, name_of

WRITE = '<---WRITE file="{}"--->\nnew\n<---END--->\n'
DOCUMENTS = {
    "edit": edit(),
    "new file": WRITE.format("b.txt"),
    "new directories": WRITE.format("x/y/z.txt") + WRITE.format("x/other.txt"),
    "append": '<---WRITE file="a.txt" append="true"--->\nmore\n<---END--->\n',
    "program": edit(path="run.sh"),
    "twice": edit() + edit("new", "newer") + WRITE.format("./a.txt"),
}


def fill(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    (folder / "run.sh").write_text("old\n")
    (folder / "run.sh").chmod(0o755)


def picture(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        os.path.relpath(os.path.join(top, name), folder): (
            os.stat(os.path.join(top, name)).st_mode,
            "" if name in folders else (folder / top / name).read_text(),
        )
        for top, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


@pytest.mark.parametrize("what", DOCUMENTS)
def test_files_are_put_back_as_they_were(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "w"
    fill(folder)
    before = picture(folder)
    plan = clada.parse(DOCUMENTS[what])
    files = kept.look(str(folder), kept.named_files(plan))
    kept.write(str(tmp_path / "kept"), kept.packed(files))
    assert clada.execute(plan, workspace=folder, git=False).ok
    assert picture(folder) != before
    for _ in range(2):  # to do it again changes nothing
        kept.put_back(str(tmp_path / "kept"), str(folder))
        assert picture(folder) == before


def test_what_a_kill_tore_is_nothing_for_nothing_was_changed(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    fill(folder)
    whole = tmp_path / "kept"
    kept.write(str(whole), kept.packed(kept.look(str(folder), ["a.txt", "run.sh"])))
    data = whole.read_bytes()
    (folder / "a.txt").write_text("changed since\n")
    for size in range(len(data)):
        whole.write_bytes(data[:size])
        assert kept.load(str(whole)) == []
    whole.write_bytes(data)
    assert [file.content for file in kept.load(str(whole))] == [b"old\n", b"old\n"]


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a\\b", ".git/config", "sub/.Clada/x", "."])
def test_a_path_that_may_lead_elsewhere_is_not_ordinary(path: str) -> None:
    with pytest.raises(kept.NotOrdinary):
        kept.named_files(clada.parse(WRITE.format(path.replace("\\", "\\\\"))))


def test_a_planted_record_changes_nothing_outside(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    fill(folder)
    (tmp_path / "kept").write_bytes(b'[["../outside", 420, 3, ""]]\nbad')
    with pytest.raises(kept.NotOrdinary):
        kept.put_back(str(tmp_path / "kept"), str(folder))
    assert not (tmp_path / "outside").exists()


def test_links_and_pipes_need_a_copy(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    fill(folder)
    (folder / "link").symlink_to("a.txt")
    os.mkfifo(folder / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(kept.NotOrdinary):
            kept.look(str(folder), [name])


def test_a_copy_is_what_it_is_a_copy_of(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    fill(folder)
    (folder / "sub" / "closed").mkdir(parents=True)
    (folder / "sub" / "closed" / "f").write_text("x")
    (folder / "link").symlink_to("/nowhere")
    os.mkfifo(folder / "pipe")
    (folder / "sub" / "closed").chmod(0o555)
    workspaces.copy_tree(str(folder), str(tmp_path / "copy"))
    (folder / "pipe").unlink()
    (folder / "link").unlink()
    assert os.readlink(tmp_path / "copy" / "link") == "/nowhere"
    (tmp_path / "copy" / "link").unlink()
    assert picture(folder) == picture(tmp_path / "copy")
    (folder / "a.txt").write_text("changed")
    (folder / "more").mkdir()
    workspaces.copy_over(str(tmp_path / "copy"), str(folder))
    assert picture(folder) == picture(tmp_path / "copy")


def test_a_copy_has_no_setuid_or_setgid_bits(tmp_path: Path) -> None:
    """Root's copy of another user's file would else give everybody root's rights."""
    folder = tmp_path / "w"
    fill(folder)
    (folder / "run.sh").chmod(0o6755)
    (folder / "sub").mkdir()
    (folder / "sub").chmod(0o2755)
    workspaces.copy_tree(str(folder), str(tmp_path / "copy"))
    assert (tmp_path / "copy" / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "copy" / "sub").stat().st_mode & 0o7777 == 0o755


def test_no_other_user_can_look_into_the_workspaces_of_a_batch(tmp_path: Path) -> None:
    folder, work = tmp_path / "w", tmp_path / "work"
    fill(folder)
    folder.chmod(0o755)
    work.mkdir(mode=0o755)
    workspaces.make_directories(str(work))
    job = Job(id="a", document="", path="w")
    place = workspaces.place_of(1, job, str(work), str(tmp_path))
    workspaces.make(job, place, str(tmp_path))
    made = [work, work / workspaces.BEGUN, work / workspaces.TREES, Path(place.workspace)]
    assert [path.stat().st_mode & 0o7777 for path in made] == [0o700] * 4


def test_the_names_of_workspaces_have_the_whole_hash() -> None:
    """Two ids that differ in what names leave out have workspaces of their own, however many there are."""
    name = name_of("a/b")
    assert name.startswith("a-b-")
    assert len(name.removeprefix("a-b-")) >= 32
    assert name != name_of("a:b")
