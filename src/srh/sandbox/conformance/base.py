"""The process from which attempts are forked, each into a process of its own.

``base.main`` answers requests on its standard input, a line each: the name of an attempt, the level
(``free`` or ``locked``) and the setting as JSON. Its answer is a line too: how the attempt ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from srh.errors import SrhError
from srh.sandbox.conformance import bounds, facilities, files, processes
from srh.sandbox.conformance.attempt import (
    ATTEMPTS,
    DONE,
    SPARE_DESCRIPTOR,
    Attempt,
    NotApplicableError,
    Setting,
    errno_name,
)
from srh.sandbox.limits import die_with_parent
from srh.sandbox.lockdown import Confinement, finish_memory, lock_down
from srh.sandbox.readable import system_grants

__all__ = ["bounds", "facilities", "files", "linger", "main", "processes"]


def main() -> None:
    """Answer requests until there are no more."""
    system_grants()  # found once, for every process that is forked
    for line in sys.stdin:
        name, level, setting = line.split(" ", 2)
        sys.stdout.write(_end_of(ATTEMPTS[name], level, _read_setting(setting)) + "\n")
        sys.stdout.flush()


def linger(setting: str) -> None:
    """Fork one locked-down process that never ends by itself, and print its number."""
    place = _read_setting(setting)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        die_with_parent(os.getppid())
        os.dup2(writing, 1)
        _lock(ATTEMPTS["use_scratch"], place)
        os.write(1, b".")
        while True:
            signal.pause()
    os.close(writing)
    os.read(reading, 1)
    sys.stdout.write(f"{pid}\n")
    sys.stdout.flush()
    os.waitpid(pid, 0)


def _end_of(attempt: Attempt, level: str, setting: Setting) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _prepare(attempt, setting, writing)
            os.write(1, _act(attempt, level, setting).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return said or DONE  # it says nothing if another program took its place


def _prepare(attempt: Attempt, setting: Setting, answer: int) -> None:
    die_with_parent(os.getppid())
    os.dup2(answer, 1)
    opened = attempt.standard_input()
    os.dup2(opened, 0)
    os.dup2(os.open(setting.secret, os.O_RDONLY), SPARE_DESCRIPTOR)
    os.chdir(setting.scratch)


def _act(attempt: Attempt, level: str, setting: Setting) -> str:
    """Make an attempt and return how it ended."""
    try:
        if level == "locked":
            _lock(attempt, setting)
        attempt.act(setting)
    except OSError as error:
        return errno_name(error.errno or 0)
    except NotApplicableError as error:
        return f"not applicable: {error}"
    except SrhError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - its kind is the answer
        return type(error).__name__
    return DONE


def _lock(attempt: Attempt, setting: Setting) -> None:
    limits = attempt.limits
    lock_down(Confinement(read=(setting.given,), scratch=setting.scratch, limits=limits))
    finish_memory(limits)


def _read_setting(text: str) -> Setting:
    fields = json.loads(text)
    return Setting(
        scratch=Path(fields["scratch"]),
        given=Path(fields["given"]),
        outside=Path(fields["outside"]),
        neighbour=int(fields["neighbour"]),
    )
