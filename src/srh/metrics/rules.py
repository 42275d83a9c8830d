"""The rules that one metric's declaration has to follow."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from srh.errors import FormatError
from srh.formats import decode
from srh.metrics.declared import UNIT, EvaluatorInfo
from srh.metrics.spec import GATING_POLICIES, POLICIES, Evidence, MetricSpec
from srh.text import one_line

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a declaration.

    Attributes:
        field: The field that is wrong.
        rule: Name of the rule that it breaks.
        text: What is wrong, and what to do.
    """

    field: str
    rule: str
    text: str

    def at(self, where: str) -> Problem:
        """Return the problem with its field's place in front."""
        return dataclasses.replace(self, field=f"{where}.{self.field}")

    def __str__(self) -> str:
        return f"{self.field}: {self.text} ({self.rule})"


def metric_problems(
    spec: MetricSpec,
    info: EvaluatorInfo | None,
    declared: MetricSpec,
    evidence: frozenset[Evidence] | None,
) -> list[Problem]:
    """Return what is wrong with one metric.

    Args:
        spec: Its declaration, complete as far as its evaluator is known.
        info: Its evaluator, unless that is a host's or unknown.
        declared: Its declaration as it stands.
        evidence: What the task offers; None: the metrics are the default ones, and those that lack
            something simply have no value.
    """
    problems = list(_names(spec))
    if info is not None:
        problems += _against_evaluator(spec, info)
        problems += _parameters(spec, info)
    known = info is not None or spec is not declared
    if known:
        problems += [Problem(*found) for rule in _COMPLETE for found in rule(spec)]
        if evidence is not None:
            problems += _evidence(spec, evidence)
    return problems + [Problem(*found) for rule in _ALWAYS for found in rule(spec)]


Found = Iterator[tuple[str, str, str]]


def _names(spec: MetricSpec) -> Iterator[Problem]:
    named = [("name", spec.name), *(("emits", name) for name in spec.emits)]
    named += [("floor.name", spec.floor.name)] if spec.floor else []
    for field, name in named:
        if not _NAME.fullmatch(name):
            text = f"{one_line(name)!r}: use letters, digits, '.', '_' and '-', at most 60"
            yield Problem(field, "name_form", text)


def _against_evaluator(spec: MetricSpec, info: EvaluatorInfo) -> Iterator[Problem]:
    """What a metric declares must be what its evaluator can emit."""
    checks = (
        ("profile", spec.profile, info.profile),
        ("lens", spec.lens, info.lens),
        ("score_type", spec.score_type, info.score_type),
        ("range", spec.range, info.range),
        ("direction", spec.direction, info.direction),
    )
    for field, given, own in checks:
        if own is not None and given != own:
            text = f"is {given}, but {info.id} has {own}; leave it out"
            yield Problem(field, f"evaluator_{field}", text)
    if spec.granularity not in info.granularity:
        listed = ", ".join(info.granularity)
        text = f"{info.id} measures {listed}, not {spec.granularity}"
        yield Problem("granularity", "evaluator_granularity", text)
    if info.most_names is not None and len(spec.emitted) > info.most_names:
        text = f"{info.id} returns {info.most_names} score, and {len(spec.emitted)} are named"
        yield Problem("emits", "evaluator_emits", text)
    if spec.data_policy and POLICIES.index(spec.data_policy) < POLICIES.index(info.data_policy):
        text = f"is {spec.data_policy}, but {info.id} needs {info.data_policy}"
        yield Problem("data_policy", "evaluator_data_policy", text)


def _parameters(spec: MetricSpec, info: EvaluatorInfo) -> Iterator[Problem]:
    try:
        decode(info.parameters, spec.parameters, "parameters")
    except FormatError as error:
        for problem in error.problems:
            field, separator, text = problem.partition(": ")
            if separator:
                yield Problem(f"parameters.{field}", "parameters", text)
            else:
                yield Problem("parameters", "parameters", problem)
        return
    for field, text in info.check(spec).items():
        yield Problem(field, "scale" if field == "range" else "parameters", text)


def _score_type(spec: MetricSpec) -> Found:
    if spec.score_type is None:
        yield "score_type", "score_type", "say what a host evaluator's scores are"
    elif spec.score_type == "binary" and spec.range not in (None, UNIT):
        yield "range", "binary_range", f"binary scores are 0 or 1, so that {spec.range} cannot be"


def _aggregation(spec: MetricSpec) -> Found:
    if spec.score_type == "categorical" and spec.how != "none":
        yield (
            "aggregation",
            "no_mean_of_categories",
            f"categories have no {spec.how}; use none",
        )
    elif spec.how == "rate" and spec.score_type != "binary":
        yield "aggregation", "rate_of_binary", "a rate is that of ones: binary scores have one"


def _threshold(spec: MetricSpec) -> Found:
    if spec.threshold is None:
        return
    if spec.range is not None and spec.threshold not in spec.range:
        text = f"{spec.threshold:g} lies outside the range {spec.range}"
        yield "threshold", "threshold_in_range", text
    if spec.score_type == "categorical" or spec.how == "none":
        yield "threshold", "threshold_of_value", "there is no value that it could be compared with"


def _gating(spec: MetricSpec) -> Found:
    if spec.authority != "gating":
        if spec.approver is not None:
            yield "approver", "approver_of_gate", "only a gating metric has one"
        return
    if spec.threshold is None:
        yield "threshold", "gating_threshold", "a gating metric needs one"
    if spec.direction is None:
        yield "direction", "gating_direction", "a gating metric needs one"
    if not (spec.approver or "").strip():
        yield "approver", "gating_approver", "a gating metric needs one: who answers for it?"
    if spec.data_policy is not None and spec.data_policy not in GATING_POLICIES:
        text = f"{spec.data_policy} cannot decide a gate; use {' or '.join(GATING_POLICIES)}"
        yield "data_policy", "gating_data_policy", text


def _range(spec: MetricSpec) -> Found:
    span = spec.range
    if span is not None and None not in (span.lower, span.upper) and span.lower >= span.upper:  # type: ignore[operator]
        yield "range", "range_order", f"lower must be below upper in {span}"


def _coverage(spec: MetricSpec) -> Found:
    if not 0 < spec.coverage <= 1:
        yield "coverage", "coverage", f"must lie above 0 and be at most 1, not {spec.coverage:g}"
    elif spec.granularity == "set" and spec.coverage < 1:
        yield "coverage", "coverage", "every fold must have a score; leave it out"


def _floor(spec: MetricSpec) -> Found:
    if spec.floor is None:
        return
    if spec.granularity == "set" or spec.how == "none" or len(spec.emitted) > 1:
        yield "floor", "floor", "needs one score per example and an aggregation"
    if spec.range is not None and spec.floor.value not in spec.range:
        text = f"{spec.floor.value:g} lies outside the range {spec.range}"
        yield "floor.value", "floor_in_range", text
    elif spec.score_type == "binary" and spec.floor.value not in (0, 1):
        yield "floor.value", "floor_in_range", "binary scores are 0 or 1"


def _evidence(spec: MetricSpec, offered: frozenset[Evidence]) -> Iterator[Problem]:
    lacking = [one for one in spec.required_evidence or () if one not in offered]
    if lacking:
        text = f"this task offers no {', no '.join(lacking)}"
        yield Problem("required_evidence", "evidence_available", text)


_ALWAYS: tuple[Callable[[MetricSpec], Found], ...] = (_range, _threshold, _gating, _coverage)
_COMPLETE: tuple[Callable[[MetricSpec], Found], ...] = (_score_type, _aggregation, _floor)
