"""What a contestant may read of this machine: the interpreter, installed packages, libraries.

Landlock only grants, so that a folder with something in it that stays unread is not granted as a
whole: each of its other entries is. Folders of packages may be listed, because importing needs
that, what is withheld in them included: names, not contents.

What packages bring along in data sets is withheld: see ``packages``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from srh.errors import HarnessError
from srh.sandbox.landlock import READ, READ_DIR, READ_FILE, WRITE_FILE, Grant
from srh.sandbox.packages import CODE, entries_of, grants_for, package_folders, within

_LIBRARY: Final = re.compile(r"\.so(\.|$)")
# Subfolders of a library folder that programs load from while they run.
_LIBRARY_FOLDERS: Final = re.compile(
    r"(.+-linux-(gnu|musl).*|gconv|locale|(open)?blas.*|lapack.*|atlas.*|flexiblas)$"
)
_LIBRARY_PLACES: Final = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
)
# Time zones, the loader's index, the machine's processors: what libraries look up on their own.
_SYSTEM_FILES: Final = (
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/dev/urandom",
)
_PACKAGE: Final = Path(__file__).resolve().parents[1]


def readable(trees: Iterable[Path], withheld: Iterable[Path]) -> Iterator[Grant]:
    """Yield what a contestant may read.

    Args:
        trees: What it may read beyond the interpreter, the packages and the system's libraries;
            here the rule about data does not apply. A tree that is a link is not followed.
        withheld: What stays unread within all of it.

    Raises:
        HarnessError: A tree is a link.
    """
    holes = frozenset(str(path.resolve()) for path in (*withheld, _PACKAGE / "_examples"))
    for grant in system_grants():
        yield from _around(grant, holes)
    for tree in trees:
        if tree.is_symlink():
            raise HarnessError(f"{tree}: is a link; a confinement names folders and files")
        yield from _around(Grant(str(tree.resolve()), READ, required=True), holes)
    yield Grant(os.devnull, READ_FILE | WRITE_FILE)


@cache
def system_grants() -> tuple[Grant, ...]:
    """Return the grants for interpreter, packages and libraries, found once per process."""
    folders = package_folders()
    grants = [grant for folder in folders for grant in grants_for(folder)]
    for loose in _loose_folders(folders):
        grants += _loose_packages(loose)
    grants += _standard_library()
    for place in _library_places():
        grants += _libraries(place)
    grants += [Grant(path, READ) for path in _SYSTEM_FILES]
    return tuple(dict.fromkeys(grants))


@cache
def package_places() -> tuple[str, ...]:
    """Return the folders and files of interpreter, packages and libraries, data sets included."""
    folders = package_folders()
    loose = [grant.path for folder in _loose_folders(folders) for grant in _loose_packages(folder)]
    places = (*folders, *loose, *_standard_places(), *_library_places(), *_SYSTEM_FILES)
    return tuple(dict.fromkeys(place for place in places if Path(place).exists()))


def _loose_folders(package_folders: list[str]) -> list[str]:
    """Return the other folders that are searched for modules: those of editable installations."""
    homes = (*package_folders, *_standard_places())
    searched = dict.fromkeys(os.path.realpath(path) for path in sys.path if path)
    loose = [path for path in searched if Path(path).is_dir()]
    return [path for path in loose if not any(within(path, home) for home in homes)]


def _loose_packages(folder: str) -> list[Grant]:
    """Grant the packages in a folder, and nothing else that lies there: it may be a project's."""
    grants: list[Grant] = []
    for entry in entries_of(folder):
        if entry.is_dir():
            if os.path.exists(f"{entry.path}/__init__.py"):  # noqa: PTH110 - False where Path raises
                grants += grants_for(os.path.realpath(entry.path))
        elif entry.name.endswith(CODE):
            grants.append(Grant(entry.path, READ_FILE))
    return grants


def _standard_places() -> list[str]:
    """Return the folders of the standard library, which may keep compiled modules apart."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    apart = f"{sys.base_exec_prefix}/{sys.platlibdir}/{version}"
    places = [os.path.realpath(place) for place in (Path(os.__file__).parent, apart)]
    return list(dict.fromkeys(place for place in places if Path(place).is_dir()))


def _standard_library() -> list[Grant]:
    """Grant the standard library, but not the packages that may lie in its folder."""
    grants: list[Grant] = []
    for place in _standard_places():
        grants.append(Grant(place, READ_DIR))
        grants += [
            Grant(entry.path, READ)
            for entry in entries_of(place)
            if entry.name not in ("site-packages", "dist-packages")
        ]
    # The zipped form of it, and where its compiled modules are apart from it.
    return grants + [Grant(path, READ) for path in sys.path if path.endswith((".zip", "-dynload"))]


def _library_places() -> list[str]:
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    own = [f"{prefix}/{name}" for prefix in sorted(prefixes) for name in ("lib", "lib64")]
    asked = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    places = (*_LIBRARY_PLACES, *own, *(path for path in asked if path))
    return list(dict.fromkeys(os.path.realpath(place) for place in places))


def _libraries(folder: str) -> list[Grant]:
    """Grant the shared libraries in a folder, and the subfolders that they load from."""
    return [
        Grant(entry.path, READ)
        for entry in entries_of(folder)
        if _LIBRARY.search(entry.name) or _LIBRARY_FOLDERS.match(entry.name)
    ]


def _around(grant: Grant, holes: frozenset[str]) -> Iterator[Grant]:
    """Yield a grant, or what is left of it around the holes in it."""
    if any(within(grant.path, hole) for hole in holes):
        return
    if grant.rights == READ_DIR or not any(within(hole, grant.path) for hole in holes):
        yield grant
        return
    yield Grant(grant.path, READ_DIR)
    for entry in entries_of(grant.path):
        if not entry.is_symlink():  # it may lead out of here
            yield from _around(Grant(entry.path, grant.rights), holes)
