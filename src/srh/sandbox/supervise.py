"""Supervise a process that a nursery has forked, talk to it, and leave nothing of it behind.

Its pipes are drained all the time, whatever else we wait for, so that it never blocks on them; only
the first `output_kb` of each are kept. When it runs out of time, floods a pipe, fills its folder or
is not needed any more, its template is told to kill it, with all that is left of its group. The
template then says how it ended: what is reported here is the kernel's word, not the process's.

It may have a channel (``channel.py``). Nobody waits for that without watching over all the rest.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from srh.sandbox.channel import Channel
from srh.sandbox.ended import Ended, Stop
from srh.sandbox.folder import is_overfull
from srh.sandbox.limits import SPARE_TASKS, Limits, thread_count
from srh.sandbox.messages import receive_message
from srh.sandbox.nursery import Asking, Nursery, NurseryError, Order
from srh.sandbox.signals import await_death

_SAMPLE_S = 0.05
_DRAIN_S = 0.5
_LINGER_S = 0.5
_DEATH_S = 30.0


def supervise(nursery: Nursery | Asking, order: Order, limits: Limits) -> Ended:
    """Have a process forked and return when it has ended, or had to be ended.

    Args:
        nursery: Whom to ask.
        order: What for.
        limits: `wall_s` and `output_kb` are enforced here; the process binds itself to the others.

    Raises:
        NurseryError: It cannot be forked, or its template has died.
    """
    with Child(nursery, order, limits) as child:
        child.wait()
    return child.ended


class Child:
    """A running process; leaving the ``with`` block ends it and sets `ended`.

    Args:
        nursery: Whom to ask for it.
        order: What for.
        limits: `wall_s` and `output_kb` are enforced here, and what was ordered for its scratch
            folder (by sampling, where that is no file system of its own: between two samples it can
            overshoot by what can be written in some 50 ms).

    Attributes:
        ended: How it ended, once the block has been left.

    Raises:
        NurseryError: It cannot be forked.
    """

    ended: Ended

    def __init__(self, nursery: Nursery | Asking, order: Order, limits: Limits) -> None:
        self._limits = limits
        self._folder, self._disk_mb = order.scratch, order.disk_mb
        self._stopped: Stop | None = None
        self._cap = int(limits.output_kb * 1024)
        self._ending: dict[str, Any] | None = None
        self._template_died = False
        self._still = False
        self._dismissed = False
        self._closed = False
        self._selector = selectors.DefaultSelector()
        try:
            self._process = nursery.fork(order)
        except BaseException:
            self._selector.close()
            raise
        # It is not to blame for the time that a template takes to start.
        self._started = time.monotonic()
        self._deadline = self._started + limits.wall_s
        self._next_sample = self._started + _SAMPLE_S
        self._kept = (bytearray(), bytearray())
        pipes = (self._process.stdout, self._process.stderr)
        for pipe, kept in zip(pipes, self._kept, strict=True):
            os.set_blocking(pipe, False)
            self._selector.register(pipe, selectors.EVENT_READ, kept)
        self._selector.register(self._process.line, selectors.EVENT_READ, "line")
        self._channel: Channel | None = None
        if self._process.channel is not None:
            self._channel = Channel(self._process.channel, self._wait_for_channel)

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.end()
        except NurseryError:
            if error is None:
                raise

    def dismiss(self) -> None:
        """Have it killed, as it is no longer needed, and do not wait until it is gone."""
        if not self._dismissed and not hasattr(self, "ended"):
            self._dismissed = True
            self._say(b"K")

    def end(self) -> None:
        """End it if it has not ended, wait until it is gone, and set `ended`.

        Raises:
            NurseryError: Its template has died.
        """
        if self._closed:
            if not hasattr(self, "ended"):
                raise NurseryError("how a process ended was not told")
            return
        self._closed = True
        try:
            # A channel closes a moment before its process has ended.
            gone = self._channel is not None and self._channel.gone
            killed = self._dismissed or (
                self._stopped is None and not self._has_ended(_LINGER_S if gone else 0.0)
            )
            if self._ending is None:
                self._say(b"K")
                self._has_ended(_DEATH_S, whatever=True)
            self._drain()
        finally:
            self._close()
        if self._ending is None:
            await_death(self._process.pid)
            raise NurseryError("a template did not tell how a process ended that it had forked")
        if self._ending["overfull"] and self._stopped is None:
            self._stopped = "disk"
        self.ended = Ended(
            returncode=self._ending["returncode"],
            stopped=self._stopped,
            killed=killed,
            short=self._ending["short"],
            group=self._process.group,
            wall_s=time.monotonic() - self._started,
            cpu_s=self._ending["cpu_s"],
            peak_bytes=self._ending["peak_bytes"],
            stdout=bytes(self._kept[0]),
            stderr=bytes(self._kept[1]),
        )

    @property
    def channel(self) -> Channel:
        """Our end of the channel.

        Raises:
            ValueError: None was ordered.
        """
        if self._channel is None:
            raise ValueError("this process was ordered without a channel")
        return self._channel

    def wait(self) -> None:
        """Return once the process has ended or has to be ended."""
        while self._goes_on():
            self._pump()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Have the process stand still for as long as the block lasts."""
        self._still = False
        self._say(b"S")
        try:
            while not self._still and self._goes_on():
                self._pump()
            yield
        finally:
            self._say(b"C")

    def look(self) -> None:
        """Look now whether its folder, or the number of its threads, is beyond a limit."""
        if self._stopped is None and self._ending is None:
            if self._folder is not None and is_overfull(self._folder, self._disk_mb):
                self._stopped = "disk"
            elif self._limits.threads > 1 and self._has_too_many_threads():
                self._stopped = "threads"

    def _has_too_many_threads(self) -> bool:
        # The kernel does not hold the user root to a number of threads.
        return thread_count(self._process.pid) > self._limits.threads + SPARE_TASKS

    def _goes_on(self) -> bool:
        """Tell whether the process lives and may live on."""
        if self._stopped is not None or self._ending is not None or self._template_died:
            return False
        now = time.monotonic()
        if now >= self._deadline:
            self._stopped = "wall"
        elif now >= self._next_sample:
            self.look()
            done = time.monotonic()
            # A full folder takes long to look through: a fifth of the time at most goes there.
            self._next_sample = done + max(_SAMPLE_S, 4 * (done - now))
        return self._stopped is None

    def _has_ended(self, patience: float = 0.0, *, whatever: bool = False) -> bool:
        """Tell whether the process has ended; ``whatever``: even if there is no time left."""
        deadline = time.monotonic() + patience
        if whatever:
            self._deadline = max(self._deadline, deadline)
        while self._ending is None and not self._template_died:
            self._pump(min(_SAMPLE_S, max(0.0, deadline - time.monotonic())))
            if self._ending is None and time.monotonic() >= deadline:
                return False
        return self._ending is not None

    def _pump(self, timeout: float = _SAMPLE_S) -> None:
        """Take what has come; wait for something to happen, but not long."""
        timeout = max(0.0, min(timeout, self._deadline - time.monotonic()))
        for key, _ in self._selector.select(timeout):
            if key.data == "line":
                self._hear()
            elif isinstance(key.data, bytearray):
                self._take(key.fd, key.data)

    def _hear(self) -> None:
        """Take the template's word on how the process has ended."""
        try:
            message = receive_message(self._process.line)
        except (OSError, ValueError):
            message = None
        if message is not None and "stopped" in message[0]:
            self._still = True
            return
        if message is None:
            self._template_died = True
        else:
            self._ending = message[0]
        self._selector.unregister(self._process.line)

    def _take(self, pipe: int, kept: bytearray) -> None:
        chunk = os.read(pipe, 65536)
        if not chunk:
            self._selector.unregister(pipe)
            return
        room = self._cap - len(kept)
        kept.extend(chunk[:room])
        if len(chunk) > room and self._stopped is None:
            self._stopped = "output"

    def _wait_for_channel(self, channel: socket.socket, event: int) -> bool:
        """Watch over everything until the channel may be ready; False: the process is gone."""
        if not self._goes_on():
            return False
        self._selector.register(channel, event, "channel")
        try:
            self._pump()
        finally:
            self._selector.unregister(channel)
        return True

    def _say(self, command: bytes) -> None:
        with contextlib.suppress(OSError):  # the template is gone, and so is the process
            self._process.line.send(command, getattr(socket, "MSG_NOSIGNAL", 0))

    def _drain(self) -> None:
        """Read what is left in the pipes, but do not wait for whoever may still hold them."""
        deadline = time.monotonic() + _DRAIN_S
        self._deadline = max(self._deadline, deadline)
        while self._pipes_open() and time.monotonic() < deadline and self._stopped != "output":
            self._pump()

    def _pipes_open(self) -> bool:
        return any(isinstance(key.data, bytearray) for key in self._selector.get_map().values())

    def _close(self) -> None:
        self._selector.close()
        os.close(self._process.stdout)
        os.close(self._process.stderr)
        self._process.line.close()
        if self._channel is not None:
            self._channel.close()
