"""What an evaluator declares of itself, before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from srh.metrics.spec import (
    Aggregation,
    DataPolicy,
    Direction,
    Evidence,
    Granularity,
    Lens,
    MetricSpec,
    Profile,
    Range,
    ScoreType,
)

UNIT = Range(0.0, 1.0)
FROM_ZERO = Range(lower=0.0)
ANY = Range()


class NoParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of an evaluator that has none."""


@dataclass(frozen=True, kw_only=True)
class EvaluatorInfo:
    """An evaluator: what it measures, and what it can emit.

    A package adds evaluators by entry points in the group ``srh.metrics``, each of which names an
    `EvaluatorInfo` of the profile ``outputs`` whose function is a `MetricEvaluator`.

    Attributes:
        name: Its name.
        version: Its version; together they are its id, ``name@version``.
        profile: What it measures.
        function: What measures: of the profile ``outputs`` a `MetricEvaluator`, else a function of
            that profile's data. Its docstring has formula, source and the cases without a value.
        score_type: What its scores are; None: the metric declares it.
        range: Values that it can emit; None: the metric declares them.
        direction: Which end is better; None: the metric may declare it.
        lens: Whether it compares with a reference; None: neither, or the metric declares it.
        granularity: What a score of it can be about; the first is the default.
        evidence: What it cannot do without.
        optional_evidence: The part of `evidence` that a metric may declare as not required.
        aggregation: How its scores are combined unless a metric says otherwise.
        data_policy: What it looks at.
        most_names: How many scores it returns for one example; None: any number.
        parameters: Type of its settings.
        check: What is wrong with a metric's settings beyond their types: field to sentence.
        origin: Who brings it.
    """

    name: str
    profile: Profile
    function: Callable[..., Any]
    score_type: ScoreType | None = "continuous"
    range: Range | None = ANY
    direction: Direction | None = None
    lens: Lens | None = None
    granularity: tuple[Granularity, ...] = ("call", "step", "trajectory", "session")
    evidence: tuple[Evidence, ...] = ()
    optional_evidence: tuple[Evidence, ...] = ()
    aggregation: Aggregation = "mean"
    data_policy: DataPolicy = "local"
    most_names: int | None = 1
    version: int = 1
    parameters: type[msgspec.Struct] = NoParameters
    check: Callable[[MetricSpec], Mapping[str, str]] = field(default=lambda _: {})
    origin: str = "srh"

    @property
    def id(self) -> str:
        """Its canonical id."""
        return f"{self.name}@{self.version}"

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]


def complete(spec: MetricSpec, info: EvaluatorInfo) -> MetricSpec:
    """Return a metric's declaration with what it leaves to its evaluator filled in."""
    given = spec.required_evidence
    needed = [one for one in info.evidence if given is None or one not in info.optional_evidence]
    required = [*needed, *(one for one in given or () if one not in needed)]
    return msgspec.structs.replace(
        spec,
        version=info.version if spec.version is None else spec.version,
        evaluator=spec.evaluator or info.id,
        lens=spec.lens or info.lens,
        granularity=spec.granularity or info.granularity[0],
        score_type=spec.score_type or info.score_type,
        range=spec.range or info.range or _natural_range(spec),
        direction=spec.direction or info.direction,
        profile=spec.profile or info.profile,
        required_evidence=required,
        aggregation=spec.aggregation or info.aggregation,
        data_policy=spec.data_policy or info.data_policy,
    )


def _natural_range(spec: MetricSpec) -> Range:
    return UNIT if spec.score_type == "binary" else ANY
