"""Measurements: values with a meaning, or reasons why there are none."""

from __future__ import annotations

from srh.metrics.aggregate import Aggregate, aggregate
from srh.metrics.measure import score_predictions
from srh.metrics.registry import (
    DEFAULT_METRICS,
    METRICS,
    MetricInfo,
    check_specs,
    direction_of,
    require_known,
)
from srh.metrics.score import Score, Status
from srh.metrics.spec import Aggregation, Direction, MetricSpec
from srh.metrics.target import Target

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Aggregate",
    "Aggregation",
    "Direction",
    "MetricInfo",
    "MetricSpec",
    "Score",
    "Status",
    "Target",
    "aggregate",
    "check_specs",
    "direction_of",
    "require_known",
    "score_predictions",
]
