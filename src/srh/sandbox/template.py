"""The template: a clean process from which others are forked, with their imports already done.

``python -m srh.sandbox.template DESCRIPTOR MODULE:FUNCTION,… [scratch]`` calls the functions, which
import and warm up, and then has a process for each request on the descriptor: one that it has
forked beforehand, while nothing else was to do. Nothing that a trial made, no label and no key ever
comes near it. What is to run, and where, its asker tells the process itself, on a socket that is
passed on unread as other descriptors are: what is forked later could find it in our memory. It has
one thread, which forks, and which lives as long as it does; so the kernel ends what was forked when
it ends (see ``forked``).

Each request brings a *line* of its own, a socket on which the asker is told how the process ended
and can ask to stop or end it. When the asker is gone, his line closes, and the process is killed.
So a parent takes all with it, whichever way it ends, and a scorer takes its contestants.

What a process leaves running in its group is killed before it is reaped: as long as its zombie
stands, the kernel gives the group's number to nobody else.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import resource
import selectors
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Any, Final

from srh.sandbox import lockdown, mounts, traces
from srh.sandbox.folder import holds_too_much
from srh.sandbox.forked import function
from srh.sandbox.groups import Group, Groups
from srh.sandbox.kernel import collapse_memory
from srh.sandbox.limits import memory_status
from srh.sandbox.messages import receive_message, send_message
from srh.sandbox.readable import system_grants
from srh.sandbox.signals import await_standstill, signal_group
from srh.sandbox.spares import Spares

_LOOK_S: Final = 0.5  # how often to look whether the parent lives, should its end not show itself
_SPARE_BYTES: Final = 64 << 20
_SIGNALS: Final = {b"K": signal.SIGKILL, b"S": signal.SIGSTOP, b"C": signal.SIGCONT}


@dataclass(slots=True)
class _Process:
    """A forked process that has not been reaped."""

    pid: int
    line: socket.socket
    scratch: int | None
    disk_mb: float
    group: Group | None


class Template:
    """The template's main loop.

    Args:
        control: Where its owner asks.
        mounted: Whether it has mounts of its own, for scratch folders.
        groups: Control groups for what it forks, if it can make some.
    """

    def __init__(
        self, control: socket.socket, *, mounted: bool = False, groups: Groups | None = None
    ) -> None:
        self._control = control
        self._mounted = mounted
        self._groups = groups
        self._owner = os.getppid()
        self._processes: dict[int, _Process] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._answer)
        self._ended, waking = socket.socketpair()
        for end in (self._ended, waking):
            end.setblocking(False)
        self._waking = waking  # kept open
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._ended, selectors.EVENT_READ, self._reap)
        self._baseline = _peak_of_nothing()
        self._spares = Spares(groups)
        self._own_bytes = memory_status("VmRSS") or 0

    def serve(self) -> None:
        """Answer requests until the owner is gone; then end all that was forked."""
        refused = False
        while os.getppid() == self._owner and self._control.fileno() >= 0:
            refill = self._spares.wanting and not refused
            events = self._selector.select(0 if refill else _LOOK_S)
            # While there is something to do, that comes first.
            refused = refill and not events and not self._spares.refill()
            for key, _ in events:
                if key.fileobj.fileno() >= 0:  # type: ignore[union-attr] # not closed meanwhile
                    key.data(key.fileobj)
        for process in self._processes.values():
            signal_group(process.pid, signal.SIGKILL)
        self._spares.close()
        if self._groups is not None:
            for process in self._processes.values():
                os.waitpid(process.pid, 0)
                if process.group is not None:
                    self._groups.remove(process.group)
            self._groups.close()

    def _answer(self, control: socket.socket) -> None:
        """Have a process for what is asked; an asker that is gone is forgotten."""
        try:
            message = receive_message(control)
        except (OSError, ValueError):
            message = None
        if message is None:
            self._forget(control)
            return
        request, descriptors = message
        if not descriptors:  # there was no room for a single one, its line included: that tells
            return
        line, *passed = descriptors
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=line) as talk:
            try:
                if len(descriptors) < request["descriptors"]:
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
                process = self._make(request, talk, passed)
            except OSError as error:
                _say(talk, {"refused": f"no process can be made ({error.strerror})"})
            else:
                talk.detach()
                self._processes[process.pid] = process
                self._selector.register(process.line, selectors.EVENT_READ, self._obey)
                group = None if process.group is None else process.group.version.name
                _say(process.line, {"pid": process.pid, "group": group})
            finally:
                for descriptor in passed:
                    os.close(descriptor)

    def _make(self, request: dict[str, Any], line: socket.socket, passed: list[int]) -> _Process:
        """Have one process become what is asked for.

        Raises:
            OSError: The kernel refuses it, or its scratch folder.
        """
        disk_mb = request["disk_mb"] if self._mounted else None
        scratch: int | None = None
        if request["scratch"]:
            folder = passed[-1]
            passed = passed[:-1]
            scratch = None if disk_mb is None else mounts.mount_scratch(folder, disk_mb)
        told = {"mounted": scratch is not None, "apart": request["apart"] and self._mounted}
        memory = request["memory_bytes"]
        if memory:  # each may copy what is ours, and needs tables and buffers
            memory += self._own_bytes + _SPARE_BYTES
        asking = None
        try:
            asking = socket.socketpair() if request["nursery"] else None
            theirs = [] if asking is None else [asking[1].fileno()]
            spare = self._spares.hand_over(told, [*passed, *theirs], memory)
        except OSError:
            if scratch is not None:
                mounts.unmount_scratch(scratch)
            if asking is not None:
                asking[0].close()
            raise
        finally:
            if asking is not None:
                asking[1].close()
        if asking is not None:
            self._selector.register(asking[0], selectors.EVENT_READ, self._answer)
        own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=line.fileno())
        return _Process(spare.pid, own, scratch, disk_mb or 0.0, spare.group)

    def _obey(self, line: socket.socket) -> None:
        """Do what an asker wants of his process; without him it has to go."""
        process = next(one for one in self._processes.values() if one.line is line)
        try:
            command = line.recv(1)
        except OSError:
            command = b""
        signal_group(process.pid, _SIGNALS.get(command, signal.SIGKILL))
        if not command:
            self._selector.unregister(line)
        elif command == b"S":
            await_standstill(process.pid)
            _say(line, {"stopped": True})

    def _reap(self, waking: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while waking.recv(4096):
                pass
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        for process in list(self._processes.values()):
            if os.waitid(os.P_PID, process.pid, flags) is None:
                continue
            signal_group(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            del self._processes[process.pid]
            ending = {
                "returncode": os.waitstatus_to_exitcode(status),
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_bytes": max(0, usage.ru_maxrss - self._baseline) * _PEAK_UNIT,
                "overfull": self._clear(process),
                "short": process.group is not None and process.group.was_short(),
            }
            _say(process.line, ending)
            self._forget(process.line)
            if self._groups is not None and process.group is not None:
                self._groups.remove(process.group)

    def _clear(self, process: _Process) -> bool:
        """Take a scratch folder's file system away and tell whether it was overfull."""
        if process.scratch is None:
            return False
        full = holds_too_much(os.fstatvfs(process.scratch), process.disk_mb)
        mounts.unmount_scratch(process.scratch)
        return full

    def _forget(self, end: socket.socket) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(end)
        end.close()


def _peak_of_nothing() -> int:
    """Return the peak memory of a process that is forked and does nothing."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.wait4(pid, 0)[2].ru_maxrss


def _say(line: socket.socket, fields: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # gone; his line will tell
        send_message(line, fields)


def _end_with(owner: int) -> None:
    """End this process soon after its owner has, though it is importing.

    The kernel would do it when the thread ends that has started us, which need not live so long.
    """

    def look(*_: object) -> None:
        if os.getppid() != owner:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)


def main(descriptor: int, prepare: list[str], *, scratch: bool) -> None:
    """Be a template until the owner is gone.

    Args:
        descriptor: The control socket.
        prepare: Functions that import and warm up, each as ``module:function``.
        scratch: Whether what is forked needs scratch folders, and so mounts of our own.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the owner, who will tell
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=descriptor)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # each process takes some six descriptors
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    _end_with(os.getppid())
    mounted = scratch and mounts.take_mounts()
    cover = mounts.prepare_cover() if mounted else None
    if scratch and not (mounted and mounts.hide_reading()):
        traces.settle(grant.path for grant in system_grants())
    for name in prepare:
        function(name)()
    lockdown.prepare(contestants=scratch, cover=cover)
    gc.collect()
    gc.freeze()
    if scratch:  # those of formulas are small
        collapse_memory()
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, 0)  # from here on, the loop looks
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    groups = Groups.take() if scratch else None
    template = Template(control, mounted=mounted, groups=groups)
    _say(control, {"ready": True})
    template.serve()


_PEAK_UNIT: Final = 1 if sys.platform == "darwin" else 1024

if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(","), scratch="scratch" in sys.argv[3:])
