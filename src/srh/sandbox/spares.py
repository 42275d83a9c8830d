"""Processes that a template has forked beforehand, and that wait for a request."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from dataclasses import dataclass
from typing import Any, Final

from srh.sandbox.forked import become
from srh.sandbox.groups import Group, Groups
from srh.sandbox.messages import send_message

_KEPT: Final = 2


@dataclass(frozen=True, slots=True)
class Spare:
    """A process that waits for a request.

    Attributes:
        pid: Its number.
        end: Where the request is sent.
        group: Its control group, if it has one.
    """

    pid: int
    end: socket.socket
    group: Group | None


class Spares:
    """The spare processes of a template.

    Args:
        groups: Where each gets a control group, if it can.
    """

    def __init__(self, groups: Groups | None) -> None:
        self._groups = groups
        self._waiting: list[Spare] = []

    @property
    def wanting(self) -> bool:
        """Whether there are fewer than there should be."""
        return len(self._waiting) < _KEPT

    def refill(self) -> bool:
        """Fork one more, and tell whether the kernel lets us; if not, whoever asks will be told."""
        try:
            self._waiting.append(self._fork())
        except OSError:
            return False
        return True

    def hand_over(self, told: dict[str, Any], passed: list[int], memory: int) -> Spare:
        """Give a process what it is told, and the descriptors with it, and return that process.

        Args:
            told: What it is told.
            passed: The descriptors.
            memory: Bound of its control group, in bytes; 0 is none.

        Raises:
            OSError: There is none, and the kernel refuses another one.
        """
        while self._waiting:
            with contextlib.suppress(OSError):  # it was ended meanwhile, by whomever
                return self._give(self._waiting.pop(0), told, passed, memory)
        return self._give(self._fork(), told, passed, memory)

    def close(self) -> None:
        """End all that wait."""
        for spare in self._waiting:
            spare.end.close()
            os.kill(spare.pid, signal.SIGKILL)
            self._bury(spare)
        self._waiting.clear()

    def _give(self, spare: Spare, told: dict[str, Any], passed: list[int], memory: int) -> Spare:
        with spare.end:
            try:
                if spare.group is not None and memory:
                    spare.group.bound(memory)
                send_message(spare.end, told, passed)
            except OSError:
                os.kill(spare.pid, signal.SIGKILL)
                self._bury(spare)
                raise
        return spare

    def _bury(self, spare: Spare) -> None:
        os.waitpid(spare.pid, 0)
        if self._groups is not None and spare.group is not None:
            self._groups.remove(spare.group)

    def _fork(self) -> Spare:
        template = os.getpid()
        ours, theirs = socket.socketpair()
        group = None
        with theirs:
            try:
                group = None if self._groups is None else self._groups.make()
                pid = os.fork()
            except OSError:
                ours.close()
                if self._groups is not None and group is not None:
                    self._groups.remove(group)
                raise
            if pid == 0:
                become(theirs, template, group)
        return Spare(pid, ours, group)
