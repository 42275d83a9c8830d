"""From a measurement to a verdict: the only place that makes one."""

from __future__ import annotations

from typing import Literal

import msgspec

from srh.metrics.aggregate import Aggregate
from srh.metrics.spec import MetricSpec

GateVerdict = Literal["pass", "fail", "blocked", "informational"]


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The verdict on one number.

    Attributes:
        name: Name of the number.
        verdict: ``informational``: nothing hangs on it; ``blocked``: a gate whose value is missing.
        reason: Why, in words.
        approver: Who answers for the gate; None where there is none.
    """

    name: str
    verdict: GateVerdict
    reason: str
    approver: str | None = None


def judge_gate(spec: MetricSpec, name: str, measured: Aggregate | None) -> Gate:
    """Turn threshold, authority and population into a verdict.

    Args:
        spec: The metric, complete and let in by the registry.
        name: Which of its numbers.
        measured: The number; None: nothing was measured.
    """
    value = None if measured is None else measured.value
    if spec.authority == "informational":
        return Gate(name, "informational", "it decides nothing")
    if value is None or measured is None:
        why = (measured.reason if measured else None) or "nothing was measured"
        return Gate(name, "blocked", why, spec.approver)
    if spec.threshold is None or spec.direction is None:  # the registry lets no such gate in
        return Gate(name, "blocked", "threshold or direction is missing", spec.approver)
    minimize = spec.direction == "minimize"
    good = value <= spec.threshold if minimize else value >= spec.threshold
    sign = "<=" if minimize else ">="
    population = f"{measured.n_scored} of {measured.n_total} scored"
    reason = f"{value:.6g} {sign if good else 'is not ' + sign} {spec.threshold:g} ({population})"
    return Gate(name, "pass" if good else "fail", reason, spec.approver)
