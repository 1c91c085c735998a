"""Resources: commands that flood, hang, multiply or hide; nothing that was started survives."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.prove.adversarial.batch import run
from tools.prove.adversarial.parsers import measured
from tools.prove.place import Place, document, interpreter, ordinary
from tools.prove.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.prove.adversarial.parsers import Measured
    from tools.prove.place import User

LIMITS = ("--no-git", "--summary=json", "--timeout=2s", "--max-output=100KB", "--approve-all")
MOST = 150.0  # MB of memory, whatever a command does
SLACK = 60.0  # seconds after which a command counts as not ended; by themselves they take 600 or more

FLOOD = """
import os
while True:
    os.write(1, b"x" * 65536)
    os.write(2, b"y\\n" * 32768)
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
print("started", flush=True)
time.sleep(600)
"""
HIDDEN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
time.sleep({parent})
"""
BOMB = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(6):  # 64 processes: a bomb that the machine survives
    os.fork()
if os.getpid() % 2:
    os.setsid() if os.getpgid(0) != os.getpid() else None
time.sleep(600)
"""
SCRIPTS = {
    "output flood on both streams": (FLOOD, "exec_timeout", "truncated"),
    "a command that ignores SIGTERM": (STUBBORN, "exec_timeout", ""),
    "a child that double-forks, setsid, ignores SIGTERM, holds stdout": (
        HIDDEN.format(parent=600),
        "exec_timeout",
        "",
    ),
    "the same, left behind by a command that ends well": (HIDDEN.format(parent=0), "success", ""),
    "a fork bomb of 64 processes": (BOMB, "exec_timeout", ""),
}


def rows(user: User, quick: bool) -> Iterator[Row]:
    """Yield the rows about resources, in each kind of confinement; a quick look is one user's."""
    if quick and user != ordinary():
        return
    for sandbox in ("auto",) if quick else ("auto", "off"):
        for name in SCRIPTS:
            yield _row(user, name, sandbox)
    yield _slow_expression(user)


def _row(user: User, name: str, sandbox: str) -> Row:
    script, required, extra = SCRIPTS[name]
    with Place(user) as place:
        mark = f"clada-mark-{os.getpid()}-{abs(hash((name, sandbox, user)))}"
        place.put("script.py", script)
        place.give()
        operation = document(run(f"{interpreter(user)} script.py {mark}")).encode()
        done = measured(place, operation, *LIMITS, f"--sandbox={sandbox}", "--output-mode=silent")
        survivors = _survivors(mark)
    seen = _seen(done)
    told = f"{seen}, {len(survivors)} survivors"
    bounded = done.seconds < SLACK and done.memory < MOST
    ok = seen == ", ".join(filter(None, (required, extra))) and not survivors and bounded
    wanted = ", ".join(filter(None, (required, extra, "0 survivors", f"memory below {MOST:.0f} MB")))
    case = f"{name} (--sandbox={sandbox})"
    return Row(case, wanted, told if ok else f"{told}, {done.seconds:.1f} s, {done.memory:.0f} MB", ok)


def _seen(done: Measured) -> str:
    """Return what came of the one command of a run."""
    if not done.result.tasks:
        return f"exit {done.result.code}: {done.result.out[:200]}"
    task = done.result.tasks[0]
    kind = str((task.get("error") or {}).get("type") or task["status"])
    return f"{kind}, truncated" if task["truncated"] else kind


def _survivors(mark: str) -> list[int]:
    """Return the processes that are left over, after a moment for the system to bury them; and end them."""
    left = _marked(mark)
    end = time.monotonic() + 2
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = _marked(mark)
    for pid in left:
        os.kill(pid, 9)
    return left


def _marked(mark: str) -> list[int]:
    """Return the processes that have the mark among their arguments."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                line = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line:
                found.append(int(entry))
    return found


def _slow_expression(user: User) -> Row:
    """Return what comes of a pattern that backtracks for ever: an allowed program has five seconds."""
    with Place(user) as place:
        place.put("f", "a" * 60 + "b\n" + "(" * 50)
        place.give()
        pattern = r"grep -E '(a|aa|aaa|aaaa)*(\1)*(\1)*c' f"
        done = measured(
            place, document(run(pattern)).encode(), "--no-git", "--summary=json", "--output-mode=silent"
        )
    seen = _seen(done)
    ok = seen in ("exec_timeout", "exec_failed") and done.seconds < SLACK and done.memory < MOST
    return Row("a slow regular expression", "ended after 5 s at most", seen, ok)
