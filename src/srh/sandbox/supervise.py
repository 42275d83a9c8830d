"""Run one child process to its end, within its limits, and leave nothing of it behind.

The child leads a session and process group of its own. When it ends, runs out of time or floods a
pipe, the whole group is killed *before* the child is reaped: as long as its zombie stands, the
kernel cannot give the group's number to anybody else. Pipes are drained all the time, so that a
child never blocks on them, and only the first `output_kb` of each are kept.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from srh.sandbox.limits import Limits, memory_status

_SAMPLE_S = 0.05
_DRAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child process ended: what the parent saw for itself.

    Attributes:
        returncode: Exit code, or minus the number of the signal that ended it.
        wall_s: Elapsed time in seconds.
        cpu_s: Processor time, user and system, in seconds.
        peak_bytes: Largest resident size that was sampled, in bytes; None if it ended sooner.
        timed_out: The parent ended it at the wall-clock limit.
        flooded: The parent ended it for writing more than its output limit.
        stdout: First part of the standard output.
        stderr: First part of the standard error.
    """

    returncode: int
    wall_s: float
    cpu_s: float
    peak_bytes: int | None
    timed_out: bool
    flooded: bool
    stdout: bytes
    stderr: bytes


def supervise(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], limits: Limits
) -> Ended:
    """Run ``command`` under ``limits`` and return when it and its process group are gone.

    Args:
        command: Program and arguments.
        cwd: Working folder of the child.
        env: The child's whole environment.
        limits: `wall_s` and `output_kb` are enforced here; the child binds itself to the others.

    Raises:
        OSError: The program cannot be started.
    """
    started = time.monotonic()
    child = subprocess.Popen(  # noqa: S603 - the command is ours, not a trial's
        list(command),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    watch: _Watch | None = None
    with child:  # closes the pipes in any case
        try:
            # Even this may fail, for want of descriptors: then the child must not live on.
            watch = _Watch(child, int(limits.output_kb * 1024))
            watch.until_exit(started + limits.wall_s)
        finally:
            _kill_group(child.pid)
            if watch is not None:
                watch.drain()
            usage = _reap(child)
    return Ended(
        returncode=child.returncode,
        wall_s=time.monotonic() - started,
        cpu_s=usage,
        peak_bytes=watch.peak_bytes,
        timed_out=watch.timed_out,
        flooded=watch.flooded,
        stdout=bytes(watch.kept[0]),
        stderr=bytes(watch.kept[1]),
    )


class _Watch:
    """Follow a child's pipes and life until it ends or has to be ended."""

    def __init__(self, child: subprocess.Popen[bytes], cap: int) -> None:
        assert child.stdout is not None  # noqa: S101 - both are PIPE
        assert child.stderr is not None  # noqa: S101
        self.pid = child.pid
        self.cap = cap
        self.kept = (bytearray(), bytearray())
        self.timed_out = False
        self.flooded = False
        self.peak_bytes: int | None = None
        self._pipes = (child.stdout, child.stderr)
        self._selector = selectors.DefaultSelector()
        for pipe, kept in zip(self._pipes, self.kept, strict=True):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, kept)
        # A pidfd wakes the selector when the child ends; elsewhere the sampling interval does.
        self._pidfd: int | None = None
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._pidfd = os.pidfd_open(self.pid)
                self._selector.register(self._pidfd, selectors.EVENT_READ, None)

    def until_exit(self, deadline: float) -> None:
        """Return once the child has ended, the deadline has passed, or a pipe has overflowed."""
        while not self._has_exited():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                self.timed_out = True
                return
            self._read(min(remaining, _SAMPLE_S))
            if self.flooded:
                return
            peak = memory_status("VmHWM", self.pid)
            if peak is not None:
                self.peak_bytes = max(peak, self.peak_bytes or 0)

    def drain(self) -> None:
        """Read what is left in the pipes, but do not wait for whoever may still hold them."""
        deadline = time.monotonic() + _DRAIN_S
        while self._pipes_open() and time.monotonic() < deadline and not self.flooded:
            self._read(_SAMPLE_S)
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        for pipe in self._pipes:
            pipe.close()

    def _read(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                self._selector.unregister(key.fileobj)
                continue
            chunk = os.read(key.fd, 65536)
            if not chunk:
                self._selector.unregister(key.fileobj)
                continue
            room = self.cap - len(key.data)
            key.data.extend(chunk[:room])
            self.flooded = self.flooded or len(chunk) > room

    def _pipes_open(self) -> bool:
        return any(key.data is not None for key in self._selector.get_map().values())

    def _has_exited(self) -> bool:
        """Tell whether the child has ended, leaving its zombie in place."""
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self.pid, flags) is not None


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _reap(child: subprocess.Popen[bytes]) -> float:
    """Wait for the killed child, record its exit code, and return its processor time in s."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime
