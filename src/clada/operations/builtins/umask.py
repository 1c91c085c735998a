"""The umask of this process."""

from __future__ import annotations

import os

ALL = 0o777


def umask() -> int:
    """Return the umask. os.umask would have to change it to return it, for all threads."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    return _tried()


def _tried() -> int:
    """Find out the umask by making a directory, on systems without /proc."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as directory:
        path = os.path.join(directory, "all")
        os.mkdir(path, ALL)  # less the umask
        return ALL & ~os.stat(path).st_mode
