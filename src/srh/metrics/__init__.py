"""Measurements: values with a meaning, or reasons why there are none."""

from __future__ import annotations

from srh.metrics.aggregate import Aggregate, aggregate
from srh.metrics.catalogue import CLASSIFICATION_METRICS, DEFAULT_METRICS, METRICS, find_evaluator
from srh.metrics.classification import ClassificationData
from srh.metrics.column import ScoreColumn
from srh.metrics.contract import (
    checked,
    context_of,
    everywhere,
    evidence_lacking,
    measure_example,
    measurer,
)
from srh.metrics.declared import EvaluatorInfo, complete
from srh.metrics.evidence import (
    Evaluator,
    EvaluatorContext,
    EvalUnit,
    EvidenceBundle,
    Example,
    JudgeEvidence,
    Member,
    MetricEvaluator,
    output_digest,
)
from srh.metrics.gate import Gate, judge_gate
from srh.metrics.interval import Interval
from srh.metrics.measure import score_classes, score_predictions
from srh.metrics.population import summarize
from srh.metrics.registry import (
    Metric,
    MetricRegistry,
    Surroundings,
    in_order,
    require_known,
)
from srh.metrics.rules import Problem
from srh.metrics.score import Score, ScoreBatch, Status
from srh.metrics.spec import Aggregation, Direction, Evidence, Floor, MetricSpec, Profile, Range
from srh.metrics.target import Target

__all__ = [
    "CLASSIFICATION_METRICS",
    "DEFAULT_METRICS",
    "METRICS",
    "Aggregate",
    "Aggregation",
    "ClassificationData",
    "Direction",
    "EvalUnit",
    "Evaluator",
    "EvaluatorContext",
    "EvaluatorInfo",
    "Evidence",
    "EvidenceBundle",
    "Example",
    "Floor",
    "Gate",
    "Interval",
    "JudgeEvidence",
    "Member",
    "Metric",
    "MetricEvaluator",
    "MetricRegistry",
    "MetricSpec",
    "Problem",
    "Profile",
    "Range",
    "Score",
    "ScoreBatch",
    "ScoreColumn",
    "Status",
    "Surroundings",
    "Target",
    "aggregate",
    "checked",
    "complete",
    "context_of",
    "everywhere",
    "evidence_lacking",
    "find_evaluator",
    "in_order",
    "judge_gate",
    "measure_example",
    "measurer",
    "output_digest",
    "require_known",
    "score_classes",
    "score_predictions",
    "summarize",
]
