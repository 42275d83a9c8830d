"""Giving up every privilege that root, or a capability, would lend."""

from __future__ import annotations

import ctypes
import errno
import struct

from srh.sandbox.kernel import capset, prctl

PR_CAPBSET_READ = 23
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_VERSION_3 = 0x20080522
_MOST = 64  # more than any kernel knows


def drop_capabilities() -> None:
    """Empty this process's capability sets: bounding, ambient, inheritable, permitted, effective.

    The user id stays: as root, too, the process then may do only what file permissions let the
    user with number 0 do.

    Raises:
        OSError: The kernel refuses.
    """
    _empty_bounding_set()
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _VERSION_3, 0))
    capset(header, ctypes.create_string_buffer(struct.pack("=6I", 0, 0, 0, 0, 0, 0)))


def _empty_bounding_set() -> None:
    for number in range(_MOST):
        try:
            prctl(_PR_CAPBSET_DROP, number)
        except OSError as error:
            if error.errno == errno.EINVAL:  # past the last capability of this kernel
                return
            # Without the privilege to drop it the set stays; it only matters to a program that is
            # executed, and nothing is: no-new-privileges and the filter see to that.
            if error.errno != errno.EPERM:
                raise
            return
