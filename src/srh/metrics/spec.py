"""What a task declares about a metric."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

Direction = Literal["minimize", "maximize"]
Aggregation = Literal["mean", "median", "min", "max", "rate", "none"]
Lens = Literal["reference", "non_reference"]
Granularity = Literal["call", "step", "trajectory", "session", "set"]
ScoreType = Literal["binary", "continuous", "categorical"]
Authority = Literal["informational", "gating"]
Profile = Literal["regression", "classification", "outputs"]
DataPolicy = Literal["local", "recorded", "external"]
Evidence = Literal[
    "output",
    "reference",
    "members",
    "judge_evidence",
    "predictions",
    "probabilities",
    "parameter_count",
    "complexity",
]

POLICIES: tuple[DataPolicy, ...] = get_args(DataPolicy)
"""From the strictest to the most lenient."""

GATING_POLICIES: tuple[DataPolicy, ...] = ("local", "recorded")
"""What may decide a gate: what can be measured again here, from files."""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The values that a score may take; a side without a bound is open.

    Attributes:
        lower: Least value, included; None: no bound.
        upper: Greatest value, included; None: no bound.
    """

    lower: float | None = None
    upper: float | None = None

    def __contains__(self, value: float) -> bool:
        return not (
            (self.lower is not None and value < self.lower)
            or (self.upper is not None and value > self.upper)
        )

    def __str__(self) -> str:
        left = "(-∞" if self.lower is None else f"[{self.lower:g}"
        right = "∞)" if self.upper is None else f"{self.upper:g}]"
        return f"{left}, {right}"

    def holds(self, other: Range) -> bool:
        """Tell whether every value of ``other`` is one of this range, too."""
        below = self.lower is None or (other.lower is not None and other.lower >= self.lower)
        above = self.upper is None or (other.upper is not None and other.upper <= self.upper)
        return below and above


class Floor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A second aggregate, under a name of its own, in which a trial's failures count as `value`.

    A trial's failures have the codes ``no_output``, ``bad_output`` and ``too_many_outputs``. What
    is missing for another reason (no reference, no evidence, a broken evaluator) is none of them,
    and leaves this aggregate without a value too.

    Attributes:
        name: Name of the aggregate, beside the metric's own.
        value: What an example counts for that the trial has not answered.
    """

    name: str
    value: float


class MetricSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """One ``[[metrics]]`` table of a task file: a metric's full meaning.

    What is None is taken from what the evaluator declares of itself. What is given may narrow that
    but not contradict it; `srh.metrics.MetricRegistry` refuses the rest before anything runs.

    Attributes:
        name: Name of the metric, and of its score unless `emits` says otherwise.
        version: Version of the evaluator that is meant, where it is a built-in.
        lens: Whether it compares with a reference; None where a judge decides what it looks at.
        granularity: What one score is about: a ``call``, ``step``, ``trajectory`` or ``session``,
            or the ``set`` of all rows of a validation fold.
        score_type: ``binary`` (0 or 1), ``continuous``, or ``categorical`` (numbers that name
            categories and have no order).
        range: Values that a score may take. An evaluator that leaves it has broken its contract.
        direction: Whether less or more of it is better. A metric without direction ranks nothing.
        evaluator: Who measures: ``name@version`` of a built-in or a plug-in, or
            ``path/to/file.py:function`` in the task's folder. The built-in of the metric's name
            unless given.
        profile: What is measured: the predictions of ``regression`` or ``classification``, or
            ``outputs``.
        required_evidence: What must be there. An example that lacks it is ``blocked``.
        prerequisites: Metrics that must have a value on an example before this one is measured.
        aggregation: How the scores of folds or examples become one number. ``rate`` is the share of
            ones; ``none``: there is no such number.
        threshold: The least good value that passes a gate.
        authority: ``gating``: the value decides whether `srh eval --gate` passes.
        approver: Who answers for that.
        data_policy: What the evaluator may look at. ``local``: task and trial; ``recorded``: also
            what others have recorded, a judge's evidence; ``external``: it may send data elsewhere.
        emits: Names of the scores that the evaluator returns; just `name` unless given.
        coverage: Share of examples that must have a score before there is a headline value.
        floor: A second aggregate in which a trial's own failures count, under a name of its own.
        parameters: Settings of the evaluator.
    """

    name: str
    version: int | None = None
    lens: Lens | None = None
    granularity: Granularity | None = None
    score_type: ScoreType | None = None
    range: Range | None = None
    direction: Direction | None = None
    evaluator: str | None = None
    profile: Profile | None = None
    required_evidence: list[Evidence] | None = None
    prerequisites: list[str] = []
    aggregation: Aggregation | None = None
    threshold: float | None = None
    authority: Authority = "informational"
    approver: str | None = None
    data_policy: DataPolicy | None = None
    emits: list[str] = []
    coverage: float = 1.0
    floor: Floor | None = None
    parameters: dict[str, Any] = {}

    @property
    def emitted(self) -> list[str]:
        """Names of the scores that the evaluator may return."""
        return self.emits or [self.name]

    @property
    def columns(self) -> list[str]:
        """Names of all numbers that come of it: one per score, and the floored one."""
        return [*self.emitted, *([self.floor.name] if self.floor else [])]

    @property
    def how(self) -> Aggregation:
        """How scores become one number; the mean where nobody says otherwise."""
        return self.aggregation or "mean"
