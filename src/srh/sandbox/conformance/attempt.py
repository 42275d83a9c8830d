"""The form of an attempt, and what attempts share."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from srh.sandbox.limits import Limits

DONE: Final = "done"
"""How an attempt ends that succeeds; otherwise: the name of an error number, of another exception,
or of the signal that ended the process."""

SPARE_DESCRIPTOR: Final = 9
"""A descriptor of the file outside that is open when the attempting process is locked down."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where an attempt takes place.

    Attributes:
        scratch: The folder that the process may write.
        given: A folder that it was given to read, with a file ``given``.
        outside: A folder that is nothing of its business, with a file ``secret``.
        neighbour: Process id of another process of the same user.
    """

    scratch: Path
    given: Path
    outside: Path
    neighbour: int

    @property
    def secret(self) -> Path:
        """The file outside."""
        return self.outside / "secret"


def null_device() -> int:
    """Return a descriptor of the null device."""
    return os.open(os.devnull, os.O_RDONLY)


class NotApplicableError(Exception):
    """The attempt means nothing on this machine; its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Something that a process tries to do.

    Attributes:
        name: What is to hold, in words.
        group: What it belongs to.
        act: Does it; returning means that it was done.
        endings: How it may end in a locked-down process.
        limits: Limits of that process.
        free_endings: How it has to end in a free one.
        standard_input: Opens what the process has as descriptor 0.
    """

    name: str
    group: str
    act: Callable[[Setting], object]
    endings: tuple[str, ...]
    limits: Limits = field(default_factory=lambda: Limits(cpu_s=20))
    free_endings: tuple[str, ...] = (DONE,)
    standard_input: Callable[[], int] = null_device


ATTEMPTS: Final[dict[str, Attempt]] = {}
"""Every attempt by the name of its function, in the order of definition."""


def refused(
    group: str,
    *endings: int | str,
    free: tuple[str, ...] = (DONE,),
    standard_input: Callable[[], int] = null_device,
    **limits: float,
) -> Callable[[Callable[[Setting], object]], Callable[[Setting], object]]:
    """Return a decorator that enters a function among the attempts.

    The function's docstring says in a sentence what is to hold; it becomes the attempt's name.

    Args:
        group: What it belongs to.
        endings: How it has to end in a locked-down process: error numbers, names of exceptions
            or of signals.
        free: How it has to end in a free one.
        standard_input: Opens what the process has as descriptor 0.
        limits: Fields of the locked-down process's limits.
    """

    def enter(act: Callable[[Setting], object]) -> Callable[[Setting], object]:
        names = tuple(end if isinstance(end, str) else errno_name(end) for end in endings)
        bounds = Limits(**{"cpu_s": 20, **limits})  # type: ignore[arg-type]
        ATTEMPTS[act.__name__] = Attempt(
            name=(act.__doc__ or act.__name__).removesuffix("."),
            group=group,
            act=act,
            endings=names,
            limits=bounds,
            free_endings=free,
            standard_input=standard_input,
        )
        return act

    return enter


def errno_name(number: int) -> str:
    """Return the name of an error number."""
    return errno.errorcode.get(number, f"error {number}")


def call(name: str, *arguments: object) -> int:
    """Call a function of the C library, or a system call by name with the prefix ``sys_``.

    Raises:
        OSError: It failed.
        NotApplicableError: There is no such call on this architecture.
    """
    from srh.sandbox.seccomp import architecture

    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    if name.startswith("sys_"):
        known = architecture()
        number = known.numbers.get(name.removeprefix("sys_")) if known else None
        if number is None:
            raise NotApplicableError("this architecture does not have the call")
        libc.syscall.restype = ctypes.c_long
        result = int(libc.syscall(ctypes.c_long(number), *words))
    else:
        result = int(libc[name](*words))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def packed(layout: str, *values: int | bytes) -> ctypes.Array[ctypes.c_char]:
    """Return a C structure."""
    return ctypes.create_string_buffer(struct.pack(layout, *values))
