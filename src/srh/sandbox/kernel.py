"""The few system calls that Python does not offer, with errors as OSError."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

LINUX: Final = sys.platform.startswith("linux")

# The same numbers on every architecture, as for all calls since Linux 5.1.
_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT = 428, 429, 430, 431, 432
_CLOSE_RANGE = 436
_LAST_DESCRIPTOR = 2**32 - 1
_MNT_DETACH = 2
_AT_FDCWD = -100
_OPEN_TREE_CLONE = 1
_FSCONFIG_SET_STRING, _FSCONFIG_CREATE = 1, 6
_FSMOUNT_CLOEXEC = 1
_FROM_DESCRIPTOR, _TO_DESCRIPTOR = 0x04, 0x40
_MADV_COLLAPSE = 25  # Linux 6.1; older kernels do not know it, and change nothing
_LARGE_PAGE = 2 << 20
_libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call by number.

    Args:
        number: Its number on this architecture.
        arguments: Integers as they are, buffers by address.

    Returns:
        What it returns.

    Raises:
        OSError: It failed.
    """
    return _checked(_libc.syscall, number, *arguments)


def prctl(option: int, *arguments: int | ctypes.Array[ctypes.c_char]) -> int:
    """Call ``prctl`` with up to four arguments; the others are zero.

    Raises:
        OSError: It failed.
    """
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return _checked(_libc.prctl, option, *padded)


def capset(header: ctypes.Array[ctypes.c_char], sets: ctypes.Array[ctypes.c_char]) -> None:
    """Set this thread's capabilities.

    Raises:
        OSError: It failed.
    """
    _checked(_libc.capset, header, sets)


def unshare(kinds: int) -> None:
    """Take namespaces of its own for this process.

    Raises:
        OSError: Not permitted, or it has several threads.
    """
    _checked(_libc.unshare, kinds)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, or change how one is mounted.

    Raises:
        OSError: It failed.
    """
    texts = [ctypes.c_char_p(os.fsencode(text)) for text in (source, target, kind)]
    _checked(_libc.mount, *texts, flags, ctypes.c_char_p(options.encode()))


def new_file_system(kind: str, attributes: int, **options: str) -> int:
    """Return a descriptor of a new file system that is mounted nowhere yet.

    Args:
        kind: Its kind.
        attributes: How it will be mounted.
        options: Options of its kind.

    Raises:
        OSError: It failed.
    """
    context = syscall(_FSOPEN, _text(kind), 0)
    try:
        for name, value in options.items():
            syscall(_FSCONFIG, context, _FSCONFIG_SET_STRING, _text(name), _text(value), 0)
        syscall(_FSCONFIG, context, _FSCONFIG_CREATE, None, None, 0)
        return syscall(_FSMOUNT, context, _FSMOUNT_CLOEXEC, attributes)
    finally:
        os.close(context)


def copy_mount(path: str) -> int:
    """Return a descriptor of what is at a path, to be mounted elsewhere as well.

    Raises:
        OSError: It failed.
    """
    return syscall(_OPEN_TREE, _AT_FDCWD, _text(path), _OPEN_TREE_CLONE | os.O_CLOEXEC)


def move_mount(descriptor: int, target: str | int) -> None:
    """Mount what a descriptor stands for.

    Args:
        descriptor: What is not mounted yet.
        target: Where: a path, or the descriptor of a folder.

    Raises:
        OSError: It failed.
    """
    by_path = isinstance(target, str)
    flags = _FROM_DESCRIPTOR if by_path else _FROM_DESCRIPTOR | _TO_DESCRIPTOR
    folder, path = (_AT_FDCWD, target) if isinstance(target, str) else (target, "")
    syscall(_MOVE_MOUNT, descriptor, _text(""), folder, _text(path), flags)


def unmount(target: str) -> None:
    """Take away what is mounted, as soon as nobody uses it any more.

    Raises:
        OSError: It failed.
    """
    _checked(_libc.umount2, ctypes.c_char_p(os.fsencode(target)), _MNT_DETACH)


def close_others(keep: tuple[int, ...]) -> None:
    """Close every descriptor of this process but those in ``keep``."""
    first = 0
    for kept in sorted(set(keep)):
        _close_range(first, kept - 1)
        first = kept + 1
    _close_range(first, _LAST_DESCRIPTOR)


def collapse_memory() -> None:
    """Have the kernel keep this process's memory in large pages, as far as it will.

    A fork copies the tables of pages, and its end takes them down: with large ones that is little.
    """
    for start, end in _own_memory():
        first = -(-start // _LARGE_PAGE) * _LARGE_PAGE
        for page in range(first, end - _LARGE_PAGE + 1, _LARGE_PAGE):
            _libc.madvise(ctypes.c_ulong(page), ctypes.c_ulong(_LARGE_PAGE), _MADV_COLLAPSE)


def _own_memory() -> list[tuple[int, int]]:
    """Return first address and the one past the last of the heap and other nameless memory."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    found = []
    for fields in map(str.split, maps.splitlines()):
        if fields[1] == "rw-p" and (len(fields) == 5 or fields[5] == "[heap]"):
            start, _, end = fields[0].partition("-")
            found.append((int(start, 16), int(end, 16)))
    return found


def count_threads() -> int | None:
    """Return how many threads this process has, or None where the kernel does not tell."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def stack_bounds() -> tuple[int, int] | None:
    """Return the first address of this process's stack and the one past its last, if known."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in maps.splitlines():
        if line.endswith("[stack]"):
            start, _, end = line.split()[0].partition("-")
            return int(start, 16), int(end, 16)
    return None


def _text(text: str) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(os.fsencode(text))


def _close_range(first: int, last: int) -> None:
    if first > last:
        return
    try:
        if LINUX:
            syscall(_CLOSE_RANGE, first, last, 0)
            return
    except OSError:
        pass
    os.closerange(first, min(last + 1, 65536))


def _checked(function: object, *arguments: object) -> int:
    assert callable(function)  # noqa: S101 - a function of the C library
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    ctypes.set_errno(0)
    result = int(function(*words))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_libc.syscall.restype = ctypes.c_long
