"""Installing the system call filter of a contestant in this process."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

from srh.sandbox import bpf, policy
from srh.sandbox.kernel import LINUX, prctl, syscall
from srh.sandbox.policy import Role
from srh.sandbox.syscalls import ARCHITECTURES, Architecture

_PR_GET_SECCOMP = 21
_SET_MODE_FILTER = 1
_GET_ACTION_AVAIL = 2
_RETURN_KILL_PROCESS = 0x8000_0000
_ANY_PID = 0x7A5B3C1D  # larger than any process id; no other number of a policy is like it
_SECCOMP = {"x86_64": 317, "aarch64": 277}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def machine() -> str:
    """Return what kind of machine this is, as its programs see it, for instance ``x86_64``."""
    name = os.uname().machine
    narrow = sys.maxsize < 2**32 or sys.byteorder != "little"  # a program of another kind
    return f"{name}-other" if narrow else name


def architecture() -> Architecture | None:
    """Return the architecture of this process, or None if there is no policy for it."""
    return ARCHITECTURES.get(machine())


def available() -> bool:
    """Tell whether this kernel filters system calls, with every action that we use."""
    number = _SECCOMP.get(machine())
    if not LINUX or number is None:
        return False
    try:
        prctl(_PR_GET_SECCOMP)
        action = ctypes.create_string_buffer(_RETURN_KILL_PROCESS.to_bytes(4, sys.byteorder), 4)
        syscall(number, _GET_ACTION_AVAIL, 0, action)
    except OSError:
        return False
    return True


def install_filter(role: Role, *, threads: bool, truncation: bool, below_stack: int) -> None:
    """Bind this thread, and all that come of it, to a policy, for good.

    No-new-privileges has to be set.

    Args:
        role: Whose policy.
        threads: Whether threads may be started.
        truncation: Whether Landlock handles the right to truncate.
        below_stack: An address between the stack and what is mapped below it.

    Raises:
        OSError: The kernel refuses.
        RuntimeError: There is no policy for this architecture.
    """
    code = for_process(assembled(role, threads, truncation, below_stack), os.getpid())
    program = _Program(len(code) // 8, code)
    raw = (ctypes.c_char * ctypes.sizeof(program)).from_buffer(program)
    syscall(_SECCOMP[machine()], _SET_MODE_FILTER, 0, raw)


@cache
def assembled(role: Role, threads: bool, truncation: bool, below_stack: int) -> bytes:
    """Return a policy's program, in which a number stands for the id of the process.

    It takes a millisecond, which a template spends once for all that it forks.
    """
    known = architecture()
    if known is None:
        raise RuntimeError(f"no system call policy for {machine()}")
    rules = policy.rules(
        role, _ANY_PID, threads=threads, truncation=truncation, below_stack=below_stack
    )
    return bpf.assemble(rules, known, unknown=policy.FACILITIES, foreign=policy.FOREIGN)


def for_process(code: bytes, pid: int) -> bytes:
    """Return a policy's program for one process."""
    return code.replace(_ANY_PID.to_bytes(4, "little"), pid.to_bytes(4, "little"))
