"""The command line: arguments, standard input, output and exit codes. The only part that prints and asks."""

from __future__ import annotations

import os
import signal
import sys

from clada.exit_codes import FAILED, SIGNALLED, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, NoReturn

    from clada.cli.flags import Invocation

    Handler = Callable[[dict[str, Any], Sequence[str], "Console"], int]

INTERRUPTED = SIGNALLED + 2  # by SIGINT
STDOUT, STDERR = 1, 2
HURRIED_WAIT = 2000  # milliseconds that a reader has, once a signal says to end
HURRIED_BYTES = 512  # that a pipe which is ready takes without blocking, on every system (PIPE_BUF)
# What Python loads before clada, by whatever way it is started; and what it would load if it were there.
_EARLY = """
    abc clada codecs collections contextlib copyreg encodings enum functools genericpath importlib io keyword
    operator os pkgutil posixpath re reprlib runpy site sitecustomize stat types usercustomize warnings
    zipimport _collections_abc _sitebuiltins
""".split()
_OWN_NAME = "/clada/cli/__init__.py"  # of this file, in the directory that clada is installed in


def start() -> NoReturn:
    """Be the command line of this process: run it, and end the process with its exit code."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # as it is while clada is loaded
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while Python ends, its own handler would print a traceback
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code; an interrupt is one, however early it comes."""
    try:
        if arguments is None:
            leave_out_of_path(".")
            _speak_utf8()
            arguments = sys.argv[1:]
        _prepare_process()
        if list(arguments) in (["--version"], ["-V"]):
            return _print_version()
        return dispatch(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:  # so early that there is nothing yet to say it with
        os.write(2, b"clada: out of memory\n")
        return FAILED


def leave_out_of_path(directory: str) -> None:
    """Take this directory, what is in it, and all relative names off the path on which modules are found.

    A document writes there: a `select.py` of its own would be loaded in place of the real one. What this
    interpreter has installed there stays, for clada itself may be part of it. What is loaded before us can
    only be refused when a document writes it.
    """
    try:
        top = f"{os.path.realpath(directory)}/"
    except OSError:  # the present directory was removed, or cannot be read: nobody finds a module in there
        top = "//"
    installed = (f"{sys.prefix}/lib", f"{sys.base_prefix}/lib")
    own = __file__.removesuffix(_OWN_NAME)
    before = sys.path.copy()
    entries = [entry for entry in before if os.path.isabs(entry)]
    inside = [
        entry
        for entry in entries
        if not entry.startswith(installed) and f"{os.path.realpath(entry)}/".startswith(top)
    ]
    sys.path[:] = [entry for entry in entries if entry not in inside]
    if own in inside:
        sys.path.append(own)
    if left_out := {*before} - {*sys.path}:
        _keep_from_documents(left_out)


def _keep_from_documents(directories: Iterable[str]) -> None:
    """Let no document write there what Python loads before clada can do anything about it."""
    from clada.world.files.paths import loaded_early

    try:
        places = [os.path.realpath(directory) for directory in directories]
    except OSError:  # as above
        return
    names = {*_EARLY, *sys.modules}.difference(sys.builtin_module_names)  # which are looked for nowhere
    loaded_early.update(dict.fromkeys(places, frozenset(names)))


def _speak_utf8() -> None:
    """Start again in UTF-8 mode, where the locale has another encoding: documents name files in UTF-8.

    What the commands of a document find in their environment stays as it is.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (ourselves)


def _prepare_process() -> None:
    """Undo what some callers leave behind."""
    for handle in (0, 1, 2):  # a closed one must not be given to a file that then gets our output
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # the system would forget how a child ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _print_version() -> int:
    from clada.version import VERSION

    try:
        os.write(1, f"clada {VERSION}\n".encode())
    except OSError:
        return FAILED
    return 0


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; nothing that goes wrong is more than a line, unless asked for."""
    from clada.cli.flags import read
    from clada.errors import CladaError, UsageError, unforeseen

    console = Console()
    options: Mapping[str, Any] = {}
    takes_detail = False
    try:
        invocation = read(arguments)
        takes_detail = "error_detail" in invocation.row.flags
        options = _options(invocation, console)
        code = _perform(invocation, options, console)
    except UsageError as error:
        console.complain(f"clada: {error}")
        return USAGE
    except CladaError as trouble:
        console.complain(f"clada: {trouble.error.sentence}")
        return FAILED
    except Exception as bug:
        if options.get("error_detail") == "debug":
            raise
        found = unforeseen(bug)
        hint = "; --error-detail=debug shows where" if found.hint and takes_detail else ""
        console.complain(f"clada: {found.message}{hint}")
        return FAILED
    return code or (FAILED if console.lost else 0)


def _options(invocation: Invocation, console: Console) -> Mapping[str, Any]:
    """Return all options: flags win over the workspace's file, which wins over the user's.

    Where a command reads no configuration, those that were given are all.
    """
    given = invocation.given
    if not invocation.row.configured or given.get("help") or given.get("version"):
        return given
    from clada import config
    from clada.settings import DEFAULTS

    def trusts(workspace: str) -> bool:
        if invocation.command == "trust":
            return False  # which is what it is about
        from clada.cli.trust import settle

        ask = invocation.row.asks_for_trust and not given.get("dry_run")
        return settle(workspace, console, ask=ask)

    own, shared = config.load(given.get("workspace"), trusts)
    unset = dict.fromkeys(invocation.row.by_flag)
    is_configured = "record" in own or "record" in shared
    return {**DEFAULTS, **own, **shared, **unset, **given, "record_configured": is_configured}


def _perform(invocation: Invocation, options: Mapping[str, Any], console: Console) -> int:
    if options.get("help"):
        from clada.cli.help import command_help

        console.write(command_help(invocation.command))
        return 0
    if options.get("version"):
        return _print_version()
    workspace = options.get("workspace", ".")
    if workspace != ".":  # that one was left out at the start
        leave_out_of_path(workspace)
    if invocation.row.inside:
        _check_workspace(workspace)
    _clear_left_lock(workspace)
    # A command is loaded when it is asked for: its module has run(options, arguments, console).
    run: Handler = __import__(f"clada.cli.{invocation.command or 'document'}", fromlist=("run",)).run
    return run({**options, "given": invocation.given}, invocation.arguments, console)


def _clear_left_lock(workspace: str) -> None:
    """Clear the lock of git's index that a killed clada has left: every command does, because git cannot."""
    try:
        top = os.path.realpath(workspace)
    except OSError:
        return  # the current directory is gone
    while not os.path.lexists(f"{top}/.git"):
        if top in ("", "/"):
            return
        top = os.path.dirname(top)
    if os.path.isfile(f"{top}/.git") or os.path.lexists(f"{top}/.git/index.lock"):  # a file: elsewhere
        from clada.world.git.index import clear_left_lock_of

        clear_left_lock_of(workspace)


def _check_workspace(directory: str) -> None:
    """Refuse what can be no workspace as a mistake in the call: nothing was tried."""
    from clada.errors import CladaError, UsageError
    from clada.world.files.directories import check_workspace

    try:
        check_workspace(directory)
    except CladaError as trouble:
        raise UsageError(f"--workspace: {trouble.error.sentence}") from None


class Console:
    """Writes text to standard output and standard error. What cannot be written is dropped: the run goes on.

    Lines have a kind, by which a terminal colours them; here it makes no difference.
    """

    def __init__(self, out: int = STDOUT, name: str = "standard output") -> None:
        self._out, self._name = out, name  # standard output, or another handle in its place
        self._closed: set[int] = set()
        self._hurried = False
        self.rows = 0  # of the terminal, if it is one
        self.lost = False  # output was lost although its reader did not close the pipe

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output: each a kind, and a text that is safe to show."""
        self._write(self._out, "".join([f"{text}\n" for _kind, text in lines]))

    def scrolled_away(self) -> list[tuple[str, str]]:
        """Return the failures that were written, and are on the screen no more."""
        return []

    def count_rows(self, text: str) -> None:
        """Take note of lines that another has written to the terminal."""

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(self._out, text)

    def complain(self, text: str, kind: str = "note") -> None:
        """Write one line to standard error, escaped so that it stays one."""
        from clada.text.escape import escape_controls

        self.say_aside([(kind, escape_controls(text))])

    def say_aside(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard error."""
        self._write(STDERR, "".join([f"{text}\n" for _kind, text in lines]))

    def working(self, done: int, total: int, what: str) -> None:
        """Note how far the work is: a terminal shows it when it takes long."""

    def pause(self) -> None:
        """Remove the progress line until the next line is written."""

    def close(self) -> None:
        """Remove the progress line for good."""

    def hurry(self) -> None:
        """Stop waiting for slow readers: called by a signal, perhaps in the middle of a write.

        Such a write would go on after the signal and wait for its reader for ever, so its handle is replaced.
        """
        self._hurried = True
        for fd in (self._out, STDERR):
            if not _is_ready(fd):
                self._closed.add(fd)
                devnull = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
                os.dup2(devnull, fd)
                os.close(devnull)

    def _write(self, fd: int, text: str) -> None:
        data = memoryview(text.encode(errors="backslashreplace"))  # a slice of it copies nothing
        try:
            while data and fd not in self._closed:
                if self._hurried and not _is_ready(fd):
                    self._closed.add(fd)
                    return
                try:
                    data = data[os.write(fd, data[:HURRIED_BYTES] if self._hurried else data) :]
                except BlockingIOError:  # the other end made the pipe non-blocking
                    from select import select

                    select([], [fd], [])
        except BrokenPipeError:
            self._closed.add(fd)  # the reader has seen enough
        except OSError as error:
            self._closed.add(fd)
            self.lost = True
            if fd == self._out:
                self.complain(f"clada: {self._name} cannot be written: {error.strerror}")


def _is_ready(fd: int) -> bool:
    """Whether the handle can be written to, at the latest after a short wait."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(HURRIED_WAIT))
