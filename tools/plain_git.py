"""What plain git is told by tests: who commits, and to do no more than it is asked for."""

from __future__ import annotations

# After each commit, git would start itself twice to see whether there is something to tidy up.
IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "maintenance.auto=false")
CONFIG = """\
[user]
name = User
email = user@example.org
[init]
defaultBranch = main
[maintenance]
auto = false
"""

# It would start two more programs, for what git keeps of large repositories alone.
_SMALL = ("-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false")
FSCK = (*_SMALL, "fsck", "--strict", "--no-dangling", "--no-progress")
