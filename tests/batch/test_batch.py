"""`clada batch`: jobs, workspaces, results, statuses, checks."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.batch.conftest import edit, run_document

import clada

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.batch.conftest import Yard


def validate(results: dict[str, dict[str, Any]]) -> None:
    """Hold results to the published schemas."""
    for result in results.values():
        jsonschema.validate(result, clada.schema("batch-result"))
        if result["report"]:
            jsonschema.validate(result["report"], clada.schema("report"))


def test_a_path_is_copied_or_changed_where_it_is(yard: Yard) -> None:
    copied, changed = yard.workspace("copied"), yard.workspace("changed")
    yard.jobs([
        {"id": "copy", "path": "copied", "document": edit(), "model": "m-1", "temperature": 0.5},
        {"id": 7, "path": str(changed), "in_place": True, "document": edit(), "model": None},
    ])  # fmt: skip
    done = yard.batch()
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("clada: 2 jobs in ")
    assert done.stderr.endswith(" s: 2 applied\n")
    results = yard.results()
    validate(results)
    assert (copied / "a.txt").read_text() == "old\n"
    assert (changed / "a.txt").read_text() == "new\n"
    assert (results["copy"]["model"], results["copy"]["temperature"], results["7"]["model"]) == (
        "m-1",
        0.5,
        None,
    )
    assert results["7"]["workspace"] == str(changed)
    assert results["copy"]["workspace"] is None
    for result in results.values():
        assert (
            result["diff"]
            == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
        )
        assert result["peak_memory"] > 1 << 20
        assert result["cpu_seconds"] >= 0
        assert result["seconds"] >= result["seconds_run"] > 0
        assert result["attempts"] == 1
    assert sorted(os.listdir(yard.top)) == ["changed", "copied", "home", "jobs.jsonl", "results.jsonl"]


STATUSES = {
    "applied": (edit(), "applied", None),
    "not-found": (edit("other"), "failed", "match_count_mismatch"),
    "cut-off": ('<---WRITE file="x"--->\nab', "invalid", "malformed_csl"),
    "nothing": ("Just prose.", "invalid", "invalid_operation"),
    "incomplete": ("<---WRITE--->\nx\n<---END--->\n", "invalid", "invalid_operation"),
    "half": (f"{edit('other')}{edit()}", "failed", "match_count_mismatch"),
    "command": (run_document("npm test"), "failed", "command_not_allowed"),
}


def test_statuses(yard: Yard) -> None:
    yard.workspace("w")
    yard.repository()
    (yard.top / "answer.md").write_text(edit())
    yard.jobs([
        *({"id": id_, "path": "w", "document": row[0]} for id_, row in STATUSES.items()),
        {"id": "from-a-file", "path": "w", "document_file": "answer.md"},
        {"id": "no-file", "path": "w", "document_file": "nowhere.md"},
        {"id": "no-workspace", "path": "nowhere", "document": edit()},
        {"id": "no-repository", "repo": "w", "commit": "HEAD", "document": edit()},
        {"id": "no-commit", "repo": "repo", "commit": "0" * 40, "document": edit()},
        {"id": "in-place-of-nothing", "path": "nowhere", "in_place": True, "document": edit()},
    ])  # fmt: skip
    assert yard.batch().returncode == 0
    results = yard.results()
    validate(results)
    for id_, (_document, status, type_) in STATUSES.items():
        assert (results[id_]["status"], results[id_]["error_type"]) == (status, type_), id_
    assert results["from-a-file"]["status"] == "applied"
    assert not os.path.exists(f"{yard.out}.work")
    for id_ in ("no-file", "no-workspace", "no-repository", "no-commit", "in-place-of-nothing"):
        assert (results[id_]["status"], results[id_]["report"]) == ("failed", None)
    assert "nowhere" in results["no-workspace"]["error"]


def test_a_dry_run_is_planned_and_not_applied(yard: Yard) -> None:
    yard.workspace("w")
    dry: dict[str, Any] = {"path": "w", "in_place": True, "options": {"dry_run": True}}
    yard.jobs([
        {"id": "dry", **dry, "document": edit(), "checks": ["cat a.txt"]},
        {"id": "would-fail", **dry, "document": edit(path="nowhere.txt")},
    ])  # fmt: skip
    done = yard.batch("--approve-checks", "--keep=failed")
    assert done.returncode == 0
    assert done.stderr.endswith(" s: 1 failed, 1 planned\n")
    results = yard.results()
    validate(results)
    assert (results["dry"]["status"], results["would-fail"]["status"]) == ("planned", "failed")
    assert results["dry"]["diff"].endswith("-old\n+new\n")
    assert results["dry"]["checks"][0]["error"] == "not run in a dry run"
    assert (yard.top / "w" / "a.txt").read_text() == "old\n"
    summary = json.loads(yard.clada("batch", "summary", str(yard.out), "--as=json").stdout)
    assert (summary["applied_share"], summary["by_status"]["planned"]) == (0.0, 1)
    assert ">planned<" in yard.clada("batch", "summary", str(yard.out), "--as=svg").stdout


BAD = {
    "{": "it is not JSON",
    "[1]": "a job is an object",
    '{"id": "a", "path": "w", "document": "", "x": NaN}': "it is not JSON: NaN is no number of JSON",
    '{"path": "w", "document": ""}': "id must be a number, or a text of 1 to 500 characters, not null",
    '{"id": true, "path": "w", "document": ""}': "id must be",
    '{"id": "", "path": "w", "document": ""}': "id must be",
    '{"id": "a", "path": "w"}': "a job has a document or a document_file, and not both",
    '{"id": "a", "document": ""}': "a job has a path, or a repo and a commit, and not both",
    '{"id": "a", "path": "w", "repo": "r", "commit": "c", "document": ""}': "a job has a path, or a repo",
    '{"id": "a", "repo": "r", "document": ""}': "repo and commit go together",
    '{"id": "a", "repo": "r", "commit": "c", "in_place": true, "document": ""}': "in_place goes with a path",
    '{"id": "a", "path": 1, "document": ""}': "path must be a text that is not empty, not 1",
    '{"id": "a", "path": "w", "in_place": 1, "document": ""}': "in_place must be true or false, not 1",
    '{"id": "a", "path": "w", "document": "", "options": {"timeot": 1}}': "options: has no option 'timeot'",
    '{"id": "a", "path": "w", "document": "", "options": {"timeout": "1s"}}': "options: timeout must be",
    '{"id": "a", "path": "w", "document": "", "options": {"workspace": "x"}}': "options cannot have",
    '{"id": "a", "path": "w", "document": "", "checks": "ls"}': "checks must be a list of commands",
    '{"id": "a", "path": "w", "document": "", "model": {"name": 1}}': "the field model must be a text",
    '{"id": "a", "path": "w", "document": "", "status": 1}': "the field status is one of the result's own",
    '{"id": "first", "path": "w", "document": ""}': 'the id "first" was there before',
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_named_before_anything_is_begun(yard: Yard, line: str) -> None:
    folder = yard.workspace("w")
    first = json.dumps({"id": "first", "path": "w", "in_place": True, "document": edit()})
    yard.jobs_file.write_text(f"{first}\n\n{line}\n")
    with pytest.raises(clada.UsageError) as raised:
        clada.batch.run(yard.jobs_file, out=yard.out)
    assert str(raised.value).startswith(f"{yard.jobs_file}, line 3: {BAD[line]}")
    assert (folder / "a.txt").read_text() == "old\n"
    assert not yard.out.exists()


# What no schema says: ids that are there twice, what options there are, which names results have themselves.
UNSCHEMED = ("it is not JSON", "options", "the field status", 'the id "first"')


def test_the_schema_of_jobs_takes_what_the_batch_takes() -> None:
    schema = jsonschema.Draft202012Validator(clada.schema("batch-job"))
    good = [
        {"id": 1, "path": "w", "document": "", "in_place": True, "model": None, "checks": ["ls"]},
        {"id": "a", "repo": "r", "commit": "c", "document_file": "x", "options": {"atomic": True}},
    ]
    assert [list(schema.iter_errors(job)) for job in good] == [[], []]
    bad = [line for line, message in BAD.items() if not message.startswith(UNSCHEMED)]
    assert len(bad) > 10
    assert [line for line in bad if schema.is_valid(json.loads(line))] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("batch",),
            "clada batch takes a file of jobs, or summary and a file of results; see clada batch --help",
        ),
        (("batch", "jobs.jsonl"), "--out=FILE says where the results go; see clada batch --help"),
        (("batch", "nowhere", "--out=x"), "nowhere: no such file or directory"),
        (("batch", "jobs.jsonl", "--out=x", "--by=model"), "--by goes with clada batch summary"),
        (("batch", "summary", "x", "--resume"), "--resume goes with a file of jobs, not with batch summary"),
        (("batch", "summary", "nowhere"), "nowhere: no such file or directory"),
        (
            ("batch", "/dev/null", "--out=x"),
            "/dev/null is no plain file: jobs are read twice, first to check them",
        ),
        (("batch", "jobs.jsonl", "--out=x", "--workers=0"), "workers must be 1 or more, not 0"),
        (("batch", "jobs.jsonl", "--out=x", "--address=h"), "address goes with engine=ray"),
        (("batch", "jobs.jsonl", "--out=no/x"), "{top}/no/x.work: no such file or directory"),
    ],
)
def test_a_wrong_command_line_is_one_line(yard: Yard, arguments: tuple[str, ...], message: str) -> None:
    yard.jobs([])
    done = yard.clada(*arguments)
    assert (done.returncode, done.stderr) == (2, f"clada: {message.format(top=yard.top)}\n")


def test_an_existing_results_file_is_refused(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": "a", "path": "w", "document": edit()}])
    yard.out.write_text("precious\n")
    done = yard.batch()
    message = f"clada: {yard.out} is there already: --resume goes on with it, or name another file\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert yard.out.read_text() == "precious\n"
    assert yard.batch("--resume").returncode == 2  # it has no results
    assert yard.out.read_text() == "precious\n"


def test_each_job_of_a_repository_has_a_work_tree_that_shares_objects(yard: Yard) -> None:
    folder = yard.repository()
    first = yard.git(folder, "rev-parse", "HEAD")
    (folder / "a.txt").write_text("newer\n")
    yard.git(folder, "commit", "-qam", "second")
    yard.git(folder, "tag", "v2")
    yard.git(yard.top, "clone", "-q", "--mirror", str(folder), "mirror.git")
    before = subprocess.run(["find", folder, yard.top / "mirror.git", "-ls"], capture_output=True, check=True)
    wanted = {"id": "one", "repo": "repo", "commit": first, "document": edit()}
    yard.jobs([
        wanted,
        {**wanted, "id": "short", "commit": first[:10]},
        {**wanted, "id": "tag", "repo": "mirror.git", "commit": "v2", "document": edit("newer")},
        {**wanted, "id": "log", "document": run_document("git log --oneline")},
        {**wanted, "id": "commits", "options": {"record": "commits"}},
        {**wanted, "id": "nothing", "commit": "v9"},
        {**wanted, "id": "option", "commit": "--all"},
        {**wanted, "id": "url", "repo": f"file://{folder}"},
    ])  # fmt: skip
    assert yard.batch("--keep=all").returncode == 0
    results = yard.results()
    assert yard.statuses() == {
        "one": "applied", "short": "applied", "tag": "applied", "log": "applied", "commits": "applied",
        "nothing": "failed", "option": "failed", "url": "applied",
    }  # fmt: skip
    assert results["nothing"]["error"].startswith("there is no commit v9 in ")
    assert results["one"]["diff"].endswith("-old\n+new\n")
    assert results["log"]["report"]["blocks"][0]["tasks"][0]["output"][0].endswith(" first")
    tree = results["one"]["workspace"]
    assert sorted(os.listdir(tree)) == [".git", "a.txt"]
    loose = [name for name in os.listdir(f"{tree}/.git/objects") if len(name) == 2]
    assert loose == []  # all objects are those of the repository
    committed = results["commits"]["report"]["commits"]["post"]
    assert committed
    after = subprocess.run(["find", folder, yard.top / "mirror.git", "-ls"], capture_output=True, check=True)
    assert after.stdout == before.stdout  # neither was written to


def test_no_code_of_a_repository_runs_when_its_work_tree_is_made(yard: Yard) -> None:
    folder = yard.repository()
    marker = yard.top / "marker"
    (folder / ".gitattributes").write_text("* filter=evil\n")
    yard.git(folder, "add", "-A")
    yard.git(folder, "commit", "-qm", "attributes")
    for key in ("smudge", "clean", "process"):
        yard.git(folder, "config", f"filter.evil.{key}", f"touch {marker}; cat")
    yard.git(folder, "config", "core.fsmonitor", f"touch {marker}")
    for hook in ("post-checkout", "post-index-change"):
        script = folder / ".git" / "hooks" / hook
        script.write_text(f"#!/bin/sh\ntouch {marker}\n")
        script.chmod(0o755)
    yard.git(folder, "config", "core.hooksPath", str(folder / ".git" / "hooks"))
    marker.unlink(missing_ok=True)
    yard.jobs([{"id": "a", "repo": "repo", "commit": "HEAD", "document": edit()}])
    yard.batch()
    assert yard.statuses() == {"a": "applied"}
    assert not marker.exists()


def test_checks_run_only_where_the_person_approves_them(yard: Yard) -> None:
    yard.workspace("w")
    job = {
        "id": "a",
        "path": "w",
        "document": edit(),
        "checks": ["grep -c new a.txt", "sh -c 'echo no; exit 3'"],
    }
    yard.jobs([job])
    assert yard.batch().returncode == 0
    checks = yard.results()["a"]["checks"]
    assert [(check["exit_code"], check["output"]) for check in checks] == [(None, ""), (None, "")]
    assert checks[0]["error"] == "not approved: --approve-checks runs it"
    yard.out.unlink()
    assert yard.batch("--approve-checks").returncode == 0
    results = yard.results()
    validate(results)
    checks = results["a"]["checks"]
    assert [(check["exit_code"], check["output"]) for check in checks] == [(0, "1\n"), (3, "no\n")]
    assert results["a"]["status"] == "applied"  # checks are told of, and do not decide
    assert results["a"]["seconds_checks"] > 0


def test_what_commands_change_is_in_the_patch_and_checks_are_not(yard: Yard) -> None:
    folder = yard.workspace("w", a_txt="old\n", b_txt="gone\n")
    (folder / "run.sh").write_text(
        "echo new > a.txt; rm b.txt; printf '\\000\\377' > c.bin; chmod +x run.sh\n"
    )
    job: dict[str, Any] = {"id": "a", "path": "w", "document": run_document("sh run.sh")}
    job["checks"], options = ["touch after"], {"approve": ["sh run.sh"]}
    job["options"] = options
    yard.jobs([job, {**job, "id": "b", "path": "in_place", "in_place": True}])
    for name in ("again", "in_place"):
        subprocess.run(["cp", "-r", folder, yard.top / name], check=True)
    yard.batch("--approve-checks")
    results = yard.results()
    assert yard.statuses() == {"a": "applied", "b": "applied"}
    assert results["a"]["diff"] == results["b"]["diff"]
    subprocess.run(["git", "apply"], cwd=yard.top / "again", input=results["a"]["diff"].encode(), check=True)
    assert (yard.top / "again" / "c.bin").read_bytes() == b"\x00\xff"
    assert not (yard.top / "again" / "b.txt").exists()
    assert not (yard.top / "again" / "after").exists()
    assert (yard.top / "in_place" / "after").exists()


@pytest.mark.parametrize(("keep", "kept"), [("none", []), ("failed", ["bad"]), ("all", ["bad", "good"])])
def test_workspaces_are_kept_as_asked(yard: Yard, keep: str, kept: list[str]) -> None:
    yard.workspace("w")
    yard.jobs([
        {"id": "good", "path": "w", "document": edit()},
        {"id": "bad", "path": "w", "document": edit() + edit("other")},
    ])  # fmt: skip
    yard.batch(f"--keep={keep}")
    found = {id_: result["workspace"] for id_, result in yard.results().items() if result["workspace"]}
    assert sorted(found) == kept
    for path in found.values():
        assert Path(path, "a.txt").read_text() == "new\n"
    assert os.path.exists(f"{yard.out}.work") is bool(kept)


def test_the_library_yields_results_as_they_come(yard: Yard) -> None:
    folder = yard.workspace("w")
    jobs = ({"id": number, "path": str(folder), "document": edit()} for number in range(5))
    results = list(clada.batch.run(jobs, workers=2))
    assert sorted(result["id"] for result in results) == list("01234")
    assert {result["status"] for result in results} == {"applied"}
    with pytest.raises(clada.UsageError, match='job 2: the id "x" was there before'):
        list(clada.batch.run([{"id": "x", "path": str(folder), "document": ""}] * 2))


def test_jobs_in_one_directory_run_in_order(yard: Yard) -> None:
    """However many workers there are."""
    folder = yard.workspace("w", a_txt="0\n")
    count = 60
    yard.jobs([
        {"id": number, "path": "w", "in_place": True, "document": edit(str(number), str(number + 1))}
        for number in range(count)
    ])  # fmt: skip
    yard.batch("--workers=3")
    assert set(yard.statuses().values()) == {"applied"}
    assert (folder / "a.txt").read_text() == f"{count}\n"


def test_few_jobs_wait_behind_another_where_some_take_long(yard: Yard) -> None:
    """No other worker takes those. The result of a long one comes together with those of short ones."""
    folder = str(yard.workspace("w"))
    job = {"path": folder, "in_place": True, "document": edit("x", "y")}
    long = {**job, "document": run_document("sleep 0.1"), "options": {"approve": ["sleep 0.1"]}}
    drawn: list[int] = []
    ahead: list[int] = []

    def jobs() -> Iterator[dict[str, Any]]:
        for number in range(192):
            drawn.append(number)
            yield {**(job if number % 16 else long), "id": number}

    for number, _result in enumerate(clada.batch.run(jobs(), workers=1)):
        ahead.append(len(drawn) - number)
    assert max(ahead[96:]) < 24


@pytest.mark.parametrize("in_place", [True, False])
def test_results_inside_of_the_workspace_are_refused(yard: Yard, *, in_place: bool) -> None:
    """A copy of the workspace would have itself in it."""
    document = run_document("ls")
    (yard.top / "alias").symlink_to(yard.top)
    yard.jobs([
        {"id": "a", "path": ".", "in_place": in_place, "document": document},
        {"id": "b", "path": "alias", "in_place": in_place, "document": document},
    ])  # fmt: skip
    assert yard.batch("--workers=1").returncode == 0
    results = yard.results()
    assert results["a"]["error"].startswith("the results of the batch are inside of .;")
    assert results["b"]["status"] == "applied"


def test_options_are_those_of_the_library(yard: Yard) -> None:
    folder = yard.repository("w")
    yard.workspace("other")
    yard.jobs([
        {"id": "atomic", "path": "other", "document": edit() + edit("x"), "options": {"atomic": True}},
        {"id": "recorded", "path": "w", "in_place": True, "document": edit(),
         "options": {"record": "commits"}},
    ])  # fmt: skip
    yard.batch()
    results = yard.results()
    assert (results["atomic"]["diff"], results["atomic"]["report"]["rolled_back"]) == ("", 1)
    assert yard.git(folder, "log", "-1", "--format=%H") == results["recorded"]["report"]["commits"]["post"]
    assert results["recorded"]["diff"].endswith("-old\n+new\n")
