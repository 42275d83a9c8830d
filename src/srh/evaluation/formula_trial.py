"""A formula as a contender: parsed by the engine's grammar, fitted and evaluated by the evaluator.

A formula contains no code, so nothing needs to be confined: the grammar is the confinement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srh.context import AgentContext, Dataset, SplitOptions
from srh.engine import Expression, FitResult, Symbol, is_structured, parse
from srh.errors import DataError, FormulaError
from srh.evaluation.protocol import Estimate, Fitted, Request
from srh.evaluation.scorer import (
    Answer,
    Rows,
    TrialFailedError,
    Values,
    require_same,
    target_scale,
)
from srh.evaluator import fit_equation, refuse_copies
from srh.evaluator.utils import calc_complexity
from srh.text import harmless


class FormulaContender:
    """A formula trial in the scoring loop."""

    def __init__(self, source: bytes, request: Request, dataset: Dataset) -> None:
        """Parse the formula.

        Args:
            source: Content of ``formula.txt``.
            request: What is asked.
            dataset: The loaded data; only the features may appear in the formula.

        Raises:
            TrialFailedError: It does not parse.
        """
        if dataset.classes:
            raise TrialFailedError("error", "the target is of categories; a formula gives numbers")
        self._request = request
        self._context = AgentContext.from_dataset(dataset, args=SplitOptions(seed=request.seed))
        self._features = dataset.formula_names
        self._per_fold: list[FitResult] = []
        try:
            text = source.decode("utf-8").rstrip()
        except UnicodeDecodeError as error:
            raise TrialFailedError("error", "formula.txt: not UTF-8 text") from error
        self._formula = self._parse(text, dataset.target)

    def answer(self, train: Rows, validation: Rows) -> Answer:
        """Fit the parameters on the training rows and evaluate the validation rows."""
        fit = self._fit(train)
        self._per_fold.append(fit)
        return Answer(
            predictions=self._evaluate(fit.expression, validation),
            n_parameters=fit.expression.count_parameters(),
            complexity=calc_complexity(fit.expression),
        )

    def check_roundtrip(self, train: Rows, validation: Rows, predictions: Values) -> None:
        """Print the fitted formula, parse it again, and evaluate the rows in reverse order."""
        again = self._parse(str(self._per_fold[-1].expression), target=None)
        reversed_predictions = self._evaluate(again, validation[::-1])
        require_same(
            predictions,
            reversed_predictions[::-1],
            scale=target_scale(self._context.take(train).data[self._context.target]),
            tolerance=self._request.tolerance,
        )

    def conclude(self, train: Rows) -> Fitted:
        """Fit once more, on all training rows: the formula to take away."""
        fit = self._per_fold[0] if len(self._request.partitions) == 1 else self._fit(train)
        return Fitted(
            formula=str(fit.expression),
            parameters=_plain(fit.parameters),
            standard_errors=_plain(fit.standard_errors),
            message=fit.message,
            per_fold=[str(one.expression) for one in self._per_fold],
        )

    def _parse(self, text: str, target: str | None) -> Expression:
        try:
            formula = parse(text, variables=self._features, target=target)
        except FormulaError as error:
            raise TrialFailedError("error", f"formula.txt: {harmless(str(error))}") from error
        # A mean over all rows, or an earlier row, would be taken from the rows to be predicted.
        if self._request.rowwise and self._context.num_nodes is None and is_structured(formula):
            raise TrialFailedError(
                "error",
                "formula.txt: each row of this task stands alone; delays, indices and reductions "
                "over other rows cannot be used",
            )
        return formula

    def _fit(self, train: Rows) -> FitResult:
        context = self._context.take(train)
        try:
            refuse_copies(self._formula, context)
            return fit_equation(self._formula, Symbol(context.target), context)
        except DataError as error:
            raise TrialFailedError("error", f"formula.txt: {harmless(str(error))}") from error
        except FormulaError as error:
            message = f"the fit on the training rows failed: {harmless(str(error))}"
            raise TrialFailedError("error", message) from error

    def _evaluate(self, expression: Expression, rows: Rows) -> Values:
        try:
            return expression.evaluate(self._context.take(rows))
        except FormulaError as error:
            raise TrialFailedError("error", harmless(str(error))) from error


def _plain(values: Any) -> dict[str, Estimate]:
    """Return parameters as JSON values: group labels become text, unknown values None."""
    return {
        name: (
            {str(label): _number(item) for label, item in value.items()}
            if hasattr(value, "items")
            else _number(value)
        )
        for name, value in values.items()
    }


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None
