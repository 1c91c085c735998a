"""Faults: kills, full disks and failing system calls; after each, nothing is mixed, lost or left behind."""

from __future__ import annotations

import atexit
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.attacks.place import Place, Result, User, command, library, ordinary, users
from tests.attacks.rows import Row
from tools.plain_git import FSCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILES = 12
OLD, NEW = "old content {0}\n" * 40, "new content {0}\n" * 60
WORK = {"staged.txt": "a person's work that is not committed\n", "untracked.txt": "and a new file\n"}
ERRORS = ("EIO", "EACCES", "EMFILE", "ENOMEM", "ENOSPC")
# What a run does to files and processes; not what the interpreter does for itself.
CALLS = """
openat read write pwrite64 rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat fstat
newfstatat fchmod fchown getdents64 ftruncate lseek flock fcntl pipe2 clone clone3 vfork execve wait4 poll
ppoll close dup2 chdir fchdir mmap symlinkat utimensat statx readlink readlinkat getcwd kill sendfile
copy_file_range setsid prctl
""".split()
STRACE = shutil.which("strace")
TEMPORARY = ".clada-tmp-"
# What the interpreter says of an import that it could not finish.
IMPORTS = r"ImportError|ModuleNotFoundError|module '[\w.]+' has no attribute"
REQUIRED = "every file old or new, git sound, no litter, nothing lost"


def rows() -> list[Row]:
    """Return what faults showed."""
    found = [_signalled(number, 10) for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)]
    found.append(_few_descriptors())
    found.append(_full_disk(step=4))
    found.extend(_failing_calls(100))
    return found


class Scene:
    """A repository with files, and a run that changes all of them; what must hold whatever happens to it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        shutil.copytree(_prepared(), place.inside, dirs_exist_ok=True)
        place.give()

    def document(self) -> bytes:
        """Return a document with every kind of operation."""
        parts = ["Prose.\n"]
        for number in range(FILES):
            if number % 2:
                parts.append(
                    f'<---WRITE file="d{number % 3}/f{number}.txt"--->\n{NEW.format(number)}\n<---END--->\n'
                )
            else:
                body = f"old content {number}\n<---REPLACE--->\nnew content {number}"
                parts.append(
                    f'<---SEARCH file="d{number % 3}/f{number}.txt" count="40"--->\n{body}\n<---END--->\n'
                )
        parts.append('<---WRITE file="made/deep/new.txt"--->\nnew\n<---END--->\n')
        parts.append(
            "<---RUN--->\nmkdir out\ncp d0/f0.txt out/copy.txt\nmv out/copy.txt out/moved.txt\n<---END--->\n"
        )
        parts.append("<---RUN--->\ncat d0/f0.txt\n<---END--->\n<---RUN--->\ngit status -s\n<---END--->\n")
        return "".join(parts).encode()

    def wrong(self) -> list[str]:
        """Return what does not hold: nothing, if all is well."""
        return [*self._mixed(), *self._lost(), *self._unsound()]

    def litter(self) -> list[str]:
        """Return files that nobody asked for."""
        expected = {f"d{number % 3}/f{number}.txt" for number in range(FILES)}
        expected |= {"staged.txt", "untracked.txt", "made/deep/new.txt", "out/copy.txt", "out/moved.txt"}
        names = (
            path.relative_to(self.place.inside) for path in self.place.inside.rglob("*") if path.is_file()
        )
        return [str(name) for name in names if name.parts[0] != ".git" and str(name) not in expected]

    def unfinished(self, result: Result) -> list[str]:
        """Return what a run that claims success has not done."""
        old = [n for n in range(FILES) if "old" in (self.place.inside / f"d{n % 3}/f{n}.txt").read_text()]
        return [f"exit 0, but {len(old)} files are old"] if result.code == 0 and old else []

    def _mixed(self) -> Iterator[str]:
        for number in range(FILES):
            path = self.place.inside / f"d{number % 3}/f{number}.txt"
            old = OLD.format(number)
            new = NEW.format(number) if number % 2 else old.replace("old", "new")
            found = path.read_text() if path.exists() else None
            if found not in (old, new):
                yield f"{path.name} is {'missing' if found is None else 'mixed'}"

    def _lost(self) -> Iterator[str]:
        for name, text in WORK.items():
            path = self.place.inside / name
            if not path.exists() or path.read_text() != text:
                yield f"{name} is lost"

    def _unsound(self) -> Iterator[str]:
        done = self.place.run(["git", *FSCK])
        if done.code or done.out or done.err:
            yield f"git fsck: {done.out}{done.err}"
        if self.place.run(["git", "status", "--porcelain"]).code:
            yield "git status fails"

    def recovered(self) -> list[str]:
        """Return what is wrong with the next run: it works, and clears what was left."""
        names = [f"d{number % 3}/f{number}.txt" for number in range(FILES)]
        folders = sorted({os.path.dirname(name) for name in names})
        text = "".join(
            f'<---WRITE file="{folder}/f9.txt" append="true"--->\n<---END--->\n' for folder in ("d0",)
        )
        again = f'{text}<---WRITE file="untracked.txt"--->\nand a new file\n\n<---END--->\n'
        clearing = "".join(f'<---WRITE file="{folder}/clear"--->\nx\n<---END--->\n' for folder in folders)
        result = self.place.clada(
            again
            + clearing
            + f"<---RUN--->\nrm {' '.join(f'{folder}/clear' for folder in folders)}\n<---END--->\n"
        )
        if result.code:
            return [f"the next run: exit {result.code}: {result.out}{result.err}"]
        return [f"litter {name}" for name in self.litter() if TEMPORARY in name]


@cache
def _prepared() -> Path:
    """Return the tree that a scene starts from, made once."""
    folder = Path(tempfile.mkdtemp(prefix="clada-attack-scene-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Place(users()[0]) as place:
        for number in range(FILES):
            place.put(f"d{number % 3}/f{number}.txt", OLD.format(number))
        place.put("staged.txt", "first\n")
        place.repository()
        shutil.rmtree(place.inside / ".git/hooks", ignore_errors=True)  # samples
        place.put("staged.txt", WORK["staged.txt"])
        place.put("untracked.txt", WORK["untracked.txt"])
        shutil.copytree(place.inside, folder, dirs_exist_ok=True)
    return folder


class Fault(NamedTuple):
    """What was done to a run, what it said, and what does not hold after it."""

    what: str
    result: Result
    wrong: list[str]


def _signalled(number: signal.Signals, rounds: int) -> Row:
    """Return what comes of a signal at random moments of a run."""
    chance, faults, codes = random.Random(8), list[Fault](), Counter[int]()
    longest = _duration()
    for _ in range(rounds):
        with Place(ordinary()) as place:
            scene = Scene(place)
            moment = chance.uniform(0, longest * 1.1)
            result = _killed(scene, number, moment)
            codes[result.code] += 1
            wrong = scene.wrong()
            if number != signal.SIGKILL:
                wrong += [f"litter {name}" for name in scene.litter()] + _badly_ended(result, number)
            wrong += scene.recovered()
            if wrong:
                faults.append(Fault(f"{number.name} after {moment:.3f} s", result, wrong))
    shown = ", ".join(f"{count} times exit {code}" for code, count in sorted(codes.items()))
    return _judged(f"{number.name} at {rounds} random moments of a run", faults, shown)


def _badly_ended(result: Result, number: int) -> list[str]:
    """Return what is wrong with the end of a run on a signal; before ours runs, the signal itself ends it."""
    if result.code not in (0, 128 + number, -number) and not _python_itself(result):
        return [f"exit {result.code}"]
    return ["a traceback"] if _ours(result) else []


def _ours(result: Result) -> bool:
    """Whether a traceback comes from our code, and not from the interpreter's start or an import."""
    frames = [line for line in result.err.splitlines() if line.startswith("  File ")]
    ours = any(f"{library()}/clada/" in frame and "__main__" not in frame for frame in frames)
    return ours and "importlib" not in frames[-1] and not re.search(IMPORTS, result.err)


def _judged(case: str, faults: Sequence[Fault], shown: str) -> Row:
    if not faults:
        return Row(case, REQUIRED, shown, True)
    first = faults[0]
    said = f"{first.result.out[-200:]} {first.result.err[-300:]}"
    return Row(
        case,
        REQUIRED,
        f"{len(faults)} faults, such as {first.what}: {'; '.join(first.wrong)[:400]}; {said}",
        False,
    )


def _duration() -> float:
    """Return how long a run takes that nobody disturbs."""
    with Place(ordinary()) as place:
        scene = Scene(place)
        start = time.perf_counter()
        result = place.clada(scene.document())
        seconds = time.perf_counter() - start
        wrong = [*scene.wrong(), *scene.litter()]
    if result.code or wrong:
        raise RuntimeError(f"the run itself fails: {result.out}{result.err}{wrong}")
    return seconds


def _killed(scene: Scene, number: int, moment: float) -> Result:
    place = scene.place
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(scene.document())
        source.seek(0)
        process = subprocess.Popen(
            command(place.user), stdin=source, stdout=out, stderr=err, cwd=place.inside,
            env=place.environment(), start_new_session=True, **place.identity(),
        )  # fmt: skip
        time.sleep(moment)
        process.send_signal(number)
        process.wait(60)
        _quiet(place)
        out.seek(0)
        err.seek(0)
        return Result(process.returncode, out.read().decode(), err.read().decode())


def _quiet(place: Place) -> None:
    """Wait until no git of a killed run is at work in the place: it may outlive it by a moment."""
    end = time.monotonic() + 60
    while time.monotonic() < end and any(_works_in(entry, place.top) for entry in os.listdir("/proc")):
        time.sleep(0.01)


def _works_in(entry: str, top: Path) -> bool:
    try:
        return entry.isdigit() and os.readlink(f"/proc/{entry}/cwd").startswith(str(top))
    except OSError:
        return False


def _few_descriptors() -> Row:
    """Return what comes of a run that may open ever more files."""
    faults, done = list[Fault](), Counter[str]()
    for limit in range(4, 40):
        with Place(ordinary()) as place:
            scene = Scene(place)
            result = place.clada(
                scene.document(), wrapper=["bash", "-c", f'ulimit -n {limit}; exec "$@"', "x"]
            )
            wrong = [*scene.wrong(), *(f"litter {name}" for name in scene.litter()), *_said_badly(result)]
            done["complete" if result.code == 0 else "failed"] += 1
            if wrong and not _python_itself(result):
                faults.append(Fault(f"{limit} descriptors", result, wrong))
    return _judged(
        "only 4 to 40 file descriptors",
        faults,
        f"{done['complete']} complete, {done['failed']} failed cleanly",
    )


def _said_badly(result: Result) -> list[str]:
    """Return what is wrong with how a failed run says so."""
    if result.code == 0:
        return ["exit 0 after a failure"] if "ERROR" in result.out or "FATAL" in result.out else []
    if result.code < 0:
        return [f"ended by signal {-result.code}"]
    if not (result.out + result.err).strip():
        return ["nothing said"]
    if not re.search(IMPORTS, result.out + result.err) and (
        "bug in clada" in result.out or "internal error" in result.err
    ):
        return ["it is called a bug"]
    return ["a traceback"] if _ours(result) else []


def _python_itself(result: Result) -> bool:
    """Whether the interpreter could not even load clada, or be loaded itself: nothing of ours ran."""
    if result.code == -signal.SIGSEGV and not result.out + result.err:
        return True  # the system's loader does not check its first mappings
    signs = (
        "Traceback",
        "Fatal Python error",
        "error while loading",
        "No module named",
        "realloc",
        "Could not",
    )
    return not result.out and not _ours(result) and any(sign in result.err for sign in signs)


@contextmanager
def _small_disk(pages: int) -> Iterator[Path | None]:
    """Mount a disk of its own; None where that is not allowed."""
    folder = Path(tempfile.mkdtemp(prefix="clada-attack-disk-"))
    options = f"size={pages * 4}k,nr_inodes=100k,mode=755"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "clada", str(folder)], check=False, capture_output=True
    )
    try:
        yield folder if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
        folder.rmdir()


class DiskPlace(Place):
    """A place on a disk of its own, as root: an ordinary user's writes fail just so."""

    def __init__(self, top: Path) -> None:
        self.user = User("root", None)
        self.top = top
        self.inside, self.outside, self.home = (top / name for name in ("workspace", "outside", "home"))
        for folder in (self.inside, self.outside, self.home):
            folder.mkdir()

    def __exit__(self, *_: object) -> None:
        pass  # the disk goes as a whole


def _full_disk(step: int) -> Row:
    """Return what comes of a run with ever more room on the disk, from none to enough."""
    case = "disk full at every page, from no room to enough"
    faults, free, complete = list[Fault](), 0, False
    while not complete and free < 400:
        with _small_disk(4096) as disk:
            if disk is None:
                return Row(case, REQUIRED, "no permission to mount a disk here", None)
            with DiskPlace(disk) as place:
                scene = Scene(place)
                _fill(disk, free)
                result = place.clada(scene.document())
                complete = result.code == 0
                (disk / "ballast").unlink()
                wrong = [*scene.wrong(), *(f"litter {name}" for name in scene.litter()), *_said_badly(result)]
                if not complete and not re.search("space|No space|ENOSPC", result.out + result.err):
                    wrong.append("the cause is not named")
                wrong += scene.recovered()
                if wrong:
                    faults.append(Fault(f"{free} pages free", result, wrong))
        free += step
    return _judged(case, faults, f"{(free - step) // step} failed cleanly, enough at {free - step} pages")


def _fill(disk: Path, free: int) -> None:
    """Leave so many pages of room on the disk."""
    room = os.statvfs(disk)
    (disk / "ballast").write_bytes(b"\0" * ((room.f_bavail - free) * room.f_bsize))


def _failing_calls(count: int) -> Iterator[Row]:
    """Yield what comes of so many system calls of a run that fail; the errors take turns."""
    if STRACE is None:
        yield Row("failing system calls", REQUIRED, "strace is not installed here", None)
        return
    calls = _calls_of_a_run()
    chosen = _spread(calls)[:count]
    for turn, error in enumerate(ERRORS):
        yield _failing(error, sorted(chosen[turn :: len(ERRORS)]), len(calls))


def _spread(calls: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the calls in a random order in which those of each name come equally early, be they rare."""
    chance = random.Random(8)
    shuffled = chance.sample(list(calls), len(calls))
    seen, placed = Counter[str](), list[tuple[int, str, int]]()
    for call, number in shuffled:
        seen[call] += 1
        placed.append((seen[call], call, number))
    return [(call, number) for _turn, call, number in sorted(placed)]


def _calls_of_a_run() -> list[tuple[str, int]]:
    """Return the system calls of a run after it has read its document: which one, and the how-manieth."""
    with Place(ordinary()) as place:
        scene = Scene(place)
        log = place.top / "log"
        tracing = ["-f", "-o", str(log), "-e", f"trace={','.join(CALLS)}"]
        result = place.clada(scene.document(), wrapper=[str(STRACE), *tracing])
        if result.code:
            raise RuntimeError(f"strace: {result.err}")
        lines = log.read_text(errors="replace").splitlines()
    return sorted(_numbered(lines))


def _numbered(lines: Sequence[str]) -> set[tuple[str, int]]:
    """Return each call of each process by its number in that process: that is how strace counts."""
    counts, started, found = Counter[tuple[str, str]](), False, set[tuple[str, int]]()
    main = lines[0].split()[0]
    for line in lines:
        match = re.match(r"(\d+) +(\w+)\(", line)
        if not match:
            continue
        pid, call = match.groups()
        counts[pid, call] += 1
        started = started or (pid == main and call == "read" and line.split("(")[1].startswith("0,"))
        if started:
            found.add((call, counts[pid, call]))
    return found


def _failing(error: str, calls: Sequence[tuple[str, int]], of: int) -> Row:
    _prepared()  # once, before all at once ask for it
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tried = list(pool.map(lambda call: _with_a_failing_call(error, *call), calls))
    done = Counter("complete" if fault.result.code == 0 else _naming(fault.result, error) for fault in tried)
    case = f"{error} at {len(calls)} of the {of} system calls of a run"
    shown = ", ".join(f"{count} {what}" for what, count in sorted(done.items()))
    return _judged(case, [fault for fault in tried if fault.wrong], shown)


def _with_a_failing_call(error: str, call: str, number: int) -> Fault:
    with Place(ordinary()) as place:
        scene, what = Scene(place), f"{call} number {number}"
        result = _injected(scene, call, number, error)
        if result is None:
            return Fault(what, Result(-1, "", ""), ["it hangs"])
        wrong = scene.wrong()
        if not _python_itself(result):
            wrong += [*_said_badly(result), *scene.unfinished(result)]
            wrong += [f"litter {name}" for name in scene.litter() if call not in ("unlink", "unlinkat")]
        return Fault(what, result, wrong)


def _injected(scene: Scene, call: str, number: int, error: str) -> Result | None:
    """Return what a run says in which one system call fails; None if it does not end."""
    inject = f"inject={call}:error={error}:when={number}"
    tracing = ["-f", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject]
    try:
        return scene.place.clada(scene.document(), wrapper=[str(STRACE), *tracing])
    except subprocess.TimeoutExpired:
        return None


def _naming(result: Result, error: str) -> str:
    """Return how a failed run says why: by the name of the error, or as git or the interpreter calls it."""
    names = {os.strerror(getattr(errno, error)).lower(), {"ENOMEM": "out of memory"}.get(error, error)}
    said = (result.out + result.err).lower()
    return "failed, naming the error" if any(name in said for name in names) else "failed in git's own words"
