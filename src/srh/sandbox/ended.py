"""How a process ended, as its supervisor and the kernel saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Stop = Literal["wall", "output", "disk", "threads"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: what its supervisor and the kernel saw.

    Attributes:
        returncode: Exit code, or minus the number of the signal that ended it.
        stopped: The limit for which it was ended, or None.
        killed: Whether it was ended without such a reason: it was no longer needed, or had broken
            off the conversation.
        wall_s: Elapsed time in seconds.
        cpu_s: Processor time, user and system, in seconds.
        short: Whether the kernel ended it, or what it has started, for want of memory.
        group: Version of the control group that bounded its memory, None if there was none.
        peak_bytes: Largest resident size beyond what any process of its template has, in bytes.
        stdout: First part of the standard output.
        stderr: First part of the standard error.
    """

    returncode: int
    stopped: Stop | None
    killed: bool
    short: bool
    group: Literal["v1", "v2"] | None
    wall_s: float
    cpu_s: float
    peak_bytes: int
    stdout: bytes
    stderr: bytes
