"""The command line from a Python that has loaded it already: each start is a fork of that one.

To start Python and to load clada takes 40 ms of a processor, to fork what is loaded takes 8, and tests start
clada thousands of times. What is forked is as real as what is started: a process and a session of its own,
with pipes, a directory, an environment and an exit code. It is as the `clada` command, not as
`python -m clada`: the present directory is not on the path of modules.

What shows only in a real start is not shown by this: what is loaded and from where, signals and limits from
the first moment on, how Python ends. Tests of that start `sys.executable`.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

READ_BY_PYTHON = ("PYTHON", "LANG", "LC_")  # beginnings of variables that count when Python starts
# What is not loaded before, for it takes long and few starts need it: the front ends.
FRONT_ENDS = ("clada.mcp", "clada.batch", "clada.review", "clada.cli.choose", "clada.cli.watch")
# Forks for each request, by a `serve` that returns in the fork alone.
SERVING = """
import os
if os.fork():
    os._exit(0)  # whoever asks has no child then: tests wait for all of theirs

import gc, json, pkgutil, socket, sys, threading
import clada.cli

def serve(requests):
    while length := requests.recv(8, socket.MSG_WAITALL):
        text, handles = b"", []
        while len(text) < int(length):
            piece, more, _, _ = socket.recv_fds(requests, int(length) - len(text), 3)
            text, handles = text + piece, handles + more
        child = os.fork()
        if child == 0:
            requests.close()
            return *json.loads(text), handles
        for handle in handles:
            os.close(handle)
        requests.send(b"%8d" % child)
        requests.send(b"%8d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)
"""
# What the fork does is as __main__.py of clada. tools/standby.py has another `serve`, for servers.
FORKING = """
for module in pkgutil.walk_packages(clada.__path__, "clada."):
    if not module.name.startswith((*sys.argv[2:], "clada.__main__")):
        __import__(module.name)
for name in os.listdir(clada.prompts.__path__[0]):
    if name.endswith(".md"):  # whose examples have something of each notation: to compile patterns takes long
        with open(os.path.join(clada.prompts.__path__[0], name)) as file:
            clada.parse(file.read())
gc.freeze()  # what is loaded stays: none of the forks is to look through it, and so to copy it
arguments, directory, environment, umask, handles = serve(socket.socket(fileno=int(sys.argv[1])))
os.setsid()
for number, handle in enumerate(handles):
    os.dup2(handle, number)
    os.close(handle)
sys.stdin, sys.stdout = open(0, errors=sys.stdin.errors), open(1, "w", errors=sys.stdout.errors)
sys.stderr = open(2, "w", errors=sys.stderr.errors)
os.chdir(directory)
os.environ.clear()
os.environ.update(environment)
os.umask(umask)
sys.argv = ["clada", *arguments]
code = clada.cli.main()
threading._shutdown()  # as Python does: pools of threads are told to end, and all threads are waited for
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)  # to tidy up all that is loaded, object by object, takes twice as long as all before
"""


class Warm:
    """A Python that has loaded clada, and waits for what to do."""

    def __init__(
        self, python: str, environment: Mapping[str, str], before: Sequence[str] = (), **identity: Any
    ) -> None:
        """Take words that may stand before the path of Python, for who is to start it."""
        self._requests, theirs = socket.socketpair()
        self._at_work = Lock()
        with theirs:
            subprocess.run(
                [*before, python, "-P", "-c", SERVING + FORKING, str(theirs.fileno()), *FRONT_ENDS],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                check=True,
                **identity,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """End it."""
        self._requests.shutdown(socket.SHUT_WR)
        self._requests.recv(1)  # which comes to nothing when it has ended
        self._requests.close()

    def run(
        self, arguments: Sequence[str], document: bytes, directory: str, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the command line to its end."""
        with self._at_work:
            ours = self._start(arguments, directory, environment)
            child = int(self._requests.recv(8, socket.MSG_WAITALL))
            try:
                out, err = _talk(document, *ours)
                code = int(self._requests.recv(8, socket.MSG_WAITALL))
            except BaseException:  # the limit of a test, say
                os.kill(child, 9)
                self._requests.recv(8, socket.MSG_WAITALL)
                raise
        return subprocess.CompletedProcess(["clada", *arguments], code, out, err)

    def _start(
        self, arguments: Sequence[str], directory: str, environment: Mapping[str, str]
    ) -> tuple[int, int, int]:
        """Ask for a fork; return the other ends of what it reads and writes."""
        (stdin, sink), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
        os.umask(umask := os.umask(0))
        request = json.dumps([[*arguments], directory, {**environment}, umask]).encode()
        self._requests.sendall(b"%8d" % len(request))
        sent = socket.send_fds(self._requests, [request], [stdin, stdout, stderr])
        self._requests.sendall(request[sent:])
        for handle in (stdin, stdout, stderr):
            os.close(handle)
        return sink, out, err


def _talk(document: bytes, sink: int, out: int, err: int) -> tuple[bytes, bytes]:
    """Write the document to a process; return what it writes to its outputs."""
    found: dict[int, bytes] = {}
    threads = [Thread(target=_feed, args=(sink, document)), Thread(target=_drain, args=(err, found))]
    for thread in threads:
        thread.start()
    _drain(out, found)
    for thread in threads:
        thread.join()
    return found[out], found[err]


def _feed(handle: int, document: bytes) -> None:
    with open(handle, "wb", buffering=0) as file:
        try:
            while document:
                document = document[file.write(document) or 0 :]
        except BrokenPipeError:  # it does not read all
            return


def _drain(handle: int, found: dict[int, bytes]) -> None:
    with open(handle, "rb") as file:
        found[handle] = file.read()


@cache
def _own(_user: int, read: frozenset[tuple[str, str]]) -> Warm:
    """Return the one for who this process is now, whose Python has read these variables."""
    return Warm(sys.executable, {**dict(os.environ.items() - _READ), **dict(read)})


def _read_by_python(environment: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(item for item in environment.items() if item[0].startswith(READ_BY_PYTHON))


_READ = _read_by_python(os.environ)


def clada(
    *arguments: str,
    document: bytes = b"",
    directory: str | Path,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line without a terminal: by a real start if Python itself is to read other things."""
    given = {**(os.environ if environment is None else environment)}
    if (read := _read_by_python(given)) <= _READ:
        return _own(os.geteuid(), read).run(arguments, document, str(directory), given)
    command = [sys.executable, "-m", "clada", *arguments]
    return subprocess.run(
        command, input=document, cwd=directory, env=given, capture_output=True, check=False,
        start_new_session=True,
    )  # fmt: skip


def decoded(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    """Return what a process printed as text."""
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
