"""Messages between a nursery and those who ask it for processes: a few fields, and descriptors.

Both ends are ours. A message is its length, JSON, and descriptors that travel with the length.
"""

from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Sequence
from typing import Any, Final

_HEADER: Final = 8
_MOST_DESCRIPTORS: Final = 8
_LONGEST: Final = 1 << 20


def send_message(
    end: socket.socket, fields: dict[str, Any], descriptors: Sequence[int] = ()
) -> None:
    """Send one message.

    Raises:
        OSError: The other end is gone.
    """
    content = json.dumps(fields).encode()
    header = len(content).to_bytes(_HEADER, "little")
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    sent = end.sendmsg([header], rights if descriptors else [], _NO_SIGNAL)
    end.sendall(header[sent:] + content, _NO_SIGNAL)


def receive_message(end: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next message's fields and descriptors, or None once the other end is gone.

    Of the descriptors some are missing where this process may not have more of them.

    Raises:
        OSError: The other end is broken.
        ValueError: What came is no message.
    """
    descriptors: list[int] = []
    try:
        fields = _receive(end, descriptors)
    except BaseException:
        _close(descriptors)
        raise
    if fields is None:
        _close(descriptors)
        return None
    return fields, descriptors


def _receive(end: socket.socket, descriptors: list[int]) -> dict[str, Any] | None:
    room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)
    header = b""
    while len(header) < _HEADER:
        piece, ancillary, _, _ = end.recvmsg(_HEADER - len(header), room, _CLOSE_ON_EXEC)
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                descriptors += _unpacked(content)
        if not piece:
            return None
        header += piece
    size = int.from_bytes(header, "little")
    if size > _LONGEST:
        raise ValueError(f"a message of {size} bytes was announced")
    body = bytearray()
    while len(body) < size:
        received = end.recv(size - len(body))
        if not received:
            return None
        body += received
    fields: dict[str, Any] = json.loads(body)
    return fields


def _unpacked(content: bytes) -> list[int]:
    numbers = array.array("i")
    numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
    return numbers.tolist()


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


_NO_SIGNAL: Final = getattr(socket, "MSG_NOSIGNAL", 0)
_CLOSE_ON_EXEC: Final = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
