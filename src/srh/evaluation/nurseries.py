"""The nurseries of this process: one for formulas, a larger one for trials with code.

Each starts when it is first needed, serves every thread, and ends with this process. When the main
thread is interrupted, others are in the middle of evaluations: `interrupt` has them end.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from srh.environment import clean_environment
from srh.errors import SrhError
from srh.sandbox.nursery import Nursery

_SCORERS: Final = "srh.evaluation.preload:prepare"
_CONTESTANTS: Final = "srh.contestant.preload:prepare"

_PATIENCE_S: Final = 5.0

_lock = threading.Lock()
_running: dict[str, Nursery] = {}
_owner = 0
_idle = threading.Condition()
_evaluations = 0
_interrupted = False


class InterruptedRunError(SrhError):
    """The run that this evaluation belongs to was interrupted."""


def nursery(kind: Literal["formula", "code"]) -> Nursery:
    """Return the nursery for trials of a kind, started if it does not run.

    Raises:
        NurseryError: It cannot be started.
        InterruptedRunError: The run was interrupted.
    """
    global _owner  # noqa: PLW0603 - nurseries belong to the process
    with _lock:
        if _interrupted:
            raise InterruptedRunError("the run was interrupted")
        if _owner != os.getpid():  # forked since: those that run are not ours
            _running.clear()
            _owner = os.getpid()
        if kind not in _running:
            code = kind == "code"
            prepare = (_CONTESTANTS, _SCORERS) if code else (_SCORERS,)
            environment = clean_environment() | _temporary()
            _running[kind] = Nursery(prepare, environment, scratch=code)
        return _running[kind]


def discard(useless: Nursery) -> None:
    """End a nursery that has failed, so that the next who asks gets another one."""
    with _lock:
        for kind, running in list(_running.items()):
            if running is useless:
                del _running[kind]
                running.close()


@contextmanager
def evaluation() -> Iterator[None]:
    """Mark that an evaluation is going on, for as long as the block lasts."""
    global _evaluations  # noqa: PLW0603
    with _idle:
        _evaluations += 1
    try:
        yield
    finally:
        with _idle:
            _evaluations -= 1
            _idle.notify_all()


def interrupt() -> None:
    """End the evaluations of other threads, and wait, not for ever, until they have cleared up."""
    global _interrupted  # noqa: PLW0603
    _interrupted = True
    close_all()
    with _idle:
        _idle.wait_for(lambda: _evaluations == 0, _PATIENCE_S)
    _interrupted = False


def close_all() -> None:
    """End all nurseries of this process."""
    with _lock:
        mine, ended = _owner == os.getpid(), list(_running.values())
        _running.clear()
    for one in ended if mine else ():
        one.close()


def _temporary() -> dict[str, str]:
    """Tell the template where folders for temporary files are: contestants' lie in them."""
    return {"TMPDIR": os.environ["TMPDIR"]} if "TMPDIR" in os.environ else {}


atexit.register(close_all)
