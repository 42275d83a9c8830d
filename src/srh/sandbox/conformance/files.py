"""Attempts on files: what may be read, written, made."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

from srh.sandbox import policy
from srh.sandbox.conformance.attempt import (
    DONE,
    SPARE_DESCRIPTOR,
    NotApplicableError,
    Setting,
    refused,
)
from srh.sandbox.packages import withheld_data

_TRUNCATION = (errno.EACCES, policy.TRUNCATION)  # Landlock, or on its early versions the filter


@refused("files", errno.EACCES)
def read_file(setting: Setting) -> None:
    """A file elsewhere stays unread."""
    setting.secret.read_text()


@refused("files", errno.EACCES)
def read_through_proc(setting: Setting) -> None:
    """A file elsewhere stays unread through /proc/self/root."""
    Path(f"/proc/self/root{setting.secret}").read_text()


@refused("files", errno.EACCES)
def read_upwards(setting: Setting) -> None:
    """A file elsewhere stays unread through ..."""
    up = "/".join([".."] * len(setting.scratch.parts))
    Path(f"{setting.scratch}/{up}{setting.secret}").read_text()


@refused("files", errno.EACCES)
def list_folder(setting: Setting) -> None:
    """A folder elsewhere is not listed."""
    os.listdir(setting.outside)


@refused("files", errno.EACCES)
def read_neighbours_environment(setting: Setting) -> None:
    """Other processes' files in /proc stay unread."""
    Path(f"/proc/{setting.neighbour}/environ").read_bytes()


@refused("files", errno.EACCES)
def list_processes(_: Setting) -> None:
    """Processes are not listed."""
    os.listdir("/proc")


@refused("files", errno.EBADF)
def read_inherited(_: Setting) -> None:
    """An inherited descriptor is closed."""
    os.pread(SPARE_DESCRIPTOR, 10, 0)


@refused("files", errno.EACCES)
def read_bundled_data(_: Setting) -> None:
    """Data sets inside packages stay unread."""
    found = next(withheld_data(), None)
    if found is None:
        raise NotApplicableError("no installed package brings data")
    found.read_bytes()


@refused("files", errno.EACCES)
def write_file(setting: Setting) -> None:
    """No file is written elsewhere."""
    (setting.outside / "new").write_text("x")


@refused("files", errno.EACCES)
def delete_file(setting: Setting) -> None:
    """No file elsewhere is deleted."""
    setting.secret.unlink()


@refused("files", errno.EACCES, errno.EXDEV)
def move_out(setting: Setting) -> None:
    """No file leaves the scratch folder."""
    kept = setting.scratch / "kept"
    kept.write_text("x")
    kept.rename(setting.outside / "moved")


@refused("files", errno.EACCES)
def write_given(setting: Setting) -> None:
    """What was given to read is not written."""
    (setting.given / "given").write_text("x")


@refused("files", *_TRUNCATION)
def truncate_given(setting: Setting) -> None:
    """What was given to read is not truncated by name."""
    os.truncate(setting.given / "given", 0)


@refused("files", *_TRUNCATION)
def open_and_truncate_given(setting: Setting) -> None:
    """What was given to read is not truncated while it is opened."""
    os.close(os.open(setting.given / "given", os.O_RDONLY | os.O_TRUNC))


@refused("files", errno.EACCES, free=(DONE, "EACCES"))
def write_library(_: Setting) -> None:
    """The interpreter's files are not written."""
    os.close(os.open(os.__file__, os.O_WRONLY))


@refused("files", errno.EACCES)
def plant_module(setting: Setting) -> None:
    """No file is added to what was given."""
    (setting.given / "sitecustomize.py").write_text("")


@refused("links", policy.LINKS)
def make_symbolic_link(setting: Setting) -> None:
    """No symbolic links."""
    (setting.scratch / "link").symlink_to(setting.secret)


@refused("links", policy.LINKS)
def make_hard_link(setting: Setting) -> None:
    """No hard links."""
    os.link(_own_file(setting), setting.scratch / "hard")


@refused("links", policy.LINKS)
def make_pipe(setting: Setting) -> None:
    """No named pipes."""
    os.mkfifo(setting.scratch / "pipe")


@refused("links", policy.LINKS)
def make_nameless_pipe(_: Setting) -> None:
    """No nameless pipes, whose numbers would tell how many others have made."""
    os.pipe()


@refused("attributes", policy.ATTRIBUTES)
def change_mode(setting: Setting) -> None:
    """No modes are changed."""
    _own_file(setting).chmod(0o777)


@refused("attributes", policy.ATTRIBUTES)
def change_owner(setting: Setting) -> None:
    """No owners are changed."""
    os.chown(_own_file(setting), os.getuid(), os.getgid())


@refused("attributes", policy.ATTRIBUTES)
def change_times(setting: Setting) -> None:
    """No file times are changed."""
    os.utime(setting.secret, (1, 1))


@refused("attributes", policy.ATTRIBUTES)
def set_attribute(setting: Setting) -> None:
    """No extended attributes are set."""
    os.setxattr(_own_file(setting), "user.note", b"x")


@refused("attributes", policy.FACILITIES)
def list_attributes(setting: Setting) -> None:
    """No extended attributes are read elsewhere."""
    os.listxattr(setting.secret)


@refused("allowed", DONE)
def use_scratch(setting: Setting) -> None:
    """The scratch folder is of use."""
    folder = setting.scratch / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "file").write_text("x" * 5000)
    with (folder / "file").open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[0] = 65
    (folder / "file").rename(setting.scratch / "file")
    os.truncate(setting.scratch / "file", 10)
    if (setting.scratch / "file").read_text()[:2] != "Ax":
        raise RuntimeError("what was written is not what is read")
    (setting.scratch / "file").unlink()
    folder.rmdir()


@refused("allowed", DONE)
def read_given(setting: Setting) -> None:
    """What was given is read."""
    (setting.given / "given").read_text()


@refused("allowed", DONE)
def use_system(_: Setting) -> None:
    """Randomness, time zones, the null device, its own mappings."""
    import hashlib
    import zoneinfo

    os.urandom(8)
    hashlib.sha256(b"x").hexdigest()
    with open(os.devnull, "w") as null:  # noqa: PTH123 - as programs do it
        null.write("x")
    Path("/dev/urandom").open("rb").close()
    Path("/proc/self/maps").read_bytes()
    zoneinfo.available_timezones()


@refused("allowed", DONE)
def use_numpy(_: Setting) -> None:
    """NumPy computes."""
    import importlib

    numpy = importlib.import_module("numpy")
    numpy.linalg.svd(numpy.ones((50, 50)))


def _own_file(setting: Setting) -> Path:
    path = setting.scratch / "own"
    path.write_text("x")
    return path
