"""What an evaluator may return, and the measuring of one example.

An evaluator returns measurements, and may break its contract in every way: then the example has an
``error`` of a clear code, nothing is clamped or repaired, and the run goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from srh.metrics.evidence import EvaluatorContext, EvidenceBundle, Example
from srh.metrics.registry import Metric
from srh.metrics.score import Score, ScoreBatch
from srh.metrics.spec import MetricSpec
from srh.text import one_line

NOTHING = EvidenceBundle()
"""No recorded evidence."""


def context_of(spec: MetricSpec) -> EvaluatorContext:
    """Return what an evaluator is told of the metric that it measures for."""
    span = spec.range
    return EvaluatorContext(
        metric=spec.emitted[0],
        emits=tuple(spec.emitted),
        parameters=spec.parameters,
        required_evidence=tuple(spec.required_evidence or ()),
        lower=None if span is None else span.lower,
        upper=None if span is None else span.upper,
    )


def measure_example(
    metric: Metric, example: Example, bundle: EvidenceBundle = NOTHING
) -> list[Score]:
    """Measure one example with a metric whose evaluator runs here.

    Args:
        metric: The metric; its evaluator is no host's.
        example: The example with its output.
        bundle: The evidence beside it.

    Returns:
        One score per declared name, each of which says who measured what.
    """
    assert metric.info is not None  # noqa: S101 - hosts are measured by contestants
    name, version = metric.info.name, str(metric.info.version)
    return [
        msgspec.structs.replace(score, evaluator=name, version=version, example=example.id)
        for score in measurer(metric)(example, bundle)
    ]


def measurer(metric: Metric) -> Callable[[Example, EvidenceBundle], list[Score]]:
    """Return what measures examples with a metric whose evaluator runs here.

    Args:
        metric: The metric; its evaluator is no host's.

    Returns:
        A function that returns one score per declared name, in the order of declaration.
    """
    assert metric.info is not None  # noqa: S101 - hosts are measured by contestants
    evaluate, context, spec = metric.info.function, context_of(metric.spec), metric.spec
    recorded = "judge_evidence" in (spec.required_evidence or ())
    only = spec.emitted[0] if len(spec.emitted) == 1 else None

    def measure(example: Example, bundle: EvidenceBundle) -> list[Score]:
        lack = evidence_lacking(spec, bundle) if recorded else None
        if lack is not None:
            return lack
        try:
            returned = evaluate(example, context, bundle)
        except Exception as error:  # noqa: BLE001 - whatever the example provokes
            text = f"{type(error).__name__}: {error}"
            return everywhere(spec, Score.error(spec.name, "evaluator_failed", text))
        if type(returned) is Score and returned.name == only:
            return [_valued(spec, returned, only)]
        return checked(spec, returned)

    return measure


def evidence_lacking(spec: MetricSpec, bundle: EvidenceBundle) -> list[Score] | None:
    """Return the scores of an example that lacks recorded evidence, or None if it has it.

    Output, reference and members belong to the example: what their absence means is the evaluator's
    to say.
    """
    if "judge_evidence" in (spec.required_evidence or ()) and not bundle.judge_evidence:
        message = "no judgement of this output is recorded"
        return everywhere(spec, Score.blocked(spec.name, "no_judge_evidence", message))
    return None


def everywhere(spec: MetricSpec, score: Score) -> list[Score]:
    """Return a score without value under every name that a metric declares."""
    return [Score(name, None, score.status, score.reason) for name in spec.emitted]


def checked(spec: MetricSpec, returned: object) -> list[Score]:
    """Return what an evaluator returned as one score per declared name.

    Args:
        spec: The metric, complete.
        returned: Whatever it returned.
    """
    if isinstance(returned, Score):
        scores: Sequence[object] = (returned,)
    elif isinstance(returned, ScoreBatch):
        scores = returned.scores
    else:
        message = f"returned {type(returned).__name__}, not a Score or ScoreBatch"
        return everywhere(spec, Score.error(spec.name, "wrong_type", message))
    by_name: dict[str, Score] = {}
    for score in scores:
        flaw = _flaw(spec, score, by_name)
        if flaw is not None:
            return everywhere(spec, flaw)
        assert isinstance(score, Score)  # noqa: S101 - else it has a flaw
        by_name[score.name] = score
    return [_valued(spec, by_name.get(name), name) for name in spec.emitted]


def _flaw(spec: MetricSpec, score: object, before: dict[str, Score]) -> Score | None:
    """Return the error of a batch that holds something undeclared, or None."""
    if type(score) is not Score:
        message = f"a batch holds {type(score).__name__}, not a Score"
        return Score.error(spec.name, "wrong_type", message)
    if score.name not in spec.emitted:
        message = f"emitted {one_line(str(score.name), 60)!r}, which is not declared"
        return Score.error(spec.name, "undeclared_name", message)
    if score.name in before:
        return Score.error(spec.name, "repeated_name", f"emitted {score.name!r} twice")
    return None


def _valued(spec: MetricSpec, score: Score | None, name: str) -> Score:
    """Return a score whose value is one that the metric declares, or the error that it is."""
    if score is None:
        return Score.error(name, "missing_name", f"emitted no {name!r}")
    value = score.value
    if value is None:
        return score
    # Whoever shares a process with a frozen value can change it all the same.
    if type(value) is not float or not math.isfinite(value):
        return Score.error(name, "not_finite", f"{value!r} is no finite number")
    if spec.score_type == "binary" and value not in (0.0, 1.0):
        return Score.error(name, "not_binary", f"{value!r} is neither 0 nor 1")
    if spec.range is not None and value not in spec.range:
        return Score.error(name, "out_of_range", f"{value!r} lies outside {spec.range}")
    return score
