"""The evaluators that are known: the built-in ones, and those that packages bring."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from types import MappingProxyType

from srh.errors import MetricError
from srh.metrics import builtin, classification, judge, numeric_match, regression, structured
from srh.metrics.declared import ANY, FROM_ZERO, UNIT, EvaluatorInfo
from srh.metrics.spec import Direction, Evidence, Range
from srh.text import one_line

GROUP = "srh.metrics"
"""The group of entry points by which packages bring evaluators."""

_FIT: tuple[Evidence, ...] = ("predictions", "reference")


def _regression(
    name: str, direction: Direction, span: Range, evidence: tuple[Evidence, ...] = _FIT
) -> EvaluatorInfo:
    return EvaluatorInfo(
        name=name,
        profile="regression",
        function=getattr(regression, name),
        range=span,
        direction=direction,
        lens="reference" if "reference" in evidence else "non_reference",
        granularity=("set",),
        evidence=evidence,
    )


def _classification(name: str, direction: Direction, span: Range, *more: Evidence) -> EvaluatorInfo:
    return EvaluatorInfo(
        name=name,
        profile="classification",
        function=getattr(classification, name),
        range=span,
        direction=direction,
        lens="reference",
        granularity=("set",),
        evidence=(*_FIT, *more),
    )


_REGRESSION = (
    _regression("mse", "minimize", FROM_ZERO),
    _regression("rmse", "minimize", FROM_ZERO),
    _regression("mae", "minimize", FROM_ZERO),
    _regression("mape", "minimize", FROM_ZERO),
    _regression("r2", "maximize", Range(upper=1.0)),
    _regression("aic", "minimize", ANY, (*_FIT, "parameter_count")),
    _regression("bic", "minimize", ANY, (*_FIT, "parameter_count")),
    _regression("pearson_r", "maximize", Range(-1.0, 1.0)),
    _regression("spearman_r", "maximize", Range(-1.0, 1.0)),
    _regression("complexity", "minimize", FROM_ZERO, ("complexity",)),
)
_MORE_REGRESSION = (
    _regression("nrmse", "minimize", FROM_ZERO),
    _regression("max_error", "minimize", FROM_ZERO),
)
_CLASSIFICATION = (
    _classification("accuracy", "maximize", UNIT),
    _classification("balanced_accuracy", "maximize", UNIT),
    _classification("f1", "maximize", UNIT),
    _classification("log_loss", "minimize", FROM_ZERO, "probabilities"),
    _classification("roc_auc", "maximize", UNIT, "probabilities"),
)
_OUTPUTS = (
    EvaluatorInfo(
        name="exact_match",
        profile="outputs",
        function=builtin.exact_match,
        score_type="binary",
        range=UNIT,
        direction="maximize",
        lens="reference",
        evidence=("output", "reference"),
    ),
    EvaluatorInfo(
        name="set_overlap",
        profile="outputs",
        function=builtin.set_overlap,
        range=UNIT,
        direction="maximize",
        lens="reference",
        evidence=("output", "reference"),
        parameters=builtin.SetParameters,
        check=builtin.check_items,
    ),
    EvaluatorInfo(
        name="field_presence",
        profile="outputs",
        function=builtin.field_presence,
        range=UNIT,
        direction="maximize",
        lens="non_reference",
        evidence=("output",),
        parameters=builtin.FieldParameters,
        check=builtin.check_fields,
    ),
    EvaluatorInfo(
        name="structural_shape",
        profile="outputs",
        function=builtin.structural_shape,
        score_type="binary",
        range=UNIT,
        direction="maximize",
        lens="non_reference",
        evidence=("output",),
    ),
    EvaluatorInfo(
        name="judge_score",
        profile="outputs",
        function=judge.judge_score,
        range=None,
        evidence=("judge_evidence",),
        optional_evidence=("judge_evidence",),
        data_policy="recorded",
        check=judge.check_scale,
    ),
    EvaluatorInfo(
        name="trajectory_shape",
        profile="outputs",
        function=builtin.trajectory_shape,
        range=UNIT,
        direction="maximize",
        lens="non_reference",
        granularity=("trajectory", "session", "step"),
        evidence=("members",),
    ),
    EvaluatorInfo(
        name="numeric_match",
        profile="outputs",
        function=numeric_match.numeric_match,
        score_type="binary",
        range=UNIT,
        direction="maximize",
        lens="reference",
        evidence=("output", "reference"),
        parameters=numeric_match.ToleranceParameters,
        check=numeric_match.check_tolerances,
    ),
    EvaluatorInfo(
        name="normalized_match",
        profile="outputs",
        function=builtin.normalized_match,
        score_type="binary",
        range=UNIT,
        direction="maximize",
        lens="reference",
        evidence=("output", "reference"),
        parameters=builtin.NormalParameters,
    ),
    EvaluatorInfo(
        name="symbolic_equivalence",
        profile="outputs",
        function=structured.symbolic_equivalence,
        score_type="binary",
        range=UNIT,
        direction="maximize",
        lens="reference",
        evidence=("output", "reference"),
        parameters=structured.EquivalenceParameters,
        check=structured.check_variables,
    ),
)

METRICS: Mapping[str, EvaluatorInfo] = MappingProxyType(
    {info.name: info for info in (*_REGRESSION, *_MORE_REGRESSION, *_CLASSIFICATION, *_OUTPUTS)}
)
"""The built-in evaluators by name."""

DEFAULT_METRICS: tuple[str, ...] = tuple(info.name for info in _REGRESSION)
"""What is measured of predictions of a number if nobody says what."""

CLASSIFICATION_METRICS: tuple[str, ...] = tuple(info.name for info in _CLASSIFICATION)
"""What is measured of predictions of a class if nobody says what."""


def find_evaluator(name: str) -> EvaluatorInfo | None:
    """Return the evaluator of a name, a built-in's before a plug-in's, or None."""
    return METRICS.get(name) or plug_ins().get(name)


@functools.cache
def plug_ins() -> Mapping[str, EvaluatorInfo]:
    """Return the evaluators that installed packages bring, by name.

    They are looked for once, and only where a name is none of the built-in ones.

    Raises:
        MetricError: An entry point cannot be loaded, brings no evaluator of outputs, or one whose
            name is taken.
    """
    from importlib import metadata

    found: dict[str, EvaluatorInfo] = {}
    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda one: one.name):
        package = entry.dist.name if entry.dist is not None else "a package"
        where = f"{one_line(package)}: entry point {one_line(entry.name)!r} of {GROUP}"
        try:
            info = entry.load()
        except Exception as error:  # it is whatever somebody's module raises
            raise MetricError(f"{where} cannot be loaded: {one_line(str(error))}") from error
        if not isinstance(info, EvaluatorInfo) or info.profile != "outputs":
            raise MetricError(f"{where}: must be an EvaluatorInfo of the profile 'outputs'")
        if info.name in METRICS or info.name in found:
            raise MetricError(f"{where}: the name {info.name!r} is taken")
        found[info.name] = dataclasses.replace(info, origin=package)
    return MappingProxyType(found)
