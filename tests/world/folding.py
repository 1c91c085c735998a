"""A file system that ignores letter case, as macOS has it: in memory, served to the kernel through /dev/fuse.

Started as a program with the directory to mount it on; says `mounted`, and serves until it is unmounted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
import time

ROOT, BUFFER = 1, 1 << 20
NO_ANSWER = (2, 36, 42)  # forget, interrupt, several to forget


class Node:
    """A file or a directory; what is in a directory is found by its folded name."""

    def __init__(self, number: int, mode: int) -> None:
        self.number, self.mode = number, mode
        self.data = bytearray()
        self.below: dict[str, tuple[str, Node]] = {}
        self.times = [time.time_ns()] * 3

    def attributes(self) -> bytes:
        """Return struct fuse_attr."""
        seconds, rest = zip(*(divmod(each, 10**9) for each in self.times), strict=True)
        links = 2 if stat.S_ISDIR(self.mode) else 1
        numbers = self.number, len(self.data), 0, *seconds, *rest, self.mode, links, 0, 0, 0, 4096, 0
        return struct.pack("<6Q10I", *numbers)

    def entry(self) -> bytes:
        """Return struct fuse_entry_out, to be asked again each time."""
        return struct.pack("<4Q2I", self.number, 0, 0, 0, 0, 0) + self.attributes()


class FoldingFileSystem:
    """Answers the kernel's requests, one at a time."""

    def __init__(self) -> None:
        self.nodes = {ROOT: Node(ROOT, stat.S_IFDIR | 0o755)}

    def answer(self, operation: int, node: Node, body: bytes) -> bytes:
        """Return what the kernel asks for; raise OSError where it cannot be."""
        known = {
            1: self.lookup,
            3: self.status,
            4: self.change,
            9: self.make_directory,
            10: self.remove,
            11: self.remove,
            12: self.rename,
            14: self.open,
            15: self.read,
            16: self.write,
            17: self.room,
            18: self.nothing,
            25: self.nothing,
            26: self.start,
            27: self.open,
            28: self.names,
            29: self.nothing,
            35: self.create,
            45: self.rename,
        }
        if operation not in known:
            raise OSError(errno.ENOSYS, "")
        return known[operation](node, body)

    def start(self, _node: Node, _body: bytes) -> bytes:
        """Agree on the protocol's version."""
        return struct.pack("<4I2H2I", 7, 31, BUFFER // 2, 0, 0, 0, BUFFER // 2, 1).ljust(64, b"\0")

    def nothing(self, _node: Node, _body: bytes) -> bytes:
        """Say that all is well."""
        return b""

    def lookup(self, node: Node, body: bytes) -> bytes:
        """Find a name, however it is written."""
        return self.find(node, text(body)).entry()

    def find(self, node: Node, name: str) -> Node:
        """Return what has a name."""
        if name.casefold() not in node.below:
            raise OSError(errno.ENOENT, "")
        return node.below[name.casefold()][1]

    def status(self, node: Node, _body: bytes) -> bytes:
        """Return struct fuse_attr_out."""
        return struct.pack("<Q2I", 0, 0, 0) + node.attributes()

    def change(self, node: Node, body: bytes) -> bytes:
        """Set the mode, the size or the times."""
        valid, _, _, size, *_ = struct.unpack_from("<2I3Q", body)
        (mode,) = struct.unpack_from("<I", body, 68)
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        if valid & 8:
            node.data[size:] = b"\0" * (size - len(node.data))
        node.times[1:] = [time.time_ns()] * 2
        return self.status(node, b"")

    def add(self, parent: Node, name: str, mode: int) -> Node:
        """Make something new."""
        node = Node(max(self.nodes) + 1, mode)
        self.nodes[node.number] = node
        parent.below[name.casefold()] = (name, node)
        return node

    def make_directory(self, node: Node, body: bytes) -> bytes:
        """Make a directory."""
        mode, mask = struct.unpack_from("<2I", body)
        return self.add(node, text(body[8:]), stat.S_IFDIR | mode & ~mask).entry()

    def create(self, node: Node, body: bytes) -> bytes:
        """Make a file, and open it."""
        _flags, mode, mask = struct.unpack_from("<3I", body)
        return self.add(node, text(body[16:]), stat.S_IFREG | mode & ~mask).entry() + self.open(node, b"")

    def open(self, _node: Node, _body: bytes) -> bytes:
        """Return struct fuse_open_out."""
        return struct.pack("<Q2I", 0, 0, 0)

    def read(self, node: Node, body: bytes) -> bytes:
        """Return a piece of a file."""
        _handle, offset, size = struct.unpack_from("<2QI", body)
        return bytes(node.data[offset : offset + size])

    def write(self, node: Node, body: bytes) -> bytes:
        """Take a piece of a file."""
        _handle, offset, size = struct.unpack_from("<2QI", body)
        node.data[len(node.data) :] = b"\0" * (offset - len(node.data))
        node.data[offset : offset + size] = body[40 : 40 + size]
        node.times[1:] = [time.time_ns()] * 2
        return struct.pack("<2I", size, 0)

    def room(self, _node: Node, _body: bytes) -> bytes:
        """Return struct fuse_kstatfs."""
        return struct.pack("<5Q4I", *[1 << 20] * 5, 4096, 255, 4096, 0).ljust(80, b"\0")

    def names(self, node: Node, body: bytes) -> bytes:
        """Return the names in a directory, as they are written."""
        _handle, offset, size = struct.unpack_from("<2QI", body)
        listed = b""
        for at, (name, each) in enumerate(node.below.values(), 1):
            if at <= offset:
                continue
            raw = os.fsencode(name)
            row = struct.pack("<2Q2I", each.number, at, len(raw), stat.S_IFMT(each.mode) >> 12) + raw
            row = row.ljust(-(-len(row) // 8) * 8, b"\0")
            if len(listed) + len(row) > size:
                break
            listed += row
        return listed

    def remove(self, node: Node, body: bytes) -> bytes:
        """Remove a file or an empty directory."""
        if self.find(node, text(body)).below:
            raise OSError(errno.ENOTEMPTY, "")
        del node.below[text(body).casefold()]
        return b""

    def rename(self, node: Node, body: bytes) -> bytes:
        """Give something another name. Both kinds of request end in the old name and the new one."""
        (number,) = struct.unpack_from("<Q", body)
        old, new = body.rstrip(b"\0").split(b"\0")[-2:]
        moved = self.find(node, text(old))
        del node.below[text(old).casefold()]
        self.nodes[number].below[text(new).casefold()] = (text(new), moved)
        return b""


def text(raw: bytes) -> str:
    """Return a name without the zero byte at its end."""
    return os.fsdecode(raw.partition(b"\0")[0])


def main(target: str) -> None:
    """Mount the file system, and serve it."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    if ctypes.CDLL(None, use_errno=True).mount(b"folding", target.encode(), b"fuse", 0, options.encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    os.write(1, b"mounted\n")
    system = FoldingFileSystem()
    while True:
        try:
            request = os.read(device, BUFFER + 4096)
        except OSError:
            return  # it is unmounted
        _, operation, unique, number = struct.unpack_from("<2I2Q", request)
        if operation in NO_ANSWER:
            continue
        try:
            node = system.nodes.get(number, system.nodes[ROOT])
            failed, answer = 0, system.answer(operation, node, request[40:])
        except OSError as error:
            failed, answer = -(error.errno or errno.EIO), b""
        os.write(device, struct.pack("<IiQ", 16 + len(answer), failed, unique) + answer)


if __name__ == "__main__":
    main(sys.argv[1])
