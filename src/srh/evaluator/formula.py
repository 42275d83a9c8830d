"""The path of one formula through an evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from srh.context import AgentContext, check_split
from srh.engine import Expression, Symbol
from srh.evaluator.contract import check_metrics


class Evaluator(Protocol):
    """The five methods of `DefaultEvaluator`, as a class or as an instance."""

    def split(self, context: AgentContext, /) -> dict[str, AgentContext]:
        """See `DefaultEvaluator.split`."""
        ...

    def fit(self, f: Expression, y: Expression, context: AgentContext, /) -> Expression:
        """See `DefaultEvaluator.fit`."""
        ...

    def evaluate(
        self, f: Expression, y: Expression, context: AgentContext, /
    ) -> dict[str, float | int]:
        """See `DefaultEvaluator.evaluate`."""
        ...

    def fit_candidate(self, f: Expression, context: AgentContext, /) -> Expression:
        """See `DefaultEvaluator.fit_candidate`."""
        ...

    def evaluate_candidate(self, f: Expression, context: AgentContext, /) -> dict[str, float | int]:
        """See `DefaultEvaluator.evaluate_candidate`."""
        ...


@dataclass(frozen=True)
class FormulaEvaluation:
    """What came of one formula on one split.

    Attributes:
        fitted: The formula with its parameters bound on the training rows.
        candidate: Whether it was judged as a candidate.
        train: Metrics of the training rows.
        validation: Metrics of the validation rows.
    """

    fitted: Expression
    candidate: bool
    train: dict[str, float | int]
    validation: dict[str, float | int]


def evaluate_formula(
    f: Expression, y: Expression, context: AgentContext, evaluator: Evaluator
) -> dict[str, dict[str, float | int]]:
    """Split the data, fit ``y = f`` on the training rows, and measure it on both parts.

    Args:
        f: Right side, with parameters.
        y: Left side.
        context: The whole data.
        evaluator: Policy that splits, fits and measures.

    Returns:
        ``{"train": metrics, "validation": metrics}``.

    Raises:
        FormatError: The evaluator's split is no pair of contexts.
        MetricError: The evaluator's metrics are no numbers.
        FitError: The parameters could not be determined.
    """
    views = check_split(evaluator.split(context), evaluator, context)
    evaluation = evaluate_on(f, y, views["train"], views["validation"], evaluator)
    return {"train": evaluation.train, "validation": evaluation.validation}


def evaluate_on(
    f: Expression,
    y: Expression,
    train: AgentContext,
    validation: AgentContext,
    evaluator: Evaluator,
) -> FormulaEvaluation:
    """Do what `evaluate_formula` does with a split that is given.

    Raises:
        MetricError: The evaluator's metrics are no numbers.
        FitError: The parameters could not be determined.
    """
    candidate = is_candidate(f, y, train)
    if candidate:
        fitted = evaluator.fit_candidate(f, train)
        results = [evaluator.evaluate_candidate(fitted, part) for part in (train, validation)]
    else:
        fitted = evaluator.fit(f, y, train)
        results = [evaluator.evaluate(fitted, y, part) for part in (train, validation)]
    return FormulaEvaluation(fitted, candidate, *map(check_metrics, results))


def is_candidate(f: Expression, y: Expression, context: AgentContext) -> bool:
    """Return whether y is exactly the context's target and f does not depend on it."""
    target = Symbol(context.target)
    return y == target and target.name not in f.variables
