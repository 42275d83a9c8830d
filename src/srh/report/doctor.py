"""What `srh doctor` says: which protections hold on this machine, and what follows."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, get_args

from srh import __version__
from srh.errors import UsageError
from srh.formats import pretty_json
from srh.report.cells import console as make_console
from srh.sandbox import landlock
from srh.sandbox.probe import Check, CheckResult, Status, run_checks
from srh.text import did_you_mean, one_line, plural

if TYPE_CHECKING:
    from rich.console import Console

_MARKS: dict[Status, str] = {"ok": "ok", "info": "info", "absent": "absent", "failed": "FAILED"}
_WIDTH = 9
_MOST_JOBS = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One check with its result.

    Attributes:
        name: What is to hold.
        group: What it belongs to.
        status: Whether it holds: ``ok``, ``failed``, ``absent`` (it could not be tried here), or
            ``info`` (it does not hold, and need not).
        detail: What was seen.
        meaning: What follows; empty if it holds.
    """

    name: str
    group: str
    status: Status
    detail: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Where the checks were run, and how they came out.

    Attributes:
        counts: How many checks have each status.
        seconds: How long they took; None if that was not measured.
        versions: Versions of the kernel, its Landlock (0: none), Python and srh; and the machine.
        user: Number of the user who ran them.
    """

    counts: dict[Status, int]
    seconds: float | None
    versions: dict[str, str | int]
    user: int


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found on this machine.

    Attributes:
        sound: Whether everything that code trials need holds.
        verdict: What that means, in a sentence.
        findings: Every check.
        summary: Where, and how many.
    """

    sound: bool
    verdict: str
    findings: tuple[Finding, ...]
    summary: Summary = field(default_factory=lambda: _summarize((), None))


def choose_checks(groups: Sequence[str] = ()) -> list[Check]:
    """Return the checks of some groups, that of the platform always; all if none is named.

    Raises:
        UsageError: There is no such group.
    """
    from srh.evaluation.conformance import EVERY_CHECK

    known = list(dict.fromkeys(check.group for check in EVERY_CHECK))
    for group in groups:
        if group not in known:
            raise UsageError(
                f"--only {group}: no such group of checks{did_you_mean(group, known)}; "
                f"there are: {', '.join(known)}"
            )
    wanted = {*groups, "platform"} if groups else set(known)
    return [check for check in EVERY_CHECK if check.group in wanted]


def diagnose(results: Iterable[tuple[Check, CheckResult]] | None = None) -> Diagnosis:
    """Say what follows from checks.

    Args:
        results: Results to judge; None: all checks are run now.
    """
    started = time.monotonic()
    findings = tuple(
        Finding(check.name, check.group, result.status, result.detail, result.meaning)
        for check, result in (watch(choose_checks()) if results is None else results)
    )
    seconds = round(time.monotonic() - started, 3)
    failed = [finding for finding in findings if finding.status == "failed"]
    summary = _summarize(findings, seconds)
    return Diagnosis(not failed, _verdict(failed, len(findings)), findings, summary)


def watch(checks: Sequence[Check]) -> Iterator[tuple[Check, CheckResult]]:
    """Run checks, with a bar on standard error if that is a terminal; yield each with its result.

    Args:
        checks: The checks.
    """
    with _bar(len(checks)) as step:
        for check, result in run_checks(checks, jobs=_jobs()):
            step(check.group)
            yield check, result


def diagnosis_json(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as strict JSON."""
    return pretty_json(diagnosis).decode()


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print a diagnosis: one line per check, by group; then what does not hold, and what follows.

    Args:
        diagnosis: What was found.
        console: Where to print.
    """
    for group, findings in groupby(diagnosis.findings, key=lambda finding: finding.group):
        console.print(group, style="bold", soft_wrap=True)
        for finding in findings:
            console.print(f"  {_MARKS[finding.status]:{_WIDTH}}{finding.name}", soft_wrap=True)
    noted: tuple[Status, ...] = ("absent", "info", "failed")
    for status in noted:
        for finding in diagnosis.findings:
            if finding.status == status:
                console.print(_note(finding), soft_wrap=True)
    console.print(_footer(diagnosis.summary), soft_wrap=True)
    console.print(diagnosis.verdict, soft_wrap=True)


def _note(finding: Finding) -> str:
    meaning = f" This means: {finding.meaning}." if finding.meaning else ""
    return one_line(f"{_MARKS[finding.status]}: {finding.name}: {finding.detail}.{meaning}", 600)


def _footer(summary: Summary) -> str:
    versions = summary.versions
    counts = ", ".join(
        f"{count} {status}" for status, count in summary.counts.items() if count or status == "ok"
    )
    took = "" if summary.seconds is None else f" in {summary.seconds:.0f} s"
    return (
        f"{counts}{took}; srh {versions['srh']}, Python {versions['python']}, "
        f"{versions['kernel']}, Landlock {versions['landlock'] or 'missing'}, user {summary.user}"
    )


def _summarize(findings: Sequence[Finding], seconds: float | None) -> Summary:
    seen = Counter(finding.status for finding in findings)
    statuses: tuple[Status, ...] = get_args(Status)
    return Summary(
        counts={status: seen[status] for status in statuses},
        seconds=seconds,
        versions={
            "kernel": f"{platform.system()} {platform.release()}",
            "machine": platform.machine(),
            "landlock": landlock.abi(),
            "python": platform.python_version(),
            "srh": __version__,
        },
        user=os.geteuid() if hasattr(os, "geteuid") else -1,
    )


def _verdict(failed: Sequence[Finding], total: int) -> str:
    if not failed:
        return f"code trials are confined on this machine: {plural(total, 'check')}, none failed"
    if any(finding.group == "platform" for finding in failed):
        reasons = "; ".join(one_line(finding.detail) for finding in failed)
        return f"code trials are refused on this machine: {reasons}"
    return (
        f"{plural(len(failed), 'check')} of {total} failed: scores of code trials from this machine"
        " do not deserve trust"
    )


def _jobs() -> int:
    """Return how many checks are run at a time: one more than cores, since many of them wait.

    Not many more, though: others measure time.
    """
    cores = len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else 1
    return min(_MOST_JOBS, cores + 1)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that is told of each check that is done."""
    out = make_console(stderr=True)
    if not out.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda group: bar.update(task, advance=1, description=one_line(group, 40))
