"""The default metrics as plain functions of arrays.

They compute what `srh.metrics` computes, see there for formulas, sources and degenerate data. An
evaluator's result holds numbers only, so that an undefined metric is NaN here, with its reason
(see `Missing`); nothing is ever replaced by zero. Arrays are vectors of real numbers of one length:
nothing is broadcast.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from srh.engine import Expression, GroupedParameter
from srh.evaluator.missing import number_of
from srh.metrics import score_predictions


def calc_MSE(y_true: ArrayLike, y_pred: ArrayLike) -> float:  # noqa: N802
    """Return the mean squared error of predictions, both of shape (n,)."""
    return _calc("mse", y_true, y_pred)


def calc_RMSE(y_true: ArrayLike, y_pred: ArrayLike) -> float:  # noqa: N802
    """Return the root mean squared error of predictions, both of shape (n,)."""
    return _calc("rmse", y_true, y_pred)


def calc_MAE(y_true: ArrayLike, y_pred: ArrayLike) -> float:  # noqa: N802
    """Return the mean absolute error of predictions, both of shape (n,)."""
    return _calc("mae", y_true, y_pred)


def calc_MAPE(y_true: ArrayLike, y_pred: ArrayLike) -> float:  # noqa: N802
    """Return the mean absolute percentage error as a fraction; NaN if a target is zero."""
    return _calc("mape", y_true, y_pred)


def calc_R2(y_true: ArrayLike, y_pred: ArrayLike) -> float:  # noqa: N802
    """Return the coefficient of determination; NaN if the target is constant."""
    return _calc("r2", y_true, y_pred)


def calc_AIC(y_true: ArrayLike, y_pred: ArrayLike, n_parameters: int) -> float:  # noqa: N802
    """Return Akaike's criterion for Gaussian errors; NaN without residuals or with too few rows.

    Args:
        y_true: Target, shape (n,).
        y_pred: Predictions, shape (n,).
        n_parameters: Number of fitted parameters; the variance of the errors is added here.
    """
    return _calc("aic", y_true, y_pred, n_parameters)


def calc_BIC(y_true: ArrayLike, y_pred: ArrayLike, n_parameters: int) -> float:  # noqa: N802
    """Return the Bayesian criterion for Gaussian errors; NaN where `calc_AIC` is.

    Args:
        y_true: Target, shape (n,).
        y_pred: Predictions, shape (n,).
        n_parameters: Number of fitted parameters; the variance of the errors is added here.
    """
    return _calc("bic", y_true, y_pred, n_parameters)


def calc_pearson_r(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return Pearson's correlation; NaN if the target or the predictions are constant."""
    return _calc("pearson_r", y_true, y_pred)


def calc_spearman_r(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return Spearman's rank correlation; NaN if the target or the predictions are constant."""
    return _calc("spearman_r", y_true, y_pred)


def calc_complexity(f: Expression) -> int:
    """Return the size of a formula: its nodes, and every constant of its grouped parameters.

    An operator, a function, a column, a number and a parameter are one node each, wherever they
    appear. A grouped parameter carries one constant per label, and its default if it has one;
    each distinct table is counted once, so that a table is no cheaper than the parameters that it
    stands for.
    """
    tables = [node for node in f.parameters if isinstance(node, GroupedParameter)]
    return len(f) + sum(len(node.values) + (node.default is not None) for node in tables)


def _calc(
    name: str, y_true: ArrayLike, y_pred: ArrayLike, n_parameters: int | None = None
) -> float:
    return number_of(
        score_predictions(y_true, y_pred, names=[name], n_parameters=n_parameters)[name]
    )
