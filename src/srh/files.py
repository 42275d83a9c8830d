"""Files that untrusted code may have made, and files that must never be seen half-written.

A trial folder is written by somebody we do not trust. So nothing in it is followed (links), waited
for (FIFOs, devices) or read without a bound, and every name is opened relative to a descriptor of
the folder, so that the folder cannot be exchanged between a check and its use.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path

from srh.errors import SrhError

_DRAFT = re.compile(r"\..+\.[0-9a-f]{32}\.part")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileRefusedError(SrhError):
    """A file is not what it must be: a link, not regular, too large, or missing."""


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """Open a folder that must not itself be a link, and yield its descriptor.

    Raises:
        FileRefusedError: It is missing, a link, or no folder.
    """
    try:
        descriptor = os.open(path, _FOLDER)
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
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise FileRefusedError(f"{path}: must be a regular file")
    with os.fdopen(descriptor, "rb") as stream:
        # Memory is taken for as much as is asked for, so that the limit is not asked for.
        content = stream.read(min(status.st_size, limit) + 1)
    if status.st_size > limit:
        raise FileRefusedError(f"{path}: larger than the limit of {limit:,} bytes")
    if len(content) > status.st_size:
        raise FileRefusedError(f"{path}: grew while it was read")
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


def remove_drafts(folder: int) -> None:
    """Remove what `write_whole` has left in a folder where it was killed.

    Args:
        folder: Descriptor of the folder; nobody may be writing in it.
    """
    for name in os.listdir(folder):
        if _DRAFT.fullmatch(name):
            with contextlib.suppress(OSError):  # a folder of that name, say: not ours
                os.unlink(name, dir_fd=folder)


def remove_tree(path: Path) -> None:
    """Remove a folder that untrusted code may have filled, whatever it has made there.

    Folders without permissions go too, and trees deeper than a path can be long or a function can
    recurse: inner folders are moved up to the top, and removed from there. Nothing is followed.
    Whoever made them must have ended.

    Raises:
        OSError: Something cannot be removed.
    """
    top = os.open(path, _FOLDER)
    try:
        while names := os.listdir(top):
            for name in names:
                if _is_folder(name, top):
                    _flatten(name, top)
                else:
                    os.unlink(name, dir_fd=top)
    finally:
        os.close(top)
    path.rmdir()


def _flatten(name: str, top: int) -> None:
    """Remove a folder in ``top``, moving the folders in it to ``top``."""
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, _FOLDER, dir_fd=top)
    try:
        for entry in os.listdir(inner):
            if _is_folder(entry, inner):
                os.chmod(entry, 0o700, dir_fd=inner)  # to move a folder is to write in it
                os.rename(entry, uuid.uuid4().hex, src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


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
