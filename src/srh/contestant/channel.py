"""The contestant's end of the channel to its scorer (see ``srh.sandbox.supervise``).

It reads and writes an inherited descriptor, and so needs no right to make sockets.
"""

from __future__ import annotations

import io
import json
from typing import Any

_HEADER = 8


class Channel:
    """Frames over an inherited descriptor.

    Args:
        descriptor: Number of the descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        self._stream = io.FileIO(descriptor, "r+", closefd=False)

    def receive_into(self, buffer: memoryview) -> None:
        """Fill ``buffer``, writable bytes, with the content of the next frame.

        Raises:
            EOFError: The scorer is gone, or the frame has another size.
        """
        size = int.from_bytes(self._read(bytearray(_HEADER)), "little")
        if size != len(buffer):
            raise EOFError(f"a frame of {len(buffer)} bytes was announced, {size} came")
        self._fill(buffer)

    def receive_json(self) -> Any:
        """Return the next frame's content, decoded.

        Raises:
            EOFError: The scorer is gone.
        """
        size = int.from_bytes(self._read(bytearray(_HEADER)), "little")
        return json.loads(self._read(bytearray(size)))

    def send(self, tag: bytes, content: bytes | memoryview = b"") -> None:
        """Send one frame: a one-byte tag and its content."""
        view = memoryview(content).cast("B")
        for part in ((1 + len(view)).to_bytes(_HEADER, "little") + tag, view):
            rest = memoryview(part)
            while rest:
                rest = rest[self._stream.write(rest) :]

    def _read(self, buffer: bytearray) -> bytearray:
        self._fill(memoryview(buffer))
        return buffer

    def _fill(self, view: memoryview) -> None:
        while len(view):
            count = self._stream.readinto(view)
            if not count:
                raise EOFError("the scorer is gone")
            view = view[count:]
