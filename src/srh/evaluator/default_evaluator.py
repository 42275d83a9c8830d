"""The evaluation policy of ordinary aligned data: how to split, fit and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context import AgentContext
from srh.engine import Expression, FitResult, GroupedParameter, Symbol
from srh.errors import DataError, FitError
from srh.evaluator import utils
from srh.evaluator.missing import number_of
from srh.evaluator.utils.splitting import Rows
from srh.metrics import DEFAULT_METRICS, Score, Target, score_predictions
from srh.text import did_you_mean


class DefaultEvaluator:
    """Splits, fits and measures data whose sample arrays are aligned along their first dimension.

    A custom evaluator inherits it and overrides any of the five class methods. Candidates, whose
    left side is the target, pass through `fit_candidate` and `evaluate_candidate`; any other
    equality through `fit` and `evaluate`.
    """

    @classmethod
    def split(cls, context: AgentContext) -> dict[str, AgentContext]:
        """Return ``{"train": …, "validation": …}``, two views of the whole context.

        ``context.args`` says how: ``random`` by seed, ``ood`` with the upper end of a variable held
        out, ``chronological`` with the latest rows held out, or ``same`` with nothing held out.

        Raises:
            DataError: The data cannot be split that way.
        """
        train, validation = split_rows(context)
        return {"train": context.take(train), "validation": context.take(validation)}

    @classmethod
    def fit(cls, f: Expression, y: Expression, context: AgentContext) -> Expression:
        """Fit the parameters of ``f`` so that it approximates ``y``; those of ``y`` stay.

        Args:
            f: Formula with parameters.
            y: What it should equal.
            context: Training context.

        Returns:
            ``f`` with every parameter bound. Parameters that the data do not tell apart are no
            failure as long as the fit converged.

        Raises:
            FitError: The fit did not succeed, or a grouped parameter has a label of its own for
                every row and would memorise the target.
        """
        return fit_equation(f, y, context).expression

    @classmethod
    def evaluate(
        cls, f: Expression, y: Expression, context: AgentContext
    ) -> dict[str, float | int]:
        """Measure the equality ``y = f``.

        Args:
            f: Formula whose parameters are bound.
            y: What it should equal.
            context: Training or validation context.

        Returns:
            The ten default metrics. One that is undefined for the data is NaN, with its reason
            (see `srh.evaluator.Missing`).
        """
        return plain_metrics(score_equation(f, y, context))

    @classmethod
    def fit_candidate(cls, f: Expression, context: AgentContext) -> Expression:
        """Fit a candidate: by default `fit` to the target."""
        return cls.fit(f, Symbol(context.target), context)

    @classmethod
    def evaluate_candidate(cls, f: Expression, context: AgentContext) -> dict[str, float | int]:
        """Measure a candidate: by default `evaluate` against the target."""
        return cls.evaluate(f, Symbol(context.target), context)


def fit_equation(
    f: Expression, y: Expression | NDArray[np.float64], context: AgentContext
) -> FitResult:
    """Fit the parameters of ``f`` so that it approximates ``y``, and keep what the fit found out.

    The seed of the fit's starts is ``context.args.seed``.

    Raises:
        FitError: As `DefaultEvaluator.fit` says.
    """
    _refuse_label_per_row(f, context)
    result = f.fit(y, context, seed=context.args.seed)
    if not result.success:
        raise FitError(result.message)
    return result


def score_equation(
    f: Expression,
    y: Expression,
    context: AgentContext,
    names: Sequence[str] = DEFAULT_METRICS,
) -> dict[str, Score]:
    """Measure the equality ``y = f`` with built-in metrics, each with its reason if it has none.

    Args:
        f: Formula whose parameters are bound.
        y: What it should equal.
        context: Data of n samples.
        names: Metrics to compute.

    Raises:
        MetricError: A name is unknown or repeated, or a side is no vector of one value per sample.
        ExpressionError: The formula cannot be evaluated on the data.
    """
    return score_predictions(
        left_side(y, context),
        right_side(f, context),
        names=names,
        n_parameters=f.count_parameters(),
        complexity=utils.calc_complexity(f),
    )


def left_side(y: Expression, context: AgentContext) -> Target:
    """Return what formulas are measured against, evaluated once as long as the data stay."""
    return context.once(("left side", y), lambda whole: Target(y.evaluate(whole).ravel()))


def right_side(f: Expression, context: AgentContext) -> NDArray[np.float64]:
    """Return a formula's values; the latest ones are kept, for whoever asks next."""
    kept = context.once("right side", _nothing_yet)
    latest = kept.get("latest")
    if latest is None or latest[0] != f:
        latest = kept["latest"] = f, f.evaluate(context)
    return latest[1]


def _nothing_yet(_context: AgentContext) -> dict[str, tuple[Expression, NDArray[np.float64]]]:
    return {}


def left_shape(y: Expression, context: AgentContext) -> tuple[int, ...]:
    """Return the shape of what formulas are measured against."""
    return context.once(("left shape", y), lambda whole: y.evaluate(whole).shape)


def plain_metrics(scores: Mapping[str, Score]) -> dict[str, float | int]:
    """Return scores as an evaluator's result: numbers, NaN with its reason where there is none."""
    return {
        name: int(score.value)
        if name == "complexity" and score.value is not None
        else number_of(score)
        for name, score in scores.items()
    }


def split_rows(context: AgentContext) -> tuple[Rows, Rows]:
    """Return training and validation samples as ``context.args`` ask for them.

    Raises:
        DataError: The data cannot be split that way.
    """
    options = context.args
    fraction = options.validation_fraction
    if options.method == "same":
        return np.arange(context.n_samples), np.arange(context.n_samples)
    if options.method == "random":
        return utils.random_split(context.n_samples, fraction, options.seed)
    if options.method == "chronological":
        time = context.n_samples if options.time is None else _column(context, options.time)
        return utils.chronological_split(time, fraction)
    if options.ood_variable is None:
        raise DataError("an out-of-distribution split needs `ood_variable`, a column of the data")
    return utils.ood_split(_column(context, options.ood_variable), fraction)


def _column(context: AgentContext, name: str) -> NDArray[Any]:
    if name not in context.data:
        hint = did_you_mean(name, context.data)
        raise DataError(f"the split asks for column {name!r}, which the data do not have{hint}")
    return context.data[name]


def _refuse_label_per_row(f: Expression, context: AgentContext) -> None:
    for node in f.parameters:
        if isinstance(node, GroupedParameter) and node.label in context.data:
            labels = context.data[node.label].ravel().tolist()
            # Labels of nodes, say, repeat with every sample.
            if len(set(labels)) == context.data[context.target].size:
                raise FitError(
                    f"grouped parameter {node.name!r}: column {node.label!r} has another label in "
                    "every row, so that its table would memorise the target; group by a column "
                    "whose labels repeat"
                )
