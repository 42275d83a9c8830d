"""The nurseries of this process: one for formulas, a larger one for trials with code.

Each starts when it is first needed, serves every thread, and ends with this process.
"""

from __future__ import annotations

import atexit
import os
import threading
from typing import Final, Literal

from srh.environment import clean_environment
from srh.sandbox.nursery import Nursery

_SCORERS: Final = "srh.evaluation.preload:prepare"
_CONTESTANTS: Final = "srh.contestant.preload:prepare"

_lock = threading.Lock()
_running: dict[str, Nursery] = {}
_owner = 0


def nursery(kind: Literal["formula", "code"]) -> Nursery:
    """Return the nursery for trials of a kind, started if it does not run.

    Raises:
        NurseryError: It cannot be started.
    """
    global _owner  # noqa: PLW0603 - nurseries belong to the process
    with _lock:
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


def close_all() -> None:
    """End all nurseries of this process."""
    if _owner == os.getpid():
        while _running:
            _running.popitem()[1].close()


def _temporary() -> dict[str, str]:
    """Tell the template where folders for temporary files are: contestants' lie in them."""
    return {"TMPDIR": os.environ["TMPDIR"]} if "TMPDIR" in os.environ else {}


atexit.register(close_all)
