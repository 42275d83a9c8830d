"""The path of one formula through an evaluator, for tools and for the runner alike.

``assess_formula`` is the whole of it: parse, split, decide whether the formula is a candidate, fit
on the training rows, measure on both parts, look at the residuals, and say why a candidate may not
be ranked. Whatever goes wrong on the way is part of what it returns. ``evaluate_formula`` and
``evaluate_on`` are its core, and raise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

from srh.context import AgentContext, check_split
from srh.engine import Expression, Symbol, parse
from srh.errors import DataError, FitError, MetricError, SrhError
from srh.evaluator.contract import check_metrics
from srh.evaluator.default_evaluator import DefaultEvaluator
from srh.evaluator.diagnostics import Diagnostics, diagnose
from srh.evaluator.eligibility import (
    fitted_problems,
    target_copies,
    unequal_names,
    why_no_candidate,
)
from srh.evaluator.graph_evaluator import GraphEvaluator
from srh.evaluator.missing import Missing
from srh.text import one_line

Metrics = dict[str, float | int]

_OWN = (DefaultEvaluator, GraphEvaluator)


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
        fitted: The formula with its parameters bound on the training rows; None if that failed.
        candidate: Whether it was judged as a candidate.
        train: Metrics of the training rows.
        validation: Metrics of the validation rows.
        diagnostics: Its residuals on the training rows, if they were asked for.
        reasons: Why it cannot be ranked as a candidate, one sentence each; empty if it can.
        error: What went wrong, if anything did; the metrics are empty then.
    """

    fitted: Expression | None
    candidate: bool
    train: Metrics
    validation: Metrics
    diagnostics: Diagnostics | None = None
    reasons: tuple[str, ...] = ()
    error: str | None = None

    @property
    def eligible(self) -> bool:
        """Whether it may be ranked as a candidate."""
        return self.candidate and self.error is None and not self.reasons


def assess_formula(
    f: Expression | str,
    context: AgentContext,
    *,
    y: Expression | str | None = None,
    evaluator: Evaluator | None = None,
    rank_by: str | None = None,
    diagnostics: bool = True,
) -> FormulaEvaluation:
    """Do everything that is done with a proposed formula; its errors are values.

    Args:
        f: Right side, with parameters, or its text.
        context: The whole data; its two views are kept there for the next formula.
        y: Left side, or its text; the target unless given.
        evaluator: Policy that splits, fits and measures; the context's own unless given.
        rank_by: Metric that a candidate needs a value of, on both parts, to be ranked.
        diagnostics: Whether to look at the residuals.

    Returns:
        What came of it. ``error`` says what is wrong with the formula, with what the evaluator did
        with it, or with the split of the data.
    """
    try:
        left = _parsed(Symbol(context.target) if y is None else y, context)
        right = _parsed(f, context, target=context.target if y is None else None)
        evaluation = _assess(right, left, context, evaluator)
        if diagnostics and evaluation.fitted is not None:
            found = diagnose(evaluation.fitted, left, _views(context, evaluator)["train"])
            evaluation = replace(evaluation, diagnostics=found)
    except SrhError as error:
        return FormulaEvaluation(None, False, {}, {}, error=str(error))
    except Exception as error:  # noqa: BLE001 - an evaluator may raise whatever it likes
        message = f"the evaluator failed: {type(error).__name__}: {one_line(str(error), 400)}"
        return FormulaEvaluation(None, False, {}, {}, error=message)
    if rank_by is None or not evaluation.candidate:
        return evaluation
    return replace(evaluation, reasons=(*evaluation.reasons, *_unranked(evaluation, rank_by)))


def evaluate_formula(
    f: Expression, y: Expression, context: AgentContext, evaluator: Evaluator
) -> dict[str, Metrics]:
    """Split the data, fit ``y = f`` on the training rows, and measure it on both parts.

    Args:
        f: Right side, with parameters.
        y: Left side.
        context: The whole data.
        evaluator: Policy that splits, fits and measures.

    Returns:
        ``{"train": metrics, "validation": metrics}``.

    Raises:
        FormatError: The evaluator's split breaks its contract.
        MetricError: The evaluator's metrics are no numbers, or not the same on both parts.
        FitError: The parameters could not be determined, or the evaluator fitted something else.
        DataError: A column that ``f`` uses is a copy of the target.
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
        MetricError: See `evaluate_formula`, as for the others.
        FitError: See there.
        DataError: See there.
    """
    candidate = is_candidate(f, y, train)
    if candidate:
        refuse_copies(f, train)
        fitted = evaluator.fit_candidate(f, train)
        _refuse_other(f, fitted, train, evaluator)
        results = [evaluator.evaluate_candidate(fitted, part) for part in (train, validation)]
    else:
        fitted = evaluator.fit(f, y, train)
        results = [evaluator.evaluate(fitted, y, part) for part in (train, validation)]
    on_train, on_validation = map(check_metrics, results)
    unequal = unequal_names(on_train, on_validation)
    if unequal:
        raise MetricError(unequal)
    reasons = () if candidate else why_no_candidate(f, y, train)
    return FormulaEvaluation(fitted, candidate, on_train, on_validation, reasons=reasons)


def is_candidate(f: Expression, y: Expression, context: AgentContext) -> bool:
    """Return whether y is exactly the context's target and f does not depend on it."""
    target = Symbol(context.target)
    return y == target and target.name not in f.variables


def refuse_copies(f: Expression, context: AgentContext) -> None:
    """Refuse a formula that names a column with the target's own numbers.

    Raises:
        DataError: It does.
    """
    copies = [name for name in target_copies(context) if name in f.variables]
    if copies:
        raise DataError(
            f"column {copies[0]!r} is a copy of the target {context.target!r} in all "
            f"{context.n_samples} training rows, so that a formula of it explains nothing; leave "
            "it out"
        )


def _parsed(side: Expression | str, context: AgentContext, target: str | None = None) -> Expression:
    if isinstance(side, Expression):
        return side
    return parse(side, variables=list(context.data), target=target)


def _assess(
    f: Expression, y: Expression, context: AgentContext, evaluator: Evaluator | None
) -> FormulaEvaluation:
    views = _views(context, evaluator)
    return evaluate_on(f, y, views["train"], views["validation"], _chosen(context, evaluator))


def _chosen(context: AgentContext, evaluator: Evaluator | None) -> Evaluator:
    chosen = context.evaluator if evaluator is None else evaluator
    # A context asks less of its evaluator than a formula does.
    return DefaultEvaluator if chosen is None else chosen  # type: ignore[return-value]


def _views(context: AgentContext, evaluator: Evaluator | None) -> dict[str, AgentContext]:
    chosen = _chosen(context, evaluator)
    if chosen is context.evaluator:
        return {"train": context.train_split, "validation": context.validation_split}
    return context.once(
        ("views", chosen), lambda whole: check_split(chosen.split(whole), chosen, whole)
    )


def _refuse_other(f: Expression, fitted: object, train: AgentContext, evaluator: Evaluator) -> None:
    """Refuse what an evaluator fitted, if it is not the candidate with its parameters bound."""
    if evaluator in _OWN:
        return  # they bind the parameters of what they are given
    problems = fitted_problems(f, fitted, train.target)
    if problems:
        kind = evaluator if isinstance(evaluator, type) else type(evaluator)
        raise FitError(f"{kind.__name__}.fit_candidate: {'; '.join(problems)}")


def _unranked(evaluation: FormulaEvaluation, metric: str) -> list[str]:
    reasons = []
    for part in ("train", "validation"):
        metrics: Metrics = getattr(evaluation, part)
        if metric not in metrics:
            known = ", ".join(metrics)
            return [f"the evaluator returns no metric {metric!r}; it returns {known}"]
        value = metrics[metric]
        if not math.isfinite(value):
            why = value.message if isinstance(value, Missing) else f"it is {value}"
            reasons.append(f"{metric!r} has no value on the {part} rows: {why}")
    return reasons
