"""File systems of one's own: scratch folders of a fixed size, and reading that leaves no trace.

Where the kernel lets us, a process that starts contestants takes a mount namespace of its own,
inside a user namespace of its own unless it is privileged. There each scratch folder is a file
system in memory: it is full when its limit is reached, files that were unlinked but are still open
count, and the numbers that the kernel gives to its files tell nothing of another one's.

A file system may note when a file was last read. A process that may only read could so leave word
for the next one, a bit per file. A privileged process turns that off for what it sees; in a user
namespace the kernel does not permit that (see ``traces`` for what is done instead).

A process that knows where another one's scratch folder lies could see what is in it by names and
sizes, and ``/proc`` counts through what is looked at. So each contestant loses sight of both.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from srh.sandbox.folder import MOST_FILES
from srh.sandbox.kernel import (
    LINUX,
    copy_mount,
    mount,
    move_mount,
    new_file_system,
    syscall,
    unmount,
    unshare,
)

_NEW_MOUNTS: Final = 0x2_0000
_NEW_USER: Final = 0x1000_0000
_NEW_NUMBERS: Final = 0x2000_0000
_NOSUID_NODEV_NOEXEC: Final = 2 | 4 | 8
_RECURSIVE: Final = 0x4000
_PRIVATE: Final = 1 << 18

_MOUNT_SETATTR: Final = 442
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_ATTR_ATIME: Final = 0x70
_ATTR_NOATIME: Final = 0x10

_SCRATCH: Final = "srh-scratch"
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_SHOWN: Final = ("self/maps", "self/status", "cpuinfo", "loadavg")
_SPARE_BYTES: Final = 1 << 20
_SPARE_FILES: Final = 64

_covering: str | None = None  # where a template keeps what is laid over /proc
_cover: int | None = None  # this process's own copy of it


def take_mounts() -> bool:
    """Give this process mounts of its own, if the kernel lets it; it must have one thread.

    Returns:
        Whether it has them now. If not, nothing has changed.
    """
    if not LINUX:
        return False
    # Half of it would be worse than nothing (a user without a number, say): tried by another first.
    return _succeeds(_take) and _take()


def hide_reading() -> bool:
    """Have no file system note that this process reads; it has mounts of its own.

    Returns:
        Whether that holds for all that it sees.
    """
    attributes = struct.pack("=4Q", _ATTR_NOATIME, _ATTR_ATIME, 0, 0)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    try:
        root = ctypes.create_string_buffer(b"/")
        syscall(_MOUNT_SETATTR, _AT_FDCWD, root, _AT_RECURSIVE, buffer, len(attributes))
    except OSError:
        return False
    return True


def mount_scratch(folder: int, disk_mb: float) -> int:
    """Make an empty folder a file system in memory.

    It holds a little more than the limit, so that whoever looks can tell a full one.

    Args:
        folder: Descriptor of the folder.
        disk_mb: What it may hold, in MiB.

    Returns:
        Descriptor of the file system.

    Raises:
        OSError: The kernel refuses.
    """
    made = new_file_system(
        "tmpfs",
        _NOSUID_NODEV_NOEXEC | _ATTR_NOATIME,
        source=_SCRATCH,
        size=str(int(disk_mb * 2**20) + _SPARE_BYTES),
        nr_inodes=str(MOST_FILES + _SPARE_FILES),
        mode="700",
    )
    try:
        _mount_at(made, folder)
    except OSError:
        os.close(made)
        raise
    return made


def _mount_at(made: int, folder: int) -> None:
    try:
        move_mount(made, folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # Whoever opened the folder has other mounts than this process: the same path, then.
        move_mount(made, str(Path(f"/proc/self/fd/{folder}").readlink()))


def unmount_scratch(mounted: int) -> None:
    """Take a scratch folder's file system away, with all that it holds.

    Args:
        mounted: Its descriptor, which is closed.
    """
    with suppress(OSError):  # somebody has removed the folder, and it with it
        unmount(f"/proc/self/fd/{mounted}")
    os.close(mounted)


def hide_scratch(own: Path | None) -> None:
    """Have this process no longer see scratch folders of others: sizes and names tell something.

    It takes mounts of its own for that; none that is made from here on will show in them either.

    Args:
        own: Its own one.

    Raises:
        OSError: The kernel refuses.
    """
    global _cover  # noqa: PLW0603 - a process hides things once
    if _covering is not None:
        _cover = copy_mount(_covering)
    unshare(_NEW_MOUNTS)
    mounted = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in mounted.splitlines():
        before, _, after = line.partition(" - ")
        place = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4])
        if after.split(" ")[1] == _SCRATCH and place != str(own):
            unmount(place)


def prepare_cover() -> str | None:
    """Make what `hide_processes` lays over ``/proc``, and return where it is; None: impossible.

    This process has mounts of its own, and keeps that one as long as it lives.
    """
    global _covering  # noqa: PLW0603 - a template prepares once
    place = f"/proc/{os.getpid()}/fdinfo"  # any folder that nobody needs
    try:
        made = new_file_system("tmpfs", _NOSUID_NODEV_NOEXEC | _ATTR_NOATIME, mode="755")
        try:
            os.mkdir("self", dir_fd=made)
            for name in _SHOWN:
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o444, dir_fd=made))
            move_mount(made, place)
        finally:
            os.close(made)
    except OSError:
        return None
    _covering = place
    return place


def cover_descriptors() -> tuple[int, ...]:
    """Return the descriptors that `hide_processes` needs."""
    return () if _cover is None else (_cover,)


def hide_processes() -> None:
    """Leave of ``/proc`` only what numeric libraries read, if `hide_scratch` was called.

    What is listed there, even of the process itself, is numbered through for the whole machine.

    Raises:
        OSError: The kernel refuses.
    """
    if _cover is None:
        return
    shown = [(f"/proc/{name}", copy_mount(f"/proc/{name}")) for name in _SHOWN]
    move_mount(_cover, "/proc")
    os.close(_cover)
    for place, descriptor in shown:
        move_mount(descriptor, place)
        os.close(descriptor)


def take_numbers() -> bool:
    """Have the processes that this one starts count themselves, and their threads, from one.

    Otherwise they could tell from their numbers how many threads others have started.

    Returns:
        Whether that is so now. If not, nothing has changed.
    """
    try:
        unshare(_NEW_NUMBERS)
    except OSError:
        return False
    return True


def show_own_numbers() -> None:
    """Have ``/proc`` show the numbers that `take_numbers` has given, in a process so started."""
    with suppress(OSError):  # where parts of /proc are hidden, nobody may mount it anew
        mount("proc", "/proc", "proc", _NOSUID_NODEV_NOEXEC)


def _take() -> bool:
    user, group = os.geteuid(), os.getegid()
    try:
        try:
            unshare(_NEW_MOUNTS)
        except PermissionError:
            unshare(_NEW_USER | _NEW_MOUNTS)
            with suppress(FileNotFoundError):  # older kernels do not ask for it
                Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        # What is mounted from here on is nobody else's business, and the other way round.
        mount("none", "/", "", _RECURSIVE | _PRIVATE)
    except OSError:
        return False
    return True


def _succeeds(attempt: object) -> bool:
    """Tell whether a function returns True in a process of its own."""
    assert callable(attempt)  # noqa: S101
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if attempt() else 1)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0
