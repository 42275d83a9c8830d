"""What `srh doctor` says: which protections hold on this machine, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from srh.formats import pretty_json
from srh.report.cells import plain_table, print_table
from srh.sandbox.probe import Check, CheckResult, Status, run_checks
from srh.text import one_line, plural

if TYPE_CHECKING:
    from rich.console import Console

_MARKS: dict[Status, str] = {"ok": "ok", "failed": "FAILED", "absent": "absent"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One check with its result.

    Attributes:
        name: What is to hold.
        group: What it belongs to.
        status: Whether it holds.
        detail: What was seen.
        meaning: What follows; empty if it holds.
    """

    name: str
    group: str
    status: Status
    detail: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found on this machine.

    Attributes:
        sound: Whether everything that code trials need holds.
        verdict: What that means, in a sentence.
        findings: Every check.
    """

    sound: bool
    verdict: str
    findings: tuple[Finding, ...]


def diagnose(results: Iterable[tuple[Check, CheckResult]] | None = None) -> Diagnosis:
    """Run the checks and say what follows from them.

    Args:
        results: Results to judge; None: the checks are run now.
    """
    findings = tuple(
        Finding(check.name, check.group, result.status, result.detail, result.meaning)
        for check, result in (run_checks() if results is None else results)
    )
    failed = [finding for finding in findings if finding.status == "failed"]
    return Diagnosis(not failed, _verdict(failed, len(findings)), findings)


def diagnosis_json(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as strict JSON."""
    return pretty_json(diagnosis).decode()


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print a diagnosis: one line per check, then what follows."""
    table = plain_table("result", "check", "group")
    for column in table.columns:
        column.justify = "left"
        column.no_wrap = False
    for finding in diagnosis.findings:
        table.add_row(_MARKS[finding.status], finding.name, finding.group)
    print_table(table, console)
    for finding in diagnosis.findings:
        if finding.status != "ok":
            meaning = f" This means: {finding.meaning}." if finding.meaning else ""
            line = f"{_MARKS[finding.status]}: {finding.name}: {finding.detail}.{meaning}"
            console.print(one_line(line, 600), soft_wrap=True)
    console.print(diagnosis.verdict, soft_wrap=True)


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
