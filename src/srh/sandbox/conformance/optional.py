"""Protections that are used where the kernel lets us, and not needed for a score to be earned.

Run as a process of its own, ``python -c "...; optional.main()" NAME FOLDER``, this tries one of
them and prints what it saw: a process that has taken mounts of its own cannot give them back.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from srh.sandbox.groups import Groups
from srh.sandbox.mounts import hide_reading, mount_scratch, take_mounts, unmount_scratch

HOLDS: Final = "holds: "
_SCRATCH_MB: Final = 4
_CHUNK: Final = bytes(1 << 16)
_GROUP_MB: Final = 8

MEANINGS: Final = {
    "own_mounts": "scratch folders are ordinary ones, whose size is sampled: a trial can write a"
    " little more than its limit before it is ended",
    "full_scratch": "the size of scratch folders is sampled: a trial can write a little more than"
    " its limit before it is ended",
    "no_traces": "the dates of last reading are settled before a trial starts, instead of being"
    " kept from it",
    "memory_groups": "memory is limited per process by RLIMIT_DATA, which holds for every trial,"
    " but not by the kernel's own account of pages",
}
"""What follows where one does not hold."""


def main() -> None:
    """Try what the command line names, and print what was seen."""
    name, folder = sys.argv[1:3]
    sys.stdout.write(TRIES[name](Path(folder)))


def own_mounts(_: Path) -> str:
    """Contestants can have mounts of their own."""
    before = Path("/proc/self/ns/mnt").readlink()
    if not take_mounts():
        return "the kernel does not permit them"
    after = Path("/proc/self/ns/mnt").readlink()
    kind = "as root" if os.geteuid() == 0 else "in a user namespace"
    return f"{HOLDS}{kind}" if after != before else "the namespace is the same as before"


def full_scratch(folder: Path) -> str:
    """A scratch folder can be a file system of fixed size."""
    if not take_mounts():
        return "needs mounts of one's own, which the kernel does not permit"
    try:
        place = os.open(folder, os.O_RDONLY)
        mounted = mount_scratch(place, _SCRATCH_MB)
    except OSError as error:
        return f"the kernel refuses the mount ({error.strerror})"
    written = _fill(folder / "file")
    unmount_scratch(mounted)
    if written is None:
        return f"more than {4 * _SCRATCH_MB} MiB fitted where {_SCRATCH_MB} were allowed"
    left = "" if not any(folder.iterdir()) else ", and what it held stayed behind"
    return f"{'' if left else HOLDS}full after {written / 2**20:.1f} MiB{left}"


def no_traces(folder: Path) -> str:
    """Reading can be kept from leaving a date."""
    if not take_mounts():
        return "needs mounts of one's own, which the kernel does not permit"
    file = folder / "read"
    file.write_text("x")
    os.utime(file, (0, file.stat().st_mtime))  # so long ago that every reading would be noted
    if not hide_reading():
        return "the kernel does not permit it"
    file.read_text()
    noted = file.stat().st_atime != 0
    return "the date changed all the same" if noted else f"{HOLDS}a reading left no date"


def memory_groups(_: Path) -> str:
    """Memory can be limited by control groups."""
    groups = Groups.take()
    if groups is None:
        return "this user may not make any, or the kernel has none"
    group = groups.make()
    try:
        group.bound(_GROUP_MB << 20)
        pid = os.fork()
        if pid == 0:
            try:
                group.join()
                os._exit(len(b"x" * (4 * _GROUP_MB << 20)) & 1)
            finally:
                os._exit(1)
        killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        short = group.was_short()
    finally:
        groups.remove(group)
        groups.close()
    if not (killed and short):
        return f"{groups.version}: {4 * _GROUP_MB} MiB fitted where {_GROUP_MB} were allowed"
    return f"{HOLDS}{groups.version}, ended by the kernel beyond {_GROUP_MB} MiB"


def _fill(file: Path) -> int | None:
    """Write until the file system is full; None if it takes four times what it should."""
    written = 0
    with file.open("wb", buffering=0) as stream:
        while written < 4 * _SCRATCH_MB << 20:
            try:
                written += stream.write(_CHUNK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return written
    return None


TRIES: Final[dict[str, Callable[[Path], str]]] = {
    try_.__name__: try_ for try_ in (own_mounts, full_scratch, no_traces, memory_groups)
}
"""What is tried, by name: each returns what it saw, beginning with `HOLDS` if it holds."""
