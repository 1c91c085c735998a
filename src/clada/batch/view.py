"""`clada batch view`: a page with the results of a batch, or of two, served like a review.

The page asks for a hundred rows at a time. Only what the table shows is in memory; a job is read from its
file when it is opened.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

import clada
from clada.batch.results import read_results_at, result_files
from clada.batch.run_job import WENT_WELL
from clada.review.page import fill, policy, read_static, read_style
from clada.review.server import OPENED, Handler, Server

if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

PAGE_ROWS = 100
COLUMNS = ("id", "model", "status", "dialect", "error_type", "checks", "seconds")
FILTERS = ("model", "status", "dialect", "error_type")
MAX_CHOICES = 200  # values of a filter that the page offers
STYLE, SCRIPT = read_style("view.css", "clada.batch"), read_static("view.js", "clada.batch")


class ResultsView:
    """The results of a file, with those of another to compare."""

    def __init__(self, path: str, other: str | None = None) -> None:
        self.path, self.other = path, other
        self._rows = [
            _row(file, at, result) for file in result_files(path) for at, result in read_results_at(file)
        ]
        for number, row in enumerate(self._rows):
            row["number"] = number
        if other:
            before = {
                result["id"]: (file, at, result["status"], _passed(result))
                for file in result_files(other)
                for at, result in read_results_at(file)
            }
            for row in self._rows:
                row["other"] = before.get(row["id"])
                row["flipped"] = bool(row["other"] and row["other"][3] != row["passed"])
        self.page = self._page()

    def _page(self) -> bytes:
        choices = {
            name: sorted({str(row[name]) for row in self._rows if row[name] is not None})[:MAX_CHOICES]
            for name in FILTERS
        }
        data = {"path": self.path, "other": self.other, "columns": COLUMNS, "choices": choices}
        parts = {
            "title": "clada batch",
            "head": f"<style>{STYLE}</style>",
            "data": _json_for_html(data),
            "script": SCRIPT,
        }
        return fill(read_static("base.html") + read_static("view.html", "clada.batch"), parts).encode()

    def rows(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Return the rows that a query asks for: filtered, sorted, a hundred from some row on."""
        wanted = {name: query[name][0] for name in FILTERS if name in query}
        text = query.get("text", [""])[0].lower()
        found = [
            row
            for row in self._rows
            if all(str(row[name]) == value for name, value in wanted.items())
            and (not text or text in row["id"].lower() or text in (row["error"] or "").lower())
            and ("flipped" not in query or row.get("flipped"))
        ]
        column = query.get("sort", [""])[0]
        if column in COLUMNS:
            found.sort(key=lambda row: _sort_key(row[column]), reverse="descending" in query)
        start = int(query.get("from", ["0"])[0])
        shown = [
            {
                **{name: row[name] for name in (*COLUMNS, "number", "passed")},
                "other": row["other"][2] if row.get("other") else None,
                "flipped": row.get("flipped", False),
            }
            for row in found[start : start + PAGE_ROWS]
        ]
        return {"total": len(found), "passed": sum(row["passed"] for row in found), "rows": shown}

    def job(self, query: dict[str, list[str]]) -> dict[str, Any]:
        """Return one result, with the plan of its answer; and the result of the other file."""
        row = self._rows[int(query["number"][0])]
        result = _read(row["file"], row["at"])
        document = result.get("document")
        plan = [
            {"operation": getattr(item, "name", "invalid"), "target": item.target}
            for block in (clada.parse(document).blocks if document else ())
            for item in block.operations
        ]
        other = row.get("other")
        return {"result": result, "plan": plan, "other": _read(other[0], other[1]) if other else None}


def _row(file: str, at: int, result: dict[str, Any]) -> Row:
    checks = result.get("checks") or []
    ok = sum(check["exit_code"] == 0 for check in checks)
    return {
        **{name: result.get(name) for name in COLUMNS},
        "checks": f"{ok}/{len(checks)}" if checks else "",
        "error": result.get("error"),
        "passed": _passed(result),
        "file": file,
        "at": at,
    }


def _passed(result: dict[str, Any]) -> bool:
    checks = result.get("checks") or []
    return result["status"] in WENT_WELL and all(check["exit_code"] == 0 for check in checks)


def _sort_key(value: Any) -> tuple[bool, bool, Any]:
    """Return a key by which numbers come before texts, and what is missing last."""
    return value is None, isinstance(value, str), value if value is not None else 0


def _read(file: str, at: int) -> dict[str, Any]:
    with open(file, "rb") as lines:
        lines.seek(at)
        found: dict[str, Any] = json.loads(lines.readline())
    return found


def _json_for_html(value: Any) -> str:
    """Return a value as JSON that cannot end the element of HTML that it is in."""
    text = json.dumps(value, separators=(",", ":"))  # in ASCII
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class ViewHandler(Handler):
    """Answers requests of the page: it only reads."""

    policy = policy(connects=True, script=SCRIPT, style=STYLE)

    def do_GET(self) -> None:  # noqa: N802 (http.server names it)
        """Answer with the page, or with rows, or with a job."""
        view: Any = self.server.session
        self._route(
            {
                "": lambda _query: self._send(HTTPStatus.OK, "text/html; charset=utf-8", view.page),
                OPENED: self._redirect,
                "rows": lambda query: self._send_json(view.rows(query)),
                "job": lambda query: self._send_json(view.job(query)),
            }
        )

    def do_POST(self) -> None:  # noqa: N802 (the same)
        """Refuse: nothing can be done here."""
        self._route({}, has_body=True)


def make_server(view: ResultsView) -> Server:
    """Return a server of the page, to be entered."""
    session: Any = view
    return Server(session, ViewHandler)
