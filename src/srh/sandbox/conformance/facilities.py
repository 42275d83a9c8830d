"""Attempts on the kernel's facilities: network, shared memory, locks, privileges, foreign calls."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import pty
import socket
import struct
from pathlib import Path

from srh.sandbox import policy
from srh.sandbox.conformance.attempt import NotApplicableError, Setting, call, packed, refused
from srh.sandbox.seccomp import machine

_FIOASYNC = 0x5452
_TIOCSTI = 0x5412
_FIOSETOWN = 0x8901
_MAP_GROWSDOWN = 0x100
_X32 = 0x4000_0000
_ANSWER = 1  # a pipe
_CLONE_NEWUSER = 0x1000_0000


@refused("network", policy.NETWORK)
def internet_socket(_: Setting) -> None:
    """No TCP or UDP."""
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


@refused("network", policy.NETWORK)
def unix_socket(_: Setting) -> None:
    """No unix sockets."""
    socket.socket(socket.AF_UNIX).close()


@refused("network", policy.NETWORK)
def netlink_socket(_: Setting) -> None:
    """No netlink."""
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()


@refused("network", policy.NETWORK)
def socket_pair(_: Setting) -> None:
    """No pairs of sockets."""
    for end in socket.socketpair():
        end.close()


@refused("shared memory", policy.SHARED_MEMORY)
def memory_file(_: Setting) -> None:
    """No memory files."""
    os.close(os.memfd_create("x"))


@refused("shared memory", policy.SHARED_MEMORY)
def shared_mapping(_: Setting) -> None:
    """No shared anonymous memory."""
    mmap.mmap(-1, 4096).close()


@refused("shared memory", policy.SHARED_MEMORY)
def growing_mapping(_: Setting) -> None:
    """No mapping that grows, which no limit counts."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_GROWSDOWN
    mmap.mmap(-1, 4096, flags=flags).close()


@refused("shared memory", policy.SHARED_MEMORY)
def system_v_memory(_: Setting) -> None:
    """No System V shared memory."""
    call("shmctl", call("shmget", 0, 4096, 0o1600), 0, 0)


@refused("shared memory", policy.SHARED_MEMORY)
def system_v_semaphore(_: Setting) -> None:
    """No System V semaphores."""
    call("semctl", call("semget", 0, 1, 0o1600), 0, 0)


@refused("shared memory", policy.SHARED_MEMORY)
def system_v_messages(_: Setting) -> None:
    """No System V messages."""
    call("msgctl", call("msgget", 0, 0o1600), 0, 0)


@refused("shared memory", policy.SHARED_MEMORY)
def message_queue(_: Setting) -> None:
    """No POSIX message queues."""
    name = ctypes.c_char_p(f"srh-{os.getpid()}".encode())
    os.close(call("sys_mq_open", name, os.O_CREAT | os.O_RDWR, 0o600, None))
    call("sys_mq_unlink", name)


@refused("shared memory", errno.EACCES)
def named_memory(_: Setting) -> None:
    """No shared memory by name."""
    path = f"/dev/shm/srh-{os.getpid()}"  # noqa: S108 - that is the place
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    Path(path).unlink()


@refused("locks", policy.LOCKS)
def lock_file(setting: Setting) -> None:
    """No locks of files."""
    with (setting.scratch / "locked").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


@refused("locks", policy.LOCKS)
def lock_range(setting: Setting) -> None:
    """No locks of parts of files."""
    with (setting.scratch / "locked").open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)


@refused("locks", policy.LOCKS)
def take_lease(setting: Setting) -> None:
    """No leases."""
    with (setting.scratch / "leased").open("w") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)


@refused("descriptors", policy.FCNTL)
def set_owner(setting: Setting) -> None:
    """No owner of a descriptor's signals."""
    fcntl.fcntl(0, fcntl.F_SETOWN, setting.neighbour)


@refused("descriptors", policy.FCNTL)
def set_signal(_: Setting) -> None:
    """No other signal for a descriptor."""
    fcntl.fcntl(0, fcntl.F_SETSIG, 0)


@refused("descriptors", policy.FCNTL)
def ask_for_signals(_: Setting) -> None:
    """No signals on input."""
    fcntl.fcntl(_ANSWER, fcntl.F_SETFL, os.O_ASYNC)


@refused("descriptors", policy.IOCTL)
def ask_for_signals_by_ioctl(_: Setting) -> None:
    """No signals on input by the other call."""
    fcntl.ioctl(_ANSWER, _FIOASYNC, struct.pack("=i", 1))


@refused("descriptors", policy.FCNTL)
def enlarge_pipe(_: Setting) -> None:
    """No larger pipes."""
    fcntl.fcntl(_ANSWER, fcntl.F_SETPIPE_SZ, 1 << 17)


def _terminal() -> int:
    return pty.openpty()[1]


def _socket() -> int:
    end, other = socket.socketpair()
    other.detach()  # stays open
    return end.detach()


@refused("descriptors", policy.IOCTL, standard_input=_terminal)
def type_into_terminal(_: Setting) -> None:
    """No typing into a terminal."""
    fcntl.ioctl(0, _TIOCSTI, b"x")


@refused("descriptors", policy.IOCTL, standard_input=_socket)
def set_socket_owner(_: Setting) -> None:
    """No owner of a socket's signals."""
    fcntl.ioctl(0, _FIOSETOWN, struct.pack("=i", os.getpid()))


@refused("network", policy.NETWORK, standard_input=_socket)
def send_message(_: Setting) -> None:
    """No message over a socket that was left."""
    call("sys_sendto", 0, ctypes.c_char_p(b"x"), 1, socket.MSG_NOSIGNAL, None, 0)


@refused("privileges", policy.PRIVILEGES)
def change_user(_: Setting) -> None:
    """No change of user."""
    call("sys_setuid", os.getuid())


@refused("privileges", policy.PRIVILEGES)
def new_namespace(_: Setting) -> None:
    """No namespaces."""
    call("sys_unshare", _CLONE_NEWUSER)


@refused("privileges", policy.PRIVILEGES)
def change_root(setting: Setting) -> None:
    """No other root folder."""
    os.chroot(setting.scratch)


@refused("privileges", policy.PRIVILEGES)
def mount(setting: Setting) -> None:
    """No mounts."""
    target = ctypes.c_char_p(os.fsencode(setting.scratch))
    call("sys_mount", ctypes.c_char_p(b"x"), target, ctypes.c_char_p(b"tmpfs"), 0, None)
    call("sys_umount2", target, 2)


@refused("privileges", errno.EACCES)
def override_permissions(setting: Setting) -> None:
    """No capabilities are left, root's included."""
    (setting.given / "closed").read_text()


@refused("privileges", policy.PRIVILEGES)
def change_personality(_: Setting) -> None:
    """No other personality."""
    call("sys_personality", 0)


@refused("facilities", policy.FACILITIES)
def make_ring(_: Setting) -> None:
    """No io_uring."""
    os.close(call("sys_io_uring_setup", 1, ctypes.create_string_buffer(120)))


@refused("facilities", policy.FACILITIES)
def load_bpf(_: Setting) -> None:
    """No bpf."""
    # a map: type array, keys of 4 bytes, values of 4 bytes, one entry
    os.close(call("sys_bpf", 0, packed("=4I56x", 2, 4, 4, 1), 72))


@refused("facilities", policy.FACILITIES)
def use_keyring(_: Setting) -> None:
    """No keyrings."""
    call("sys_keyctl", 0, -3, 1)  # the session's keyring, made if need be


@refused("facilities", policy.FACILITIES)
def count_events(_: Setting) -> None:
    """No performance counters."""
    # software, size, clock; only its own user mode
    attributes = packed("=IIQ24xQ64x", 1, 112, 0, 0b1100000)
    os.close(call("sys_perf_event_open", attributes, 0, -1, -1, 0))


@refused("facilities", policy.FACILITIES)
def watch_files(_: Setting) -> None:
    """No watching of files."""
    os.close(call("sys_inotify_init1", 0))


@refused("facilities", policy.FACILITIES)
def ask_about_filters(_: Setting) -> None:
    """No further filters."""
    action = packed("=I", 0x7FFF_0000)
    call("sys_seccomp", 2, 0, action)


@refused("foreign calls", policy.FOREIGN, free=("done", "ENOSYS"))
def call_x32(_: Setting) -> None:
    """No x32 calls."""
    if machine() != "x86_64":
        raise NotApplicableError("this architecture has no such calls")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(_X32 | 39)) == -1:  # getpid
        raise OSError(ctypes.get_errno(), "x32")


@refused("foreign calls", "SIGSYS")
def call_32_bit(_: Setting) -> None:
    """No 32-bit calls."""
    if machine() != "x86_64":
        raise NotApplicableError("a process of this architecture cannot make such calls")
    code = b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"  # push rbx; eax = getpid; int 0x80; pop; ret
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    page = mmap.mmap(-1, 4096, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() != os.getpid():
        raise NotApplicableError("this kernel takes no 32-bit calls")
