"""From the way a process ended to an outcome: the parent's own evidence."""

from __future__ import annotations

import signal

from srh.evaluation.protocol import Outcome
from srh.sandbox.ended import Ended
from srh.sandbox.limits import Limits
from srh.text import harmless

_ERROR_CHARS = 2000


def judge_end(ended: Ended, limits: Limits) -> tuple[Outcome, str] | None:
    """Return what went wrong as far as it shows from outside, or None if nothing did.

    An exit code other than 0 is ``harness``: our own code has failed. Where the process ran a
    trial's code, the caller knows better.
    """
    code = ended.returncode
    out_of_time = code == -signal.SIGXCPU or (
        code == -signal.SIGKILL and ended.cpu_s >= limits.cpu_s
    )
    detail = harmless(ended.stderr, _ERROR_CHARS).strip()
    checks: tuple[tuple[bool, Outcome, str], ...] = (
        (ended.stopped == "wall", "wall_timeout", "evaluation timed out"),
        (
            ended.stopped == "output",
            "output_limit",
            f"more than {limits.output_kb:g} KiB of output",
        ),
        (
            ended.stopped == "disk",
            "disk_limit",
            f"more than {limits.disk_mb:g} MiB, or too many files, were written",
        ),
        (
            ended.stopped == "threads",
            "denied",
            f"many more threads ran than the {limits.threads} that are allowed",
        ),
        (
            code == -signal.SIGKILL and ended.short,
            "memory",
            f"memory limit of {limits.memory_mb:g} MiB exceeded",
        ),
        (out_of_time, "cpu_timeout", f"processor time limit of {limits.cpu_s:g} s exceeded"),
        (code == -signal.SIGXFSZ, "disk_limit", f"a file grew beyond {limits.disk_mb:g} MiB"),
        (code == -signal.SIGSYS, "denied", "a forbidden system call ended the process"),
        (code < 0, "signal", f"the evaluation was ended by {_signal_name(-code)}"),
        (code > 0, "harness", detail or f"the process ended with exit code {code}, saying nothing"),
    )
    return next(((outcome, error) for holds, outcome, error in checks if holds), None)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
