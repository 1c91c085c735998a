"""`clada batch view`: the table of results, a job, and two files compared."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit
from tests.messages import headline
from tests.review.conftest import Tab, browser  # noqa: F401 (a fixture)
from tests.waiting import eventually

from clada.batch.view import ResultsView, make_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.batch.conftest import Yard

HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"


def fill(yard: Yard) -> tuple[str, str]:
    """Run two batches, of an old and a new model; return their results."""
    yard.workspace("w", a_txt="old\n", b_txt="b\n")
    checked = {"checks": ["grep -c new a.txt"]}
    documents = {
        "kept": (edit(), edit()),
        "fixed": (edit("other"), edit()),
        "broken": (edit(), "Sorry, I cannot do that."),
        f"hostile {HOSTILE}": (edit("old", HOSTILE), edit("old", HOSTILE)),
    }
    for turn, name in enumerate(("before", "after")):
        yard.jobs([
            {"id": id_, "path": "w", "document": pair[turn], "model": f"m-{len(id_) % 2}", **checked}
            for id_, pair in documents.items()
        ])  # fmt: skip
        yard.out = yard.top / f"{name}.jsonl"
        assert yard.batch("--approve-checks", "--workers=1").returncode == 0
    return str(yard.top / "before.jsonl"), str(yard.top / "after.jsonl")


def test_rows_are_filtered_sorted_and_compared(yard: Yard) -> None:
    before, after = fill(yard)
    view = ResultsView(after, before)

    def ids(**query: str) -> list[str]:
        found = view.rows({name: [value] for name, value in query.items()})
        assert found["total"] == len(found["rows"])
        return [row["id"].split()[0] for row in found["rows"]]

    assert ids(status="applied", sort="id") == ["fixed", "hostile", "kept"]
    assert ids(sort="id", descending="1") == ["kept", "hostile", "fixed", "broken"]
    assert ids(sort="error_type")[0] == "broken"
    assert ids(text="no operations") == ["broken"]
    assert sorted(ids(flipped="1")) == ["broken", "fixed"]
    assert ids(model="m-1", status="invalid") == []
    rows = {row["id"]: row for row in view.rows({})["rows"]}
    assert (rows["fixed"]["other"], rows["fixed"]["passed"], rows["broken"]["other"]) == (
        "failed",
        True,
        "applied",
    )
    assert (rows["kept"]["checks"], rows["broken"]["checks"]) == ("1/1", "0/1")


def test_a_job_has_its_answer_plan_report_and_diff(yard: Yard) -> None:
    before, after = fill(yard)
    view = ResultsView(after, before)
    number = next(row["number"] for row in view.rows({})["rows"] if row["id"] == "fixed")
    job = view.job({"number": [str(number)]})
    assert job["plan"] == [{"operation": "edit", "target": "a.txt"}]
    assert job["result"]["diff"].endswith("-old\n+new\n")
    assert job["result"]["document"] == edit()
    assert job["other"]["status"] == "failed"


def fetch(address: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_only_the_address_leads_to_the_results(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"id": "a", "status": "applied"}\n')
    with make_server(ResultsView(str(tmp_path / "r.jsonl"))) as server:
        assert fetch(f"{server.address}rows")[0] == 200
        assert fetch(f"{server.address}job?number=0")[0] == 200
        assert fetch(f"{server.address}job?number=7")[0] == 400
        assert fetch(f"{server.address}rows?from=x")[0] == 400
        assert fetch(f"{server.address}rows", Origin="http://elsewhere")[0] == 403
        assert fetch(f"{server.address}rows", Host="elsewhere")[0] == 403
        assert fetch(server.address.replace(server.token, "guess"))[0] == 403


@contextmanager
def viewed(yard: Yard, *words: str) -> Iterator[str]:
    """Start the command, and yield the address of its page."""
    command = [sys.executable, "-m", "clada", "batch", "view", "--no-open", *words]
    with subprocess.Popen(
        command, cwd=yard.top, env=yard.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(60)
        assert code == 0, process.stderr.read()


@pytest.mark.slow
def test_the_page_in_a_browser(yard: Yard, browser: Any) -> None:  # noqa: F811 (the fixture)
    before, after = fill(yard)
    context = browser.new_context()
    tab = Tab(context)
    with viewed(yard, after, before) as address:
        page = tab.page
        page.goto(address)
        page.wait_for_selector("tbody tr")
        assert page.inner_text("#count") == "1–4 of 4 jobs, 2 passed"  # noqa: RUF001 (a range)
        page.get_by_label("flipped only").check()
        assert eventually(lambda: len(page.query_selector_all("tbody tr")) == 2)
        assert "▲" in page.inner_text("tbody tr:has-text('fixed')")
        assert "▼" in page.inner_text("tbody tr:has-text('broken')")
        page.get_by_label("flipped only").uncheck()
        page.get_by_label("status").select_option("invalid")
        assert eventually(lambda: len(page.query_selector_all("tbody tr")) == 1)
        page.get_by_label("status").select_option("")
        assert eventually(lambda: len(page.query_selector_all("tbody tr")) == 4)
        page.get_by_role("button", name="id", exact=True).click()
        page.wait_for_selector("th[aria-sort=ascending]")
        page.get_by_role("button", name="hostile").click()
        page.wait_for_selector("#job:not([hidden]) .added")
        assert HOSTILE in page.inner_text("#parts")
        assert page.title() == "clada batch"
        assert page.inner_text("#parts h3 >> nth=0") == "Diff"
        assert all(url.startswith(address) for url in tab.requests if not url.startswith("data:"))
    assert tab.wrong == []
    context.close()


def test_view_is_refused_where_there_are_no_results(yard: Yard) -> None:
    (yard.top / "x").write_text(json.dumps({"id": 1}))
    done = yard.clada("batch", "view", "x")
    message = "clada: x, line 1: not a result of a batch: id or status is missing\n"
    assert (done.returncode, headline(done.stderr)) == (2, message)
