"""Is one trial really better than another, on the same folds?

The scores of two trials on the same fold belong together, so their differences are judged, not
their means. Folds share most of their training rows, so the differences are not independent, and
the usual t interval is too narrow. The corrected resampled t interval widens it: with k folds,
standard deviation s of the differences, and n_validation rows scored for n_train rows fitted, the
variance of the mean difference is s² (1/k + n_validation / n_train), with k - 1 degrees of freedom.

Source: C. Nadeau, Y. Bengio, "Inference for the Generalization Error", Machine Learning 52 (2003)
239-281, section 4.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from srh.metrics import Direction
from srh.text import plural

Verdict = Literal["better", "worse", "not distinguishable", "identical", "no verdict"]
CONFIDENCE = 0.95
# Differences below this share of the values come from the order of additions, not from a trial.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Paired:
    """One trial against a baseline on one metric.

    Attributes:
        metric: Name of the metric.
        direction: Which end is better.
        baseline: The baseline's value in each fold; None where there is none.
        other: The other trial's value in each fold.
        differences: Other minus baseline in each fold.
        mean: Mean difference; None unless every fold has one.
        low: Lower end of the 95 % confidence interval; None where there is no interval.
        high: Upper end.
        verdict: What this says of the other trial; ``identical``: the same value in every fold.
        reason: Why there is no verdict.
        unit: What the values are of.
        labels: Names of the examples; folds have none.
    """

    metric: str
    direction: Direction | None
    baseline: tuple[float | None, ...]
    other: tuple[float | None, ...]
    differences: tuple[float | None, ...]
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict = "no verdict"
    reason: str | None = None
    unit: Literal["fold", "example"] = "fold"
    labels: tuple[str, ...] = ()


def compare_examples(
    metric: str,
    direction: Direction | None,
    baseline: Sequence[float | None],
    other: Sequence[float | None],
    labels: Sequence[str],
) -> Paired:
    """Judge a trial against a baseline by their scores on the same examples.

    Examples share no training rows, so that the interval is Student's.

    Args:
        metric: Name of the metric.
        direction: Which end is better.
        baseline: The baseline's value on each example; None where there is none.
        other: The other trial's value on each example.
        labels: Names of the examples.
    """
    found = compare_folds(metric, direction, baseline, other, (), unit="example")
    return dataclasses.replace(found, labels=tuple(labels))


def compare_folds(
    metric: str,
    direction: Direction | None,
    baseline: Sequence[float | None],
    other: Sequence[float | None],
    sizes: Sequence[tuple[int, int]],
    *,
    unit: Literal["fold", "example"] = "fold",
) -> Paired:
    """Judge a trial against a baseline by their scores on the same folds.

    Args:
        metric: Name of the metric.
        direction: Which end is better.
        baseline: The baseline's value in each fold; None where there is none.
        other: The other trial's value in each fold.
        sizes: Training and validation rows of each fold; none: nothing is shared.
        unit: What the values are of.
    """
    before, after = tuple(baseline), tuple(other)
    reason = _obstacle(before, after, unit)
    if reason is None and direction is None:
        reason = "the metric has no better end"
    if reason is not None or direction is None:
        known = _where_known(before, after)
        return Paired(metric, direction, before, after, known, reason=reason, unit=unit)
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a is not None and b is not None]
    differences = [b - a for a, b in pairs]
    mean = math.fsum(differences) / len(differences)
    verdict, low, high, reason = _judge(pairs, differences, mean, direction, sizes, unit)
    return Paired(
        metric,
        direction,
        before,
        after,
        tuple(differences),
        mean,
        low,
        high,
        verdict,
        reason,
        unit,
    )


def _where_known(
    before: Sequence[float | None], after: Sequence[float | None]
) -> tuple[float | None, ...]:
    """Return the differences of folds that have one, None for the others."""
    if len(before) != len(after):
        return ()
    known = [None if a is None or b is None else b - a for a, b in zip(before, after, strict=True)]
    # An overflowing difference is no number that a report could carry.
    return tuple(None if d is None or not math.isfinite(d) else d for d in known)


def _obstacle(
    before: Sequence[float | None], after: Sequence[float | None], unit: str
) -> str | None:
    """Return what keeps two lists of scores from being paired."""
    if not before or not after:
        return "it has no scores" if not after else "the baseline has no scores"
    if len(before) != len(after):
        return f"{len(before)} {unit}s cannot be paired with {len(after)}"
    for values, who in ((before, "the baseline"), (after, "it")):
        absent = [str(fold) for fold, value in enumerate(values) if value is None]
        if absent and unit == "example":
            return f"{who} has no value on {len(absent)} of {plural(len(values), unit)}"
        if absent:
            folds = "fold" if len(absent) == 1 else "folds"
            return f"{who} has no value in {folds} {', '.join(absent)}"
    pairs = zip(before, after, strict=True)
    if not all(math.isfinite(b - a) for a, b in pairs if a is not None and b is not None):
        return "a difference is too large for a number"
    return None


def _judge(
    pairs: Sequence[tuple[float, float]],
    differences: Sequence[float],
    mean: float,
    direction: Direction,
    sizes: Sequence[tuple[int, int]],
    unit: str,
) -> tuple[Verdict, float | None, float | None, str | None]:
    """Return verdict, interval and reason for folds that all have a difference."""
    if not any(differences):
        return "identical", None, None, None
    if len(differences) == 1:
        return "no verdict", None, None, f"there is one {unit} only, so there is no interval"
    if all(abs(b - a) <= _ROUNDING * max(abs(a), abs(b)) for a, b in pairs):
        return "not distinguishable", None, None, "they differ by rounding only"
    half = 0.0 if len(set(differences)) == 1 else _half_width(differences, mean, sizes)
    if not math.isfinite(half):
        return "no verdict", None, None, "the spread of the differences is too large for a number"
    return _favour(mean, half, direction), mean - half, mean + half, None


def _half_width(
    differences: Sequence[float], mean: float, sizes: Sequence[tuple[int, int]]
) -> float:
    """Return half the width of the corrected resampled t interval."""
    from scipy.special import stdtrit

    folds = len(differences)
    spread = math.hypot(*(d - mean for d in differences)) / math.sqrt(folds - 1)
    share = sum(validation / train for train, validation in sizes) / folds  # 0 of examples
    quantile = float(stdtrit(folds - 1, (1 + CONFIDENCE) / 2))
    return quantile * spread * math.sqrt(1 / folds + share)


def _favour(mean: float, half: float, direction: Direction) -> Verdict:
    if abs(mean) <= half:
        return "not distinguishable"
    return "better" if (mean < 0) == (direction == "minimize") else "worse"
