"""Attempts on processes: making some, reaching others."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import os
import resource
import signal

from srh.sandbox import policy
from srh.sandbox.conformance.attempt import DONE, NotApplicableError, Setting, call, packed, refused

_CLONE_NEWUSER = 0x1000_0000
_SIGCHLD = 17
_PTRACE_SEIZE = 0x4206


@refused("processes", policy.PROCESSES)
def fork(_: Setting) -> None:
    """No fork."""
    _end_child(os.fork())


@refused("processes", policy.PROCESSES)
def clone_process(_: Setting) -> None:
    """No clone of a process."""
    _end_child(call("sys_clone", _SIGCHLD, 0, 0, 0, 0))


@refused("processes", policy.PROCESSES)
def clone_namespace(_: Setting) -> None:
    """No clone into new namespaces."""
    _end_child(call("sys_clone", _SIGCHLD | _CLONE_NEWUSER, 0, 0, 0, 0))


@refused("processes", errno.ENOSYS)
def clone3(_: Setting) -> None:
    """No clone3, whose arguments a filter cannot read."""
    _end_child(call("sys_clone3", packed("=11Q", 0, 0, 0, 0, _SIGCHLD, 0, 0, 0, 0, 0, 0), 88))


@refused("processes", policy.PROCESSES)
def execute(_: Setting) -> None:
    """No program is executed."""
    os.execv("/bin/true", ["/bin/true"])  # noqa: S606


@refused("processes", policy.PROCESSES)
def execute_descriptor(_: Setting) -> None:
    """No program is executed from a descriptor."""
    descriptor = os.open("/bin/sh", os.O_PATH)
    with contextlib.suppress(TypeError):
        arguments = (ctypes.c_char_p * 4)(b"sh", b"-c", b"exit 0", None)
        call("sys_execveat", descriptor, ctypes.c_char_p(b""), arguments, None, 0x1000)


@refused("processes", policy.PROCESSES)
def new_session(_: Setting) -> None:
    """No session of its own."""
    os.setsid()


@refused("processes", policy.PROCESSES)
def new_group(_: Setting) -> None:
    """No process group of its own."""
    os.setpgid(0, 0)


@refused("processes", "RuntimeError")
def start_thread(_: Setting) -> None:
    """No threads, where one is allowed."""
    _run_thread()


@refused("allowed", DONE, threads=2)
def start_allowed_thread(_: Setting) -> None:
    """Threads, where two are allowed."""
    _run_thread()


@refused("other processes", policy.OTHERS)
def signal_neighbour(setting: Setting) -> None:
    """No signal to another process."""
    os.kill(setting.neighbour, 0)


@refused("other processes", policy.OTHERS)
def signal_parent(_: Setting) -> None:
    """No signal to the parent."""
    os.kill(os.getppid(), 0)


@refused("other processes", policy.OTHERS)
def signal_all(_: Setting) -> None:
    """No signal to everybody."""
    os.kill(-1, 0)


@refused("other processes", policy.OTHERS)
def signal_group(_: Setting) -> None:
    """No signal to the process group."""
    os.kill(0, 0)


@refused("other processes", policy.OTHERS)
def signal_thread(setting: Setting) -> None:
    """No signal to another process's thread."""
    call("sys_tgkill", setting.neighbour, setting.neighbour, 0)


@refused("other processes", policy.OTHERS)
def signal_by_tkill(setting: Setting) -> None:
    """No signal by the old call."""
    call("sys_tkill", setting.neighbour, 0)


@refused("other processes", policy.OTHERS)
def queue_signal(_: Setting) -> None:
    """No queued signal, not even to itself."""
    queued = -1  # SI_QUEUE
    call("sys_rt_sigqueueinfo", os.getpid(), 0, packed("=3i116x", 0, 0, queued))


@refused("other processes", policy.OTHERS)
def open_handle(setting: Setting) -> None:
    """No handle of another process."""
    call("sys_pidfd_open", setting.neighbour, 0)


@refused("other processes", policy.OTHERS)
def read_limits(setting: Setting) -> None:
    """No limits of another process."""
    resource.prlimit(setting.neighbour, resource.RLIMIT_CPU)


@refused("other processes", policy.OTHERS)
def read_affinity(setting: Setting) -> None:
    """No processors of another process."""
    os.sched_getaffinity(setting.neighbour)


@refused("other processes", policy.OTHERS)
def set_priority(setting: Setting) -> None:
    """No priority of another process."""
    os.setpriority(os.PRIO_PROCESS, setting.neighbour, 0)


@refused("other processes", policy.OTHERS)
def read_users_priority(_: Setting) -> None:
    """No priority of all processes of a user."""
    os.getpriority(os.PRIO_USER, 0)


@refused("other processes", policy.OTHERS)
def trace(setting: Setting) -> None:
    """No tracing of another process."""
    call("sys_ptrace", _PTRACE_SEIZE, setting.neighbour, 0, 0)


@refused("other processes", policy.OTHERS)
def read_memory(setting: Setting) -> None:
    """No memory of another process."""
    call("sys_process_vm_readv", setting.neighbour, None, 0, None, 0, 0)


@refused("other processes", policy.OTHERS)
def compare(setting: Setting) -> None:
    """No comparing of another process."""
    call("sys_kcmp", os.getpid(), setting.neighbour, 2, 0, 0)


@refused("allowed", DONE)
def signal_itself(_: Setting) -> None:
    """Signals to itself."""
    received: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if len(received) != 2:
        raise RuntimeError("a signal to itself did not arrive")


@refused("allowed", DONE)
def look_at_itself(_: Setting) -> None:
    """Its own limits and processors."""
    resource.getrlimit(resource.RLIMIT_CPU)
    resource.prlimit(os.getpid(), resource.RLIMIT_CPU)
    os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))
    os.getpriority(os.PRIO_PROCESS, 0)


@refused("other processes", policy.PRCTL)
def forget_parent(_: Setting) -> None:
    """Its end with its parent is not called off."""
    call("prctl", 1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG


def _run_thread() -> None:
    done = _thread.allocate_lock()
    done.acquire()
    _thread.start_new_thread(done.release, ())
    if not done.acquire(timeout=10):
        raise NotApplicableError("a thread did not run within 10 s")


def _end_child(pid: int) -> None:
    """In the child: end. In the parent: wait for it."""
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
