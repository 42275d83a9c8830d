"""Processes that a template has forked beforehand, and that wait for a request."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Any, Final

from srh.sandbox.forked import become
from srh.sandbox.messages import send_message

_KEPT: Final = 2


@dataclass(frozen=True, slots=True)
class _Spare:
    pid: int
    end: socket.socket


class Spares:
    """The spare processes of a template."""

    def __init__(self) -> None:
        self._waiting: list[_Spare] = []

    @property
    def wanting(self) -> bool:
        """Whether there are fewer than there should be."""
        return len(self._waiting) < _KEPT

    def refill(self) -> bool:
        """Fork one more, and tell whether the kernel lets us; if not, whoever asks will be told."""
        try:
            self._waiting.append(_fork())
        except OSError:
            return False
        return True

    def hand_over(self, request: dict[str, Any], passed: list[int]) -> int:
        """Give a request, and the descriptors with it, to a process, and return its number.

        Raises:
            OSError: There is none, and the kernel refuses another one.
        """
        while self._waiting:
            with contextlib.suppress(OSError):  # it was ended meanwhile, by whomever
                return _give(self._waiting.pop(0), request, passed)
        return _give(_fork(), request, passed)


def _give(spare: _Spare, request: dict[str, Any], passed: list[int]) -> int:
    with spare.end:
        try:
            send_message(spare.end, request, passed)
        except OSError:
            os.waitpid(spare.pid, 0)
            raise
    return spare.pid


def _fork() -> _Spare:
    ours, theirs = socket.socketpair()
    template = os.getpid()
    with theirs:
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            raise
        if pid == 0:
            become(theirs, template)
    return _Spare(pid, ours)
