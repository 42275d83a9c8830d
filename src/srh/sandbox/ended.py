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
        peak_bytes: Largest resident size beyond what any process of its template has, in bytes.
        stdout: First part of the standard output.
        stderr: First part of the standard error.
    """

    returncode: int
    stopped: Stop | None
    killed: bool
    wall_s: float
    cpu_s: float
    peak_bytes: int
    stdout: bytes
    stderr: bytes
