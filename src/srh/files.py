"""Files that untrusted code may have made, and files that must never be seen half-written.

A trial folder is written by somebody we do not trust. So nothing in it is followed (links), waited
for (FIFOs, devices) or read without a bound, and every name is opened relative to a descriptor of
the folder, so that the folder cannot be exchanged between a check and its use.
"""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from srh.errors import SrhError


class FileRefusedError(SrhError):
    """A file is not what it must be: a link, not regular, too large, or missing."""


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """Open a folder that must not itself be a link, and yield its descriptor.

    Raises:
        FileRefusedError: It is missing, a link, or no folder.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise FileRefusedError(_refusal(path, error, "a folder that is not a link")) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_regular(path: Path | str, limit: int, *, folder: int | None = None) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes.

    Args:
        path: The file; a bare name when ``folder`` is given.
        limit: Largest accepted size in bytes.
        folder: Descriptor of the folder that holds it (see `open_folder`).

    Raises:
        FileRefusedError: It is missing, a link, not a regular file, or too large.
    """
    # O_NONBLOCK: opening a FIFO must not wait for its writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
    except OSError as error:
        raise FileRefusedError(_refusal(path, error, "a regular file")) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileRefusedError(f"{path}: must be a regular file")
    with os.fdopen(descriptor, "rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise FileRefusedError(f"{path}: larger than the limit of {limit:,} bytes")
    return content


def write_whole(path: Path | str, content: bytes, *, folder: int | None = None) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Args:
        path: The file; a bare name when ``folder`` is given.
        content: The whole new content.
        folder: Descriptor of the folder to write in (see `open_folder`).

    Raises:
        OSError: The folder cannot be written (full, read-only, gone).
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o644, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    _sync_folder(target.parent, folder)


def _sync_folder(path: Path, folder: int | None) -> None:
    """Make a rename durable."""
    if folder is not None:
        os.fsync(folder)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refusal(path: Path | str, error: OSError, wanted: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: does not exist"
    if isinstance(error, PermissionError):
        return f"{path}: permission denied"
    return f"{path}: must be {wanted} ({os.strerror(error.errno or 0)})"
