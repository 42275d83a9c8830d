"""Signals to processes, and waiting for what they do."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

_STANDSTILL_S: Final = 0.2
_DEATH_S: Final = 0.5


def signal_group(leader: int, number: int) -> None:
    """Send a signal to a process that has not been reaped, and to all of its group."""
    with contextlib.suppress(PermissionError):
        try:
            os.killpg(leader, number)
        except ProcessLookupError:  # it was forked a moment ago, and leads no group yet
            os.kill(leader, number)


def await_standstill(pid: int) -> None:
    """Wait until a process has stopped, or has ended, but not for long."""
    flags = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG
    deadline = time.monotonic() + _STANDSTILL_S
    while os.waitid(os.P_PID, pid, flags) is None and time.monotonic() < deadline:
        time.sleep(0.0002)


def await_death(pid: int) -> None:
    """Wait until a process is gone that dies with its template, but not for long."""
    deadline = time.monotonic() + _DEATH_S
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except OSError:
            return
        time.sleep(0.002)
