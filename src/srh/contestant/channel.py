"""The contestant's end of the channel to its scorer (see ``srh.sandbox.supervise``).

It receives and writes on an inherited descriptor, and so needs no right to make sockets. Arrays
come as descriptors of memory that nobody can change any more.
"""

from __future__ import annotations

import array
import json
import os
import socket
from typing import Any

_HEADER = 8
_MOST_DESCRIPTORS = 4


class Channel:
    """Frames over an inherited descriptor.

    Args:
        descriptor: Number of the descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=descriptor)
        self._room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)

    def receive(self) -> tuple[Any, list[int]]:
        """Return the next frame's content, decoded, and the descriptors that came with it.

        Raises:
            EOFError: The scorer is gone.
        """
        descriptors = array.array("i")
        size = int.from_bytes(self._read(_HEADER, descriptors), "little")
        return json.loads(self._read(size, descriptors)), descriptors.tolist()

    def send(self, tag: bytes, content: bytes | memoryview = b"") -> None:
        """Send one frame: a one-byte tag and its content."""
        view = memoryview(content).cast("B")
        for part in ((1 + len(view)).to_bytes(_HEADER, "little") + tag, view):
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def _read(self, size: int, descriptors: array.array[int]) -> bytearray:
        content = bytearray(size)
        view = memoryview(content)
        while view:
            count, ancillary, _, _ = self._end.recvmsg_into([view], self._room)
            if not count:
                raise EOFError("the scorer is gone")
            for level, kind, rights in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    descriptors.frombytes(rights)
            view = view[count:]
        return content
