"""What holds on this machine: one list of named checks, run by ``srh doctor`` and by the tests.

Every check tries something for real, in a process that is locked down as a contestant is, and the
same in a free process, where it has to succeed: so each check can fail.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from srh.sandbox import landlock, lockdown
from srh.sandbox.conformance.attempt import ATTEMPTS, Attempt
from srh.sandbox.conformance.base import bounds, facilities, files, processes
from srh.sandbox.conformance.check import Check, CheckResult, Status, run_side_by_side
from srh.sandbox.conformance.optional import HOLDS, MEANINGS, TRIES

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
    "runs",
]

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
    "optional": "a comfort is missing that no score rests on",
    "clean-up": "trials could go on running after srh was ended",
}


def require_sandbox() -> None:
    """Return if code trials can be confined on this machine.

    Raises:
        SandboxUnavailableError: They cannot; it says what is missing and what that means.
    """
    missing = lockdown.missing_protections()
    if missing:
        raise lockdown.unavailable(missing)


def run_checks(
    checks: Sequence[Check] | None = None, *, jobs: int = 1
) -> Iterator[tuple[Check, CheckResult]]:
    """Run checks and yield each with its result, in their order.

    Where the protections themselves are missing only the checks of the platform are run, and the
    others are absent.

    Args:
        checks: Which; None: all of the sandbox's own.
        jobs: How many at a time.
    """
    missing = lockdown.missing_protections()
    chosen = CHECKS if checks is None else checks
    if not missing:
        yield from run_side_by_side(chosen, jobs)
        return
    for check in chosen:
        if check.group == "platform":
            yield check, check.run()
        else:
            meaning = _MEANINGS["platform"]
            yield check, CheckResult("absent", "not tried: a protection is missing", meaning)


def _check_protections() -> CheckResult:
    missing = lockdown.missing_protections()
    if missing:
        detail = f"missing: {'; '.join(missing)}"
        return CheckResult("failed", detail, _MEANINGS["platform"])
    return CheckResult("ok", f"Landlock {landlock.abi()}, seccomp, {os.uname().machine}")


def _check_attempt(attempt: Attempt) -> CheckResult:
    """Make an attempt in a free process, then in a locked-down one."""
    with _stage() as setting:
        free = _base().make(attempt, "free", setting)
    if free.startswith("not applicable"):
        return CheckResult("absent", free)
    if free not in attempt.free_endings:
        return CheckResult("absent", f"a free process cannot do it either here ({free})")
    with _stage() as setting:
        locked = _base().make(attempt, "locked", setting)
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
            _end(self._process)
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = _start("base.main()", stdin=subprocess.PIPE)
        # With the thread whose it is, or with this process.
        weakref.finalize(self, _end, self._process)
        return self._process


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:
        process.kill()
        process.communicate()


_bases = threading.local()


def _base() -> _Base:
    """Return this thread's process: each answers one request at a time."""
    if not hasattr(_bases, "own"):
        _bases.own = _Base()
    found: _Base = _bases.own
    return found


def _start(call: str, *arguments: str, stdin: int) -> subprocess.Popen[bytes]:
    """Start a process of ours, with the modules that we have, in an environment of its own."""
    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.append({package!r})"
    program += f"; from srh.sandbox.conformance import base, optional; {call}"
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
        parent = _start("base.linger(sys.argv[1])", setting, stdin=subprocess.DEVNULL)
        with parent:
            assert parent.stdout is not None  # noqa: S101 - it is a pipe
            line = parent.stdout.readline().strip()
            parent.kill()
        if not line.isdigit():
            return CheckResult("failed", "the process did not start", meaning)
        started = time.monotonic()
        while runs(int(line)) and time.monotonic() - started < _DEATH_S:
            time.sleep(0.01)
        if runs(int(line)):
            os.kill(int(line), signal.SIGKILL)
            return CheckResult("failed", f"it runs {_DEATH_S:g} s after its parent", meaning)
    return CheckResult("ok", f"it ended within {time.monotonic() - started:.2f} s")


def _try_optional(name: str) -> CheckResult:
    """Try a protection that is not needed, in a process of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="srh-check-") as folder,
        _start("optional.main()", name, folder, stdin=subprocess.DEVNULL) as process,
    ):
        try:
            said, _ = process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            said = b""
    seen = said.decode(errors="replace") or "it could not be tried"
    if seen.startswith(HOLDS):
        return CheckResult("ok", seen.removeprefix(HOLDS))
    return CheckResult("info", f"not here: {seen}", MEANINGS[name])


def runs(pid: int) -> bool:
    """Tell whether a process runs; one that has only not been waited for does not."""
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
    *(
        Check((try_.__doc__ or name).removesuffix("."), "optional", partial(_try_optional, name))
        for name, try_ in TRIES.items()
    ),
)
"""Every check, in the order in which they are run and shown."""
