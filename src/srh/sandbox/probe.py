"""What holds on this machine: one list of named checks, run by ``srh doctor`` and by the tests.

Every check tries something for real, in a process that is locked down as a contestant is, and the
same in a free process, where it has to succeed: so each check can fail.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from srh.sandbox import landlock, lockdown
from srh.sandbox.conformance.attempt import ATTEMPTS, Attempt
from srh.sandbox.conformance.base import bounds, facilities, files, processes

__all__ = [
    "CHECKS",
    "Check",
    "CheckResult",
    "Status",
    "bounds",
    "facilities",
    "files",
    "processes",
    "require_sandbox",
    "run_checks",
]

Status = Literal["ok", "failed", "absent"]

_TIMEOUT_S: Final = 60.0
_DEATH_S: Final = 2.0

_MEANINGS: Final = {
    "platform": "code trials are refused on this machine",
    "files": "a trial could read labels, or tamper with results",
    "links": "a trial could lead whoever reads its files astray",
    "attributes": "a trial could alter files that are not its own, or leave word in them",
    "allowed": "trials that do nothing wrong would fail",
    "processes": "a trial could outlive its limits in another process",
    "other processes": "a trial could disturb or read the process that judges it",
    "network": "a trial could tell or fetch labels",
    "shared memory": "a trial could use memory that no limit counts, or leave word in it",
    "locks": "a trial could signal from one fold to another",
    "descriptors": "a trial could disturb the process that judges it",
    "privileges": "a trial could undo its confinement",
    "facilities": "a trial could reach parts of the kernel that nobody guards here",
    "foreign calls": "a trial could get around the filter of system calls",
    "limits": "a trial could use up the machine",
    "clean-up": "trials could go on running after srh was ended",
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check came out.

    Attributes:
        status: ``ok``: it holds; ``failed``: it does not; ``absent``: it could not be tried here.
        detail: What was seen.
        meaning: What follows from it; empty if it holds, or if nothing follows.
    """

    status: Status
    detail: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One named check.

    Attributes:
        name: What is to hold, in words.
        group: What it belongs to.
        run: Finds out whether it holds.
    """

    name: str
    group: str
    run: Callable[[], CheckResult]


def require_sandbox() -> None:
    """Return if code trials can be confined on this machine.

    Raises:
        SandboxUnavailableError: They cannot; it says what is missing and what that means.
    """
    missing = lockdown.missing_protections()
    if missing:
        raise lockdown.unavailable(missing)


def run_checks(checks: Sequence[Check] | None = None) -> Iterator[tuple[Check, CheckResult]]:
    """Run checks one after the other and yield each with its result.

    Where the protections themselves are missing only the checks of the platform are run, and the
    others are absent.

    Args:
        checks: Which; None: all.
    """
    missing = lockdown.missing_protections()
    for check in CHECKS if checks is None else checks:
        if missing and check.group != "platform":
            meaning = _MEANINGS["platform"]
            yield check, CheckResult("absent", "not tried: a protection is missing", meaning)
        else:
            yield check, check.run()


def _check_protections() -> CheckResult:
    missing = lockdown.missing_protections()
    if missing:
        detail = f"missing: {'; '.join(missing)}"
        return CheckResult("failed", detail, _MEANINGS["platform"])
    return CheckResult("ok", f"Landlock {landlock.abi()}, seccomp, {os.uname().machine}")


def _check_attempt(attempt: Attempt) -> CheckResult:
    """Make an attempt in a free process, then in a locked-down one."""
    with _stage() as setting:
        free = _base.make(attempt, "free", setting)
    if free.startswith("not applicable"):
        return CheckResult("absent", free)
    if free not in attempt.free_endings:
        return CheckResult("absent", f"a free process cannot do it either here ({free})")
    with _stage() as setting:
        locked = _base.make(attempt, "locked", setting)
    if locked in attempt.endings:
        return CheckResult("ok", f"free: {free}, locked down: {locked}")
    wanted = " or ".join(attempt.endings)
    detail = f"locked down: {locked}, not {wanted}"
    return CheckResult("failed", detail, _MEANINGS[attempt.group])


class _Base:
    """The process that makes attempts, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, attempt: Attempt, level: str, setting: str) -> str:
        """Return how an attempt ends."""
        process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(f"{attempt.act.__name__} {level} {setting}\n".encode())
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], _TIMEOUT_S)
        answer = process.stdout.readline().decode(errors="replace") if ready else ""
        if not answer:
            self.stop()
            return f"no end within {_TIMEOUT_S:g} s" if not ready else "the process went away"
        return answer.removesuffix("\n")

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = _start("main()", stdin=subprocess.PIPE)
        atexit.register(self.stop)
        return self._process


_base = _Base()


def _start(call: str, *arguments: str, stdin: int) -> subprocess.Popen[bytes]:
    """Start a process of ours, with the modules that we have, in an environment of its own."""
    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.append({package!r})"
    program += f"; from srh.sandbox.conformance import base; base.{call}"
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return subprocess.Popen(  # noqa: S603 - the command is ours
        [sys.executable, "-s", "-P", "-c", program, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **one, **kept},
    )


@contextmanager
def _stage() -> Iterator[str]:
    """Make the folders and the neighbour that an attempt needs, and remove them afterwards."""
    with tempfile.TemporaryDirectory(prefix="srh-check-") as name:
        root = Path(name).resolve()
        for folder in ("scratch", "given", "outside"):
            (root / folder).mkdir()
        (root / "given" / "given").write_text("given\n")
        (root / "given" / "closed").write_text("closed\n")
        (root / "given" / "closed").chmod(0)
        (root / "outside" / "secret").write_text("secret\n")
        neighbour = subprocess.Popen(["/bin/sleep", "600"], stdin=subprocess.DEVNULL)
        try:
            folders = {path.name: str(path) for path in root.iterdir()}
            yield json.dumps({**folders, "neighbour": neighbour.pid})
        finally:
            neighbour.kill()
            neighbour.wait()


def _check_end_with_parent() -> CheckResult:
    """Kill the parent of a locked-down process; the process has to go too."""
    meaning = _MEANINGS["clean-up"]
    with _stage() as setting:
        parent = _start("linger(sys.argv[1])", setting, stdin=subprocess.DEVNULL)
        with parent:
            assert parent.stdout is not None  # noqa: S101 - it is a pipe
            line = parent.stdout.readline().strip()
            parent.kill()
        if not line.isdigit():
            return CheckResult("failed", "the process did not start", meaning)
        started = time.monotonic()
        while _runs(int(line)) and time.monotonic() - started < _DEATH_S:
            time.sleep(0.01)
        if _runs(int(line)):
            os.kill(int(line), signal.SIGKILL)
            return CheckResult("failed", f"it runs {_DEATH_S:g} s after its parent", meaning)
    return CheckResult("ok", f"it ended within {time.monotonic() - started:.2f} s")


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


CHECKS: Final[tuple[Check, ...]] = (
    Check("The kernel has the protections", "platform", _check_protections),
    *(
        Check(attempt.name, attempt.group, partial(_check_attempt, attempt))
        for attempt in ATTEMPTS.values()
    ),
    Check("It ends with its parent, even by kill -9", "clean-up", _check_end_with_parent),
)
"""Every check, in the order in which they are run and shown."""
