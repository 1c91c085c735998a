"""A hostile program: `sandbox_escapes.py NAME` tries one way out of its sandbox, exits 0 if it works.

The test gives it the places and processes outside in environment variables. It runs without packages, and
loads what takes long where it is needed: it is started hundreds of times.
"""

from __future__ import annotations

import os
import sys
import time

OUTSIDE = os.environ.get("OUTSIDE", "")
VICTIM = int(os.environ.get("VICTIM", "0"))
PORT = int(os.environ.get("PORT", "0"))


def _append(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write("escaped\n")


def _system(name: str, *words: object) -> int:
    import ctypes

    return int(getattr(ctypes.CDLL(None), name)(*words))


def _must(result: int) -> None:
    if result < 0:
        raise OSError("refused")


def write_outside() -> None:
    """Create a file next to the workspace."""
    _append(f"{OUTSIDE}/new")


def append_outside() -> None:
    """Append to a file outside."""
    _append(f"{OUTSIDE}/file")


def truncate_outside() -> None:
    """Empty a file outside without opening it."""
    os.truncate(f"{OUTSIDE}/file", 0)


def remove_outside() -> None:
    """Remove a file outside."""
    os.unlink(f"{OUTSIDE}/file")


def rename_into_workspace() -> None:
    """Move a file from outside into the workspace."""
    os.rename(f"{OUTSIDE}/file", "taken")


def make_folder_outside() -> None:
    """Make a folder outside."""
    os.mkdir(f"{OUTSIDE}/folder")


def hard_link_and_write() -> None:
    """Link an outside file into the workspace and write it there."""
    os.link(f"{OUTSIDE}/file", "linked")
    _append("linked")


def write_through_symbolic_link() -> None:
    """Write an outside file through a symbolic link in the workspace."""
    os.symlink(f"{OUTSIDE}/file", "link")
    _append("link")


def write_home() -> None:
    """Plant a line in the shell's start-up file."""
    _append(os.path.expanduser("~/.bashrc"))


def read_credentials() -> None:
    """Read a private key from the home folder."""
    with open(os.path.expanduser("~/.ssh/id_rsa"), encoding="utf-8") as file:
        if "secret" not in file.read():
            raise OSError("empty")


def write_shared_temporary_folder() -> None:
    """Leave a file where other programs keep theirs."""
    _append(os.environ["SHARED"])


def write_shared_memory() -> None:
    """Leave a file in the host's shared memory."""
    _append(os.environ["MEMORY"])


def chmod_outside() -> None:
    """Change the mode of an outside file."""
    os.chmod(f"{OUTSIDE}/file", 0o777)


def utime_outside() -> None:
    """Change the times of an outside file."""
    os.utime(f"{OUTSIDE}/file", (1, 1))


def write_git_config() -> None:
    """Have git run a program of ours later."""
    _append(".git/config")


def plant_hook() -> None:
    """Plant a git hook."""
    _append(".git/hooks/pre-commit")


def move_reference() -> None:
    """Make a branch point elsewhere."""
    _append(".git/refs/heads/main")


def write_index() -> None:
    """Change what is staged."""
    _append(".git/index")


def replace_git_folder() -> None:
    """Move `.git` away and put another in its place."""
    os.rename(".git", "old")
    os.mkdir(".git")
    _append(".git/config")


def approve_command() -> None:
    """Approve a command for next time."""
    _append(".clada/allowed-commands.json")


def remove_approvals() -> None:
    """Remove the approvals, with what they block."""
    import shutil

    shutil.rmtree(".clada")


def unmount() -> None:
    """Take a protective mount away."""
    _must(_system("umount2", os.path.abspath(".git").encode(), 2))
    _append(".git/config")


def mount() -> None:
    """Mount over a folder outside."""
    _must(_system("mount", b"none", OUTSIDE.encode(), b"tmpfs", 0, None))


def new_user_namespace() -> None:
    """Become root in a namespace of our own."""
    _must(_system("unshare", 0x10000000))


def use_capabilities() -> None:
    """Use what root may do."""
    with open("/proc/self/status", encoding="ascii") as status:
        lines = dict(line.split(":\t", 1) for line in status)
    if int(lines["CapEff"], 16) == 0:
        raise PermissionError("no capabilities")


def gain_by_setuid_program() -> None:
    """Gain privileges from a setuid program, as sudo would."""
    with open("/proc/self/status", encoding="ascii") as status:
        if "NoNewPrivs:\t1" in status.read():
            raise PermissionError("no new privileges")


def make_disk_device() -> None:
    """Make a device file for the disk in the workspace."""
    os.mknod("disk", 0o60600, os.makedev(8, 0))
    os.stat("disk")


def change_kernel_setting() -> None:
    """Write a setting of the kernel."""
    with open("/proc/sys/kernel/printk", "r+", encoding="ascii") as setting:
        setting.write(" ".join(setting.read().split()))


def trace_outside_process() -> None:
    """Attach to a process outside as a debugger."""
    _must(_system("ptrace", 16, VICTIM, None, None))
    os.waitpid(VICTIM, 0x40000000)
    _system("ptrace", 17, VICTIM, None, None)


def read_outside_process() -> None:
    """Read the environment of a process outside."""
    with open(f"/proc/{VICTIM}/environ", "rb") as file:
        if b"CONFIDENTIAL" not in file.read():
            raise PermissionError("nothing to see")


def signal_outside_process() -> None:
    """End a process outside."""
    os.kill(VICTIM, 9)


def kill_supervisor() -> None:
    """End the process that watches over us."""
    parent = os.getppid()
    os.kill(parent, 9)
    time.sleep(0.1)
    if os.getppid() == parent:
        raise PermissionError("still there")


def connect_to_loopback() -> None:
    """Talk to a server on this machine."""
    import socket

    socket.create_connection(("127.0.0.1", PORT), timeout=5).close()


def send_datagram() -> None:
    """Send a datagram to this machine."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.connect(("127.0.0.1", int(os.environ["DATAGRAMS"])))
        channel.send(b"x")


def connect_to_path_socket() -> None:
    """Talk to a service outside that listens at a path."""
    import socket

    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(f"{OUTSIDE}/socket")


def connect_to_abstract_socket() -> None:
    """Talk to a service outside that listens at an abstract name."""
    import socket

    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect("\0" + os.environ["ABSTRACT"])


def use_inherited_handle() -> None:
    """Use a file that clada left open."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if int(name) > 2 and not target.startswith(("/proc", "anon")):
            return
    raise PermissionError("none")


def survive() -> None:
    """Leave a process behind that has a session of its own."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", os.environ["MARK"]])
        os._exit(0)
    time.sleep(0.1)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
