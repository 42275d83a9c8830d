"""A judge's scores, from what was recorded of asking one. Nobody is asked here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from srh.metrics.builtin import bad_configuration
from srh.metrics.evidence import EvaluatorContext, EvidenceBundle, Example, JudgeEvidence
from srh.metrics.score import Score
from srh.metrics.spec import MetricSpec

_LONGEST = 60  # characters of a text that may be a judge's number


def judge_score(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """What a judge said of this output, on the metric's explicit scale; the mean of repetitions.

    Without a judgement the score is ``blocked``, or ``non_evaluable`` where the metric does not
    require one. A judgement that was not had (``timeout``, ``provider_error``, ``missing``) blocks
    the score, even if others were had: whoever is hard to judge would gain. One that cannot be
    read, or lies outside the scale, is an ``error``.
    """
    del example
    name = context.metric
    if context.lower is None or context.upper is None:
        return bad_configuration(context, "a judge's scale needs both ends: set lower and upper")
    judgements = bundle.judge_evidence
    if not judgements or all(one.status == "missing" for one in judgements):
        message = "no judgement of this output is recorded"
        required = "judge_evidence" in context.required_evidence
        make = Score.blocked if required else Score.non_evaluable
        return make(name, "no_judge_evidence", message)
    values = []
    for one in judgements:
        value = to_score(one.value) if one.status == "ok" else None
        flaw = _flaw(one, value, context.lower, context.upper)
        if flaw is not None:
            status, code, message = flaw
            make = Score.error if status == "error" else Score.blocked
            return make(name, code, f"{one.ref or one.model}: {message}")
        assert value is not None  # noqa: S101 - else it has a flaw
        values.append(value)
    mean, spread = _mean_and_spread(values)
    return Score(
        name,
        mean,
        "scored",
        evidence=tuple(one.ref for one in judgements if one.ref),
        spread=spread,
    )


def to_score(value: Any) -> float | None:
    """Return a judge's answer as a finite number, or None if it is none."""
    if isinstance(value, str) and len(value) <= _LONGEST and value.isascii() and "_" not in value:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def check_scale(spec: MetricSpec) -> dict[str, str]:
    """Return what is wrong with the scale of a metric that a judge decides."""
    if spec.range is None or spec.range.lower is None or spec.range.upper is None:
        return {"range": "a judge scores on an explicit scale: give lower and upper"}
    return {}


def _flaw(
    one: JudgeEvidence, value: float | None, lower: float, upper: float
) -> tuple[str, str, str] | None:
    """Return status, code and message of a judgement that gives no score, or None."""
    if one.status in ("timeout", "provider_error", "missing"):
        return "blocked", f"judge_{one.status}", f"asking the judge ended with {one.status}"
    if one.status == "malformed" or value is None:
        return "error", "unparseable", "the judge's answer is no number"
    if not lower <= value <= upper:
        return "error", "off_scale", f"{value:g} is not on the scale from {lower:g} to {upper:g}"
    return None


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean, and the standard deviation where there are several."""
    mean = min(max(math.fsum(values) / len(values), min(values)), max(values))
    if len(values) == 1:
        return mean, None
    return mean, math.hypot(*(value - mean for value in values)) / math.sqrt(len(values) - 1)
