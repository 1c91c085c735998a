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
from tests.messages import headline

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


def test_a_directory_is_copied_and_stays_as_it_was(yard: Yard) -> None:
    folder = yard.workspace("w")
    job = {"path": "w", "document": edit()}
    yard.jobs([{**job, "id": "a", "model": "m-1", "temperature": 0.5}, {**job, "id": 7, "model": None}])
    done = yard.batch()
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("clada: 2 jobs in ")
    assert done.stderr.endswith(" s: 2 applied\n")
    results = yard.results()
    validate(results)
    assert (folder / "a.txt").read_text() == "old\n"
    fields = (results["a"]["model"], results["a"]["temperature"], results["7"]["model"])
    assert fields == ("m-1", 0.5, None)
    for result in results.values():
        patch = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
        assert result["diff"] == patch
        assert result["workspace"] is None
        assert result["document"] == edit()
        assert result["cpu_seconds"] >= 0
        assert result["seconds"] >= result["seconds_run"] > 0
        assert result["attempts"] == 1
    assert sorted(os.listdir(yard.top)) == ["home", "jobs.jsonl", "results.jsonl", "w"]


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
    ])  # fmt: skip
    assert yard.batch().returncode == 0
    results = yard.results()
    validate(results)
    for id_, (_document, status, type_) in STATUSES.items():
        assert (results[id_]["status"], results[id_]["error_type"]) == (status, type_), id_
    assert results["from-a-file"]["status"] == "applied"
    assert not os.path.exists(f"{yard.out}.work")
    for id_ in ("no-file", "no-workspace", "no-repository", "no-commit"):
        assert (results[id_]["status"], results[id_]["report"]) == ("failed", None)
    assert "nowhere" in results["no-workspace"]["error"]


def test_a_dry_run_is_planned_and_not_applied(yard: Yard) -> None:
    yard.workspace("w")
    dry: dict[str, Any] = {"path": "w", "options": {"dry_run": True}}
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
    "{": "not JSON",
    "[1]": "a job is an object",
    '{"id": "a", "path": "w", "document": "", "x": NaN}': "not JSON: NaN is not a JSON number",
    '{"id": "a", "path": "w", "document": "", "x": 1e999}': "the field x must be a finite number, not inf",
    '{"id": "a", "path": "w", "document": "", "options": {"timeout": 1e999}}': "options: ",
    '{"path": "w", "document": ""}': "id must be an integer, or a text of 1 to 500 characters, not null",
    '{"id": true, "path": "w", "document": ""}': "id must be",
    '{"id": 1.5, "path": "w", "document": ""}': "id must be",
    '{"id": "", "path": "w", "document": ""}': "id must be",
    '{"id": "a", "path": "w"}': "a job has a document or a document_file, and not both",
    '{"id": "a", "document": ""}': "a job has a path, or a repo and a commit, and not both",
    '{"id": "a", "path": "w", "repo": "r", "commit": "c", "document": ""}': "a job has a path, or a repo",
    '{"id": "a", "repo": "r", "document": ""}': "repo and commit go together",
    '{"id": "a", "path": "w", "in_place": true, "document": ""}': "in_place is no longer supported: each job "
    "works on a copy. Keep the copies with --keep=all, or apply the results' diffs with git apply",
    '{"id": "a", "path": 1, "document": ""}': "path must be a text that is not empty, not 1",
    '{"id": "a", "path": "w", "document": "", "options": {"timeot": 1}}': "options: has no option 'timeot'",
    '{"id": "a", "path": "w", "document": "", "options": {"timeout": "1s"}}': "options: timeout must be",
    '{"id": "a", "path": "w", "document": "", "options": {"workspace": "x"}}': "options cannot have",
    '{"id": "a", "path": "w", "document": "", "checks": "ls"}': "checks must be a list of commands",
    '{"id": "a", "path": "w", "document": "", "checks": [" "]}': "the command of a check must be a text",
    '{"id": "a", "path": "w", "document": "", "checks": [{"command": "ls", "x": 1}]}': "a check is",
    '{"id": "a", "path": "w", "document": "", "checks": [{"command": "ls", "timeout": 0}]}': "the timeout of",
    '{"id": "a", "path": "w", "document": "", "model": {"name": 1}}': "the field model must be a text",
    '{"id": "a", "path": "w", "document": "", "status": 1}': "the field status is one of the result's own",
    '{"id": "first", "path": "w", "document": ""}': 'the id "first" is there twice',
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_named_before_anything_is_begun(yard: Yard, line: str) -> None:
    folder = yard.workspace("w")
    first = json.dumps({"id": "first", "path": "w", "document": edit()})
    yard.jobs_file.write_text(f"{first}\n\n{line}\n")
    with pytest.raises(clada.UsageError) as raised:
        clada.batch.run(yard.jobs_file, out=yard.out)
    assert str(raised.value).startswith(f"{yard.jobs_file}, line 3: {BAD[line]}")
    assert (folder / "a.txt").read_text() == "old\n"
    assert not yard.out.exists()


# What no schema says: ids that are there twice, what options there are, which names results have themselves.
UNSCHEMED = ("not JSON", "options", "the field status", "the field x", 'the id "first"')


def test_the_schema_of_jobs_takes_what_the_batch_takes() -> None:
    schema = jsonschema.Draft202012Validator(clada.schema("batch-job"))
    good = [
        {"id": 1, "path": "w", "document": "", "in_place": False, "model": None, "checks": ["ls"]},
        {
            "id": 2,
            "path": "w",
            "document": "",
            "checks": [{"command": "x", "timeout": 2.5, "junit": "j.xml"}],
        },
        {"id": "a", "repo": "r", "commit": "c", "document_file": "x", "options": {"atomic": True}},
    ]
    assert [list(schema.iter_errors(job)) for job in good] == [[], [], []]
    bad = [line for line, message in BAD.items() if not message.startswith(UNSCHEMED)]
    assert len(bad) > 10
    assert [line for line in bad if schema.is_valid(json.loads(line))] == []


USAGE = "clada batch needs one file of jobs, or summary or view and a file of results"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("batch",), USAGE),
        (("batch", "summary"), USAGE),
        (("batch", "jobs.jsonl"), "clada batch needs --out"),
        (("batch", "nowhere", "--out=x"), "nowhere: no such file or directory"),
        (("batch", "jobs.jsonl", "--out=x", "--by=model"), "--by goes with clada batch summary"),
        (("batch", "summary", "x", "--resume"), "--resume goes with a file of jobs"),
        (("batch", "summary", "nowhere"), "nowhere: no such file or directory"),
        (
            ("batch", "/dev/null", "--out=x"),
            "/dev/null is not a regular file: jobs are read twice, first to check them",
        ),
        (("batch", "home", "--out=x"), "home has no files of jobs (.jsonl, .parquet, .arrow)"),
        (("batch", "jobs.jsonl", "--out=x", "--workers=0"), "workers must be 1 or more, not 0"),
        (("batch", "jobs.jsonl", "--out=x", "--address=h"), "address goes with engine=ray"),
        (("batch", "jobs.jsonl", "--out=no/x"), "no/x: no such file or directory"),
        (
            ("batch", "jobs.jsonl", "--out=x", "--map=document"),
            "--map takes FIELD=COLUMN,…, such as document=model_patch, not 'document'",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line(yard: Yard, arguments: tuple[str, ...], message: str) -> None:
    yard.jobs([])
    done = yard.clada(*arguments)
    assert (done.returncode, headline(done.stderr)) == (2, f"clada: {message}\n")


def test_an_existing_results_file_is_refused(yard: Yard) -> None:
    yard.workspace("w")
    yard.jobs([{"id": "a", "path": "w", "document": edit()}])
    yard.out.write_text("precious\n")
    done = yard.batch()
    message = f"clada: {yard.out} exists: continue it with --resume, or name another file\n"
    assert (done.returncode, headline(done.stderr)) == (2, message)
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
    yard.jobs([job])
    subprocess.run(["cp", "-r", folder, yard.top / "again"], check=True)
    yard.batch("--approve-checks")
    assert yard.statuses() == {"a": "applied"}
    diff = yard.results()["a"]["diff"]
    subprocess.run(["git", "apply"], cwd=yard.top / "again", input=diff.encode(), check=True)
    assert (yard.top / "again" / "a.txt").read_text() == "new\n"
    assert (yard.top / "again" / "c.bin").read_bytes() == b"\x00\xff"
    assert os.access(yard.top / "again" / "run.sh", os.X_OK)
    assert not (yard.top / "again" / "b.txt").exists()
    assert not (yard.top / "again" / "after").exists()


def test_what_commands_change_in_a_work_tree_is_in_the_patch(yard: Yard) -> None:
    folder = yard.repository()
    yard.git(folder, "tag", "v1")
    change = "sh -c 'echo new > a.txt; echo x > b.txt'"
    yard.jobs([{"id": "a", "repo": "repo", "commit": "v1", "document": run_document(change),
                "options": {"approve": [change]}}])  # fmt: skip
    yard.batch()
    assert yard.statuses() == {"a": "applied"}
    yard.git(folder, "apply", "-", given=yard.results()["a"]["diff"])
    assert ((folder / "a.txt").read_text(), (folder / "b.txt").read_text()) == ("new\n", "x\n")


def test_the_patch_is_unknown_where_the_original_changed_meanwhile(yard: Yard) -> None:
    folder = yard.workspace("w", a_txt="old\n", b_txt="b\n")
    change = f"sh -c 'echo new > a.txt; echo newer > {folder}/a.txt'"
    options = {"approve": [change], "sandbox": "off"}
    yard.jobs([{"id": "a", "path": "w", "document": run_document(change), "options": options}])
    yard.batch()
    assert (yard.statuses(), yard.results()["a"]["diff"]) == ({"a": "applied"}, None)


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


@pytest.mark.parametrize(("keep", "records"), [("none", 0), ("all", 1)])
def test_the_record_of_a_workspace_goes_with_it(yard: Yard, keep: str, records: int) -> None:
    """A workspace without git is recorded in the state directory."""
    yard.workspace("w")
    yard.jobs([{"id": "a", "path": "w", "document": edit(), "options": {"record": "snapshots"}}])
    assert yard.batch(f"--keep={keep}").returncode == 0
    assert len([*(yard.top / "home/.local/state/clada").glob("a-*/record.db")]) == records


def test_the_library_yields_results_as_they_come(yard: Yard) -> None:
    folder = yard.workspace("w")
    jobs = ({"id": number, "path": str(folder), "document": edit()} for number in range(5))
    results = list(clada.batch.run(jobs, workers=2))
    assert sorted(result["id"] for result in results) == list("01234")
    assert {result["status"] for result in results} == {"applied"}
    with pytest.raises(clada.UsageError, match='job 2: the id "x" is there twice'):
        list(clada.batch.run([{"id": "x", "path": str(folder), "document": ""}] * 2))


def test_no_job_waits_behind_another_that_takes_long(yard: Yard) -> None:
    """A job is drawn when a worker has nothing to do."""
    folder = str(yard.workspace("w"))
    job = {"path": folder, "document": edit("x", "y")}
    long = {**job, "document": run_document("sleep 0.1"), "options": {"approve": ["sleep 0.1"]}}
    drawn: list[int] = []
    ahead: list[int] = []

    def jobs() -> Iterator[dict[str, Any]]:
        for number in range(48):
            drawn.append(number)
            yield {**(job if number % 16 else long), "id": number}

    for number, _result in enumerate(clada.batch.run(jobs(), workers=1)):
        ahead.append(len(drawn) - number)
    assert max(ahead) <= 1


def test_results_inside_of_the_workspace_are_refused(yard: Yard) -> None:
    """A copy of the workspace would have itself in it."""
    document = run_document("ls")
    (yard.top / "alias").symlink_to(yard.top)
    yard.jobs([
        {"id": "a", "path": ".", "document": document},
        {"id": "b", "path": "alias", "document": document},
    ])  # fmt: skip
    assert yard.batch("--workers=1").returncode == 0
    results = yard.results()
    assert results["a"]["error"].startswith("the results of the batch are inside of .;")
    assert results["b"]["status"] == "applied"


def test_options_are_those_of_the_library(yard: Yard) -> None:
    yard.repository("w")
    yard.workspace("other")
    yard.jobs([
        {"id": "atomic", "path": "other", "document": edit() + edit("x"), "options": {"atomic": True}},
        {"id": "recorded", "path": "w", "document": edit(), "options": {"record": "commits"}},
    ])  # fmt: skip
    yard.batch("--keep=all")
    results = yard.results()
    assert (results["atomic"]["diff"], results["atomic"]["report"]["rolled_back"]) == ("", 1)
    copy = Path(results["recorded"]["workspace"])
    assert yard.git(copy, "log", "-1", "--format=%H") == results["recorded"]["report"]["commits"]["post"]
    assert results["recorded"]["diff"].endswith("-old\n+new\n")


def test_results_hold_no_values_of_secret_files(yard: Yard) -> None:
    """Neither the output of a command, nor the patch of a change next to them."""
    folder = yard.workspace("w", a_txt="sk-abcdefgh\n")
    (folder / ".env").write_text("MODE=old\nAPI_KEY=sk-abcdefgh\n")
    documents = {"read": run_document("cat a.txt"), "edit": edit("MODE=old", "MODE=new", ".env")}
    yard.jobs([{"id": id_, "path": "w", "document": text} for id_, text in documents.items()])
    yard.batch()
    assert set(yard.statuses().values()) == {"applied"}
    found = yard.out.read_text().replace("\\u2022", "•")
    assert found.count("•••(.env:API_KEY)") >= 2
    assert "sk-abcdefgh" not in found
