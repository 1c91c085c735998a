"""The error of requests that a review cannot meet."""

from __future__ import annotations


class RefusedError(Exception):
    """A request that cannot be met now, or makes no sense: the status of HTTP, and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
