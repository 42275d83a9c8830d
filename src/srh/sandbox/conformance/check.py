"""The form of a named check, and how many are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "info", "absent", "failed"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check came out.

    Attributes:
        status: ``ok``: it holds; ``failed``: it does not; ``absent``: it could not be tried here;
            ``info``: it does not hold, and need not.
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


def run_side_by_side(checks: Sequence[Check], jobs: int) -> Iterator[tuple[Check, CheckResult]]:
    """Run checks, several at a time, and yield each with its result, in their order.

    Args:
        checks: The checks.
        jobs: How many at a time, each in a thread.
    """
    if jobs == 1:
        yield from ((check, check.run()) for check in checks)
        return
    pool = ThreadPoolExecutor(jobs)
    try:
        running = [pool.submit(check.run) for check in checks]
        for check, future in zip(checks, running, strict=True):
            yield check, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
