"""SymPy at arm's length: a process that is asked with a time limit, and killed if it is late.

SymPy may take hours, or all memory, for an innocent looking formula, and nothing stops it from
within. So it runs in a process of its own, which is started on first use (that takes a second),
kept for the next question (which then takes milliseconds), and replaced when it had to be killed.
Only text goes to it and comes back. One question is asked at a time, whichever thread it comes
from; the time of a question counts from when its turn has come.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srh.environment import FLAGS, clean_environment

DEFAULT_SECONDS = 5.0
"""Time that SymPy has for one question."""

MEMORY_MB = 1024
"""Address space of SymPy's process."""

_START_SECONDS = 60.0
_MOST_BYTES = 4 * 2**20  # of one answer


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        texts: What was found, in order; some may be there although the end was not reached.
        complete: Whether the question was answered to its end.
        why: Why it was not; empty if it was.
    """

    texts: tuple[str, ...]
    complete: bool
    why: str = ""


class _Lost(Exception):  # noqa: N818 - it never leaves this module
    """The process gives no more answers."""


class _Worker:
    """One running process."""

    def __init__(self) -> None:
        environment = clean_environment()
        # Where srh is imported from here, it is there as well.
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, *FLAGS, "-m", "srh.engine.symbolic_worker", str(MEMORY_MB)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            # Ctrl-C is for whoever asked; we end the process ourselves.
            start_new_session=True,
        )
        self._rest = b""
        try:
            self._receive(time.monotonic() + _START_SECONDS)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: dict[str, Any], seconds: float, texts: list[str]) -> str:
        """Ask, append what is found to ``texts``, and return why the end was not reached."""
        deadline = time.monotonic() + seconds
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - for the type checker
        try:
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        except OSError as error:
            raise _Lost("SymPy's process has ended") from error
        while True:
            answer = self._receive(deadline)
            if "end" in answer:
                return str(answer.get("why", ""))
            texts.append(str(answer["text"]))

    def kill(self) -> None:
        """End the process, and leave no zombie."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what it was not told yet
                    pipe.close()

    def forget(self) -> None:
        """Close our ends: in a forked child, whose parent goes on using the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.returncode = 0  # not our child: Popen must not wait for it

    def _receive(self, deadline: float) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - for the type checker
        poll = select.poll()
        poll.register(stdout, select.POLLIN)
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(1000 * left):
                raise _Lost("SymPy took too long")
            chunk = os.read(stdout.fileno(), 2**16)
            if not chunk:
                raise _Lost("SymPy's process ended: too much memory or processor time")
            self._rest += chunk
            if len(self._rest) > _MOST_BYTES:
                raise _Lost("SymPy's answer is too long")
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found


_lock = threading.Lock()
_worker: _Worker | None = None


def ask_sympy(do: str, *texts: str, seconds: float = DEFAULT_SECONDS) -> Answer:
    """Ask SymPy's process.

    Args:
        do: A task of ``symbolic_worker``.
        texts: Formulas.
        seconds: Time for the answer; starting the process is not counted.

    Returns:
        The answer. That SymPy cannot be asked, failed, or took too long is an answer, too.
    """
    found: list[str] = []
    with _lock:
        try:
            worker = _started()
            question = {"do": do, "texts": texts, "seconds": seconds}
            why = worker.ask(question, seconds, found)
            if "memory" in why:
                close_worker()  # it ends by itself
        except _Lost as error:
            close_worker()
            why = f"{error} ({seconds:g} s)" if "long" in str(error) else str(error)
        except OSError as error:
            why = f"SymPy's process cannot be started: {error}"
        except BaseException:
            close_worker()  # it may be in the middle of an answer to somebody who has gone
            raise
    return Answer(tuple(found), not why, why)


def worker_pid() -> int | None:
    """Return the number of the process that is kept for the next question, if there is one."""
    return None if _worker is None else _worker.pid


def _started() -> _Worker:
    global _worker  # noqa: PLW0603 - one per process
    if _worker is not None and not _worker.is_running:
        close_worker()
    if _worker is None:
        _worker = _Worker()
    return _worker


def close_worker() -> None:
    """End the process; the next question starts another one."""
    global _worker  # noqa: PLW0603 - one per process
    if _worker is not None:
        _worker.kill()
        _worker = None


def _after_fork() -> None:
    global _worker, _lock  # noqa: PLW0603 - one per process
    _lock = threading.Lock()
    if _worker is not None:
        _worker.forget()
        _worker = None


atexit.register(close_worker)
os.register_at_fork(after_in_child=_after_fork)
