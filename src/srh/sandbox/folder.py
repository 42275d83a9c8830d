"""How much a folder holds that untrusted code is writing in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

MOST_FILES: Final = 10_000
"""How many files and folders a scratch folder may hold."""

_MAX_DEPTH: Final = 64


def is_overfull(folder: Path, disk_mb: float) -> bool:
    """Tell whether a folder holds more bytes or files than allowed; follows no link.

    A folder that is a file system of its own is asked as one, which counts what is no longer
    listed, but still open, too.
    """
    held = _own_file_system(folder)
    if held is not None:
        return holds_too_much(held, disk_mb)
    room = disk_mb * 2**20
    files = 0
    pending = [(os.fspath(folder), 0)]
    while pending:
        place, depth = pending.pop()
        if depth > _MAX_DEPTH:
            return True
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    files += 1
                    with contextlib.suppress(FileNotFoundError):  # gone meanwhile; others are not
                        room -= entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, depth + 1))
                    if room < 0 or files > MOST_FILES:
                        return True
        except (FileNotFoundError, NotADirectoryError):  # gone between listing and looking
            continue
        except OSError:  # made unreadable, or its path too long: what cannot be counted is too much
            return True
    return False


def holds_too_much(held: os.statvfs_result, disk_mb: float) -> bool:
    """Tell whether a file system holds more bytes or files than allowed."""
    too_large = (held.f_blocks - held.f_bfree) * held.f_frsize > disk_mb * 2**20
    return too_large or held.f_files - held.f_ffree > MOST_FILES


def _own_file_system(folder: Path) -> os.statvfs_result | None:
    """Return the state of the file system that a folder is, or None if it is a part of another."""
    try:
        # Through a descriptor: it may be taken away meanwhile, and then another one is there.
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_dev == folder.parent.stat().st_dev:
            return None
        return os.fstatvfs(descriptor)
    except OSError:  # what it lies in is gone
        return None
    finally:
        os.close(descriptor)
