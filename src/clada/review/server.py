"""Serves the page of a review on loopback, to a browser that has the secret address.

1. It listens on the loopback address, and each path starts with a token that only the printed address has.
2. The Host must be ours, so that no foreign name leads here. The Origin must be ours, too, and requests that
   do something must have one, so that no other page can send them.
3. The page may load and run nothing but its own style and scripts (page.py).
"""

from __future__ import annotations

import json
import select
import socket
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from clada.review.choices import BAD_REQUEST, RefusedError
from clada.review.page import SCRIPTS, STYLE, error_end, policy, static_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from clada.review.session import Session

LOOPBACK = "127.0.0.1"
OPENED = " "  # the route of a used ticket; no path has this name
MAX_BODY = 50 * 1024 * 1024  # bytes of an answer
FORBIDDEN = "Open this page by the address that clada printed.\n"
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Server(ThreadingHTTPServer):
    """The server of one review, while it is entered."""

    daemon_threads = True

    def __init__(self, session: Session, handler: type[Handler] | None = None) -> None:
        self.session, self.token = session, token_urlsafe(24)
        self._ticket: str | None = token_urlsafe(24)
        super().__init__((LOOPBACK, 0), handler or Handler)

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    @property
    def address_to_open(self) -> str:
        """An address that leads to the page, once: others see what a browser is started with."""
        return f"http://{LOOPBACK}:{self.server_port}/open/{self._ticket}"

    def use_ticket(self, path: str) -> bool:
        """Return whether this is the path of that address, which is valid once."""
        if not self._ticket or not compare_digest(path.encode(), f"/open/{self._ticket}".encode()):
            return False
        self._ticket = None
        return True

    def new_ticket(self, text_hash: bytes) -> dict[str, Any]:
        """Return another such address, and whether the answer with this hash (or any) is shown."""
        self._ticket = token_urlsafe(24)
        shown = sha256(self.session.text).hexdigest().encode()
        return {"address": self.address_to_open, "is_shown": text_hash in (b"", shown)}

    def __enter__(self) -> Self:
        Thread(target=partial(self.serve_forever, 0.1), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, _request: Any, _address: Any) -> None:
        """Ignore a browser that went away in the middle."""


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    policy = policy(connects=True)
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "clada", ""
    timeout = 60  # seconds that a browser has to send what it began

    def do_GET(self) -> None:
        """Answer with the page, or with what it asks for."""
        self._route(
            {
                "": self._page,
                OPENED: self._redirect,
                "events": self._events,
                **{name: partial(self._static, name) for name in (STYLE, *SCRIPTS)},
            }
        )

    def do_POST(self) -> None:
        """Do what the page asks for."""
        session = self.server.session
        self._route(
            {
                "apply": lambda body: session.apply(json.loads(body)),
                "choose": lambda body: self._send_json(session.choose(json.loads(body))),
                "rows": lambda body: self._send_html(session.rows(json.loads(body))),
                "context": lambda body: self._send_html(session.context(json.loads(body))),
                "text": lambda body: self._send_json(session.hunk_text(json.loads(body))),
                "edit": lambda body: self._send_html(session.edit(json.loads(body))),
                "place": lambda body: session.place(json.loads(body)),
                "stop": lambda _body: session.stop(),
                "undo": lambda _body: session.undo(),
                "reload": lambda _body: session.next(None),
                "next": session.next,
                "show": lambda _body: session.show_next(),
                "ticket": lambda body: self._send_json(self.server.new_ticket(body)),
                "quit": lambda _body: session.presence.end(),
            },
            has_body=True,
        )

    def _route(self, routes: dict[str, Callable[[Any], object]], *, has_body: bool = False) -> None:
        """Call the requested route with the body or the query, if the request is allowed."""
        self._sent = False
        try:
            address = urlsplit(self.path)
            name = self._check_request(address.path, needs_origin=has_body)
            if name not in routes:
                raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such page")  # noqa: TRY301 (as others)
            routes[name](self._body() if has_body else parse_qs(address.query))
            if not self._sent:
                self._send(HTTPStatus.ACCEPTED, "text/plain", b"")
        except RefusedError as refused:
            self._refuse(refused.status, str(refused))
        except (ValueError, LookupError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, BAD_REQUEST)
        except OSError:
            raise  # the browser is gone
        except Exception as bug:  # noqa: BLE001 (the page says so, and the review goes on)
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal error: {type(bug).__name__}: {bug}")

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True  # because there may be a body that was not read
        self._send(status, "text/plain; charset=utf-8", why.encode())

    def _check_request(self, path: str, *, needs_origin: bool) -> str:
        """Return the requested name, if the request is allowed."""
        server = self.server
        hosts = (f"{LOOPBACK}:{server.server_port}", f"localhost:{server.server_port}")
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        token, slash, name = path.removeprefix("/").partition("/")
        if host in hosts and not needs_origin and server.use_ticket(path):
            return OPENED
        may = (
            host in hosts
            and (origin == f"http://{host}" or (origin is None and not needs_origin))
            and compare_digest(token.encode(), server.token.encode())
            and slash
        )
        if not may:
            raise RefusedError(HTTPStatus.FORBIDDEN, FORBIDDEN)
        return name

    # Answers.

    def _page(self, _query: dict[str, list[str]]) -> None:
        """Send the page as it is rendered: a browser shows its beginning at once."""
        self._start_stream("text/html; charset=utf-8")
        try:
            for piece in self.server.session.page():
                self.wfile.write(piece.encode(errors="replace"))
        except OSError:
            raise  # the browser is gone
        except Exception as bug:  # noqa: BLE001 (the page says so)
            self.wfile.write(error_end(bug).encode(errors="replace"))

    def _static(self, name: str, _query: dict[str, list[str]]) -> None:
        self._send(HTTPStatus.OK, *static_file(name))

    def _redirect(self, _query: dict[str, list[str]]) -> None:
        self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", Location=f"/{self.server.token}/")

    def _events(self, query: dict[str, list[str]]) -> None:
        """Send events as they come, as long as the page is there."""
        session = self.server.session
        version = int(query["version"][0])
        after = int(self.headers.get("Last-Event-ID") or query.get("after", ["0"])[0])
        self._start_stream("text/event-stream")
        session.presence.open()
        try:
            for number, news in session.events(after, version):
                lines = f"id: {number}\ndata: {json.dumps(news)}\n\n" if news else ": still here\n\n"
                self.wfile.write(lines.encode())
                if self._is_closed():
                    break
        except OSError:
            pass  # the page is gone
        finally:
            session.presence.leave()

    def _is_closed(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    # Sending and receiving.

    def _start_stream(self, kind: str) -> None:
        """Send the headers of content that ends with the connection."""
        self._sent = self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self._send_headers(kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def _body(self) -> bytes:
        size = int(self.headers.get("Content-Length") or -1)
        if size < 0:
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        if size > MAX_BODY:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "an answer has at most 50 MB: split it")
        return self.rfile.read(size)

    def _send_json(self, value: Any) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(value).encode())

    def _send_html(self, fragment: str) -> None:
        self._send(HTTPStatus.OK, "text/html; charset=utf-8", fragment.encode(errors="replace"))

    def _send(self, status: int, kind: str, data: bytes, **more: str) -> None:
        self._sent = True
        self.send_response(status)
        self._send_headers(kind)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def _send_headers(self, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", f"{self.policy}; frame-ancestors 'none'")
        for name, value in HEADERS.items():
            self.send_header(name, value)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal is not where this is read."""
