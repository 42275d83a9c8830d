"""Each limit holds for a whole evaluation, and by how much it is overshot."""

from __future__ import annotations

import dataclasses
import time
from typing import Final

from srh.evaluation.conformance.models import model
from srh.evaluation.conformance.outcomes import faults
from srh.evaluation.conformance.stage import ROOMY, check, evaluate_source, found, honest
from srh.evaluation.protocol import EvaluationResult
from srh.sandbox.limits import Limits
from srh.sandbox.probe import CheckResult

_GROUP: Final = "limits"
_GRACE_S: Final = 1.0
_SPARE_S: Final = 0.5  # processor time of imports differs from run to run
_SPARE_MB: Final = 24.0

_DEAF: Final = """
    import signal, time
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        try:
            while True:
                {work}
        except BaseException:
            pass
"""
_WRITE: Final = """
    import time
    for number in range(120):
        with open(f"file{number}", "wb") as file:
            file.write(bytes(1 << 20))
        time.sleep(0.005)
    raise ValueError("120 MiB were written")
"""
_CREATE: Final = """
    import time
    for number in range(12_000):
        open(f"file{number}", "wb").close()
    time.sleep(20)
    raise ValueError("12,000 files stayed")
"""
_FLOOD: Final = """
    for _ in range(50):
        os.write(1, b"x" * (1 << 20))
        os.write(2, b"x" * (1 << 20))
    raise ValueError("100 MiB were written")
"""
_GROW: Final = """
    import time
    held = []
    try:
        while True:
            held.append(bytearray(b"x" * (4 << 20)))
    except MemoryError:
        time.sleep(0.2)
        raise
"""
_MODEST: Final = """
    import time
    held = bytearray(b"x" * (150 << 20))
    with open("file", "wb") as file:
        file.write(bytes(8 << 20))
    print("x" * 100_000, flush=True)
    for number in range(300):
        open(f"file{number}", "wb").close()
    end = time.process_time() + 1.2
    while time.process_time() < end:
        pass
"""


def _within() -> CheckResult:
    """Do everything that the other checks are stopped for, where it is allowed."""
    result = evaluate_source(model(fit=_MODEST))
    peak = None if result.usage is None else result.usage.peak_memory_mb
    wrong = faults(result, "ok")
    if not wrong and (peak is None or peak < _honest_peak() + 100):
        wrong.append(f"its peak memory is given as {peak} MiB, after it took 150")
    return found(_GROUP, wrong, f"ok, peak memory {peak or 0:.0f} MiB")


def _processor() -> CheckResult:
    result = evaluate_source(
        model(fit=_DEAF.format(work="pass")), limits=dataclasses.replace(ROOMY, cpu_s=1)
    )
    used, usual = _cpu_s(result), _cpu_s(honest())
    wrong = faults(result, "cpu_timeout", "processor time limit")
    # The hard limit is a second above the soft one, which this model ignores.
    if not 0.5 < used - usual <= 2 + _SPARE_S:
        wrong.append(f"{used - usual:.2f} s were used at a limit of 1 s")
    return found(_GROUP, wrong, f"ended after {used - usual:.2f} s at a limit of 1 s")


def _elapsed() -> CheckResult:
    limit = 2.5
    started = time.monotonic()
    result = evaluate_source(model(fit=_DEAF.format(work="time.sleep(600)")), timeout=limit)
    elapsed = time.monotonic() - started
    wrong = faults(result, "wall_timeout", "evaluation timed out")
    if elapsed > limit + _GRACE_S:
        wrong.append(f"it took {elapsed:.2f} s at a limit of {limit:g} s")
    return found(_GROUP, wrong, f"over after {elapsed:.2f} s at a limit of {limit:g} s")


def _memory() -> CheckResult:
    limit = 100.0
    result = evaluate_source(model(fit=_GROW), limits=dataclasses.replace(ROOMY, memory_mb=limit))
    wrong = faults(result, "memory")
    peak = None if result.usage is None else result.usage.peak_memory_mb
    taken = None if peak is None else peak - _honest_peak()
    if taken is None or not limit / 2 < taken < limit + _SPARE_MB:
        wrong.append(f"its peak is given as {taken} MiB beyond the usual, at a limit of {limit:g}")
    return found(_GROUP, wrong, f"{taken or 0:.0f} MiB were taken at a limit of {limit:g} MiB")


def _disk() -> CheckResult:
    return _overflow(
        _WRITE, dataclasses.replace(ROOMY, disk_mb=8), "disk_limit", "120 files of 1 MiB at 8 MiB"
    )


def _files() -> CheckResult:
    return _overflow(_CREATE, ROOMY, "disk_limit", "12,000 empty files at 10,000")


def _output() -> CheckResult:
    return _overflow(_FLOOD, ROOMY, "output_limit", "100 MiB of output at 256 KiB")


def _overflow(work: str, limits: Limits, outcome: str, what: str) -> CheckResult:
    """Have a model go on far beyond a limit: it says so if nobody stops it."""
    started = time.monotonic()
    result = evaluate_source(model(fit=work), limits=limits)
    wrong = faults(result, "disk_limit" if outcome == "disk_limit" else "output_limit")
    elapsed = time.monotonic() - started
    return found(_GROUP, wrong, f"{what}: {outcome} after {elapsed:.1f} s in all")


def _honest_peak() -> float:
    usage = honest().usage
    return 0.0 if usage is None or usage.peak_memory_mb is None else usage.peak_memory_mb


def _cpu_s(result: EvaluationResult) -> float:
    return 0.0 if result.usage is None else result.usage.cpu_s


CHECKS: Final = (
    check("A model that takes much, within its limits, is ok", _GROUP, _within),
    check("Processor time ends a model that is deaf to all signals", _GROUP, _processor),
    check("Elapsed time ends a model that is deaf to all signals", _GROUP, _elapsed),
    check("A growing model gets its memory, and no more", _GROUP, _memory),
    check("Many small files count together", _GROUP, _disk),
    check("Files are counted", _GROUP, _files),
    check("Output through bare descriptors is bounded", _GROUP, _output),
)
"""One check at least for each limit."""
