"""Reading that leaves no trace, for those who cannot have mounts of their own choosing.

File systems commonly note that a file was read when they have not noted it since it changed, or for
a day (``relatime``). A contestant could so mark files for the next one, which sees the dates. So
whoever starts contestants reads the beginning of everything that they could mark this way: then
nothing is left to be noted, for a day. Links that lie outside what contestants may read stay open
to this, and so do file systems that note every reading.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_DAY_S: Final = 24 * 3600
_NOT_NOTED: Final = os.ST_NOATIME | os.ST_RDONLY if hasattr(os, "ST_NOATIME") else 0


def settle(paths: Iterable[str]) -> int:
    """Read the beginning of every file, folder and link that would be marked as read.

    Args:
        paths: Files, and folders with all beneath them; links are read, not followed.

    Returns:
        How many were marked so.
    """
    due = time.time() - _DAY_S
    read = 0
    pending = [path for path in dict.fromkeys(paths) if _is_noted(path)]
    while pending:
        path = pending.pop()
        with suppress(OSError):  # unreadable for us, so unreadable for a contestant
            found = os.lstat(path)
            if stat.S_ISDIR(found.st_mode):
                pending += _listed(path)
            elif _is_due(found, due):
                _read(path, found.st_mode)
                read += 1
    return read


def _is_noted(path: str) -> bool:
    """Tell whether the file system of ``path`` notes when its files are read."""
    try:
        return not os.statvfs(path).f_flag & _NOT_NOTED
    except OSError:  # not there
        return False


def _listed(folder: str) -> list[str]:
    """Return what lies in a folder; listing it marks the folder itself."""
    with os.scandir(folder) as entries:
        return [entry.path for entry in entries]


def _is_due(found: os.stat_result, due: float) -> bool:
    return found.st_atime <= max(found.st_mtime, found.st_ctime, due)


def _read(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        Path(path).readlink()
    elif stat.S_ISREG(mode):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.read(descriptor, 1)
        finally:
            os.close(descriptor)
