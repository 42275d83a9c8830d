"""What one evaluation may use, and how a process binds itself to it."""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import sys
from dataclasses import dataclass, fields
from pathlib import Path

_PR_SET_PDEATHSIG = 1
STACK_BYTES = 8 << 20
"""Largest stack of a contestant's main thread."""

SPARE_TASKS = 256
"""How many threads a contestant may have beyond those that are allowed to compute."""

_ADDRESS_SLACK = 32 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resources that one evaluation may use.

    Attributes:
        wall_s: Elapsed time in seconds, kept by the parent.
        cpu_s: Processor time in seconds, kept by the kernel (whole seconds, rounded up).
        memory_mb: Memory in MiB beyond what the interpreter and the numeric packages take.
        disk_mb: Largest file in MiB.
        output_kb: Largest standard output, and largest standard error, in KiB.
        threads: Threads of the numeric libraries.
    """

    wall_s: float = 60.0
    cpu_s: float = 60.0
    memory_mb: float = 2048.0
    disk_mb: float = 64.0
    output_kb: float = 256.0
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse what no evaluation could run under.

        Raises:
            ValueError: A limit is not a positive finite number.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not (math.isfinite(value) and value > 0):
                raise ValueError(f"{field.name} must be a positive finite number, not {value!r}")


def apply_limits(limits: Limits) -> None:
    """Bind this process to every limit but memory and wall clock.

    Beyond the soft processor limit the kernel sends SIGXCPU, whose default ends the process; the
    hard limit a second later cannot be ignored.
    """
    cpu = math.ceil(limits.cpu_s)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it: a full file would look fine
    # The first process of a namespace is not sent what it has no handler for.
    _lower(resource.RLIMIT_CPU, cpu, cpu if os.getpid() == 1 else cpu + 1)
    _lower(resource.RLIMIT_FSIZE, int(limits.disk_mb * 2**20))
    # One byte: the kernel would still give a dump of size 0 to a program that collects them.
    _lower(resource.RLIMIT_CORE, 1)
    _lower(resource.RLIMIT_NOFILE, 256)


def deny_resources(limits: Limits) -> None:
    """Bind this process to the limits that only a contestant gets, beside `apply_limits`.

    No locked memory, queued signals, message queues or real time; a bounded stack. Processes and
    threads are counted per user, all of the user's others included, so that only a bound above
    what is running now makes sense; and the kernel does not hold the user root to it.
    """
    for name in ("MEMLOCK", "MSGQUEUE", "SIGPENDING", "RTPRIO", "NICE"):
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is not None:
            _lower(which, 0)
    _lower(resource.RLIMIT_STACK, STACK_BYTES)
    running = _tasks_running()
    if limits.threads == 1:
        _lower(resource.RLIMIT_NPROC, 0)
    elif running is not None:
        _lower(resource.RLIMIT_NPROC, running + limits.threads + SPARE_TASKS)


def limit_memory(limits: Limits, held: int | None = None) -> None:
    """Bind this process to its memory limit, counted from what it holds now.

    Call it after the imports: `memory_mb` is what the trial may take, not what NumPy takes.
    RLIMIT_DATA counts private writable memory, allocated or mapped, so that exceeding it is a
    clean MemoryError. Where the kernel does not tell the present figure (no ``/proc``), the
    address space is bounded instead, from its peak resident size.

    Args:
        limits: `memory_mb` counts.
        held: What it holds, in bytes, if the caller knows; None: the kernel is asked.
    """
    allowance = int(limits.memory_mb * 2**20)
    if held is None:
        held = memory_status("VmData")
    if held is not None:
        _lower(resource.RLIMIT_DATA, held + allowance)
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        unit = 1 if sys.platform == "darwin" else 1024
        _lower(resource.RLIMIT_AS, peak * unit + allowance)


def bound_address_space(limits: Limits, held: int | None) -> None:
    """Bind the address space of this process, far beyond its memory limit.

    Memory that is only reserved or read counts towards no other limit, but the tables that map it
    take a 512th of its size.

    Args:
        limits: `memory_mb` counts.
        held: The present size of the address space in bytes; None: unknown, nothing is bound.
    """
    if held is not None:
        _lower(resource.RLIMIT_AS, held + int(limits.memory_mb * 2**20) + _ADDRESS_SLACK)


def thread_count(process: int) -> int:
    """Return how many threads a process and its children have, as far as the kernel tells."""
    tasks = Path(f"/proc/{process}/task")
    try:
        children = (tasks / str(process) / "children").read_text(encoding="ascii").split()
        return len(os.listdir(tasks)) + sum(thread_count(int(child)) for child in children)
    except OSError:
        return 0


def memory_status(field: str, process: int | str = "self") -> int | None:
    """Return a memory figure of ``/proc/<process>/status`` in bytes, or None where unknown."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return parse_status(status, field)


def parse_status(status: str, field: str) -> int | None:
    """Return a memory figure, in bytes, from the text of a ``status`` file; None if not there."""
    for line in status.splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return None


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent ends (Linux), even by SIGKILL.

    Args:
        parent: Process id of the parent that started us. If it is gone already, this process ends
            here: the request to the kernel came too late.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _tasks_running() -> int | None:
    """Return how many processes and threads the whole machine runs, or None where unknown."""
    try:
        load = Path("/proc/loadavg").read_text(encoding="ascii")
        return int(load.split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return None


def _lower(which: int, soft: int, hard: int | None = None) -> None:
    """Set a limit without exceeding the hard limit that is already in force."""
    _, ceiling = resource.getrlimit(which)
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft = min(soft, ceiling)
        hard = ceiling if hard == resource.RLIM_INFINITY else min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))
