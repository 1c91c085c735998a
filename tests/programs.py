"""Programs that only some tests need. Where one is not installed, its tests are skipped and say so."""

from __future__ import annotations

import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark a test, or one of its parameters, that runs only where all these programs are installed."""
    reason = _reason(programs)
    return pytest.mark.skipif(bool(reason), reason=reason)


def skip_without(*programs: str) -> None:
    """Skip the test that calls this unless all these programs are installed."""
    if reason := _reason(programs):
        pytest.skip(reason)


def _reason(programs: tuple[str, ...]) -> str:
    missing = [program for program in programs if not shutil.which(program)]
    return f"not installed: {', '.join(missing)}" if missing else ""
