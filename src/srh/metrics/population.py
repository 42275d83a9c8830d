"""From the scores of many examples to one number, with the population that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from srh.metrics.aggregate import GRAVITY, REDUCERS, Aggregate, mean
from srh.metrics.column import ScoreColumn
from srh.metrics.interval import Interval, bootstrap_median, student_t, wilson
from srh.metrics.spec import MetricSpec, Range
from srh.text import one_line

_ROUNDING = 1e-9


def summarize(
    columns: Mapping[str, ScoreColumn], specs: Sequence[MetricSpec], ids: Sequence[str]
) -> dict[str, Aggregate]:
    """Return the number behind each name, floored ones included.

    Args:
        columns: Scores by name.
        specs: The metrics that they belong to, complete.
        ids: The examples' ids, in their order.
    """
    found: dict[str, Aggregate] = {}
    for spec in specs:
        for name in spec.emitted:
            found[name] = headline(spec, columns[name], ids)
        if spec.floor is not None:
            found[spec.floor.name] = floored(spec, columns[spec.emitted[0]], ids)
    return found


def headline(spec: MetricSpec, column: ScoreColumn, ids: Sequence[str]) -> Aggregate:
    """Combine a metric's scores; there is a value only if as many are there as it declares.

    A mean over what happened to be scored flatters whoever failed on the rest, so that by default
    a single example without a score leaves the whole without a value.
    """
    values, total = column.scored, len(column.values)
    if total and spec.how == "none":
        lacking = _lacking(column, ids)
        reason = "not_aggregated: the metric declares that its scores have no common value"
        return _aggregate(None, "non_evaluable", lacking or reason, column)
    # A share is no exact number: 0.07 of 100 is a little more than 7.
    if not values or len(values) < spec.coverage * total - _ROUNDING:
        status = min(
            (status for status, _ in column.missing.values()),
            key=lambda one: -GRAVITY[one],
            default="non_evaluable",
        )
        lacking = _lacking(column, ids) or "no_examples: there is no example to measure"
        return _aggregate(None, status, lacking, column)
    combined = _aggregate(REDUCERS[spec.how](values), "scored", None, column)
    return msgspec.structs.replace(combined, interval=_interval(spec, values))


def floored(spec: MetricSpec, column: ScoreColumn, ids: Sequence[str]) -> Aggregate:
    """Combine a metric's scores, where the trial's own failures count as the declared floor.

    These examples still have no score: the population says how many have one.
    """
    floor = spec.floor
    assert floor is not None  # noqa: S101 - the caller has looked
    others = list(column.not_the_trials())
    if others or not column.values:
        kept = {position: column.missing[position] for position in others}
        rest = ScoreColumn(floor.name, column.values, kept)
        return headline(msgspec.structs.replace(spec, coverage=1.0), rest, ids)
    values = [floor.value if value is None else value for value in column.values]
    value = REDUCERS[spec.how](values)
    found = _aggregate(value, "scored", None, column)
    return msgspec.structs.replace(found, interval=_interval(spec, values))


def _aggregate(
    value: float | None, status: str, reason: str | None, column: ScoreColumn
) -> Aggregate:
    spreads = list(column.spreads.values())
    return Aggregate(
        value,
        status,  # type: ignore[arg-type] # a status of a score, or "scored"
        reason,
        len(column.values) - sum(one is None for one in column.values),
        len(column.values),
        reasons=column.codes(),
        spread=mean(spreads) if spreads else None,
    )


def _lacking(column: ScoreColumn, ids: Sequence[str]) -> str | None:
    """Return why there is no common value: how many lack one, of which reasons, the first."""
    if not column.missing:
        return None
    worst = max(GRAVITY[status] for status, _ in column.missing.values())
    position, reason = next(
        (position, reason)
        for position, (status, reason) in sorted(column.missing.items())
        if GRAVITY[status] == worst
    )
    counts = ", ".join(f"{code} {count}" for code, count in column.codes().items())
    code, _, message = reason.partition(": ")
    return (
        f"{code}: {len(column.missing)} of {len(column.values)} examples have no score ({counts}); "
        f"first {one_line(ids[position], 60)!r}: {message}"
    )


def _interval(spec: MetricSpec, values: Sequence[float]) -> Interval | None:
    if spec.how in ("mean", "rate") and spec.score_type == "binary":
        return wilson(round(sum(values)), len(values))
    if spec.how == "mean":
        return _within(student_t(values), spec.range)
    return bootstrap_median(values) if spec.how == "median" else None


def _within(interval: Interval | None, span: Range | None) -> Interval | None:
    """Cut an interval at the ends of the range: no mean lies beyond them."""
    if interval is None or span is None:
        return interval
    low = interval.low if span.lower is None else max(interval.low, span.lower)
    high = interval.high if span.upper is None else min(interval.high, span.upper)
    return Interval(low, high, interval.kind)
