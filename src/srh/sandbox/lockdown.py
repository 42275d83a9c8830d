"""Binding this process, before it runs a trial's code.

The threat. A trial is a program that somebody else wrote, a language model perhaps, and that gains
by a better score than it earned. It runs with the user's own rights. It may look for the labels (in
files, in packages, in other processes), leave word for its next run, tamper with results or with
its judge, stay behind when it is told to end, or use up the machine. After `lock_down` this process
can read the interpreter, the packages and what it was given; write one scratch folder; compute; and
answer on the descriptors it was left. There is no way back: each step binds all that the process
may become, and the last two cannot be undone by any code that runs in it, native code included.

The steps, each ordered by what it needs of the one before:

0. Work out what may be read, from paths as they are now. No link is followed that a trial could
   have made: none can be made in a scratch folder, and a tree that is a link is refused.
1. Close every descriptor but the ones to keep. What is open stays usable under all that follows:
   Landlock judges when a file is opened, not when it is read.
2. Reseed: a contestant that was forked must not share its random numbers with its siblings.
3. Find out, while ``/proc`` can still be read, what later steps need from it; then, in a process
   with mounts of its own, lay something over it.
4. Drop every capability, as root too. Capabilities override file permissions, limits, and the
   bounds between processes; a limit that root could raise again would be none.
5. Lower the limits. Before the filter, which refuses limits to nobody but is best kept short of
   exceptions; after the capabilities, so that no later step may raise them.
6. No-new-privileges: the kernel asks for it before an unprivileged process may restrict itself.
7. Landlock: files by path, and, where the kernel knows how, TCP, abstract sockets and signals. It
   has to come before the filter, which refuses to open what it needs and to call it at all.
8. The filter of system calls, last, because everything above is among what it refuses. It closes
   what Landlock does not cover: processes, other sockets, shared memory, attributes of files,
   locks, and on early versions of Landlock truncation.

A process with several threads is refused: capabilities, Landlock and the filter bind the calling
thread and those that come of it, and another one would stay free.

What remains open, since nothing here can close it: the metadata of files (that they exist, their
size and dates) can be read anywhere, and so can clocks and the load of the machine. Who reads a
file may leave a trace in the date of its last use, or in how quickly it is read again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from srh.errors import HarnessError, SandboxUnavailableError
from srh.sandbox import landlock, seccomp
from srh.sandbox.capabilities import drop_capabilities
from srh.sandbox.kernel import LINUX, close_others, count_threads, prctl, stack_bounds
from srh.sandbox.layers import OWN_MAPPINGS, contestant_layers, prepare_layers, scorer_layers
from srh.sandbox.limits import (
    STACK_BYTES,
    Limits,
    apply_limits,
    bound_address_space,
    deny_resources,
    limit_memory,
    parse_status,
)
from srh.sandbox.mounts import cover_descriptors, hide_processes
from srh.sandbox.policy import Role
from srh.sandbox.readable import package_places

Level = Literal["full", "unsafe"]

_PR_SET_NO_NEW_PRIVS: Final = 38
_STACK_GAP: Final = 1 << 20  # what the kernel keeps free below a stack, by default

# Descriptor of /proc/self/status: opened by lock_down, used up by finish_memory.
_status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What one contestant may do.

    Attributes:
        read: Trees that it may read beyond interpreter, packages and system libraries.
        scratch: The one folder that it may write; its working folder, its home, its TMPDIR.
        limits: Its limits.
        keep: Descriptors that stay open.
        withheld: Trees inside readable ones that stay unread.
        unsafe: Apply the limits only. Its code then can do whatever the user can.
    """

    read: tuple[Path, ...]
    scratch: Path
    limits: Limits
    keep: tuple[int, ...] = (0, 1, 2)
    withheld: tuple[Path, ...] = ()
    unsafe: bool = False


def lock_down(confinement: Confinement) -> Level:
    """Bind this process to a confinement, for good.

    Args:
        confinement: What it may do.

    Returns:
        ``"full"``, or ``"unsafe"`` if the confinement says so.

    Raises:
        SandboxUnavailableError: A protection is missing on this machine.
        HarnessError: This process has threads already, or a path of the confinement is missing.
    """
    missing = () if confinement.unsafe else missing_protections()
    if missing:
        raise unavailable(missing)
    layers = [] if confinement.unsafe else _layers(confinement)
    close_others((*confinement.keep, *layers, *cover_descriptors()))
    reseed()
    _settle_in(confinement.scratch.absolute())
    if confinement.unsafe:
        apply_limits(confinement.limits)
        return "unsafe"
    _require_one_thread()
    _look_ahead()
    hide_processes()
    _bind("contestant", layers, confinement.limits)
    return "full"


def prepare(*, contestants: bool, cover: str | None = None) -> None:
    """Find out, before anything is forked, what is the same in every confinement.

    Args:
        contestants: Whether contestants will be forked, or scorers only.
        cover: What will be laid over ``/proc`` for contestants (see ``mounts.prepare_cover``).
    """
    if missing_protections():
        return
    package_places()
    roles: list[Role] = ["scorer"]
    if contestants:
        prepare_layers("/proc", *([] if cover is None else [cover]))
        roles.append("contestant")
    truncation = landlock.abi() >= landlock.TRUNCATE_ABI
    for role in roles:
        for threads in (False, True):
            seccomp.assembled(role, threads, truncation, _below_stack())


def lock_scorer(
    read: Sequence[Path], write: Sequence[Path], limits: Limits, *, keep: tuple[int, ...]
) -> None:
    """Bind this process, which runs no code of a trial, to what judging takes.

    It reads its inputs and the packages, writes its folders, and has no network. Where this machine
    lacks a protection it goes without: none of it stands between a trial and its score.

    Args:
        read: What it reads beyond interpreter, packages and libraries.
        write: Folders that it writes, and what its contestants write in.
        limits: Its own limits.
        keep: Descriptors that stay open.

    Raises:
        HarnessError: A path is missing, or this process has threads.
    """
    bound = not missing_protections()
    if bound:
        _require_one_thread()
    try:
        layers = scorer_layers(read, write) if bound else []
    except FileNotFoundError as error:
        raise HarnessError(f"what is to be evaluated is missing: {error}") from error
    close_others((*keep, *layers))
    if bound:
        _bind("scorer", layers, limits)
    else:
        apply_limits(limits)


def finish_memory(limits: Limits) -> None:
    """Bind this process to its memory limit, counted from what it holds now.

    Call it after the imports that are not the trial's, and before the trial's code.
    """
    global _status  # noqa: PLW0603 - a process is locked down once
    if _status is None:
        limit_memory(limits)
        return
    status = os.pread(_status, 65536, 0).decode("ascii", "replace")
    os.close(_status)
    _status = None
    limit_memory(limits, held=parse_status(status, "VmData"))
    bound_address_space(limits, held=parse_status(status, "VmSize"))


def missing_protections() -> tuple[str, ...]:
    """Return what this machine lacks of the protections that code trials need, in words."""
    if not LINUX:
        return (f"Linux (this is {sys.platform})",)
    missing = []
    if seccomp.architecture() is None:
        missing.append(f"a system call policy for this kind of machine ({seccomp.machine()})")
    elif not seccomp.available():
        missing.append("system call filters (seccomp) in the kernel")
    if landlock.abi() < 1:
        missing.append("Landlock in the kernel (Linux 5.13 or newer, and enabled at its start)")
    return tuple(missing)


def unavailable(missing: Sequence[str]) -> SandboxUnavailableError:
    """Return the error that refuses code trials, naming what is missing."""
    return SandboxUnavailableError(
        f"code trials are refused on this machine: it lacks {' and '.join(missing)}. Formula trials"
        " run. --unsafe-no-sandbox runs code without protection: only for code that you trust; the"
        " result and every table will say so"
    )


def _layers(confinement: Confinement) -> list[int]:
    try:
        return contestant_layers(confinement.read, confinement.withheld, confinement.scratch)
    except FileNotFoundError as error:
        raise HarnessError(f"a path of the confinement is missing: {error}") from error
    except OSError as error:
        raise _broken(error) from error


def _broken(error: OSError) -> SandboxUnavailableError:
    return unavailable([f"a protection that its kernel promised ({error})"])


def _bind(role: Role, layers: list[int], limits: Limits) -> None:
    version = landlock.abi()
    below_stack = _below_stack()
    try:
        drop_capabilities()
        apply_limits(limits)
        deny_resources(limits)
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        for layer in layers:
            landlock.enforce(layer)
        seccomp.install_filter(
            role,
            threads=limits.threads > 1,
            truncation=version >= landlock.TRUNCATE_ABI,
            below_stack=below_stack,
        )
    except OSError as error:
        raise _broken(error) from error


def reseed() -> None:
    """Draw new seeds, so that processes which were forked from one do not share its numbers."""
    for name in ("random", "numpy.random"):  # what is imported later seeds itself
        module = sys.modules.get(name)
        if module is not None:
            module.seed()


def _settle_in(scratch: Path) -> None:
    """Make the scratch folder the place where files go if nobody says where."""
    os.chdir(scratch)
    os.environ["TMPDIR"] = os.environ["HOME"] = str(scratch)
    tempfile = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile.tempdir = None  # type: ignore[attr-defined] # forget what was found before


def _require_one_thread() -> None:
    threads = count_threads()
    if threads != 1:
        raise HarnessError(
            f"a process is locked down before it starts threads; this one has {threads or 'some'}"
        )


@cache
def _below_stack() -> int:
    """Return an address below all that the stack can become; 0 where the kernel does not tell."""
    bounds = stack_bounds()
    if bounds is None:
        return 0
    start, end = bounds
    return max(0, min(start, end - STACK_BYTES) - _STACK_GAP)


def _look_ahead() -> None:
    """Open what will be out of reach later."""
    global _status  # noqa: PLW0603
    _status = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    # A grant holds as long as the kernel keeps its idea of the file, which it may drop when memory
    # is short; a descriptor that stays open, though it cannot be read, prevents that.
    os.open(OWN_MAPPINGS, os.O_PATH | os.O_CLOEXEC)
