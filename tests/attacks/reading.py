"""Reading: what a document reads by programs that need no approval stays in the workspace."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from typing import TYPE_CHECKING

from tests.attacks.cases import run, seen
from tests.attacks.place import Place, document, interpreter
from tests.attacks.rows import Row, missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.attacks.place import User

HIDDEN = "what nobody may see"
UNSEEN = "not seen"
# Names that git could read in another way, each as a directory, a link to one and a link to a file.
NAMES = r""":!x :^x :(exclude)x :/x :(top)x a:b HEAD:x :x :0:x a\b\c -x main..x ^x @{0} x.. """.split()
FORMS = {
    "git diff, two operands": "git diff {0} file",
    "git diff, behind --": "git diff -- {0} file",
    "git diff, the other way round": "git diff file {0}",
    "git show": "git show {0}",
    "git log -p": "git log -p -- {0}",
}
ENDS = (
    "{name}/../../outside/secret",
    "./{name}/../../outside/secret",
    "{name}/secret",
    "{name}-file",
    "{name}",
)
# Programs as readers, past all checks of what they are given. The list is in a file of the workspace.
UNCHECKED = """
import json, os
from clada.world.processes.run import RunOptions, run
from clada.world.sandbox.layers import confined_launcher
from clada.world.sandbox.landlock import ReadOnly, has_landlock
here = os.open(".", os.O_RDONLY)
for argv in json.load(open("calls")) if has_landlock() else ():
    lines = []
    launcher = confined_launcher(ReadOnly((os.getcwd(),)), os.environ)
    ended = run(argv, launcher, RunOptions(directory=here, timeout=20, emit=lines.extend))
    print(json.dumps([ended.exit_code, lines]))
"""
READERS = (
    *("cat {0}", "head -c9 {0}", "tail -n1 {0}", "grep what {0}", "wc {0}", "xxd {0}", "diff file {0}"),
    *("file -m {0} file", "grep -f {0} file", "wc --files0-from={0}", "cat link/secret"),
    *("find {1} -name secret -printf found", "ls {1}", "tree {1}", "grep -r what {1}", "diff -r . {1}"),
    *("ls -L link", "find -L link -name secret -printf found", "grep -R what link"),
)
SYSTEM = """
/etc/hostname /etc/hosts /etc/shadow /etc/ssh/sshd_config /etc/resolv.conf /proc/self/environ /proc/1/environ
/proc/mounts /proc/net/unix /proc/sys/kernel/hostname /var/log/dpkg.log /var/lib/dpkg/status
/boot/grub/grub.cfg /dev/mem /dev/tty /dev/sda /run/utmp /root/.bashrc /usr/bin/env
""".split()
STARTED = (
    "find . -maxdepth 0 -exec /bin/sh -c 'echo started' ;",
    "find . -maxdepth 0 -execdir /usr/bin/id ;",
    "find file -fprint made",
    "find file -delete",
    "tree -o made",
    "xxd file made",
)
# Exchanges a folder and a link that leads out, as fast as it can.
SWAPPING = """
import ctypes
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"folder", -100, b"link", 2)
"""
RACED = (
    *("cat folder/secret", "head -n1 folder/secret", "tail -n1 folder/secret", "grep -r what folder"),
    *("git diff HEAD -- folder/secret", "wc folder/secret", "xxd folder/secret", "diff file folder/secret"),
)


def rows(user: User) -> Iterator[Row]:
    """Yield the rows about reading."""
    yield from _operands(user)
    yield from _unchecked(user)
    for command in RACED:
        if observed := missing(command):
            yield Row(f"`{command}` while its folder is swapped for a link", UNSEEN, observed, None)
            continue
        yield _race(user, command, 60)


def _tree(place: Place) -> None:
    place.put("file", "one\ntwo\n")
    for path in ("../outside/secret", "../home/secret"):
        place.put(path, f"{HIDDEN}\n")


def _operands(user: User) -> Iterator[Row]:
    """Yield a row for each name and form: whatever git makes of it, nothing outside is shown."""
    for kind, (prepare, ends) in {
        "a directory": (_directory, ENDS[:2]),
        "a link": (_link, ENDS[2:]),
    }.items():
        with Place(user) as place:
            _tree(place)
            for name in NAMES:
                prepare(place, name)
            place.repository()
            cases = {
                f"{label}: {kind} named {name}": [form.format(f"'{end.format(name=name)}'") for end in ends]
                for label, form in FORMS.items()
                for name in NAMES
            }
            texts = [text for tried in cases.values() for text in tried]
            result = place.clada(document(*map(run, texts)), "--no-git", "--summary=json")
        yield from _judged(cases, result.out, [seen(task) for task in result.tasks])


def _directory(place: Place, name: str) -> None:
    place.put(f"{name}/inside", "inside\n")


def _link(place: Place, name: str) -> None:
    (place.inside / name).parent.mkdir(exist_ok=True)
    (place.inside / name).symlink_to(place.outside)
    (place.inside / f"{name}-file").symlink_to(place.outside / "secret")


def _judged(cases: dict[str, list[str]], out: str, said: Sequence[str]) -> Iterator[Row]:
    """Yield a row for each case, with what came of its commands."""
    at = 0
    for case, texts in cases.items():
        mine = said[at : at + len(texts)]
        labels = [f"[task-{number}.1:exec] " for number in range(at + 1, at + 1 + len(texts))]
        at += len(texts)
        shown = [line for line in out.splitlines() if line.startswith(tuple(labels)) and HIDDEN in line]
        observed = shown[0] if shown else ", ".join(dict.fromkeys(text.partition(":")[0] for text in mine))
        yield Row(case, UNSEEN, observed, bool(mine) and not shown)


def _unchecked(user: User) -> Iterator[Row]:
    """Yield a row for each reader that was let past the checks: Landlock alone keeps it in."""
    with Place(user) as place:
        _tree(place)
        (place.inside / "link").symlink_to(place.outside)
        outside = {f"{place.outside}/secret": str(place.outside), f"{place.home}/secret": str(place.home)}
        calls = [text.format(*pair) for pair in outside.items() for text in READERS]
        calls += [f"cat {path}" for path in SYSTEM] + list(STARTED)
        tried = [call for call in calls if not missing(call)]
        place.put("calls", json.dumps([_words(call) for call in tried]))
        place.give()
        done = place.run([interpreter(user), "-P", "-c", UNCHECKED])
        left = sorted(os.listdir(place.inside))
    if not done.out:
        yield Row("readers without checks", UNSEEN, done.err or "there is no Landlock here", None)
        return
    answers = dict(zip(tried, map(json.loads, done.out.splitlines()), strict=True))
    for call in calls:
        case = call.replace(str(place.outside), "OUTSIDE").replace(str(place.home), "HOME")
        observed, ok = _observed(call, *answers[call]) if call in answers else (missing(call) or "", None)
        yield Row(f"unchecked: {case}", UNSEEN, observed, ok)
    kept = left == ["calls", "file", "link"]
    yield Row("unchecked readers that write or delete", "no file more or less", ", ".join(left), kept)


def _observed(call: str, code: int, lines: list[str]) -> tuple[str, bool]:
    """Return what a row shows of what an unchecked reader printed, and whether that is harmless."""
    text = "\n".join(lines)
    told = any(word in text for word in (HIDDEN, "found", "started", "uid="))
    harmless = code != 0 or call in STARTED or not text.strip() or "error opening dir" in text
    return (lines[0] if lines else f"exit {code}", harmless and not told)


def _words(call: str) -> list[str]:
    import shlex

    return shlex.split(call)


def _race(user: User, command: str, tries: int) -> Row:
    """Return what a reader sees while another process swaps its folder for a link."""
    with Place(user) as place:
        _tree(place)
        place.put("folder/secret", "inside\n")
        place.repository()
        place.put("folder/secret", "changed inside\n")
        (place.inside / "link").symlink_to(place.outside)
        place.give()
        with _swapping(place):
            result = place.clada(document(*[run(command)] * tries), "--no-git", "--summary=json")
    leaks = result.out.count(HIDDEN)
    ended = len(result.tasks)
    observed = f"{leaks} of {ended} saw it"
    return Row(
        f"`{command}` while its folder is swapped for a link", UNSEEN, observed, not leaks and ended == tries
    )


@contextlib.contextmanager
def _swapping(place: Place) -> Iterator[None]:
    argv = [interpreter(place.user), "-c", SWAPPING]
    process = subprocess.Popen(argv, cwd=place.inside, stdout=subprocess.PIPE, **place.identity())
    try:
        if process.stdout:
            process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()
