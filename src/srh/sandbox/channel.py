"""The supervisor's end of a channel to a child: frames over a socket pair.

A frame is an eight-byte length and the content. Descriptors may go with it to the child, never the
other way. The child is not trusted: what it announces is bounded before it is read, and it is never
waited for without its supervisor watching.
"""

from __future__ import annotations

import array
import selectors
import socket
from collections.abc import Callable, Sequence

_HEADER = 8
_PIECE = 1 << 20
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


class ChildGoneError(Exception):
    """The child has ended, was stopped, or broke off before it sent or took a whole frame."""


class Channel:
    """Frames to and from a child.

    Args:
        end: The parent's end of the socket pair.
        wait: Waits until the socket may be ready for an event of `selectors`, watching over the
            child; returns False once the child is gone.

    Attributes:
        gone: Whether the child has closed its end.
    """

    def __init__(self, end: socket.socket, wait: Callable[[socket.socket, int], bool]) -> None:
        end.setblocking(False)
        self._end = end
        self._wait = wait
        self.gone = False

    def send(self, content: bytes, descriptors: Sequence[int] = ()) -> None:
        """Send one frame, and descriptors along with its first byte.

        Raises:
            ChildGoneError: The child did not take all of it.
        """
        view = memoryview(len(content).to_bytes(_HEADER, "little") + content)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        while len(view) > 0:
            try:
                view = view[self._end.sendmsg([view], rights, _NO_SIGNAL) :]
                rights = []
            except BlockingIOError:
                if not self._wait(self._end, selectors.EVENT_WRITE):
                    raise ChildGoneError from None
            except OSError as error:
                self.gone = True
                raise ChildGoneError from error

    def receive(self, limit: int) -> bytes:
        """Return the content of the next frame.

        Args:
            limit: Largest accepted content in bytes.

        Raises:
            ChildGoneError: The child did not send a whole frame, or announces more than ``limit``.
        """
        size = int.from_bytes(self._receive_exactly(_HEADER), "little")
        if size > limit:
            raise ChildGoneError
        return bytes(self._receive_exactly(size))

    def close(self) -> None:
        """Close this end."""
        self._end.close()

    def _receive_exactly(self, size: int) -> bytearray:
        content = bytearray()
        while len(content) < size:
            try:
                piece = self._end.recv(min(size - len(content), _PIECE))
            except BlockingIOError:
                if not self._wait(self._end, selectors.EVENT_READ):
                    raise ChildGoneError from None
                continue
            except OSError:
                piece = b""
            if not piece:
                self.gone = True
                raise ChildGoneError
            content += piece
        return content
