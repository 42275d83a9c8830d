"""Which files a process may reach, as layers of Landlock.

What interpreter, packages and libraries grant is some hundred rules. A template prepares them once
as a layer that its processes put on; each then puts on a second one of its own, which names its own
folders and, else, only where packages are. What holds is what both grant. Where the one cannot be
told from the other by folders (packages that lie in the folder for temporary files, say), a process
builds a single layer of its own.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from srh.errors import HarnessError
from srh.sandbox import landlock
from srh.sandbox.packages import within
from srh.sandbox.readable import package_places, readable

# Numeric libraries read there which libraries of threads are loaded.
OWN_MAPPINGS: Final = "/proc/self/maps"
"""What a contestant may read of its own process."""

# Of the kernel's own file systems, and of a system's settings, only what is named.
_EXACT: Final = ("/proc/", "/sys/", "/dev/", "/etc/")
_READING: Final = landlock.READ | landlock.WRITE_FILE  # the other layer lets it write one device

_LAYER_DESCRIPTOR: Final = 100

_prepared: _Prepared | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What a template has found out for all that it forks.

    Attributes:
        layer: Descriptor of the grants for interpreter, packages, libraries, all of `base`, and all
            of what the kernel says of processes.
        base: The folder that folders of contestants lie in.
        inode: Which folder that was: another one may come in its place.
        granted: Paths of interpreter, packages and libraries that the layer grants.
        places: Where these lie: a few folders, none of which holds any of the base.
    """

    layer: int
    base: str
    inode: tuple[int, int]
    granted: tuple[str, ...]
    places: tuple[str, ...]


def prepare_layers(*processes: str) -> None:
    """Prepare what contestants may read in common; where that cannot be used, they do without.

    Args:
        processes: What they may see as ``/proc``.
    """
    global _prepared  # noqa: PLW0603 - a template prepares once
    base = os.path.realpath(tempfile.gettempdir())
    grants = list(readable((), ()))
    granted = tuple(grant.path for grant in grants)
    if any(within(path, base) or within(base, path) for path in granted):
        return
    version = landlock.abi()
    # Whose maps a process reads only it can name: this layer leaves that to the other one.
    grants += [landlock.Grant(place, landlock.READ_FILE) for place in processes]
    layer = landlock.build([*grants, landlock.Grant(base, landlock.SCRATCH)], version)
    # Out of the way of the low numbers, which forked processes use.
    kept = fcntl.fcntl(layer, fcntl.F_DUPFD_CLOEXEC, _LAYER_DESCRIPTOR)
    os.close(layer)
    _prepared = _Prepared(
        layer=kept,
        base=base,
        inode=_inode(base),
        granted=granted,
        places=tuple(dict.fromkeys(_place(path, base) for path in granted)),
    )


def prepared_descriptors() -> tuple[int, ...]:
    """Return the descriptors that a process needs to keep until it locks itself down."""
    return () if _prepared is None else (_prepared.layer,)


def contestant_layers(read: Sequence[Path], withheld: Sequence[Path], scratch: Path) -> list[int]:
    """Return the sets of grants that bind a contestant, as descriptors.

    Args:
        read: Trees that it may read beyond interpreter, packages and system libraries.
        withheld: Trees inside readable ones that stay unread.
        scratch: The one folder that it may write.

    Raises:
        HarnessError: A path is a link.
        OSError: A path is missing, or the kernel refuses.
    """
    if scratch.is_symlink():
        raise HarnessError(f"{scratch}: the scratch folder is a link")
    own = [
        landlock.Grant(OWN_MAPPINGS, landlock.READ_FILE),
        landlock.Grant(str(scratch.absolute()), landlock.SCRATCH, required=True),
    ]
    common = _usable((*read, scratch), withheld)
    if common is None:
        return [landlock.build([*own, *readable(read, withheld)], landlock.abi())]
    own += [landlock.Grant(place, _READING) for place in common.places]
    own += [landlock.Grant(str(tree), landlock.READ, required=True) for tree in read]
    return [common.layer, landlock.build(own, landlock.abi())]


def scorer_layers(read: Sequence[Path], write: Sequence[Path]) -> list[int]:
    """Return the set of grants that binds a scorer, as descriptors.

    Args:
        read: What it reads beyond interpreter, packages and system libraries.
        write: Folders that it writes.

    Raises:
        OSError: A path is missing, or the kernel refuses.
    """
    grants = [landlock.Grant(place, landlock.READ) for place in (*package_places(), "/proc")]
    grants += [landlock.Grant(str(path), landlock.READ, required=True) for path in read]
    grants += [landlock.Grant(str(path), landlock.SCRATCH, required=True) for path in write]
    grants.append(landlock.Grant(os.devnull, _READING))
    return [landlock.build(grants, landlock.abi())]


def _usable(own: Sequence[Path], withheld: Sequence[Path]) -> _Prepared | None:
    """Return what was prepared, if it holds for a process with these paths of its own."""
    if _prepared is None or _inode(_prepared.base) != _prepared.inode:
        return None
    if any(path.is_symlink() or not within(os.path.realpath(path), _prepared.base) for path in own):
        return None
    holes = [os.path.realpath(path) for path in withheld]
    if any(within(hole, path) for hole in holes for path in (*_prepared.granted, *map(str, own))):
        return None
    return _prepared


def _inode(folder: str) -> tuple[int, int]:
    status = Path(folder).stat()
    return status.st_dev, status.st_ino


def _place(path: str, base: str) -> str:
    """Return the outermost folder around a path that holds none of the base.

    Of what lies in the kernel's own file systems, or in a system's settings, only itself.
    """
    if path.startswith(_EXACT):
        return path
    parents = [str(parent) for parent in Path(path).parents]
    return next((parent for parent in reversed(parents) if not within(base, parent)), path)
