"""Which reviews are open, so that `clada review` again opens the same one.

Each is a file with its secret address, that only the user can read, named by the workspace.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from clada.world.xdg import state_home

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT = 3.0  # seconds that a review has to answer


class OpenReview(NamedTuple):
    """A review that runs: the address of its page, and one that a browser may be started with."""

    address: str
    address_to_open: str


def find(workspace: str, text: bytes) -> OpenReview | None:
    """Return the review of a workspace that shows this answer; of no answer, any."""
    try:
        with open(_file(workspace), encoding="utf-8") as file:
            address = file.read().strip()
        parts = urlsplit(address)
        connection = HTTPConnection(parts.netloc, timeout=TIMEOUT)
        body = sha256(text).hexdigest() if text else ""
        connection.request("POST", f"{parts.path}ticket", body, {"Origin": f"http://{parts.netloc}"})
        answer = json.load(connection.getresponse())
        connection.close()
        return OpenReview(address, answer["address"]) if answer["is_shown"] else None
    except (OSError, HTTPException, ValueError, LookupError):
        return None  # it has ended, or there was none


@contextmanager
def listed(workspace: str, address: str) -> Iterator[None]:
    """List a review while it is open; one that cannot be listed is open all the same."""
    path = _file(workspace)
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            os.unlink(path)  # of a review that was killed, or of another answer
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(f"{address}\n")
    try:
        yield
    finally:
        with suppress(OSError):
            with open(path, encoding="utf-8") as file:
                is_own = file.read().strip() == address
            if is_own:
                os.unlink(path)


def _file(workspace: str) -> str:
    name = sha256(workspace.encode(errors="surrogateescape")).hexdigest()[:32]
    return os.path.join(state_home(), "clada", "reviews", name)
