"""What an evaluator is given: an example and the evidence beside it. Data, no adapters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec

from srh.digest import digest_value
from srh.metrics.score import Score, ScoreBatch
from srh.metrics.spec import Evidence

UnitKind = Literal["call", "step", "trajectory", "session"]
JudgeStatus = Literal["ok", "timeout", "provider_error", "malformed", "missing"]


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One part of a unit: a step of a trajectory, a turn of a session.

    Attributes:
        id: Its name within the unit.
        output: What the trial gave for it; None: nothing.
    """

    id: str
    output: Any = None


class EvalUnit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What an example is: one call, or something that has members.

    Attributes:
        kind: A ``call`` has no members.
        members: The members that the task declares, in order, with the trial's outputs.
        n_given: How many outputs of members the trial gave, which may be more than there are
            members.
    """

    kind: UnitKind = "call"
    members: tuple[Member, ...] = ()
    n_given: int = 0


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One example with a trial's output. JSON values only; None (null) means that there is none.

    Attributes:
        id: Its name among the task's examples.
        input: What the trial was given.
        output: What the trial answered.
        reference: The right answer, where the task knows one.
        unit: What the example is.
    """

    id: str
    input: Any = None
    output: Any = None
    reference: Any = None
    unit: EvalUnit = EvalUnit()


class JudgeEvidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One recorded judgement of one output.

    Attributes:
        example: Id of the example.
        metric: Name of the metric that was asked for.
        output: Digest of the output that was judged (see `output_digest`): evidence of one output
            says nothing of another.
        status: How asking the judge ended.
        value: What the judge answered; a number, or text that is one.
        rationale: Why, in the judge's words.
        model: Who judged.
        rubric: Digest of the rubric.
        prompt: Digest of the whole prompt.
        ref: Where it stands; the reader fills it in.
    """

    example: str
    metric: str
    output: str
    status: JudgeStatus
    model: str
    rubric: str
    prompt: str
    value: Any = None
    rationale: str = ""
    ref: str = ""


class EvidenceBundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The evidence beside one example's output.

    Attributes:
        judge_evidence: All recorded judgements of this output for this metric, in the order of
            recording.
    """

    judge_evidence: tuple[JudgeEvidence, ...] = ()


class EvaluatorContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an evaluator is told of the metric that it measures for.

    Attributes:
        metric: Name of the metric.
        emits: Names of the scores that it may return.
        parameters: Its settings, as the metric declares them.
        required_evidence: What must be there for a score.
        lower: Least value of a score; None: no bound.
        upper: Greatest value of a score; None: no bound.
    """

    metric: str
    emits: tuple[str, ...]
    parameters: dict[str, Any] = {}
    required_evidence: tuple[Evidence, ...] = ()
    lower: float | None = None
    upper: float | None = None


MetricEvaluator: TypeAlias = Callable[
    [Example, EvaluatorContext, EvidenceBundle], Score | ScoreBatch
]
"""Who measures one example."""

Evaluator: TypeAlias = MetricEvaluator
"""Another name of `MetricEvaluator`."""


def output_digest(output: Any) -> str:
    """Return the digest by which recorded evidence names an output."""
    return digest_value(output)
