"""Run child processes within their limits, talk to them, and leave nothing of them behind.

A child leads a session and process group of its own. When it ends, runs out of time, floods a pipe
or fills its folder, the whole group is killed *before* the child is reaped: as long as its zombie
stands, the kernel cannot give the group's number to anybody else. Pipes are drained all the time,
whatever else the parent waits for, so that a child never blocks on them; only the first
`output_kb` of each are kept.

A child may be given a channel (``channel.py``). The parent never waits for it without watching over
all the rest.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from srh.sandbox.channel import Channel
from srh.sandbox.folder import is_overfull
from srh.sandbox.limits import Limits, memory_status

_SAMPLE_S = 0.05
_DRAIN_S = 0.5
_LINGER_S = 0.5

Stop = Literal["wall", "output", "disk"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child process ended: what the parent saw for itself.

    Attributes:
        returncode: Exit code, or minus the number of the signal that ended it.
        stopped: The limit for which the parent ended it, or None.
        killed: Whether the parent ended it without such a reason: it was no longer needed, or had
            broken off the conversation.
        wall_s: Elapsed time in seconds.
        cpu_s: Processor time, user and system, in seconds.
        peak_bytes: Largest resident size that was sampled, in bytes; None if it ended sooner.
        stdout: First part of the standard output.
        stderr: First part of the standard error.
    """

    returncode: int
    stopped: Stop | None
    killed: bool
    wall_s: float
    cpu_s: float
    peak_bytes: int | None
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
    with Child(command, cwd=cwd, env=env, limits=limits) as child:
        child.wait()
    return child.ended


class Child:
    """A running child process; leaving the ``with`` block ends it and sets `ended`.

    Args:
        command: Program and arguments; with a channel, its descriptor's number is appended.
        cwd: Working folder of the child.
        env: The child's whole environment.
        limits: `wall_s`, `output_kb`, and for `folder` `disk_mb`, are enforced here.
        channel: Whether to open a channel.
        folder: The child's writable folder, watched for its size (by sampling: between two
            samples it can overshoot by what can be written in some 50 ms).

    Attributes:
        ended: How the child ended, once the block has been left.
    """

    ended: Ended

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        limits: Limits,
        channel: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._started = time.monotonic()
        self._deadline = self._started + limits.wall_s
        self._limits = limits
        self._folder = folder
        self._stopped: Stop | None = None
        self._peak: int | None = None
        self._next_sample = 0.0
        self._cap = int(limits.output_kb * 1024)
        theirs: socket.socket | None = None
        self._channel: Channel | None = None
        if channel:
            ours, theirs = socket.socketpair()
            self._channel = Channel(ours, self._wait_for_channel)
        passed = () if theirs is None else (theirs.fileno(),)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours, not a trial's
                [*command, *map(str, passed)],
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=passed,
                start_new_session=True,
            )
        except BaseException:
            if self._channel is not None:
                self._channel.close()
            raise
        finally:
            if theirs is not None:
                theirs.close()
        try:
            self._watch()
        except BaseException:  # for want of descriptors, say: then the child must not live on
            _kill_group(self._process.pid)
            with self._process:
                pass  # closes the pipes and reaps
            raise

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A channel closes a moment before its process has ended.
        gone = self._channel is not None and self._channel.gone
        killed = self._stopped is None and not self._has_ended(_LINGER_S if gone else 0.0)
        _kill_group(self._process.pid)
        self._drain()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.ended = Ended(
            returncode=self._process.returncode,
            stopped=self._stopped,
            killed=killed,
            wall_s=time.monotonic() - self._started,
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_bytes=self._peak,
            stdout=bytes(self._kept[0]),
            stderr=bytes(self._kept[1]),
        )

    @property
    def channel(self) -> Channel:
        """The parent's end of the channel.

        Raises:
            ValueError: None was asked for.
        """
        if self._channel is None:
            raise ValueError("this child was started without a channel")
        return self._channel

    def wait(self) -> None:
        """Return once the child has ended or had to be stopped."""
        while self._goes_on():
            self._pump()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Have the child stand still for as long as the block lasts."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self._process.pid, signal.SIGCONT)

    def sample(self) -> None:
        """Look at the child's memory now: the kernel's own peak of it, while it lives."""
        peak = memory_status("VmHWM", self._process.pid)
        if peak is not None:
            self._peak = max(peak, self._peak or 0)

    def _watch(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - both are PIPE
        assert self._process.stderr is not None  # noqa: S101
        self._pipes = (self._process.stdout, self._process.stderr)
        self._kept = (bytearray(), bytearray())
        self._selector = selectors.DefaultSelector()
        for pipe, kept in zip(self._pipes, self._kept, strict=True):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, kept)
        # A pidfd wakes the selector when the child ends; elsewhere the sampling interval does.
        self._pidfd: int | None = None
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._pidfd = os.pidfd_open(self._process.pid)
                self._selector.register(self._pidfd, selectors.EVENT_READ, None)

    def _goes_on(self) -> bool:
        """Tell whether the child lives and may live on; its zombie is left in place."""
        if self._stopped is not None:
            return False
        now = time.monotonic()
        if now >= self._deadline:
            self._stopped = "wall"
        elif now >= self._next_sample:
            self.sample()
            if self._folder is not None and is_overfull(self._folder, self._limits):
                self._stopped = "disk"
            done = time.monotonic()
            # A full folder takes long to look through: a fifth of the time at most goes there.
            self._next_sample = done + max(_SAMPLE_S, 4 * (done - now))
        return self._stopped is None and not self._has_ended()

    def _has_ended(self, patience: float = 0.0) -> bool:
        """Tell whether the child has ended by itself; its zombie is left in place."""
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        deadline = time.monotonic() + patience
        while os.waitid(os.P_PID, self._process.pid, flags) is None:
            if time.monotonic() >= deadline:
                return False
            self._pump()
        return True

    def _pump(self, timeout: float = _SAMPLE_S) -> None:
        """Take what the pipes hold; wait for something to happen, but not long."""
        timeout = max(0.0, min(timeout, self._deadline - time.monotonic()))
        for key, _ in self._selector.select(timeout):
            if not isinstance(key.data, bytearray):
                if key.fd == self._pidfd:
                    self._selector.unregister(key.fileobj)
                continue
            chunk = os.read(key.fd, 65536)
            if not chunk:
                self._selector.unregister(key.fileobj)
                continue
            room = self._cap - len(key.data)
            key.data.extend(chunk[:room])
            if len(chunk) > room and self._stopped is None:
                self._stopped = "output"

    def _wait_for_channel(self, channel: socket.socket, event: int) -> bool:
        """Watch over everything until the channel may be ready; False: the child is gone."""
        if not self._goes_on():
            return False
        self._selector.register(channel, event, "channel")
        try:
            self._pump()
        finally:
            self._selector.unregister(channel)
        return True

    def _drain(self) -> None:
        """Read what is left in the pipes, but do not wait for whoever may still hold them."""
        deadline = time.monotonic() + _DRAIN_S
        self._deadline = max(self._deadline, deadline)
        while self._pipes_open() and time.monotonic() < deadline and self._stopped != "output":
            self._pump()
        self._selector.close()
        for closing in (*self._pipes, self._channel):
            if closing is not None:
                closing.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _pipes_open(self) -> bool:
        return any(isinstance(key.data, bytearray) for key in self._selector.get_map().values())


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
