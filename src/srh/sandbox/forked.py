"""What a process does between being forked from a template and being what was asked for."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, Final

from srh.sandbox import mounts
from srh.sandbox.groups import Group
from srh.sandbox.kernel import close_others
from srh.sandbox.layers import prepared_descriptors
from srh.sandbox.limits import die_with_parent
from srh.sandbox.lockdown import reseed
from srh.sandbox.messages import receive_message

GIVEN: Final = 3
"""Descriptor of what a forked process was given beyond the standard ones: its channel, or the
socket on which it asks for processes itself."""


def become(end: socket.socket, template: int, group: Group | None) -> None:
    """Turn the process that was just forked into the one that will be asked for. Does not return.

    Args:
        end: Where the template says what it has prepared, and passes on the descriptors that were
            sent for this process. On the first of them comes what is asked (see ``nursery.Order``).
        template: Process id of the template.
        group: The control group that it joins.
    """
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        die_with_parent(template)
        if group is not None:
            group.join()
        close_others((0, 1, 2, end.fileno(), *prepared_descriptors()))
        message = receive_message(end)
        if message is None:
            os._exit(0)
        told, (private, *passed) = message
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=private) as asker:
            message = receive_message(asker)
        if message is None:
            os._exit(0)
        request, _ = message
        _arrange(passed)
        if told["mounted"]:
            mounts.hide_scratch(Path(request["scratch"]))
        if told["apart"]:
            _go_apart()
        os.environ.clear()
        os.environ.update(request["environment"])
        tempfile.tempdir = None  # forget what was found before
        os.chdir(request["cwd"])
        reseed()
        gc.enable()
        code = int(function(request["entry"])(*request["arguments"]) or 0)
    except BaseException:  # noqa: BLE001 - nothing may return into the template's loop
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _go_apart() -> None:
    """Return in a process whose number is one; this one waits for it and ends as it does."""
    if not mounts.take_numbers():
        return
    pid = os.fork()
    if pid == 0:
        die_with_parent(0)  # a parent outside has no number here
        mounts.show_own_numbers()
        return
    close_others(())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _arrange(passed: list[int]) -> None:
    """Put descriptors where they are expected, and close all others."""
    kept = prepared_descriptors()
    first = max(*passed, *kept, GIVEN) + 1  # none of them is in the way of another
    spare = [os.dup2(descriptor, first + place) for place, descriptor in enumerate(passed)]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for place, descriptor in enumerate(spare, start=1):
        os.dup2(descriptor, place, inheritable=False)
    close_others((*range(len(passed) + 1), *kept))


def function(name: str) -> Any:
    """Return a function by its name, ``module:function``."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)
