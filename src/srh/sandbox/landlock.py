"""Landlock: which files this process may reach, and that it reaches no network.

Landlock only grants: what no rule names is denied, and a rule on a folder covers all beneath it.
Kernels know more or less of it, by a version number (ABI). Rights that a kernel does not know are
left out; what that leaves open is closed by the system call filter (see ``lockdown``).
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from srh.sandbox.kernel import LINUX, syscall

_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

EXECUTE: Final = 1 << 0
WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE_DIR: Final = 1 << 4
REMOVE_FILE: Final = 1 << 5
MAKE_CHAR: Final = 1 << 6
MAKE_DIR: Final = 1 << 7
MAKE_REG: Final = 1 << 8
MAKE_SOCK: Final = 1 << 9
MAKE_FIFO: Final = 1 << 10
MAKE_BLOCK: Final = 1 << 11
MAKE_SYM: Final = 1 << 12
REFER: Final = 1 << 13
TRUNCATE: Final = 1 << 14
IOCTL_DEV: Final = 1 << 15

READ: Final = READ_FILE | READ_DIR
# Regular files and folders only: no links, pipes, sockets or devices, and nothing to execute.
# REFER lets a file move between two folders that both have these rights.
SCRATCH: Final = (
    READ | WRITE_FILE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR | REFER | TRUNCATE
)
_FOR_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

TRUNCATE_ABI: Final = 3
NETWORK_ABI: Final = 4
SCOPE_ABI: Final = 6
_RIGHTS_SINCE: Final = ((1, MAKE_SYM), (2, REFER), (TRUNCATE_ABI, TRUNCATE), (5, IOCTL_DEV))
_NETWORK: Final = 0b11  # bind and connect of TCP
_SCOPES: Final = 0b11  # abstract unix sockets, signals


@dataclass(frozen=True, slots=True)
class Grant:
    """Rights on a file, or on a folder and all beneath it.

    Attributes:
        path: The file or folder; links are followed.
        rights: The rights, a sum of the constants above.
        required: Whether it is an error if the path does not exist.
    """

    path: str
    rights: int
    required: bool = False


def abi() -> int:
    """Return the version of Landlock that this kernel has, 0 if it has none."""
    if not LINUX:
        return 0
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:  # not compiled in, not enabled at start, or denied by a container's filter
        return 0


def handled_rights(version: int) -> int:
    """Return all rights on files that a version of Landlock knows."""
    newest = max(last for since, last in _RIGHTS_SINCE if since <= version)
    return (newest << 1) - 1


def build(grants: Iterable[Grant], version: int) -> int:
    """Return a descriptor of a set of grants, which `enforce` makes hold.

    Args:
        grants: What is granted; all else is denied, every use of TCP and every signal and abstract
            socket that leads out included, where the kernel's version knows these.
        version: Version of Landlock to use, at least 1.

    Raises:
        OSError: The kernel refuses, or a required path does not exist.
    """
    handled = handled_rights(version)
    ruleset = _create(handled, version)
    try:
        for grant in grants:
            _add(ruleset, grant, handled)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def enforce(ruleset: int) -> None:
    """Bind this thread and all that come of it to a set of grants, for good, and close it.

    What is bound to several sets may do what every one of them grants. No-new-privileges has to be
    set.

    Raises:
        OSError: The kernel refuses.
    """
    try:
        syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _create(handled: int, version: int) -> int:
    fields = [handled]
    if version >= NETWORK_ABI:
        fields.append(_NETWORK)
    if version >= SCOPE_ABI:
        fields.append(_SCOPES)
    packed = struct.pack(f"={len(fields)}Q", *fields)
    return syscall(_CREATE_RULESET, ctypes.create_string_buffer(packed), len(packed), 0)


def _add(ruleset: int, grant: Grant, handled: int) -> None:
    try:
        descriptor = os.open(grant.path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        if grant.required:
            raise
        return
    try:
        rights = grant.rights & handled
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FOR_FILES
        if rights == 0:
            return
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor))
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
