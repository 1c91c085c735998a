"""Whom the server of a review answers, and what it does not do."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import signal
import socket
from contextlib import suppress
from html.parser import HTMLParser
from http.client import HTTPConnection
from select import select
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.waiting import eventually

import clada
from clada.review.server import Server
from clada.review.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.review.conftest import Review

    Serve = Callable[[str], "Served"]

WRITE = '<---WRITE file="a.txt"--->\nnew\n<---END--->\n'
SLEEP = "<---RUN--->\nsleep 60\n<---END--->\n"
GO = {"version": 1, "chosen": {"0": None}, "answers": {"0": "once"}}


class Answer(NamedTuple):
    """What the server answers."""

    status: int
    headers: dict[str, str]
    body: bytes


class Served:
    """A review in this process, and a way to ask its server for things."""

    def __init__(self, workspace: Path, answer: str) -> None:
        self.workspace = workspace
        settings = clada.Settings(workspace=str(workspace), record="none", sandbox="off")
        self.session = Session(answer.encode(), clada.parse, settings)
        self.server = Server(self.session)

    @property
    def host(self) -> str:
        """The name and port."""
        return f"127.0.0.1:{self.server.server_port}"

    def __call__(
        self, path: str, value: Any = None, method: str = "", token: str | None = None, **headers: str | None
    ) -> Answer:
        """Ask for something below the token, with the headers of our page unless told otherwise."""
        body = None if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        method = method or ("GET" if body is None else "POST")
        given = {"Host": self.host, "Origin": f"http://{self.host}" if method == "POST" else None, **headers}
        connection = HTTPConnection(self.host, timeout=30)
        connection.putrequest(
            method, f"/{self.server.token if token is None else token}{path}", skip_host=True
        )
        for name, header in given.items():
            if header is not None:
                connection.putheader(name.replace("_", "-"), header)
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        answer = connection.getresponse()
        answered = Answer(answer.status, dict(answer.headers), answer.read())
        connection.close()
        return answered

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events of the first version as they come."""
        for _number, news in self.session.events(0, 1):
            yield from news

    def until(self, type_: str) -> dict[str, Any]:
        """Return the first event of this type."""
        return next(event for event in self.events() if event["type"] == type_)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Serve]:
    reviews: list[Served] = []

    def serve(answer: str) -> Served:
        reviews.append(Served(tmp_path, answer))
        reviews[-1].server.__enter__()
        return reviews[-1]

    yield serve
    for each in reviews:
        each.session.stop()
        each.session.wait()
        each.server.__exit__()


def test_a_page_that_cannot_be_rendered_says_so_and_has_its_end(
    served: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("<b>")

    monkeypatch.setattr("clada.review.cards.Cards.card", fail)
    page = served(WRITE)("/").body.decode()
    assert page.count("internal error: KeyError: &#x27;&lt;b&gt;&#x27;") == 1
    assert page.endswith("</body>\n</html>\n")
    assert "HTTP/1.1" not in page


def test_the_address_answers_with_the_page(served: Serve) -> None:
    answer = served(WRITE)("/")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"a.txt" in answer.body


@pytest.mark.parametrize("token", ["", "x", "../x", "open", "%00", "\\"])
def test_without_the_token_nothing_is_answered(served: Serve, token: str) -> None:
    asked = served(WRITE)
    for path in ("/", "/live.js", "/review.css", "/events?version=1", "/apply", "/choose"):
        answer = asked(path, GO if path in ("/apply", "/choose") else None, token=token)
        assert answer.status == 403
        assert b"a.txt" not in answer.body
    assert not (asked.workspace / "a.txt").exists()


def test_the_token_alone_is_no_address(served: Serve) -> None:
    assert served(WRITE)("").status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "[::1]:{port}", "", None]
)
def test_no_other_name_leads_here(served: Serve, host: str | None) -> None:
    """A page of somebody else whose name was made to mean this machine gets nothing."""
    asked = served(WRITE)
    host = host and host.format(port=asked.server.server_port)
    assert asked("/", Host=host).status == 403
    assert asked("/apply", GO, Host=host, Origin=f"http://{host}").status == 403
    assert not (asked.workspace / "a.txt").exists()


def test_this_machine_may_be_called_localhost(served: Serve) -> None:
    asked = served(WRITE)
    assert asked("/", Host=f"localhost:{asked.server.server_port}").status == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1", "https://{host}"]
)
def test_no_other_page_can_ask_for_anything(served: Serve, origin: str | None) -> None:
    asked = served(WRITE)
    origin = origin and origin.format(host=asked.host)
    for path in (
        "/apply",
        "/choose",
        "/rows",
        "/context",
        "/text",
        "/edit",
        "/place",
        "/stop",
        "/undo",
        "/reload",
        "/next",
        "/show",
        "/ticket",
        "/quit",
    ):
        assert asked(path, GO, Origin=origin).status == 403
    assert not (asked.workspace / "a.txt").exists()
    if origin:
        assert asked("/live.js", Origin=origin).status == 403


def test_asking_by_get_does_nothing(served: Serve) -> None:
    asked = served(WRITE)
    for path in ("/apply", "/quit", "/undo", "/next"):
        assert asked(path).status == 404


def test_only_this_machine_is_listened_to(served: Serve) -> None:
    asked = served(WRITE)
    assert asked.server.server_address[0] == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", asked.server.server_port), timeout=5)


def test_every_answer_says_that_nothing_else_may_be_loaded(served: Serve) -> None:
    asked = served(WRITE)
    for answer in (asked("/"), asked("/live.js"), asked("/none"), asked("/", token="x")):
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
        )
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_what_a_browser_is_started_with_leads_to_the_page_once(served: Serve) -> None:
    asked = served(WRITE)
    ticket = asked.server.address_to_open.rpartition("/")[2]
    assert asked.server.token not in asked.server.address_to_open
    assert asked(f"/{ticket}", token="open", Host="evil.example").status == 403
    first, second = asked(f"/{ticket}", token="open"), asked(f"/{ticket}", token="open")
    assert (first.status, first.headers["Location"]) == (303, f"/{asked.server.token}/")
    assert second.status == 403


HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>{{version}}"


class Tags(HTMLParser):
    """Collects the elements of a page, each with the names of its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, tuple[str, ...]]] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Take note of an element."""
        self.found.add((tag, tuple(name for name, _value in attributes)))


def test_nothing_of_an_answer_or_a_file_is_markup(served: Serve, tmp_path: Path) -> None:
    """A hostile answer has the elements and attributes of a harmless one that is the same in all else."""
    pages = []
    for text in (HOSTILE, "x" * len(HOSTILE)):
        (tmp_path / "a.txt").write_text(f"{text}\n")
        tasks = [
            {"action": "write", "path": f"x{text.replace('/', '_')}", "content": text},
            {"action": "write", "path": "a.txt", "content": "y"},
            {"action": "run", "command": f"python3 '{text}'"},
            {"action": "edit", "path": "a.txt", "search": f"{text}!", "replace": text},
        ]
        document = f"{text}\n```json\n{json.dumps({'tasks': tasks})}\n```\n{text}"
        tags = Tags()
        tags.feed(served(document)("/").body.decode())
        pages.append(tags.found)
    assert ("article", ("id", "class", "data-index", "data-name", "tabindex", "aria-labelledby")) in pages[0]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "request_",
    [
        None, [], {}, {"version": 1}, {**GO, "chosen": {"1": None}}, {**GO, "chosen": {"x": None}},
        {**GO, "chosen": {"0": [2]}}, {**GO, "chosen": {"0": "all"}}, {**GO, "chosen": {"0": 1}},
        {**GO, "answers": {"0": "yes"}}, {**GO, "answers": {"0": []}}, {**GO, "answers": []},
        {**GO, "version": 2}, b"{", b"\xff", b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_refused(served: Serve, request_: Any) -> None:
    asked = served(WRITE)
    assert asked("/apply", b"null" if request_ is None else request_).status in (400, 409)
    assert not (asked.workspace / "a.txt").exists()


def test_an_answer_that_is_too_long_is_not_even_read(served: Serve) -> None:
    asked = served(WRITE)
    connection = HTTPConnection(asked.host, timeout=30)
    headers = {"Origin": f"http://{asked.host}", "Content-Length": str(1 << 40)}
    connection.request("POST", f"/{asked.server.token}/next", headers=headers)
    assert connection.getresponse().status == 413
    connection.close()


def test_what_is_chosen_is_done_and_told(served: Serve) -> None:
    asked = served(WRITE)
    assert asked("/apply", GO).status == 202
    assert asked.until("report")["text"] == "[task-1] SUCCESS: WRITE - a.txt (created, 4 bytes)\n"
    assert (asked.workspace / "a.txt").read_text() == "new\n"
    assert asked("/apply", GO).status == 409  # once


def test_one_run_at_a_time(served: Serve) -> None:
    asked = served(SLEEP)
    assert asked("/apply", GO).status == 202
    asked.until("started")
    for path in ("/apply", "/reload", "/next"):
        assert asked(path, GO).status == 409
    assert asked("/stop", GO).status == 202
    assert "interrupted" in asked.until("report")["text"]


def test_a_command_that_was_not_approved_does_not_run(served: Serve) -> None:
    asked = served("<---RUN--->\ntouch-it --now\n<---END--->\n")
    asked("/apply", {**GO, "answers": {}})
    report = asked.until("report")
    assert "command_not_allowed: needs approval\n  clada approvals add 'touch-it --now'\n" in report["text"]
    assert "not chosen" not in report["for_llm"]


def test_what_changed_since_it_was_shown_is_not_overwritten(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    asked = served(WRITE)
    (tmp_path / "a.txt").write_text("newer")
    asked("/apply", GO)
    assert asked.until("failed")["message"] == "changed since this was shown: a.txt; look again"
    assert (tmp_path / "a.txt").read_text() == "newer"
    assert asked("/reload", b"").status == 202
    assert eventually(lambda: asked("/apply", {**GO, "version": 2}).status == 202)


def test_a_page_that_shows_another_answer_chooses_nothing(served: Serve) -> None:
    asked = served(WRITE)
    assert asked("/next", b"nothing here").status == 202
    assert asked.until("reload")
    assert asked("/apply", GO).status == 409
    assert asked("/rows", {"version": 1, "index": 0, "hunk": 1}).status == 409


def _ask_events(running: Review) -> socket.socket:
    """Return a page that is there, and listens."""
    _http, _, host, token, _ = running.address.split("/")
    page = socket.create_connection(("127.0.0.1", int(host.partition(":")[2])), timeout=30)
    page.sendall(f"GET /{token}/events?version=1 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert page.recv(15) == b"HTTP/1.1 200 OK"
    return page


def test_it_stays_when_the_last_page_is_closed_and_the_same_command_opens_it_again(
    review: Callable[..., Review],
) -> None:
    running = review(WRITE)
    page = _ask_events(running)
    page.close()
    stays = running.process.stderr.readline() if running.process.stderr else ""
    assert stays.startswith("clada: the page was closed; the review stays for 10 minutes")
    for words in ((str(running.top / "answer.md"),), ("/dev/null",)):
        assert running.again(*words) == (0, f"{running.address}\n", "clada: this review is open already\n")
    (listed,) = (running.top / "home/.local/state/clada/reviews").iterdir()
    assert listed.stat().st_mode & 0o777 == 0o600
    running.process.send_signal(signal.SIGINT)
    assert running.end() == (130, "", "")
    assert not listed.exists()


def test_a_review_that_was_left_ends_after_its_time(tmp_path: Path) -> None:
    settings = clada.Settings(workspace=str(tmp_path), record="none")
    session = Session(WRITE.encode(), clada.parse, settings, patience=0.1)
    session.presence.open()
    session.presence.leave()
    assert select([session.presence.ended], [], [], 60)[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(review: Callable[..., Review], number: int) -> None:
    running = review(WRITE)
    running.process.send_signal(number)
    assert running.end() == (128 + number, "", "")


def _apply(running: Review, request: Any) -> socket.socket:
    """Begin a run, and return a page that listens to it."""
    _http, _, host, token, _ = running.address.split("/")
    page = _ask_events(running)
    connection = HTTPConnection(host, timeout=30)
    headers = {"Origin": f"http://{host}"}
    connection.request("POST", f"/{token}/apply", json.dumps(request), headers)
    assert connection.getresponse().status == 202
    connection.close()
    return page


def test_a_run_goes_on_though_the_page_is_closed(review: Callable[..., Review]) -> None:
    """Only then does the review end, with the report on the terminal."""
    running = review('<---RUN--->\nsleep 4\n<---END--->\n<---WRITE file="a.txt"--->\nx\n<---END--->\n')
    page = _apply(running, {**GO, "chosen": {"0": None, "1": None}})
    while b"started" not in page.recv(4096):
        pass
    page.close()
    code, out, _err = running.end()
    assert (code, out.count("SUCCESS")) == (0, 2)
    assert running.read("a.txt") == "x\n"


def test_an_interrupt_ends_the_run_in_order(review: Callable[..., Review]) -> None:
    running = review(SLEEP)
    connection = _apply(running, GO)
    while b"started" not in connection.recv(4096):
        pass
    running.process.send_signal(signal.SIGINT)
    code, out, _err = running.end()
    connection.close()
    assert (code, "interrupted" in out) == (130, True)


def test_what_depends_on_what_is_left_out_is_named(served: Serve) -> None:
    twice = served(WRITE + WRITE.replace("new", "newer"))
    request = {"version": 1, "chosen": {"1": None}, "answers": {}}
    (warning,) = json.loads(twice("/choose", request).body)
    assert all(words in warning for words in ("a.txt", "task 2", "without task 1"))
    assert json.loads(twice("/choose", {**request, "chosen": {"0": None}}).body) == []


def test_the_answers_to_two_equal_commands_are_their_own(served: Serve) -> None:
    command = "<---RUN--->\npython3 -c pass\n<---END--->\n"
    asked = served(command + command)
    asked("/apply", {"version": 1, "chosen": {"0": None, "1": None}, "answers": {"1": "once"}})
    report = asked.until("report")["text"]
    assert "[task-1] ERROR: RUN - python3 -c pass: command_not_allowed" in report
    assert "[task-2] SUCCESS: RUN - python3 -c pass (exit 0)" in report


MISMATCH = '<---SEARCH file="a.txt"--->\ntwo\n<---REPLACE--->\n2\n<---END--->\n'


def as_shown(review: Served) -> dict[str, Any]:
    """Return what the page asks for if a person touches nothing."""
    return {"version": 1, **review.session.choices.to_dict()}


def test_a_failure_that_was_not_touched_is_reported_as_the_error_that_it_is(
    served: Serve, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo!\nthree\n")
    asked = served(
        MISMATCH.replace("\ntwo\n", "\ntwo\nthree\n") + '<---WRITE file="b.txt"--->\nb\n<---END--->\n'
    )
    asked("/apply", as_shown(asked))
    report = asked.until("report")
    text = report["for_llm"]
    assert text.startswith(
        "Of 2 operations: 1 done, 1 failed.\n\n[task-1] ERROR: SEARCH - a.txt: match_count_mismatch"
    )
    assert "what the file has:" in text
    assert "two!" in text
    assert "not chosen" not in text
    assert (report["heading"], report["ok"]) == ("1 of 2 failed", False)


def test_only_what_a_person_took_out_is_not_wanted(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    asked = served(MISMATCH + WRITE.replace("a.txt", "b.txt"))
    asked("/apply", {"version": 1, "chosen": {"1": None}, "answers": {}})
    report = asked.until("report")
    assert "[task-1] SKIP: SEARCH - not chosen (a.txt)" in report["for_llm"]
    assert (report["heading"], report["ok"]) == ("Done, 1 not chosen", True)
    untouched = served(WRITE)
    untouched("/apply", {"version": 1, "chosen": {}, "answers": {}})
    assert untouched.until("report")["heading"] == "Nothing was chosen"


@pytest.mark.parametrize(
    ("answer", "heading"),
    [
        (WRITE + '\n<remove path="b.txt"/>\n', "1 of 2 not applied"),
        ("Just prose.\n", "No operations were found"),
    ],
)
def test_the_heading_says_what_was_not_applied(served: Serve, answer: str, heading: str) -> None:
    asked = served(answer)
    asked("/apply", as_shown(asked))
    report = asked.until("report")
    assert (report["heading"], report["ok"]) == (heading, False)


def test_what_is_not_applied_is_shown_before_anything_is_carried_out(served: Serve) -> None:
    shown = served(WRITE + '\n<remove path="b.txt"/>\n')("/").body
    assert b"not applied: CML operation at line 5 (the answer is in CSL)" in shown


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        (WRITE, 1, "clada: not executed\n"),
        ('<---WRITE file="a.txt"--->\nnew\n', 1, "clada: not executed\n"),
        ("Just prose.\n", 3, "clada: not executed\n"),
        ("", 0, ""),
    ],
)
def test_a_review_that_carried_nothing_out_is_no_success(
    review: Callable[..., Review], answer: str, code: int, says: str
) -> None:
    running = review(answer)
    address = urlsplit(running.address)
    connection = HTTPConnection(address.netloc, timeout=30)
    connection.request("POST", f"{address.path}quit", b"", {"Origin": f"http://{address.netloc}"})
    with suppress(ConnectionError):  # it may end before it has answered
        connection.getresponse().read()
    connection.close()
    assert running.end() == (code, "", says)


def test_all_of_a_block_is_taken_also_what_comes_after_a_failure(served: Serve, tmp_path: Path) -> None:
    asked = served(f"<---TASKS--->\n{MISMATCH}{WRITE}<---END--->\n")
    asked("/apply", as_shown(asked))
    report = asked.until("report")
    assert "[task-1.2] SKIP: WRITE - earlier task failed (a.txt)" in report["for_llm"]
    assert "send only the failed operations, corrected, and the skipped ones" in report["for_llm"]
    assert report["heading"] == "1 of 2 failed"
    assert not (tmp_path / "a.txt").exists()


def test_what_was_shown_as_failing_and_would_be_done_now_is_told(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("two\n")
    asked = served(WRITE + MISMATCH)
    assert json.loads(asked("/choose", as_shown(asked)).body) == []
    without = json.loads(asked("/choose", {"version": 1, "chosen": {"1": None}, "answers": {}}).body)
    assert without[-1] == "task 2 was shown as failing, and is carried out if the others are left out"


def test_an_answer_that_was_cut_off_has_a_report_to_copy(served: Serve) -> None:
    cut = served('<---WRITE file="a.txt"--->\nhi\n').session.review
    assert cut.for_model
    assert cut.for_model.endswith("Correct the document, and send all of it again.\n")
    assert served(WRITE).session.review.for_model is None
    assert served("").session.review.for_model is None
    prose = served("Just prose.\n").session.review.for_model
    assert prose
    assert prose.startswith("No operations were found.\n")


def test_the_heading_says_that_a_run_was_stopped(served: Serve) -> None:
    asked = served("<---RUN--->\nsh -c 'echo begun; sleep 600'\n<---END--->\n" + WRITE)
    asked("/apply", {"version": 1, "chosen": {"0": None, "1": None}, "answers": {"0": "once"}})
    asked.until("output")
    asked("/stop", {})
    assert asked.until("report")["heading"] == "1 of 2 failed"


AREA = "def area(w, h):\n    return w * h\n"
NEARLY = '<---SEARCH file="a.py"--->\n    return w+h\n<---REPLACE--->\n    return round(w * h)\n<---END--->\n'
TWICE = '<---SEARCH file="a.py"--->\nx = 1\n<---REPLACE--->\nx = 2\n<---END--->\n'


def reload(asked: Served, path: str, request: Any) -> int:
    """Ask for something that leads to another version, and return its number."""
    version = asked.session._version
    assert asked(path, request).status == 202
    asked.session.wait()
    assert asked.session._version == version + 1
    return version + 1


@pytest.mark.parametrize(
    ("answer", "before", "line", "after"),
    [
        (NEARLY, AREA, 2, AREA.replace("w * h", "round(w * h)")),
        (TWICE, "x = 1\ny\nx = 1\n", 3, "x = 1\ny\nx = 2\n"),
    ],
)
def test_a_person_chooses_the_place_of_an_edit(  # noqa: PLR0913, PLR0917 (a table)
    served: Serve, tmp_path: Path, answer: str, before: str, line: int, after: str
) -> None:
    (tmp_path / "a.py").write_text(before)
    asked, says = served(answer), f"line {line} chosen by the user"
    assert asked("/place", {"version": 1, "index": 0, "first": 90, "last": 90}).status == 409
    version = reload(asked, "/place", {"version": 1, "index": 0, "first": line, "last": line})
    assert says in asked("/").body.decode()
    back = reload(asked, "/place", {"version": version, "index": 0})
    assert says not in asked("/").body.decode()
    version = reload(asked, "/place", {"version": back, "index": 0, "first": line, "last": line})
    asked("/apply", {**as_shown(asked), "version": version})
    asked.session.wait()
    assert (tmp_path / "a.py").read_text() == after
    assert asked.session.report
    assert says in asked.session.report.text(for_llm=True)


def test_a_person_edits_the_new_text_and_the_model_is_told(served: Serve, tmp_path: Path) -> None:
    asked = served(WRITE)
    hunk = {"version": 1, "index": 0, "hunk": 1}
    assert json.loads(asked("/text", hunk).body) == {"now": "new\n", "original": "new\n"}
    shown = asked("/edit", {**hunk, "text": "newer"}).body.decode()
    assert "edited by you" in shown
    assert "edited by you" in asked("/").body.decode()
    assert json.loads(asked("/text", hunk).body) == {"now": "newer", "original": "new\n"}
    assert "edited by you" not in asked("/edit", {**hunk, "text": None}).body.decode()
    asked("/edit", {**hunk, "text": "newer"})
    asked("/apply", GO)
    report = asked.until("report")
    assert (tmp_path / "a.txt").read_text() == "newer\n"
    assert report["text"] == "[task-1] SUCCESS: WRITE - a.txt (created, 6 bytes, edited by the user)\n"
    assert "edited by the user" in report["for_llm"]


def test_the_line_ends_of_an_edited_text_stay(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    asked = served(MISMATCH)
    assert asked("/edit", {"version": 1, "index": 0, "hunk": 1, "text": "one\nII\n"}).status == 200
    asked("/apply", GO)
    asked.until("report")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\nII\r\n"


def test_notes_go_to_the_model(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(60)))
    new = "".join(f"{'new' if number in (3, 50) else number}\n" for number in range(60)).rstrip()
    asked = served(
        WRITE.replace("new", new) + WRITE.replace("a.txt", "b.txt") + WRITE.replace("a.txt", "c.txt")
    )
    notes = {"0.2": "keep\nfifty", "1": "there is one already", "2": "good"}
    asked("/apply", {"version": 1, "chosen": {"0": [1], "2": None}, "answers": {}, "notes": notes})
    text = asked.until("report")["for_llm"]
    assert "[task-2] SKIP: WRITE - not chosen: there is one already (b.txt)" in text
    assert text.endswith(
        "\nThe user says:\n- on hunk 2 of task 1 (write a.txt): keep fifty\n- on task 3 (write c.txt): good\n"
    )


def test_choices_stay_when_the_same_answer_is_looked_at_again(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    asked = served(WRITE + WRITE.replace("a.txt", "b.txt") + SLEEP)
    request = {
        "version": 1,
        "chosen": {"0": None},
        "answers": {"2": "once"},
        "notes": {"1": "no"},
        "viewed": [0],
    }
    asked("/edit", {"version": 1, "index": 0, "hunk": 1, "text": "mine"})
    assert asked("/choose", request).status == 200
    before = asked.session.choices.to_dict()
    reload(asked, "/reload", b"")
    assert asked.session.choices.to_dict() == before
    (tmp_path / "a.txt").write_text("changed\n")  # and so has the hunk that was edited
    reload(asked, "/reload", b"")
    assert asked.session.choices.to_dict() == {**before, "edits": {}}
    reload(asked, "/next", WRITE.encode())
    assert asked.session.choices.to_dict()["notes"] == {}


def test_lines_around_a_hunk_are_shown_when_they_are_asked_for(served: Serve, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 100)))
    asked = served('<---SEARCH file="a.txt"--->\nline 50\n<---REPLACE--->\nx\n<---END--->\n')
    assert 'data-from="1" data-to="46"' in asked("/").body.decode()
    shown = asked("/context", {"version": 1, "index": 0, "from": 27, "to": 46, "shift": 0}).body.decode()
    assert shown.count("<tr>") == 20
    assert "line 27" in shown
    assert 'data-n="46"' in shown


def test_an_answer_that_arrives_is_shown_when_nothing_else_is_chosen_from(served: Serve) -> None:
    asked = served("")
    asked.session.offer(WRITE.encode(), "one.md")
    asked.session.wait()
    assert asked.session.text == WRITE.encode()
    asked.session.offer(SLEEP.encode(), "two.md")
    told = next(news for _number, news in asked.session.events(0, 2) if news)
    assert told == [{"type": "arrived", "count": 1, "source": "two.md"}]
    assert asked.session.text == WRITE.encode()
    reload(asked, "/show", b"")
    assert asked.session.text == SLEEP.encode()
    assert asked("/show", b"").status == 409


def test_after_an_undo_the_page_shows_what_is_there(review: Callable[..., Review]) -> None:
    running = review(WRITE, {"a.txt": "old\n"})
    page = _apply(running, {**GO, "answers": {}})
    seen = b""
    while b'"can_undo"' not in seen:
        seen += page.recv(65536)
    address = urlsplit(running.address)
    connection = HTTPConnection(address.netloc, timeout=30)
    connection.request("POST", f"{address.path}undo", b"", {"Origin": f"http://{address.netloc}"})
    assert connection.getresponse().status == 202
    while b'"reload"' not in seen:
        seen += page.recv(65536)
    connection.close()
    connection = HTTPConnection(address.netloc, timeout=30)
    connection.request("GET", address.path)
    assert b"Undone: restored a.txt." in connection.getresponse().read()
    connection.close()
    page.close()
    assert running.read("a.txt") == "old\n"
