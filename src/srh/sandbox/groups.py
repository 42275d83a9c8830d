"""Control groups: memory of a contestant as the kernel accounts for it, where it lets us.

A process binds itself to a limit of its data (see ``limits``). What that does not count is the
kernel's own: tables of pages, buffers, files in memory, pages of the template that were copied. A
group of its own bounds all of it together, more loosely. Which of the two versions a machine has,
and whether its user may make groups there, differs; where it is not so, contestants do without.

Who writes its own number into a group joins it. A group goes with its template; one whose template
was killed is cleared away by the next.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_PREFIX: Final = "srh-"
_MEMBERS: Final = "cgroup.procs"


@dataclass(frozen=True, slots=True)
class _Version:
    """The names that a version of control groups uses.

    Attributes:
        limit: File of the limit, in bytes.
        swap: File of what may be swapped out, or of both together.
        swap_holds_all: Whether the latter counts memory as well.
        events: File with a line that counts processes killed for want of memory.
    """

    name: Literal["v1", "v2"]
    limit: str
    swap: str
    swap_holds_all: bool
    events: str


_VERSIONS: Final = {
    "cgroup": _Version(
        "v1", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", True, "memory.oom_control"
    ),
    "cgroup2": _Version("v2", "memory.max", "memory.swap.max", False, "memory.events"),
}


@dataclass(frozen=True, slots=True)
class Group:
    """The group of one process and what comes of it."""

    folder: Path
    version: _Version

    def join(self) -> None:
        """Take this process in.

        Raises:
            OSError: The kernel refuses.
        """
        (self.folder / _MEMBERS).write_text("0", encoding="ascii")

    def bound(self, size: int) -> None:
        """Set what its processes may hold together, in bytes.

        Raises:
            OSError: The kernel refuses.
        """
        (self.folder / self.version.limit).write_text(str(size), encoding="ascii")
        with suppress(FileNotFoundError):  # no swap here, or it is not accounted for
            swap = size if self.version.swap_holds_all else 0
            (self.folder / self.version.swap).write_text(str(swap), encoding="ascii")

    def was_short(self) -> bool:
        """Tell whether the kernel has killed one of its processes for want of memory."""
        with suppress(OSError):
            events = (self.folder / self.version.events).read_text(encoding="ascii")
            killed = re.search(r"^oom_kill (\d+)$", events, re.MULTILINE)
            return killed is not None and int(killed[1]) > 0
        return False

    def remove(self) -> bool:
        """Remove it, and tell whether that was possible: its processes must have ended."""
        try:
            self.folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True


class Groups:
    """The groups of a template.

    Args:
        folder: The group that holds them.
        version: Its version.
    """

    def __init__(self, folder: Path, version: _Version) -> None:
        self._folder = folder
        self._version = version
        self._made = 0
        self._left: list[Group] = []

    @property
    def version(self) -> Literal["v1", "v2"]:
        """The version of control groups."""
        return self._version.name

    @classmethod
    def take(cls) -> Groups | None:
        """Return groups that this process can make, tried out, or None if it cannot."""
        for place, version in _places():
            _clear(place)
            groups = cls(place / f"{_PREFIX}{os.getpid()}", version)
            with suppress(OSError):
                groups._folder.mkdir()
                if groups._works():
                    return groups
            groups.close()
        return None

    def make(self) -> Group:
        """Make a group.

        Raises:
            OSError: The kernel refuses.
        """
        self._made += 1
        group = Group(self._folder / str(self._made), self._version)
        group.folder.mkdir()
        return group

    def remove(self, group: Group) -> None:
        """Remove a group, now or, as long as one of its processes is ending, later."""
        self._left = [one for one in (*self._left, group) if not one.remove()]

    def close(self) -> None:
        """Remove all that can be removed."""
        self._left = [one for one in self._left if not one.remove()]
        with suppress(OSError):
            self._folder.rmdir()

    def _works(self) -> bool:
        if self._version.name == "v2":
            (self._folder / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
        group = self.make()
        try:
            group.bound(1 << 30)
            pid = os.fork()
            if pid == 0:
                try:
                    group.join()
                    os._exit(0)
                finally:
                    os._exit(1)
            return os.waitpid(pid, 0)[1] == 0
        finally:
            self.remove(group)


def _places() -> Iterator[tuple[Path, _Version]]:
    """Yield the groups in which this process could make some: its own one, and those above it.

    A group with processes of its own cannot bound groups beneath it in version 2, so that there
    the one above is the first that will do.
    """
    with suppress(OSError):
        for kind, mounted, root in _hierarchies():
            own = _own_group(kind)
            if own is None or os.path.commonpath([own, root]) != root:
                continue
            place = mounted / os.path.relpath(own, root)
            for above in (place, *place.parents):
                if above.is_relative_to(mounted) and os.access(above, os.W_OK):
                    yield above, _VERSIONS[kind]


def _hierarchies() -> Iterator[tuple[str, Path, str]]:
    """Yield the kind, the place and the root of each hierarchy that may account for memory."""
    for line in _lines("/proc/self/mountinfo"):
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ")
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            root, mounted = left.split(" ")[3:5]
            yield kind, Path(mounted), root


def _own_group(kind: str) -> str | None:
    """Return the path of this process's group within a hierarchy of a kind."""
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "" if kind == "cgroup2" else "memory" in controllers.split(","):
            return path
    return None


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8", errors="surrogateescape").splitlines()


def _clear(place: Path) -> None:
    """Remove what templates have left that were killed: groups with no process in them."""
    for folder in place.glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX)
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for one in (*folder.glob("*/"), folder):
                with suppress(OSError):
                    one.rmdir()
