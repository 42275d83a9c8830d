"""Asking a template for processes (see ``template``).

A nursery starts its template when it is first asked. Its owner may be any thread; what it forks is
supervised as every child is (see ``supervise``).
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from srh.errors import HarnessError
from srh.sandbox.messages import receive_message, send_message

_PYTHON: Final = (sys.executable, "-s", "-P", "-m", "srh.sandbox.template")
_START_S: Final = 120.0
_FORK_S: Final = 30.0
_END_S: Final = 1.0


class NurseryError(HarnessError):
    """A template could not be started, has died, or cannot fork: a new one may do better."""


class RefusedError(NurseryError):
    """A template that is well cannot do what it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a template is asked for.

    Attributes:
        entry: The function to call, as ``module:function``; it returns the exit code.
        arguments: Its arguments: strings and numbers.
        cwd: Working folder.
        environment: The whole environment.
        channel: Whether it gets a channel.
        nursery: Whether it may ask the same template for processes.
        scratch: Its scratch folder, empty and existing.
        mounted: Whether that is to be a file system of its own, where that is possible.
        disk_mb: What the scratch folder may hold, in MiB.
        memory_mb: What it may hold in memory beyond the template, its scratch folder included, in
            MiB, where control groups are possible; 0 is no bound.
        apart: Whether it and its threads are to be numbered apart from all others, where that is
            possible.
    """

    entry: str
    arguments: tuple[str | int, ...] = ()
    cwd: Path
    environment: Mapping[str, str]
    channel: bool = False
    nursery: bool = False
    scratch: Path | None = None
    mounted: bool = True
    disk_mb: float = 0.0
    memory_mb: float = 0.0
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Forked:
    """A process that a template has forked.

    Attributes:
        pid: Its number.
        line: The socket on which the template says how it ended.
        stdout: Descriptor of its standard output.
        stderr: Descriptor of its standard error.
        channel: Our end of its channel, if it has one.
        group: Version of its control group, if it has one.
    """

    pid: int
    line: socket.socket
    stdout: int
    stderr: int
    channel: socket.socket | None
    group: Literal["v1", "v2"] | None


class Nursery:
    """A template, as its owner sees it.

    Args:
        prepare: What the template calls first, each as ``module:function``.
        environment: The template's whole environment.
        scratch: Whether what it forks needs scratch folders.
    """

    def __init__(
        self, prepare: Sequence[str], environment: Mapping[str, str], *, scratch: bool
    ) -> None:
        ours, theirs = socket.socketpair()
        options = ["scratch"] if scratch else []
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the template
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - the command is ours
                    [*_PYTHON, str(theirs.fileno()), ",".join(prepare), *options],
                    env=dict(environment),
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._said,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                self._said.close()
                raise NurseryError(f"no process can be started ({error.strerror})") from error
        self._control = ours
        self._asking = Asking(ours)
        self._ready = False
        self._becoming_ready = threading.Lock()

    def fork(self, order: Order) -> Forked:
        """Have the template fork a process.

        Raises:
            NurseryError: It does not start, is gone, or cannot.
        """
        with self._becoming_ready:
            if not self._ready:
                self._await_ready()
        try:
            return self._asking.fork(order)
        except NurseryError as error:
            if self.alive:
                raise
            raise NurseryError(f"{error}{self._last_words()}") from error

    def close(self) -> None:
        """End the template, and with it all that it has forked."""
        if not self._ready:
            self._process.kill()  # somebody may be waiting for it
        with self._becoming_ready:
            self._asking.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    @property
    def alive(self) -> bool:
        """Whether the template runs."""
        return self._process.poll() is None

    def _await_ready(self) -> None:
        self._control.settimeout(_START_S)
        try:
            ready = receive_message(self._control)
            self._control.settimeout(None)
        except (OSError, ValueError) as error:
            raise NurseryError(f"a template does not start ({error})") from error
        if ready is None:
            self._process.wait()
            raise NurseryError(f"a template ended while it started{self._last_words()}")
        self._ready = True

    def _last_words(self) -> str:
        if self._said.closed:
            return ""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 2000))
        said = self._said.read().decode("utf-8", "replace").strip()
        return f": {said}" if said else ""


class Asking:
    """The asking end of a template's socket.

    Args:
        control: The socket.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._one_at_a_time = threading.Lock()

    @classmethod
    def inherited(cls, descriptor: int) -> Asking:
        """Return the asking end that this process, forked by a template, was given."""
        return cls(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=descriptor))

    def fork(self, order: Order) -> Forked:
        """Have the template fork a process.

        Raises:
            NurseryError: It is gone, or cannot.
        """
        with contextlib.ExitStack() as kept:
            try:
                forked = self._ask(order, kept)
            except (OSError, ValueError) as error:
                raise NurseryError(f"the template cannot be asked ({error})") from error
            kept.pop_all()
        return forked

    def _ask(self, order: Order, kept: contextlib.ExitStack) -> Forked:
        """Have a process forked, and have our ends of what leads to it closed with ``kept``."""
        with contextlib.ExitStack() as given:
            line, theirs = _pair(kept, given)
            private, also_theirs = _pair(given, given)
            passed = [theirs.fileno(), also_theirs.fileno()]
            pipes = []
            for _ in range(2):
                reading, writing = os.pipe()
                kept.callback(os.close, reading)
                given.callback(os.close, writing)
                pipes.append(reading)
                passed.append(writing)
            channel: socket.socket | None = None
            if order.channel:
                channel, other = _pair(kept, given)
                passed.append(other.fileno())
            if order.scratch is not None:
                folder = os.open(order.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                given.callback(os.close, folder)
                passed.append(folder)
            with self._one_at_a_time:
                send_message(self._control, _told(order, len(passed)), passed)
            theirs.close()
            answer = _answer(line)
            with contextlib.suppress(OSError):  # it was killed meanwhile, which the line will tell
                send_message(private, _private(order))
        return Forked(answer["pid"], line, pipes[0], pipes[1], channel, answer["group"])

    def close(self) -> None:
        """Close it: a template that is asked by nobody else ends."""
        self._control.close()


def _told(order: Order, descriptors: int) -> dict[str, Any]:
    """Return what the template is told: all that it forks later could read it in its memory."""
    return {
        "descriptors": descriptors,
        "nursery": order.nursery,
        "scratch": order.scratch is not None,
        "disk_mb": order.disk_mb if order.mounted else None,
        "apart": order.apart,
        "memory_bytes": int(order.memory_mb * 2**20),
    }


def _private(order: Order) -> dict[str, Any]:
    """Return what only the process itself is told."""
    return {
        "entry": order.entry,
        "arguments": order.arguments,
        "cwd": str(order.cwd),
        "environment": dict(order.environment),
        "scratch": None if order.scratch is None else str(order.scratch),
    }


def _pair(
    ours: contextlib.ExitStack, theirs: contextlib.ExitStack
) -> tuple[socket.socket, socket.socket]:
    one, other = socket.socketpair()
    return ours.enter_context(one), theirs.enter_context(other)


def _answer(line: socket.socket) -> dict[str, Any]:
    """Return what a template says to an order."""
    line.settimeout(_FORK_S)
    answer = receive_message(line)
    line.settimeout(None)
    if answer is None:
        raise NurseryError("the template ended")
    if "refused" in answer[0]:
        raise RefusedError(answer[0]["refused"])
    return answer[0]
