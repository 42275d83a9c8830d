"""What a model has saved, copied without following anything that it may have made."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from srh.errors import HarnessError
from srh.evaluation.scorer import TrialFailedError
from srh.files import FileRefusedError, open_folder, read_regular
from srh.sandbox.limits import Limits
from srh.text import harmless

_MOST_FILES = 10_000
_DEEPEST = 32


@dataclass
class _Budget:
    room: int
    files: int = _MOST_FILES


def copy_state(source: Path, target: Path, limits: Limits) -> None:
    """Copy what is in a folder that untrusted code has made, following nothing.

    Args:
        source: The folder.
        target: Where to; an empty folder, or none.
        limits: `disk_mb` counts.

    Raises:
        TrialFailedError: It is missing, or holds anything but regular files and folders, or more
            than the limits allow.
    """
    budget = _Budget(int(limits.disk_mb * 2**20))
    try:
        with open_folder(source) as folder:
            _copy_folder(folder, target, budget, depth=0)
    except (FileRefusedError, OSError) as error:
        # The folder's own name differs from run to run.
        reason = harmless(str(error).replace(str(source), source.name), 300)
        raise TrialFailedError(
            "bad_result", f"what the model saved cannot be read: {reason}"
        ) from error


def _copy_folder(folder: int, target: Path, budget: _Budget, depth: int) -> None:
    if depth > _DEEPEST:
        raise FileRefusedError(f"folders are nested more than {_DEEPEST} deep")
    target.mkdir(mode=0o700, exist_ok=depth == 0)
    for name in os.listdir(folder):
        budget.files -= 1
        if budget.files < 0:
            raise FileRefusedError(f"more than {_MOST_FILES} files")
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = os.open(name, flags, dir_fd=folder)
            try:
                _copy_folder(inner, target / name, budget, depth + 1)
            finally:
                os.close(inner)
            continue
        content = read_regular(name, budget.room, folder=folder)
        budget.room -= len(content)
        try:
            (target / name).write_bytes(content)
        except OSError as error:  # our own disk, not the model's
            raise HarnessError(f"{target}: cannot be written ({error.strerror})") from error
