"""From one score per fold to one number, with the population that it stands for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from srh.errors import MetricError
from srh.metrics.interval import Interval
from srh.metrics.score import Score, Status
from srh.metrics.spec import Aggregation
from srh.text import plural

_SHOWN = 3  # reasons, and folds per reason, that are spelt out
# A contract that was broken outweighs evidence that was lacking, and both a missing meaning.
GRAVITY: Mapping[Status, int] = {"scored": 0, "non_evaluable": 1, "blocked": 2, "error": 3}


class Aggregate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One metric over all folds, or over all examples.

    Attributes:
        value: The combined value, or None: of folds as soon as one has none, of examples where
            fewer have one than the metric declares.
        status: ``"scored"``, or the gravest status among those without a value.
        reason: Why there is no value, naming what lacks one; None if there is one.
        n_scored: Number of folds or examples that have a value.
        n_total: Number of folds or examples.
        interval: Confidence interval of the value, of examples only: folds share training rows, so
            that an interval over them would be too narrow (`srh compare` allows for that).
        reasons: How many have no value, by the code of the reason.
        spread: Mean spread of repeated judgements, where there were several of one example.
    """

    value: float | None
    status: Status
    reason: str | None
    n_scored: int
    n_total: int
    interval: Interval | None = None
    reasons: dict[str, int] = {}
    spread: float | None = None


def aggregate(scores: Sequence[Score], how: Aggregation = "mean") -> Aggregate:
    """Combine one metric's scores over folds.

    A mean over the folds that happened to work would flatter whatever failed on the hard ones, so
    that a single fold without a value leaves the whole without one.

    Args:
        scores: One score per fold, in fold order, all of the same metric.
        how: Aggregation that the metric's declaration names.

    Raises:
        MetricError: The scores are of different metrics, or ``how`` is unknown.
    """
    if how != "none" and how not in REDUCERS:
        raise MetricError(f"unknown aggregation {how!r}; known: {', '.join(REDUCERS)}, none")
    names = sorted({score.name for score in scores})
    if len(names) > 1:
        raise MetricError(f"scores of different metrics cannot be combined: {', '.join(names)}")
    values = [score.value for score in scores if score.value is not None]
    if values and len(values) == len(scores):
        if how == "none":
            reason = "not_aggregated: the metric declares that its scores have no common value"
            return Aggregate(None, "non_evaluable", reason, len(values), len(scores))
        return Aggregate(REDUCERS[how](values), "scored", None, len(values), len(scores))
    status, reason = _why_missing(scores)
    codes = Counter(str(score.code) for score in scores if score.value is None)
    return Aggregate(None, status, reason, len(values), len(scores), reasons=dict(codes))


def _why_missing(scores: Sequence[Score]) -> tuple[Status, str]:
    missing = [(fold, score) for fold, score in enumerate(scores) if score.value is None]
    if not missing:
        return "non_evaluable", "no_folds: there is no fold to combine"
    # Python's sort is stable: folds of equal gravity stay in their order.
    missing.sort(key=lambda item: -GRAVITY[item[1].status])
    folds_of: dict[str, list[int]] = {}
    for fold, score in missing:
        folds_of.setdefault(str(score.message), []).append(fold)
    parts = [f"{_name_folds(folds)}: {message}" for message, folds in folds_of.items()]
    hidden = sum(len(folds) for folds in list(folds_of.values())[_SHOWN:])
    if hidden:
        parts[_SHOWN:] = [f"and {plural(hidden, 'more fold')}"]
    gravest = missing[0][1]
    return gravest.status, f"{gravest.code}: {'; '.join(parts)}"


def _name_folds(folds: Sequence[int]) -> str:
    if len(folds) == 1:
        return f"fold {folds[0]}"
    more = f" and {len(folds) - _SHOWN} more" if len(folds) > _SHOWN else ""
    return f"folds {', '.join(map(str, folds[:_SHOWN]))}{more}"


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value, rounded once."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum is too large for a float, the mean is not
        return math.fsum(value / len(values) for value in values)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else mean(ordered[middle - 1 : middle + 1])


REDUCERS: Mapping[Aggregation, Callable[[Sequence[float]], float]] = {
    "mean": mean,
    "rate": mean,
    "median": _median,
    "min": min,
    "max": max,
}
