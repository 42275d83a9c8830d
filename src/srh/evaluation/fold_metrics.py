"""From one fold's predictions, checked already, to scores by the metrics' own names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from srh.context import Dataset
from srh.metrics import (
    ClassificationData,
    MetricRegistry,
    Score,
    in_order,
    score_classes,
    score_predictions,
)


def measure_fold(
    registry: MetricRegistry,
    dataset: Dataset,
    rows: npt.NDArray[np.int64],
    predictions: npt.NDArray[np.float64],
    *,
    n_parameters: int | None = None,
    complexity: int | None = None,
    probabilities: npt.NDArray[np.float64] | None = None,
) -> dict[str, Score]:
    """Measure the predictions of one fold.

    Args:
        registry: The metrics.
        dataset: The data.
        rows: The rows that were predicted, shape (n,).
        predictions: Numbers, or codes of classes, shape (n,).
        n_parameters: Number of fitted parameters, where that is known.
        complexity: Size of what predicted, where that is known.
        probabilities: Probabilities of the classes, shape (n, k), where there are any.

    Returns:
        One score per metric, in the order of declaration.
    """
    evaluators = {
        metric.spec.emitted[0]: metric.info
        for metric in registry.metrics
        if metric.info is not None
    }
    if dataset.classes:
        classes = ClassificationData(
            y=dataset.y[rows].astype(np.int64),
            predictions=predictions.astype(np.int64),
            n_classes=len(dataset.classes),
            probabilities=probabilities,
        )
        scores = score_classes(classes, evaluators)
    else:
        scores = score_predictions(
            dataset.y[rows],
            predictions,
            names=evaluators,
            n_parameters=n_parameters,
            complexity=complexity,
        )
    return _after_prerequisites(registry, scores)


def _after_prerequisites(registry: MetricRegistry, scores: dict[str, Score]) -> dict[str, Score]:
    """Block the scores of metrics that need one without a value."""
    main = {metric.spec.name: metric.spec.emitted[0] for metric in registry.metrics}
    for metric in in_order(registry.metrics):
        for needed in metric.spec.prerequisites:
            if scores[main[needed]].value is None:
                name = metric.spec.emitted[0]
                scores[name] = Score.blocked(name, "prerequisite", f"{needed} has no value")
    return scores
