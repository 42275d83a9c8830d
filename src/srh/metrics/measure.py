"""From target and predictions to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from srh.errors import MetricError
from srh.metrics.catalogue import DEFAULT_METRICS, METRICS
from srh.metrics.classification import ClassificationData
from srh.metrics.declared import EvaluatorInfo
from srh.metrics.numeric import UndefinedMetricError
from srh.metrics.registry import require_known
from srh.metrics.regression import RegressionData
from srh.metrics.score import Score
from srh.metrics.target import Target, as_vector

_LARGEST_COUNT = 2**53  # a float still holds every integer up to here


def score_predictions(
    y: ArrayLike | Target,
    predictions: ArrayLike,
    *,
    names: Sequence[str] | Mapping[str, EvaluatorInfo] = DEFAULT_METRICS,
    n_parameters: int | None = None,
    complexity: int | None = None,
) -> dict[str, Score]:
    """Measure predictions with regression metrics.

    Args:
        y: Target, real numbers, shape (n,); a `Target` where one is measured against repeatedly.
        predictions: Real numbers, shape (n,); nothing is broadcast.
        names: Metrics to compute; with other names than their evaluators', each with its evaluator.
        n_parameters: Number of fitted parameters of what predicted, for ``aic`` and ``bic``.
        complexity: Size of what predicted, for ``complexity``.

    Returns:
        One score per name, in the order of ``names``. A target or prediction that is not finite
        makes every metric that looks at predictions an ``error``, no rows make it
        ``non_evaluable``.

    Raises:
        MetricError: A name is unknown or repeated; an array is not a vector of real numbers; the
            lengths differ; a count is negative or no integer.
    """
    evaluators = names if isinstance(names, Mapping) else _regression_metrics(names)
    known = y if isinstance(y, Target) else Target(y)
    data = RegressionData(
        y=known.values,
        predictions=as_vector(predictions, "predictions"),
        n_parameters=_count(n_parameters, "n_parameters"),
        complexity=_count(complexity, "complexity"),
        known=known,
    )
    if data.y.size != data.predictions.size:
        raise MetricError(
            f"the target has {data.y.size} rows, the predictions have {data.predictions.size}; "
            "there must be one prediction per row"
        )
    flaw = _find_flaw(data)
    # A caller's np.seterr must not turn an expected rounding to zero into an exception.
    with np.errstate(all="ignore"):
        return {name: _measure(name, info, data, flaw) for name, info in evaluators.items()}


def score_classes(
    data: ClassificationData, evaluators: Mapping[str, EvaluatorInfo]
) -> dict[str, Score]:
    """Measure predicted classes.

    Args:
        data: Target and predictions, checked already.
        evaluators: Evaluator of each metric.

    Returns:
        One score per metric; no rows make each ``non_evaluable``.
    """
    empty = UndefinedMetricError("no_rows", "there is no row to measure")
    flaw = None if data.y.size else empty
    return {name: _measure(name, info, data, flaw) for name, info in evaluators.items()}


def _regression_metrics(names: Sequence[str]) -> dict[str, EvaluatorInfo]:
    known = [info.name for info in METRICS.values() if info.profile == "regression"]
    require_known(names, known)
    return {name: METRICS[name] for name in names}


def _measure(
    name: str,
    info: EvaluatorInfo,
    data: RegressionData | ClassificationData,
    flaw: UndefinedMetricError | None,
) -> Score:
    try:
        if flaw is not None and "predictions" in info.evidence:
            raise flaw
        return Score.scored(name, info.function(data))
    except UndefinedMetricError as error:
        return Score.missing(name, error.status, error.code, error.message)


def _find_flaw(data: RegressionData) -> UndefinedMetricError | None:
    """Return what keeps the rows from being measured at all, if anything does."""
    if data.y.size == 0:
        return UndefinedMetricError("no_rows", "there is no row to measure")
    for values, what in ((data.y, "target"), (data.predictions, "prediction")):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            return UndefinedMetricError(
                f"non_finite_{what}",
                f"{bad.size} of {values.size} {what}s are not finite (first at row {bad[0]})",
                status="error",
            )
    return None


def _count(value: int | None, what: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise MetricError(f"{what}: a count is needed, got {value!r}")
    if not 0 <= value <= _LARGEST_COUNT:
        raise MetricError(f"{what}: must lie between 0 and 2**53")
    return int(value)
