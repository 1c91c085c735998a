"""A front end that goes on running (`clada mcp`), from a Python that has loaded it already.

tools/warm.py runs a command line to its end; this is for servers. To load what `clada mcp` needs takes a
second of a processor, to fork what has loaded it a twentieth. `command(...)` is to be started in place of
`python -m clada ...`: a small program that hands over its standard streams, directory and environment to a
fork, passes on signals, ends as it ends, and takes it along when it is killed.

Tests of how a server starts, and of what a signal or a kill does to it, start `sys.executable`.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache

from tools.warm import FORKING, FRONT_ENDS

# Accepts what asks for a fork, until whoever started it is gone. Beside each fork is one that waits for it.
LISTENING = """
import os
if os.fork():
    os._exit(0)  # whoever asks has no child then: tests wait for all of theirs

import gc, json, pkgutil, select, signal, socket, sys, threading
import clada.cli

def pass_on(connection, child):
    while number := connection.recv(1):
        os.kill(child, number[0])
    os.kill(child, signal.SIGKILL)

def wait_for(child, connection):
    threading.Thread(target=pass_on, args=(connection, child), daemon=True).start()
    connection.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)

def serve(asked):
    with socket.create_server(sys.argv[2], family=socket.AF_UNIX) as listener:
        asked.send(b"1")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those that wait ended
        while asked not in select.select([asked, listener], [], [])[0]:
            connection = listener.accept()[0]
            if os.fork():
                connection.close()
            else:
                break
        else:
            os.unlink(sys.argv[2])
            os.rmdir(os.path.dirname(sys.argv[2]))
            os._exit(0)
    asked.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    handles = socket.recv_fds(connection, 1, 3)[1]
    request = connection.makefile("rb").readline()
    if child := os.fork():
        os.closerange(0, 3)
        for handle in handles:
            os.close(handle)
        wait_for(child, connection)
    connection.close()
    return *json.loads(request), handles
"""
# What is started: it hands over what it has, and is then as the fork.
STARTED = """
import json, os, signal, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: connection.send(bytes([number])))
umask = os.umask(0)
request = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ), umask]).encode() + b"\\n"
socket.send_fds(connection, [b" "], [0, 1, 2])
connection.sendall(request)
os.closerange(0, 3)
code = int(connection.recv(8) or 1)
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def command(front_end: str, *arguments: str) -> list[str]:
    """Return what to start in place of `python -m clada` and these arguments, of which the first is given."""
    return [sys.executable, "-ISc", STARTED, _listening(front_end), front_end, *arguments]


@cache
def _listening(front_end: str) -> str:
    """Return the address of the one that has loaded a front end, and ends with us."""
    address = os.path.join(tempfile.mkdtemp(prefix="clada-standby-"), "asked")
    ours, theirs = socket.socketpair()
    others = [name for name in FRONT_ENDS if name != f"clada.{front_end}"]
    with theirs:
        subprocess.run(
            [sys.executable, "-P", "-c", LISTENING + FORKING, str(theirs.fileno()), address, *others],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd="/",
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            check=True,
        )
    ours.recv(1)  # when it listens
    atexit.register(ours.close)  # which it notices, and so it does if we are killed
    return address
