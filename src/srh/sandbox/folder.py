"""How much a folder holds that untrusted code is writing in."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from srh.sandbox.limits import Limits

_MAX_FILES = 10_000
_MAX_DEPTH = 64


def is_overfull(folder: Path, limits: Limits) -> bool:
    """Tell whether a folder holds more bytes or files than allowed; follows no link."""
    room = limits.disk_mb * 2**20
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
                    if room < 0 or files > _MAX_FILES:
                        return True
        except (FileNotFoundError, NotADirectoryError):  # gone between listing and looking
            continue
        except OSError:  # made unreadable, or its path too long: what cannot be counted is too much
            return True
    return False
