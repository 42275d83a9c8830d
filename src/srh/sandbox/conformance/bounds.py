"""Attempts on the limits: time, memory, disk, descriptors."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import signal
import time

from srh.sandbox import policy
from srh.sandbox.conformance.attempt import Setting, refused

_BIG = 300 << 20
_MAP_NORESERVE = 0x4000
_UNUSED_STACK = 100 << 10  # below what is in use, within the 128 KiB that are mapped at first


@refused("limits", "SIGXCPU", cpu_s=1)
def burn(_: Setting) -> None:
    """Processor time ends a process."""
    _burn_for(1.5)


@refused("limits", "SIGKILL", cpu_s=1)
def burn_deaf(_: Setting) -> None:
    """Processor time ends a process that ignores every signal."""
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _burn_for(2.5)


@refused("limits", "MemoryError", memory_mb=100)
def allocate(_: Setting) -> None:
    """Memory beyond the limit is a MemoryError."""
    bytearray(_BIG)


@refused("limits", errno.ENOMEM, memory_mb=100)
def map_memory(_: Setting) -> None:
    """Private mappings count as memory."""
    mmap.mmap(-1, _BIG, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


@refused("limits", policy.SHARED_MEMORY, memory_mb=100)
def grow_stack(_: Setting) -> None:
    """No memory that counts as stack."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.getauxval.restype = libc.mremap.restype = ctypes.c_ulong
    top = libc.getauxval(ctypes.c_ulong(25))  # AT_RANDOM: near the top of the stack
    on_stack = (top - _UNUSED_STACK) & -mmap.PAGESIZE
    lengths = (ctypes.c_size_t(mmap.PAGESIZE), ctypes.c_size_t(_BIG))
    grown = libc.mremap(ctypes.c_void_p(on_stack), *lengths, ctypes.c_int(1))
    if grown == 2**64 - 1:
        raise OSError(ctypes.get_errno(), "mremap")
    ctypes.memset(grown, 1, _BIG)


@refused("limits", errno.ENOMEM, memory_mb=100)
def reserve(_: Setting) -> None:
    """Reserved address space is bounded."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    mmap.mmap(-1, 1 << 40, flags=flags, prot=mmap.PROT_READ).close()


@refused("limits", "SIGXFSZ", disk_mb=1)
def write_big(setting: Setting) -> None:
    """A file larger than the limit ends a process."""
    with (setting.scratch / "big").open("wb") as file:
        file.write(b"x" * (2 << 20))


@refused("limits", "SIGXFSZ", disk_mb=1)
def reserve_file(setting: Setting) -> None:
    """Space that is only reserved counts."""
    with (setting.scratch / "big").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 2 << 20)


@refused("limits", "SIGXFSZ", disk_mb=1)
def make_hole(setting: Setting) -> None:
    """A file with a hole counts by its length."""
    with (setting.scratch / "big").open("wb") as file:
        file.truncate(1 << 30)


@refused("limits", errno.EMFILE)
def open_many(_: Setting) -> None:
    """Descriptors are bounded."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1024), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(min(1000, hard + 1))]
    for descriptor in opened:
        os.close(descriptor)


@refused("limits", "ValueError", errno.EPERM)
def raise_limit(_: Setting) -> None:
    """A limit is not raised again."""
    resource.setrlimit(resource.RLIMIT_CORE, (2, 2))


@refused("limits", errno.ENOSYS, errno.ENOMEM, errno.EPERM)
def lock_memory(_: Setting) -> None:
    """No memory is locked."""
    libc = ctypes.CDLL(None, use_errno=True)
    page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page[0] = 1
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(4096)) != 0:
        raise OSError(ctypes.get_errno(), "mlock")


def _burn_for(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        try:
            for _ in range(10_000):
                pass
        except BaseException:  # noqa: BLE001, S112 - as an unwilling program does it
            continue
