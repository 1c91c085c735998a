"""Permission bits: which ones the umask takes away."""

from __future__ import annotations

import os

ALL = 0o777


def umask() -> int:
    """Return the bits that new files do not get; os.umask would change them, for all threads."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    return _tried()


def _tried() -> int:
    """Find it out by making a directory, where the system does not tell."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as directory:
        path = os.path.join(directory, "all")
        os.mkdir(path, ALL)  # less the umask
        return ALL & ~os.stat(path).st_mode
